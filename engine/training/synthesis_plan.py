"""A plan of synthetic records: what a generative model learns, what of it is published, and what is proved.

Everything that a result depends on is in here, apart from the data, the noise and the draws. No value comes
from the data, and neither does the number of records: so a plan can be shown to whoever asks.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import Filter, OutputFormat, Select, columns_of_respondent
from smalti.engine.plan.reads import ReadRows
from smalti.engine.training.plan import Audit, Feature, PrivateSteps, TrainingPlan
from smalti.policy.model.model import Permission
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Autoencoder:
    """What the recipe stands for: a variational autoencoder, and how it is trained."""

    hidden: int
    """Units of the one hidden layer of its encoder, and of its decoder; they are of tanh."""
    latent: int
    """Numbers that stand for a record."""
    divergence_weight: Decimal
    """Of the divergence of latent distributions in the loss; below 1 records are kept more closely."""
    optimizer: str
    """`sgd` or `adam`."""
    learning_rate: Decimal
    batch_size: int
    """In private training only what noisy sums are divided by."""


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Train a generative model of a named recipe, and draw records from it."""

    recipe: str
    network: Autoencoder
    columns: tuple[Feature, ...]
    """At least one; in the order of the file, which is that of the output."""
    choices: tuple[int, ...]
    """By column: among how many values or equal intervals the model chooses. In an interval, each unit is
    as likely."""
    records: int
    """That are published; at least 1."""
    epochs: int
    part: str
    """The probability of a respondent to be trained on, as a fraction; independent of all others."""
    private: PrivateSteps | None
    """None: the training adds no noise."""
    loss: PlannedLoss | None
    """None exactly where it adds no noise."""


@dataclass(frozen=True, slots=True)
class WriteRecords:
    """Write the records, in the order of their values."""

    output: IRI
    format: OutputFormat


@dataclass(frozen=True, slots=True)
class SynthesisPlan(ShownInNotebooks):
    """Read, drop, take one row of each respondent, train, draw, audit, write."""

    kind: ClassVar[Kind] = Kind.SYNTHESIS
    filter: ClassVar[Filter | None] = None

    read: ReadRows
    select: Select
    synthesize: Synthesize
    audit: Audit | None
    """None where the permission obliges to none. Where the training is private, its bounds follow from the
    noise, and nothing is attacked."""
    write: WriteRecords

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(ReadRows, steps["read"]),
            node_of(Select, steps["select"]),
            node_of(Synthesize, steps["synthesize"]),
            node_of(Audit, steps["audit"]) if "audit" in steps else None,
            node_of(WriteRecords, steps["write"]),
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> NeighboringRelation | None:
        """As of a model: the records lose nothing more."""
        return TrainingPlan.neighbors_charged(permission)

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        audit = () if self.audit is None else (("audit", self.audit),)
        return ("select", self.select), ("synthesize", self.synthesize), *audit

    @property
    def used_columns(self) -> frozenset[str]:
        read = frozenset(column.name for column in self.read.columns)
        return columns_of_respondent(self.read.respondent) | (read - frozenset(self.select.dropped))

    @property
    def input_facts(self) -> InputFacts:
        """What is public of a column is the owner's word, too."""
        return frozenset({self.kind, *self.read.columns, *self.synthesize.columns})
