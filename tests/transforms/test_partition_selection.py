"""Private groups: exact losses on neighbouring data that have a group in one of them only."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from effort import examples
from evidence import share_within
from hypothesis import given, settings
from hypothesis import strategies as st
from stub_sampler import StubSampler

from smalti.transforms.noise.partition_selection import (
    PartitionSelection,
    chance_of_reaching,
    respondents_by_group,
    threshold_for,
)
from smalti.transforms.noise.samplers import LaplaceNoise
from smalti.transforms.sensitivity import NeighboringRelation

ADD, CHANGE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.CHANGE_ONE
Data = Mapping[str, int]
"""By group, its respondents."""


def reached(noise: LaplaceNoise, number: int) -> float:
    """P(noise >= number), by summation."""
    scale = float(noise.scale)
    reach = int(50 * scale) + abs(number) + 1
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / scale)
    return float(weights[places >= number].sum() / weights.sum())


def outcomes(selection: PartitionSelection, data: Data) -> dict[frozenset[str], float]:
    """The exact probability of each set of released groups; those that do not occur are never released."""
    chances = {
        group: reached(selection.noise, selection.threshold - number)
        for group, number in data.items()
        if number
    }
    found = {}
    for released in chain.from_iterable(combinations(chances, size) for size in range(len(chances) + 1)):
        found[frozenset(released)] = math.prod(
            chance if group in released else 1 - chance for group, chance in chances.items()
        )
    return found


def delta_of(one: dict[frozenset[str], float], other: dict[frozenset[str], float], epsilon: float) -> float:
    """The exact delta at an epsilon, in one direction."""
    return sum(max(chance - math.exp(epsilon) * other.get(seen, 0.0), 0.0) for seen, chance in one.items())


def worst(selection: PartitionSelection, one: Data, other: Data, epsilon: float) -> float:
    pair = outcomes(selection, one), outcomes(selection, other)
    return max(delta_of(*pair, epsilon), delta_of(*pair[::-1], epsilon))


def changed(data: Data, left: tuple[str, ...], entered: tuple[str, ...]) -> Data:
    return {
        g: n + entered.count(g) - left.count(g) for g, n in (dict.fromkeys(entered, 0) | dict(data)).items()
    }


def neighbours(data: Data, neighbors: NeighboringRelation, groups: int) -> Iterator[tuple[Data, Data]]:
    """Data with one more respondent, or with another one in other groups."""
    names = "abcdef"[:4]
    visits = list(chain.from_iterable(combinations(names, size) for size in range(1, groups + 1)))
    for entered in visits:
        if neighbors is ADD:
            yield data, changed(data, (), entered)
        else:
            for left in visits:
                yield changed(data, (), left), changed(data, (), entered)


@settings(max_examples=examples(30, full=600), deadline=None)
@given(
    st.sampled_from([ADD, CHANGE]),
    st.integers(1, 3),
    st.fractions(Fraction(1, 10), 3, max_denominator=100),
    st.sampled_from([Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5), Fraction(9, 10)]),
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6), max_size=3),
)
def test_no_neighbours_are_further_apart_than_promised(
    neighbors: NeighboringRelation, groups: int, epsilon: Fraction, delta: Fraction, data: Data
) -> None:
    selection = PartitionSelection.calibrated(neighbors, groups, epsilon, delta)
    assert selection.loss(neighbors, groups).pure <= epsilon
    assert selection.delta(groups) <= delta
    for one, other in neighbours(data, neighbors, groups):
        assert worst(selection, one, other, float(epsilon)) <= float(delta) * (1 + 1e-9)


def test_the_promise_is_nearly_reached() -> None:
    """A respondent in three groups of its own, whose chances are small, so that they nearly add up."""
    selection = PartitionSelection.calibrated(ADD, 3, Fraction(1, 10), Fraction(1, 1000))
    shown = worst(selection, {}, {"a": 1, "b": 1, "c": 1}, 0.1)
    assert 0.9e-3 <= shown <= 1e-3
    # Laplace noise of the numbers: with the threshold far off, the loss of a group that stays.
    pair = [outcomes(selection, {"a": number}) for number in (1, 2)]
    lost = math.log(pair[1][frozenset("a")] / pair[0][frozenset("a")])
    assert lost == pytest.approx(0.1 / 3)


def test_a_threshold_for_one_group_is_caught_where_a_respondent_is_in_several() -> None:
    promised = Fraction(1, 1000)
    right = PartitionSelection.calibrated(ADD, 3, Fraction(1, 10), promised)
    broken = PartitionSelection(right.noise, threshold_for(right.noise, 1, promised))
    assert worst(broken, {}, {"a": 1, "b": 1, "c": 1}, 0.1) > 2.5 * promised
    assert worst(right, {}, {"a": 1, "b": 1, "c": 1}, 0.1) <= promised


def test_no_threshold_is_caught() -> None:
    """Whatever is there is shown."""
    noise = PartitionSelection.calibrated(ADD, 1, Fraction(1), Fraction(1, 1000)).noise
    assert worst(PartitionSelection(noise, -(10**6)), {"a": 5}, {"a": 5, "b": 1}, 1.0) > 0.9
    assert worst(PartitionSelection(noise, 2), {"a": 5}, {"a": 5, "b": 1}, 1.0) > 0.2


def test_noise_for_one_group_is_caught_where_a_respondent_is_in_several() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    alone = PartitionSelection.calibrated(ADD, 1, epsilon, delta)
    one, other = {"a": 14, "b": 14, "c": 14}, {"a": 15, "b": 15, "c": 15}
    assert worst(alone, one, other, 1.0) > 100 * delta
    assert worst(PartitionSelection.calibrated(ADD, 3, epsilon, delta), one, other, 1.0) <= delta


@settings(max_examples=examples(100))
@given(
    st.fractions(Fraction(1, 1000), 50, max_denominator=1000),
    st.integers(1, 50),
    st.floats(1e-30, 0.99).map(Fraction),
)
def test_thresholds_are_the_least(epsilon: Fraction, groups: int, delta: Fraction) -> None:
    noise = PartitionSelection.calibrated(CHANGE, groups, epsilon, delta).noise
    threshold = threshold_for(noise, groups, delta)
    assert threshold >= 2
    assert groups * chance_of_reaching(noise, threshold - 1) <= delta
    at_most = -math.expm1(-1 / float(noise.scale))
    assert chance_of_reaching(noise, threshold - 1) <= at_most  # for beliefs, see the proof
    if threshold > 2:
        nearly = chance_of_reaching(noise, threshold - 2) * (1 + 1e-9)
        assert groups * nearly > delta or nearly > at_most


@pytest.mark.parametrize("scale", [0.5, 1.0, 7.5, 100.0])
def test_chances_are_exact(scale: float) -> None:
    noise = LaplaceNoise(Fraction(scale))
    for number in (1, 2, 20):
        assert chance_of_reaching(noise, number) == pytest.approx(reached(noise, number), rel=1e-9)


def test_runs_release_a_single_respondent_as_rarely_as_promised() -> None:
    """By the library's sampler; fails by chance with probability 1e-9."""
    runs, delta = 20_000, Fraction(1, 20)
    selection = PartitionSelection.calibrated(ADD, 1, Fraction(1), delta)
    low, high = share_within(len(selection.selected([1] * runs)), runs)
    assert low <= chance_of_reaching(selection.noise, selection.threshold - 1) <= min(high, delta)


def test_a_group_without_respondents_is_never_released() -> None:
    selection = PartitionSelection(LaplaceNoise(Fraction(1000)), 2)
    found = selection.selected([0] * 1000 + [1] * 1000, StubSampler(1))
    assert 300 < len(found) < 700
    assert found.min() >= 1000
    assert selection.selected([], StubSampler(1)).tolist() == []


def test_numbers_of_respondents_change_by_one_in_each_group() -> None:
    assert respondents_by_group(ADD, 3).l1 == 3
    assert respondents_by_group(CHANGE, 3).l1 == 6
    assert respondents_by_group(CHANGE, 3).linf == 1


@pytest.mark.parametrize(("groups", "delta"), [(0, Fraction(1, 2)), (1, Fraction(0)), (1, Fraction(1))])
def test_bad_parameters_are_refused(groups: int, delta: Fraction) -> None:
    with pytest.raises(ValueError, match="delta lies between"):
        threshold_for(LaplaceNoise(Fraction(1)), groups, delta)
