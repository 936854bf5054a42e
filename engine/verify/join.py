"""The published rows beside the original rows that the link says they came from, in bounded memory.

The original's columns are held for a window of its rows at a time; the link is gone through once for
each window. With eight columns of small numbers, a window is about thirty million rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.masks import Coded as Thresholds
from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import MISSING, ArrowArray, Coded, Codes, broken, miscounted, numbered, pc
from smalti.engine.verify.labels import Coverage
from smalti.engine.verify.nodes import coverage
from smalti.engine.verify.read import Link
from smalti.engine.verify.stage import Arrays, Extent, Part, StagedColumn, StagedTable

WINDOW: Final = 1 << 28
"""Bytes of original columns that are held at a time."""
_SEEN: Final = 1 << 26
_LARGEST_SQUARE: Final = 1 << 23
_LOOKERS: Final = 2

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Granted:
    """The original as it was staged, and which of its rows may be published."""

    table: StagedTable
    flags: Arrays | None
    """One for each row, in the parts of the table: 1 where it may be; None where all may."""
    rows: int
    """How many may be."""


def check_link(
    granted: Granted,
    link: Link,
    published_rows: int,
    step: int = _SEEN,
    *,
    may_leave_out: bool = False,
) -> Codes:
    """Check that each row that may be published is published exactly once, and no other row is.

    Args:
        granted: the original.
        link: for each published row, its original one.
        published_rows: in the published file.
        step: rows of the original that are looked at together.
        may_leave_out: whether such rows may lack; none is published twice all the same.

    Returns:
        The rows that may be published and are not, ascending.

    Raises:
        GuaranteeError: it is otherwise.
    """
    linked, unpublished = 0, []
    for window in _windows(granted.table, step, 1.0):
        flags = None
        if granted.flags is not None:
            flags = np.concatenate([granted.flags[each.number] for each in window.extents]).astype(bool)
        seen = np.zeros(window.stop - window.start, bool)
        for part in _in_steps(link):
            local = part[(part >= window.start) & (part < window.stop)] - window.start
            if flags is not None and not flags[local].all():
                raise _left_out()
            seen[local] = True
            linked += len(local)
        lacking = ~seen if flags is None else ~seen & flags
        unpublished.append(np.flatnonzero(lacking) + window.start)
    if granted.flags is not None and linked != link.rows:
        raise _left_out()
    left_out: Codes = np.concatenate([np.zeros(0, np.int64), *unpublished])
    is_each_once = linked == link.rows == published_rows == granted.rows - len(left_out)
    if not is_each_once or (len(left_out) and not may_leave_out):
        kept = granted.rows - (len(left_out) if may_leave_out else 0)
        raise miscounted("published output", published_rows, kept)
    return left_out


def _left_out() -> Exception:
    return broken(
        "published output",
        "it contains a row that the policy excludes or whose respondent withdrew",
        "rows that satisfy the plan's filter, of respondents who did not withdraw",
    )


def _in_steps(link: Link) -> Iterator[Codes]:
    for start in range(0, link.rows, 1 << 20):
        yield link.part(start, min(1 << 20, link.rows - start))


@dataclass(frozen=True, slots=True)
class _Window:
    """Consecutive parts of the original."""

    extents: tuple[Extent, ...]

    @property
    def start(self) -> int:
        return self.extents[0].start

    @property
    def stop(self) -> int:
        return self.extents[-1].start + self.extents[-1].rows


def _windows(table: StagedTable, size: float, row_size: float) -> Iterator[_Window]:
    window: list[Extent] = []
    for extent in table.extents:
        if window and (extent.start + extent.rows - window[0].start) * row_size > size:
            yield _Window(tuple(window))
            window = []
        window.append(extent)
    if window:
        yield _Window(tuple(window))


class _Held:
    """Columns of the original in a window, each row's small numbers next to each other.

    So a row is fetched from one place in memory, not from one for each column.
    """

    def __init__(self, window: _Window, columns: dict[str, StagedColumn]) -> None:
        numbers = [extent.number for extent in window.extents]
        small = {name: column for name, column in columns.items() if not column.is_wide}
        self._wide = {
            name: pa.chunked_array([column.texts(number) for number in numbers]).combine_chunks()
            for name, column in columns.items()
            if column.is_wide
        }
        self._columns: dict[str, tuple[int, type, int]] = {}
        """The word, the type and the place in the word of each column."""
        end = 0
        for name, column in sorted(small.items(), key=lambda each: -np.dtype(each[1].kind).itemsize):
            size = np.dtype(column.kind).itemsize
            self._columns[name] = (end // 8, column.kind, end % 8 // size)
            end += size
        self._words = [np.zeros(window.stop - window.start, np.uint64) for _ in range(0, end, 8)]
        for name, column in small.items():
            for extent in window.extents:
                start = extent.start - window.start
                self._small(name, self._words, start, start + extent.rows)[:] = column.part(extent.number)

    def _small(self, name: str, words: list[NDArray[np.uint64]], start: int, stop: int | None) -> Part:
        word, kind, place = self._columns[name]
        size = 8 // np.dtype(kind).itemsize
        return words[word][start:stop].view(kind).reshape(-1, size)[:, place]

    def at(self, place: Codes) -> dict[str, Part]:
        """The columns at some places of the window."""
        words = [word[place] for word in self._words]
        small = {name: self._small(name, words, 0, None) for name in self._columns}
        return small | {name: texts.take(pa.array(place)) for name, texts in self._wide.items()}


@dataclass(frozen=True, slots=True)
class Joined:
    """Some published rows, in their order, and the rows that they came from."""

    extent: Extent
    """The part of the published file."""
    record: Codes
    """For each row: its record in the part."""
    originals: dict[str, Part]
    """Columns of the original rows, in the same order."""

    def published(self, part: Part) -> Part:
        return part[self.record] if isinstance(part, np.ndarray) else part.take(pa.array(self.record))


class Check(ABC):
    """A property to check for each pair of rows."""

    original: str
    """The column of the original that it looks at."""

    @abstractmethod
    def look(self, rows: Joined) -> None:
        """Look at some pairs.

        Raises:
            GuaranteeError: it is not so.
            DataError: an original is not of its column's datatype.
        """

    @abstractmethod
    def finish(self) -> None:
        """Conclude, once all pairs were looked at; raises as `look`."""


def join(
    published: StagedTable,
    granted: Granted,
    link: Link,
    checks: Sequence[Check],
    window_bytes: int = WINDOW,
) -> None:
    """Run each check on all pairs of rows, in parts.

    Raises:
        GuaranteeError: a check fails.
        DataError: as `Check.look`.
    """
    columns = {check.original: granted.table.columns[check.original] for check in checks}
    with ThreadPoolExecutor(_LOOKERS) as lookers:
        for rows in _pairs(published, granted, link, columns, window_bytes):
            # Beside each other: most of the time is spent in vector operations, which need no lock.
            for _ in lookers.map(methodcaller("look", rows), checks):
                pass
    for check in checks:
        check.finish()


def _pairs(
    published: StagedTable,
    granted: Granted,
    link: Link,
    columns: dict[str, StagedColumn],
    window_bytes: int,
) -> Iterator[Joined]:
    row_bytes = 8 + sum(column.record_bytes for column in columns.values())
    windows = list(_windows(granted.table, window_bytes, row_bytes))
    for window in windows:
        held = _Held(window, columns)
        for extent in published.extents:
            place = link.part(extent.start, extent.rows) - window.start
            record = np.repeat(np.arange(extent.records), published.repeats(extent))
            if len(windows) > 1:
                inside = np.flatnonzero((place >= 0) & (place < window.stop - window.start))
                record, place = record[inside], place[inside]
            yield Joined(extent, record, held.at(place))


def originals_at(
    granted: Granted, rows: Codes, names: Sequence[str], window_bytes: int = WINDOW
) -> Iterator[tuple[int, dict[str, Part]]]:
    """Columns of some rows of the original, some at a time, and how many these are.

    Args:
        granted: the original.
        rows: ascending.
        names: of the columns.
        window_bytes: of columns that are held at a time.
    """
    columns = {name: granted.table.columns[name] for name in names}
    row_bytes = 8 + sum(column.record_bytes for column in columns.values())
    for window in _windows(granted.table, window_bytes, row_bytes):
        inside = rows[(rows >= window.start) & (rows < window.stop)]
        if len(inside):
            yield len(inside), _Held(window, columns).at(inside - window.start)


class IsFetched(Check):
    """Says of nothing anything: brings a column of the original to other checks."""

    def __init__(self, name: str) -> None:
        self.original = name

    def look(self, rows: Joined) -> None:
        """All is well."""

    def finish(self) -> None:
        """All is well."""


class IsKept(Check):
    """A column is published as it came."""

    def __init__(self, name: str, original: StagedColumn, published: StagedColumn) -> None:
        """Compare the texts that occur.

        Raises:
            GuaranteeError: a text is published that is not in the original.
        """
        self.original = name
        self._published = published
        self._is_wide = original.is_wide or published.is_wide
        self._original = original
        self._numbers = np.zeros(0, original.kind)
        if not self._is_wide:
            numbers = published.coded.in_terms_of(original.coded) + 1
            if (numbers <= 0).any():
                raise self._changed()
            self._numbers = np.append(0, numbers).astype(original.kind)

    def look(self, rows: Joined) -> None:
        if not self._is_wide:
            numbers = rows.published(self._numbers[self._published.part(rows.extent.number)])
            is_same = np.array_equal(numbers, rows.originals[self.original])
        else:
            texts = rows.published(self._published.texts(rows.extent.number))
            before = self._original.as_texts(rows.originals[self.original])
            is_same = pc.all(pc.equal(texts, before), min_count=0).as_py()
        if not is_same:
            raise self._changed()

    def finish(self) -> None:
        """All was said."""

    def _changed(self) -> Exception:
        return broken(
            f"column `{self.original}`", "published values differ from the original ones", "each as it was"
        )


class IsCovered(Check):
    """Each label of a quasi-identifier covers its original."""

    def __init__(
        self,
        column: Column,
        original: StagedColumn,
        published: StagedColumn,
        hierarchy: DeclaredHierarchy | None = None,
        codes: Thresholds | None = None,
    ) -> None:
        """Read all labels, if they are few.

        Raises:
            GuaranteeError: a label is not of the grammar.
            DataError: an original is not of its column's datatype.
        """
        self.original = column.name
        self._column = column
        self._hierarchy, self._codes = hierarchy, codes
        self._original = original
        self._published = published
        self._claims: Coverage | None = None
        self._pairs: Flags | None = None
        """Whether each pair of a label and an original occurs."""
        self._width = len(original.values) + 1
        if not (original.is_wide or published.is_wide):
            self._claims = coverage(column, original.coded, published.coded, hierarchy, codes)
            if self._width * (len(published.values) + 1) <= _LARGEST_SQUARE:
                self._pairs = np.zeros(self._width * (len(published.values) + 1), bool)

    def look(self, rows: Joined) -> None:
        if self._claims is None:
            self._look_at_texts(rows)
            return
        labels = self._published.part(rows.extent.number)
        originals = rows.originals[self.original]
        if self._pairs is not None:
            pairs = rows.published(labels.astype(np.intp) * self._width)
            pairs += originals
            self._pairs[pairs] = True
        else:
            self._require(self._claims, rows.published(labels).astype(np.int64) - 1, originals)

    def _look_at_texts(self, rows: Joined) -> None:
        labels = numbered(self._published.texts(rows.extent.number))
        after = Coded(rows.published(labels.coded.codes), labels.coded.values)
        texts = self._original.as_texts(rows.originals[self.original])
        # Equal texts side by side do no harm where each is read as a value; to read them takes less time
        # than to find the different ones.
        before = _each(texts) if self._column.datatype.is_ordered else numbered(texts).coded
        claims = coverage(self._column, before, after, self._hierarchy, self._codes)
        self._require(claims, after.codes, before.codes + 1)

    def finish(self) -> None:
        if self._pairs is not None and self._claims is not None:
            pairs = np.flatnonzero(self._pairs)
            self._require(self._claims, pairs // self._width - 1, pairs % self._width)

    def _require(self, claims: Coverage, labels: Codes, originals: NDArray[Any]) -> None:
        if not claims.claims(labels, originals.astype(np.int64) - 1).all():
            raise broken(
                f"column `{self.original}`",
                "a published value does not cover its original",
                "the range, set or node that the original is in",
            )


def _each(texts: ArrowArray) -> Coded:
    """Each text but the missing ones with a number of its own."""
    is_present = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
    number = np.where(is_present, np.cumsum(is_present) - 1, MISSING)
    return Coded(number, texts.filter(pa.array(is_present)))
