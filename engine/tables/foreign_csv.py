"""CSV files in a dialect that their description declares, record by record and strictly.

A record that the dialect does not fit ends the reading: nothing is skipped, mended or sniffed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.description import Description
from smalti.engine.tables.foreign import BYTES_AT_ONCE, RECORDS_AT_ONCE, Reader, Records, misfit
from smalti.engine.tables.packing import opened
from smalti.engine.tables.records import LONGEST_RECORD
from smalti.errors import DataError

_BOM: Final = b"\xef\xbb\xbf"
_STRAY: Final = ("a quote inside a field", "quotes around whole fields only")
_CONTROLS: Final = re.compile("[\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class _Shape:
    """A dialect as it is looked for in text."""

    record: re.Pattern[str]
    """A whole record."""
    quoted: re.Pattern[str]
    """A field with quotes around it, or without."""
    opening: re.Pattern[str]
    """The beginning of a record whose last field has quotes that are not closed yet."""
    escaped: re.Pattern[str] | None
    """A backslash and what it stands before, where it is one."""

    @classmethod
    def of(cls, dialect: Dialect) -> "_Shape":
        mark, quote = re.escape(dialect.delimiter), re.escape(dialect.quote or '"')
        inner = f"[^{quote}]|{quote}{quote}" if dialect.doubles_quotes else rf"[^{quote}\\]|\\."
        field = f"{quote}((?:{inner})*+){quote}|([^{quote}{mark}]*+)"
        return cls(
            re.compile(f"(?:{field})(?:{mark}(?:{field}))*+", re.DOTALL),
            re.compile(f"(?:{field})(?:{mark}|$)", re.DOTALL),
            re.compile(f"(?:(?:{field}){mark})*+{quote}(?:{inner})*+", re.DOTALL),
            None if dialect.doubles_quotes else re.compile(r"\\(.)", re.DOTALL),
        )


def sampled_rows(sample: bytes, dialect: Dialect) -> list[list[str]]:
    """All records of a piece of a file, the header among them.

    Raises:
        DataError: one does not fit the dialect.
    """
    return list(_Parser("sample", dialect).rows(BufferedReader(cast(Any, BytesIO(sample)))))


class CsvReader(Reader):
    """A CSV file in a declared dialect."""

    def __init__(self, path: Path, description: Description) -> None:
        """Look at the header.

        Raises:
            DataError: it does not fit the dialect, or has to be described and is not.
        """
        self._path, self._dialect = path, description.dialect or Dialect(states_comment=True)
        self._parser = _Parser(path.name, self._dialect)
        self._digest = ""
        with opened(path) as (file, _):
            lines = self._parser.rows(file)
            first = next(lines, None)
        if not self._dialect.has_header:
            self._header = _described(path.name, description, first)
        elif first is None:
            raise DataError(path.name, "the file has no header", "a first record with the column names")
        else:
            self._header = tuple(first)

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    def digest(self) -> str:
        return self._digest

    def records(self) -> Iterator[Records]:
        with opened(self._path) as (file, stored):
            rows = self._parser.rows(file)
            if self._dialect.has_header:
                next(rows)
            yield from _in_batches(self._fitting(rows))
            self._digest = stored.finish()

    def _fitting(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """The rows with as many fields as there are columns."""
        fields = len(self._header)
        for number, row in enumerate(rows, 1):
            if len(row) != fields:
                count = f"{len(row)} field{'s' if len(row) > 1 else ''}"
                raise misfit(
                    self.name,
                    number,
                    f"{count} between `{_shown(self._dialect.delimiter)}`",
                    f"{fields}, as in the header"
                    if self._dialect.has_header
                    else f"{fields}, as described",
                )
            yield row


class _Parser:
    """Finds the records of a file in a dialect."""

    def __init__(self, name: str, dialect: Dialect) -> None:
        self._name, self._dialect = name, dialect
        self._shape = _Shape.of(dialect)

    def rows(self, file: BufferedReader) -> Iterator[list[str]]:
        """The header, where there is one, and all rows of data."""
        dialect = self._dialect
        number = 0 if dialect.has_header else 1
        for _ in range(dialect.skipped_rows):
            self._line(file, number)
        if not dialect.skipped_rows and file.peek(3)[:3] == _BOM and dialect.encoding == "utf-8":
            file.read(3)
        while text := self._record(file, number):
            text = text.removesuffix("\n").removesuffix("\r")
            if dialect.comment is not None and text.startswith(dialect.comment):
                continue
            if dialect.comment is None and not dialect.states_comment and text.startswith("#"):
                self._refuse(
                    number,
                    "it begins with `#`, which begins a comment by CSVW's default",
                    "a dialect that says whether it does",
                    'state "commentPrefix": "#" or "commentPrefix": null in the dialect',
                )
            row = self._fields(text, number)
            if dialect.skips_blank and not any(row):
                continue
            if not text:
                self._refuse(number, "a blank line", "no blank lines, or `skipBlankRows` in the dialect")
            yield row
            number += 1

    def _record(self, file: BufferedReader, number: int) -> str:
        """The text of the next record with its line end; empty at the end of the file."""
        text = self._decoded(self._line(file, number), number)
        if self._dialect.quote is None or self._dialect.quote not in text or self._is_comment(text):
            return text
        pieces, open_quotes, length = [text], self._is_open(text), len(text)
        if open_quotes and not self._shape.opening.fullmatch(text):
            self._refuse(number, *_STRAY)
        while open_quotes:
            line = self._decoded(self._line(file, number), number)
            if not line:
                self._refuse(number, "a quoted field is not closed", "a closing quote")
            length += len(line)
            if length > LONGEST_RECORD:
                self._refuse(
                    number, "a record is longer than 8 MiB", "shorter records, and quotes that close"
                )
            pieces.append(line)
            if self._dialect.quote in line or self._shape.escaped is not None:
                # A backslash may stand at the end of a line: then all of it has to be looked at.
                open_quotes ^= self._is_open(line)
        return "".join(pieces)

    def _is_comment(self, text: str) -> bool:
        return self._dialect.comment is not None and text.startswith(self._dialect.comment)

    def _is_open(self, text: str) -> bool:
        """Whether quotes that open here are not closed."""
        if self._shape.escaped is not None:
            text = self._shape.escaped.sub("", text)
        return text.count(self._dialect.quote or "") % 2 == 1

    def _line(self, file: BufferedReader, number: int) -> bytes:
        line = file.readline(LONGEST_RECORD + 1)
        if len(line) > LONGEST_RECORD:
            self._refuse(number, "a record is longer than 8 MiB", "shorter records")
        return line

    def _decoded(self, line: bytes, number: int) -> str:
        encoding = self._dialect.encoding
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            self._refuse(number, f"bytes that are not {encoding}", f"text in {encoding}, as declared")
        if encoding == "iso-8859-1" and _CONTROLS.search(text):
            self._refuse(
                number,
                "bytes that ISO 8859-1 has no letters for",
                "text in iso-8859-1, as declared",
                "declare windows-1252, which has letters for them, if that is what it is",
            )
        if "\0" in text:
            self._refuse(number, "a NUL byte", "text")
        return text

    def _fields(self, text: str, number: int) -> list[str]:
        dialect = self._dialect
        if dialect.quote is None or dialect.quote not in text:
            row = text.split(dialect.delimiter)
            if "\r" in text or "\n" in text:
                self._refuse(number, "a carriage return without a line feed", "LF or CRLF between records")
        elif self._shape.record.fullmatch(text) is None:
            self._refuse(number, *_STRAY)
        else:
            row = [self._unquoted(match, number) for match in self._shape.quoted.finditer(text)]
            if not text.endswith(dialect.delimiter):
                row.pop()  # what was found behind the last field
        if dialect.trim:
            strip = {"start": str.lstrip, "end": str.rstrip, "both": str.strip}[dialect.trim]
            row = [strip(cell) for cell in row]
        return row

    def _unquoted(self, match: re.Match[str], number: int) -> str:
        quoted, bare = match.groups()
        if quoted is None:
            if "\r" in bare or "\n" in bare:
                self._refuse(number, "a carriage return without a line feed", "LF or CRLF between records")
            return str(bare)
        if self._shape.escaped is not None:
            return self._shape.escaped.sub(r"\1", quoted)
        quote = self._dialect.quote or ""
        return str(quoted).replace(quote * 2, quote)

    def _refuse(self, number: int, problem: str, expected: str, way_out: str = "") -> NoReturn:
        raise misfit(self._name, number, problem, expected, way_out)


def _in_batches(rows: Iterator[list[str]]) -> Iterator[Records]:
    first, batch, length = 1, list[list[str]](), 0
    for row in rows:
        batch.append(row)
        length += sum(map(len, row))
        if len(batch) == RECORDS_AT_ONCE or length > BYTES_AT_ONCE:
            yield Records(first, tuple(zip(*batch, strict=True)))
            first, batch, length = first + len(batch), [], 0
    if batch:
        yield Records(first, tuple(zip(*batch, strict=True)))


def _described(name: str, description: Description, first: list[str] | None) -> tuple[str, ...]:
    """The names of the columns of a file without a header."""
    names = tuple(column.name for column in description.columns)
    if first is not None and len(first) != len(names):
        raise misfit(
            name,
            1,
            f"{len(first)} fields, and {len(names)} columns are described",
            "all columns of a file without a header, in their order",
            "describe each of them, or state `header`",
        )
    return names


def _shown(mark: str) -> str:
    return {"\t": "tab", " ": "blank"}.get(mark, mark)
