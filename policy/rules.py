"""Permissions and prohibitions (ODRL IM 2.6), atomic: one action, one target, one party of each kind."""

from dataclasses import dataclass
from typing import Final

from smalti.policy.anonymization import read_anonymization
from smalti.policy.findings import quoted
from smalti.policy.json_text import Place as TextPlace
from smalti.policy.model import (
    Anonymization,
    Asset,
    Comparison,
    Named,
    Operator,
    Party,
    Permission,
    Prohibition,
)
from smalti.policy.nodes import Literal, Name, Node, Property, Value
from smalti.policy.properties import Place, check_properties
from smalti.policy.purposes import read_purposes
from smalti.policy.values import (
    Scope,
    bare_name,
    iri_is_good,
    known_word,
    odrl_name,
    one_value,
    reference,
    spellings,
    unknown_word,
)
from smalti.vocab.odrl import ACTIONS
from smalti.vocab.terms import (
    ACTION,
    ANONYMIZE,
    ASSIGNEE,
    ASSIGNER,
    IRI,
    MOSAICROWN,
    ODRL,
    ODRL_PURPOSE,
    OUTPUT,
    RDF_VALUE,
    READ,
    REFINEMENT,
    TARGET,
    UID,
    USE,
)
from smalti.vocab.words import BY_IRI, Kind

_MOSAICROWN_ACTIONS: Final = frozenset(MOSAICROWN + name for name in ("use", "write", "sell", "sellreport"))
_PROFILE_ACTIONS: Final = frozenset(iri for iri, word in BY_IRI.items() if word.kind is Kind.ACTION)
_KNOWN_ACTIONS: Final = _PROFILE_ACTIONS | _MOSAICROWN_ACTIONS | {ODRL + name for name in ACTIONS}
_IMPLEMENTED: Final = {
    "permission": frozenset({ANONYMIZE, READ}),
    "prohibition": frozenset({ANONYMIZE, READ, USE}),
}
_COLLECTIONS: Final = frozenset({ODRL + "AssetCollection", ODRL + "PartyCollection"})


@dataclass(frozen=True, slots=True)
class _Action:
    iri: str
    name: Name
    refinements: Property | None
    place: TextPlace
    is_complete: bool


def read_permission(value: Value, scope: Scope) -> Permission | None:
    """Read one permission; None after an error."""
    node = _described(value, "permission", scope)
    if node is None:
        return None
    action, target = _action(node, "permission", scope), _asset(node, TARGET, scope)
    output = _asset(node, OUTPUT, scope)
    anonymization = _anonymization(action, target, scope)
    if action is not None:
        _check_output(node, action, target, output, scope)
    parties = _asset(node, ASSIGNEE, scope), _asset(node, ASSIGNER, scope)
    purposes = read_purposes(node, scope)
    if action is None or target is None or scope.findings.has_errors:
        return None
    where = scope.findings.where(node.place)
    return Permission(
        uid=read_uid(node, "rule", scope), action=IRI(action.iri), targets=(Asset(target),),
        assignees=_parties(parties[0]), assigners=_parties(parties[1]), constraints=_limit(purposes),
        where=where, output=output, anonymization=anonymization,
    )  # fmt: skip


def read_prohibition(value: Value, scope: Scope) -> Prohibition | None:
    """Read one prohibition; None after an error."""
    node = _described(value, "prohibition", scope)
    if node is None:
        return None
    action, target = _action(node, "prohibition", scope), _asset(node, TARGET, scope)
    _check_bare_prohibition(node, action, scope)
    parties = _asset(node, ASSIGNEE, scope), _asset(node, ASSIGNER, scope)
    purposes = read_purposes(node, scope)
    if action is None or target is None or scope.findings.has_errors:
        return None
    where = scope.findings.where(node.place)
    return Prohibition(
        uid=read_uid(node, "rule", scope), action=IRI(action.iri), targets=(Asset(target),),
        assignees=_parties(parties[0]), assigners=_parties(parties[1]), constraints=_limit(purposes),
        where=where,
    )  # fmt: skip


def _parties(iri: IRI | None) -> tuple[Party, ...]:
    return () if iri is None else (Party(iri),)


def _limit(purposes: frozenset[IRI] | None) -> tuple[Comparison, ...]:
    if purposes is None:
        return ()
    return (Comparison(ODRL_PURPOSE, Operator.IS_ANY_OF, tuple(Named(iri) for iri in sorted(purposes))),)


def read_uid(node: Node, kind: str, scope: Scope) -> IRI:
    """The node's own uid, or one made from the document's digest and the node's place."""
    made = IRI(f"urn:smalti:{kind}:sha256:{scope.digest}{node.place.pointer}")
    name = node.name
    if node.get(UID) is not None:  # written as a property, as in Turtle
        value = one_value(node, UID, scope)
        written = bare_name(value, f"the {kind}", scope) if value is not None else None
        if name is not None and written is not None and written.iri != name.iri:
            scope.findings.error("P319", written.place, f"the {kind} has two uids")
        name = written or name
    if name is None:
        return made
    if name.iri.startswith("_:"):
        help_ = "write an IRI, or leave the uid out"
        message = f"{quoted(name.written)} is a label inside this document, and no uid"
        scope.findings.error("P319", name.place, message, help_)
        return made
    return iri_is_good(name, f"the uid of the {kind}", scope) or made


def _described(value: Value, kind: str, scope: Scope) -> Node | None:
    """A rule that is written here, with its uid, type and properties checked."""
    if isinstance(value, Literal):
        scope.findings.error("P314", value.place, f"a {kind} is an object, and {quoted(value.text)} is not")
        return None
    if value.is_reference and value.name is not None:
        message = f"the {kind} {quoted(value.name.written)} is only named"
        scope.findings.error("P311", value.name.place, message, f"write the {kind} here")
        return None
    for name in value.types:
        if name.iri not in {ODRL + kind.capitalize(), ODRL + "Rule"}:
            message = f"the type {quoted(name.written)} is not that of a {kind}"
            scope.findings.error("P320", name.place, message)
    read_uid(value, "rule", scope)
    check_properties(value, Place.RULE, scope)
    for part in (ACTION, TARGET):
        if value.get(part) is None and value.is_complete:
            scope.findings.error("P303", value.place, f"the {kind} has no `{odrl_name(part)}`")
    return value


def _asset(node: Node, part: str, scope: Scope) -> IRI | None:
    """The asset or party of a rule; None when there is none, or after an error."""
    prop, what = node.get(part), f"the {odrl_name(part)}"
    if prop is not None and len(prop.values) > 1:
        joint = " (joint visibility)" if part == TARGET else ""
        feature = f"a rule with several values of {quoted(prop.word)}{joint}"
        scope.findings.not_implemented(prop.key, feature, "write one rule for each")
        return None
    value = one_value(node, part, scope)
    if value is None:
        return None
    if isinstance(value, Node):
        _check_described_asset(value, part, scope)
    name = reference(value, what, scope) if _is_named(value) else None
    return IRI(name.iri) if name is not None else None


def _is_named(value: Value) -> bool:
    return isinstance(value, Literal) or value.name is not None or value.is_reference


def _check_described_asset(node: Node, part: str, scope: Scope) -> None:
    for name in node.types:
        if name.iri in _COLLECTIONS:
            scope.findings.not_implemented(name.place, f"{quoted(name.written)}")
        else:
            iri_is_good(name, "the type", scope)
    check_properties(node, Place.ASSET if part in {TARGET, OUTPUT} else Place.PARTY, scope)
    collection = (
        any(name.iri in _COLLECTIONS for name in node.types) or node.get(ODRL + "source") is not None
    )
    if node.name is None and not node.is_reference and not collection:
        what = f"the {odrl_name(part)}"
        scope.findings.error("P314", node.place, f"{what} has no IRI", 'name it with "uid" (or "@id")')


def _action(rule: Node, kind: str, scope: Scope) -> _Action | None:
    prop = rule.get(ACTION)
    if prop is not None and len(prop.values) > 1:
        feature = f"a rule with several values of {quoted(prop.word)}"
        scope.findings.not_implemented(prop.key, feature, "write one rule for each")
        return None
    value = one_value(rule, ACTION, scope)
    action = _read_action(value, scope) if value is not None else None
    return action if action is not None and _is_implemented(action, kind, scope) else None


def _read_action(value: Value, scope: Scope) -> _Action | None:
    if not isinstance(value, Node) or value.get(RDF_VALUE) is None:
        return _named_action(value, scope)
    _check_action_node(value, scope)
    named = one_value(value, RDF_VALUE, scope)
    if isinstance(named, Literal):
        message = f"the value of `rdf:value` is the text {quoted(named.text)}, and an action is an IRI"
        scope.findings.error("P313", named.place, message, f'write {{"@id": "{named.text}"}}')
        return None
    if isinstance(named, Node) and named.name is not None and named.get(REFINEMENT) is not None:
        _refined_name(named.name, named, scope)
        return None
    name = bare_name(named, "the action", scope) if named is not None else None
    if name is None:
        return None
    refinements = value.get(REFINEMENT)
    return _Action(known_word(name, scope), name, refinements, value.place, value.is_complete)


def _check_action_node(node: Node, scope: Scope) -> None:
    check_properties(node, Place.ACTION, scope)
    for name in node.types:
        if name.iri != ODRL + "Action":
            scope.findings.error(
                "P320", name.place, f"the type {quoted(name.written)} is not that of an action"
            )
    if node.name is not None and not node.name.iri.startswith("_:"):
        _refined_name(node.name, node, scope)


def _refined_name(name: Name, node: Node, scope: Scope) -> None:
    message = f"the refinement would belong to {quoted(name.written)} itself, wherever it is used"
    help_ = f'write "rdf:value": {{"@id": "{name.written}"}} beside the refinement, in place of its `@id`'
    scope.findings.error("P312", node.place, message, help_)


def _named_action(value: Value, scope: Scope) -> _Action | None:
    if isinstance(value, Node) and value.get(REFINEMENT) is not None:
        if value.name is not None:
            _refined_name(value.name, value, scope)
        elif value.is_complete:
            help_ = 'write "rdf:value": {"@id": "odrl:anonymize"} beside the refinement'
            scope.findings.error("P303", value.place, "the refined action has no `rdf:value`", help_)
        return None
    if isinstance(value, Node) and value.name is None and not value.is_complete:
        return None
    name = bare_name(value, "the action", scope)
    if name is None or not isinstance(value, Node):
        return None
    return _Action(known_word(name, scope), name, None, value.place, value.is_complete)


def _is_implemented(action: _Action, kind: str, scope: Scope) -> bool:
    if action.iri in _IMPLEMENTED[kind]:
        return True
    if action.iri in _KNOWN_ACTIONS:
        feature = f"a {kind} of the action {quoted(action.name.written)}"
        scope.findings.not_implemented(action.name.place, feature)
        return False
    names = [odrl_name(iri) or iri for iri in _KNOWN_ACTIONS if odrl_name(iri)]
    known = [*names, *(f"odrl:{name}" for name in names), *spellings(_KNOWN_ACTIONS, scope)]
    unknown_word("P305", action.name, "action", known, scope)
    return False


def _anonymization(action: _Action | None, target: IRI | None, scope: Scope) -> Anonymization | None:
    if action is None:
        return None
    if action.iri != ANONYMIZE:
        if action.refinements is not None:
            feature = f"a refinement of the action {quoted(action.name.written)}"
            scope.findings.not_implemented(action.refinements.key, feature)
        return None
    if action.refinements is None:
        if action.is_complete:
            message = "a permission to anonymize says nothing of how: it has no `refinement`"
            help_ = "refine the action with mosaicrown:method, mosaicrown:k and the columns"
            scope.findings.error("P411", action.place, message, help_)
        return None
    return read_anonymization(action.refinements, target, action.place, scope)


def _check_output(
    node: Node, action: _Action, target: IRI | None, output: IRI | None, scope: Scope
) -> None:
    prop = node.get(OUTPUT)
    if prop is not None and action.iri != ANONYMIZE:
        _output_out_of_place(prop, scope)
    if prop is None and action.iri == ANONYMIZE and node.is_complete:
        message = "the permission to anonymize has no `output`"
        scope.findings.error("P414", node.place, message, "name the asset that it makes")
    if prop is not None and output is not None and output == target:
        place = prop.values[0].place
        message = f"the output {quoted(output)} is the target itself"
        scope.findings.error("P413", place, message, "name a new asset: a run never overwrites its input")


def _output_out_of_place(prop: Property, scope: Scope) -> None:
    scope.findings.error("P418", prop.key, f"{quoted(prop.word)} belongs to a permission to anonymize only")


def _check_bare_prohibition(node: Node, action: _Action | None, scope: Scope) -> None:
    prop = node.get(OUTPUT)
    if prop is not None:
        _output_out_of_place(prop, scope)
    if action is not None and action.refinements is not None:
        feature = "a prohibition of a refined action"
        scope.findings.not_implemented(action.refinements.key, feature, "prohibit the action as a whole")
