"""Exact aggregates: as by brute force, and which rows of a respondent count is its own affair."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from unittest.mock import patch

import pytest
from aggregate_oracle import oracle
from effort import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from release_plans import (
    ADDITIVE,
    ANY_CITY,
    CITIES,
    DATATYPES,
    HEADER,
    ONE,
    SELECTED,
    STATISTICS,
    SUM,
    WIDE,
    YEARS,
    Row,
    aggregates,
    measure,
    part,
    release,
    respondents,
    rich,
    tables,
)

from smalti.engine.backends.local import LocalBackend
from smalti.engine.losses import readings
from smalti.engine.losses.contributions import bounded
from smalti.engine.plan.plan import OneRowEach, Respondent, RespondentColumn
from smalti.engine.plan.reads import BoundContributions, Key
from smalti.engine.releases import participation
from smalti.engine.releases.aggregate import Aggregates
from smalti.engine.releases.plan import Quantity, Statistic, StatisticKind
from smalti.errors import InternalError
from smalti.transforms.base import Datatype

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
BOUNDS = st.tuples(st.integers(1, 4), st.integers(1, 3))
WHO = RespondentColumn("who")


def row(**texts: str) -> Row:
    return tuple(texts.get(name, "") for name in HEADER)


def local(statistic: Statistic, table: list[Row], **others: object) -> Aggregates:
    plan = release((statistic,), **others)  # type: ignore[arg-type]
    return aggregates(LocalBackend(), plan, table)[0]


# --- As by brute force


@settings(max_examples=examples(8, full=150), suppress_health_check=SLOW)
@given(tables(), respondents(), BOUNDS, st.booleans())
@example(rich(200, 1), WHO, (5, 2), True)
@example(rich(200, 2), RespondentColumn("seen"), (4, 3), True)
@example([], WHO, (1, 1), True)
@example([row(who="1", city="Rome")] * 3, WHO, (2, 1), True)
def test_aggregates_are_those_of_brute_force(
    rows: list[Row], respondent: Respondent, bound: tuple[int, int], is_declared: bool
) -> None:
    datatypes = {} if not is_declared else None
    plan = release(STATISTICS, respondent, rows=bound[0], groups=bound[1])
    if datatypes is not None:
        without = [one for one in STATISTICS if not any(key.column in ("born", "seen") for key in one.keys)]
        plan = release(without, respondent, rows=bound[0], groups=bound[1], datatypes=datatypes)
    for statistic, found in zip(plan.statistics, aggregates(LocalBackend(), plan, rows), strict=True):
        groups, amounts, people = oracle(plan, statistic, HEADER, rows)
        assert found.groups == groups, statistic
        assert [list(map(tuple, one)) for one in found.amounts] == [list(one) for one in amounts], statistic
        assert found.respondents == people, statistic


# --- Whose rows count


def totals(found: Aggregates) -> list[Counter[tuple[str, ...]]]:
    """By part, and last by respondents, what groups have; groups without anything are left out."""

    def cells(amounts: tuple[Sequence[int], ...]) -> Counter[tuple[str, ...]]:
        pairs = zip(found.groups, amounts, strict=True)
        return Counter({(*group, str(i)): x for group, xs in pairs for i, x in enumerate(xs)})

    by_part = [cells(part) for part in found.amounts]
    return [*by_part, Counter(dict(zip(found.groups, found.respondents, strict=False)))]


def added(*counters: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    names = {name for counter in counters for name in counter}
    sums = {name: sum(counter[name] for counter in counters) for name in names}
    return {name: number for name, number in sums.items() if number}


BY_TEXT = {**DATATYPES, "who": Datatype.STRING}


def each_adds_its_own(rows: list[Row], bound: tuple[int, int], whose: str) -> None:
    """What all rows give is what one respondent's give, and those of the others without it."""
    plan = release(ADDITIVE, WHO, rows=bound[0], groups=bound[1], datatypes=BY_TEXT)
    own, others = [one for one in rows if one[0] == whose], [one for one in rows if one[0] != whose]
    found = [aggregates(LocalBackend(), plan, some) for some in (rows, own, others)]
    for whole, alone, rest in zip(*found, strict=True):
        for together, one, other in zip(totals(whole), totals(alone), totals(rest), strict=True):
            assert added(together) == added(one, other)


@settings(max_examples=examples(6), suppress_health_check=SLOW)
@given(tables(20), BOUNDS, st.sampled_from(["1", "x", "2"]))
def test_a_respondent_who_comes_or_goes_changes_nothing_about_others(
    rows: list[Row], bound: tuple[int, int], whose: str
) -> None:
    each_adds_its_own(rows, bound, whose)


@settings(max_examples=examples(6), suppress_health_check=SLOW)
@given(tables(20), BOUNDS)
def test_one_respondent_gives_no_more_than_is_allowed(rows: list[Row], bound: tuple[int, int]) -> None:
    mine = [("7", *one[1:]) for one in rows]
    counts = [one for one in STATISTICS if one.parts[0].quantity in COUNTS]
    plan = release(counts, WHO, rows=bound[0], groups=bound[1])
    for found in aggregates(LocalBackend(), plan, mine):
        cells = [cell for group in found.amounts[0] for cell in group]
        assert sum(cells) <= bound[0]
        assert sum(cell > 0 for cell in cells) <= bound[1]
        assert sum(found.respondents) <= bound[1]


def by_absolute_row(rows: str, columns: object, groups: object, bound: BoundContributions) -> str:
    """A broken variant: which rows count hangs on where they stand in the whole file."""
    query = bounded(rows, columns, groups, bound)  # type: ignore[arg-type]
    return query.replace("ORDER BY row", "ORDER BY row * 7919 % 10007")


def unbounded(rows: str, columns: object, groups: object, bound: BoundContributions) -> str:
    """A broken variant: everything counts."""
    return bounded(rows, columns, groups, BoundContributions(bound.neighbors, 99, 99))  # type: ignore[arg-type]


COUNTS = (Quantity.ROWS, Quantity.FREQUENCIES)
INTERLEAVED = [
    row(who=who, city=city, age=str(number))
    for number, (who, city) in enumerate(
        list(zip("x1x21211", ["Rome", "Oslo", "Oslo", "Bonn"] * 2, strict=True)) * 3
    )
]


def test_rows_that_are_chosen_by_their_place_in_the_file_are_noticed() -> None:
    each_adds_its_own(INTERLEAVED, (2, 1), "x")
    with patch.object(participation, "bounded", by_absolute_row), pytest.raises(AssertionError):
        each_adds_its_own(INTERLEAVED, (2, 1), "x")


def test_contributions_without_a_bound_are_noticed() -> None:
    with patch.object(participation, "bounded", unbounded), pytest.raises(AssertionError):
        test_one_respondent_gives_no_more_than_is_allowed.hypothesis.inner_test(  # type: ignore[attr-defined]
            INTERLEAVED, (2, 1)
        )


COUNT = Statistic("count", StatisticKind.COUNT, (), (ONE,))


@pytest.mark.parametrize(
    ("datatype", "expected"), [(Datatype.DECIMAL, 5), (Datatype.DOUBLE, 4), (Datatype.STRING, 6)]
)
def test_spellings_of_one_number_are_one_respondent_where_it_is_declared(
    datatype: Datatype, expected: int
) -> None:
    rows = [row(who=who) for who in ("1", "1.0", "x", "01", "2", "2e0")]
    assert local(COUNT, rows, rows=1, datatypes={"who": datatype}).amounts == (((expected,),),)
    if expected < 6:
        with patch.object(participation, "identities", lambda *_: None):
            assert local(COUNT, rows, rows=1, datatypes={"who": datatype}).amounts == (((6,),),)


def test_rows_without_a_respondent_are_left_out() -> None:
    rows = [row(who="1"), row(city="Rome"), row(who=" ")]
    assert local(COUNT, rows).amounts == (((2,),),)
    assert local(COUNT, rows, respondent=OneRowEach(is_declared=True)).amounts == (((3,),),)


def test_the_first_groups_are_chosen_before_the_first_rows() -> None:
    rows = [row(who="1", city=city) for city in ("Rome", "Bonn", "Oslo", "Rome", "Rome", "Oslo")]
    grouped = Statistic("count", StatisticKind.COUNT, (CITIES,), (ONE,))
    assert local(grouped, rows, rows=4, groups=1).amounts == (((3,), (0,), (0,), (0,), (0,)),)
    assert local(grouped, rows, rows=4, groups=2).amounts == (((3,), (0,), (1,), (0,), (0,)),)
    assert local(grouped, rows, rows=2, groups=2).amounts == (((1,), (0,), (1,), (0,), (0,)),)


# --- Numbers


def total(texts: list[str], lower: str, upper: str, unit: str) -> int:
    summed = Statistic("sum", StatisticKind.SUM, (), (SUM,), measure("spend", lower, upper, unit))
    rows = [row(spend=text) for text in texts]
    ((found,),) = local(summed, rows, respondent=OneRowEach(is_declared=True)).amounts
    return found[0]


def test_sums_are_exact() -> None:
    assert total(["0.1", "0.2"], "0", "1", "0.1") == 3
    assert total(["0.30000000000000004"], "0", "1", "0.00000000000000001") == 30_000_000_000_000_004
    assert total(["0.5", "1.5", "2.5", "-0.5", "-1.5"], "-9", "9", "1") == 10 + 10 + 12 + 8 + 8
    assert total(["9007199254740993"] * 3, "0", "9007199254740993", "1") == 3 * 9007199254740993


def test_a_sum_through_doubles_is_noticed() -> None:
    def through_doubles(text: str) -> Decimal:
        return Decimal(float(text))

    with patch.object(readings, "Decimal", through_doubles), pytest.raises(AssertionError):
        test_sums_are_exact()


@pytest.mark.parametrize(
    "text", ["NaN", "INF", "-INF", "x", "1e999999", "+1", " 1", "1,5", "\u0661", "0x10"]
)
def test_what_is_no_number_becomes_the_middle(text: str) -> None:
    assert total([text], "0", "100", "1") == 50
    assert total([text], "0", "101", "1") == 50
    assert total([text, "-1e999"], "-1", "0", "1") == 0


def test_sums_and_squares_do_not_overflow() -> None:
    large = (1 << 62) - 1
    rows = [row(age=str(large)), row(age="-4611686018427387905"), row(age="1")] * 5
    parts = (part(Quantity.SQUARES), SUM, ONE)
    wide = Statistic("variance", StatisticKind.VARIANCE, (), parts, WIDE)
    found = local(wide, rows, respondent=OneRowEach(is_declared=True))
    assert found.amounts == (((5 * (large**2 + (1 << 124) + 1),),), ((0,),), ((15,),))


def test_bounds_far_beyond_64_bits_work() -> None:
    assert total(["1e40", "-1e40", "3"], "-1e40", "1e40", "1") == 3 + 3 * 10**40


# --- Groups


def test_public_groups_without_rows_are_there_and_private_ones_are_not() -> None:
    private = Statistic(
        "count", StatisticKind.COUNT, (Key("city", is_private=True),), (ONE,), selection=SELECTED
    )
    public = Statistic("count", StatisticKind.COUNT, (Key("city", values=("b", "a")),), (ONE,))
    assert local(public, []) == Aggregates((("b",), ("a",)), (((0,), (0,)),))
    assert local(private, []) == Aggregates((), ((),), ())
    rows = [row(who=str(number), city=city) for number, city in enumerate(["é", "z", "Z", "", "z"])]
    assert local(private, rows) == Aggregates(
        (("Z",), ("z",), ("é",)), (((1,), (2,), (1,)),), (1, 2, 1)
    )  # fmt: skip


def test_hours_that_occur_twice_are_told_apart() -> None:
    night = Key("seen", edges=("2024-10-27T00:00Z", "2024-10-27T01:00Z", "2024-10-27T02:00Z"))
    hours = Statistic("night", StatisticKind.HISTOGRAM, (night,), (ONE,))
    times = ["2024-10-27T02:30", "2024-10-27T02:30+01:00", "2024-10-27T02:30+02:00", "2024-10-27T03:00"]
    rows = [row(who=str(number), seen=text) for number, text in enumerate(times)]
    assert local(hours, rows).amounts == (((2,), (2,)),)
    assert local(hours, rows).groups == (
        ("[2024-10-27T00:00Z..2024-10-27T01:00Z)",),
        ("[2024-10-27T01:00Z..2024-10-27T02:00Z]",),
    )


def test_a_time_that_states_its_zone_changes_nothing_about_those_that_do_not() -> None:
    clock = Key("clock", edges=("2024-10-27T00:00", "2024-10-27T12:00"))
    hours = Statistic("day", StatisticKind.HISTOGRAM, (clock,), (ONE,))
    rows = [row(who="1", clock="2024-10-27T02:30"), row(who="2", clock="2024-10-27T02:30Z")]
    assert local(hours, rows[:1]).amounts == local(hours, rows).amounts == (((1,),),)


def test_a_choice_among_private_candidates_is_a_fault() -> None:
    mode = Statistic("mode", StatisticKind.MODE, (ANY_CITY,), (part(Quantity.FREQUENCIES),), choices=1)
    with pytest.raises(InternalError):
        local(mode, [])


def test_rows_are_left_alone() -> None:
    """A statistic leaves nothing behind, so the next one finds the table as it was."""
    rows = [row(who=str(number), city="Rome", age="7") for number in range(3)]
    summed = Statistic("sum", StatisticKind.SUM, (CITIES,), (SUM,), YEARS)
    plan = release((summed, COUNT, summed))
    first, _, last = aggregates(LocalBackend(), plan, rows)
    assert first == last


def test_other_columns_need_not_be_staged() -> None:
    summed = Statistic("sum", StatisticKind.SUM, (CITIES,), (SUM,), YEARS)
    plan = release((summed, COUNT), rows=1)
    few = aggregates(LocalBackend(), plan, INTERLEAVED, ("age", "no such column", "city", "who"))
    assert few == aggregates(LocalBackend(), plan, INTERLEAVED)
    everyone = release((COUNT,), OneRowEach(is_declared=True))
    assert aggregates(LocalBackend(), everyone, INTERLEAVED, ()) == aggregates(
        LocalBackend(), everyone, INTERLEAVED
    )
    with pytest.raises(KeyError):
        aggregates(LocalBackend(), plan, INTERLEAVED, ("age", "city"))
