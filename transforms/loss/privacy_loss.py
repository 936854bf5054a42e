"""The privacy loss of releases about the same respondents: a pure part and a Gaussian part.

Every mechanism here is either pure (Laplace noise, choices, randomised response) or Gaussian. Pure losses
add up, and so do the squares of the mus of Gaussian releases, also where later releases depend on earlier
ones. Both parts are rational numbers, so the order of releases does not matter and no sum drifts.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from smalti.transforms.identifiability import (
    advantage,
    composed_advantage,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
)
from smalti.transforms.loss.belief import belief_after


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """Upper bounds of both parts; the loss of nothing by default."""

    pure: Fraction = Fraction(0)
    """The sum of the epsilons of pure releases, in nats."""
    mu_squared: Fraction = Fraction(0)
    """The sum of the squares of the mus of Gaussian releases."""

    def __post_init__(self) -> None:
        if self.pure < 0 or self.mu_squared < 0:
            raise ValueError("a privacy loss is not negative")

    @classmethod
    def of_pure(cls, epsilon: Fraction | float) -> Self:
        """That of a release with a pure loss."""
        return cls(pure=Fraction(epsilon))

    @classmethod
    def of_gaussian(cls, mu: float) -> Self:
        """That of a release that is mu-GDP."""
        return cls(mu_squared=Fraction(mu) ** 2)

    def __add__(self, other: "PrivacyLoss") -> "PrivacyLoss":
        """That of both releases about the same respondents."""
        return PrivacyLoss(self.pure + other.pure, self.mu_squared + other.mu_squared)

    @property
    def mu(self) -> float:
        """That of the Gaussian part, not below it."""
        root = math.sqrt(self.mu_squared)
        return root if Fraction(root) ** 2 >= self.mu_squared else math.nextafter(root, math.inf)

    def epsilon(self, delta: float) -> float:
        """An epsilon for which the releases together are (epsilon, delta)-private.

        The pure part plus that of the Gaussian part at delta: basic composition with a delta of 0.

        Args:
            delta: in (0, 1); 0 is taken too where there is no Gaussian part.
        """
        if not self.mu_squared:
            return _not_below(self.pure)
        return _not_below(self.pure) + gaussian_epsilon(delta, self.mu)

    def delta(self, epsilon: float) -> float:
        """A delta for which the releases together are (epsilon, delta)-private."""
        rest = epsilon - _not_below(self.pure)
        # At any epsilon it is at most that of 0, which is the advantage.
        exceeded = self.advantage
        return min(gaussian_delta(rest, self.mu), exceeded) if rest >= 0 else exceeded

    @property
    def advantage(self) -> float:
        """The membership advantage that the releases together allow at most, from the noise they have."""
        return composed_advantage((advantage(_not_below(self.pure)), gaussian_advantage(self.mu)))

    def belief(self, delta: float) -> float:
        """The posterior belief, at prior one half, that is exceeded with probability delta at most.

        It is that of the pure part and of the greatest loss that the Gaussian part, and whatever is made
        from it, has but for that probability (`belief.largest_loss`); not that of `epsilon`.

        Args:
            delta: in (0, 1); 0 is taken too where there is no Gaussian part.
        """
        return belief_after(_not_below(self.pure), self.mu, delta)


def _not_below(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
