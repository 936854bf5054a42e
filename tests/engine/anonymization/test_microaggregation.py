"""Microaggregation, from a policy to published and verified rows."""

import csv
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import smalti
from tables import HEADER, TYPES, Made, People, classes, is_diverse, make, people, write_csv

from smalti.engine.anonymization.explain import explain
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError, PlanError, SmaltiError
from smalti.transforms.microaggregation import transform

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
MDAV = {"algorithm": "mdav"}
NUMBERS = ("age", "born")
WORDS = [
    MDAV,
    {**MDAV, "standardization": "range", "outputForm.age": "median"},
    {**MDAV, "standardization": "none", "blocks": "3"},
    {**MDAV, "alpha": "0.75"},
]


def verified(plan: Plan, folder: Path) -> Verification:
    return verify_run(
        plan,
        Original(folder / "people.csv", OutputFormat.CSV),
        Output(folder, OutputFormat.CSV, (folder / "out.csv",)),
        folder / "link.npy",
    )


def respondents(table: People, rows: list[int]) -> set[object]:
    return {row if table.one_row_each else table.rows[row][0] for row in rows}


def mean_label(table: People, rows: list[int]) -> str:
    """The mean of the ages in some rows, where each is about another person."""
    ages = [table.rows[row][HEADER.index("age")] for row in rows]
    present = [int(age) for age in ages if age]
    if not present:
        return ""
    mean = Decimal(sum(present)) / len(present)
    return f"[~{mean.quantize(Decimal(1), ROUND_HALF_EVEN) + 0}{'|' * (len(present) < len(ages))}]"


@settings(max_examples=examples(8, full=400), suppress_health_check=SLOW, deadline=None)
@given(people(), st.sampled_from(WORDS), st.sampled_from([NUMBERS, ("age",)]), st.data())
def test_each_figure_is_held_by_enough_and_neither_order_nor_fragments_matter(
    table: People, words: dict[str, str], columns: tuple[str, ...], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(table.rows))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = make(LOCAL, table, folder / "one", words=words, quasi_identifiers=columns)
        other = replace(table, rows=[table.rows[place] for place in order])
        again = make(LocalBackend(7), other, folder / "two", words=words, quasi_identifiers=columns)
        assert (done and done.bytes) == (again and again.bytes)
        if done is None:
            return
        verified(done.plan, folder / "one")
    assert sorted(done.link) == list(range(len(table.rows)))
    for labels, rows in classes(done, columns).items():
        assert len(respondents(table, rows)) >= table.k
        assert is_diverse(table, rows)
        if table.one_row_each and "outputForm.age" not in words:
            assert labels[0] == mean_label(table, rows)


def some_people(*, one_row_each: bool = True) -> People:
    random = np.random.default_rng(4)
    rows = [
        [f"p{i if one_row_each else i % 40}", "x", str(random.integers(18, 90)),
         f"19{random.integers(50, 99)}-0{random.integers(1, 9)}-11", "",
         ["flu", "gout", "cold"][(i if one_row_each else i % 40) % 3], "1"]
        for i in range(120)
    ]  # fmt: skip
    return People(rows, 5, 1, 256, one_row_each)


def published(folder: Path, words: dict[str, str] = MDAV) -> Made:
    found = make(LOCAL, some_people(), folder, words=words, quasi_identifiers=NUMBERS)
    assert found is not None
    assert verified(found.plan, folder).k == 5
    return found


def test_plans_say_how_groups_are_made_and_are_read_again(tmp_path: Path) -> None:
    words = {**MDAV, "standardization": "range", "blocks": "2", "outputForm.born": "median"}
    plan = published(tmp_path / "run", words).plan
    assert plan_from_json(plan_to_json(plan)) == plan
    said = explain(plan)
    assert "MDAV" in said.technique
    assert "divided by its range; in at most 2 blocks" in said.technique
    assert any("its mean or median can give away" in line for line in said.not_protected)
    assert any("where all respondents of a class have one value" in line for line in said.not_protected)
    done = {step.name: step.what for step in said.columns}
    assert done["age"].startswith("generalised to the mean of each class (")
    assert done["born"] == "generalised to the median of each class (date, declared, to whole days)"
    assert "decimals" not in done["age"]
    plain = published(tmp_path / "plain").plan
    assert "standardization" not in plan_to_json(plain)


@pytest.mark.parametrize("fragments", [1, 4])
def test_rows_are_divided_once_where_nothing_else_is_published(fragments: int, tmp_path: Path) -> None:
    rows = [[str(i), "x", str(40 + (i > 34)), "", "", "flu", "1"] for i in range(40)]
    found = make(
        LocalBackend(fragments), People(rows, 10, 1, 4, one_row_each=True), tmp_path / "run", words=MDAV,
        quasi_identifiers=("age",), is_alone=True,
    )  # fmt: skip
    assert found is not None
    assert sorted(found.link) == list(range(40))
    assert verified(found.plan, tmp_path / "run").rows == 40


# --- What the verifier refuses


def in_order(found: Made, rows: list[list[str]], link: list[int], folder: Path) -> None:
    """Write other rows, in the order that an output has."""
    order = sorted(range(len(rows)), key=lambda number: [text.encode() for text in rows[number]])
    write_csv(folder / "out.csv", found.header, [rows[number] for number in order])
    np.save(folder / "link.npy", np.array(link)[order])


def other_mean(found: Made, rows: list[list[str]], link: list[int]) -> None:
    place, first = found.header.index("age"), rows[0]
    age = first[place]
    other = f"[~{int(age.strip('[~]')) + 1}]"
    for row in rows:
        if (row[place], row[found.header.index("born")]) == (age, first[found.header.index("born")]):
            row[place] = other


def swapped_in_a_group(found: Made, rows: list[list[str]], link: list[int]) -> None:
    """Two people of one group have each other's illness."""
    ill = found.header.index("illness")
    labels = [tuple(row[found.header.index(name)] for name in NUMBERS) for row in rows]
    one, other = next(
        (a, b)
        for a in range(len(rows))
        for b in range(a)
        if labels[a] == labels[b] and rows[a][ill] != rows[b][ill]
    )
    rows[one][ill], rows[other][ill] = rows[other][ill], rows[one][ill]


def swapped_between_groups(found: Made, rows: list[list[str]], link: list[int]) -> None:
    other = next(
        number
        for number, row in enumerate(rows)
        if row[: len(NUMBERS)] != rows[0][: len(NUMBERS)] and row[2:] == rows[0][2:]
    )
    link[0], link[other] = link[other], link[0]


def one_row_too_many(found: Made, rows: list[list[str]], link: list[int]) -> None:
    rows.append(list(rows[0]))
    link.append(link[0])


def one_row_too_few(found: Made, rows: list[list[str]], link: list[int]) -> None:
    rows.pop()
    link.pop()


@pytest.mark.parametrize(
    "change",
    [other_mean, swapped_in_a_group, swapped_between_groups, one_row_too_many, one_row_too_few],
    ids=lambda change: change.__name__,
)
def test_the_verifier_refuses_other_groups(
    change: Callable[[Made, list[list[str]], list[int]], None], tmp_path: Path
) -> None:
    found = published(tmp_path / "run")
    rows, link = [list(row) for row in found.rows], list(found.link)
    in_order(found, rows, link, tmp_path / "run")
    verified(found.plan, tmp_path / "run")
    change(found, rows, link)
    in_order(found, rows, link, tmp_path / "run")
    with pytest.raises(GuaranteeError):
        verified(found.plan, tmp_path / "run")


# --- What is refused before


@pytest.mark.parametrize(
    ("columns", "words", "problem"),
    [
        (
            ("age",),
            {"outputForm.age": "range"},
            r"`smalti:outputForm` is `range`, but the column `age` \(integer",
        ),
        (("age",), {"labelBounds.age": "region"}, "`smalti:labelBounds` is `region`"),
        (("age",), {"suppressionLimit": "0.1"}, "`smalti:suppressionLimit` is not implemented yet"),
    ],
)
def test_what_microaggregation_does_not_do_is_refused_by_name(
    columns: tuple[str, ...], words: dict[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SmaltiError, match=problem):
        make(LOCAL, some_people(), tmp_path / "run", words={**MDAV, **words}, quasi_identifiers=columns)
    assert not (tmp_path / "run" / "out.csv").exists()


def test_date_times_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, "born", "dateTime")
    table = some_people()
    rows = [[*row[:3], f"{row[3]}T10:00", *row[4:]] for row in table.rows]
    with pytest.raises(SmaltiError, match="microaggregation of date-times is not implemented yet: `born`"):
        make(LOCAL, replace(table, rows=rows), tmp_path / "run", words=MDAV, quasi_identifiers=NUMBERS)
    equal = {**MDAV, "distance.born": "equal"}
    folder = tmp_path / "equal"
    found = make(LOCAL, replace(table, rows=rows), folder, words=equal, quasi_identifiers=NUMBERS)
    assert found is not None
    assert verified(found.plan, folder).k == 5


def test_first_cuts_from_a_sample_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="the policy requires microaggregation"):
        make(LOCAL, some_people(), tmp_path / "run", words=MDAV, quasi_identifiers=NUMBERS, sampled=4)


def test_fewer_people_than_k_are_refused(tmp_path: Path) -> None:
    table = replace(some_people(), k=121)
    assert make(LOCAL, table, tmp_path / "run", words=MDAV, quasi_identifiers=NUMBERS) is None


def test_more_combinations_than_a_block_takes_are_refused_and_never_cut_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transform, "MOST_COMBINATIONS", 50)
    with pytest.raises(PlanError, match="than microaggregation takes as a whole") as caught:
        published(tmp_path / "run")
    assert "a larger `smalti:blocks`" in str(caught.value.way_out)
    assert "119" not in str(caught.value)
    assert "120" not in str(caught.value)
    assert not (tmp_path / "run" / "out.csv").exists()
    assert verified(published(tmp_path / "blocks", {**MDAV, "blocks": "3"}).plan, tmp_path / "blocks")
    # On a line the effort grows with the rows alone.
    assert make(LOCAL, some_people(), tmp_path / "line", words=MDAV, quasi_identifiers=("age",))


@pytest.mark.spark
@pytest.mark.parametrize("one_row_each", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_spark_publishes_the_same(spark: object, tmp_path: Path, one_row_each: bool) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    table = some_people(one_row_each=one_row_each)
    words = {**MDAV, "blocks": "2"}
    here = make(LOCAL, table, tmp_path / "here", words=words, quasi_identifiers=NUMBERS)
    there = make(
        SparkBackend(spark, 2),
        table,
        tmp_path / "there",
        words=words,
        quasi_identifiers=NUMBERS,  # type: ignore[arg-type]
    )
    assert here is not None
    assert there is not None
    assert here.bytes == there.bytes


# --- From a document


POLICY = """\
policy: http://example.com/policy/incomes
owner: http://example.com/office
party: http://example.com/researcher
target: http://example.com/incomes
method: k-anonymity
algorithm: mdav
k: 3
one-row-each: true
quasi-identifiers: [income]
output: http://example.com/incomes-published
"""


def test_figure_3_2_is_the_output_of_a_run_and_its_certificate_has_no_figure(tmp_path: Path) -> None:
    (tmp_path / "incomes.csv").write_text("income\n45\n20\n30\n40\n25\n35\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    ran = smalti(
        "run", "policy.yaml", "--data", "http://example.com/incomes=incomes.csv",
        "--owner", "http://example.com/office", "--as", "http://example.com/researcher", "--out", "out",
        "--report", "report.json", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    # Within the groups 2 (25 + 0 + 25), of 2 (156.25 + 56.25 + 6.25) in all.
    figures = json.loads((tmp_path / "report.json").read_text())["examination"]["figures"]
    assert figures["squaredError"] == figures["generalised"][0]["squaredError"] == 100 / 437.5
    assert "lost         SSE/SST 22.86% of income" in ran.out
    assert "queries      a count by one value of each column is " in ran.out
    with (tmp_path / "out" / "incomes-published.csv").open(newline="") as file:
        rows = [row for (row,) in csv.reader(file)][1:]
    assert rows == ["[~25]"] * 3 + ["[~40]"] * 3
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert certificate["guarantee"]["k"] == 3
    assert certificate["guarantee"]["generalised"] == [{"name": "income", "form": "means of classes"}]
    assert set(certificate["guarantee"]) <= {
        "@type", "type", "model", "k", "quasiIdentifiers", "generalised", "sensitive", "released",
        "statement", "limits", "kind",
    }  # fmt: skip
    assert smalti("verify", "out", cwd=tmp_path).code == 0
    data = smalti("verify", "http://example.com/incomes-published", "--data", "incomes.csv", cwd=tmp_path)
    assert data.code == 0, data.err


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("blocks: 0", "P4"),
        ("blocks: 1.5", "P4"),
        ("standardization: variance", "P4"),
        ("label-bounds: region", "P423"),
    ],
)
def test_words_without_sense_are_errors_of_the_document(word: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY + word + "\n")
    checked = smalti("check", "policy.yaml", cwd=tmp_path)
    assert checked.code == 1
    assert f"error[{code}" in checked.err + checked.out


def test_words_of_microaggregation_are_of_no_other_algorithm(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace("algorithm: mdav\n", "blocks: 2\n"))
    checked = smalti("check", "policy.yaml", cwd=tmp_path)
    assert checked.code == 1
    assert "has no refinement" in checked.err + checked.out
