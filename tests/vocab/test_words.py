"""The table of words, the profile in Turtle and the contexts say the same."""

import json
from importlib.resources import files

import pytest
import rdflib
from rdflib.namespace import RDFS, SKOS

from smalti.vocab import contexts, odrl, terms
from smalti.vocab.aliases import NAMESPACES, canonical
from smalti.vocab.words import ALGORITHMS, BY_IRI, METHODS, WORDS, Kind, Range, Word, words

S = rdflib.Namespace(terms.SMALTI)


def context(path: object) -> dict[str, object]:
    with open(str(path), encoding="utf-8") as file:
        found = json.load(file)["@context"]
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def profile() -> rdflib.Graph:
    return rdflib.Graph().parse(
        data=files("smalti.vocab").joinpath("profile.ttl").read_text(), format="turtle"
    )


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_profile_defines_each_word_as_the_table_does(word: Word, profile: rdflib.Graph) -> None:
    node = rdflib.URIRef(word.iri)
    definition = profile.value(node, SKOS.definition)
    assert str(definition) == f"{word.meaning[0].upper()}{word.meaning[1:]}."
    assert str(profile.value(node, RDFS.label)) == word.name
    assert {str(o).removeprefix(terms.ODRL) for o in profile.objects(node, S.operator)} == word.operators
    assert {str(o) for o in profile.objects(node, S.name)} == set(word.names)
    stated = profile.value(node, S["range"])
    assert (str(stated) if stated is not None else Range.NONE) == word.range
    minimum = profile.value(node, S.minimum)
    assert (int(str(minimum)) if minimum is not None else None) == word.minimum
    assert str(profile.value(node, S.implemented)) == str(word.implemented).lower()


def test_profile_defines_no_other_word(profile: rdflib.Graph) -> None:
    assert {str(subject) for subject in profile.subjects(SKOS.definition)} == set(BY_IRI)


def test_words_are_unique_and_operators_known() -> None:
    assert len(BY_IRI) == len(WORDS)
    for word in WORDS:
        assert word.operators <= odrl.OPERATORS
        assert bool(word.operators) == (word.range is not Range.NONE)
        assert not word.meaning.endswith(".")


def test_implemented_words() -> None:
    assert {word.name for word in WORDS if word.implemented} == {
        "anonymize", "read", "method", "k", "l", "identifier", "quasi-identifier", "sensitive", "released",
        "respondent", "algorithm", "k-anonymity", "l-diversity", "mondrian", "statistical", "institutional",
        "marketing", "purpose", "oneRowEach",
    }  # fmt: skip


def test_methods_and_algorithms_are_words() -> None:
    assert tuple(word.name for word in words(Kind.METHOD)) == METHODS
    assert tuple(word.name for word in words(Kind.ALGORITHM)) == ALGORITHMS


def test_odrl_context_has_every_name_of_the_vocabulary() -> None:
    table = context(contexts.ODRL_CONTEXT)
    for name in (
        odrl.ACTIONS | odrl.LEFT_OPERANDS | odrl.OPERATORS | odrl.CONFLICT_STRATEGIES | odrl.POLICY_TYPES
    ):
        assert table[name] == f"odrl:{name}"


def test_neq_is_neq() -> None:
    assert context(contexts.ODRL_CONTEXT)["neq"] == "odrl:neq"


def test_our_context_redefines_no_word_of_the_others() -> None:
    ours = context(contexts.SMALTI_CONTEXT)
    for other in (context(contexts.ODRL_CONTEXT), context(contexts.MOSAICROWN_CONTEXT)):
        assert {term for term in ours if term in other and ours[term] != other[term]} == set()


def test_our_context_has_our_operands_and_actions() -> None:
    ours = context(contexts.SMALTI_CONTEXT)
    for word in WORDS:
        if word.iri.startswith(terms.SMALTI) and word.kind not in {Kind.METHOD, Kind.ALGORITHM}:
            assert ours[word.name] == f"smalti:{word.name}"


def test_mosaicrown_context_defines_marketing() -> None:
    table = context(contexts.MOSAICROWN_CONTEXT)
    assert table["mosaicrown"] == terms.MOSAICROWN
    assert {"marketing", "statistical", "institutional", "purpose"} <= set(table)


@pytest.mark.parametrize("path", contexts.ORDER, ids=lambda path: path.name)
def test_contexts_load_nothing_and_have_no_hidden_scopes(path: object) -> None:
    for meaning in context(path).values():
        if isinstance(meaning, dict):
            assert set(meaning) == {"@id", "@type"}
        else:
            assert isinstance(meaning, str)


@pytest.mark.parametrize(
    ("alias", "word"),
    [
        (terms.ODRL + "neg", terms.ODRL + "neq"),
        (terms.ODRL + "industry:", terms.ODRL + "industry"),
        (terms.DPV + "Anonymise", terms.ANONYMIZE),
        (terms.IDSC + "ANONYMIZE", terms.ANONYMIZE),
        ("http://localhost:8000/ns/mosaicrown/read", terms.READ),
        ("http://localhost:8000/mosaicrown_definitions/purpose", terms.PURPOSE),
        ("https://www.w3.org/ns/odrl/2/permission", terms.PERMISSION),
        ("https://w3id.org/dpv/mappings/odrl#Purpose", terms.PURPOSE),
        (terms.K, terms.K),
    ],
)
def test_aliases(alias: str, word: str) -> None:
    assert canonical(alias) == word
    assert canonical(canonical(alias)) == word


def test_alias_namespaces_lead_to_known_ones() -> None:
    assert {namespace for _, namespace in NAMESPACES} <= {terms.MOSAICROWN, terms.ODRL, terms.DPV_ODRL}
