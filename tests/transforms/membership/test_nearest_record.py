"""The attack on synthetic records, and Gower's distance, against definitions as slow as they are plain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.membership import gower as kernel
from smalti.transforms.membership.gower import MixedColumns, Nearest
from smalti.transforms.membership.nearest_record import (
    leaking_records,
    nearest_record_scores,
    share_of_leak,
)
from smalti.transforms.membership.planted_leak import detection
from smalti.transforms.membership.scored import Scored

LOWEST = np.array([-1.0, 3.0, 0.0])
RANGES = np.array([4.0, 0.0, 0.0])
ORDERED = np.array([True, True, False])
COLUMNS = MixedColumns(LOWEST, RANGES, ORDERED)
RECORDS = st.tuples(
    st.sampled_from([-9.0, -1.0, 0.0, 0.5, 2.0, 3.0, 1e300, np.nan]),
    st.sampled_from([3.0, 4.0, np.nan]),
    st.sampled_from([0.0, 1.0, 7.0]),
)


def tables(least: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(RECORDS, min_size=least, max_size=6).map(lambda rows: np.array(rows).reshape(-1, 3))


def gower(left: np.ndarray, right: np.ndarray, view: np.ndarray) -> float:
    parts = []
    for place in np.flatnonzero(view):
        values = left[place], right[place]
        if not ORDERED[place] or np.isnan(values).any():
            parts.append(float(not (values[0] == values[1] or np.isnan(values).all())))
            continue
        first, second = np.clip(values, LOWEST[place], LOWEST[place] + RANGES[place])
        parts.append(abs(first - second) / (RANGES[place] or 1))
    return sum(parts) / len(parts)


@settings(max_examples=20, deadline=None)
@given(records=tables(0), synthetic=tables(1), cells=st.sampled_from([1, 7, 1 << 20]))
def test_scores_are_minus_the_least_distance_of_gower(
    records: np.ndarray, synthetic: np.ndarray, cells: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CELLS", cells)  # however few distances are held at once
        scores = nearest_record_scores(COLUMNS, records, synthetic)
    all_columns = np.ones(3, bool)
    expected = [-min(gower(own, other, all_columns) for other in synthetic) for own in records]
    assert scores == pytest.approx(expected, abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(records=tables(1), synthetic=tables(1), size=st.integers(1, 6))
def test_the_first_of_the_nearest_passes_by_in_blocks_of_any_size(
    records: np.ndarray, synthetic: np.ndarray, size: int
) -> None:
    views = np.array([[True, True, True], [True, False, False], [False, True, True]])
    search = Nearest(COLUMNS, records, views)
    for start in range(0, len(synthetic), size):
        search.add(synthetic[start : start + size])
    for view, is_in in enumerate(views):
        distances = np.array([[gower(own, other, is_in) for other in synthetic] for own in records])
        assert search.places[view].tolist() == np.round(distances, 7).argmin(axis=1).tolist()
        assert search.distances[view] == pytest.approx(distances.min(axis=1), abs=1e-8)
        np.testing.assert_array_equal(search.values[view], synthetic[search.places[view]])


def test_no_synthetic_record_is_no_table() -> None:
    with pytest.raises(ValueError, match="no synthetic record"):
        COLUMNS.nearest(np.zeros((1, 3)), np.zeros((0, 3)))


@pytest.mark.parametrize(("number", "copied"), [(1000, 200), (100, 100)])
def test_a_leak_is_the_records_of_half_of_the_members_and_is_found(number: int, copied: int) -> None:
    members, others = np.arange(400)[:, None], np.arange(400, 800)[:, None]
    columns = MixedColumns(np.zeros(1), np.zeros(1), np.array([False]))
    leak = leaking_records(members, number, np.random.default_rng(1))
    assert len(np.unique(leak, axis=0)) == copied == share_of_leak(400, number) * 400
    assert leak.max() < 400
    scores = nearest_record_scores(columns, np.concatenate([members, others]), leak)
    assert detection(Scored(scores, np.arange(800) < 400), 0.95).is_detected
    assert (scores[400:] < 0).all()
