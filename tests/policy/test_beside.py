"""What a document says beside its policies: members of collections, claims on a policy, own actions."""

import json
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

import pytest

from smalti.policy.decide import hierarchy
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Inclusion, Membership, Policy
from smalti.policy.read.parse import ParsedDocument, parse
from smalti.policy.say.serialize import serialize
from smalti.vocab.terms import IRI, ODRL, READ, USE

X = "http://example.com/"
UID = X + "policy/1"
DOC, ARCHIVE, TEAM, ANN, ZOE, VIEW = (
    IRI(X + name) for name in ("doc", "archive", "team", "ann", "zoe", "view")
)


def parsed(*nodes: dict[str, object]) -> ParsedDocument:
    document = {"@context": ["http://www.w3.org/ns/odrl.jsonld", {"ex": X}], "@graph": list(nodes)}
    return parse(json.dumps(document).encode(), "a.jsonld")


def policy(*beside: dict[str, object], uid: str = UID, **members: object) -> Policy:
    read = parsed({"@type": "Set", "uid": uid, "profile": ODRL + "core", **members}, *beside)
    assert read.errors == ()
    return read.policies[0]


def errors(*beside: dict[str, object], **members: object) -> list[str]:
    return [error.code for error in parsed({"@type": "Set", "uid": UID, **members}, *beside).errors]


def effect(policy: Policy, target: IRI = DOC, party: IRI = ANN, action: IRI = USE) -> Effect:
    return authorize(Request(party=party, action=action, targets=(target,)), [policy]).effect


def rule(**members: object) -> dict[str, object]:
    return {"target": ARCHIVE, "action": "use", **members}


# --- Members of collections


@pytest.mark.parametrize("kind", ["", "dct:Document", "Asset", "odrl:AssetCollection"])
def test_an_asset_beside_the_policy_is_a_member(kind: str) -> None:
    member = {"@id": DOC, "partOf": ARCHIVE, "dct:title": "Report", **({"@type": kind} if kind else {})}
    granted = policy(member, permission=rule())
    assert granted.memberships == (Membership(DOC, ARCHIVE),)
    assert effect(granted) is Effect.PERMIT
    assert effect(policy(permission=rule())) is not Effect.PERMIT
    forbidden = policy(member, permission=rule(target=DOC), prohibition=rule(), conflict="prohibit")
    assert effect(forbidden) is Effect.DENY


@pytest.mark.parametrize("kind", ["vcard:Individual", "foaf:Person", "Party", ""])
def test_a_party_beside_the_policy_is_a_member(kind: str) -> None:
    member = {"@id": ANN, "partOf": TEAM, "vcard:fn": "Ann", **({"@type": kind} if kind else {})}
    granted = policy(member, permission=rule(assignee=TEAM))
    assert granted.memberships == (Membership(ANN, TEAM, of_parties=True),)
    assert effect(granted, ARCHIVE) is Effect.PERMIT
    assert effect(granted, ARCHIVE, ZOE) is not Effect.PERMIT


def test_members_of_members_are_read() -> None:
    shelf = {"@id": X + "shelf", "@type": "AssetCollection", "partOf": ARCHIVE}
    granted = policy({"@id": DOC, "partOf": X + "shelf"}, shelf, permission=rule())
    assert effect(granted) is Effect.PERMIT


def test_a_node_that_may_be_either_is_refused() -> None:
    assert errors({"@id": DOC, "partOf": X + "nothing"}, permission=rule()) == ["P216"]
    both = rule(assignee=ARCHIVE)
    assert errors({"@id": DOC, "partOf": ARCHIVE}, permission=both) == ["P216"]
    assert errors({"@id": DOC, "@type": ["Asset", "Party"], "partOf": ARCHIVE}, permission=rule())


@pytest.mark.parametrize(
    "extra",
    [
        {"permission": rule()},
        {"constraint": {}},
        {"ex:limit": "a"},
        {"cc:prohibits": "a"},
        {"action": "use"},
    ],
)
def test_nothing_else_may_stand_in_such_a_node(extra: dict[str, object]) -> None:
    assert errors({"@id": DOC, "partOf": ARCHIVE, **extra}, permission=rule())


def test_a_node_that_says_nothing_of_a_policy_is_still_refused() -> None:
    assert errors({"@id": DOC, "dct:title": "Report"}, permission=rule()) == ["P216"]


def test_a_named_collection_with_a_source_is_one_collection() -> None:
    named = {"@type": "AssetCollection", "uid": X + "shelf", "source": ARCHIVE}
    for target in (X + "shelf", ARCHIVE):
        assert effect(policy(permission=rule(target=named)), IRI(target)) is Effect.PERMIT
        both = policy(permission=rule(target=target), prohibition=rule(target=named), conflict="prohibit")
        assert effect(both, IRI(target)) is Effect.DENY
    limit = {"leftOperand": ARCHIVE + "/age", "operator": "gt", "rightOperand": 3}
    assert "P326" in errors(permission=rule(target={**named, "refinement": limit}))


def test_what_is_said_of_a_source_is_read() -> None:
    limit = {"leftOperand": ARCHIVE + "/age", "operator": "gt", "rightOperand": 3}
    part = {"@type": "AssetCollection", "source": {"@id": DOC, "partOf": ARCHIVE}, "refinement": limit}
    assert policy(permission=rule(target=part)).memberships == (Membership(DOC, ARCHIVE),)


# --- Claims


def test_has_policy_makes_the_asset_a_target_of_every_rule() -> None:
    movie = {"@type": "dct:MovingImage", "@id": DOC, "dct:publisher": "ABC", "hasPolicy": UID}
    granted = policy(movie, permission=[rule(), rule(action="transfer")])
    assert [[asset.iri for asset in each.targets] for each in granted.rules] == [[ARCHIVE, DOC]] * 2
    assert effect(granted) is Effect.PERMIT
    alone = policy(movie, permission={"action": "use"})
    assert [asset.iri for asset in alone.rules[0].targets] == [DOC]
    forbidden = policy(movie, permission=rule(target=DOC), prohibition=rule(), conflict="prohibit")
    assert effect(forbidden) is Effect.DENY


@pytest.mark.parametrize(("word", "part"), [("assigneeOf", "assignees"), ("assignerOf", "assigners")])
def test_a_party_beside_the_policy_has_its_function_in_every_rule(word: str, part: str) -> None:
    ann = {"@type": "vcard:Individual", "@id": ANN, "vcard:hasEmail": "ann@example.com", word: UID}
    granted = policy(ann, permission=[rule(), rule(**{word.removesuffix("Of"): ZOE})])
    assert [[party.iri for party in getattr(each, part)] for each in granted.rules] == [[ANN], [ANN, ZOE]]


def test_a_claim_meets_what_the_type_of_the_policy_requires() -> None:
    parties = [{"@id": ANN, "assignerOf": UID}, {"@id": ZOE, "assigneeOf": UID}]
    agreed = policy(*parties, permission=rule(), **{"@type": "Agreement"})
    assert effect(agreed, ARCHIVE, ZOE) is Effect.PERMIT
    assert effect(agreed, ARCHIVE, ANN) is not Effect.PERMIT


def test_a_claim_is_about_the_policy_that_it_names() -> None:
    two = X + "policy/2"
    read = parsed(
        {"@type": "Set", "uid": UID, "profile": ODRL + "core", "permission": rule()},
        {"@type": "Set", "uid": two, "profile": ODRL + "core", "permission": rule()},
        {"@id": DOC, "hasPolicy": two},
    )
    assert read.errors == ()
    assert [[asset.iri for asset in each.rules[0].targets] for each in read.policies] == [
        [ARCHIVE],
        [ARCHIVE, DOC],
    ]
    assert errors({"@id": DOC, "hasPolicy": X + "policy/elsewhere"}, permission=rule()) == ["P390"]


def test_claims_are_not_passed_on_to_children() -> None:
    child = {"@type": "Set", "uid": X + "child", "inheritFrom": UID, "permission": rule()}
    parent = {"@type": "Set", "uid": UID, "permission": rule()}
    read = parsed(parent, child, {"@id": ANN, "assigneeOf": UID})
    assert read.errors == ()
    own, inherited = read.policies[1].permissions
    assert (own.assignees, [party.iri for party in inherited.assignees]) == ((), [ANN])


def test_a_refined_part_claims_nothing() -> None:
    limit = {"leftOperand": ARCHIVE + "/age", "operator": "gt", "rightOperand": 3}
    part = {"@type": "AssetCollection", "source": ARCHIVE, "refinement": limit, "hasPolicy": UID}
    assert errors(permission=[rule(target=part), rule(target=DOC)]) == ["P390"]


def test_claims_without_bound_are_refused() -> None:
    assets = [{"@id": f"{DOC}{number}", "hasPolicy": UID} for number in range(900)]
    started = perf_counter()
    assert errors(*assets, permission=[rule(uid=f"{UID}/{number}") for number in range(900)]) == ["P108"]
    assert perf_counter() - started < 5


def test_many_policies_and_much_beside_them_are_refused() -> None:
    policies = [{"@type": "Set", "uid": f"{UID}/{number}", "permission": rule()} for number in range(400)]
    members = [{"@id": f"{DOC}{number}", "partOf": ARCHIVE} for number in range(1000)]
    started = perf_counter()
    assert {error.code for error in parsed(*policies, *members).errors} == {"P108"}
    assert perf_counter() - started < 5


# --- Own actions


def view(above: str = "use", **more: object) -> dict[str, object]:
    return {
        "@id": VIEW,
        "@type": "Action",
        "includedIn": {"@id": f"odrl:{above}"} if ":" not in above else above,
        **more,
    }


def test_a_document_defines_an_action() -> None:
    granted = policy(view("display", **{"rdfs:label": "view"}), permission=[rule(action="ex:view")])
    assert granted.inclusions == (Inclusion(VIEW, IRI(ODRL + "display")),)
    assert effect(granted, ARCHIVE, action=VIEW) is Effect.PERMIT
    assert effect(granted, ARCHIVE, action=READ) is not Effect.PERMIT
    for above in ("display", "play", "use"):
        broader = policy(view("display"), permission=rule(action=above))
        assert effect(broader, ARCHIVE, action=VIEW) is Effect.PERMIT
        both = {"permission": rule(action="ex:view"), "prohibition": rule(action=above)}
        assert (
            effect(policy(view("display"), conflict="prohibit", **both), ARCHIVE, action=VIEW)
            is Effect.DENY
        )
        assert effect(policy(view("display"), **both), ARCHIVE, action=VIEW) is Effect.VOID


def test_an_action_is_defined_where_it_is_used_or_for_several_rules() -> None:
    inline = policy(permission=rule(action=view()), prohibition=rule(target=DOC, action={"@id": "ex:view"}))
    beside = policy(
        view(), permission=rule(action="ex:view"), prohibition=rule(target=DOC, action="ex:view")
    )
    assert meaning_digest(inline) == meaning_digest(beside)
    limit = {"leftOperand": "count", "operator": "lt", "rightOperand": 3}
    refined = {"rdf:value": {"@id": "ex:view"}, "refinement": limit}
    assert policy(view(), permission=rule(action=refined)).rules[0].action == VIEW


def test_other_policies_know_nothing_of_the_action() -> None:
    """A prohibition elsewhere applies: what it forbids may include the action."""
    granting = policy(view(), permission=rule(action="ex:view"))
    forbidding = policy(prohibition=rule(), uid=X + "policy/2")
    request = Request(party=ANN, action=VIEW, targets=(ARCHIVE,))
    assert authorize(request, [granting]).is_permitted
    assert not authorize(request, [granting, forbidding]).is_permitted
    assert not authorize(request, [policy(permission=rule(), uid=X + "policy/2")]).is_permitted


def test_an_index_decides_alike() -> None:
    policies = [
        policy(view("display"), permission=rule(), prohibition=rule(action="ex:view"), conflict="prohibit"),
        policy(permission=rule(action="display"), uid=X + "policy/2"),
        policy(
            {"@id": DOC, "hasPolicy": X + "policy/3"},
            view(),
            permission=rule(action="ex:view"),
            uid=X + "policy/3",
        ),
    ]
    index = PolicyIndex(STANDARD, policies)
    for action in (VIEW, READ, USE, IRI(ODRL + "display")):
        for target in (DOC, ARCHIVE):
            request = Request(party=ANN, action=action, targets=(target,))
            assert index.authorize(request) == authorize(request, policies)


def test_an_own_action_below_one_of_smalti_is_written() -> None:
    written = policy(view("https://w3id.org/smalti#train"), permission=rule(action="ex:view"))
    assert meaning_digest(parse(serialize(written), "b.jsonld").policies[0]) == meaning_digest(written)


def test_what_odrl_says_of_its_actions_may_be_repeated() -> None:
    repeated = {"@id": ODRL + "play", "includedIn": ODRL + "use"}
    assert policy(repeated, permission=rule(action="play")).inclusions == ()


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([{"@id": ODRL + "play", "includedIn": ODRL + "transfer"}], "P341"),
        ([{"@id": ODRL + "use", "includedIn": ODRL + "read"}], "P341"),
        ([{"@id": ODRL + "plya", "includedIn": ODRL + "use"}], "P305"),
        ([{"@id": ODRL + "lease", "includedIn": ODRL + "use"}], "P305"),
        ([{"@id": "https://w3id.org/smalti#show", "includedIn": ODRL + "use"}], "P305"),
        ([view("ex:look")], "P341"),
        ([view("ex:look"), {"@id": "ex:look", "includedIn": VIEW}], "P341"),
        ([view("ex:view")], "P341"),
        ([view(**{"odrl:implies": {"@id": "odrl:print"}})], "P390"),
        ([view(**{"@type": "Asset"})], "P320"),
        ([view(target=DOC)], "P309"),
        ([view(includedIn=["odrl:use", "odrl:transfer"])], "P304"),
    ],
)
def test_actions_that_no_document_may_define(nodes: list[dict[str, object]], code: str) -> None:
    assert code in errors(*nodes, permission=rule())


def test_an_action_that_nobody_defines_is_unknown() -> None:
    assert errors(permission=rule(action="ex:view")) == ["P305"]
    assert errors({"@id": X + "show", "includedIn": ODRL + "use"}, permission=rule(action="ex:view")) == [
        "P305"
    ]


# --- Long chains


LONG = 200
"""More than a document may be nested deep."""
IN_CHAIN = [IRI(f"{X}{at}") for at in range(LONG + 1)]


def from_its_end(word: str, kind: str, last: str) -> list[dict[str, object]]:
    links = zip(IN_CHAIN, [*IN_CHAIN[1:LONG], last], strict=False)
    return [{"@id": name, "@type": kind, word: above} for name, above in links][::-1]


@pytest.mark.parametrize(
    ("nodes", "members", "request_"),
    [
        (
            from_its_end("partOf", "Asset", ARCHIVE),
            {},
            Request(party=ANN, action=USE, targets=(IN_CHAIN[0],)),
        ),
        (
            from_its_end("partOf", "Party", TEAM),
            {"assignee": TEAM},
            Request(party=IN_CHAIN[0], action=USE, targets=(ARCHIVE,)),
        ),
        (
            from_its_end("includedIn", "Action", ODRL + "display"),
            {"action": IN_CHAIN[9]},
            Request(party=ANN, action=IN_CHAIN[0], targets=(ARCHIVE,)),
        ),
    ],
    ids=["assets", "parties", "actions"],
)
def test_a_long_chain_is_read_decided_and_written(
    nodes: list[dict[str, object]], members: dict[str, object], request_: Request
) -> None:
    chained = policy(*nodes, permission=rule(**members))
    assert authorize(request_, [chained]).effect is Effect.PERMIT
    assert PolicyIndex(STANDARD, [chained]).authorize(request_).effect is Effect.PERMIT
    written = serialize(chained)
    again = parse(written, "b.jsonld")
    assert again.errors == ()
    assert meaning_digest(again.policies[0]) == meaning_digest(chained)
    assert serialize(again.policies[0]) == written


def test_own_actions_may_be_defined_in_any_order() -> None:
    nodes = [view("ex:show"), {"@id": X + "show", "includedIn": ODRL + "display"}]
    first, second = (policy(*order, permission=rule(action="ex:view")) for order in (nodes, nodes[::-1]))
    assert meaning_digest(first) == meaning_digest(second)
    assert effect(first, ARCHIVE, action=VIEW) is Effect.PERMIT


def test_no_step_through_a_chain_is_taken_for_each_of_its_assets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 8,000 assets took an index 49 seconds, and a request for 100 of 1,000 another 40."""
    visited = 0

    def counted(starts: Iterable[IRI], step: Callable[[IRI], Sequence[IRI]]) -> set[IRI]:
        nonlocal visited
        reached = reach(starts, step)
        visited += len(reached)
        return reached

    reach = hierarchy._reached
    monkeypatch.setattr(hierarchy, "_reached", counted)
    chained = policy(*from_its_end("partOf", "Asset", ARCHIVE), permission=rule())
    index = PolicyIndex(STANDARD, [chained])
    assert visited < 10 * LONG
    asked = Request(party=ANN, action=USE, targets=tuple(IN_CHAIN[:LONG:10]))
    assert index.authorize(asked, explain=True).effect is Effect.PERMIT
    assert visited < 100 * LONG


# --- Forms


def test_the_canonical_document_says_all_of_it() -> None:
    nodes = (
        view("display"),
        {"@id": DOC, "partOf": ARCHIVE},
        {"@id": ANN, "partOf": TEAM},
        {"@id": ZOE, "assigneeOf": UID},
    )
    written = policy(*nodes, permission=rule(action="ex:view", assignee=TEAM))
    again = parse(serialize(written), "b.jsonld")
    assert again.errors == ()
    assert meaning_digest(again.policies[0]) == meaning_digest(written)
    assert serialize(again.policies[0]) == serialize(written)


def test_turtle_says_it_too() -> None:
    text = f"""
        @prefix odrl: <{ODRL}> . @prefix ex: <{X}> .
        <{UID}> a odrl:Set ; odrl:profile <{ODRL}core> ;
            odrl:permission [ odrl:target ex:archive ; odrl:action ex:view ] .
        ex:doc a odrl:Asset ; odrl:partOf ex:archive .
        ex:ann odrl:assigneeOf <{UID}> .
        ex:view a odrl:Action ; odrl:includedIn odrl:display ."""
    read = parse(text.encode(), "a.ttl")
    assert read.errors == ()
    same = policy(
        {"@id": DOC, "partOf": ARCHIVE}, {"@id": ANN, "assigneeOf": UID}, view("display"),
        permission=rule(action="ex:view"),
    )  # fmt: skip
    assert meaning_digest(read.policies[0]) == meaning_digest(same)
