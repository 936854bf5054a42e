"""The adversary that differential privacy assumes, run against DP-SGD.

arXiv 2103.02913, Experiment 2 and Algorithm 1. The challenger trains on one of two neighbouring data sets,
chosen by a fair coin, with steps over the whole data set. The adversary knows both data sets, the weights
before each step, the noise's standard deviation and the noisy gradient sum of each step, and not the coin.
It adds up what each step says of either data set, and names the one that it believes in more.

Neither is in the paper: beliefs are added up as logarithms of odds, so none is rounded to 0 or 1; and the
noise that was really used is recorded (`Beliefs.mu`), from which everything else follows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
from scipy import special

from smalti.transforms.auditing.limits import Figure, Outcomes, share
from smalti.transforms.auditing.neighbors import Data, NeighboringPair
from smalti.transforms.auditing.scores import Floats, Scores
from smalti.transforms.identifiability import epsilon_for_belief
from smalti.transforms.problem import Flags
from smalti.transforms.sensitivity import NeighboringRelation

_Read_contra = TypeVar("_Read_contra", contravariant=True)

_TOGETHER: Final = 500
"""Repetitions that are computed at once: their weights stay in the cache."""
_NUMBERS: Final = 1 << 22
"""Of weights that are computed at once, about; each takes five times its 8 bytes."""

StepSensitivity = Callable[[Floats], Floats]
"""From weights, shape (repetitions, parameters), to l2-sensitivities of the gradient sum, by repetition."""


class ClippedGradientSum(Protocol[_Read_contra]):
    """The sum of the clipped gradients of a data set's records, at each of several weights."""

    def __call__(self, weights: Floats, data: _Read_contra, /) -> Floats:
        """From weights of shape (repetitions, parameters) to sums of the same shape."""


def global_sensitivity(clipping_norm: float, relation: NeighboringRelation) -> StepSensitivity:
    """The sensitivity that holds for all data: C where a record is added, 2 C where one is changed.

    The only one whose noise gives differential privacy (section 5.1).

    Args:
        clipping_norm: C, above 0.
        relation: of the data sets.
    """
    if not clipping_norm > 0:
        raise ValueError("a clipping norm above 0 is expected")
    sensitivity = clipping_norm * (1 if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2)
    return lambda weights: np.full(len(weights), float(sensitivity))


def local_sensitivity(
    gradient_sum: ClippedGradientSum[Data], neighbors: Sequence[NeighboringPair[Data]]
) -> StepSensitivity:
    """How far the gradient sum of one data set is from those of its neighbours, at most (Definition 3).

    With one pair only, that which a dissimilarity found, it is the dataset sensitivity (equations 19, 21).
    It depends on the data, so noise of this scale gives no differential privacy: for study only.

    Args:
        gradient_sum: of the clipped gradients.
        neighbors: the data set with each of its neighbours; at least one.
    """
    if not neighbors:
        raise ValueError("at least one neighbouring data set is expected")

    def largest(weights: Floats) -> Floats:
        lengths = (np.linalg.norm(_difference(gradient_sum, weights, pair), axis=1) for pair in neighbors)
        return np.asarray(np.max(list(lengths), axis=0), np.float64)

    return largest


def log_odds_of_step(observed: Floats, first: Floats, second: Floats, deviations: Floats) -> Floats:
    """By how much one noisy sum moves the logarithm of the odds of the first data set against the second.

    The difference of the logarithms of two normal densities, (|o - s|^2 - |o - f|^2) / 2 sigma^2, written
    as (f - s) . (o - (f + s) / 2) / sigma^2, which does not cancel. At prior one half the sum over all
    steps is the logarithm of the posterior odds: the belief in the first is 1 / (1 + exp(-sum)) (Lemma 1).
    Given the first data set it is the privacy loss.

    Args:
        observed: the noisy sums, shape (repetitions, parameters).
        first: the sums of the first data set, without noise.
        second: those of the second data set.
        deviations: the standard deviations of the noise, shape (repetitions,); 0 only where the sums of
            both data sets are equal, which tells nothing.

    Returns:
        Shape (repetitions,), in nats.
    """
    difference, middle = first - second, (first + second) / 2
    if ((deviations == 0) & difference.any(axis=1)).any():
        raise ValueError("data sets with different gradients and no noise are told apart for certain")
    projected = np.einsum("rp,rp->r", difference, observed - middle)
    return _divided(projected, deviations**2)


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What the adversary believed after each repetition, and what was true. All of shape (repetitions,)."""

    log_odds: Floats
    """ln of (belief in the first data set / belief in the second one), in nats."""
    first_used: Flags
    """Whether the model was trained on the first data set."""
    mu: Floats
    """The l2-distance of both data sets' gradient sums in standard deviations of the noise, over all steps:
    the root of the sum of squares, at the weights that this repetition went through."""
    weights: Floats
    """The trained weights, shape (repetitions, parameters)."""

    @property
    def losses(self) -> Floats:
        """The privacy loss of each repetition: the log-odds of the data set that was used."""
        return np.where(self.first_used, self.log_odds, -self.log_odds)

    @property
    def in_the_used(self) -> Floats:
        """The posterior belief in the data set that was used (Definition 4), in [0, 1]."""
        return np.asarray(special.expit(self.losses), np.float64)

    @property
    def wins(self) -> int:
        """How often the adversary names the data set that was used; it names the first one if in doubt."""
        return int(((self.log_odds >= 0) == self.first_used).sum())

    @property
    def scores(self) -> Scores:
        """The log-odds as scores; a member is a repetition that used the first data set."""
        return Scores(self.log_odds[self.first_used], self.log_odds[~self.first_used])

    def advantage(self, confidence: float) -> Figure:
        """Twice the share of wins minus one (Definition 5), with Clopper and Pearson's limits.

        The repetitions are independent, each with a coin of its own, so the number of wins is binomial.
        """
        count = self.losses.size
        won = share(self.wins, count, confidence)
        return Figure(2 * self.wins / count - 1, 2 * won.lower - 1, 2 * won.upper - 1, confidence)

    def beliefs_above(self, bound: float) -> int:
        """How many repetitions end with a belief in the used data set above a bound in (0.5, 1)."""
        return int((self.losses > epsilon_for_belief(bound)).sum())

    def chance_of_belief_above(self, bound: float, confidence: float) -> Figure:
        """The probability of such a repetition, with Clopper and Pearson's limits."""
        return share(self.beliefs_above(bound), self.losses.size, confidence)


@dataclass(frozen=True, slots=True, eq=False)
class Experiment(Generic[Data]):
    """Experiment 2, to be repeated: the pair to distinguish, and the training.

    The noise is simulated from a seeded generator of floats, to be repeatable: no model of it is released.
    """

    pair: NeighboringPair[Data]
    gradient_sum: ClippedGradientSum[Data]
    sensitivity: StepSensitivity
    noise_multiplier: float
    """The noise's standard deviation, in sensitivities; above 0."""
    steps: int
    """At least 1, each over the whole data set."""
    learning_rate: float
    """What the noisy gradient sum is multiplied with: the rate of a mean, divided by a number of records.
    It must be the same for both data sets."""
    initial_weights: Floats
    """Shape (parameters,); known to the adversary."""

    def __post_init__(self) -> None:
        if not self.noise_multiplier > 0 or self.steps < 1:
            raise ValueError("a noise multiplier above 0 and at least one step are expected")

    def run(self, repetitions: int, generator: np.random.Generator) -> Beliefs:
        """Both sides of all repetitions.

        Args:
            repetitions: how often; at least 1.
            generator: throws the challenger's coins, and draws the noise.
        """
        if repetitions < 1:
            raise ValueError("at least one repetition is expected")
        groups = [self._together(count, generator) for count in self._groups(repetitions)]
        odds, used, mu, weights = (np.concatenate(part) for part in zip(*groups, strict=True))
        return Beliefs(odds, used, mu, weights)

    def _groups(self, repetitions: int) -> Iterator[int]:
        together = max(1, min(_TOGETHER, _NUMBERS // self.initial_weights.size))
        for start in range(0, repetitions, together):
            yield min(together, repetitions - start)

    def _together(
        self, repetitions: int, generator: np.random.Generator
    ) -> tuple[Floats, Flags, Floats, Floats]:
        used = generator.integers(0, 2, repetitions).astype(np.bool_)
        weights = np.tile(self.initial_weights, (repetitions, 1))
        odds, mu_squared = np.zeros(repetitions), np.zeros(repetitions)
        for _ in range(self.steps):
            first, second = self._sums(weights)
            deviations = self.noise_multiplier * self.sensitivity(weights)
            observed = np.where(used[:, None], first, second)
            observed += deviations[:, None] * generator.standard_normal(observed.shape)
            odds += log_odds_of_step(observed, first, second, deviations)
            mu_squared += _squared_distance(first - second, deviations)
            weights -= self.learning_rate * observed
        return odds, used, np.sqrt(mu_squared), weights

    def _sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """The gradient sums of both data sets; what they share is summed up once."""
        shared = self.gradient_sum(weights, self.pair.shared)
        first = shared + self.gradient_sum(weights, self.pair.first_only)
        if self.pair.second_only is None:
            return first, np.asarray(shared, np.float64)
        return first, shared + self.gradient_sum(weights, self.pair.second_only)


def loss_threshold(losses: Floats, training_losses: Floats | float, is_member: Flags) -> Outcomes:
    """How often Yeom's adversary is right, who sees the model, and one record of which it says "member".

    It says so where the model's loss on the record is at most the mean loss on its training data: Yeom,
    Giacomelli, Fredrikson, Jha, IEEE CSF 2018, Adversary 2, as Jayaraman and Evans, USENIX Security 2019,
    run it. arXiv 2103.02913 compares it with the adversary above, which is stronger (Proposition 1).

    Args:
        losses: of the record in question, one for each guess.
        training_losses: the mean training loss of the model that is asked, one for each guess or for all.
        is_member: whether the record was in that model's training data; both must occur.
    """
    called = losses <= training_losses
    right, wrong = int((called & is_member).sum()), int((called & ~is_member).sum())
    return Outcomes(right, int(is_member.sum()), wrong, int((~is_member).sum()))


def _difference(
    gradient_sum: ClippedGradientSum[Data], weights: Floats, pair: NeighboringPair[Data]
) -> Floats:
    """By how much the gradient sums of both data sets differ; what they share takes no part."""
    difference = gradient_sum(weights, pair.first_only)
    return difference if pair.second_only is None else difference - gradient_sum(weights, pair.second_only)


def _squared_distance(difference: Floats, deviations: Floats) -> Floats:
    return _divided(np.einsum("rp,rp->r", difference, difference), deviations**2)


def _divided(by_repetition: Floats, variances: Floats) -> Floats:
    """Where there is no noise, because there is nothing to hide, the quotient is 0."""
    quotient = np.zeros(by_repetition.shape)
    np.divide(by_repetition, variances, out=quotient, where=variances > 0)
    return quotient
