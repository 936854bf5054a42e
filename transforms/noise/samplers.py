"""The only place that draws noise: exact samplers of the OpenDP library on whole numbers.

Noise that is added to floats betrays its input by its low bits (Mironov, "On Significance of the Least
Significant Bits", CCS 2012). Here everything is a whole number of some public unit, and the noise is the
discrete Laplace or Gaussian distribution on whole numbers, sampled exactly (Canonne, Kamath, Steinke, "The
Discrete Gaussian for Differential Privacy", NeurIPS 2020). A scale is a rational number that is also a
double, so the noise that is stated is the noise that is drawn.

Nothing here can fail because of data: aggregates are clamped into public limits first, which brings
neighbours no further apart. Randomness is the operating system's, has no seed and is never recorded.
"""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any, Final, NamedTuple, Self

import numpy as np

from smalti.errors import InternalError, not_installed
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise import discrete_gaussian
from smalti.transforms.noise.discrete_gaussian import largest_step
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.sensitivity import Sensitivity

LARGEST_VALUE: Final = 1 << 62
"""Of a measured aggregate, in units; the other half of 64 bits is room for noise."""
LARGEST_SCALE: Final = 1 << 50
"""In units; noise fills the room with probability exp(-4096) at most, and is cut off there."""

_CAUTION: Final = 2.0**-38


_Measurement = Callable[[object], Any]
"""What the library makes of a distribution; its values have the type of its domain."""


class Sampler(ABC):
    """A source of noise. There is one; tests put a repeatable stub in its place."""

    @abstractmethod
    def laplace(self, values: Integers, scale: float) -> Integers:
        """Each value plus a draw x of P(x) ~ exp(-|x| / scale) on whole numbers; cut off at 64 bits."""

    @abstractmethod
    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Each value plus a draw x of P(x) ~ exp(-x^2 / (2 scale^2)), as before."""

    @abstractmethod
    def choose(self, utilities: Integers, scale: float) -> int:
        """An index i, drawn with P(i) ~ exp(utilities[i] / scale)."""

    @abstractmethod
    def bits(self, number: int, probability: float) -> Flags:
        """Independent bits that are true with exactly this probability, above 0 and at most one half."""

    @abstractmethod
    def uniform(self, number: int, bound: int) -> Integers:
        """Independent whole numbers from 0 to below a bound of at most 2^32, all equally likely."""


class OpenDPSampler(Sampler):
    """The vetted library's samplers; `uniform` is the operating system's bytes with rejection."""

    def laplace(self, values: Integers, scale: float) -> Integers:
        return _noisy(_laplace(scale), values)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return _noisy(_gaussian(scale), values)

    def choose(self, utilities: Integers, scale: float) -> int:
        return int(_called(_noisy_max(scale), utilities.tolist()))

    def bits(self, number: int, probability: float) -> Flags:
        size = -(-number // 8)
        drawn = np.frombuffer(_called(_flips(8 * size, probability), bytes(size)), np.uint8)
        return np.unpackbits(drawn, count=number).view(np.bool_)

    def uniform(self, number: int, bound: int) -> Integers:
        drawn = np.empty(number, np.uint64)
        missing = np.arange(number)
        limit = (1 << 64) // bound * bound - 1
        while len(missing):
            fresh = np.frombuffer(secrets.token_bytes(8 * len(missing)), np.uint64)
            drawn[missing] = fresh
            missing = missing[fresh > limit]
        return (drawn % np.uint64(bound)).astype(np.int64)


SAMPLER: Final = OpenDPSampler()


class Estimate(NamedTuple):
    """An unbiased estimate from noisy records, with the uncertainty that the noise alone causes."""

    value: float
    """It may lie outside of what is possible; pulling it back would bias sums of estimates."""
    margin: float
    """Half the width of the confidence interval around the value; infinite without records."""


class Noise(ABC):
    """A distribution on whole numbers around 0, by its scale in units."""

    __slots__ = ()

    scale: Fraction

    @abstractmethod
    def drawn(self, values: Integers, sampler: Sampler) -> Integers:
        """The values with a fresh draw each."""

    @abstractmethod
    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """What a release of noisy values loses, by their sensitivity in units."""

    @abstractmethod
    def margin(self, confidence: float) -> int:
        """The least m with P(|noise| <= m) at least a confidence, of the noise alone.

        With it `value - m` to `value + m` is a confidence interval of what was measured. Several such
        intervals miss with the sum of their probabilities, together.

        Args:
            confidence: in (0, 1).
        """

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of one draw."""


@dataclass(frozen=True, slots=True)
class LaplaceNoise(Noise):
    """Discrete Laplace noise; a release is pure differentially private."""

    scale: Fraction
    """In units; exactly a double above 0."""

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @classmethod
    def calibrated(cls, l1: Fraction, epsilon: Fraction) -> Self:
        """The least noise of a loss within epsilon.

        Args:
            l1: sensitivity in units.
            epsilon: above 0.
        """
        _check_calibration(l1, epsilon)
        return cls(_double_from(l1 / epsilon))

    def epsilon(self, l1: Fraction) -> Fraction:
        """The exact privacy loss: l1 / scale (Ghosh, Roughgarden, Sundararajan, STOC 2009, and its sum)."""
        return l1 / self.scale

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return PrivacyLoss.of_pure(self.epsilon(sensitivity.l1))

    def drawn(self, values: Integers, sampler: Sampler) -> Integers:
        return sampler.laplace(values, float(self.scale))

    def margin(self, confidence: float) -> int:
        # P(|x| > m) = 2 q^(m + 1) / (1 + q) with q = exp(-1 / scale).
        missed, scale = 1 - _confidence(confidence), float(self.scale)
        steps = scale * math.log(2 / (missed * (1 + math.exp(-1 / scale))))
        return max(math.ceil(steps * (1 + _CAUTION)) - 1, 0)

    @property
    def variance(self) -> float:
        return (
            1 / (2 * math.sinh(1 / (2 * float(self.scale))) ** 2) if self.scale > Fraction(1, 700) else 0.0
        )


@dataclass(frozen=True, slots=True)
class GaussianNoise(Noise):
    """Discrete Gaussian noise; a release is mu-GDP and zero-concentrated differentially private."""

    scale: Fraction
    """Sigma in units; exactly a double above 0."""

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @classmethod
    def calibrated(cls, l2_squared: Fraction, mu: float) -> Self:
        """The least noise of a release within mu.

        Args:
            l2_squared: sensitivity in units, squared.
            mu: above 0.
        """
        _check_calibration(l2_squared, mu)
        noise = cls(_double_from(Fraction(math.sqrt(l2_squared) / mu)))
        while (reached := noise.mu(l2_squared)) > mu:
            noise = cls(_double_from(noise.scale * Fraction(min(reached / mu * (1 + _CAUTION), 2))))
        return noise

    def mu(self, l2_squared: Fraction) -> float:
        """The mu of a release, as `smalti.transforms.identifiability` takes it; rounded up.

        Proven in `noise.discrete_gaussian`, for every scale. On whole numbers the noise is a
        little easier to tell from its shifts than the normal distribution that it is named after, for
        which it would be sqrt(l2_squared) / scale.
        """
        return math.sqrt(l2_squared) * largest_step(float(self.scale)) * (1 + _CAUTION)

    def rho(self, l2_squared: Fraction) -> Fraction:
        """The exact zero-concentrated privacy loss (Canonne, Kamath, Steinke 2020)."""
        return l2_squared / (2 * self.scale**2)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return PrivacyLoss.of_gaussian(self.mu(sensitivity.l2_squared))

    def drawn(self, values: Integers, sampler: Sampler) -> Integers:
        return sampler.gaussian(values, float(self.scale))

    def margin(self, confidence: float) -> int:
        return discrete_gaussian.margin(float(self.scale), 1 - _confidence(confidence))

    @property
    def variance(self) -> float:
        return discrete_gaussian.variance(float(self.scale))


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """The exponential mechanism: P ~ exp(utility / scale), over whole utilities (McSherry, Talwar 2007)."""

    scale: Fraction
    """In units of utility; exactly a double above 0."""

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @classmethod
    def calibrated(cls, linf: Fraction, epsilon: Fraction) -> Self:
        """The sharpest choice of a loss within epsilon: P ~ exp(epsilon utility / (2 linf)).

        D5.2, Definition 3.

        Args:
            linf: how far the utility of a candidate changes between neighbours.
            epsilon: above 0.
        """
        _check_calibration(linf, epsilon)
        return cls(_double_from(2 * linf / epsilon))

    def epsilon(self, linf: Fraction) -> Fraction:
        """The exact privacy loss of one choice: 2 linf / scale."""
        return 2 * linf / self.scale

    def rho(self, linf: Fraction) -> Fraction:
        """The zero-concentrated privacy loss of one choice: epsilon^2 / 8 (Cesar, Rogers, ALT 2021)."""
        return self.epsilon(linf) ** 2 / 8

    def choose(self, utilities: Sequence[int], sampler: Sampler = SAMPLER) -> int:
        """The index of a candidate; there is at least one, and none of them depends on data."""
        return sampler.choose(_clamped(utilities, -LARGEST_VALUE, LARGEST_VALUE), float(self.scale))


def measure(
    values: Sequence[int] | Integers, noise: Noise, lower: int, upper: int, sampler: Sampler = SAMPLER
) -> Integers:
    """A noisy vector of exact aggregates, in the same units.

    Args:
        values: whole numbers of any length; clamped into the limits, so the sensitivity does not grow.
        noise: drawn afresh for each value.
        lower: a public limit of the aggregates, from -2^62.
        upper: a public limit of the aggregates, to 2^62.
        sampler: where the noise comes from.

    Returns:
        Values beyond the limits are left so, since pulling them back would bias what is computed from them.
    """
    if not -LARGEST_VALUE <= lower <= upper <= LARGEST_VALUE:
        raise ValueError("limits of an aggregate are whole numbers of at most 2^62 units, in order")
    return noise.drawn(_clamped(values, lower, upper), sampler)


def check_available() -> None:
    """Refuse a run if the library that draws noise is missing, before anything is charged.

    Raises:
        BackendError: it is not installed.
    """
    _library()


def _library() -> ModuleType:
    try:
        import opendp.prelude as library  # noqa: PLC0415 (an extra, and a third of a second)
    except ImportError:
        what = "the library that draws noise"
        raise not_installed("differential privacy", what, "opendp", "privacy") from None
    library.enable_features("contrib")
    return library


@lru_cache(maxsize=64)
def _laplace(scale: float) -> _Measurement:
    library = _library()
    space = library.vector_domain(library.atom_domain(T="i64")), library.l1_distance(T="i64")
    measurement: _Measurement = library.m.make_laplace(*space, scale=scale)
    return measurement


@lru_cache(maxsize=64)
def _gaussian(scale: float) -> _Measurement:
    library = _library()
    space = library.vector_domain(library.atom_domain(T="i64")), library.l2_distance(T="f64")
    measurement: _Measurement = library.m.make_gaussian(*space, scale=scale)
    return measurement


@lru_cache(maxsize=64)
def _noisy_max(scale: float) -> _Measurement:
    library = _library()
    space = library.vector_domain(library.atom_domain(T="i64")), library.linf_distance(T="i64")
    # By this measure the library adds Gumbel noise, which is the exponential mechanism; by that of pure
    # privacy it would permute and flip.
    measurement: _Measurement = library.m.make_noisy_max(
        *space, library.zero_concentrated_divergence(), scale=scale
    )
    return measurement


def _flips(number: int, probability: float) -> _Measurement:
    library = _library()
    space = library.bitvector_domain(max_weight=number), library.discrete_distance()
    # It flips bits with half of what it is given; halving a double is exact.
    measurement: _Measurement = library.m.make_randomized_response_bitvec(*space, f=2 * probability)
    return measurement


def _noisy(measurement: _Measurement, values: Integers) -> Integers:
    if not len(values):
        return values
    return np.array(_called(measurement, values.tolist()), np.int64)


def _called(measurement: _Measurement, argument: object) -> Any:
    """What a measurement of the library gives; its own errors may quote what they were given."""
    try:
        return measurement(argument)
    except Exception as error:
        raise InternalError(f"the noise library failed ({type(error).__name__})") from None


def _clamped(values: Sequence[int] | Integers, lower: int, upper: int) -> Integers:
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "i":
            raise TypeError("noise is added to whole numbers; write values in whole units first")
        return np.clip(values.astype(np.int64, copy=False), lower, upper)
    return np.array([min(max(value.__index__(), lower), upper) for value in values], np.int64)


def _double_from(value: Fraction) -> Fraction:
    """The least double that is not below a number."""
    nearest = float(value)
    return Fraction(nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf))


def _check_scale(scale: Fraction) -> None:
    if not 0 < scale <= LARGEST_SCALE or Fraction(float(scale)) != scale:
        raise ValueError("a noise scale is a double above 0 and at most 2^50 units; take a larger unit")


def _check_calibration(sensitivity: Fraction, loss: Fraction | float) -> None:
    if sensitivity <= 0 or not 0 < loss < math.inf:
        raise ValueError("noise is calibrated on a sensitivity and a privacy loss above 0")


def _confidence(value: float) -> float:
    if not 0 < value < 1:
        raise ValueError("a confidence lies between 0 and 1, both excluded")
    return value
