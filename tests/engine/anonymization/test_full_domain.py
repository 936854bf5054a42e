"""Full-domain generalisation, from a policy to published and verified rows."""

import csv
import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from along import ALONG, NODES
from effort import examples
from hospital import HOSPITAL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import smalti
from tables import HEADER, Made, People, classes, is_diverse, make, people

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Apply, OutputFormat, Plan
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError
from smalti.transforms.class_models import ClassModels
from smalti.transforms.lattice.transform import FullDomainKAnonymity

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
INCOGNITO = {"algorithm": "incognito"}
WORDS = [
    INCOGNITO,
    {**INCOGNITO, "suppressionLimit": "0.3"},
    {**INCOGNITO, "suppressionLimit": "0.3", "lossMeasure": "discernibility"},
    {**INCOGNITO, "suppressionLimit": "0.2", "alpha": "0.75"},
    {**INCOGNITO, "suppressionLimit": "0.3", "suppressedRecords": "kept", "lossMeasure": "discernibility"},
]


def verified(
    plan: Plan, folder: Path, hierarchies: dict[str, DeclaredHierarchy] | None = None
) -> Verification:
    return verify_run(
        plan,
        Original(folder / "people.csv", OutputFormat.CSV),
        Output(folder, OutputFormat.CSV, (folder / "out.csv",)),
        folder / "link.npy",
        hierarchies=hierarchies or {},
    )


def respondents(table: People, rows: list[int]) -> set[object]:
    return {row if table.one_row_each else table.rows[row][0] for row in rows}


@settings(max_examples=examples(15, full=400), suppress_health_check=SLOW, deadline=None)
@given(people(), st.sampled_from(WORDS), st.data())
def test_levels_hold_in_all_rows_and_neither_order_nor_fragments_matter(
    table: People, words: dict[str, str], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(table.rows))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = make(LOCAL, table, folder / "one", words=words, hierarchies=ALONG)
        other = replace(table, rows=[table.rows[place] for place in order])
        again = make(LocalBackend(7), other, folder / "two", words=words, hierarchies=ALONG)
        assert (done and done.bytes) == (again and again.bytes)
        if done is None:
            return
        verification = verified(done.plan, folder / "one", ALONG)
    everybody = list(range(len(table.rows)))
    assert len(set(done.link)) == len(done.link) == verification.rows
    if "suppressedRecords" in words:
        assert sorted(done.link) == everybody
        suppressed = at_root(done)
    else:
        suppressed = sorted(set(everybody) - set(done.link))
        assert verification.rows_suppressed == len(suppressed)
    assert verification.respondents_suppressed == len(respondents(table, suppressed))
    limit = Fraction(words.get("suppressionLimit", "0"))
    assert len(respondents(table, suppressed)) <= limit * len(respondents(table, everybody))
    for rows in classes(done).values():
        assert len(respondents(table, rows)) >= table.k
        assert is_diverse(table, rows)
    check_levels(table, done)


def at_root(done: Made) -> list[int]:
    """The input rows of which nothing but roots is shown, unless all are; the root of cities has a name."""
    roots = {("*", "*", "*"), ("*", "*", "anywhere")}
    shown = [rows for labels, rows in classes(done).items() if labels in roots]
    return shown[0] if shown and len(classes(done)) > 1 else []


def keeps(done: Made) -> bool:
    return done.plan.apply.transform.lattice_terms.keeps_suppressed


def check_levels(table: People, done: Made) -> None:
    """Each value has one label in all rows; it is its own, or of one of its nodes."""
    for column in ("age", "born"):
        labels: dict[str, set[str]] = {}
        for row, source in zip(done.rows, done.link, strict=True):
            value = table.rows[source][HEADER.index(column)]
            labels.setdefault(value, set()).add(row[done.header.index(column)])
        for value, shown in labels.items():
            shown.difference_update({"*"} if len(shown) > 1 and keeps(done) else ())
            assert len(shown) == 1
            assert shown <= (NODES[value] if value else {"", "*"})


def test_a_column_without_a_hierarchy_is_kept_or_left_out_as_a_whole(tmp_path: Path) -> None:
    rows = [[f"p{i}", "x", str(i), "1990-01-31", "AB"[i % 2], f"i{i % 3}", "1"] for i in range(12)]
    done = make(LOCAL, People(rows, 4, 2, 256, one_row_each=False), tmp_path / "run", words=INCOGNITO)
    assert done is not None
    assert {tuple(row[:3]) for row in done.rows} == {("*", "1990-01-31", "A"), ("*", "1990-01-31", "B")}
    assert done.loss.node == (1, 0, 0)
    assert done.loss.minimal == ((1, 0, 0),)
    assert verified(done.plan, tmp_path / "run").classes == 2


def suppressing(folder: Path) -> Made:
    """Of 20 people, one is alone in a city."""
    rows = [[f"p{i}", "x", "1", "1990-01-31", "A", f"i{i % 4}", "1"] for i in range(19)]
    rows.append(["p19", "x", "1", "1990-01-31", "B", "i9", "1"])
    words = {**INCOGNITO, "suppressionLimit": "0.05"}
    done = make(LOCAL, People(rows, 4, 1, 256, one_row_each=False), folder, words=words)
    assert done is not None
    assert done.loss.node == (0, 0, 0)
    assert sorted(done.link) == list(range(19))
    return done


def kept_at_the_roots(folder: Path, words: dict[str, str]) -> Made:
    """Of 20 people, two are in a city of their own, each by themselves."""
    rows = [["p" + str(i), "x", "1", "1990-01-31", "A", f"i{i % 4}", "1"] for i in range(18)]
    rows += [[f"p{i}", "x", "1", "1990-01-31", f"B{i}", f"i{i}", "1"] for i in (18, 19)]
    words = {**INCOGNITO, "suppressionLimit": "0.1", **words}
    done = make(LOCAL, People(rows, 2, 1, 256, one_row_each=False), folder, words=words)
    assert done is not None
    return done


def test_suppressed_records_are_kept_as_a_class_at_the_roots(tmp_path: Path) -> None:
    done = kept_at_the_roots(tmp_path / "run", {"suppressedRecords": "kept"})
    assert sorted({tuple(row[:3]) for row in done.rows}) == [("*", "*", "*"), ("1", "1990-01-31", "A")]
    assert at_root(done) == [18, 19]
    verification = verified(done.plan, tmp_path / "run")
    assert (verification.rows, verification.rows_suppressed, verification.classes) == (20, 0, 2)
    assert (verification.respondents_suppressed, verification.k) == (2, 2)
    left_out = kept_at_the_roots(tmp_path / "other", {"suppressedRecords": "left-out"})
    assert len(left_out.rows) == 18


def test_records_that_are_no_class_together_are_not_kept(tmp_path: Path) -> None:
    """Only one person would be at the roots, so that the city is generalised in all rows."""
    rows = [[f"p{i}", "x", "1", "1990-01-31", "AB"[i == 19], f"i{i % 4}", "1"] for i in range(20)]
    words = {**INCOGNITO, "suppressionLimit": "0.1", "suppressedRecords": "kept"}
    done = make(LOCAL, People(rows, 2, 1, 256, one_row_each=False), tmp_path / "run", words=words)
    assert done is not None
    assert {tuple(row[:3]) for row in done.rows} == {("1", "1990-01-31", "*")}


@pytest.mark.parametrize("limit", ["0", "0.0"])
def test_where_no_record_may_be_suppressed_none_is_kept(limit: str, tmp_path: Path) -> None:
    none = {"suppressionLimit": limit}
    kept = kept_at_the_roots(tmp_path / "run", {**none, "suppressedRecords": "kept"})
    assert {tuple(row[:3]) for row in kept.rows} == {("1", "1990-01-31", "*")}
    assert kept.plan == kept_at_the_roots(tmp_path / "other", none).plan


def test_the_verifier_refuses_more_at_the_roots_than_the_limit(tmp_path: Path) -> None:
    plan = kept_at_the_roots(tmp_path / "run", {"suppressedRecords": "kept"}).plan
    verified(transformed(plan, suppression_limit=Fraction(1, 10)), tmp_path / "run")
    with pytest.raises(GuaranteeError, match="nothing but roots than the plan allows"):
        verified(transformed(plan, suppression_limit=Fraction(9, 100)), tmp_path / "run")


def test_the_verifier_refuses_kept_records_that_lack(tmp_path: Path) -> None:
    left_out = kept_at_the_roots(tmp_path / "run", {}).plan
    with pytest.raises(GuaranteeError, match="fewer rows than the plan keeps"):
        verified(transformed(left_out, keeps_suppressed=True), tmp_path / "run")


def test_who_is_alone_is_left_out_and_counted(tmp_path: Path) -> None:
    verification = verified(suppressing(tmp_path / "run").plan, tmp_path / "run")
    assert (verification.rows, verification.rows_suppressed) == (19, 1)
    assert (verification.respondents, verification.respondents_suppressed) == (19, 1)


def transformed(plan: Plan, **changes: object) -> Plan:
    transform = plan.apply.transform
    assert isinstance(transform, FullDomainKAnonymity)
    return replace(plan, apply=Apply(replace(transform, **changes)))  # type: ignore[arg-type]


def test_the_verifier_refuses_more_than_the_limit(tmp_path: Path) -> None:
    plan = suppressing(tmp_path / "run").plan
    with pytest.raises(GuaranteeError, match="records of more respondents are left out"):
        verified(transformed(plan, suppression_limit=Fraction(1, 21)), tmp_path / "run")
    with pytest.raises(GuaranteeError, match="fewer rows than the plan keeps"):
        verified(transformed(plan, suppression_limit=Fraction(0)), tmp_path / "run")


def test_the_verifier_refuses_a_row_that_is_published_twice(tmp_path: Path) -> None:
    plan = suppressing(tmp_path / "run").plan
    link = np.load(tmp_path / "run" / "link.npy")
    link[0] = link[1]
    np.save(tmp_path / "run" / "link.npy", link)
    with pytest.raises(GuaranteeError, match=r"the plan keeps|others were lost"):
        verified(plan, tmp_path / "run")


def test_distances_are_measured_to_the_table_with_all_records(tmp_path: Path) -> None:
    """Of 20 people 19 are published, with 4 illnesses; that of the one who is left out counts, too."""
    plan = suppressing(tmp_path / "run").plan
    expected = Fraction(1, 20)  # 19 of 20 weigh as much as in the table, and the share of one illness lacks

    def closeness(t: Fraction) -> Plan:
        from smalti.transforms.lattice.transform import FullDomainTCloseness  # noqa: PLC0415

        transform = plan.apply.transform
        assert isinstance(transform, FullDomainKAnonymity)
        close = FullDomainTCloseness(
            4, 1, transform.quasi_identifier_columns, ("illness",), ClassModels(t=t), Fraction(1, 20)
        )
        return replace(plan, apply=Apply(close))

    assert verified(closeness(expected), tmp_path / "run").reached[0][2] == pytest.approx(0.05)
    with pytest.raises(GuaranteeError, match="does not meet the promise about `illness`"):
        verified(closeness(expected - Fraction(1, 10**9)), tmp_path / "run")


@pytest.mark.spark
def test_spark_publishes_the_same(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    random = np.random.default_rng(5)
    cities = ("Rome", "a\\b", "Ålesund")
    rows = [
        [f"p{i % 60}", "x", str(random.choice([7, 41, -3])), "1990-01-31", cities[i % 3], f"i{i % 4}", "1"]
        for i in range(120)
    ]
    table = People(rows, 3, 2, 256, one_row_each=False)
    words = {**INCOGNITO, "suppressionLimit": "0.2"}
    here = make(LOCAL, table, tmp_path / "here", words=words, hierarchies=ALONG)
    there = make(SparkBackend(spark, 2), table, tmp_path / "there", words=words, hierarchies=ALONG)  # type: ignore[arg-type]
    assert here is not None
    assert there is not None
    assert here.bytes == there.bytes


# --- The hospital of MOSAICrOWN D5.2

POLICY = """\
policy: http://example.com/policy/patients
owner: http://example.com/hospital
party: http://example.com/researcher
target: http://example.com/patients
algorithm: incognito
suppression-limit: 0.06
quasi-identifiers: [DoB, Sex, ZIP]
one-row-each: true
output: http://example.com/patients-published
"""
FIGURE_3_1 = {
    ("1960-05", "*", "100**"): {"stroke", "dyspepsia", "achlorhydria", "epilepsy"},
    ("1955-09", "*", "100**"): {"helicobacter"},
    ("1955-12", "*", "100**"): {"dermatitis", "retinitis", "gastritis"},
    ("1960-04", "*", "100**"): {"stroke", "labyrinthitis", "gastritis", "dyspepsia"},
}
FIGURE_3_3 = {
    ("1960", "F", "100**"): {"stroke", "epilepsy", "labyrinthitis"},
    ("1960", "M", "100**"): {"dyspepsia", "achlorhydria", "gastritis"},
    ("1955", "M", "100**"): {"helicobacter", "dermatitis", "retinitis"},
    ("1955", "F", "100**"): {"helicobacter", "dermatitis", "gastritis"},
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("method: k-anonymity\nk: 4\nreleased: [Disease]\nloss-measure: discernibility\n", FIGURE_3_1),
        ("method: l-diversity\nk: 4\nl: 3\nsensitive: [Disease]\n", FIGURE_3_3),
    ],
    ids=["Figure 3.1", "Figure 3.3"],
)
def test_the_figures_are_outputs_of_a_run(
    words: str, expected: dict[tuple[str, ...], set[str]], tmp_path: Path
) -> None:
    rows = HOSPITAL.replace("/", "-")
    (tmp_path / "patients.csv").write_text("DoB,Sex,ZIP,Disease\n" + rows)
    columns = [
        {
            "name": "DoB",
            "datatype": "date",
            "smalti:hierarchy": {"rule": "dates", "units": ["month", "year"]},
        },
        {"name": "Sex", "datatype": "string"},
        {"name": "ZIP", "datatype": "string", "smalti:hierarchy": {"rule": "masking", "width": 5}},
        {"name": "Disease", "datatype": "string"},
    ]
    description = {
        "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}],
        "url": "patients.csv",
        "tableSchema": {"columns": columns},
    }
    (tmp_path / "patients.csv-metadata.json").write_text(json.dumps(description))
    (tmp_path / "policy.yaml").write_text(POLICY + words)
    ran = smalti(
        "run", "policy.yaml", "--data", "http://example.com/patients=patients.csv-metadata.json",
        "--owner", "http://example.com/hospital", "--as", "http://example.com/researcher", "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    with (tmp_path / "out" / "patients-published.csv").open(newline="") as file:
        published = list(csv.reader(file))[1:]
    assert len(published) == 16  # the one of 1958 is left out
    held: dict[tuple[str, ...], set[str]] = {}
    for *labels, disease in published:
        held.setdefault(tuple(labels), set()).add(disease)
    assert held == expected
    assert "records of at most 6 % of the respondents are left out" in " ".join(ran.out.split())
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert certificate["guarantee"]["suppressionLimit"] == "3/50"
    assert smalti("verify", "out", cwd=tmp_path).code == 0
    data = smalti("verify", "http://example.com/patients-published", "--data", "patients.csv", cwd=tmp_path)
    assert data.code == 0, data.err
