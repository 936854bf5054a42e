"""The risks of synthetic tables against Anonymeter, by the authors of the paper (Giomi et al. 2023).

Where an attack draws nothing, both count the same successes: univariate singling out, linkability and
inference, on tables without equal distances. Multivariate predicates are drawn by either: here ours are
evaluated by both, and the rates of both agree but for chance. Risks differ by how rates are estimated:
Anonymeter's are Wilson's, which lie within our limits.

An environment of its own, since Anonymeter needs NumPy 1: `make test-cross`.
"""

from collections.abc import Iterator
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne

import numpy as np
import pandas as pd
import polars as pl
import pytest
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.evaluators.singling_out_evaluator import _evaluate_queries
from anonymeter.stats.confidence import EvaluationResults
from scipy import stats

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.generative.linking import Inference, Linkability, Targets
from smalti.transforms.generative.predicates import Predicates, filled
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.generative.singling_out import SinglingOut
from smalti.transforms.membership.gower import MixedColumns

NAMES = ("height", "weight", "income", "town", "trade", "team")
NUMBERS, RECORDS = 3, 150
ORDERED = np.arange(len(NAMES)) < NUMBERS
World = tuple[np.ndarray, np.ndarray, np.ndarray]


def people(draw: np.random.Generator, count: int) -> np.ndarray:
    """Numbers above 0, as Anonymeter takes any guess below 0 for right."""
    numbers = draw.gamma(3, 10, (count, NUMBERS)) + 1
    return np.concatenate([numbers, draw.integers(0, [9, 4, 3], (count, 3))], axis=1)


def frame(records: np.ndarray) -> pd.DataFrame:
    table = pd.DataFrame(records, columns=NAMES)
    return table.astype(dict.fromkeys(NAMES[NUMBERS:], str))


def worlds() -> Iterator[World]:
    """Members, others, and a table that copies some members, some with noise, and is new otherwise."""
    for seed in range(4):
        draw = np.random.default_rng(seed)
        members, others, synthetic = (people(draw, RECORDS) for _ in range(3))
        copied = 30 * seed
        synthetic[:copied] = members[:copied]
        synthetic[copied // 2 : copied, :NUMBERS] *= draw.uniform(
            0.98, 1.02, (copied - copied // 2, NUMBERS)
        )
        yield members, others, draw.permutation(synthetic)


WORLDS = list(worlds())


def targets(world: World, attacked: np.ndarray | None = None) -> Targets:
    """With Anonymeter's ranges: those of the compared tables together, which our callers never take.

    Args:
        world: members, others and synthetic records.
        attacked: the table whose range Anonymeter takes, beside that of synthetic records.
    """
    members, others, synthetic = world
    both = np.concatenate([members if attacked is None else attacked, synthetic])
    lowest, highest = both.min(axis=0), both.max(axis=0)
    columns = MixedColumns(lowest, highest - lowest, ORDERED)
    return Targets(NAMES, columns, np.concatenate([members, others]), len(members))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("sides", [(("height", "town", "trade"), ("weight", "income", "team")),
                                   (("height", "weight"), ("income",))])  # fmt: skip
def test_as_many_records_are_linked(world: World, sides: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    members, others, synthetic = world
    theirs = LinkabilityEvaluator(
        frame(members), frame(synthetic), tuple(map(list, sides)), None, control=frame(others)
    ).evaluate(1).results()  # fmt: skip
    for attacked, count in ((members, theirs.n_success), (others, theirs.n_control)):
        ours = Linkability(targets(world, attacked), [sides])
        ours.add(synthetic)
        (attempts,) = ours.attempts(np.random.default_rng(0))
        outcomes = attempts.outcomes
        own = outcomes.true_positives if attacked is members else outcomes.false_positives
        assert own == count


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("secret", ["income", "town"])
def test_as_many_secrets_are_inferred(world: World, secret: str) -> None:
    members, others, synthetic = world
    theirs = InferenceEvaluator(
        frame(members), frame(synthetic), [name for name in NAMES if name != secret], secret,
        regression=secret == "income", n_attacks=RECORDS, control=frame(others),
    ).evaluate(1).results()  # fmt: skip
    for attacked, count in ((members, theirs.n_success), (others, theirs.n_control)):
        ours = Inference(targets(world, attacked), [secret])
        ours.add(synthetic)
        (attempts,) = ours.attempts(np.random.default_rng(0))
        outcomes = attempts.outcomes
        own = outcomes.true_positives if attacked is members else outcomes.false_positives
        assert own == count


@pytest.mark.parametrize("world", WORLDS)
def test_as_many_values_single_out(world: World) -> None:
    members, others, synthetic = world
    ours = SinglingOut(targets(world), np.random.default_rng(0), 10**4)
    ours.add(synthetic)
    univariate, _ = ours.attempts()
    theirs = SinglingOutEvaluator(
        frame(members), frame(synthetic), univariate.outcomes.members, control=frame(others), seed=1
    ).evaluate("univariate").results()  # fmt: skip
    outcomes = univariate.outcomes
    assert (outcomes.true_positives, outcomes.false_positives) == (theirs.n_success, theirs.n_control)


COMPARED = (eq, ne, lt, le, ge, gt)


def queries(guesses: Predicates) -> list[pl.Expr]:
    """Predicates in the language of Polars, which Anonymeter speaks."""
    return [
        reduce(
            and_,
            (
                COMPARED[operator](pl.col(NAMES[place]), value if place < NUMBERS else str(value))
                for place, operator, value in zip(*predicate, strict=True)
            ),
        )
        for predicate in zip(
            guesses.places.tolist(), guesses.operators.tolist(), guesses.values.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize("world", WORLDS)
def test_predicates_are_met_by_as_many_and_single_out_as_often(world: World) -> None:
    """Rates of two sets of 300 predicates that are drawn alike: each pair differs by more than five
    deviations once in 10^6 tries, taking predicates for independent. Seeds are fixed."""
    members, others, synthetic = world
    ours = SinglingOut(targets(world), np.random.default_rng(0), 300)
    ours.add(synthetic)
    guesses = ours.guesses()["multivariate"]
    for records in world:
        assert list(_evaluate_queries(pl.DataFrame(frame(records)), queries(guesses))) == (
            guesses.counts(filled(records)).tolist()
        )
    theirs = SinglingOutEvaluator(
        frame(members), frame(synthetic), 300, control=frame(others), seed=1
    ).evaluate("multivariate").results()  # fmt: skip
    outcomes = ours.attempts()[1].outcomes
    assert outcomes.members == 300
    for own, other in (
        (outcomes.true_positives, theirs.n_success), (outcomes.false_positives, theirs.n_control)
    ):  # fmt: skip
        pooled = (own + other) / 600
        assert abs(own - other) / 300 <= 5 * np.sqrt(pooled * (1 - pooled) * 2 / 300)
    assert stats.norm.sf(5) < 1e-6


@pytest.mark.parametrize("counts", [(120, 60, 20), (500, 0, 0), (30, 29, 1), (500, 400, 5), (250, 20, 20)])
def test_their_risk_lies_within_our_limits(counts: tuple[int, int, int]) -> None:
    hits, control, naive = counts
    theirs = EvaluationResults(500, hits, naive, control, 0.95).risk()
    ours = Attempts("", Outcomes(hits, 500, control, 500), (naive, 500)).risk(0.95)
    assert ours.lower <= theirs.value <= ours.upper
    assert ours.value == pytest.approx(theirs.value, abs=0.02)
    # Ours, one-sided at 0.95 each and with half of the error for either rate, are no tighter than theirs.
    assert ours.lower <= theirs.ci[0] + 0.01
    assert ours.upper >= theirs.ci[1] - 0.01
