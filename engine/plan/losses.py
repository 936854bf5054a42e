"""Privacy losses, as plans, ledgers and certificates state them."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from smalti.engine.plan.guarantees import Json
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

LOCAL_NEIGHBORS: Final = NeighboringRelation.CHANGE_ONE
"""For perturbed records: one respondent's values are replaced; the number of respondents is public."""


@dataclass(frozen=True, slots=True)
class StatedLoss:
    """Upper bounds of a privacy loss, as certificates and compositions state it."""

    epsilon: Decimal
    """In nats, together with delta."""
    delta: Decimal
    belief: float
    """The largest posterior belief at prior one half, but for a probability of `delta`."""
    advantage: float
    """The largest membership advantage, from the noise that is used."""


@dataclass(frozen=True, slots=True)
class PlannedLoss(StatedLoss):
    """The loss of a plan, with the parts of its noise, by which losses are composed."""

    pure: str
    """The exact pure part of the loss, as a fraction."""
    mu_squared: str
    """The exact Gaussian part of the loss, as a fraction."""
    selection_delta: Decimal = Decimal(0)
    """Of `delta`, the part with which all is revealed: by the private selection of groups, by the ends of
    the noise of training, or by a loss above epsilon of training in batches."""

    @property
    def stated(self) -> StatedLoss:
        """What a certificate states of it."""
        return StatedLoss(self.epsilon, self.delta, self.belief, self.advantage)

    @property
    def noise(self) -> PrivacyLoss:
        """The parts of its noise; a ValueError or an ArithmeticError where the texts are none of a loss."""
        return PrivacyLoss(Fraction(self.pure), Fraction(self.mu_squared))


def loss_to_object(loss: StatedLoss) -> dict[str, Json]:
    """A loss in the words of a certificate."""
    return {
        "epsilon": format(loss.epsilon, "f"),
        "delta": format(loss.delta, "f"),
        "posteriorBelief": loss.belief,
        "membershipAdvantage": loss.advantage,
    }


def loss_from_object(stated: Mapping[str, Any]) -> StatedLoss:
    """The inverse of `loss_to_object`, of what the certificate's schema has accepted."""
    return StatedLoss(
        Decimal(stated["epsilon"]),
        Decimal(stated["delta"]),
        stated["posteriorBelief"],
        stated["membershipAdvantage"],
    )


def describe_loss(loss: StatedLoss) -> str:
    """Belief and advantage, as people read them; rounded up."""
    return (
        f"somebody who gave it a chance of one half believes it afterwards to at most {up(loss.belief)}"
        f" and guesses it better than a coin by at most {up(loss.advantage)} (advantage)"
    )


def loss_in_words(loss: StatedLoss) -> tuple[tuple[str, str], ...]:
    """Epsilon, delta, belief and advantage by name, as people read them; the last two rounded up."""
    return (
        ("epsilon", format(loss.epsilon, "f")),
        ("delta", format(loss.delta, "f")),
        ("posterior belief", f"at most {up(loss.belief)}, one half before"),
        ("membership advantage", f"at most {up(loss.advantage)}"),
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
