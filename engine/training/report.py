"""The report of a training for the owners of its inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from smalti.engine.plan.files import InputDigest, Timing
from smalti.engine.plan.reports import lines_of_withdrawals
from smalti.engine.training.figures import AuditFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """Of a training, for the owners of the inputs only: figures here are about people."""

    engine: str
    """`local` or `spark`."""
    recipe: str
    charged_as: str = ""
    """The run that was charged and counted, where this one took up a training that it began."""
    inputs: tuple[InputDigest, ...]
    timings: tuple[Timing, ...]
    withdrawn_at: datetime
    """When the list of those who withdrew was read."""
    respondents_listed: int = 0
    """On that list, whether or not they are in the data."""
    figures: AuditFigures | None = None
    """Of the audit; None where none was demanded."""

    def lines(self, counted: str) -> Iterator[str]:
        del counted
        return lines_of_withdrawals(self)
