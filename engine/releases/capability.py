"""A release of statistics: what its run does at each step."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Compiled, PlanFigures
from smalti.engine.binding.checks import ReleaseCheck, check_release
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.losses.certified import check_certified
from smalti.engine.losses.noisy_table import NoisyTables, refuse_output
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.origins import Origins
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.values import NoisyValue
from smalti.engine.registry.budget import ChargedLoss, charged_loss
from smalti.engine.registry.ceilings import declared_ceiling
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.releases.aggregate import Aggregates, aggregate
from smalti.engine.releases.compile import columns_to_stage, compile_release
from smalti.engine.releases.draw import draw, expected_errors
from smalti.engine.releases.explain import as_object, explain_release, to_lines
from smalti.engine.releases.guarantee import LossGuarantee, guarantee_of, stated_guarantee
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.query import Query
from smalti.engine.releases.recheck import check_noise, check_sentences
from smalti.engine.releases.table import origins_of, output_columns, write_table
from smalti.engine.releases.terms import single_release
from smalti.engine.tables.description import Source
from smalti.errors import InternalError
from smalti.policy.model.model import Permission
from smalti.transforms.noise.samplers import SAMPLER
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY, IRI


class Release(NoisyTables[ReleasePlan, list[Aggregates]]):
    """Exact aggregates, and noise on each of them."""

    kind = Kind.RELEASE

    def check_request(self, request: RunRequest) -> None:
        refuse_options_of_rows(request)

    def columns_read(
        self, request: RunRequest, granted: Granted
    ) -> Callable[[Source], Collection[str] | None]:
        query = _query(request, granted.permission)

        def columns(source: Source) -> Collection[str] | None:
            if source.format is not OutputFormat.CSV:
                # Of Parquet only what is read is checked: whether it is well-formed must not depend on
                # what is asked.
                return None
            return columns_to_stage(granted.permission, query, source, granted.rows)

        return columns

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> ReleasePlan:
        """The plan of a query; that the permission declares a budget is all that is looked at of it.

        Raises:
            PlanError: the query cannot be answered under the permission; all problems at once.
        """
        permission = granted.permission
        query = _query(request, permission)
        refuse_output(source, circumstances)
        declared_ceiling(permission)
        return compile_release(
            permission, query, source, table, circumstances, request.options.output_format
        )

    def loss(self, plan: ReleasePlan) -> ChargedLoss:
        return charged_loss(plan.loss, plan.bound.neighbors)

    def promise(self, plan: ReleasePlan) -> str:
        return explain_release(plan).promise

    def lines(self, plan: ReleasePlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: ReleasePlan) -> PlanFigures:
        del plan
        return PlanFigures(DIFFERENTIAL_PRIVACY)

    def as_object(self, plan: ReleasePlan) -> Mapping[str, object]:
        return as_object(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> LossGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[LossGuarantee]) -> ReleaseCheck:
        of_bytes = check_release(published.folder, published.files)
        alone = check_sentences(published.certificate, stated)
        seen = of_bytes, alone
        return check_certified(published, stated, seen, ReleasePlan, guarantee_of, check_noise)

    def exact(
        self, under: RunUnder, compiled: Compiled[ReleasePlan], table: StagedTable
    ) -> list[Aggregates]:
        under.watch.phase("aggregate")
        return [aggregate(compiled.plan, statistic, table) for statistic in compiled.plan.statistics]

    def drawn(self, plan: ReleasePlan, exact: list[Aggregates], path: Path) -> tuple[NoisyValue, ...]:
        values = tuple(
            value
            for statistic, amounts in zip(plan.statistics, exact, strict=True)
            for value in draw(plan, statistic, amounts, SAMPLER)
        )
        write_table(plan, values, path)
        return values

    def expected_errors(self, plan: ReleasePlan) -> tuple[str, ...]:
        return tuple(expected_errors(plan))

    def guarantee(self, plan: ReleasePlan) -> LossGuarantee:
        return guarantee_of(plan)

    def origins(self, plan: ReleasePlan, table: IRI) -> Origins:
        del table
        return origins_of(plan)

    def output_columns(self, plan: ReleasePlan) -> tuple[OutputColumn, ...]:
        return output_columns(plan)


def _query(request: RunRequest, permission: Permission) -> Query:
    if permission.anonymization is None:
        raise InternalError("a permission without refinements reached a release")
    if request.query is None:
        return single_release(permission.anonymization)
    if not isinstance(request.query, Query):
        raise InternalError("a request that is no query reached a release")
    return request.query


CAPABILITY: Final = Release()
