"""The index of stored policies; that it decides like the list is among the laws (test_laws)."""

from dataclasses import replace

import pytest
import worlds
from worlds import WORLD

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.buckets import Buckets, Keys
from smalti.policy.decide.decision import Effect, Finding, Part, Request
from smalti.policy.decide.hierarchies import STANDARD, Vocabulary
from smalti.policy.decide.index import PolicyIndex, Standing
from smalti.policy.model.model import (
    Asset,
    Comparison,
    Membership,
    Named,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL_PURPOSE, READ

REQUEST = Request(party=worlds.ANN, action=READ, targets=(worlds.SHOP,), purpose=terms.MARKETING)


def permission(uid: str, target: IRI = worlds.SHOP, party: IRI = worlds.ANN) -> Permission:
    return Permission(
        uid=IRI(f"urn:x:{uid}"), action=READ, targets=(Asset(target),), assignees=(Party(party),)
    )


def prohibition(uid: str, target: IRI = worlds.SHOP) -> Prohibition:
    return Prohibition(uid=IRI(f"urn:x:{uid}"), action=READ, targets=(Asset(target),))


def policy(uid: str, *rules: Permission | Prohibition) -> Policy:
    return Policy(
        uid=IRI(f"urn:x:policy:{uid}"),
        document_digest=f"sha256:{uid}",
        permissions=tuple(rule for rule in rules if isinstance(rule, Permission)),
        prohibitions=tuple(rule for rule in rules if isinstance(rule, Prohibition)),
    )


def test_an_index_follows_additions_and_removals() -> None:
    index = PolicyIndex(WORLD)
    assert index.authorize(REQUEST).effect is Effect.NOT_APPLICABLE
    granting, forbidding = policy("a", permission("p")), policy("b", prohibition("n", worlds.MARKET))
    index.add(granting)
    index.add(replace(granting))
    assert index.size == 1
    assert index.authorize(REQUEST).is_permitted
    index.add(forbidding)
    assert index.authorize(REQUEST).effect is Effect.DENY
    index.remove(forbidding)
    assert index.authorize(REQUEST).is_permitted
    with pytest.raises(KeyError):
        index.remove(forbidding)
    index.remove(granting)
    assert index.size == 0
    assert index.authorize(REQUEST).effect is Effect.NOT_APPLICABLE


def test_two_policies_of_one_name_stand_apart() -> None:
    one = policy("a", permission("p"))
    other = replace(one, permissions=(permission("q"),))
    index = PolicyIndex(WORLD, [one, other])
    assert [rule.uid for rule in index.authorize(REQUEST).permissions] == ["urn:x:p", "urn:x:q"]
    index.remove(one)
    assert [rule.uid for rule in index.authorize(REQUEST).permissions] == ["urn:x:q"]


def test_policies_about_a_target_and_those_that_may_count() -> None:
    mine, whole = policy("a", permission("p")), policy("b", prohibition("n", worlds.MARKET))
    farm, zoes = policy("c", permission("f", worlds.FARM)), policy("d", permission("z", party=worlds.ZOE))
    index = PolicyIndex(WORLD, [mine, whole, farm, zoes])
    assert index.about([worlds.SHOP]) == (mine, whole, zoes)
    assert index.about([worlds.MARKET, worlds.FARM]) == (mine, whole, farm, zoes)
    assert index.candidates(REQUEST) == (mine, whole)


def test_who_issued_a_policy_says_what_it_may_say() -> None:
    granting, other = (
        policy("a", permission("p")),
        policy("b", permission("q"), prohibition("n", worlds.FARM)),
    )
    forbidding = policy("c", prohibition("m"))
    index = PolicyIndex(WORLD, [granting, other, forbidding])

    def decide(**standings: Standing) -> list[str]:
        decision = index.authorize(
            REQUEST, standing=lambda one: standings.get(one.uid[-1], Standing.FULL), explain=True
        )
        named = {report.policy[-1] for report in decision.considered}
        assert not {uid for uid, standing in standings.items() if standing is Standing.NONE} & named
        return [str(decision.effect), *(rule.uid[-1] for rule in decision.permissions)]

    assert decide() == ["deny"]
    assert decide(c=Standing.NONE) == ["permit", "p", "q"]
    assert decide(a=Standing.PROHIBITS, c=Standing.NONE) == ["permit", "q"]
    assert decide(a=Standing.NONE, b=Standing.NONE, c=Standing.PROHIBITS) == ["deny"]
    assert decide(a=Standing.NONE, b=Standing.NONE, c=Standing.NONE) == ["not applicable"]


def test_one_thing_is_said_of_a_policy_that_may_prohibit_only() -> None:
    index = PolicyIndex(WORLD, [policy("a", permission("p"), prohibition("n", worlds.FARM))])
    index.add(policy("b", prohibition("m")))
    decision = index.authorize(REQUEST, standing=lambda _: Standing.PROHIBITS, explain=True)
    said = {
        report.rule[-1]: [(part.finding, part.text) for part in report.parts if part.part is Part.POLICY]
        for report in decision.considered
    }
    assert said["p"] == [(Finding.UNSATISFIED, "its policy may prohibit only, and so permits nothing")]
    assert said["m"] == [(Finding.SATISFIED, "its policy may prohibit only, as this rule does")]
    assert [report.applies for report in decision.considered] == [False, True]
    assert any("may prohibit only" in reason.text for reason in decision.reasons)


def test_a_member_that_a_policy_names_is_found() -> None:
    said = replace(
        policy("a", permission("p", worlds.FARM)), memberships=(Membership(worlds.SALES, worlds.FARM),)
    )
    others = [policy(str(number), permission("q", worlds.BANK)) for number in range(3)]
    index = PolicyIndex(WORLD, [said, *others])
    assert index.authorize(REQUEST).is_permitted
    assert not PolicyIndex(STANDARD, [said]).authorize(REQUEST).is_permitted
    index.remove(said)
    assert not index.authorize(REQUEST).is_permitted


def test_a_declared_column_of_a_table_that_a_policy_puts_into_a_collection_is_found() -> None:
    """Only the policy puts the table into the collection, and only a vocabulary knows the column."""
    names = worlds.DECLARED
    declaring = WORLD.with_(Vocabulary(columns=((worlds.SHOP, names),)))
    granting, forbidding = policy("a", permission("p", worlds.FARM)), policy("b", prohibition("n", names))
    asked = replace(REQUEST, targets=(worlds.FARM,))
    for member in (worlds.SHOP, worlds.SALES):
        said = replace(forbidding, memberships=(Membership(member, worlds.FARM),))
        index = PolicyIndex(declaring, [granting, said])
        decision = index.authorize(asked)
        assert decision == authorize(asked, [granting, said], declaring)
        assert [grant.withheld for grant in decision.grants] == [(names,)]
        index.remove(said)
        assert index.authorize(asked).is_permitted


def test_a_purpose_that_no_vocabulary_defines_may_be_a_forbidden_one() -> None:
    limit = Comparison(ODRL_PURPOSE, Operator.EQ, (Named(terms.MARKETING),))
    forbidding = policy("b", replace(prohibition("n"), constraints=(limit,)))
    index = PolicyIndex(WORLD, [policy("a", permission("p")), forbidding])
    for purpose in (worlds.OTHER_PURPOSE, None, terms.MARKETING, worlds.DIRECT, worlds.ADVERTISING):
        assert index.authorize(replace(REQUEST, purpose=purpose)).effect is Effect.DENY
    assert index.authorize(replace(REQUEST, purpose=terms.STATISTICAL)).is_permitted


def test_few_rules_are_looked_at() -> None:
    """However many are about the same target, for other parties and purposes."""
    purposes = sorted(STANDARD.purposes.relations.concepts)
    rules = [
        replace(
            permission(f"{number}", party=IRI(f"http://example.com/{number % 40}")),
            constraints=(
                Comparison(ODRL_PURPOSE, Operator.EQ, (Named(purposes[number % len(purposes)]),)),
            ),
        )
        for number in range(4000)
    ]
    index = PolicyIndex(WORLD, [policy(str(number), rule) for number, rule in enumerate(rules)])
    asked = replace(REQUEST, party=IRI("http://example.com/7"))
    assert 0 < len(index.candidates(asked)) < 40
    assert index.authorize(asked) == authorize(
        asked, [policy(str(n), rule) for n, rule in enumerate(rules)], WORLD
    )


def test_a_rule_of_very_many_parties_takes_bounded_room() -> None:
    crowd = tuple(Party(IRI(f"http://example.com/{number}")) for number in range(2000))
    many = replace(
        permission("p"),
        targets=tuple(Asset(IRI(f"http://example.com/asset/{number}")) for number in range(200)),
        assignees=crowd,
    )
    buckets = Buckets()
    index = PolicyIndex(WORLD, [policy("a", many)])
    keys = Keys.of(many, WORLD).bounded()
    assert len(keys.targets) * len(keys.parties or "1") * len(keys.purposes or "1") <= 256
    assert not buckets.find(keys)
    asked = replace(REQUEST, party=crowd[1999].iri, targets=(many.targets[150].iri,))
    assert index.authorize(asked).is_permitted
    assert not index.authorize(replace(asked, party=worlds.ZOE)).is_permitted


def test_a_group_of_parties_is_no_collection_of_assets() -> None:
    """Else a policy's word about a party would let a rule about one asset reach another."""
    granting = policy("a", permission("p", worlds.FARM))
    asked = replace(REQUEST, targets=(worlds.SALES,))
    for of_parties, effect in ((False, Effect.PERMIT), (True, Effect.NOT_APPLICABLE)):
        said = replace(granting, memberships=(Membership(worlds.SALES, worlds.FARM, of_parties),))
        assert authorize(asked, [said], STANDARD).effect is effect
        assert PolicyIndex(STANDARD, [said]).authorize(asked).effect is effect


def test_a_membership_of_a_column_in_another_spelling_is_found_by_the_requests_columns() -> None:
    """Only programs write such policies: documents are refused. Both ways deny, and say why alike."""
    shop, bank, farm = (IRI(f"http://example.com/{name}") for name in ("shop", "bank", "farm"))
    rule = Prohibition(uid=IRI("urn:x:no"), action=terms.USE, targets=(Asset(farm),))
    member = Membership(IRI(f"{shop}/%63ity"), farm, of_parties=False)
    policy = Policy(
        uid=IRI("urn:x:p"), document_digest="sha256:0", prohibitions=(rule,), memberships=(member,)
    )
    request = Request(
        party=worlds.ANN, action=READ, targets=(bank,), columns=frozenset({IRI(f"{shop}/city")})
    )
    decision = authorize(request, [policy], WORLD)
    assert decision.reasons
    assert PolicyIndex(WORLD, [policy]).authorize(request) == decision
