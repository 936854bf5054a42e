"""Records in groups, and the values of each group in a table of their own: what a run does at each step."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
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
from smalti.engine.binding.run_inputs import Granted, check_unchanged
from smalti.engine.binding.run_record import RunUnder, digests_of_inputs, prefixed, published_files
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.binding.varied import with_number
from smalti.engine.bucketization.compile import compile_bucketization, table_iris
from smalti.engine.bucketization.execute import Places, execute
from smalti.engine.bucketization.explain import as_object, explain, notices_in, to_lines
from smalti.engine.bucketization.guarantee import GroupsGuarantee, guarantee_of, stated_guarantee
from smalti.engine.bucketization.recheck import check_published, content_again, content_of
from smalti.engine.bucketization.report import GroupsReport
from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.files import Diversity
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice, ordered
from smalti.engine.plan.origins import Change, ColumnOrigin, Origins, of_rows
from smalti.engine.plan.plan import Role
from smalti.engine.plan.reports import Report
from smalti.engine.registry.entries import OutputColumn, OutputTable
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.engine.verify.buckets import GroupsVerification, verify_groups
from smalti.engine.verify.promise import PublishedCheck
from smalti.engine.verify.verifier import Original
from smalti.errors import GuaranteeError, InternalError
from smalti.policy.model.column_iris import column_iri
from smalti.policy.model.model import Permission
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from smalti.policy.decide.decision import Reason


class Bucketization(Capability[BucketizationPlan, Places]):
    """Two tables, verified against the data."""

    kind = Kind.BUCKETIZATION
    not_tried = None

    def gives_content_again(self, plan: BucketizationPlan) -> bool:
        del plan
        return True

    def check_request(self, request: RunRequest) -> None:
        refuse_query(request)
        refuse_options_of_rows(request)

    def tables(self, output: IRI) -> tuple[IRI, ...]:
        return table_iris(output)

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> BucketizationPlan:
        output_format = request.options.output_format
        return compile_bucketization(granted.permission, source, table, output_format, circumstances)

    def promise(self, plan: BucketizationPlan) -> str:
        return explain(plan).promise

    def lines(self, plan: BucketizationPlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: BucketizationPlan) -> PlanFigures:
        def columns(*roles: Role) -> frozenset[str]:
            return frozenset(column.name for column in plan.read.columns if column.role in roles)

        return PlanFigures(
            plan.group.method,
            True,
            None,
            plan.group.l,
            columns(Role.IDENTIFIER, Role.UNLISTED, Role.WITHHELD),
            frozenset(),
            columns(Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.RELEASED),
        )

    def as_object(self, plan: BucketizationPlan) -> Mapping[str, object]:
        return as_object(plan)

    def plan_notices(self, plan: BucketizationPlan) -> tuple[Notice, ...]:
        return notices_in(plan)

    def report_of_rows(self, report: Report) -> GroupsReport:
        if not isinstance(report, GroupsReport):
            raise InternalError("records were grouped, and another kind of run was reported")
        return report

    def varied(self, permission: Permission, word: str, number: int) -> Permission:
        return with_number(permission, word, number)

    def origins(self, plan: BucketizationPlan, table: IRI) -> Origins:
        group, sensitive, count = plan.write.values.columns
        rows = of_rows(plan.read.columns, plan.published, (), plan.read.respondent, plan.filter)
        if table == plan.write.records.output:
            return rows
        values = ColumnOrigin(sensitive, (plan.group.sensitive,), Change.NONE)
        counts = ColumnOrigin(count, (plan.group.sensitive,), Change.AGGREGATED)
        numbers = ColumnOrigin(group, (plan.group.sensitive,), Change.MASKED)
        return replace(rows, columns=(numbers, values, counts))

    def guarantee(self, plan: BucketizationPlan) -> GroupsGuarantee:
        return guarantee_of(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> GroupsGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[GroupsGuarantee]) -> PublishedCheck:
        return check_published(published, stated.guarantee)

    def content_again(
        self, plan: BucketizationPlan, data: OwnersData, backend: Backend, place: Path
    ) -> str:
        return content_again(plan, data, backend, place)

    def exact(self, under: RunUnder, compiled: Compiled[BucketizationPlan], table: StagedTable) -> Places:
        """Group: both tables are written into the stage, and the link from records to the input's rows."""
        plan, stage, watch = compiled.plan, under.stage, under.watch
        watch.rows(compiled.contents.rows)
        places = Places.in_folder(plan, stage.output, stage.link)
        execute(plan, table, places, load_secret(under.registry.path), watch.phase)
        return places

    @contextmanager
    def production(
        self, under: RunUnder, compiled: Compiled[BucketizationPlan], exact: Places
    ) -> Iterator[Production]:
        yield _Verified(under, compiled, exact)


class _Verified(Production):
    """Both tables, once an independent verifier has measured them again."""

    def __init__(self, under: RunUnder, compiled: Compiled[BucketizationPlan], places: Places) -> None:
        self.under, self.compiled, self.places = under, compiled, places

    def produce(self) -> "Produced | Reason":
        plan, places = self.compiled.plan, self.places
        self.under.watch.phase("verify")
        seen = self._verification()
        return Produced(
            files=published_files(places.tables, seen.output_digests, plan.write.format),
            content=content_of(plan, places),
            tables=self._tables(),
            report=self._report(seen),
            notices=ordered(notices_in(plan)),
        )

    def _verification(self) -> GroupsVerification:
        under, compiled, source = self.under, self.compiled, self.compiled.source
        withdrawn = compiled.run_input.circumstances.withdrawn
        try:
            seen = verify_groups(
                compiled.plan,
                Original(source.path, source.format, source.parts),
                self.places.tables,
                under.stage.link,
                withdrawn.known_form,
            )
        except GuaranteeError:
            # A file that is another one by now breaks promises, too.
            check_unchanged(source, [file_digest(path) for path in source.paths], compiled.contents)
            raise
        check_unchanged(source, [prefixed(digest) for digest in seen.input_digests], compiled.contents)
        return seen

    def _tables(self) -> tuple[OutputTable, ...]:
        plan, places = self.compiled.plan, self.places
        written = ((plan.write.records, places.records, True), (plan.write.values, places.values, False))
        return tuple(
            OutputTable(
                table.output,
                (path.name,),
                tuple(_output_column(plan, table.output, name) for name in table.columns),
                content_digest([path], plan.write.format),
                holds_records,
            )
            for table, path, holds_records in written
        )

    def _report(self, seen: GroupsVerification) -> GroupsReport:
        under, plan, run_input = self.under, self.compiled.plan, self.compiled.run_input
        left_out = seen.rows_withdrawn + seen.rows_filtered + seen.rows_suppressed
        return GroupsReport(
            engine=under.backend.name,
            inputs=digests_of_inputs(under.registry, self.compiled.source, seen.input_digests),
            rows_in=seen.rows + left_out,
            rows_out=seen.rows,
            groups=seen.groups,
            least_rows=seen.least_rows,
            most_alike=seen.most_alike,
            diversity=(Diversity(plan.group.sensitive, seen.least_values),),
            exact=plan.quasi_identifiers,
            timings=under.watch.timings,
            rows_withdrawn=seen.rows_withdrawn,
            rows_filtered=seen.rows_filtered,
            rows_suppressed=seen.rows_suppressed,
            respondents_listed=run_input.circumstances.withdrawn.count,
            withdrawn_at=run_input.at,
        )


def _output_column(plan: BucketizationPlan, table: IRI, name: str) -> OutputColumn:
    group, _, count = plan.write.values.columns
    datatypes = {group: Datatype.STRING, count: Datatype.INTEGER}
    datatype = datatypes.get(name) or plan.column(name).datatype
    return OutputColumn(name, column_iri(table, name), datatype)


CAPABILITY: Final = Bucketization()
