"""Plans of releases on small random tables, and their aggregates on an engine; shared by tests."""

import random
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from hypothesis import strategies as st
from tables import TARGET, write_csv

from smalti.engine.backends.base import Backend
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Respondent, RespondentColumn
from smalti.engine.plan.reads import BoundContributions, Key, Measure, Mechanism, ReadColumn, ReadRows
from smalti.engine.releases.aggregate import Aggregates, aggregate
from smalti.engine.releases.plan import (
    Part,
    Quantity,
    ReleasePlan,
    Selection,
    Statistic,
    StatisticKind,
    WriteTable,
)
from smalti.engine.tables.description import Description, Source
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

HEADER = ("who", "city", "age", "spend", "note", "born", "seen", "clock")
ZONE = "Europe/Rome"
DATATYPES: Mapping[str, Datatype] = {
    "who": Datatype.DECIMAL,
    "age": Datatype.INTEGER,
    "spend": Datatype.DECIMAL,
    "born": Datatype.DATE,
    "seen": Datatype.DATETIME,
    "clock": Datatype.DATETIME,
}
Row = tuple[str, ...]


def part(quantity: Quantity, level: str | None = None) -> Part:
    return Part(quantity, Mechanism.LAPLACE, 1.0, None if level is None else Decimal(level))


def measure(column: str, lower: str, upper: str, unit: str, origin: str | None = None) -> Measure:
    return Measure(column, Decimal(lower), Decimal(upper), Decimal(unit), Decimal(origin or lower))


CITIES = Key("city", values=("Rome", "Nowhere", "Oslo", "", "[0..20)"))
ANY_CITY = Key("city", is_private=True)
ANY_WHO = Key("who", is_private=True)
AGES = Key("age", edges=("-3", "0", "7", "41.5", "1e3"))
NOTES = Key("note", edges=("0", "0.3", "1", "5"))
WORDS = Key("city", edges=("Bonn", "Oslo", "Paris"))
BIRTHS = Key("born", edges=("1975-06-15", "1990-01-31", "2001-12-01"))
SIGHTS = Key(
    "seen",
    edges=("2024-03-31T01:00:00Z", "2024-10-27T02:00+02:00", "2024-10-27T02:30", "2024-10-27T01:30:00Z"),
)
CLOCKS = Key("clock", edges=("2024-10-27T02:00", "2024-10-27T02:30:00.5", "2024-10-27T03:00"))
SELECTED = Selection(1.0, 3)
YEARS = measure("age", "-3", "100", "1")
CENTS = measure("spend", "-1", "2.5", "0.1", "0.7")
WORDY = measure("note", "0", "1", "0.1")
WIDE = measure("age", "-4611686018427387904", "4611686018427387904", "1", "0")
ONE, SQUARES, SUM = part(Quantity.ROWS), part(Quantity.SQUARES), part(Quantity.SUM)


def _statistic(kind: StatisticKind, *parts: Part, **others: object) -> Statistic:
    keys = others.pop("keys", ())
    assert isinstance(keys, tuple)
    private = any(key.is_private for key in keys)
    selection = SELECTED if private else None
    return Statistic(str(kind), kind, keys, parts, selection=selection, **others)  # type: ignore[arg-type]


RANKS = (part(Quantity.RANKS, "0.5"), part(Quantity.RANKS, "0.9"), part(Quantity.RANKS, "0.01"))
STATISTICS = (
    _statistic(StatisticKind.COUNT, ONE),
    _statistic(StatisticKind.COUNT, ONE, keys=(CITIES,)),
    _statistic(StatisticKind.COUNT, ONE, keys=(ANY_CITY,)),
    _statistic(StatisticKind.COUNT, ONE, keys=(ANY_WHO, BIRTHS, ANY_CITY)),
    _statistic(StatisticKind.HISTOGRAM, ONE, keys=(AGES,)),
    _statistic(StatisticKind.HISTOGRAM, ONE, keys=(NOTES,)),
    _statistic(StatisticKind.HISTOGRAM, ONE, keys=(WORDS,)),
    _statistic(StatisticKind.HISTOGRAM, ONE, keys=(SIGHTS,)),
    _statistic(StatisticKind.HISTOGRAM, ONE, keys=(CLOCKS,)),
    _statistic(StatisticKind.CONTINGENCY, ONE, keys=(CITIES, BIRTHS, AGES)),
    _statistic(StatisticKind.SUM, SUM, measure=YEARS),
    _statistic(StatisticKind.SUM, SUM, measure=WORDY, keys=(CITIES,)),
    _statistic(StatisticKind.MEAN, SUM, ONE, measure=CENTS, keys=(CITIES,)),
    _statistic(StatisticKind.VARIANCE, SQUARES, SUM, ONE, measure=CENTS, keys=(ANY_CITY,)),
    _statistic(StatisticKind.VARIANCE, SQUARES, SUM, ONE, measure=WIDE),
    _statistic(StatisticKind.DISTINCT_COUNT, part(Quantity.DISTINCT), counted="spend"),
    _statistic(StatisticKind.DISTINCT_COUNT, part(Quantity.DISTINCT), counted="seen", keys=(CITIES,)),
    _statistic(StatisticKind.DISTINCT_COUNT, part(Quantity.DISTINCT), counted="clock"),
    _statistic(StatisticKind.DISTINCT_COUNT, part(Quantity.DISTINCT), counted="city"),
    _statistic(StatisticKind.QUANTILE, *RANKS, measure=YEARS, candidates=("-3", "0", "7", "50", "100")),
    _statistic(StatisticKind.QUANTILE, *RANKS, measure=CENTS, candidates=("0.1",), keys=(CITIES,)),
    _statistic(StatisticKind.QUANTILE, *RANKS, measure=YEARS, candidates=("7", "41"), keys=(ANY_CITY,)),
    _statistic(StatisticKind.MODE, part(Quantity.FREQUENCIES), keys=(CITIES,), choices=1),
    _statistic(StatisticKind.MODE, part(Quantity.FREQUENCIES), keys=(ANY_CITY, AGES), choices=1),
    _statistic(StatisticKind.MODE, part(Quantity.FREQUENCIES), keys=(AGES, CITIES, BIRTHS), choices=2),
)
"""Every quantity, over public and private keys, bins of every datatype, and none."""
ADDITIVE = tuple(
    one for one in STATISTICS if one.kind not in (StatisticKind.DISTINCT_COUNT, StatisticKind.QUANTILE)
)


def release(
    statistics: Sequence[Statistic] = STATISTICS,
    respondent: Respondent = RespondentColumn("who"),  # noqa: B008 (frozen)
    *,
    rows: int = 2,
    groups: int = 1,
    datatypes: Mapping[str, Datatype] = DATATYPES,
) -> ReleasePlan:
    columns = tuple(
        ReadColumn(
            name,
            IRI(f"{TARGET}/{name}"),
            datatypes.get(name, Datatype.STRING),
            ZONE if name == "seen" else None,
        )
        for name in HEADER
    )
    return ReleasePlan(
        ReadRows(TARGET, columns, respondent),
        BoundContributions(NeighboringRelation.ADD_OR_REMOVE_ONE, rows, groups),
        tuple(statistics),
        PlannedLoss(Decimal(1), Decimal(0), 0.75, 0.5, "1", "0"),
        WriteTable(IRI("http://example.com/out"), OutputFormat.CSV, Decimal("0.95")),
    )


def aggregates(
    backend: Backend,
    plan: ReleasePlan,
    rows: Sequence[Sequence[str]],
    columns: Collection[str] | None = None,
) -> tuple[Aggregates, ...]:
    """Of each statistic, in the order of the plan; those columns staged only."""
    with tempfile.TemporaryDirectory() as folder:
        data, workspace = Path(folder) / "people.csv", Path(folder) / "work"
        workspace.mkdir()
        write_csv(data, HEADER, rows)
        source = Source(TARGET, data, OutputFormat.CSV, Description())
        with closing(backend.open(source, workspace, columns)) as table:
            return tuple(aggregate(plan, statistic, table) for statistic in plan.statistics)


NUMBERS = (
    "", "7", "41", "-3", "1000", "NaN", "INF", "-INF", "1e999999", "-1e999", "1e-999", "0.1", "0.3", "+5",
    "007", "0.30000000000000004", "4.5", "5.5", "-0.5", "-0", "x", "4611686018427387904",
    "-4611686018427387905", "9" * 100, "1" * 101, "0.25", "0.35", "0.15", "7.0", "\u0661",
)  # fmt: skip
TIMES = (
    "", "x", "2024-10-27T02:30", "2024-10-27 02:30:00", "2024-10-27T02:30:00+01:00", "2024-10-27T00:30:00Z",
    "2024-10-27T01:30:00Z", "2024-10-27T01:30:00.000000001Z", "2024-10-27T02:59:59.999999999",
    "2024-10-27T02:30:00.5", "2024-03-31T02:30:00", "2024-03-31T03:00:00", "2024-03-31T01:00:00Z",
    "2024-02-30T01:00:00", "2024-10-27T25:00:00", "2024-10-27T02:30:00+99:00", "0001-01-01T00:00:00",
    "9999-12-31T23:59:59-23:00", "2024-10-27T02:00:00", "2024-10-27T03:00:00",
)  # fmt: skip
VALUES: Mapping[str, tuple[str, ...]] = {
    "who": ("", "1", "1.0", "1.00", "2", "2e0", "x", " 1", "x ", "-0", "0", "3", "4", "4.50", "4.5"),
    "city": ("", "Rome", "Oslo", "Bonn", "Paris", "Ålesund", "[0..20)", "Oslo\nNord", "rome", "Rome "),
    "age": NUMBERS,
    "spend": NUMBERS,
    "note": NUMBERS,
    "born": ("", "1990-01-31", "2023-02-30", "2001-12-01", "2001-12-02", "1975-06-15", "x", "0000-01-01"),
    "seen": TIMES,
    "clock": TIMES,
}
"""By column, texts of every trap."""


def tables(most: int = 30) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(*(st.sampled_from(VALUES[name]) for name in HEADER))
    return st.lists(row, max_size=most)


def rich(rows: int, seed: int) -> list[Row]:
    """Every trap, and people with several rows and groups."""
    chosen = random.Random(seed)
    return [tuple(chosen.choice(VALUES[name]) for name in HEADER) for _ in range(rows)]


def respondents() -> st.SearchStrategy[Respondent]:
    return st.sampled_from(
        [RespondentColumn("who"), RespondentColumn("city"), OneRowEach(is_declared=True)]
    )
