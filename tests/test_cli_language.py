"""check, fmt and test on the command line: what they say, what they leave alone, and how they end."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from shell import CUSTOMER, OUTPUT, POLICIES, ROOT, USER, Ran, describe, small_policy, small_table, smalti

SARIF = json.loads(
    (ROOT / "tests" / "policy" / "sarif" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")
)
UID = "http://example.com/policy/small/1"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return small_policy(tmp_path)


# --- check


def test_success_says_what_the_policy_does_and_what_was_not_checked(tmp_path: Path, policy: Path) -> None:
    ran = smalti("check", policy.name, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        f"policy.jsonld: valid: {USER} may anonymize {CUSTOMER} for marketing: k at least 2, "
    )
    assert f"output {OUTPUT}" in ran.out
    assert "Not checked: the data and its description" in ran.out


def test_all_findings_of_all_files_at_once(tmp_path: Path) -> None:
    small_policy(tmp_path, file="a.jsonld", k=("lteq", 2))
    small_policy(tmp_path, file="b.jsonld", method=("eq", "k-anonimity"), k=("gteq", 1))
    ran = smalti("check", "a.jsonld", "b.jsonld", "none.jsonld", cwd=tmp_path)
    assert ran.code == 2, "one of them cannot be read"
    for code in ("P406", "P401", "P404", "P109"):
        assert f"error[{code}]" in ran.out
    assert "help: did you mean `k-anonymity`?" in ran.out
    assert "valid" not in ran.out


def test_warnings_end_with_1_only_when_strict(tmp_path: Path) -> None:
    figure = str(POLICIES / "fig-2.6.jsonld")
    assert smalti("check", figure, cwd=tmp_path).code == 0
    assert smalti("check", "--strict", figure, cwd=tmp_path).code == 1
    canonical = str(POLICIES / "fig-2.6-canonical.jsonld")
    assert smalti("check", "--strict", canonical, cwd=tmp_path).code == 0


def test_formats_for_programs_are_valid_with_and_without_findings(tmp_path: Path, policy: Path) -> None:
    small_policy(tmp_path, file="bad.jsonld", k=("lteq", 2))
    for names, code, count in ((["policy.jsonld"], 0, 0), (["policy.jsonld", "bad.jsonld"], 1, 1)):
        found = smalti("check", *names, "--format", "json", cwd=tmp_path)
        assert (found.code, len(found.json)) == (code, count)
        log = smalti("check", *names, "--format", "sarif", cwd=tmp_path)
        jsonschema.Draft4Validator(SARIF).validate(log.json)
        assert (log.code, len(log.json["runs"][0]["results"])) == (code, count)
        lines = smalti("check", *names, "--format", "github", cwd=tmp_path)
        assert (lines.code, len(lines.out.splitlines())) == (code, count)
    assert lines.out.startswith("::error file=bad.jsonld,")


def test_a_description_finds_misspelt_columns(tmp_path: Path) -> None:
    columns = [{"@id": f"{CUSTOMER}/age"}, {"@id": f"{CUSTOMER}/cty"}]
    small_policy(tmp_path, **{"quasi-identifier": ("isAllOf", columns)})
    table = small_table(tmp_path)
    described = describe(table, ("who", "age", "city", "illness"))
    assert smalti("check", "policy.jsonld", cwd=tmp_path).code == 0
    ran = smalti("check", "policy.jsonld", "--dataset", described.name, cwd=tmp_path)
    assert ran.code == 1
    assert "cty" in ran.out
    assert "did you mean" in ran.out
    small = smalti("check", "policy.jsonld", "--dataset", "alone.csv", cwd=tmp_path)
    assert "`alone.csv-metadata.json` in the same folder" in small.err
    missing = smalti("check", "policy.jsonld", "--dataset", "none.json", cwd=tmp_path)
    assert missing.code == 2


def test_an_error_hides_no_finding_about_another_policy(tmp_path: Path) -> None:
    """Neither one in the same document, before or after it, nor one in another."""
    columns = [{"@id": f"{CUSTOMER}/age"}, {"@id": f"{CUSTOMER}/cty"}]
    misspelt = small_policy(tmp_path, **{"quasi-identifier": ("isAllOf", columns)})
    raw = json.loads(misspelt.read_text(encoding="utf-8"))
    wrong = {
        "@context": raw["@context"], "@type": "Set", "uid": "http://example.com/policy/wrong",
        "profile": raw["profile"], "conflict": "maybe",
        "permission": [{"uid": "http://example.com/rule/wrong", "target": CUSTOMER, "action": "read"}],
    }  # fmt: skip
    described = describe(small_table(tmp_path), ("who", "age", "city", "illness"))
    for name, found in {"alone": wrong, "first": [wrong, raw], "last": [raw, wrong]}.items():
        (tmp_path / f"{name}.jsonld").write_text(json.dumps(found, indent=1), encoding="utf-8")
    for names in (["alone.jsonld", misspelt.name], ["first.jsonld"], ["last.jsonld"]):
        ran = smalti("check", *names, "--dataset", described.name, "--format", "json", cwd=tmp_path)
        codes = {one["code"] for one in ran.json}
        assert {"P315", "P610"} <= codes, (names, codes)
        assert ran.code == 1
        assert "valid" not in smalti("check", *names[:1], "--dataset", described.name, cwd=tmp_path).out


def test_a_policy_that_lacks_its_parent_is_not_linted(tmp_path: Path) -> None:
    """What it would have taken from there is missing, and would be missed."""
    misspelt = small_policy(tmp_path, **{"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/cty"}])})
    raw = json.loads(misspelt.read_text(encoding="utf-8"))
    child = {**raw, "inheritFrom": "http://example.com/policy/wrong"}
    wrong = {
        "@context": raw["@context"], "@type": "Set", "uid": "http://example.com/policy/wrong",
        "profile": raw["profile"], "conflict": "maybe",
        "permission": [{"uid": "http://example.com/rule/wrong", "target": CUSTOMER, "action": "read"}],
    }  # fmt: skip
    (tmp_path / "both.jsonld").write_text(json.dumps([wrong, child]), encoding="utf-8")
    described = describe(small_table(tmp_path), ("who", "age", "city", "illness"))
    ran = smalti("check", "both.jsonld", "--dataset", described.name, "--format", "json", cwd=tmp_path)
    assert {one["code"] for one in ran.json if one["severity"] == "error"} == {"P315"}


def test_documents_named_together_inherit_from_each_other(tmp_path: Path) -> None:
    child = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy/child",
        "profile": "https://w3id.org/smalti#",
        "inheritFrom": "http://example.com/policy/small",
    }
    (tmp_path / "child.jsonld").write_text(json.dumps(child), encoding="utf-8")
    small_policy(tmp_path)
    assert smalti("check", "child.jsonld", cwd=tmp_path).code == 1
    together = smalti("check", "child.jsonld", "policy.jsonld", cwd=tmp_path)
    assert together.code == 0, together.out
    assert together.out.count("may anonymize") == 2


# --- fmt


def test_fmt_lays_out_in_place_and_is_idempotent(tmp_path: Path, policy: Path) -> None:
    before = policy.read_bytes()
    policy.chmod(0o640)
    asked = smalti("fmt", "--check", "policy.jsonld", cwd=tmp_path)
    assert (asked.code, policy.read_bytes()) == (1, before)
    shown = smalti("fmt", "--diff", "policy.jsonld", cwd=tmp_path)
    assert shown.code == 1
    assert shown.out.startswith("--- policy.jsonld\n+++ ")
    assert policy.read_bytes() == before
    done = smalti("fmt", "policy.jsonld", cwd=tmp_path)
    assert (done.code, done.out) == (0, "laid out: policy.jsonld\n")
    after = policy.read_bytes()
    assert after != before
    assert json.loads(after) == json.loads(before)
    assert policy.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["policy.jsonld"]
    again = smalti("fmt", "--check", "--diff", "policy.jsonld", cwd=tmp_path)
    assert (again.code, again.out) == (0, "")


def test_fmt_leaves_alone_what_is_no_json(tmp_path: Path, policy: Path) -> None:
    (tmp_path / "broken.jsonld").write_text('{"@context": 1,}', encoding="utf-8")
    ran = smalti("fmt", "broken.jsonld", "none.jsonld", "policy.jsonld", cwd=tmp_path)
    assert ran.code == 2, "one of them cannot be read"
    assert smalti("fmt", "broken.jsonld", cwd=tmp_path).code == 1
    assert smalti("plan", "none.jsonld", "--data", "http://x.org/t=t.csv", cwd=tmp_path).code == 2
    assert "error[P103]" in ran.err
    assert "none.jsonld: the document cannot be read" in ran.err
    assert (tmp_path / "broken.jsonld").read_text(encoding="utf-8") == '{"@context": 1,}'
    assert ran.out == "laid out: policy.jsonld\n"


def test_a_formatted_example_is_what_is_committed(tmp_path: Path) -> None:
    ran = smalti("fmt", "--check", str(POLICIES / "fig-2.6-canonical.jsonld"), cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")


# --- test


def cases(folder: Path, *tests: dict[str, Any], **more: Any) -> str:
    document = {"policies": ["policy.jsonld"], "tests": list(tests)} | more
    (folder / "cases.json").write_text(json.dumps(document), encoding="utf-8")
    return "cases.json"


def case(expect: dict[str, Any], name: str = "one", **request: Any) -> dict[str, Any]:
    asked = {"party": USER, "action": "anonymize", "target": CUSTOMER, "purpose": "marketing"} | request
    return {"name": name, "request": asked, "expect": expect}


def run(folder: Path, *tests: dict[str, Any], **more: Any) -> Ran:
    return smalti("test", cases(folder, *tests, **more), cwd=folder)


def forbidding(folder: Path, remedy: dict[str, Any], **more: Any) -> None:
    """The small policy with what it permits as the remedy of a prohibition."""
    raw = json.loads(small_policy(folder).read_text(encoding="utf-8"))
    (rule,) = raw.pop("permission")
    rule = {key: said for key, said in rule.items() if key not in {"assignee", "purpose"}}
    no = {"uid": "http://example.com/rule/no", "target": CUSTOMER, "action": "use", **more}
    raw |= {"conflict": "prohibit", "prohibition": [{**no, "remedy": [{**rule, **remedy}]}]}
    (folder / "policy.jsonld").write_text(json.dumps(raw), encoding="utf-8")


def test_a_remedy_that_names_nobody_is_that_of_the_owners_of_a_case(tmp_path: Path) -> None:
    forbidding(tmp_path, {})
    owned = {**case({"effect": "permit"}, "two", rule=UID), "world": {"owners": [USER]}}
    other = {**case({"effect": "deny"}, "three", rule=UID), "world": {"owners": ["http://org/other"]}}
    ran = run(tmp_path, case({"effect": "deny"}, rule=UID), owned, other)
    assert ran.code == 0, ran.out


def test_the_plan_of_a_case_is_that_of_its_grant(tmp_path: Path) -> None:
    """With the rows that the decision grants: here they depend on the purpose."""
    small_table(tmp_path)
    old = {"leftOperand": {"@id": f"{CUSTOMER}/age"}, "operator": "gt", "rightOperand": 20}
    rows = {"@type": "AssetCollection", "source": CUSTOMER, "refinement": [old]}
    counting = {
        "leftOperand": "purpose",
        "operator": "eq",
        "rightOperand": {"@id": "mosaicrown:statistical"},
    }
    depends = {"or": {"@list": [{**old, "rightOperand": 10}, counting]}}
    forbidding(tmp_path, {"assignee": USER, "constraint": [depends]}, target=rows)
    limited = case({"effect": "limited", "rows": True, "plan": {"data": "people.csv"}}, rule=UID)
    limited["expect"]["plan"]["explained"] = "explained.txt"
    told = smalti(
        "plan", "policy.jsonld", "--data", f"{CUSTOMER}=people.csv", "--as", USER, "--rule", UID,
        "--owner", USER, "--purpose", "marketing", cwd=tmp_path,
    )  # fmt: skip
    assert "age is above 20" in told.out
    (tmp_path / "explained.txt").write_text(told.out, encoding="utf-8")
    ran = run(tmp_path, limited)
    assert ran.code == 0, ran.out + told.out + told.err


PLAN = {
    "data": "people.csv", "method": "k-anonymity", "k": 2, "dropped": ["who"],
    "generalised": ["age", "city"], "kept": ["illness"],
}  # fmt: skip


def test_cases_that_hold_pass(tmp_path: Path, policy: Path) -> None:
    small_table(tmp_path)
    ran = run(
        tmp_path,
        case({"effect": "permit", "rules": [UID], "rows": False, "obligations": [], "plan": PLAN}),
        case({"effect": "deny", "rules": []}, "two", purpose="statistical"),
        case({"effect": "permit", "plan": PLAN | {"k": 7}}, "three", parameters={"k": 7}),
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "result: 3 passed, 0 failed"
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "cases.json",
        "people.csv",
        "policy.jsonld",
    ]


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"effect": "deny"}, "expected the effect `deny`, got `permit`"),
        ({"effect": "permit", "rules": ["urn:x:1"]}, f"got `{UID}`"),
        ({"effect": "permit", "rules": []}, "expected the rules none"),
        ({"effect": "permit", "rows": True}, "expected a limit to some rows"),
        ({"effect": "permit", "withheld": ["urn:x:t/c"]}, "columns `urn:x:t/c` to be withheld, got none"),
        ({"effect": "permit", "obligations": ["urn:x:1"]}, "got none"),
        ({"effect": "limited"}, "expected the effect `limited`, got `permit`"),
        ({"effect": "permit", "plan": PLAN | {"k": 3}}, "expected k to be 3, got 2"),
        ({"effect": "permit", "plan": PLAN | {"l": 2}}, "expected l to be 2, got None"),
        ({"effect": "permit", "plan": PLAN | {"kept": []}}, "expected no column to be kept, got"),
        ({"effect": "permit", "plan": PLAN | {"dropped": ["age"]}}, "expected age to be dropped"),
        ({"effect": "permit", "plan": PLAN | {"explained": "people.csv"}}, "plan differs from `"),
        ({"effect": "permit", "plan": PLAN | {"data": "none.csv"}}, "expected a plan, but there is none"),
    ],
)  # fmt: skip
def test_cases_that_do_not_hold_fail(
    tmp_path: Path, policy: Path, expect: dict[str, Any], told: str
) -> None:
    small_table(tmp_path)
    ran = run(tmp_path, case(expect))
    assert ran.code == 1
    assert "one ... FAILED" in ran.out
    assert told in " ".join(ran.out.split())
    assert ran.out.splitlines()[-1] == "result: 0 passed, 1 failed"
    told_as_json = smalti("test", "cases.json", "--format", "json", cwd=tmp_path)
    assert told_as_json.code == 1
    assert told_as_json.json[0]["tests"][0]["passed"] is False


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tests": []}, "cases.json:1:"),
        ({"tests": [case({"effect": "allow"})]}, "tests/0/expect/effect"),
        ({"tests": [case({"effect": "deny", "rule": "x"})]}, "tests/0/expect/rule"),
        ({"tests": [case({"effect": "deny"}, party="nobody")]}, "`nobody`"),
        ({"tests": [case({"effect": "deny"}), case({"effect": "deny"})]}, "used twice"),
        ({"policies": ["none.jsonld"]}, "cannot be read"),
        ({"policies": ["cases.json"]}, "a policy has errors"),
        ({"tests": [case({"effect": "deny"}, time="yesterday")]}, "`yesterday` is not a point in time"),
        ({"tests": [case({"effect": "deny"}, parameters={"kk": 3})]}, "`kk`"),
    ],
)
def test_a_file_that_is_no_test_is_wrong_usage(
    tmp_path: Path, policy: Path, change: dict[str, Any], told: str
) -> None:
    ran = run(tmp_path, case({"effect": "deny"}), **change)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize("spelling", ["vocabularies", "hierarchies"])
@pytest.mark.parametrize("path", ["\u0000", "a\u001b[31m", "x" * 2000, "/dev/zero", "none.ttl", "."])
def test_paths_of_a_file_of_tests_cannot_break_it(
    tmp_path: Path, policy: Path, path: str, spelling: str
) -> None:
    ran = run(tmp_path, case({"effect": "deny"}), **{spelling: [path]})
    assert ran.code in {1, 2}
    assert (ran.out, "internal error" in ran.err) == ("", False)
    assert "\u001b" not in ran.err
    planned = run(tmp_path, case({"effect": "permit", "plan": PLAN | {"data": path}}))
    assert planned.code in {1, 2}
    assert "internal error" not in planned.out + planned.err


def test_one_long_line_with_many_findings_is_shown_in_time(tmp_path: Path) -> None:
    """The work for each finding does not grow with the line that it is on."""
    keys = ", ".join(f'"unknown{n}": "{"x" * 4000}"' for n in range(220))
    document = f'{{"@context": "http://www.w3.org/ns/odrl.jsonld", {keys}}}'
    (tmp_path / "long.jsonld").write_text(document, encoding="utf-8")
    ran = smalti("check", "long.jsonld", cwd=tmp_path)
    assert ran.code == 1
    assert max(len(line) for line in ran.out.splitlines()) < 400


def test_a_secret_in_the_place_of_a_name_is_not_shown(tmp_path: Path) -> None:
    secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    words = [
        {"leftOperand": "mosaicrown:method", "operator": "eq", "rightOperand": "k-anonymity"},
        {"leftOperand": "https://w3id.org/smalti#pseudonymKey", "operator": "eq", "rightOperand": secret},
    ]
    small_policy(tmp_path, rule={"action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": words}]})
    ran = smalti("check", "policy.jsonld", cwd=tmp_path)
    assert "error[P430]" in ran.out
    assert secret not in ran.out


def test_what_has_no_effect_is_not_told_as_if_it_had(tmp_path: Path) -> None:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "uid": "http://example.com/policy/void",
        "profile": "https://w3id.org/smalti#",
        "permission": [{"uid": "urn:x:1", "action": "read", "target": CUSTOMER}],
        "prohibition": [{"uid": "urn:x:2", "action": "use", "target": CUSTOMER}],
    }
    (tmp_path / "void.jsonld").write_text(json.dumps(document), encoding="utf-8")
    ran = smalti("check", "void.jsonld", cwd=tmp_path)
    assert ran.code == 0
    assert "void.jsonld: valid, and void: it permits nothing" in ran.out


def test_a_void_policy_says_nothing_of_the_one_beside_it(tmp_path: Path) -> None:
    shared = {"@context": "http://www.w3.org/ns/odrl.jsonld", "profile": "https://w3id.org/smalti#"}
    void = {
        **shared, "uid": "http://example.com/policy/void",
        "permission": [{"uid": "urn:x:1", "action": "read", "target": CUSTOMER}],
        "prohibition": [{"uid": "urn:x:2", "action": "use", "target": CUSTOMER}],
    }  # fmt: skip
    sound = {
        **shared, "uid": "http://example.com/policy/sound", "conflict": "prohibit",
        "permission": [{"uid": "urn:x:3", "action": "display", "target": CUSTOMER}],
    }  # fmt: skip
    offer = {
        **shared, "@type": "Offer", "uid": "http://example.com/policy/offer", "conflict": "prohibit",
        "permission": [{"uid": "urn:x:4", "action": "print", "target": CUSTOMER, "assigner": USER}],
    }  # fmt: skip
    (tmp_path / "all.jsonld").write_text(json.dumps([void, sound, offer], indent=1), encoding="utf-8")
    ran = smalti("check", "all.jsonld", cwd=tmp_path)
    assert ran.code == 0, ran.out
    first, second, third = [line for line in ran.out.splitlines() if line.startswith("all.jsonld: valid")]
    assert "valid, and void: it permits nothing" in first
    assert "all.jsonld: valid: anybody may display" in second
    assert "all.jsonld: valid, but see the warnings above: only offered" in third


def test_the_data_may_stand_for_its_description(tmp_path: Path, policy: Path) -> None:
    table = small_table(tmp_path)
    describe(table, ("who", "age", "city", "illness"))
    assert smalti("check", "policy.jsonld", "--dataset", table.name, cwd=tmp_path).code == 0
