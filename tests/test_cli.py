"""The command line: what each command answers, in words and as JSON, and with which code it ends."""

import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
import rdflib
from shell import (
    CUSTOMER,
    MARKETING,
    OUTPUT,
    OWNER,
    POLICIES,
    USER,
    Ran,
    listing,
    request,
    small_document,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

from smalti import api, doctor
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.registry.entries import Input
from smalti.engine.registry.registry import Registry
from smalti.engine.run import engines
from smalti.engine.tables.writing import content_digest
from smalti.transforms.mondrian.kernel import StrictMondrian
from smalti.vocab.terms import IRI

ANALYST = "http://example.com/party/analyst"
READ_POLICY = POLICIES / "analyst-read.jsonld"
CHAINED = "http://example/again"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_table(tmp_path)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return small_policy(tmp_path)


@pytest.fixture
def made(tmp_path: Path, data: Path, policy: Path) -> Path:
    """The folder of an output that was registered."""
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    return tmp_path / "out"


def ok(*arguments: str | Path, cwd: Path, code: int = 0) -> Ran:
    ran = smalti(*arguments, cwd=cwd)
    assert (ran.code, ran.err) == (code, ""), ran.err
    return ran


# --- The program itself


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert ok("--version", cwd=tmp_path).out == f"smalti {importlib.metadata.version('smalti')}\n"


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "smalti", "--version"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.endswith(f"smalti {importlib.metadata.version('smalti')}\n")


COMMANDS = [
    "check", "fmt", "test", "plan", "run", "policy", "decide", "targets", "vocabulary", "verify", "doctor",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(tmp_path: Path, command: str) -> None:
    assert "Usage: smalti" in ok(command, "--help", cwd=tmp_path).out
    assert f"  {command} " in ok("--help", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rum"], "No such command 'rum'"),
        (["run"], "Missing argument 'POLICY'"),
        (["run", "p", "--bogus"], "No such option '--bogus'"),
        (["run", "p", "--out", "o", "--data", "a=b"], "Missing option '--as'"),
        (["plan", "p", "--data", "a=b", "--engine", "gpu"], "'gpu' is not one of 'local', 'spark'"),
        (["plan", "p", "--data", "a=b", "--cut-threshold", "-1"], "a whole number, at least 0"),
        (["targets", "--format", "xml"], "'xml' is not one of"),
    ],
)
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: list[str], told: str) -> None:
    ran = smalti(*arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert listing(tmp_path) == {}


CANARY = "CANARY-7f3a"


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, OSError, duckdb.Error])
def test_an_unforeseen_exception_shows_only_its_kind_and_place(
    tmp_path: Path, data: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def fail(*_: Any) -> None:
        raise kind(CANARY)

    monkeypatch.setattr(StrictMondrian, "generalised", fail)
    before = listing(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 3
    assert ran.message.startswith(f"internal error: {kind.__name__} at test_cli.py:")
    assert CANARY not in ran.err + ran.out
    assert listing(tmp_path) == before


def test_an_interrupted_run_registers_nothing(
    tmp_path: Path, data: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StrictMondrian, "generalised", interrupt)
    before = listing(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.strip() == "error: interrupted; an output that was not registered yet is removed"
    assert listing(tmp_path) == before


# --- check


def test_check_says_what_is_valid(tmp_path: Path, policy: Path) -> None:
    assert ok("check", policy, cwd=tmp_path).out == (
        f"{policy}: valid: {USER} may anonymize {CUSTOMER} for marketing: k at least 2, 1 column dropped by"
        f" name, 2 generalised, 1 kept, one row for each respondent; output {OUTPUT}. Not checked: the"
        " data and its description\n"
    )
    assert ok("check", policy, "--format", "json", cwd=tmp_path).json == []


def test_check_shows_all_findings_of_all_files(tmp_path: Path, policy: Path) -> None:
    bad = small_policy(tmp_path, file="bad.jsonld", k=("gteq", "ten"), method=("eq", "k-anonimity"))
    ran = ok("check", policy, bad, "missing.jsonld", cwd=tmp_path, code=2)
    for told in ("policy.jsonld: valid", "P403", "P401", "did you mean", "P109"):
        assert told in ran.out
    found = ok("check", bad, "--format", "json", cwd=tmp_path, code=1).json
    assert {one["code"] for one in found} >= {"P401", "P403"}


def test_check_with_warnings_only_is_done(tmp_path: Path) -> None:
    ran = ok("check", POLICIES / "fig-2.6.jsonld", cwd=tmp_path)
    assert "warning" in ran.out


# --- plan


def test_plan_tells_each_column_and_writes_nothing(tmp_path: Path, policy: Path, data: Path) -> None:
    before = listing(tmp_path)
    for options in ([], ["--as", USER, "--purpose", MARKETING]):
        arguments = ["plan", policy, "--data", f"{CUSTOMER}={data}", *options]
        told = ok(*arguments, cwd=tmp_path).out
        document = ok(*arguments, "--format", "json", cwd=tmp_path).json
        for name in ("who", "age", "city", "illness"):
            assert name in told
            assert name in json.dumps(document)
    assert listing(tmp_path) == before


def test_plan_of_a_denied_request_shows_the_decision(tmp_path: Path, policy: Path, data: Path) -> None:
    arguments = ["plan", policy, *request(data, party=ANALYST)]
    assert ok(*arguments, cwd=tmp_path, code=1).out.startswith(f"deny: {ANALYST} may not anonymize")
    shown = ok(*arguments, "--format", "json", cwd=tmp_path, code=1).json
    assert shown["decision"]["permitted"] is False


@pytest.mark.parametrize("options", [[], ["--format", "json"]])
def test_a_dry_run_is_a_plan(tmp_path: Path, policy: Path, data: Path, options: list[str]) -> None:
    before = listing(tmp_path)
    dry = ok("run", policy, *request(data), "--out", "out", "--dry-run", *options, cwd=tmp_path)
    assert dry.out == ok("plan", policy, *request(data), *options, cwd=tmp_path).out
    assert listing(tmp_path) == before


def test_a_dry_run_refuses_what_the_run_would_refuse(tmp_path: Path, policy: Path, data: Path) -> None:
    (tmp_path / "out").mkdir()
    ran = smalti("run", policy, *request(data), "--out", "out", "--dry-run", cwd=tmp_path)
    assert ran.code == 2
    assert "it exists already" in ran.message
    denied = ok(
        "run", policy, *request(data, party=ANALYST), "--out", "new", "--dry-run", cwd=tmp_path, code=1
    )
    assert "may not anonymize" in denied.out


# --- run


def test_run_says_what_was_done_and_no_row(tmp_path: Path, transactions: ModuleType) -> None:
    data = tmp_path / "customers.csv"
    transactions.write(data, 60, 3)
    arguments = ["run", POLICIES / "fig-2.6-canonical.jsonld", *request(data), "--out", "out"]
    ran = ok(*arguments, cwd=tmp_path)
    for told in ("permit:", "l-diversity", "owner's view", "not covered", "certificate", "version 1"):
        assert told in ran.out
    published = (tmp_path / "out" / "anonCustomer.csv").read_text().splitlines()[1:]
    original = data.read_text().splitlines()[1:]
    assert not any(row in ran.out for row in published + original)
    labels = {field for row in published for field in row.split(",") if field.startswith(("[", "{"))}
    assert labels
    assert not any(label in ran.out for label in labels)
    assert not any(row.split(",")[0] in ran.out for row in original)


def test_run_shows_the_warnings_of_the_policy(tmp_path: Path, transactions: ModuleType) -> None:
    data = tmp_path / "customers.csv"
    transactions.write(data, 60, 3)
    ran = smalti(
        "run", POLICIES / "fig-2.6.jsonld", *request(data), "--out", "out", "--format", "json", cwd=tmp_path
    )
    assert ran.code == 0
    assert "warning" in ran.err
    assert ran.json["version"] == 1


def test_run_as_json_tells_the_same(tmp_path: Path, policy: Path, data: Path) -> None:
    told = ok("run", policy, *request(data), "--out", "out", "--format", "json", cwd=tmp_path).json
    assert told["decision"]["permitted"] is True
    assert (told["target"], told["version"]) == (OUTPUT, 1)
    assert Path(told["folder"]) == tmp_path / "out"
    assert [one["name"] for one in told["files"]] == ["anonCustomer.csv"]
    assert told["planDigest"].startswith("sha256:")
    assert "k-anonymity" in told["promise"]


def test_csv_and_parquet_hold_the_same_content(tmp_path: Path, policy: Path, data: Path) -> None:
    for kind in OutputFormat:
        ok("run", policy, *request(data), "--out", kind, "--output-format", kind, cwd=tmp_path)
    first, second = (
        content_digest([tmp_path / kind / f"anonCustomer.{kind}"], kind) for kind in OutputFormat
    )
    assert first == second
    recorded = Registry.open(tmp_path / "smalti.sqlite").versions(IRI(OUTPUT))
    assert [version.output_digest for version in recorded] == [first, first]
    assert recorded[0].files[0].digest != recorded[1].files[0].digest


def test_a_second_run_adds_a_version(tmp_path: Path, made: Path, policy: Path, data: Path) -> None:
    before = listing(made)
    again = ok("run", policy, *request(data), "--out", "again", "--format", "json", cwd=tmp_path).json
    assert again["version"] == 2
    assert listing(made) == before
    assert (made / "anonCustomer.csv").read_bytes() == (tmp_path / "again/anonCustomer.csv").read_bytes()
    # The policy is the owner's, and in force by now: it need not be said again who submits it.
    third = ok(
        "run", policy, *request(data, owner=None), "--out", "third", "--format", "json", cwd=tmp_path
    )
    assert third.json["version"] == 3


def chained_policy(folder: Path) -> Path:
    document = small_document(uid="http://example.com/policy/again", method=("eq", "k-anonymity"))
    rule = document["permission"][0]
    rule |= {"uid": "http://example.com/policy/again/1", "target": OUTPUT, "output": CHAINED}
    refinements = rule["action"][0]["refinement"]
    kept = [one for one in refinements if "identifier" not in one["leftOperand"]]
    columns = [{"@id": f"{OUTPUT}/age"}, {"@id": f"{OUTPUT}/city"}]
    kept.append(
        {"leftOperand": "mosaicrown:quasi-identifier", "operator": "isAllOf", "rightOperand": columns}
    )
    (sensitive,) = (one for one in kept if one["leftOperand"] == "mosaicrown:sensitive")
    sensitive["rightOperand"] = [{"@id": f"{OUTPUT}/illness"}]
    (k,) = (one for one in kept if one["leftOperand"] == "mosaicrown:k")
    k["rightOperand"] = 5
    rule["action"][0]["refinement"] = kept
    place = folder / "again.jsonld"
    place.write_text(json.dumps(document))
    return place


@pytest.mark.parametrize("kind", list(OutputFormat))
def test_an_output_can_be_the_input_of_the_next_run(
    tmp_path: Path, policy: Path, data: Path, kind: OutputFormat
) -> None:
    # Two versions with different bytes, of one content.
    for number, form in enumerate((kind, *(form for form in OutputFormat if form is not kind)), 1):
        ok(
            "run", policy, *request(data), "--out", f"v{number}", "--output-format", form, cwd=tmp_path
        )  # fmt: skip
    first = tmp_path / "v1" / f"anonCustomer.{kind}"
    arguments = ["run", chained_policy(tmp_path), *request(first, target=OUTPUT), "--format", "json"]
    told = ok(*arguments, "--out", "again", cwd=tmp_path).json
    assert told["inputs"] == [{"iri": OUTPUT, "version": 1}]
    (version,) = Registry.open(tmp_path / "smalti.sqlite").versions(IRI(CHAINED))
    assert version.inputs == (Input(IRI(OUTPUT), 1),)
    assert ok("verify", "again", "--data", first, cwd=tmp_path).code == 0
    assert "version 1" in ok("targets", CHAINED, cwd=tmp_path).out
    assert ok("targets", CHAINED, "--as", OWNER, cwd=tmp_path).code == 0

    before = listing(tmp_path)
    first.write_bytes(first.read_bytes() + b"\n")
    ran = smalti(*arguments, "--out", "third", cwd=tmp_path)
    assert ran.code in (1, 2)
    assert before.keys() == listing(tmp_path).keys()


def test_an_output_of_which_nobody_can_be_counted_is_refused(tmp_path: Path) -> None:
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows(24))]
    data = small_table(tmp_path, rows, respondent="who")
    policy = small_policy(tmp_path)
    ok("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    before = listing(tmp_path)
    ran = smalti(
        "run", chained_policy(tmp_path), *request(tmp_path / "out/anonCustomer.csv", target=OUTPUT),
        "--out", "again", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 1
    assert "its respondents can no longer be counted" in ran.message
    assert listing(tmp_path).keys() - {"again.jsonld"} == before.keys()


def test_a_respondent_is_never_published(tmp_path: Path) -> None:
    """Whoever sees it could put each person's rows together, across classes."""
    columns = [{"@id": f"{CUSTOMER}/who"}, {"@id": f"{CUSTOMER}/illness"}]
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows(24))]
    data = small_table(tmp_path, rows, respondent="who")
    policy = small_policy(tmp_path, identifier=None, sensitive=("isAllOf", columns))
    before = listing(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    assert "the respondent `who` would be published" in ran.err
    assert listing(tmp_path) == before


def test_a_generalised_respondent_counts_nobody_later(tmp_path: Path) -> None:
    columns = [{"@id": f"{CUSTOMER}/{name}"} for name in ("who", "age")]
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows(24))]
    data = small_table(tmp_path, rows, respondent="who")
    policy = small_policy(tmp_path, **{"identifier": None, "quasi-identifier": ("isAllOf", columns)})
    ok("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    published = tmp_path / "out" / "anonCustomer.csv"
    chained = chained_policy(tmp_path)
    ran = smalti("run", chained, *request(published, target=OUTPUT), "--out", "again", cwd=tmp_path)
    assert ran.code == 1
    assert "its respondents can no longer be counted" in ran.err


@pytest.mark.parametrize(
    ("binding", "told"),
    [
        ("people.csv", "not a binding"),
        ("=people.csv", "not a binding"),
        (f"{CUSTOMER}=", "not a binding"),
        ("Customer=people.csv", "is not an absolute IRI"),
    ],
)
def test_a_binding_has_two_sides(tmp_path: Path, policy: Path, data: Path, binding: str, told: str) -> None:
    before = listing(tmp_path)
    ran = smalti("run", policy, "--data", binding, "--as", USER, "--out", "out", cwd=tmp_path)
    assert ran.code == 2
    assert told in ran.message
    assert listing(tmp_path) == before


def test_only_one_target_is_bound(tmp_path: Path, policy: Path, data: Path) -> None:
    ran = smalti(
        "run", policy, *request(data), "--data", f"http://example.com/Branch={data}", "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 2
    assert "2 targets are bound; expected exactly one" in ran.message


def test_an_iri_may_hold_an_equals_sign(tmp_path: Path) -> None:
    target = "http://example.com/data?table=people"
    text = json.dumps(small_document()).replace(CUSTOMER, target)
    (tmp_path / "p.jsonld").write_text(text)
    data = small_table(tmp_path)
    ok("run", "p.jsonld", *request(data, target=target), "--out", "out", cwd=tmp_path)


# --- targets


def test_targets_lists_nothing_at_first_and_makes_no_registry(tmp_path: Path) -> None:
    assert ok("targets", cwd=tmp_path).out == "nothing is recorded in smalti.sqlite\n"
    assert ok("targets", "--format", "json", cwd=tmp_path).json == []
    assert len(rdflib.Graph().parse(data=ok("targets", "--format", "turtle", cwd=tmp_path).out)) == 0
    assert listing(tmp_path) == {}


FIGURES = ("achieved k", "information lost")


def test_targets_shows_figures_to_owners_only(tmp_path: Path, made: Path) -> None:
    for arguments in ([], [OUTPUT]):
        told = ok("targets", *arguments, cwd=tmp_path).out
        assert f"{OUTPUT} version 1" in told
        assert not any(figure in told for figure in (*FIGURES, USER, str(tmp_path)))
        assert str(tmp_path) not in ok("targets", *arguments, "--format", "json", cwd=tmp_path).out
        owned = ok("targets", *arguments, "--as", OWNER, cwd=tmp_path).out
        assert all(figure in owned for figure in (*FIGURES, USER, "out/anonCustomer.csv"))
        for stranger in (USER, ANALYST):
            refused = smalti("targets", *arguments, "--as", stranger, cwd=tmp_path)
            assert (refused.code, refused.out) == (2, "")
            assert "does not own" in refused.message


def test_an_owner_sees_where_its_own_is_and_no_more(tmp_path: Path, made: Path, policy: Path) -> None:
    other, anybody = "http://example.com/party/other", "http://org/somebody"
    document = (
        (tmp_path / policy).read_text().replace(USER, anybody).replace("com/policy/", "com/policy/other/")
    )
    document = document.replace(CUSTOMER, "http://example.com/Other").replace(
        OUTPUT, "http://example/others"
    )
    (tmp_path / "other.jsonld").write_text(document)
    (tmp_path / "elsewhere").mkdir()
    rows = [(f"o{i}", str(20 + i % 9), "Oslo", "gout" if i % 2 else "flu") for i in range(40)]
    data = small_table(tmp_path / "elsewhere", rows)
    asked = request(data, party=anybody, owner=other, target="http://example.com/Other")
    done = smalti("run", "other.jsonld", *asked, "--out", "others", cwd=tmp_path)
    assert done.code == 0, done.err
    told = ok("targets", "--as", other, cwd=tmp_path).out
    assert "others/others.csv" in told
    assert anybody in told
    assert USER not in told
    assert "out/anonCustomer.csv" not in told
    listed = ok("targets", "--as", other, "--format", "json", cwd=tmp_path).json
    shown = {one["target"]: one for one in listed}
    assert shown["http://example/others"]["party"] == anybody
    assert not {"party", "folder", "ownerReport"} & shown[OUTPUT].keys()


def test_targets_as_json_and_as_turtle(tmp_path: Path, made: Path) -> None:
    (shown,) = ok("targets", "--format", "json", cwd=tmp_path).json
    assert (shown["target"], shown["version"]) == (OUTPUT, 1)
    assert "ownerReport" not in shown
    (owned,) = ok("targets", "--format", "json", "--as", OWNER, cwd=tmp_path).json
    assert owned.pop("ownerReport")["k"] == 2
    assert (owned.pop("party"), Path(owned.pop("folder"))) == (USER, tmp_path / "out")
    assert owned == shown
    graph = rdflib.Graph().parse(data=ok("targets", "--format", "turtle", cwd=tmp_path).out)
    assert rdflib.URIRef(OUTPUT) in set(graph.subjects())
    by_version = ok("targets", shown["versionIri"], "--format", "json", cwd=tmp_path).json
    assert by_version == [shown]


def test_an_unknown_target_is_named(tmp_path: Path, made: Path) -> None:
    ran = smalti("targets", "http://example/other", cwd=tmp_path)
    assert ran.code == 2
    assert "http://example/other: the registry records no such output" in ran.message


def test_something_that_is_no_registry_is_left_alone(tmp_path: Path, policy: Path, data: Path) -> None:
    (tmp_path / "smalti.sqlite").write_text("these are notes, and no registry\n" * 99)
    before = listing(tmp_path)
    for command in (
        ["targets"], ["policy", "list"], ["run", policy, *request(data), "--out", "out"],
    ):  # fmt: skip
        ran = smalti(*command, cwd=tmp_path)
        assert (ran.code, ran.out) == (3, "")
        assert "it is not a registry" in ran.message
    assert listing(tmp_path) == before


# --- policy


def test_the_life_of_a_policy(tmp_path: Path) -> None:
    assert ok("policy", "list", cwd=tmp_path).out == "no policy is stored in smalti.sqlite\n"
    assert ok("policy", "list", "--format", "json", cwd=tmp_path).json == []
    uid = "http://example.com/policy/analyst-read"
    added = ok("policy", "add", READ_POLICY, "--as", OWNER, cwd=tmp_path)
    assert added.out == f"in force: {uid}\n"
    told = ok("policy", "list", cwd=tmp_path).out
    assert uid in told
    assert "in force" in told
    (shown,) = ok("policy", "list", "--format", "json", cwd=tmp_path).json
    assert (shown["uid"], shown["issuer"], shown["revoked"]) == (uid, OWNER, None)
    assert shown["targets"] == [CUSTOMER]

    refused = smalti("policy", "revoke", uid, "--as", USER, cwd=tmp_path)
    assert refused.code == 2
    assert ok("policy", "revoke", uid, "--as", OWNER, cwd=tmp_path).out == f"revoked: {uid}\n"
    assert "revoked 2" in ok("policy", "list", cwd=tmp_path).out
    (shown,) = ok("policy", "list", "--format", "json", cwd=tmp_path).json
    assert shown["revoked"]
    assert smalti("policy", "revoke", uid, "--as", OWNER, cwd=tmp_path).code == 2


def test_policy_add_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    bad = small_policy(tmp_path, k=("gteq", "ten"))
    before = listing(tmp_path)
    for file, party, code, told in (
        (bad, OWNER, 1, "P403"),
        ("missing.jsonld", OWNER, 2, "cannot be read"),
        (READ_POLICY, "owner", 2, "is not an absolute IRI"),
    ):
        ran = smalti("policy", "add", file, "--as", party, cwd=tmp_path)
        assert (ran.code, ran.out) == (code, "")
        assert told in ran.message
        assert listing(tmp_path) == before


def test_only_owners_add_policies_and_owners(tmp_path: Path) -> None:
    ok("policy", "add", READ_POLICY, "--as", OWNER, cwd=tmp_path)
    stranger = smalti("policy", "add", small_policy(tmp_path), "--as", USER, cwd=tmp_path)
    assert stranger.code == 2
    assert f"{USER} does not own `{CUSTOMER}`" in stranger.message
    assert f"owned by {OWNER}" in ok("policy", "owners", cwd=tmp_path).out
    assert smalti("policy", "owners", CUSTOMER, "--add", USER, "--as", USER, cwd=tmp_path).code == 2
    both = ok("policy", "owners", CUSTOMER, "--add", USER, "--as", OWNER, cwd=tmp_path).out
    assert OWNER in both
    assert USER in both
    ok("policy", "add", small_policy(tmp_path), "--as", USER, cwd=tmp_path)
    left = ok("policy", "owners", CUSTOMER, "--remove", OWNER, "--as", USER, cwd=tmp_path).out
    assert OWNER not in left
    last = smalti("policy", "owners", CUSTOMER, "--remove", USER, "--as", USER, cwd=tmp_path)
    assert last.code == 2
    assert smalti("policy", "owners", CUSTOMER, "--add", OWNER, cwd=tmp_path).code == 2
    assert smalti("policy", "owners", "--add", OWNER, "--as", USER, cwd=tmp_path).code == 2


# --- decide


def asked(party: str, purpose: str | None = MARKETING, target: str = OUTPUT) -> list[str]:
    options = ["decide", "--as", party, "--action", "read", "--target", target]
    return options + ([] if purpose is None else ["--purpose", purpose])


def test_decide_permits_and_denies_with_reasons(tmp_path: Path, made: Path) -> None:
    denied = ok(*asked(ANALYST), cwd=tmp_path, code=1)
    assert denied.out.startswith(f"deny: {ANALYST} may not read {OUTPUT} for marketing")
    ok("policy", "add", READ_POLICY, "--as", OWNER, cwd=tmp_path)
    permitted = ok(*asked(ANALYST), cwd=tmp_path)
    assert permitted.out.startswith(f"permit: {ANALYST} may read {OUTPUT} for marketing")
    assert "by the implicit rule" in permitted.out
    shown = ok(*asked(ANALYST), "--format", "json", cwd=tmp_path).json
    assert (shown["effect"], shown["permitted"]) == ("permit", True)
    assert shown["reasons"]
    for request_ in (asked(USER), asked(ANALYST, None), asked(ANALYST, "statistical")):
        assert "deny: " in ok(*request_, cwd=tmp_path, code=1).out
        assert ok(*request_, "--format", "json", cwd=tmp_path, code=1).json["permitted"] is False


def test_a_withdrawn_source_policy_ends_the_implicit_rule(tmp_path: Path, made: Path) -> None:
    ok("policy", "add", READ_POLICY, "--as", OWNER, cwd=tmp_path)
    ok(*asked(ANALYST), cwd=tmp_path)
    ok("policy", "revoke", "http://example.com/policy/small", "--as", OWNER, cwd=tmp_path)
    assert "was revoked" in ok(*asked(ANALYST), cwd=tmp_path, code=1).out


def test_decide_about_the_unknown_makes_nothing(tmp_path: Path) -> None:
    told = ok(*asked(USER), cwd=tmp_path, code=1).out
    assert f"the registry does not know `{OUTPUT}`" in told
    assert listing(tmp_path) == {}


def test_a_word_that_nobody_knows_is_wrong_usage(tmp_path: Path) -> None:
    for arguments, told in (
        (asked(USER, "marketting"), "Did you mean `marketing`?"),
        (["decide", "--as", USER, "--action", "reed", "--target", OUTPUT], "Did you mean `read`?"),
        (asked("somebody"), "is not an absolute IRI"),
    ):
        ran = smalti(*arguments, cwd=tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.message


# --- verify


def test_verify_recounts_an_output(tmp_path: Path, made: Path, data: Path) -> None:
    for which in ("out", OUTPUT, made):
        told = ok("verify", which, cwd=tmp_path).out
        assert "version 1 in this registry" in told
        assert "attested" in told
    shown = ok("verify", "out", "--format", "json", cwd=tmp_path).json
    assert (shown["version"], shown["repeated"], shown["rows"]) == (1, False, 12)
    assert shown["attested"]
    repeated = ok("verify", "out", "--data", data, "--format", "json", cwd=tmp_path).json
    assert repeated["repeated"] is True
    assert repeated["attested"] == []
    assert "repeated" in ok("verify", "out", "--data", data, cwd=tmp_path).out


def test_verify_elsewhere_speaks_for_the_certificate_only(tmp_path: Path, made: Path, data: Path) -> None:
    shutil.copytree(made, tmp_path / "copy")
    elsewhere = ["--registry", "other.sqlite"]
    told = ok("verify", "copy", *elsewhere, cwd=tmp_path, code=1).out  # nobody vouches for it
    assert told.startswith("not recorded: ")
    assert "unsigned" in told
    ran = smalti("verify", "copy", *elsewhere, "--data", data, cwd=tmp_path)
    assert ran.code == 2
    assert "the registry has no such output" in ran.message
    assert not (tmp_path / "other.sqlite").exists()


def changed_value(folder: Path) -> None:
    place = folder / "anonCustomer.csv"
    place.write_text(place.read_text().replace("flu", "flv", 1))


def removed_row(folder: Path) -> None:
    place = folder / "anonCustomer.csv"
    place.write_text("".join(place.read_text().splitlines(keepends=True)[:-1]))


def emptied(folder: Path) -> None:
    (folder / "anonCustomer.csv").write_text("")


def weakened(folder: Path) -> None:
    place = folder / "certificate.jsonld"
    text = place.read_text()
    assert '"k": 2' in text
    place.write_text(text.replace('"k": 2', '"k": 3'))


def no_json(folder: Path) -> None:
    (folder / "certificate.jsonld").write_text("{")


def no_certificate_of_ours(folder: Path) -> None:
    (folder / "certificate.jsonld").write_text("{}")


@pytest.mark.parametrize(
    "tamper", [changed_value, removed_row, emptied, weakened, no_json, no_certificate_of_ours]
)
def test_verify_finds_what_was_tampered_with(
    tmp_path: Path, made: Path, data: Path, tamper: Callable[[Path], None]
) -> None:
    tamper(made)
    for options in ([], ["--data", data], ["--format", "json"]):
        ran = smalti("verify", "out", *options, cwd=tmp_path)
        assert (ran.code, ran.out) == (1, ""), ran
    if tamper is not weakened:  # an unsigned certificate by itself cannot show that it was changed
        assert smalti("verify", "out", "--registry", "other.sqlite", cwd=tmp_path).code == 1


@pytest.mark.parametrize("missing", ["anonCustomer.csv", "certificate.jsonld"])
def test_verify_of_half_an_output_is_refused(tmp_path: Path, made: Path, missing: str) -> None:
    (made / missing).unlink()
    ran = smalti("verify", "out", cwd=tmp_path)
    assert ran.code in (1, 2, 3)
    assert "internal error" not in ran.err


def test_verify_with_other_data_is_refused(tmp_path: Path, made: Path) -> None:
    rows = small_rows()
    rows[0][3] = "gout"
    ran = smalti("verify", "out", "--data", small_table(tmp_path, rows), cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "the recorded plan produces other content from this data" in ran.message
    short = small_table(tmp_path, [row[:3] for row in rows], header=("who", "age", "city"))
    ran = smalti("verify", "out", "--data", short, cwd=tmp_path)
    assert ran.code == 2
    assert "its columns differ from those of the plan" in ran.message
    few = small_table(tmp_path, rows[:1])
    assert smalti("verify", "out", "--data", few, cwd=tmp_path).code == 1


def test_verify_of_nothing_names_it(tmp_path: Path) -> None:
    ran = smalti("verify", "http://example/none", cwd=tmp_path)
    assert ran.code == 2
    assert "not a folder, and not an output in the registry" in ran.message
    (tmp_path / "folder").mkdir()
    ran = smalti("verify", "folder", cwd=tmp_path)
    assert ran.code == 2
    assert "there is no certificate.jsonld" in ran.message


# --- doctor


def test_doctor_lists_what_is_there(tmp_path: Path) -> None:
    told = ok("doctor", cwd=tmp_path).out
    for name in ("python", "duckdb", "pyspark", "opendp", "pillow", "java", "registry"):
        assert name in told
    shown = ok("doctor", "--format", "json", cwd=tmp_path).json
    assert {"name", "is_there", "found", "needed_for", "mend"} == set(shown[0])
    assert listing(tmp_path) == {}


def test_doctor_names_the_command_for_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = {"pyspark"}
    told = ok("doctor", cwd=tmp_path).out
    assert "--  pyspark" in told
    assert "pip install" in told
    assert "--  java" in told
    missing.add("duckdb")
    assert ok("doctor", cwd=tmp_path, code=3).out.count("not installed") >= 3


# --- The public functions behind it


def test_the_functions_refuse_wrong_choices(tmp_path: Path, policy: Path, data: Path) -> None:
    for choices in ({"engine": "gpu"}, {"output_format": "xml"}, {"cut_threshold": -1}, {"owner": "me"}):
        with pytest.raises(api.UsageError):
            api.plan(policy, data={CUSTOMER: data}, party=USER, **choices)  # type: ignore[arg-type]
    with pytest.raises(api.UsageError):
        api.plan(policy, data={}, party=USER)
    assert engines.make_backend(engines.EngineName.LOCAL).name == "local"
