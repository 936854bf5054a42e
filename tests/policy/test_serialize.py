"""Writing a policy and reading it again gives the same policy."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import policies, without_made_up

from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Membership, Policy
from smalti.policy.read.parse import ParsedDocument, load, parse
from smalti.policy.say.format import format_document
from smalti.policy.say.serialize import number_text, serialize
from smalti.vocab.terms import IRI

GOOD = sorted((Path(__file__).parent / "good").glob("*.jsonld"))
EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
TEACHING = {"P501", "P502"}
"""Findings that a policy without uid or profile has in any spelling."""


def again(policy: Policy) -> Policy:
    parsed = parse(serialize(policy), "again.jsonld")
    assert parsed.errors == (), (serialize(policy).decode(), parsed.errors)
    return parsed.policies[0]


def same(policy: Policy) -> None:
    read = again(policy)
    if policy.inherits:  # what its children might take from it cannot be written where its rules lack it
        policy = replace(policy, inherits=(), inherited_digests=(), shared=read.shared)
    assert without_made_up(read) == without_made_up(policy)
    assert meaning_digest(read) == meaning_digest(policy)
    assert serialize(read) == serialize(policy)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_documents(path: Path) -> None:
    for policy in load(path).policies:
        same(policy)


@given(policies())
@settings(max_examples=examples(10, full=400))
def test_any_policy(policy: Policy) -> None:
    same(policy)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_words_are_those_that_the_documentation_teaches(path: Path) -> None:
    """No alias, no other spelling, nothing that the parser would remark on but what is missing."""

    def remarks(parsed: ParsedDocument) -> set[str]:
        return {found.code for found in parsed.diagnostics}

    original = load(path)
    for policy in original.policies:
        assert remarks(parse(serialize(policy), "again.jsonld")) <= TEACHING | _of_content(
            remarks(original)
        )


def _of_content(codes: set[str]) -> set[str]:
    """Remarks on what a document says, and not on how it spells it."""
    return {code for code in codes if code not in {"P503", "P504", "P505"}}


@given(policies())
@settings(max_examples=examples(8))
def test_it_is_laid_out_as_fmt_does(policy: Policy) -> None:
    text = serialize(policy).decode()
    assert format_document(text).text == text


STAFF, ALL = {"uid": "http://example.com/staff"}, "http://example.com/all"
GROWN_UP = [{"leftOperand": "http://example.com/age", "operator": "gteq", "rightOperand": 18}]


@pytest.mark.parametrize(
    "parties",
    [
        ["http://example.com/ann", {**STAFF, "partOf": ALL}],
        [
            {"@type": "PartyCollection", "source": STAFF["uid"], "refinement": GROWN_UP},
            {**STAFF, "partOf": ALL},
        ],
    ],
    ids=["not-named-first", "named-first-where-no-membership-is-read"],
)
@pytest.mark.parametrize("target", ["http://example.com/shop", STAFF["uid"]], ids=["other", "its-namesake"])
def test_a_membership_of_a_party_is_written_where_it_is_read(parties: list[object], target: str) -> None:
    """An asset with the party's IRI has no part in it."""
    rule = {"uid": "http://example.com/rule", "target": target, "action": "read", "assignee": parties}
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy",
        "profile": "http://www.w3.org/ns/odrl/2/core",
        "permission": [rule],
    }
    read = parse(json.dumps(document).encode(), "p.jsonld")
    assert read.errors == ()
    (policy,) = read.policies
    assert policy.memberships == (Membership(IRI(STAFF["uid"]), IRI(ALL), of_parties=True),)
    same(policy)


def test_made_up_uids_stay_out() -> None:
    policy = load(EXAMPLES / "fig-2.6.jsonld").policies[0]
    assert policy.uid.startswith("urn:smalti:")
    assert b"urn:smalti" not in serialize(policy)


def test_the_document_does_not_depend_on_parents() -> None:
    policy = load(EXAMPLES / "fig-2.6-canonical.jsonld").policies[0]
    child = replace(policy, inherits=(IRI("http://example.com/parent"),))
    assert b"inheritFrom" not in serialize(child)
    same(child)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("10", "10"), ("10.0", "10"), ("1E+1", "10"), ("-0.50", "-0.5"), ("0E+5", "0"), ("-0.0", "0"),
        ("1e300", "1e300"), ("1e-99999999", "1e-99999999"), ("0.05", "0.05"), ("1.5e70", "15e69"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_do(number: str, text: str) -> None:
    assert number_text(Decimal(number)) == text


@given(st.decimals(allow_nan=False, allow_infinity=False))
@example(Decimal("0." + "0" * 20 + "123456789012345678901234567890123456789012"))
@example(Decimal("1234567890" * 6 + ".1"))
@settings(max_examples=examples(200))
def test_numbers_are_exact_and_fit_in_what_the_reader_takes(number: Decimal) -> None:
    text = number_text(number)
    assert Decimal(text) == number
    assert len(text) <= max(64, len(str(number)) + 2)
