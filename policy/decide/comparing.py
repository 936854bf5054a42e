"""Compares two typed values: known to hold, known not to, or not known.

| value, reference | `eq` | order |
|---|---|---|
| two numbers | exact | exact |
| two texts | by code points; of two durations that are written differently unknown | unknown |
| two truth values | exact | unknown |
| two IRIs, where the operand has a hierarchy | the value is the same or narrower | unknown |
| two other IRIs | the same IRI; `isA` of different ones is unknown | unknown |
| two days | as days of the calendar | as days of the calendar |
| points in time, days | unknown where it depends on a time zone that is not stated | likewise |
| two values of different types | unknown | unknown |

A point in time without time zone may be up to 14 hours earlier or later than the same reading in UTC, and a
day begins as much earlier or later. `lteq` of a day as reference includes the day, `gt` begins after it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

from smalti.policy.decide.decision import Finding
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.model.iris import normalised_iri
from smalti.policy.model.model import Day, Instant, Named, Number, Operator, Text, Truth, Value
from smalti.vocab.terms import IRI

SATISFIED: Final = Finding.SATISFIED
UNSATISFIED: Final = Finding.UNSATISFIED
UNKNOWN: Final = Finding.UNKNOWN

_ZONES: Final = timedelta(hours=14)
"""The farthest that a time zone is from UTC (XML Schema 1.1 part 2, 3.3.7)."""
_LAST: Final = timedelta(days=1) - timedelta(microseconds=1)
_PART: Final = "[0-9]+(?:[.,][0-9]+)?"
_DURATION: Final = re.compile(
    rf"\s*[+-]?P(?=[0-9T])(?:{_PART}[YMWD])*(?:T(?=[0-9])(?:{_PART}[HMS])+)?\s*", re.ASCII
)
_LIKE_A_DURATION: Final = re.compile(r"\s*[+-]?P[0-9T]", re.ASCII)
_LONGEST_DURATION: Final = 64
"""Of longer texts only the beginning is compared, so that no text makes it slow."""
_OPPOSITES: Final = {Operator.GT: Operator.LTEQ, Operator.GTEQ: Operator.LT, Operator.NEQ: Operator.EQ}


def finding(holds: bool) -> Finding:
    """The finding of a known truth value."""
    return SATISFIED if holds else UNSATISFIED


def negated(outcome: Finding) -> Finding:
    """Kleene's negation."""
    if outcome is UNKNOWN:
        return UNKNOWN
    return UNSATISFIED if outcome is SATISFIED else SATISFIED


def compare(operator: Operator, value: Value, reference: Value, hierarchy: Hierarchy | None) -> Finding:
    """Whether a comparison of one value with one reference holds.

    Args:
        operator: `eq`, `isA`, `isPartOf` or `hasPart`, or one of order.
        value: the known value.
        reference: the value in the condition.
        hierarchy: the hierarchy of the operand's IRIs, where there is one.
    """
    if operator in _OPPOSITES:
        return negated(compare(_OPPOSITES[operator], value, reference, hierarchy))
    match value, reference:
        case Named(iri=iri), Named(iri=wanted):
            return _of_concepts(operator, iri, wanted, hierarchy)
        case ((Instant() | Day()), (Instant() | Day())):
            return _of_times(operator, value, reference)
        case Number(value=number), Number(value=wanted_number):
            return _of_numbers(operator, number, wanted_number)
        case (Text(), Text()) | (Truth(), Truth()) if operator is Operator.EQ:
            return UNKNOWN if _are_two_durations(value, reference) else finding(value == reference)
    return UNKNOWN


def _of_concepts(operator: Operator, value: IRI, reference: IRI, hierarchy: Hierarchy | None) -> Finding:
    if operator is Operator.HAS_PART:
        value, reference = reference, value
    elif operator not in {Operator.EQ, Operator.IS_A, Operator.IS_PART_OF}:
        return UNKNOWN
    if hierarchy is not None:
        return hierarchy.relation(value, reference)
    if normalised_iri(value) == normalised_iri(reference):
        return SATISFIED
    return UNSATISFIED if operator is Operator.EQ else UNKNOWN


def _are_two_durations(value: Value, reference: Value) -> bool:
    """Whether durations are written differently: PT24H is P1D, and a month may be P30D."""
    return value != reference and _is_duration(value) and _is_duration(reference)


def _is_duration(value: Value) -> bool:
    """Whether a value is a text that looks like a duration of ISO 8601."""
    if not isinstance(value, Text):
        return False
    form = _DURATION.fullmatch if len(value.text) <= _LONGEST_DURATION else _LIKE_A_DURATION.match
    return form(value.text) is not None


def _of_numbers(operator: Operator, value: Decimal, reference: Decimal) -> Finding:
    if value.is_nan() or reference.is_nan():
        return UNKNOWN
    match operator:
        case Operator.EQ:
            return finding(value == reference)
        case Operator.LT:
            return finding(value < reference)
        case Operator.LTEQ:
            return finding(value <= reference)
    return UNKNOWN


# --- Time


@dataclass(frozen=True, slots=True)
class Span:
    """When something begins and ends at the earliest and at the latest, the ends included; in UTC."""

    earliest_start: datetime
    latest_start: datetime
    earliest_end: datetime
    latest_end: datetime


def span(value: Instant | Day) -> Span:
    """The span of a point in time, or of a day."""
    if isinstance(value, Day):
        start = datetime.combine(value.day, time(), UTC)
        end = start + _LAST
    elif value.time.tzinfo is not None:
        moment = _in_utc(value.time)
        return Span(moment, moment, moment, moment)
    else:
        start = end = value.time.replace(tzinfo=UTC)
    return Span(_moved(start, -_ZONES), _moved(start, _ZONES), _moved(end, -_ZONES), _moved(end, _ZONES))


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return _limit(moment.year > date.min.year)


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return _limit(by > timedelta())


def _limit(is_last: bool) -> datetime:
    return (datetime.max if is_last else datetime.min).replace(tzinfo=UTC)


def _of_times(operator: Operator, value: Instant | Day, reference: Instant | Day) -> Finding:
    if isinstance(value, Day) and isinstance(reference, Day):
        return _of_numbers(operator, Decimal(value.day.toordinal()), Decimal(reference.day.toordinal()))
    actual, wanted = span(value), span(reference)
    first, last = actual.earliest_start, actual.latest_end
    match operator:
        case Operator.LT:
            return _decided(last < wanted.earliest_start, first >= wanted.latest_start)
        case Operator.LTEQ:
            return _decided(last <= wanted.earliest_end, first > wanted.latest_end)
        case Operator.EQ:
            inside = first >= wanted.latest_start and last <= wanted.earliest_end
            return _decided(inside, last < wanted.earliest_start or first > wanted.latest_end)
    return UNKNOWN


def _decided(holds: bool, fails: bool) -> Finding:
    if holds:
        return SATISFIED
    return UNSATISFIED if fails else UNKNOWN
