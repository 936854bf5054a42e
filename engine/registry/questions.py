"""Requests with what the registry knows about their targets: owners, columns, tables and hierarchies."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal

from smalti.engine.registry.budget import EpsilonDelta
from smalti.engine.registry.ceilings import BUDGET_DELTA, BUDGET_EPSILON, BUDGETS, speaks_of_budget
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot, VersionEntry
from smalti.engine.registry.submissions import Submission
from smalti.engine.registry.views import View
from smalti.policy.decide.decision import Fact, Request
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Number, Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Question:
    """A request with what the registry knows about its targets."""

    request: Request
    """About the output where a target is one of its versions."""
    versions: tuple[VersionEntry, ...]
    """That the request is about; empty where it is about several targets, or about no output."""
    unknown: tuple[IRI, ...]
    """The targets that the registry does not know."""
    owners: frozenset[IRI]
    """Of a part of a target; may prohibit."""
    full_owners: frozenset[IRI]
    """Of all of each target; may permit."""
    view: View
    """The policies about it, under the hierarchies that count for a permission."""
    strict: tuple[View, ...]
    """The same, under those that count for a prohibition: of all owners of a part together, and of each."""

    @property
    def views(self) -> tuple[View, ...]:
        return (self.view, *self.strict)


@dataclass(frozen=True, slots=True)
class Judge:
    """The inputs of one decision."""

    registry: Registry
    snapshot: Snapshot
    explain: bool
    asks_charges: bool = True
    """False: as if nothing had been charged."""


def question_of(snapshot: Snapshot, request: Request, submission: Submission | None) -> Question:
    """What the registry knows about a request; one that names a version is about its output."""
    versions_of_each = [snapshot.versions(target) for target in request.targets]
    targets = tuple(
        dict.fromkeys(
            versions[0].target if versions else target
            for target, versions in zip(request.targets, versions_of_each, strict=True)
        )
    )
    view = snapshot.view(snapshot.authorities(targets, None if submission is None else submission.by))
    return Question(
        replace(request, targets=targets, tables=tables_with_data(snapshot, targets)),
        versions_of_each[0] if len(versions_of_each) == 1 else (),
        tuple(target for target in targets if not _is_known(snapshot, target)),
        _part_owners(snapshot, targets, submission),
        frozenset.intersection(*map(snapshot.full_owners, targets)),
        view,
        _strict_views(snapshot, targets, view),
    )


def _strict_views(snapshot: Snapshot, targets: tuple[IRI, ...], view: View) -> tuple[View, ...]:
    """The views that prohibitions are held against the request in, besides the one of permissions.

    A vocabulary can make a prohibition meet a request, and can keep one from it (`isNoneOf`): so those of
    all owners of a part count together, and those of each count alone.
    """
    owners = sorted(frozenset[IRI]().union(*map(snapshot.owners, targets)))
    each = [snapshot.view(snapshot.authorities_of(owner)) for owner in owners]
    views = dict.fromkeys((snapshot.view(snapshot.any_authorities(targets)), *each))
    return tuple(strict_view for strict_view in views if strict_view is not view)


def with_columns(judge: Judge, question: Question) -> Question:
    """The question, with the columns that earlier runs recorded of the targets, and of their tables."""
    request, known_columns = question.request, judge.registry.columns.of
    of_targets = [known_columns(judge.snapshot, target) for target in request.targets]
    near = tables_of_columns(judge, question) | members_of(question)
    of_tables = [known_columns(judge.snapshot, table) for table in sorted(near)]
    columns = request.columns.union(*(described.iris for described in of_targets))
    renamed = request.renamed.union(*(described.renamed for described in (*of_targets, *of_tables)))
    if (columns, renamed) == (request.columns, request.renamed):
        return question
    return replace(question, request=replace(request, columns=columns, renamed=renamed))


def members_of(question: Question) -> frozenset[IRI]:
    """What belongs to a target, where it is a collection."""
    members = (members_of_collection(question, target) for target in question.request.targets)
    return frozenset[IRI]().union(*members) - set(question.request.targets)


def members_of_collection(question: Question, collection: IRI) -> frozenset[IRI]:
    """What belongs to a collection by some hierarchies that count."""
    narrower = (view.hierarchies.assets.narrower(collection) for view in question.views)
    return frozenset[IRI]().union(*narrower) - {collection}


def tables_of_columns(judge: Judge, question: Question) -> frozenset[IRI]:
    """The owners' tables that the targets are columns of: by IRI, a vocabulary, or what a run recorded."""
    snapshot = judge.snapshot
    targets = question.request.targets
    tables = frozenset[IRI]().union(*map(snapshot.tables, targets))
    tables |= {whole for table in tables if (whole := snapshot.whole_of(table)) is not None}
    names = frozenset(map(normalised_column, targets))
    declared = (view.hierarchies.columns.items() for view in question.views)
    declaring = [table for pairs in declared for table, columns in pairs if columns & names]
    declaring += [
        table for target in targets for table in judge.registry.columns.tables_with(snapshot, target)
    ]
    return tables.union(table for table in declaring if snapshot.full_owners(table) & question.owners)


def _is_known(snapshot: Snapshot, target: IRI) -> bool:
    if snapshot.is_known(target) or len(snapshot.related(target)) > 1:
        return True
    return bool(snapshot.tables(target) or snapshot.spelled_otherwise(target))


def _part_owners(
    snapshot: Snapshot, targets: tuple[IRI, ...], submission: Submission | None
) -> frozenset[IRI]:
    """Who owns a part of a target; of what nobody knows, who binds it: they may have forbidden columns."""
    owners = frozenset[IRI]().union(*map(snapshot.owners, targets))
    binds = submission is not None and not any(_is_known(snapshot, target) for target in targets)
    return owners | _just(submission.by) if submission is not None and binds else owners


def tables_with_data(snapshot: Snapshot, targets: Collection[IRI]) -> frozenset[IRI]:
    """What has data of its own, though it may be a column: targets, and what lies below or beside one.

    One of several tables of an output is a part of it, as a column is.
    """
    tables = frozenset(targets).union(*map(snapshot.tables, targets))
    below = (
        data
        for table in tables
        for data in snapshot.data_below(table)
        if snapshot.is_another_table(data, table) and not snapshot.is_part(data, table)
    )

    def is_table_beside(target: IRI) -> bool:
        wholes = snapshot.tables(target)
        return snapshot.has_data(target) and any(not snapshot.is_part(target, whole) for whole in wholes)

    return frozenset((*below, *filter(is_table_beside, targets)))


def load_entries(judge: Judge, question: Question) -> list[set[int]]:
    """Read what owners issued about what is requested; the entries of each issuer about each asset."""
    snapshot = judge.snapshot
    requested = snapshot.requested(question.request)
    keys_by_issuer = [keys for issuer, keys in snapshot.touching(requested) if issuer in question.owners]
    for keys in keys_by_issuer:
        judge.registry.policies.load(snapshot, keys)
        for view in question.views:
            snapshot.place(view, keys)
    return keys_by_issuer


def with_charges(
    judge: Judge, request: Request, about: list[set[int]], submitted: Policy | None
) -> Request:
    """A request with what has been charged, where a policy asks; never with the caller's word of it."""
    facts = tuple(fact for fact in request.facts if fact.operand not in BUDGETS)
    speaks = submitted is not None and speaks_of_budget(submitted)
    if speaks or judge.snapshot.speak_of_budgets(about):
        spent = judge.registry.ledger.spent(request.targets) if judge.asks_charges else EpsilonDelta()
        charged = ((BUDGET_EPSILON, spent.epsilon), (BUDGET_DELTA, spent.delta))
        facts += tuple(Fact(operand, (Number(value),)) for operand, value in charged)
    return request if facts == request.facts else replace(request, facts=facts)


def with_counts(judge: Judge, question: Question) -> Request:
    """A request with what the registry counts, where a vocabulary declares such an operand."""
    counts = dict.fromkeys(operand for view in question.views for operand in view.hierarchies.counts)
    request = question.request
    if not counts:
        return request
    number = Number(Decimal(judge.snapshot.number_made(request.party, request.targets)))
    return replace(request, kept=tuple(Fact(operand, (number,)) for operand in counts))


def owners_of(question: Question, submission: Submission) -> frozenset[IRI]:
    """Who owns all of each target; of what nobody knows, who binds it."""
    return _just(submission.by) if are_unknown(question) else question.full_owners


def are_unknown(question: Question) -> bool:
    """Whether the registry knows none of the targets."""
    return len(question.unknown) == len(question.request.targets)


def _just(party: IRI | None) -> frozenset[IRI]:
    return frozenset() if party is None else frozenset({party})
