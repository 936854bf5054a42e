"""Whom a run tells of its phases."""

from collections.abc import Callable
from typing import Any, TypeAlias

Phase: TypeAlias = Callable[[str], Any]
"""Told of each phase as it begins; names only, no figures."""
