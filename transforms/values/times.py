"""Dates and date-times as whole numbers, by the proleptic Gregorian calendar and by the rules of zones.

Texts are of the lexical form of a date or a date-time (`values.texts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.transforms.problem import Integers

_EPOCH: Final = datetime(1970, 1, 1)
_FIRST_DAY: Final = (date.min - _EPOCH.date()).days
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
_SPANS: Final = (_DAY, _HOUR, 1)
MOST_PLACES: Final = 9
_FRACTION: Final = len("YYYY-MM-DDThh:mm:ss.")
_CHUNK: Final = 1 << 20
_UNSTATED: Final = 1 << 30
_CHANGES: Final = 1 << 30


class NoSuchTimeError(ValueError):
    """There is no such day, time or local time, or some time cannot be compared; says not which."""


@dataclass(frozen=True, slots=True)
class Instants:
    """Points in time: seconds since 1970 in UTC, and a fraction of the next second."""

    seconds: Integers
    nanoseconds: Integers
    places: int
    """The decimal places of seconds that some text has; at most 9."""

    def narrow(self, places: int) -> Integers | None:
        """Units of 10 ** -places seconds since 1970; None where they leave 62 bits."""
        unit = 10**places
        if (int(np.max(np.abs(self.seconds), initial=0)) + 1) * unit > 1 << 62:
            return None
        numbers: Integers = self.seconds * unit + self.nanoseconds // 10 ** (MOST_PLACES - places)
        return numbers

    def wide(self, places: int) -> NDArray[np.object_]:
        """As `narrow`, of any size."""
        fractions = self.nanoseconds // 10 ** (MOST_PLACES - places)
        numbers: NDArray[np.object_] = self.seconds.astype(np.object_) * 10**places + fractions
        return numbers


@dataclass(frozen=True, slots=True)
class _Read:
    local: Integers
    """Seconds since 1970 by the clock that the text is about."""
    offsets: Integers
    """Seconds that this clock is ahead of UTC, or `_UNSTATED`."""
    nanoseconds: Integers
    places: int


def days(texts: pa.Array) -> Integers:
    """Days since 1970-01-01.

    Raises:
        NoSuchTimeError: the calendar has no such day, or it is before the year 1.
    """
    try:
        dates = texts.cast(pa.date32())
    except pa.ArrowInvalid:  # it quotes the text
        raise NoSuchTimeError from None
    numbers: Integers = dates.view(pa.int32()).to_numpy(zero_copy_only=False).astype(np.int64)
    if np.any(numbers < _FIRST_DAY):
        raise NoSuchTimeError
    return numbers


def instants(texts: pa.Array, zone: ZoneInfo | None) -> Instants:
    """When these date-times are; those that state no zone are read by the clocks of `zone`.

    Of two instants with the same local time, when clocks go back, the first is meant.

    Raises:
        NoSuchTimeError: there is no such day, time or local time; or some of the texts state their
            zone, others do not, and there is no `zone` for these.
    """
    parts = [_read(texts.slice(start, _CHUNK)) for start in range(0, len(texts), _CHUNK)]
    local, offsets, nanoseconds = (
        np.concatenate(columns)
        for columns in zip(*((part.local, part.offsets, part.nanoseconds) for part in parts), strict=True)
    )
    unstated = offsets == _UNSTATED
    if zone is not None:
        offsets[unstated] = _local_offsets(local[unstated], zone)
    elif np.all(unstated):
        offsets[:] = 0
    elif np.any(unstated):
        raise NoSuchTimeError
    return Instants(local - offsets, nanoseconds, max(part.places for part in parts))


def second_places(texts: pa.Array) -> int:
    """The most decimal places of seconds that one of these date-times is written with."""
    characters = _Characters(texts)
    return _most_places(characters.lengths - _offsets(characters)[1])


def _most_places(ends: Integers) -> int:
    return max(0, int(np.max(ends, initial=0)) - _FRACTION)


class _Characters:
    """The characters of ASCII texts, by their place in each."""

    def __init__(self, texts: pa.Array) -> None:
        _, offsets, data = texts.cast(pa.large_string()).buffers()
        bounds = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
        self._characters = np.frombuffer(data, np.uint8)
        self._starts, self._last = bounds[:-1], bounds[1:] - 1
        self.lengths: Integers = bounds[1:] - bounds[:-1]

    def at(self, place: int | Integers) -> NDArray[np.uint8]:
        """The character at a place of each text, or its last one where the text is shorter."""
        characters: NDArray[np.uint8] = self._characters[np.minimum(self._starts + place, self._last)]
        return characters

    def digit(self, place: int | Integers) -> Integers:
        return self.at(place).astype(np.int64) - ord("0")

    def number(self, place: int | Integers) -> Integers:
        """That of the two digits from a place on."""
        return 10 * self.digit(place) + self.digit(place + 1)


def _read(texts: pa.Array) -> _Read:
    """Take `YYYY-MM-DDThh:mm`, `:ss`, `.` and up to 9 digits, and `Z` or `+hh:mm`, apart."""
    characters = _Characters(texts)
    lengths = characters.lengths
    offsets, stated = _offsets(characters)
    ends = lengths - stated
    seconds = np.where(ends > len("YYYY-MM-DDThh:mm"), characters.number(17), 0)
    if np.any(seconds >= _MINUTE):
        raise NoSuchTimeError
    places = _most_places(ends)
    fractions = np.zeros(len(texts), np.int64)
    for place in range(_FRACTION, _FRACTION + places):
        fractions = 10 * fractions + np.where(place < ends, characters.digit(place), 0)
    nanoseconds = fractions * 10 ** (MOST_PLACES - places)
    return _Read(_minutes(texts) + seconds, offsets, nanoseconds, places)


def _minutes(texts: pa.Array) -> Integers:
    """Seconds from 1970 to the minute that each text begins with."""
    begun = pc.binary_slice(texts.cast(pa.large_binary()), 0, 16).cast(pa.large_string())
    try:
        moments = begun.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:  # it quotes the text
        raise NoSuchTimeError from None
    numbers: Integers = moments.view(pa.int64()).to_numpy(zero_copy_only=False)
    if np.any(numbers < _FIRST_DAY * _DAY):
        raise NoSuchTimeError
    return numbers


def _offsets(characters: _Characters) -> tuple[Integers, Integers]:
    """The seconds that each text's clock is ahead of UTC, and how many characters say so."""
    lengths = characters.lengths
    is_utc = characters.at(lengths - 1) == ord("Z")
    signs = characters.at(lengths - len("+hh:mm"))
    is_behind = signs == ord("-")
    is_signed = is_behind | (signs == ord("+"))
    minutes = 60 * characters.number(lengths - len("hh:mm")) + characters.number(lengths - len("mm"))
    shifts = _MINUTE * np.where(is_signed, minutes, 0)
    if np.any(shifts >= _DAY):
        raise NoSuchTimeError
    offsets = np.where(is_signed | is_utc, np.where(is_behind, -shifts, shifts), _UNSTATED)
    return offsets, np.where(is_signed, len("+hh:mm"), is_utc.astype(np.int64))


def _local_offsets(local: Integers, zone: ZoneInfo, spans: Sequence[int] = _SPANS) -> Integers:
    """The seconds that a zone's clocks are ahead of UTC at each local time.

    Asks the zone once for each span of time (a day, then an hour, then a second) that has the same
    offset from its first second to its last.

    # INVARIANT: no zone changes its offset and changes it back within one day; a test looks.
    """
    span, finer = spans[0], spans[1:]
    starts, spent = np.unique(local // span, return_inverse=True)
    ahead = [_offset_throughout(start * span, span, zone) for start in starts.tolist()]
    offsets = np.array(ahead, np.int64)[spent]
    changing = offsets == _CHANGES
    if np.any(changing):
        offsets[changing] = _local_offsets(local[changing], zone, finer)
    return offsets


def _offset_throughout(start: int, span: int, zone: ZoneInfo) -> int:
    """The offset of all local times of a span; `_CHANGES` where not all have the same, or exist.

    Raises:
        NoSuchTimeError: none of them exists.
    """
    first = _offset(start, zone)
    if first != _offset(start + span - 1, zone):
        return _CHANGES
    if first is None:
        raise NoSuchTimeError
    return first


def _offset(local: int, zone: ZoneInfo) -> int | None:
    """None where there is no such local time, for clocks went forward, or no such year in UTC."""
    moment = _EPOCH + timedelta(seconds=local)
    instant = moment.replace(tzinfo=zone)
    try:
        shown = instant.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None
    offset = instant.utcoffset()
    return None if shown != moment or offset is None else offset // timedelta(seconds=1)
