"""Times the lattice and t-closeness on the Adult data set, without engine and files; prints JSON.

    python benchmarks/models_alone.py --adult adult.csv --hierarchies adult_hierarchies.json

Only complete rows count. The hierarchies are a JSON object: by column, by value, its labels from level 1 on
(those of ARX's example data, for instance). The lattice is searched without and with suppression; Mondrian
is timed with k alone and with t-closeness of the income, in turns.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np

from smalti.transforms.base import CLOSENESS, Requirement, class_requirements
from smalti.transforms.lattice.full_domain import full_domain
from smalti.transforms.lattice.measures import Measure
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.problem import (
    SCALE,
    Attribute,
    Integers,
    OrderedAttribute,
    Problem,
    Reference,
    SensitiveIncidence,
    UnorderedAttribute,
)
from smalti.transforms.values.levels import Levels

Row: TypeAlias = Mapping[str, str]
Hierarchies: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]

EIGHT = (
    "sex", "age", "race", "marital-status", "education-num", "native-country", "workclass", "occupation",
)  # fmt: skip
NUMBERS = frozenset({"age", "education-num"})
TURNS = 5


def complete_rows(path: Path) -> list[Row]:
    """The rows without a missing value."""
    with path.open(newline="") as file:
        rows = [{name: value.strip() for name, value in row.items()} for row in csv.DictReader(file)]
    return [row for row in rows if not {"", "?"} & set(row.values())]


def coded(rows: Sequence[Row], name: str) -> tuple[list[str], Integers]:
    """The values of a column in their order, and by row the place of its value."""
    values = sorted({row[name] for row in rows}, key=int if name in NUMBERS else str)
    place = {value: number for number, value in enumerate(values)}
    return values, np.array([place[row[name]] for row in rows])


def lattice(
    rows: Sequence[Row], names: Sequence[str], hierarchies: Hierarchies
) -> tuple[Problem, tuple[Levels, ...]]:
    """A frequency table with the levels of its columns."""
    columns, levels = [], []
    for name in names:
        values, codes = coded(rows, name)
        ladders = [hierarchies[name][value] for value in values]
        numbers = [np.arange(len(values))]
        for level in range(len(ladders[0])):
            labels = [ladder[level] for ladder in ladders]
            number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
            numbers.append(np.array([number[label] for label in labels]))
        columns.append(codes)
        levels.append(Levels(tuple(numbers)))
    tuples, weights = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    attributes: tuple[Attribute, ...] = tuple(UnorderedAttribute(each.sizes[0]) for each in levels)
    problem = Problem(tuples, weights, attributes, None, (), class_requirements(10), 256)
    return problem, tuple(levels)


def closeness(rows: Sequence[Row], t: Fraction | None) -> Problem:
    """The eight quasi-identifiers with the income; with k = 10 alone, or t-close as well."""
    columns, attributes = [], []
    for name in EIGHT:
        values, codes = coded(rows, name)
        columns.append(codes + 1)
        if name in NUMBERS:
            numbers = np.array([int(value) for value in values])
            places = (numbers - numbers[0]) * SCALE // (numbers[-1] - numbers[0])
            attributes.append(OrderedAttribute(np.concatenate(([-SCALE], places))))
        else:
            attributes.append(UnorderedAttribute(len(values)))
    tuples, of_row, weights = np.unique(
        np.column_stack(columns), axis=0, return_inverse=True, return_counts=True
    )
    _, incomes = coded(rows, "income")
    pairs, counts = np.unique(np.column_stack([of_row.reshape(-1), incomes]), axis=0, return_counts=True)
    held = SensitiveIncidence(pairs[:, 0].copy(), pairs[:, 1].copy(), None, counts)
    more = () if t is None else (Requirement(CLOSENESS, (t, "equal")),)
    return Problem(
        tuples, weights, tuple(attributes), None, (held,), (*class_requirements(10), *more), 256,
        references=(Reference.of(held.values, None, counts),),
    )  # fmt: skip


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--hierarchies", type=Path, required=True)
    options = parser.parse_args()
    rows = complete_rows(options.adult)
    hierarchies = json.loads(options.hierarchies.read_text())
    figures: dict[str, float] = {"rows": len(rows)}
    eight = lattice(rows, EIGHT, hierarchies)
    nine = lattice(rows, (*EIGHT, "income"), hierarchies)
    for label, (problem, levels), k, limit in (
        ("lattice, 8 columns, k = 10", eight, 10, Fraction(0)),
        ("lattice, 8 columns, k = 10, 5 %", eight, 10, Fraction(1, 20)),
        ("lattice, 9 columns, k = 5, 4 %", nine, 5, Fraction(1, 25)),
    ):
        asked = Problem(
            *(problem.codes, problem.weights, problem.attributes), None, (), class_requirements(k), 256
        )
        figures[label] = min(
            cpu(lambda: full_domain(asked, levels, limit, Measure.NON_UNIFORM_ENTROPY))  # noqa: B023
            for _ in range(TURNS)
        )
    alone, close = closeness(rows, None), closeness(rows, Fraction(1, 5))
    turns = [(cpu(lambda: partition(alone)), cpu(lambda: partition(close))) for _ in range(TURNS)]
    figures["Mondrian, 8 columns, k = 10"] = min(first for first, _ in turns)
    figures["Mondrian, 8 columns, k = 10, t = 0.2 of the income"] = min(second for _, second in turns)
    print(json.dumps({name: round(figure, 3) for name, figure in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
