"""What owners are told of a run, and the report of a release among it."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from smalti.engine.plan.files import InputDigest, OwnerReport, Timing
from smalti.engine.training.report import TrainingReport
from smalti.errors import RegistryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """Of a release, for the owners of the inputs only; without any figure of the data."""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    timings: tuple[Timing, ...]
    withdrawn_at: datetime
    """When the list of those who withdrew was read."""
    respondents_listed: int = 0
    """On that list, whether or not they are in the data."""


# INVARIANT: each has what the next one lacks, and comes first; so what is written is read as the same.
Report: TypeAlias = TrainingReport | OwnerReport | ReleaseReport


def report_to_json(report: Report) -> str:
    """A report as JSON."""
    return to_json_text(report, indent=2)


def to_json_text(value: object, indent: int | None = None) -> str:
    """Dataclasses of plain values as the JSON that pydantic reads; their form need not be built for it."""
    from pydantic_core import to_json  # noqa: PLC0415 (only for what is recorded)

    return to_json(value, indent=indent, inf_nan_mode="null").decode()


def report_from_json(text: str) -> Report:
    """The inverse of `report_to_json`.

    Raises:
        RegistryError: the text is not a report.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (only for what waits as JSON)

    try:
        return _adapter().validate_json(text)
    except ValidationError:
        raise RegistryError("owner's report", "it cannot be read", "a report as smalti writes it") from None


@cache
def _adapter() -> "TypeAdapter[Report]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(Report)
