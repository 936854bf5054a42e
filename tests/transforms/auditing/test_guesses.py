"""What is advised is about right: there a guess keeps to the bound in most trainings, and not in all."""

import math
from functools import partial

import numpy as np
import pytest

from smalti.transforms.auditing import guesses
from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.limits import Outcomes, advantage, true_positive_rate
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.set_membership import AttackType, DisjointAttacks, limit_of_guess

LEVEL = 0.975
DRAWS = 200


def guessed(generator: np.random.Generator, records: int) -> Scores:
    return Scores(generator.random(records), generator.random(records))


def precision(scores: Scores, generator: np.random.Generator) -> float:
    """As audits judge it."""
    first, rest = scores.halves(generator)
    curve = RocCurve.of(first)
    best = int(np.argmax(curve.true_positive_rates - curve.false_positive_rates))
    return Outcomes.at(rest, float(curve.thresholds[max(best, 1)])).precision(LEVEL).upper


def passing(records: int | None, most: float, limit: object) -> float:
    assert records is not None
    assert callable(limit)
    generator = np.random.default_rng(3)
    return float(np.mean([limit(guessed(generator, records), generator) <= most for _ in range(DRAWS)]))


@pytest.mark.parametrize("most", [0.3, 0.1])
def test_of_the_advantage(most: float) -> None:
    records = guesses.for_advantage(most, LEVEL)
    assert 0.8 <= passing(records, most, lambda scores, _: advantage(scores, LEVEL).upper) <= 0.97


def test_with_few_different_scores_a_guess_keeps_to_it_more_often() -> None:
    """As the documentation says: in 96 to 98 of 100 trainings, by 2,500 of them."""

    def limit(scores: Scores, _: np.random.Generator) -> float:
        few = Scores(np.floor(3 * scores.members), np.floor(3 * scores.non_members))
        return advantage(few, LEVEL).upper

    assert 0.94 <= passing(guesses.for_advantage(0.3, LEVEL), 0.3, limit) < 1


@pytest.mark.parametrize("most", [0.8, 0.6])
def test_of_the_precision(most: float) -> None:
    assert 0.8 <= passing(guesses.for_precision(most, LEVEL), most, precision) <= 0.97


@pytest.mark.parametrize(("most", "rate"), [(0.3, 0.1), (0.05, 0.01), (0.01, 0.001)])
def test_of_the_true_positive_rate(most: float, rate: float) -> None:
    def limit(scores: Scores, generator: np.random.Generator) -> float:
        return true_positive_rate(scores, rate, LEVEL, generator).upper

    assert 0.8 <= passing(guesses.for_true_positive_rate(most, rate, LEVEL), most, limit) <= 0.97


@pytest.mark.parametrize("kind", AttackType)
def test_of_attacks_on_many_records(kind: AttackType) -> None:
    """At the number of whole attacks that is advised."""
    generator, most = np.random.default_rng(3), 0.6
    is_set = kind is AttackType.SET
    advised = guesses.for_sets(most, LEVEL) if is_set else -(-guesses.for_single(most, LEVEL) // 100)
    shape = (DRAWS, advised)
    found = (
        generator.integers(0, 2, shape) if is_set else generator.hypergeometric(100, 100, 100, shape) / 100
    )
    judged = [DisjointAttacks(kind, 100, one.astype(float)).accuracy(LEVEL).upper for one in found]
    assert 0.8 <= np.mean(np.array(judged) <= most) <= 0.97


@pytest.mark.parametrize("attacks", [1, 7, 40])
def test_the_limit_of_a_guess_is_that_of_its_accuracy(attacks: int) -> None:
    halves = np.full(attacks, 0.5)
    single = DisjointAttacks(AttackType.SINGLE, 100, halves).accuracy(LEVEL).upper
    assert min(1.0, limit_of_guess(AttackType.SINGLE, attacks, LEVEL)) == single
    right = (np.arange(attacks) < (attacks - 1) // 2).astype(float)
    assert limit_of_guess(AttackType.SET, attacks, LEVEL) == (
        DisjointAttacks(AttackType.SET, 100, right).accuracy(LEVEL).upper
    )


def test_more_sets_are_never_too_few_where_fewer_are_enough() -> None:
    for most in (0.6, 0.65, 0.75):
        enough = [limit_of_guess(AttackType.SET, number, LEVEL) <= most for number in range(1, 400)]
        least = 2 * enough[::2].index(True)  # of an odd number, which is what a plan looks for
        assert all(enough[least:])


def test_the_first_number_is_found_or_there_is_none() -> None:
    for least in (1, 2, 3, 1000, 1 << 40):
        assert guesses.first(partial(int.__le__, least)) == least
    assert guesses.first(lambda _: False) is None
    assert guesses.for_precision(0.5 + 1e-9, LEVEL) is None
    assert math.isclose(
        guesses.for_advantage(1e-3, LEVEL), 1e4 * guesses.for_advantage(0.1, LEVEL), rel_tol=1e-3
    )
