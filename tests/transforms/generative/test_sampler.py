"""Samples are of the form of the training records, as many as asked, not all alike, and stay in blocks."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from smalti.errors import DataError
from smalti.transforms.generative.sampler import BLOCK, Form, FromCallable, Sampler, numbers, samples

IMAGES = Form.of_arrays((2, 3), has_labels=True)
TABLE = Form(("age", "sex", "ill"), None, "ill")


class Listed:
    name = "the list"

    def __init__(self, *blocks: pa.RecordBatch) -> None:
        self.listed, self.drawn = blocks, 0

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        for block in self.listed:
            self.drawn += 1
            yield block


def images(records: int, shape: tuple[int, ...] = (2, 3)) -> pa.RecordBatch:
    values = np.arange(records * np.prod(shape), dtype=np.float64).reshape(records, *shape)
    return Form.of_arrays(shape, has_labels=True).block(values, ["a"] * records)


def rows(*ages: str | None, sex: str = "f") -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(ages, pa.string()), pa.array([sex] * len(ages)), pa.array(["yes"] * len(ages))],
        names=["age", "sex", "ill"],
    )


def count(sampler: Sampler, form: Form, number: int) -> int:
    return sum(block.num_rows for block in samples(sampler, form, number))


def test_exactly_as_many_as_asked_come_and_no_more_blocks_than_it_takes() -> None:
    sampler = Listed(images(3), images(3), images(3))
    assert count(sampler, IMAGES, 5) == 5
    assert sampler.drawn == 2
    assert count(Listed(rows("1", "2"), rows(None)), TABLE, 3) == 3


def test_a_callable_is_asked_for_blocks() -> None:
    asked: list[int] = []

    def draw(number: int) -> tuple[np.ndarray, None]:
        asked.append(number)
        return np.random.default_rng(number).normal(size=(number, 4)), None

    assert count(FromCallable(Form.of_arrays((4,)), draw), Form.of_arrays((4,)), BLOCK + 5) == BLOCK + 5
    assert asked == [BLOCK, 5]


@pytest.mark.parametrize(
    ("sampler", "form", "number", "problem"),
    [
        (Listed(images(9, (3, 3))), IMAGES, 9, "3 x 3 numbers; expected 2 x 3 numbers"),
        (Listed(images(4), images(4, (4, 4))), IMAGES, 8, "4 x 4 numbers; expected 2 x 3 numbers"),
        (Listed(images(9, (3, 2))), IMAGES, 9, "3 x 2 numbers; expected 2 x 3 numbers"),
        (Listed(rows("1", "2")), IMAGES, 2, "no column `values`"),
        (Listed(images(4).select(["values"])), IMAGES, 4, "no column `label`"),
        (Listed(rows("1").set_column(0, "age", pa.array([1]))), TABLE, 2, "is int64; expected text"),
        (Listed(rows("1", "2")), TABLE, 3, "2 samples; expected 3"),
        (Listed(), TABLE, 3, "0 samples; expected 3"),
        (Listed(rows("1", "1"), rows("1")), TABLE, 3, "all samples are the same"),
        (Listed(rows(None, None)), TABLE, 2, "all samples are the same"),
        (Listed(IMAGES.block(np.ones((4, 2, 3)), list("abab"))), IMAGES, 4, "all samples are the same"),
        (Listed(IMAGES.block(np.full((4, 2, 3), np.nan), list("abab"))), IMAGES, 4, "no finite number"),
    ],
)  # fmt: skip
def test_what_is_not_as_the_training_records_ends_clearly(
    sampler: Listed, form: Form, number: int, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        count(sampler, form, number)


def test_samples_that_differ_in_one_place_pass() -> None:
    assert count(Listed(rows("1", "1"), rows("1", sex="m")), TABLE, 3) == 3
    assert count(Listed(rows("1", None)), TABLE, 2) == 2


def test_records_become_numbers_with_the_places_of_their_labels() -> None:
    form = Form(("height", "class", "weight"), None, "class")
    block = pa.RecordBatch.from_pydict({"height": ["1", "2.5"], "class": ["b", "z"], "weight": ["3", "4"]})
    as_numbers = numbers("here", form, block, ("a", "b"))
    assert as_numbers.features.tolist() == [[1, 3], [2.5, 4]]
    assert as_numbers.labels.tolist() == [1, -1]
    arrays = numbers("here", IMAGES, images(2), ("a",))
    assert arrays.features.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    for wrong in ("x", None, "inf"):
        block = pa.RecordBatch.from_pydict(
            {"height": ["1", wrong], "class": ["b", "b"], "weight": ["3", "4"]}
        )
        with pytest.raises(DataError, match="height"):
            numbers("here", form, block, ("a", "b"))
