"""Binds the target and the parties of a policy that its document leaves open, before it is read."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from smalti.policy.document.expansion import BASE
from smalti.policy.document.filling import RULES, bound, lacks, with_part
from smalti.policy.document.nodes import Name, Node, Property, Value
from smalti.policy.findings.findings import Findings
from smalti.policy.model.binding import UNBOUND, Binding, unbound
from smalti.policy.model.model import Policy
from smalti.policy.read.beside import claims_on
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import (
    AGREEMENT,
    ASSIGNEE,
    ASSIGNER,
    CONSEQUENCE,
    DUTY,
    INHERIT_FROM,
    IRI,
    ODRL,
    OFFER,
    OUTPUT,
    PERMISSION,
    PROHIBITION,
    REMEDY,
    TARGET,
)

_NAMED: Final = frozenset({TARGET, ASSIGNER, ASSIGNEE, OUTPUT})
"""Properties whose values are named by whoever writes the document, and are no words."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]*")
"""A name without a scheme; any other relative IRI is an error, as is each in Turtle, which has `@base`."""
_NESTED: Final = frozenset({*RULES, DUTY, REMEDY, CONSEQUENCE})
_NEEDED: Final = {OFFER: (ASSIGNER,), AGREEMENT: (ASSIGNER, ASSIGNEE)}


def bind(policy: Node, binding: Binding, findings: Findings) -> Node:
    """A policy with what is bound, and with placeholders for what is still to be bound.

    Without a target in some permission or prohibition it is a template, for whose rules a target and both
    parties are bound. Without the parties that its type needs, those are. Names without a scheme need a
    base. What a policy inherits may have what it lacks, so that one with parents is left as it is.

    Args:
        policy: as its document describes it.
        binding: what is bound.
        findings: where an error goes, if all rules name a target or a party, and one names another than is
            bound.
    """
    names = _Names(binding.base)
    policy = names.resolved(policy)
    needed = () if policy.get(INHERIT_FROM) is not None else _needed(policy)
    for part, iri in binding.parts:
        name = Name(iri, iri, policy.place)
        policy = bound(policy, IRI(ODRL + part), name, findings)
    for part in needed:
        if lacks(policy, part):
            placeholder = UNBOUND + part.removeprefix(ODRL)
            policy = with_part(policy, part, Name(placeholder, placeholder, policy.place))
    return policy


def report(policy: Policy, place: Place, findings: Findings) -> None:
    """Warn of a policy that was read, and is a template still."""
    parts = unbound(policy)
    if not parts:
        return
    shown = ", ".join(f"`{part}`" for part in parts)
    why = "; its names without a scheme need a `base`" if "base" in parts else ""
    findings.warning(
        "P520",
        place,
        f"the policy is a template, which grants nothing before these are bound: {shown}{why}",
        f"bind them: --bind {' '.join(f'{part}=IRI' for part in parts)}",
    )


def _needed(policy: Node) -> tuple[IRI, ...]:
    """The parts that a template needs, without those that nodes beside the policy give to every rule."""
    uid = IRI("" if policy.name is None else policy.name.iri)
    claimed = {IRI(ODRL + part.removeprefix(ODRL)) for part, _ in claims_on(policy, uid)}
    lacking = _lacking(policy)
    return () if TARGET in lacking and TARGET in claimed else tuple(p for p in lacking if p not in claimed)


def _lacking(policy: Node) -> tuple[IRI, ...]:
    """The parts that a template needs."""
    if lacks(policy, TARGET, (PERMISSION, PROHIBITION)):
        return (TARGET, *(part for part in (ASSIGNER, ASSIGNEE) if lacks(policy, part)))
    types = {name.iri for name in policy.types}
    needed = {part for type_, parts in _NEEDED.items() if type_ in types for part in parts}
    return tuple(part for part in (ASSIGNER, ASSIGNEE) if part in needed and lacks(policy, part))


class _Names:
    """Resolves names without a scheme, where names stand."""

    def __init__(self, base: IRI | None) -> None:
        self.base: str = base or f"{UNBOUND}base:"

    def resolved(self, node: Node) -> Node:
        """A policy or a rule whose names, and those of what it is about, are resolved."""
        properties = {iri: self._property(prop) for iri, prop in node.properties.items()}
        return replace(node, name=self._name(node.name), properties=properties)

    def _property(self, prop: Property) -> Property:
        if prop.iri in _NAMED:
            return self._each(prop, lambda node: replace(node, name=self._name(node.name)))
        return self._each(prop, self.resolved) if prop.iri in _NESTED else prop

    def _each(self, prop: Property, change: Callable[[Node], Node]) -> Property:
        def changed(value: Value) -> Value:
            return change(value) if isinstance(value, Node) else value

        return replace(prop, values=tuple(map(changed, prop.values)))

    def _name(self, name: Name | None) -> Name | None:
        if name is None or not name.iri.startswith(BASE) or name.place.node:
            return name
        relative = name.iri.removeprefix(BASE)
        is_id = _ID.fullmatch(relative) and name.written != name.iri
        return replace(name, iri=self.base + relative) if is_id else name
