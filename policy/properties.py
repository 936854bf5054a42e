"""Which properties a node may have at each place; whatever nobody understands is an error."""

from enum import Enum
from typing import Final

from smalti.policy.findings import quoted
from smalti.policy.iris import SCHEMES
from smalti.policy.nodes import Node, Property
from smalti.policy.values import Scope, odrl_name
from smalti.vocab.odrl import LOGICAL_OPERANDS, PARTY_FUNCTIONS
from smalti.vocab.terms import (
    ACTION,
    ASSIGNEE,
    ASSIGNER,
    CONFLICT,
    CONSTRAINT,
    DCT,
    LEFT_OPERAND,
    MOSAICROWN,
    ODRL,
    ODRL_PURPOSE,
    OPERATOR,
    OUTPUT,
    PERMISSION,
    PROFILE,
    PROHIBITION,
    PURPOSE,
    RDF_VALUE,
    RDFS,
    REFINEMENT,
    RIGHT_OPERAND,
    SMALTI,
    TARGET,
    UID,
)

_ANNOTATIONS: Final = frozenset(
    [DCT + name for name in ("title", "description", "creator", "publisher", "issued", "modified")]
    + [RDFS + "label", RDFS + "comment"]
)
"""Said for people; without effect on any decision (ODRL IM 2.8)."""


def _odrl(names: str) -> frozenset[str]:
    return frozenset(ODRL + name for name in names.split())


class Place(Enum):
    """A kind of node, with the properties understood there and those that are refused by name."""

    POLICY = (
        "a policy",
        _ANNOTATIONS | {UID, PROFILE, CONFLICT, PERMISSION, PROHIBITION, DCT + "isReplacedBy"},
        _odrl("obligation inheritFrom") | {DCT + "valid", DCT + "replaces", DCT + "coverage"},
    )
    RULE = (
        "a rule",
        _ANNOTATIONS | {UID, ACTION, TARGET, ASSIGNEE, ASSIGNER, OUTPUT, CONSTRAINT, PURPOSE},
        _odrl("duty remedy consequence relation function failure") | _odrl(" ".join(PARTY_FUNCTIONS)),
    )
    ACTION = (
        "an action",
        frozenset({RDF_VALUE, REFINEMENT}),
        _odrl("includedIn implies"),
    )
    CONSTRAINT = (
        "a constraint",
        frozenset({UID, LEFT_OPERAND, OPERATOR, RIGHT_OPERAND}),
        _odrl("unit dataType status") | _odrl(" ".join(LOGICAL_OPERANDS)),
    )
    ASSET = (
        "an asset",
        _ANNOTATIONS | {UID},
        _odrl("partOf source refinement hasPolicy") | {MOSAICROWN + "belongsTo"},
    )
    PARTY = (
        "a party",
        _ANNOTATIONS | {UID},
        _odrl("partOf source refinement assignerOf assigneeOf") | {MOSAICROWN + "belongsTo"},
    )

    def __init__(self, title: str, understood: frozenset[str], later: frozenset[str]) -> None:
        self.title = title
        self.understood = understood
        self.later = later


_COMPACT_FORM: Final = frozenset({ACTION, TARGET, ASSIGNER, ASSIGNEE, OUTPUT, CONSTRAINT, PURPOSE})


def check_properties(node: Node, place: Place, scope: Scope) -> None:
    """Report each property that is not understood at this place."""
    for iri, prop in node.properties.items():
        if iri in _ANNOTATIONS:
            _check_annotation(prop, scope)
        if iri in place.later:
            scope.findings.not_implemented(prop.key, f"{quoted(prop.word)} on {place.title}")
        elif (
            iri not in place.understood and iri.partition(":")[0] in SCHEMES
        ):  # others are reported already
            _out_of_place(iri, prop, place, scope)


def _check_annotation(prop: Property, scope: Scope) -> None:
    """A remark is a text or a name: a rule inside one would be passed over."""
    for value in prop.values:
        if isinstance(value, Node) and not value.is_reference:
            message = f"{quoted(prop.word)} is a remark, and holds more than a text or a name"
            scope.findings.error("P309", value.place, message, "write it where it has a meaning")


def _out_of_place(iri: str, prop: Property, place: Place, scope: Scope) -> None:
    if place is Place.POLICY and iri in _COMPACT_FORM:
        feature = f"the compact form ({quoted(prop.word)} on the policy, for all its rules)"
        scope.findings.not_implemented(prop.key, feature, f"write {quoted(prop.word)} in each rule")
        return
    message = f"{quoted(prop.word)} has no meaning on {place.title}"
    scope.findings.error("P309", prop.key, message, _way_out(iri, prop, place, scope))


def _way_out(iri: str, prop: Property, place: Place, scope: Scope) -> str:
    if iri == ODRL_PURPOSE and not scope.terms.has_mosaicrown:
        return "did you mean a constraint with the purpose, or is MOSAICrOWN's context missing?"
    if iri.startswith(SMALTI):
        return "smalti's words are operands: write them as `leftOperand` of a refinement"
    known = [odrl_name(name) or scope.terms.shorten(name) for name in place.understood]
    return scope.findings.did_you_mean(prop.word, known)
