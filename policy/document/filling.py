"""Gives the rules of a policy a target and parties that are stated outside of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from smalti.policy.document.nodes import Name, Node, Property, Stated, Value
from smalti.policy.findings.findings import Findings, quoted
from smalti.vocab.terms import IRI, OBLIGATION, ODRL, PERMISSION, PROHIBITION, SOURCE

RULES: Final = (PERMISSION, PROHIBITION, OBLIGATION)


def with_stated(policy: Node, findings: Findings) -> Node:
    """A policy with what its envelope says of all its rules; where the two differ, an error."""
    for each in policy.stated:
        for named in _named(policy, each.part):
            _check_same(named, each, findings)
        policy = with_part(policy, each.part, each.name)
    return policy


def bound(policy: Node, each: Stated, findings: Findings) -> Node:
    """With what is bound in each rule that leaves it open; where none does, it must be the same."""
    if not lacks(policy, each.part):
        for named in _named(policy, each.part):
            _check_same(named, each, findings)
        policy = replace(policy, stated=(*policy.stated, each))
    return with_part(policy, each.part, each.name)


def lacks(policy: Node, part: IRI, words: tuple[IRI, ...] = RULES) -> bool:
    """Whether some rule has no such part, neither itself nor by its policy."""
    return policy.get(part) is None and any(
        rule.is_complete and not rule.is_reference and rule.get(part) is None
        for rule in _rules(policy, words)
    )


def with_part(policy: Node, part: IRI, name: Name) -> Node:
    """A policy with a target, an assigner or an assignee in each rule that has none.

    Args:
        policy: as its document describes it.
        part: `odrl:target`, `odrl:assigner` or `odrl:assignee`.
        name: of the asset or party.
    """
    if policy.get(part) is not None:
        return policy
    properties = dict(policy.properties)
    for word in RULES:
        rules = policy.get(word)
        if rules is not None:
            values = (
                _filled(rule, part, name) if isinstance(rule, Node) else rule for rule in rules.values
            )
            properties[word] = replace(rules, values=tuple(values))
    return replace(policy, properties=properties)


def _filled(rule: Node, part: IRI, name: Name) -> Node:
    if rule.get(part) is not None or rule.is_reference:
        return rule
    value = Node(name, (), {}, name.place, True)
    word = part.removeprefix(ODRL)
    return replace(rule, properties={**rule.properties, part: Property(part, word, rule.place, (value,))})


def _rules(policy: Node, words: tuple[IRI, ...]) -> Iterator[Node]:
    for word in words:
        prop = policy.get(word)
        for value in prop.values if prop is not None else ():
            if isinstance(value, Node):
                yield value


def _named(policy: Node, part: IRI) -> Iterator[Property]:
    """The part on the policy and in its rules, where it is named."""
    for node in (policy, *_rules(policy, RULES)):
        prop = node.get(part)
        if prop is not None:
            yield prop


def _check_same(prop: Property, stated: Stated, findings: Findings) -> None:
    for name in (name for value in prop.values for name in _names(value)):
        if name.iri != stated.name.iri:
            word = prop.iri.removeprefix(ODRL)
            message = f"{quoted(name.written)} is not the {word} that {stated.source} states"
            help_ = f"name the same {word} in both, or in one of them alone"
            findings.error("P340", name.place, message, help_)


def _names(value: Value) -> Iterator[Name]:
    """The name of an asset or a party; of a collection also that of its source, which is what is meant."""
    if not isinstance(value, Node):
        return
    if value.name is not None and not value.name.iri.startswith("_:"):
        yield value.name
    source = value.get(SOURCE)
    for whole in source.values if source is not None else ():
        yield from _names(whole)
