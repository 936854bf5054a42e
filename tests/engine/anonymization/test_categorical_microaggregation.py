"""Microaggregation of texts, of declared orders and of hierarchies, from a policy to verified rows."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import smalti
from tables import HEADER, Made, People, classes, is_diverse, make, people, write_csv

from smalti import read_published
from smalti.engine.anonymization.explain import explain
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.hierarchies import Calendar, DeclaredHierarchy, OrderedList, Prefixes
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError, SmaltiError
from smalti.transforms.microaggregation import transform

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
MDAV = {"algorithm": "mdav"}
CITIES = ("Rome", "[1..2]", "a\\b", "Oslo\nNord", '"', "Ålesund", "{Rome|Oslo}")
BY_MONTH = DeclaredHierarchy(Calendar(("month", "year")))
LISTED = DeclaredHierarchy(OrderedList(CITIES, (2, 2)))
BY_LETTER = DeclaredHierarchy(Prefixes((3, 1)))
CASES: list[tuple[tuple[str, ...], dict[str, str], dict[str, DeclaredHierarchy]]] = [
    (("age", "city"), {}, {}),
    (("city",), {"standardization": "range", "blocks": "2"}, {}),
    (("age", "born", "city"), {"standardization": "none"}, {"born": BY_MONTH, "city": LISTED}),
    (("city", "born"), {"outputForm.born": "mode"}, {"born": BY_MONTH, "city": BY_LETTER}),
    (("born", "city"), {"distance.born": "equal", "distance.city": "hierarchical"}, {"city": LISTED}),
    (("born", "age"), {"distance.born": "ordered", "distance.age": "equal"}, {"born": BY_MONTH}),
]


def verified(found: Made, folder: Path, hierarchies: Mapping[str, DeclaredHierarchy]) -> Verification:
    return verify_run(
        found.plan,
        Original(folder / "people.csv", OutputFormat.CSV),
        Output(folder, OutputFormat.CSV, (folder / "out.csv",)),
        folder / "link.npy",
        hierarchies=hierarchies,
    )


def mode_label(texts: list[str]) -> str:
    """That of some cities, each of another person."""
    counts = Counter(text for text in texts if text)
    if not counts:
        return ""
    best = min(counts, key=lambda text: (-counts[text], text.encode()))
    inside = "".join("\\" + letter if letter in "\\|[]" else letter for letter in best)
    return f"[~{inside}{'|' * ('' in texts)}]"


@settings(max_examples=examples(10, full=400), suppress_health_check=SLOW, deadline=None)
@given(people(), st.sampled_from(CASES), st.data())
def test_each_category_is_held_by_enough_and_neither_order_nor_fragments_matter(
    table: People,
    case: tuple[tuple[str, ...], dict[str, str], dict[str, DeclaredHierarchy]],
    data: st.DataObject,
) -> None:
    columns, words, hierarchies = case
    order = data.draw(st.permutations(range(len(table.rows))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = make(
            LOCAL, table, folder / "one", words=MDAV | words, hierarchies=hierarchies,
            quasi_identifiers=columns,
        )  # fmt: skip
        again = make(
            LocalBackend(7), replace(table, rows=[table.rows[place] for place in order]), folder / "two",
            words=MDAV | words, hierarchies=hierarchies, quasi_identifiers=columns,
        )  # fmt: skip
        assert (done and done.bytes) == (again and again.bytes)
        if done is None:
            return
        verified(done, folder / "one", hierarchies)
    assert sorted(done.link) == list(range(len(table.rows)))
    for labels, rows in classes(done, columns).items():
        people_in = {row if table.one_row_each else table.rows[row][0] for row in rows}
        assert len(people_in) >= table.k
        assert is_diverse(table, rows)
        if table.one_row_each and "city" in columns and "city" not in hierarchies:
            held = [table.rows[row][HEADER.index("city")] for row in rows]
            assert labels[columns.index("city")] == mode_label(held)


def some_people(*, one_row_each: bool = True) -> People:
    random = np.random.default_rng(4)
    rows = [
        [f"p{i if one_row_each else i % 40}", "x", str(random.integers(18, 90)),
         f"19{random.integers(50, 54)}-0{random.integers(1, 3)}-11", CITIES[random.integers(7)],
         ["flu", "gout", "cold"][(i if one_row_each else i % 40) % 3], "1"]
        for i in range(120)
    ]  # fmt: skip
    return People(rows, 5, 1, 256, one_row_each)


MIXED = ("age", "born", "city")
DECLARED = MappingProxyType({"born": BY_MONTH, "city": LISTED})


def published(folder: Path, words: Mapping[str, str] = MDAV) -> Made:
    found = make(
        LOCAL, some_people(), folder, words=words, hierarchies=DECLARED, quasi_identifiers=MIXED
    )  # fmt: skip
    assert found is not None
    assert verified(found, folder, DECLARED).k == 5
    return found


def test_plans_say_by_which_distance_and_are_read_again(tmp_path: Path) -> None:
    plan = published(tmp_path / "run", {**MDAV, "outputForm.city": "mode"}).plan
    assert plan_from_json(plan_to_json(plan)) == plan
    said = explain(plan)
    steps = {step.name: step.what for step in said.columns}
    assert steps["born"].startswith("generalised to the medoid of each class (date, values as far apart as")
    assert steps["city"].startswith("generalised to the mode of each class (string, values as far apart as")
    assert any("has the value that stands for it" in line for line in said.not_protected)
    other = published(tmp_path / "other", {**MDAV, "outputForm.city": "mode", "distance.city": "equal"})
    assert plan_to_json(other.plan) != plan_to_json(plan)


# --- What the verifier refuses


def in_order(found: Made, rows: list[list[str]], link: list[int], folder: Path) -> None:
    """Write other rows, in the order that an output has."""
    order = sorted(range(len(rows)), key=lambda number: [text.encode() for text in rows[number]])
    write_csv(folder / "out.csv", found.header, [rows[number] for number in order])
    np.save(folder / "link.npy", np.array(link)[order])


def _replaced(found: Made, rows: list[list[str]], name: str, label: str) -> None:
    """Write another label in all rows of the class of the first one."""
    places = [found.header.index(each) for each in MIXED]
    first = [rows[0][place] for place in places]
    for row in rows:
        if [row[place] for place in places] == first:
            row[found.header.index(name)] = label


def other_mode(found: Made, rows: list[list[str]], link: list[int]) -> None:
    city = found.header.index("city")
    _replaced(found, rows, "city", next(row[city] for row in rows if row[city] != rows[0][city]))


def other_medoid(found: Made, rows: list[list[str]], link: list[int]) -> None:
    born = found.header.index("born")
    _replaced(found, rows, "born", next(row[born] for row in rows if row[born] != rows[0][born]))


def no_label(found: Made, rows: list[list[str]], link: list[int]) -> None:
    _replaced(found, rows, "city", rows[0][found.header.index("city")].replace("~", ""))


def somebody_is_missing(found: Made, rows: list[list[str]], link: list[int]) -> None:
    _replaced(found, rows, "city", rows[0][found.header.index("city")][:-1] + "|]")


def swapped_between_groups(found: Made, rows: list[list[str]], link: list[int]) -> None:
    """Two people of different ages, but with the same illness, have each other's row."""
    held, kept = some_people().rows, HEADER.index("illness")
    ages = [int(held[place][HEADER.index("age")]) for place in link]
    other = next(
        number
        for number in range(len(rows))
        if abs(ages[number] - ages[0]) > 30 and held[link[number]][kept] == held[link[0]][kept]
    )
    link[0], link[other] = link[other], link[0]


def swapped_in_a_group(found: Made, rows: list[list[str]], link: list[int]) -> None:
    """Two people of one group have each other's illness."""
    ill, places = found.header.index("illness"), [found.header.index(name) for name in MIXED]
    one, other = next(
        (a, b)
        for a in range(len(rows))
        for b in range(a)
        if [rows[a][p] for p in places] == [rows[b][p] for p in places] and rows[a][ill] != rows[b][ill]
    )
    rows[one][ill], rows[other][ill] = rows[other][ill], rows[one][ill]


def one_row_too_many(found: Made, rows: list[list[str]], link: list[int]) -> None:
    rows.append(list(rows[0]))
    link.append(link[0])


@pytest.mark.parametrize(
    "change",
    [
        other_mode, other_medoid, no_label, somebody_is_missing, swapped_between_groups,
        swapped_in_a_group, one_row_too_many,
    ],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_the_verifier_refuses_other_groups(
    change: Callable[[Made, list[list[str]], list[int]], None], tmp_path: Path
) -> None:
    found = published(tmp_path / "run", {**MDAV, "distance.city": "equal"})
    rows, link = [list(row) for row in found.rows], list(found.link)
    in_order(found, rows, link, tmp_path / "run")
    verified(found, tmp_path / "run", DECLARED)
    change(found, rows, link)
    in_order(found, rows, link, tmp_path / "run")
    with pytest.raises(GuaranteeError):
        verified(found, tmp_path / "run", DECLARED)


# --- What is refused before


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"distance.city": "hierarchical"}, "the distance is `hierarchical`, which the column"),
        ({"distance.city": "ordered"}, "the distance is `ordered`, which the column `city` cannot"),
        ({"outputForm.city": "median"}, r"`smalti:outputForm` is `median`, but the column `city` \(string"),
        ({"outputForm.age": "mode"}, r"`smalti:outputForm` is `mode`, but the column `age` \(integer"),
    ],
)  # fmt: skip
def test_words_that_do_not_fit_a_column_are_refused_by_name(
    words: dict[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SmaltiError, match=problem):
        make(LOCAL, some_people(), tmp_path / "run", words=MDAV | words, quasi_identifiers=("age", "city"))
    assert not (tmp_path / "run" / "out.csv").exists()


def test_a_medoid_of_values_that_are_all_alike_is_the_mode(tmp_path: Path) -> None:
    plans = [
        make(
            LOCAL,
            some_people(),
            tmp_path / str(place),
            words=MDAV | words,
            quasi_identifiers=("age", "city"),
        )
        for place, words in enumerate(({}, {"outputForm.city": "medoid"}, {"outputForm.city": "mode"}))
    ]
    assert len({each and plan_to_json(each.plan) for each in plans}) == 1


def test_one_column_of_categories_has_a_bound_of_different_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transform, "MOST_COMBINATIONS", 6)
    with pytest.raises(SmaltiError, match="than microaggregation takes as a whole"):
        make(LOCAL, some_people(), tmp_path / "run", words=MDAV, quasi_identifiers=("city",))
    # On a line, as in a list, the effort grows with the rows alone.
    found = make(
        LOCAL, some_people(), tmp_path / "line", words=MDAV, hierarchies={"city": LISTED},
        quasi_identifiers=("city",),
    )  # fmt: skip
    assert found is not None


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("one_row_each", [True, False])
def test_spark_publishes_the_same(spark: object, tmp_path: Path, one_row_each: bool) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    table = some_people(one_row_each=one_row_each)
    backends = {"here": LOCAL, "there": SparkBackend(spark, 2)}  # type: ignore[arg-type]
    outputs = [
        make(
            backend, table, tmp_path / name, words={**MDAV, "distance.city": "equal", "blocks": "2"},
            hierarchies=DECLARED, quasi_identifiers=MIXED,
        )
        for name, backend in backends.items()
    ]  # fmt: skip
    assert outputs[0] is not None
    assert outputs[0].bytes == (outputs[1] and outputs[1].bytes)


# --- From a document


POLICY = """\
policy: http://example.com/policy/homes
owner: http://example.com/office
party: http://example.com/researcher
target: http://example.com/homes
method: k-anonymity
algorithm: mdav
k: 2
one-row-each: true
quasi-identifiers: [town, size]
per-column:
  size: {distance: ordered}
output: http://example.com/homes-published
"""
DESCRIPTION = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "homes.csv",
    "tableSchema": {
        "columns": [
            {"name": "town", "datatype": "string"},
            {
                "name": "size",
                "datatype": "string",
                "https://w3id.org/smalti#hierarchy": {
                    "rule": "ordered",
                    "values": ["small", "medium", "large"],
                    "fanOut": [3],
                },
            },
        ]
    },
}


def test_a_run_from_a_document_to_its_readers(tmp_path: Path) -> None:
    (tmp_path / "homes.csv").write_text("town,size\nRome,small\nRome,medium\nOslo|N,large\nOslo|N,large\n")
    (tmp_path / "homes.csv-metadata.json").write_text(json.dumps(DESCRIPTION))
    (tmp_path / "policy.yaml").write_text(POLICY)
    ran = smalti(
        "run", "policy.yaml", "--data", "http://example.com/homes=homes.csv-metadata.json",
        "--owner", "http://example.com/office", "--as", "http://example.com/researcher", "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    text = (tmp_path / "out" / "homes-published.csv").read_text()
    assert text.splitlines() == [
        "town,size", "[~Oslo\\|N],[~large]", "[~Oslo\\|N],[~large]", "[~Rome],[~small]", "[~Rome],[~small]",
    ]  # fmt: skip
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert certificate["guarantee"]["generalised"] == [
        {"name": "town", "form": "modes of classes"},
        {"name": "size", "form": "medoids of classes"},
    ]
    assert smalti("verify", "out", cwd=tmp_path).code == 0
    data = smalti("verify", "http://example.com/homes-published", "--data", "homes.csv", cwd=tmp_path)
    assert data.code == 0, data.err
    table = read_published(tmp_path / "out").to_pydict()
    assert table["town.representative"] == ["Oslo|N", "Oslo|N", "Rome", "Rome"]
    assert table["size.missing"] == [False] * 4
    for command in ("sweep", "try"):
        more = ["--vary", "k=2,3"]
        done = smalti(
            command, "policy.yaml", "--data", "http://example.com/homes=homes.csv-metadata.json", *more,
            cwd=tmp_path,
        )  # fmt: skip
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("algorithm: mdav\n", ""),
        ("per-column:\n  size: {distance: ordered}\n", "distance: ordered\n"),
        ("output:", "suppression-limit: 0.1\noutput:"),
        ("[town, size]", "[town]\nsensitive: [size]"),
    ],
)
def test_words_that_do_not_fit_are_errors_of_the_document(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace(old, new))
    checked = smalti("check", "policy.yaml", cwd=tmp_path)
    assert checked.code == 1
    assert "error[P423" in checked.err + checked.out
