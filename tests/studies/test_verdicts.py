"""Verdicts on claims, from numbers that were written down; 1 s.

What is drawn has a fixed seed, so it fails by chance with other versions of NumPy alone; each such test
says how seldom.
"""

import math

import numpy as np
import pytest

from smalti.studies.comparison.verdicts import (
    Box,
    Interval,
    Region,
    Verdict,
    efficiency_interval,
    mean_interval,
    of_all,
    of_needed,
    product_interval,
)
from smalti.transforms.auditing.mitigation import Standing, mitigation_efficiency

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
INF = math.inf


@pytest.mark.parametrize(
    ("region", "interval", "verdict"),
    [
        (Region(-1, 1), (-0.5, 0.5), HOLDS),
        (Region(-1, 1), (0.5, 1.5), OPEN),
        (Region(-1, 1), (-2, 2), OPEN),
        (Region(-1, 1), (1.5, 2), FAILS),
        (Region(-1, 1), (-2, -1.5), FAILS),
        (Region(-1, 1), (0, 1), OPEN),  # an end on the border is on neither side
        (Region(-1, 1), (1, 2), OPEN),
        (Region(low=0), (0.1, INF), HOLDS),
        (Region(low=0), (-0.1, INF), OPEN),
        (Region(low=0), (-2, -1), FAILS),
        (Region(high=1), (0, 0.5), HOLDS),
        (Region(high=1), (2, INF), FAILS),
        (Region(high=1), (INF, INF), FAILS),
        (Region(25, 100), (30, INF), OPEN),
        (Region(-1, 1, is_outside=True), (-0.5, 0.5), FAILS),
        (Region(-1, 1, is_outside=True), (1.5, 2), HOLDS),
        (Region(-1, 1, is_outside=True), (-2, -1.5), HOLDS),
        (Region(-1, 1, is_outside=True), (0, 1.5), OPEN),
    ],
)
def test_an_interval_decides_only_as_a_whole(
    region: Region, interval: tuple[float, float], verdict: Verdict
) -> None:
    assert region.verdict(Interval(*interval)) is verdict


def test_without_an_interval_nothing_is_decided() -> None:
    assert Region(low=0).verdict(None) is OPEN


@pytest.mark.parametrize(
    ("verdicts", "needed", "verdict"),
    [
        ([HOLDS, HOLDS], 2, HOLDS),
        ([HOLDS, OPEN], 2, OPEN),
        ([OPEN, FAILS], 2, FAILS),
        ([HOLDS, OPEN, FAILS], 1, HOLDS),
        ([OPEN, FAILS, FAILS], 1, OPEN),
        ([FAILS, FAILS], 1, FAILS),
        ([HOLDS] * 9 + [FAILS], 9, HOLDS),
        ([HOLDS] * 8 + [OPEN, FAILS], 9, OPEN),
        ([HOLDS] * 8 + [FAILS] * 2, 9, FAILS),
    ],
)
def test_as_many_as_are_needed(verdicts: list[Verdict], needed: int, verdict: Verdict) -> None:
    assert of_needed(verdicts, needed) is verdict


def test_all_are_needed() -> None:
    assert of_all([HOLDS, OPEN]) is OPEN
    assert of_all([OPEN, FAILS]) is FAILS


def test_students_interval_by_hand() -> None:
    """The mean of .2, .4 and .9 is .5, its deviation the root of .13 by 3; t is 4.302653 for 2 degrees."""
    found = mean_interval([0.2, 0.4, 0.9], 0.05, 1e-9)
    assert found is not None
    half = 4.302653 * math.sqrt(0.13 / 3)
    assert (found.low, found.high) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))


def test_one_repetition_has_no_interval() -> None:
    assert mean_interval([0.5], 0.05, 1e-3) is None


def test_repetitions_that_agree_are_not_certain() -> None:
    found = mean_interval([1.0] * 4, 0.05, 1e-3)
    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 3.182446 * 1e-3 / 2)


def test_intervals_miss_as_often_as_stated() -> None:
    """Of 3,000, a tenth: another seed has outside of (206, 404) with a probability below 1e-8."""
    draws = np.random.default_rng(0).normal(0.3, 0.02, (3000, 5)).tolist()
    found = [mean_interval(draw, 0.1, 1e-9) for draw in draws]
    assert 206 < sum(not interval.low <= 0.3 <= interval.high for interval in found) < 404


def test_phi_is_within_its_interval_wherever_its_parts_are() -> None:
    draw = np.random.default_rng(1)
    for _ in range(300):
        ends = np.sort(draw.uniform(0, 1, (4, 2)), axis=1)
        ends[::2, 0] = np.maximum(ends[::2, 0], draw.choice([0.0, 0.55]))
        ends = np.sort(ends, axis=1)
        box = Box(*(Interval(*pair) for pair in ends.tolist()), classes=int(draw.choice([2, 10])))
        efficiency, product = efficiency_interval(box), product_interval(box)
        for point in draw.uniform(ends[:, 0], ends[:, 1], (10, 4)).tolist():
            original, private = Standing(point[0], point[2]), Standing(point[1], point[3])
            phi = mitigation_efficiency(original, private, box.classes)
            if phi is not None:
                assert efficiency.low <= phi <= efficiency.high
            kept = Box(*(Interval(value, value) for value in point), classes=box.classes).kept
            if kept is not None:
                assert product.low - 1e-12 <= kept[0].low * kept[1].low <= product.high + 1e-12


def test_phi_by_hand() -> None:
    """Of accuracy (0.3 to 0.5) / (0.7 to 0.8) above 0.1, of precision (0.1 to 0.2) / (0.2 to 0.4)."""
    box = Box(Interval(0.8, 0.9), Interval(0.4, 0.6), Interval(0.7, 0.9), Interval(0.6, 0.7), 10)
    found = efficiency_interval(box)
    assert (found.low, found.high) == (
        pytest.approx(0.3 / 0.8 / (0.2 / 0.2)),
        pytest.approx(0.5 / 0.7 / 0.25),
    )


@pytest.mark.parametrize(
    ("box", "interval"),
    [
        # Where the attack may be a guess, phi has no upper limit; where it is one, it is infinite or 1.
        ((0.8, 0.9, 0.4, 0.6, 0.9, 0.9, 0.4, 0.7), (0.3 / 0.8 / (0.2 / 0.4), INF)),
        ((0.8, 0.9, 0.4, 0.6, 0.9, 0.9, 0.3, 0.4), (INF, INF)),
        ((0.8, 0.9, 0.05, 0.6, 0.9, 0.9, 0.3, 0.4), (1.0, INF)),
        # Where the original may be no better than a guess, nothing can be said.
        ((0.05, 0.9, 0.4, 0.6, 0.9, 0.9, 0.6, 0.7), (0.0, INF)),
        ((0.8, 0.9, 0.4, 0.6, 0.4, 0.9, 0.6, 0.7), (0.0, INF)),
    ],
)
def test_phi_where_something_may_be_a_guess(box: tuple[float, ...], interval: tuple[float, float]) -> None:
    found = efficiency_interval(Box(*(Interval(*box[at : at + 2]) for at in range(0, 8, 2)), classes=10))
    assert (found.low, found.high) == (pytest.approx(interval[0]), pytest.approx(interval[1]))


def test_an_interval_has_its_ends_in_order() -> None:
    with pytest.raises(ValueError, match="not above"):
        Interval(1, 0)
