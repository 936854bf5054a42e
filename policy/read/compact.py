"""What a policy states once for all its rules (compact form, ODRL IM 2.7.1)."""

from dataclasses import replace
from typing import Final

from smalti.policy.document.nodes import Node, Property, Value, nodes_below
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Shared
from smalti.policy.read.actions import read_actions
from smalti.policy.read.assets import read_assets, read_parties
from smalti.policy.read.reading import Reading
from smalti.policy.read.values import Scope
from smalti.vocab.terms import (
    ACTION,
    ASSIGNEE,
    ASSIGNER,
    CONSEQUENCE,
    DUTY,
    OBLIGATION,
    PERMISSION,
    PROHIBITION,
    REMEDY,
    TARGET,
)

_PARTS: Final = (ACTION, TARGET, ASSIGNER, ASSIGNEE)
_NESTED: Final = frozenset({DUTY, REMEDY, CONSEQUENCE})
MOST: Final = 100_000
"""Values of all rules together, once there is one rule for each action, with what the policy shares."""


def read_shared(node: Node, reading: Reading) -> Shared:
    """What the policy itself states for all rules, as its children may take it."""
    action = node.get(ACTION)
    actions = read_actions(action, reading.scope) if action is not None else ()
    plain = all(action.refinements is None for action in actions)
    return Shared(
        actions=tuple(sorted(action.iri for action in actions)) if plain else (),
        targets=read_assets(node.get(TARGET), reading),
        assignees=read_parties(node.get(ASSIGNEE), reading),
        assigners=read_parties(node.get(ASSIGNER), reading),
    )


def joined(own: Shared, parents: Shared) -> Shared:
    """What a policy passes on: its own parts, and its parents' where it states none."""
    return Shared(
        actions=own.actions or parents.actions,
        targets=own.targets or parents.targets,
        assignees=own.assignees or parents.assignees,
        assigners=own.assigners or parents.assigners,
    )


def is_bounded(node: Node, scope: Scope, claims: int = 0) -> bool:
    """Whether the rules may be copied for each action: hostile documents would grow without bound.

    Args:
        node: the policy.
        scope: where findings go.
        claims: what nodes beside the policy add to each rule.
    """
    shared = [prop for part in _PARTS if (prop := node.get(part)) is not None]
    rules = [
        value
        for word in (PERMISSION, PROHIBITION, OBLIGATION)
        if (prop := node.get(word)) is not None
        for value in prop.values
    ]
    common = sum(_size(prop) for prop in shared) + claims
    if common * len(rules) > MOST:
        word = quoted(shared[0].word if shared else "hasPolicy")
        message = (
            f"{word} on the policy, copied into each of its {len(rules)} rules, has more than {MOST} values"
        )
    elif sum(_spelled_out(with_shared(rule, node)) for rule in rules if isinstance(rule, Node)) > MOST:
        message = f"the rules of the policy, copied for each of their actions, have more than {MOST} values"
    else:
        return True
    scope.findings.error("P108", node.place, message, "split the policy")
    return False


def _spelled_out(rule: Node) -> int:
    """The values of a rule once there is one rule for each of its actions, and so for its duties."""
    actions = rule.get(ACTION)
    rest = sum(
        _spelled_out(value) if prop.iri in _NESTED and isinstance(value, Node) else _size_of(value)
        for prop in rule.properties.values()
        if prop is not actions
        for value in prop.values
    )
    return (_size(actions) if actions is not None else 0) + max(
        1, len(actions.values) if actions else 0
    ) * (1 + rest)


def _size(prop: Property) -> int:
    return sum(map(_size_of, prop.values))


def _size_of(value: Value) -> int:
    """The values in a value, itself included."""
    if not isinstance(value, Node):
        return 1
    return sum(
        1 + sum(len(prop.values) for prop in below.properties.values()) for below in nodes_below(value)
    )


def with_shared(rule: Node, policy: Node) -> Node:
    """A rule with what its policy states for all rules (ODRL IM 2.7.1), beside its own parts."""
    merged = dict(rule.properties)
    for part in _PARTS:
        shared, own = policy.get(part), rule.get(part)
        if shared is not None and own is None:
            merged[part] = shared
        elif shared is not None and own is not None and own.values:  # an empty list is reported later
            merged[part] = replace(own, values=(*own.values, *shared.values))
    return replace(rule, properties=merged)
