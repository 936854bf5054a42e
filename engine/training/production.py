"""Produce a model from records: resume from a checkpoint, or train and judge."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from smalti.engine.binding.capability import Compiled, Produced, Production
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.losses.certified import charged_run
from smalti.engine.registry.budget import ChargedLoss
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
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.records import TrainingRecords
from smalti.errors import BackendError, UsageError
from smalti.policy.decide.decision import Reason


@contextmanager
def production(
    under: RunUnder, compiled: Compiled[TrainingPlan], records: TrainingRecords, charge: ChargedLoss | None
) -> Iterator[Production]:
    """As `Capability.production`; nobody else works with the checkpoint meanwhile."""
    ready = ready_to_train(under, compiled, records)
    kept = Checkpoint(under.request.checkpoint, under.registry)
    with kept.held():
        yield _Trained(under, ready, kept, charge)


class _Trained(Production):
    """A model that was trained now, or that an earlier run kept in the checkpoint."""

    def __init__(self, under: RunUnder, ready: Ready, kept: Checkpoint, charge: ChargedLoss | None) -> None:
        resumed = kept.find(ready.learned_from, description_of(ready.plan))
        self.under, self.ready, self.kept = under, ready, kept
        self.taken = resumed if resumed is not None and is_taken(under, ready, resumed[0]) else None
        self.run = under.stage.run if self.taken is None else self.taken[0].run
        if self.taken is None:
            check_next_attempt(under, ready.plan)
            self.charge = charge

    def produce(self) -> Produced | Reason:
        if self.taken is None:
            return attempted(self.under, self.ready, self.kept)
        return taken_up(self.under, self.ready, self.kept, *self.taken)

    def check_publication(self) -> None:
        """Refuse a second release of one charge; the model that is kept is of no more use then."""
        output, registry = self.ready.plan.write.output, self.under.registry
        if any(charged_run(version) == self.run for version in registry.outputs.of(output)):
            self.kept.forget()
            raise UsageError(
                str(output),
                "the model of this checkpoint is registered already",
                "one release for one training",
                "`smalti targets` shows it; another run trains another model, and is charged for it",
            )

    def published(self) -> None:
        with suppress(BackendError):  # it is registered: nothing takes that back
            self.kept.forget()
