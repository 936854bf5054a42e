"""The short form on the command line and in Python: every place that takes a policy takes it."""

import json
import pickle
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from shell import CUSTOMER, OWNER, USER, describe, small_table, smalti

import smalti as api
from smalti import Registry, SmaltiError
from smalti.errors import InternalError, PlanError, ProblemsError
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.read.parse import json_ld_document
from smalti.policy.read.parse import parse as read_policy
from smalti.vocab.terms import IRI

POLICY = f"""\
party: {USER}
target: {CUSTOMER}
purpose: marketing
method: k-anonymity
k: 2
respondent: who
quasi-identifiers: [age]
released: [city]
output: http://example.com/published
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> str:
    return f"{CUSTOMER}={small_table(tmp_path)}"


def test_findings_for_programs_are_at_places_of_the_short_form(tmp_path: Path, policy: Path) -> None:
    policy.write_text(POLICY.replace("k: 2", "k: 1"), encoding="utf-8")
    ran = smalti("check", policy.name, "--format", "json", cwd=tmp_path)
    assert ran.code == 1
    (error,) = [found for found in json.loads(ran.out) if found["severity"] == "error"]
    assert (error["code"], error["document"], error["line"], error["column"]) == (
        "P404",
        "policy.yaml",
        5,
        4,
    )


def test_fmt_converts_both_ways_and_changes_no_file(tmp_path: Path, policy: Path) -> None:
    json_ld = smalti("fmt", "--to", "json-ld", policy.name, cwd=tmp_path)
    assert json_ld.code == 0
    (tmp_path / "policy.jsonld").write_text(json_ld.out, encoding="utf-8")
    short = smalti("fmt", "--to", "short", "policy.jsonld", cwd=tmp_path)
    assert (short.code, short.out) == (0, POLICY)
    assert smalti("fmt", "--check", policy.name, cwd=tmp_path).code == 0
    assert policy.read_text(encoding="utf-8") == POLICY
    assert smalti("fmt", "--to", "short", policy.name, "policy.jsonld", cwd=tmp_path).code == 2


def test_what_cannot_be_read_is_not_converted(tmp_path: Path, policy: Path) -> None:
    policy.write_text("target: [", encoding="utf-8")
    for form in ("short", "json-ld"):
        ran = smalti("fmt", "--to", form, policy.name, cwd=tmp_path)
        assert (ran.code, ran.out) == (1, "")
        assert "policy.yaml:1:10: error[P110]" in ran.err


def test_a_run_names_the_place_in_the_short_form(tmp_path: Path, policy: Path, data: str) -> None:
    policy.write_text(POLICY.replace("[city]", "[citty]"), encoding="utf-8")
    ran = smalti("plan", policy.name, "--data", data, cwd=tmp_path)
    assert ran.code != 0
    assert "policy.yaml:8:12: `" in ran.err


@pytest.mark.parametrize(
    ("text", "says", "short"),
    [
        (
            POLICY.replace("respondent: who\n", ""),
            "`smalti:respondent` `eq` a column or `smalti:oneRowEach`, with",
            "(`respondent: COLUMN` or `one-row-each: true`), in the data's description (`smalti:res",
        ),
        (
            POLICY.replace("k-anonymity", "masking").replace("k: 2", "algorithm: mdav\nk: 2").replace(
                "quasi-identifiers: [age]\n", "per-column:\n  city: {output-form: mean}\n"
            ).replace("released: [city]\n", ""),
            "`smalti:outputForm` is `mean`, but the column `city` (string, inferred from the data)",
            "`output-form` is `mean`, but the column `city` (string, inferred from the data)",
        ),
    ],
)  # fmt: skip
def test_plans_and_runs_speak_in_the_words_of_their_policy(
    tmp_path: Path, policy: Path, data: str, text: str, says: str, short: str
) -> None:
    policy.write_text(text, encoding="utf-8")
    (tmp_path / "same.jsonld").write_bytes(json_ld_document(text.encode(), policy.name))
    asked = ("--data", data, "--as", USER, "--owner", OWNER, "--purpose", "marketing")
    for name, expected in ((policy.name, short), ("same.jsonld", says)):
        for command in (("plan",), ("run", "--out", "out")):
            ran = smalti(*command, name, *asked, cwd=tmp_path)
            assert expected in " ".join((ran.out + ran.err).split())
        assert not (tmp_path / "out").exists()


def test_errors_in_other_words_keep_their_place_and_pickle() -> None:
    several = ProblemsError((PlanError("a", "`k`", "b", "c"), InternalError("`k`")))
    several.reword(lambda text: text.replace("`k`", "`m`"))
    assert str(pickle.loads(pickle.dumps(several))).startswith("a: `m`; expected b. C\ninternal error: `m`")


def test_a_run_and_what_is_stored(tmp_path: Path, policy: Path, data: str) -> None:
    """What a registry holds of a short form is its JSON-LD, which it understands whatever its name."""
    added = smalti("policy", "add", policy.name, "--as", OWNER, cwd=tmp_path)
    assert added.code == 0, added.err
    ran = smalti("run", policy.name, "--data", data, "--as", USER, "--owner", OWNER,
                 "--purpose", "marketing", "--out", "out", cwd=tmp_path)  # fmt: skip
    assert ran.code == 0, ran.err
    registry = Registry.open(tmp_path / "smalti.sqlite")
    (stored,) = registry.policies.listed()
    content = registry.policies.document(stored.digest)
    assert content == json_ld_document(POLICY.encode(), "policy.yaml")
    understood = registry.policies.in_force(IRI(stored.uid))
    assert understood is not None
    assert understood.where.document == "policy.yaml (as JSON-LD)"
    again = smalti("policy", "add", policy.name, "--as", OWNER, cwd=tmp_path)
    assert again.code == 0, again.err


def test_errors_when_it_is_added_are_at_their_places(tmp_path: Path, policy: Path) -> None:
    policy.write_text(POLICY.replace("k: 2", "k: two"), encoding="utf-8")
    added = smalti("policy", "add", policy.name, "--as", OWNER, cwd=tmp_path)
    assert added.code == 1
    assert "policy.yaml:5:4: error[P403]" in added.err
    assert "    5 | k: two" in added.err


def test_policy_tests_take_it(tmp_path: Path, policy: Path) -> None:
    asked = {"party": USER, "action": "anonymize", "target": CUSTOMER, "purpose": "marketing"}
    case = {"name": "one", "request": asked, "expect": {"effect": "permit"}}
    document = {"policies": [policy.name], "tests": [case]}
    (tmp_path / "cases.json").write_text(json.dumps(document), encoding="utf-8")
    ran = smalti("test", "cases.json", cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err


def test_a_signature_is_of_the_json_ld(tmp_path: Path, policy: Path) -> None:
    pytest.importorskip("cryptography")
    for words in (
        ("policy", "new-key", "--private", "key.pem", "--public", "key.pub"),
        ("policy", "trust", "key.pub", "--as", OWNER),
        ("policy", "sign", policy.name, "--key", "key.pem"),
        ("policy", "add", policy.name, "--as", OWNER, "--signature", f"{policy.name}.jws"),
    ):
        ran = smalti(*words, cwd=tmp_path)
        assert ran.code == 0, ran.err


# --- In Python


def in_code() -> "api.PolicyInCode":
    return api.new_policy(party=USER, target=CUSTOMER).anonymize(
        purpose="marketing", k=2, respondent="who", quasi_identifiers=["age"], released=["city"],
        output="http://example.com/published",
    )  # fmt: skip


def test_a_policy_in_code_is_the_document_of_the_short_form(policy: Path) -> None:
    assert in_code().to_json_ld().encode() == json_ld_document(POLICY.encode(), "policy.yaml")
    loaded, written = api.load_policy(in_code()), api.load_policy(policy)
    assert loaded.policy == written.policy
    assert loaded.document == written.document


def test_a_policy_in_code_is_planned_and_run(tmp_path: Path) -> None:
    table = {CUSTOMER: small_table(tmp_path)}
    registry = tmp_path / "r.sqlite"
    planned = api.plan(in_code(), data=table, registry=registry)
    assert planned.plan is not None
    outcome = api.run(in_code(), data=table, party=USER, owner=OWNER, purpose="marketing",
                      registry=registry, out=tmp_path / "out")  # fmt: skip
    assert outcome.decision.is_permitted


def test_every_kind_of_rule_and_value() -> None:
    policy = (
        api.new_policy(
            policy="http://example.com/policy/1", owner=OWNER, target=CUSTOMER, conflict=None,
            valid={"from": date(2026, 1, 1), "until": "2026-12-31"},
        )
        .permit("read", party=USER, rows={"at_least": {"at_least": Decimal("0.10"), "below": 1e2}},
                constraints=[{"dateTime": {"below": date(2026, 6, 1)}}])
        .anonymize(party=USER, k=5, l=2, sensitive=["illness"], quasi_identifiers=("age",),
                   one_row_each=True, output="http://example.com/published")
        .prohibit(columns=["who"])
        .prohibit("sell")
        .oblige("delete", party=USER)
    )  # fmt: skip
    loaded = api.load_policy(policy).policy
    assert len(loaded.permissions) == 2
    assert len(loaded.prohibitions) == 3
    assert len(loaded.obligations) == 1
    assert loaded.permissions[1].anonymization is not None
    assert loaded.permissions[1].anonymization.method == "l-diversity"
    assert "at_least: {at-least: 0.1, below: 100}" in policy.to_short()


def test_each_call_returns_another_policy() -> None:
    start = api.new_policy(target=CUSTOMER)
    reading = start.permit("read")
    assert start.to_short() == f"target: {CUSTOMER}\n"
    assert "print" not in reading.to_short()
    assert meaning_digest(api.load_policy(reading).policy) != meaning_digest(
        api.load_policy(start.permit("print")).policy
    )


def test_mistakes_in_code_have_places_in_the_short_form() -> None:
    wrong = api.new_policy(target=CUSTOMER).anonymize(k="two", metod="x", quasi_identifiers=["age"])
    for use in (wrong.to_json_ld, lambda: api.load_policy(wrong)):
        with pytest.raises(SmaltiError, match=r"<policy>:\d+:\d+: error\[P111\] `metod` is no word"):
            use()


def test_a_first_word_that_is_none_is_named() -> None:
    """It says that a file in no known form is a short form; code is nothing else."""
    with pytest.raises(SmaltiError, match=r"<policy>:1:1: error\[P111\] `uid` is no word(?s:.*)`policy`"):
        api.load_policy(api.new_policy(uid="http://example.com/p", target=CUSTOMER))


@pytest.mark.parametrize(
    "value", [{1, 2}, float("nan"), object(), {1: 2}, b"x"], ids=lambda value: type(value).__name__
)
def test_values_that_policies_do_not_have_are_refused(value: object) -> None:
    with pytest.raises(SmaltiError) as error:
        api.new_policy(target=CUSTOMER).anonymize(k=value)
    assert "`k`" in str(error.value)


def test_rules_of_the_policy_and_of_later_calls_stand_together() -> None:
    """What is named first is not dropped: a prohibition that is lost publishes what it forbids."""
    written = api.new_policy(
        owner="http://example.com/o", target="http://example.com/t", prohibit={"columns": ["ssn"]}
    )
    text = written.anonymize(k=2, quasi_identifiers=["age"]).prohibit("sell").to_short()
    assert "ssn" in text
    assert "sell" in text
    permitted = api.new_policy(target="http://example.com/t", permit={"action": "read"})
    assert permitted.permit("print").permit("display").to_short().count("action") == 3


@pytest.mark.parametrize("line_end", ["\u2028", "\u2029", "\x85", "\r"])
def test_a_comment_ends_where_everybody_sees_it_end(line_end: str) -> None:
    text = f"target: http://example.com/t\n# the end{line_end}conflict: perm\n"
    (finding,) = read_policy(text.encode(), "p.yaml").errors
    assert finding.code == "P110"
    assert finding.where.line == 2


@pytest.mark.parametrize(
    "words",
    [{"one_row_each": True, "one-row-each": True}, {"rows": {"age": {"at_least": 3, "at-least": 5}}}],
)
def test_a_word_in_two_spellings_is_refused(words: dict[str, object]) -> None:
    with pytest.raises(SmaltiError, match="in two spellings"):
        api.new_policy(target=CUSTOMER).anonymize(**words)


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert "k: 3\n" in api.new_policy(target=CUSTOMER).anonymize(k=np.float64(3)).to_short()


def test_a_summary_says_the_words_that_the_author_wrote(tmp_path: Path, policy: Path) -> None:
    policy.write_text(POLICY + "label-bounds: observed\nsuppression-limit: 0.1\n", encoding="utf-8")
    says = smalti("check", policy, cwd=tmp_path).out
    assert "label-bounds = " in says
    assert "suppression-limit at most 0.1" in says
    (tmp_path / "p.jsonld").write_text(smalti("fmt", "--to", "json-ld", policy, cwd=tmp_path).out)
    assert "suppressionLimit at most 0.1" in smalti("check", "p.jsonld", cwd=tmp_path).out


def test_carets_are_at_the_word_that_is_meant(tmp_path: Path, policy: Path) -> None:
    """In each serialization that has places."""
    described = describe(small_table(tmp_path), ("who", "age", "city", "illness")).name
    parameter = "per-column:\n  agee: {label-bounds: observed}\n"
    text = POLICY.replace("[age]", "[age, ctiy]") + parameter
    for name, content in {"p.yaml": text, "t.yaml": POLICY.replace(CUSTOMER, "customer")}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        laid_out = smalti("fmt", "--to", "json-ld", name, cwd=tmp_path).out
        (tmp_path / name.replace("yaml", "jsonld")).write_text(laid_out, encoding="utf-8")
    for suffix in ("yaml", "jsonld"):
        assert set(meant(tmp_path, f"p.{suffix}", "P610", "--dataset", described)) == {"ctiy", "agee"}
        assert meant(tmp_path, f"t.{suffix}", "P520") == ["customer"]
    without = POLICY.replace(f"target: {CUSTOMER}\n", "")
    policy.write_text(without, encoding="utf-8")
    (tmp_path / "u.jsonld").write_text(smalti("fmt", "--to", "json-ld", policy, cwd=tmp_path).out)
    lines = (tmp_path / "u.jsonld").read_text(encoding="utf-8").splitlines()
    (finding,) = (each for each in smalti(
        "check", "u.jsonld", "--format", "json", cwd=tmp_path).json if each["code"] == "P520")  # fmt: skip
    assert '"permission"' in lines[finding["line"] - 1], "the rule that lacks its target"


def meant(folder: Path, name: str, code: str, *options: str) -> list[str]:
    """The words at which findings of a code point."""
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    found = smalti("check", name, *options, "--format", "json", cwd=folder).json
    places = ((each["line"], each["column"]) for each in found if each["code"] == code)
    return [re.findall(r"\w+", lines[line - 1][column - 1 :])[0] for line, column in places]
