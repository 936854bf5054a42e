"""The training of a model: what its run does at each step.

The order is what protects. A private training is charged before anything random is drawn for it, and before
anything is found out about its data; what was trained is readable only as the one output that is published,
and only where the duty to audit is met (`attempt`). Whatever ends a run before that leaves no target.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Capability, Compiled, Produced, Production, refuse_query
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest, refuse_options_of_rows
from smalti.engine.losses.certified import charged_run
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import Losing, losing_of
from smalti.engine.tables.description import Source
from smalti.engine.training.attempt import (
    Ready,
    attempted,
    check_next_attempt,
    description_of,
    is_taken,
    ready_to_train,
    taken_up,
)
from smalti.engine.training.checkpoint import Checkpoint
from smalti.engine.training.compile import compile_training
from smalti.engine.training.explain import as_object, explain_training, to_lines, warnings_in
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.records import TrainingRecords, training_records
from smalti.errors import BackendError, UsageError
from smalti.policy.decision import Reason
from smalti.transforms.learning.installed import check_installed


class Training(Capability[TrainingPlan, TrainingRecords]):
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
        return compile_training(granted.permission, source, table, circumstances)

    def loss(self, plan: TrainingPlan) -> Losing | None:
        """What a private training loses. One without noise is not charged: its audit stands for it."""
        train = plan.train
        if train.private is None or train.loss is None:
            return None
        return losing_of(train.loss, train.private.neighbors)

    def promise(self, plan: TrainingPlan) -> str:
        return explain_training(plan).promise

    def lines(self, plan: TrainingPlan) -> Sequence[Line]:
        return to_lines(plan)

    def as_object(self, plan: TrainingPlan) -> Mapping[str, object]:
        return as_object(plan)

    def plan_warnings(self, plan: TrainingPlan) -> tuple[str, ...]:
        return warnings_in(plan)

    def exact(
        self, under: RunUnder, compiled: Compiled[TrainingPlan], table: StagedTable
    ) -> TrainingRecords:
        under.watch.phase("records")
        return training_records(compiled.plan, table)

    @contextmanager
    def production(
        self, under: RunUnder, compiled: Compiled[TrainingPlan], exact: TrainingRecords
    ) -> Iterator[Production]:
        """Train, or take up what the request's checkpoint holds.

        Raises:
            UsageError: what was begun in the checkpoint is registered already, or another run works with
                it.
            DivergedError: a training without noise diverged.
        """
        ready = ready_to_train(under, compiled, exact)
        kept = Checkpoint(under.request.checkpoint, under.registry)
        with kept.held():
            yield _Trained(under, ready, kept)


class _Trained(Production):
    """A model that was trained now, or that an earlier run kept in the checkpoint."""

    def __init__(self, under: RunUnder, ready: Ready, kept: Checkpoint) -> None:
        found = kept.found(ready.learned_from, description_of(ready.plan))
        self.under, self.ready, self.kept = under, ready, kept
        self.taken = found if found is not None and is_taken(under, ready, found[0]) else None
        self.run = under.stage.run if self.taken is None else self.taken[0].run
        if self.taken is None:
            check_next_attempt(under, ready.plan)
            self.charge = CAPABILITY.loss(ready.plan)

    def produce(self) -> Produced | Reason:
        if self.taken is None:
            return attempted(self.under, self.ready, self.kept)
        return taken_up(self.under, self.ready, self.kept, *self.taken)

    def check_publication(self) -> None:
        """Refuse a second release of one charge; the model that is kept is of no more use then."""
        output, registry = self.ready.plan.write.output, self.under.registry
        if any(charged_run(one) == self.run for one in registry.versions(output)):
            self.kept.forget()
            raise UsageError(
                str(output),
                "the model that was begun in this checkpoint is registered already",
                "one release for one training",
                "`smalti targets` shows it; another run trains another model, and is charged for it",
            )

    def published(self) -> None:
        with suppress(BackendError):  # it is registered: nothing takes that back
            self.kept.forget()


CAPABILITY: Final = Training()
