"""The ceilings in force about a target: what its owners' policies let all releases lose together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from smalti.engine.plan.kinds import granted_kind, plan_class
from smalti.engine.registry.budget import Ceiling
from smalti.engine.registry.ceilings import ceiling_of
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.errors import SmaltiError
from smalti.policy.decide.comparing import UNSATISFIED
from smalti.policy.decide.decision import Request
from smalti.policy.decide.matching import in_force
from smalti.policy.decide.prepared import PreparedPolicy
from smalti.policy.model.model import Permission, Policy
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import ANONYMIZE, IRI


@dataclass(frozen=True, slots=True)
class StatedCeiling:
    """A ceiling of a rule in force that permits releases with noise, or training with noise."""

    policy: IRI
    rule: IRI
    parties: tuple[IRI, ...]
    """The parties that it permits; empty: any party."""
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
        target = next((version.target for version in snapshot.versions(target)), target)
        time = now or datetime.now(UTC)
        moment = Request(party=IRI(""), action=ANONYMIZE, targets=(target,), time=time)
        policies = policies_about(registry, snapshot, target)
        hierarchies = snapshot.view(snapshot.authorities((target,))).hierarchies
        return tuple(
            _stated(policy, permission, relation)
            for policy in policies
            if in_force(policy, moment) is not UNSATISFIED
            for permission, relation in _releases(PreparedPolicy(policy, hierarchies), target)
        )


def policies_about(registry: Registry, snapshot: Snapshot, target: IRI) -> list[Policy]:
    """The policies in force about a target whose issuer owns all of it."""
    owners = snapshot.full_owners(target)
    requested = snapshot.requested(Request(party=IRI(""), action=ANONYMIZE, targets=(target,)))
    keys_by_issuer = [keys for issuer, keys in snapshot.touching(requested) if issuer in owners]
    keys = sorted(frozenset[int]().union(*keys_by_issuer))
    registry.policies.load(snapshot, keys)
    entries = [snapshot.entry(key) for key in keys]
    standing = [entry for entry in entries if snapshot.why_it_ended(entry) is None]
    return [policy for entry in standing if (policy := snapshot.policy(entry)) is not None]


def _releases(prepared: PreparedPolicy, target: IRI) -> Iterator[tuple[Permission, NeighboringRelation]]:
    """The permissions to do what is charged with a target, with a part of it or a whole with it.

    Each with what its charges are about.
    """
    for rule in prepared.rules:
        for candidate in (rule, *rule.remedies):
            for form in candidate.forms_for(ANONYMIZE):
                neighbors = _neighbors(form.permission)
                if neighbors is None:
                    continue
                assets = prepared.hierarchies.assets
                related = (assets.relation(target, asset.iri) for asset in form.permission.targets)
                if any(relation is not UNSATISFIED for relation in related):
                    yield form.permission, neighbors


def _neighbors(permission: Permission) -> NeighboringRelation | None:
    """None where nothing is charged."""
    if permission.how is None:
        return None
    relation: NeighboringRelation | None = plan_class(granted_kind(permission)).neighbors_charged(
        permission
    )
    return relation


def _stated(policy: Policy, permission: Permission, relation: NeighboringRelation) -> StatedCeiling:
    parties = tuple(party.iri for party in permission.assignees)
    try:
        ceiling = ceiling_of(permission)
    except SmaltiError as error:
        return StatedCeiling(policy.uid, permission.uid, parties, None, relation, error.problem)
    problem = "" if ceiling else "it states no `smalti:budgetEpsilon`"
    return StatedCeiling(policy.uid, permission.uid, parties, ceiling, relation, problem)
