"""Outputs to look at again: what they rest on has ended, is prohibited, or was never declared."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from smalti.engine.plan.respondents import COUNTED_ROWS, counts_rows
from smalti.engine.registry.entries import Input, TargetVersion
from smalti.engine.registry.recorded_columns import uses_any
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.decide.authorize import prohibited_columns
from smalti.policy.decide.decision import Request
from smalti.policy.model.iris import is_column_of
from smalti.policy.model.model import ConflictStrategy
from smalti.vocab.terms import IRI, USE


@dataclass(frozen=True, slots=True)
class Review:
    """A version to look at again, and why."""

    version: TargetVersion
    reasons: tuple[str, ...]
    """Lower case, no full stop."""


def reviews(registry: Registry, *, now: datetime | None = None) -> tuple[Review, ...]:
    """The versions whose policy ended, from whose data somebody withdrew later, or that counted rows.

    The last were made by earlier versions of smalti, where nothing told people apart. Likewise those made
    from a column whose use an owner prohibits, for whoever they were made for.

    A policy has ended when it was revoked or replaced, when its `dct:valid` is over or has not begun, when
    a parent of it has ended, or when its signing key is trusted no longer. What was made from such a
    version is to be looked at, too.

    Args:
        registry: only read.
        now: None: the present.
    """
    now = now or datetime.now(UTC)
    versions = registry.outputs.all()
    with registry.snapshot() as snapshot:
        own = {one.iri: _own_reasons(registry, snapshot, one, now) for one in versions}
    known = {(one.target, one.number): one for one in versions}
    found = []
    for version in versions:
        inherited = tuple(
            f"version {source.number} of `{source.target}`, from which it was made, is to be looked at"
            for source in _ancestors(version, known)
            if own[source.iri]
        )
        if reasons := own[version.iri] + inherited:
            found.append(Review(version, reasons))
    return tuple(found)


def _own_reasons(
    registry: Registry, snapshot: Snapshot, version: TargetVersion, now: datetime
) -> tuple[str, ...]:
    reasons = []
    if (ended := _why_policy_ended(registry, snapshot, version, now)) is not None:
        reasons.append(ended)
    withdrawn = registry.withdrawals.of
    if any(withdrawn(one.iri, one.version, since=version.known_since) for one in version.inputs):
        reasons.append("respondents withdrew after it was made")
    if counts_rows(version.respondent):
        reasons.append(COUNTED_ROWS)
    reasons += [
        f"`{uid}` prohibits the use of a column that it was made from"
        for uid in dict.fromkeys(
            uid
            for given in version.inputs
            for uid in _prohibitions(registry, snapshot, version, given, now)
        )
    ]
    return tuple(reasons)


def _prohibitions(
    registry: Registry, snapshot: Snapshot, version: TargetVersion, given: Input, now: datetime
) -> Iterator[IRI]:
    """The rules of an input's owners that prohibit the use of columns which a version was made from."""
    known = registry.columns.known(snapshot, given.iri)
    request = Request(
        party=version.party,
        action=USE,  # whatever is forbidden to do with a column, of which the version may show something
        targets=(given.iri,),
        purpose=version.purpose,
        time=now,
        columns=known.iris,
        renamed=known.renamed,
    )
    owners = snapshot.owners(given.iri)
    touching = snapshot.touching(snapshot.requested(request))
    keys = sorted(frozenset[int]().union(*(keys for issuer, keys in touching if issuer in owners)))
    registry.policies.load(snapshot, keys)
    policies = [policy for key in keys if (policy := snapshot.policy(snapshot.entry(key))) is not None]
    trusted = [snapshot.any_authorities((given.iri,)), *map(snapshot.authorities_of, sorted(owners))]
    views = dict.fromkeys(map(snapshot.view, trusted))
    for one in (one for view in views for one in prohibited_columns(request, policies, view.hierarchies)):
        is_spared = one.policy.uid == version.policy_uid and one.policy.conflict is ConflictStrategy.PERMIT
        named = [
            column
            for column in one.columns - one.implied
            if not (is_column_of(given.iri, column) and snapshot.is_another_table(column, given.iri))
        ]
        if is_spared:
            continue
        if not one.columns or uses_any(version.recorded_plan, one.columns, named, owners, known.believed):
            yield one.rule.uid


def _why_policy_ended(
    registry: Registry, snapshot: Snapshot, version: TargetVersion, now: datetime
) -> str | None:
    entries = registry.policies.entries_of(snapshot, version)
    why = f"its policy `{version.policy_uid}` was revoked"
    if not entries and snapshot.is_used(version.policy_uid):
        why = f"its policy `{version.policy_uid}` was replaced"
    for entry, policy in entries:
        reason = snapshot.why_it_ended(entry)
        if policy is None:
            why = f"its policy `{version.policy_uid}` is not understood by this version of smalti"
        elif reason is not None:
            why = f"its policy `{version.policy_uid}` has ended, because {reason.text}"
        elif policy.valid is not None and not policy.valid.contains(now):
            why = f"its policy `{version.policy_uid}` is not in force at this time (`dct:valid`)"
        else:
            return None
    return why


def _ancestors(version: TargetVersion, known: dict[tuple[IRI, int], TargetVersion]) -> list[TargetVersion]:
    found: list[TargetVersion] = []
    waiting = [version]
    while waiting:
        for given in waiting.pop().inputs:
            source = known.get((given.iri, given.version or 0))
            if source is not None and source not in found:
                found.append(source)
                waiting.append(source)
    return found
