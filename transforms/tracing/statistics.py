"""Released sums over people, and what an attacker knows of the population that these people came from.

Counts and means are sums, too: of zeros and ones, and of what is divided by the number of people.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np

from smalti.transforms.auditing.scores import Floats

MOST_TOGETHER: Final = 1_000
"""So many statistics at most are compared with their correlations; more are taken for independent."""
_MOST_COMPARED: Final = 500
"""People of the reference whose pairs are compared for `effective_count`."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedSums:
    """Statistics of some people: for each the sum of what every person contributes, maybe with noise."""

    values: Floats
    """Shape (statistics,)."""
    deviations: Floats
    """The standard deviations of the noise, shape (statistics,); 0 where there is none."""
    people: int
    """How many there are, which the attacker is taken to know; at least 2."""

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.shape != self.deviations.shape or not self.values.size:
            raise ValueError("a value and a deviation are expected for each of at least one statistic")
        if not (np.isfinite(self.values).all() and np.isfinite(self.deviations).all()):
            raise ValueError("values and deviations are finite")
        if (self.deviations < 0).any() or self.people < 2:
            raise ValueError("deviations of at least 0, and at least two people are expected")


@dataclass(frozen=True, eq=False)
class Background:
    """How the contributions of one person of the population are distributed: what the attacker knows."""

    means: Floats
    """Shape (statistics,)."""
    variances: Floats
    """Shape (statistics,); above 0."""
    standardised: Floats | None = None
    """The reference, less its means, in standard deviations: shape (people, statistics). None: the
    statistics are independent."""

    @classmethod
    def of(cls, reference: Floats, largest: Floats) -> Self:
        """From the contributions of people who are no members.

        A statistic to which nobody of the reference contributes differently has the variance as if about
        one in all of them did: rare contributions are strong evidence, and not infinitely strong.

        Args:
            reference: shape (people, statistics); at least two people.
            largest: the largest contribution of a person to each statistic, as an order of magnitude;
                shape (statistics,), above 0.
        """
        if reference.ndim != 2 or len(reference) < 2 or (largest <= 0).any():
            raise ValueError("two people at least, and contributions above 0 are expected")
        means = reference.mean(axis=0)
        variances = np.maximum(reference.var(axis=0), largest**2 / (len(reference) + 1))
        return cls(means, variances, (reference - means) / np.sqrt(variances))

    @cached_property
    def effective_count(self) -> float:
        """How many independent statistics tell as much as these: trace(R)^2 / trace(R^2), R correlations.

        Of R^2 the trace is estimated without bias from pairs of people: the mean of (x . x')^2 over
        different people is trace(R^2), and that of x . x is trace(R).
        """
        count = float(self.means.size)
        if self.standardised is None:
            return count
        some = self.standardised[:_MOST_COMPARED]
        products = some @ some.T
        own = np.diagonal(products)
        pairs = len(some) * (len(some) - 1)
        squares = float((products**2).sum() - (own**2).sum()) / pairs
        trace = float(own.mean())
        return min(count, max(1.0, trace**2 / squares)) if squares > 0 else count

    @cached_property
    def correlations(self) -> Floats | None:
        """Those of the reference, shape (statistics, statistics).

        None where statistics are taken for independent.
        """
        if self.standardised is None or self.means.size > MOST_TOGETHER:
            return None
        return np.asarray(self.standardised.T @ self.standardised / len(self.standardised), np.float64)

    def covariance(self, released: ReleasedSums) -> Floats | None:
        """Of released sums, in standard deviations of one person; None likewise.

        Correlations are drawn towards independence by statistics / (statistics + people of the reference):
        a reference that is not much larger than the number of statistics shows some by chance.
        """
        if self.standardised is None or self.correlations is None:
            return None
        people, count = self.standardised.shape
        shrinkage = count / (count + people)
        correlations = (1 - shrinkage) * self.correlations + shrinkage * np.eye(count)
        noise = np.diag(self.relative_noise(released) ** 2)
        return np.asarray(released.people * correlations + noise, np.float64)

    def relative_noise(self, released: ReleasedSums) -> Floats:
        """The noise of each sum, in standard deviations of one person's contribution."""
        return np.asarray(released.deviations / np.sqrt(self.variances), np.float64)
