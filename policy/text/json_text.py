"""Reads JSON text into values with their places. Strict: RFC 8259, no duplicate keys, no lossy numbers."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final, NoReturn

from smalti.policy.text.kinds import in_words, is_policy_text

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 50_000
_MAX_NUMBER: Final = 64
_LONGEST_WORD: Final = 80
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"[^\s,:\[\]{}\"]+")
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\(?s:.|\Z))*+(?:"|\Z)|[\[\]{}]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAMED: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the text, and the JSON pointer (RFC 6901) of the value that is there."""

    start: int
    """Offset in characters, from 0."""
    end: int
    pointer: str
    node: str = ""
    """In a document that is read as RDF: the node, in place of an offset."""


@dataclass(frozen=True, slots=True)
class JsonString:
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class JsonNumber:
    text: str
    """As written; exact."""
    place: Place

    @property
    def exact(self) -> Decimal:
        return Decimal(self.text)


@dataclass(frozen=True, slots=True)
class JsonNamed:
    """`true`, `false` or `null`."""

    value: bool | None
    place: Place


@dataclass(frozen=True, slots=True)
class JsonArray:
    items: "tuple[JsonValue, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Member:
    key: JsonString
    value: "JsonValue"


@dataclass(frozen=True, slots=True)
class JsonObject:
    members: tuple[Member, ...]
    place: Place

    def find(self, key: str) -> Member | None:
        return next((member for member in self.members if member.key.text == key), None)


JsonValue = JsonString | JsonNumber | JsonNamed | JsonArray | JsonObject


@dataclass(frozen=True, slots=True)
class JsonFault:
    """One error in the text."""

    code: str
    message: str
    place: Place
    help: str = ""


class _StopError(Exception):
    """The text cannot be read any further."""

    def __init__(self, fault: JsonFault) -> None:
        super().__init__(fault)
        self.fault = fault


def read(text: str) -> tuple[JsonValue | None, tuple[JsonFault, ...]]:
    """Read one JSON document.

    Returns:
        The value and no fault; or what could be read (None after a break of the grammar) and every fault.
    """
    too_deep = _too_deep(text)
    if too_deep:
        return None, (too_deep,)
    reader = _Reader(text)
    try:
        value = reader.document()
    except _StopError as stop:
        return None, quotable(text, (*reader.faults, stop.fault))
    return value, quotable(text, reader.faults)


def quotable(text: str, faults: Iterable[JsonFault]) -> tuple[JsonFault, ...]:
    """Faults without pointers where the text is no policy: their keys may be data."""
    if is_policy_text(text):
        return tuple(faults)
    return tuple(replace(fault, place=replace(fault.place, pointer="")) for fault in faults)


def to_plain(value: JsonValue) -> object:
    """The value as `json.loads` would give it."""
    match value:
        case JsonString(text=text):
            return text
        case JsonNumber(text=text):
            return float(text) if re.search("[.eE]", text) else int(text)
        case JsonNamed(value=named):
            return named
        case JsonArray(items=items):
            return [to_plain(item) for item in items]
        case JsonObject(members=members):
            return {member.key.text: to_plain(member.value) for member in members}


def is_number(text: str) -> bool:
    """Whether a text is a number of JSON; it may be too large to be read exactly."""
    return _NUMBER.fullmatch(text) is not None


def is_too_large(number: str) -> bool:
    """Whether a number of JSON is not finite as a binary number, or has more than 64 characters."""
    return len(number) > _MAX_NUMBER or abs(float(number)) == float("inf")


def escape(key: str) -> str:
    """A key as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _too_deep(text: str) -> JsonFault | None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                place = Place(match.start(), match.end(), "")
                return JsonFault("P104", f"objects and lists are nested more than {MAX_DEPTH} deep", place)
        elif match[0] in "]}":
            depth -= 1
    return None


def key_twice(key: JsonString, *, is_policy: bool) -> JsonFault:
    """The fault of a key that an object has already; its name may be data where the text is no policy."""
    shown = key.text if len(key.text) <= _LONGEST_WORD else key.text[: _LONGEST_WORD - 3] + "..."
    message = f"{f'key `{shown}`' if is_policy else 'a key'} occurs twice in one object"
    return JsonFault("P105", message, key.place, "keep one of them; write several values as one list")


class _Reader:
    """One pass over the text; `at` is the offset of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.count = 0
        self.faults: list[JsonFault] = []
        self.open: list[int] = []
        self.closed: list[int] = []

    def document(self) -> JsonValue:
        value = self.value("")
        self.space()
        if self.at < len(self.text):
            self.stop("text follows the end of the document", self.brace_help())
        return value

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        self.space()
        return self.text[self.at : self.at + 1]

    def stop(self, message: str, help_: str = "", code: str = "P103") -> NoReturn:
        place = Place(self.at, self.at + 1, "")
        raise _StopError(JsonFault(code, message, place, help_))

    def expected(self, what: str) -> NoReturn:
        character = self.peek()
        if not character:
            self.stop(f"the document ends where {what} is expected", self.unclosed_help())
        help_ = self.brace_help() or (
            self.unclosed_help() if character in {"}", "]"} else self.habit_help(character)
        )
        self.stop(f"expected {what}, found {in_words(character)}", help_)

    def value(self, pointer: str) -> JsonValue:
        self.count += 1
        if self.count > MAX_VALUES:
            self.stop(f"the document has more than {MAX_VALUES} values", code="P108")
        match self.peek():
            case "{":
                return self.object(pointer)
            case "[":
                return self.array(pointer)
            case '"':
                return self.string(pointer)
            case _:
                return self.scalar(pointer)

    def object(self, pointer: str) -> JsonObject:
        start = self.enter()
        members: list[Member] = []
        seen: set[str] = set()
        while self.peek() != "}":
            if members:
                self.take(",", "`,` or `}`")
            member = self.member(pointer)
            if member.key.text in seen:
                self.twice(member.key)
            seen.add(member.key.text)
            members.append(member)
        self.leave()
        return JsonObject(tuple(members), Place(start, self.at, pointer))

    def member(self, pointer: str) -> Member:
        if self.peek() != '"':
            self.expected("a key in double quotes")
        key = self.string(pointer)
        below = f"{pointer}/{escape(key.text)}"
        key = JsonString(key.text, Place(key.place.start, key.place.end, below))
        self.take(":", "`:`")
        return Member(key, self.value(below))

    def array(self, pointer: str) -> JsonArray:
        start = self.enter()
        items: list[JsonValue] = []
        while self.peek() != "]":
            if items:
                self.take(",", "`,` or `]`")
            items.append(self.value(f"{pointer}/{len(items)}"))
        self.leave()
        return JsonArray(tuple(items), Place(start, self.at, pointer))

    def string(self, pointer: str) -> JsonString:
        start = self.at
        try:
            text, self.at = scanstring(self.text, start + 1, True)
        except json.JSONDecodeError as error:
            self.at = error.pos
            self.stop(f"broken string: {error.msg[0].lower()}{error.msg[1:].removesuffix(' at')}")
        place = Place(start, self.at, pointer)
        if _SURROGATE.search(text):
            self.faults.append(JsonFault("P107", "the string contains half of a surrogate pair", place))
            text = _SURROGATE.sub("\ufffd", text)
        return JsonString(text, place)

    def scalar(self, pointer: str) -> JsonNumber | JsonNamed:
        start = self.at
        word = _WORD.match(self.text, start)
        if not word:
            self.expected("a value")
        token = word[0]
        place = Place(start, start + len(token), pointer)
        if token in _NAMED:
            self.at = place.end
            return JsonNamed(_NAMED[token], place)
        self.check_number(token, place)
        self.at = place.end
        return JsonNumber(token, place)

    def check_number(self, token: str, place: Place) -> None:
        help_ = "write a finite number with at most 64 characters"
        if token.lstrip("+-") in {"NaN", "Infinity"}:
            raise _StopError(JsonFault("P106", f"`{token}` is not a JSON number", place, help_))
        if not is_number(token):
            self.expected("a value")
        if is_too_large(token):
            raise _StopError(JsonFault("P106", "the number is too large to be read exactly", place, help_))

    def enter(self) -> int:
        self.open.append(self.at)
        self.at += 1
        return self.at - 1

    def leave(self) -> None:
        self.closed.append(self.at)
        self.open.pop()
        self.at += 1

    def take(self, character: str, what: str) -> None:
        if self.peek() != character:
            self.expected(what)
        comma = self.at
        self.at += 1
        if character == "," and self.peek() in {"}", "]"}:
            self.at = comma
            self.stop("no value follows the comma", "remove the comma")

    def twice(self, key: JsonString) -> None:
        self.faults.append(key_twice(key, is_policy=is_policy_text(self.text)))

    def brace_help(self) -> str:
        """Which closing brace is probably superfluous, if the document is valid JSON without it."""
        for offset in [*self.closed[:-7:-1], self.at]:
            if self.text[offset : offset + 1] in {"}", "]"} and self.reads_without(offset):
                line = self.text.count("\n", 0, offset) + 1
                column = offset - self.text.rfind("\n", 0, offset)
                return (
                    f"the `{self.text[offset]}` at line {line}, column {column} is probably superfluous: "
                    "without it the document is valid JSON"
                )
        return ""

    def reads_without(self, offset: int) -> bool:
        try:
            json.loads(self.text[:offset] + self.text[offset + 1 :])
        except (ValueError, RecursionError):
            return False
        return True

    def unclosed_help(self) -> str:
        if not self.open:
            return ""
        offset = self.open[-1]
        line = self.text.count("\n", 0, offset) + 1
        return f"the `{self.text[offset]}` opened at line {line} is not closed"

    def habit_help(self, character: str) -> str:
        habits = {
            "'": "JSON uses only double quotes",
            "/": "JSON has no comments",
            "#": "JSON has no comments",
        }
        return habits.get(character, "")
