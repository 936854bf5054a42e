"""Everything that is tolerated is read, and means what the reference means."""

from dataclasses import replace
from pathlib import Path

import pytest

from smalti.policy.diagnostics import Severity
from smalti.policy.model import Anonymization, ConflictStrategy, Operator, Policy
from smalti.policy.parse import load, parse, require
from smalti.vocab import terms

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


@pytest.mark.parametrize("name", NAMES)
def test_good_document_has_no_error(name: str) -> None:
    parsed = load(GOOD / f"{name}.jsonld")
    assert [found for found in parsed.diagnostics if found.severity is Severity.ERROR] == []
    assert parsed.policies


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
