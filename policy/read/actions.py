"""The actions of a rule, each with its refinements (ODRL IM 2.4)."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from smalti.policy.document.nodes import Literal, Name, Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.read.inclusions import check_action_types, defines_action
from smalti.policy.read.properties import Place, check_properties
from smalti.policy.read.values import (
    Scope,
    bare_name,
    canonical_word,
    may_be_defined,
    odrl_name,
    one_value,
    spellings,
    unknown_word,
    values_of,
)
from smalti.policy.text.json_text import Place as TextPlace
from smalti.vocab.odrl import ACTION_PARENTS
from smalti.vocab.terms import (
    ANONYMIZE,
    INCLUDED_IN,
    IRI,
    RDF_VALUE,
    REFINEMENT,
    TRANSFER,
    USE,
)

_ACTIONS: Final = frozenset(ACTION_PARENTS)


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a rule, where the document writes it."""

    iri: IRI
    name: Name
    refinements: Property | None
    place: TextPlace
    is_complete: bool
    """False when keys were not understood: what seems to be missing may be among them."""


def read_actions(prop: Property, scope: Scope) -> tuple[Action, ...]:
    """The actions of a rule that are known; one that is written twice without refinement counts once.

    A misspelt `anonymize` with refinements is an error, and is read on as `anonymize`.
    """
    actions: list[Action] = []
    plain: set[IRI] = set()
    for value in values_of(prop, scope):
        action = _read(value, scope)
        if action is None:
            continue
        if action.iri not in {inclusion.action for inclusion in scope.inclusions} and not _is_known(
            action, scope
        ):
            if not _is_meant_to_anonymize(action):
                continue
            # The policy is refused; reading on reports its other errors at once.
            action = replace(action, iri=ANONYMIZE)
        if action.refinements is None and action.iri in plain:
            continue
        if action.refinements is None:
            plain.add(action.iri)
        actions.append(action)
    return tuple(actions)


def _read(value: Value, scope: Scope) -> Action | None:
    if not isinstance(value, Node) or value.get(RDF_VALUE) is None:
        return _named(value, scope)
    _check_node(value, scope)
    named = one_value(value, RDF_VALUE, scope)
    if isinstance(named, Literal):
        message = f"the value of `rdf:value` must be an IRI, not the text {quoted(named.text)}"
        scope.findings.error("P313", named.place, message, f'write {{"@id": "{named.text}"}}')
        return None
    if isinstance(named, Node) and named.name is not None and named.get(REFINEMENT) is not None:
        _refined_name(named.name, named, scope)
        return None
    name = _name(named, scope) if named is not None else None
    if name is None:
        return None
    refinements = value.get(REFINEMENT)
    return Action(IRI(canonical_word(name, scope)), name, refinements, value.place, value.is_complete)


def _check_node(node: Node, scope: Scope) -> None:
    check_properties(node, Place.ACTION, scope)
    check_action_types(node, scope)
    if node.get(INCLUDED_IN) is not None:
        what = "`includedIn` beside the refinement of an action"
        scope.findings.not_implemented(node.properties[INCLUDED_IN].key, what)
    if node.name is not None and not node.name.iri.startswith("_:"):
        _refined_name(node.name, node, scope)


def _refined_name(name: Name, node: Node, scope: Scope) -> None:
    message = f"the refinement would apply to {quoted(name.written)} wherever it is used"
    help_ = f'write "rdf:value": {{"@id": "{name.written}"}} beside the refinement instead of its `@id`'
    scope.findings.error("P312", node.place, message, help_)


def _named(value: Value, scope: Scope) -> Action | None:
    if isinstance(value, Node) and value.get(REFINEMENT) is not None:
        if value.name is not None:
            _refined_name(value.name, value, scope)
        elif value.is_complete:
            help_ = 'write "rdf:value": {"@id": "odrl:anonymize"} beside the refinement'
            scope.findings.error("P303", value.place, "the refined action has no `rdf:value`", help_)
        return None
    if isinstance(value, Node) and value.name is None and not value.is_complete:
        return None
    name = _name(value, scope)
    if name is None or not isinstance(value, Node):
        return None
    return Action(IRI(canonical_word(name, scope)), name, None, value.place, value.is_complete)


def _name(value: Value, scope: Scope) -> Name | None:
    """The name of an action, which the document may define where it is used."""
    if isinstance(value, Node) and defines_action(value):
        return value.name
    return bare_name(value, "the action", scope)


def _is_meant_to_anonymize(action: Action) -> bool:
    local = action.name.written.rpartition(":")[2].rpartition("/")[2]
    return action.refinements is not None and bool(get_close_matches(local, ["anonymize"], cutoff=0.8))


def _is_known(action: Action, scope: Scope) -> bool:
    if action.iri in _ACTIONS:
        return True
    actions = scope.hierarchies.actions
    if actions.defines(action.iri):
        if any(actions.covers(whole, action.iri) for whole in (USE, TRANSFER)):
            return True
        message = f"the declared action {quoted(action.name.written)} is included in neither of ODRL's two"
        help_ = "declare that it is `odrl:includedIn` `odrl:use`, `odrl:transfer` or a narrower action"
        scope.findings.error("P305", action.name.place, message, help_)
        return False
    if may_be_defined(action.iri, scope):
        message = (
            f"the action {quoted(action.name.written)} is unknown, as the profile is that may define it"
        )
        scope.findings.warning("P305", action.name.place, message, "add a vocabulary that defines it")
        return True
    names = [odrl_name(iri) or iri for iri in _ACTIONS if odrl_name(iri)]
    candidates = [*names, *(f"odrl:{name}" for name in names), *spellings(_ACTIONS, scope)]
    unknown_word("P305", action.name, "action", candidates, scope)
    return False
