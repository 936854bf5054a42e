"""Tables for benchmarks, of any number of rows: written in chunks, the same bytes for the same seed.

    python benchmarks/generated.py redrawn --rows 1000000 --out redrawn.csv [--adult adult.csv]
    python benchmarks/generated.py transactions --rows 1000000 --out transactions.csv
    python benchmarks/generated.py floats --rows 1000000 --out floats.csv

redrawn: rows drawn from a base table with replacement; then each quasi-identifier of a row is drawn again,
with probability 1/8, from its column's own distribution. Without that the rarest combination of ten
million rows has dozens of rows, and nothing needs generalising. The base is the Adult data set if its file
is given, else invented rows like it (`adult_like.py`).

transactions: those of the reference policy (`examples/data/transactions.py`): several for each customer,
and times that make nearly every combination of quasi-identifiers unique.

floats: 8 columns of numbers, no two rows alike.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import adult_like
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

CHUNK = 1 << 18
"""Rows that are made at a time."""
CUSTOMERS = 1 << 16
"""Customers that are made at a time, with four transactions each on average."""
REDRAWN = 1 / 8
"""Probability that a quasi-identifier of a row is drawn again."""
BASE_ROWS = 32_561
"""Of the invented base: as many as the Adult data set has."""
QUASI_IDENTIFIERS = adult_like.COLUMNS[:-1]
INCOME = adult_like.COLUMNS[-1]
FLOAT_COLUMNS = tuple(f"x{number}" for number in range(1, 9))
EXAMPLES = Path(__file__).parents[1] / "examples" / "data"

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Base:
    """The table that rows are drawn from."""

    name: str
    """For reports."""
    table: pa.Table
    """All columns as text; missing is the empty text."""


class BaseError(ValueError):
    """The base table cannot be used; says why, without a value of it."""


def read_base(adult: Path | None) -> Base:
    """The Adult data set from a file, or invented rows like it.

    Raises:
        BaseError: a column is missing, or a value would need quotes.
    """
    if adult is not None:
        return Base(f"{adult.name}, Adult data set", _read_texts(adult))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base.csv"
        adult_like.write(path, BASE_ROWS, seed=7)
        return Base("adult_like.py, invented", _read_texts(path))


def _read_texts(path: Path) -> pa.Table:
    with path.open("rb") as file:
        names = file.readline().decode().strip().split(",")
    convert = pv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    table = pv.read_csv(path, convert_options=convert).combine_chunks()
    if lacking := [name for name in (*QUASI_IDENTIFIERS, INCOME) if name not in table.column_names]:
        raise BaseError(f"{path.name}: expected the columns of the Adult data set; not found: {lacking}")
    if any(pc.any(pc.match_substring_regex(column, '[",\r\n]')).as_py() for column in table.columns):
        raise BaseError(f"{path.name}: expected values without quotes, commas and line ends")
    return table


def redrawn(base: pa.Table, rows: int, seed: int) -> Iterator[pa.Table]:
    """Rows drawn from a base table, with each quasi-identifier drawn again now and then."""
    rng = _generator(seed)
    for size in _sizes(rows):
        at = _below(rng, base.num_rows, size)
        columns = []
        for name, column in zip(base.column_names, base.columns, strict=True):
            here = at
            if name in QUASI_IDENTIFIERS:
                here = np.where(rng.random(size) < REDRAWN, _below(rng, base.num_rows, size), at)
            columns.append(column.take(pa.array(here)))
        yield pa.table(columns, names=base.column_names)


def floats(rows: int, seed: int) -> Iterator[pa.Table]:
    """Rows of 8 decimal numbers between 1 and 1001, with up to six places."""
    rng = _generator(seed)
    for size in _sizes(rows):
        columns = [pa.array(np.round(1 + 1000 * rng.random(size), 6)) for _ in FLOAT_COLUMNS]
        yield pa.table(columns, names=list(FLOAT_COLUMNS))


def transactions(rows: int, seed: int) -> Iterator[pa.Table]:
    """Transactions as `examples/data/transactions.py` has them, customer by customer.

    A customer has 1 to 14, as there; the last one may have fewer, for there are as many rows as asked.
    """
    example = _example_transactions()
    rng = _generator(seed)
    customers, left = 0, rows
    while left:
        table = _transactions(example, rng, customers)
        customers += CUSTOMERS
        yield table.slice(0, left)
        left -= min(left, table.num_rows)


def _transactions(example: ModuleType, rng: np.random.Generator, first: int) -> pa.Table:
    """All transactions of the next customers, in the order of the customers."""
    of = np.repeat(np.arange(CUSTOMERS), _skewed(rng, _same(1), _same(14)))
    size = len(of)
    city = _weighted(rng, example.CITIES, CUSTOMERS)
    zip_code = [int(name) * 1000 for name, _ in example.CITIES]
    codes = np.array(zip_code)[city] + 100 + 5 * _skewed(rng, _same(0), _same(24))
    home = np.char.add(np.array([name for name, _ in example.CITIES])[city], _suffix(rng, CUSTOMERS))
    away = np.char.add(
        np.array([name for name, _ in example.CITIES])[_weighted(rng, example.CITIES, size)],
        _suffix(rng, size),
    )
    born = np.datetime64("1938-01-01") + _below(rng, 25_000, CUSTOMERS).astype("timedelta64[D]")
    category = _weighted(rng, example.CATEGORIES, size)
    low, high = (np.array([kind[i] for kind, _ in example.CATEGORIES])[category] for i in (1, 2))
    kinds = [kind[0] for kind, _ in example.CATEGORIES]
    columns = {
        "CustomerID": pc.binary_join_element_wise("C", _padded(first + 1 + np.arange(CUSTOMERS), 5), ""),
        "FirstName": pa.array(example.FIRST_NAMES).take(_below(rng, len(example.FIRST_NAMES), CUSTOMERS)),
        "LastName": pa.array(example.LAST_NAMES).take(_below(rng, len(example.LAST_NAMES), CUSTOMERS)),
        "ZIP": _some_missing(rng, pa.array(codes).cast(pa.string()), example.MISSING),
        "BirthDate": _some_missing(rng, pa.array(born).cast(pa.string()), example.MISSING),
    }
    columns = {name: column.take(pa.array(of)) for name, column in columns.items()}
    columns["TransactionTime"] = pc.strftime(_times(example, rng, size), "%Y-%m-%dT%H:%M:%S")
    columns["Amount"] = _money(_skewed(rng, low, high))
    columns["StoreCategory"] = pa.array(kinds).take(pa.array(category))
    columns["Branch"] = pa.array(np.where(rng.random(size) < 0.8, home[of], away))
    return pa.table(columns).select(list(example.COLUMNS))


def _times(example: ModuleType, rng: np.random.Generator, size: int) -> pa.Array:
    hours = np.array([hour for hour, _ in example.HOURS])[_weighted(rng, example.HOURS, size)]
    minutes = (_below(rng, 182, size) * 24 + hours) * 60 + _below(rng, 60, size)
    times = np.datetime64(example.FIRST_DAY, "m") + minutes.astype("timedelta64[m]")
    return pa.array(times.astype("datetime64[s]"))


def _money(cents: Numbers) -> pa.Array:
    whole = pa.array(cents // 100).cast(pa.string())
    return pc.binary_join_element_wise(whole, _padded(cents % 100, 2), ".")


def _padded(numbers: Numbers, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _suffix(rng: np.random.Generator, size: int) -> npt.NDArray[np.str_]:
    return np.array(["-1", "-2", "-3", "-4"])[_below(rng, 4, size)]


def _some_missing(rng: np.random.Generator, column: pa.Array, share: float) -> pa.Array:
    return pc.if_else(pa.array(rng.random(len(column)) < share), "", column)


def _weighted(rng: np.random.Generator, choices: tuple[tuple[object, int], ...], size: int) -> Numbers:
    bounds = np.cumsum([weight for _, weight in choices])
    places: Numbers = np.searchsorted(bounds, rng.random(size) * bounds[-1], side="right").astype(np.int64)
    return places


def _same(number: int) -> Numbers:
    """The number for each customer of a chunk."""
    return np.full(CUSTOMERS, number)


def _skewed(rng: np.random.Generator, low: Numbers, high: Numbers) -> Numbers:
    """Whole numbers from low to high; small ones are far more likely."""
    share = rng.random(len(low))
    return (low + np.floor(share * share * share * (high - low + 1))).astype(np.int64)


def _below(rng: np.random.Generator, limit: int, size: int) -> Numbers:
    """Whole numbers from 0 to limit - 1: they rest on `random` alone, which is the same everywhere."""
    return (rng.random(size) * limit).astype(np.int64)


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _sizes(rows: int) -> Iterator[int]:
    for start in range(0, rows, CHUNK):
        yield min(CHUNK, rows - start)


@cache
def _example_transactions() -> ModuleType:
    spec = spec_from_file_location("example_transactions", EXAMPLES / "transactions.py")
    if spec is None or spec.loader is None:
        raise ImportError("examples/data/transactions.py")
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def write(path: Path, tables: Iterator[pa.Table]) -> None:
    """Write tables one after the other as one CSV file; a value that would need quotes is an error."""
    first = next(tables)
    options = pv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        file.write((",".join(first.column_names) + "\n").encode())
        with pv.CSVWriter(file, first.schema, write_options=options) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)


def write_redrawn(path: Path, rows: int, seed: int, base: Base) -> None:
    """Write the table that `redrawn` makes."""
    write(path, redrawn(base.table, rows, seed))


def write_floats(path: Path, rows: int, seed: int) -> None:
    """Write the table that `floats` makes."""
    write(path, floats(rows, seed))


def write_transactions(path: Path, rows: int, seed: int) -> None:
    """Write the table that `transactions` makes, and beside it its description (W3C CSVW)."""
    write(path, transactions(rows, seed))
    text = json.dumps(_example_transactions().description(path.name), indent=2) + "\n"
    path.with_name(f"{path.name}-metadata.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Write a table as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=["redrawn", "transactions", "floats"])
    parser.add_argument("--rows", type=int, required=True, help="number of rows")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same bytes")
    parser.add_argument("--adult", type=Path, metavar="PATH", help="the Adult data set, for `redrawn`")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="the CSV file to write")
    options = parser.parse_args()
    if options.rows < 1:
        parser.error("--rows: expected 1 or more")
    kinds: dict[str, Callable[[], None]] = {
        "redrawn": lambda: write_redrawn(options.out, options.rows, options.seed, read_base(options.adult)),
        "transactions": lambda: write_transactions(options.out, options.rows, options.seed),
        "floats": lambda: write_floats(options.out, options.rows, options.seed),
    }
    kinds[options.kind]()


if __name__ == "__main__":
    main()
