"""CSVW's formats of dates, date-times and numbers: from a text in one to its canonical text.

Canonical are ISO 8601 (`2024-01-31`, `2024-01-31T09:30:00`) and plain numbers (`-1234.50`), as the
datatypes of descriptions read them. The formats are those that CSVW asks of every reader (Metadata
Vocabulary, 6.4): an exact list, for a pattern that is half understood would make other dates.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, time
from functools import cache
from typing import Final

DATES: Final = (
    "yyyy-MM-dd", "yyyyMMdd", "dd.MM.yyyy", "d.M.yyyy", "MM.dd.yyyy", "M.d.yyyy", "dd/MM/yyyy", "d/M/yyyy",
    "MM/dd/yyyy", "M/d/yyyy", "dd-MM-yyyy", "d-M-yyyy", "MM-dd-yyyy", "M-d-yyyy",
)  # fmt: skip
"""The formats of dates."""
TIMES: Final = ("HH:mm:ss", "HH:mm", "HHmmss", "HHmm")
"""The formats of times; those with seconds may end in a point and an `S` for each digit allowed."""
_ZONES: Final = {
    "X": r"Z|[+-]\d{2}(?:\d{2})?",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d{2}:\d{2}",
    "x": r"[+-]\d{2}(?:\d{2})?",
    "xx": r"[+-]\d{4}",
    "xxx": r"[+-]\d{2}:\d{2}",
}
_PARTS: Final = {
    "yyyy": r"(?P<year>\d{4})",
    "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "dd": r"(?P<day>\d{2})",
    "d": r"(?P<day>\d{1,2})",
    "HH": r"(?P<hour>\d{2})",
    "mm": r"(?P<minute>\d{2})",
    "ss": r"(?P<second>\d{2})",
}
_DATE_TIME: Final = re.compile(
    f"(?P<date>{'|'.join(map(re.escape, DATES))})(?P<mark>[T ])(?P<time>{'|'.join(TIMES)})"
    r"(?:\.(?P<fraction>S{1,9}))?(?P<zone> ?(?:X{1,3}|x{1,3}))?"
)
_PATTERN: Final = re.compile(r"(?P<whole>(?:#*,##|#*)(?:0*,)?[0#]*)(?:\.(?P<least>0*)(?P<more>#*))?")
_MOST_DIGITS: Final = 100


@dataclass(frozen=True, slots=True)
class Format:
    """How a column writes its values."""

    text: str
    """As people know it, for messages; never a value."""
    canonical: Callable[[str], str | None] = field(compare=False, repr=False)
    """From a text to its canonical one; None where it is of another form."""
    numbers: "NumberFormat | None" = None
    """What is stated, where it is a format of numbers."""


class UnknownFormatError(ValueError):
    """A format that is not understood; says what is."""


@cache
def date_format(pattern: str) -> Format:
    """The format of dates that a pattern states.

    Raises:
        UnknownFormatError: the pattern is none of `DATES`.

    >>> date_format("dd.MM.yyyy").canonical("31.01.2024")
    '2024-01-31'
    >>> date_format("dd.MM.yyyy").canonical("31.02.2024") is None
    True
    """
    if pattern not in DATES:
        raise UnknownFormatError(f"one of {', '.join(DATES)}")
    shape = re.compile(_shape(pattern), re.ASCII)

    def canonical(text: str) -> str | None:
        match = shape.fullmatch(text)
        return None if match is None else _day(match)

    return Format(pattern, canonical)


@cache
def date_time_format(pattern: str) -> Format:
    """The format of date-times that a pattern states.

    Raises:
        UnknownFormatError: the pattern is no date of `DATES` with a `T` or a blank, a time of `TIMES`, and
            what may
            follow: digits of a second, and a zone.

    >>> date_time_format("d.M.yyyy HH:mm").canonical("1.2.2024 09:30")
    '2024-02-01T09:30:00'
    >>> date_time_format("yyyyMMddTHHmmss.SSS X").canonical("20240201T093000.250 Z")
    '2024-02-01T09:30:00.25Z'
    """
    match = _DATE_TIME.fullmatch(pattern)
    if match is None or (match["fraction"] and not match["time"].endswith("ss")):
        raise UnknownFormatError(
            f"a date ({', '.join(DATES)}), a `T` or a blank, and a time ({', '.join(TIMES)}),"
            " where wanted with `.S` and a zone such as `X`"
        )
    shape = _shape(match["date"]) + match["mark"] + _shape(match["time"])
    if match["fraction"]:
        shape += rf"(?:\.(?P<fraction>\d{{1,{len(match['fraction'])}}}))?"
    if match["zone"]:
        blank = " " if match["zone"].startswith(" ") else ""
        shape += f"{blank}(?P<zone>{_ZONES[match['zone'].strip()]})"
    return Format(pattern, _date_time_reader(re.compile(shape, re.ASCII)))


def _date_time_reader(shape: re.Pattern[str]) -> Callable[[str], str | None]:
    def canonical(text: str) -> str | None:
        match = shape.fullmatch(text)
        day = None if match is None else _day(match)
        if match is None or day is None:
            return None
        parts = match.groupdict()
        second = parts.get("second") or "00"
        try:
            time(int(parts["hour"]), int(parts["minute"]), int(second))
        except ValueError:
            return None
        fraction = (parts.get("fraction") or "").rstrip("0")
        zone = _zone(parts.get("zone") or "")
        if zone is None:
            return None
        written = f"{day}T{parts['hour']}:{parts['minute']}:{second}"
        return f"{written}{'.' if fraction else ''}{fraction}{zone}"

    return canonical


def _shape(pattern: str) -> str:
    """A pattern of dates or times as a regular expression."""
    return re.sub(
        r"yyyy|MM|M|dd|d|HH|mm|ss|[^\w]", lambda part: _PARTS.get(part[0], re.escape(part[0])), pattern
    )


def _day(match: re.Match[str]) -> str | None:
    try:
        return date(int(match["year"]), int(match["month"]), int(match["day"])).isoformat()
    except ValueError:
        return None


def _zone(written: str) -> str | None:
    """A zone as `Z` or `+01:00`; None where no clock has it."""
    if written in ("", "Z"):
        return written
    hours, minutes = written[1:3], written[3:].lstrip(":") or "00"
    if int(hours) > 14 or int(minutes) > 59:
        return None
    return f"{written[0]}{hours}:{minutes}"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What a description says of how numbers are written."""

    decimal_char: str = "."
    group_char: str | None = None
    pattern: str | None = None

    @property
    def text(self) -> str:
        """For messages."""
        group = f", `{self.group_char}` between groups of three digits" if self.group_char else ""
        shape = f", pattern {self.pattern}" if self.pattern else ""
        return f"numbers with `{self.decimal_char}` before decimals{group}{shape}"


@cache
def number_format(stated: NumberFormat, *, whole: bool, exponent: bool) -> Format:
    """The format of numbers that is stated.

    Args:
        stated: its marks and its pattern.
        whole: whether they are whole numbers.
        exponent: whether they may have an exponent.

    Raises:
        UnknownFormatError: the marks contradict each other, or the pattern is not understood.

    >>> german = NumberFormat(",", ".")
    >>> number_format(german, whole=False, exponent=False).canonical("-1.234,50")
    '-1234.50'
    >>> number_format(german, whole=False, exponent=False).canonical("1.5") is None
    True
    """
    group = stated.group_char
    if stated.pattern and "," in stated.pattern and group is None:
        group = ","
    _check_marks(stated.decimal_char, group)
    least, digits = r"(?:0|[1-9]\d*)", (None if whole else (1, _MOST_DIGITS))
    if stated.pattern is not None:
        least, digits = _understood(stated.pattern, whole=whole)
    plain = re.compile(least, re.ASCII)
    shape = re.compile(_number_shape(stated.decimal_char, group, digits, exponent=exponent), re.ASCII)

    def canonical(text: str) -> str | None:
        match = shape.fullmatch(text)
        if match is None:
            return None
        whole_part = match["whole"].replace(group, "") if group else match["whole"]
        if not plain.fullmatch(whole_part):
            return None
        sign = "-" if match["sign"] == "-" else ""
        fraction = match["fraction"] or ""
        point = "." if fraction else ""
        return f"{sign}{whole_part.lstrip('0') or '0'}{point}{fraction}{match['exponent'] or ''}"

    return Format(stated.text, canonical, stated)


def _check_marks(decimal_char: str, group_char: str | None) -> None:
    if len(decimal_char) != 1 or decimal_char in "+-eE" or decimal_char.isalnum():
        raise UnknownFormatError("a `decimalChar` of one character that is no digit, letter or sign")
    if group_char is not None and (len(group_char) != 1 or group_char in "+-" or group_char.isalnum()):
        raise UnknownFormatError("a `groupChar` of one character that is no digit, letter or sign")
    if group_char == decimal_char:
        raise UnknownFormatError("different characters as `decimalChar` and `groupChar`")


def _understood(pattern: str, *, whole: bool) -> tuple[str, tuple[int, int] | None]:
    """The whole part as a regular expression, and the least and most digits behind the point."""
    match = _PATTERN.fullmatch(pattern)
    zeros = 0 if match is None else match["whole"].count("0")
    if match is None or not zeros or "#" in match["whole"][match["whole"].find("0") :]:
        raise UnknownFormatError("a pattern such as `0`, `#,##0` or `#,##0.00`")
    least = rf"(?:\d{{{zeros}}}|[1-9]\d{{{zeros},}})"
    if match["least"] is None:
        return least, None
    if whole:
        raise UnknownFormatError("a pattern without decimals for whole numbers")
    digits = len(match["least"])
    if not digits + len(match["more"]):
        raise UnknownFormatError("a pattern with digits behind its point, as in `0.00`")
    return least, (digits, digits + len(match["more"]))


def _number_shape(
    decimal_char: str, group_char: str | None, digits: tuple[int, int] | None, *, exponent: bool
) -> str:
    whole = r"\d{1,100}"
    if group_char is not None:
        whole = rf"\d{{1,3}}(?:{re.escape(group_char)}\d{{3}}){{1,33}}|{whole}"
    shape = rf"(?P<sign>[+-])?(?P<whole>{whole})"
    if digits is None:
        shape += "(?P<fraction>(?!))?"
    else:
        least, most = digits
        optional = "" if least and digits != (1, _MOST_DIGITS) else "?"
        shape += rf"(?:{re.escape(decimal_char)}(?P<fraction>\d{{{max(least, 1)},{most}}})){optional}"
    return shape + (r"(?P<exponent>[eE][+-]?\d{1,3})?" if exponent else "(?P<exponent>(?!))?")
