"""Metadata of fields that plans write down."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LEFT_OUT_AT_DEFAULT: Final[Mapping[str, bool]] = MappingProxyType({"left out at default": True})
"""Metadata of a field that a plan does not mention while it has its default.

So a parameter that comes with a later version changes neither the JSON nor the digest of plans without it.
"""
