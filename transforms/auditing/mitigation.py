"""The mitigation efficiency: how much less an attack achieves, for the accuracy that the model loses.

MOSAICrOWN D5.2, section 4.3.1, Equation 4.2. It compares one model without privacy with one that was made
private in any way, so that central and local differential privacy can be compared without comparing their
epsilons, which are about different things.
"""

import math
from dataclasses import dataclass
from typing import Final

GUESS: Final = 0.5
"""The base of an attack: precision and recall of who calls records members by a fair coin."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The accuracy of one model, and what an attack achieves on it."""

    accuracy: float
    """On test data, from 0 to 1."""
    attack: float
    """The attack's precision, or its recall, from 0 to 1."""

    def __post_init__(self) -> None:
        if not (0 <= self.accuracy <= 1 and 0 <= self.attack <= 1):
            raise ValueError("an accuracy, a precision and a recall lie between 0 and 1")


def mitigation_efficiency(original: Standing, private: Standing, classes: int) -> float | None:
    """The share of accuracy that is kept, divided by the share of the attack that is kept.

    D5.2, Equation 4.2: phi = a / p with

        a = (acc - 1/C) / (acc_orig - 1/C)    and    p = (pre - 1/2) / (pre_orig - 1/2),

    where an accuracy below 1/C counts as 1/C, and a precision (or recall) below 1/2 as 1/2: both are no
    worse than a guess. phi is above 1 where relatively less accuracy is lost (1 - a) than the attack loses
    (1 - p), below 1 where more is lost, and 1 where both are equal. It has no upper bound: a and p exceed 1
    where the private model is the better one, or the attack on it.

    The document does not say what holds where the attack falls to its base, so that p is 0. Here phi is
    infinite then if some accuracy is kept, which is its limit, and 1 if none is: all of both is lost then,
    so both losses are equal. With that, what is said above of 1 holds everywhere.

    >>> round(mitigation_efficiency(Standing(0.9, 0.8), Standing(0.5, 0.6), classes=10), 6)
    1.5

    Args:
        original: without privacy.
        private: the same model, made private.
        classes: C, at least 2.

    Returns:
        From 0 to infinity; None where the original is no better than a guess, or where the attack on it is
        none. The document requires both, and there is nothing to compare without.
    """
    if classes < 2:
        raise ValueError("there are two classes at least")
    accuracy = _kept(original.accuracy, private.accuracy, 1 / classes)
    attack = _kept(original.attack, private.attack, GUESS)
    if accuracy is None or attack is None:
        return None
    if attack > 0:
        return accuracy / attack
    return math.inf if accuracy > 0 else 1.0


def _kept(original: float, private: float, base: float) -> float | None:
    """What is left above a base, as a share of what the original has above it; at least 0."""
    return max(0.0, private - base) / (original - base) if original > base else None
