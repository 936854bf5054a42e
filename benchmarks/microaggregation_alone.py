"""Times microaggregation alone, without engine and files, and prints time and loss as JSON.

    python benchmarks/microaggregation_alone.py adult --adult adult.csv
    python benchmarks/microaggregation_alone.py categories --adult adult.csv
    python benchmarks/microaggregation_alone.py normal --rows 1000000 --blocks 1000

adult: age, education-num, hours-per-week and capital-gain of all rows. categories: age, education-num and
six columns of texts of all rows, any two of which are equally far apart. normal: 4 columns of numbers from
the normal distribution; beside them the loss on a sample of 20,000 rows, in one block and in blocks of the
same size. k = 10, and values are divided by their standard deviation. The loss is the squared error within
groups as a share of the squared error of the table (SSE/SST), which means without rounding have; of texts
half of the mean share of pairs that differ takes the place of an error.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

from smalti.transforms.base import Figure, GroupingTerms, Standardization, class_requirements
from smalti.transforms.measures.squared_error import error_within
from smalti.transforms.microaggregation.algorithm import microaggregated
from smalti.transforms.mondrian.algorithm import Portions
from smalti.transforms.problem import FigureAttribute, Integers, NominalAttribute, Problem

COLUMNS = ("age", "education-num", "hours-per-week", "capital-gain")
CATEGORIES = ("workclass", "marital-status", "occupation", "race", "sex", "native-country")
K = 10
SAMPLE = 20_000


def adult(path: Path) -> Integers:
    """Shape (rows, columns)."""
    with path.open(newline="") as file:
        return np.array([[int(row[name]) for name in COLUMNS] for row in csv.DictReader(file)])


def categories(path: Path) -> Integers:
    """Shape (rows, columns); texts by their places among those of their column."""
    with path.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    held = [
        np.unique([row[name] for row in rows], return_inverse=True)[1].reshape(-1) for name in CATEGORIES
    ]
    return np.column_stack([np.array([[int(row[n]) for n in COLUMNS[:2]] for row in rows]), *held])


def normal(rows: int) -> Integers:
    """Shape (rows, columns); six digits behind the point."""
    return np.rint(np.random.default_rng(3).normal(size=(rows, len(COLUMNS))) * 1e6).astype(np.int64)


def problem_of(values: Integers, blocks: int, numbers: int) -> Problem:
    """A frequency table of rows, each about another person; the first columns are of numbers."""
    coded = [np.unique(column, return_inverse=True) for column in values.T]
    codes = np.column_stack([places.reshape(-1) + 1 for _, places in coded])
    tuples, weights = np.unique(codes, axis=0, return_counts=True)
    attributes = tuple(
        FigureAttribute(np.zeros(len(held) + 1, np.int64), Figure.MEAN, held, 0, 0, False)
        if place < numbers
        else NominalAttribute(len(held), np.arange(len(held)))
        for place, (held, _) in enumerate(coded)
    )
    terms = GroupingTerms(Standardization.STANDARD_DEVIATION, blocks)
    return Problem(tuples, weights, attributes, None, (), class_requirements(K), 256, grouping_terms=terms)


def loss(problem: Problem, portions: Portions) -> float:
    """The share of the variance of standardised values that lies within groups."""
    shares = [
        float(error_within(attribute, codes[portions.atoms], portions.rows, portions.classes))
        if isinstance(attribute, FigureAttribute)
        else differing(codes, portions)
        for codes, attribute in zip(problem.codes.T, problem.attributes, strict=True)
    ]
    return sum(shares) / len(shares)


def differing(codes: Integers, portions: Portions) -> float:
    """The same of texts, of which half of the pairs that differ are the squared error."""
    groups = np.bincount(portions.classes, portions.rows)
    counts = np.zeros((len(groups), int(codes.max()) + 1))
    np.add.at(counts, (portions.classes, codes[portions.atoms]), portions.rows)
    whole = counts.sum(axis=0)
    differ = (groups - (counts**2).sum(axis=1) / groups).sum()
    return float(differ / (whole.sum() - (whole**2).sum() / whole.sum()))


def measured(values: Integers, blocks: int, numbers: int = len(COLUMNS)) -> dict[str, float]:
    """What one run took and lost."""
    problem = problem_of(values, blocks, numbers)
    wall, cpu = time.perf_counter(), time.process_time()
    portions = microaggregated(problem)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if portions is None:
        raise ValueError("the data cannot meet k")
    groups = float(portions.classes.max()) + 1
    return {"rows": len(values), "blocks": blocks, "wall": wall, "cpu": cpu, "groups": groups,
            "loss": loss(problem, portions)}  # fmt: skip


def main() -> None:
    """Make the table, time the groups, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=["adult", "categories", "normal"])
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--blocks", type=int, default=1)
    options = parser.parse_args()
    if options.data != "normal":
        if options.adult is None:
            parser.error("--adult names the file of the data set")
        is_plain = options.data == "adult"
        values = adult(options.adult) if is_plain else categories(options.adult)
        print(json.dumps(measured(values, options.blocks, len(COLUMNS) if is_plain else 2)))
        return
    values = normal(options.rows)
    print(json.dumps(measured(values, options.blocks)))
    sample = values[:SAMPLE]
    alike = max(1, options.blocks * len(sample) // len(values))
    for blocks in sorted({1, alike}):
        print(json.dumps({"sample": True, **measured(sample, blocks)}))


if __name__ == "__main__":
    main()
