"""Gives the rules of a policy a target and parties that are stated outside of it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from smalti.policy.document.envelopes import Stated
from smalti.policy.document.nodes import Name, Node, Property
from smalti.policy.findings.findings import Findings, quoted
from smalti.vocab.terms import IRI, OBLIGATION, ODRL, PERMISSION, PROHIBITION

RULES: Final = (PERMISSION, PROHIBITION, OBLIGATION)


def with_stated(policy: Node, stated: Iterable[Stated], findings: Findings) -> Node:
    """A policy with what its envelope says of all its rules; where the two differ, an error."""
    for each in stated:
        for named in _named(policy, each.part):
            _check_same(named, each.name, findings, "the document around it")
        policy = with_part(policy, each.part, each.name)
    return policy


def bound(policy: Node, part: IRI, name: Name, findings: Findings) -> Node:
    """A policy with what is bound in each rule that leaves it open; an error where none does."""
    if not lacks(policy, part):
        for named in _named(policy, part):
            _check_same(named, name, findings, "the binding")
    return with_part(policy, part, name)


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


def _check_same(prop: Property, name: Name, findings: Findings, source: str) -> None:
    for value in prop.values:
        stated = value.name if isinstance(value, Node) else None
        if stated is not None and stated.iri != name.iri:
            word = prop.iri.removeprefix(ODRL)
            message = f"{quoted(stated.written)} is not the {word} that {source} states"
            help_ = f"name the same {word} in both, or in one of them alone"
            findings.error("P340", stated.place, message, help_)
