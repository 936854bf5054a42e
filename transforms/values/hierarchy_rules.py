"""Hierarchies that are made for a column by a rule, whose ends come from its parameters alone."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Final

from smalti.transforms.base import Datatype
from smalti.transforms.values.decimal_digits import plain
from smalti.transforms.values.hierarchy import HierarchyError, HierarchyProblem, Ladders, ladders_of

ROOT: Final = "*"
_EPOCH: Final = date(1970, 1, 1)

Ladder = tuple[str, ...]


class NoPlaceError(ValueError):
    """Some values have no place in a hierarchy; carries how many."""

    def __init__(self, count: int) -> None:
        super().__init__("values without a place")
        self.count = count


def interval_ladders(
    texts: Sequence[str], datatype: Datatype, width: Fraction, start: Fraction, fan_outs: Sequence[int]
) -> Ladders:
    """Intervals of equal width from a start; on each further level as many become one as the fan-out says.

    Labels: `20..24` for whole numbers, `20..<25` for others, `2020-01-01..2020-01-07` for dates.

    Args:
        texts: values of the datatype: integer, decimal, double or date.
        datatype: theirs.
        width: above 0; whole for integers, and for dates, whose widths are in days.
        start: an end of an interval; for dates, days since 1970-01-01.
        fan_outs: each at least 2.
    """
    widths = list(accumulate((width, *fan_outs), mul))

    def ladder(text: str) -> Ladder:
        number = _number(text, datatype)
        lows = [start + (number - start) // size * size for size in widths]
        labels = (_interval(low, low + size, datatype) for low, size in zip(lows, widths, strict=True))
        return (text, *labels, ROOT)

    return _ladders(texts, ladder, len(widths) + 2)


def _number(text: str, datatype: Datatype) -> Fraction:
    if datatype is Datatype.DATE:
        return Fraction((date.fromisoformat(text) - _EPOCH).days)
    # Doubles are the numbers that they are nearest to: two texts of one double have one place.
    return Fraction(float(text)) if datatype is Datatype.DOUBLE else Fraction(Decimal(text))


def _interval(low: Fraction, high: Fraction, datatype: Datatype) -> str:
    match datatype:
        case Datatype.DATE:
            first, last = (_day(int(end)) for end in (low, high - 1))
            return f"{first}..{last}"
        case Datatype.INTEGER:
            return f"{low}..{high - 1}"
    return f"{plain(low)}..<{plain(high)}"


def _day(number: int) -> date:
    try:
        return _EPOCH + timedelta(days=number)
    except OverflowError:  # beyond the calendar, where no value is
        return date.max if number > 0 else date.min


CALENDAR_UNITS: Final = ("month", "quarter", "year", "decade")
"""From the finest to the coarsest; each ends where one of the finer ones does."""


def calendar_ladders(texts: Sequence[str], units: Sequence[str]) -> Ladders:
    """Days, and the months, quarters, years or decades that they are in.

    Labels: `1960-05`, `1960-Q2`, `1960`, `1960s`.

    Args:
        texts: dates.
        units: some of `CALENDAR_UNITS`, in their order.
    """

    def ladder(text: str) -> Ladder:
        return (text, *(_unit(text, unit) for unit in units), ROOT)

    return _ladders(texts, ladder, len(units) + 2)


def _unit(text: str, unit: str) -> str:
    match unit:
        case "month":
            return text[:7]
        case "quarter":
            return f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"
        case "year":
            return text[:4]
    return f"{text[:3]}0s"


def prefix_ladders(texts: Sequence[str], lengths: Sequence[int]) -> Ladders:
    """The first characters of codes, fewer on each level.

    Args:
        texts: the codes.
        lengths: how many characters stay, falling, at least 1; shorter codes stay whole.
    """

    def ladder(text: str) -> Ladder:
        return (text, *(text[:length] for length in lengths), ROOT)

    return _ladders(texts, ladder, len(lengths) + 2)


def masking_ladders(texts: Sequence[str], width: int, *, from_right: bool) -> Ladders:
    """Characters of codes replaced with `*`, one more on each level; all of them at the last.

    Args:
        texts: the codes.
        width: the most characters that a code has.
        from_right: whether the last characters are masked first.

    Raises:
        NoPlaceError: codes are longer.
        HierarchyError: codes have one character, and others more: the mask of the former is that of all.
    """
    longer = sum(len(text) > width for text in texts)
    if longer:
        raise NoPlaceError(longer)
    single = sum(len(text) == 1 for text in texts)
    if single and width > 1:
        raise HierarchyError([
            HierarchyProblem(
                f"{single} codes have one character, whose mask is `{ROOT}`, the label of all codes",
                "codes of two characters or more, or a `width` of 1",
                "declare another rule, such as `prefixes`",
            )
        ])  # fmt: skip

    def ladder(text: str) -> Ladder:
        return (text, *(_masked(text, count, from_right) for count in range(1, width)), ROOT)

    return _ladders(texts, ladder, width + 1)


def all_or_nothing_ladders(texts: Sequence[str]) -> Ladders:
    """Each value by itself, then `*`."""
    return _ladders(texts, lambda text: (text, ROOT), 2)


def _masked(text: str, count: int, from_right: bool) -> str:
    masked = min(count, len(text))
    kept = len(text) - masked
    return text[:kept] + "*" * masked if from_right else "*" * masked + text[masked:]


def ordered_ladders(values: Sequence[str], fan_outs: Sequence[int]) -> Ladders:
    """A list of values in their order; on each level as many neighbours become one as the fan-out says.

    Labels: the first and the last value of a group, `primary..secondary`; a value alone stays itself.

    Args:
        values: each once.
        fan_outs: each at least 2.
    """
    sizes = list(accumulate(fan_outs, mul))

    def rows() -> Iterator[Ladder]:
        for place, value in enumerate(values):
            groups = (values[place // size * size : (place // size + 1) * size] for size in sizes)
            labels = (f"{group[0]}..{group[-1]}" if len(group) > 1 else group[0] for group in groups)
            yield (value, *labels, ROOT)

    return ladders_of(list(rows()))


def _ladders(texts: Sequence[str], ladder: Callable[[str], Ladder], levels: int) -> Ladders:
    return ladders_of([ladder(text) for text in texts]) if texts else _none(levels)


def _none(levels: int) -> Ladders:
    return tuple(column[:0] for column in ladders_of([("",) * levels]))
