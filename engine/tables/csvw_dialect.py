"""CSVW's `dialect`: how a CSV file is written that is not in the one canonical dialect.

What CSVW defines is read or refused by name. Its default of `#` before comments is not taken over: rows
that begin so are data or comments as the description says, and refused where it says neither.
"""

import difflib
from dataclasses import dataclass
from typing import Any, Final

from smalti.errors import DataError

ENCODINGS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "us-ascii",
    "ascii": "us-ascii",
    "iso-8859-1": "iso-8859-1",
    "latin1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "windows-1252": "windows-1252",
    "cp1252": "windows-1252",
}
"""The encodings that are read, by their names in lower case."""
_MEMBERS: Final = (
    "delimiter", "quoteChar", "doubleQuote", "encoding", "header", "headerRowCount", "commentPrefix", 
    "skipRows", "skipBlankRows", "skipColumns", "skipInitialSpace", "trim", "lineTerminators",
)  # fmt: skip
_TRIMS: Final = {True: "both", "true": "both", False: "", "false": "", "start": "start", "end": "end"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str | None = '"'
    """None: no field is quoted."""
    doubles_quotes: bool = True
    """Whether a quote inside of quotes is doubled; False: a backslash stands before it."""
    encoding: str = "utf-8"
    """One of the values of `ENCODINGS`."""
    has_header: bool = True
    comment: str | None = None
    """What records begin with that are no data; None: no record is a comment."""
    states_comment: bool = False
    """Whether the description says what comments begin with, also if with nothing."""
    skipped_rows: int = 0
    """Lines before the header."""
    skips_blank: bool = False
    """Whether rows are left out in which all cells are empty."""
    trim: str = ""
    """Where blanks around a cell are left out: `start`, `end`, `both`, or nowhere."""


def read_dialect(where: str, stated: Any) -> Dialect:
    """The dialect that a description states.

    Args:
        where: the description's name, for messages.
        stated: what stands there in JSON, without notes.

    Raises:
        DataError: a member is unknown, has a value that is not understood, or contradicts another one;
            with all of them.
    """
    if not isinstance(stated, dict):
        raise DataError(
            where, "`dialect` is not an object", "the members of CSVW's dialect", "write them out"
        )
    problems = [*_unknown(stated), *_wrong(stated)]
    if problems:
        raise DataError(
            where,
            f"the dialect is not understood: {'; '.join(problems)}",
            "members of CSVW's dialect that docs/descriptions.md lists",
            "correct it",
        )
    dialect = _dialect(stated)
    contradictions = list(_contradictions(stated, dialect))
    if contradictions:
        listed = "; ".join(contradictions)
        raise DataError(
            where, f"the dialect contradicts itself: {listed}", "members that agree", "correct it"
        )
    return dialect


def _unknown(stated: dict[str, Any]) -> list[str]:
    problems = []
    for name in stated:
        if name not in _MEMBERS:
            close = difflib.get_close_matches(name, _MEMBERS, n=1)
            problems.append(f"unknown member `{name}`" + (f", did you mean `{close[0]}`?" if close else ""))
    return problems


def _wrong(stated: dict[str, Any]) -> list[str]:
    """What stands where something else should; values are not repeated."""
    expected = {
        "delimiter": (_is_mark, "one character"),
        "quoteChar": (lambda value: value is None or _is_mark(value), "one character, or null"),
        "doubleQuote": (_is_truth, "true or false"),
        "encoding": (_is_encoding, f"one of {', '.join(sorted(set(ENCODINGS.values())))}"),
        "header": (_is_truth, "true or false"),
        "headerRowCount": (lambda value: _is_count(value) and value <= 1, "0 or 1"),
        "commentPrefix": (lambda value: value is None or _is_prefix(value), "a text, or null"),
        "skipRows": (_is_count, "a whole number"),
        "skipBlankRows": (_is_truth, "true or false"),
        "skipColumns": (lambda value: _is_count(value) and value == 0, "0"),
        "skipInitialSpace": (_is_truth, "true or false"),
        "trim": (
            lambda value: isinstance(value, bool | str) and value in _TRIMS,
            "true, false, start or end",
        ),
        "lineTerminators": (_are_lines, "LF, CRLF or both"),
    }
    return [
        f"`{name}` must be {words}"
        for name, (is_right, words) in expected.items()
        if name in stated and not is_right(stated[name])
    ]


def _is_mark(value: object) -> bool:
    return isinstance(value, str) and len(value) == 1 and value not in "\r\n\0\ufeff" and ord(value) < 128


def _is_prefix(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not set(value) & {*"\r\n\0"}


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _is_encoding(value: object) -> bool:
    return isinstance(value, str) and value.lower() in ENCODINGS


def _are_lines(value: object) -> bool:
    lines = [value] if isinstance(value, str) else value
    return isinstance(lines, list) and bool(lines) and all(line in ("\n", "\r\n") for line in lines)


def _dialect(stated: dict[str, Any]) -> Dialect:
    trim = _TRIMS[stated.get("trim", False)]
    if stated.get("skipInitialSpace") and "trim" not in stated:
        trim = "start"
    return Dialect(
        delimiter=stated.get("delimiter", ","),
        quote=stated.get("quoteChar", '"'),
        doubles_quotes=stated.get("doubleQuote", True),
        encoding=ENCODINGS[stated.get("encoding", "utf-8").lower()],
        has_header=stated.get("header", stated.get("headerRowCount", 1) > 0),
        comment=stated.get("commentPrefix"),
        states_comment="commentPrefix" in stated,
        skipped_rows=stated.get("skipRows", 0),
        skips_blank=stated.get("skipBlankRows", False),
        trim=trim,
    )


def _contradictions(stated: dict[str, Any], dialect: Dialect) -> list[str]:
    pairs = {
        "`delimiter` and `quoteChar` are the same": dialect.delimiter == dialect.quote,
        "`header` and `headerRowCount`": "header" in stated
        and stated.get("headerRowCount", int(dialect.has_header)) != int(dialect.has_header),
        "`skipInitialSpace` and `trim`": "trim" in stated
        and stated.get("skipInitialSpace", dialect.trim in ("start", "both"))
        != (dialect.trim in ("start", "both")),
        "`commentPrefix` begins with `delimiter` or `quoteChar`": dialect.comment is not None
        and dialect.comment[0] in (dialect.delimiter, dialect.quote),
        "a blank as `delimiter` is trimmed": bool(dialect.trim) and dialect.delimiter.isspace(),
        "a backslash is a mark, and stands before quotes": not dialect.doubles_quotes
        and "\\" in (dialect.delimiter, dialect.quote),
    }
    return [text for text, holds in pairs.items() if holds]
