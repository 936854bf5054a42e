"""`smalti try`: the driver of `run`, stopped before it publishes; for owners alone, and nothing stays."""

import csv
import json
from pathlib import Path
from typing import Any

import kind_worlds as worlds
import pytest
from shell import (
    CUSTOMER,
    OWNER,
    USER,
    listing,
    nobody_has_those_in,
    request,
    small_document,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

import smalti as api
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.plan import Plan
from smalti.engine.plan.reports import OwnerReport
from smalti.engine.registry.registry import Registry
from smalti.errors import GuaranteeError, SmaltiError, UsageError
from smalti.trying import read_varied

VALUES = {row[1] for row in small_rows()} | {"Rome", "Oslo", "Bern", "flu", "gout", "asthma", "cold"}
OTHER = "http://example.com/party/other"
DRAWING = [kind for kind in Kind if kind not in (Kind.ANONYMIZATION, Kind.BUCKETIZATION, Kind.MASKING)]


def binding(folder: Path) -> list[str]:
    return ["--data", f"{CUSTOMER}={folder / 'people.csv'}"]


def prepare(folder: Path, **changes: Any) -> Path:
    small_table(folder)
    return small_policy(folder, **changes)


def test_the_best_that_is_possible_goes_to_the_owner_alone(tmp_path: Path) -> None:
    policy = prepare(tmp_path, k=("gteq", 13))
    tried = smalti("try", policy, *binding(tmp_path), cwd=tmp_path)
    assert "that has 12 respondents; illness: l = 4" in " ".join(tried.err.split())
    ran = smalti("run", *request(tmp_path / "people.csv"), policy, "--out", "out", cwd=tmp_path)
    assert (tried.code, ran.code) == (1, 1)
    assert "cannot meet k-anonymity with k = 13" in " ".join(ran.err.split())
    assert "12" not in ran.err


def published(folder: Path) -> list[list[str]]:
    with (folder / "anonCustomer.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_a_try_needs_nothing_but_policy_and_data_and_leaves_nothing(tmp_path: Path) -> None:
    policy, work = prepare(tmp_path), tmp_path / "work"
    work.mkdir()
    before = listing(tmp_path)
    shown = smalti("try", policy, *binding(tmp_path), "--workspace", work, cwd=tmp_path)
    assert shown.code == 0, shown
    text = " ".join(shown.out.split())
    assert "achieved k = " in text
    assert "achieved l (least over the classes): illness " in text
    assert "lost (owner)" in text
    assert "in brackets those in fewer than k rows: city 3 of 3 (0)" in text
    assert "values that appear exactly in the output, alone or in sets: city 3 of 3" in text
    assert "rows that show a single value: age 0.0%" in text
    assert "nothing was recorded, charged or published, and there is no certificate" in text
    assert listing(tmp_path) == before, "no registry, no secret, no log, no output, no stage"


def test_a_try_shows_what_a_run_then_gives(tmp_path: Path) -> None:
    policy = prepare(tmp_path)
    trial = api.try_out(policy, data={CUSTOMER: tmp_path / "people.csv"})
    outcome = api.run(
        policy, data={CUSTOMER: tmp_path / "people.csv"}, party=USER, owner=OWNER, purpose="marketing",
        out=tmp_path / "out", registry=tmp_path / "smalti.sqlite",
    )  # fmt: skip
    assert trial.tried is not None
    assert isinstance(outcome.report, OwnerReport)
    assert trial.plan == trial.tried.plan == outcome.plan
    assert trial.warnings == outcome.warnings
    seen = trial.tried.report
    assert (seen.k, seen.diversity, seen.losses, seen.exact) == (
        outcome.report.k, outcome.report.diversity, outcome.report.losses, outcome.report.exact
    )  # fmt: skip
    header, *rows = published(tmp_path / "out")
    assert trial.tried.header == tuple(header)
    assert 0 < len(trial.tried.rows) <= 5
    assert not {cell for row in trial.tried.rows for cell in row if cell in repr(trial)}, "for no file"
    assert {*trial.tried.rows} <= {*map(tuple, rows)}
    shares = {share.column: share.rows for share in trial.tried.exact}
    cities = [row[header.index("city")] for row in rows]
    assert shares["city"] == sum(not city.startswith("{") for city in cities)


def test_json_has_the_figures_and_never_a_row(tmp_path: Path) -> None:
    policy = prepare(tmp_path)
    shown = smalti("try", policy, *binding(tmp_path), "--vary", "k=2,3", "--format", "json", cwd=tmp_path)
    assert shown.code == 0, shown
    document = shown.json
    assert document["recorded"] is False
    assert document["ownerReport"]["k"] >= 2
    assert [row["k"] for row in document["variations"]] == [2, 3]
    assert not {value for value in VALUES if f'"{value}"' in shown.out}
    assert "hmac" not in shown.out


def test_numbers_are_varied_and_the_policy_stays(tmp_path: Path) -> None:
    policy = prepare(tmp_path, k=("gteq", 4))
    before = policy.read_bytes()
    trial = api.try_out(policy, data={CUSTOMER: tmp_path / "people.csv"}, vary=["k=2,6,13", "k=2", "l=2"])
    assert [str(row.varied) for row in trial.variations] == ["k = 2", "k = 6", "k = 13", "l = 2"]
    weaker, stronger, impossible, other = trial.variations
    assert weaker.tried is not None
    assert stronger.tried is not None
    assert isinstance(weaker.tried.plan, Plan)
    assert weaker.tried.plan.apply.transform.guarantee.k == 2
    assert weaker.tried.report.k < 4 <= stronger.tried.report.k >= 6
    assert weaker.tried.report.loss < stronger.tried.report.loss
    assert impossible.tried is None
    assert "cannot meet k-anonymity with k = 13" in impossible.problem
    assert impossible.problem.endswith("in one class: that has 12 respondents; illness: l = 4")
    assert other.tried is not None, "sensitive columns of k-anonymity can be made diverse"
    assert isinstance(other.tried.plan, Plan)
    assert other.tried.plan.apply.transform.guarantee.l == 2
    shown = smalti("try", policy, *binding(tmp_path), "--vary", "k=2,13", cwd=tmp_path)
    lines = shown.out.splitlines()
    assert [line.split("  ")[0] for line in lines if line.startswith("k = ")] == ["k = 2", "k = 13"]
    assert "the policy itself stays as it is" in shown.out
    assert policy.read_bytes() == before
    weak = smalti(
        "run", policy, *request(tmp_path / "people.csv"), "--with", "k=2", "--out", "o", cwd=tmp_path
    )
    assert weak.code == 1, "what may be tried may not be run"


@pytest.mark.parametrize(
    "text", ["k", "k=", "k=0", "k=2,", "k=-1", "m=2", "k=2;3", "k=1e3", "k=" + "9" * 10]
)
def test_other_variations_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_varied([text])


def test_too_many_variations_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 20"):
        read_varied(["k=" + ",".join(map(str, range(1, 23)))])


# --- With a registry


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A folder whose registry knows the data, as its owner's."""
    ran = smalti("run", prepare(tmp_path), *request(tmp_path / "people.csv"), "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran
    return tmp_path


def attempt(folder: Path, *more: str, policy: str = "policy.jsonld") -> Any:
    return smalti("try", policy, *binding(folder), "--registry", "smalti.sqlite", *more, cwd=folder)


def logged(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("*.decisions.jsonl"))


def test_a_registry_is_only_read_and_only_owners_try(known: Path) -> None:
    before, log = listing(known), logged(known)
    assert attempt(known, "--owner", OWNER).code == 0
    nobody, stranger = attempt(known), attempt(known, "--as", OTHER)
    for refused in (nobody, stranger, attempt(known, "--as", USER, "--format", "json")):
        assert refused.code == 2
        assert not any(value in refused.out for value in VALUES)
    assert "nobody says who tries" in nobody.err
    assert "does not own all of" in stranger.err
    assert {*listing(known)} == {*before}
    assert listing(known)["smalti.sqlite"] == before["smalti.sqlite"]
    assert logged(known) == log
    assert len(Registry.open(known / "smalti.sqlite").outputs.all()) == 1


def test_prohibitions_of_a_registry_hold(known: Path) -> None:
    prohibition = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy/no",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        "prohibition": [
            {"uid": "http://example.com/policy/no/1", "target": f"{CUSTOMER}/illness", "action": "use"}
        ],
    }
    (known / "no.jsonld").write_text(json.dumps(prohibition))
    assert smalti("policy", "add", "no.jsonld", "--as", OWNER, cwd=known).code == 0
    denied = attempt(known, "--owner", OWNER)
    assert denied.code == 1
    assert "forbids the use of the column" in denied.out
    assert not any(value in denied.out for value in VALUES)
    assert smalti("try", "policy.jsonld", *binding(known), cwd=known).code == 0, "no registry is given"


def test_who_withdrew_is_left_out(tmp_path: Path) -> None:
    small_table(tmp_path, respondent="who")
    policy = small_policy(tmp_path)
    assert smalti("run", policy, *request(tmp_path / "people.csv"), "--out", "o", cwd=tmp_path).code == 0
    (tmp_path / "gone.txt").write_text("p3\n")
    gone = smalti("targets", "withdraw", CUSTOMER, "--from", "gone.txt", "--as", OWNER, cwd=tmp_path)
    assert gone.code == 0, gone
    nobody_has_those_in(tmp_path)
    shown = attempt(tmp_path, "--owner", OWNER)
    assert "left out: 1 rows of respondents who withdrew" in " ".join(shown.out.split())


def test_a_denial_is_one(tmp_path: Path) -> None:
    policy = prepare(tmp_path)
    denied = smalti("try", policy, *binding(tmp_path), "--as", OTHER, cwd=tmp_path)
    assert denied.code == 1
    assert denied.out.startswith("deny: ")
    assert "say it with --as and --purpose" in denied.out


def test_own_prohibitions_hold(tmp_path: Path) -> None:
    small_table(tmp_path)
    document = small_document()
    document["prohibition"] = [
        {"uid": "http://example.com/policy/small/2", "target": f"{CUSTOMER}/city", "action": "use"}
    ]
    place = tmp_path / "policy.jsonld"
    place.write_text(json.dumps(document))
    assert smalti("try", place, *binding(tmp_path), cwd=tmp_path).code == 1


# --- What no try shows


def test_a_result_that_does_not_pass_verification_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GuaranteeError("output", "it breaks a promise", "all promises kept")

    policy = prepare(tmp_path)
    monkeypatch.setattr("smalti.engine.anonymization.capability.verify_run", refuse)
    shown = smalti("try", policy, *binding(tmp_path), cwd=tmp_path)
    assert shown.code == 1
    assert not any(value in shown.out + shown.err for value in VALUES)


def test_without_respondents_nothing_is_tried(tmp_path: Path) -> None:
    shown = smalti("try", prepare(tmp_path, respondent=None), *binding(tmp_path), cwd=tmp_path)
    assert shown.code == 1
    assert "--one-row-each" in shown.err
    again = smalti("try", "policy.jsonld", *binding(tmp_path), "--one-row-each", cwd=tmp_path)
    assert again.code == 0


@pytest.mark.parametrize("kind", DRAWING)
def test_what_draws_is_planned_only(tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = worlds.write(tmp_path, kind)
    module, _, name = worlds.EXAMPLES[kind].draw.partition(":")
    if kind is not Kind.TRAINING:
        monkeypatch.setattr(f"{module}.{name}", None)
    asked = worlds.asked(tmp_path, kind) | {"registry": None, "party": None, "owner": None}
    before = listing(tmp_path)
    trial = api.try_out(policy, **{key: value for key, value in asked.items() if key != "registry"})
    assert trial.plan is not None
    assert trial.tried is None
    assert "no ledger is charged for" in trial.not_run
    assert bool(trial.expected_errors) is (kind not in {Kind.TRAINING, Kind.SYNTHESIS})
    assert listing(tmp_path) == before
    assert not (tmp_path / "r.sqlite").exists()
    with pytest.raises(UsageError, match="has no k or l"):
        api.try_out(
            policy, vary=["k=2"], **{key: value for key, value in asked.items() if key != "registry"}
        )


def test_a_try_takes_nothing_from_a_budget(tmp_path: Path) -> None:
    kind = Kind.RELEASE
    policy = worlds.write(tmp_path, kind)
    worlds.run(tmp_path, kind)
    before = worlds.charges(tmp_path)
    trial = api.try_out(policy, **worlds.asked(tmp_path, kind))
    assert trial.expected_errors[0].startswith("by group, rows: within ")
    assert worlds.charges(tmp_path) == before == 1


def test_help_says_who_sees_rows(tmp_path: Path) -> None:
    shown = " ".join(smalti("try", "--help", cwd=tmp_path).out.split())
    assert "Rows are shown on the terminal only, never in JSON." in shown


# --- Values that have no place in a hierarchy


def with_hierarchy(folder: Path, *cities: str) -> Path:
    policy = prepare(folder)
    rows = "".join(f"{city};*\n" for city in cities)
    (folder / "cities.csv").write_text(rows)
    description = {
        "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}],
        "url": "people.csv",
        "tableSchema": {
            "columns": [{"name": "city", "smalti:hierarchy": {"file": "cities.csv", "format": "csv"}}]
        },
    }
    (folder / "people.csv-metadata.json").write_text(json.dumps(description))
    return policy


def test_an_owner_is_shown_values_without_a_place_in_a_hierarchy(tmp_path: Path) -> None:
    policy, seen = with_hierarchy(tmp_path, "Rome"), dict[str, list[str]]()
    with pytest.raises(SmaltiError, match="2 values of the column have no place") as refused:
        api.try_out(
            policy,
            data={CUSTOMER: tmp_path / "people.csv"},
            show_values=lambda column, values: seen.update({column: list(values)}),
        )
    assert seen == {"city": ["Bern", "Oslo"]}
    assert "Oslo" not in str(refused.value)


def test_values_are_shown_on_a_terminal_alone(tmp_path: Path) -> None:
    policy = with_hierarchy(tmp_path, "Rome")
    tried = smalti("try", policy, *binding(tmp_path), "--show-values", cwd=tmp_path)
    assert tried.code == 2
    assert "--show-values: there is no terminal" in tried.err
    assert "Oslo" not in tried.err + tried.out
