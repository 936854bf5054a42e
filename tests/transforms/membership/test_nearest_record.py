"""The attack on synthetic records, against a definition that is as slow as it is plain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.membership import nearest_record
from smalti.transforms.membership.nearest_record import (
    MixedColumns,
    leaking_records,
    nearest_record_scores,
    share_of_leak,
)
from smalti.transforms.membership.planted_leak import detection
from smalti.transforms.membership.scored import Scored

SIZES = np.array([5, 1, 3])
ORDERED = np.array([True, True, False])
COLUMNS = MixedColumns(SIZES, ORDERED)


def tables(least: int) -> st.SearchStrategy[np.ndarray]:
    record = st.tuples(*(st.integers(0, int(size) - 1) for size in SIZES))
    return st.lists(record, min_size=least, max_size=6).map(lambda rows: np.array(rows).reshape(-1, 3))


def gower(left: np.ndarray, right: np.ndarray) -> float:
    parts = [
        abs(int(a) - int(b)) / max(int(size) - 1, 1) if ordered else float(a != b)
        for a, b, size, ordered in zip(left, right, SIZES, ORDERED, strict=True)
    ]
    return sum(parts) / len(parts)


@settings(max_examples=30)
@given(records=tables(0), synthetic=tables(1), cells=st.sampled_from([1, 7, 1 << 20]))
def test_scores_are_minus_the_least_distance_of_gower(
    records: np.ndarray, synthetic: np.ndarray, cells: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_record, "_CELLS", cells)  # however few distances are held at once
        scores = nearest_record_scores(COLUMNS, records, synthetic)
    assert scores == pytest.approx([-min(gower(own, other) for other in synthetic) for own in records])


def test_no_synthetic_record_is_no_table() -> None:
    with pytest.raises(ValueError, match="no synthetic record"):
        COLUMNS.nearest(np.zeros((1, 3), np.int64), np.zeros((0, 3), np.int64))


@pytest.mark.parametrize(("number", "copied"), [(1000, 200), (100, 100)])
def test_a_leak_is_the_records_of_half_of_the_members_and_is_found(number: int, copied: int) -> None:
    members, others = np.arange(400)[:, None], np.arange(400, 800)[:, None]
    columns = MixedColumns(np.array([800]), np.array([False]))
    leak = leaking_records(members, number, np.random.default_rng(1))
    assert len(np.unique(leak, axis=0)) == copied == share_of_leak(400, number) * 400
    assert leak.max() < 400
    scores = nearest_record_scores(columns, np.concatenate([members, others]), leak)
    assert detection(Scored(scores, np.arange(800) < 400), 0.95).is_detected
    assert (scores[400:] < 0).all()
