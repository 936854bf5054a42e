"""Everything that is tolerated is read, and means what the reference means."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from smalti.policy.findings.diagnostics import Severity
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    ColumnComparison,
    Comparison,
    ConflictStrategy,
    Membership,
    Number,
    Operator,
    Party,
    Policy,
    PolicyType,
    Shared,
)
from smalti.policy.read.parse import load, parse, require
from smalti.vocab import terms
from smalti.vocab.terms import IRI

GOOD = Path(__file__).parent / "good"
EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
NAMES = sorted(path.stem for path in GOOD.glob("*.jsonld"))
SAME_AS_REFERENCE = [
    "absolute-words",
    "alias-action",
    "annotations",
    "column-twice",
    "columns-by-id",
    "https-contexts",
    "no-type",
    "prefix-added",
    "purpose-constraint-odrl",
    "reference",
    "set-and-list-keywords",
    "single-objects",
    "ten-point-zero",
    "type-policy-at-id",
    "typed-integers",
]


def policy(name: str) -> Policy:
    return load(GOOD / f"{name}.jsonld").policies[0]


def meaning(read: Policy) -> object:
    """The policy without its places and digests."""
    permission = read.permissions[0]
    way = permission.anonymization
    assert way is not None
    return (read.uid, read.conflict, permission.uid, permission.action, permission.targets,
            permission.assignees, permission.purposes, permission.output, ways(way))  # fmt: skip


def ways(way: Anonymization) -> object:
    lists = (way.identifiers, way.quasi_identifiers, way.sensitive, way.released)
    bounds = [(b.operator, b.value) for b in (way.k, way.l) if b is not None]
    return way.method, way.algorithm, bounds, [[column.iri for column in found] for found in lists]


FOUND = {
    "party-collection": [("P508", 11, 37)],
    "absolute-words": [("P505", 14, 25)],
    "alias-action": [("P505", 12, 28)],
    "column-twice": [("P504", 19, 99)],
    "columns-in-one-text": [("P511", 14, 95)],
    "constraint-on-a-foreign-column": [("P508", 10, 35)],
    "method-later": [("P391", 1, 1)],
    "offer": [("P506", 4, 12)],
    "offer-is-a-set": [("P506", 4, 20)],
    "profile-absent": [("P502", 1, 1)],
    "purpose-of-a-foreign-vocabulary": [("P507", 23, 16)],
    "remedy-anonymize-bare": [("P513", 9, 26)],
    "uid-absent": [("P501", 1, 1)],
}
"""The warnings and notes about each document; about the others there are none."""


def test_there_are_many_good_documents() -> None:
    assert len(NAMES) >= 40
    assert set(FOUND) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_good_document_has_no_error(name: str) -> None:
    parsed = load(GOOD / f"{name}.jsonld")
    assert [found for found in parsed.diagnostics if found.severity is Severity.ERROR] == []
    assert parsed.policies
    if not name.startswith("form-"):
        places = [(found.code, found.where.line, found.where.column) for found in parsed.diagnostics]
        assert places == FOUND.get(name, [])


@pytest.mark.parametrize("name", SAME_AS_REFERENCE)
def test_spellings_have_one_meaning(name: str) -> None:
    assert meaning(policy(name)) == meaning(policy("reference"))


def test_places_of_values_are_kept() -> None:
    way = policy("reference").permissions[0].anonymization
    assert way is not None
    assert (way.k.where.line, way.k.where.column) == (15, 77)
    assert way.k.where.pointer == "/permission/0/action/0/refinement/1/rightOperand"
    birth_date = way.quasi_identifiers[0]
    assert (birth_date.iri, birth_date.where.line) == ("http://example.com/Customer/BirthDate", 18)


def test_both_forms_of_the_figure_mean_the_same_but_for_bounds() -> None:
    printed, canonical = (
        require(load(EXAMPLES / f"{name}.jsonld")).permissions[0]
        for name in ("fig-2.6", "fig-2.6-canonical")
    )
    assert printed.anonymization is not None
    assert canonical.anonymization is not None
    assert (printed.anonymization.k.operator, canonical.anonymization.k.operator) == (
        Operator.EQ,
        Operator.GTEQ,
    )
    for way in (printed.anonymization, canonical.anonymization):
        assert way.method == terms.L_DIVERSITY
        assert way.l is not None
        assert (way.k.value, way.l.value) == (10, 3)
        names = [column.iri.rpartition("/")[2] for column in way.quasi_identifiers]
        assert names == ["BirthDate", "TransactionTime", "ZIP"]
    assert printed.purposes == canonical.purposes == frozenset({terms.MARKETING})
    assert printed.output == canonical.output == "http://example/anonCustomer"


def test_the_figure_gets_three_warnings() -> None:
    found = load(EXAMPLES / "fig-2.6.jsonld").diagnostics
    assert [(d.code, d.severity) for d in found] == [
        ("P501", Severity.WARNING),
        ("P502", Severity.WARNING),
        ("P503", Severity.WARNING),
    ]


def test_missing_uids_are_made_from_digest_and_place() -> None:
    parsed = load(EXAMPLES / "fig-2.6.jsonld")
    digest = parsed.digest.removeprefix("sha256:")
    read = parsed.policies[0]
    assert read.uid == f"urn:smalti:policy:sha256:{digest}"
    assert read.permissions[0].uid == f"urn:smalti:rule:sha256:{digest}/permission/0"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("fig-2.6*.jsonld")), ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    assert load(path).is_valid


def test_conflict_strategy() -> None:
    assert policy("reference").conflict is ConflictStrategy.INVALID
    assert policy("conflict-term").conflict is ConflictStrategy.PERMIT
    assert policy("prohibition").conflict is ConflictStrategy.PROHIBIT


def test_prohibition_of_use() -> None:
    (forbidden,) = policy("prohibition").prohibitions
    assert (forbidden.action, forbidden.assignees[0].iri) == (terms.USE, "http://example.com/party/zoo")


def test_smalti_words() -> None:
    way = policy("smalti-words").permissions[0].anonymization
    assert way is not None
    assert way.respondent is not None
    assert way.respondent.iri == "http://example.com/Customer/CustomerID"
    assert [column.iri for column in way.released] == ["http://example.com/Customer/Shop"]
    assert not way.one_row_each


def test_one_row_each() -> None:
    way = policy("one-row-each").permissions[0].anonymization
    assert way is not None
    assert (way.one_row_each, way.respondent) == (True, None)


def test_several_purposes() -> None:
    purposes = policy("purpose-constraint").permissions[0].purposes
    assert purposes == frozenset({terms.MARKETING, terms.STATISTICAL})


def test_mosaicrown_read_is_odrl_read() -> None:
    document = (GOOD / "read.jsonld").read_bytes().replace(b'"odrl:read"', b'"read"')
    parsed = parse(document, "read")
    assert parsed.policies[0].permissions[0].action == terms.READ
    assert [found.code for found in parsed.diagnostics] == ["P505"]


def test_byte_order_mark_and_windows_line_ends() -> None:
    document = (GOOD / "reference.jsonld").read_bytes()
    parsed = parse(b"\xef\xbb\xbf" + document.replace(b"\n", b"\r\n"), "reference")
    assert parsed.diagnostics == ()
    way = parsed.policies[0].permissions[0].anonymization
    assert way is not None
    assert (way.k.where.line, way.k.where.column) == (15, 77)


def test_list_of_policies() -> None:
    parsed = load(GOOD / "list-of-policies.jsonld")
    assert [read.uid for read in parsed.policies] == [
        "http://example.com/policy/1",
        "http://example.com/policy/2",
    ]


def test_parsing_is_pure() -> None:
    document = (GOOD / "reference.jsonld").read_bytes()
    first, second = parse(document, "a"), parse(document, "b")
    assert replace(first.policies[0].where, document="b") == second.policies[0].where
    assert meaning(first.policies[0]) == meaning(second.policies[0])


# --- The information model


def iris(named: tuple[Asset | Party, ...]) -> list[str]:
    return [one.iri.removeprefix("http://example.com/") for one in named]


def test_several_actions_are_one_rule_each_with_one_uid() -> None:
    rules = policy("actions-several").permissions
    assert [rule.action for rule in rules] == [terms.READ, terms.ODRL + "print", terms.ANONYMIZE]
    assert len({rule.uid for rule in rules}) == 1
    assert [rule.output for rule in rules] == [None, None, "http://example.com/anonCustomer"]
    assert [rule.anonymization is not None for rule in rules] == [False, False, True]


def test_several_targets_stay_together() -> None:
    """Naive: one rule for each target (ODRL IM 2.7), which loses who may see them jointly."""
    (rule,) = policy("targets-several").permissions
    assert iris(rule.targets) == ["Customer", "Shop"]


def test_compact_form_means_what_it_stands_for() -> None:
    compact, reference = policy("compact-form"), policy("reference")
    assert compact.permissions == reference.permissions
    assert (compact.shared, reference.shared) == (
        Shared(targets=reference.permissions[0].targets), None,
    )  # fmt: skip


def test_compact_form_as_in_the_specification() -> None:
    """ODRL IM 2.7.1: two people, one target, one assigner, one action."""
    rules = policy("compact-all").permissions
    assert [iris(rule.assignees) for rule in rules] == [["people/billie"], ["people/murphy"]]
    assert {(rule.action, *iris(rule.targets), *iris(rule.assigners)) for rule in rules} == {
        (terms.READ, "Customer", "party/owner")
    }


def test_what_a_rule_has_itself_stands_beside_what_is_shared() -> None:
    first, *others = policy("compact-joined").permissions
    assert (iris(first.targets), iris(first.assignees)) == (
        ["Customer", "Shop"],
        ["party/acme", "party/zoo"],
    )
    assert [rule.action for rule in others] == [terms.ODRL + "print", terms.READ]
    assert all(iris(rule.targets) == ["Customer"] for rule in others)


def test_columns_of_a_shared_action_are_those_of_the_target() -> None:
    (rule,) = policy("compact-anonymize").permissions
    assert rule.anonymization is not None
    columns = rule.anonymization.quasi_identifiers
    assert [column.iri for column in columns] == [
        "http://example.com/Customer/BirthDate", "http://example.com/Customer/ZIP",
    ]  # fmt: skip


def test_duties() -> None:
    inform, delete = policy("duty").permissions[0].duties
    assert (inform.uid, inform.uid) == (delete.uid, "http://example.com/policy/1/a/inform")
    assert [inform.action, delete.action] == [terms.ODRL + "inform", terms.ODRL + "delete"]
    assert iris(inform.targets) == ["Customer"]  # of the permission
    assert iris(inform.assignees) == ["party/acme"]


def test_a_duty_to_anonymize_is_about_the_targets_of_its_permission() -> None:
    (rule,) = policy("duty-to-anonymize").permissions
    (duty,) = rule.duties
    assert (rule.action, rule.output, rule.anonymization) == (terms.READ, None, None)
    assert (duty.output, duty.targets) == ("http://example.com/anonCustomer", rule.targets)
    assert duty.anonymization is not None
    assert duty.anonymization.k is not None
    assert duty.anonymization.k.value == 10


def test_consequences() -> None:
    (duty,) = policy("duty-with-consequence").permissions[0].duties
    (consequence,) = duty.consequences
    assert (iris(duty.targets), iris(consequence.targets)) == (["Customer"], ["Log"])
    assert duty.constraints
    assert not consequence.constraints


def test_obligations() -> None:
    delete, review = policy("obligation").obligations
    assert [one.action for one in delete.consequences] == [terms.ODRL + "inform"]
    assert (iris(delete.assignees), iris(review.assignees), review.targets) == (["party/acme"], [], ())
    (made,) = policy("obligation-to-anonymize").obligations
    assert made.anonymization is not None
    assert made.output == "http://example.com/anonCustomer"


def test_remedies() -> None:
    (rule,) = policy("remedy").prohibitions
    (remedy,) = rule.remedies
    assert (rule.action, remedy.action) == (terms.ODRL + "index", terms.ANONYMIZE)
    assert remedy.anonymization is not None
    assert remedy.targets == rule.targets


def test_refinements_of_a_prohibition_are_conditions() -> None:
    (rule,) = policy("prohibition-refined").prohibitions
    (found,) = rule.refinements
    assert found == Comparison(terms.K, Operator.LT, (Number(Decimal(20)),))


def test_types_of_policies() -> None:
    assert policy("no-type").type is PolicyType.SET
    assert policy("offer").type is policy("offer-is-a-set").type is PolicyType.OFFER
    assert policy("agreement").type is policy("agreement-compact").type is PolicyType.AGREEMENT


def test_collections() -> None:
    (adults,) = policy("target-collection").permissions[0].targets
    assert adults.iri == "http://example.com/Customer"
    assert isinstance(adults.refinements[0], ColumnComparison)
    (staff,) = policy("party-collection").permissions[0].assignees
    assert staff.iri == "http://example.com/party/staff"
    assert isinstance(staff.refinements[0], Comparison)
    (whole,) = policy("target-source").permissions[0].targets
    assert whole == Asset(IRI("http://example.com/Customer"))


def test_memberships() -> None:
    customer, shop, market = (IRI(f"http://example.com/{name}") for name in ("Customer", "Shop", "Market"))
    assert policy("target-part-of").memberships == (Membership(customer, shop), Membership(shop, market))
    assert iris(policy("target-part-of").permissions[0].targets) == ["Customer"]


def test_profiles_are_a_set() -> None:
    assert policy("profiles-several").profiles == (
        "http://www.w3.org/ns/odrl/2/core", "https://w3id.org/dpv/odrl#", terms.MOSAICROWN,
    )  # fmt: skip


def test_what_no_run_can_do_yet_is_said_once() -> None:
    (note,) = load(GOOD / "method-later.jsonld").diagnostics
    assert note.severity is Severity.NOTE
    assert note.message == (
        "the policy is valid, but runs do not support these words yet: `odrl:fileFormat`"
    )
