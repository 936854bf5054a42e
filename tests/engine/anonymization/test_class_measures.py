"""Figures of classes that were never written, against what a run publishes, read by brute force."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from along import ALONG, CITIES, NODES
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, QUASI_IDENTIFIERS, TARGET, Made, People, classes, covers, items, make, people

from smalti.engine.anonymization.class_measures import ClassMeasures
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.class_figures import ClassFigures
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.tables.description import Description, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
NUMBERS = ("age", "born")


@dataclass(frozen=True)
class Variant:
    """A way to make classes."""

    words: Mapping[str, str]
    hierarchies: Mapping[str, DeclaredHierarchy]
    columns: tuple[str, ...] = QUASI_IDENTIFIERS
    reads_labels: bool = True
    """Whether this test reads from the labels what they stand for."""


ALL_NODES = {node for nodes in NODES.values() for node in nodes} - {*NODES}
ALL_NODES |= {node for row in CITIES.rows for node in row[1:]}
ROOTS = ("*", "anywhere")
INCOGNITO = {"algorithm": "incognito"}
VARIANTS = [
    Variant({}, {}),
    Variant({}, ALONG),
    Variant({"partitioning": "relaxed"}, {}),
    Variant({"partitioning": "improved"}, {}),
    Variant({"dimensionality": "single"}, {}),
    Variant({"outputForm": "prefix"}, {}, reads_labels=False),
    Variant({"outputForm.age": "mean", "partitioning": "relaxed"}, {}, reads_labels=False),
    Variant({"algorithm": "mdav"}, {}, NUMBERS, reads_labels=False),
    Variant({**INCOGNITO, "suppressionLimit": "0.3"}, {}),
    Variant({**INCOGNITO, "suppressionLimit": "0.4"}, ALONG),
    Variant({**INCOGNITO, "suppressionLimit": "0.4", "suppressedRecords": "kept"}, ALONG),
]


def measured(plan: Plan, folder: Path, variant: Variant, backend: Backend | None = None) -> ClassFigures:
    """The figures of a plan on the rows that it was made for."""
    (folder / "again").mkdir()
    source = Source(TARGET, folder / "people.csv", OutputFormat.CSV, Description())
    with closing((backend or LocalBackend()).open(source, folder / "again")) as table:
        return ClassMeasures(table, dict(variant.hierarchies)).figures(plan)


@settings(max_examples=examples(40, full=1500), suppress_health_check=SLOW, deadline=None)
@given(people(), st.sampled_from(VARIANTS))
def test_figures_are_those_of_the_output_of_a_run(table: People, variant: Variant) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "run")
        done = make(
            LocalBackend(), table, folder, words=variant.words, hierarchies=variant.hierarchies,
            quasi_identifiers=variant.columns,
        )  # fmt: skip
        if done is None:
            return
        figures = measured(done.plan, folder, variant)
    by_labels = classes(done, variant.columns)
    people_of = {labels: respondents(table, rows) for labels, rows in by_labels.items()}
    assert figures.rows == len(done.rows)
    assert figures.rows_suppressed == len(table.rows) - len(done.rows)
    assert figures.classes == len(by_labels)
    assert figures.k == min(map(len, people_of.values()))
    assert figures.respondents == len(set().union(*people_of.values()))
    left_out = [row for row in range(len(table.rows)) if row not in {*done.link}]
    assert figures.respondents_suppressed == len(respondents(table, left_out))
    assert figures.average_class == Fraction(len(done.rows), len(by_labels))
    assert figures.discernibility == discernibility(by_labels, len(table.rows))
    assert figures.average_risk == pytest.approx(average_risk(people_of))
    losses = [(column.name, column.certainty_penalty) for column in figures.generalised]
    assert losses == [*done.loss.by_column]
    assert figures.loss == done.loss.global_certainty_penalty
    check_kept(table, by_labels, figures)
    if variant.reads_labels:
        check_labels(table, done, figures, variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", [VARIANTS[1], VARIANTS[2]], ids=["strict", "relaxed"])
def test_spark_measures_the_same(spark: "SparkSession", tmp_path: Path, variant: Variant) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    people_in_all = 40 if variant is VARIANTS[2] else 23
    rows = [
        [str(n % people_in_all), "x", str((7, 41, 1000)[n % 3]), "1990-01-31", ("Rome", '"')[n % 2],
         ("flu", "gout", "asthma")[n % 3 - n % 2], "1.5"]
        for n in range(40)
    ]  # fmt: skip
    table = People(rows, 3, 2, 256, one_row_each=variant is VARIANTS[2])
    done = make(
        LocalBackend(), table, tmp_path / "run", words=variant.words, hierarchies=variant.hierarchies
    )
    assert done is not None
    here = measured(done.plan, tmp_path / "run", variant)
    (tmp_path / "run" / "again").rename(tmp_path / "run" / "before")
    assert measured(done.plan, tmp_path / "run", variant, SparkBackend(spark)) == here


def respondents(table: People, rows: list[int]) -> set[object]:
    return {row if table.one_row_each else table.rows[row][0] for row in rows}


def discernibility(by_labels: dict[tuple[str, ...], list[int]], rows: int) -> int:
    published = [len(members) for members in by_labels.values()]
    return sum(size**2 for size in published) + (rows - sum(published)) * rows


def average_risk(people_of: dict[tuple[str, ...], set[object]]) -> float:
    fewest: dict[object, int] = {}
    for members in people_of.values():
        for person in members:
            fewest[person] = min(len(members), fewest.get(person, len(members)))
    return sum(1 / size for size in fewest.values()) / len(fewest)


def check_kept(table: People, by_labels: dict[tuple[str, ...], list[int]], figures: ClassFigures) -> None:
    """In which classes everybody holds one value."""
    disclosing = set()
    for kept in figures.kept:
        place, homogeneous, disclosed = HEADER.index(kept.name), 0, set[object]()
        for labels, rows in by_labels.items():
            holders: dict[str, set[object]] = defaultdict(set)
            for row in rows:
                holders[table.rows[row][place]] |= respondents(table, [row])
            if any(held == respondents(table, rows) for held in holders.values()):
                homogeneous += 1
                disclosed |= respondents(table, rows)
                disclosing.add(labels)
        assert kept.is_sensitive is (kept.name == "illness")
        assert (kept.homogeneous_classes, kept.disclosed_respondents) == (homogeneous, len(disclosed))
    assert figures.homogeneous_classes == len(disclosing)


def check_labels(table: People, done: Made, figures: ClassFigures, variant: Variant) -> None:
    """What labels leave open, and which show one value."""
    for column in figures.generalised:
        place, published = HEADER.index(column.name), done.header.index(column.name)
        labels = [row[published] for row in done.rows]
        values = [row[place] for row in table.rows]
        exact = [label for label in labels if is_exact(label, column.name, variant)]
        assert column.exact_rows == len(exact)
        assert float(column.entropy_loss) == pytest.approx(
            open_share(values, labels, done.link, column.name, variant), abs=1e-9
        )


def nodes_of(value: str) -> set[str]:
    """The nodes above a value, and the value itself."""
    cities = {row[0]: {*row[1:], "*"} for row in CITIES.rows}
    return {value, *NODES.get(value, ()), *cities.get(value, ())}


def is_exact(label: str, name: str, variant: Variant) -> bool:
    if label == "*" or (name in variant.hierarchies and label.removeprefix("\\") in ALL_NODES):
        return False
    return label != "" and not label.startswith(("[", "{"))


def open_share(values: list[str], labels: list[str], link: list[int], name: str, variant: Variant) -> float:
    def stands_for(label: str, value: str) -> bool:
        if name not in variant.hierarchies:
            return label == "*" or covers(label, value)
        if value == "":
            return label in ("", *ROOTS) or label.endswith("|}")
        named = items(label[1:-1]) if label.startswith("{") else [label.removeprefix("\\")]
        return bool({*named} & nodes_of(value))

    counts = [values.count(value) for value in values]
    bits = sum(
        math.log2(sum(stands_for(label, value) for value in values) / counts[row])
        for label, row in zip(labels, link, strict=True)
    )
    bits += sum(math.log2(len(values) / counts[row]) for row in range(len(values)) if row not in {*link})
    whole = sum(math.log2(len(values) / count) for count in counts)
    return bits / whole if whole else 0.0
