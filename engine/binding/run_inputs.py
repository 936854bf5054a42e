"""The data of a run: bound to its target, looked up in the registry, and the same from beginning to end."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.binding import check_described_alike
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.binding.known_respondents import check_run, recorded_respondent, requested_respondent
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.withheld_columns import (
    NOTHING_WITHHELD,
    Withheld,
    check_declared,
    check_withheld,
    declared_columns,
    described_columns,
    withheld_columns,
)
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.known_columns import DescribedColumns, KnownColumns, known_spelling
from smalti.engine.plan.phase import Phase
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.registry.entries import Input, TargetVersion, discarded_input
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.description import Source
from smalti.engine.tables.parts import files_in
from smalti.engine.tables.proposing import refuse_marks_in_header, with_proposals
from smalti.engine.tables.reading import Contents
from smalti.errors import DataError, InternalError, PlanError, UsageError
from smalti.policy.decide.decision import Grant
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.iris import MOST_IN_STEM, file_stem
from smalti.policy.model.model import Condition, Permission
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class RunInput:
    """What the registry knows of a run's input."""

    inputs: tuple[Input, ...]
    circumstances: Circumstances
    at: datetime
    """When it was asked who withdrew."""
    withheld: Withheld = NOTHING_WITHHELD
    """Of the columns that the data has."""
    columns: DescribedColumns | None = None
    """All columns of the data."""
    population_columns: DescribedColumns | None = None
    """All columns of the population table; None where there is none."""

    @property
    def is_output(self) -> bool:
        """Whether the input is itself an output."""
        return self.circumstances.inherited is not None

    def recoded(self, recoding: KeptRecoding | None) -> "RunInput":
        """The same, published at the levels of an earlier release; of none where there is no recoding."""
        return replace(self, circumstances=replace(self.circumstances, recoding=recoding))

    def beside(self, population: BoundPopulation) -> "RunInput":
        """The same, with the population table that respondents come from as a second input."""
        circumstances = replace(self.circumstances, population=population)
        inputs = (*self.inputs, Input(population.source.target, None))
        return replace(
            self, inputs=inputs, circumstances=circumstances, population_columns=population.columns
        )


@dataclass(frozen=True, slots=True)
class Granted:
    """What a run may do."""

    permission: Permission
    rows: tuple[Condition, ...]
    withheld: tuple[IRI, ...] = ()
    """Columns that may be neither published nor shown (`Grant.withheld`)."""
    implied: tuple[IRI, ...] = ()
    """Of those, the ones that the data need not have (`Grant.implied`)."""
    spared: tuple[IRI, ...] = ()
    """IRIs that the data must have columns of (`Grant.spared`)."""
    columns: KnownColumns | None = None
    """What the description tells of columns, as the decision knew it; None: nothing was decided."""

    @property
    def output(self) -> IRI:
        if self.permission.output is None:
            raise InternalError("a permission without an output was granted")
        output = self.permission.output
        if len(file_stem(output)) > MOST_IN_STEM:
            raise UsageError(
                str(self.permission.where),
                "the last part of the output's IRI is too long for a file name",
                f"at most {MOST_IN_STEM} characters",
                "name another asset in the policy: `smalti check` shows the place",
            )
        return output


def granted_by(grant: Grant) -> Granted:
    """What a run may do under a grant."""
    return Granted(grant.permission, grant.rows, grant.withheld, grant.implied, grant.spared)


def look_up_input(
    request: RunRequest, registry: Registry, granted: Granted, source: Source, table: StagedTable
) -> RunInput:
    """Look up a run's input: who withdrew, how respondents were counted before, what is withheld.

    Raises:
        DeclaresMoreError: the description declares columns that the decision did not know of.
        UsageError: the target is an output, and this is no version of it; or the request says who
            respondents are, and who submits it may not; or who submits it describes another party's data
            otherwise than an owner did (`check_described_alike`).
    """
    versions = registry.outputs.of(source.target)
    version = _version_of(source, table, versions) if versions else None
    if request.party is not None:
        check_described_alike(registry, source, table.contents, request.submitter)
    if version is not None and not version.holds_records:
        raise PlanError(
            str(source.target),
            "its rows are counts or synthetic, and no records of respondents: nothing made of them could"
            " keep a promise about people",
            "a table in which each row is a record",
            "name the data that it was made from, if its owners permit that",
        )
    number = None if version is None else version.number
    now = registry.withdrawals.moment()
    withdrawn = registry.withdrawals.of(source.target, number, at=now)
    inherited = None if version is None else version.respondent
    if granted.columns is not None:
        check_declared(source, granted.columns)
    unvouched = _unvouched(request, registry, source)
    withheld = withheld_columns(source, table.contents.header, granted.withheld, granted.implied, unvouched)
    spared = withheld_columns(source, table.contents.header, granted.spared, unvouched=unvouched)
    withheld = replace(withheld, lacking=tuple(dict.fromkeys((*withheld.lacking, *spared.lacking))))
    withheld = without_tables(registry, source, withheld)
    circumstances = Circumstances(
        granted.rows,
        request.asks,
        inherited,
        withdrawn,
        requested_respondent(request, registry),
        recorded_respondent(request, registry, table.contents),
        withheld.names,
        show_values=request.show_values,
    )
    columns = described_columns(source, table.contents.header, request.owner or request.party)
    return RunInput((Input(source.target, number),), circumstances, now, withheld, columns)


def without_tables(registry: Registry, source: Source, withheld: Withheld) -> Withheld:
    """What is withheld, but for what is a table itself.

    Below the table, that is an IRI under which the table's owners have other data.
    """

    def is_table(iri: IRI) -> bool:
        if not is_column_of(source.target, iri):
            return False
        with registry.snapshot() as snapshot:
            return snapshot.is_another_table(iri, source.target)

    return replace(withheld, lacking=tuple(iri for iri in withheld.lacking if not is_table(iri)))


def _unvouched(request: RunRequest, registry: Registry, source: Source) -> frozenset[IRI]:
    """The IRIs that name a column on the word of a party that is not the only owner of the data.

    One of several owners does not say by a description which column another one has prohibited. What the
    columns of data are called is the word of whoever binds it.
    """
    if request.party is None:
        return frozenset()  # nobody asks, and nothing is decided
    owners = registry.ownership.of(source.target)
    if not registry.ownership.full(source.target) or owners == {request.submitter}:
        return frozenset()
    with registry.snapshot() as snapshot:
        registered = registry.columns.of(snapshot, source.target)
    declared = declared_columns(source).renamed
    pairs = {(known_spelling(name), known_spelling(own)): own for name, own in declared}
    return frozenset(own for pair, own in pairs.items() if pair not in registered.believed)


def admit(
    request: RunRequest,
    registry: Registry,
    run_input: RunInput,
    source: Source,
    table: StagedTable,
    plan: AnyPlan,
) -> None:
    """Check, before anything is counted, whether a run may do this with this data; every run calls it.

    Raises:
        UsageError, PlanError: not by anybody, or not by the submitter (`known_respondents.check_run`).
        DeniedOnDataError: a policy prohibits the use of a column that the plan needs, or that is not there.
    """
    check_run(registry, source, table.contents, plan, request.submitter)
    check_withheld(run_input.withheld, table.contents.header, plan)


@contextmanager
def bound(
    request: RunRequest,
    backend: Backend,
    workspace: Path,
    phase: Phase = lambda _: None,
    columns: Callable[[Source], Collection[str] | None] = lambda _: None,
) -> Iterator[tuple[Source, StagedTable]]:
    """The source, and its rows as they are staged; gone at the end.

    Args:
        request: names target and data.
        backend: where rows are staged.
        workspace: a private folder.
        phase: called at the start of each phase.
        columns: the names of those to stage; None: all.
    """
    source = brought(request.target, request.data, workspace.with_name("input"), phase)
    phase("read")
    with closing(_opened(backend, source, workspace, columns(source))) as table:
        if source.is_plain_csv:
            described = [column.name for column in source.description.columns]
            refuse_marks_in_header(source.paths[0], table.contents.header, described)
        yield source, table


def _opened(
    backend: Backend, source: Source, workspace: Path, columns: Collection[str] | None
) -> StagedTable:
    """The staged rows; errors about the way in which a file is written say how it seems to be written."""
    with with_proposals(source.paths):
        return backend.open(source, workspace, columns)


def _version_of(source: Source, table: StagedTable, versions: tuple[TargetVersion, ...]) -> TargetVersion:
    digests = table.contents.digests
    same = [v for v in versions if not v.tables and tuple(file.digest for file in v.files) == digests]
    tables = dict.fromkeys(part.iri for version in versions for part in version.tables)
    if not same and tables:
        listed = ", ".join(f"`{part}`" for part in tables)
        raise UsageError(
            str(source.target),
            "it has several tables, each of which is a target of its own",
            f"one of {listed}",
            "write a policy about one of them, and bind its file to that IRI",
        )
    if same and all(version.discarded_at is not None for version in same):
        raise discarded_input(same[-1])
    same = [version for version in same if version.discarded_at is None]
    if not same:
        raise UsageError(
            source.path.name,
            f"{'the folder' if source.parts else 'the file'} is not a registered version of"
            f" `{source.target}`",
            "the registered bytes, with all parts in their order",
            "`smalti targets` lists the versions and where they are",
        )
    # Equal bytes may have been made with respondents counted in two ways: the stricter one holds.
    return next((v for v in same if isinstance(v.respondent, RespondentColumn)), same[-1])


def check_unchanged(source: Source, digests: Sequence[str], contents: Contents) -> None:
    """That the input is what was read: the same files, with the same bytes."""
    names = [path.name for path in source.paths]
    for name, digest, read in zip(names, digests, contents.digests, strict=True):
        if digest != read:
            raise _changed(name)
    if source.parts and not _has_same_files(source):
        raise _changed(source.path.name)


def _has_same_files(source: Source) -> bool:
    try:
        return files_in(source.path)[1] == source.parts
    except UsageError:
        return False


def _changed(name: str) -> DataError:
    return DataError(name, "the file changed during the run", "a file that stays as it is", "run again")
