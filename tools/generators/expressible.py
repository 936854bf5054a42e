"""Which findings the JSON Schema and the SHACL shapes detect as well; the parser detects all.

*Fully*: they refuse every document with the finding. *In part*: some of them. Tests compare both with this
table, for every example and counterexample.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from smalti.policy.findings.codes import TABLE


class Extent(StrEnum):
    """How many of the findings with a code a description of policies detects."""

    FULLY = "fully"
    PARTLY = "in part"
    NOT = "no"


@dataclass(frozen=True, slots=True)
class Expressible:
    """Which descriptions detect a finding, besides the parser."""

    schema: Extent = Extent.NOT
    """By the JSON Schema, in documents in the compact form."""
    shapes: Extent = Extent.NOT
    """By the SHACL shapes, in what can be read as RDF at all."""
    reason: str = ""
    """Why not both fully, as a sentence; empty where both do."""


_FULLY, _PARTLY, _NOT = Extent.FULLY, Extent.PARTLY, Extent.NOT
_TEXT: Final = "RDF has no text, keys or contexts"
_COMPARES: Final = "it requires a comparison of two values of the document"
_ELSEWHERE: Final = "it requires several nodes of the document, or other documents"
_PLACES: Final = "they check a rule's own parts, but not those from its policy or a parent"
_SOME_FORMS: Final = "they check the plain form, but not values inside lists or with datatypes"
_DEFAULTS: Final = MappingProxyType(
    {
        "P1": "the text is not JSON, or too large, so neither can read it",
        "P2": "it concerns JSON-LD processing, which a schema does not perform",
        "P3": _ELSEWHERE,
        "P4": _COMPARES,
        "P5": "it is a warning or a note, and the schema and the shapes report only errors",
        "P6": "it is a warning or a note, or concerns the data's description",
    }
)
"""Why neither detects a finding, by the group of its code."""


def _both(*codes: str) -> dict[str, Expressible]:
    return dict.fromkeys(codes, Expressible(_FULLY, _FULLY))


def _as(schema: Extent, shapes: Extent, reason: str, codes: str) -> dict[str, Expressible]:
    return dict.fromkeys(codes.split(), Expressible(schema, shapes, reason))


_SEEN: Final[Mapping[str, Expressible]] = MappingProxyType(
    _as(_PARTLY, _NOT, "most JSON readers change or refuse it before a schema sees it", "P106")
    | _as(_NOT, _NOT, "JSON readers drop or replace it before a schema sees it", "P105 P107")
    | _as(
        _NOT,
        _NOT,
        "it is about short forms, whose schema is `vocab/short-form.schema.json`",
        "P110 P111 P112 P113 P114",
    )
    | _as(_NOT, _NOT, "neither counts levels of nesting", "P104")
    | _as(_NOT, _NOT, "neither counts the values of a document", "P108")
    | _as(_FULLY, _NOT, _TEXT, "P201 P202 P203 P205 P206 P207 P208 P210")
    | _as(_PARTLY, _NOT, _TEXT, "P204 P209 P211 P212 P213 P319")
    | _as(_NOT, _NOT, "it is about inherited rules, which are not in the document", "P316 P324")
    | _as(_PARTLY, _NOT, "in RDF a rule that is only named looks like one without its parts", "P311")
    | _both("P306", "P312", "P313", "P315", "P317", "P318", "P321", "P322", "P326", "P327")
    | _as(
        _PARTLY,
        _PARTLY,
        _PLACES,
        "P301 P302 P303 P305 P307 P308 P309 P314 P320 P390 P411 P414",
    )
    | _both("P401", "P402", "P404", "P405", "P406", "P408", "P409", "P412", "P417", "P418", "P422", "P424")
    | _as(_PARTLY, _PARTLY, _SOME_FORMS, "P304 P403 P415 P416 P419 P423 P428 P431")
    | _as(_PARTLY, _NOT, _SOME_FORMS, "P325 P328 P421 P425 P432 P434")
    | _as(_NOT, _PARTLY, _COMPARES, "P413")
)


def expressible(code: str) -> Expressible:
    """Which descriptions detect the findings with a code, besides the parser."""
    return _SEEN.get(code, Expressible(reason=_DEFAULTS[code[:2]]))


EXPRESSIBLE: Final[Mapping[str, Expressible]] = MappingProxyType(
    {entry.code: expressible(entry.code) for entry in TABLE}
)
"""All codes."""
