"""The table of words, the profile in Turtle and the contexts say the same."""

import json
import re
from decimal import Decimal
from importlib.resources import files

import pytest
import rdflib
from rdflib.namespace import RDF, RDFS, SKOS

from smalti.engine.plan.kinds import TABLE
from smalti.vocab import contexts, odrl, terms
from smalti.vocab.aliases import NAMESPACES, canonical
from smalti.vocab.certificate_terms import CERTIFICATE_CLASSES, CERTIFICATE_TERMS
from smalti.vocab.profile import profile as written_profile
from smalti.vocab.purposes import EXACT_MATCHES
from smalti.vocab.terms import IRI
from smalti.vocab.words import (
    ALGORITHM_METHODS,
    ALGORITHM_NEEDS,
    ALGORITHMS,
    BY_IRI,
    METHOD_NEEDS,
    METHODS,
    WORDS,
    Kind,
    Limits,
    Range,
    Scope,
    Word,
    words,
)

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
    assert limits_in(profile, node) == word.limits
    assert {str(o) for o in profile.objects(node, S.refines)} == word.actions
    assert {str(o) for o in profile.objects(node, S.goesWithMethod)} == word.methods
    assert {str(o) for o in profile.objects(node, S.goesWithAlgorithm)} == word.algorithms
    assert {str(o) for o in profile.objects(node, S.needs)} == word.needs
    assert str(profile.value(node, S.appliesTo) or Scope.TABLE) == word.scope
    assert str(profile.value(node, S.implemented)) == str(word.implemented).lower()


def limits_in(profile: rdflib.Graph, node: rdflib.URIRef) -> Limits:
    found = {
        name: profile.value(node, S[name])
        for name in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    }
    number = {name: Decimal(str(value)) for name, value in found.items() if value is not None}
    return Limits(
        number.get("minimum", number.get("exclusiveMinimum")),
        number.get("maximum", number.get("exclusiveMaximum")),
        excludes_minimum="exclusiveMinimum" in number,
        excludes_maximum="exclusiveMaximum" in number,
    )


def test_the_profile_is_what_the_table_writes() -> None:
    shipped = files("smalti.vocab").joinpath("profile.ttl").read_text(encoding="utf-8")
    assert shipped == written_profile(), "make generate"


def words_of_certificates() -> set[str]:
    """Every word of ours that stands in a context or as a type, in the modules that write them."""
    modules = [
        "registry/certificate.py",
        "plan/guarantees.py",
        "training/quality.py",
        "training/synthesis_guarantee.py",
        "techniques/statements.py",
    ]
    modules += [f"{entry.room.rpartition('.')[2]}/guarantee.py" for entry in TABLE]
    texts = [files("smalti.engine").joinpath(module).read_text(encoding="utf-8") for module in modules]
    return {word for text in texts for word in re.findall(r'"s:(\w+)"', text)}


def test_the_profile_defines_what_certificates_and_reports_say(profile: rdflib.Graph) -> None:
    own = {*CERTIFICATE_TERMS, *CERTIFICATE_CLASSES}
    used = words_of_certificates()
    assert {name for name in used if terms.SMALTI + name not in BY_IRI} == own
    for name in own:
        assert profile.value(S[name], RDFS.label) == rdflib.Literal(name)
        assert profile.value(S[name], RDFS.comment)
        assert set(profile.objects(S[name], RDF.type)) <= {RDF.Property, RDFS.Class}


def test_the_profile_says_what_the_standard_leaves_open(profile: rdflib.Graph) -> None:
    odrl_terms = rdflib.Namespace(terms.ODRL)
    notes = {name: str(profile.value(odrl_terms[name], SKOS.scopeNote)) for name in ("isAllOf", "purpose")}
    assert "exactly the listed set" in notes["isAllOf"]
    assert "states none satisfies no limit" in notes["purpose"]


def test_the_profile_links_to_dpv_as_the_code_does(profile: rdflib.Graph) -> None:
    matches = {(IRI(str(s)), IRI(str(o))) for s, o in profile.subject_objects(SKOS.exactMatch)}
    assert set(EXACT_MATCHES.items()) <= matches
    for one, other in matches - set(EXACT_MATCHES.items()):
        assert canonical(other) == one


def test_the_profile_places_its_actions_as_the_code_does(profile: rdflib.Graph) -> None:
    included = {
        (str(s), str(o)) for s, o in profile.subject_objects(rdflib.URIRef(terms.ODRL + "includedIn"))
    }
    assert included == {(w.iri, above) for w in words(Kind.ACTION) for above in odrl.ACTION_PARENTS[w.iri]}


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
        "marketing", "purpose", "oneRowEach", "partitioning", "dimensionality", "cutScore",
        "fragmentColumn", "differential-privacy", "local-differential-privacy", "epsilon", "delta",
        "posteriorBelief", "outputForm", "labelBounds", "suppressedRecords",
        "membershipAdvantage", "mechanism", "neighbors", "rowsPerRespondent", "groupsPerRespondent",
        "statistic", "measure", "groupBy", "pixelSize", "pixelNeighborhood", "budgetEpsilon", "budgetDelta",
        "train", "audit", "samplingRate", "recipe", "labelColumn", "attack", "noiseMultiplier",
        "syntheticRecords",
        "clippingNorm", "epochs", "attackAdvantage", "attackPrecision", "truePositiveRate",
        "epsilonLowerBound", "confidence", "falsePositiveRate", "t-closeness", "t", "distance", "alpha",
        "diversity", "c", "column", "incognito", "suppressionLimit", "lossMeasure",
        "mdav", "standardization", "blocks", "anatomy",
        "k-map", "delta-presence", "population", "presence", "masking", "sampling", "cell-suppression",
        "attribute-suppression", "record-suppression", "generalization", "global-recoding", "top-coding",
        "bottom-coding", "noise-addition", "pseudonymization", "topCode", "bottomCode", "level",
        "intervalWidth", "intervals", "minimumFrequency", "noiseDistribution", "noiseScale", "pseudonym",
        "pseudonymKey",
    }  # fmt: skip


def test_methods_and_algorithms_are_words() -> None:
    assert tuple(word.name for word in words(Kind.METHOD)) == METHODS
    assert tuple(word.name for word in words(Kind.ALGORITHM)) == ALGORITHMS


def test_what_methods_and_algorithms_need_are_refinements_that_go_with_them() -> None:
    assert set(METHOD_NEEDS) == set(METHODS)
    for method, needs in METHOD_NEEDS.items():
        for word in (BY_IRI[iri] for need in needs for iri in need):
            assert word.kind is Kind.REFINEMENT
            assert terms.ANONYMIZE in word.actions
            assert not word.methods or method in word.methods
    for algorithm, listed in ALGORITHM_NEEDS.items():
        for iri in listed:
            assert algorithm in BY_IRI[iri].algorithms
            assert BY_IRI[iri].methods & ALGORITHM_METHODS[algorithm]


def test_each_algorithm_meets_a_method_and_all_but_privacy_loss_is_met_by_one() -> None:
    assert set(ALGORITHM_METHODS) == set(ALGORITHMS)
    met = frozenset[str]().union(*ALGORITHM_METHODS.values())
    assert met == {method for method in METHODS if not method.endswith("differential-privacy")}


def test_words_refer_to_words() -> None:
    for word in WORDS:
        assert word.methods <= set(METHODS)
        assert word.algorithms <= set(ALGORITHMS)
        assert word.needs <= set(BY_IRI)
        assert all(BY_IRI[action].kind is Kind.ACTION for action in word.actions)
        assert bool(word.actions) == (word.kind is Kind.REFINEMENT)
        if word.limits != Limits():
            assert word.range in {Range.INTEGER, Range.DECIMAL}
        if word.names:
            assert word.range is Range.NAME


@pytest.mark.parametrize(
    ("limits", "inside", "outside"),
    [
        (Limits(Decimal(2)), ["2", "2.0", "9"], ["1", "1.999", "-2"]),
        (Limits(Decimal(0), excludes_minimum=True), ["1e-30", "7"], ["0", "0.000", "-1e-30"]),
        (Limits(Decimal(0), Decimal(1)), ["0", "1", "0.5"], ["1.0000000000000000000001", "-0.1"]),
        (Limits(Decimal(0), Decimal(1), excludes_maximum=True), ["0", "0.99"], ["1", "1.0"]),
    ],
)
def test_limits(limits: Limits, inside: list[str], outside: list[str]) -> None:
    assert all(limits.allow(Decimal(number)) for number in inside)
    assert not any(limits.allow(Decimal(number)) for number in outside)


def test_limits_in_words() -> None:
    assert str(BY_IRI[IRI(terms.SMALTI + "t")].limits) == "above 0 and below 1"
    assert str(BY_IRI[IRI(terms.SMALTI + "samplingRate")].limits) == "above 0 and at most 1"
    assert str(BY_IRI[terms.K].limits) == "at least 2"


def test_each_action_leads_up_to_use_or_transfer() -> None:
    assert {IRI(terms.ODRL + name) for name in odrl.ACTIONS} <= set(odrl.ACTION_PARENTS)
    assert {word.iri for word in words(Kind.ACTION)} <= set(odrl.ACTION_PARENTS)
    tops = {terms.USE, IRI(terms.ODRL + "transfer")}
    for action, parents in odrl.ACTION_PARENTS.items():
        assert (parents == ()) == (action in tops)
        seen, above = {action}, list(parents)
        while above:
            one = above.pop()
            assert one not in seen
            seen.add(one)
            above += odrl.ACTION_PARENTS[one]
        assert seen & tops


def test_being_allowed_to_anonymize_or_to_derive_is_not_being_allowed_to_read() -> None:
    parents = odrl.ACTION_PARENTS
    assert parents[terms.READ] == parents[terms.ANONYMIZE] == (terms.USE,)
    assert parents[IRI(terms.SMALTI + "train")] == (IRI(terms.ODRL + "derive"),)
    assert parents[IRI(terms.ODRL + "sell")] == (IRI(terms.ODRL + "transfer"),)
    assert parents[IRI(terms.ODRL + "extract")] == (IRI(terms.ODRL + "reproduce"),)


def test_each_left_operand_of_odrl_has_a_kind_of_value_and_operators() -> None:
    assert len(odrl.LEFT_OPERANDS) == 32
    for kind in odrl.LEFT_OPERAND_KINDS.values():
        assert odrl.OPERATORS_OF[kind] <= odrl.OPERATORS
        assert "eq" in odrl.OPERATORS_OF[kind]
    for name, operators in odrl.OPERATORS_OF_PERIODS.items():
        assert odrl.LEFT_OPERAND_KINDS[name] is odrl.Measured.DURATION
        assert operators <= odrl.OPERATORS_OF[odrl.Measured.DURATION]


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
