"""A table of perturbed records: what its run does at each step."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Compiled, PlanFigures
from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.losses.certified import check_certified
from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.losses.noisy_table import NoisyTables, refuse_output
from smalti.engine.perturbation.compile import compile_perturbation
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.explain import as_object, explain_perturbation, notices_in, to_lines
from smalti.engine.perturbation.guarantee import LocalGuarantee, guarantee_of, stated_guarantee
from smalti.engine.perturbation.images import check_images_available
from smalti.engine.perturbation.mechanisms import expected_error
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedImage
from smalti.engine.perturbation.recheck import check_noise, check_perturbation, check_sentences
from smalti.engine.perturbation.reports import exact_reports
from smalti.engine.perturbation.table import output_columns, write_table
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import LOCAL_NEIGHBORS
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.origins import Change, ColumnOrigin, Origins
from smalti.engine.plan.plan import columns_of_respondent
from smalti.engine.plan.values import NoisyValue
from smalti.engine.registry.budget import ChargedLoss, charged_loss
from smalti.engine.registry.ceilings import declared_ceiling
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.description import Source
from smalti.errors import InternalError, UsageError
from smalti.transforms.noise.samplers import SAMPLER
from smalti.vocab.terms import IRI, LOCAL_DIFFERENTIAL_PRIVACY


class Perturbation(NoisyTables[PerturbationPlan, ExactReports]):
    """One report of each respondent, and noise on each value of it."""

    kind = Kind.PERTURBATION

    def check_request(self, request: RunRequest) -> None:
        if request.query is not None:
            raise UsageError(
                request.query.name or "query (--query)",
                "the matching permission perturbs records, and does not answer queries",
                "a policy with the method differential-privacy",
                "leave out --query: statistics can be estimated from the noisy rows (`smalti estimate`)",
            )
        refuse_options_of_rows(request)

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> PerturbationPlan:
        """The plan; that the permission declares a budget is all that is looked at of it.

        Raises:
            PlanError: the data cannot be perturbed as the policy asks; all problems at once.
        """
        refuse_output(source, circumstances)
        declared_ceiling(granted.permission)
        output_format = request.options.output_format
        plan = compile_perturbation(granted.permission, source, table, output_format, circumstances)
        # INVARIANT: the ledger is charged all that the noise loses, its Gaussian part too.
        if self.loss(plan).loss != plan.loss.noise:
            raise InternalError("a perturbation would be charged less than its noise loses")
        return plan

    def loss(self, plan: PerturbationPlan) -> ChargedLoss:
        return charged_loss(plan.loss, LOCAL_NEIGHBORS)

    def promise(self, plan: PerturbationPlan) -> str:
        return explain_perturbation(plan).promise

    def lines(self, plan: PerturbationPlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: PerturbationPlan) -> PlanFigures:
        del plan
        return PlanFigures(LOCAL_DIFFERENTIAL_PRIVACY)

    def as_object(self, plan: PerturbationPlan) -> Mapping[str, object]:
        return as_object(plan)

    def plan_notices(self, plan: PerturbationPlan) -> tuple[Notice, ...]:
        return notices_in(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> LocalGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[LocalGuarantee]) -> ReleaseCheck:
        table = check_perturbation(published.folder, published.files, stated.guarantee)
        alone = check_sentences(published.certificate, stated)
        seen = table, alone
        return check_certified(published, stated, seen, PerturbationPlan, guarantee_of, check_noise)

    def exact(
        self, under: RunUnder, compiled: Compiled[PerturbationPlan], table: StagedTable
    ) -> ExactReports:
        plan = compiled.plan
        under.watch.phase("reports")
        if any(isinstance(column, PerturbedImage) for column in plan.perturbed):
            check_images_available()
        return exact_reports(plan, table)

    def drawn(self, plan: PerturbationPlan, exact: ExactReports, path: Path) -> tuple[NoisyValue, ...]:
        write_table(plan, draw(plan, exact, SAMPLER), path)
        return ()

    def expected_errors(self, plan: PerturbationPlan) -> tuple[str, ...]:
        return tuple(map(expected_error, plan.perturbed))

    def guarantee(self, plan: PerturbationPlan) -> LocalGuarantee:
        return guarantee_of(plan)

    def origins(self, plan: PerturbationPlan, table: IRI) -> Origins:
        del table
        columns = (each.column for each in plan.perturbed)
        return Origins(
            tuple(ColumnOrigin(column, (column,), Change.MASKED) for column in columns),
            grouped_by=tuple(columns_of_respondent(plan.read.respondent)),
        )

    def output_columns(self, plan: PerturbationPlan) -> tuple[OutputColumn, ...]:
        return output_columns(plan)


CAPABILITY: Final = Perturbation()
