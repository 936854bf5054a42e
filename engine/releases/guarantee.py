"""What a release promises, in words and numbers, and what it does not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from smalti.engine.plan.guarantees import DATASET, LOSS_TERMS, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import StatedLoss, describe_loss, loss_from_object, loss_to_object
from smalti.engine.plan.published_columns import PublishedColumn
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.plan import Quantity, ReleasePlan
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY


@dataclass(frozen=True, slots=True)
class Noise:
    """One randomised measurement of a release."""

    statistic: str
    """Its name."""
    quantity: Quantity
    mechanism: Mechanism
    scale: float
    """In units of the quantity; of a choice, of utility."""


@dataclass(frozen=True, slots=True)
class LossGuarantee:
    """Differential privacy of one release, with the mechanisms that give it."""

    model: str
    """`differential-privacy`."""
    loss: StatedLoss
    neighbors: NeighboringRelation
    rows: int
    """Of one respondent that take part in each statistic, at most."""
    groups: int
    """In which they are, at most."""
    noise: tuple[Noise, ...]
    """In the order of the plan; none where it is not known."""

    kind: ClassVar[Kind] = Kind.RELEASE
    terms: ClassVar[Mapping[str, Json]] = LOSS_TERMS
    types: ClassVar[tuple[str, ...]] = DATASET
    activity: ClassVar[str] = "dpv:Anonymise"

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        has_texts = not self.noise or any(noise.quantity is Quantity.FREQUENCIES for noise in self.noise)
        numbers = ("level", *(() if has_texts else ("value",)), "lower", "upper", "confidence")
        return tuple(PublishedColumn(name, datatype=Datatype.DECIMAL) for name in numbers)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    def to_object(self) -> dict[str, Json]:
        return {
            **loss_to_object(self.loss),
            "neighbors": str(self.neighbors),
            "rowsPerRespondent": self.rows,
            "groupsPerRespondent": self.groups,
            "measurement": [
                {
                    "name": measurement.statistic,
                    "quantity": str(measurement.quantity),
                    "mechanism": str(measurement.mechanism),
                    "scale": measurement.scale,
                }
                for measurement in self.noise
            ],
        }


def guarantee_of(plan: ReleasePlan) -> LossGuarantee:
    """What a plan promises."""
    parts = [
        Noise(statistic.name, part.quantity, part.mechanism, part.scale)
        for statistic in plan.statistics
        for part in statistic.parts
    ]
    selections = [
        Noise(statistic.name, Quantity.RESPONDENTS, Mechanism.LAPLACE, statistic.selection.scale)
        for statistic in plan.statistics
        if statistic.selection is not None
    ]
    return LossGuarantee(
        DIFFERENTIAL_PRIVACY,
        plan.loss.stated,
        plan.bound.neighbors,
        plan.bound.rows,
        plan.bound.groups,
        (*parts, *selections),
    )


_NEIGHBORS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "whether one respondent with all rows is in the data",
    NeighboringRelation.CHANGE_ONE: "which rows one respondent has",
}


def describe(guarantee: LossGuarantee) -> str:
    """What is promised, as one sentence for people."""
    but_for = f", but for a probability of {guarantee.loss.delta}" if guarantee.loss.delta else ""
    return (
        f"{_NEIGHBORS[guarantee.neighbors]} changes the chance of any outcome by a factor of at most"
        f" e^{format(guarantee.loss.epsilon, 'f')}{but_for}: {describe_loss(guarantee.loss)}; at most"
        f" {guarantee.rows} rows of a respondent, in at most {guarantee.groups} groups, take part"
    )


def limits(guarantee: LossGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    sentences = [
        "learning what holds for the respondents as a whole, and what follows from it for each of them",
        "somebody who sees other releases about the same respondents, too: their losses add up",
        "learning about several people whose data depend on each other, as in a family",
        "whoever may read the data itself, or controls the machine and its clock",
    ]
    if guarantee.neighbors is NeighboringRelation.CHANGE_ONE:
        sentences.append("learning how many respondents there are, which is taken for public")
    if guarantee.loss.delta:
        sentences.append(
            f"a larger loss, which has a probability of at most {guarantee.loss.delta} for each respondent"
        )
    return tuple(sentences)


def stated_guarantee(promised: Mapping[str, Any]) -> LossGuarantee:
    """The guarantee in a certificate of a release that its schema has accepted."""
    return LossGuarantee(
        DIFFERENTIAL_PRIVACY,
        loss_from_object(promised),
        NeighboringRelation(promised["neighbors"]),
        promised["rowsPerRespondent"],
        promised["groupsPerRespondent"],
        tuple(
            Noise(
                measurement["name"],
                Quantity(measurement["quantity"]),
                Mechanism(measurement["mechanism"]),
                measurement["scale"],
            )
            for measurement in promised["measurement"]
        ),
    )
