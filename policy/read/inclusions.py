"""Actions that a document defines: each is included in a known one (`odrl:includedIn`; ODRL IM 2.4)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.document.nodes import Name, Node, nodes_below
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Inclusion
from smalti.policy.read.properties import Place, check_properties
from smalti.policy.read.values import Scope, bare_name, canonical_word, iri_is_good, one_value, unknown_word
from smalti.vocab.odrl import ACTION_PARENTS
from smalti.vocab.terms import (
    DPV,
    DPV_ODRL,
    IDSC,
    INCLUDED_IN,
    IRI,
    MOSAICROWN,
    ODRL,
    RDF_VALUE,
    REFINEMENT,
    SMALTI,
)

_VOCABULARIES: Final = (ODRL, MOSAICROWN, SMALTI, DPV, DPV_ODRL, IDSC)
"""Namespaces whose words no document defines."""


def defines_action(node: Node) -> bool:
    """Whether a node says in which action the named one is included, and limits nothing."""
    limits = node.get(REFINEMENT) is not None or node.get(RDF_VALUE) is not None
    return node.get(INCLUDED_IN) is not None and node.name is not None and not limits


def read_inclusions(policies: Iterable[Node], scope: Scope) -> tuple[Inclusion, ...]:
    """What the nodes of a document say of actions, in and beside its policies; checked.

    Of ODRL's own actions a document may repeat what ODRL says of them, which adds nothing.
    """
    broader: dict[IRI, Name] = {}
    for node in _nodes(policies):
        if not defines_action(node) or node.name is None:
            continue
        check_properties(node, Place.ACTION, scope)
        check_action_types(node, scope)
        value = one_value(node, INCLUDED_IN, scope)
        above = bare_name(value, "the broader action", scope) if value is not None else None
        name = IRI(canonical_word(node.name, scope))
        if above is not None and _may_be_defined(name, node.name, above, scope):
            broader[name] = above
    inclusions = {name: IRI(canonical_word(above, scope)) for name, above in broader.items()}
    led_up = _led_up(inclusions)
    for name, above in broader.items():
        if name not in led_up:
            message = (
                f"the action {quoted(name)} is included in {quoted(above.written)}, which is not known"
            )
            help_ = "name an action that leads up to `use` or `transfer`"
            scope.findings.error("P341", above.place, message, help_)
    return tuple(sorted(Inclusion(name, above) for name, above in inclusions.items()))


def check_action_types(node: Node, scope: Scope) -> None:
    """Report types that an action cannot have."""
    for name in node.types:
        if name.iri != ODRL + "Action":
            message = f"an action cannot have the type {quoted(name.written)}"
            scope.findings.error("P320", name.place, message)


def _nodes(policies: Iterable[Node]) -> Iterator[Node]:
    for policy in policies:
        for node in (policy, *policy.beside):
            yield from nodes_below(node)


def _may_be_defined(name: IRI, written: Name, above: Name, scope: Scope) -> bool:
    """Whether a document may say that an action is included in another one, and that adds something."""
    if name in ACTION_PARENTS:
        if IRI(canonical_word(above, scope)) not in STANDARD.actions.broader(name):
            message = f"the action {quoted(written.written)} is not included in {quoted(above.written)}"
            help_ = "the actions of a vocabulary stay where it puts them: define one of your own"
            scope.findings.error("P341", above.place, message, help_)
        return False
    if name.startswith(_VOCABULARIES):
        unknown_word("P305", written, "action", [], scope)
        return False
    return iri_is_good(written, "the action", scope) is not None


def _led_up(inclusions: Mapping[IRI, IRI]) -> set[IRI]:
    """The actions that lead up to a standard one; in linear time, however long a chain is."""
    below: dict[IRI, list[IRI]] = {}
    for name, above in inclusions.items():
        below.setdefault(above, []).append(name)
    led_up = [name for name, above in inclusions.items() if above in ACTION_PARENTS]
    for name in led_up:  # grows while it is walked; each has one broader action, and stands here once
        led_up += below.get(name, ())
    return set(led_up)
