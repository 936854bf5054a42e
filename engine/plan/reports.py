"""Reports of runs, for the owners of their inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from smalti.engine.plan.files import (
    ColumnLevel,
    ColumnLoss,
    Diversity,
    ExactColumn,
    InputDigest,
    Reached,
    ReachedOfPopulation,
    Timing,
)
from smalti.engine.plan.kinds import Kind, report_class
from smalti.engine.plan.recorded import recorded_kind
from smalti.errors import RegistryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationInfo
    from pydantic_core import CoreSchema


_MOST_NODES = 8


class Report(Protocol):
    """The interface of reports of all kinds; for the owners of the inputs only."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def engine(self) -> str: ...
    @property
    def inputs(self) -> tuple[InputDigest, ...]: ...
    @property
    def timings(self) -> tuple[Timing, ...]: ...
    @property
    def withdrawn_at(self) -> datetime | None: ...
    @property
    def respondents_listed(self) -> int: ...

    @property
    def charged_as(self) -> str:
        """The run that was charged, where it is another one than this; empty otherwise."""
        ...

    def lines(self, counted: str) -> Iterator[str]:
        """The figures as sentences; `counted` is "rows" where nothing told people apart."""
        ...


class RowsReport(Report, Protocol):
    """The interface of reports of rows that were verified against the data, which a try shows."""

    @property
    def rows_out(self) -> int: ...
    @property
    def classes(self) -> int: ...
    @property
    def k(self) -> int: ...
    @property
    def diversity(self) -> tuple[Diversity, ...]: ...
    @property
    def losses(self) -> tuple[ColumnLoss, ...]: ...
    @property
    def loss(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReport:
    """What was measured, for the owners of the inputs only: figures here can help to single people out."""

    charged_as: ClassVar[str] = ""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    rows_in: int
    """Of the file."""
    rows_out: int
    respondents: int
    classes: int
    """Number of equivalence classes."""
    k: int
    """Least number of respondents in a class, as verified."""
    diversity: tuple[Diversity, ...]
    """One for each sensitive column, as verified."""
    losses: tuple[ColumnLoss, ...]
    """One for each quasi-identifier."""
    loss: float
    """Global certainty penalty of the output."""
    timings: tuple[Timing, ...]
    rows_withdrawn: int = 0
    """Left out, for they are about people who withdrew."""
    rows_filtered: int = 0
    """Left out of the others, for the policy does not grant them."""
    respondents_listed: int = 0
    """On the list of those who withdrew, whether or not they are in the data."""
    withdrawn_at: datetime | None = None
    """When the list of those who withdrew was read."""
    sampled_fragments: int | None = None
    """The most fragments, where first cuts came from a sample; exact cuts may lose more or less."""
    exact: tuple[ExactColumn, ...] = ()
    """One for each generalised text column."""
    rows_alike: int = 0
    """Rows that equal another one in all columns but the sensitive ones, where each is another person."""
    rows_suppressed: int = 0
    """Left out of the others, for their classes do not meet the guarantee."""
    respondents_suppressed: int = 0
    """Who have such a row, or one that is kept as a class at the roots."""
    levels: tuple[ColumnLevel, ...] = ()
    """The level of each quasi-identifier, where one counts for the whole table."""
    minimal_nodes: tuple[tuple[int, ...], ...] = ()
    """All such levels that meet the guarantee and could not be finer, in the order of `levels`."""
    reached: tuple[Reached, ...] = ()
    """What was reached of the models of distributions, as verified."""
    of_population: ReachedOfPopulation | None = None
    """Of the population table, where the plan names one, as verified."""
    rows_not_sampled: int = 0
    """Left out of those that the policy grants, for their respondents are not in the sample."""

    def lines(self, counted: str) -> Iterator[str]:
        yield (
            f"achieved k = {self.k}: {self.respondents} {counted} in"
            f" {self.classes} {'class' if self.classes == 1 else 'classes'};"
            f" {self._rows()}"
        )
        if self.diversity:
            listed = ", ".join(f"{entry.column} {entry.l}" for entry in self.diversity)
            yield f"achieved l (least over the classes): {listed}"
        if self.reached:
            listed = ", ".join(
                f"{each.column} {each.figure:.4g} for {each.requirement}" for each in self.reached
            )
            yield f"reached by the worst class: {listed}"
        if (of_population := self.of_population) is not None:
            yield (
                f"population: at least {of_population.least} persons in each class, of whom"
                f" {of_population.least_share:.4g} to {of_population.largest_share:.4g} are in the table"
            )
        yield f"information lost (global certainty penalty): {self.loss:.1%}"
        if self.levels:
            listed = ", ".join(f"{each.column} {each.level} of {each.levels}" for each in self.levels)
            yield f"levels of hierarchies in all rows: {listed}"
            exactly = ", ".join(each.column for each in self.levels if each.level == 0)
            if exactly:
                yield f"published exactly, in all rows: {exactly}"
            shown = "; ".join(", ".join(map(str, node)) for node in self.minimal_nodes[:_MOST_NODES])
            more = len(self.minimal_nodes) - _MOST_NODES
            yield f"levels that could not be finer: {shown}" + (f"; {more} more" if more > 0 else "")
        if self.exact:
            listed = ", ".join(f"{entry.column} {entry.of_all} ({entry.rare})" for entry in self.exact)
            yield (
                "values that appear exactly, alone or in sets; in brackets those in fewer than k rows:"
                f" {listed}"
            )
        if self.rows_alike:
            yield f"{self.rows_alike} rows equal another row in all columns but the sensitive ones"
        if self.sampled_fragments is not None:
            yield (
                f"first cuts, into at most {self.sampled_fragments} fragments, are medians of a sample:"
                " exact cuts give other classes, which may lose more or less"
            )
        if self.rows_withdrawn:
            yield (
                f"left out: {self.rows_withdrawn} rows of respondents who withdrew"
                f" ({self.respondents_listed} listed)"
            )
        elif self.respondents_listed:
            yield (
                f"none of the {self.respondents_listed} respondents listed as withdrawn occurs in the data:"
                " each line of the list must be one value, as the data writes it"
            )
        yield from self._suppressed(counted)
        if self.rows_filtered:
            yield f"left out: {self.rows_filtered} rows that the policy does not grant"

    def _suppressed(self, counted: str) -> Iterator[str]:
        if self.rows_suppressed:
            yield f"suppressed: {self.rows_suppressed} rows of {self.respondents_suppressed} {counted}"
        elif self.respondents_suppressed:
            yield f"suppressed, and kept as a class at the roots: {self.respondents_suppressed} {counted}"

    def _rows(self) -> str:
        """The rows read, left out and published; the numbers add up."""
        left_out = {
            "withdrawn": self.rows_withdrawn,
            "not granted": self.rows_filtered,
            "not in the sample": self.rows_not_sampled,
            "suppressed": self.rows_suppressed,
        }
        reasons = [f"{count} {why}" for why, count in left_out.items() if count]
        return ", ".join([f"{self.rows_in} rows in", *reasons, f"{self.rows_out} out"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """Of a release, for the owners of the inputs only; without any figure of the data."""

    charged_as: ClassVar[str] = ""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    timings: tuple[Timing, ...]
    withdrawn_at: datetime
    """When the list of those who withdrew was read."""
    respondents_listed: int = 0
    """On that list, whether or not they are in the data."""

    def lines(self, counted: str) -> Iterator[str]:
        del counted
        return lines_of_withdrawals(self)


def lines_of_withdrawals(report: Report) -> Iterator[str]:
    """The lines of a report that has no figures but the number of respondents listed as withdrawn."""
    if report.respondents_listed:
        yield f"{report.respondents_listed} respondents withdrew: their rows are left out"


def report_to_json(report: Report) -> str:
    """A report as JSON."""
    return to_json_text(report, indent=2)


def to_json_text(value: object, indent: int | None = None) -> str:
    """Dataclasses of plain values as the JSON that pydantic reads; their form need not be built for it."""
    from pydantic_core import to_json  # noqa: PLC0415 (only for what is recorded)

    return to_json(value, indent=indent, inf_nan_mode="null").decode()


def report_from_json(text: str, kind: Kind) -> Report:
    """The inverse of `report_to_json`.

    Args:
        text: the report.
        kind: of the run that it is about.

    Raises:
        RegistryError: the text is no report of such a run.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (only for what waits as JSON)

    try:
        return _adapter(kind).validate_json(text)
    except ValidationError:
        raise RegistryError(
            "owner's report", "the report cannot be read", "a report written by smalti"
        ) from None


class ReportBesidePlan:
    """Marks a field for pydantic: it is a report of the kind of the plan in the field `plan` before it."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> "CoreSchema":
        from pydantic_core import core_schema  # noqa: PLC0415 (only for what waits as JSON)

        del source, handler
        return core_schema.with_info_plain_validator_function(_beside_plan)


def _beside_plan(value: object, info: "ValidationInfo") -> Report:
    return _adapter(recorded_kind(info.data["plan"])).validate_python(value)


@cache
def _adapter(kind: Kind) -> "TypeAdapter[Report]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(report_class(kind))
