"""Texts that are published exactly are told and counted; what warns in a plan warns in a run."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import CUSTOMER, HEADER, OWNER, USER, request, small_policy, small_rows, small_table, smalti

import smalti as api
from smalti.engine.anonymization.run_warnings import is_large_part
from smalti.engine.plan.files import ExactColumn

DAYS = [[f"p{n}", f"{n % 28 + 1:02}.{n // 28 + 1:02}.1990", "Rome", "abc"[n % 3]] for n in range(60)]
"""Birth dates that are no ISO dates, in `age`; each of another person."""


def run(folder: Path, data: Path, out: str = "out", owner: str | None = OWNER) -> api.Outcome:
    policy = small_policy(folder)
    return api.run(
        policy, data={CUSTOMER: data}, party=USER, owner=owner, purpose="marketing", out=folder / out,
        registry=folder / "smalti.sqlite",
    )  # fmt: skip


def test_birth_dates_taken_for_text_are_told_and_counted(tmp_path: Path) -> None:
    data = small_table(tmp_path, DAYS)
    told = "values of age are published exactly, and many of them occur in fewer than k rows"
    planned = api.plan(small_policy(tmp_path), data={CUSTOMER: data})
    assert any(told in one for one in planned.warnings)
    outcome = run(tmp_path, data)
    assert any(told in one for one in outcome.warnings)
    counted = "values that appear exactly in the output, alone or in sets: age 60 of 60, city 1 of 1"
    assert planned.warnings[0] == outcome.warnings[0] == counted, "what concerns this data comes first"
    assert outcome.report is not None
    assert outcome.report.exact == (ExactColumn("age", 60, 60), ExactColumn("city", 1, 0))
    shown = " ".join(smalti("targets", "--as", OWNER, cwd=tmp_path).out.split())
    assert "in brackets those in fewer than k rows: age 60 of 60 (60), city 1 of 1 (0)" in shown
    published = (tmp_path / "out" / "anonCustomer.csv").read_text()
    assert all(row[1] in published for row in DAYS), "that is what is warned of"


def test_declared_datatypes_and_frequent_texts_are_not_told(tmp_path: Path) -> None:
    rows = [[f"p{n}", str(20 + n), ("Rome", "Oslo")[n % 2], "abc"[n % 3]] for n in range(12)]
    outcome = run(tmp_path, small_table(tmp_path, rows))
    assert outcome.report is not None
    assert outcome.report.exact == (ExactColumn("city", 2, 0),)
    assert not any("many of them occur" in one for one in outcome.warnings)
    assert any("sets list every value of a class, exactly: city" in one for one in outcome.warnings)


@pytest.mark.parametrize(
    ("values", "rare", "is_large"),
    [(20, 1, False), (20, 2, True), (1, 0, False), (0, 0, False), (1, 1, True)],
)
def test_a_tenth_is_a_large_part(values: int, rare: int, is_large: bool) -> None:
    assert is_large_part(ExactColumn("x", values, rare)) is is_large


def test_the_certificate_says_the_form_and_no_count(tmp_path: Path) -> None:
    run(tmp_path, small_table(tmp_path))
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert certificate["guarantee"]["generalised"] == [
        {"name": "age", "form": "ranges"},
        {"name": "city", "form": "sets of exact values"},
    ]
    assert "60" not in json.dumps(certificate["guarantee"])
    assert smalti("verify", "out", cwd=tmp_path).code == 0


@settings(max_examples=10)
@given(texts=st.lists(st.sampled_from(["a", "b", "{c|d}", "[e", "f g", ""]), min_size=6, max_size=12))
def test_each_counted_value_stands_in_the_output(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """The figures are those of the rows that are published."""
    folder = tmp_path_factory.mktemp("run")
    rows = [[f"p{n}", str(20 + n), text, "abc"[n % 3]] for n, text in enumerate(texts)]
    outcome = run(folder, small_table(folder, rows))
    assert outcome.report is not None
    present = [text for text in texts if text]
    values = set(present)
    found = {one.column: (one.values, one.rare) for one in outcome.report.exact}
    assert found["city"] == (len(values), sum(present.count(text) < 2 for text in values))


# --- What warns in a plan warns in a run


def test_a_run_warns_of_what_its_plan_warns_of(tmp_path: Path) -> None:
    data = small_table(tmp_path, [[*row, "x"] for row in small_rows()], header=(*HEADER, "note"))
    policy = small_policy(tmp_path)
    planned = api.plan(policy, data={CUSTOMER: data})
    outcome = run(tmp_path, data)
    assert planned.warnings == outcome.warnings
    assert any("column note will be dropped" in one for one in outcome.warnings)
    shown = smalti("plan", policy, "--data", f"{CUSTOMER}={data}", "--format", "json", cwd=tmp_path).json
    ran = smalti("run", policy, *request(data), "--out", "b", "--format", "json", cwd=tmp_path).json
    assert shown["warnings"] == ran["warnings"] == list(planned.warnings)
    told = smalti("run", policy, *request(data), "--out", "c", cwd=tmp_path)
    text = " ".join(told.out.split())
    for warning in planned.warnings:
        assert text.index(warning) < text.index("promise"), "warnings stand before the result"
    text = " ".join(smalti("plan", policy, "--data", f"{CUSTOMER}={data}", cwd=tmp_path).out.split())
    assert all(text.count(warning) == 1 for warning in planned.warnings)


def test_others_are_told_what_the_plan_says_alone(tmp_path: Path) -> None:
    data = small_table(tmp_path, DAYS)
    run(tmp_path, data)
    added = smalti("policy", "add", "policy.jsonld", "--as", OWNER, cwd=tmp_path)
    assert added.code == 0
    outcome = run(tmp_path, data, "again", owner=None)
    assert outcome.report is None
    assert not any("many of them occur" in one for one in outcome.warnings)
    assert not any("appear exactly in the output" in one for one in outcome.warnings)
    assert any("sets list every value" in one for one in outcome.warnings)
    planned = api.plan(
        small_policy(tmp_path), data={CUSTOMER: data}, party=USER, purpose="marketing",
        registry=tmp_path / "smalti.sqlite",
    )  # fmt: skip
    assert planned.plan is not None
    assert not any("60 of 60" in one for one in planned.warnings), "counts are the owner's"
