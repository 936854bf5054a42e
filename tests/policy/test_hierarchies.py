"""Hierarchies: what includes what, and a data market's own vocabulary."""

import subprocess
import sys
from collections.abc import Sequence

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import PolicyError
from smalti.policy.decide.decision import Finding
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.decide.hierarchy import Hierarchy, Relations
from smalti.policy.model.model import Membership
from smalti.policy.read.vocabularies import read_vocabulary as read
from smalti.vocab import terms
from smalti.vocab.terms import DPV, IRI, MARKETING, READ, STATISTICAL, USE

YES, NO, UNKNOWN = Finding.SATISFIED, Finding.UNSATISFIED, Finding.UNKNOWN


def x(name: str) -> IRI:
    return IRI(f"http://example.com/{name}")


def dpv(name: str) -> IRI:
    return IRI(DPV + name)


@pytest.mark.parametrize(
    ("value", "reference", "expected"),
    [
        (MARKETING, MARKETING, YES),
        (MARKETING, dpv("Marketing"), YES),
        (dpv("Marketing"), MARKETING, YES),
        (dpv("DirectMarketing"), MARKETING, YES),
        (MARKETING, dpv("DirectMarketing"), UNKNOWN),
        (STATISTICAL, MARKETING, NO),
        (MARKETING, STATISTICAL, NO),
        (x("own"), MARKETING, UNKNOWN),
        (x("own"), x("own"), YES),
        (MARKETING, x("own"), NO),
    ],
)
def test_purposes(value: IRI, reference: IRI, expected: Finding) -> None:
    assert STANDARD.purposes.relation(value, reference) is expected


def test_concepts_that_share_a_narrower_one_may_be_meant() -> None:
    both = Hierarchy(Relations(((x("c"), x("a")), (x("c"), x("b")))))
    assert both.relation(x("a"), x("b")) is UNKNOWN
    apart = Hierarchy(Relations(((x("c"), x("a")), (x("d"), x("b")))))
    assert apart.relation(x("a"), x("b")) is NO


def test_parties_and_assets_that_nobody_knows_are_their_own() -> None:
    for hierarchy in (STANDARD.parties, STANDARD.assets):
        assert hierarchy.relation(x("a"), x("b")) is NO
        assert hierarchy.relation(x("a"), x("a")) is YES
    assert STANDARD.actions.relation(x("a"), READ) is UNKNOWN


def test_actions() -> None:
    assert STANDARD.actions.relation(READ, USE) is YES
    assert STANDARD.actions.relation(USE, READ) is UNKNOWN
    assert STANDARD.actions.relation(terms.ANONYMIZE, READ) is NO
    assert STANDARD.actions.covers(IRI(terms.ODRL + "derive"), IRI(terms.SMALTI + "train"))


def test_concepts_in_a_circle_cover_each_other() -> None:
    circle = Hierarchy(Relations(((x("a"), x("b")), (x("b"), x("c")), (x("c"), x("a")))))
    assert all(circle.covers(x(one), x(other)) for one in "abc" for other in "abc")


names = st.integers(0, 7).map(lambda number: x(str(number)))
pairs = st.lists(st.tuples(names, names), max_size=10).map(tuple)


@given(pairs, pairs, st.lists(st.tuples(names, names), max_size=2).map(tuple), names, names)
@settings(max_examples=examples(200))
def test_relations_are_those_of_paths(
    base: tuple[tuple[IRI, IRI], ...],
    added: tuple[tuple[IRI, IRI], ...],
    exact: tuple[tuple[IRI, IRI], ...],
    one: IRI,
    other: IRI,
) -> None:
    """Against a closure by repeated squaring, that knows exact matches as edges both ways."""
    edges = {
        *base,
        *added,
        *exact,
        *((b, a) for a, b in exact),
        *((x(str(n)), x(str(n))) for n in range(8)),
    }
    while True:
        longer = edges | {(a, d) for a, b in edges for c, d in edges if b == c}
        if longer == edges:
            break
        edges = longer
    shares = any((name, one) in edges and (name, other) in edges for name in map(x, "01234567"))
    expected = YES if (one, other) in edges else UNKNOWN if shares else NO
    start = Hierarchy(Relations(base, exact), is_closed=True)
    for hierarchy in (start.with_(Relations(added)), start.with_members(added)):
        for _ in range(2):  # worked out, and remembered
            assert hierarchy.relation(one, other) is expected
        assert hierarchy.covers(other, one) is (expected is YES)
        assert (hierarchy.concept(other) in hierarchy.related(one)) is (expected is not NO)


# --- A data market's own vocabulary

PREFIXES = b"""
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix m: <https://www.mosaicrown.eu/ns/mosaicrown/1/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dpv: <https://w3id.org/dpv#> .
@prefix x: <http://example.com/> .
"""


def turtle(text: str) -> bytes:
    return PREFIXES + text.encode()


def test_a_vocabulary_of_all_kinds() -> None:
    added = read(
        turtle("""
            x:ann a odrl:Party ; odrl:partOf x:staff . x:staff rdfs:label "staff"@en .
            x:shop a dcat:Dataset ; m:belongsTo x:sales . x:sales dct:isPartOf x:market .
            x:view odrl:includedIn odrl:read . x:look skos:exactMatch odrl:read .
            x:campaign skos:broader dpv:DirectMarketing . x:promotion skos:exactMatch m:marketing .
            x:alone a dpv:Purpose . x:research a skos:Concept ; skos:broader x:science .
        """),
        "market.ttl",
    )
    market = STANDARD.with_(added)
    assert market.parties.covers(x("staff"), x("ann"))
    assert market.assets.covers(x("market"), x("shop"))
    assert market.actions.covers(READ, x("view"))
    assert market.actions.covers(x("look"), READ)
    assert market.purposes.covers(MARKETING, x("campaign"))
    assert market.purposes.covers(x("promotion"), dpv("DirectMarketing"))
    assert market.purposes.relation(x("alone"), MARKETING) is NO
    assert market.purposes.covers(x("science"), x("research"))
    assert not market.purposes.covers(x("science"), MARKETING)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x:a odrl:partOf x:b .", "asset or party"),
        ("x:a a odrl:Asset, odrl:Party .", "different kinds"),
        ("x:a a odrl:Asset . x:b a odrl:Party . x:a odrl:partOf x:b .", "different kinds"),
        ("x:a odrl:includedIn dpv:Marketing .", "different kinds"),
        ("x:a skos:broader odrl:read, dpv:Marketing .", "different kinds"),
        ("x:a a odrl:Party ; dct:isPartOf x:b .", "different kinds"),
        ("x:a skos:narrower x:b .", "is not supported"),
        ("x:a a x:Thing .", "the type `http://example.com/Thing` is not supported"),
        ("x:a skos:broader x:b . x:b skos:broader x:a .", "includes itself"),
        ("x:a skos:broader x:a .", "includes itself"),
        ("dpv:Marketing skos:broader x:a .", "under another purpose"),
        ("m:statistical skos:broader dpv:Marketing .", "under another purpose"),
        ("x:a skos:exactMatch dpv:Marketing ; skos:broader x:b .", "under another purpose"),
        ("x:a skos:broader dpv:DirectMarketing . dpv:Marketing skos:broader x:a .", "another purpose"),
        ("m:statistical skos:exactMatch dpv:Marketing .", "` and `.*` one concept;"),
        ("x:a skos:exactMatch m:statistical, dpv:Marketing .", "` and `.*` one concept;"),
        ("odrl:read odrl:includedIn odrl:anonymize .", "under another action"),
        ("odrl:transfer odrl:includedIn odrl:use .", "under another action"),
        ("x:a skos:broader [] .", "a term without an IRI"),
        ('x:a skos:broader "b" .', "the text `b`"),
        ("<relative> skos:broader x:a .", "`relative` is relative"),
        ("<file:///etc/passwd> skos:broader x:a .", "scheme"),
        ("x:a skos:broader", "not Turtle"),
        ("(" * 5000, "not Turtle"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        read(turtle(text), "market.ttl")


def test_a_vocabulary_declares_operands_and_columns() -> None:
    added = read(
        turtle("""
            @prefix csvw: <http://www.w3.org/ns/csvw#> .
            x:Membership a odrl:LeftOperand , skos:Concept ; rdfs:label "member of"@en .
            x:shop csvw:column x:age , <http://example.com/T/Age> .
        """),
        "own",
    )
    assert added.operands == {x("Membership")}
    own = STANDARD.with_(added)
    assert own.operands == {x("Membership")}
    assert own.columns == {x("shop"): {x("age"), x("T/Age")}}
    assert own.with_members([Membership(x("a"), x("b"), False)]).operands == own.operands
    for wrong in (
        "x:Membership a odrl:LeftOperand ; odrl:partOf x:all .",
        'x:shop csvw:column "age" .',
        "x:shop csvw:column <http://example.com/T/%41ge> .",
    ):
        with pytest.raises(PolicyError):
            read(turtle("@prefix csvw: <http://www.w3.org/ns/csvw#> .\n" + wrong), "own")


def test_a_vocabulary_is_no_larger_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.policy.read.vocabularies.MOST_BYTES", 100)
    with pytest.raises(PolicyError, match="larger than 100 bytes"):
        read(turtle(""), "market.ttl")
    with pytest.raises(PolicyError, match="not Turtle or JSON-LD in UTF-8"):
        read(b"\xff", "market.ttl")


def test_vocabularies_together_do_not_redefine_what_is_standard() -> None:
    one = read(turtle("x:a skos:exactMatch dpv:Marketing ."), "one.ttl")
    other = read(turtle("x:a skos:broader x:b ."), "other.ttl")
    assert STANDARD.with_(one).purposes.covers(x("a"), MARKETING)
    with pytest.raises(PolicyError, match="under another purpose"):
        STANDARD.with_(one, other)
    with pytest.raises(PolicyError, match="under another purpose"):
        STANDARD.with_(one).with_(other)


def test_what_two_parties_say_against_each_other_includes_nothing_for_certain() -> None:
    one = read(turtle("x:a skos:exactMatch dpv:Marketing . x:c skos:broader dpv:Marketing ."), "one.ttl")
    other = read(turtle("x:a skos:broader x:b ."), "other.ttl")
    purposes = STANDARD.with_all(one, other).purposes
    for value, reference in ((x("a"), MARKETING), (MARKETING, x("a")), (x("c"), MARKETING)):
        assert purposes.relation(value, reference) is Finding.UNKNOWN
        assert not purposes.covers(reference, value)
    assert purposes.relation(MARKETING, x("b")) is Finding.UNKNOWN
    assert purposes.relation(x("a"), x("a")) is Finding.SATISFIED
    assert purposes.relation(x("a"), STATISTICAL) is Finding.UNSATISFIED
    assert purposes.relation(MARKETING, MARKETING) is Finding.SATISFIED
    assert STANDARD.with_all(one).purposes.covers(MARKETING, x("a"))


def test_disputed_actions_stay_so_beside_what_a_policy_says() -> None:
    one = read(turtle("x:a a odrl:Action ; skos:exactMatch odrl:read ."), "one.ttl")
    other = read(turtle("x:a a odrl:Action ; skos:exactMatch odrl:use ."), "other.ttl")
    both = STANDARD.with_all(one, other)
    for actions in (both.actions, both.actions.with_members([(x("b"), READ)])):
        assert actions.relation(x("a"), READ) is Finding.UNKNOWN
        assert actions.relation(USE, READ) is Finding.UNKNOWN
        assert actions.relation(READ, USE) is Finding.SATISFIED
    assert both.actions.with_members([(x("b"), READ)]).covers(USE, x("b"))


class Counting(Hierarchy):
    """Counts the steps of its searches."""

    steps = 0

    def directly_broader(self, concept: IRI) -> Sequence[IRI]:
        type(self).steps += 1
        return super().directly_broader(concept)

    def directly_narrower(self, concept: IRI) -> Sequence[IRI]:
        type(self).steps += 1
        return super().directly_narrower(concept)


def test_a_deep_chain_takes_steps_for_each_concept_once() -> None:
    """Not for each pair of them: a vocabulary may have as many concepts as fit into 16 MiB."""
    number = 4_000
    names = [IRI(f"http://example.com/c{at}") for at in range(number)]
    chain = Counting(Relations(tuple(zip(names[1:], names, strict=False))))
    Counting.steps = 0
    assert chain.relation(names[-1], names[0]) is Finding.SATISFIED
    assert chain.relation(names[0], names[-1]) is Finding.UNKNOWN
    assert Counting.steps < 4 * number


def test_what_a_hierarchy_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.policy.decide.hierarchy._MOST_KEPT", 1_000)
    names = [IRI(f"http://example.com/c{at}") for at in range(60)]
    chain = Hierarchy(Relations(tuple(zip(names[1:], names, strict=False))))
    for at, name in enumerate(names):
        assert chain.related(name) == set(names)
        assert chain.broader(name) == set(names[: at + 1])
        kept = (*chain._broader.values(), *chain._related.values())
        assert sum(map(len, kept)) <= 1_000


def test_a_literal_that_is_none_of_its_datatype_puts_no_traceback_on_the_terminal() -> None:
    """By a process of its own: a test's own handler would hear it, too."""
    code = """
from smalti.policy.read.vocabularies import read_vocabulary
try:
    read_vocabulary(b'<urn:a> <urn:b> "ten"^^<http://www.w3.org/2001/XMLSchema#integer> .', "own.ttl")
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("PolicyError\n", "")
