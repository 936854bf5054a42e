"""The report of a masked table for the owners of its inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from smalti.engine.plan.files import InputDigest, Timing


@dataclass(frozen=True, slots=True)
class ChangedCells:
    """How many cells of a column show another text than they had."""

    column: str
    cells: int


@dataclass(frozen=True, slots=True)
class ColumnError:
    """What a mask costs a column of numbers or dates; see `smalti.engine.techniques.errors`."""

    column: str
    share: float
    """Of its squared error (SSE/SST)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingReport:
    """Of a masked table, for the owners of the inputs only: figures here can help to single people out."""

    charged_as: ClassVar[str] = ""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    rows_in: int
    """Of the file."""
    rows_out: int
    changed: tuple[ChangedCells, ...]
    """One for each masked column, in the published rows, as verified."""
    timings: tuple[Timing, ...]
    rows_withdrawn: int = 0
    """Left out, for they are about people who withdrew."""
    rows_filtered: int = 0
    """Left out of the others, for the policy does not grant them."""
    rows_left_out: int = 0
    """Of the others: those that record suppression or the sample leaves out."""
    respondents_listed: int = 0
    """On the list of those who withdrew, whether or not they are in the data."""
    withdrawn_at: datetime | None = None
    """When the list of those who withdrew was read."""
    errors: tuple[ColumnError, ...] = ()
    """One for each column of numbers or dates of which others are published."""

    def lines(self, counted: str) -> Iterator[str]:
        del counted
        left_out = {
            "withdrawn": self.rows_withdrawn,
            "not granted": self.rows_filtered,
            "left out": self.rows_left_out,
        }
        reasons = [f"{count} {why}" for why, count in left_out.items() if count]
        yield ", ".join([f"{self.rows_in} rows in", *reasons, f"{self.rows_out} out"])
        if self.changed:
            listed = ", ".join(f"{each.column} {each.cells}" for each in self.changed)
            yield f"cells that show another text than they had: {listed}"
        if self.errors:
            listed = ", ".join(f"{each.column} {each.share:.2%}" for each in self.errors)
            yield f"information lost, as the share of the squared error of each column (SSE/SST): {listed}"
        if self.respondents_listed and not self.rows_withdrawn:
            yield (
                f"none of the {self.respondents_listed} respondents listed as withdrawn occurs in the data:"
                " each line of the list must be one value, as the data writes it"
            )
