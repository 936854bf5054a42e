"""Gives the rules of a policy a target and parties that are stated outside of it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from smalti.policy.document.envelopes import Stated
from smalti.policy.document.nodes import Name, Node, Property
from smalti.policy.findings.findings import Findings, quoted
from smalti.vocab.terms import IRI, OBLIGATION, ODRL, PERMISSION, PROHIBITION

RULES: Final = (PERMISSION, PROHIBITION, OBLIGATION)


def with_stated(policy: Node, stated: Iterable[Stated], findings: Findings) -> Node:
    """A policy with what its envelope says; where the two differ, an error."""
    for each in stated:
        policy = with_part(policy, each.part, each.name, findings, "the document around it")
    return policy


def with_part(policy: Node, part: IRI, name: Name, findings: Findings, source: str) -> Node:
    """A policy with one target, assigner or assignee in each rule.

    Args:
        policy: as its document describes it.
        part: `odrl:target`, `odrl:assigner` or `odrl:assignee`.
        name: of the asset or party.
        findings: where an error goes if a rule, or the policy for all rules, names another one.
        source: who states it, for messages; empty for a placeholder, beside which rules may name others.
    """
    properties = dict(policy.properties)
    shared = policy.get(part)
    if shared is not None:
        _check_same(shared, name, findings, source)
        return policy
    for word in RULES:
        rules = policy.get(word)
        if rules is not None:
            values = (
                _filled(rule, part, name, findings, source) if isinstance(rule, Node) else rule
                for rule in rules.values
            )
            properties[word] = replace(rules, values=tuple(values))
    return replace(policy, properties=properties)


def _filled(rule: Node, part: IRI, name: Name, findings: Findings, source: str) -> Node:
    own = rule.get(part)
    if own is not None:
        _check_same(own, name, findings, source)
        return rule
    value = Node(name, (), {}, name.place, True)
    word = part.removeprefix(ODRL)
    return replace(rule, properties={**rule.properties, part: Property(part, word, rule.place, (value,))})


def _check_same(prop: Property, name: Name, findings: Findings, source: str) -> None:
    for value in prop.values if source else ():
        stated = value.name if isinstance(value, Node) else None
        if stated is not None and stated.iri != name.iri:
            word = prop.iri.removeprefix(ODRL)
            message = f"{quoted(stated.written)} is not the {word} that {source} states"
            help_ = f"name the same {word} in both, or in one of them alone"
            findings.error("P340", stated.place, message, help_)
