"""What a release promises, in words and numbers, and what it does not protect against."""

from dataclasses import dataclass
from decimal import Decimal

from smalti.engine.releases.plan import Mechanism, Quantity, ReleasePlan
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
class Loss:
    """What is lost, in three ways of saying it."""

    epsilon: Decimal
    delta: Decimal
    belief: float
    """The largest posterior belief at prior one half, but for a probability of `delta`."""
    advantage: float
    """The largest membership advantage, from the noise that was used."""


@dataclass(frozen=True, slots=True)
class LossGuarantee:
    """Differential privacy of one release, with the mechanisms that give it."""

    model: str
    """`differential-privacy`."""
    loss: Loss
    neighbors: NeighboringRelation
    rows: int
    """Of one respondent that take part in each statistic, at most."""
    groups: int
    """In which they are, at most."""
    noise: tuple[Noise, ...]
    """In the order of the plan; none where it is not known."""


def guarantee_of(plan: ReleasePlan) -> LossGuarantee:
    """What a plan promises."""
    loss = plan.loss
    parts = [
        Noise(one.name, part.quantity, part.mechanism, part.scale)
        for one in plan.statistics
        for part in one.parts
    ]
    selections = [
        Noise(one.name, Quantity.RESPONDENTS, Mechanism.LAPLACE, one.selection.scale)
        for one in plan.statistics
        if one.selection is not None
    ]
    return LossGuarantee(
        DIFFERENTIAL_PRIVACY,
        Loss(loss.epsilon, loss.delta, loss.belief, loss.advantage),
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


def describe_loss(loss: Loss) -> str:
    """Belief and advantage, as people read them; rounded up."""
    return (
        f"somebody who gave it a chance of one half believes it afterwards to at most {up(loss.belief)}"
        f" and guesses it better than a coin by at most {up(loss.advantage)} (advantage)"
    )


def up(share: float) -> str:
    """A share with two places more than its distance from 1 needs, rounded up.

    Of the shortest decimal that is read as this float, as which it is stated: 0.1 is no more than 0.1.

    >>> up(0.7310585), up(0.9999997), up(0.1), up(0.9)
    ('0.732', '0.999999700', '0.100', '0.9000')
    """
    places = 3
    while places < 15 and 1 - share < 10.0 ** (2 - places):
        places += 1
    text = Decimal(repr(share)).quantize(Decimal(1).scaleb(-places), rounding="ROUND_CEILING")
    return str(min(text, Decimal(1)))


def limits(guarantee: LossGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    found = [
        "learning what holds for the respondents as a whole, and what follows from it for each of them",
        "somebody who sees other releases about the same respondents, too: their losses add up",
        "learning about several people whose data depend on each other, as in a family",
        "whoever may read the data itself, or controls the machine and its clock",
    ]
    if guarantee.neighbors is NeighboringRelation.CHANGE_ONE:
        found.append("learning how many respondents there are, which is taken for public")
    if guarantee.loss.delta:
        found.append(
            f"a larger loss, which has a probability of at most {guarantee.loss.delta} for each respondent"
        )
    return tuple(found)
