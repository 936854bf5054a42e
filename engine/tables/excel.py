"""Sheets of Excel workbooks (`.xlsx`): cells by their types, nothing that is computed or guessed.

What is refused by its name: formulas, merged cells, error values, times without a day, macros, encrypted
    files.
"""

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

from smalti.engine.tables.foreign import (
    RECORDS_AT_ONCE,
    Moment,
    Number,
    Plain,
    Reader,
    Records,
    misfit,
    plain_number,
)
from smalti.engine.tables.reading import file_digest
from smalti.errors import DataError, UsageError
from smalti.policy.model.suggest import did_you_mean

MOST_BYTES = 1 << 31
"""Of a sheet, unpacked."""
MOST_SHARED_BYTES = 1 << 28
"""Of any other part, unpacked: texts that cells share are held in memory."""
_MOST_PARTS: Final = 10_000
_MOST_ROWS: Final = 1 << 20
_MOST_COLUMNS: Final = 1 << 14
_CHUNK: Final = 1 << 20
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MERGED: Final = re.compile(rb"<(?:[\w.-]+:)?mergeCell[\s/>]")
_DOCTYPE: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
_LITERALS: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
"""Of a number format: texts, and what only says how it looks."""
_ZEROS_FIRST: Final = re.compile("[^0#?.]*0[^0#?.]*0")
"""Two digits that are always shown, before all others."""
_OVERLAP: Final = 512
"""Bytes of a piece that are looked at again with the next one: a tag may be cut."""
_WAY_OUT: Final = "save the sheet as values, in a workbook of its own, or as CSV"
_ABOVE: Final = (
    "correct the sheet; where rows stand above the header, such as two, write a description with"
    ' "dialect": {"skipRows": 2} and "tableSchema": {"columns": []}'
)


@contextmanager
def opened_sheet(path: Path, table: str | None, skipped: int = 0) -> Iterator["_Sheet"]:
    """A sheet of a workbook.

    Args:
        path: of the workbook.
        table: the name of the sheet; None: its only one.
        skipped: rows above the header, whatever they hold.

    Raises:
        UsageError: there is no such sheet, or several and none is named.
        DataError: it is no workbook, or one that is not read; it says why.
    """
    _check_archive(path)
    digest = file_digest(path)
    with warnings.catch_warnings(), _workbook(path) as book:
        warnings.simplefilter("ignore")  # of parts that are not read
        sheet = _chosen(path, book, table)
        _check_sheet(path, sheet)
        yield _Sheet(f"{path.name}#{sheet.title}", sheet, digest, skipped)


def _check_archive(path: Path) -> None:
    """Refuse what is no plain workbook, before anything of it is unpacked."""
    with path.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            raise DataError(
                path.name, "it is encrypted, or of the old format .xls", "an .xlsx file without a password",
                "save it as .xlsx without a password",
            )  # fmt: skip
    try:
        with ZipFile(path) as archive:
            parts = archive.infolist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        raise _no_workbook(path) from None
    if any(part.flag_bits & 1 for part in parts):
        raise DataError(
            path.name, "it is encrypted", "a workbook without a password", "save it without one"
        )
    if any(part.filename.lower().endswith("vbaproject.bin") for part in parts):
        raise DataError(path.name, "it holds macros", "a workbook without macros", "save it as .xlsx")
    for part in parts:
        most = MOST_BYTES if part.filename.startswith("xl/worksheets/") else MOST_SHARED_BYTES
        if part.file_size > most or len(parts) > _MOST_PARTS:
            raise DataError(
                path.name,
                "it unpacks to more than is plausible of a workbook",
                f"sheets of at most {MOST_BYTES >> 30} GiB, and {MOST_SHARED_BYTES >> 20} MiB of texts",
                "save the table as CSV",
            )


def _no_workbook(path: Path) -> DataError:
    return DataError(path.name, "not an .xlsx workbook", "Excel's .xlsx", "save it again, or as CSV")


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    import openpyxl  # noqa: PLC0415 (few runs need it)

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=False, keep_links=False)
    except Exception:  # whatever a damaged file makes of it; the message may quote a cell
        raise _no_workbook(path) from None
    try:
        yield book
    finally:
        book.close()


def _chosen(path: Path, book: Any, table: str | None) -> Any:
    """The sheet that is named, or the only one."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if table is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    listed = ", ".join(f"`{name}`" for name in list(sheets)[:20])
    if table is None:
        raise UsageError(
            path.name,
            f"it has {len(sheets)} sheets",
            f"the name of one: {listed}",
            f"bind it as {path.name}#SHEET",
        )
    if table not in sheets:
        raise UsageError(
            path.name,
            "it has no sheet of that name",
            f"one of {listed}",
            did_you_mean(table, sheets) or "correct the name behind `#`",
        )
    return sheets[table]


def _check_sheet(path: Path, sheet: Any) -> None:
    """Refuse merged cells, and what no sheet has: they stand behind the rows, where nothing reads them."""
    before = b""
    with ZipFile(path) as archive, archive.open(sheet._worksheet_path) as part:
        start = part.read(_OVERLAP)
        if b"\0" in start:  # UTF-16, which would pass unseen below
            raise _no_workbook(path)
        before = start
        while chunk := part.read(_CHUNK):
            _check_piece(path, sheet, before + chunk)
            before = chunk[-_OVERLAP:]
        _check_piece(path, sheet, before)


def _check_piece(path: Path, sheet: Any, piece: bytes) -> None:
    if _MERGED.search(piece):
        raise DataError(
            f"{path.name}#{sheet.title}", "it has merged cells", "one value in each cell", "unmerge them"
        )
    if _DOCTYPE.search(piece):
        raise _no_workbook(path)


class _Rows:
    """The rows of a sheet as they stand there; openpyxl's own pass over what is out of its order."""

    def __init__(self, name: str, sheet: Any) -> None:
        self._name, self._sheet = name, sheet

    def all(self) -> Iterator[tuple[Any, ...]]:
        """Each row with its cells in their columns, and with the empty ones between them.

        Raises:
            DataError: a row or a cell stands twice, or behind a later one.
        """
        from openpyxl.cell.read_only import EMPTY_CELL, ReadOnlyCell  # noqa: PLC0415 (few runs need it)

        last = 0
        for number, cells in self._parsed():
            if number <= last:
                problem = f"row {number} stands behind row {last}"
                raise DataError(self._name, problem, "each row once, in their order", _WAY_OUT)
            for _ in range(last + 1, number):
                yield ()
            row: list[Any] = []
            for cell in cells:
                if cell["row"] != number or cell["column"] <= len(row):
                    problem = f"cell {_name_of(cell)} of row {number} stands twice, or behind a later one"
                    raise DataError(self._name, problem, "each cell once, in their order", _WAY_OUT)
                row += [EMPTY_CELL] * (cell["column"] - 1 - len(row))
                row.append(ReadOnlyCell(self._sheet, **cell))
            last = number
            yield tuple(row)

    def _parsed(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        from openpyxl.worksheet._reader import WorkSheetParser  # noqa: PLC0415 (likewise)

        sheet, book = self._sheet, self._sheet.parent
        with sheet._get_source() as part:
            parser = WorkSheetParser(
                part,
                sheet._shared_strings,
                data_only=book.data_only,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            yield from parser.parse()


class _Sheet(Reader):
    """A sheet: its first row behind those that are skipped is the header."""

    def __init__(self, name: str, sheet: Any, digest: str, skipped: int) -> None:
        self._name, self._sheet, self._digest, self._skipped = name, sheet, digest, skipped
        first = next(self._rows(), None)
        if first is None:
            problem = f"nothing stands behind its first {skipped} rows" if skipped else "the sheet is empty"
            raise DataError(name, problem, "a row with the column names", _WAY_OUT)
        cells = _trimmed(first)
        if not all(isinstance(cell.value, str) and cell.data_type != "f" for cell in cells):
            raise misfit(
                name, 0, "a column name is missing, or no text", "a text above each column", _ABOVE
            )
        self._header = tuple(cell.value for cell in cells)

    @property
    def name(self) -> str:
        return self._name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    @property
    def has_typed_cells(self) -> bool:
        return True

    def digest(self) -> str:
        return self._digest

    def records(self) -> Iterator[Records]:
        first, batch = 1, list[list[str]]()
        for number, row in enumerate(self._filled()):
            if number:
                batch.append(self._texts(number, row))
            if len(batch) == RECORDS_AT_ONCE:
                yield Records(first, tuple(zip(*batch, strict=True)))
                first, batch = first + len(batch), []
        if batch:
            yield Records(first, tuple(zip(*batch, strict=True)))

    def _filled(self) -> Iterator[tuple[Any, ...]]:
        """The rows up to the last one that holds anything; none between them is empty."""
        empty = None
        for number, row in enumerate(self._rows()):
            cells = _trimmed(row)
            if not cells:
                empty = number if empty is None else empty
                continue
            if empty is not None:
                raise misfit(self._name, empty, "an empty row", "no empty rows between others", "remove it")
            yield cells

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        rows = islice(_Rows(self._name, self._sheet).all(), self._skipped, None)
        for number in range(_MOST_ROWS + 1):
            try:
                row = next(rows, None)
            except DataError:
                raise
            except Exception:  # damaged, or more in it than a sheet may have; a message may quote a cell
                raise misfit(
                    self._name, number, "it cannot be read", "a sheet that Excel reads", _WAY_OUT
                ) from None
            if row is None:
                return
            yield row
        raise DataError(self._name, "it has too many rows", f"at most {_MOST_ROWS:,}", "save it as CSV")

    def _texts(self, number: int, cells: tuple[Any, ...]) -> list[str]:
        if len(cells) > len(self._header):
            raise misfit(
                self._name,
                number,
                f"{len(cells)} cells",
                f"{len(self._header)}, as in the header",
                _ABOVE,
            )
        texts = [self._text(number, cell) for cell in cells]
        return texts + [""] * (len(self._header) - len(texts))

    def _text(self, number: int, cell: Any) -> str:
        value, problem = cell.value, None
        if value is None:
            return ""
        if cell.data_type == "f":
            problem = "a formula"
        elif cell.data_type == "e":
            problem = "an error value"
        elif isinstance(value, str):
            return value
        elif isinstance(value, bool):
            return Plain("true" if value else "false")
        elif isinstance(value, int | float):
            problem = "a number that is shown with zeros before its first digit"
            if not math.isfinite(value):
                problem = "a number that is not finite"
            elif not _shows_more_zeros(value, cell.number_format):
                return Number(plain_number(value))
        elif isinstance(value, date):
            return Moment(_day(value, cell.number_format))
        else:
            problem = "a time or a duration without a day"
        raise misfit(
            self._name,
            number,
            f"{problem} in cell {cell.coordinate}",
            "texts, numbers, dates, date-times, and true or false",
            _WAY_OUT,
        )


def _name_of(cell: dict[str, Any]) -> str:
    """Row and column of a cell, as in `A2`; a workbook may state a number that no column has."""
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 (likewise)

    row, column = cell["row"], cell["column"]
    return f"{get_column_letter(column)}{row}" if 0 < column <= _MOST_COLUMNS else f"in column {column}"


def _trimmed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row without the empty cells at its end."""
    filled = len(row)
    while filled and row[filled - 1].value is None:
        filled -= 1
    return row[:filled]


def _shows_more_zeros(value: float, number_format: str) -> bool:
    """Whether a cell shows `007` where it has 7: people list, and other exports write, what it shows.

    >>> _shows_more_zeros(7, "000"), _shows_more_zeros(123, "000"), _shows_more_zeros(7, "0.00")
    (True, False, False)
    >>> _shows_more_zeros(7, '"No. "000-00'), _shows_more_zeros(7, "0E+00"), _shows_more_zeros(7, "General")
    (True, False, False)
    """
    first = re.split("[;.Ee]", _LITERALS.sub("", number_format), maxsplit=1)[0]
    is_padded = _ZEROS_FIRST.match(first) is not None
    return is_padded and len(plain_number(abs(value)).partition(".")[0]) < first.count("0")


def _day(value: date, number_format: str) -> str:
    """A date, or a date-time where the cell shows a time, or has one."""
    from openpyxl.styles.numbers import is_datetime  # noqa: PLC0415 (likewise)

    if not isinstance(value, datetime):
        return value.isoformat()
    shows_time = is_datetime(number_format) != "date"
    if not shows_time and (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
        return value.date().isoformat()
    text = value.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text
