"""The one layout of JSON policy documents: order of keys, lines, escapes."""

import json
import re
from typing import Final

from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
)

WIDTH: Final = 100
"""The longest line that an object or list of several values is written on."""
_STEP: Final = 2
_ORDER: Final = """
    @context @value @type type @language @id id uid profile inheritFrom conflict valid isReplacedBy
    title description label comment creator publisher issued modified
    assigner assignee target action value leftOperand operator rightOperand rightOperandReference
    dataType datatype unit status and or xone andSequence source partOf belongsTo refinement output
    purpose constraint duty consequence remedy permission prohibition obligation @list @set @graph"""
_RANK: Final = {name: rank for rank, name in enumerate(_ORDER.split())}
_ESCAPED: Final = {True: "true", False: "false", None: "null"}
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e]")


def lay_out(value: JsonValue) -> str:
    """The canonical layout of a JSON value: it depends on the value alone, and never changes it.

    Keys have ODRL's order (what is not ODRL's: by alphabet, at the end); what fits stands on one line of
    at most `WIDTH` characters, apart from the document itself; numbers are kept as they are written; a
    string has no escape that it does not need, and characters that cannot be seen are escaped.
    """
    return _Layout().document(value)


class _Layout:
    def __init__(self) -> None:
        self.short: dict[int, str | None] = {}
        """By identity: a value on one line, None where that would be too long for any line."""

    def document(self, value: JsonValue) -> str:
        lines = self.broken(value, 0)
        return "".join(lines) + "\n"

    def flat(self, value: JsonValue) -> str | None:
        match value:
            case JsonString() | JsonNumber() | JsonNamed():
                return _scalar(value)
        key = id(value)
        if key not in self.short:
            self.short[key] = self.on_one_line(value)
        return self.short[key]

    def on_one_line(self, value: JsonArray | JsonObject) -> str | None:
        if isinstance(value, JsonArray):
            return _joined("[", [self.flat(item) for item in value.items], "]")
        members = [(_string(member.key.text), self.flat(member.value)) for member in _sorted(value)]
        return _joined("{", [None if text is None else f"{key}: {text}" for key, text in members], "}")

    def fitting(self, value: JsonValue, column: int) -> str | None:
        """The value on one line that begins at a column and ends with a comma; None if it does not fit."""
        text = self.flat(value)
        whole = not isinstance(value, JsonArray | JsonObject) or (text is not None and len(text) < 3)
        return text if text is not None and (whole or column + len(text) + 1 <= WIDTH) else None

    def value(self, value: JsonValue, indent: int, column: int) -> list[str]:
        text = self.fitting(value, column)
        return [text] if text is not None else self.broken(value, indent)

    def broken(self, value: JsonValue, indent: int) -> list[str]:
        """The value over several lines, where it has parts; the first line is begun already."""
        match value:
            case JsonArray(items=(JsonArray() | JsonObject() as item,)):
                return ["[", *self.broken(item, indent), "]"]
            case JsonArray(items=items) if items:
                parts = [self.value(item, indent + _STEP, indent + _STEP) for item in items]
                return _lines("[", parts, "]", indent)
            case JsonObject(members=members) if members:
                return _lines("{", [self.member(m, indent + _STEP) for m in _sorted(value)], "}", indent)
        return [self.flat(value) or ""]

    def member(self, member: Member, indent: int) -> list[str]:
        key = _string(member.key.text) + ": "
        return [key, *self.value(member.value, indent, indent + len(key))]


def _lines(start: str, parts: list[list[str]], end: str, indent: int) -> list[str]:
    pieces = [start]
    for number, part in enumerate(parts):
        pieces += [",\n" if number else "\n", " " * (indent + _STEP), *part]
    return [*pieces, "\n", " " * indent, end]


def _joined(start: str, parts: list[str | None], end: str) -> str | None:
    texts = [part for part in parts if part is not None]
    length = sum(map(len, texts)) + 2 * len(texts)
    return f"{start}{', '.join(texts)}{end}" if len(texts) == len(parts) and length <= WIDTH else None


def _sorted(value: JsonObject) -> list[Member]:
    return sorted(value.members, key=_rank)


def _rank(member: Member) -> tuple[int, str, str]:
    key = member.key.text
    name = key if key.startswith("@") else re.split("[#/:]", key)[-1]
    return _RANK.get(name, len(_RANK)), name, key


def _scalar(value: JsonString | JsonNumber | JsonNamed) -> str:
    match value:
        case JsonString(text=text):
            return _string(text)
        case JsonNumber(text=text):
            return text
        case JsonNamed(value=named):
            return _ESCAPED[named]


def _string(text: str) -> str:
    return _UNPRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]
