"""What was measured of a run of two tables, for the owners of the inputs only."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from smalti.engine.plan.files import ColumnLoss, Diversity, InputDigest, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsReport:
    """Of records in groups: figures here can help to single people out."""

    charged_as: ClassVar[str] = ""
    k: ClassVar[int] = 1
    """Respondents who share a combination of quasi-identifiers, as far as anything is promised of it."""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    rows_in: int
    """Of the file."""
    rows_out: int
    """Records, each of another respondent."""
    groups: int
    least_rows: int
    """Records of the smallest group, as verified."""
    most_alike: int
    """The most records of one group with the same value, as verified."""
    diversity: tuple[Diversity, ...]
    """Of the sensitive column: the least number of different values of a group, as verified."""
    exact: tuple[str, ...]
    """The columns that are published exactly, in all records."""
    timings: tuple[Timing, ...]
    exact_share: float = 1.0
    """Of the cells of quasi-identifiers, those that are published exactly: all."""
    loss: float = 0.0
    """Global certainty penalty, which is 0 therefore."""
    rows_withdrawn: int = 0
    rows_filtered: int = 0
    rows_suppressed: int = 0
    """Left out of the others, for values of theirs are too frequent."""
    respondents_listed: int = 0
    withdrawn_at: datetime | None = None

    @property
    def classes(self) -> int:
        """Its groups are its classes."""
        return self.groups

    @property
    def losses(self) -> tuple[ColumnLoss, ...]:
        return tuple(ColumnLoss(name, 0.0) for name in self.exact)

    def lines(self, counted: str) -> Iterator[str]:
        reached = ", ".join(f"{entry.column} {entry.l}" for entry in self.diversity)
        yield f"achieved l (least over the groups): {reached}"
        yield (
            f"{self.rows_out} {counted} in {self.groups} {'group' if self.groups == 1 else 'groups'} of"
            f" {self.least_rows} or more, at most {self.most_alike} of a group with the same value;"
            f" {self._rows()}"
        )
        yield (
            f"share of cells published exactly: {self.exact_share:.1%} of all quasi-identifiers"
            f" ({', '.join(self.exact)}); nothing of them is generalised, and no k is promised"
        )
        if self.rows_withdrawn:
            yield (
                f"left out: {self.rows_withdrawn} rows of respondents who withdrew"
                f" ({self.respondents_listed} listed)"
            )
        if self.rows_suppressed:
            yield f"suppressed: {self.rows_suppressed} rows, whose values are too frequent"
        if self.rows_filtered:
            yield f"left out: {self.rows_filtered} rows that the policy does not grant"

    def _rows(self) -> str:
        left_out = {
            "withdrawn": self.rows_withdrawn,
            "not granted": self.rows_filtered,
            "suppressed": self.rows_suppressed,
        }
        reasons = [f"{count} {why}" for why, count in left_out.items() if count]
        return ", ".join([f"{self.rows_in} rows in", *reasons, f"{self.rows_out} out"])
