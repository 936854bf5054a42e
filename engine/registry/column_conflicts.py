"""Rules in force that prohibitions of other policies meet, after policies were added."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.decide.decision import Request
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.lint.across import conflicts_across
from smalti.policy.lint.overlaps import columns_between, contradictions
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI, USE


def column_conflicts(registry: Registry, added: Sequence[StoredPolicy]) -> tuple[str, ...]:
    """The conflicts over columns between added policies and the others in force.

    Whether two rules apply to one request is judged from the policies alone.

    Args:
        registry: only read.
        added: these policies.

    Returns:
        Sentences in lower case, without full stops; each names a rule and a prohibition of two policies,
        one of which is among these.
    """
    new = _current(registry, added)
    rules = {rule for policy in new for rule in policy.rules}
    conflicts: dict[str, None] = {}
    for near in _surroundings(registry, new):
        for rule, other, warning in columns_between(near.policies, near.renamed, near.hierarchies):
            if rule in rules or other in rules:
                conflicts[f"`{rule.uid}`: {warning.message}"] = None
    return tuple(conflicts)


def rule_conflicts(registry: Registry, added: Sequence[StoredPolicy]) -> tuple[str, ...]:
    """The rules of added policies that prohibitions of others in force contradict, and the other way round.

    Judged likewise; `column_conflicts` tells of those that meet at columns alone.

    Args:
        registry: only read.
        added: these policies.

    Returns:
        Such sentences; each starts with the place of the rule.
    """
    new = _current(registry, added)
    rules = {rule for policy in new for rule in policy.rules}
    conflicts: dict[str, None] = {}
    for near in _surroundings(registry, new):
        for conflict in conflicts_across(near.policies, near.hierarchies, near.renamed):
            rule, other = conflict.rule, conflict.prohibition
            if rule in rules or other in rules:
                conflicts[f"{rule.where}: `{rule.uid}`: {conflict.finding.message}"] = None
    return tuple(conflicts)


def void_policies(registry: Registry, added: Sequence[StoredPolicy]) -> tuple[str, ...]:
    """Those of added policies that permit nothing, since their own rules contradict each other.

    Args:
        registry: only read.
        added: these policies.

    Returns:
        Such sentences, with the way out.
    """
    warnings: dict[str, None] = {}
    for stored in added:
        words = registry.hierarchies.counting_for(IRI(stored.issuer), None)
        for policy in _current(registry, (stored,)):
            for warning in contradictions(policy, words):
                warnings[f"{warning.where}: `{policy.uid}`: {warning.message}; {warning.help}"] = None
    return tuple(warnings)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What is in force about one asset, and is known of its columns."""

    policies: list[Policy]
    renamed: frozenset[tuple[IRI, IRI]]
    hierarchies: Hierarchies


def _current(registry: Registry, added: Sequence[StoredPolicy]) -> list[Policy]:
    read = [registry.policies.in_force(IRI(stored.uid), IRI(stored.issuer)) for stored in added]
    return [policy for policy in read if policy is not None]


def _surroundings(registry: Registry, new: Sequence[Policy]) -> Iterator[_Surroundings]:
    """For each asset that some policies are about, or that shares a part with one."""
    with registry.snapshot() as snapshot:
        named = {iri for policy in new for iri in (*policy.targets, *_assets_beside(policy))}
        targets = named.union(*map(snapshot.related, named))
        recorded = [registry.columns.tables_with(snapshot, target) for target in targets]
        for target in sorted(targets.union(*map(tables_of, targets), *recorded)):
            columns = registry.columns.of(snapshot, target)
            view = snapshot.view(snapshot.any_authorities((target,)))
            policies = list(_in_force(registry, snapshot, target, columns))
            yield _Surroundings(policies, columns.renamed, view.hierarchies)


def _assets_beside(policy: Policy) -> Iterator[IRI]:
    """The assets that a policy's document says something about beside its rules."""
    for membership in policy.memberships:
        if not membership.of_parties:
            yield from (membership.member, membership.collection)


def _in_force(
    registry: Registry, snapshot: Snapshot, target: IRI, columns: KnownColumns
) -> Iterator[Policy]:
    """What owners of the target, or of a part of it, have put in force about it or its columns."""
    owners = snapshot.owners(target)
    request = Request(
        party=IRI(""), action=USE, targets=(target,), columns=columns.iris, renamed=columns.renamed
    )
    touching = snapshot.touching(snapshot.requested(request))
    keys = sorted(frozenset[int]().union(*(keys for issuer, keys in touching if issuer in owners)))
    registry.policies.load(snapshot, keys)
    for entry in map(snapshot.entry, keys):
        if snapshot.why_it_ended(entry) is None and (policy := snapshot.policy(entry)) is not None:
            yield policy
