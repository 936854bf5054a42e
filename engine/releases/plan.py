"""A plan of a release: its exact aggregates, their noise, and the privacy loss.

Everything that a result depends on is in here, apart from the data and the noise. No value comes from the
data: bounds, keys, candidates and scales are public, so a plan can be shown to whoever asks.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Self

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import Filter, OutputFormat, columns_of_respondent
from smalti.engine.plan.reads import (
    BoundContributions,
    Key,
    Measure,
    Mechanism,
    ReadRows,
    facts_of_rows,
)
from smalti.policy.model.model import Comparison, Condition, Permission, Text
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI, NEIGHBORS


class StatisticKind(StrEnum):
    """The kinds of statistics; the words are those of `s:statistic`."""

    COUNT = "count"
    DISTINCT_COUNT = "distinct-count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    HISTOGRAM = "histogram"
    CONTINGENCY = "contingency"
    QUANTILE = "quantile"
    MODE = "mode"


class Quantity(StrEnum):
    """What is aggregated exactly, in whole units, before noise."""

    ROWS = "rows"
    """Rows of a group."""
    SUM = "sum"
    """The sum over rows of a number in units from its origin."""
    SQUARES = "sum of squares"
    """The sum over rows of the square of that number of units."""
    DISTINCT = "distinct values"
    """Different values in the rows of a group."""
    RESPONDENTS = "respondents"
    """Different respondents in a group: what private keys are selected by."""
    RANKS = "ranks"
    """By candidate: minus the distance of its rank from the wanted one."""
    FREQUENCIES = "frequencies"
    """By candidate: its rows."""


@dataclass(frozen=True, slots=True)
class Part:
    """One randomised measurement: of a quantity in all groups of a statistic, or a choice in each group."""

    quantity: Quantity
    mechanism: Mechanism
    scale: float
    """Of the noise, in units of the quantity; of a choice, in units of utility. Exact."""
    level: Decimal | None = None
    """Of a quantile."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which private groups are released: those whose noisy number of respondents reaches a threshold."""

    scale: float
    """Of the Laplace noise, in respondents. Exact."""
    threshold: int


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic, with everything that it is made by."""

    name: str
    """Unique in the release; in the output."""
    kind: StatisticKind
    keys: tuple[Key, ...]
    """Groups; of a histogram, contingency table or mode its measures too, as the last keys."""
    parts: tuple[Part, ...]
    """In the order in which noise is drawn."""
    measure: Measure | None = None
    """Of sums, means, variances and quantiles."""
    counted: str | None = None
    """The column whose distinct values are counted."""
    candidates: tuple[str, ...] = ()
    """Of a quantile: public numbers, ascending, each a whole number of units within the bounds."""
    selection: Selection | None = None
    """Present exactly where a key is private."""
    choices: int = 0
    """Of a mode: how many of the last keys are candidates of the choice, not groups."""


@dataclass(frozen=True, slots=True)
class WriteTable:
    """Write one row for each noisy value."""

    output: IRI
    format: OutputFormat
    confidence: Decimal
    """Of the intervals, each by itself; they come from the noise alone."""


@dataclass(frozen=True, slots=True)
class ReleasePlan(ShownInNotebooks):
    """Read, filter, bound contributions, aggregate, add noise, write: the steps of one release."""

    kind: ClassVar[Kind] = Kind.RELEASE

    read: ReadRows
    bound: BoundContributions
    statistics: tuple[Statistic, ...]
    """At least one."""
    loss: PlannedLoss
    write: WriteTable
    filter: Filter | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """None where all rows are granted."""

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(ReadRows, steps["read"]),
            node_of(BoundContributions, steps["bound contributions"]),
            node_of(tuple[Statistic, ...], steps["release"]["statistics"]),
            node_of(PlannedLoss, steps["release"]["loss"]),
            node_of(WriteTable, steps["write"]),
            node_of(Filter, steps["filter"]) if "filter" in steps else None,
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> NeighboringRelation:
        wanted = permission.anonymization
        return neighbors_said(() if wanted is None else wanted.parameters)

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        released = {"statistics": self.statistics, "loss": self.loss}
        return ("bound contributions", self.bound), ("release", released)

    @property
    def used_columns(self) -> frozenset[str]:
        read = frozenset(column.name for column in self.read.columns)
        return columns_of_respondent(self.read.respondent) | read

    @property
    def input_facts(self) -> InputFacts:
        """Of the columns that it looks at; of the others nothing is known."""
        return facts_of_rows(self.read)


def neighbors_said(parameters: Iterable[Condition]) -> NeighboringRelation:
    """The neighbouring relation that parameters name, at most once; else the default."""
    texts = (
        value.text
        for parameter in parameters
        if isinstance(parameter, Comparison) and parameter.operand == NEIGHBORS
        for value in parameter.values
        if isinstance(value, Text)
    )
    return NeighboringRelation(min(texts, default=NeighboringRelation.ADD_OR_REMOVE_ONE))
