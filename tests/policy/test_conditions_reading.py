"""Constraints and refinements as typed conditions: values, operators, logic, purposes, columns."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from written import (
    TARGET,
    Json,
    anonymize,
    constraint,
    document,
    errors,
    granted,
    permission,
    read,
    refinement,
    transformation,
    warnings,
)

from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
    Value,
)
from smalti.policy.read.parse import require
from smalti.vocab.odrl import LEFT_OPERAND_KINDS, OPERATORS, OPERATORS_OF, OPERATORS_OF_PERIODS, Measured
from smalti.vocab.terms import DPV, IRI, MARKETING, MOSAICROWN, ODRL, ODRL_PURPOSE, STATISTICAL

OPENED = {"@value": "2026-05-01", "@type": "xsd:date"}


def comparison(written: Json) -> Comparison:
    found = constraint(read(written))
    assert isinstance(found, Comparison)
    return found


def value(written: Json, operand: str = "absolutePosition") -> Value:
    (only,) = comparison(refinement(operand, "eq", written)).values
    return only


# --- Values


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (7, Number(Decimal(7))),
        (1e-6, Number(Decimal("0.000001"))),
        (7.0, Number(Decimal(7))),
        (True, Truth(True)),
        ("seven", Text("seven")),
        ({"@id": "http://example.com/x"}, Named(IRI("http://example.com/x"))),
        ({"@value": "7", "@type": "xsd:integer"}, Number(Decimal(7))),
        ({"@value": " 7.50 ", "@type": "xsd:decimal"}, Number(Decimal("7.5"))),
        ({"@value": "1e3", "@type": "xsd:double"}, Number(Decimal(1000))),
        ({"@value": 7, "@type": "xsd:decimal"}, Number(Decimal(7))),
        ({"@value": "1", "@type": "xsd:boolean"}, Truth(True)),
        ({"@value": "x", "@type": "xsd:string"}, Text("x")),
        ({"@value": "http://example.com/x", "@type": "xsd:anyURI"}, Named(IRI("http://example.com/x"))),
        ({"@value": "P30D", "@type": "xsd:duration"}, Text("P30D")),
        (OPENED, Day(date(2026, 5, 1))),
        ({"@value": "2026-05-01T12:00:00", "@type": "xsd:dateTime"}, Instant(datetime(2026, 5, 1, 12))),
        (
            {"@value": "2026-05-01T12:00:00.5Z", "@type": "xsd:dateTime"},
            Instant(datetime(2026, 5, 1, 12, 0, 0, 500_000, UTC)),
        ),
        (
            {"@value": "2026-05-01T12:00:00-05:30", "@type": "xsd:dateTimeStamp"},
            Instant(datetime(2026, 5, 1, 12, tzinfo=timezone(-timedelta(hours=5, minutes=30)))),
        ),
    ],
)
def test_values_have_the_type_that_the_document_gives_them(written: Json, expected: Value) -> None:
    assert value(written) == expected


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("ten", "integer"), ("1.5", "integer"), ("1_000", "integer"), ("", "decimal"), ("NaN", "double"),
        ("INF", "double"), ("1e9999", "double"), ("yes", "boolean"), ("2026-02-30", "date"),
        ("2026-5-1", "date"), ("2026-05-01Z", "date"), ("01.05.2026", "date"), ("2026-05-01", "dateTime"),
        ("2026-05-01T24:00:00", "dateTime"), ("2026-05-01T12:00", "dateTime"),
        ("2026-05-01T12:00:00+14:30", "dateTime"), ("20260501T120000", "dateTime"),
        ("2026-05-01T12:00:00", "dateTimeStamp"), ("P", "duration"), ("PT", "duration"),
        ("P1H", "duration"), ("30 days", "duration"), ("1" * 65, "integer"), ("x", "hexBinary"),
        ("x", "strng"), ("١٢", "integer"),
    ],
)  # fmt: skip
def test_ill_typed_values_are_refused(text: str, datatype: str) -> None:
    written = {"@value": text, "@type": f"xsd:{datatype}"}
    assert [code for code, _ in errors(read(refinement("absolutePosition", "eq", written)))] == ["P426"]


def test_a_number_that_is_not_whole_is_no_integer() -> None:
    written = {"@value": 1.5, "@type": "xsd:integer"}
    assert errors(read(refinement("payAmount", "eq", written))) == [("P426", "1.5")]


def test_a_text_in_a_language_is_compared_with_nothing() -> None:
    written = {"@value": "rouge", "@language": "fr"}
    assert [code for code, _ in errors(read(refinement("product", "eq", written)))] == ["P426"]


def test_the_data_type_of_a_constraint_types_its_values() -> None:
    for key in ("dataType", "http://www.w3.org/ns/odrl/2/datatype"):
        written = {**refinement("dateTime", "lt", "2026-05-01"), key: "xsd:date"}
        assert comparison(written).values == (Day(date(2026, 5, 1)),)
    unknown = {**refinement("dateTime", "lt", "2026-05-01"), "dataType": "xyz:date"}
    assert [code for code, _ in errors(read(unknown))] == ["P211"]
    both = {**refinement("dateTime", "lt", OPENED), "dataType": "xsd:dateTime"}
    assert [code for code, _ in errors(read(both))] == ["P426"]


def test_several_values_are_a_sorted_set() -> None:
    parsed = read(refinement("fileFormat", "isAnyOf", ["text/csv", "a", "text/csv", {"@id": "urn:x:y"}]))
    found = constraint(parsed)
    assert isinstance(found, Comparison)
    assert found.values == (Named(IRI("urn:x:y")), Text("a"), Text("text/csv"))
    assert [code for code, _ in warnings(parsed)] == ["P504"]


def test_a_list_is_read_as_a_set() -> None:
    listed = comparison(refinement("fileFormat", "isAllOf", {"@list": ["b", "a"]}))
    assert listed == comparison(refinement("fileFormat", "isAllOf", ["a", "b"]))


@pytest.mark.parametrize("operator", ["eq", "neq", "gt", "isA", "isPartOf"])
def test_operators_of_one_value_take_one(operator: str) -> None:
    parsed = read(refinement("absolutePosition", operator, [1, 2]))
    assert [code for code, _ in errors(parsed)] == ["P304"]


# --- ODRL's left operands


SAMPLES: dict[Measured, tuple[list[Json], list[Json]]] = {
    Measured.WHOLE_NUMBER: ([5, 0], ["5", 1.5, -1, OPENED, True, {"@id": "urn:x:y"}]),
    Measured.NUMBER: ([5, 1.5], ["5", OPENED]),
    Measured.PERCENTAGE: ([0, 50.5, 100], [-0.1, 100.1, "half"]),
    Measured.MOMENT: ([OPENED, "2026-05-01"], ["soon", 2026, {"@id": "urn:x:y"}]),
    Measured.DURATION: (["P30D", {"@value": "PT1H", "@type": "xsd:duration"}], [30, OPENED]),
    Measured.IDENTIFIED: (
        [
            {"@id": "http://example.com/x"},
            "http://example.com/x",
            {"@value": "urn:x:y", "@type": "xsd:anyURI"},
        ],
        ["DE", 3],
    ),
    Measured.NAMED: (["text/csv", {"@id": "http://example.com/x"}], [3, OPENED]),
    Measured.TEXT: (["11.1 46.2"], [3]),
    Measured.VERSION: (["2a", 2.1], [OPENED]),
    Measured.EVENT: ([{"@id": "odrl:policyUsage"}, OPENED], [3, "FIFA"]),
    Measured.ANY: ([3, "x", OPENED], []),
}


@pytest.mark.parametrize("name", sorted(set(LEFT_OPERAND_KINDS) - {"purpose"}))
def test_each_left_operand_takes_its_kind_of_value_and_no_other(name: str) -> None:
    good, bad = SAMPLES[LEFT_OPERAND_KINDS[name]]
    for one in good:
        found = comparison(refinement(f"odrl:{name}", "eq", one))
        assert (found.operand, found.operator) == (ODRL + name, Operator.EQ)
    for one in bad:
        codes = [code for code, _ in errors(read(refinement(name, "eq", one)))]
        assert codes in (["P433"], ["P426"]), one


@pytest.mark.parametrize("name", sorted(set(LEFT_OPERAND_KINDS) - {"purpose"}))
def test_each_left_operand_takes_the_operators_that_make_sense(name: str) -> None:
    kind = LEFT_OPERAND_KINDS[name]
    allowed = OPERATORS_OF_PERIODS.get(name, OPERATORS_OF[kind])
    sample = 3 if kind in {Measured.VERSION, Measured.ANY} else SAMPLES[kind][0][0]
    for operator in sorted(OPERATORS):
        parsed = read(refinement(name, operator, sample))
        assert [code for code, _ in errors(parsed)] == ([] if operator in allowed else ["P405"]), operator
        assert parsed.is_valid or parsed.errors[0].help


def test_a_text_has_no_order() -> None:
    parsed = read(refinement("version", "gteq", "2.0"))
    assert errors(parsed) == [("P427", "2.0")]
    parsed = read(refinement(f"{TARGET}/age", "gteq", "18"))
    assert errors(parsed) == [("P427", "18")]
    assert parsed.errors[0].help == "write 18, without quotes"


def test_a_unit_is_kept_where_numbers_are_counted_and_refused_elsewhere() -> None:
    for unit in ("http://example.com/euro", {"@id": "http://example.com/euro"}):
        found = comparison({**refinement("payAmount", "lteq", 5), "unit": unit})
        assert found.unit == "http://example.com/euro"
    for name, one in (("dateTime", OPENED), ("purpose", "marketing"), (f"{TARGET}/age", 3)):
        parsed = read({**refinement(name, "eq", one), "unit": "http://example.com/euro"})
        assert errors(parsed) == [("P434", "unit")]


def test_a_status_is_refused_by_name() -> None:
    parsed = read({**refinement("count", "lteq", 5), "status": 3})
    assert errors(parsed) == [("P390", "status")]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"leftOperand": "count", "operator": "lteq"}, ("P308", "{")),
        ({"leftOperand": "count", "rightOperand": 5}, ("P308", "{")),
        ({"operator": "lteq", "rightOperand": 5}, ("P308", "{")),
        (refinement("count", "lteq", []), ("P421", "rightOperand")),
        (refinement("count", "atMost", 5), ("P306", "atMost")),
        (refinement("cuont", "lteq", 5), ("P307", "cuont")),
        (refinement("age", "gteq", 18), ("P307", "age")),
        (refinement("mosaicrown:kk", "eq", 5), ("P307", "mosaicrown:kk")),
        ({**refinement("count", ["lteq", "gteq"], 5)}, ("P304", "operator")),
        ("http://example.com/c", ("P311", "http://example.com/c")),
        (3, ("P308", "3")),
        ({"@id": "http://example.com/c"}, ("P311", "http://example.com/c")),
        ({**refinement("count", "lteq", 5), "@type": "Duty"}, ("P320", "Duty")),
        ({**refinement("count", "lteq", 5), "refinement": 3}, ("P309", "refinement")),
        ({"leftOperand": "count", "operator": "lteq", "rightOperandReference": "http://example.com/5"},
         ("P321", "rightOperandReference")),
    ],
)  # fmt: skip
def test_what_is_no_constraint_is_refused(written: Json, expected: tuple[str, str]) -> None:
    assert errors(read(written)) == [expected]


def test_several_constraints_all_hold() -> None:
    found = granted(read([refinement("count", "lteq", 5), refinement("dateTime", "lt", OPENED)]))
    assert [one.operand for one in found.constraints if isinstance(one, Comparison)] == [
        ODRL + "count", ODRL + "dateTime"
    ]  # fmt: skip


# --- Logical constraints


COUNT = refinement("count", "lteq", 5)
BEFORE = refinement("dateTime", "lt", OPENED)


@pytest.mark.parametrize("operator", ["and", "or", "xone"])
def test_logical_constraints(operator: str) -> None:
    found = constraint(read({operator: [COUNT, {"or": [BEFORE, {"and": [COUNT]}]}]}))
    assert isinstance(found, Logical)
    assert found.operator is LogicalOperator(operator)
    first, second = found.operands
    assert isinstance(first, Comparison)
    assert isinstance(second, Logical)
    assert isinstance(second.operands[1], Logical)


def test_a_sequence_keeps_its_order() -> None:
    found = constraint(read({"andSequence": {"@list": [COUNT, BEFORE]}}))
    turned = constraint(read({"andSequence": {"@list": [BEFORE, COUNT]}}))
    assert isinstance(found, Logical)
    assert isinstance(turned, Logical)
    assert found.operands == turned.operands[::-1]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"and": [COUNT], "or": [BEFORE]}, [("P432", "or")]),
        ({"and": [BEFORE], **COUNT}, [("P432", "leftOperand")]),
        ({"and": [COUNT, COUNT]}, [("P432", "{")]),
        ({"andSequence": [COUNT, BEFORE]}, [("P432", "andSequence")]),
        ({"and": []}, [("P421", "and")]),
        ({"and": ["urn:c1"]}, [("P308", "urn:c1")]),
        ({"and": [{"@id": "urn:c:1"}]}, [("P311", "urn:c:1")]),
        ({"and": [COUNT, refinement("count", "lteq", "5")]}, [("P433", "5")]),
        ({"xone": [refinement("cuont", "lteq", 5), BEFORE]}, [("P307", "cuont")]),
    ],
)
def test_malformed_logical_constraints(written: Json, expected: list[tuple[str, str]]) -> None:
    assert errors(read(written)) == expected


# --- Purposes


@pytest.mark.parametrize(
    "operand",
    ["purpose", "odrl:purpose", "mosaicrown:purpose", "https://w3id.org/dpv/odrl#Purpose",
     "dpv-odrl:Purpose", "https://w3id.org/dpv/mappings/odrl#Purpose", "http://localhost:8000/ns/mosaicrown/purpose"],
)  # fmt: skip
def test_every_spelling_of_the_purpose_is_one_operand(operand: str) -> None:
    found = comparison(refinement(operand, "isA", "marketing"))
    assert found == Comparison(ODRL_PURPOSE, Operator.IS_A, (Named(MARKETING),))


def test_the_property_of_mosaicrown_is_a_limit_to_any_of_its_values() -> None:
    for written in ("marketing", ["marketing"], {"@id": "mosaicrown:marketing"}, f"{MOSAICROWN}marketing"):
        assert constraint(permission(action="odrl:read", purpose=written)) == Comparison(
            ODRL_PURPOSE, Operator.IS_ANY_OF, (Named(MARKETING),)
        )
    several = constraint(permission(action="odrl:read", purpose=["statistical", "marketing"]))
    assert several == Comparison(ODRL_PURPOSE, Operator.IS_ANY_OF, (Named(MARKETING), Named(STATISTICAL)))


@pytest.mark.parametrize(
    "written", ["dpv:DirectMarketing", {"@id": "dpv:DirectMarketing"}, f"{DPV}DirectMarketing"]
)
def test_purposes_of_dpv(written: Json) -> None:
    parsed = read(refinement("purpose", "eq", written))
    assert (errors(parsed), warnings(parsed)) == ([], [])
    found = constraint(parsed)
    assert isinstance(found, Comparison)
    assert found.values == (Named(IRI(DPV + "DirectMarketing")),)


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_operators_of_purposes(operator: str) -> None:
    parsed = read(refinement("purpose", operator, "marketing"))
    allowed = {"eq", "neq", "isA", "isPartOf", "isAnyOf", "isNoneOf", "isAllOf"}
    assert [code for code, _ in errors(parsed)] == ([] if operator in allowed else ["P405"])


@pytest.mark.parametrize(
    ("written", "code", "help_"),
    [
        ("marketting", "P415", "did you mean `marketing`?"),
        ("mosaicrown:marketting", "P415", "did you mean `marketing`?"),
        ("dpv:DirectMarketng", "P415", "did you mean `dpv:DirectMarketing`?"),
        (f"{DPV}Nonsense", "P415", "or a purpose of DPV"),
        ("Marketing", "P415", "did you mean `dpv:Marketing`?"),
        ("smalti:marketing", "P415", "did you mean `marketing`?"),
        ("spying", "P415", "or a purpose of DPV"),
        ("xyz:spying", "P211", "prefix"),
        (3, "P314", ""),
        ({"@value": "marketing", "@language": "en"}, "P314", ""),
    ],
)
def test_purposes_that_are_none(written: Json, code: str, help_: str) -> None:
    (found,) = read(refinement("purpose", "eq", written)).errors
    assert found.code == code
    assert help_ in found.help


def test_a_purpose_of_another_vocabulary_is_pointed_out() -> None:
    parsed = read(refinement("purpose", "eq", {"@id": "http://example.com/purpose/lottery"}))
    assert errors(parsed) == []
    assert warnings(parsed) == [("P507", "http://example.com/purpose/lottery")]
    assert constraint(parsed) == Comparison(
        ODRL_PURPOSE, Operator.EQ, (Named(IRI("http://example.com/purpose/lottery")),)
    )


def test_purposes_in_several_places_all_hold() -> None:
    found = granted(read(refinement("purpose", "neq", "statistical"), purpose="marketing"))
    assert len(found.constraints) == 2


# --- Columns


def test_a_column_of_the_target_limits_the_rows() -> None:
    parsed = read(refinement(f"{TARGET}/age", "gteq", 18))
    assert (errors(parsed), warnings(parsed)) == ([], [])
    found = constraint(parsed)
    assert isinstance(found, ColumnComparison)
    assert (found.column.iri, found.operator, found.values) == (
        f"{TARGET}/age", Operator.GTEQ, (Number(Decimal(18)),)
    )  # fmt: skip


def test_an_iri_of_the_web_may_be_a_column_and_is_unknown_otherwise() -> None:
    parsed = read(refinement("http://example.org/terms/age", "gteq", 18))
    assert errors(parsed) == []
    assert warnings(parsed) == [("P508", "http://example.org/terms/age")]


@pytest.mark.parametrize(
    "operand", ["https://w3id.org/dpv#Marketing", "dct:valid", "smalti:nothing", "odrl:use"]
)
def test_a_word_is_no_column(operand: str) -> None:
    assert [code for code, _ in errors(read(refinement(operand, "eq", 18)))] == ["P307"]


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_operators_of_columns(operator: str) -> None:
    parsed = read(refinement(f"{TARGET}/age", operator, 18))
    refused = {"isA", "hasPart", "isPartOf", "isAllOf"}
    assert [code for code, _ in errors(parsed)] == (["P405"] if operator in refused else [])


def test_a_column_in_a_logical_constraint() -> None:
    adult = refinement(f"{TARGET}/age", "gteq", 18)
    found = constraint(read({"or": [adult, refinement(f"{TARGET}/sex", "eq", "female")]}))
    assert isinstance(found, Logical)
    assert all(isinstance(one, ColumnComparison) for one in found.operands)


# --- Words at other places


def test_a_budget_is_a_constraint_of_a_rule() -> None:
    found = comparison(refinement("smalti:budgetEpsilon", "lteq", 2.5))
    assert found.values == (Number(Decimal("2.5")),)
    for operator, amount, code in (("gteq", 2, "P406"), ("eq", 2, "P405"), ("lteq", -1, "P424")):
        parsed = read(refinement("smalti:budgetEpsilon", operator, amount))
        assert [code for code, _ in errors(parsed)] == [code]


def test_a_refinement_is_no_constraint() -> None:
    parsed = read(refinement("mosaicrown:k", "gteq", 10))
    assert errors(parsed) == [("P419", "mosaicrown:k")]
    assert "refinement" in parsed.errors[0].help


def refined(action: str, *refinements: Json) -> dict[str, Json]:
    return {"rdf:value": {"@id": action}, "refinement": list(refinements)}


def test_refinements_of_other_actions_are_conditions() -> None:
    parsed = permission(action=[refined("odrl:distribute", refinement("fileFormat", "eq", "text/csv"))])
    (found,) = granted(parsed).refinements
    assert found == Comparison(IRI(ODRL + "fileFormat"), Operator.EQ, (Text("text/csv"),))


@pytest.mark.parametrize(
    "written",
    [refinement("purpose", "eq", "marketing"), refinement("smalti:budgetEpsilon", "lteq", 1)],
)
def test_what_limits_a_rule_refines_no_action(written: Json) -> None:
    parsed = permission(action=[refined("odrl:distribute", written)])
    assert [code for code, _ in errors(parsed)] == ["P419"]


def prohibition(*refinements: Json) -> list[tuple[str, str]]:
    return errors(
        document({"prohibition": [{"target": TARGET, "action": [refined("odrl:anonymize", *refinements)]}]})
    )


def test_a_prohibition_may_bound_from_any_side() -> None:
    assert prohibition(refinement("mosaicrown:k", "lt", 5)) == []
    assert prohibition(refinement("mosaicrown:method", "isNoneOf", ["l-diversity", "k-anonymity"])) == []
    assert prohibition(refinement("smalti:released", "isAnyOf", ["ZIP"])) == []
    assert prohibition(refinement("mosaicrown:k", "isA", 5)) == [("P405", "isA")]
    assert prohibition(refinement("mosaicrown:method", "eq", "k-anonimity")) == [("P401", "k-anonimity")]


def test_a_party_is_refined_by_facts_of_any_vocabulary() -> None:
    group = {
        "@type": "PartyCollection", "source": "http://example.com/staff",
        "refinement": [refinement("http://example.com/terms/grade", "gteq", 3)],
    }  # fmt: skip
    parsed = permission(action="odrl:read", assignee=group)
    assert (errors(parsed), warnings(parsed)) == ([], [("P508", "http://example.com/terms/grade")])
    (found,) = granted(parsed).assignees[0].refinements
    assert found == Comparison(IRI("http://example.com/terms/grade"), Operator.GTEQ, (Number(Decimal(3)),))


def test_a_collection_of_assets_is_refined_by_its_columns() -> None:
    part = {
        "@type": "AssetCollection", "source": TARGET,
        "refinement": [refinement(f"{TARGET}/age", "gteq", 18)],
    }  # fmt: skip
    parsed = permission(action="odrl:read", target=part)
    assert (errors(parsed), warnings(parsed)) == ([], [])
    (found,) = granted(parsed).targets[0].refinements
    assert isinstance(found, ColumnComparison)


def test_a_bare_column_of_several_targets_is_refused() -> None:
    action = [refined("smalti:train", refinement("smalti:labelColumn", "eq", "Illness"))]
    rule = {"target": [TARGET, "http://example.com/Order"], "action": action}
    assert errors(document({"prohibition": [rule]})) == [("P416", "Illness")]


# --- Nothing raises


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["marketing", "xsd:date", "2026-05-01", "odrl:purpose", "http://example.com/x",
                       "count",
                       "eq", "isAnyOf", "gteq", "dateTime", "smalti:epsilon", "mosaicrown:k", "P1D"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(
        st.sampled_from(["leftOperand", "operator", "rightOperand", "unit", "dataType", "and", "or", "xone",
                         "andSequence", "@list", "@set", "@value", "@type", "@id", "@language", "status"]),
        below, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(VALUES)
@example(
    {"leftOperand": "count", "operator": "eq", "rightOperand": {"@value": "1" * 70, "@type": "xsd:integer"}}
)
@example({"leftOperand": "count", "operator": "eq", "rightOperand": 1e300})
@example(
    {
        "leftOperand": "payAmount",
        "operator": "eq",
        "rightOperand": {"@value": "1e999", "@type": "xsd:double"},
    }
)
@example({"and": [{"and": [{"and": []}]}]})
def test_whatever_stands_in_a_constraint_is_read_or_reported(written: Json) -> None:
    parsed = read(written)
    if parsed.is_valid:
        require(parsed)
    else:
        assert parsed.policies == ()


# --- One column, spelled in several ways

ENCODED = IRI(f"{TARGET}/Gr%C3%B6%C3%9Fe")
SPELLINGS = ["Größe", f"{TARGET}/Größe", f"{TARGET}/Gr%C3%B6%C3%9Fe", f"{TARGET}/Gr%c3%b6%c3%9fe"]
K_PROMISE = [
    refinement("mosaicrown:method", "eq", "k-anonymity"), refinement("mosaicrown:k", "gteq", 10),
    refinement("mosaicrown:quasi-identifier", "isAllOf", ["ZIP"]),
]  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_column_has_one_spelling_in_its_role(spelled: str) -> None:
    way = transformation(anonymize([*K_PROMISE, refinement("smalti:released", "isAllOf", [spelled])]))
    assert [column.iri for column in way.released] == [ENCODED]


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_column_has_one_spelling_as_parameter_of_what_is_forbidden(spelled: str) -> None:
    action = [{"rdf:value": {"@id": "odrl:anonymize"},
               "refinement": refinement("smalti:released", "isAnyOf", [spelled])}]  # fmt: skip
    rule = {"assignee": "http://example.com/acme", "target": TARGET, "action": action}
    (forbidden,) = require(document({"prohibition": [rule]})).prohibitions
    (condition,) = forbidden.refinements
    assert isinstance(condition, Comparison)
    assert condition.values == (Named(ENCODED),)


@pytest.mark.parametrize("spelled", SPELLINGS[1:])
def test_a_column_has_one_spelling_as_limit_of_rows(spelled: str) -> None:
    parsed = read(refinement(spelled, "gteq", 7))
    found = constraint(parsed)
    assert isinstance(found, ColumnComparison)
    assert found.column.iri == ENCODED
    assert warnings(parsed) == []


@pytest.mark.parametrize("target", ["http://example.com/Größe", "urn:example:Größe"])
@pytest.mark.parametrize("is_encoded", [False, True])
def test_columns_of_a_target_beyond_ascii_are_its_own(target: str, is_encoded: bool) -> None:
    encoded = target.replace("öß", "%C3%B6%C3%9F")
    stem = encoded if is_encoded else target
    parsed = read(refinement(f"{stem}/Age", "gteq", 7), target=target)
    found = constraint(parsed)
    assert isinstance(found, ColumnComparison)
    assert found.column.iri == f"{encoded}/Age"
    assert warnings(parsed) == []


def test_a_slash_in_a_columns_name_stays_encoded() -> None:
    found = constraint(read(refinement(f"{TARGET}/Age%2fx", "gteq", 7)))
    assert isinstance(found, ColumnComparison)
    assert found.column.iri == f"{TARGET}/Age%2Fx"


def test_two_spellings_of_a_column_in_one_list_are_one() -> None:
    parsed = anonymize([*K_PROMISE, refinement("smalti:released", "isAllOf", SPELLINGS[:2])])
    assert errors(parsed) == []
    assert [code for code, _ in warnings(parsed)] == ["P504"]
    assert len(transformation(parsed).released) == 1


def test_two_spellings_of_a_column_in_two_roles_are_an_error() -> None:
    released = refinement("smalti:released", "isAllOf", [SPELLINGS[3]])
    parsed = anonymize(
        [*K_PROMISE, refinement("mosaicrown:identifier", "isAllOf", [SPELLINGS[1]]), released]
    )
    assert [code for code, _ in errors(parsed)] == ["P407"]
