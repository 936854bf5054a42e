"""Tables that a run refuses, with what it says of them, and unusual ones that it takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from shell import CUSTOMER, HEADER, describe, small_rows, small_table

from smalti.errors import DataError, GuaranteeError, PlanError, ProblemsError, SmaltiError

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
    ("open quote", lines((4, 'p3,23,"Rome,flu')).encode(), ("record 4", "is not closed", "closing quote")),
    ("blank line", lines((5, "")).encode(), ("record 5", "a blank line", "no blank lines")),
    ("NUL", lines((5, "p4,24,Oslo\0,flu")).encode(), ("record 5", "a NUL byte", "text")),
    (
        "no names",
        lines((0, "who,,city,illness")).encode(),
        ("column 2 has no name", "index=False"),
    ),
    ("name twice", lines((0, "who,age,age,illness")).encode(), ("columns 2 and 3", "same name", "Correct")),
    ("open header", b'who,age,"city,illness\n' + lines().encode() * 9, ("the header", "is not closed")),
    (
        "open header, long",
        b'who,"age\n' + b"p1,20\n" * 40_000,
        ("the header", "closing quote is missing", "Correct"),
    ),
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


def named(*names: str) -> Make:
    """The small table as Parquet, under other column names."""

    def make(folder: Path) -> Path:
        place = folder / "people.parquet"
        pq.write_table(
            pa.table([pa.array(texts) for texts in zip(*small_rows(), strict=True)], names), place
        )
        return place

    return make


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


def several(*files: list[list[str]], **said: Any) -> Make:
    """A folder of CSV files with these rows."""

    def make(folder: Path) -> Path:
        place = folder / "people"
        place.mkdir()
        for number, rows in enumerate(files, 1):
            text = "".join(",".join(row) + "\n" for row in (HEADER, *rows))
            (place / f"{number}.csv").write_text(text)
        describe(place, HEADER, **said)
        return place

    return make


def required(make: Make, name: str) -> Make:
    """A described table of whose column it is said that each row has a value there."""

    def both(folder: Path) -> Path:
        place = make(folder)
        metadata = place.with_name(place.name + "-metadata.json")
        said = metadata.read_text()
        metadata.write_text(said.replace(f'"name": "{name}"', f'"name": "{name}", "required": true'))
        return place

    return both


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


_MISSPELT = {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/aeg"}])}

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
        PlanError, ("people.csv, column `who`, record 8: a row has no respondent",),
    ),
    "no respondent, in quotes": Refused(
        described(written(long_lines((MANY, '"",79,Rome,flu'))), respondent="who"),
        PlanError, ("people.csv, column `who`, record 60: a row has no respondent",),
    ),
    "no respondent in Parquet": Refused(
        _null_respondent, PlanError, ("people.parquet, column `who`, record 1: a row has no respondent",)
    ),
    "no respondent in the third file": Refused(
        several(small_rows(5), [], small_rows(2) + [["", "21", "Rome", "flu"]] * 2, respondent="who"),
        PlanError, ("3.csv, column `who`, record 3: a row has no respondent",),
    ),
    "no value where one is required": Refused(
        required(described(table(with_field(4, "city", ""))), "city"),
        PlanError, ("people.csv, column `city`, record 5: a row has no value",),
    ),
    "identifiers that repeat": Refused(
        table(with_column("who", "a", "b", "c")), PlanError, ("values repeat in the identifier `who`",)
    ),
    "a column that is missing": Refused(
        described(table(lambda rows: rows)),
        PlanError, ("`people.csv` has no column", "Did you mean"), _MISSPELT,
    ),
    "a column that is missing, and no description": Refused(
        table(lambda rows: rows),
        PlanError, ("`people.csv` has no column", "data has 4 columns", "name `who`, `illness`"), _MISSPELT,
    ),
    "a column that is missing in Parquet": Refused(
        parquet(None), PlanError, ("`people.parquet` has no column", "Did you mean"), _MISSPELT
    ),
    "no header": Refused(
        written(lines((0, "Jane,20,Rome,flu")).encode()),
        ProblemsError, ("has no column", "The data has 4 columns: its first record must be the header"),
    ),
    "two marks": Refused(
        written(b"\xef\xbb\xbf" * 2 + lines().encode()),
        DataError, ("people.csv, column 1: its name begins with U+FEFF", "Rename"),
    ),
    "a mark in quotes": Refused(
        written(lines((0, 'who,"\ufeffage",city,illness')).encode()),
        DataError, ("people.csv, column 2: its name begins with U+FEFF", "Rename"),
    ),
    "a mark in Parquet": Refused(
        named("\ufeffwho", "age", "city", "illness"),
        DataError, ("people.parquet, column 1: its name begins with U+FEFF", "Rename"),
    ),
    "a mark that would come first": Refused(
        named("who", "\ufeffage", "city", "illness"),
        DataError, ("people.parquet, column 2: its name begins with U+FEFF", "Rename"),
        {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/%EF%BB%BFage"}])},
    ),
    "a NUL in a name": Refused(
        written(lines((0, "who,a\0ge,city,illness")).encode()),
        DataError, ("people.csv, column 2: its name contains a NUL character", "Rename"),
    ),
    "a NUL in a name in Parquet": Refused(
        named("who", "a\0ge", "city", "illness"),
        DataError, ("people.parquet, column 2: its name contains a NUL character", "Rename"),
        {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/a%00ge"}])},
    ),
    "a name that no reader takes": Refused(
        named("who", "age", "city", "illness" * 20_000),
        DataError, ("people.parquet, column 4: its name is too long", "Rename"),
    ),
    "a described column that is missing": Refused(
        described(table(lambda rows: rows), *HEADER, "citty"), PlanError, ("no column `citty`",)
    ),
    "no integer": Refused(
        table(with_field(11, "age", "007"), datatypes={"age": "integer"}),
        PlanError, ("people.csv, column `age`, record 12: a value is not a valid integer",),
    ),
    "no integer, twice, after a line end in quotes": Refused(
        described(
            written(
                long_lines((9, 'p8,28,"Ro\nme",flu'), (20, "p19,1_000,Rome,flu"), (40, "p39,x,Rome,flu"))
            ),
            datatypes={"age": "integer"},
        ),
        PlanError, ("people.csv, column `age`, record 20: a value is not a valid integer",),
    ),
    "no integer in the second file": Refused(
        several(
            small_rows(5), with_field(3, "age", "1_000")(small_rows(5)),
            respondent="who", datatypes={"age": "integer"},
        ),
        PlanError, ("2.csv, column `age`, record 4: a value is not a valid integer",),
    ),
    "only some date-times with a zone": Refused(
        table(
            lambda rows: with_field(6, "age", "2024-01-01T00:00Z")(
                with_column("age", "2024-01-01T00:00")(rows)
            ),
            datatypes={"age": "dateTime"},
        ),
        PlanError, ("people.csv, column `age`, record 7: a value is not a valid dateTime",),
    ),
    "no integer, and nobody asks for it": Refused(
        table(
            lambda rows: with_field(8, "city", "7")(with_column("city", "2024-01-31")(rows)),
            datatypes={"city": "date"},
        ),
        PlanError, ("people.csv, column `city`, record 9: a value is not a valid date",),
        {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/age"}])},
    ),
    "no date": Refused(
        table(
            lambda rows: with_field(11, "age", "2023-02-30")(with_column("age", "2023-02-28")(rows)),
            datatypes={"age": "date"},
        ),
        PlanError, ("people.csv, column `age`, record 12: a value is not a valid date",),
    ),
    "no number, sensitive": Refused(
        table(with_field(11, "illness", "0x10"), datatypes={"illness": "decimal"}),
        PlanError, ("people.csv, column `illness`, record 1: a value is not a valid decimal",),
    ),
    "another type than Parquet states": Refused(
        described(parquet(pa.array([f"x{n}" for n in range(12)])), datatypes={"age": "integer"}),
        PlanError, ("people.parquet, column `age`, record 1: a value is not a valid integer",),
    ),
    "a type that is not implemented": Refused(
        parquet(pa.array([[1]] * 12)), DataError, ("column `age`", "is not implemented")
    ),
    "Parquet that ends early": Refused(
        cut_short(parquet(None)), DataError, ("people.parquet", "not a Parquet file")
    ),
    "no Parquet": Refused(
        _named_parquet, DataError, ("people.parquet", "not a Parquet file")
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
