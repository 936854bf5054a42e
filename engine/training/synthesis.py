"""Synthetic records of a generative model: what their run does at each step."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Capability, Compiled, PlanFigures, Production, refuse_query
from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.losses.certified import check_certified
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.origins import Change, ColumnOrigin, Origins
from smalti.engine.plan.plan import columns_of_respondent
from smalti.engine.registry.budget import ChargedLoss, charged_loss
from smalti.engine.tables.description import Source
from smalti.engine.training.recheck import check_noise, check_sentences
from smalti.engine.training.synthesis_guarantee import SynthesisGuarantee, guarantee_of, stated_guarantee
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.policy.model.model import Duty, Permission
from smalti.transforms.learning.installed import check_installed
from smalti.vocab.terms import IRI, SYNTHESIS

if TYPE_CHECKING:
    from smalti.transforms.problem import Integers


class Synthesis(Capability[SynthesisPlan, "Integers"]):
    """A table of records that a generative model gives; the model itself is never published.

    With noise, records are made from the private model alone: nothing of the data but the charge decides
    whether they are published. Without, they are attacked before anybody has them.
    """

    kind = Kind.SYNTHESIS

    def check_installed(self) -> None:
        check_installed()

    def check_request(self, request: RunRequest) -> None:
        refuse_query(request)
        refuse_options_of_rows(request)

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> SynthesisPlan:
        check_installed()
        from smalti.engine.training.synthesis_compile import compile_synthesis  # noqa: PLC0415 (an extra)

        output_format = request.options.output_format
        return compile_synthesis(granted.permission, source, table, output_format, circumstances)

    def fulfils(self, duty: Duty, permission: Permission, target: IRI) -> bool:
        """Whether it is a duty to audit: that is about the records, and a part of each run."""
        del permission, target
        return duty.audit is not None and not duty.constraints

    def loss(self, plan: SynthesisPlan) -> ChargedLoss | None:
        """What a private training loses; its records lose nothing more. Others are not charged."""
        synthesize = plan.synthesize
        if synthesize.private is None or synthesize.loss is None:
            return None
        return charged_loss(synthesize.loss, synthesize.private.neighbors)

    def promise(self, plan: SynthesisPlan) -> str:
        from smalti.engine.training.synthesis_explain import explain_synthesis  # noqa: PLC0415 (an extra)

        return explain_synthesis(plan).promise

    def lines(self, plan: SynthesisPlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        from smalti.engine.training.synthesis_explain import to_lines  # noqa: PLC0415 (an extra)

        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: SynthesisPlan) -> PlanFigures:
        return PlanFigures(SYNTHESIS, dropped=frozenset(plan.select.dropped))

    def as_object(self, plan: SynthesisPlan) -> Mapping[str, object]:
        from smalti.engine.training.synthesis_explain import as_object  # noqa: PLC0415 (an extra)

        return as_object(plan)

    def plan_notices(self, plan: SynthesisPlan) -> tuple[Notice, ...]:
        from smalti.engine.training.synthesis_explain import notices_in  # noqa: PLC0415 (an extra)

        return notices_in(plan)

    def origins(self, plan: SynthesisPlan, table: IRI) -> Origins:
        """Each column is learned from its own, and from all others."""
        del table
        names = plan.select.kept
        return Origins(
            tuple(ColumnOrigin(name, names, Change.AGGREGATED) for name in names),
            grouped_by=tuple(columns_of_respondent(plan.read.respondent)),
        )

    def guarantee(self, plan: SynthesisPlan) -> SynthesisGuarantee:
        return guarantee_of(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> SynthesisGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[SynthesisGuarantee]) -> ReleaseCheck:
        from smalti.engine.training.synthesis_recheck import AS_STATED, check_records  # noqa: PLC0415

        of_bytes = check_records(published.folder, published.files, stated.guarantee)
        seen = of_bytes, check_sentences(published.certificate, stated, AS_STATED)
        return check_certified(
            published, stated, seen, SynthesisPlan, guarantee_of, _check_noise, attested=(AS_STATED,)
        )

    def exact(self, under: RunUnder, compiled: Compiled[SynthesisPlan], table: StagedTable) -> "Integers":
        from smalti.engine.training.synthetic_table import exact_records  # noqa: PLC0415 (an extra)

        under.watch.phase("records")
        return exact_records(compiled.plan, table)

    def production(
        self, under: RunUnder, compiled: Compiled[SynthesisPlan], exact: "Integers"
    ) -> AbstractContextManager[Production]:
        """Train, draw, and attack where that is due.

        Raises:
            DivergedError: a training without noise diverged.
        """
        from smalti.engine.training.synthesis_run import production  # noqa: PLC0415 (an extra)

        return production(under, compiled, exact, self.loss(compiled.plan))


def _check_noise(place: Path, plan: SynthesisPlan) -> ReleaseCheck:
    return check_noise(place, plan.synthesize.private, plan.synthesize.loss)


CAPABILITY: Final = Synthesis()
