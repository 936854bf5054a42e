"""Further parties of duties (`compensatedParty` and the like): read, shown, and part of the meaning."""

import json

import pytest

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Request
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Function, Membership, Party, Policy
from smalti.policy.read.parse import ParsedDocument, parse
from smalti.policy.say.describe import describe
from smalti.policy.say.serialize import serialize
from smalti.vocab.odrl import PARTY_FUNCTIONS
from smalti.vocab.terms import IRI, ODRL, USE

X = "http://example.com/"
ZOO, WWF, ALL = (IRI(X + name) for name in ("zoo", "wwf", "all"))
DUTY = {"uid": X + "duty", "action": "compensate"}


def parsed(**members: object) -> ParsedDocument:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": X + "policy",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/", **members,
    }  # fmt: skip
    return parse(json.dumps(document).encode(), "a.jsonld")


def with_duty(**more: object) -> ParsedDocument:
    return parsed(permission={"target": X + "a", "action": "use", "duty": {**DUTY, **more}})


def policy(**more: object) -> Policy:
    read = with_duty(**more)
    assert read.errors == ()
    return read.policies[0]


@pytest.mark.parametrize("name", sorted(PARTY_FUNCTIONS))
def test_a_duty_has_further_parties(name: str) -> None:
    both = policy(**{name: [WWF, {"@type": "Party", "uid": ZOO, "vcard:fn": "Zoo", "partOf": ALL}]})
    (duty,) = both.permissions[0].duties
    assert duty.functions == (
        Function(IRI(ODRL + name), Party(WWF)),
        Function(IRI(ODRL + name), Party(ZOO)),
    )
    assert both.memberships == (Membership(ZOO, ALL, of_parties=True),)
    assert any(f"`{name}`: {WWF}" in line for line in describe(both))
    again = parse(serialize(both), "b.jsonld")
    assert again.errors == ()
    assert meaning_digest(again.policies[0]) == meaning_digest(both)


def test_each_kind_of_duty_has_them() -> None:
    owed = {"action": "compensate", "compensatedParty": WWF}
    rule = {"target": X + "a", "action": "use"}
    read = parsed(
        permission={**rule, "action": "display", "duty": {**owed, "consequence": owed}},
        prohibition={**rule, "action": "print", "remedy": owed},
        obligation={**owed, "consequence": owed},
    )
    assert read.errors == ()
    (read_policy,) = read.policies
    duty, obligation = read_policy.permissions[0].duties[0], read_policy.obligations[0]
    duties = (
        duty,
        duty.consequences[0],
        read_policy.prohibitions[0].remedies[0],
        obligation,
        obligation.consequences[0],
    )
    assert {each.functions for each in duties} == {(Function(IRI(ODRL + "compensatedParty"), Party(WWF)),)}


def test_further_parties_are_part_of_the_meaning() -> None:
    digests = {
        meaning_digest(policy(**parties))
        for parties in ({}, {"compensatedParty": WWF}, {"compensatedParty": ZOO}, {"informedParty": WWF})
    }
    assert len(digests) == 4


def test_the_duty_is_to_be_fulfilled_as_before() -> None:
    request = Request(party=ZOO, action=USE, targets=(IRI(X + "a"),))
    owing = policy(compensatedParty=WWF)
    assert not authorize(request, [owing]).is_permitted
    fulfilled = Request(
        party=ZOO, action=USE, targets=(IRI(X + "a"),), fulfilled=frozenset({IRI(X + "duty")})
    )
    assert authorize(fulfilled, [owing]).is_permitted


@pytest.mark.parametrize("kind", ["permission", "prohibition"])
def test_other_rules_and_policies_have_none_yet(kind: str) -> None:
    rule = {"target": X + "a", "action": "use"}
    assert [e.code for e in parsed(**{kind: {**rule, "informedParty": WWF}}).errors] == ["P390"]
    assert [e.code for e in parsed(**{kind: rule, "informedParty": WWF}).errors] == ["P390"]


def test_a_duty_that_a_plan_fulfils_has_none() -> None:
    """The run would fulfil it, and inform nobody."""
    assert "P390" in [error.code for error in with_duty(action="anonymize", informedParty=WWF).errors]
    remedy = {"action": "anonymize", "informedParty": WWF}
    forbidden = parsed(prohibition={"target": X + "a", "action": "use", "remedy": remedy})
    assert [error.code for error in forbidden.errors] == ["P390"]


@pytest.mark.parametrize("value", ["zoo", {"uid": "zoo"}, 3, {"permission": {}}, []])
def test_they_are_parties(value: object) -> None:
    assert with_duty(compensatedParty=value).errors


def test_a_deprecated_function_is_the_one_that_it_matches() -> None:
    read = with_duty(**{"odrl:payeeParty": {"@id": WWF}})
    assert [found.code for found in read.diagnostics] == ["P512"]
    assert meaning_digest(read.policies[0]) == meaning_digest(policy(compensatedParty=WWF))
