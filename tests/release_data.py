"""Small data sets for releases, their exact aggregates in plain Python, and plans around statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OutputFormat, RespondentColumn
from smalti.engine.plan.reads import BoundContributions, Key, Measure, Mechanism, ReadRows
from smalti.engine.releases.aggregate import Aggregates
from smalti.engine.releases.calibrate import AllowedLoss, Wish, calibrate
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Statistic, StatisticKind, WriteTable
from smalti.transforms.sensitivity import NeighboringRelation, rank_utilities
from smalti.vocab.terms import IRI

ALL = frozenset(Mechanism)
PURE = ALL - {Mechanism.GAUSSIAN}
NORMAL = ALL - {Mechanism.LAPLACE}
ADD, CHANGE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.CHANGE_ONE
ONE_ROW = BoundContributions(ADD, 1, 1)

GROUPS = Key("group", ("a", "b", "c"))
PRIVATE = Key("group", is_private=True)
CATEGORIES = Key("category", ("x", "y"))
AGE = Measure("age", Decimal(0), Decimal(120), Decimal(1), Decimal(60))


@dataclass(frozen=True)
class Row:
    group: str
    category: str
    units: int | None
    """From the origin; None where the value is missing."""


Data = Mapping[str, Sequence[Row]]
"""By respondent."""


def statistic(
    kind: StatisticKind, *keys: Key, measure: Measure | None = AGE, choices: int = 0
) -> Statistic:
    candidates = ("0", "30", "60", "90", "120") if kind is StatisticKind.QUANTILE else ()
    return Statistic(str(kind), kind, keys, (), measure, candidates=candidates, choices=choices)


def allowed(
    epsilon: str | None = None,
    delta: str = "0",
    *,
    belief: str | None = None,
    advantage: str | None = None,
    mechanisms: frozenset[Mechanism] = ALL,
) -> AllowedLoss:
    numbers = (None if text is None else Decimal(text) for text in (epsilon, belief, advantage))
    return AllowedLoss(*numbers, Decimal(delta), mechanisms)


def planned(
    wishes: Sequence[Wish], bound: BoundContributions, loss: AllowedLoss, confidence: str = "0.95"
) -> ReleasePlan:
    return plan(*calibrate(tuple(wishes), bound, loss, "https://a.example/policy"), bound, confidence)


def plan(
    statistics: Sequence[Statistic], loss: PlannedLoss, bound: BoundContributions, confidence: str = "0.95"
) -> ReleasePlan:
    return ReleasePlan(
        ReadRows(IRI("https://a.example/data"), (), RespondentColumn("who")),
        bound,
        tuple(statistics),
        loss,
        WriteTable(IRI("https://a.example/output"), OutputFormat.CSV, Decimal(confidence)),
    )


def with_scales(one: Statistic, factor: float) -> Statistic:
    """The statistic with another noise than it was calibrated to."""
    return replace(one, parts=tuple(replace(part, scale=part.scale * factor) for part in one.parts))


# --- Exact aggregates ---------------------------------------------------------------------------


def labels(one: Statistic, row: Row) -> tuple[str, ...]:
    groups = one.keys[: len(one.keys) - one.choices]
    return tuple(getattr(row, key.column) for key in groups)


def kept(one: Statistic, rows: Sequence[Row], bound: BoundContributions) -> list[Row]:
    """The first rows of a respondent in its first groups, of those that take part."""
    some = [row for row in rows if one.measure is None or row.units is not None]
    public = [
        row
        for row in some
        if all(key.is_private or getattr(row, key.column) in key.values for key in one.keys)
    ]
    first = list(dict.fromkeys(labels(one, row) for row in public))[: bound.groups]
    return [row for row in public if labels(one, row) in first][: bound.rows]


def aggregates(one: Statistic, data: Data, bound: BoundContributions) -> Aggregates:
    by_respondent = {who: kept(one, rows, bound) for who, rows in data.items()}
    rows = [row for some in by_respondent.values() for row in some]
    occurring = sorted({labels(one, row) for row in rows})
    keys = one.keys[: len(one.keys) - one.choices]
    groups = occurring if any(key.is_private for key in keys) else _product(keys)
    people = [
        sum(any(labels(one, r) == g for r in some) for some in by_respondent.values()) for g in groups
    ]
    amounts = tuple(
        tuple(_amount(one, part, [row for row in rows if labels(one, row) == g]) for g in groups)
        for part in one.parts
    )
    return Aggregates(tuple(groups), amounts, tuple(people) if one.selection else ())


def _product(keys: Sequence[Key]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for key in keys:
        found = [(*labels, value) for labels in found for value in key.values]
    return found


def _amount(one: Statistic, part: Part, rows: Sequence[Row]) -> tuple[int, ...]:
    units = [row.units or 0 for row in rows]
    match part.quantity:
        case Quantity.ROWS:
            return (len(rows),)
        case Quantity.SUM:
            return (sum(units),)
        case Quantity.SQUARES:
            return (sum(value * value for value in units),)
        case Quantity.DISTINCT:
            return (len({(row.category, row.units) for row in rows}),)
        case Quantity.FREQUENCIES:
            seen = Counter(row.category for row in rows)
            return tuple(seen[value] for value in one.keys[-1].values)
    assert one.measure is not None
    assert part.level is not None
    places = [int((Decimal(text) - one.measure.origin) / one.measure.unit) for text in one.candidates]
    below = [sum(value < place for value in units) for place in places]
    upto = [sum(value <= place for value in units) for place in places]
    return tuple(rank_utilities(below, upto, len(rows), Fraction(part.level)))


def repeated(one: Statistic, exact: Aggregates, runs: int) -> tuple[Statistic, Aggregates]:
    """Independent runs of a release in one: each group is there as often, under a further public key."""
    names = tuple(str(run) for run in range(runs))
    key = Key("run", names)
    return (
        replace(one, keys=(key, *one.keys)),
        Aggregates(
            tuple((name, *group) for name in names for group in exact.groups),
            tuple(tuple(of_part) * runs for of_part in exact.amounts),
            exact.respondents * runs,
        ),
    )
