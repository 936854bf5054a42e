"""The refinements of an action to anonymize: every word, what each method needs, what cannot be."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from written import TARGET, Json, anonymize, document, errors, refinement, transformation, warnings

from smalti.policy.findings.diagnostics import Severity
from smalti.policy.model.column_iris import column_iri
from smalti.policy.model.model import Comparison, Logical, LogicalOperator, Named, Number, Operator, Text
from smalti.policy.read.anonymization import unimplemented_words
from smalti.vocab.terms import COLUMN, IRI, PRESENCE, SMALTI
from smalti.vocab.words import ALGORITHM_METHODS, METHODS, WORDS, Kind, Range, Scope, Word

K_OF_TEN = refinement("mosaicrown:k", "gteq", 10)
ZIP = refinement("mosaicrown:quasi-identifier", "isAllOf", ["ZIP", "BirthDate"])
AMOUNT = refinement("mosaicrown:sensitive", "isAllOf", ["Amount"])
L_OF_THREE = refinement("mosaicrown:l", "gteq", 3)
POPULATION = refinement("population", "eq", {"@id": "http://example.com/Register"})


def method(name: str) -> Json:
    return refinement("mosaicrown:method", "eq", name)


def s(name: str, value: Json, operator: str = "eq") -> Json:
    return refinement(f"smalti:{name}", operator, value)


def of_column(name: str, *parameters: Json) -> Json:
    return {"and": [s("column", name), *parameters]}


K_ANONYMITY = [method("k-anonymity"), K_OF_TEN, ZIP]
L_DIVERSITY = [method("l-diversity"), K_OF_TEN, L_OF_THREE, ZIP, AMOUNT]
T_CLOSENESS = [method("t-closeness"), K_OF_TEN, s("t", 0.2, "lteq"), ZIP, AMOUNT]
K_MAP = [method("k-map"), K_OF_TEN, POPULATION, ZIP]
PRESENCE_BOUNDS = [s("presence", 0.1, "gteq"), s("presence", 0.5, "lteq")]
DELTA_PRESENCE = [method("delta-presence"), *PRESENCE_BOUNDS, POPULATION, ZIP]
COUNTS = s("statistic", ["count"], "isAnyOf")
DIFFERENTIAL = [method("differential-privacy"), s("epsilon", 1, "lteq"), COUNTS]
LOCAL = [method("local-differential-privacy"), s("epsilon", 1, "lteq")]
NAME = refinement("mosaicrown:identifier", "isAllOf", ["Name"])
MASKING = [method("masking"), s("algorithm", "attribute-suppression"), NAME]
ANATOMY = [method("l-diversity"), s("algorithm", "anatomy"), L_OF_THREE, ZIP, AMOUNT]
TOP_CODING = [method("masking"), s("algorithm", "top-coding"), of_column("Age", s("topCode", 90))]
BY_METHOD = {
    "k-anonymity": K_ANONYMITY, "l-diversity": L_DIVERSITY, "t-closeness": T_CLOSENESS, "k-map": K_MAP,
    "delta-presence": DELTA_PRESENCE, "differential-privacy": DIFFERENTIAL,
    "local-differential-privacy": LOCAL, "masking": MASKING,
}  # fmt: skip


@pytest.mark.parametrize(
    "refinements", [*BY_METHOD.values(), ANATOMY, TOP_CODING], ids=lambda r: str(r[0]["rightOperand"])
)
def test_each_method_with_what_it_needs_is_accepted(refinements: list[Json]) -> None:
    parsed = anonymize(refinements)
    assert errors(parsed) == []
    assert warnings(parsed) == []
    assert transformation(parsed).method == refinements[0]["rightOperand"]  # type: ignore[index]


def test_every_method_is_among_the_examples() -> None:
    assert set(BY_METHOD) == set(METHODS)


@pytest.mark.parametrize(
    ("refinements", "lacking", "expected"),
    [
        (K_ANONYMITY, 1, [("P411", "{")]),
        (K_ANONYMITY, 2, [("P417", "{")]),
        (L_DIVERSITY, 2, [("P411", "{")]),
        (L_DIVERSITY, 4, [("P408", "{")]),
        (T_CLOSENESS, 1, [("P411", "{")]),
        (T_CLOSENESS, 2, [("P411", "{")]),
        (T_CLOSENESS, 4, [("P408", "{")]),
        (K_MAP, 1, [("P411", "{")]),
        (K_MAP, 2, [("P411", "{")]),
        (DELTA_PRESENCE, 3, [("P411", "{")]),
        (DIFFERENTIAL, 1, [("P411", "{")]),
        (DIFFERENTIAL, 2, [("P411", "{")]),
        (LOCAL, 1, [("P411", "{")]),
        (MASKING, 1, [("P411", "{")]),
        (ANATOMY, 2, [("P411", "{")]),
        (TOP_CODING, 2, [("P411", "top-coding")]),
    ],
)
def test_each_method_without_what_it_needs_is_refused(
    refinements: list[Json], lacking: int, expected: list[tuple[str, str]]
) -> None:
    rest = refinements[:lacking] + refinements[lacking + 1 :]
    assert errors(anonymize(rest)) == expected


def test_masking_takes_several_techniques_and_models_take_one_algorithm() -> None:
    both = s("algorithm", ["top-coding", "noise-addition"], "isAllOf")
    of_age = [of_column("Age", s("topCode", 90)), of_column("Amount", s("noiseScale", 2))]
    several = anonymize([method("masking"), both, *of_age])
    assert errors(several) == []
    way = transformation(several)
    assert (way.algorithm, way.algorithms) == (None, ("noise-addition", "top-coding"))
    alone = transformation(
        anonymize([method("masking"), s("algorithm", ["top-coding"], "isAllOf"), of_age[0]])
    )
    assert alone == transformation(anonymize(TOP_CODING))
    assert errors(anonymize([method("masking"), both, of_age[0]])) == [("P411", "noise-addition")]
    mixed = s("algorithm", ["mdav", "mondrian"], "isAllOf")
    assert errors(anonymize([*K_ANONYMITY, mixed])) == [("P431", "mondrian")]
    assert errors(anonymize([method("masking"), s("algorithm", ["sampling", "mondrian"], "isAllOf"),
                             s("samplingRate", 0.5)])) == [("P431", "mondrian")]  # fmt: skip


def beside(*techniques: str) -> Json:
    return s("algorithm", ["mondrian", *techniques], "isAllOf")


AGE_CODED, AMOUNT_CODED = (of_column(name, s("topCode", 90)) for name in ("Age", "Amount"))


@pytest.mark.parametrize(
    "refinements",
    [
        [beside("top-coding", "sampling"), s("samplingRate", 0.5, "lteq"), AMOUNT, AMOUNT_CODED,
         of_column("ZIP", s("topCode", 9))],
        [beside("generalization"), AMOUNT, of_column("Amount", s("level", 1))],
        [beside("noise-addition", "attribute-suppression"), of_column("Age", s("noiseScale", 2)), NAME],
        [s("algorithm", ["incognito", "cell-suppression"], "isAllOf"),
         of_column("Age", s("minimumFrequency", 3))],
    ],
)  # fmt: skip
def test_techniques_stand_beside_an_algorithm_that_makes_classes(refinements: list[Json]) -> None:
    parsed = anonymize([*K_ANONYMITY, *refinements])
    assert (errors(parsed), warnings(parsed)) == ([], [])
    way = transformation(parsed)
    assert way.algorithm == refinements[0]["rightOperand"][0]  # type: ignore[index]
    assert len(way.algorithms) == len(refinements[0]["rightOperand"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refinements", "expected"),
    [
        ([s("algorithm", ["top-coding"], "isAllOf"), AGE_CODED], [("P431", "top-coding")]),
        ([beside("record-suppression"), of_column("Age", s("minimumFrequency", 3))],
         [("P431", "record-suppression")]),
        ([beside("top-codin"), AGE_CODED], [("P402", "top-codin")]),
        ([beside("sampling"), AGE_CODED, s("samplingRate", 0.5)], [("P423", "smalti:topCode")]),
        ([beside("noise-addition"), AMOUNT, of_column("Amount", s("noiseScale", 2))], [("P407", "Amount")]),
        ([beside("generalization"), of_column("ZIP", s("level", 1))], [("P407", "ZIP")]),
        ([beside("top-coding", "noise-addition"), AGE_CODED, of_column("Age", s("noiseScale", 2))],
         [("P407", "Age")]),
        ([beside("top-coding", "pseudonymization"), AGE_CODED, s("pseudonym", ["Age"], "isAllOf"),
          s("pseudonymKey", "cards")], [("P407", "Age")]),
        ([beside("top-coding", "bottom-coding"), AGE_CODED, of_column("Age", s("bottomCode", 90))],
         [("P429", "90")]),
        ([beside("top-coding"), s("released", ["Age"], "isAllOf"), AGE_CODED], [("P407", "Age")]),
    ],
)  # fmt: skip
def test_what_does_not_stand_beside_classes_is_refused_by_name(
    refinements: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert errors(anonymize([*K_ANONYMITY, *refinements])) == expected


def test_techniques_stand_beside_no_other_model() -> None:
    rate = s("samplingRate", 0.5)
    for wanted in (K_MAP, DELTA_PRESENCE):
        found = errors(anonymize([*wanted, beside("sampling"), rate]))
        assert found == [("P431", "sampling"), ("P423", "smalti:samplingRate")]
    with_groups = s("algorithm", ["anatomy", "sampling"], "isAllOf")
    rest = [each for each in ANATOMY if each != s("algorithm", "anatomy")]
    assert errors(anonymize([*rest, with_groups, rate])) == [("P431", "sampling")]


def test_what_contradicts_itself_is_found_without_data() -> None:
    both = s("algorithm", ["top-coding", "bottom-coding", "noise-addition"], "isAllOf")
    noise, low = of_column("Amount", s("noiseScale", 2)), of_column("Age", s("bottomCode", 95))
    released = s("released", ["Amount"], "isAllOf")
    found = errors(anonymize([method("masking"), both, AGE_CODED, low, noise, released]))
    assert sorted(found) == [("P407", "Amount"), ("P429", "95")]


@pytest.mark.parametrize(
    ("technique", "needed"),
    [
        ("global-recoding", s("intervalWidth", 5)),
        ("global-recoding", s("intervals", 5)),
        ("generalization", s("level", 1)),
        ("cell-suppression", s("minimumFrequency", 3)),
    ],
)
def test_a_technique_needs_what_says_how(technique: str, needed: Json) -> None:
    wanted = [method("masking"), s("algorithm", technique)]
    assert errors(anonymize(wanted)) == [("P411", technique)]
    assert errors(anonymize([*wanted, of_column("Age", needed)])) == []


def test_microaggregation_of_a_column_needs_k_and_a_figure() -> None:
    wanted = [method("masking"), s("algorithm", "mdav")]
    assert errors(anonymize([*wanted, K_OF_TEN])) == [("P411", "mdav")]
    assert errors(anonymize([*wanted, of_column("Age", s("outputForm", "mean"))])) == [("P411", "mdav")]
    assert errors(anonymize([*wanted, K_OF_TEN, of_column("Age", s("outputForm", "mean"))])) == []
    assert errors(anonymize([*wanted, K_OF_TEN, of_column("Age", s("distance", "equal"))])) == []
    assert errors(anonymize([*wanted, K_OF_TEN, s("distance", "equal")])) == [("P423", "smalti:distance")]
    both = [s("algorithm", ["mdav", "top-coding"], "isAllOf"), of_column("Age", s("topCode", 5))]
    near = of_column("Age", s("distance", "equal"))
    assert [code for code, _ in errors(anonymize([method("masking"), *both, K_OF_TEN, near]))] == ["P407"]
    assert errors(anonymize([method("masking"), s("algorithm", "pseudonymization")])) == [
        ("P411", "pseudonymization")
    ]


def test_forms_that_no_technique_has_and_labels_that_no_code_leaves_open() -> None:
    masking = [method("masking"), s("algorithm", "mdav"), K_OF_TEN]
    assert errors(anonymize([*masking, of_column("Age", s("outputForm", "range"))])) == [("P423", "range")]
    of_all = errors(
        anonymize([*masking, s("outputForm", "mean"), of_column("Age", s("distance", "equal"))])
    )
    assert of_all == [("P423", "smalti:outputForm")]
    levels = [method("masking"), s("algorithm", "generalization"), of_column("Age", s("level", 1))]
    for word, value in (("outputForm", "node"), ("labelBounds", "observed")):
        found = errors(anonymize([*levels, of_column("Age", s(word, value))]))
        assert found == [("P423", f"smalti:{word}")]
    ages = refinement("mosaicrown:quasi-identifier", "isAllOf", ["Age"])
    classes = [method("k-anonymity"), K_OF_TEN, ages, of_column("Age", s("topCode", 90))]
    beside = [*classes, s("algorithm", ["mondrian", "top-coding"], "isAllOf")]
    assert errors(anonymize(beside)) == []
    for word, value in (("outputForm", "mean"), ("outputForm", "prefix"), ("labelBounds", "region")):
        for stated in (s(word, value), of_column("Age", s(word, value))):
            assert errors(anonymize([*beside, stated])) == [("P407", value)]
    own = [s("outputForm", "mean"), of_column("Age", s("outputForm", "range"))]
    assert errors(anonymize([*beside, *own])) == []
    for maker in ("incognito", "mdav"):
        named = s("algorithm", [maker, "top-coding"], "isAllOf")
        assert [code for code, _ in errors(anonymize([*classes, named]))] == ["P407"]


def test_presence_needs_a_bound() -> None:
    rest = [r for r in DELTA_PRESENCE if r not in PRESENCE_BOUNDS]
    (found,) = anonymize(rest).errors
    assert (found.code, "`smalti:presence`" in found.message) == ("P411", True)


def test_what_differential_privacy_needs_is_any_of_three() -> None:
    for word, value in (("posteriorBelief", 0.75), ("membershipAdvantage", 0.2), ("epsilon", 0.5)):
        assert errors(anonymize([method("differential-privacy"), s(word, value, "lteq"), COUNTS])) == []
        assert errors(anonymize([method("local-differential-privacy"), s(word, value, "lteq")])) == []
    (found,) = anonymize([method("differential-privacy")]).errors
    assert "`smalti:epsilon` or `smalti:posteriorBelief` or `smalti:membershipAdvantage`" in found.message


@pytest.mark.parametrize(
    ("refinements", "expected"),
    [
        ([*K_ANONYMITY, L_OF_THREE], [("P409", "mosaicrown:l")]),
        ([*K_ANONYMITY, s("t", 0.2, "lteq")], [("P423", "smalti:t")]),
        ([*K_ANONYMITY, s("distance", "equal")], [("P423", "smalti:distance")]),
        ([*K_ANONYMITY, s("epsilon", 1, "lteq")], [("P423", "smalti:epsilon")]),
        ([*K_ANONYMITY, POPULATION], [("P423", "population")]),
        ([*K_ANONYMITY, s("diversity", "entropy")], [("P423", "smalti:diversity")]),
        ([*K_ANONYMITY, s("mechanism", "laplace")], [("P423", "smalti:mechanism")]),
        ([*T_CLOSENESS, L_OF_THREE], [("P423", "mosaicrown:l")]),
        ([*DIFFERENTIAL, K_OF_TEN], [("P423", "mosaicrown:k")]),
        ([*LOCAL, s("statistic", ["count"], "isAnyOf")], [("P423", "smalti:statistic")]),
        ([*LOCAL, s("groupBy", ["Shop"], "isAnyOf")], [("P423", "smalti:groupBy")]),
        ([*MASKING, K_OF_TEN], [("P423", "mosaicrown:k")]),
        ([*ANATOMY, K_OF_TEN], [("P423", "mosaicrown:k")]),
        ([*MASKING, s("samplingRate", 0.5)], [("P423", "smalti:samplingRate")]),
        ([*TOP_CODING, of_column("Age", s("bottomCode", 3))], [("P423", "smalti:bottomCode")]),
        (
            [*L_DIVERSITY, s("algorithm", "mdav"), s("partitioning", "strict")],
            [("P423", "smalti:partitioning")],
        ),
        ([*DIFFERENTIAL, s("mechanism", "laplace"), s("pixelSize", 4)], [("P423", "smalti:pixelSize")]),
        ([*LOCAL, s("mechanism", "laplace"), s("pixelSize", 4)], [("P423", "smalti:pixelSize")]),
        ([*L_DIVERSITY, s("diversity", "distinct"), s("c", 2)], [("P423", "smalti:c")]),
    ],
)
def test_a_word_that_does_not_go_with_the_method_is_refused(
    refinements: list[Json], expected: list[tuple[str, str]]
) -> None:
    parsed = anonymize(refinements)
    assert errors(parsed) == expected
    assert all(found.help for found in parsed.errors)


@pytest.mark.parametrize(
    ("refinements", "expected"),
    [
        ([*DIFFERENTIAL, s("posteriorBelief", 0.75, "lteq")], [("P428", "smalti:posteriorBelief")]),
        ([*LOCAL, s("membershipAdvantage", 0.5, "lteq")], [("P428", "smalti:membershipAdvantage")]),
        ([*DELTA_PRESENCE[:1], s("presence", 0.6, "gteq"), *DELTA_PRESENCE[2:]], [("P429", "0.5")]),
        ([*K_ANONYMITY, s("fragmentColumn", "Shop")], [("P436", "Shop")]),
        ([*K_ANONYMITY, s("dimensionality", "single"), s("partitioning", "relaxed")],
         [("P437", "relaxed")]),
        ([*K_ANONYMITY, s("dimensionality", "single"), s("cutScore", "entropy")], [("P437", "entropy")]),
        ([*K_ANONYMITY, s("dimensionality", "single"), s("fragmentColumn", "ZIP")], [("P437", "ZIP")]),
        ([*DIFFERENTIAL, s("mechanism", "gaussian")], [("P411", "gaussian")]),
        ([*DIFFERENTIAL, s("mechanism", "gaussian"), s("delta", 0, "lteq")], [("P435", "0")]),
        ([*DIFFERENTIAL, s("mechanism", "laplace"), s("delta", 1e-6, "lteq")], [("P435", "smalti:delta")]),
        ([*LOCAL, s("mechanism", "gaussian")], [("P411", "gaussian")]),
        ([*LOCAL, s("mechanism", "gaussian"), s("delta", 0, "lteq")], [("P435", "0")]),
        ([*LOCAL, s("mechanism", ["exponential", "gaussian"], "isAnyOf")], [("P411", "exponential")]),
        ([*LOCAL, s("mechanism", "exponential")], [("P435", "exponential")]),
        ([*LOCAL, s("mechanism", ["laplace", "randomized-response"], "isAnyOf"),
          s("delta", 1e-6, "lteq")], [("P435", "smalti:delta")]),
        ([*DIFFERENTIAL, s("mechanism", "randomized-response")], [("P435", "randomized-response")]),
        ([*DIFFERENTIAL, s("mechanism", "pixelation")], [("P435", "pixelation")]),
        ([*L_DIVERSITY, s("diversity", "recursive")], [("P411", "recursive")]),
        ([*L_DIVERSITY, s("c", 2)], [("P411", "smalti:c")]),
        ([*K_ANONYMITY, s("alpha", 0.5)], [("P411", "smalti:alpha")]),
        ([*K_ANONYMITY, s("pseudonym", ["Card"], "isAllOf")], [("P411", "smalti:pseudonym")]),
        ([*K_ANONYMITY, s("pseudonymKey", "cards")], [("P411", "smalti:pseudonymKey")]),
        ([*LOCAL, s("pixelSize", 4)], [("P411", "smalti:pixelSize")]),
        ([*LOCAL, s("mechanism", "pixelation")], [("P411", "{"), ("P411", "{")]),
        ([*K_ANONYMITY, s("algorithm", "anatomy")], [("P431", "anatomy")]),
        ([*K_ANONYMITY, s("algorithm", "sampling"), s("samplingRate", 0.5)],
         [("P431", "sampling")]),
        ([method("masking"), s("algorithm", "mondrian")], [("P431", "mondrian")]),
        ([*DIFFERENTIAL, s("algorithm", "mondrian")], [("P431", "mondrian")]),
        ([method("masking"), s("algorithm", "sampling")], [("P411", "sampling")]),
        ([method("masking"), s("algorithm", "noise-addition")], [("P411", "noise-addition")]),
    ],
)  # fmt: skip
def test_what_cannot_stand_together_is_refused(
    refinements: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert sorted(errors(anonymize(refinements))) == sorted(expected)


@pytest.mark.parametrize(
    "refinements",
    [
        [*DIFFERENTIAL, s("mechanism", "gaussian"), s("delta", 1e-6, "lteq")],
        [*DIFFERENTIAL, s("mechanism", ["gaussian", "laplace"], "isAnyOf"), s("delta", 1e-6, "lteq")],
        [*DIFFERENTIAL, s("mechanism", "laplace"), s("delta", 1e-6, "lteq"),
         s("groupBy", ["Shop"], "isAnyOf")],
        [*LOCAL, s("mechanism", "gaussian"), s("delta", 1e-6, "lteq")],
        [*LOCAL, s("mechanism", ["laplace", "gaussian"], "isAnyOf"), s("delta", 1e-6, "lteq")],
        [*LOCAL, s("delta", 1e-6, "lteq")],
        [*LOCAL, s("mechanism", "pixelation"), s("pixelSize", 4), s("pixelNeighborhood", 16)],
        [*LOCAL, s("mechanism", ["pixelation", "randomized-response"], "isAnyOf"),
         s("pixelSize", 4, "gteq"), s("pixelNeighborhood", 16, "gteq")],
        [*DIFFERENTIAL[:2], s("statistic", ["count", "mean"], "isAnyOf"),
         s("measure", ["Amount"], "isAnyOf"), s("groupBy", ["Shop"], "isAnyOf"),
         s("neighbors", "change-one"), s("rowsPerRespondent", 3, "lteq")],
        [*L_DIVERSITY, s("diversity", "recursive"), s("c", 2, "lteq")],
        [*K_ANONYMITY, AMOUNT, s("alpha", 0.5, "lteq")],
        [*K_ANONYMITY, s("pseudonym", ["Card"], "isAllOf"), s("pseudonymKey", "cards.2026")],
        [*K_ANONYMITY, s("dimensionality", "single"), s("partitioning", "strict"),
         s("cutScore", "certainty-penalty")],
        [*K_ANONYMITY, s("partitioning", "relaxed"), s("dimensionality", "multi"), s("cutScore", "entropy"),
         s("fragmentColumn", "ZIP"), s("suppressionLimit", 0.05, "lteq"), s("labelBounds", "region")],
        [*T_CLOSENESS, s("distance", "ordered"), of_column("Amount", s("t", 0.1, "lteq"))],
        [*K_ANONYMITY, s("outputForm", "set"), of_column("ZIP", s("outputForm", "prefix"))],
        [method("masking"), s("algorithm", "sampling"), s("samplingRate", 1)],
        [method("masking"), s("algorithm", "noise-addition"), s("noiseDistribution", "normal"),
         of_column("Amount", s("noiseScale", 2.5, "gteq"))],
        [method("masking"), s("algorithm", "bottom-coding"), of_column("Age", s("bottomCode", 18))],
        [*K_ANONYMITY, refinement("fileFormat", "eq", "text/csv")],
    ],
)  # fmt: skip
def test_what_goes_together_is_accepted(refinements: list[Json]) -> None:
    parsed = anonymize(refinements)
    assert errors(parsed) == []
    assert len(transformation(parsed).parameters) > 0


# --- Values


@pytest.mark.parametrize(
    ("word", "operator", "value", "expected"),
    [
        ("t", "lteq", 0, "P424"),
        ("t", "lteq", 1, "P424"),
        ("t", "lteq", "0.2", "P403"),
        ("t", "gteq", 0.2, "P406"),
        ("t", "lt", 0.2, "P405"),
        ("t", "isAnyOf", [0.2], "P405"),
        ("t", "lteq", [0.2, 0.3], "P304"),
        ("suppressionLimit", "lteq", 1, "P424"),
        ("suppressionLimit", "lteq", -0.1, "P424"),
        ("distance", "eq", "euclidean", "P402"),
        ("distance", "eq", 3, "P422"),
        ("distance", "neq", "equal", "P405"),
    ],
)
def test_values_and_operators_out_of_range(word: str, operator: str, value: Json, expected: str) -> None:
    rest = [r for r in T_CLOSENESS if r != T_CLOSENESS[2] or word != "t"]
    codes = [code for code, _ in errors(anonymize([*rest, s(word, value, operator)]))]
    assert codes == [expected]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("posteriorBelief", 0.5),
        ("posteriorBelief", 1),
        ("membershipAdvantage", 0),
        ("epsilon", 0),
        ("epsilon", -1),
    ],
)
def test_privacy_loss_out_of_range(name: str, value: float) -> None:
    assert [
        code for code, _ in errors(anonymize([method("differential-privacy"), s(name, value, "lteq")]))
    ] == ["P424"]


def test_numbers_are_exact() -> None:
    exact = "0.30000000000000000000000001"
    parsed = anonymize([*T_CLOSENESS[:2], s("t", 0.25, "lteq"), *T_CLOSENESS[3:]])
    text = parsed.text.replace("0.25", exact)
    from smalti.policy.read.parse import parse  # noqa: PLC0415

    (parameter,) = transformation(parse(text.encode(), "p")).parameters
    assert isinstance(parameter, Comparison)
    assert parameter.values == (Number(Decimal(exact)),)


@pytest.mark.parametrize("digits", ["1e-301", "1e-99999999", "1e300", "1e99999999"])
@pytest.mark.parametrize("is_typed", [False, True])
def test_no_number_of_a_few_characters_fills_the_memory(digits: str, *, is_typed: bool) -> None:
    parsed = anonymize([*T_CLOSENESS[:2], s("t", 0.25, "lteq"), *T_CLOSENESS[3:]])
    stated = f'{{"@value": "{digits}", "@type": "xsd:double"}}' if is_typed else digits
    from smalti.policy.read.parse import parse  # noqa: PLC0415

    found = [code for code, _ in errors(parse(parsed.text.replace("0.25", stated).encode(), "p"))]
    assert found == ["P106" if digits == "1e99999999" and not is_typed else "P424"]


def test_a_number_may_be_typed_by_its_type_or_by_the_data_type_of_the_refinement() -> None:
    typed = refinement("mosaicrown:k", "gteq", {"@value": "10", "@type": "xsd:integer"})
    by_data_type = refinement("mosaicrown:k", "gteq", "10", dataType="xsd:integer")
    plain = anonymize(K_ANONYMITY)
    for written in (typed, by_data_type):
        found = anonymize([K_ANONYMITY[0], written, ZIP])
        assert errors(found) == []
        assert transformation(found) == transformation(plain)


def test_a_data_type_that_contradicts_the_value_is_refused() -> None:
    wrong = refinement(
        "mosaicrown:k", "gteq", {"@value": "10", "@type": "xsd:integer"}, dataType="xsd:string"
    )
    assert [code for code, _ in errors(anonymize([K_ANONYMITY[0], wrong, ZIP]))] == ["P426"]


@pytest.mark.parametrize(
    "value",
    ["00112233445566778899aabbccddeeff", "dGhpcyBpcyBhIHNlY3JldCBrZXkh1", "two words", "",
     "-----BEGIN PRIVATE KEY-----", "a" * 65, 17],
)  # fmt: skip
def test_what_looks_like_a_key_is_no_name_of_one_and_is_not_repeated(value: Json) -> None:
    refinements = [*K_ANONYMITY, s("pseudonym", ["Card"], "isAllOf"), s("pseudonymKey", value)]
    (found,) = anonymize(refinements).errors
    assert found.code == "P430"
    assert not value or str(value) not in found.message + found.help


def test_a_repeated_word_is_refused_and_two_bounds_of_presence_are_not() -> None:
    assert errors(anonymize([*K_ANONYMITY, refinement("mosaicrown:k", "eq", 5)])) == [
        ("P412", "mosaicrown:k")
    ]
    both = transformation(anonymize(DELTA_PRESENCE)).parameters
    assert [p.operator for p in both if isinstance(p, Comparison) and p.operand == PRESENCE] == [
        Operator.GTEQ, Operator.LTEQ
    ]  # fmt: skip
    twice = [*DELTA_PRESENCE, s("presence", 0.7, "lteq")]
    assert errors(anonymize(twice)) == [("P412", "smalti:presence")]


# --- Roles


@pytest.mark.parametrize(
    "second",
    [
        refinement("mosaicrown:identifier", "isAllOf", ["ZIP"]),
        refinement("mosaicrown:sensitive", "isAllOf", ["ZIP"]),
        s("released", ["ZIP"], "isAllOf"),
        s("pseudonym", ["ZIP"], "isAllOf"),
    ],
)
def test_a_column_has_one_role(second: Json) -> None:
    key = [s("pseudonymKey", "cards")] if "pseudonym" in str(second) else []
    assert ("P407", "ZIP") in errors(anonymize([*K_ANONYMITY, second, *key]))


def test_a_dropped_column_is_in_no_statistic_and_has_no_parameter() -> None:
    dropped = refinement("mosaicrown:identifier", "isAllOf", ["Card"])
    measured = [*DIFFERENTIAL, dropped, s("measure", ["Card"], "isAnyOf")]
    assert errors(anonymize(measured)) == [("P407", "Card")]
    formed = [*K_ANONYMITY, dropped, of_column("Card", s("outputForm", "set"))]
    assert errors(anonymize(formed)) == [("P425", "Card")]


# --- Parameters of one column


def test_a_parameter_of_a_column_is_kept_with_its_column() -> None:
    (parameter,) = transformation(
        anonymize([*K_ANONYMITY, of_column("ZIP", s("outputForm", "prefix"))])
    ).parameters
    other_way = {"and": [s("outputForm", "prefix"), s("column", f"{TARGET}/ZIP")]}
    assert transformation(anonymize([*K_ANONYMITY, other_way])).parameters == (parameter,)
    assert isinstance(parameter, Logical)
    assert parameter.operator is LogicalOperator.AND
    assert parameter.operands == (
        Comparison(COLUMN, Operator.EQ, (Named(column_iri(IRI(TARGET), "ZIP")),)),
        Comparison(IRI(SMALTI + "outputForm"), Operator.EQ, (Text("prefix"),)),
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([s("column", "ZIP")], ("P425", "smalti:column")),
        ([{"and": [s("column", "ZIP")]}], ("P425", "{")),
        ([{"and": [s("outputForm", "set")]}], ("P425", "{")),
        ([of_column("ZIP", s("outputForm", "set"), s("labelBounds", "region"))], ("P425", "{")),
        ([{"and": [s("column", "ZIP"), s("column", "Age"), s("outputForm", "set")]}], ("P425", "{")),
        ([of_column("ZIP", s("suppressionLimit", 0.1))], ("P425", "smalti:suppressionLimit")),
        ([of_column("ZIP", refinement("fileFormat", "eq", "text/csv"))], ("P425", "fileFormat")),
        ([{"or": [s("column", "ZIP"), s("outputForm", "set")]}], ("P425", "or")),
        ([{"xone": [K_OF_TEN]}], ("P425", "xone")),
        ([of_column("ZIP", {"and": [s("outputForm", "set")]})], ("P425", "{")),
        ([of_column("ZIP", s("outputForm", "set")), of_column("ZIP", s("outputForm", "node"))],
         ("P412", "smalti:outputForm")),
    ],
)  # fmt: skip
def test_an_and_among_the_refinements_is_about_one_column_and_one_parameter(
    more: list[Json], expected: tuple[str, str]
) -> None:
    assert errors(anonymize([*K_ANONYMITY, *more])) == [expected]


def test_a_parameter_that_only_a_column_has_needs_its_column() -> None:
    parsed = anonymize([method("masking"), s("algorithm", "top-coding"), s("topCode", 90)])
    assert errors(parsed) == [("P425", "smalti:topCode")]
    assert "smalti:column" in parsed.errors[0].help


def test_a_top_code_is_a_number_or_a_date() -> None:
    day = {"@value": "2026-05-01", "@type": "xsd:date"}
    refinements = [*TOP_CODING[:2], of_column("BirthDate", s("topCode", day))]
    assert errors(anonymize(refinements)) == []
    assert errors(anonymize([*TOP_CODING[:2], of_column("Age", s("topCode", "old"))])) == [("P433", "old")]


# --- Words of other places


@pytest.mark.parametrize(
    ("written", "help_"),
    [
        (s("budgetEpsilon", 1, "lteq"), "`constraint` of the rule"),
        (refinement("purpose", "eq", "marketing"), "`constraint` of the rule"),
        (refinement("odrl:purpose", "eq", "marketing"), "`constraint` of the rule"),
        (s("epochs", 10), "`smalti:train`"),
        (s("attackAdvantage", 0.1, "lteq"), "`smalti:audit`"),
    ],
)
def test_a_word_of_another_place_or_action_is_refused(written: Json, help_: str) -> None:
    (found,) = anonymize([*K_ANONYMITY, written]).errors
    assert (found.code, help_ in found.help) == ("P419", True)


# --- What is not implemented yet

FILE_FORMAT = refinement("fileFormat", "eq", "text/csv")


def test_words_that_no_run_understands_are_named_with_their_places() -> None:
    wanted = transformation(
        anonymize([
            method("k-anonymity"), K_OF_TEN, ZIP, FILE_FORMAT, refinement("language", "eq", "en"),
        ])
    )  # fmt: skip
    found = unimplemented_words(wanted)
    assert [name for name, _ in found] == ["`odrl:fileFormat`", "`odrl:language`"]
    assert all(where.line > 0 for _, where in found)
    assert len({where.line for _, where in found}) == 2


def test_words_that_a_run_understands_are_not_named() -> None:
    assert unimplemented_words(transformation(anonymize(L_DIVERSITY))) == ()
    assert unimplemented_words(transformation(anonymize([*L_DIVERSITY, s("algorithm", "mondrian")]))) == ()


def test_a_document_with_them_is_valid_and_a_note_says_so() -> None:
    parsed = anonymize([*L_DIVERSITY, FILE_FORMAT])
    assert parsed.is_valid
    notes = [found for found in parsed.diagnostics if found.severity is Severity.NOTE]
    assert [note.code for note in notes] == ["P391"]
    assert "fileFormat" in notes[0].message


def test_the_words_of_a_remedy_that_a_request_may_name_are_noted() -> None:
    action = [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [*L_DIVERSITY, FILE_FORMAT]}]
    remedy = {"action": action, "output": "http://example.com/anon"}
    told = {"action": "odrl:inform"}
    for remedies, words in (([remedy, told], ("fileFormat",)), ([told], ())):
        no = {"target": TARGET, "action": "odrl:use", "remedy": remedies}
        notes = [one for one in document({"prohibition": [no]}).diagnostics if one.code == "P391"]
        assert bool(notes) is bool(words)
        assert all(word in notes[0].message for word in words)


# --- Every word of the table


def _value_for(word: Word) -> Json:
    match word.range:
        case Range.NAME:
            return word.names[0] if word.names else "some-name"
        case Range.INTEGER:
            return 4
        case Range.DECIMAL:
            return 0.75
        case Range.COLUMN | Range.COLUMNS:
            return "ZIP" if word.name == "fragmentColumn" else "Extra"
        case Range.DATASET:
            return {"@id": "http://example.com/Register"}
    return 7


REFINEMENTS = [
    word
    for word in WORDS
    if word.kind is Kind.REFINEMENT and word.iri != COLUMN and "anonymize" in str(sorted(word.actions))
]


BESIDE: dict[str, list[Json]] = {
    "c": [s("diversity", "recursive")],
    "alpha": [AMOUNT],
    "suppressedRecords": [s("suppressionLimit", 0.05, "lteq")],
    "pseudonym": [s("pseudonymKey", "cards")],
    "pseudonymKey": [s("pseudonym", ["Card"], "isAllOf")],
    "noiseDistribution": [of_column("Amount", s("noiseScale", 2))],
    "pixelSize": [s("mechanism", "pixelation"), s("pixelNeighborhood", 16)],
    "pixelNeighborhood": [s("mechanism", "pixelation"), s("pixelSize", 4)],
}
"""What a word needs beside what its method and its algorithm need."""
LOSSES = {"epsilon", "posteriorBelief", "membershipAdvantage"}


def _operand(one: Json) -> str:
    return str(one.get("leftOperand", "")).rpartition(":")[2] if isinstance(one, dict) else ""


def bases(word: Word) -> Iterator[list[Json]]:
    """The refinements of each method and algorithm that the word goes with, and without the word."""
    for name in METHODS:
        if word.methods and name not in word.methods:
            continue
        fitting = [a for a in sorted(word.algorithms) if name in ALGORITHM_METHODS[a]]
        for algorithm in fitting or [None]:
            named = [] if algorithm is None else [s("algorithm", algorithm)]
            without = {word.name} | ({"algorithm"} if named else set())
            without |= LOSSES if word.name in LOSSES else set()
            without |= {"k"} if algorithm == "anatomy" else set()
            beside = [r for r in BESIDE.get(word.name, []) if r not in BY_METHOD[name]]
            yield [r for r in BY_METHOD[name] if _operand(r) not in without] + named + beside


@pytest.mark.parametrize("word", REFINEMENTS, ids=lambda word: word.name)
def test_each_word_is_understood_where_it_belongs(word: Word) -> None:
    """No word of the table is ignored: it changes what is read, or is refused for what it needs."""
    accepted = 0
    for base in bases(word):
        for operator in sorted(word.operators):
            stated: Json = refinement(word.iri, operator, _value_for(word))
            if word.scope is Scope.COLUMN:
                stated = of_column("ZIP", stated)
            with_it, without = anonymize([*base, stated]), anonymize(base)
            codes = {code for code, _ in errors(with_it)}
            assert codes <= {"P408", "P409", "P411", "P417", "P423", "P431"}, (base, operator, codes)
            if with_it.is_valid and without.is_valid:
                assert transformation(with_it) != transformation(without)
            accepted += with_it.is_valid
    assert accepted > 0


@settings(max_examples=examples(60), deadline=None)
@given(
    chosen=st.lists(st.sampled_from(REFINEMENTS), max_size=5),
    base=st.sampled_from(sorted(BY_METHOD)),
    data=st.data(),
)
def test_no_combination_is_half_understood(chosen: list[Word], base: str, data: st.DataObject) -> None:
    """Whatever is accepted holds every word that was written."""
    written: list[Json] = []
    for word in chosen:
        operator = data.draw(st.sampled_from(sorted(word.operators)))
        stated: Json = refinement(word.iri, operator, _value_for(word))
        in_column = word.scope is Scope.COLUMN or (word.scope is Scope.EITHER and data.draw(st.booleans()))
        written.append({"and": [s("column", "ZIP"), stated]} if in_column else stated)
    parsed = anonymize([*BY_METHOD[base], *written])
    if parsed.is_valid:
        kept = repr(transformation(parsed))
        assert all(word.iri in kept or word.iri.startswith("https://www.mosaicrown.eu/") or
                   word.name in {"released", "respondent", "algorithm"} for word in chosen)  # fmt: skip
    assert parsed.is_valid or parsed.errors
