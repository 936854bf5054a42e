"""One layout, which never changes what a document says."""

import json
from pathlib import Path
from random import Random

import pytest
from effort import every, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import policies

from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import parse
from smalti.policy.say.format import format_document
from smalti.policy.say.serialize import serialize
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    read,
)

HERE = Path(__file__).parent
GOOD = sorted((HERE / "good").glob("*.jsonld"))
BAD = sorted((HERE / "bad").glob("*.jsonld"))
EXAMPLES = sorted((HERE.parents[1] / "examples" / "policies").glob("*.jsonld"))


def laid_out(text: str) -> str:
    found = format_document(text)
    assert found.text is not None, found.diagnostics
    return found.text


def tree(value: JsonValue) -> object:
    """The value without places; numbers as they are written, keys in whatever order."""
    match value:
        case JsonString(text=text):
            return text
        case JsonNumber(text=text):
            return ("number", text)
        case JsonNamed(value=named):
            return ("named", named)
        case JsonArray(items=items):
            return [tree(item) for item in items]
        case JsonObject(members=members):
            return {member.key.text: tree(member.value) for member in members}


def scrambled(value: JsonValue, random: Random) -> str:
    """The same value with other whitespace, other escapes and its keys in another order."""

    def space() -> str:
        return "".join(random.choices(" \n\t\r", k=random.choice((0, 0, 1, 3))))

    def string(text: str) -> str:
        return json.dumps(text, ensure_ascii=random.random() < 0.5)

    match value:
        case JsonString(text=text):
            return string(text)
        case JsonNumber(text=text):
            return text
        case JsonNamed(value=named):
            return json.dumps(named)
        case JsonArray(items=items):
            inside = ",".join(space() + scrambled(item, random) + space() for item in items)
            return f"[{space()}{inside}]"
        case JsonObject(members=members):
            shuffled = random.sample(members, len(members))
            pairs = [(string(member.key.text), scrambled(member.value, random)) for member in shuffled]
            inside = ",".join(f"{space()}{key}{space()}:{space()}{text}{space()}" for key, text in pairs)
            return f"{{{space()}{inside}}}"


def parsed_json(text: str) -> JsonValue:
    value, faults = read(text)
    assert value is not None
    assert faults == ()
    return value


def meanings(text: str) -> list[str]:
    return sorted(meaning_digest(policy) for policy in parse(text.encode(), "a.jsonld").policies)


@pytest.mark.parametrize("path", every(3, GOOD), ids=lambda path: path.stem)
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=examples(2))
def test_good_documents_keep_their_meaning(path: Path, random: Random) -> None:
    text = path.read_text(encoding="utf-8-sig")
    value = parsed_json(text)
    other = scrambled(value, random)
    assert tree(parsed_json(laid_out(other))) == tree(value)
    assert meanings(laid_out(other)) == meanings(text)
    assert laid_out(laid_out(other)) == laid_out(other) == laid_out(text)


@given(policies(), st.randoms(use_true_random=False))
@settings(max_examples=examples(8, full=120))
def test_any_policy_keeps_its_meaning(policy: Policy, random: Random) -> None:
    text = serialize(policy).decode()
    assert laid_out(scrambled(parsed_json(text), random)) == text
    assert meanings(text) == [meaning_digest(policy)]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
@settings(max_examples=examples(40, full=800))
def test_any_json_stays_the_same_json(value: object) -> None:
    text = json.dumps(value)
    once = laid_out(text)
    assert tree(parsed_json(once)) == tree(parsed_json(text))
    assert laid_out(once) == once


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_short_lines(path: Path) -> None:
    lines = laid_out(path.read_text(encoding="utf-8")).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_layout() -> None:
    text = '\ufeff{"permission":[{"output":"b","action":"\\u0061","uid":"r"}],\r\n"profile":[],' \
        '"@type":"Set","zebra":1.50,"apple":{},' \
        '"constraint":{"rightOperand":1e0,"operator":"eq","leftOperand":"x"},' \
        '"conflict":["' + "perm, " * 20 + '","x"]}'  # fmt: skip
    assert laid_out(text) == (
        '{\n  "@type": "Set",\n  "profile": [],\n  "conflict": [\n    "'
        + "perm, " * 20
        + '",\n    "x"\n  ],\n'
        '  "constraint": {"leftOperand": "x", "operator": "eq", "rightOperand": 1e0},\n'
        '  "permission": [{"uid": "r", "action": "a", "output": "b"}],\n'
        '  "apple": {},\n  "zebra": 1.50\n}\n'
    )


def test_a_line_has_at_most_100_characters() -> None:
    for length in range(60, 110):
        text = laid_out(json.dumps({"a": {"b": ["x" * length]}, "c": 1}))
        whole = '  "a": {"b": ["' + "x" * length + '"]},'
        assert (text.splitlines()[1] == whole) == (len(whole) <= 100)


def test_characters_that_cannot_be_seen_stay_escaped() -> None:
    text = '{"a": "\\u202e\\u0000\\u200b é \\ud83d\\ude00 \\udb40\\udc01"}'
    assert laid_out(text) == '{\n  "a": "\\u202e\\u0000\\u200b é \U0001f600 \\udb40\\udc01"\n}\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "P103"),
        ('{"a": 1,}', "P103"),
        ('{"a": 1, "a": 2}', "P105"),
        ('{"a": NaN}', "P106"),
        ('{"a": "\\ud800"}', "P107"),
        ("[" * 65 + "]" * 65, "P104"),
        ("@prefix odrl: <http://www.w3.org/ns/odrl/2/> .", "P390"),
        ("# a remark\nPREFIX odrl: <http://www.w3.org/ns/odrl/2/>", "P390"),
        ("<http://example.com/p> a <http://www.w3.org/ns/odrl/2/Set> .", "P390"),
    ],
)
def test_what_is_no_json_is_refused(text: str, code: str) -> None:
    found = format_document(text, "a.jsonld")
    assert found.text is None
    assert [finding.code for finding in found.diagnostics] == [code]
    assert found.diagnostics[0].where.document == "a.jsonld"


@pytest.mark.parametrize("path", every(4, BAD), ids=lambda path: path.stem)
def test_a_document_with_mistakes_is_laid_out_all_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    value, faults = read(text)
    found = format_document(text)
    if value is None or faults:
        assert found.text is None
        assert found.diagnostics
    else:
        assert found.text is not None
        before, after = (parse(one.encode(), "a.jsonld") for one in (text, found.text))
        assert sorted(f.code for f in before.errors) == sorted(f.code for f in after.errors)


@pytest.mark.parametrize("form", ["expanded", "flattened"])
def test_other_forms_of_json_ld_are_laid_out_too(form: str) -> None:
    node = {"http://www.w3.org/ns/odrl/2/permission": [{"@id": "_:b0"}], "@type": ["x"], "@id": "http://p"}
    document: object = [node] if form == "expanded" else {"@graph": [node, {"@id": "_:b0"}]}
    assert json.loads(laid_out(json.dumps(document))) == document
