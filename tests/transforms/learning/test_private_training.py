"""The private step: who is sampled, what one record changes, and the noise that is added.

Comparisons of draws with probabilities fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import math
from collections.abc import Iterator
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from effort import examples
from evidence import furthest_allowed, share_within
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.learning import private_training
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum
from smalti.transforms.learning.hyperparameters import PrivateTraining
from smalti.transforms.learning.networks import Layer, Parameters
from smalti.transforms.learning.private_training import Pool, noisy_gradient_sum, part_size, sampled
from smalti.transforms.learning.reach import REACH, added_by_ends, spread

SMALL = Architecture(3, (2,), 2)
RECORDS = 40
NO_NOISE = 1e-30
WIDE = Architecture(2000, (), 20)
FAR_KEY = 549
"""Found by search from 0 on: its noise on the wide network is 5.6 standard deviations somewhere."""


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    """As training sets it around its steps."""
    with jax.enable_x64(True):
        yield


def pool(seed: int = 0, members: np.ndarray | None = None) -> Pool:
    random = np.random.default_rng(seed)
    return Pool(
        jnp.asarray(random.normal(size=(RECORDS, 3)), jnp.float32),
        jnp.asarray(random.integers(0, 2, RECORDS), jnp.int32),
        jnp.asarray(np.ones(RECORDS, bool) if members is None else members),
    )


def start(seed: int = 0) -> Parameters:
    random = np.random.default_rng((seed, 1))
    return tuple(
        Layer(random.normal(size=shape).astype(np.float32), np.zeros(shape[1], np.float32))
        for shape in SMALL.shapes
    )


step = jax.jit(noisy_gradient_sum, static_argnums=(0, 1))
ALL_SAMPLED = PrivateTraining(NO_NOISE, 0.5, 1.0)


def flat(gradient: Parameters) -> np.ndarray:
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in jax.tree.leaves(gradient)])


@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0**-12])
def test_each_record_is_sampled_at_the_rate(rate: float) -> None:
    flags = np.asarray(sampled(jax.random.key(1), 200_000, rate))
    low, high = share_within(int(flags.sum()), len(flags))
    assert low <= rate <= high
    # Neighbours in the pool are sampled independently.
    low, high = share_within(int((flags[1::2] & flags[::2]).sum()), len(flags) // 2)
    assert low <= rate * rate <= high


def test_all_are_sampled_at_rate_one() -> None:
    assert np.asarray(sampled(jax.random.key(0), 1000, 1.0)).all()


@pytest.mark.parametrize(
    ("part", "rate"),
    [(3, 0.4), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((1024, 0.4), (7, 1.0)))],
)
def test_batches_of_any_size_are_worked_off_whole(
    part: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a batch has many parts, and where members are few."""
    monkeypatch.setattr(private_training, "_LARGEST_PART", part)
    compiled = jax.jit(lambda *given: noisy_gradient_sum(SMALL, private, *given))
    explicit = jax.jit(clipped_gradient_sum, static_argnums=(0, 3))
    private = PrivateTraining(NO_NOISE, 0.7, rate)
    members = np.arange(RECORDS) % 3 > 0
    data = pool(members=members)
    for number in range(3):
        key = jax.random.key(number)
        found = compiled(start(), data, key)
        chosen = np.asarray(sampled(jax.random.split(key)[0], RECORDS, rate)) & members
        assert chosen.sum() > 3
        wanted = explicit(SMALL, start(), (data.features, data.labels, chosen), 0.7)
        np.testing.assert_allclose(flat(found), flat(wanted), rtol=1e-5, atol=1e-5)


def test_nobody_gives_noise_alone() -> None:
    """And no array has the noise of another one, or parts of it."""
    nobody = pool(members=np.zeros(RECORDS, bool))
    found = flat(step(SMALL, ALL_SAMPLED, start(), nobody, jax.random.key(0)))
    assert np.abs(found).max() < 1e-20
    assert len(np.unique(found)) == len(found) == 14


@settings(max_examples=examples(10))
@given(st.integers(0, 99), st.integers(0, RECORDS - 1))
def test_one_member_changes_the_sum_by_the_clipping_norm_at_most(seed: int, record: int) -> None:
    without = np.arange(RECORDS) != record
    with_all, with_fewer = (
        flat(step(SMALL, ALL_SAMPLED, start(seed), pool(seed, members), jax.random.key(0)))
        for members in (None, without)
    )
    # The sums of 32 bits are rounded.
    norm = ALL_SAMPLED.clipping_norm
    assert np.linalg.norm(with_all - with_fewer) <= norm + 1e-5 * np.linalg.norm(with_all)


def noise_of(multiplier: float, clipping_norm: float, key: int) -> np.ndarray:
    """The noise on a network of 40,020 parameters that nobody trains, in standard deviations."""
    nobody = Pool(np.zeros((1, 2000), np.float32), np.zeros(1, np.int32), np.zeros(1, bool))
    zeros = (Layer(np.zeros((2000, 20), np.float32), np.zeros(20, np.float32)),)
    private = PrivateTraining(multiplier, clipping_norm, 0.5)
    found = step(WIDE, private, zeros, nobody, jax.random.key(key))
    assert {array.dtype for array in jax.tree.leaves(found)} == {np.dtype(np.float32)}
    return flat(found) / (multiplier * clipping_norm)


@pytest.mark.parametrize(
    ("multiplier", "clipping_norm"), [(2.0, 0.5), pytest.param(0.7, 3.0, marks=pytest.mark.slow)]
)
def test_noise_is_normal_with_multiplier_times_norm(multiplier: float, clipping_norm: float) -> None:
    noise = np.sort(noise_of(multiplier, clipping_norm, 5))
    shares = np.arange(1, len(noise) + 1) / len(noise)
    expected = np.array([NormalDist().cdf(value) for value in noise.tolist()])
    assert np.abs(shares - expected).max() <= furthest_allowed(len(noise))


def test_noise_has_more_than_the_digits_of_32_bits() -> None:
    """Of one key: nothing is left to chance. Noise made from 23 bits repeats itself and ends before 5.5."""
    noise, other = (noise_of(2.0, 0.5, key) for key in (FAR_KEY, 5))
    assert 5.60 < np.abs(noise).max() < 5.61
    # Made from 2^23 numbers, about 95 of 40,020 draws would be repeated.
    assert len(noise) - len(np.unique(noise)) < 40
    assert not np.isclose(noise, other, rtol=1e-9, atol=0).any()


def normal_tail(place: float) -> float:
    return math.erfc(place / math.sqrt(2)) / 2


def test_the_reach_is_that_of_the_bound() -> None:
    """The ends of JAX's uniform numbers, and what they add to delta for 90,000 numbers and 1,000 steps."""
    ends = np.array([-1 + 2.0**-53, 1 - 2.0**-51])
    assert np.abs(np.sqrt(2) * np.asarray(jax.lax.erf_inv(ends))).min() > REACH
    for shift, said in ((1.0, 3e-9), (2.0, 4e-6)):
        assert 0.8 * said < 1000 * added_by_ends(90_000, shift) < said
    assert spread(90_000, 1000) == pytest.approx(90_000 * 1000 * 2 * normal_tail(REACH), rel=1e-6)
    assert spread(90_000, 1000) < 5.1e-8


@pytest.mark.parametrize("shift", [0.0, -1.0, 7.2, math.nan])
def test_the_ends_are_beyond_each_shift(shift: float) -> None:
    with pytest.raises(ValueError, match="a shift above 0"):
        added_by_ends(10, shift)


@settings(max_examples=examples(20))
@given(st.integers(1, 200), st.integers(0, 10**6), st.sampled_from([0.2, 1.0, 2.0]), st.floats(0.1, 9))
def test_no_shift_is_beyond_the_ends_more_often(
    coordinates: int, seed: int, length: float, power: float
) -> None:
    """Of any direction, from one coordinate alone to all alike."""
    parts = np.random.default_rng(seed).random(coordinates) ** power
    parts *= length / np.linalg.norm(parts)
    beyond = sum(normal_tail(REACH - part) - normal_tail(REACH) for part in parts.tolist())
    assert beyond <= added_by_ends(coordinates, length) * (1 + 1e-9)


def test_noise_of_32_bits_is_refused() -> None:
    with jax.enable_x64(False), pytest.raises(ValueError, match="noise is drawn in 64 bits"):
        step(SMALL, ALL_SAMPLED, start(), pool(), jax.random.key(0))


@pytest.mark.slow
def test_sampling_and_noise_differ_between_keys() -> None:
    private = PrivateTraining(1.0, 1.0, 0.5)
    one, other = (flat(step(SMALL, private, start(), pool(), jax.random.key(number))) for number in (0, 1))
    assert not np.isclose(one, other).any()


def test_parts_hold_usual_batches() -> None:
    assert part_size(10_000, 0.01) == 121
    assert part_size(50, 1.0) == 50
    assert part_size(10**6, 0.5) == 1024
    assert part_size(1, 2.0**-32) == 1
