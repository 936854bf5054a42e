"""A plan of a training: what is learned from which columns, how much is lost, and how the model is audited.

Everything that a result depends on is in here, apart from the data, the noise and the draws. No value comes
from the data: domains, bounds and steps are public, so a plan can be shown to whoever asks.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self, TypeAlias

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import Filter, ModelFormat, Select, columns_of_respondent
from smalti.engine.plan.reads import Measure, ReadRows
from smalti.policy.model.model import Permission, Training
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class CategoryFeature:
    """A column of categories; the model sees one number for each, which is 1 for the row's own.

    What is missing or no public value is the first category.
    """

    column: str
    values: tuple[str, ...]
    """Public texts, each once."""
    has_missing: bool
    """Whether a missing value is the first category of the domain, before `values`."""

    @property
    def size(self) -> int:
        """How many numbers the model sees."""
        return len(self.values) + self.has_missing


@dataclass(frozen=True, slots=True)
class NumberFeature:
    """A column of numbers, clamped into public bounds; the model sees 0 for the lower and 1 for the upper.

    What is missing or no number stands in the middle of the bounds, or half a unit below it.
    """

    column: str
    lower: Decimal
    upper: Decimal
    """Above `lower`."""
    unit: Decimal
    """Above 0; divides the distance of the bounds."""

    @property
    def measure(self) -> Measure:
        """How its texts are read: as units from the lower bound."""
        return Measure(self.column, self.lower, self.upper, self.unit, self.lower)

    @property
    def size(self) -> int:
        """How many numbers the model sees."""
        return 1


Feature: TypeAlias = CategoryFeature | NumberFeature


@dataclass(frozen=True, slots=True)
class PrivateSteps:
    """Noise on the sums of clipped gradients, in each step of a training (DP-SGD, Abadi et al. 2016)."""

    noise_multiplier: Decimal
    """The standard deviation of the noise, as a multiple of the clipping norm."""
    clipping_norm: Decimal
    sampling_rate: Decimal
    """The probability of a record to be in a step, independent of all others."""
    steps: int
    neighbors: NeighboringRelation


@dataclass(frozen=True, slots=True)
class Network:
    """What the recipe stands for: a dense network whose last layer is a softmax, and how it is trained."""

    hidden: tuple[int, ...]
    """Units of each hidden layer."""
    activation: str
    """Of all hidden layers: `tanh` or `relu`."""
    optimizer: str
    """`sgd` or `adam`."""
    learning_rate: Decimal
    batch_size: int
    """In private training only what noisy sums are divided by."""


@dataclass(frozen=True, slots=True)
class Train:
    """Train a model of a named recipe on a random part of the respondents; the others are held out."""

    recipe: str
    network: Network
    features: tuple[Feature, ...]
    """At least one; in the order of the file."""
    label: CategoryFeature
    """What the model predicts; its domain are the classes, at least two."""
    epochs: int
    part: str
    """The probability of a respondent to be trained on, as a fraction; independent of all others."""
    private: PrivateSteps | None
    loss: PlannedLoss | None
    """What one training is charged; None exactly where it is not private."""

    @property
    def width(self) -> int:
        """How many numbers the model sees of a record."""
        return sum(feature.size for feature in self.features)

    @property
    def classes(self) -> int:
        return self.label.size


@dataclass(frozen=True, slots=True)
class FigureBound:
    """What a figure of an audit must not exceed, at its upper confidence limit."""

    figure: str
    """The word that bounds it: `attackAdvantage`, `attackPrecision`, `truePositiveRate`,
    `epsilonLowerBound`."""
    most: Decimal
    false_positive_rate: Decimal | None = None
    """Of a true positive rate: where it is read."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Attack the model before anybody else may have it, and attack a model that memorises likewise."""

    attacks: tuple[str, ...]
    """Names of `smalti.vocab.words.ATTACKS`, sorted; at least one. What each repeats, and how often, is a
    part of its meaning (`attacks`)."""
    bounds: tuple[FigureBound, ...]
    """At least one; each holds for each attack that has the figure (`attacks.FIGURES`), and each attack has
    one of them."""
    confidence: Decimal
    """With which no attempt at all lets a model pass that exceeds a bound."""
    shadows: int
    """Models that are trained to learn how a model treats what it was trained on; 0 where none is asked."""


@dataclass(frozen=True, slots=True)
class WriteModel:
    """Write the model's weights, and a description of what they take and give."""

    output: IRI
    format: ModelFormat = ModelFormat.SAFETENSORS


@dataclass(frozen=True, slots=True)
class TrainingPlan(ShownInNotebooks):
    """Read, drop, take one row of each respondent, train, audit, write: the steps of one training."""

    kind: ClassVar[Kind] = Kind.TRAINING
    filter: ClassVar[Filter | None] = None

    read: ReadRows
    select: Select
    train: Train
    audit: Audit | None
    """None where the permission obliges to none."""
    write: WriteModel

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(ReadRows, steps["read"]),
            node_of(Select, steps["select"]),
            node_of(Train, steps["train"]),
            node_of(Audit, steps["audit"]) if "audit" in steps else None,
            node_of(WriteModel, steps["write"]),
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> NeighboringRelation | None:
        """None where training is not private."""
        wanted = permission.training
        return None if wanted is None or not wanted.is_private else neighbors_of(wanted)

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        audit = () if self.audit is None else (("audit", self.audit),)
        return ("select", self.select), ("train", self.train), *audit

    @property
    def used_columns(self) -> frozenset[str]:
        read = frozenset(column.name for column in self.read.columns)
        return columns_of_respondent(self.read.respondent) | (read - frozenset(self.select.dropped))

    @property
    def input_facts(self) -> InputFacts:
        """What is public of a column is the owner's word, too."""
        return frozenset({self.kind, *self.read.columns, *self.train.features, self.train.label})


def neighbors_of(wanted: Training) -> NeighboringRelation:
    """What the loss of a private training is about."""
    return NeighboringRelation(wanted.neighbors or NeighboringRelation.ADD_OR_REMOVE_ONE)
