"""The ceilings in force about a target: what its owners' policies let all releases lose together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from smalti.engine.plan.losses import LOCAL_NEIGHBORS
from smalti.engine.registry.budget import Ceiling
from smalti.engine.registry.ceilings import ceiling_of
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.errors import SmaltiError
from smalti.policy.comparing import UNSATISFIED
from smalti.policy.decision import Request
from smalti.policy.matching import PreparedPolicy, in_force
from smalti.policy.model import Comparison, Permission, Policy, Text
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import (
    ANONYMIZE,
    DIFFERENTIAL_PRIVACY,
    IRI,
    LOCAL_DIFFERENTIAL_PRIVACY,
    NEIGHBORS,
)

_CHARGED: Final = frozenset({DIFFERENTIAL_PRIVACY, LOCAL_DIFFERENTIAL_PRIVACY})
"""Methods whose releases lose something that is charged."""


@dataclass(frozen=True, slots=True)
class StatedCeiling:
    """A ceiling of a rule in force that lets somebody make releases with noise, or train with it."""

    policy: IRI
    rule: IRI
    parties: tuple[IRI, ...]
    """Whom it lets; empty: anybody."""
    ceiling: Ceiling | None
    """None: it permits no release."""
    neighbors: NeighboringRelation
    """What its releases are about."""
    problem: str = ""
    """Why it permits none, or none any more."""


def stated_ceilings(
    registry: Registry, target: IRI, *, now: datetime | None = None
) -> tuple[StatedCeiling, ...]:
    """The ceilings that the owners' policies in force state about a target; each bounds the total.

    Args:
        registry: only read.
        target: a source, an output, or a version of one.
        now: None: the present.
    """
    with registry.snapshot() as snapshot:
        target = next((one.target for one in snapshot.versions(target)), target)
        time = now or datetime.now(UTC)
        moment = Request(party=IRI(""), action=ANONYMIZE, targets=(target,), time=time)
        policies = policies_about(registry, snapshot, target)
        hierarchies = snapshot.view(snapshot.authorities((target,))).hierarchies
        return tuple(
            _stated(policy, permission)
            for policy in policies
            if in_force(policy, moment) is not UNSATISFIED
            for permission in _releases(PreparedPolicy(policy, hierarchies), target)
        )


def policies_about(registry: Registry, snapshot: Snapshot, target: IRI) -> list[Policy]:
    """What whoever owns all of the target has put in force about it, and may still permit."""
    owners = snapshot.full_owners(target)
    requested = snapshot.requested(Request(party=IRI(""), action=ANONYMIZE, targets=(target,)))
    found = [keys for issuer, keys in snapshot.touching(requested) if issuer in owners]
    keys = sorted(frozenset[int]().union(*found))
    registry.read_policies(snapshot, keys)
    entries = [snapshot.entry(key) for key in keys]
    standing = [one for one in entries if snapshot.why_it_ended(one) is None]
    return [policy for one in standing if (policy := snapshot.policy(one)) is not None]


def _releases(prepared: PreparedPolicy, target: IRI) -> Iterator[Permission]:
    """The permissions to do what is charged with a target, with a part of it or a whole with it."""
    for rule in prepared.rules:
        for one in (rule, *rule.remedies):
            for form in one.forms(ANONYMIZE):
                if not _is_charged(form.permission):
                    continue
                assets = prepared.hierarchies.assets
                related = (assets.relation(target, asset.iri) for asset in form.permission.targets)
                if any(relation is not UNSATISFIED for relation in related):
                    yield form.permission


def _is_charged(permission: Permission) -> bool:
    how, training = permission.anonymization, permission.training
    return (how is not None and how.method in _CHARGED) or (training is not None and training.is_private)


def _neighbors(permission: Permission) -> NeighboringRelation:
    how, training = permission.anonymization, permission.training
    if how is not None and how.method == LOCAL_DIFFERENTIAL_PRIVACY:
        return LOCAL_NEIGHBORS
    said = None if training is None else training.neighbors
    for one in () if how is None else how.parameters:
        if isinstance(one, Comparison) and one.operand == NEIGHBORS:
            said = next((value.text for value in one.values if isinstance(value, Text)), said)
    return NeighboringRelation(said or NeighboringRelation.ADD_OR_REMOVE_ONE)


def _stated(policy: Policy, permission: Permission) -> StatedCeiling:
    parties, relation = tuple(party.iri for party in permission.assignees), _neighbors(permission)
    try:
        ceiling = ceiling_of(permission)
    except SmaltiError as error:
        return StatedCeiling(policy.uid, permission.uid, parties, None, relation, error.problem)
    problem = "" if ceiling else "it states no `smalti:budgetEpsilon`"
    return StatedCeiling(policy.uid, permission.uid, parties, ceiling, relation, problem)
