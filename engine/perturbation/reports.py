"""The exact report of each respondent, as numbers of public categories and units."""

from collections.abc import Iterator
from functools import partial
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import StagedTable
from smalti.engine.losses.coded_reports import (
    Coded,
    CodedCategory,
    CodedImage,
    CodedNumber,
    ExactReports,
    Sums,
    coded_reports,
)
from smalti.engine.perturbation.images import decoded, different
from smalti.engine.perturbation.mechanisms import perturbation_of, pixelation_of
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.transforms.problem import Integers

_PIXELS_AT_ONCE = 1 << 22
_BYTES_AT_ONCE = 1 << 24
"""Of images that are decoded together, and of their texts; at least one image is."""


def exact_reports(plan: PerturbationPlan, table: StagedTable) -> ExactReports:
    """The first row of each respondent, in the order of the file, as codes.

    Rows without a respondent are left out; with one row each, every row counts. A text that is none of the
    public values, and a missing one, becomes category 0; what is no number the middle of the bounds; what
    is no image of that size a grey one.

    Args:
        plan: says who respondents are, and what is public of the columns.
        table: without the rows of those who withdrew.

    Raises:
        BackendError: the machine. Nothing about the values is ever raised.
    """
    return coded_reports(plan.read, [_coded(column) for column in plan.perturbed], table)


def _coded(column: PerturbedColumn) -> Coded:
    match column:
        case PerturbedCategory():
            return CodedCategory(column.column, column.values, column.has_missing)
        case PerturbedNumber():
            return CodedNumber(column.measure, perturbation_of(column).grid.middle)
        case PerturbedImage():
            return CodedImage(column.column, partial(_images, column))
        case _:
            assert_never(column)


def _images(column: PerturbedImage, texts: pa.Array) -> tuple[Sums, Integers]:
    """The different sums of cells, in order; and which of them a grey image has, and then each text."""
    pixelation = pixelation_of(column)
    sums = np.empty((1 + len(texts), *pixelation.shape), np.int32)
    sums[0] = pixelation.sums(decoded([None], column.height, column.width))[0]
    for start, end in _parts(texts, max(_PIXELS_AT_ONCE // (column.height * column.width), 1)):
        some = decoded(texts[start:end].to_pylist(), column.height, column.width)
        sums[1 + start : 1 + end] = pixelation.sums(some)
    return different(sums)


def _parts(texts: pa.Array, most: int) -> Iterator[tuple[int, int]]:
    """Where texts that are decoded together begin and end; they are not many, and not long."""
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths, dtype=np.int64)
    start = 0
    while start < len(texts):
        before = ends[start] - lengths[start]
        end = int(np.searchsorted(ends, before + _BYTES_AT_ONCE, "right"))
        end = min(max(end, start + 1), start + most)
        yield start, end
        start = end
