"""Profiles, operands and clauses of a market, from the vocabulary to the decision, the run and the log."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, OWNER, USER, Ran, request, small_document, small_table, smalti

import smalti as api
from smalti.errors import UsageError

MARKET = "http://example.com/party/market"
STRANGER = "http://example.com/party/stranger"
PROFILE = "http://market.example/profile"
CATENAX = "https://w3id.org/catenax/2025/9/policy/"
VOCABULARY = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix smalti: <https://w3id.org/smalti#> .
@prefix x: <http://market.example/> .
x:profile a skos:Collection ; skos:member x:Tier, x:Runs, x:Warranty, x:look .
x:look a odrl:Action ; odrl:includedIn odrl:use .
x:Tier a odrl:LeftOperand ; rdfs:range xsd:string .
x:Warranty smalti:operandKind smalti:Clause ; rdfs:range xsd:string .
x:Runs smalti:operandKind smalti:Count .
"""
TIER = {"leftOperand": "x:Tier", "operator": "eq", "rightOperand": "gold"}
WARRANTY = {"leftOperand": "x:Warranty", "operator": "eq", "rightOperand": "none"}
GOLD = ("--fact", "http://market.example/Tier=gold")
ACCEPTED = ("--accept", "http://market.example/Warranty", "--on-behalf-of", USER)


def vocabulary(folder: Path, *, party: str = OWNER, text: str = VOCABULARY, name: str = "own") -> Ran:
    (folder / f"{name}.ttl").write_text(text, encoding="utf-8")
    return smalti("vocabulary", "add", f"{name}.ttl", "--as", party, cwd=folder)


def written(folder: Path, *constraints: dict[str, Any], **parts: Any) -> Path:
    rule = {
        "uid": "http://example.com/policy/look/1",
        "action": "use",
        "target": CUSTOMER,
        "assignee": USER,
        "constraint": [*constraints] or [TIER],
    }
    document = {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", {"x": "http://market.example/"}],
        "@type": "Set",
        "uid": "http://example.com/policy/look",
        "profile": PROFILE,
        "conflict": "prohibit",
        "permission": [rule],
    }
    place = folder / "look.jsonld"
    place.write_text(json.dumps(document | parts), encoding="utf-8")
    return place


def add(folder: Path, party: str = OWNER) -> Ran:
    return smalti("policy", "add", "look.jsonld", "--as", party, "--replace", cwd=folder)


def decided(folder: Path, *options: str) -> Ran:
    return smalti(
        "decide", "--as", USER, "--action", "use", "--target", CUSTOMER, *options, "--format", "json",
        cwd=folder,
    )  # fmt: skip


def test_an_unknown_profile_stops_all_but_a_check(tmp_path: Path) -> None:
    written(tmp_path)
    checked = smalti("check", "look.jsonld", cwd=tmp_path)
    assert checked.code == 0
    assert "warning[P317]" in checked.out
    assert "unusable here, since its profile is unknown" in checked.out
    assert smalti("check", "--strict", "look.jsonld", cwd=tmp_path).code == 1
    refused = add(tmp_path)
    assert (refused.code, "error[P317]" in refused.err) == (1, True)
    data = small_table(tmp_path)
    document = small_document(rule={"constraint": []})
    (tmp_path / "small.jsonld").write_text(json.dumps(document | {"profile": PROFILE}), encoding="utf-8")
    for command in (("plan", "small.jsonld"), ("run", "small.jsonld", "--out", "out")):
        ran = smalti(*command, *request(data), cwd=tmp_path)
        assert (ran.code, "P317" in ran.err) == (1, True)
    assert not (tmp_path / "out").exists()


def test_a_declared_profile_is_used_where_its_vocabulary_is_at_hand(tmp_path: Path) -> None:
    written(tmp_path)
    assert vocabulary(tmp_path).code == 0
    checked = smalti("check", "look.jsonld", "--vocabulary", "own.ttl", cwd=tmp_path)
    assert "P317" not in checked.out
    assert "note[P624]" in checked.out
    assert "`http://market.example/Tier`" in checked.out
    assert add(tmp_path).code == 0
    assert [decided(tmp_path, *stated).json["effect"] for stated in ((), GOLD)] == ["deny", "permit"]
    assert smalti("vocabulary", "remove", "own.ttl", "--as", OWNER, cwd=tmp_path).code == 0
    after = decided(tmp_path, *GOLD)
    assert after.json["effect"] == "deny"
    assert "does not understand it" in after.out


def test_a_process_that_goes_on_sees_what_a_vocabulary_declares_by_now(tmp_path: Path) -> None:
    written(tmp_path)
    asked = {
        "party": USER,
        "action": "use",
        "target": CUSTOMER,
        "facts": ["http://market.example/Tier=gold"],
    }
    registry = api.Registry.open(tmp_path / "registry.sqlite")
    registry.add_hierarchy(VOCABULARY.encode(), "own", OWNER)
    registry.add_policy((tmp_path / "look.jsonld").read_bytes(), "look.jsonld", OWNER)
    try:
        for _ in range(2):
            assert api.decide(registry=registry, **asked).is_permitted
            registry.remove_hierarchy("own", OWNER)
            assert not api.decide(registry=registry, **asked).is_permitted
            as_clause = VOCABULARY.replace(
                "x:Tier a odrl:LeftOperand", "x:Tier smalti:operandKind smalti:Clause"
            )
            registry.add_hierarchy(as_clause.encode(), "own", OWNER)
            assert not api.decide(registry=registry, **asked).is_permitted
            registry.add_hierarchy(VOCABULARY.encode(), "own", OWNER)
    finally:
        registry.close()


def test_only_whom_an_owner_trusts_declares_words_for_it(tmp_path: Path) -> None:
    written(tmp_path)
    assert vocabulary(tmp_path, party=MARKET).code == 0
    assert add(tmp_path).code == 1
    assert smalti("vocabulary", "trust", MARKET, "--as", OWNER, cwd=tmp_path).code == 0
    assert add(tmp_path).code == 0
    assert decided(tmp_path, *GOLD).json["effect"] == "permit"
    assert smalti("vocabulary", "distrust", MARKET, "--as", OWNER, cwd=tmp_path).code == 0
    assert decided(tmp_path, *GOLD).json["effect"] == "deny"


def test_nobody_claims_the_profile_of_another_party(tmp_path: Path) -> None:
    assert vocabulary(tmp_path, party=MARKET, name="market").code == 0
    refused = vocabulary(tmp_path, party=STRANGER, name="theirs")
    assert refused.code == 2
    assert f"it claims the profile `{PROFILE}`, which {MARKET} has declared" in refused.err
    assert f"in this registry the word is that of {MARKET}" in refused.err
    assert "trust" not in refused.err
    assert vocabulary(tmp_path, party=MARKET, name="more").code == 0  # its own
    shipped = VOCABULARY.replace(PROFILE, CATENAX).replace("x:profile", f"<{CATENAX}profile2509>")
    refused = vocabulary(tmp_path, party=STRANGER, text=shipped, name="theirs")
    assert (refused.code, "claims the profile" in refused.err) == (1, True)
    odrl = VOCABULARY + "odrl:purpose a odrl:LeftOperand ."
    refused = vocabulary(tmp_path, party=STRANGER, text=odrl, name="theirs")
    assert (refused.code, "anew" in refused.err, "a word of your own" in refused.err) == (1, True, True)


def test_a_vocabulary_of_an_earlier_smalti_may_repeat_a_shipped_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"<{CATENAX}Membership> a <http://www.w3.org/ns/odrl/2/LeftOperand> ."
    assert vocabulary(tmp_path, text=text).code == 1
    with monkeypatch.context() as before:
        before.setattr("smalti.policy.read.vocabularies.is_shipped", lambda _, **__: False)
        assert vocabulary(tmp_path, text=text).code == 0
    membership = {
        "leftOperand": {"@id": f"{CATENAX}Membership"},
        "operator": "eq",
        "rightOperand": "active",
    }
    written(tmp_path, membership, profile=CATENAX)
    assert add(tmp_path).code == 0
    assert [
        decided(tmp_path, *stated).json["effect"] for stated in ((), ("--fact", "Membership=active"))
    ] == [
        "deny",
        "permit",
    ]


def test_a_remark_of_a_stored_prohibition_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = {"action": "use", "target": CUSTOMER}
    forbidden = {**rule, "dct:creator": {"@id": STRANGER}}
    written(
        tmp_path, permission=[rule], prohibition=[forbidden], profile="http://www.w3.org/ns/odrl/2/core"
    )
    assert add(tmp_path).code == 0
    assert decided(tmp_path).json["effect"] == "deny"
    text = (
        "<http://purl.org/dc/terms/creator> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
        " <http://www.w3.org/ns/odrl/2/assignee> ."
    )
    assert vocabulary(tmp_path, text=text).code == 1
    assert decided(tmp_path).json["effect"] == "deny"
    with monkeypatch.context() as before:  # of an earlier smalti, which stored it
        before.setattr("smalti.policy.read.vocabularies.is_shipped", lambda _, **__: False)
        assert vocabulary(tmp_path, text=text).code == 0
    assert decided(tmp_path).json["effect"] == "deny"


def test_a_property_of_rules_keeps_its_meaning(tmp_path: Path) -> None:
    """A permission of one party does not become one of everybody."""
    case = "x:consumer rdfs:subPropertyOf odrl:{} ."
    assert vocabulary(tmp_path, text=VOCABULARY + case.format("assignee")).code == 0
    rule = {"action": "use", "target": CUSTOMER, "x:consumer": {"@id": STRANGER}}
    written(tmp_path, permission=[rule])
    assert add(tmp_path).code == 0
    assert decided(tmp_path).json["effect"] == "deny"
    for name in ("own", "other"):
        changed = vocabulary(tmp_path, text=VOCABULARY + case.format("assigner"), name=name)
        assert (changed.code, "one meaning of a word for all time" in changed.err) == (2, True)
    assert decided(tmp_path).json["effect"] == "deny"
    assert vocabulary(tmp_path, text=VOCABULARY).code == 0  # without the word: no longer understood
    assert decided(tmp_path).json["effect"] == "deny"


def test_a_decision_and_its_log_name_the_clauses(tmp_path: Path) -> None:
    written(tmp_path, TIER, WARRANTY)
    assert vocabulary(tmp_path).code == 0
    assert add(tmp_path).code == 0
    silent = decided(tmp_path, *GOLD)
    assert silent.json["effect"] == "deny"
    assert "does not accept the clause `Warranty`" in silent.out
    permitted = decided(tmp_path, *GOLD, *ACCEPTED).json
    assert permitted["effect"] == "permit"
    assert permitted["request"]["onBehalfOf"] == USER
    assert [clause["clause"] for clause in permitted["grants"][0]["clauses"]] == [
        "http://market.example/Warranty"
    ]
    line = json.loads((tmp_path / "smalti.sqlite.decisions.jsonl").read_text().splitlines()[-1])
    assert line["clauses"] == line["request"]["accepted"] == ["http://market.example/Warranty"]
    assert line["request"]["onBehalfOf"] == USER
    shown = smalti(
        "decide", "--as", USER, "--action", "use", "--target", CUSTOMER, *GOLD, *ACCEPTED, cwd=tmp_path
    )
    assert f"accepted on behalf of {USER}: Warranty is `none`" in shown.out.replace("\n    ", " ")


@pytest.mark.parametrize("behalf", [(), ("--on-behalf-of", STRANGER), ("--on-behalf-of", OWNER)])
def test_a_clause_is_accepted_by_the_party_itself(tmp_path: Path, behalf: tuple[str, ...]) -> None:
    written(tmp_path, WARRANTY)
    assert vocabulary(tmp_path).code == 0
    assert add(tmp_path).code == 0
    refused = decided(tmp_path, *ACCEPTED[:2], *behalf)
    assert (refused.code, refused.out) == (2, "")
    assert "the requesting party accepts for itself" in refused.err
    with pytest.raises(UsageError, match="the requesting party accepts for itself"):
        api.decide(
            party=USER, action="use", target=CUSTOMER, accepted=[ACCEPTED[1]],
            on_behalf_of=behalf[1] if behalf else None, registry=tmp_path / "smalti.sqlite",
        )  # fmt: skip


def test_facts_are_stated_on_somebodys_word(tmp_path: Path) -> None:
    written(tmp_path)
    by_market = VOCABULARY + f"x:Tier smalti:statedBy <{MARKET}> ."
    assert vocabulary(tmp_path, text=by_market).code == 0
    assert add(tmp_path).code == 0
    said = ("--stated-by", f"http://market.example/Tier={MARKET}")
    assert [decided(tmp_path, *GOLD, *more).json["effect"] for more in ((), said)] == ["deny", "permit"]
    refused = decided(tmp_path, *said)
    assert (refused.code, "is no fact of the request" in refused.err) == (2, True)


def needing(folder: Path, *constraints: dict[str, Any]) -> None:
    """A policy to anonymize with words of the market."""
    named = [
        limit | {"leftOperand": {"@id": limit["leftOperand"].replace("x:", "http://market.example/")}}
        for limit in constraints
    ]
    document = small_document(rule={"constraint": named})
    document["profile"] = [document["profile"], PROFILE]
    (folder / "small.jsonld").write_text(json.dumps(document), encoding="utf-8")
    assert vocabulary(folder).code == 0


def test_a_run_states_facts_and_clauses(tmp_path: Path) -> None:
    needing(tmp_path, TIER, WARRANTY)
    data = small_table(tmp_path)
    for stated in ((), GOLD, ACCEPTED):
        assert smalti("plan", "small.jsonld", *request(data), *stated, cwd=tmp_path).code == 1
    run = ("run", "small.jsonld", *request(data), "--out", "out")
    assert smalti(*run, *GOLD, cwd=tmp_path).code == 1
    assert smalti(*run, *GOLD, *ACCEPTED, cwd=tmp_path).code == 0


def test_runs_are_counted(tmp_path: Path) -> None:
    needing(tmp_path, {"leftOperand": "x:Runs", "operator": "lt", "rightOperand": 2})
    run = ("run", "small.jsonld", *request(small_table(tmp_path)))
    codes = [smalti(*run, "--out", out, cwd=tmp_path).code for out in ("first", "second", "third")]
    assert codes == [0, 0, 1]
    assert not (tmp_path / "third").exists()


def test_whoever_submits_an_owners_policy_needs_no_vocabulary(tmp_path: Path) -> None:
    needing(tmp_path, TIER)
    data = small_table(tmp_path)
    assert smalti("policy", "add", "small.jsonld", "--as", OWNER, cwd=tmp_path).code == 0
    assert smalti("run", "small.jsonld", *request(data), *GOLD, "--out", "bound", cwd=tmp_path).code == 0
    asked = ("small.jsonld", *request(data, owner=None))
    for command in (("plan", *asked), ("run", *asked, "--dry-run", "--out", "out")):
        ran = smalti(*command, cwd=tmp_path)
        assert (ran.code, "the request states no `Tier`" in ran.out.replace("\n    ", " ")) == (1, True)
        assert smalti(*command, *GOLD, cwd=tmp_path).code == 0


def test_tests_of_policies_state_clauses(tmp_path: Path) -> None:
    written(tmp_path, TIER, WARRANTY)
    (tmp_path / "own.ttl").write_text(VOCABULARY, encoding="utf-8")
    asked = {"party": USER, "action": "use", "target": CUSTOMER}
    world = {
        "facts": {"http://market.example/Tier": "gold"},
        "accepted": ["http://market.example/Warranty=none"],
        "onBehalfOf": USER,
        "agreed": "2025-11-01",
    }
    cases = {
        "policies": ["look.jsonld"],
        "vocabularies": ["own.ttl"],
        "tests": [
            {"name": "accepted", "request": asked, "world": world, "expect": {"effect": "permit"}},
            {"name": "silent", "request": asked, "expect": {"effect": "deny"}},
        ],
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    ran = smalti("test", "cases.json", cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err


def test_a_policy_that_permits_nothing_is_told_when_it_is_added(tmp_path: Path) -> None:
    rule = {"action": "use", "target": CUSTOMER, "assignee": USER}
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy/void",
        "permission": [{"uid": "http://example.com/policy/void/1", **rule}],
        "prohibition": [{"uid": "http://example.com/policy/void/2", **rule}],
    }
    (tmp_path / "void.jsonld").write_text(json.dumps(document))
    added = smalti("policy", "add", "void.jsonld", "--as", OWNER, cwd=tmp_path)
    assert added.code == 0
    assert "the policy is void, and permits nothing" in " ".join((added.out + added.err).split())
    (warning,) = (its for its in api.load_policy(tmp_path / "void.jsonld").warnings if its.code == "P602")
    assert "contradict each other" in warning.message
