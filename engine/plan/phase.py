"""The callback that a run calls for its phases."""

from collections.abc import Callable
from typing import Any, TypeAlias

Phase: TypeAlias = Callable[[str], Any]
"""Called with the name of each phase as it begins; never with figures."""
