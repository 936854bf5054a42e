"""The JSON Schema of short forms (`vocab/short-form.schema.json`), and the page that lists their words.

Both are made from the table that the reader of short forms uses (`policy.short.words`). The schema accepts
what the reader accepts, and refuses what it refuses by P111, P112 and P113, except where a value depends on
another one.
"""

from collections.abc import Iterable
from typing import Any, Final

from smalti.policy.short.words import (
    JOINED,
    OF_POLICIES,
    OF_RULES,
    ONE_ROW_EACH_WORD,
    OPERATORS,
    PARTS,
    SETS,
    TYPES,
    WORDS,
    ShortWord,
)
from smalti.vocab.words import Range, Scope

Schema = dict[str, Any]
_SHAPES: Final = {
    "policy": "text", "type": "type", "profile": "names", "conflict": "conflict", "valid": "valid",
    "permit": "permissions", "prohibit": "prohibitions", "oblige": "obligations", "shared": "shared",
    "owner": "names", "party": "names", "target": "names",
    "rule": "text", "columns": "names", "action": "names", "output": "text", "purpose": "names",
    "rows": "rows", "per-column": "perColumn", "constraints": "conditions", "refinements": "conditions",
}  # fmt: skip
_DUTIES: Final = {"permission": "duty", "prohibition": "remedy", "obligation": "consequence"}
_RANGES: Final = {
    Range.NAME: "text", Range.INTEGER: "number", Range.DECIMAL: "number", Range.COLUMN: "text",
    Range.COLUMNS: "text", Range.DATASET: "text", Range.VALUE: "value",
}  # fmt: skip


def schema() -> Schema:
    """The schema of one document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://w3id.org/smalti/short-form.schema.json",
        "title": "A policy in the short form of smalti",
        **_object(_words({**OF_POLICIES, **PARTS}) | _rule_words("permission")),
        "if": {"required": ["permit"]},
        "then": {"propertyNames": {"enum": [*OF_POLICIES, *PARTS]}},
        "$defs": _definitions(),
    }


def page() -> str:
    """The reference of the words, without a title."""
    parts = [
        ("At the top", [(word, meaning) for word, meaning in OF_POLICIES.items()]),
        ("At the top, for each rule that does not say otherwise, or in a rule", list(PARTS.items())),
        ("In a rule", [*OF_RULES.items(), (ONE_ROW_EACH_WORD, "`true`: each row is about another person")]),
    ]
    tables = [f"## {title}\n\n{_table(('word', 'meaning'), _ticked(rows))}" for title, rows in parts]
    return "\n\n".join([*tables, _of_actions(), _of_operators()])


# --- The schema


def _definitions() -> Schema:
    text = {"type": "string", "minLength": 1}
    scalar: Schema = {"type": ["string", "number", "boolean"]}
    typed = {"oneOf": [_object({kind: _ref("text")}, [kind]) for kind in TYPES]}
    value = {"anyOf": [scalar, typed]}
    day = {
        "anyOf": [_ref("text"), *(_object({kind: _ref("text")}, [kind]) for kind in ("date", "date-time"))]
    }
    rules = {kind: _object(_words(PARTS) | _rule_words(kind)) for kind in (*_DUTIES, "consequence")}
    return {
        "text": text,
        "number": {"type": "number"},
        "value": value,
        "names": {"anyOf": [text, {"type": "array", "items": text}]},
        "type": {"enum": ["Set", "Offer", "Agreement"]},
        "conflict": {"enum": ["perm", "prohibit", "invalid"]},
        "valid": {**_object({"from": day, "until": day}), "minProperties": 1},
        "shared": _object({word: _ref("names") for word in (*PARTS, "action")}),
        "operators": _operators(_ref("value"), unit=True),
        "compared": {"anyOf": [value, {"type": "array", "items": value}, _ref("operators")]},
        "rows": {"type": "object", "additionalProperties": {
            "anyOf": [value, {"type": "array", "items": value}, _operators(_ref("value"))]}},
        "perColumn": {"type": "object", "additionalProperties": {
            **_object({name: _ref(f"word-{name}") for name in WORDS}), "minProperties": 1}},
        "conditions": _one_or_many(_ref("condition")),
        "condition": {
            "type": "object", "minProperties": 1, "additionalProperties": _ref("compared"),
            "properties": {word: _ref("conditions") for word in JOINED},
        },
        **rules,
        **{f"{kind}s": _one_or_many(_ref(kind)) for kind in rules},
        **{f"operators-{kind}": _operators(_ref(kind)) for kind in ("text", "number", "value")},
        **{f"word-{word.name}": _word(word) for word in WORDS.values()},
    }  # fmt: skip


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _object(properties: Schema, required: Iterable[str] = ()) -> Schema:
    needed = list(required)
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
    }


def _one_or_many(item: Schema) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _words(meanings: dict[str, str] | Any) -> Schema:
    return {
        word: {"description": _plain(meaning), **_ref(_SHAPES[word])} for word, meaning in meanings.items()
    }


def _rule_words(kind: str) -> Schema:
    """The words of a rule, apart from its parts; a consequence has no duties."""
    nested = {word: meaning for word, meaning in OF_RULES.items() if word in {*_DUTIES.values()}}
    plain = {word: meaning for word, meaning in OF_RULES.items() if word not in nested}
    words = _words(plain)
    words |= {
        word.name: _ref(f"word-{word.name}")
        for word in WORDS.values()
        if word.word.scope is not Scope.COLUMN
    }
    words[ONE_ROW_EACH_WORD] = {"description": "each row is about another person", "const": True}
    duty = _DUTIES.get(kind)
    if duty is not None:
        below = _ref("consequences" if duty == "consequence" else "obligations")
        if duty == "remedy":
            below = _ref("consequences")
        words[duty] = {"description": _plain(nested[duty]), **below}
    return words


def _word(word: ShortWord) -> Schema:
    """What a word takes: one value or a list, as it has a default for them, or operators with values."""
    value = {"enum": list(word.word.names)} if word.word.names else _ref(_RANGES[word.word.range])
    shapes = [_ref(f"operators-{_RANGES[word.word.range]}")]
    if word.default(is_list=True) is not None:
        shapes.append({"type": "array", "items": value})
    if word.default(is_list=False) is not None:
        shapes.append(value)
    return {"description": word.word.meaning, "anyOf": shapes}


def _operators(value: Schema, *, unit: bool = False) -> Schema:
    listed = {"anyOf": [value, {"type": "array", "items": value}]}
    properties = {name: listed if odrl in SETS else value for name, odrl in OPERATORS.items()}
    return {**_object(properties | ({"unit": _ref("text")} if unit else {})), "minProperties": 1}


def _plain(text: str) -> str:
    return text.replace("`", "")


# --- The page


def _of_actions() -> str:
    rows = [
        (f"`{word.name}`", _takes(word), word.word.meaning, word.word.status) for word in WORDS.values()
    ]
    head = ("word", "a value alone means", "meaning", "")
    return f"## What a method, a training or an audit requires\n\n{_table(head, rows)}"


def _takes(word: ShortWord) -> str:
    single, several = word.default(is_list=False), word.default(is_list=True)
    names = {odrl: name for name, odrl in OPERATORS.items()}
    if single is None:
        return "operators are needed"
    if several is not None:
        return f"one or a list: {names[several]}"
    return names[single] + (", under `per-column`" if word.word.scope is Scope.COLUMN else "")


def _of_operators() -> str:
    rows = [(f"`{name}`", f"`{odrl}`") for name, odrl in OPERATORS.items()]
    kinds = [(f"`{{{name}: ...}}`", f"`{json_ld}`") for name, json_ld in TYPES.items()]
    return (
        f"## Operators\n\n{_table(('word', 'of ODRL'), rows)}\n\n"
        f"## Values that are neither numbers nor texts\n\n{_table(('written', 'in JSON-LD'), kinds)}"
    )


def _ticked(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"`{word}`", meaning) for word, meaning in rows]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
