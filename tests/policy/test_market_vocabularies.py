"""What a vocabulary declares beside groups and purposes: profiles, operands, values, properties."""

import json
from pathlib import Path

import pytest

from smalti.errors import PolicyError
from smalti.policy.decide.decision import Finding
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.read.properties import ALL_REMARKS, Place
from smalti.policy.read.shipped_words import is_shipped
from smalti.policy.read.vocabularies import read_vocabulary as read
from smalti.vocab import markets
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.odrl import Measured
from smalti.vocab.remarks import BINDING
from smalti.vocab.terms import ASSIGNEE, IRI, USE
from smalti.vocab.words import BY_IRI

VOCAB = Path(markets.__file__).parent
PREFIXES = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix smalti: <https://w3id.org/smalti#> .
@prefix cx: <https://w3id.org/catenax/2025/9/policy/> .
@prefix dspace: <https://w3id.org/dspace/2025/1/> .
@prefix x: <http://market.example/> .
"""


def x(name: str) -> IRI:
    return IRI(f"http://market.example/{name}")


def turtle(text: str) -> bytes:
    return (PREFIXES + text).encode()


@pytest.mark.parametrize("market", markets.MARKETS, ids=lambda market: market.file)
def test_a_shipped_vocabulary_says_in_turtle_what_counts(market: markets.Market) -> None:
    text = (VOCAB / market.file).read_text(encoding="utf-8")
    assert text == markets.turtle(market)
    own = x("policy/")  # nobody may declare the words themselves
    said = read(text.replace(market.namespace, own).encode(), market.file)
    assert {iri.replace(own, market.namespace) for iri in said.profiles} == set(market.profiles)
    declared = {
        OperandDeclaration(
            IRI(its.iri.replace(own, market.namespace)), its.kind, its.range, its.only_operators
        )
        for its in said.declared
    }
    assert declared == set(market.operands)
    for action in market.actions:
        assert STANDARD.actions.covers(USE, action)
        assert STANDARD.with_(said).actions.covers(USE, IRI(action.replace(market.namespace, own)))


def test_the_words_of_data_spaces_count_always() -> None:
    assert set(markets.OPERANDS) == {its.iri for its in STANDARD.declarations.values()}
    assert STANDARD.profiles > markets.PROFILES


OPERANDS = """
x:profile a skos:Collection ; skos:prefLabel "a market"@en ; skos:member x:Region, x:look, odrl:use .
x:look a odrl:Action ; odrl:includedIn odrl:use .
x:Region a odrl:LeftOperand ; rdfs:range x:Regions .
x:Region smalti:operator odrl:isAnyOf ; smalti:statedBy x:chamber .
x:Regions a skos:ConceptScheme .
x:europe skos:inScheme x:Regions ; skos:notation "EU" .
x:italy skos:broader x:europe ; skos:notation "IT" .
x:Seats a odrl:LeftOperand ; rdfs:range xsd:integer .
x:Now smalti:operandKind smalti:Clock . x:Runs smalti:operandKind smalti:Count .
x:Warranty smalti:operandKind smalti:Clause .
x:consumer rdfs:subPropertyOf odrl:assignee .
"""


def test_a_vocabulary_of_a_market() -> None:
    said = read(turtle(OPERANDS), "market.ttl")
    assert said.profiles == {x("profile")}
    assert said.functions == ((x("consumer"), ASSIGNEE),)
    by_iri = {its.iri: its for its in said.declared}
    assert by_iri[x("Region")] == OperandDeclaration(
        x("Region"), OperandKind.FACT, Measured.CONCEPT, frozenset({"isAnyOf"}), x("Regions"),
        frozenset({x("chamber")}),
    )  # fmt: skip
    assert by_iri[x("Seats")].range is Measured.WHOLE_NUMBER
    assert (by_iri[x("Now")].kind, by_iri[x("Now")].range) == (OperandKind.CLOCK, Measured.MOMENT)
    assert by_iri[x("Runs")].range is Measured.WHOLE_NUMBER
    assert by_iri[x("Warranty")].kind is OperandKind.CLAUSE
    own = STANDARD.with_(said)
    scheme = own.scheme_of(by_iri[x("Region")])
    assert scheme.concepts == {x("europe"), x("italy")}
    assert scheme.by_notation == {"EU": x("europe"), "IT": x("italy")}
    assert own.values.relation(x("italy"), x("europe")) is Finding.SATISFIED
    assert not own.purposes.defines(x("italy"))


def test_json_ld_says_the_same_as_turtle() -> None:
    document = {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", {"x": x("")}],
        "@graph": [
            {"@id": "x:profile", "@type": "skos:Collection", "skos:member": {"@id": "x:Region"}},
            {
                "@id": "x:Region",
                "@type": "LeftOperand",
                "rdfs:range": {"@id": "x:Regions"},
                "https://w3id.org/smalti#operator": {"@id": "odrl:isAnyOf"},
            },
            {"@id": "x:europe", "skos:inScheme": {"@id": "x:Regions"}, "skos:notation": "EU"},
        ],
    }
    text = """
        x:profile a skos:Collection ; skos:member x:Region .
        x:Region a odrl:LeftOperand ; rdfs:range x:Regions ; smalti:operator odrl:isAnyOf .
        x:europe skos:inScheme x:Regions ; skos:notation "EU" .
    """
    assert read(json.dumps(document).encode(), "market") == read(turtle(text), "market")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"@context": "https://market.example/context.jsonld", "@id": "http://market.example/a"}, "P203"),
        (
            {"@context": "http://www.w3.org/ns/odrl.jsonld", "@id": "http://market.example/a", "kind": 1},
            "P206",
        ),
        ([{"@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "LeftOperand"}], "term without an IRI"),
        ({"@context": "http://www.w3.org/ns/odrl.jsonld", "@graph": [1]}, "P201"),
        (
            {"@context": ["http://www.w3.org/ns/odrl.jsonld", {"operator": "http://market.example/"}]},
            "P205",
        ),
    ],
)
def test_json_ld_that_is_not_understood_is_refused(document: object, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        read(json.dumps(document).encode(), "market.jsonld")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("odrl:purpose a odrl:LeftOperand .", "`http://www.w3.org/ns/odrl/2/purpose` anew"),
        ("odrl:count smalti:operandKind smalti:Clause .", "anew.*a word of your own"),
        ("odrl:read a odrl:Action .", "anew"),
        ("odrl:look odrl:includedIn odrl:use .", "anew"),
        ("<https://www.w3.org/ns/odrl/2/purpose> a odrl:LeftOperand .", "anew"),
        ("cx:Membership a odrl:LeftOperand ; smalti:operandKind smalti:Fact .", "anew"),
        ("cx:Liability smalti:operandKind smalti:Fact .", "anew"),
        ("smalti:budgetEpsilon rdfs:range xsd:string .", "anew"),
        ("cx: a skos:Collection .", "claims the profile"),
        ("cx:profile2509 skos:member x:a . x:a a odrl:LeftOperand .", "claims the profile"),
        ("<https://w3id.org/dpv/odrl#> a skos:Collection .", "claims the profile"),
        ("<http://www.w3.org/ns/odrl/2/core> skos:member x:a . x:a a odrl:Action .", "claims the profile"),
        ("x:a smalti:operandKind smalti:Rumour .", "is not one of `smalti:Fact`"),
        ("x:a smalti:operandKind smalti:Fact, smalti:Clause .", "is not one of"),
        ("x:a rdfs:range xsd:hexBinary .", "datatype .* is not supported"),
        ("x:a rdfs:range xsd:string, xsd:integer .", "several ranges"),
        ("x:a rdfs:range xsd:string ; smalti:operator odrl:lt .", "does not support the operator `lt`"),
        ("x:a smalti:operator x:near .", "does not support the operator"),
        ("x:a smalti:operandKind smalti:Clock ; rdfs:range xsd:string .", "is a clock, and so must be"),
        ("x:a smalti:operandKind smalti:Count ; rdfs:range xsd:string .", "is a count, and so must be"),
        ("x:a smalti:operandKind smalti:Clause ; smalti:statedBy x:b .", "is about facts"),
        ('x:a smalti:operandKind "Fact" .', "the text `Fact`"),
        ("x:a skos:notation x:b .", "is not a text"),
        ("x:a rdfs:subPropertyOf odrl:duty .", "which is not one of"),
        ("x:a rdfs:subPropertyOf odrl:assignee, odrl:assigner .", "which is not one of"),
        ("x:a a odrl:LeftOperand, skos:Collection .", "different kinds"),
        ("x:a skos:inScheme x:s . x:a skos:broader x:b . x:b a dpv:Purpose .", "not Turtle"),
        ("x:a skos:inScheme x:s ; odrl:includedIn odrl:use .", "different kinds"),
        ("x:a skos:inScheme x:s ; skos:broader x:b . x:b skos:broader x:a .", "includes itself"),
        ("x:a skos:topConceptOf x:s .", "is not supported"),
    ],
)
def test_a_declaration_that_is_not_its_own_or_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        read(turtle(text), "market.ttl")


SPELLINGS = {
    "dct": "http://purl.org/dc/terms/creator",
    "of a default port": "http://purl.org:80/dc/terms/creator",
    "in capitals": "http://PURL.org/dc/terms/creator",
    "encoded": "http://purl.org/dc/terms/%63reator",
    "https": "https://purl.org/dc/terms/creator",
    "a validity": "http://purl.org/dc/terms/valid",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#seeAlso",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    "skos": "http://www.w3.org/2004/02/skos/core#note",
    "vcard": "http://www.w3.org/2006/vcard/ns#fn",
    "foaf": "http://xmlns.com/foaf/0.1/name",
    "schema": "https://schema.org/name",
    "dcat": "http://www.w3.org/ns/dcat#dataset",
    "cc": "http://creativecommons.org/ns#permits",
    "csvw": "http://www.w3.org/ns/csvw#column",
    "dpv": "https://w3id.org/dpv#hasPurpose",
    "an alias": "http://localhost:8000/ns/mosaicrown/purpose",
}


@pytest.mark.parametrize("iri", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize(
    "text",
    [
        "<{}> rdfs:subPropertyOf odrl:assignee .",
        "<{}> rdfs:subPropertyOf odrl:target .",
        "<{}> a odrl:LeftOperand .",
        "<{}> a odrl:Action ; odrl:includedIn odrl:use .",
    ],
)
def test_nobody_declares_a_word_that_smalti_reads_or_ignores(iri: str, text: str) -> None:
    with pytest.raises(PolicyError, match=r"anew|another spelling|has a default"):
        read(turtle(text.format(iri)), "market.ttl")


def test_every_word_that_smalti_reads_or_ignores_is_shipped() -> None:
    places = {iri for place in Place for iri in place.understood | place.later}
    words = places | ALL_REMARKS | BINDING | set(markets.OPERANDS) | set(BY_IRI)
    assert [word for word in sorted(words) if not is_shipped(IRI(word))] == []


def test_a_word_of_odrl_is_not_defined_as_another_name() -> None:
    for relation in ("skos:exactMatch", "odrl:includedIn"):
        with pytest.raises(PolicyError, match=r"`http://www\.w3\.org/ns/odrl/2/look` anew"):
            read(turtle(f"x:a a odrl:Action ; {relation} odrl:look ."), "market.ttl")


def test_a_purpose_of_a_newer_dpv_may_be_declared() -> None:
    text = "@prefix dpv: <https://w3id.org/dpv#> . dpv:Later a dpv:Purpose ; skos:broader dpv:Marketing ."
    said = read(turtle(text), "market.ttl")
    assert STANDARD.with_(said).purposes.defines(IRI("https://w3id.org/dpv#Later"))


@pytest.mark.parametrize("profile", sorted(STANDARD.profiles))
@pytest.mark.parametrize("end", ["", "/", "#", "//"])
def test_nobody_claims_the_look_alike_of_a_shipped_profile(profile: str, end: str) -> None:
    for written in (profile, profile.rstrip("/#"), profile.replace("https:", "http:")):
        text = f"<{written.rstrip('/#')}{end}> a skos:Collection ."
        with pytest.raises(PolicyError, match=r"claims the profile|another spelling"):
            read(turtle(text), "market.ttl")


def test_a_property_that_two_vocabularies_declare_differently_is_read_by_nobody() -> None:
    one = read(turtle("x:consumer rdfs:subPropertyOf odrl:assignee ."), "one.ttl")
    other = read(turtle("x:consumer rdfs:subPropertyOf odrl:assigner ."), "other.ttl")
    assert STANDARD.with_(one, one).functions == {x("consumer"): ASSIGNEE}
    for both in (STANDARD.with_(one, other), STANDARD.with_(other).with_(one)):
        assert both.functions == {}


def test_what_two_vocabularies_declare_differently_is_unknown() -> None:
    one = read(turtle("x:Warranty a odrl:LeftOperand ; smalti:operandKind smalti:Clause ."), "one.ttl")
    other = read(turtle("x:Warranty a odrl:LeftOperand ; smalti:operandKind smalti:Fact ."), "other.ttl")
    assert STANDARD.with_(one, one).declaration(x("Warranty")) is not None
    for both in (STANDARD.with_(one, other), STANDARD.with_(one).with_(other)):
        assert both.declaration(x("Warranty")) is None
        assert both.disputed == {x("Warranty")}


def test_concepts_are_in_the_schemes_of_broader_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "x:a skos:inScheme x:s, x:t . x:b skos:broader x:a . x:c skos:broader x:b ; skos:exactMatch x:d ."
    )
    schemes = STANDARD.with_(read(turtle(text), "market.ttl")).schemes
    assert {name: schemes[x(name)].concepts for name in "st"} == {
        name: {x("a"), x("b"), x("c"), x("d")} for name in "st"
    }
    monkeypatch.setattr("smalti.policy.read.vocabularies.MOST_STATEMENTS", 5)
    with pytest.raises(PolicyError, match="in schemes more than 5 times"):
        read(turtle(text), "market.ttl")


def test_a_text_of_several_concepts_stands_for_none() -> None:
    text = 'x:a skos:inScheme x:s ; skos:notation "1" . x:b skos:inScheme x:s ; skos:notation "1" .'
    assert STANDARD.with_(read(turtle(text), "market.ttl")).schemes[x("s")].by_notation == {}
