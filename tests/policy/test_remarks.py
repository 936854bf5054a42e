"""Words without effect are ignored; words that may bind never are, nor is a rule inside a remark."""

import json

import pytest

from smalti.policy.model.meaning import meaning_digest
from smalti.policy.read.parse import ParsedDocument, parse
from smalti.vocab.remarks import BINDING, OF_ASSETS, OF_PARTIES, REMARKS
from smalti.vocab.terms import CC, DCT, DSPACE, EDC, ODRL, RDFS, SCHEMA, SKOS

USE = {"target": "http://example.com/a", "action": "use"}
SEEN = [
    DCT + "source", DCT + "language", DCT + "hasVersion", DCT + "license", DCT + "publisher",
    SCHEMA + "name", RDFS + "seeAlso", RDFS + "label", SKOS + "prefLabel", SKOS + "note", CC + "legalcode",
    CC + "jurisdiction", EDC + "createdAt", DSPACE + "timestamp",
]  # fmt: skip
"""On policies of data spaces and on licences."""


def parsed(**members: object) -> ParsedDocument:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": "http://example.com/policy/1",
        "permission": USE, **members,
    }  # fmt: skip
    return parse(json.dumps(document).encode(), "a.jsonld")


def codes(read: ParsedDocument) -> list[str]:
    return [diagnostic.code for diagnostic in read.diagnostics]


@pytest.mark.parametrize("word", SEEN)
def test_a_word_without_effect_changes_nothing(word: str) -> None:
    assert word in REMARKS
    for value in (
        "text",
        3,
        {"@id": "http://example.com/x"},
        {"@value": "t", "@language": "de"},
        ["a", "b"],
        [],
    ):
        read = parsed(**{word: value}, permission={**USE, word: value})
        assert codes(read) == []
        assert meaning_digest(read.policies[0]) == meaning_digest(parsed().policies[0])


def test_a_description_in_the_namespace_of_odrl_is_a_remark_with_a_note() -> None:
    read = parsed(**{"odrl:description": "text"})
    assert (codes(read), read.errors) == (["P505"], ())
    assert "write `dct:description`" in read.diagnostics[0].help
    assert codes(parsed(**{"odrl:description": "text", "dct:description": "text"})) == ["P505"]


@pytest.mark.parametrize("namespace", ["cc:", "https://creativecommons.org/ns#"])
@pytest.mark.parametrize("word", ["permits", "requires", "prohibits"])
def test_rules_of_creative_commons_are_never_ignored(namespace: str, word: str) -> None:
    for members in (
        {namespace + word: "cc:Sharing"},
        {"permission": {**USE, namespace + word: "cc:Sharing"}},
    ):
        (error,) = parsed(**members).errors
        assert (error.code, "a rule of Creative Commons" in error.message) == ("P309", True)


@pytest.mark.parametrize(
    "word",
    [
        "odrl:desciption", "odrl:limit", "odrl:note", "cc:prohibit", "cc:allows", "mosaicrown:k",
        "https://w3id.org/smalti#note", "dct:rights", "dct:accessRights", "dct:requires", "dct:isPartOf",
        "schema:conditionsOfAccess", "skos:limits", "http://example.com/terms/limit",
        "https://w3id.org/edc/v0.0.1/ns/limit", "https://w3id.org/dspace/2025/1/limit", "vcard:fn",
    ],
)  # fmt: skip
def test_other_words_are_not_ignored(word: str) -> None:
    assert parsed(**{word: "text"}).errors
    assert parsed(permission={**USE, word: "text"}).errors


@pytest.mark.parametrize(
    "value",
    [
        {"permission": {"target": "http://example.com/b", "action": "use"}},
        {"foaf:name": "Zoo", "prohibition": {"target": "http://example.com/b", "action": "use"}},
        {"foaf:name": "Zoo", "cc:prohibits": {"@id": "cc:Sharing"}},
        {"dct:publisher": {"foaf:name": "Zoo", "assignerOf": "http://example.com/policy/1"}},
        {"@type": "Prohibition", "dct:title": "no"},
        {"@id": "http://example.com/zoo", "partOf": "http://example.com/zoos"},
        {"foaf:name": "Zoo", "unknown": "text"},
    ],
)
def test_a_rule_inside_a_remark_is_not_hidden(value: object) -> None:
    for word in ("dct:publisher", "rdfs:seeAlso", "cc:license", "dct:source"):
        assert parsed(**{word: value}).errors
        assert parsed(**{word: ["a", {"foaf:name": "Zoo", "dct:source": value}]}).errors


def test_a_remark_may_be_a_node_of_remarks() -> None:
    zoo = {"@type": "foaf:Organization", "foaf:name": "Zoo", "vcard:hasEmail": "zoo@example.com"}
    assert codes(parsed(**{"dct:publisher": zoo})) == []
    assert codes(parsed(**{"dct:publisher": [{**zoo, "dct:source": {"dct:title": "a"}}]})) == []


@pytest.mark.parametrize("word", ["vcard:fn", "vcard:hasEmail", "foaf:name", "schema:name", "dct:title"])
def test_a_party_is_described(word: str) -> None:
    described = {"@type": ["Party", "vcard:Organization"], "uid": "http://example.com/zoo", word: "Zoo"}
    assert codes(parsed(permission={**USE, "assigner": described})) == []


@pytest.mark.parametrize("word", ["dct:title", "dct:subject", "dct:publisher", "schema:name"])
def test_an_asset_is_described(word: str) -> None:
    described = {"@type": ["Asset", "dct:MovingImage"], "uid": "http://example.com/a", word: "Zoo"}
    assert codes(parsed(permission={**USE, "target": described})) == []


@pytest.mark.parametrize("word", ["dct:isPartOf", "dct:rights", "skos:broader", "vcard:fn", "dct:license"])
def test_an_asset_has_no_other_words(word: str) -> None:
    described = {"uid": "http://example.com/a", word: {"@id": "http://example.com/b"}}
    assert parsed(permission={**USE, "target": described}).errors


def test_no_remark_binds() -> None:
    assert not BINDING & (REMARKS | OF_ASSETS | OF_PARTIES)
    assert {iri for iri in REMARKS | OF_ASSETS | OF_PARTIES if iri.startswith(ODRL)} == {
        ODRL + "description"
    }
