"""Outputs to review: what they were made from or under has ended, or is prohibited."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from smalti.engine.plan.respondents import COUNTED_ROWS, counts_rows
from smalti.engine.registry.entries import Input, TargetVersion
from smalti.engine.registry.recorded_columns import uses_any
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.decide.decision import Request
from smalti.policy.decide.prohibited_columns import prohibited_columns
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.model import ConflictStrategy
from smalti.vocab.terms import IRI, MAKING, READ, USE


@dataclass(frozen=True, slots=True)
class Review:
    """A version to review, with the reasons."""

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
        own = {version.iri: _own_reasons(registry, snapshot, version, now) for version in versions}
    versions_by_number = {(version.target, version.number): version for version in versions}
    marked = []
    for version in versions:
        inherited = tuple(
            f"its input, version {source.number} of `{source.target}`, needs a review"
            for source in _ancestors(version, versions_by_number)
            if own[source.iri]
        )
        if reasons := own[version.iri] + inherited:
            marked.append(Review(version, reasons))
    return tuple(marked)


def _own_reasons(
    registry: Registry, snapshot: Snapshot, version: TargetVersion, now: datetime
) -> tuple[str, ...]:
    reasons = []
    if (ended := _why_policy_ended(registry, snapshot, version, now)) is not None:
        reasons.append(ended)
    withdrawn = registry.withdrawals.of
    if any(withdrawn(source.iri, source.version, since=version.known_since) for source in version.inputs):
        reasons.append("respondents withdrew after it was made")
    if counts_rows(version.respondent):
        reasons.append(COUNTED_ROWS)
    reasons += dict.fromkeys(
        f"`{uid}` prohibits the use of {what} that it was made from"
        for source in version.inputs
        for uid, what in _prohibitions(registry, snapshot, version, source, now)
    )
    return tuple(reasons)


def _prohibitions(
    registry: Registry, snapshot: Snapshot, version: TargetVersion, source: Input, now: datetime
) -> Iterator[tuple[IRI, str]]:
    """The rules of an input's owners that prohibit the use of what a version was made from, and of what.

    A prohibition on all of the input counts where it forbids to read or to transform it: that it must not
    be printed or passed on says nothing of what is made from it.
    """
    columns = registry.columns.of(snapshot, source.iri)
    request = Request(
        party=version.party,
        action=USE,  # whatever is forbidden to do with a column, of which the version may show something
        targets=(source.iri,),
        purpose=version.purpose,
        time=now,
        columns=columns.iris,
        renamed=columns.renamed,
    )
    owners = snapshot.owners(source.iri)
    touching = snapshot.touching(snapshot.requested(request))
    keys = sorted(frozenset[int]().union(*(keys for issuer, keys in touching if issuer in owners)))
    registry.policies.load(snapshot, keys)
    policies = [policy for key in keys if (policy := snapshot.policy(snapshot.entry(key))) is not None]
    trusted = [snapshot.any_authorities((source.iri,)), *map(snapshot.authorities_of, sorted(owners))]
    views = dict.fromkeys(map(snapshot.view, trusted))
    for view in views:
        for prohibition in prohibited_columns(request, policies, view.hierarchies):
            policy, prohibited = prohibition.policy, prohibition.columns
            if policy.uid == version.policy_uid and policy.conflict is ConflictStrategy.PERMIT:
                continue  # its own strategy spares the version
            named = [
                column
                for column in prohibited - prohibition.implied
                if not (is_column_of(source.iri, column) and snapshot.is_another_table(column, source.iri))
            ]
            plan = version.recorded_plan
            if not prohibited:
                covers = view.hierarchies.actions.covers
                if any(covers(prohibition.rule.action, action) for action in (READ, *MAKING)):
                    yield prohibition.rule.uid, "the data"
            elif uses_any(plan, prohibited, named, owners, columns.believed):
                yield prohibition.rule.uid, "a column"


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


def _ancestors(
    version: TargetVersion, versions_by_number: dict[tuple[IRI, int], TargetVersion]
) -> list[TargetVersion]:
    ancestors: list[TargetVersion] = []
    waiting = [version]
    while waiting:
        for read in waiting.pop().inputs:
            source = versions_by_number.get((read.iri, read.version or 0))
            if source is not None and source not in ancestors:
                ancestors.append(source)
                waiting.append(source)
    return ancestors
