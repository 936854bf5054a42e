"""What a plan reads, where contributions are bounded: columns, rows, keys and measures."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.plan import Respondent
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI


class Mechanism(StrEnum):
    """How a quantity is randomised; the words are those of `s:mechanism`."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    EXPONENTIAL = "exponential"


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

    def column(self, name: str) -> ReadColumn:
        """The input column of that name; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


def facts_of_rows(read: ReadRows) -> InputFacts:
    """What a plan that looks at some columns of a table takes its input for."""
    return frozenset({ReadRows, *read.columns})


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
class BoundContributions:
    """What of a respondent takes part in each statistic: the first rows in the first groups, in file order.

    Which rows these are depends on the respondent's own rows alone, so another respondent who comes or
    goes changes nothing about them.
    """

    neighbors: NeighboringRelation
    rows: int
    groups: int
