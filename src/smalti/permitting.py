"""What a party may ask for: permissions in force that name it, in words and as choices of a form."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from smalti.engine.registry.bound_data import BoundData
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.json.text import Json
from smalti.policy.model.model import (
    Comparison,
    Condition,
    Named,
    Number,
    Operator,
    Permission,
    Policy,
    Text,
)
from smalti.policy.model.refinements import bounded, refinements_of
from smalti.policy.say.describe import describe
from smalti.policy.say.serialize import number_text
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY, IRI, K, L
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
    way = permission.anonymization
    purposes = permission.purposes
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
        "parameters": list(_parameters(permission)),
        "query": way is not None and way.method == DIFFERENTIAL_PRIVACY,
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
    if permission.training is not None:
        return "audit" if any(duty.audit is not None for duty in permission.duties) else "run"
    return None if permission.anonymization is None else "run"


def _parameters(permission: Permission) -> Iterator[Json]:
    conditions: tuple[Condition, ...] = ()
    if permission.training is not None:
        conditions = refinements_of(permission)
    elif (way := permission.anonymization) is not None:
        bounds = (bounded(K, way.k), bounded(L, way.l))
        conditions = (*(bound for bound in bounds if bound is not None), *way.parameters)
    for condition in conditions:
        if isinstance(condition, Comparison) and condition.operator in _CHANGES:
            yield {
                "word": BY_IRI[condition.operand].name
                if condition.operand in BY_IRI
                else condition.operand,
                "operator": _CHANGES[condition.operator],
                "values": [_text(value) for value in condition.values],
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
