"""Several releases about the same respondents, held together: whether each still keeps its promise.

Who has several releases and knows the quasi-identifiers of a person finds the person's class in each of
them; the person is one of those who are in all of these classes, and their sensitive values are among what
these share. That is the intersection attack of Ganta, Kasiviswanathan and Smith ("Composition attacks and
auxiliary information in data privacy", KDD 2008, section 2). So the respondents are divided by the classes
that they have in all releases (to be in none is one of them), and each release is counted again with these
groups in the place of its classes. Where values changed from one release to another, those whose value is
still the same have one of the values that their group has in all of these releases: so what is left of each
of them is counted, too (`persisting`).

What tells the class of a row is what is published of every column that any of the releases generalises:
also where this release publishes the column as it is. Where a release does not publish a row, the person
is looked for in the classes of their other rows that it does publish, of this data and of other data.

Not counted: who reads several rows of one respondent in one release, or links rows of two releases by
sensitive values. One number for each row and release is held in memory.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Column, Plan, RespondentColumn
from smalti.engine.verify.classes import group
from smalti.engine.verify.columns import MISSING, TEXT, ArrowArray, Coded, Codes, Table
from smalti.engine.verify.count import ClassCount
from smalti.engine.verify.labels import by_value, canonical
from smalti.engine.verify.nodes import tree_of
from smalti.engine.verify.persisting import Occurring, narrowed
from smalti.engine.verify.promise import Promise, problems_of
from smalti.engine.verify.read import Link, Original, Output, read_original, read_output
from smalti.engine.verify.rows import IsWithdrawn, columns_to_read, participating
from smalti.errors import BackendError
from smalti.transforms.base import DISTINCT_VALUES, NOT_HELD_BY_ALL, RESPONDENTS, Datatype, Guarantee

_ABSENT: Final = -1
_OF_NARROWED: Final = frozenset({NOT_HELD_BY_ALL, DISTINCT_VALUES})
"""What of a promise is about which values are left, and not about how often they occur."""
_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")
_COMPARED: Final = ({Datatype.INTEGER, Datatype.DECIMAL}, {Datatype.INTEGER, Datatype.STRING})
"""Datatypes under which a respondent is written alike."""
_NUMBER: Final = r"\A\s*[+-]?[0-9]+(\.0*)?\s*\z"
"""A text that people take for a whole number."""
_AS_WRITTEN: Final = r"\A(0|-?[1-9][0-9]*)\z"
"""How `canonical` writes one."""
MOST_RECORDS: Final = 20
"""Records that are named to the owner."""


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """A release, beside the rows of the data that its rows came from."""

    original: Original
    header: tuple[str, ...]
    """The columns of the original."""
    output: Output
    link: Path
    """As for `verifier.verify_run`."""
    published: tuple[str, ...]
    """The columns of the output."""
    classes: tuple[str, ...]
    """Those of them that tell equivalence classes apart."""
    sensitive: tuple[Column, ...]
    """Of the original: those that the promise is about."""
    respondent: Column | None
    """Of the original; None: each row is about another person."""
    guarantee: Guarantee | None
    """None: it promises nothing about classes."""
    hierarchies: Mapping[str, DeclaredHierarchy]
    data: int = 0
    """Equal for releases of the same data, wherever its bytes are."""
    suppressed: Codes = field(default_factory=lambda: np.zeros(0, np.int64))
    """The rows of the original that lack since their classes miss the promise: shares are of them, too."""
    masked: frozenset[str] = frozenset()
    """The sensitive columns that are published with other values than the original's: these count."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        original: Original,
        output: Output,
        link: Path,
        hierarchies: Mapping[str, DeclaredHierarchy],
        is_withdrawn: IsWithdrawn | None,
    ) -> Self:
        """What a plan published.

        Raises:
            DataError, BackendError: as `weakened`.
        """
        promise, respondent = Promise.of(plan), plan.read.respondent
        return cls(
            original,
            tuple(column.name for column in plan.read.columns),
            output,
            link,
            promise.columns,
            promise.quasi_identifiers,
            tuple(plan.once_masked.column(name) for name in promise.sensitive),
            plan.column(respondent.column) if isinstance(respondent, RespondentColumn) else None,
            promise.guarantee,
            hierarchies,
            masked=frozenset(each.column for each in plan.masked).intersection(promise.sensitive),
            suppressed=_suppressed(plan, original, link, is_withdrawn),
        )

    @property
    def is_of_population(self) -> bool:
        """Whether its promise is about persons of a population table, who are not in its data."""
        return self.guarantee is not None and self.guarantee.is_of_population


def _suppressed(plan: Plan, original: Original, link: Path, is_withdrawn: IsWithdrawn | None) -> Codes:
    if not plan.apply.transform.lattice_terms.leaves_out:
        return np.zeros(0, np.int64)
    header = tuple(column.name for column in plan.read.columns)
    table = read_original(original, header, columns_to_read(plan, ()) or header[:1])
    published = Link(link)
    linked = published.part(0, published.rows)
    suppressed: Codes = np.setdiff1d(participating(plan, table, is_withdrawn), linked)
    return suppressed


@dataclass(frozen=True, slots=True)
class Weakened:
    """A release that does not keep its promise beside the others."""

    number: int
    """Its place among the releases."""
    problems: tuple[str, ...]
    respondents: int = 0
    """Who are told apart in groups of fewer than its k."""
    records: tuple[int, ...] = ()
    """The first record of each of them in the release's data, from 1 (`MOST_RECORDS` of them)."""


def weakened(releases: Sequence[ReleasedRows], place: Path) -> tuple[Weakened, ...] | str:
    """The releases that do not keep their promise once all of them are held together.

    Args:
        releases: some of them may be of the same data.
        place: a private folder for what does not fit into memory.

    Returns:
        Them; or why it cannot be judged.

    Raises:
        DataError: data cannot be read as the plans say.
        BackendError: no memory or no disk is left.
    """
    if any(release.is_of_population for release in releases):
        return "a promise about a population table is not judged beside other releases"
    generalised = {name for release in releases for name in release.classes}
    by_data = _by_data(releases)
    telling = _telling([[*map(releases.__getitem__, numbers)] for numbers in by_data])
    if isinstance(telling, str):
        return telling
    data = [_read(releases, numbers, column) for numbers, column in zip(by_data, telling, strict=True)]
    if (doubt := _not_recognised(telling, data)) is not None:
        return doubt
    for each in data:
        for number in each.numbers:
            each.classes[number] = _classes_of(releases[number], generalised, each.table.rows)
    groups = _groups(data, place)
    of_narrowed = _of_narrowed(releases, data, groups, place)
    judged = [
        _merged(_judged(number, releases[number], each, rows, place), of_narrowed.get(number, ()), number)
        for each, rows in zip(data, groups, strict=True)
        for number in each.numbers
    ]
    return tuple(each for each in judged if each is not None)


@dataclass(frozen=True, slots=True)
class _Data:
    """Data that some of the releases were made from."""

    table: Table
    """The columns that promises are about."""
    people: ArrowArray | None
    """By row a text, the same for the same person everywhere; None: nothing tells people apart."""
    numbers: tuple[int, ...]
    """Of the releases."""
    classes: dict[int, Codes]
    """By release and row: the class; `_ABSENT` where the row is not published."""


@dataclass(frozen=True, slots=True)
class _Grouped:
    """Rows of data in the groups of their respondents; a row is in several where others have several."""

    rows: Codes
    groups: Codes


def _by_data(releases: Sequence[ReleasedRows]) -> list[tuple[int, ...]]:
    """The numbers of the releases of each data."""
    numbers: dict[int, list[int]] = {}
    for number, release in enumerate(releases):
        numbers.setdefault(release.data, []).append(number)
    return [tuple(some) for some in numbers.values()]


def _telling(by_data: Sequence[Sequence[ReleasedRows]]) -> list[Column | None] | str:
    """By data the column that people are recognised by, also in the other data; or why they are not."""
    respondents = [
        {
            release.respondent.name: release.respondent
            for release in releases
            if release.respondent is not None
        }
        for releases in by_data
    ]
    if len(by_data) == 1:
        return [next(iter(respondents[0].values()), None)]
    if not all(respondents):
        return "data in which no column tells people apart is not held beside other data"
    shared = [name for name in respondents[0] if all(name in columns for columns in respondents)]
    if not shared:
        return "other data tells people apart by another column"
    chosen = [columns[shared[0]] for columns in respondents]
    datatypes = {column.datatype for column in chosen}
    if len(datatypes) > 1 and not any(datatypes <= alike for alike in _COMPARED):
        return f"`{shared[0]}`, which tells people apart, has another datatype in other data"
    return list(chosen)


def _not_recognised(telling: Sequence[Column | None], data: Sequence["_Data"]) -> str | None:
    """Why people may not be recognised: a text spells the number of other data in another way."""
    datatypes = {column.datatype for column in telling if column is not None}
    if Datatype.STRING not in datatypes or len(datatypes) == 1:
        return None
    for column, each in zip(telling, data, strict=True):
        if column is None or column.datatype is not Datatype.STRING:
            continue
        is_number = pc.match_substring_regex(each.people, _NUMBER)
        if pc.any(pc.and_not(is_number, pc.match_substring_regex(each.people, _AS_WRITTEN))).as_py():
            return (
                f"`{column.name}`, which tells people apart, is a text, and in other data a number that it"
                " may spell otherwise"
            )
    return None


def _read(releases: Sequence[ReleasedRows], numbers: tuple[int, ...], telling: Column | None) -> _Data:
    """The columns of data that any of the releases of it needs."""
    here = [releases[number] for number in numbers]
    wanted = {
        column.name for release in here for column in (*release.sensitive, release.respondent) if column
    }
    header = here[0].header
    table = read_original(here[0].original, header, sorted(wanted or {header[0]}))
    people = None
    if telling is not None:
        coded = table.columns[telling.name]
        texts = pa.concat_arrays([canonical(telling, coded.values.cast(TEXT)), pa.array([""], TEXT)])
        people = texts.take(pa.array(np.where(coded.codes == MISSING, len(coded.values), coded.codes)))
    return _Data(table, people, numbers, {})


def _classes_of(release: ReleasedRows, generalised: set[str], rows: int) -> Codes:
    """By row of the data: the number of its class in the release."""
    telling = [name for name in release.published if name in generalised or name in release.classes]
    link = Link(release.link)
    published = np.zeros(link.rows, np.int64)
    if telling:
        columns = _published_columns(release, telling)
        published = group([column.codes for column in columns.values()]).ids
    classes = np.full(rows, _ABSENT, np.int64)
    classes[link.part(0, link.rows)] = published
    return classes


def _published_columns(release: ReleasedRows, names: Sequence[str]) -> dict[str, Coded]:
    """Columns of the output, each distinct text once."""
    codes: dict[str, list[Codes]] = {name: [] for name in names}
    numbers: dict[str, dict[str, int]] = {name: {} for name in names}
    for batch in read_output(release.output, release.published, ()).batches(names, None):
        for name in names:
            column, texts = batch.columns[name], numbers[name]
            places = [
                texts.setdefault(text, len(texts)) if text else MISSING for text in column.texts.to_pylist()
            ]
            of_record = np.array(places, np.int64)[column.numbers]
            codes[name].append(np.repeat(of_record, batch.repeats))
    return {name: Coded(np.concatenate(codes[name]), pa.array([*numbers[name]], TEXT)) for name in names}


def _as_published(release: ReleasedRows, rows: int) -> dict[str, Coded]:
    """The masked sensitive columns, by row of the data; missing where the row is not published."""
    link, names = Link(release.link), sorted(release.masked)
    if not names:
        return {}
    columns = {}
    for name, column in _published_columns(release, names).items():
        of_rows = np.full(rows, MISSING, np.int64)
        of_rows[link.part(0, link.rows)] = column.codes
        columns[name] = Coded(of_rows, column.values)
    return columns


# --- Groups of respondents


def _groups(data: Sequence[_Data], place: Path) -> list[_Grouped]:
    """The rows of all data in the groups of those who have the same classes in all releases."""
    alone = [_within(each) for each in data]
    return alone if len(data) == 1 else _across(data, alone, place)


def _within(data: _Data) -> _Grouped:
    """Rows of one table whose respondents have the same classes in all releases of it; of those in any."""
    classes = [data.classes[number] for number in data.numbers]
    rows = np.flatnonzero(np.any([each != _ABSENT for each in classes], axis=0))
    if not len(rows):
        return _Grouped(rows, rows)
    classes = [each[rows] for each in classes]
    if data.people is not None:
        places, classes = _with_other_rows(_numbers(data.people.take(pa.array(rows))), classes)
        rows = rows[places]
    return _Grouped(rows, group(classes).ids)


def _numbers(texts: ArrowArray) -> Codes:
    numbers: Codes = texts.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _with_other_rows(people: Codes, classes: Sequence[Codes]) -> tuple[Codes, list[Codes]]:
    """Where a release lacks a row: the classes that other rows of the respondent have in it.

    Args:
        people: by row whom it is about.
        classes: by release and row.

    Returns:
        The rows, one of them once for each combination of such classes; and their classes by release.
    """
    places, filled = np.arange(len(people)), list(classes)
    for number, each in enumerate(classes):
        lacks = each == _ABSENT
        inside = np.flatnonzero(~lacks)
        if len(inside) in {0, len(each)}:
            continue
        pairs = inside[group([people[inside], each[inside]]).first_rows()]
        pairs = pairs[np.argsort(people[pairs], kind="stable")]
        start, end = (np.searchsorted(people[pairs], people[places], side) for side in _SIDES)
        is_filled = lacks[places] & (end > start)
        times = np.where(is_filled, end - start, 1)
        again = np.repeat(np.arange(len(places)), times)
        nth = np.arange(len(again)) - np.repeat(np.cumsum(times) - times, times)
        others = each[pairs[np.where(is_filled[again], start[again] + nth, 0)]]
        filled = [column[again] for column in filled]
        filled[number] = np.where(is_filled[again], others, filled[number])
        places = places[again]
    return places, filled


def _across(data: Sequence[_Data], alone: Sequence[_Grouped], place: Path) -> list[_Grouped]:
    """The same over several tables: each class that a respondent has here with each that it has there."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(place / "grouped"),
        "autoinstall_known_extensions": False,
    }
    try:
        with duckdb.connect(config=config) as database:
            database.execute("SET enable_progress_bar = false")  # it would go to standard output
            for number, (each, grouped) in enumerate(zip(data, alone, strict=True)):
                rows = pa.array(grouped.rows)
                people = pa.nulls(0, TEXT) if each.people is None else each.people.take(rows)
                table = pa.table({"row": rows, "person": people, f"g{number}": pa.array(grouped.groups)})
                database.register("added", table)
                database.execute(f"CREATE TABLE rows_{number} AS SELECT * FROM added")  # noqa: S608
                database.unregister("added")
            names = [f"g{number}" for number in range(len(data))]
            pairs = [f"(SELECT DISTINCT person, g{n} FROM rows_{n})" for n in range(len(data))]  # noqa: S608
            joined = " FULL JOIN ".join((pairs[0], *(f"{pair} USING (person)" for pair in pairs[1:])))
            database.execute(
                "CREATE TABLE people AS "  # noqa: S608
                f"SELECT *, dense_rank() OVER (ORDER BY {', '.join(names)}) AS number FROM {joined}"
            )
            return [_grouped(database, number) for number in range(len(data))]
    except duckdb.Error:
        raise _failed() from None


def _grouped(database: duckdb.DuckDBPyConnection, number: int) -> _Grouped:
    query = f"SELECT row, number FROM rows_{number} JOIN people USING (person, g{number})"  # noqa: S608
    table = database.sql(query).to_arrow_table()
    rows, groups = (table.column(name).to_numpy().astype(np.int64) for name in ("row", "number"))
    return _Grouped(rows, groups)


def _failed() -> BackendError:
    # DuckDB's own message may quote data.
    return BackendError(
        "verifier",
        "the releases could not be held together",
        "enough free memory and disk in the folder of the output",
        "free some space",
    )


# --- What is left of values that stayed


def _of_narrowed(
    releases: Sequence[ReleasedRows], data: Sequence[_Data], groups: Sequence[_Grouped], place: Path
) -> dict[int, tuple[str, ...]]:
    """By release: what is wrong with the values that are left of those who kept theirs."""
    problems: dict[int, tuple[str, ...]] = {}
    for name in sorted({column.name for release in releases for column in release.sensitive}):
        occurring = {
            number: (each, occurs)
            for each, grouped in zip(data, groups, strict=True)
            for number in each.numbers
            if (occurs := _occurring(releases[number], number, each, grouped, name)) is not None
        }
        left = narrowed([occurs for _, occurs in occurring.values()])
        for (number, (each, _)), (rows, classes) in zip(occurring.items(), left, strict=True):
            release = _about(releases[number], name)
            weak = _judged(number, release, each, _Grouped(rows, classes), place)
            if weak is not None:
                texts = (f"of those whose `{name}` is the same in several releases, {text}"
                         for text in weak.problems)  # fmt: skip
                problems[number] = (*problems.get(number, ()), *texts)
    return problems


def _about(release: ReleasedRows, name: str) -> ReleasedRows:
    """The same with the part of its promise that says how many values of one column are left."""
    guarantee = release.guarantee
    if guarantee is not None:
        more = (
            each for each in guarantee.more if each.name in _OF_NARROWED and each.column in {None, name}
        )
        guarantee = replace(guarantee, k=1, more=tuple(more))
    column = tuple(column for column in release.sensitive if column.name == name)
    return replace(release, sensitive=column, guarantee=guarantee)


def _occurring(
    release: ReleasedRows, number: int, data: _Data, grouped: _Grouped, name: str
) -> Occurring | None:
    """Who has which value of a column in which group; None where the release has no such column."""
    column = next((column for column in release.sensitive if column.name == name), None)
    if column is None or data.people is None:
        return None
    inside = data.classes[number][grouped.rows] != _ABSENT
    rows, coded = grouped.rows[inside], data.table.columns[name]
    texts = pa.concat_arrays([canonical(column, coded.values.cast(TEXT)), pa.nulls(1, TEXT)])
    places = np.where(coded.codes == MISSING, len(coded.values), coded.codes)[rows]
    return Occurring(
        rows, grouped.groups[inside], data.people.take(pa.array(rows)), texts.take(pa.array(places))
    )


def _merged(weak: Weakened | None, more: tuple[str, ...], number: int) -> Weakened | None:
    if not more:
        return weak
    return Weakened(number, more) if weak is None else replace(weak, problems=(*weak.problems, *more))


# --- The promise of one release in these groups


def _judged(
    number: int, release: ReleasedRows, data: _Data, grouped: _Grouped, place: Path
) -> Weakened | None:
    if release.guarantee is None:
        return None
    inside = data.classes[number][grouped.rows] != _ABSENT
    rows, groups = grouped.rows[inside], grouped.groups[inside]
    if not len(rows):
        return None
    names = tuple(column.name for column in release.sensitive)
    promise = Promise(release.published, release.classes, names, (), release.guarantee)
    recounts = promise.recounts()
    columns = {**data.table.columns, **_as_published(release, data.table.rows)}
    values = [_Valued.of(columns[column.name], column) for column in release.sensitive]
    people = _people(release, data)

    def columns_of(those: Codes) -> dict[str, Codes]:
        by_value = {f"v{place}": each.codes[those] for place, each in enumerate(values)}
        return by_value | ({"n": np.ones(len(those), np.int64)} if people is None else {"r": people[those]})

    everything = np.union1d(rows, release.suppressed)
    trees = [
        each.tree(release.hierarchies.get(column.name))
        for each, column in zip(values, release.sensitive, strict=True)
    ]
    with closing(ClassCount(place)) as count:
        count.add(pa.table({"k0": groups, **columns_of(rows)}))
        count.hold_against(pa.table(columns_of(everything)))
        counted = count.counted(recounts, (), names, trees)
    problems = problems_of(promise, counted, recounts)
    if not problems:
        return None
    least = [int(each.parameters[0]) for each in release.guarantee.requirements if each.name == RESPONDENTS]
    weak = Weakened(number, tuple(problems))
    return _with_records(weak, rows, groups, people, max(least, default=0))


def _with_records(
    release: Weakened, rows: Codes, groups: Codes, people: Codes | None, least: int
) -> Weakened:
    """The same with the records of respondents in groups of fewer than `least`."""
    persons = rows if people is None else people[rows]
    order = np.lexsort((rows, persons))
    first = order[np.append(True, np.diff(persons[order]) != 0)] if len(order) else order
    pairs = group([groups, persons]).first_rows()
    sizes = np.bincount(groups[pairs])
    few = np.unique(persons[pairs][sizes[groups[pairs]] < least])
    records = np.sort(rows[first][np.isin(persons[first], few)]) + 1
    return replace(release, respondents=len(few), records=tuple(records[:MOST_RECORDS].tolist()))


def _people(release: ReleasedRows, data: _Data) -> Codes | None:
    if release.respondent is None:
        return None
    return _Valued.of(data.table.columns[release.respondent.name], release.respondent).codes


@dataclass(frozen=True, slots=True)
class _Valued:
    """A column of the data by value."""

    column: Column
    texts: ArrowArray
    """The distinct texts."""
    numbers: NDArray[np.int64]
    """By text the number of its value."""
    codes: Codes
    """By row the number of its value."""

    @classmethod
    def of(cls, coded: Coded, column: Column) -> Self:
        numbers = by_value(column, Coded(np.arange(len(coded.values)), coded.values))
        return cls(column, coded.values, numbers, np.append(numbers, MISSING)[coded.codes])

    def tree(self, hierarchy: DeclaredHierarchy | None) -> "partial[Codes] | None":
        """What finds the nodes of values; None where the column has no hierarchy."""
        if self.column.hierarchy is None or hierarchy is None:
            return None
        return partial(_nodes, self, hierarchy)

    def text(self, number: int) -> str | None:
        if number == MISSING:
            return None
        text: str = self.texts[int(np.argmax(self.numbers == number))].as_py()
        return text


def _nodes(valued: _Valued, hierarchy: DeclaredHierarchy, counted: ArrowArray) -> Codes:
    return tree_of(valued.column, [*map(valued.text, counted.to_pylist())], hierarchy)
