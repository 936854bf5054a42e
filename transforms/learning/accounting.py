"""The privacy loss of private training: accounts of the repeated Poisson-sampled Gaussian mechanism.

Two accounts by dp-accounting, both upper bounds: by Renyi divergences (Mironov, Talwar, Zhang, "Renyi
Differential Privacy of the Sampled Gaussian Mechanism", arXiv 1908.10530; conversion: arXiv 2004.00010,
Proposition 12) and by privacy loss distributions (Koskela, Jalko, Honkela, AISTATS 2020; rounded as
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots", PETS 2022). The second is tighter, and all
other figures here come from it. Without sampling the mechanism is Gaussian, and everything about it follows
exactly from its mu.

An account is of noise in multiples of the clipping norm, which bounds what any record of any data set can
change. Noise that is calibrated on less, on the local sensitivity of these data or on that of their
neighbours, is for studies of attacks and has no account: nothing here takes a sensitivity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self, assert_never

import numpy as np

from smalti.errors import not_installed
from smalti.transforms import identifiability
from smalti.transforms.identifiability import posterior_belief
from smalti.transforms.learning.hyperparameters import LARGEST_NOISE, Hyperparameters
from smalti.transforms.loss import belief
from smalti.transforms.sensitivity import NeighboringRelation

LEAST_NOISE: Final = 0.3
"""As a noise multiplier; with less, no account has a loss that is of use."""
LEAST_DELTA: Final = 1e-10
"""Of a few steps, below which errors of the arithmetic of distributions would count; of many, see
`SampledGaussian.rounding`."""
LARGEST_STEPS: Final = 1_000_000
_ROUNDING: Final = 2.0**-43
"""What rounding may take from a delta for each step, at most."""
_POINTS: Final = 256
_PRECISION: Final = 1e-3
"""Relative, of a noise multiplier that is sought."""
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """The steps of private training, as a mechanism: all that its privacy depends on.

    A data set is a set of members; each step releases the noisy sum of clipped gradients of a batch, and
    depends on what was released before.
    """

    noise_multiplier: float
    """z: the standard deviation of the noise in clipping norms."""
    sampling_rate: float
    """q: the probability of each member to be in a batch, independently of the others."""
    steps: int
    neighbors: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    """Changing one record moves a sum by two clipping norms."""

    def __post_init__(self) -> None:
        if not LEAST_NOISE <= self.noise_multiplier <= LARGEST_NOISE:
            raise ValueError(f"noise multipliers from {LEAST_NOISE:g} to {LARGEST_NOISE:g} have an account")
        if not 0 < self.sampling_rate <= 1:
            raise ValueError("a sampling rate lies above 0, and is 1 at most")
        if not 1 <= self.steps <= LARGEST_STEPS:
            raise ValueError(f"training takes from 1 to {LARGEST_STEPS} steps")

    @classmethod
    def of(
        cls,
        hyperparameters: Hyperparameters,
        neighbors: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ) -> Self:
        """The mechanism of a training.

        Raises:
            ValueError: the training is not private, or has no account.
        """
        private = hyperparameters.private
        if private is None:
            raise ValueError("training without noise has no account")
        return cls(
            private.noise_multiplier, private.sampling_rate, hyperparameters.private_steps, neighbors
        )

    @property
    def mu(self) -> float:
        """A mu for which the training is mu-GDP: the root of the steps divided by z, or twice that.

        Twice where one record is changed. Exact without sampling; with it an upper bound, far from tight.

        Proof:
            Sampling turns a step's pair of distributions P, Q (shifted and not) into q P + (1 - q) Q and Q.
            This is processing: what was seen is replaced by a draw of Q with probability 1 - q, which
            leaves Q as it is. A change has shifts to both sides, and Q in the middle is left as it is.
            Steps that are mu-GDP compose to the root of the sum of squares (Dong, Roth, Su 2022, Corollary
            3.3).
        """
        distance = 2 if self.neighbors is NeighboringRelation.CHANGE_ONE else 1
        return identifiability.compose_gaussian([distance * math.sqrt(self.steps) / self.noise_multiplier])

    @property
    def rounding(self) -> float:
        """How much a delta of the arithmetic may be too small; none below it has an account.

        0 without sampling. With it, the library composes T steps by one Fourier transform of n places, the
        T-th power of each of its numbers, and the transform back. With u = 2^-53, to first order:

            A number X of the transform is a sum of probabilities, each multiplied and rounded log2 n times
            or less, so its error is at most 5 u log2 n (Higham, "Accuracy and Stability of Numerical
            Algorithms", 24.1), and that of X^T at most T |X|^(T - 1) as much. The power itself, by
            logarithms, adds 2 pi T u |X|^T. Of n numbers with errors E, the transform back makes
            probabilities whose errors have an l1-norm of at most the l2-norm of E (Parseval and
            Cauchy-Schwarz), and no delta is off by more. The l2-norm of all |X|^T is the root of n times
            the sum of squares of the probabilities of T steps: it grows with the root of how much wider
            the n places are than these probabilities.

        That root is not bounded here, but measured: 6.3 at most in 54 accounts of 4 to 10^6 steps, with n
        up to 2^20. Hence 750 T u, of which `_ROUNDING`, 1024 u, leaves a quarter for the rounding of one
        step. From the same accounts in arithmetic of 64 binary digits, deltas differ by 1.3 T u at most.
        """
        return 0.0 if self.sampling_rate == 1 else self.steps * _ROUNDING

    def epsilon(self, delta: float) -> float:
        """An epsilon for which the training is (epsilon, delta)-private, by loss distributions.

        Args:
            delta: in [`LEAST_DELTA`, 1).

        Returns:
            Infinite where there is no account, as where delta is not above `rounding`.
        """
        _check_delta(delta)
        if self.sampling_rate == 1:
            return identifiability.gaussian_epsilon(delta, self.mu)
        if self.rounding >= delta:
            return math.inf
        return float(_distribution(self).get_epsilon(delta - self.rounding))

    def epsilon_by_renyi(self, delta: float) -> float:
        """The same by Renyi composition, which is looser and common in the literature.

        Args:
            delta: in (0, 1).

        Raises:
            ValueError: neighbours change a record; this account knows only adding and removing one.
        """
        if self.neighbors is not NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise ValueError("the Renyi account is for adding or removing one record")
        accountant = library().rdp.RdpAccountant()
        accountant.compose(_event(self))
        return float(accountant.get_epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """A delta for which the training is (epsilon, delta)-private.

        Args:
            epsilon: at least 0.
        """
        if self.sampling_rate == 1:
            return identifiability.gaussian_delta(epsilon, self.mu)
        return min(1.0, max(0.0, float(_distribution(self).get_delta(epsilon))) + self.rounding)

    @property
    def advantage(self) -> float:
        """The membership advantage that the training allows at most: its delta at epsilon 0."""
        return self.delta(0.0)

    def largest_loss(self, delta: float) -> float:
        """An epsilon that the loss of the training, processed in any way, exceeds with at most delta.

        The least of e - ln(1 - delta(e) / delta) over all e whose delta(e) is below delta.

        Proof:
            Let S be the outcomes whose loss exceeds epsilon, a = P(S), Q the distribution on the neighbour.
            Then Q(S) < a e^-epsilon, and a <= e^e Q(S) + delta(e) for each e. So
            a (1 - e^(e - epsilon)) <= delta(e), and with epsilon = e - ln(1 - delta(e) / delta) this is
            a <= delta. Both directions have the same delta(e), which processing does not raise.

        Beside other releases, all of them processed in any way, the loss exceeds the sum of the epsilons
        with at most the sum of the deltas, where the noise is exactly Gaussian. Let training i have e_i,
        delta_i and r_i = delta_i(e_i) / delta_i, so that its epsilon is e_i - ln(1 - r_i); let a Gaussian
        release have the epsilon ln(delta_0 / f(delta_0)) of `belief.largest_loss`, and let pure losses be
        among the e_i, with r_i = 0. All but the Gaussian release is, given that, (sum e_i, d)-private with
        d = sum r_i delta_i. Let S be the outcomes with a greater loss, and suppose that a = P(S) is above
        D = delta_0 + sum delta_i. The part of the probability of S that is above d, given the Gaussian
        outcome, is a test with power a - d at least. So Q(S) is at least e^(-sum e_i) f(a - d), and the
        loss of S at most sum e_i + ln(a / (a - d)) + ln((a - d) / f(a - d)). The last term is at most that
        of delta_0, as p / f(p) falls and a - d >= delta_0; and a / (a - d) is at most D / (D - d) <= 1 /
        (1 - max r_i), which is within the product of all 1 / (1 - r_i). So the loss of S is not greater.

        It is more than the quantile of the loss of P and Q themselves, which processing may exceed
        (`belief`); for a Gaussian mechanism it is `belief.largest_loss`.

        Args:
            delta: in [`LEAST_DELTA`, 1).

        Returns:
            Infinite where there is no account, as where delta is not above `rounding`.
        """
        _check_delta(delta)
        if self.sampling_rate == 1:
            return belief.largest_loss(delta, self.mu)
        return math.inf if self.rounding >= delta else _largest_loss(self, delta)

    def belief(self, delta: float) -> float:
        """The posterior belief, at prior one half, that is exceeded with probability delta at most.

        That of `largest_loss`; by the network and whatever is made from it.
        """
        return posterior_belief(self.largest_loss(delta))


class LossMeasure(StrEnum):
    """The measure of a training's loss that a limit is about."""

    EPSILON = "epsilon"
    """The epsilon of (epsilon, delta)-privacy."""
    LARGEST_LOSS = "largest-loss"
    """The loss that is exceeded with probability delta at most, by whatever is made from the training."""
    ADVANTAGE = "advantage"
    """The membership advantage."""


@dataclass(frozen=True, slots=True)
class LossLimit:
    """The greatest privacy loss that training may have."""

    measure: LossMeasure
    most: float
    """Above 0 and finite; of an advantage below 1."""
    delta: float = 0.0
    """At which a loss is meant; an advantage has none."""

    def __post_init__(self) -> None:
        _check_bound(self.most, 0, 1 if self.measure is LossMeasure.ADVANTAGE else math.inf)

    @classmethod
    def of_belief(cls, belief: float, delta: float) -> Self:
        """That of a posterior belief, at prior one half, that is exceeded with probability delta at most.

        It is the largest loss that gives the belief, which grows with it.

        Args:
            belief: in (0.5, 1).
            delta: in [`LEAST_DELTA`, 1).
        """
        _check_bound(belief, 0.5, 1)
        return cls(LossMeasure.LARGEST_LOSS, math.log(belief / (1 - belief)), delta)

    def is_met_by(self, mechanism: SampledGaussian) -> bool:
        return self.share(mechanism) <= 1

    def share(self, mechanism: SampledGaussian) -> float:
        """The loss of a mechanism, as a multiple of the limit; falls with its noise. It can be infinite."""
        match self.measure:
            case LossMeasure.EPSILON:
                lost = mechanism.epsilon(self.delta)
            case LossMeasure.LARGEST_LOSS:
                lost = mechanism.largest_loss(self.delta)
            case LossMeasure.ADVANTAGE:
                lost = mechanism.advantage
            case _:
                assert_never(self.measure)
        return lost / self.most


@lru_cache(maxsize=64)  # a decision, a plan and a run ask for the same, and each account takes a while
def noise_multiplier_for(
    limit: LossLimit,
    sampling_rate: float,
    steps: int,
    neighbors: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
) -> float:
    """The least noise multiplier that meets a limit, up to a relative 1e-3; errs above.

    It meets it as it is, with nine decimal digits at most.

    Args:
        limit: what the training must keep.
        sampling_rate: q.
        steps: of the whole training.
        neighbors: between which the bound holds.

    Raises:
        ValueError: no noise that has an account meets the bound.
    """
    shares: dict[float, float] = {}

    def share(noise_multiplier: float) -> float:
        if noise_multiplier not in shares:
            mechanism = SampledGaussian(noise_multiplier, sampling_rate, steps, neighbors)
            shares[noise_multiplier] = limit.share(mechanism)
        return shares[noise_multiplier]

    high = 2.0
    while share(high) > 1:
        high *= 2
        if high > LARGEST_NOISE:
            raise ValueError("no noise multiplier that has an account meets this bound")
    low = high
    while low > LEAST_NOISE and share(low) <= 1:
        low, high = max(low / 2, LEAST_NOISE), low
    if share(low) <= 1:
        return low
    _interpolate(share, low, high)
    return _bisected(
        share,
        max(tried for tried in shares if shares[tried] > 1),
        min(tried for tried in shares if shares[tried] <= 1),
    )


def _interpolate(share: Callable[[float], float], low: float, high: float) -> None:
    """Try noise multipliers near the least that meets a bound; between both ends, it is nearly a power."""
    from scipy.optimize import brentq  # noqa: PLC0415 (half a second)

    def height(exponent: float) -> float:
        # Of few digits: what is found must not depend on the last ones of the accountant's arithmetic.
        tried = min(max(_shortened(2.0 ** round(exponent, 5)), low), high)
        return math.log(min(max(share(tried), _TINY), 1 / _TINY))

    brentq(height, math.log2(low), math.log2(high), xtol=math.log2(1 + _PRECISION) / 2, maxiter=50)


def _bisected(share: Callable[[float], float], low: float, high: float) -> float:
    """The upper end of a short interval in which a bound begins to be met."""
    while high > low * (1 + _PRECISION):
        middle = _shortened(math.sqrt(low * high))
        low, high = (low, middle) if share(middle) <= 1 else (middle, high)
    return high


def _shortened(noise_multiplier: float) -> float:
    """With nine digits, so that what is stated is what was tried: the account is not quite monotone."""
    return float(f"{noise_multiplier:.9g}")


def _check_delta(delta: float) -> None:
    if not LEAST_DELTA <= delta < 1:
        raise ValueError(f"a delta lies between {LEAST_DELTA:g} and 1")


def _check_bound(value: float, least: float, largest: float) -> None:
    if not least < value < largest:
        raise ValueError(f"a bound of this kind lies above {least:g} and below {largest:g}")


def _event(mechanism: SampledGaussian) -> Any:
    accounts = library()
    step = accounts.GaussianDpEvent(mechanism.noise_multiplier)
    if mechanism.sampling_rate < 1:
        step = accounts.PoissonSampledDpEvent(mechanism.sampling_rate, step)
    return accounts.SelfComposedDpEvent(step, mechanism.steps)


@lru_cache(maxsize=32)
def _distribution(mechanism: SampledGaussian) -> Any:
    """The accountant of the library with all steps; it covers both directions of its neighbours."""
    accounts = library()
    relations = accounts.NeighboringRelation
    accountant = accounts.pld.PLDAccountant(
        relations.REPLACE_ONE
        if mechanism.neighbors is NeighboringRelation.CHANGE_ONE
        else relations.ADD_OR_REMOVE_ONE
    )
    accountant.compose(_event(mechanism))
    return accountant


@lru_cache(maxsize=64)  # each plan asks for it, and what the plan states is computed from it, too
def _largest_loss(mechanism: SampledGaussian, delta: float) -> float:
    """That of `SampledGaussian.largest_loss`, of sampled steps whose rounding is below delta."""
    accountant, rounding = _distribution(mechanism), mechanism.rounding
    rest = delta - rounding
    start = accountant.get_epsilon(rest)
    # Not much further, where what is left of delta(e) would be rounding alone.
    end = accountant.get_epsilon(max(rest * 1e-4, LEAST_DELTA / 100, min(rounding, rest) / 100))
    if not math.isfinite(start) or not math.isfinite(end):
        return math.inf
    places = np.linspace(start, max(end, start + 1e-6), _POINTS)
    exceeded = (np.maximum(accountant.get_delta(places), 0) + rounding) / delta
    usable = exceeded < 1
    return float(np.min(places[usable] - np.log1p(-exceeded[usable]), initial=math.inf))


def library() -> Any:
    """dp-accounting, the library of accounts; the only import of it.

    Raises:
        BackendError: it is not installed.
    """
    try:
        import dp_accounting  # noqa: PLC0415 (an extra, and more than a second)
        import dp_accounting.pld  # noqa: PLC0415
        import dp_accounting.rdp  # noqa: PLC0415
    except ImportError:
        raise not_installed(
            "private training", "the library of privacy accounts", "dp-accounting", "audit"
        ) from None
    return dp_accounting
