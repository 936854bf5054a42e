"""Tables that a run refuses, with what it says of them, and unusual ones that it takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from shell import CUSTOMER, HEADER, describe, small_rows, small_table

from smalti.errors import DataError, GuaranteeError, PlanError, SmaltiError

LINES = [",".join(row) for row in (HEADER, *small_rows())]
Make = Callable[[Path], Path]
"""Writes a table, and its description where it has one, into a folder; returns the table's path."""


def lines(*changed: tuple[int, str]) -> str:
    """The small table with some of its lines replaced."""
    found = dict(enumerate(LINES)) | dict(changed)
    return "\n".join(found.values()) + "\n"


BAD_FILES: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("empty", b"", ("people.csv", "the file has no header")),
    ("mark only", b"\xef\xbb\xbf", ("people.csv", "the file has no header")),
    ("line only", b"\n", ("people.csv", "the file has no header")),
    ("too few fields", lines((3, "p2,22,Bern")).encode(), ("people.csv, record 3", "3 fields", "4")),
    ("too many", lines((3, "p2,22,Bern,flu,")).encode(), ("people.csv, record 3", "5 fields", "4")),
    ("latin-1", lines((2, "p1,21,Malmö,flu")).encode("latin-1"), ("record 2", "not UTF-8", "UTF-8")),
    ("utf-16", lines().encode("utf-16"), ("people.csv, the header", "not UTF-8", "UTF-8")),
    ("stray quote", lines((4, 'p3,23,"Ro"me,flu')).encode(), ("record 4", "a quote", "Correct")),
    ("open quote", lines((4, 'p3,23,"Rome,flu')).encode(), ("record 4", "never closed", "closing quote")),
    ("blank line", lines((5, "")).encode(), ("record 5", "a blank line", "no blank lines")),
    ("NUL", lines((5, "p4,24,Oslo\0,flu")).encode(), ("record 5", "a NUL byte", "text")),
    ("no names", lines((0, "who,,city,illness")).encode(), ("a column without a name", "Correct")),
    ("name twice", lines((0, "who,age,age,illness")).encode(), ("columns 2 and 3", "same name", "Correct")),
    ("open header", b'who,age,"city,illness\n' + lines().encode() * 9, ("the header", "never closed")),
    ("open header, long", b'who,"age\n' + b"p1,20\n" * 40_000, ("the header", "never closed", "Correct")),
]
"""Files outside the dialect, each with what is said of it."""


@dataclass(frozen=True)
class Refused:
    """A table that cannot be published."""

    make: Make
    error: type[SmaltiError]
    told: tuple[str, ...]
    """Parts of the message, in their order."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """What the small policy says otherwise."""


@dataclass(frozen=True)
class Taken:
    """An unusual table that is published."""

    make: Make
    policy: Mapping[str, Any] = field(default_factory=dict)


def written(content: bytes) -> Make:
    def make(folder: Path) -> Path:
        place = folder / "people.csv"
        place.write_bytes(content)
        return place

    return make


def table(change: Callable[[list[list[str]]], list[list[str]]], count: int = 12, **described: Any) -> Make:
    return lambda folder: small_table(folder, change(small_rows(count)), **described)


def with_field(row: int, name: str, value: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def change(rows: list[list[str]]) -> list[list[str]]:
        rows[row][HEADER.index(name)] = value
        return rows

    return change


def with_column(name: str, *values: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def change(rows: list[list[str]]) -> list[list[str]]:
        for number, row in enumerate(rows):
            row[HEADER.index(name)] = values[number % len(values)]
        return rows

    return change


def parquet(column: pa.Array | None, *, rows: int = 12, **options: Any) -> Make:
    """The small table as Parquet, with another column of ages."""

    def make(folder: Path) -> Path:
        place = folder / "people.parquet"
        given = small_rows(rows)
        texts = {name: pa.array([row[i] for row in given], pa.string()) for i, name in enumerate(HEADER)}
        pq.write_table(pa.table(texts if column is None else texts | {"age": column}), place, **options)
        return place

    return make


def described(make: Make, *header: str, **said: Any) -> Make:
    def both(folder: Path) -> Path:
        place = make(folder)
        describe(place, header or HEADER, **said)
        return place

    return both


def cut_short(make: Make) -> Make:
    def shorter(folder: Path) -> Path:
        place = make(folder)
        place.write_bytes(place.read_bytes()[:-9])
        return place

    return shorter


def _null_respondent(folder: Path) -> Path:
    place = folder / "people.parquet"
    texts = {name: pa.array([row[i] for row in small_rows()]) for i, name in enumerate(HEADER)}
    people = pa.array([None, *texts["who"].to_pylist()[1:]])
    pq.write_table(pa.table(texts | {"who": people}), place)
    describe(place, HEADER, respondent="who")
    return place


def _named_parquet(folder: Path) -> Path:
    place = folder / "people.parquet"
    place.write_bytes(b"PAR1 no more than that")
    return place


MANY = 60
"""Rows of tables that are read in several ranges."""


def long_lines(*changed: tuple[int, str]) -> bytes:
    """A longer table with some of its records replaced; those of a few bytes lie in several ranges."""
    found = [",".join(HEADER), *(",".join(row) for row in small_rows(MANY))]
    for number, line in changed:
        found[number] = line
    return ("\n".join(found) + "\n").encode("utf-8", errors="surrogateescape")


REFUSED: dict[str, Refused] = {
    "fewer respondents than k": Refused(
        table(with_column("who", "a", "b"), respondent="who"),
        GuaranteeError, (CUSTOMER, "cannot meet k-anonymity with k = 3"), {"k": ("gteq", 3)},
    ),
    "nobody": Refused(table(lambda _: []), GuaranteeError, (CUSTOMER, "cannot meet k-anonymity")),
    "nobody in Parquet": Refused(
        parquet(None, rows=0), GuaranteeError, (CUSTOMER, "cannot meet k-anonymity")
    ),
    "one sensitive value": Refused(
        table(with_column("illness", "flu")), GuaranteeError, ("no sensitive value that all respondents",)
    ),
    "no respondent": Refused(
        table(with_field(7, "who", ""), respondent="who"),
        PlanError, ("people.csv, column `who`", "a row has no respondent"),
    ),
    "no respondent, in quotes": Refused(
        described(written(long_lines((MANY, '"",79,Rome,flu'))), respondent="who"),
        PlanError, ("people.csv, column `who`", "a row has no respondent"),
    ),
    "no respondent in Parquet": Refused(
        _null_respondent, PlanError, ("column `who`", "a row has no respondent")
    ),
    "identifiers that repeat": Refused(
        table(with_column("who", "a", "b", "c")), PlanError, ("values repeat in the identifier `who`",)
    ),
    "a column that is missing": Refused(
        table(lambda rows: rows),
        PlanError, ("`people.csv` has no column", "Did you mean"),
        {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/aeg"}])},
    ),
    "a described column that is missing": Refused(
        described(table(lambda rows: rows), *HEADER, "citty"), PlanError, ("no column `citty`",)
    ),
    "no integer": Refused(
        table(with_field(11, "age", "007"), datatypes={"age": "integer"}),
        PlanError, ("column `age`", "a value is no integer"),
    ),
    "no date": Refused(
        table(with_field(11, "age", "2023-02-30"), datatypes={"age": "date"}),
        PlanError, ("column `age`", "a value is no date"),
    ),
    "no number, sensitive": Refused(
        table(with_field(11, "illness", "0x10"), datatypes={"illness": "decimal"}),
        PlanError, ("column `illness`", "a value is no decimal"),
    ),
    "another type than Parquet states": Refused(
        described(parquet(pa.array([f"x{n}" for n in range(12)])), datatypes={"age": "integer"}),
        PlanError, ("column `age`", "a value is no integer"),
    ),
    "a type that is not implemented": Refused(
        parquet(pa.array([[1]] * 12)), DataError, ("column `age`", "is not implemented")
    ),
    "Parquet that ends early": Refused(
        cut_short(parquet(None)), DataError, ("people.parquet", "no Parquet file")
    ),
    "no Parquet": Refused(
        _named_parquet, DataError, ("people.parquet", "no Parquet file")
    ),
    **{name: Refused(written(content), DataError, told) for name, content, told in BAD_FILES},
}  # fmt: skip

LATER = {
    "a field too few": long_lines((40, "p39,59,Rome")),
    "a field too many": long_lines((50, "p49,69,Rome,flu,more")),
    "two records, the first is told": long_lines((30, "p29,49,Rome"), (55, 'p54,74,"Ro"me,flu')),
    "a quote that is never closed": long_lines((45, 'p44,64,"Rome,flu')),
    "a closed quote, and later one that is not": long_lines(
        (9, 'p8,28,"Ro\nme",flu'), (45, 'p44,64,"Rome,flu')
    ),
    "a line end inside quotes, then a blank line": long_lines((20, 'p19,39,"Ro\nme",flu'), (40, "")),
    "another encoding, later on": long_lines((35, "p34,54,Malm\udcf6,flu")),
    "half a character at a range's end": long_lines((MANY, "p59,79,Malm\udcc3,flu")),
    "half of it in UTF-16": long_lines()[:700] + long_lines()[700:].decode().encode("utf-16-le"),
    "a NUL": long_lines((58, "p57,77,Ro\0me,flu")),
    "a carriage return alone": long_lines((33, "p32,52,Rome\r,flu")),
    "a last record without its end": long_lines() + b"p60,80",
}  # fmt: skip
"""Longer files with a fault that is not in their first bytes."""

TAKEN: dict[str, Taken] = {
    "a constant quasi-identifier": Taken(table(with_column("city", "Rome"))),
    "quasi-identifiers that are all constant": Taken(
        table(lambda rows: with_column("city", "Rome")(with_column("age", "40")(rows)))
    ),
    "a quasi-identifier without any value": Taken(table(with_column("age", ""))),
    "as many respondents as k": Taken(
        table(with_column("who", "a", "b"), respondent="who"), {"k": ("gteq", 2)}
    ),
    "a mark, CRLF, quotes, no last line end": Taken(
        written(b"\xef\xbb\xbf" + lines((3, 'p2,"22","Be\r\nrn",""')).replace("\n", "\r\n")[:-2].encode())
    ),
    "numbers in Parquet, some missing": Taken(
        parquet(pa.array([None, *range(11)], pa.int16()), row_group_size=5)
    ),
}
