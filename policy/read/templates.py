"""Binds the target and the parties of a policy that its document leaves open, before it is read."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeGuard
from urllib.parse import quote

from smalti.policy.document.expansion import BASE
from smalti.policy.document.filling import RULES, bound, lacks, with_part, with_stated
from smalti.policy.document.nodes import Name, Node, Property, Stated, Value, nodes_below
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.binding import UNBOUND, Binding, bind_options, unbound
from smalti.policy.model.iris import SCHEMES, accepted_spelling
from smalti.policy.model.model import Policy, Rule
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
_PARTS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~%=+/-]*(?::[A-Za-z0-9._~%=+/-]+)+")
"""A name of several parts, as connectors give to offers: `1:asset:5`, `MQ==:YXNzZXQ=:NQ==`."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")  # RFC 3986, 3.1
_UUID: Final = re.compile(rb"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_NESTED: Final = frozenset({*RULES, DUTY, REMEDY, CONSEQUENCE})
_NEEDED: Final = {OFFER: (ASSIGNER,), AGREEMENT: (ASSIGNER, ASSIGNEE)}


def bind(policy: Node, binding: Binding, findings: Findings) -> Node:
    """A policy with what is bound, and with placeholders for what is still to be bound.

    Without a target in some permission or prohibition it is a template, for whose rules a target and both
    parties are bound. Without the parties that its type needs, those are. Names without a scheme need a
    base. What a policy inherits may have what it lacks, so that one with parents is left as it is.

    Args:
        policy: as its document describes it, with what its envelope states.
        binding: what is bound.
        findings: where errors go: a rule names another target or party than the envelope states; all rules
            name one, and one names another than is bound; or a name is kept for placeholders.
    """
    _check_names(policy, findings)
    names = _Names(binding.base)
    policy = with_stated(names.resolved(policy), findings)
    needed = () if policy.get(INHERIT_FROM) is not None else _needed(policy)
    for part, iri in binding.parts:
        stated = Stated(IRI(ODRL + part), Name(iri, iri, policy.place), "the binding")
        policy = bound(policy, stated, findings)
    for part in needed:
        if lacks(policy, part):
            placeholder = UNBOUND + part.removeprefix(ODRL)
            policy = with_part(policy, part, Name(placeholder, placeholder, policy.place))
    return policy


def _check_names(policy: Node, findings: Findings) -> None:
    """Refuse names that stand for what is not bound: a rule about one would grant nothing, or anything."""
    nodes = (node for top in (policy, *policy.beside) for node in nodes_below(top))
    names = [*(node.name for node in nodes), *(stated.name for stated in policy.stated)]
    for name in names:
        if name is not None and name.iri.casefold().startswith(UNBOUND):
            message = f"{quoted(name.written)} is kept for what a template leaves open, and names nothing"
            help_ = "leave it out to be bound, or write the IRI that is meant"
            findings.error("P343", name.place, message, help_)


def check_stated(policy: Policy, node: Node, findings: Findings) -> None:
    """Refuse a policy with a rule about others than is stated of all.

    Such a rule may be inherited; or nodes beside the policy claim that it is about more.

    Args:
        policy: as it was read.
        node: what it was read from.
        findings: where errors go.
    """
    parents = node.get(INHERIT_FROM)
    for stated in node.stated:
        problem = next(filter(None, (_contradiction(rule, stated) for rule in policy.rules)), "")
        if problem:
            help_ = "write the rules that are meant in the policy itself, without others"
            findings.error("P340", node.place if parents is None else parents.key, problem, help_)


def _contradiction(rule: Rule, stated: Stated) -> str:
    """Why a rule is not about the one that is stated; empty where it is. Empty assignees are anybody."""
    word = stated.part.removeprefix(ODRL)
    iris = [part.iri for part in getattr(rule, f"{word}s")]
    others = [iri for iri in iris if iri != stated.name.iri]
    if any(not iri.startswith(UNBOUND) for iri in others):
        return f"{quoted(others[0])} is the {word} of a rule, and not the one that {stated.source} states"
    if others or (not iris and stated.part == ASSIGNEE):
        return f"a rule that the policy inherits names no {word}, and {stated.source} states one"
    return ""


def report(policy: Policy, node: Node, findings: Findings) -> None:
    """Warn of a policy that was read, and is a template still, where the first is that is left open.

    Args:
        policy: as it was read.
        node: what it was read from, as `bind` gave it.
        findings: where the warning goes.
    """
    parts = unbound(policy)
    if not parts:
        return
    shown = ", ".join(f"`{part}`" for part in parts)
    why = "; its names without a scheme need a `base`" if "base" in parts else ""
    findings.warning(
        "P520",
        min(_open_places(node), key=lambda place: place.start, default=node.place),
        f"the policy is a template, which grants nothing before these are bound: {shown}{why}",
        f"bind them: {bind_options(parts)}",
        lists=(("bind", parts),),
    )


def _open_places(policy: Node) -> Iterator[Place]:
    """Where names without a scheme are, and rules that lack a part; none where all of it is inherited."""
    for node in nodes_below(policy):
        for prop in node.properties.values():
            names = [value.name for value in prop.values if isinstance(value, Node)]
            for name in filter(_is_open, names):
                yield node.place if name.place == policy.place else name.place
    names = [policy.name, *(stated.name for stated in policy.stated)]
    yield from (name.place for name in filter(_is_open, names))


def _is_open(name: Name | None) -> TypeGuard[Name]:
    return name is not None and name.iri.startswith(UNBOUND)


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
        stated = tuple(replace(each, name=self._named(each.name)) for each in node.stated)
        return replace(node, name=self._name(node.name), properties=properties, stated=stated)

    def _property(self, prop: Property) -> Property:
        if prop.iri in _NAMED:
            return self._each(prop, lambda node: replace(node, name=self._name(node.name)))
        return self._each(prop, self.resolved) if prop.iri in _NESTED else prop

    def _each(self, prop: Property, change: Callable[[Node], Node]) -> Property:
        def changed(value: Value) -> Value:
            return change(value) if isinstance(value, Node) else value

        return replace(prop, values=tuple(map(changed, prop.values)))

    def _name(self, name: Name | None) -> Name | None:
        return None if name is None else self._named(name)

    def _named(self, name: Name) -> Name:
        if name.place.node:
            return name
        relative = name.iri.removeprefix(BASE)
        if relative != name.iri:
            is_id = _ID.fullmatch(relative) and name.written != name.iri
            return replace(name, iri=self.base + relative) if is_id else name
        if not has_parts(name.iri):
            return name
        return replace(name, iri=accepted_spelling(self.base + quote(name.iri, safe="")))


def has_parts(written: str) -> bool:
    """Whether a text is a name of several parts, which a connector gave, and no IRI.

    What stands before its first colon is no scheme of an IRI; or all of it is an offer's id of EDC: three
    parts in base64, the last of them a UUID.

    >>> has_parts("1:asset:5"), has_parts("MQ==:YXNzZXQ=:NQ=="), has_parts("ex:asset:5")
    (True, True, False)
    """
    if not _PARTS.fullmatch(written):
        return False
    scheme = written.partition(":")[0]
    return not _SCHEME.fullmatch(scheme) or (scheme not in SCHEMES and _is_of_offer(written.split(":")))


def _is_of_offer(parts: list[str]) -> bool:
    try:
        decoded = [base64.b64decode(part, validate=True) for part in parts]
    except binascii.Error:
        return False
    return len(parts) == 3 and _UUID.fullmatch(decoded[2]) is not None
