"""What a study by the owner of the data may look at: the plan of a training, and its records."""

from dataclasses import dataclass

from smalti.engine.backends.staged import StagedTable
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of
from smalti.engine.training.records import TrainingRecords, training_records
from smalti.transforms.learning.architecture import Architecture


@dataclass(frozen=True, slots=True)
class Studied:
    """Private."""

    network: Architecture
    """That of the plan."""
    records: TrainingRecords


def studied(plan: TrainingPlan, table: StagedTable) -> Studied:
    """What a run of the plan would train on.

    Args:
        plan: of a training.
        table: without the rows of those who withdrew.
    """
    return Studied(architecture_of(plan), training_records(plan, table))
