"""Generalised rows: what a run of k-anonymity and its kin does at each step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smalti.engine.anonymization.beside import mask_rows
from smalti.engine.anonymization.class_measures import ClassMeasures
from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.examining import examine
from smalti.engine.anonymization.execute import InformationLoss, execute
from smalti.engine.anonymization.explain import as_object, explain, notices_in, to_lines
from smalti.engine.anonymization.guarantee import ClassGuarantee, guarantee_of, stated_guarantee
from smalti.engine.anonymization.pseudonyms import key_of
from smalti.engine.anonymization.recheck import (
    check_published,
    content_again,
    released_again,
    released_rows,
)
from smalti.engine.anonymization.run_warnings import Inspection, inspect_rows
from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import column_iri
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.capability import (
    Capability,
    Compiled,
    OwnersData,
    PlanFigures,
    Produced,
    Production,
    refuse_query,
)
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.binding.ladders import hierarchies_of
from smalti.engine.binding.run_inputs import Granted, check_unchanged
from smalti.engine.binding.run_record import (
    RunUnder,
    digests_of_inputs,
    file_name,
    prefixed,
    published_files,
)
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.binding.varied import with_number
from smalti.engine.plan.class_figures import ClassFigures
from smalti.engine.plan.examination import Examination
from smalti.engine.plan.files import (
    ColumnLevel,
    ColumnLoss,
    Diversity,
    InputDigest,
    PublishedFile,
    Reached,
    ReachedOfPopulation,
)
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.masks import Noisy
from smalti.engine.plan.notices import Notice, ordered
from smalti.engine.plan.origins import Origins, of_rows
from smalti.engine.plan.plan import Column, OutputFormat, Plan, Role
from smalti.engine.plan.reports import OwnerReport, Report
from smalti.engine.registry.commit import Stage
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.engine.verify.combined import ReleasedRows
from smalti.engine.verify.population import OriginalPopulation
from smalti.engine.verify.promise import PopulationCount, PublishedCheck
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError, InternalError, PlanError
from smalti.policy.model.model import Permission
from smalti.transforms.base import Datatype
from smalti.transforms.requirements.registry import judges_of
from smalti.vocab import terms
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from smalti.policy.decide.decision import Reason


@dataclass(frozen=True, slots=True)
class Written:
    """Rows in the stage, and what was seen of them on the way."""

    inspection: Inspection
    key: bytes = field(repr=False)
    """Of pseudonyms; empty where there are none."""
    loss: InformationLoss
    examination: Examination | None = None
    """Where the owner asks for it."""


class Anonymization(Capability[Plan, Written]):
    """Generalised rows, verified against the data."""

    kind = Kind.ANONYMIZATION
    not_tried = None
    has_classes = True

    def untried(self, permission: Permission) -> str | None:
        way = permission.anonymization
        drawn = (terms.SAMPLING, terms.NOISE_ADDITION)
        named = [name for name in drawn if way is not None and name in way.algorithms]
        if not named:
            return None
        return f"a try draws nothing at random, and the policy has {named[0]}; `plan` says what it does"

    def gives_content_again(self, plan: Plan) -> bool:
        return not plan.draws_at_random

    def check_request(self, request: RunRequest) -> None:
        refuse_query(request)

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> Plan:
        return compile_plan(granted.permission, source, table, request.options, circumstances)

    def key_named(self, plan: Plan) -> str | None:
        return plan.pseudonym_key

    def promise(self, plan: Plan) -> str:
        return explain(plan).promise

    def lines(self, plan: Plan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: Plan) -> PlanFigures:
        def columns(*roles: Role) -> frozenset[str]:
            return frozenset(column.name for column in plan.read.columns if column.role in roles)

        guarantee = plan.apply.transform.guarantee
        return PlanFigures(
            guarantee.model,
            True,
            guarantee.k,
            guarantee.l,
            columns(Role.IDENTIFIER, Role.UNLISTED, Role.WITHHELD),
            columns(Role.QUASI_IDENTIFIER),
            columns(Role.SENSITIVE, Role.RELEASED),
        )

    def as_object(self, plan: Plan) -> Mapping[str, object]:
        return as_object(plan)

    def plan_notices(self, plan: Plan) -> tuple[Notice, ...]:
        return notices_in(plan)

    def notices(
        self, compiled: Compiled[Plan], table: StagedTable, *, with_counts: bool
    ) -> tuple[Notice, ...]:
        is_output = compiled.run_input.is_output
        return inspect_rows(
            compiled.plan, compiled.source, table, is_output=is_output, with_counts=with_counts
        ).notices

    def origins(self, plan: Plan, table: IRI) -> Origins:
        del table
        kept, masked = {Role.SENSITIVE, Role.RELEASED}, {each.column for each in plan.masked}
        changed = [
            column.name
            for column in plan.read.columns
            if column.role not in kept or column.pseudonym_key is not None or column.name in masked
        ]
        return of_rows(plan.read.columns, plan.write.columns, changed, plan.read.respondent, plan.filter)

    def report_of_rows(self, report: Report) -> OwnerReport:
        if not isinstance(report, OwnerReport):
            raise InternalError("rows were generalised, and another kind of run was reported")
        return report

    def published_levels(self, plan: Plan, report: Report) -> tuple[tuple[Column, int], ...]:
        levels = self.report_of_rows(report).levels
        return tuple((plan.column(each.column), each.level) for each in levels)

    def can_have_levels(self, plan: Plan, columns: Sequence[Column]) -> bool:
        transform = plan.apply.transform
        if transform.algorithm != terms.INCOGNITO:
            return False
        levels = KeptRecoding("", tuple((column, 0) for column in columns))
        try:
            levels.node(tuple(map(plan.column, transform.quasi_identifiers)))
        except PlanError:
            return False
        return True

    def varied(self, permission: Permission, word: str, number: int) -> Permission:
        return with_number(permission, word, number)

    def class_measures(
        self, compiled: Compiled[Plan], table: StagedTable
    ) -> Callable[[Plan], ClassFigures]:
        changed = {
            *compiled.plan.apply.transform.quasi_identifiers,
            *compiled.plan.apply.transform.sensitive,
        }
        if compiled.plan.sampling_rate is not None or changed & {
            each.column for each in compiled.plan.masked
        }:
            raise PlanError(
                compiled.plan.read.target,
                "single techniques change which rows or values classes are made of, and such classes are"
                " not swept",
                "a policy without a sample, and without techniques of quasi-identifiers and sensitive"
                " columns",
                "`smalti try --vary` tries single numbers, where nothing is drawn at random",
            )
        return ClassMeasures(table, hierarchies_of(compiled.source.description)).figures

    def guarantee(self, plan: Plan) -> ClassGuarantee:
        return guarantee_of(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> ClassGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[ClassGuarantee]) -> PublishedCheck:
        return check_published(published, stated.guarantee)

    def content_again(self, plan: Plan, data: OwnersData, backend: Backend, place: Path) -> str:
        return content_again(plan, data, backend, place)

    def released(self, compiled: Compiled[Plan], stage: Stage) -> ReleasedRows:
        plan = compiled.plan
        output = Output.in_folder(stage.output, plan.write.format)
        withdrawn = compiled.run_input.circumstances.withdrawn
        return released_rows(plan, compiled.source, output, stage.link, withdrawn)

    def released_again(
        self, plan: Plan, data: OwnersData, backend: Backend, place: Path
    ) -> tuple[ReleasedRows, str] | None:
        return None if plan.draws_at_random else released_again(plan, data, backend, place)

    def exact(self, under: RunUnder, compiled: Compiled[Plan], table: StagedTable) -> Written:
        """Generalise: the rows are written into the stage, and the link from them to the input's rows."""
        plan, stage, watch = compiled.plan, under.stage, under.watch
        population = compiled.run_input.circumstances.population
        watch.rows(compiled.contents.rows)
        is_output = compiled.run_input.is_output
        inspection = inspect_rows(plan, compiled.source, table, is_output=is_output, with_counts=True)
        output = stage.output / file_name(plan.write.output, plan.write.format)
        hierarchies = hierarchies_of(compiled.source.description)
        if plan.mask is not None:
            watch.phase("mask")
        mask_rows(plan, table, hierarchies, under.registry.path)
        examination = None
        if under.request.examines:
            watch.phase("examine")
            examination = examine(plan.once_masked, table, hierarchies)
        loss = execute(
            plan.once_masked,
            table,
            output,
            stage.link,
            watch.phase,
            hierarchies,
            None if population is None else population.table,
        )
        return Written(inspection, key_of(plan, under.registry.path), loss, examination)

    @contextmanager
    def production(self, under: RunUnder, compiled: Compiled[Plan], exact: Written) -> Iterator[Production]:
        yield _Verified(under, compiled, exact)


class _Verified(Production):
    """The rows, once an independent verifier has measured them again."""

    def __init__(self, under: RunUnder, compiled: Compiled[Plan], written: Written) -> None:
        self.under, self.compiled, self.written = under, compiled, written

    def produce(self) -> "Produced | Reason":
        plan, written = self.compiled.plan, self.written
        self.under.watch.phase("verify")
        output = Output.in_folder(self.under.stage.output, plan.write.format)
        verification = self._verification(output)
        files = published_files(output.paths, verification.output_digests, plan.write.format)
        _check_examined(written.examination, verification)
        return Produced(
            files=files,
            content=_content_of(output, files),
            columns=_output_columns(plan, self.compiled.source),
            report=self._report(verification),
            notices=ordered((*written.inspection.notices, *_of_labels(written.loss))),
            examination=written.examination,
        )

    def _verification(self, output: Output) -> Verification:
        under, run_input, source = self.under, self.compiled.run_input, self.compiled.source
        population = run_input.circumstances.population
        try:
            verification = verify_run(
                self.compiled.plan,
                Original(source.path, source.format, source.parts),
                output,
                under.stage.link,
                run_input.circumstances.withdrawn.known_form,
                folder=under.stage.spill,
                hierarchies=hierarchies_of(source.description),
                population=_original_population(population),
                key=self.written.key,
            )
        except GuaranteeError:
            # A file that is another one by now breaks promises, too.
            check_unchanged(source, [file_digest(path) for path in source.paths], self.compiled.contents)
            raise
        check_unchanged(
            source, [prefixed(digest) for digest in verification.input_digests], self.compiled.contents
        )
        if population is not None and verification.population is not None:
            digests = [prefixed(digest) for digest in verification.population.digests]
            check_unchanged(population.source, digests, population.table.contents)
        return verification

    def _inputs(self, verification: Verification) -> tuple[InputDigest, ...]:
        registry, population = self.under.registry, self.compiled.run_input.circumstances.population
        digests = digests_of_inputs(registry, self.compiled.source, verification.input_digests)
        if population is None or verification.population is None:
            return digests
        others = digests_of_inputs(registry, population.source, verification.population.digests)
        return (*digests, *(replace(digest, input=population.source.target) for digest in others))

    def _report(self, verification: Verification) -> OwnerReport:
        under, run_input, written = self.under, self.compiled.run_input, self.written
        return OwnerReport(
            engine=under.backend.name,
            inputs=self._inputs(verification),
            rows_in=verification.rows
            + verification.rows_withdrawn
            + verification.rows_filtered
            + verification.rows_not_sampled
            + verification.rows_suppressed,
            rows_out=verification.rows,
            respondents=verification.respondents,
            classes=verification.classes,
            k=verification.k,
            diversity=tuple(Diversity(name, least) for name, least in verification.diversity),
            losses=tuple(ColumnLoss(name, float(value)) for name, value in written.loss.by_column),
            loss=float(written.loss.global_certainty_penalty),
            timings=under.watch.timings,
            rows_withdrawn=verification.rows_withdrawn,
            respondents_listed=run_input.circumstances.withdrawn.count,
            rows_filtered=verification.rows_filtered,
            rows_not_sampled=verification.rows_not_sampled,
            withdrawn_at=run_input.at,
            sampled_fragments=under.request.options.sampled_fragments,
            exact=written.inspection.exact,
            rows_alike=written.inspection.alike,
            rows_suppressed=verification.rows_suppressed,
            respondents_suppressed=verification.respondents_suppressed,
            levels=_levels(self.compiled.plan, written.loss.node),
            minimal_nodes=written.loss.minimal,
            of_population=_reached_of(verification.population),
            reached=tuple(
                Reached(name, judge.parameters or judge.name, figure)
                for name, requirement, figure in verification.reached
                for judge in judges_of([replace(requirement, column=None)])
            ),
        )


def _check_examined(examination: Examination | None, verification: Verification) -> None:
    """That what was examined is what was written: its classes were made a second time."""
    if examination is None:
        return
    figures = examination.figures
    examined = figures.rows, figures.respondents, figures.classes, figures.k
    if examined != (verification.rows, verification.respondents, verification.classes, verification.k):
        raise InternalError("other classes were examined than were written")


def _reached_of(counted: PopulationCount | None) -> ReachedOfPopulation | None:
    if counted is None:
        return None
    return ReachedOfPopulation(counted.least, *map(float, counted.shares))


def _original_population(population: BoundPopulation | None) -> OriginalPopulation | None:
    if population is None:
        return None
    source = population.source
    return OriginalPopulation(
        Original(source.path, source.format, source.parts),
        population.table.contents.header,
        population.withdrawn.known_form,
    )


def _levels(plan: Plan, node: tuple[int, ...]) -> tuple[ColumnLevel, ...]:
    columns = [plan.column(name) for name in plan.apply.transform.quasi_identifiers]
    return tuple(
        ColumnLevel(column.name, level, column.hierarchy.levels if column.hierarchy else 0)
        for column, level in zip(columns, node, strict=False)
    )


def _of_labels(loss: InformationLoss) -> tuple[Notice, ...]:
    return tuple(Notice(text, is_of_data=True) for text in loss.warnings)


def _content_of(output: Output, files: tuple[PublishedFile, ...]) -> str:
    if output.format is OutputFormat.CSV and len(files) == 1:
        return files[0].digest  # such a file is the form that is digested
    return content_digest(output.paths, output.format)


def _output_columns(plan: Plan, source: Source) -> tuple[OutputColumn, ...]:
    published = replace(source, target=plan.write.output, description=type(source.description)())
    return tuple(
        OutputColumn(name, column_iri(published, name), _datatype_of(plan, name))
        for name in plan.write.columns
    )


def _datatype_of(plan: Plan, name: str) -> Datatype:
    """What a published column holds; a pseudonym is a text, and so is a label of a masked value."""
    if any(isinstance(each, Noisy) and each.column == name for each in plan.masked):
        return Datatype.DECIMAL
    column = plan.once_masked.column(name)
    return column.datatype if column.pseudonym_key is None else Datatype.STRING


CAPABILITY: Final = Anonymization()
