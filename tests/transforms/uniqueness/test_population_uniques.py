"""Uniques of a population from samples of it, by thinning populations that are known."""

import math
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb

import adult_like
import pytest

from smalti.transforms.uniqueness.population_uniques import (
    _BOUNDS,
    CONFIRMED,
    UniquesBetween,
    _sum,
    population_uniques,
)


def said(sample: Sequence[Hashable], population: int) -> UniquesBetween:
    return population_uniques(sorted(Counter(Counter(sample).values()).items()), population)


def uniques(population: Sequence[Hashable]) -> int:
    return Counter(Counter(population).values())[1]


def by_rank(persons: int, kinds: int, exponent: float, seed: int) -> list[int]:
    """A population whose combinations are as frequent as words."""
    weights = [(rank + 1) ** -exponent for rank in range(kinds)]
    return random.Random(seed).choices(range(kinds), weights, k=persons)


def alike(persons: int, size: int) -> list[int]:
    return [person // size for person in range(persons)]


POPULATIONS = {
    "all unique": alike(5_000, 1),
    "pairs": alike(5_000, 2),
    "fives": alike(5_000, 5),
    "a few, and many": [*alike(2_500, 1), *(f"{x}" for x in alike(2_500, 50))],
    "words": by_rank(20_000, 50_000, 1.0, 1),
    "steep": by_rank(20_000, 50_000, 1.6, 2),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_bounds_hold_the_uniques_of_the_population_whatever_it_is(name: str, rate: float) -> None:
    population, drawn = POPULATIONS[name], random.Random(7)
    covered = 0
    for _ in range(10):
        sample = drawn.sample(population, round(rate * len(population)))
        found = said(sample, len(population))
        covered += found.least <= uniques(population) <= found.most
    assert covered >= 9


def test_the_uniques_of_a_sample_are_not_those_of_the_population() -> None:
    population = alike(10_000, 2)
    sample = random.Random(3).sample(population, 1_000)
    found = said(sample, 10_000)
    assert uniques(sample) > 850
    assert found.least == 0, "all people are in pairs, so it may be that nobody is unique"


def test_who_has_the_whole_population_knows_its_uniques() -> None:
    population = by_rank(3_000, 5_000, 1.0, 4)
    found = said(population, len(population))
    assert found.least == found.most == uniques(population)


def test_half_of_the_population_bounds_its_uniques_narrowly() -> None:
    population = by_rank(20_000, 50_000, 1.0, 1)
    found = said(random.Random(5).sample(population, 10_000), len(population))
    assert found.most - found.least < 0.15 * len(population)


def test_a_third_of_the_population_has_a_lower_bound_above_nobody() -> None:
    """The first terms of Goodman's sum alone say from 2,116 to 7,277."""
    population = by_rank(20_000, 50_000, 1.0, 1)
    found = said(random.Random(7).sample(population, 6_000), len(population))
    assert 2_900 < found.least < uniques(population) < found.most < 6_300


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_expectations_are_bounds_of_any_population(rate: float) -> None:
    """Where all share their combination with so many others, the sums of all polynomials are bounds."""
    for size in range(1, 60):
        truth = 1.0 if size == 1 else 0.0
        expected = {
            i: comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(1, 1 + min(size, 6))
        }
        for bound in _BOUNDS:
            total, _ = _sum(bound, expected, rate)
            assert total >= truth - 1e-9 if bound.is_above else total <= truth + 1e-9, (size, bound)


def test_pitman_estimates_what_the_model_itself_draws() -> None:
    """A population drawn from the model, person by person, by its own rule of prediction."""
    alpha, theta, drawn = 0.6, 200.0, random.Random(11)
    population: list[int] = []
    counts: list[int] = []
    for number in range(10_000):
        if drawn.random() * (theta + number) < theta + alpha * len(counts):
            population.append(len(counts))
            counts.append(1)
            continue
        while True:
            kind = population[drawn.randrange(number)]
            if drawn.random() < 1 - alpha / counts[kind]:
                break
        population.append(kind)
        counts[kind] += 1
    truth = uniques(population)
    assert truth > CONFIRMED * len(population)
    estimates = [said(drawn.sample(population, 2_000), 10_000).pitman for _ in range(5)]
    assert all(
        estimate is not None and math.isclose(estimate, truth, rel_tol=0.25) for estimate in estimates
    )


def test_where_the_model_is_not_confirmed_it_says_nothing() -> None:
    population = by_rank(20_000, 50_000, 1.6, 2)
    assert uniques(population) < CONFIRMED * len(population)
    assert said(random.Random(1).sample(population, 2_000), len(population)).pitman is None
    assert said(range(50), 100).pitman is None, "in the sample all are unique: any theta fits"


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 4, 6, 8])
def test_bounds_hold_for_invented_people_that_are_thinned_to_a_tenth(columns: int) -> None:
    """As `benchmarks/thinning.py` does with the real data set, which is not committed."""
    names = list(adult_like.COLUMNS[:columns])
    table = adult_like.columns(32_561, seed=7)
    population = list(zip(*(table[name] for name in names), strict=True))
    drawn, truth = random.Random(5), uniques(population)
    bounds = [said(drawn.sample(population, 3_256), len(population)) for _ in range(10)]
    assert sum(bound.least <= truth <= bound.most for bound in bounds) >= 9
    guesses = [bound.pitman for bound in bounds if bound.pitman is not None]
    if truth > 1.5 * CONFIRMED * len(population):
        assert guesses
        assert all(math.isclose(guess, truth, rel_tol=0.5) for guess in guesses)
