"""Runs of policies with single techniques beside a model: certificates, later checks, other releases."""

import json
from pathlib import Path
from typing import Any

import pytest

import smalti
from smalti.engine.plan.masks import Coded
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.verify.masked_form import check_masked_form
from smalti.engine.verify.read import Output
from smalti.errors import GuaranteeError, PlanError, SmaltiError

EXAMPLES = Path(__file__).parents[3] / "examples"
SURVEY = "http://example.com/survey/contraceptive"
DATA = EXAMPLES / "data" / "contraceptive.csv"
INSTITUTE, RESEARCHER = (f"http://example.com/party/{name}" for name in ("institute", "researcher"))
CODED, SAMPLED = "contraceptive-coded", "contraceptive-coded-sample"


def asked(folder: Path) -> dict[str, Any]:
    return {
        "data": {SURVEY: DATA}, "party": RESEARCHER, "owner": INSTITUTE,
        "purpose": "mosaicrown:statistical", "registry": folder / "r.sqlite",
    }  # fmt: skip


def run(folder: Path, name: str, form: str = "yaml") -> smalti.Outcome:
    return smalti.run(EXAMPLES / "policies" / f"{name}.{form}", **asked(folder), out=folder / name)


def test_coded_classes_are_published_verified_and_read(tmp_path: Path) -> None:
    outcome = run(tmp_path, CODED)
    assert outcome.version is not None, outcome.decision.reasons
    place = tmp_path / CODED
    certificate = json.loads((place / "certificate.jsonld").read_text())
    stated = certificate["guarantee"]
    assert [each["name"] for each in stated["masked"]] == ["age", "education", "children"]
    assert "is published as at most 8 (top-coding)" in stated["statement"]
    uncovered = [text for text in certificate["doesNotProtectAgainst"] if "no privacy model" in text]
    techniques = {"cell-suppression", "top-coding", "bottom-coding"}
    assert {text.split(" (")[0].split(",")[0] for text in uncovered} == techniques
    table = smalti.read_published(place, columns=["age", "children", "education"])
    highs, lows = table["age.high"].to_pylist(), table["age.low"].to_pylist()
    assert None in highs
    assert None in lows
    assert max(h for h in highs if h is not None) < 45
    assert table["education"].null_count > 0
    checked = smalti.verify(place, registry=tmp_path / "r.sqlite", data=DATA)
    assert checked.is_repeated
    columns = ("age", "education", "children", "religion", "method")
    output = Output(place, OutputFormat.CSV, (place / f"{CODED}.csv",))
    with pytest.raises(GuaranteeError, match="not one that the stated technique produces"):
        check_masked_form(
            [Coded("children", "7", None, "top-coding")], columns, output, tmp_path, is_sample=False,
            labelled=["children"],
        )  # fmt: skip


def test_a_sample_is_drawn_in_a_run_alone_and_refuses_what_comes_later(tmp_path: Path) -> None:
    policy = EXAMPLES / "policies" / f"{SAMPLED}.yaml"
    tried = smalti.try_out(policy, **asked(tmp_path))
    assert tried.tried is None
    assert "a try draws nothing at random" in tried.not_run
    with pytest.raises(PlanError, match="such classes are not swept"):
        smalti.sweep(policy, **asked(tmp_path), vary=["k=2,5"])
    with pytest.raises(SmaltiError, match="draws nothing at random"):
        smalti.try_out(policy, **asked(tmp_path), vary=["k=5"])
    rare = tmp_path / "rare.yaml"
    rare.write_text(policy.read_text().replace("sampling-rate: 0.5", "sampling-rate: 0.0000001"))
    with pytest.raises(GuaranteeError) as empty:
        smalti.run(rare, **asked(tmp_path), out=tmp_path / "rare")
    assert "a larger `sampling-rate` or lower bounds" in empty.value.way_out
    outcome = run(tmp_path, SAMPLED)
    assert outcome.version is not None, outcome.decision.reasons
    assert 0 < outcome.report.rows_not_sampled < 1473  # type: ignore[union-attr]
    checked = smalti.verify(tmp_path / SAMPLED, registry=tmp_path / "r.sqlite")
    assert "how samples and noise were drawn" in checked.check.attested
    with pytest.raises(GuaranteeError, match="was drawn at random"):
        run(tmp_path, CODED)


def test_a_release_with_coded_values_is_repeated_beside_later_ones(tmp_path: Path) -> None:
    assert run(tmp_path, CODED).version is not None
    with pytest.raises(GuaranteeError, match="a promise is broken"):
        smalti.run(
            EXAMPLES / "policies" / "contraceptive.jsonld", **asked(tmp_path), out=tmp_path / "other"
        )


@pytest.mark.parametrize("algorithm", ["mondrian", "[mondrian, attribute-suppression]"])
def test_no_technique_lets_identifiers_repeat_where_each_row_is_another_person(
    tmp_path: Path, algorithm: str
) -> None:
    (tmp_path / "t.csv").write_text("id,age,ill\n" + "".join(f"p{n // 2},{n},{n % 3}\n" for n in range(12)))
    (tmp_path / "p.yaml").write_text(
        f"policy: http://e.org/p\nowner: {INSTITUTE}\nparty: {INSTITUTE}\ntarget: http://e.org/t\n"
        f"purpose: statistical\nmethod: l-diversity\nalgorithm: {algorithm}\nk: 4\nl: 2\n"
        "one-row-each: true\nidentifiers: [id]\nquasi-identifiers: [age]\nsensitive: [ill]\n"
        "output: http://e.org/o\n"
    )
    with pytest.raises(SmaltiError, match="values repeat in the identifier `id`"):
        smalti.plan(
            tmp_path / "p.yaml",
            data={"http://e.org/t": tmp_path / "t.csv"},
            party=INSTITUTE,
            purpose="mosaicrown:statistical",
        )
