"""Noise: its exact distributions, its stated losses beside the library's and beside runs, broken variants.

Comparisons of draws with a distribution, and of a loss that is shown with the one that is promised, fail by
chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import ast
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import opendp.prelude as dp
import pytest
from effort import examples
from evidence import FALSE_ALARM, Whole, distance, furthest_allowed, loss_shown, mu_shown, share_within
from hypothesis import given, settings
from hypothesis import strategies as st
from stub_sampler import StubSampler

from smalti.errors import BackendError, InternalError, install_line
from smalti.transforms.identifiability import gaussian_advantage, gaussian_delta
from smalti.transforms.noise import samplers
from smalti.transforms.noise.samplers import (
    LARGEST_SCALE,
    LARGEST_VALUE,
    SAMPLER,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    measure,
)
from smalti.transforms.sensitivity import Bounds, Contribution, Query, clipped_sum, count, rank_utilities

ROOT = Path(__file__).parents[2]
DRAWS = 20_000
RUNS = 20_000
ONE = Fraction(1)

dp.enable_features("contrib")


# --- exact distributions -------------------------------------------------------------------------


def laplace_distribution(scale: float) -> Callable[[Whole], np.ndarray]:
    q = math.exp(-1 / scale)

    def cumulative(x: Whole) -> np.ndarray:
        power = q ** np.abs(np.where(x >= 0, x + 1, x)).astype(float) / (1 + q)
        return np.where(x >= 0, 1 - power, power)

    return cumulative


def gaussian_distribution(scale: float) -> Callable[[Whole], np.ndarray]:
    reach = int(40 * scale) + 1
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-((places / scale) ** 2) / 2)
    table = np.cumsum(weights) / weights.sum()
    return lambda x: np.where(x < -reach, 0.0, table[np.clip(x, -reach, reach) + reach])


DISTRIBUTIONS: dict[type[Noise], Callable[[float], Callable[[Whole], np.ndarray]]] = {
    LaplaceNoise: laplace_distribution,
    GaussianNoise: gaussian_distribution,
}


def drawn(added: Noise, number: int, value: int = 0) -> Whole:
    return measure(np.full(number, value), added, -1000, 1000)


@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 4), Fraction(100)])
def test_draws_follow_the_stated_distribution(
    kind: type[LaplaceNoise | GaussianNoise], scale: Fraction
) -> None:
    draws = drawn(kind(scale), DRAWS)
    assert distance(draws, DISTRIBUTIONS[kind](float(scale))) <= furthest_allowed(DRAWS)
    # The test can fail: it tells this noise from half of it.
    assert distance(draws, DISTRIBUTIONS[kind](float(scale) / 2)) > furthest_allowed(DRAWS)


def test_a_choice_follows_the_weights_of_the_exponential_mechanism() -> None:
    """D5.2, Figure 3.6: the median of ten values with weights exp(epsilon / 2 * quality), epsilon 1."""
    qualities = rank_utilities(range(10), range(1, 11), 10, Fraction(1, 2))
    choice = ExponentialChoice.calibrated(ONE, ONE)
    chosen = np.bincount([choice.choose(qualities) for _ in range(RUNS // 2)], minlength=10)
    weights = np.exp(np.array(qualities) / 2)
    for hits, share in zip(chosen.tolist(), (weights / weights.sum()).tolist(), strict=True):
        low, high = share_within(hits, RUNS // 2, FALSE_ALARM / 10)
        assert low <= share <= high


def test_bits_have_their_probability_in_every_place() -> None:
    rounds, width = 20_000, 13
    bits = np.stack([SAMPLER.bits(width, 0.3) for _ in range(rounds // 100)])
    bits = np.concatenate((bits.reshape(-1, width), SAMPLER.bits(width * rounds, 0.3).reshape(-1, width)))
    for hits in bits.sum(axis=0).tolist():
        low, high = share_within(hits, len(bits), FALSE_ALARM / width)
        assert low <= 0.3 <= high
    both = int((bits[:, 0] & bits[:, -1]).sum())
    low, high = share_within(both, len(bits))
    assert low <= 0.09 <= high
    assert SAMPLER.bits(16, 0.5).shape == (16,)


@pytest.mark.parametrize("bound", [1, 2, 7, 1000, 2**32])
def test_uniform_numbers_are_uniform(bound: int) -> None:
    numbers = SAMPLER.uniform(DRAWS, bound)
    assert distance(numbers, lambda x: np.clip((x + 1) / bound, 0, 1)) <= furthest_allowed(DRAWS)


def test_uniform_numbers_are_drawn_again_where_they_are_unequally_likely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([b"\xff" * 8 + b"\x01" + bytes(7), b"\x05" + bytes(7)])
    monkeypatch.setattr(samplers.secrets, "token_bytes", lambda size: next(answers))
    assert SAMPLER.uniform(2, 3 * 2**30).tolist() == [5, 1]


# --- what is stated ------------------------------------------------------------------------------


def test_losses_are_those_that_the_library_states() -> None:
    integers = dp.atom_domain(T="i64")
    vectors = dp.vector_domain(integers)
    for scale in (Fraction(3, 8), Fraction(2), Fraction(1001, 8)):
        laplace = dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=float(scale))
        gaussian = dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=float(scale))
        choice = dp.m.make_noisy_max(
            vectors, dp.linf_distance(T="i64"), dp.zero_concentrated_divergence(), scale=float(scale)
        )
        for shift in (1, 3, 10):
            exact = Fraction(shift)
            assert laplace.map(shift) == pytest.approx(float(LaplaceNoise(scale).epsilon(exact)), rel=1e-14)
            assert gaussian.map(shift) == pytest.approx(
                float(GaussianNoise(scale).rho(exact**2)), rel=1e-14
            )
            assert choice.map(shift) == pytest.approx(float(ExponentialChoice(scale).rho(exact)), rel=1e-14)


rationals = st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6)


@settings(max_examples=examples(100))
@given(rationals, rationals)
def test_calibrated_noise_keeps_its_promise_with_the_least_scale(
    sensitivity: Fraction, loss: Fraction
) -> None:
    laplace = LaplaceNoise.calibrated(sensitivity, loss)
    choice = ExponentialChoice.calibrated(sensitivity, loss)
    assert laplace.epsilon(sensitivity) <= loss
    assert choice.epsilon(sensitivity) <= loss
    for scale, exact in ((laplace.scale, sensitivity / loss), (choice.scale, 2 * sensitivity / loss)):
        assert Fraction(math.nextafter(float(scale), 0)) < exact


@settings(max_examples=examples(50, full=1000))
@given(st.fractions(Fraction(1, 10), 10**6, max_denominator=1000), st.floats(0.001, 5))
def test_calibrated_gaussian_noise_keeps_its_mu(l2_squared: Fraction, mu: float) -> None:
    added = GaussianNoise.calibrated(l2_squared, mu)
    assert added.mu(l2_squared) <= mu
    if added.scale > 3:  # below, whole units are too coarse for a mu to be met
        assert added.mu(l2_squared) >= mu * 0.995
    if added.scale > 100:
        assert added.mu(l2_squared) == pytest.approx(mu, rel=1e-5)


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(1), Fraction(5, 2), Fraction(20)])
def test_gaussian_noise_on_whole_numbers_is_within_its_mu(scale: Fraction) -> None:
    """Its exact advantage, its exact delta, and each test between shifted noises, by summation."""
    scale = Fraction(float(scale))
    places = np.arange(-int(12 * scale) - 60, int(12 * scale) + 61)
    weights = np.exp(-((places / float(scale)) ** 2) / 2)
    weights /= weights.sum()
    for shift in (1, 2, 5):
        mu = GaussianNoise(scale).mu(Fraction(shift**2))
        moved = np.concatenate((np.zeros(shift), weights[:-shift]))
        exact_advantage = np.abs(moved - weights).sum() / 2
        assert exact_advantage <= gaussian_advantage(mu)
        if shift == 1:  # and the usual formula is too small
            assert exact_advantage > gaussian_advantage(1 / float(scale))
        for epsilon in (0.1, 1.0, 5.0):
            delta = np.maximum(moved - math.exp(epsilon) * weights, 0).sum()
            assert delta <= gaussian_delta(epsilon, mu) + 1e-15
        for tail, tail_of_moved in zip(
            np.cumsum(weights[::-1])[::-1].tolist(), np.cumsum(moved[::-1])[::-1].tolist(), strict=True
        ):
            if 1e-12 < tail < 1 - 1e-12 and 1e-12 < tail_of_moved < 1 - 1e-12:
                quantile = NormalDist().inv_cdf
                assert quantile(tail_of_moved) - quantile(tail) <= mu + 1e-4


@pytest.mark.parametrize(
    "scale", [0.3, 0.5, 1.0, 1.7, 4.0, 32.0, pytest.param(256.0, marks=pytest.mark.slow)]
)
def test_no_step_is_easier_to_see_than_that_of_the_stated_mu(scale: float) -> None:
    """The normal quantiles of all tails of the noise, down to a probability of 1e-290."""
    weights = np.exp(-((np.arange(int(38 * scale) + 2) / scale) ** 2) / 2)
    tails = np.cumsum(weights[::-1])[::-1] / (2 * weights.sum() - 1)
    quantiles = [-NormalDist().inv_cdf(tail) for tail in tails.tolist() if tail > 1e-290]
    stated = GaussianNoise(Fraction(scale)).mu(ONE)
    assert stated >= 2 * quantiles[1] >= stated * (1 - 1e-9)  # from the tail of 0, which mirrors that of 1
    assert np.diff(quantiles[1:]).max(initial=0) <= stated * (1 + 1e-9)


@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
@pytest.mark.parametrize("scale", [0.25, 1.0, 3.5, 200.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_margins_are_exact_quantiles(
    kind: type[LaplaceNoise | GaussianNoise], scale: float, confidence: float
) -> None:
    margin = kind(Fraction(scale)).margin(confidence)
    cumulative = DISTRIBUTIONS[kind](scale)

    def within(m: int) -> float:
        upper, below = cumulative(np.array([m, -m - 1])).tolist()
        return float(upper - below)

    assert within(margin) >= confidence - 1e-12
    assert margin == 0 or within(margin - 1) < confidence


def test_margins_of_large_scales_are_wide_enough() -> None:
    exact, approximate = GaussianNoise(Fraction(4096)), GaussianNoise(Fraction(4097))
    for confidence in (0.5, 0.95, 0.999999):
        assert exact.margin(confidence) <= approximate.margin(confidence) <= exact.margin(confidence) + 8
    assert GaussianNoise(Fraction(LARGEST_SCALE)).margin(0.95) == pytest.approx(
        1.96 * LARGEST_SCALE, rel=1e-4
    )
    assert LaplaceNoise(Fraction(LARGEST_SCALE)).margin(0.95) == pytest.approx(
        2.9957 * LARGEST_SCALE, rel=1e-4
    )


@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
@pytest.mark.parametrize("scale", [0.001, 0.5, 3.0, 5000.0])
def test_variance_is_exact(kind: type[LaplaceNoise | GaussianNoise], scale: float) -> None:
    cumulative = DISTRIBUTIONS[kind](scale)
    places = np.arange(-int(60 * scale) - 40, int(60 * scale) + 41)
    weights = cumulative(places) - cumulative(places - 1)
    assert kind(Fraction(scale)).variance == pytest.approx(float((weights * places**2.0).sum()), rel=1e-6)


# --- what runs show ------------------------------------------------------------------------------


def outputs(added: Noise, answer: int) -> Whole:
    return drawn(added, RUNS, answer)


def shown_by_laplace(added: Noise, answer: int, answer_of_neighbour: int) -> float:
    """The loss that shows in the event that the output is not below the answer on the neighbour."""
    edge = max(answer, answer_of_neighbour)
    sides = sorted(int((outputs(added, value) >= edge).sum()) for value in (answer, answer_of_neighbour))
    return loss_shown(sides[1], sides[0], RUNS)


def test_laplace_noise_shows_a_loss_just_below_its_promise() -> None:
    sensitivity = count(Query())
    shown = shown_by_laplace(LaplaceNoise.calibrated(sensitivity.l1, ONE), 7, 8)
    assert 0.8 <= shown <= 1


def test_gaussian_noise_shows_a_mu_just_below_its_promise() -> None:
    added = GaussianNoise.calibrated(Fraction(100), 1.0)
    hits, hits_of_neighbour = (int((outputs(added, value) >= 5).sum()) for value in (10, 0))
    assert 0.8 <= mu_shown(hits, hits_of_neighbour, RUNS) <= 1


def shown_by_choice(scale: Fraction, others: int, runs: int) -> float:
    """The loss that shows in the choice of a candidate that gets better while all others get worse."""
    choice, worse, better = ExponentialChoice(scale), [0] + [1] * others, [1] + [0] * others
    hits = [sum(choice.choose(utilities) == 0 for _ in range(runs)) for utilities in (better, worse)]
    return loss_shown(hits[0], hits[1], runs)


def test_a_choice_shows_no_more_than_its_promise() -> None:
    assert 1 <= shown_by_choice(ExponentialChoice.calibrated(ONE, Fraction(4)).scale, 11, 4000) <= 4


@pytest.mark.slow
def test_a_choice_shows_a_loss_just_below_its_promise() -> None:
    # The promise is met only by candidates that are hardly ever chosen, so this takes many runs.
    assert 3.2 <= shown_by_choice(ExponentialChoice.calibrated(ONE, Fraction(4)).scale, 11, 150_000) <= 4


def test_half_of_the_noise_is_caught() -> None:
    broken = LaplaceNoise(LaplaceNoise.calibrated(ONE, ONE).scale / 2)
    assert shown_by_laplace(broken, 7, 8) > 1
    broken_gaussian = GaussianNoise(Fraction(float(GaussianNoise.calibrated(Fraction(100), 1.0).scale) / 2))
    hits, hits_of_neighbour = (int((outputs(broken_gaussian, value) >= 5).sum()) for value in (10, 0))
    assert mu_shown(hits, hits_of_neighbour, RUNS) > 1
    assert shown_by_choice(ExponentialChoice.calibrated(ONE, Fraction(2)).scale / 2, 6, 4000) > 2


def test_unbounded_contributions_are_caught() -> None:
    """The noise is for one row, and a respondent brings three."""
    promised = count(Query(contribution=Contribution(rows=1)))
    assert shown_by_laplace(LaplaceNoise.calibrated(promised.l1, ONE), 7, 10) > 1
    needed = count(Query(contribution=Contribution(rows=3)))
    assert shown_by_laplace(LaplaceNoise.calibrated(needed.l1, ONE), 7, 10) <= 1


def test_clipping_bounds_from_the_data_are_caught() -> None:
    """The noise is for the largest value that is there, and a neighbour has a much larger one."""
    rows = [1, 2, 2]
    hits = []
    for data in (rows, [*rows, 50]):
        bounds = Bounds(Fraction(0), Fraction(max(data)))
        added = LaplaceNoise.calibrated(clipped_sum(bounds, Query()).l1, ONE)
        hits.append(int((outputs(added, sum(data)) >= 30).sum()))
    assert loss_shown(hits[1], hits[0], RUNS) > 1


def test_a_group_in_only_one_neighbour_is_caught() -> None:
    """The groups are those of the data: that one of them is there tells of its only respondent."""
    added = LaplaceNoise.calibrated(count(Query(grouped=True)).l1, ONE)
    runs = 500
    hits = []
    for groups in (["a", "a"], ["a", "a", "b"]):
        keys = sorted(set(groups))
        counts = [groups.count(key) for key in keys]
        hits.append(
            sum("b" in dict(zip(keys, measure(counts, added, 0, 10), strict=True)) for _ in range(runs))
        )
    assert loss_shown(hits[1], hits[0], runs) > 1


def test_the_sensitivity_of_a_mean_of_a_private_number_is_caught() -> None:
    """Noise of (upper - lower) / n with the n of each data set: the noise itself tells them apart."""
    unit, hits = 1000, []
    for data in ([0], [0, 1]):
        added = LaplaceNoise.calibrated(Fraction(unit, len(data)), ONE)
        hits.append(int((outputs(added, sum(data) * unit // len(data)) <= -1.5 * unit).sum()))
    assert loss_shown(hits[0], hits[1], RUNS) > 1


# --- traps ---------------------------------------------------------------------------------------


def test_values_of_any_length_saturate_and_never_overflow() -> None:
    added = LaplaceNoise(ONE)
    assert np.abs(measure([10**40, -(10**40)], added, -10, 10) - [10, -10]).max() < 100
    widest = measure(
        [LARGEST_VALUE, -LARGEST_VALUE],
        LaplaceNoise(Fraction(LARGEST_SCALE)),
        -LARGEST_VALUE,
        LARGEST_VALUE,
    )
    assert widest[0] > 0 > widest[1]
    assert measure([], added, 0, 0).tolist() == []


def test_what_is_no_whole_number_is_refused() -> None:
    added = LaplaceNoise(ONE)
    with pytest.raises(TypeError, match="whole"):
        measure(np.array([1.5, np.nan]), added, 0, 1)  # type: ignore[arg-type]
    with pytest.raises((TypeError, AttributeError)):
        measure([1.5], added, 0, 1)  # type: ignore[list-item]


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(1, 3), Fraction(2 * LARGEST_SCALE)])
@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise, ExponentialChoice])
def test_a_scale_is_what_the_library_draws_with(
    kind: type[LaplaceNoise | GaussianNoise | ExponentialChoice], scale: Fraction
) -> None:
    with pytest.raises(ValueError, match="double above 0"):
        kind(scale)


@pytest.mark.parametrize(("sensitivity", "loss"), [(0, 1), (1, 0), (1, -1)])
def test_noise_is_calibrated_on_positive_numbers(sensitivity: int, loss: int) -> None:
    for call in (LaplaceNoise.calibrated, ExponentialChoice.calibrated, GaussianNoise.calibrated):
        with pytest.raises(ValueError, match="above 0"):
            call(Fraction(sensitivity), Fraction(loss))  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [(1, 0), (-LARGEST_VALUE - 1, 0), (0, LARGEST_VALUE + 1)])
def test_limits_leave_room_for_noise(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="limits"):
        measure([0], LaplaceNoise(ONE), *limits)


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    for added in (LaplaceNoise(ONE), GaussianNoise(ONE)):
        with pytest.raises(ValueError, match="confidence"):
            added.margin(confidence)


def test_a_stub_makes_noise_repeatable() -> None:
    for added in (LaplaceNoise(Fraction(5)), GaussianNoise(Fraction(5))):
        values = [1, 2, 3, 4]
        first, again, other = (measure(values, added, 0, 9, StubSampler(seed)) for seed in (1, 1, 2))
        assert first.tolist() == again.tolist() != other.tolist()
    choice = ExponentialChoice(ONE)
    assert choice.choose([1, 2], StubSampler(3)) == choice.choose([1, 2], StubSampler(3))


def test_errors_of_the_library_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(argument: object) -> object:
        raise ValueError(f"canary {argument}")

    monkeypatch.setattr(samplers, "_laplace", lambda scale: failing)
    with pytest.raises(InternalError) as caught:
        measure([4711], LaplaceNoise(ONE), 0, 10_000)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_forked_processes_draw_apart() -> None:
    """Spark's workers are forked: none of them may repeat another one's noise."""
    code = (
        "import os\n"
        "from smalti.transforms.noise.samplers import SAMPLER\n"
        "SAMPLER.bits(64, 0.5)\n"
        "def draw():\n"
        "    line = f'{SAMPLER.bits(128, 0.5).tobytes().hex()} {SAMPLER.uniform(4, 2**32)}\\n'\n"
        "    os.write(1, line.encode())\n"  # at once, so that lines of several processes do not mix
        "children = [os.fork() for _ in range(2)]\n"
        "draw()\n"
        "if all(children):\n"
        "    [os.waitpid(child, 0) for child in children]\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 4  # the parent, its children, and a child of the first
    assert (
        len({line.split()[0] for line in lines}) == len({line.split(maxsplit=1)[1] for line in lines}) == 4
    )


def test_without_the_library_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['opendp'] = None\n"
        "from fractions import Fraction\n"
        "from smalti.transforms.noise.samplers import LaplaceNoise, measure\n"
        "measure([1], LaplaceNoise(Fraction(1)), 0, 1)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert BackendError.__name__ in run.stderr
    assert install_line("privacy").partition(": ")[2] in run.stderr


def test_noise_has_one_door() -> None:
    """No other module imports the library, or a generator of random numbers for noise."""
    importing = set()
    for path in sorted(
        folder
        for name in ("transforms", "studies", "engine", "policy", "src")
        for folder in (ROOT / name).rglob("*.py")
    ):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "opendp" in text else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "opendp" for name in names):
                importing.add(path.name)
    assert importing == {"samplers.py"}
