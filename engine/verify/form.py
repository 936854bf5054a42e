"""The form and the order of a published file, which can reveal original values."""

import numpy as np
import pyarrow as pa

from smalti.engine.verify.columns import ArrowArray, Batch, Numbered, broken, pc
from smalti.engine.verify.csv import Marks
from smalti.errors import GuaranteeError

_SPECIAL = '[,"\r\n]'


class Order:
    """Shows, batch by batch, that rows are ordered by all columns: bytewise, missing first."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._last: list[str] | None = None
        """The values of the last record so far."""

    def check(self, batch: Batch) -> None:
        """Take the next records.

        Raises:
            GuaranteeError: two rows next to each other stand in another order.
        """
        if batch.records == 0:
            return
        self._check_start([_text(batch.columns[name], 0) for name in self._names])
        undecided = np.arange(batch.records - 1)
        for name in self._names:
            column = batch.columns[name]
            left, right = column.numbers[undecided], column.numbers[undecided + 1]
            differ = np.flatnonzero(left != right)
            lesser, greater = (column.texts.take(pa.array(side[differ])) for side in (left, right))
            # the empty text, which is the missing value, is less than any other
            if not pc.all(pc.less(lesser, greater), min_count=0).as_py():
                raise _disordered(name)
            undecided = undecided[left == right]
        self._last = [_text(batch.columns[name], -1) for name in self._names]

    def _check_start(self, first: list[str]) -> None:
        if self._last is None or self._last == first:
            return
        # code points are ordered as their UTF-8 bytes are
        name, left, right = next(
            each for each in zip(self._names, self._last, first, strict=True) if each[1] != each[2]
        )
        if left > right:
            raise _disordered(name)


def _text(column: Numbered, record: int) -> str:
    text: str = column.texts[int(column.numbers[record])].as_py()
    return text


def _disordered(name: str) -> GuaranteeError:
    return broken(
        f"column `{name}`",
        "rows are not in the order of the published values, so their order can reveal original values",
        "rows ordered by all published columns, bytewise, missing first",
    )


class CsvForm:
    """What the values of a table need, gathered batch by batch, against the marks that stand there.

    The files of a table have one form: where they differ, that can tell originals apart, too.
    """

    def __init__(self, columns: int) -> None:
        """Begin a table with so many columns."""
        self._where = ""
        self._columns = columns
        self._header: bytes | None = None
        self._rows = 0
        self._quotes = 0
        """That stand in the records."""
        self._inside = Marks(0, 0, 0)
        """The marks that are part of values."""
        self._special = 0
        """Values that must be quoted."""
        self._present = 0

    def begin(self, where: str) -> None:
        """Begin a file, which is called so in messages."""
        self._where = where

    def add(self, batch: Batch, marks: Marks) -> None:
        """Take the next records, and how often marks stand in their bytes.

        Raises:
            GuaranteeError: a line does not end with LF, or a field is missing.
        """
        if marks.has_stray_quotes:
            raise self._quoting()
        before = self._inside
        for column in batch.columns.values():
            self._add_column(column, batch)
        self._rows += batch.rows
        self._quotes += marks.quotes
        if marks.returns != self._inside.returns - before.returns:
            raise self._line_ends()
        if marks.commas != (self._columns - 1) * batch.rows + self._inside.commas - before.commas:
            raise broken(self._where, "it has records with too few fields", "all fields of every record")

    def _add_column(self, column: Numbered, batch: Batch) -> None:
        texts = column.texts
        weights = np.bincount(column.numbers, batch.repeats, len(texts)).astype(np.int64)
        self._present += int(weights[_flags(pc.not_equal(texts, ""))].sum())
        special = _flags(pc.match_substring_regex(texts, _SPECIAL))
        if special.any():
            self._special += int(weights[special].sum())
            quotes, returns, commas = (int(_counts(texts, mark) @ weights) for mark in '"\r,')
            inside = self._inside
            self._inside = Marks(inside.quotes + quotes, inside.returns + returns, inside.commas + commas)

    def _line_ends(self) -> GuaranteeError:
        return broken(self._where, "its line ends are not those of the dialect", "LF after every record")

    def end(self, header: bytes, *, ends_with_line_end: bool) -> None:
        """End a file, once its records were taken.

        Raises:
            GuaranteeError: the last line does not end with LF, or the header is written otherwise than in
                the file before.
        """
        if not ends_with_line_end:
            raise self._line_ends()
        if self._header not in (None, header):
            raise self._quoting()
        self._header = header

    def finish(self, names: tuple[str, ...]) -> None:
        """Conclude, once all files were taken.

        Raises:
            GuaranteeError: the first line does not end with LF, or fields are quoted in more than one way.
        """
        header, inside = Marks.of(self._header or b""), Marks.of("".join(names).encode())
        if header.returns != inside.returns:
            raise self._line_ends()
        written = sum(any(mark in name for mark in ',"\r\n') for name in names)
        in_header = {2 * (inside.quotes + fields) for fields in (written, self._columns)}
        if header.quotes and header.quotes not in in_header:
            raise self._quoting()
        if self._quotes and self._quotes not in self._uniform_quotes():
            raise self._quoting()

    def _quoting(self) -> GuaranteeError:
        return broken(
            self._where,
            "its fields are quoted in more than one way, which can distinguish original values",
            "quotes where they are needed, or around every field",
        )

    def _uniform_quotes(self) -> set[int]:
        """The numbers of quotation marks that the uniform ways of quoting need in the records."""
        every = self._rows * self._columns
        blank = every - self._present if self._columns == 1 else 0
        fields = {self._special, self._special + blank, self._present, every}
        return {2 * (self._inside.quotes + each) for each in fields}


def _flags(values: ArrowArray) -> ArrowArray:
    return values.to_numpy(zero_copy_only=False)


def _counts(texts: ArrowArray, mark: str) -> ArrowArray:
    return pc.count_substring(texts, mark).to_numpy(zero_copy_only=False).astype(np.int64)
