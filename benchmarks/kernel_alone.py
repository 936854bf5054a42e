"""Times the kernel alone, without engine and files, and prints what it took as JSON.

    python benchmarks/kernel_alone.py floats --rows 1000000 --threshold 256
    python benchmarks/kernel_alone.py transactions --rows 1000000 --threshold 256

floats: 8 attributes, no two tuples alike, k = 10. transactions: the reference policy's shape, with postal
code, birth date and time of a transaction, k = 10 and l = 3 of the categories, counted by customer.
"""

import argparse
import json
import time

import generated
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.base import class_requirements
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.problem import (
    MISSING,
    SCALE,
    Incidence,
    Integers,
    OrderedAttribute,
    Problem,
    SensitiveIncidence,
)
from smalti.transforms.values.metrics import certainty_penalties


def floats(rows: int, seed: int, threshold: int) -> Problem:
    """The frequency table of the generated floats."""
    table = pa.concat_tables(generated.floats(rows, seed))
    encoded = [_ordered(np.round(column.to_numpy() * 1e6).astype(np.int64)) for column in table.columns]
    codes = np.column_stack([codes for codes, _ in encoded])
    attributes = tuple(attribute for _, attribute in encoded)
    return Problem(
        codes=codes,
        weights=np.ones(rows, np.int64),
        attributes=attributes,
        respondents=None,
        sensitive=(),
        requirements=class_requirements(10),
        cut_threshold=threshold,
    )


def transactions(rows: int, seed: int, threshold: int) -> Problem:
    """The (tuple, respondent) pairs of the generated transactions."""
    table = pa.concat_tables(generated.transactions(rows, seed))
    encoded = [
        _ordered_texts(table.column("ZIP"), pa.int64()),
        _ordered_texts(table.column("BirthDate"), pa.date32()),
        _ordered_texts(table.column("TransactionTime"), pa.timestamp("s")),
    ]
    codes, place, weights = np.unique(
        np.column_stack([codes for codes, _ in encoded]), axis=0, return_inverse=True, return_counts=True
    )
    customers, categories = (_numbers(table.column(name)) for name in ("CustomerID", "StoreCategory"))
    pairs = np.unique(np.column_stack([place, customers]), axis=0)
    triples = np.unique(np.column_stack([place, categories, customers]), axis=0)
    return Problem(
        codes=np.ascontiguousarray(codes),
        weights=weights.astype(np.int64),
        attributes=tuple(attribute for _, attribute in encoded),
        respondents=Incidence(pairs[:, 0].copy(), pairs[:, 1].copy()),
        sensitive=(SensitiveIncidence(triples[:, 0].copy(), triples[:, 1].copy(), triples[:, 2].copy()),),
        requirements=class_requirements(10, 3),
        cut_threshold=threshold,
    )


def _ordered(values: Integers, missing: np.ndarray | None = None) -> tuple[Integers, OrderedAttribute]:
    """Codes from 1 in the order of the values, and their places in the domain."""
    present = values if missing is None else values[~missing]
    distinct, ranks = np.unique(present, return_inverse=True)
    codes = np.full(len(values), MISSING, np.int64)
    codes[slice(None) if missing is None else ~missing] = ranks + 1
    width = int(distinct[-1] - distinct[0])
    positions = np.concatenate(([-SCALE], (distinct - distinct[0]) * SCALE // width)).astype(np.int64)
    return codes, OrderedAttribute(positions)


def _ordered_texts(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[Integers, OrderedAttribute]:
    missing = pc.equal(column, "").to_numpy()
    values = pc.if_else(pc.equal(column, ""), None, column).cast(kind)
    whole = values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date(kind) else values.cast(pa.int64())
    return _ordered(pc.fill_null(whole, 0).to_numpy(), missing)


def _numbers(column: pa.ChunkedArray) -> Integers:
    return np.asarray(pc.dictionary_encode(column.combine_chunks()).indices.to_numpy(), np.int64)


def main() -> None:
    """Make the problem, time the kernel, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", choices=["floats", "transactions"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threshold", type=int, default=256)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    make = {"floats": floats, "transactions": transactions}[arguments.data]
    problem = make(arguments.rows, arguments.seed, arguments.threshold)
    wall, cpu = time.perf_counter(), time.process_time()
    classes = partition(problem)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if classes is None:
        parser.error("the data cannot meet k and l")
    losses = certainty_penalties(problem, classes)
    figures = {
        "tuples": len(problem.weights),
        "wall": wall,
        "cpu": cpu,
        "classes": int(classes.max()) + 1,
        "gcp": float(sum(losses) / len(losses)),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
