"""The training of a model: what its run does at each step.

The order is what protects. A private training is charged before anything random is drawn for it, and before
anything is found out about its data; what was trained is readable only as the one output that is
published, and only where the duty to audit is met (`production`, `attempt`). Whatever ends a run before
that leaves no target.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Capability, Compiled, PlanFigures, Production, refuse_query
from smalti.engine.binding.checks import ReleaseCheck, check_release
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.losses.certified import check_certified
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice
from smalti.engine.registry.budget import ChargedLoss, charged_loss
from smalti.engine.tables.description import Source
from smalti.engine.training.guarantee import ModelGuarantee, guarantee_of, stated_guarantee
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recheck import AS_STATED, check_noise, check_sentences
from smalti.policy.model.model import Duty, Permission
from smalti.transforms.learning.installed import check_installed
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from smalti.engine.training.records import TrainingRecords


class Training(Capability[TrainingPlan, "TrainingRecords"]):
    """A model, trained once and audited.

    Data that is too little for the audit is an error before any training, and costs nothing, where training
    is not private: nothing is promised of a single person there. Where it is private, that error would tell
    for nothing whether one person more is in the data. So the training is charged and counted first, its
    attempt is inconclusive then, and whoever asks gets the denial of a model that did not pass. So it is
    where a shadow model diverges, which no charge covers.

    A training that diverges is an error, too, where it is not private. Where it is, it was charged, and
    that it diverged follows from its weights alone: whoever asks is told in a denial.
    """

    kind = Kind.TRAINING

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
    ) -> TrainingPlan:
        del request
        check_installed()
        from smalti.engine.training.compile import compile_training  # noqa: PLC0415 (an extra)

        return compile_training(granted.permission, source, table, circumstances)

    def studied(self, plan: TrainingPlan, table: StagedTable) -> object:
        from smalti.engine.training.studied import studied  # noqa: PLC0415 (an extra)

        return studied(plan, table)

    def fulfils(self, duty: Duty, permission: Permission, target: IRI) -> bool:
        """Whether it is a duty to audit: that is about the model, and a part of each run."""
        del permission, target
        return duty.audit is not None and not duty.constraints

    def loss(self, plan: TrainingPlan) -> ChargedLoss | None:
        """What a private training loses. One without noise is not charged: its audit stands for it."""
        train = plan.train
        if train.private is None or train.loss is None:
            return None
        return charged_loss(train.loss, train.private.neighbors)

    def promise(self, plan: TrainingPlan) -> str:
        from smalti.engine.training.explain import explain_training  # noqa: PLC0415 (an extra)

        return explain_training(plan).promise

    def lines(self, plan: TrainingPlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        from smalti.engine.training.explain import to_lines  # noqa: PLC0415 (an extra)

        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: TrainingPlan) -> PlanFigures:
        del plan
        return PlanFigures("train")

    def as_object(self, plan: TrainingPlan) -> Mapping[str, object]:
        from smalti.engine.training.explain import as_object  # noqa: PLC0415 (an extra)

        return as_object(plan)

    def plan_notices(self, plan: TrainingPlan) -> tuple[Notice, ...]:
        from smalti.engine.training.explain import notices_in  # noqa: PLC0415 (an extra)

        return notices_in(plan)

    def guarantee(self, plan: TrainingPlan) -> ModelGuarantee:
        return guarantee_of(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> ModelGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[ModelGuarantee]) -> ReleaseCheck:
        of_bytes = check_release(published.folder, published.files)
        seen = of_bytes, check_sentences(published.certificate, stated)
        check = check_certified(published, stated, seen, TrainingPlan, guarantee_of, attested=(AS_STATED,))
        if published.version is None:
            return check
        # Last, since the accountant takes a while.
        plan = published.recorded_plan(published.version, TrainingPlan)
        return check + check_noise(published.certificate, plan)

    def exact(
        self, under: RunUnder, compiled: Compiled[TrainingPlan], table: StagedTable
    ) -> "TrainingRecords":
        from smalti.engine.training.records import training_records  # noqa: PLC0415 (an extra)

        under.watch.phase("records")
        return training_records(compiled.plan, table)

    def production(
        self, under: RunUnder, compiled: Compiled[TrainingPlan], exact: "TrainingRecords"
    ) -> AbstractContextManager[Production]:
        """Train, or take up what the request's checkpoint holds.

        Raises:
            UsageError: what was begun in the checkpoint is registered already, or another run works with
                it.
            DivergedError: a training without noise diverged.
        """
        from smalti.engine.training.production import production  # noqa: PLC0415 (an extra)

        return production(under, compiled, exact, self.loss(compiled.plan))


CAPABILITY: Final = Training()
