"""Respondents who withdrew: known by keyed digests alone, and left out before anything is counted.

A registry keeps `Withdrawn.digests` for a target, made with `stored_digests` from the texts that the owner
lists. A run looks each respondent of the data up by `sought_forms`, so that every spelling of one value
is found, as the kernel counts respondents: `7` and `7.0` where the description says that they are
numbers, `0.1` and `0.10000000000000001` where it says that they are doubles, one instant in two time zones
where it says that they are date-times; else the text itself.
"""

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from smalti.engine.tables.secret import hmac_digest
from smalti.transforms.base import Datatype

_PURPOSE: Final = "withdrawn-respondent"
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
# As `transforms.values.texts.LEXICAL_FORMS`, which is not imported: a registry starts without numpy.
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?")
_DATETIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_FRACTION: Final = re.compile(r"\.([0-9]{1,9})")
_EPOCH: Final = datetime(1970, 1, 1)

Keyed = Callable[[str], str]
"""From a form to its keyed digest, under one secret."""


def keyed_with(secret: bytes) -> Keyed:
    """The keyed digests of forms under a registry's secret."""
    return lambda form: hmac_digest(secret, _PURPOSE, form.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The respondents who withdrew from a target; false if none did. It names nobody else."""

    digests: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    """The names of the respondent columns that they were listed by."""
    keyed: Keyed = field(default=str, compare=False, repr=False)
    count: int = 0
    """How many are listed; for the owner."""

    def __bool__(self) -> bool:
        return bool(self.digests)

    def includes(self, spellings: Iterable[str]) -> bool:
        """Whether one of these forms of a respondent's value is among them."""
        return any(map(self._knows, spellings))

    @property
    def known_form(self) -> Callable[[str], bool] | None:
        """A test whether a respondent who withdrew is known under a form; None if none withdrew."""
        return self._knows if self.digests else None

    def _knows(self, form: str) -> bool:
        return self.keyed(form) in self.digests


NOBODY: Final = Withdrawn()


def stored_digests(respondents: Iterable[str], keyed: Keyed) -> frozenset[str]:
    """What is kept of respondents: a digest for each way in which a column could mean the same value."""
    return frozenset(keyed(form) for text in respondents for form in _stored_forms(text))


def sought_forms(text: str, datatype: Datatype, time_zone: str | None) -> tuple[str, ...]:
    """The forms under which a value of a respondent column may have been stored."""
    spellings = [_text_form(text)]
    if datatype in _NUMBERS and _NUMBER.fullmatch(text):
        spellings.append(_number_form(text))
    if datatype is Datatype.DOUBLE and _NUMBER.fullmatch(text):
        spellings += [_number_form(repr(float(text))), _double_form(text)]
    if datatype is Datatype.DATETIME and _DATETIME.fullmatch(text):
        spellings += _moment_forms(text, time_zone)
    return tuple(spellings)


def _stored_forms(text: str) -> tuple[str, ...]:
    spellings = [_text_form(text)]
    if _NUMBER.fullmatch(text):
        spellings.append(_number_form(text))
        if _number_form(text) != _number_form(repr(float(text))):
            spellings.append(_double_form(text))
    if _DATETIME.fullmatch(text):
        spellings += _moment_forms(text, None)
    return tuple(spellings)


def _text_form(text: str) -> str:
    return f"text:{text}"


def _number_form(text: str) -> str:
    """`number:`, the digits without zeros at the ends, `e` and a power of ten."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    sign = "-" if whole.startswith("-") else ""
    digits = (whole.removeprefix("-") + fraction).lstrip("0")
    bare = digits.rstrip("0")
    if not bare:
        return "number:0e0"
    power = int(exponent or 0) - len(fraction) + len(digits) - len(bare)
    return f"number:{sign}{bare}e{power}"


def _double_form(text: str) -> str:
    """`double:` and the bits of the nearest double, those of zero for minus zero too."""
    return f"double:{struct.pack('>d', float(text) + 0.0).hex()}"


def _moment_forms(text: str, time_zone: str | None) -> tuple[str, ...]:
    """`instant:` and nanoseconds in UTC, `local:` and nanoseconds by the clock; both where a zone tells."""
    fraction = _FRACTION.search(text)
    nanoseconds = int(fraction[1].ljust(9, "0")) if fraction else 0
    zone = ZoneInfo(time_zone) if time_zone else None
    local: datetime | None
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text))
        if moment.tzinfo is None:
            local = moment
            instant = None if zone is None else moment.replace(tzinfo=zone).astimezone(UTC)
        else:
            instant = moment.astimezone(UTC)
            local = None if zone is None else moment.astimezone(zone).replace(tzinfo=None, fold=0)
            if local is not None and local.replace(tzinfo=zone).astimezone(UTC) != instant:
                local = None  # the second of two equal times, when clocks go back: nobody can have meant it
    except (ValueError, OverflowError):
        return ()
    times = []
    if instant is not None:
        times.append(f"instant:{_elapsed(instant.replace(tzinfo=None), nanoseconds)}")
    if local is not None:
        times.append(f"local:{_elapsed(local, nanoseconds)}")
    return tuple(times)


def _elapsed(moment: datetime, nanoseconds: int) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1) * 1_000_000_000 + nanoseconds
