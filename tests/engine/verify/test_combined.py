"""Releases held together: equal to a plain count of who is left, over random releases of small tables."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import Column, OutputFormat, Role
from smalti.engine.verify.combined import ReleasedRows, Weakened, weakened
from smalti.engine.verify.read import Original, Output
from smalti.transforms.base import Datatype, Guarantee
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

    def inside(number: int, row: int) -> tuple[str | None, ...]:
        return tuple(releases[each].labels[row] for each in of_table[number])

    classes: list[dict[str, set[tuple[str | None, ...]]]] = [defaultdict(set), defaultdict(set)]
    for number, table in enumerate(tables):
        for row, person in enumerate(table.people):
            if any(label is not None for label in inside(number, row)):
                classes[number][person].add(inside(number, row))
    weak: dict[int, set[int]] = {}
    for number, release in enumerate(releases):
        table, other = tables[release.table], 1 - release.table
        groups: dict[object, list[int]] = defaultdict(list)
        for row, label in enumerate(release.labels):
            if label is None:
                continue
            elsewhere = classes[other][table.people[row]] if other < len(tables) else set()
            for there in elsewhere or {()}:
                groups[inside(release.table, row), there].append(row)
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
    return weak


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


def test_other_data_without_people_is_not_judged() -> None:
    tables = [Table(("p", "q"), ("a", "b")), Table(("p", "q"), ("a", "b"))]
    releases = [Release(number, ("x", "x"), 2, 1) for number in (0, 1)]
    assert isinstance(held(releases, tables, counts_rows=True), str)
    assert held(releases, tables) == ()
