"""Attacks on statistics of generated people, repeated: what they achieve at a size and a noise.

Noise comes from a seeded generator of floats: nothing of this is released. Repetitions are independent,
each with people of its own, so that Clopper and Pearson's limits hold.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse, special

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Flags
from smalti.transforms.tracing.membership import SCORES, Tracing
from smalti.transforms.tracing.power import power, signal
from smalti.transforms.tracing.reconstruction import SubsetSums
from smalti.transforms.tracing.reductions import Decided, reconstruction_by_membership
from smalti.transforms.tracing.statistics import Background, ReleasedSums

_LEAST_SHARE: Final = 0.2
"""Shares of ones in the population are from this to one minus this."""


@dataclass(frozen=True, slots=True)
class TracingExperiment:
    """Sums of independent bits of people, with normal noise; the attacker knows the population exactly."""

    people: int
    statistics: int
    error: float
    """Of means, in standard deviations of one person: alpha. 0: without noise."""

    def background(self, generator: np.random.Generator) -> Background:
        """A population."""
        shares = generator.uniform(_LEAST_SHARE, 1 - _LEAST_SHARE, self.statistics)
        return Background(shares, shares * (1 - shares))

    def released(
        self, sums: Floats, background: Background, generator: np.random.Generator
    ) -> ReleasedSums:
        """The sums with noise."""
        deviations = self.people * self.error * np.sqrt(background.variances)
        noise = deviations * generator.standard_normal(self.statistics)
        return ReleasedSums(sums + noise, deviations, self.people)

    def expected(
        self, attack: Tracing, false_positive_rate: float, generator: np.random.Generator
    ) -> float:
        """The true positive rate by calculation."""
        background = self.background(generator)
        sizes = self.released(np.zeros(self.statistics), background, generator)
        return power(signal(attack, sizes, background), false_positive_rate)

    def run(
        self,
        attack: Tracing,
        false_positive_rate: float,
        repetitions: int,
        generator: np.random.Generator,
    ) -> Outcomes:
        """In each repetition one member and one other person are tested.

        The threshold is that of normal scores whose mean and variance, for somebody who is no member,
        follow from the population, the sizes and the noise.
        """
        background = self.background(generator)
        hits = np.array([
            self._decided(attack, false_positive_rate, background, generator) for _ in range(repetitions)
        ])  # fmt: skip
        return Outcomes(int(hits[:, 0].sum()), repetitions, int(hits[:, 1].sum()), repetitions)

    def _decided(
        self, attack: Tracing, rate: float, background: Background, generator: np.random.Generator
    ) -> Flags:
        drawn = generator.random((self.people + 1, self.statistics)) < background.means
        members, asked = drawn[:-1], drawn[-2:].astype(np.float64)
        released = self.released(members.sum(axis=0).astype(np.float64), background, generator)
        scores = SCORES[attack](released, background, asked)
        return np.asarray(scores > threshold(attack, rate, released, background, asked), np.bool_)


def threshold(
    attack: Tracing,
    false_positive_rate: float,
    released: ReleasedSums,
    background: Background,
    people: Floats,
) -> Floats:
    """By person, the score that a share of releases without that person exceeds: of independent statistics.

    Without the person, the distance D of the statistics from the population's is normal with variances
    n + t, in variances of one person, and both scores are linear in it.

    Returns:
        Shape (people,).
    """
    standardised = (people - background.means) / np.sqrt(background.variances)
    variances = released.people + background.relative_noise(released) ** 2
    z = -float(special.ndtri(false_positive_rate))
    if attack is Tracing.INNER_PRODUCT:
        return np.asarray(z * np.sqrt(standardised**2 @ variances), np.float64)
    evidence = standardised**2 @ (1 / variances)
    return np.asarray(z * np.sqrt(evidence) - evidence / 2, np.float64)


@dataclass(frozen=True, slots=True)
class ReconstructionExperiment:
    """Random bits, and sums over random subsets with normal noise: Dinur and Nissim's setting."""

    people: int
    sums: int
    deviation: float
    """Of the noise of a sum."""

    def draw(self, generator: np.random.Generator) -> tuple[Flags, SubsetSums]:
        """The bits, and what is released about them."""
        secret = generator.random(self.people) < 0.5
        subsets = generator.random((self.sums, self.people)) < 0.5
        values = subsets.astype(np.float64) @ secret
        values += self.deviation * generator.standard_normal(self.sums)
        deviations = np.full(self.sums, self.deviation)
        return secret, SubsetSums(sparse.csr_matrix(subsets, dtype=np.float64), values, deviations)


@dataclass(frozen=True, slots=True)
class BitsByMembership:
    """Reconstruction from membership: sums of those with a 0 and of those with a 1, released apart."""

    tracing: TracingExperiment
    """Of each of both groups."""

    def run(
        self,
        attack: Tracing,
        false_positive_rate: float,
        repetitions: int,
        generator: np.random.Generator,
    ) -> Decided:
        """In each repetition the bit of one person is looked for."""
        background, setting = self.tracing.background(generator), self.tracing
        tests, margins, secret = [], [], []
        for _ in range(repetitions):
            bit = int(generator.integers(2))
            groups = generator.random((2, setting.people, setting.statistics)) < background.means
            asked = groups[bit, :1].astype(np.float64)
            above = []
            for group in groups:
                released = setting.released(group.sum(axis=0).astype(np.float64), background, generator)
                score = SCORES[attack](released, background, asked)
                above.append(
                    float((score - threshold(attack, false_positive_rate, released, background, asked))[0])
                )
            tests.append([margin > 0 for margin in above])
            margins.append(above)
            secret.append(bool(bit))
        said, scores = np.array(tests), np.array(margins)
        return reconstruction_by_membership(
            said[:, 0], said[:, 1], (scores[:, 0], scores[:, 1]), np.array(secret)
        )
