"""Which properties a node may have in each place; all others are errors."""

from enum import Enum
from typing import Final

from smalti.policy.document.nodes import Node, Property, nodes_below
from smalti.policy.findings.deprecated import deprecation
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import SCHEMES
from smalti.policy.read.values import Scope, may_be_defined, odrl_name
from smalti.vocab.odrl import LOGICAL_OPERANDS, PARTY_FUNCTIONS
from smalti.vocab.remarks import BINDING, DESCRIPTION, OF_ASSETS, OF_PARTIES, PREFERRED, REMARKS
from smalti.vocab.terms import (
    BELONGS_TO,
    CONSEQUENCE,
    CONSTRAINT,
    DCT,
    DUTY,
    INCLUDED_IN,
    IRI,
    OBLIGATION,
    ODRL,
    ODRL_PURPOSE,
    OUTPUT,
    PURPOSE,
    RDF_VALUE,
    REFINEMENT,
    REMEDY,
    SMALTI,
)

ALL_REMARKS: Final = REMARKS | OF_ASSETS | OF_PARTIES
"""Words without effect on any decision (ODRL IM 2.8)."""


def _odrl(names: str) -> frozenset[str]:
    return frozenset(ODRL + name for name in names.split())


_FUNCTIONS: Final = " ".join(sorted(PARTY_FUNCTIONS))
_RULE: Final = REMARKS | _odrl("uid action target assignee assigner constraint") | {PURPOSE}
_ABSTRACT: Final = _odrl("relation function failure")
_RULE_LATER: Final = _ABSTRACT | _odrl(_FUNCTIONS)


class Place(Enum):
    """A kind of node, with the properties understood there and those that smalti refuses by name."""

    POLICY = (
        "a policy",
        REMARKS
        | _odrl("uid profile inheritFrom conflict permission prohibition obligation")
        | _odrl("action target assigner assignee")
        | {DCT + "isReplacedBy", DCT + "valid"},
        _odrl(f"relation function {_FUNCTIONS}") | {DCT + "replaces", DCT + "coverage"},
    )
    PERMISSION = ("a permission", _RULE | _odrl("duty output"), _RULE_LATER)
    PROHIBITION = ("a prohibition", _RULE | _odrl("remedy"), _RULE_LATER)
    DUTY = ("a duty", _RULE | _odrl(f"consequence output {_FUNCTIONS}"), _ABSTRACT)
    REMEDY = ("a remedy", _RULE | _odrl(f"output {_FUNCTIONS}"), _ABSTRACT)
    CONSEQUENCE = ("a consequence", _RULE | _odrl(f"output {_FUNCTIONS}"), _ABSTRACT)
    ACTION = (
        "an action",
        PREFERRED | {RDF_VALUE, REFINEMENT, INCLUDED_IN},
        _odrl("implies"),
    )
    CONSTRAINT = (
        "a constraint",
        _odrl("uid leftOperand operator rightOperand unit dataType") | _odrl(" ".join(LOGICAL_OPERANDS)),
        _odrl("status"),
    )
    ASSET = (
        "an asset",
        OF_ASSETS | _odrl("uid partOf source refinement hasPolicy") | {BELONGS_TO},
        frozenset[str](),
    )
    PARTY = (
        "a party",
        OF_PARTIES | _odrl("uid partOf source refinement assignerOf assigneeOf") | {BELONGS_TO},
        frozenset[str](),
    )

    def __init__(self, title: str, understood: frozenset[str], later: frozenset[str]) -> None:
        self.title = title
        self.understood = understood
        self.later = later


_NESTED: Final[dict[str, str]] = {
    DUTY: "a duty belongs to a permission; a prohibition has a `remedy`, and a policy an `obligation`",
    REMEDY: "a remedy belongs to a prohibition; a permission has a `duty`",
    OBLIGATION: "an obligation belongs to the policy; a permission has a `duty`",
    CONSEQUENCE: "a consequence belongs to a duty of a permission or to an obligation, and has none itself",
}
_OUTPUTS: Final = "only a permission, duty, obligation or remedy that anonymizes or trains has an output"


def check_properties(node: Node, place: Place, scope: Scope) -> None:
    """Report each property that has no meaning in this place."""
    for iri, prop in node.properties.items():
        if iri in ALL_REMARKS and iri in place.understood:
            _check_remark(prop, scope)
        if iri in place.later:
            scope.findings.not_implemented(prop.key, f"{quoted(prop.word)} on {place.title}")
        elif (
            iri not in place.understood and iri.partition(":")[0] in SCHEMES
        ):  # others are reported already
            _out_of_place(iri, prop, place, scope)


def _check_remark(prop: Property, scope: Scope) -> None:
    """A remark is a text, a name, or a node of remarks: a rule inside one would be ignored."""
    if prop.iri == DESCRIPTION and prop.values:
        message = f"{quoted(prop.word)} is read as a remark: ODRL defines no such word"
        scope.findings.note("P505", prop.key, message, "write `dct:description`")
    for value in prop.values:
        if isinstance(value, Node) and not _is_remark(value):
            message = f"{quoted(prop.word)} is a remark, and takes only a text or a name"
            scope.findings.error("P309", value.place, message, "write it in a place where it has a meaning")


def _is_remark(node: Node) -> bool:
    """Whether a node says nothing but remarks, at any depth; its keys were understood."""
    described = [below for below in nodes_below(node) if not below.is_reference]
    return all(
        below.is_complete and ALL_REMARKS.issuperset(below.properties)
        and not any(odrl_name(kind.iri) for kind in below.types)
        for below in described
    )  # fmt: skip


def _out_of_place(iri: str, prop: Property, place: Place, scope: Scope) -> None:
    message = f"{quoted(prop.word)} has no meaning on {place.title}"
    if reason := deprecation(odrl_name(iri)):
        scope.findings.error("P309", prop.key, f"{quoted(prop.word)} is {reason}")
    elif iri in BINDING:
        message = f"{quoted(prop.word)} is a rule of Creative Commons, which smalti does not read"
        scope.findings.error("P309", prop.key, message, "write a permission, a prohibition or a duty")
    elif iri in _NESTED:
        scope.findings.error("P322", prop.key, message, _NESTED[iri])
    elif iri == OUTPUT and place in {Place.POLICY, Place.PROHIBITION}:
        scope.findings.error("P418", prop.key, message, _OUTPUTS)
    elif may_be_defined(IRI(iri), scope):
        message = f"the property {quoted(prop.word)} is unknown, as the profile is that may define it"
        scope.findings.warning("P309", prop.key, message, "add a vocabulary that defines it")
    else:
        scope.findings.error("P309", prop.key, message, _way_out(iri, prop, place, scope))


def _way_out(iri: str, prop: Property, place: Place, scope: Scope) -> str:
    if iri == ODRL_PURPOSE and not scope.terms.has_mosaicrown:
        return "write a constraint on the purpose, or add MOSAICrOWN's context"
    if iri.startswith(SMALTI):
        return "smalti's words are operands: write them as `leftOperand` of a refinement"
    if place is Place.POLICY and iri in {CONSTRAINT, PURPOSE}:
        return f"write {quoted(prop.word)} in each rule that it limits"
    candidates = [odrl_name(name) or scope.terms.shorten(name) for name in place.understood]
    return scope.findings.did_you_mean(prop.word, candidates)
