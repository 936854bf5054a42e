"""Exact aggregates of a release by brute force, in plain Python, from the same plan; shared by tests."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import product
from zoneinfo import ZoneInfo

from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.reads import Key, Measure, ReadColumn
from smalti.engine.releases.plan import Quantity, ReleasePlan, Statistic
from smalti.transforms.base import Datatype

NUMBERS = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
FORMS = {
    Datatype.INTEGER: r"-?(0|[1-9]\d{0,99})",
    Datatype.DECIMAL: r"-?(0|[1-9]\d{0,99})(\.\d{1,100})?",
    Datatype.DOUBLE: r"-?(0|[1-9]\d{0,99})(\.\d{1,100})?([eE][+-]?\d{1,3})?",
    Datatype.DATE: r"\d{4}-\d\d-\d\d",
    Datatype.DATETIME: r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:[0-5]\d)?",
}
Row = Sequence[str]
Found = tuple[tuple[tuple[str, ...], ...], tuple[tuple[tuple[int, ...], ...], ...], tuple[int, ...]]


def value_of(text: str, column: ReadColumn, datatype: Datatype | None = None) -> object:
    """What a text says, equal for equal values; None where it is no value of the datatype."""
    datatype = datatype or column.datatype
    if datatype is Datatype.STRING:
        return text.encode()
    if not re.fullmatch(FORMS[datatype], text, re.ASCII):
        return None
    if datatype in NUMBERS:
        return Fraction(text)
    try:
        if datatype is Datatype.DATE:
            return date.fromisoformat(text)
        return _moment(text, column.time_zone)
    except (ValueError, OverflowError):
        return None


def _moment(text: str, zone: str | None) -> object:
    whole, fraction = re.fullmatch(r"([^.]*)(\.\d+)?", text.removesuffix("Z"))[1], Fraction(0)  # type: ignore[index]
    if "." in text:
        digits = re.search(r"\.\d+", text)[0]  # type: ignore[index]
        whole, fraction = text.replace(digits, "").removesuffix("Z"), Fraction("0" + digits)
    moment = datetime.fromisoformat(whole + ("+00:00" if text.endswith("Z") else ""))
    if moment.tzinfo is None and zone is None:
        return "by no clock", moment, fraction
    if moment.tzinfo is None:
        there = moment.replace(tzinfo=ZoneInfo(zone or ""))
        if there.astimezone(UTC).astimezone(ZoneInfo(zone or "")).replace(tzinfo=None) != moment:
            return None  # clocks went forward
        moment = there
    return "instant", moment.astimezone(UTC), fraction


def same(text: str, column: ReadColumn) -> object:
    """Equal where two texts are one value; doubles are those of IEEE 754."""
    value = value_of(text, column)
    if value is not None and column.datatype is Datatype.DOUBLE:
        value = float(text)
    return ("text", text) if value is None else ("value", value)


def labels(key: Key) -> list[str]:
    if not key.edges:
        return list(key.values)
    pairs = list(zip(key.edges, key.edges[1:], strict=False))
    return [f"[{a}..{b}{']' if place == len(pairs) - 1 else ')'}" for place, (a, b) in enumerate(pairs)]


def label_of(text: str, key: Key, column: ReadColumn) -> str | None:
    """The label of a row's group; None where it is in none."""
    if text == "":
        return None
    if key.is_private:
        return text
    if not key.edges:
        return text if text in key.values else None
    datatype = column.datatype
    if datatype is Datatype.STRING and all(
        re.fullmatch(FORMS[Datatype.DOUBLE], edge) for edge in key.edges
    ):
        datatype = Datatype.DOUBLE
    form = Datatype.DOUBLE if datatype in NUMBERS else datatype
    value, ends = value_of(text, column, datatype), [value_of(edge, column, form) for edge in key.edges]
    if value is None or (datatype is Datatype.DATETIME and value[0] != ends[0][0]):  # type: ignore[index]
        return None
    for place, label in enumerate(labels(key)):
        is_last = place == len(ends) - 2
        low, high = ends[place], ends[place + 1]
        if low <= value < high or (is_last and value == high):  # type: ignore[operator]
            return label
    return None


def units_of(text: str, measure: Measure, column: ReadColumn) -> int:
    """Clamped, then rounded to units from the origin."""
    datatype = column.datatype if column.datatype in NUMBERS else Datatype.DOUBLE
    number = value_of(text, column, datatype)
    lower, upper, origin, unit = map(Fraction, (measure.lower, measure.upper, measure.origin, measure.unit))
    if number is None:
        return math.floor(((upper - lower) / unit) / 2) + int((lower - origin) / unit)
    assert isinstance(number, Fraction)
    return round((min(max(number, lower), upper) - origin) / unit)


def bounded(rows: list[tuple[object, object, int]], most_groups: int, most_rows: int) -> list[int]:
    """Of (respondent, group, row) those rows that count, by a walk through each respondent's own."""
    kept = []
    for person in {who for who, _, _ in rows}:
        own = sorted((row, group) for who, group, row in rows if who == person)
        first: list[object] = []
        for _, group in own:
            if group not in first:
                first.append(group)
        kept += [row for row, group in own if group in first[:most_groups]][:most_rows]
    return kept


def oracle(plan: ReleasePlan, statistic: Statistic, header: Sequence[str], table: Sequence[Row]) -> Found:
    """Groups, amounts and respondents, as `Aggregates` has them."""
    column = {name: plan.read.column(name) for name in header}
    respondent = plan.read.respondent
    who_column = respondent.column if isinstance(respondent, RespondentColumn) else None
    used = []
    for number, row in enumerate(table):
        text = dict(zip(header, row, strict=True))
        key = tuple(label_of(text[k.column], k, column[k.column]) for k in statistic.keys)
        needed = [statistic.measure and statistic.measure.column, statistic.counted, who_column]
        if None in key or any(name is not None and text[name] == "" for name in needed):
            continue
        who: object = number if who_column is None else same(text[who_column], column[who_column])
        used.append((who, key, number))
    if who_column is not None:
        kept = set(bounded(used, plan.bound.groups, plan.bound.rows))
        used = [one for one in used if one[2] in kept]
    split = len(statistic.keys) - statistic.choices
    rows: dict[tuple[str, ...], list[tuple[object, tuple[str, ...], dict[str, str]]]] = defaultdict(list)
    for who, key, number in used:
        rows[key[:split]].append((who, key[split:], dict(zip(header, table[number], strict=True))))
    keys = statistic.keys[:split]
    if any(key.is_private for key in keys):
        groups = tuple(sorted(rows, key=lambda found: [label.encode() for label in found]))
    else:
        groups = tuple(product(*map(labels, keys)))
    candidates = list(product(*map(labels, statistic.keys[split:])))

    def amount(  # noqa: PLR0911
        quantity: Quantity, level: Fraction | None, group: tuple[str, ...]
    ) -> tuple[int, ...]:
        here = rows.get(group, [])
        measure = statistic.measure
        units = (
            [units_of(text[measure.column], measure, column[measure.column]) for *_, text in here]
            if measure
            else []
        )
        match quantity:
            case Quantity.ROWS:
                return (len(here),)
            case Quantity.SUM:
                return (sum(units),)
            case Quantity.SQUARES:
                return (sum(number * number for number in units),)
            case Quantity.DISTINCT:
                name = statistic.counted or ""
                return (len({same(text[name], column[name]) for *_, text in here}),)
            case Quantity.RESPONDENTS:
                return (len({who for who, *_ in here}),)
            case Quantity.FREQUENCIES:
                return tuple(sum(chosen == one for _, chosen, _ in here) for one in candidates)
            case Quantity.RANKS:
                assert measure is not None
                assert level is not None
                return tuple(_utility(units, measure, text, level) for text in statistic.candidates)

    amounts = tuple(
        tuple(
            amount(part.quantity, None if part.level is None else Fraction(part.level), group)
            for group in groups
        )
        for part in statistic.parts
    )
    people = tuple(amount(Quantity.RESPONDENTS, None, group)[0] for group in groups)
    return groups, amounts, people if statistic.selection else ()


def _utility(units: list[int], measure: Measure, candidate: str, level: Fraction) -> int:
    """Minus the distance of the wanted rank from the ranks that the candidate has, or would have."""
    at = (Fraction(candidate) - Fraction(measure.origin)) / Fraction(measure.unit)
    below, upto = sum(one < at for one in units), sum(one <= at for one in units)
    wanted = max(math.ceil(level * len(units)) - 1, 0)
    ranks = range(below, max(upto, below + 1))
    return -min(abs(wanted - rank) for rank in ranks)
