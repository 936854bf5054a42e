"""The curve against its definition, counted by hand, and against a library that others wrote."""

import itertools
import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.scores import Scores

values = st.one_of(st.sampled_from([0.0, 1.0, 1.0, 2.0, -math.inf, math.inf]), st.floats(allow_nan=False))
groups = st.lists(values, min_size=1, max_size=8)


def rate(scores: list[float], threshold: float) -> float:
    return sum(score >= threshold for score in scores) / len(scores)


def on_the_lines(points: list[tuple[float, float]], bound: float) -> float:
    """The highest point at a bound of the lines between neighbouring points."""
    found = [hit for wrong, hit in points if wrong == bound]
    for (wrong, hit), (next_wrong, next_hit) in itertools.pairwise(points):
        if wrong < bound < next_wrong:
            found.append(hit + (next_hit - hit) * (bound - wrong) / (next_wrong - wrong))
    return max(found)


@settings(max_examples=examples(60))
@given(groups, groups)
def test_curve_is_what_counting_gives(members: list[float], non_members: list[float]) -> None:
    curve = RocCurve.of(Scores.of(members, non_members))
    thresholds = sorted({*members, *non_members}, reverse=True)
    assert curve.thresholds[1:].tolist() == thresholds
    points = [(0.0, 0.0)] + [(rate(non_members, t), rate(members, t)) for t in thresholds]
    assert list(zip(curve.false_positive_rates, curve.true_positive_rates, strict=True)) == points
    pairs = [(m > n) + (m == n) / 2 for m in members for n in non_members]
    assert curve.area == sum(pairs) / len(pairs)
    assert curve.advantage == max(hit - wrong for wrong, hit in points)
    for bound in (0.1, 0.25, 0.5, 0.9):
        expected = on_the_lines(points, bound) if len(non_members) * bound >= 1 else None
        assert curve.true_positive_rate_at(bound) == pytest.approx(expected)


def test_curve_agrees_with_scikit_learn() -> None:
    generator = np.random.default_rng(3)
    members, non_members = generator.normal(1, 1, 400).round(1), generator.normal(0, 1, 300).round(1)
    curve = RocCurve.of(Scores.of(members, non_members))
    labels, scores = np.r_[np.ones(400), np.zeros(300)], np.r_[members, non_members]
    wrong, hits, thresholds = roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_array_equal(curve.false_positive_rates, wrong)
    np.testing.assert_array_equal(curve.true_positive_rates, hits)
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[1:])
    assert curve.area == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)


def test_equal_scores_go_together() -> None:
    curve = RocCurve.of(Scores.of([1.0, 1.0, 0.0], [1.0, 0.0, 0.0]))
    assert curve.true_positives.tolist() == [0, 2, 3]
    assert curve.false_positives.tolist() == [0, 1, 3]
    assert curve.area == pytest.approx(2 / 3)


@pytest.mark.parametrize("bound", [0.1, 0.01, 0.001, 0.0001])
def test_there_is_no_rate_where_there_are_too_few_non_members(bound: float) -> None:
    enough = round(1 / bound)
    members, non_members = np.arange(5) + enough - 2.5, np.arange(enough) * 1.0
    # One false positive is allowed: the largest non-member, so the threshold is just above the next one.
    assert RocCurve.of(Scores.of(members, non_members)).true_positive_rate_at(bound) == 0.8
    assert RocCurve.of(Scores.of(members, non_members[1:])).true_positive_rate_at(bound) is None


def test_a_rate_is_not_missed_by_rounding() -> None:
    """100 times 0.29 is 28.999999999999996 in doubles."""
    curve = RocCurve.of(Scores.of(np.arange(100) + 0.5, np.arange(100)))
    assert curve.true_positive_rate_at(0.29) == 0.3


@pytest.mark.parametrize("bound", [0.0, 1.0, math.nan])
def test_a_bound_of_the_false_positive_rate_excludes_its_ends(bound: float) -> None:
    with pytest.raises(ValueError, match="both excluded"):
        RocCurve.of(Scores.of([1], [0])).true_positive_rate_at(bound)


@pytest.mark.parametrize(
    ("members", "message"),
    [([], "not empty"), ([[1.0]], "two lists"), ([math.nan], "not NaN")],
)
def test_what_are_no_scores_is_refused(members: list[float], message: str) -> None:
    for pair in ((members, [0.0]), ([0.0], members)):
        with pytest.raises(ValueError, match=message):
            Scores.of(*pair)
    with pytest.raises(ValueError, match="of doubles"):
        Scores(np.array([1]), np.array([0.0]))  # type: ignore[arg-type]


def test_halves_hold_each_record_once_and_are_mixed() -> None:
    scores = Scores.of(np.arange(7), np.arange(10, 20))
    first, rest = scores.halves(np.random.default_rng(1))
    assert (first.members.size, rest.members.size) == (3, 4)
    assert (first.non_members.size, rest.non_members.size) == (5, 5)
    assert sorted([*first.members, *rest.members]) == scores.members.tolist()
    assert sorted([*first.non_members, *rest.non_members]) == scores.non_members.tolist()
    assert first.non_members.tolist() != scores.non_members[:5].tolist()
    with pytest.raises(ValueError, match="at least two"):
        Scores.of([1.0], [1.0, 2.0]).halves(np.random.default_rng(1))
