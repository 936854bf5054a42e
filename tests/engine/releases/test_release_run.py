"""Whole releases: decided, charged, drawn once, published and recorded; or nothing but the charge."""

import csv
import json
import re
import sys
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_worlds import (
    COUNT,
    MEMBER,
    OUTPUT,
    OWNER,
    QUERY,
    ROWS,
    TARGET,
    USER,
    WARDS,
    WHOLE,
    about,
    counted,
    policy,
    refinement,
    registry,
    release,
    visits,
)
from stub_sampler import StubSampler

import smalti
from smalti.cli.main import main
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.registry.budget import Ceiling
from smalti.engine.releases import capability as releasing
from smalti.engine.releases.plan import ReleasePlan
from smalti.errors import BackendError, DataError, GuaranteeError, PlanError, UsageError, install_line
from smalti.transforms.noise.samplers import Sampler
from smalti.transforms.problem import Flags, Integers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


class NoNoise(Sampler):
    """Draws nothing: shows what noise would be added to. It breaks every promise."""

    def laplace(self, values: Integers, scale: float) -> Integers:
        return values

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return values

    def choose(self, utilities: Integers, scale: float) -> int:
        return int(np.argmax(utilities))

    def bits(self, number: int, probability: float) -> Flags:
        return np.zeros(number, np.bool_)

    def uniform(self, number: int, bound: int) -> Integers:
        return np.zeros(number, np.int64)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return visits(tmp_path, ROWS)


def table(outcome: smalti.Outcome) -> list[dict[str, str]]:
    assert outcome.version is not None, outcome.decision.reasons
    with (outcome.version.path / outcome.version.files[0].name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def spent(folder: Path) -> tuple[str, int]:
    budget = registry(folder).ledger.budget(TARGET)
    return format(budget.spent.epsilon, "f"), len(budget.charges)


# --- What comes out ----------------------------------------------------------------------------


def test_a_release_is_published_charged_and_recorded(tmp_path: Path, data: Path) -> None:
    outcome = release(tmp_path, data)
    assert [row["statistic"] for row in table(outcome)] == ["visits", "age", "age", "age", "half"]
    assert [row["sex"] for row in table(outcome)] == ["", "f", "m", "x", ""]
    assert spent(tmp_path) == ("1", 1)
    assert isinstance(outcome.plan, ReleasePlan)
    assert outcome.version is not None
    certificate = json.loads(outcome.version.certificate)
    jsonschema.validate(certificate, SCHEMA)
    promised = certificate["guarantee"]
    assert (promised["model"], promised["epsilon"], promised["delta"]) == ("differential-privacy", "1", "0")
    assert promised["composition"]["releases"] == 1
    assert [value.value for value in outcome.values] == [row["value"] for row in table(outcome)]


def test_without_noise_it_would_be_the_bounded_aggregates(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of the 30 patients has two rows: of one more each, nothing is counted.
    monkeypatch.setattr(releasing, "SAMPLER", NoNoise())
    more = visits(tmp_path, [*ROWS, *((f"p{n}", "f", "99") for n in range(30))])
    values = {(row["statistic"], row["sex"]): float(row["value"]) for row in table(release(tmp_path, more))}
    assert values["visits", ""] == 60
    ages = {sex: [float(age) for _, one, age in ROWS if one == sex] for sex in "fm"}
    for sex in "fm":
        assert values["age", sex] == pytest.approx(sum(ages[sex]) / len(ages[sex]), abs=1)


def test_rows_without_a_respondent_are_left_out_and_required_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a release fails must not tell of a row; rows that are published are another matter."""
    monkeypatch.setattr(releasing, "SAMPLER", NoNoise())
    data = visits(tmp_path, [*ROWS, ("", "f", "30"), ("p0", "", "")])
    columns = [{"name": name, "required": True} for name in ("patient", "sex", "age")]
    described = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": data.name,
        "tableSchema": {"columns": columns},
    }
    data.with_name(f"{data.name}-metadata.json").write_text(json.dumps(described))
    values = {(row["statistic"], row["sex"]): float(row["value"]) for row in table(release(tmp_path, data))}
    assert values["visits", ""] == 60


def test_the_request_says_who_respondents_are(tmp_path: Path, data: Path) -> None:
    """Also of a release, before which nothing was assumed; others get what the owner said."""
    silent = tmp_path / "silent.jsonld"
    document = json.loads(Path(policy(tmp_path)).read_text())
    refinements = document["permission"][0]["action"][0]["refinement"]
    refinements[:] = [one for one in refinements if "respondent" not in one["leftOperand"]]
    silent.write_text(json.dumps(document))
    with pytest.raises(PlanError, match="the respondents are not declared") as told:
        release(tmp_path, data, policy=silent)
    assert "--respondent" in told.value.way_out
    assert not (tmp_path / "r.sqlite").exists() or spent(tmp_path) == ("0", 0)
    first = release(tmp_path, data, policy=silent, respondent="patient")
    assert first.version is not None
    assert first.version.respondent == RespondentColumn("patient")
    registry(tmp_path).add_policy(silent.read_bytes(), "silent.jsonld", issuer=OWNER)
    again = release(tmp_path, data, "again", policy=silent, owner=None)
    assert again.version is not None
    assert again.version.respondent == RespondentColumn("patient")


def test_two_releases_add_up_and_the_third_is_refused(tmp_path: Path, data: Path) -> None:
    first, second = release(tmp_path, data, "a"), release(tmp_path, data, "b")
    assert first.version is not None
    assert second.version is not None
    assert json.loads(second.version.certificate)["guarantee"]["composition"]["epsilon"] == "2"
    third = release(tmp_path, data, "c")
    assert not third.decision.is_permitted
    assert third.version is None
    assert not (tmp_path / "c").exists()
    assert spent(tmp_path) == ("2", 2)
    (reason,) = third.decision.reasons
    assert "budget" in reason.text
    assert not any(figure in reason.text for figure in "0123456789")


def test_a_plan_tells_what_would_have_been_lost_with_it(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release(tmp_path, data)
    words = [
        "plan", str(tmp_path / "policy.jsonld"), "--data", f"{TARGET}={data}", "--query",
        str(tmp_path / "query.json"), "--registry", str(tmp_path / "r.sqlite"),
    ]  # fmt: skip
    assert command(monkeypatch, *words) == 0
    assert "2 releases about the same respondents" in capsys.readouterr().out
    assert command(monkeypatch, *words, "--format", "json") == 0
    together = json.loads(capsys.readouterr().out)["composition"]
    assert (together["releases"], together["loss"]["epsilon"]) == (2, "2")
    assert spent(tmp_path) == ("1", 1)
    assert json.loads(release(tmp_path, data, "second").version.certificate)["guarantee"][
        "composition"
    ] == {  # type: ignore[union-attr]
        "epsilon": "2",
        "delta": "0",
        "posteriorBelief": together["loss"]["belief"],
        "membershipAdvantage": together["loss"]["advantage"],
        "releases": 2,
    }


def test_a_plan_is_denied_where_a_run_would_be(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release(tmp_path, data, policy=policy(tmp_path, budget=1))
    words = [
        "plan", str(tmp_path / "policy.jsonld"), "--data", f"{TARGET}={data}", "--query",
        str(tmp_path / "query.json"), "--registry", str(tmp_path / "r.sqlite"),
    ]  # fmt: skip
    assert command(monkeypatch, *words) == 0, "nobody asked: the plan is told, and a warning"
    told = " ".join(capsys.readouterr().out.split())
    assert "exceeds what is left of the budget" in told
    asked = ["--as", USER, "--owner", OWNER]
    for more in (words, ["run", *words[1:], "--out", str(tmp_path / "x"), "--dry-run"]):
        assert command(monkeypatch, *more, *asked) == 1
        assert "exceeds what is left of the budget" in capsys.readouterr().out
    assert not release(tmp_path, data, "again", policy=tmp_path / "policy.jsonld").decision.is_permitted


def test_a_delta_that_was_charged_is_named_where_none_is_left(tmp_path: Path, data: Path) -> None:
    given = policy(tmp_path, budget=9)
    release(tmp_path, data, policy=given)
    known = registry(tmp_path)
    charge = replace(known.ledger.budget(TARGET).charges[0], run="other", delta=Decimal("1e-300"))
    assert known.ledger.charge(charge, Ceiling(Decimal(9), Decimal(1)))
    (reason,) = release(tmp_path, data, "b", policy=given).decision.reasons
    assert "no ceiling for delta" in reason.text


def test_a_plan_adds_no_losses_up_that_do_not_add_up(tmp_path: Path, data: Path) -> None:
    release(tmp_path, data)
    word = refinement("smalti:neighbors", "eq", "change-one")
    other = policy(tmp_path, words={"smalti:neighbors": word})
    with pytest.raises(PlanError, match="another neighbouring relation"):
        smalti.plan(other, data={TARGET: data}, query=QUERY, registry=tmp_path / "r.sqlite")


def test_what_is_no_choice_is_not_ignored(tmp_path: Path, data: Path) -> None:
    with pytest.raises(TypeError, match="`epsilon`"):
        release(tmp_path, data, epsilon=0.5)
    with pytest.raises(TypeError, match="did you mean `query`"):
        smalti.plan(policy(tmp_path), data={TARGET: data}, quary=QUERY)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="`confidense`"):
        smalti.verify(tmp_path, confidense=1)  # type: ignore[call-arg]
    assert spent(tmp_path) == ("0", 0)


def test_a_query_may_be_an_object(tmp_path: Path, data: Path) -> None:
    policy(tmp_path)
    (tmp_path / "query.json").write_text(json.dumps(QUERY))
    plans = [
        smalti.plan(tmp_path / "policy.jsonld", data={TARGET: data}, query=query).plan
        for query in (QUERY, tmp_path / "query.json", smalti.query(QUERY))
    ]
    assert plans[0] == plans[1] == plans[2] is not None
    for wrong in ({"statistics": [{"statistic": "median"}]}, {"statistics": {1, 2}}, {"x": float("nan")}):
        with pytest.raises(UsageError):
            smalti.query(wrong)


def test_what_is_drawn_twice_differs(tmp_path: Path, data: Path) -> None:
    drawn = [tuple(row["value"] for row in table(release(tmp_path, data, name))) for name in "ab"]
    # Five numbers with scales of 10 and more each: that all agree has a chance below 10^-5.
    assert drawn[0] != drawn[1]


# --- What is refused, with nothing charged ------------------------------------------------------


@pytest.mark.parametrize(
    "statistic",
    [
        {"statistic": "sum", "measure": "age", "lower": 0, "upper": 100, "unit": 1},
        {"statistic": "mean", "measure": "sex"},
        {"statistic": "count", "groupBy": ["patient"]},
    ],
    ids=["statistic", "measure", "key"],
)
def test_a_query_outside_of_the_permission_is_denied(
    tmp_path: Path, data: Path, statistic: dict[str, Any]
) -> None:
    outcome = release(tmp_path, data, query={"statistics": [statistic]})
    assert not outcome.decision.is_permitted
    assert spent(tmp_path) == ("0", 0)


def test_a_larger_loss_than_the_policys_is_denied_and_a_smaller_one_is_charged(
    tmp_path: Path, data: Path
) -> None:
    assert not release(tmp_path, data, query={"epsilon": 1.5, **QUERY}).decision.is_permitted
    assert release(tmp_path, data, query={"epsilon": 0.25, **QUERY}).decision.is_permitted
    assert spent(tmp_path) == ("0.25", 1)


def test_less_may_be_asked_for_in_each_of_the_three_words(tmp_path: Path, data: Path) -> None:
    """The policy bounds epsilon: by 1, which is a belief of 0.7310 and an advantage of 0.4621."""
    for number, loss in enumerate(({"posteriorBelief": 0.6}, {"membershipAdvantage": 0.2})):
        plan = release(tmp_path, data, str(number), query={**loss, **QUERY}).plan
        assert isinstance(plan, ReleasePlan)
        assert (plan.loss.belief, plan.loss.advantage) == (pytest.approx(0.6), pytest.approx(0.2))
        assert plan.loss.belief <= 0.6
        assert plan.loss.advantage <= 0.2
        assert smalti.verify(tmp_path / str(number), registry=tmp_path / "r.sqlite").version is not None
    assert spent(tmp_path) == ("0.810930216", 2)


@pytest.mark.parametrize("loss", [{"posteriorBelief": 0.74}, {"membershipAdvantage": 0.47}])
def test_more_in_another_word_is_denied_and_the_figures_are_told(
    tmp_path: Path, data: Path, loss: dict[str, float]
) -> None:
    outcome = release(tmp_path, data, query={**loss, **QUERY})
    assert not outcome.decision.is_permitted
    told = " ".join(one.text for one in outcome.decision.reasons)
    assert "`epsilon lteq 1` is unsatisfied" in told
    assert f"`{next(iter(loss))}` {next(iter(loss.values()))}, which corresponds to `epsilon` 1.0" in told
    with pytest.raises(PlanError, match=r"which corresponds to `epsilon` 1\.0.*request less"):
        smalti.plan(policy(tmp_path), data={TARGET: data}, query={**loss, **QUERY})
    assert spent(tmp_path) == ("0", 0)


def test_gaussian_noise_keeps_what_is_asked_for_and_what_the_policy_says(
    tmp_path: Path, data: Path
) -> None:
    """Noise that is private at an epsilon may let beliefs rise higher: the policy's bound holds, too."""
    word = "smalti:posteriorBelief"
    words = {
        "smalti:epsilon": None,
        word: refinement(word, "lteq", 0.6),
        "smalti:delta": refinement("smalti:delta", "lteq", 0.001),
        "smalti:mechanism": refinement("smalti:mechanism", "isAnyOf", ["gaussian"]),
    }
    asked = {"epsilon": 0.405, "statistics": [{"statistic": "count"}]}
    given = policy(tmp_path, words=words, delta=0.001)
    made = smalti.plan(given, data={TARGET: data}, query=asked, registry=tmp_path / "r.sqlite").plan
    assert isinstance(made, ReleasePlan)
    assert made.loss.mu_squared != "0"
    assert made.loss.belief <= 0.6
    assert made.loss.epsilon <= Decimal("0.405")


def test_without_a_declared_budget_nothing_is_released(tmp_path: Path, data: Path) -> None:
    with pytest.raises(PlanError, match="states no budget"):
        release(tmp_path, data, policy=policy(tmp_path, budget=None))
    assert spent(tmp_path) == ("0", 0)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"statistics": [{"statistic": "mean", "measure": "age"}]}, "bounds"),
        ({"statistics": [{"statistic": "count", "groupBy": ["sex"]}]}, "delta"),
    ],
    ids=["bounds", "private key without delta"],
)
def test_what_cannot_be_answered_is_refused_before_any_charge(
    tmp_path: Path, data: Path, query: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        release(tmp_path, data, query=query)
    assert spent(tmp_path) == ("0", 0)


@pytest.mark.parametrize("option", [{"parts": True}, {"cut_threshold": 3}, {"rows_per_part": 5}], ids=str)
def test_options_about_rows_are_not_ignored(tmp_path: Path, data: Path, option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="these options apply to generalised rows only"):
        release(tmp_path, data, **option)
    assert spent(tmp_path) == ("0", 0)


def test_what_is_asked_beside_the_query_is_not_ignored(tmp_path: Path, data: Path) -> None:
    with pytest.raises(PlanError, match="outside the query"):
        release(tmp_path, data, parameters=["epsilon=0.1"])
    assert spent(tmp_path) == ("0", 0)


def test_a_release_may_be_parquet(tmp_path: Path, data: Path) -> None:
    outcome = release(tmp_path, data, output_format="parquet")
    assert outcome.version is not None
    found = pq.read_table(tmp_path / "out" / outcome.version.files[0].name)
    assert found.column("value").to_pylist() == [value.value for value in outcome.values]
    assert smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite").version is not None


def test_a_query_for_another_method_is_refused(tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"
    (tmp_path / "query.json").write_text(json.dumps({"statistics": [{"statistic": "count"}]}))
    outcome = smalti.run(
        examples / "policies" / "contraceptive.jsonld",
        data={"http://example.com/survey/contraceptive": examples / "data" / "contraceptive.csv"},
        party="http://example.com/party/researcher",
        purpose="statistical",
        out=tmp_path / "out",
        registry=tmp_path / "r.sqlite",
        query=tmp_path / "query.json",
    )
    assert not outcome.decision.is_permitted


def test_a_plan_that_nobody_asked_for_keeps_to_the_permission_too(tmp_path: Path, data: Path) -> None:
    (tmp_path / "query.json").write_text(json.dumps({"epsilon": 1.5, **QUERY}))
    with pytest.raises(PlanError, match="does not allow"):
        smalti.plan(
            policy(tmp_path), data={TARGET: data}, registry=tmp_path / "r.sqlite",
            query=tmp_path / "query.json",
        )  # fmt: skip


# --- Nothing depends on values but the noisy ones -----------------------------------------------

ODD = ["", "NaN", "INF", "-INF", "1e999999", "-1E400", "abc", "9" * 40, "0x10", "1_000", " 5", "٣"]


def test_no_value_makes_a_release_fail(tmp_path: Path) -> None:
    data = visits(tmp_path, [(f"p{n}", odd, odd) for n, odd in enumerate(ODD)] + [("", "f", "30")])
    assert release(tmp_path, data).version is not None


def test_everything_but_the_values_is_the_same_for_other_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releasing, "SAMPLER", NoNoise())
    told = []
    for name, rows in (("one", ROWS), ("two", [*ROWS[2:11], ("q", "canary", "7777")]), ("none", [])):
        folder = tmp_path / name
        folder.mkdir()
        outcome = release(folder, visits(folder, list(rows)))
        assert outcome.version is not None
        certificate = json.loads(outcome.version.certificate)
        for unlike in ("@id", "issued", "distribution"):
            del certificate[unlike]
        rest = [{**row, "value": "", "lower": "", "upper": ""} for row in table(outcome)]
        told.append(json.dumps([certificate, rest, smalti.explain(outcome.plan)] if outcome.plan else []))
    assert len(set(told)) == 1
    assert "canary" not in told[0]


# --- Without what it needs -----------------------------------------------------------------------


def test_without_the_library_that_draws_nothing_is_charged(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(BackendError, match=re.escape(install_line("privacy").partition(": ")[2])):
        release(tmp_path, data)
    assert spent(tmp_path) == ("0", 0)


# --- Looking again -------------------------------------------------------------------------------


def test_verify_holds_a_release_against_its_record(tmp_path: Path, data: Path) -> None:
    outcome = release(tmp_path, data)
    assert outcome.version is not None
    seen = smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite")
    assert seen.version is not None
    assert (seen.version.number, seen.is_repeated) == (1, False)
    with pytest.raises(UsageError, match="never drawn again"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite", data=data)
    published = tmp_path / "out" / outcome.version.files[0].name
    published.write_text(published.read_text().replace("visits", "visitz"))
    with pytest.raises(GuaranteeError, match="the bytes differ from the published ones"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite")


def test_a_strangers_description_of_a_known_target_is_refused(tmp_path: Path, data: Path) -> None:
    """Whoever says what a respondent is decides what the noise covers."""
    assert release(tmp_path, data).version is not None
    (tmp_path / "visits.csv-metadata.json").write_text(
        json.dumps(
            {
                "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}],
                "url": "visits.csv",
                "smalti:respondent": "sex",
                "tableSchema": {"columns": [{"name": name} for name in ("patient", "sex", "age")]},
            }
        )
    )
    with pytest.raises((UsageError, PlanError)):
        release(tmp_path, data, "again", owner=None)
    assert spent(tmp_path) == ("1", 1)


# --- The command line ----------------------------------------------------------------------------


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["smalti", *words])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_the_command_shows_values_intervals_and_losses(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "query.json").write_text(json.dumps(QUERY))
    words = [
        "run", str(policy(tmp_path)), "--data", f"{TARGET}={data}", "--as", USER, "--owner", OWNER,
        "--query", str(tmp_path / "query.json"), "--registry", str(tmp_path / "r.sqlite"), "--out",
    ]  # fmt: skip
    assert command(monkeypatch, *words, str(tmp_path / "a")) == 0
    shown = capsys.readouterr().out
    for expected in ("statistic", "95%", "this release", "all 1 so far", "0.732", "●"):
        assert expected in shown
    assert command(monkeypatch, *words, str(tmp_path / "b"), "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["composition"]["releases"] == 2
    assert command(monkeypatch, *words, str(tmp_path / "c")) == 1
    assert "budget" in capsys.readouterr().out
    assert command(monkeypatch, "targets", "--registry", str(tmp_path / "r.sqlite")) == 0


def test_the_one_release_that_a_policy_permits_needs_no_query(tmp_path: Path, data: Path) -> None:
    words = {
        "smalti:statistic": refinement("smalti:statistic", "isAnyOf", ["count"]),
        "smalti:measure": None,
        "smalti:groupBy": None,
    }
    only = smalti.run(
        policy(tmp_path, words=words), data={TARGET: data}, party=USER, owner=OWNER, out=tmp_path / "out",
        registry=tmp_path / "r.sqlite",
    )  # fmt: skip
    assert [row["statistic"] for row in table(only)] == ["count"]
    with pytest.raises(PlanError, match="several releases"):
        smalti.run(
            policy(tmp_path), data={TARGET: data}, party=USER, owner=OWNER, out=tmp_path / "two",
            registry=tmp_path / "two.sqlite",
        )  # fmt: skip


# --- Spark ---------------------------------------------------------------------------------------


def test_spark_and_local_release_the_same_bytes_with_the_same_draws(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (only where Spark is)

    odd = [(f"p{n}", ("f", "m", "", "y")[n % 4], ODD[n % len(ODD)]) for n in range(40)]
    data = visits(tmp_path, [*ROWS, *odd])
    made = []
    for name, engine in (("here", "local"), ("there", SparkBackend(spark))):
        monkeypatch.setattr(releasing, "SAMPLER", StubSampler(7))
        outcome = release(tmp_path, data, name, engine=engine)
        assert outcome.version is not None
        made.append(outcome.version)
    assert made[0].output_digest == made[1].output_digest
    assert made[0].plan_digest == made[1].plan_digest


# --- What an adversary tried ----------------------------------------------------------------------


def test_an_output_is_no_input_of_a_release(tmp_path: Path, data: Path) -> None:
    """With one person more, all classes of a k-anonymous output can be others: noise covers one row."""
    assert release(tmp_path, data).version is not None
    published = tmp_path / "out" / "statistics.csv"
    only_counts = refinement("smalti:statistic", "isAnyOf", ["count"])
    words = {"smalti:statistic": only_counts, "smalti:measure": None, "smalti:groupBy": None}
    again = about(tmp_path, OUTPUT, "again", words=words)
    with pytest.raises(PlanError, match="it is an output, in which one person"):
        counted(tmp_path, OUTPUT, again, published, "again")
    assert spent(tmp_path) == ("1", 1)


@pytest.mark.parametrize("said_first", [True, False])
def test_a_collection_and_its_members_share_a_ledger_whenever_that_is_said(
    tmp_path: Path, data: Path, said_first: bool
) -> None:
    known = registry(tmp_path)
    whole = about(tmp_path, WHOLE, "whole", budget=1)
    part = about(tmp_path, MEMBER, "part", budget=1)
    for path in (whole, part):
        known.add_policy(path.read_bytes(), path.name, smalti.IRI(OWNER))
    if said_first:
        known.add_hierarchy(WARDS, "wards", smalti.IRI(OWNER))
    assert counted(tmp_path, WHOLE, whole, data, "one").decision.is_permitted
    if not said_first:
        known.add_hierarchy(WARDS, "wards", smalti.IRI(OWNER))
    other = visits(tmp_path, ROWS[:7], "ward.csv")
    assert not counted(tmp_path, MEMBER, part, other, "two").decision.is_permitted


def test_a_membership_that_the_policy_states_joins_ledgers(tmp_path: Path, data: Path) -> None:
    whole, part = about(tmp_path, WHOLE, "whole", budget=1), about(tmp_path, MEMBER, "part", budget=1)
    document = json.loads(part.read_text())
    document["permission"][0]["target"] = {"@type": "Asset", "uid": MEMBER, "partOf": WHOLE}
    part.write_text(json.dumps(document))
    assert counted(tmp_path, WHOLE, whole, data, "one").decision.is_permitted
    other = visits(tmp_path, ROWS[:7], "ward.csv")
    assert not counted(tmp_path, MEMBER, part, other, "two").decision.is_permitted


def test_members_of_a_collection_that_nothing_was_released_about_have_ledgers_of_their_own(
    tmp_path: Path, data: Path
) -> None:
    known = registry(tmp_path)
    first, second = about(tmp_path, MEMBER, "first", budget=1), about(tmp_path, TARGET, "second", budget=1)
    for path in (first, second):
        known.add_policy(path.read_bytes(), path.name, smalti.IRI(OWNER))
    both = WARDS + f"\n<{TARGET}> a odrl:Asset ; odrl:partOf <{WHOLE}> .".encode()
    known.add_hierarchy(both, "wards", smalti.IRI(OWNER))
    assert counted(tmp_path, MEMBER, first, visits(tmp_path, ROWS[:9], "w.csv"), "one").version is not None
    assert counted(tmp_path, TARGET, second, data, "two").version is not None


def test_a_stranger_cannot_bind_somebody_elses_collection(tmp_path: Path, data: Path) -> None:
    known = registry(tmp_path)
    part, whole = about(tmp_path, MEMBER, "part"), about(tmp_path, WHOLE, "whole")
    known.add_policy(part.read_bytes(), part.name, smalti.IRI(OWNER))
    known.add_hierarchy(WARDS, "wards", smalti.IRI(OWNER))
    known.add_policy(whole.read_bytes(), whole.name, smalti.IRI(OWNER))
    with pytest.raises(UsageError, match="must not bind other data to it"):
        counted(tmp_path, WHOLE, whole, data, "one", owner=USER)
    assert known.full_owners(smalti.IRI(WHOLE)) == {OWNER}
    assert counted(tmp_path, WHOLE, whole, data, "two").decision.is_permitted
    assert known.full_owners(smalti.IRI(WHOLE)) == {OWNER}


def described(folder: Path, respondent: str) -> None:
    (folder / "visits.csv-metadata.json").write_text(
        json.dumps(
            {
                "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}],
                "url": "visits.csv",
                "smalti:respondent": respondent,
                "tableSchema": {"columns": [{"name": name} for name in ("patient", "sex", "age")]},
            }
        )
    )


def test_what_an_owner_has_corrected_counts_no_more_for_strangers(tmp_path: Path, data: Path) -> None:
    silent = about(tmp_path, TARGET, "silent", budget=9, words={"smalti:respondent": None})
    described(tmp_path, "smalti:oneRowEach")
    assert counted(tmp_path, TARGET, silent, data, "mistaken").version is not None
    described(tmp_path, "patient")
    assert counted(tmp_path, TARGET, silent, data, "corrected").version is not None
    assert counted(tmp_path, TARGET, silent, data, "stranger", owner=USER).version is not None
    described(tmp_path, "smalti:oneRowEach")
    with pytest.raises(UsageError, match="must not bind other data to it"):
        counted(tmp_path, TARGET, silent, data, "again", owner=USER)


def test_whether_a_parquet_file_is_well_formed_does_not_depend_on_the_question(tmp_path: Path) -> None:
    rows = [*ROWS, ("p99", "f\0", "30")]
    names = ("patient", "sex", "age")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    pq.write_table(pa.table(columns), tmp_path / "visits.parquet")
    told = set()
    for name, asked in (("a", COUNT), ("b", QUERY)):
        with pytest.raises(DataError) as refused:
            release(tmp_path, tmp_path / "visits.parquet", name, query=asked)
        told.add(str(refused.value))
    assert len(told) == 1
    assert spent(tmp_path) == ("0", 0)


@pytest.mark.parametrize("number", ["1e-99999999", "1e99999999", "1e-4000", "0." + "0" * 80 + "1"])
@pytest.mark.parametrize("where", ["share", "upper", "levels", "delta"])
def test_numbers_that_nobody_means_are_refused_at_once(
    tmp_path: Path, data: Path, number: str, where: str
) -> None:
    one = {"statistic": '"quantile"', "measure": '"age"', "lower": "0", "upper": "9", "unit": "1"}
    one |= {"levels": "[0.5]"}
    one |= {} if where == "delta" else {where: f"[{number}]" if where == "levels" else number}
    listed = ", ".join(f'"{key}": {value}' for key, value in one.items())
    more = f'"delta": {number}, ' if where == "delta" else ""
    (tmp_path / "odd.json").write_text(f'{{{more}"statistics": [{{{listed}}}]}}')
    with pytest.raises(UsageError, match=r"too many digits|too large to be read"):
        release(tmp_path, data, query_file=tmp_path / "odd.json")
