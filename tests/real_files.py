"""One table of a hospital in canonical CSV, and in the kinds of files that people bring."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from shell import RESPONDENT

COLUMNS = ("who", "born", "seen", "weight", "city", "illness")
CITIES = ("Köln", "Düsseldorf", 'Bad "Tölz"; Süd', "Weil\nam Rhein")
ILLNESSES = ("Grippe", "Gicht", "Asthma", "Schnupfen €")
Row = tuple[str, date, datetime, Decimal, str | None, str]
DATATYPES: dict[str, Any] = {"born": "date", "seen": "dateTime", "weight": "decimal"}
GERMAN: dict[str, Any] = {
    "born": {"base": "date", "format": "dd.MM.yyyy"},
    "seen": {"base": "dateTime", "format": "d.M.yyyy HH:mm"},
    "weight": {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}},
}


def rows(count: int = 24) -> list[Row]:
    return [
        (
            f"p{n:02}",
            date(1950 + n, 1 + n % 12, 1 + n),
            datetime(2024, 1 + n % 3, 1 + n, 9, 5 * (n % 12)),
            Decimal(4125 + 137 * n) / 100 if n else Decimal("1041.25"),
            None if n == 7 else CITIES[n % 4],
            ILLNESSES[(n // 4) % 4],
        )
        for n in range(count)
    ]


def description(
    place: Path, datatypes: dict[str, Any] | None = None, *, url: str | None = None, **more: Any
) -> Path:
    """The description of a file beside it."""
    columns = [
        {"name": name} | ({"datatype": (datatypes or {})[name]} if name in (datatypes or {}) else {})
        for name in COLUMNS
    ]
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": url or place.name,
        RESPONDENT: "who",
        "tableSchema": {"columns": columns},
        **more,
    }
    metadata = place.with_name(f"{place.name}-metadata.json")
    metadata.write_text(json.dumps(document), encoding="utf-8")
    return metadata


def _texts(row: Row) -> tuple[str, ...]:
    who, born, seen, weight, city, illness = row
    return who, born.isoformat(), seen.isoformat(), str(weight), city or "", illness


def _quoted(text: str, marks: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & {*marks, '"', "\n"} else text


def _canonical_text() -> str:
    lines = [",".join(_quoted(text, ",") for text in _texts(row)) for row in rows()]
    return "\n".join([",".join(COLUMNS), *lines, ""])


def canonical(folder: Path) -> Path:
    place = folder / "hospital.csv"
    place.write_text(_canonical_text(), encoding="utf-8", newline="")
    description(place, DATATYPES)
    return place


def german(folder: Path) -> Path:
    """What a hospital's program exports in Germany."""
    place = folder / "export.csv"
    lines = ["Auszug vom 1. Juni", ";".join(COLUMNS)]
    for who, born, seen, weight, city, illness in rows():
        number = f"{weight:,}".translate(str.maketrans(",.", ".,"))
        day = f"{seen.day}.{seen.month}.{seen.year} {seen:%H:%M}"
        texts = (who, f"{born:%d.%m.%Y}", day, number, city or "k.A.", illness)
        lines.append(";".join(_quoted(text, ";") for text in texts))
    place.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    dialect = {"delimiter": ";", "encoding": "windows-1252", "skipRows": 1}
    description(place, GERMAN, dialect=dialect, null="k.A.")
    return place


def packed(folder: Path) -> Path:
    place = folder / "hospital.csv.gz"
    place.write_bytes(gzip.compress(_canonical_text().encode()))
    description(place, DATATYPES)
    return place


def zstandard(folder: Path) -> Path:
    place = folder / "hospital.csv.zst"
    with pa.output_stream(str(place), compression="zstd") as stream:
        stream.write(_canonical_text().encode())
    description(place, DATATYPES)
    return place


def workbook(folder: Path) -> Path:
    import openpyxl  # noqa: PLC0415

    place = folder / "hospital.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["nothing"])
    sheet = book.create_sheet("Visits")
    sheet.append(COLUMNS)
    for row in rows():
        sheet.append([float(cell) if isinstance(cell, Decimal) else cell for cell in row])
    sheet["B30"] = None  # a cell that once held something
    book.save(place)
    description(place, DATATYPES)
    return place.with_name(f"{place.name}#Visits")


def database(folder: Path) -> Path:
    place = folder / "hospital.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute(
            "CREATE TABLE visits (who VARCHAR, born DATE, seen TIMESTAMP, weight DECIMAL(8,2),"
            " city VARCHAR, illness VARCHAR)"
        )
        connection.execute("CREATE TABLE other (a INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", rows())
    description(place)
    return place.with_name(f"{place.name}#visits")


def parquet(folder: Path) -> Path:
    place = folder / "hospital.parquet"
    pq.write_table(arrow(), place)
    description(place)
    return place


def parquet_as_csv(folder: Path) -> Path:
    """The canonical CSV of that Parquet file, whose date-times say microseconds."""
    place = folder / "parquet.csv"
    text = _canonical_text()
    for row in rows():
        text = text.replace(row[2].isoformat(), f"{row[2]:%Y-%m-%d %H:%M:%S}.000000")
    place.write_text(text, encoding="utf-8", newline="")
    description(place, DATATYPES)
    return place


def arrow() -> pa.Table:
    columns = list(zip(*rows(), strict=True))
    types = (
        pa.string(), pa.date32(), pa.timestamp("us"), pa.decimal128(8, 2),
        pa.dictionary(pa.int32(), pa.string()), pa.string(),
    )  # fmt: skip
    arrays = [pa.array(column, pa.string() if "dict" in str(kind) else kind).cast(kind)
              for column, kind in zip(columns, types, strict=True)]  # fmt: skip
    return pa.Table.from_arrays(arrays, names=list(COLUMNS))


KINDS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Path]]] = {
    "german": (german, canonical),
    "excel": (workbook, canonical),
    "gzip": (packed, canonical),
    "zstd": (zstandard, canonical),
    "parquet": (parquet, parquet_as_csv),
    "duckdb": (database, canonical),
}
"""By kind, what writes the file, and what writes the same content in canonical CSV."""
MOMENT = datetime(2024, 1, 31, 9, 30, tzinfo=UTC)
