"""What a party may ask for: permissions in force that name it, in words and as choices of a form."""

from dataclasses import replace
from typing import Final

from smalti.engine.registry.bound_data import BoundData
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.json.text import Json
from smalti.policy.model.model import (
    Comparison,
    Named,
    Number,
    Operator,
    Permission,
    Policy,
    Text,
)
from smalti.policy.model.refinements import parameters_of
from smalti.policy.say.describe import describe
from smalti.policy.say.serialize import number_text
from smalti.vocab.terms import AUDIT, IRI, STATISTIC
from smalti.vocab.words import BY_IRI

_CHANGES: Final = {
    Operator.GTEQ: "at least", Operator.LTEQ: "at most", Operator.IS_ANY_OF: "any of",
}  # fmt: skip
"""Operators that leave a choice to whoever asks."""


def permissions_for(party: IRI, registry: Registry) -> tuple[Json, ...]:
    """The permissions that name a party, in policies in force of owners of their targets.

    Other parties of a permission are left out. Whether one permits a certain request is not said here:
    prohibitions, constraints and duties are judged by a decision.

    Args:
        party: who would ask.
        registry: of policies, owners and bound data.

    Returns:
        For each, in the order of the registry: `policy`, `rule`, `issuer`, `action`, `targets` (each with
        `iri` and `hasData`), `says` (a sentence without full stop), `purposes` (None: any), `order` (the
        kind of job that uses it; None: none does), `parameters` (what may be asked for more strictly, each
        with `word`, `operator`, `values`), `query` (whether statistics may be stated), `output`.
    """
    return tuple(
        _shown(registry, stored, permission, party)
        for stored in registry.list_policies()
        if stored.is_in_force and stored.policy is not None
        for permission in stored.policy.permissions
        if any(assignee.iri == party for assignee in permission.assignees)
        and all(stored.issuer in registry.full_owners(target.iri) for target in permission.targets)
    )


def data_of(registry: Registry, target: IRI) -> BoundData | None:
    """The data that an owner of all of a target has bound to it; None: there is none."""
    bound = registry.bindings.of(target)
    return bound if bound is not None and bound.party in registry.full_owners(target) else None


def _shown(registry: Registry, stored: StoredPolicy, permission: Permission, party: IRI) -> Json:
    purposes, choices = permission.purposes, _choices(permission)
    return {
        "policy": stored.uid,
        "rule": permission.uid,
        "issuer": stored.issuer,
        "action": permission.action,
        "targets": [
            {"iri": target.iri, "hasData": data_of(registry, target.iri) is not None}
            for target in permission.targets
        ],
        "says": _sentence(stored.policy, permission, party) if stored.policy is not None else "",
        "purposes": None if purposes is None else sorted(purposes),
        "order": _order(permission),
        "parameters": [_parameter(choice) for choice in choices],
        "query": any(choice.operand == STATISTIC for choice in choices),
        "output": permission.output,
    }


def _sentence(policy: Policy, permission: Permission, party: IRI) -> str:
    """The permission in words, as if it named this party alone."""
    named = tuple(assignee for assignee in permission.assignees if assignee.iri == party)
    alone = replace(
        policy, permissions=(replace(permission, assignees=named),), prohibitions=(), obligations=()
    )
    (sentence,) = describe(alone)
    return sentence


def _order(permission: Permission) -> str | None:
    if permission.how is None:
        return None
    return "audit" if any(duty.action == AUDIT for duty in permission.duties) else "run"


def _choices(permission: Permission) -> tuple[Comparison, ...]:
    """The parameters that are left to whoever asks."""
    return tuple(
        condition
        for condition in parameters_of(permission)
        if isinstance(condition, Comparison) and condition.operator in _CHANGES
    )


def _parameter(choice: Comparison) -> Json:
    word = BY_IRI.get(choice.operand)
    return {
        "word": choice.operand if word is None else word.name,
        "operator": _CHANGES[choice.operator],
        "values": [_text(value) for value in choice.values],
    }


def _text(value: object) -> str:
    match value:
        case Number(value=number):
            return number_text(number)
        case Named(iri=name):
            return name
        case Text(text=text):
            return text
    return ""
