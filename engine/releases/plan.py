"""A plan of a release: which exact aggregates are made, how much noise each gets, and what all lose.

Everything that a result depends on is in here, apart from the data and the noise. No value comes from the
data: bounds, keys, candidates and scales are public, so a plan can be shown to whoever asks.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from smalti.engine.plan.plan import Filter, OutputFormat, Respondent
from smalti.transforms.base import LEFT_OUT_AT_DEFAULT, Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI


class StatisticKind(StrEnum):
    """What may be asked; the words are those of `s:statistic`."""

    COUNT = "count"
    DISTINCT_COUNT = "distinct-count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    HISTOGRAM = "histogram"
    CONTINGENCY = "contingency"
    QUANTILE = "quantile"
    MODE = "mode"


class Mechanism(StrEnum):
    """How a quantity is randomised; the words are those of `s:mechanism`."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    EXPONENTIAL = "exponential"


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
class ReadColumn:
    """A column of the input that a release looks at."""

    name: str
    """As the header writes it."""
    iri: IRI
    datatype: Datatype
    """Declared, or text; never inferred from values."""
    time_zone: str | None = None
    """IANA name: the zone of date-times that state none."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Read the columns that are looked at; rows without a respondent are left out, uncounted."""

    target: IRI
    columns: tuple[ReadColumn, ...]
    """In the order of the file; the respondent's is among them."""
    respondent: Respondent


@dataclass(frozen=True, slots=True)
class Key:
    """One column that rows are grouped by; exactly one of `values`, `edges` and `is_private` says how."""

    column: str
    values: tuple[str, ...] = ()
    """Public texts, each once, in the order of the output; rows with another one take no part."""
    edges: tuple[str, ...] = ()
    """Public ends of bins, ascending as the column's datatype compares them, at least two: each bin has its
    lower end, and the last one its upper end too; rows beyond take no part."""
    is_private: bool = False
    """True where groups are those that the data has, and each is released only if selected privately."""

    @property
    def size(self) -> int:
        """The number of public keys; 0 where keys are private."""
        return len(self.values) or max(len(self.edges) - 1, 0)


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of numbers; values are clamped into public bounds and rounded to whole units.

    What is no number, NaN too, becomes the middle of the bounds; infinities become the middle. A row
    without a value takes no part.
    """

    column: str
    lower: Decimal
    upper: Decimal
    """Above `lower`."""
    unit: Decimal
    """Above 0; divides the distance of the bounds."""
    origin: Decimal
    """What units are counted from: `lower`, or for means and variances the middle of the bounds, rounded
    down to whole units from `lower`."""

    @property
    def least(self) -> int:
        """The least number of units from the origin."""
        return int((self.lower - self.origin) / self.unit)

    @property
    def most(self) -> int:
        """The greatest number of units from the origin."""
        return int((self.upper - self.origin) / self.unit)


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
class BoundContributions:
    """What of a respondent takes part in each statistic: the first rows in the first groups, in file order.

    Which rows these are depends on the respondent's own rows alone, so another respondent who comes or
    goes changes nothing about them.
    """

    neighbors: NeighboringRelation
    rows: int
    groups: int


@dataclass(frozen=True, slots=True)
class StatedLoss:
    """What the release loses, as it is charged and as it is told."""

    epsilon: Decimal
    delta: Decimal
    belief: float
    """The largest posterior belief at prior one half, but for a probability of `delta`."""
    advantage: float
    """The largest membership advantage, from the noise that is used."""
    pure: str
    """The exact pure part of the loss, as a fraction."""
    mu_squared: str
    """The exact Gaussian part of the loss, as a fraction."""
    selection_delta: Decimal = Decimal(0)
    """Of `delta`, what the private selection of groups takes; the rest is for the Gaussian part."""


@dataclass(frozen=True, slots=True)
class WriteTable:
    """Write one row for each noisy value."""

    output: IRI
    format: OutputFormat
    confidence: Decimal
    """Of the intervals, each by itself; they come from the noise alone."""


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Read, filter, bound contributions, aggregate, add noise, write: the steps of one release."""

    read: ReadRows
    bound: BoundContributions
    statistics: tuple[Statistic, ...]
    """At least one."""
    loss: StatedLoss
    write: WriteTable
    filter: Filter | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """None where all rows are granted."""

    def column(self, name: str) -> ReadColumn:
        """The input column of that name; KeyError if there is none."""
        for column in self.read.columns:
            if column.name == name:
                return column
        raise KeyError(name)
