"""A plan of a local perturbation: which columns are published, and how each value is randomised.

Everything that a result depends on is in here, apart from the data and the noise. No value comes from the
data: domains, bounds and units are public, so a plan can be shown to whoever asks.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Final, Literal, Self, TypeAlias

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import LOCAL_NEIGHBORS, PlannedLoss
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import Filter, OutputFormat, Select, columns_of_respondent
from smalti.engine.plan.reads import Measure, ReadRows, facts_of_rows
from smalti.policy.model.model import Permission
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

RANDOMIZED_RESPONSE: Final = "randomized-response"
LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"
PIXELATION: Final = "pixelation"
"""The words of `s:mechanism` that perturb records."""


@dataclass(frozen=True, slots=True)
class PerturbedCategory:
    """A column of categories, each reported truthfully with a known probability only.

    INVARIANT: whatever text a row has, it becomes a category of the domain before noise is drawn: the first
    one, where it is none of the public values.
    """

    column: str
    epsilon: Decimal
    """What one value loses at most."""
    values: tuple[str, ...]
    """Public texts, each once, in the order of the output."""
    has_missing: bool
    """Whether a missing value is the first category of the domain, before `values`. If not, what is
    missing or unknown is taken for the first public value."""
    changed: str
    """The exact probability of another category, as a fraction."""
    mechanism: Literal["randomized-response"] = RANDOMIZED_RESPONSE

    @property
    def domain(self) -> tuple[str | None, ...]:
        """The categories by number; None is the missing value."""
        return (None, *self.values) if self.has_missing else self.values


@dataclass(frozen=True, slots=True)
class PerturbedNumber:
    """A column of numbers with Laplace or Gaussian noise on each; clamped into public bounds first.

    What is no number, or is missing, stands in the middle of the bounds before noise is drawn.
    """

    column: str
    epsilon: Decimal
    """What one value loses at most; of Gaussian noise but for `delta`."""
    lower: Decimal
    upper: Decimal
    """Above `lower`."""
    unit: Decimal
    """Above 0; divides the distance of the bounds."""
    scale: float
    """Of the noise, in units: of Gaussian noise its sigma. Exact."""
    mechanism: Literal["laplace", "gaussian"] = LAPLACE
    delta: Decimal | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The column's share of the record's delta, in (0, 1); None of Laplace noise, which needs none."""

    @property
    def measure(self) -> Measure:
        """How its texts are read: as units from the lower bound."""
        return Measure(self.column, self.lower, self.upper, self.unit, self.lower)


@dataclass(frozen=True, slots=True)
class PerturbedImage:
    """A column of grey images of one public size, of which the averages of cells get Laplace noise.

    INVARIANT: what is no such image is taken for one in the middle shade before noise is drawn.
    """

    column: str
    epsilon: Decimal
    """What a value loses at most against any that differs from it in `neighborhood` pixels."""
    whole_epsilon: Decimal
    """What a value loses at most, whatever another one would be: this is what is charged."""
    height: int
    width: int
    """Of each image, in pixels."""
    cell: int
    """Pixels of a cell's side."""
    neighborhood: int
    """Pixels by which images may differ that `epsilon` is about."""
    scale: float
    """Of the noise of the sum of a cell's pixels. Exact."""
    mechanism: Literal["pixelation"] = PIXELATION


PerturbedColumn: TypeAlias = PerturbedCategory | PerturbedNumber | PerturbedImage


@dataclass(frozen=True, slots=True)
class WriteReports:
    """Write one row for each respondent, in the order of the published values."""

    output: IRI
    format: OutputFormat


@dataclass(frozen=True, slots=True)
class PerturbationPlan(ShownInNotebooks):
    """Read, drop, take one row of each respondent, perturb, write: the steps of one perturbation.

    Neighbouring data differ in what one respondent's row says; the number of respondents is public.
    """

    kind: ClassVar[Kind] = Kind.PERTURBATION
    filter: ClassVar[Filter | None] = None

    read: ReadRows
    select: Select
    perturbed: tuple[PerturbedColumn, ...]
    """At least one; in the order of the file, which is that of the output."""
    loss: PlannedLoss
    """Of all columns of a record together."""
    write: WriteReports

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(ReadRows, steps["read"]),
            node_of(Select, steps["select"]),
            node_of(tuple[PerturbedColumn, ...], steps["perturb"]["columns"]),
            node_of(PlannedLoss, steps["perturb"]["loss"]),
            node_of(WriteReports, steps["write"]),
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> NeighboringRelation:
        del permission
        return LOCAL_NEIGHBORS

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        perturbed = {"columns": self.perturbed, "loss": self.loss}
        return ("select", self.select), ("perturb", perturbed)

    @property
    def used_columns(self) -> frozenset[str]:
        read = frozenset(column.name for column in self.read.columns)
        return columns_of_respondent(self.read.respondent) | (read - frozenset(self.select.dropped))

    @property
    def input_facts(self) -> InputFacts:
        return facts_of_rows(self.read)
