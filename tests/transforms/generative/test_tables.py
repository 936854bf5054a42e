"""Rows of tables as attacks compare them, by ranges that are not those of the attacked records."""

import numpy as np
import pyarrow as pa
import pytest

from smalti.errors import DataError
from smalti.transforms.generative.distances import DistanceName, Gower, distance_of
from smalti.transforms.generative.monte_carlo import NearestRecord
from smalti.transforms.generative.sampler import Form, Numbers
from smalti.transforms.generative.tables import TableColumns

FORM = Form(("age", "town", "sex"), None, "sex")


def rows(*records: tuple[str | None, ...]) -> pa.RecordBatch:
    columns = [pa.array(column, pa.string()) for column in zip(*records, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=FORM.schema)


MEMBERS = rows(("31", "Graz", "f"), (None, "Linz", "m"), ("40.5", None, "f"))
OTHERS = rows(("20", "7", "f"), ("30", "Graz", "m"))


def test_numbers_are_what_all_records_write_as_such_and_the_rest_are_categories() -> None:
    columns = TableColumns.of(FORM, [MEMBERS, OTHERS])
    assert columns.ordered.tolist() == [True, False, False]
    assert TableColumns.of(FORM, [MEMBERS, OTHERS], {"age": False}).ordered.tolist() == [False] * 3
    first, again = (columns.encoded("a file", batch) for batch in (MEMBERS, MEMBERS))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:, 0], [31, np.nan, 40.5])
    others = columns.encoded("a file", OTHERS)
    assert others[1, 1] == first[0, 1] != others[0, 1]
    assert len({*first[:, 1]}) == 3, "a missing value is a category of its own"
    with pytest.raises(DataError, match="some values are not numbers") as raised:
        columns.encoded("a file", rows(("secret", "Graz", "f")))
    assert "secret" not in str(raised.value)


def test_ranges_are_public_or_those_of_records_that_are_not_attacked() -> None:
    columns = TableColumns.of(FORM, [MEMBERS, OTHERS])
    reference = columns.encoded("a file", OTHERS)
    learned, said = (columns.measured(reference, bounds) for bounds in ({}, {"age": (0.0, 100.0)}))
    assert (learned.lowest[0], learned.ranges[0]) == (20, 10)
    assert (said.lowest[0], said.ranges[0]) == (0, 100)
    assert columns.is_bounded({"age": (0, 1)})
    assert not columns.is_bounded({})
    with pytest.raises(DataError, match="no range to measure distances by"):
        columns.measured(reference[:0], {})


def test_arrays_with_one_axis_are_rows_of_numbers() -> None:
    form = Form.of_arrays((2,), has_labels=True)
    columns = TableColumns.of(form, [])
    assert (columns.names, columns.ordered.tolist()) == (("1", "2", "label"), [True, True, False])
    block = form.block(np.array([[1.0, 2.0], [3.0, 4.0]]), ["a", "b"])
    assert columns.encoded("an array", block)[:, :2].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match="records are images"):
        TableColumns.of(Form.of_arrays((2, 2)), [])


def test_the_nearest_sample_by_gower_is_of_the_records_label() -> None:
    columns = TableColumns.of(FORM, [MEMBERS, OTHERS]).measured(np.array([[0.0, 0, 0], [10.0, 0, 0]]), {})
    kept = Gower(type(columns)(columns.lowest[:2], columns.ranges[:2], columns.ordered[:2]))
    records = Numbers(np.array([[0, 1], [5, 1]], np.float32), np.array([0, 1]))
    attack = NearestRecord(kept, records)
    for values, label in (([4, 1], 0), ([5, 1], 0), ([2, 2], 1)):
        attack.add(Numbers(np.array([values], np.float32), np.array([label])))
    assert attack.scores() == pytest.approx([-0.2, -(0.3 + 1) / 2])
    with pytest.raises(DataError, match="no rows of a table"):
        distance_of(DistanceName.GOWER, (2, 2), records.features)
