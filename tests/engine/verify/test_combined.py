"""Releases held together: equal to a plain count of who is left, over random releases of small tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import Column, OutputFormat, Role
from smalti.engine.verify.combined import ReleasedRows, Weakened, weakened
from smalti.engine.verify.read import Original, Output
from smalti.transforms.base import CLOSENESS, Datatype, Guarantee, Requirement
from smalti.vocab.terms import IRI

AGES, DISEASES = [1, 2, 3, 4, 5, 6, 7, 8], list("abcabcab")
FIRST = [[1, 2], [3, 4], [5, 6], [7, 8]]
SECOND = [[1, 2, 3], [4, 5], [6, 7, 8]]
"""The constructed case of two releases that are 2-anonymous and 2-diverse each."""


@dataclass(frozen=True)
class Table:
    """Who each row is about, and its sensitive value."""

    people: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Release:
    """By row of a table: the label of its class; None where the row is not published."""

    table: int
    labels: tuple[str | None, ...]
    k: int
    l: int  # noqa: E741 (the literature's name)


def column(name: str, role: Role) -> Column:
    return Column(name, IRI(f"http://example.com/{name}"), Datatype.STRING, False, role)


def guarantee(k: int, l: int) -> Guarantee:  # noqa: E741
    return Guarantee("l-diversity", k, l) if l > 1 else Guarantee("k-anonymity", k)


def written(
    release: Release, tables: Sequence[Table], place: Path, number: int, *, counts_rows: bool
) -> ReleasedRows:
    table, data = tables[release.table], place / f"data-{release.table}.csv"
    rows = [f"{person},{value}\n" for person, value in zip(table.people, table.values, strict=True)]
    data.write_text("who,illness\n" + "".join(rows))
    published = sorted(
        (label, table.values[row], row) for row, label in enumerate(release.labels) if label is not None
    )
    output, link = place / f"out-{number}.csv", place / f"link-{number}.npy"
    output.write_text("area,illness\n" + "".join(f"{label},{value}\n" for label, value, _ in published))
    np.save(link, np.array([row for _, _, row in published], np.int64))
    return ReleasedRows(
        Original(data, OutputFormat.CSV), ("who", "illness"), Output(output, OutputFormat.CSV), link,
        ("area", "illness"), ("area",), (column("illness", Role.SENSITIVE),),
        None if counts_rows else column("who", Role.IDENTIFIER), guarantee(release.k, release.l), {},
        release.table,
    )  # fmt: skip


def held(
    releases: Sequence[Release], tables: Sequence[Table], *, counts_rows: bool = False
) -> tuple[Weakened, ...] | str:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [
            written(release, tables, place, number, counts_rows=counts_rows)
            for number, release in enumerate(releases)
        ]
        return weakened(rows, place)


def matched(values: Mapping[str, set[str]]) -> int:
    """The most values that can be told to different people, by trying."""
    names = sorted(values)
    best = 0
    for choice in product(*([None, *sorted(values[name])] for name in names)):
        chosen = [person for person in choice if person is not None]
        if len(chosen) == len(set(chosen)):
            best = max(best, len(chosen))
    return best


def by_hand(releases: Sequence[Release], tables: Sequence[Table]) -> dict[int, set[int]]:
    """By release that is weakened: the first records of people in groups of fewer than k."""
    of_table = {number: [r for r, each in enumerate(releases) if each.table == number] for number in (0, 1)}

    def of_release(number: int, row: int) -> set[str | None]:
        """Its class; where it is not published, those of the person's other rows."""
        release, people = releases[number], tables[releases[number].table].people
        if (label := release.labels[row]) is not None:
            return {label}
        others = {each for each, who in zip(release.labels, people, strict=True) if who == people[row]}
        return others - {None} or {None}

    def inside(number: int, row: int) -> list[tuple[str | None, ...]]:
        return list(product(*(of_release(each, row) for each in of_table[number])))

    classes: list[dict[str, set[tuple[str | None, ...]]]] = [defaultdict(set), defaultdict(set)]
    for number, table in enumerate(tables):
        for row, person in enumerate(table.people):
            if any(releases[each].labels[row] is not None for each in of_table[number]):
                classes[number][person].update(inside(number, row))
    weak: dict[int, set[int]] = {}
    told: list[dict[object, set[tuple[str, str]]]] = [defaultdict(set) for _ in releases]
    for number, release in enumerate(releases):
        table, other = tables[release.table], 1 - release.table
        groups: dict[object, list[int]] = defaultdict(list)
        for row, label in enumerate(release.labels):
            if label is None:
                continue
            elsewhere = classes[other][table.people[row]] if other < len(tables) else set()
            for own, others in product(inside(release.table, row), elsewhere or {()}):
                key = (others, own) if release.table else (own, others)
                groups[key].append(row)
                told[number][key].add((table.people[row], table.values[row]))
        few, is_weak = set(), False
        for rows in groups.values():
            people = {table.people[row] for row in rows}
            holders: dict[str, set[str]] = defaultdict(set)
            for row in rows:
                holders[table.values[row]].add(table.people[row])
            if len(people) < release.k:
                few |= people
                is_weak = True
            is_weak |= any(each == people for each in holders.values())
            is_weak |= matched(holders) < release.l
        if is_weak:
            published = [row for row, label in enumerate(release.labels) if label is not None]
            weak[number] = {min(r for r in published if table.people[r] == person) + 1 for person in few}
    for number in narrow(releases, told):
        weak.setdefault(number, set())
    return weak


def narrow(
    releases: Sequence[Release], told: Sequence[Mapping[object, set[tuple[str, str]]]]
) -> Iterator[int]:
    """The releases that tell too much of those who have one value in several, by what each group has."""
    for key in {key for of_release in told for key in of_release}:
        held = [of_release.get(key, set()) for of_release in told]
        for pair in set().union(*held):
            same = [number for number, pairs in enumerate(held) if pair in pairs]
            left = set.intersection(*({value for _, value in held[number]} for number in same))
            for number in same if len(same) > 1 else ():
                holders: dict[str, set[str]] = defaultdict(set)
                for person, value in held[number]:
                    if value in left:
                        holders[value].add(person)
                everybody = set().union(*holders.values())
                if everybody in holders.values() or matched(holders) < releases[number].l:
                    yield number


def label_of(classes: Sequence[Sequence[int]], age: int) -> str:
    return next(str(number) for number, ages in enumerate(classes) if age in ages)


def test_two_releases_that_hold_by_themselves_single_out_four_people() -> None:
    table = Table(tuple(map(str, AGES)), tuple(DISEASES))
    releases = [
        Release(0, tuple(label_of(classes, age) for age in AGES), 2, 2) for classes in (FIRST, SECOND)
    ]
    assert held(releases[:1], [table]) == held(releases[1:], [table]) == ()
    found = held(releases, [table], counts_rows=True)
    assert not isinstance(found, str)
    assert [(each.number, each.respondents, each.records) for each in found] == [
        (0, 4, (3, 4, 5, 6)), (1, 4, (3, 4, 5, 6)),
    ]  # fmt: skip


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Release], list[Table]]:
    tables = []
    for _ in range(draw(st.integers(1, 2))):
        people = draw(st.lists(st.sampled_from("pqrstuvw"), min_size=2, max_size=8))
        values = draw(st.lists(st.sampled_from("abc"), min_size=len(people), max_size=len(people)))
        tables.append(Table(tuple(people), tuple(values)))
    releases = [draw(_releases(number, len(table.people))) for number, table in enumerate(tables)]
    for _ in range(draw(st.integers(0, 2))):
        number = draw(st.integers(0, len(tables) - 1))
        releases.append(draw(_releases(number, len(tables[number].people))))
    return releases, tables


def _releases(table: int, rows: int) -> st.SearchStrategy[Release]:
    labels = st.lists(st.sampled_from(["x", "x", "y", None]), min_size=rows, max_size=rows)
    return st.builds(Release, st.just(table), labels.map(tuple), st.integers(1, 3), st.integers(1, 2))


@settings(max_examples=25)
@given(worlds())
def test_what_is_weakened_is_what_a_plain_count_finds(world: tuple[list[Release], list[Table]]) -> None:
    releases, tables = world
    found = held(releases, tables)
    assert not isinstance(found, str)
    assert {each.number: set(each.records) for each in found} == by_hand(releases, tables)


def test_a_value_that_stays_is_not_told_by_those_that_change() -> None:
    def told(*values: str) -> list[int]:
        tables = [Table(("p", "q", "r", "s"), tuple(each)) for each in values]
        found = held([Release(n, ("x",) * 4, 2, 2) for n in range(len(tables))], tables)
        assert not isinstance(found, str)
        assert all("whose `illness` is the same" in text for each in found for text in each.problems)
        return [each.number for each in found]

    assert told("abab", "acac") == [0, 1], "who still has one has a"
    assert told("abab", "baba") == told("abab", "cdcd") == [], "the same values, or none that stayed"
    assert told("abac", "abad") == [], "a or b"
    assert told("abcc", "abdd", "acdc") == [0, 1, 2], "two by two there are two left, and one in all"


def test_shares_are_held_against_what_was_left_out_too() -> None:
    whole = Table(tuple("pqrstuvwxy"), tuple("aaaabbbbcc"))
    labels = ("x",) * 8 + (None, None), (*"11121222", None, None)
    with TemporaryDirectory() as folder:
        releases = [
            written(Release(0, each, 2, 1), [whole], Path(folder), number, counts_rows=False)
            for number, each in enumerate(labels)
        ]
        releases[0] = replace(releases[0], guarantee=closeness(Fraction(3, 10)))
        assert weakened(releases, Path(folder)) == (), "3/4 and 1/4, beside halves"
        releases[0] = replace(releases[0], suppressed=np.array([8, 9]))
        assert is_weak(releases, Path(folder)) == [0], "beside 4, 4 and 2 of ten"


def test_who_is_in_several_groups_weighs_as_much_in_each() -> None:
    tables = [Table(tuple("pqrsu"), tuple("ababa")), Table((*"pqr", *"psu"), ("c",) * 6)]
    with TemporaryDirectory() as folder:
        releases = [
            written(Release(number, tuple(labels), 1, 1), tables, Path(folder), number, counts_rows=False)
            for number, labels in enumerate(("xxxxx", "111222"))
        ]
        releases[1] = replace(releases[1], guarantee=None)
        releases[0] = replace(releases[0], guarantee=closeness(Fraction(6, 100)))
        assert is_weak(releases, Path(folder)) == [0], "2 of 3 in each group, beside 3 of 5"
        releases[0] = replace(releases[0], guarantee=closeness(Fraction(7, 100)))
        assert weakened(releases, Path(folder)) == ()


def closeness(t: Fraction) -> Guarantee:
    return Guarantee("t-closeness", 1, more=(Requirement(CLOSENESS, (t, "equal")),))


def is_weak(releases: Sequence[ReleasedRows], place: Path) -> list[int]:
    found = weakened(releases, place)
    assert not isinstance(found, str)
    return [each.number for each in found]


def test_other_data_is_held_beside_by_one_column_that_compares() -> None:
    tables = [Table(("1", "2"), ("a", "b")), Table(("1", "2"), ("a", "b"))]
    with TemporaryDirectory() as folder:
        first, second = (
            written(Release(number, ("x", "x"), 2, 1), tables, Path(folder), number, counts_rows=False)
            for number in (0, 1)
        )

        def told_apart_by(name: str, datatype: Datatype) -> ReleasedRows:
            told = column(name, Role.IDENTIFIER)
            return replace(second, respondent=replace(told, datatype=datatype))

        assert weakened([first, told_apart_by("who", Datatype.INTEGER)], Path(folder)) == ()
        assert isinstance(weakened([first, told_apart_by("who", Datatype.DOUBLE)], Path(folder)), str)
        assert isinstance(weakened([first, told_apart_by("illness", Datatype.STRING)], Path(folder)), str)


def test_other_data_without_people_is_not_judged() -> None:
    tables = [Table(("p", "q"), ("a", "b")), Table(("p", "q"), ("a", "b"))]
    releases = [Release(number, ("x", "x"), 2, 1) for number in (0, 1)]
    assert isinstance(held(releases, tables, counts_rows=True), str)
    assert held(releases, tables) == ()


@pytest.mark.parametrize(
    ("spelling", "is_told"), [("1", True), ("01", False), ("1.0", False), ("+1", False)]
)
def test_a_text_that_may_spell_the_number_of_somebody_is_not_taken_for_another_person(
    tmp_path: Path, spelling: str, is_told: bool
) -> None:
    tables = [Table(("1", "2"), ("a", "b")), Table((spelling, "x"), ("a", "b"))]
    both = [Release(number, ("A", "A"), 1, 1) for number in (0, 1)]
    first, second = (
        written(release, tables, tmp_path, number, counts_rows=False) for number, release in enumerate(both)
    )
    numbers = replace(column("who", Role.IDENTIFIER), datatype=Datatype.INTEGER)
    judged = weakened([replace(first, respondent=numbers), second], tmp_path)
    assert isinstance(judged, tuple) is is_told
    assert is_told or "may spell otherwise" in str(judged)
