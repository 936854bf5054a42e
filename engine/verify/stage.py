"""Columns in private files, so that the verifier can hold more records than fit into memory.

A text of a column with few distinct ones is one or two bytes, its number in order of appearance, 0
for a missing value. A column with more of them, a wide one, is kept as texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.verify.columns import TEXT, ArrowArray, Batch, Coded, Numbered

Small = NDArray[np.uint8] | NDArray[np.uint16]
"""Numbers of texts; 0 is a missing value."""
Part = Any
"""A column of some records: `Small`, or a `large_string` array where the column is wide."""

MOST_TEXTS: Final = (1 << 16) - 1
_MOST_CHARACTERS: Final = 1 << 23


class Arrays:
    """Arrays of numbers, one behind the other in a file of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: list[tuple[int, str, int]] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._places)

    def append(self, numbers: NDArray[Any]) -> None:
        with self._path.open("ab") as file:
            file.write(np.ascontiguousarray(numbers).data)
        self._places.append((self.bytes, numbers.dtype.str, len(numbers)))
        self.bytes += numbers.nbytes

    def __getitem__(self, number: int) -> NDArray[Any]:
        offset, kind, count = self._places[number]
        return np.fromfile(self._path, kind, count, offset=offset)


class _Dictionary:
    """Texts numbered as they come; 0 is the missing value."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}
        self._characters = 0

    def numbers_of(self, column: ArrowArray) -> NDArray[np.uint16] | None:
        """None where there are too many, or too long ones, to be held here."""
        if len(column) > MOST_TEXTS + 1:
            return None
        texts = column.to_pylist()
        new = [text for text in texts if text not in self.numbers]
        self._characters += sum(map(len, new))
        if len(self.numbers) + len(new) > MOST_TEXTS + 1 or self._characters > _MOST_CHARACTERS:
            return None
        for text in new:
            self.numbers[text] = len(self.numbers)
        return np.array([self.numbers[text] for text in texts], np.uint16)


class StagedColumn:
    """A column of a file, in as many parts as it was read in."""

    def __init__(self, path: Path) -> None:
        self._small = Arrays(path.with_suffix(".numbers"))
        self._places = Arrays(path.with_suffix(".places"))
        self._texts = Arrays(path.with_suffix(".texts"))
        self._wide_records = 0
        self._dictionary = _Dictionary()

    @property
    def is_wide(self) -> bool:
        """Whether it has too many texts for small numbers."""
        return len(self._texts) > 0

    @cached_property
    def values(self) -> ArrowArray:
        """The distinct texts, in the order of their numbers; not of a wide column."""
        return self._texts_by_number.slice(1)

    @property
    def coded(self) -> Coded:
        """Each distinct text once, in the order of their numbers; not of a wide column."""
        return Coded(np.arange(len(self.values)), self.values)

    @property
    def kind(self) -> type[np.uint8 | np.uint16]:
        """The smaller type that holds all numbers."""
        return np.uint8 if len(self._dictionary.numbers) <= 256 else np.uint16

    @property
    def record_bytes(self) -> float:
        """About how many bytes a record of this column takes in memory."""
        if self.is_wide:
            return 8 + self._texts.bytes / max(1, self._wide_records)
        return np.dtype(self.kind).itemsize

    def append(self, column: Numbered) -> None:
        if not self.is_wide:
            numbers = self._dictionary.numbers_of(column.texts)
            if numbers is not None:
                self._small.append(numbers.astype(self.kind)[column.numbers])
                return
        texts = column.texts.take(pa.array(column.numbers))
        _, places, content = texts.buffers()
        places = np.frombuffer(places, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        self._texts.append(np.frombuffer(content or b"", np.uint8)[places[0] : places[-1]])
        self._places.append(places - places[0])
        self._wide_records += len(texts)

    def part(self, number: int) -> Part:
        return self.texts(number) if self.is_wide else self._small[number]

    def texts(self, number: int) -> ArrowArray:
        """A part as texts, the empty one for a missing value."""
        wide = number - len(self._small)
        if wide >= 0:
            places, content = self._places[wide], self._texts[wide]
            buffers = [None, pa.py_buffer(places), pa.py_buffer(content)]
            return pa.Array.from_buffers(TEXT, len(places) - 1, buffers)
        return self.as_texts(self._small[number])

    def as_texts(self, part: Part) -> ArrowArray:
        """Records of `part`, as texts."""
        if not isinstance(part, np.ndarray):
            return part
        return self._texts_by_number.take(pa.array(part))

    @cached_property
    def _texts_by_number(self) -> ArrowArray:
        return pa.array(list(self._dictionary.numbers), TEXT)


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a part of a file is."""

    number: int
    start: int
    """Its first row."""
    records: int
    rows: int


class StagedTable:
    """Some columns of a file; parts of all of them have the same records."""

    def __init__(self, folder: Path, name: str, columns: Sequence[str]) -> None:
        self.columns = {
            column: StagedColumn(folder / f"{name}-{number}") for number, column in enumerate(columns)
        }
        self.extents: list[Extent] = []
        self.rows = 0
        self._repeats = Arrays(folder / f"{name}.repeats")

    def append(self, batch: Batch) -> None:
        for name, column in self.columns.items():
            column.append(batch.columns[name])
        self._repeats.append(batch.repeats.astype(np.uint32))
        self.extents.append(Extent(len(self.extents), self.rows, batch.records, batch.rows))
        self.rows += batch.rows

    def repeats(self, extent: Extent) -> NDArray[np.uint32]:
        """How many rows each record of a part stands for."""
        repeats: NDArray[np.uint32] = self._repeats[extent.number]
        return repeats
