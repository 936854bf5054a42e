"""Columns as the verifier holds them: distinct texts, and for each record the number of its text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from smalti.errors import GuaranteeError

Codes = NDArray[np.int64]
MISSING = -1

ArrowArray = Any
"""A pyarrow array or chunked array; their stubs know neither dictionaries nor mixed calls."""
pc: Any = pyarrow.compute

TEXT = pa.large_string()


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as distinct texts and, for each row, the number of its text."""

    codes: Codes
    """One for each row; -1 is a missing value."""
    values: ArrowArray
    """The distinct texts, none of them missing."""

    def rows(self, numbers: Codes) -> "Coded":
        """The same column with these rows, in this order."""
        return Coded(self.codes[numbers], self.values)

    def in_terms_of(self, other: "Coded") -> Codes:
        """This column's codes in the numbering of `other`; -2 for texts that `other` lacks."""
        places = pc.fill_null(pc.index_in(self.values, value_set=other.values), -2)
        numbers = np.append(places.to_numpy(zero_copy_only=False).astype(np.int64), MISSING)
        return numbers[self.codes]


@dataclass(frozen=True, slots=True)
class Table:
    """A file, or a part of it, that was read."""

    columns: dict[str, Coded]
    rows: int
    digests: tuple[str, ...]
    """SHA-256 of the bytes of the whole file, in hexadecimal digits; empty for a part of it."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A column of a batch as it was parsed."""

    numbers: NDArray[np.int32]
    """For each record: the place of its text."""
    texts: ArrowArray
    """The distinct texts; the empty one is the missing value."""

    @property
    def coded(self) -> Coded:
        """The same column with the empty text as the missing value."""
        return self.coded_at(self.numbers)

    def coded_at(self, places: NDArray[Any]) -> Coded:
        """Records whose texts are at these places, with the empty text as the missing value."""
        codes = places.astype(np.int64)
        empty = pc.index(self.texts, pa.scalar("", TEXT)).as_py()
        if empty < 0:
            return Coded(codes, self.texts)
        shifted = np.where(codes == empty, MISSING, codes - (codes > empty))
        return Coded(shifted, self.texts.filter(pc.not_equal(self.texts, "")))


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of a file; of equal ones next to each other, some may stand here as one."""

    columns: dict[str, Numbered]
    repeats: Codes
    """How many times each record stands there."""

    @property
    def records(self) -> int:
        return len(self.repeats)

    @property
    def rows(self) -> int:
        return int(self.repeats.sum())


def numbered(column: ArrowArray) -> Numbered:
    """A column of texts, or of dictionaries of them (of bytes too, which must be UTF-8).

    Raises:
        pyarrow.ArrowInvalid: they are not.
    """
    if pa.types.is_dictionary(column.type) and column.null_count:
        column = pc.cast(column, column.type.value_type)
    if not pa.types.is_dictionary(column.type):
        column = pc.fill_null(column.cast(TEXT), "").dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return Numbered(whole.indices.to_numpy(), whole.dictionary.cast(pa.string()).cast(TEXT))


def gathered(batches: Iterable[Batch]) -> tuple[dict[str, Coded], int]:
    """All batches as columns in memory, and the number of their rows."""
    columns: dict[str, list[pa.Array]] = {}
    rows = 0
    for batch in batches:
        rows += batch.rows
        for name, column in batch.columns.items():
            numbers = pa.array(np.repeat(column.numbers, batch.repeats))
            columns.setdefault(name, []).append(pa.DictionaryArray.from_arrays(numbers, column.texts))
    return {name: numbered(pa.chunked_array(parts)).coded for name, parts in columns.items()}, rows


def broken(where: str, problem: str, expected: str) -> GuaranteeError:
    """The error of a promise that the published bytes do not keep."""
    way_out = "do not publish this output; report the fault to the developers of smalti"
    return GuaranteeError(where, f"a promise is broken: {problem}", expected, way_out)


def miscounted(where: str, published: int, kept: int) -> GuaranteeError:
    """The error of rows that are not published exactly once each.

    Args:
        where: the file or table.
        published: its rows.
        kept: the rows of the data that should be there.
    """
    problem = "some rows stand there twice, and others were lost"
    if published != kept:
        problem = (
            "it has more rows than the plan keeps: one stands there twice, or was added"
            if published > kept
            else "it has fewer rows than the plan keeps: some were lost"
        )
    return broken(where, problem, "each row of the data that the plan keeps, exactly once")
