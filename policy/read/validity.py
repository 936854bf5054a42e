"""When a policy is in force: `dct:valid` (DCMI Metadata Terms; ISO 8601-1 intervals, DCMI Period)."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from smalti.policy.document.nodes import Literal, Node, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Interval
from smalti.policy.read.values import Scope, one_value
from smalti.vocab.terms import DCT, VALID, XSD

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(.*)", re.ASCII
)
_ZONE: Final = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")
_OPEN: Final = frozenset({"", ".."})
_DATATYPES: Final = frozenset({None, XSD + "string", DCT + "Period"})
_EXAMPLE: Final = 'write "2026-01-01/2026-12-31", or "2026-01-01/.." where it does not end'
_LONGEST: Final = 200


class _Unusable(Exception):  # noqa: N818 (never leaves this module)
    """What is wrong with an interval, and the way out."""

    def __init__(self, problem: str, help_: str = _EXAMPLE) -> None:
        super().__init__(problem)
        self.problem = problem
        self.help = help_


def read_valid(policy: Node, scope: Scope) -> Interval | None:
    """The interval in which a policy is in force; None when it names none, or after an error.

    Contract: `start/end`, or DCMI's `start=...; end=...`. Both are days, or times with their zone; an end
    that is a day includes this day, one that is a time does not include it. A day begins at 0:00 in UTC.
    `..` or nothing leaves one side open.
    """
    value = one_value(policy, VALID, scope)
    if value is None:
        return None
    try:
        return _interval(*_halves(_text(value)))
    except _Unusable as error:
        scope.findings.error("P325", value.place, error.problem, error.help)
        return None


def _text(value: Value) -> str:
    usable = isinstance(value, Literal) and value.is_text and not value.has_language
    if not isinstance(value, Literal) or not usable or value.datatype not in _DATATYPES:
        raise _Unusable("the interval of a policy must be a text")
    if len(value.text) > _LONGEST:
        raise _Unusable(f"the interval of a policy has at most {_LONGEST} characters")
    return value.text.strip()


def _halves(text: str) -> tuple[str, str]:
    if "=" in text:
        return _period(text)
    halves = text.split("/")
    if len(halves) != 2:
        raise _Unusable(
            f"{quoted(text)} is not an interval: it requires a start and an end with `/` between them"
        )
    return halves[0].strip(), halves[1].strip()


def _period(text: str) -> tuple[str, str]:
    """The parts of a DCMI Period; its name and its scheme (only W3C-DTF) have no effect."""
    parts: dict[str, str] = {}
    for part in text.rstrip(";").split(";"):
        name, separator, content = (piece.strip() for piece in part.partition("="))
        if not separator or name not in {"start", "end", "scheme", "name"} or name in parts:
            raise _Unusable(f"{quoted(text)} is not a period: `{name}` is unknown or repeated" if separator
                            else f"{quoted(text)} is not a period")  # fmt: skip
        parts[name] = content
    if parts.get("scheme", "W3C-DTF") != "W3C-DTF":
        raise _Unusable(f"the scheme {quoted(parts['scheme'])} is unknown", "remove it, or write W3C-DTF")
    return parts.get("start", ""), parts.get("end", "")


def _interval(start: str, end: str) -> Interval:
    if start in _OPEN and end in _OPEN:
        raise _Unusable(
            "the interval has no start and no end", "remove it: the policy is then always in force"
        )
    begin = None if start in _OPEN else _first(start)
    until = None if end in _OPEN else _after(end)
    if begin is not None and until is not None and begin >= until:
        raise _Unusable(f"the interval ends before it starts: {quoted(start)} is not before {quoted(end)}")
    return Interval(begin, until)


def _first(text: str) -> datetime:
    return _midnight(_day(text)) if _DAY.fullmatch(text) else _time(text)


def _after(text: str) -> datetime | None:
    """The first instant after the end; None: later than any that can be written."""
    if not _DAY.fullmatch(text):
        return _time(text)
    day = _day(text)
    return None if day == date.max else _midnight(day + timedelta(days=1))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _Unusable(f"the day {quoted(text)} does not exist") from None


def _time(text: str) -> datetime:
    match = _TIME.fullmatch(text)
    if match is None:
        raise _Unusable(f"{quoted(text)} is neither a day nor a time of a day")
    if not match[3]:
        raise _Unusable(
            f"the time {quoted(text)} has no time zone", "add `Z`, or an offset such as `+02:00`"
        )
    if not _ZONE.fullmatch(match[3]):
        raise _Unusable(f"the time {quoted(text)} has an unknown time zone", "write `Z` or `+02:00`")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _Unusable(f"the time {quoted(text)} does not exist") from None
