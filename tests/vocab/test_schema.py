"""The JSON Schema: what an editor offers, and where it underlines."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from generators.schema_sharing import share

from smalti.policy.document.spellings import iris, pattern, short, term, written
from smalti.policy.findings.codes import BY_CODE
from smalti.vocab import terms
from smalti.vocab.odrl import LEFT_OPERANDS
from smalti.vocab.words import WORDS, Kind, Word

SCHEMA = json.loads(files("smalti.vocab").joinpath("policy.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
REFERENCE = (Path(__file__).parents[1] / "policy" / "good" / "reference.jsonld").read_text(encoding="utf-8")


def parts(schema: object) -> Iterator[dict[str, object]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


def resolved(schema: dict[str, object]) -> dict[str, object]:
    while set(schema) == {"$ref"}:
        schema = SCHEMA["$defs"][str(schema["$ref"]).rpartition("/")[2]]
    return schema


def offered(schema: dict[str, object]) -> set[str]:
    """What an editor offers at a place."""
    schema = resolved(schema)
    found = {value for value in schema.get("enum", []) if isinstance(value, str)}  # type: ignore[attr-defined]
    for choice in schema.get("anyOf", []):  # type: ignore[attr-defined]
        found |= offered(choice)
    return found


def leaves(error: jsonschema.ValidationError) -> Iterator[jsonschema.ValidationError]:
    if not error.context:
        yield error
    for inner in error.context or ():
        yield from leaves(inner)


def said(document: str) -> set[tuple[str, str]]:
    """The places of mistakes, each with the code that an editor shows there."""
    errors = [leaf for error in VALIDATOR.iter_errors(json.loads(document)) for leaf in leaves(error)]
    return {
        (leaf.json_path, code)
        for leaf in errors
        if isinstance(leaf.schema, dict)
        for code in str(leaf.schema.get("$comment", "")).split()
    }


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_stays_small() -> None:
    assert len(json.dumps(SCHEMA)) < 500_000


def test_operands_are_offered_with_their_meanings() -> None:
    operand = SCHEMA["$defs"]["refinement"]["properties"]["leftOperand"]
    refinements = {short(word.iri) for word in WORDS if word.kind is Kind.REFINEMENT}
    assert refinements <= offered(operand)
    assert {*LEFT_OPERANDS, "smalti:budgetEpsilon"} <= offered(
        SCHEMA["$defs"]["constraint"]["properties"]["leftOperand"]
    )
    described = [part for part in parts(SCHEMA) if "enumDescriptions" in part]
    assert described
    for part in described:
        assert len(part["enumDescriptions"]) == len(part["enum"])  # type: ignore[arg-type]


@pytest.mark.parametrize("word", [word for word in WORDS if word.operators], ids=lambda word: word.name)
def test_operators_of_each_word_are_those_of_the_table(word: Word) -> None:
    rules = [resolved(rule) for rule in SCHEMA["$defs"]["words"]["allOf"]]
    expected = pattern([word.iri], with_terms=True)
    of = [
        rule
        for rule in rules
        if expected in json.dumps(expanded(rule["if"]), ensure_ascii=False).replace("\\\\", "\\")
    ]
    assert len(of) == 1
    then = resolved(of[0]["then"])
    operators = offered(then["properties"]["operator"])  # type: ignore[index]
    assert operators == {*word.operators}


def expanded(schema: object) -> object:
    if isinstance(schema, dict):
        if set(schema) == {"$ref"}:
            return expanded(resolved(schema))
        return {key: expanded(value) for key, value in schema.items()}
    return [expanded(item) for item in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(
    ("before", "after", "place", "code"),
    [
        ('"purpose"', '"purpos"', "$.permission[0]", "P206"),
        ('"mosaicrown:k"', '"mosaicrown:kk"',
         "$.permission[0].action[0].refinement[1].leftOperand", "P307"),
        ('"gteq", "rightOperand": 10', '"lteq", "rightOperand": 10',
         "$.permission[0].action[0].refinement[1].operator", "P406"),
        ("10}", "1}", "$.permission[0].action[0].refinement[1].rightOperand", "P404"),
        ("10}", '"10"}', "$.permission[0].action[0].refinement[1].rightOperand", "P403"),
        ('"l-diversity"', '"l-diversiti"', "$.permission[0].action[0].refinement[0].rightOperand", "P401"),
        ('"http://example.com/Customer"', '"Customer"', "$.permission[0].target", "P209"),
        ('"Set"', '"Sett"', "$['@type']", "P301"),
        ('"purpose": "marketing"', '"purpose": "marketingg"', "$.permission[0].purpose", "P415"),
    ],
)  # fmt: skip
def test_mistakes_are_underlined_where_they_are(before: str, after: str, place: str, code: str) -> None:
    assert before in REFERENCE
    assert (place, code) in said(REFERENCE.replace(before, after, 1))


def test_codes_are_known_and_messages_name_them() -> None:
    for part in parts(SCHEMA):
        if "errorMessage" in part:
            code = str(part["errorMessage"]).partition(":")[0]
            assert code in BY_CODE
            assert code in str(part["$comment"])


def test_patterns_are_those_of_editors() -> None:
    """ECMAScript with the flag u knows no named groups, and escapes of special characters only."""
    for part in parts(SCHEMA):
        for found in [part.get("pattern"), *(part.get("patternProperties") or {})]:  # type: ignore[call-overload]
            if isinstance(found, str):
                re.compile(found)
                assert not re.search(r"\(\?P|\(\?<[!=]|\\[^sSdDwW.*+?^${}()|\[\]\\/]", found), found


# --- Spellings


def test_spellings_of_a_word() -> None:
    assert {"anonymize", "odrl:anonymize", "dpv:Anonymise", terms.ANONYMIZE} <= set(
        written(terms.ANONYMIZE, with_terms=True)
    )
    assert "anonymize" not in written(terms.ANONYMIZE, with_terms=False)
    assert "http://localhost:8000/ns/mosaicrown/k" in iris(terms.K)
    assert (term(terms.MARKETING), term(terms.ANONYMIZE)) == ("marketing", "anonymize")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_patterns_fit_exactly_the_spellings(word: Word) -> None:
    expression = re.compile(pattern([word.iri], with_terms=True))
    for text in written(word.iri, with_terms=True):
        assert expression.search(text)
        assert not expression.search(text + "x")
        assert not expression.search("x" + text)


def test_sharing_changes_nothing_but_the_text() -> None:
    part = {"type": "string", "pattern": "x" * 200}
    schema: dict[str, object] = {
        "properties": {"a": part, "b": {"items": part}},
        "$defs": {"c": {"not": part}},
    }
    shared = share(schema)
    assert json.dumps(shared).count("x" * 200) == 1
    for document, good in (
        ({"a": "x" * 200, "b": ["x" * 200]}, True),
        ({"b": ["y"]}, False),
        ({"a": 1}, False),
    ):
        assert jsonschema.Draft202012Validator(shared).is_valid(document) is good


def test_names_of_parts_stay_when_an_explanation_changes() -> None:
    def names(message: str, **also: object) -> set[str]:
        part = {"type": "string", "pattern": "x" * 200, "$comment": "P421", "errorMessage": message}
        return {*share({"properties": {"a": part, "b": part, **also}, "$defs": {}})["$defs"]}  # type: ignore[dict-item]

    assert len(names("P421: one")) == 1
    assert names("P421: one") == names("P421: another")
    alike = {"type": "string", "pattern": "x" * 200, "$comment": "P421", "errorMessage": "P421: a third"}
    assert len(names("P421: one", c=alike, d=alike)) == 2, "two explanations are two parts"
