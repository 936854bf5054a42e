"""Which findings the JSON Schema and the SHACL shapes can see as well; the parser sees all.

*Fully*: each document with the finding is refused there, too. *In part*: some of them. The tests hold both
to these words, with every example and counterexample.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from smalti.policy.findings.codes import TABLE


class Extent(StrEnum):
    """How much of what has a code one of the descriptions of policies can see."""

    FULLY = "fully"
    PARTLY = "in part"
    NOT = "no"


@dataclass(frozen=True, slots=True)
class Expressible:
    """Where a finding can be seen, beside the parser."""

    schema: Extent = Extent.NOT
    """By the JSON Schema, in documents in the compact form."""
    shapes: Extent = Extent.NOT
    """By the SHACL shapes, in what can be read as RDF at all."""
    reason: str = ""
    """Why not everywhere, as a sentence; empty where it can be seen everywhere."""


_FULLY, _PARTLY, _NOT = Extent.FULLY, Extent.PARTLY, Extent.NOT
_TEXT: Final = "RDF holds no text, keys or contexts"
_COMPARES: Final = "it takes two values of the document, compared with each other"
_ELSEWHERE: Final = "it takes several nodes of the document, or other documents"
_PLACES: Final = "a rule's own parts are seen, and what it takes over from its policy or a parent is not"
_SOME_FORMS: Final = "it is seen in the plain form, and not where lists or datatypes are written around it"
_DEFAULTS: Final = MappingProxyType(
    {
        "P1": "the text is no JSON, or too large: there is nothing to be looked at",
        "P2": "it is about how JSON-LD reads the document, which a schema cannot follow",
        "P3": _ELSEWHERE,
        "P4": _COMPARES,
        "P5": "it is no error, and neither a schema nor shapes know any less",
        "P6": "it is no error, or about the data's description",
    }
)
"""Why neither can see a finding, by the group of its code."""


def _both(*codes: str) -> dict[str, Expressible]:
    return dict.fromkeys(codes, Expressible(_FULLY, _FULLY))


def _as(schema: Extent, shapes: Extent, reason: str, codes: str) -> dict[str, Expressible]:
    return dict.fromkeys(codes.split(), Expressible(schema, shapes, reason))


_SEEN: Final[Mapping[str, Expressible]] = MappingProxyType(
    _as(_PARTLY, _NOT, "most readers of JSON have dealt with it before", "P106 P108")
    | _as(_NOT, _NOT, "readers of JSON drop or replace it before a schema sees it", "P105 P107")
    | _as(_NOT, _NOT, "neither counts how deep something is nested", "P104")
    | _as(_FULLY, _NOT, _TEXT, "P201 P202 P203 P205 P206 P207 P208 P210 P212")
    | _as(_PARTLY, _NOT, _TEXT, "P204 P209 P211 P213 P319")
    | _as(_PARTLY, _NOT, "in RDF a rule that is only named looks like one that lacks its parts", "P311")
    | _both("P306", "P312", "P313", "P315", "P317", "P318", "P321", "P322", "P324", "P326", "P327")
    | _as(
        _PARTLY,
        _PARTLY,
        _PLACES,
        "P301 P302 P303 P305 P307 P308 P309 P314 P316 P320 P390 P411 P414",
    )
    | _both("P401", "P402", "P404", "P405", "P406", "P408", "P409", "P412", "P417", "P418", "P422", "P424")
    | _as(_PARTLY, _PARTLY, _SOME_FORMS, "P304 P403 P415 P416 P419 P423 P428 P431")
    | _as(_PARTLY, _NOT, _SOME_FORMS, "P325 P328 P421 P425 P432 P434")
    | _as(_NOT, _PARTLY, _COMPARES, "P413")
)


def expressible(code: str) -> Expressible:
    """Where the findings with a code can be seen, beside the parser."""
    return _SEEN.get(code, Expressible(reason=_DEFAULTS[code[:2]]))


EXPRESSIBLE: Final[Mapping[str, Expressible]] = MappingProxyType(
    {entry.code: expressible(entry.code) for entry in TABLE}
)
"""All codes."""
