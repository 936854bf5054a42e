"""How a foreign CSV file seems to be written, from a sample of it; for people to check, never acted on.

What is proposed are marks, an encoding, datatypes and formats. It holds no value of the data. The names of
columns stand in it where the first record is surely a header.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.dialect import WAY_OUT as CANONICAL_WAY_OUT
from smalti.engine.tables.dialect import checked_names
from smalti.engine.tables.foreign import WAY_OUT as FOREIGN_WAY_OUT
from smalti.engine.tables.foreign_csv import sampled_rows
from smalti.engine.tables.formats import Format, NumberFormat
from smalti.engine.tables.mixed_formats import known_formats
from smalti.engine.tables.packing import opened
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_SAMPLE: Final = 1 << 16
"""Bytes of the file that are looked at."""
_WAYS_OUT: Final = (CANONICAL_WAY_OUT, FOREIGN_WAY_OUT)
_DELIMITERS: Final = (",", ";", "\t", "|")
_TYPES: Final = (Datatype.DECIMAL, Datatype.DATE, Datatype.DATETIME)
_CANONICAL_DATES: Final = ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-ddTHH:mm", "yyyy-MM-dd HH:mm:ss")
_WORDS: Final = {"\t": "tabs", ";": "`;`", ",": "`,`", "|": "`|`"}


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """What a column seems to hold."""

    name: str | None
    """None: the file seems to have no header."""
    datatype: Datatype | None
    """None: text, or nothing in the sample."""
    format: Format | None = None
    """How its values are written; None: in the canonical form, or as text."""
    rival: Format | None = None
    """Another format that all values of the sample have too, with another meaning; people decide."""

    def described(self) -> dict[str, Any]:
        """As a column of a description; without a datatype where people have to decide."""
        column: dict[str, Any] = {} if self.name is None else {"name": self.name}
        if self.datatype is None or self.rival is not None:
            return column
        if self.format is None:
            return column | {"datatype": str(self.datatype)}
        form: Any = self.format.text
        if self.format.numbers is not None:
            numbers = self.format.numbers
            form = {"decimalChar": numbers.decimal_char}
            form |= {"groupChar": numbers.group_char} if numbers.group_char else {}
        return column | {"datatype": {"base": str(self.datatype), "format": form}}


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a file seems to be written."""

    dialect: Dialect
    columns: tuple[ProposedColumn, ...]

    @property
    def is_canonical(self) -> bool:
        """Whether it seems to need no dialect."""
        return self.dialect == Dialect()

    def differs_from(self, declared: Dialect) -> bool:
        """Whether it seems to be written in another way than declared, as far as that is looked at."""
        ours, theirs = self.dialect, declared
        return (ours.delimiter, ours.encoding) != (theirs.delimiter, theirs.encoding)

    def stated_dialect(self) -> dict[str, Any]:
        """The `dialect` to write into a description; empty where none is needed."""
        stated: dict[str, Any] = {}
        if self.dialect.delimiter != ",":
            stated["delimiter"] = self.dialect.delimiter
        if self.dialect.encoding != "utf-8":
            stated["encoding"] = self.dialect.encoding
        if not self.dialect.has_header:
            stated["header"] = False
        return stated

    def metadata(self, url: str) -> dict[str, Any]:
        """A description to edit: CSVW as JSON, for the file with this name.

        Columns without a name are called `column1`, `column2`, ...
        """
        columns = [
            {"name": f"column{place}"} | column.described() for place, column in enumerate(self.columns, 1)
        ]
        dialect = self.stated_dialect()
        return {
            "@context": ["http://www.w3.org/ns/csvw", {"s": "https://w3id.org/smalti#"}],
            "url": url,
            **({"dialect": dialect} if dialect else {}),
            "tableSchema": {"columns": columns},
        }

    def sentence(self) -> str:
        """What it looks like, in words; columns by their places."""
        parts = []
        if self.dialect.delimiter != ",":
            parts.append(f"{_WORDS[self.dialect.delimiter]} between fields")
        if self.dialect.encoding != "utf-8":
            parts.append(f"encoding {self.dialect.encoding}")
        if not self.dialect.has_header:
            parts.append("no header")
        for form, places in self._formats():
            parts.append(f"{form} in column{'s' if ',' in places else ''} {places}")
        return ", ".join(parts)

    def advice(self) -> str:
        """What it looks like, and what to write into a description; in one sentence."""
        dialect = json.dumps(self.stated_dialect())
        formats = {
            json.dumps(column.described()["datatype"])
            for column in self.columns
            if column.format is not None and column.rival is None
        }
        datatypes = f' and the columns\' "datatype": {" or ".join(sorted(formats))}' if formats else ""
        return (
            f"it looks like {self.sentence()}: if that is so, write it into its description, as"
            f' "dialect": {dialect}{datatypes}'
        )

    def _formats(self) -> Iterator[tuple[str, str]]:
        places: dict[str, list[str]] = {}
        for place, column in enumerate(self.columns, 1):
            if column.format is not None:
                text = column.format.text
                if column.rival is not None:
                    text = f"{text} or {column.rival.text}"
                kind = "dates" if column.format.numbers is None else ""
                places.setdefault(f"{kind} {text}".strip(), []).append(str(place))
        yield from ((form, ", ".join(columns)) for form, columns in places.items())


@contextmanager
def with_proposals(paths: Sequence[Path], declared: Dialect | None = None) -> Iterator[None]:
    """Let errors about the way in which a CSV file is written say how it seems to be written.

    Args:
        paths: of the files that are read meanwhile.
        declared: the dialect that their description states.

    Raises:
        DataError: what was raised, where the files look otherwise than declared with a proposal as its way
            out.
    """
    try:
        yield
    except DataError as error:
        if error.way_out not in _WAYS_OUT:
            raise
        advice = _advice(paths, error.where, declared or Dialect())
        if advice is None:
            raise
        raise DataError(error.where, error.problem, error.expected, advice) from None


def _advice(paths: Sequence[Path], where: str, declared: Dialect) -> str | None:
    for path in paths:
        if where == path.name or where.startswith(f"{path.name}, "):
            with suppress(DataError, OSError):
                proposal = propose(path)
                if proposal is not None and proposal.differs_from(declared):
                    return proposal.advice()
    return None


def refuse_marks_in_header(path: Path, header: Sequence[str], described: Iterable[str]) -> None:
    """Refuse a file that is read as one column whose name holds what separates others.

    Args:
        path: of a CSV file without a declared dialect.
        header: its columns.
        described: the columns that its description names.

    Raises:
        DataError: it is such a file, and looks like several columns; it says how to describe them.
    """
    if len(header) != 1 or header[0] in described or not set(header[0]) & {*_DELIMITERS}:
        return
    proposal = propose(path)
    if proposal is None or not proposal.differs_from(Dialect()):
        return
    raise DataError(
        f"{path.name}, the header",
        "it is one column, with semicolons, tabs or bars in its name",
        "commas between fields, or a description with its `dialect`",
        proposal.advice(),
    )


def propose(path: Path) -> Proposal | None:
    """How a CSV file, packed or not, seems to be written; None where nothing sensible can be said of it.

    Raises:
        DataError: it is packed, and cannot be unpacked.
        OSError: it cannot be read.
    """
    with opened(path) as (file, _):
        sample = file.read(_SAMPLE)
    is_whole = len(sample) < _SAMPLE
    encoding = _encoding(sample, is_whole=is_whole)
    if encoding is None or not sample.strip():
        return None
    if not is_whole:  # the last record may be cut
        sample = sample[: sample.rfind(b"\n") + 1]
    candidates = [
        (rows, delimiter)
        for delimiter in _DELIMITERS
        if (rows := _rows(sample, Dialect(delimiter, encoding=encoding, states_comment=True)))
    ]
    if not candidates:
        return None
    rows, delimiter = max(candidates, key=lambda candidate: len(candidate[0][0]))
    has_header = _has_header(rows)
    body = rows[1:] if has_header else rows
    names = rows[0] if has_header else [None] * len(rows[0])
    columns = tuple(_column(name, [row[place] for row in body]) for place, name in enumerate(names))
    return Proposal(Dialect(delimiter, encoding=encoding, has_header=has_header), columns)


def _encoding(sample: bytes, *, is_whole: bool) -> str | None:
    """UTF-8 where it is; else Windows-1252, which has the letters of ISO 8859-1, too."""
    for encoding in ("utf-8", "windows-1252"):
        for cut in range(1 if is_whole else 4):  # a letter may be cut at the end
            with suppress(UnicodeDecodeError):
                sample[: len(sample) - cut].decode(encoding)
                return encoding if b"\0" not in sample else None
    return None


def _rows(sample: bytes, dialect: Dialect) -> list[list[str]]:
    """The records of the sample, where the dialect fits them all alike; none otherwise."""
    try:
        rows = sampled_rows(sample, dialect)
    except DataError:
        return []
    widths = Counter(map(len, rows))
    is_likely = len(widths) == 1 and (dialect.delimiter == "," or 1 not in widths)
    return rows if is_likely else []


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first record names columns: texts, each once, with other kinds of values below them."""
    first = rows[0]
    try:
        checked_names("", first)
    except DataError:
        return False
    if any(_column(None, [cell]).datatype is not None for cell in first):
        return False
    below = [_column(None, [row[place] for row in rows[1:]]).datatype for place in range(len(first))]
    return any(below) or all(cell.replace("_", "").replace(" ", "").isalpha() for cell in first)


def _column(name: str | None, cells: list[str]) -> ProposedColumn:
    """What all values of a column have in common."""
    values = {cell for cell in cells if cell}
    if not values:
        return ProposedColumn(name, None)
    for datatype in _TYPES:
        fitting = [form for form in known_formats(datatype) if all(map(form.canonical, values))]
        if fitting:
            return _of_formats(name, datatype, fitting, values)
    return ProposedColumn(name, None)


def _of_formats(
    name: str | None, datatype: Datatype, fitting: list[Format], values: set[str]
) -> ProposedColumn:
    """A column all of whose values are of these formats; with two, where they mean different things."""
    first, *others = fitting
    meaning = [first.canonical(value) for value in values]
    rival = next((form for form in others if [form.canonical(value) for value in values] != meaning), None)
    is_plain = first.text in _CANONICAL_DATES or first.numbers == NumberFormat()
    if is_plain and datatype is Datatype.DECIMAL and not any("." in value for value in values):
        datatype = Datatype.INTEGER
    if is_plain and rival is None:
        return ProposedColumn(name, datatype)
    return ProposedColumn(name, datatype, first, rival)


def description_text(proposal: Proposal, url: str) -> str:
    """The description to write, as text."""
    return json.dumps(proposal.metadata(url), indent=2, ensure_ascii=False) + "\n"
