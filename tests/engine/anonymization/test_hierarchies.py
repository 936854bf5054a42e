"""Columns with a hierarchy, from the description to published and verified nodes."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from along import ALONG, CITIES, NODES
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, Made, People, classes, is_diverse, make, people

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.hierarchies import (
    DeclaredHierarchy,
    HierarchyFile,
    Masking,
)
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.tables.sources import bind
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.errors import DataError, GuaranteeError, ProblemsError, SmaltiError
from smalti.vocab.terms import IRI

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
VARIANTS: list[dict[str, str]] = [
    {}, {"partitioning": "relaxed"}, {"partitioning": "improved"}, {"dimensionality": "single"},
]  # fmt: skip


def verified(found: Made, folder: Path, hierarchies: dict[str, DeclaredHierarchy]) -> None:
    original = Original(folder / "people.csv", OutputFormat.CSV)
    output = Output(folder / "out.csv", OutputFormat.CSV)
    verify_run(found.plan, original, output, folder / "link.npy", hierarchies=hierarchies)


def shuffled(table: People, order: list[int]) -> People:
    return replace(table, rows=[table.rows[place] for place in order])


@settings(max_examples=examples(10, full=400), suppress_health_check=SLOW, deadline=None)
@given(people(), st.sampled_from(VARIANTS), st.data())
def test_promises_hold_nodes_cover_and_neither_order_nor_fragments_matter(
    table: People, words: dict[str, str], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(table.rows))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = make(LOCAL, table, folder / "one", words=words, hierarchies=ALONG)
        again = make(
            LocalBackend(7), shuffled(table, list(order)), folder / "two", words=words, hierarchies=ALONG
        )
        assert (found and found.bytes) == (again and again.bytes)
        if found is None:
            return
        verified(found, folder / "one", ALONG)
    assert sorted(found.link) == list(range(len(table.rows)))
    for rows in classes(found).values():
        assert len({table.rows[row][0] for row in rows}) >= table.k
        assert is_diverse(table, rows)
    for row, source in zip(found.rows, found.link, strict=True):
        for column in ("age", "born"):
            label, value = row[found.header.index(column)], table.rows[source][HEADER.index(column)]
            items = label.strip("{}").split("|")
            assert not set(items).isdisjoint(NODES[value]) if value else items[-1] == "" or items == ["*"]


def customers(codes: list[str]) -> People:
    """Each in a row of their own; `city` holds the codes."""
    illnesses = ["flu", "gout"] * len(codes)
    return People(
        [[str(i), "x", "7", "1990-01-31", code, illnesses[i], "1"] for i, code in enumerate(codes)],
        2, 1, 256, one_row_each=True,
    )  # fmt: skip


def test_cuts_go_between_children_and_a_whole_node_has_its_own_label(tmp_path: Path) -> None:
    masking = {"city": DeclaredHierarchy(Masking(5))}
    table = customers(["10041", "10042", "10051", "10052", "20000", "20001", "30000", "30007"])
    found = make(LOCAL, table, tmp_path / "run", hierarchies=masking)
    assert found is not None
    labels = {row[found.header.index("city")] for row in found.rows}
    assert labels == {"1004*", "1005*", "2000*", "3000*"}


def test_a_column_without_any_value_has_a_hierarchy_all_the_same(tmp_path: Path) -> None:
    rows = [[f"p{i}", "x", "", "", "", f"i{i}", "1.50"] for i in range(2)]
    done = make(LOCAL, People(rows, 2, 1, 0, one_row_each=True), tmp_path / "run", hierarchies=ALONG)
    assert done is not None
    assert [row[:3] for row in done.rows] == [["", "", ""]] * 2


def test_a_plan_has_the_digest_of_a_hierarchy_and_of_no_value(tmp_path: Path) -> None:
    table = customers(["Rome"] * 4)
    with_cities = make(LOCAL, table, tmp_path / "a", hierarchies={"city": DeclaredHierarchy(CITIES)})
    without = make(LOCAL, table, tmp_path / "b")
    assert with_cities is not None
    assert without is not None
    text = plan_to_json(with_cities.plan)
    assert "Rome" not in text
    assert "anywhere" not in text
    assert plan_from_json(text) == with_cities.plan
    assert '"hierarchy"' not in plan_to_json(without.plan)
    derived = DeclaredHierarchy(CITIES, is_derived=True)
    assert derived.in_plan != with_cities.plan.column("city").hierarchy
    assert derived.in_plan.is_derived


def test_values_without_a_place_are_counted_and_not_shown(tmp_path: Path) -> None:
    table = customers(["Rome", "Atlantis", "Utopia", "Rome"])
    with pytest.raises(SmaltiError) as refused:
        make(LOCAL, table, tmp_path / "run", hierarchies={"city": DeclaredHierarchy(CITIES)})
    assert "2 values of the column have no place in it" in str(refused.value)
    assert "Atlantis" not in str(refused.value)


@pytest.mark.parametrize(
    ("label", "is_covered"),
    [("1004*", True), ("100**", True), ("*", True), ("{1004*|1005*}", True), ("10041", False),
     ("1005*", False), ("{1005*|}", False), ("10***|", False)],
)  # fmt: skip
def test_the_verifier_shows_that_a_node_covers_its_value(
    label: str, is_covered: bool, tmp_path: Path
) -> None:
    masking = {"city": DeclaredHierarchy(Masking(5))}
    found = make(LOCAL, customers(["10041", "10042"]), tmp_path / "run", hierarchies=masking)
    assert found is not None
    out = tmp_path / "run" / "out.csv"
    out.write_text(out.read_text().replace("1004*", label))
    if is_covered:
        verified(found, tmp_path / "run", masking)
        return
    with pytest.raises(GuaranteeError, match="promise is broken"):
        verified(found, tmp_path / "run", masking)


def test_the_verifier_refuses_another_hierarchy(tmp_path: Path) -> None:
    found = make(
        LOCAL, customers(["10041", "10042"]), tmp_path / "run",
        hierarchies={"city": DeclaredHierarchy(Masking(5))},
    )  # fmt: skip
    assert found is not None
    with pytest.raises(GuaranteeError, match="not that of the plan"):
        verified(found, tmp_path / "run", {"city": DeclaredHierarchy(Masking(6))})


# --- Descriptions

TREE = {"*": {"Europe": ["Rome", "Oslo"], "Asia": {"East": ["Tokyo"]}, "Atlantis": {"Sea": ["Deep"]}}}
SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<all> skos:notation "*" . <eu> skos:prefLabel "Europe" ; skos:broader <all> .
<rome> skos:notation "Rome" ; skos:broader <eu> . <eu> skos:narrower <oslo> . <oslo> skos:notation "Oslo" .
"""


def described(folder: Path, hierarchy: dict[str, object], datatype: str = "string") -> DeclaredHierarchy:
    (folder / "t.csv").write_text("city\nRome\n")
    column = {"name": "city", "datatype": datatype, "smalti:hierarchy": hierarchy}
    metadata = {
        "@context": "http://www.w3.org/ns/csvw", "url": "t.csv", "tableSchema": {"columns": [column]}
    }  # fmt: skip
    (folder / "t.csv-metadata.json").write_text(json.dumps(metadata))
    declared = bind(IRI("http://example.com/t"), folder / "t.csv").description.column("city").hierarchy
    assert declared is not None
    return declared


@pytest.mark.parametrize(
    ("form", "text", "rows"),
    [
        ("csv", "Rome;Europe;*\nOslo;Europe;*\n", {("Oslo", "Europe", "*"), ("Rome", "Europe", "*")}),
        (
            "json",
            json.dumps(TREE),
            {("Rome", "Rome", "Europe", "*"), ("Oslo", "Oslo", "Europe", "*"),
             ("Tokyo", "East", "Asia", "*"), ("Deep", "Sea", "Atlantis", "*")},
        ),
        ("skos", SKOS, {("Oslo", "Europe", "*"), ("Rome", "Europe", "*")}),
    ],
)  # fmt: skip
def test_files(form: str, text: str, rows: set[tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "h").write_text(text)
    stated = described(tmp_path, {"file": "h", "format": form}).stated
    assert isinstance(stated, HierarchyFile)
    assert set(stated.rows) == rows


def test_lines_in_another_order_are_one_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("Rome,Europe,*\nOslo,Europe,*\n")
    (tmp_path / "g").write_text("Oslo;Europe;*\nRome;Europe;*\n")
    first = described(tmp_path, {"file": "h", "format": "csv", "separator": ","})
    assert first.in_plan == described(tmp_path, {"file": "g", "format": "csv"}).in_plan


@pytest.mark.parametrize(
    ("hierarchy", "text", "problem"),
    [
        ({"file": "h", "format": "csv"}, "Rome;Europe\nOslo;Norway\n", "its last level has 2 labels"),
        ({"file": "h", "format": "csv"}, "Rome;Europe;*\nOslo;*\n", "another number of fields"),
        ({"file": "h", "format": "csv"}, 'Rome;"Europe;*\n', "not CSV"),
        ({"file": "h", "format": "json"}, '{"*": {"Europe": []}}', "is empty"),
        ({"file": "h", "format": "json"}, '{"*": ["Rome", 1]}', "neither an object"),
        ({"file": "h", "format": "json"}, '{"*": ["Rome"], "*": ["Oslo"]}', "repeats a label"),
        ({"file": "h", "format": "skos"}, SKOS + "<rome> skos:broader <all> .", "several broader"),
        ({"file": "h", "format": "skos"}, SKOS + "<x> skos:broader <eu> .", "1 concepts lack a text"),
        ({"file": "h", "format": "skos"}, "no turtle", "not Turtle"),
        ({"file": "../h", "format": "csv"}, "", "leaves the folder"),
        ({"file": "missing", "format": "csv"}, "", "cannot be read"),
        ({"file": "h"}, "", "missing"),
        ({"file": "h", "format": "json"}, '{"*": ["\\ud800"]}', "surrogate"),
        ({"rule": "guess"}, "", "not understood: `rule` in tableSchema/columns/0/smalti:hierarchy is none"),
        ({"rule": "intervals", "width": 5}, "", "is for numbers and dates"),
        ({"rule": "dates", "units": ["year"]}, "", "is for dates"),
        ({"rule": "prefixes", "lengths": [1, 2]}, "", "do not fall"),
        ({"rule": "masking", "width": 0}, "", ": `width` in tableSchema/columns/0/smalti:hierarchy has"),
        ({"rule": "ordered", "values": ["a", "a"], "fanOut": [2]}, "", "repeated value"),
    ],
)  # fmt: skip
def test_bad_declarations(hierarchy: dict[str, object], text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "h").write_text(text)
    with pytest.raises((DataError, ProblemsError, SmaltiError)) as refused:
        described(tmp_path, hierarchy)
    assert problem in str(refused.value)
    assert "Rome" not in str(refused.value)


def test_all_rules_can_be_declared(tmp_path: Path) -> None:
    levels = [
        described(tmp_path, hierarchy, datatype).in_plan.levels
        for hierarchy, datatype in [
            ({"rule": "intervals", "width": 0.5, "start": 0.25, "fanOut": [2, 5]}, "decimal"),
            ({"rule": "intervals", "width": 7, "start": "2020-01-06"}, "date"),
            ({"rule": "dates", "units": ["month", "quarter", "year", "decade"]}, "date"),
            ({"rule": "prefixes", "lengths": [3, 2]}, "string"),
            ({"rule": "masking", "width": 5, "from": "left"}, "string"),
            ({"rule": "ordered", "values": ["a", "b", "c"], "fanOut": [2]}, "string"),
        ]
    ]
    assert levels == [4, 2, 5, 3, 5, 2]


@pytest.mark.slow
@pytest.mark.spark
def test_spark_publishes_the_same_nodes(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (only with the extra)

    table = customers(["Rome", "Oslo\nNord", "", "a\\b", "Rome", "[1..2]", "{Rome|Oslo}", "Rome", ""])
    here = make(LOCAL, table, tmp_path / "here", hierarchies=ALONG)
    there = make(SparkBackend(spark, 2), table, tmp_path / "there", hierarchies=ALONG)  # type: ignore[arg-type]
    assert here is not None
    assert (there and there.bytes) == here.bytes
