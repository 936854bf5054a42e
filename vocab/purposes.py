"""The purposes of processing that are known, as a hierarchy: MOSAICrOWN's and those of DPV 2.3.

`dpv-purposes.json` holds DPV's (Data Privacy Vocabulary, W3C Community Group), with its source and licence.
A purpose includes every narrower one. MOSAICrOWN's `statistical` and `institutional` stand alone: no
purpose of DPV means the same, and a broader one would widen what policies grant.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from smalti.vocab.terms import DPV, INSTITUTIONAL, IRI, MARKETING, STATISTICAL

_DATA: Final = Path(__file__).parent / "dpv-purposes.json"


def _dpv() -> dict[IRI, tuple[IRI, ...]]:
    table: dict[str, list[str]] = json.loads(_DATA.read_text(encoding="utf-8"))["broader"]
    return {
        IRI(DPV + name): tuple(IRI(DPV + broader) for broader in above) for name, above in table.items()
    }


EXACT_MATCHES: Final[Mapping[IRI, IRI]] = MappingProxyType({MARKETING: IRI(DPV + "Marketing")})
"""Purposes that are one concept with another (`skos:exactMatch`): the other one."""

BROADER: Final[Mapping[IRI, tuple[IRI, ...]]] = MappingProxyType(
    {**_dpv(), STATISTICAL: (), INSTITUTIONAL: ()}
)
"""The directly broader purposes of each known one (`skos:broader`), but for those in `EXACT_MATCHES`."""

PURPOSES: Final = frozenset(BROADER) | frozenset(EXACT_MATCHES)
"""Every purpose that is defined."""
