"""What a policy takes from those that it inherits from, and what it is refused (ODRL IM 2.9)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from smalti.policy.findings.diagnostics import Severity
from smalti.policy.model.model import ConflictStrategy, Policy, PolicyType, Shared
from smalti.policy.read.parse import ParsedDocument, load_all, parse, parse_all
from smalti.vocab.terms import IRI, MOSAICROWN, ODRL, READ, SMALTI

HERE = "http://example.com/"


def document(number: int, *parents: int, **more: Any) -> dict[str, Any]:
    """A policy that lets anybody read the asset of its number, and inherits from others."""
    return (
        {
            "@context": [
                "http://www.w3.org/ns/odrl.jsonld",
                "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            ],
            "@type": "Set",
            "uid": f"{HERE}policy/{number}",
            "profile": MOSAICROWN,
            "permission": {
                "uid": f"{HERE}rule/{number}",
                "target": f"{HERE}{number}",
                "action": "odrl:read",
            },
        }
        | ({"inheritFrom": [f"{HERE}policy/{parent}" for parent in parents]} if parents else {})
        | more
    )


def read(*documents: dict[str, Any], stored: tuple[Policy, ...] = ()) -> tuple[ParsedDocument, ...]:
    texts = [(json.dumps(text, indent=1).encode(), f"{place}") for place, text in enumerate(documents)]
    kept = {policy.uid: policy for policy in stored}
    return parse_all(texts, kept.get)


def policies(*documents: dict[str, Any], stored: tuple[Policy, ...] = ()) -> list[Policy]:
    parsed = read(*documents, stored=stored)
    assert [found for one in parsed for found in one.errors] == []
    return [policy for one in parsed for policy in one.policies]


def codes(*documents: dict[str, Any], stored: tuple[Policy, ...] = ()) -> list[list[str]]:
    parsed = read(*documents, stored=stored)
    assert all(bool(one.errors) != bool(one.policies) for one in parsed)
    return [[found.code for found in one.diagnostics if found.severity is Severity.ERROR] for one in parsed]


def rules(policy: Policy) -> list[str]:
    return [rule.uid.removeprefix(HERE + "rule/") for rule in policy.rules]


def test_the_parents_rules_keep_their_uids() -> None:
    parent, child = policies(document(1), document(2, 1))
    assert rules(child) == ["2", "1"]
    assert child.permissions[1] == parent.permissions[0]
    assert (child.inherits, child.inherited_digests) == ((parent.uid,), (parent.document_digest,))
    assert (parent.inherits, parent.inherited_digests) == ((), ())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_documents_does_not_matter(order: tuple[int, ...]) -> None:
    family = [document(1), document(2, 1), document(3, 2)]
    found = {policy.uid: policy for policy in policies(*(family[place] for place in order))}
    assert rules(found[IRI(HERE + "policy/3")]) == ["3", "2", "1"]


def test_a_child_may_have_no_rules_of_its_own() -> None:
    child = document(2, 1)
    del child["permission"]
    assert rules(policies(document(1), child)[1]) == ["1"]
    del child["inheritFrom"]
    assert codes(child) == [["P302"]]


def test_a_rule_that_comes_by_two_ways_comes_once() -> None:
    found = policies(document(1), document(2, 1), document(3, 1), document(4, 2, 3))
    assert rules(found[3]) == ["4", "2", "1", "3"]


def test_all_kinds_of_rules_are_inherited() -> None:
    parent = document(
        1,
        prohibition={"uid": HERE + "rule/x", "target": HERE + "1", "action": "odrl:sell"},
        obligation={"uid": HERE + "rule/y", "action": "delete"},
    )
    child = policies(parent, document(2, 1))[1]
    assert [len(child.permissions), len(child.prohibitions), len(child.obligations)] == [2, 1, 1]


def test_profiles_and_memberships_are_inherited() -> None:
    parent = document(1, profile=SMALTI)
    parent["permission"]["target"] = {"uid": HERE + "1", "partOf": HERE + "all"}
    first, child = policies(parent, document(2, 1))
    assert set(child.profiles) == {MOSAICROWN, SMALTI}
    assert child.memberships == first.memberships != ()
    silent = document(2, 1)
    del silent["profile"]
    (_, found) = read(parent, silent)
    assert [one.code for one in found.diagnostics] == []  # no P502: the parent names one


# --- Conflict strategies (ODRL IM 2.10)


@pytest.mark.parametrize(
    ("parents", "own", "expected"),
    [
        (["perm"], None, "perm"),
        (["prohibit"], "prohibit", "prohibit"),
        (["perm", "perm"], None, "perm"),
        (["perm"], "prohibit", "invalid"),
        (["perm", "prohibit"], None, "invalid"),
        ([None], "perm", "invalid"),
        ([None], None, "invalid"),
        (["invalid"], "perm", "invalid"),
    ],
)
def test_conflict(parents: list[str | None], own: str | None, expected: str) -> None:
    """Naive: the child's own strategy wins, so that a child overrides its parent's prohibitions."""
    above = [
        document(number, **({} if conflict is None else {"conflict": conflict}))
        for number, conflict in enumerate(parents, start=1)
    ]
    child = document(9, *range(1, len(parents) + 1), **({} if own is None else {"conflict": own}))
    assert policies(*above, child)[-1].conflict is ConflictStrategy(expected)


# --- What a policy says for all its rules


def test_policy_level_parts_go_both_ways() -> None:
    """ODRL IM 2.9, Examples 31 to 33."""
    parent = document(1, assigner=HERE + "org-01", obligation={
        "uid": HERE + "rule/b", "target": HERE + "terms", "action": "reviewPolicy",
    })  # fmt: skip
    del parent["permission"]
    child = document(2, 1, assignee=HERE + "user", **{"@type": "Agreement"})
    found = policies(parent, child)[1]
    assert found.type is PolicyType.AGREEMENT
    assert [
        ([one.iri for one in rule.assigners], [one.iri for one in rule.assignees]) for rule in found.rules
    ] == [([HERE + "org-01"], [HERE + "user"])] * 2


def test_a_rule_takes_what_it_lacks_and_keeps_what_it_has() -> None:
    parent = document(1, target=HERE + "shared", action="odrl:print", assignee=HERE + "acme")
    parent["permission"] = {}
    bare: dict[str, str] = {}
    full = {"uid": HERE + "rule/3", "target": HERE + "3", "action": "odrl:read", "assignee": HERE + "zoo"}
    child = document(2, 1)
    child["permission"] = [bare, full]
    found = policies(parent, child)[1].permissions
    said = [(rule.action, rule.targets[0].iri, rule.assignees[0].iri) for rule in found]
    assert said == [
        (ODRL + "print", HERE + "shared", HERE + "acme"),
        (READ, HERE + "3", HERE + "zoo"),
        (ODRL + "print", HERE + "shared", HERE + "acme"),
    ]
    assert [len(rule.targets) for rule in found] == [1, 1, 1]


def test_what_is_shared_is_passed_on_to_grandchildren() -> None:
    parent, child, grandchild = document(1, target=HERE + "shared"), document(2, 1), document(3, 2)
    del grandchild["permission"]["target"]
    found = policies(parent, child, grandchild)
    assert found[2].permissions[0].targets[0].iri == HERE + "shared"
    assert found[2].shared == found[0].shared == Shared(targets=found[2].permissions[0].targets)
    assert found[1].permissions[0].targets[0].iri == HERE + "2"


def test_a_refined_action_is_not_passed_on() -> None:
    """Naive: the child's permission takes the action without its refinement."""
    refined = {
        "rdf:value": {"@id": "odrl:print"},
        "refinement": {"leftOperand": "resolution", "operator": "lteq", "rightOperand": 1200},
    }
    parent = document(1, action=["odrl:read", refined])
    child = document(2, 1)
    del child["permission"]["action"]
    assert codes(parent, child) == [[], ["P303"]]


def test_anonymize_is_not_taken_without_saying_how() -> None:
    parent = document(1, action="odrl:anonymize")
    parent["prohibition"] = {"uid": HERE + "rule/1", "target": HERE + "1"}
    del parent["permission"]
    child = document(2, 1)
    del child["permission"]["action"]
    assert codes(parent, child) == [[], ["P411"]]
    child["prohibition"] = child.pop("permission")
    assert [rule.action for rule in policies(parent, child)[1].prohibitions] == [ODRL + "anonymize"] * 2


def test_an_output_is_not_passed_over_beside_an_action_of_a_parent() -> None:
    child = document(2, 1)
    child["permission"] |= {"output": HERE + "made"}
    del child["permission"]["action"]
    assert codes(document(1, action="odrl:read"), child) == [[], ["P418"]]


# --- Stored parents


def test_a_parent_may_be_stored() -> None:
    (parent,) = policies(document(1))
    (child,) = policies(document(2, 1), stored=(parent,))
    assert rules(child) == ["2", "1"]
    assert child.inherited_digests == (parent.document_digest,)
    assert parse(json.dumps(document(2, 1)).encode(), "p", {parent.uid: parent}.get).policies[0].permissions


def test_a_given_parent_goes_before_a_stored_one() -> None:
    (stored,) = policies(document(1))
    newer = document(1)
    newer["permission"]["action"] = "odrl:print"
    child = policies(document(2, 1), newer, stored=(stored,))[0]
    assert child.permissions[1].action == ODRL + "print"


def test_nothing_is_stored_unless_somebody_says_so() -> None:
    assert codes(document(2, 1)) == [["P328"]]
    (found,) = read(document(2, 1))[0].errors
    assert found.where.pointer == "/inheritFrom/0"


def test_a_stored_parent_may_be_generated() -> None:
    nameless = document(1)
    del nameless["uid"]
    (parent,) = policies(nameless)
    child = document(2, inheritFrom=parent.uid)
    assert rules(policies(child, stored=(parent,))[0]) == ["2", "1"]
    assert rules(policies(child, nameless)[0]) == ["2", "1"]


# --- Refusals


def test_circles() -> None:
    assert codes(document(1, 1)) == [["P329"]]
    assert codes(document(1, 2), document(2, 1)) == [["P329"], ["P329"]]
    assert codes(document(1, 3), document(2, 1), document(3, 2)) == [["P329"]] * 3


def test_who_inherits_from_a_circle_is_told_so() -> None:
    assert codes(document(1, 2), document(2, 1), document(3, 1), document(4, 3)) == [
        ["P329"], ["P329"], ["P331"], ["P331"],
    ]  # fmt: skip


def test_a_circle_by_way_of_what_is_stored() -> None:
    """The stored child inherited from an earlier version of the policy that is read now."""
    old, child = policies(document(1), document(2, 1))
    assert codes(document(1, 2), stored=(old, child)) == [["P329"]]
    assert codes(document(1, 2), stored=(child,)) == [["P329"]]
    line = policies(document(1), document(2, 1), document(3, 2), document(4, 3))
    assert codes(document(1, 4), stored=tuple(line)) == [["P329"]]


def test_an_offer_passes_nothing_on() -> None:
    offer = document(1, assigner=HERE + "owner", **{"@type": "Offer"})
    assert codes(offer, document(2, 1)) == [[], ["P331"]]
    (stored,) = policies(offer)
    assert codes(document(2, 1), stored=(stored,)) == [["P331"]]


def test_a_document_with_errors_passes_nothing_on() -> None:
    """Also where the error is in another policy of the document: it counts as a whole."""
    broken = document(1)
    broken["permission"]["action"] = "odrl:reed"
    assert codes(broken, document(2, 1), document(3, 2), document(4)) == [["P305"], ["P331"], ["P331"], []]
    both = json.dumps([document(1), broken | {"uid": HERE + "policy/0"}]).encode()
    parsed = parse_all([(both, "a"), (json.dumps(document(2, 1)).encode(), "b")])
    assert [[found.code for found in one.errors] for one in parsed][1] == ["P331"]


def test_an_error_in_a_grandchild_spoils_nothing_above_it() -> None:
    broken = document(3, 2)
    broken["permission"]["action"] = "odrl:reed"
    assert codes(document(1), document(2, 1), broken) == [[], [], ["P305"]]


def test_two_parents_with_one_uid() -> None:
    assert codes(document(1), document(1), document(2, 1)) == [[], [], ["P328"]]


def test_a_rules_uid_stands_for_one_rule() -> None:
    other = document(3)
    other["permission"]["uid"] = HERE + "rule/1"
    assert codes(document(1), other, document(2, 1, 3)) == [[], [], ["P310"]]
    child = document(2, 1)
    child["permission"]["uid"] = HERE + "rule/1"
    assert codes(document(1), child) == [[], ["P310"]]


@pytest.mark.parametrize(
    ("own", "good"),
    [
        (None, False),
        ("2026-01-01/..", False),
        ("../2026-12-31", False),
        ("2025-12-31/2026-06-30", False),
        ("2026-01-01/2026-12-31", True),
        ("2026-02-01/2026-02-28", True),
    ],
)
def test_a_child_does_not_outlive_its_parent(own: str | None, good: bool) -> None:
    """Naive: the parent's permission goes on in the child when the parent has ended."""
    parent = document(1, **{"dct:valid": "2026-01-01/2026-12-31"})
    child = document(2, 1, **({} if own is None else {"dct:valid": own}))
    assert codes(parent, child) == [[], [] if good else ["P332"]]


def test_sixteen_generations() -> None:
    chain = [document(1), *(document(number, number - 1) for number in range(2, 18))]
    found = codes(*chain)
    assert found[:16] == [[]] * 16
    assert found[16:] == [["P330"]]


def test_generations_that_are_stored_count() -> None:
    chain = policies(document(1), *(document(number, number - 1) for number in range(2, 17)))
    assert codes(document(17, 16), stored=tuple(chain)) == [["P330"]]
    assert codes(document(16, 15), stored=tuple(chain[:15])) == [[]]


@pytest.mark.slow
def test_a_hostile_family_is_bounded() -> None:
    """A thousand children of a policy with a thousand rules."""
    (parent,) = policies(document(1))
    many = replace(parent, permissions=tuple(
        replace(parent.permissions[0], uid=IRI(f"{HERE}many/{number}")) for number in range(1000)
    ))  # fmt: skip
    family = json.dumps([document(number, 1) for number in range(2, 1000)]).encode()
    parsed = parse_all([(family, "family")], {many.uid: many}.get)[0]
    assert {found.code for found in parsed.errors} == {"P330"}


def test_files(tmp_path: Any) -> None:
    for number, text in enumerate([document(1), document(2, 1)]):
        (tmp_path / f"{number}").write_text(json.dumps(text))
    missing, child, parent = load_all([tmp_path / "none", tmp_path / "1", tmp_path / "0"])
    assert [found.code for found in missing.errors] == ["P109"]
    assert rules(child.policies[0]) == ["2", "1"]
    assert parent.is_valid
