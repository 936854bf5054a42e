"""How a foreign CSV file seems to be written, from a sample of it; for people to check, never acted on.

What is proposed are marks, an encoding, datatypes and formats. It holds no value of the data. The names of
columns stand in it where the first record is surely a header.
"""

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.dialect import NAMES_WAY_OUT, checked_names
from smalti.engine.tables.dialect import WAY_OUT as CANONICAL_WAY_OUT
from smalti.engine.tables.foreign import WAY_OUT as FOREIGN_WAY_OUT
from smalti.engine.tables.foreign_csv import sampled_rows
from smalti.engine.tables.guessing import ProposedColumn, guessed
from smalti.engine.tables.packing import opened
from smalti.errors import DataError

_SAMPLE: Final = 1 << 16
"""Bytes of the file that are looked at."""
_WAYS_OUT: Final = (CANONICAL_WAY_OUT, FOREIGN_WAY_OUT, NAMES_WAY_OUT)
_DELIMITERS: Final = (",", ";", "\t", "|")
_MOST_SKIPPED: Final = 5
"""Lines before the header that are looked for."""
_MOST_INNER_LINES: Final = 1000
_WORDS: Final = {"\t": "tabs", ";": "`;`", ",": "`,`", "|": "`|`"}


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
        # Windows-1252 reads ISO 8859-1 alike; what has no letter there has a message of its own.
        is_latin = (ours.encoding, theirs.encoding) == ("windows-1252", "iso-8859-1")
        if ours.delimiter != theirs.delimiter or (ours.encoding != theirs.encoding and not is_latin):
            return True
        # Lines before a table whose header is not found are a guess upon a guess.
        return ours.has_header and ours.skipped_rows != theirs.skipped_rows

    def stated_dialect(self) -> dict[str, Any]:
        """The `dialect` to write into a description; empty where none is needed."""
        stated: dict[str, Any] = {}
        if self.dialect.delimiter != ",":
            stated["delimiter"] = self.dialect.delimiter
        if self.dialect.encoding != "utf-8":
            stated["encoding"] = self.dialect.encoding
        if not self.dialect.has_header:
            stated["header"] = False
        if self.dialect.skipped_rows:
            stated["skipRows"] = self.dialect.skipped_rows
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
        if skipped := self.dialect.skipped_rows:
            parts.append(f"{skipped} line{'s' if skipped > 1 else ''} before the header")
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
                if _is_utf_16(path):
                    return "it looks like UTF-16: export it again in UTF-8 (Excel: `CSV UTF-8`)"
                proposal = propose(path)
                if proposal is not None and proposal.differs_from(declared):
                    return proposal.advice()
    return None


def _is_utf_16(path: Path) -> bool:
    with opened(path) as (file, _):
        return file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE)


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
    if not is_whole:
        sample = sample[: _end_of_a_record(sample)]
    narrow = None
    for skipped in range(_MOST_SKIPPED + 1):
        dialects = [
            Dialect(mark, encoding=encoding, states_comment=True, skipped_rows=skipped)
            for mark in _DELIMITERS
        ]
        candidates = [(rows, dialect) for dialect in dialects if (rows := _rows(sample, dialect))]
        rows, dialect = max(candidates, key=lambda candidate: len(candidate[0][0]), default=([], Dialect()))
        if rows and len(rows[0]) > 1 and (not skipped or _is_typed(rows[1:])):
            return _proposal(rows, dialect)
        if rows and not skipped:
            narrow = _proposal(rows, dialect)
    return narrow


def _proposal(rows: list[list[str]], dialect: Dialect) -> Proposal:
    has_header = _has_header(rows)
    body = rows[1:] if has_header else rows
    names = rows[0] if has_header else [None] * len(rows[0])
    columns = tuple(guessed(name, {row[place] for row in body}) for place, name in enumerate(names))
    if dialect.skipped_rows and not has_header:
        # The lines before these are more likely the header and a broken record than no part of the table.
        dialect, has_header = replace(dialect, skipped_rows=0), True
    return Proposal(replace(dialect, has_header=has_header, states_comment=False), columns)


def _end_of_a_record(sample: bytes) -> int:
    """Behind the last line end of a piece of a file that is in no quotes, as far as can be seen."""
    end = len(sample)
    for _ in range(_MOST_INNER_LINES):
        end = sample.rfind(b"\n", 0, end)
        if sample.count(b'"', 0, end) % 2 == 0:
            return end + 1
    return sample.rfind(b"\n") + 1


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
    """Whether the first record names columns: texts, each once, with other kinds of values below them.

    The first or the last name may be missing: pandas and R write row names so, and others a last comma.
    """
    first = rows[0]
    if len(first) > 2 and (not first[0] or not first[-1]):  # two that are named
        rows = [row[1:] if not first[0] else row[:-1] for row in rows]
        first = rows[0]
    try:
        checked_names("", first)
    except DataError:
        return False
    if any(guessed(None, [cell]).datatype is not None for cell in first):
        return False
    if any(
        cell in column for cell, column in zip(first, map(set, zip(*rows[1:], strict=True)), strict=False)
    ):
        return False
    return _is_typed(rows[1:]) or all(cell.replace("_", "").replace(" ", "").isalpha() for cell in first)


def _is_typed(rows: list[list[str]]) -> bool:
    """Whether a column of some records is something else than text."""
    return any(guessed(None, {*column}).datatype for column in zip(*rows, strict=True))


def description_text(proposal: Proposal, url: str) -> str:
    """The description to write, as text."""
    return json.dumps(proposal.metadata(url), indent=2, ensure_ascii=False) + "\n"
