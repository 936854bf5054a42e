"""Reads YAML text into values with their places: the part of YAML that has one meaning everywhere.

Block and flow style, comments, plain, quoted and block scalars. Refused by name: anchors, aliases, tags,
directives, several documents, keys that are no texts, duplicate keys. A plain scalar is a number, `true`,
`false` or null exactly where JSON says so; every other one is a text: `no`, `1_000`, `010` and
`2026-01-01` stay what they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from smalti.policy.text.json_text import (
    MAX_DEPTH,
    JsonArray,
    JsonFault,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
    escape,
    is_number,
    is_too_large,
    key_twice,
    quotable,
)
from smalti.policy.text.kinds import in_words, is_policy_text

if TYPE_CHECKING:
    from yaml.events import Event

MAX_CHARACTERS: Final = 200_000
"""The reader is plain Python, and takes about a second for so many."""
_OTHER_LINE_ENDS: Final = re.compile(r"\r(?!\n)|[\x85\u2028\u2029]")
"""Line ends of YAML 1.1 that are none in 1.2 (section 5.4), or that viewers do not show."""
_QUOTED: Final = re.compile(r"['\"](.[^'\"]*)['\"]")
_EVENT: Final = re.compile(r"<[a-z ]+>")
"""How PyYAML names parts of the grammar."""
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS: Final = {"true": True, "false": False}


class _StopError(Exception):
    """The text cannot be read any further."""

    def __init__(self, code: str, message: str, place: Place, help_: str = "") -> None:
        super().__init__(message)
        self.fault = JsonFault(code, message, place, help_)


def read_yaml(text: str) -> tuple[JsonValue | None, tuple[JsonFault, ...]]:
    """Read one YAML document.

    Returns:
        The value and no fault; or what could be read (None after a break of the grammar) and every fault.
    """
    if len(text) > MAX_CHARACTERS:
        message = f"a policy in the short form has at most {MAX_CHARACTERS} characters"
        return None, (JsonFault("P101", message, Place(0, 0, ""), "write JSON-LD"),)
    if (line_end := _OTHER_LINE_ENDS.search(text)) is not None:
        place = Place(line_end.start(), line_end.end(), "")
        message = "a line ends here for some readers, and goes on for others"
        return None, (JsonFault("P110", message, place, "end lines with a line feed alone"),)
    reader = _Reader(is_policy=is_policy_text(text))
    try:
        for event in _events(text):
            reader.take(event)
    except _StopError as stop:
        return None, quotable(text, (*reader.faults, stop.fault))
    return reader.value, quotable(text, reader.faults)


def _events(text: str) -> Iterator["Event"]:
    """The events of PyYAML's parser, which needs no recursion and makes no objects."""
    import yaml  # noqa: PLC0415 (20 ms, which JSON-LD does not need)

    try:
        yield from yaml.parse(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = 0 if mark is None else mark.index
        message = f"the text is not YAML: {_without_text(error.problem or error.context or '')}"
        raise _StopError("P110", message, Place(at, at + 1, ""), _help(text, at)) from None
    except yaml.YAMLError as error:
        at = int(getattr(error, "position", 0))
        message = "the text is not YAML: it has a character that cannot be printed"
        raise _StopError("P110", message, Place(at, at + 1, "")) from None


def _without_text(problem: str) -> str:
    """What PyYAML says, without characters of the text but for marks; it quotes what it comes upon.

    >>> _without_text("found character 'N' that cannot start any token")
    'found a letter that cannot start any token'
    >>> _without_text("expected '<document start>', but found '{'")
    "expected '<document start>', but found `{`"
    """

    def shown(quoted: re.Match[str]) -> str:
        text = quoted[1]
        if _EVENT.fullmatch(text):
            return quoted[0]
        return in_words(text) if len(text) == 1 else "another text"

    return _QUOTED.sub(shown, problem.replace("character '", "'"))


def _help(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at + 1]
    if "\t" in line:
        return "indent with spaces, not with tabs"
    if ": " in line.strip().partition(": ")[2] or line.rstrip().endswith((":", "@", "`", "%")):
        return "write texts with `: `, `#`, `@`, `%` or quotes in double quotes"
    return ""


@dataclass(slots=True)
class _Open:
    """A list or an object while it is read."""

    start: int
    pointer: str
    is_object: bool
    items: list[JsonValue] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    key: JsonString | None = None


class _Reader:
    """Builds the value from events."""

    def __init__(self, *, is_policy: bool) -> None:
        self.is_policy = is_policy
        self.value: JsonValue | None = None
        self.faults: list[JsonFault] = []
        self.open: list[_Open] = []
        self.documents = 0

    def take(self, event: "Event") -> None:
        match type(event).__name__:
            case "DocumentStartEvent":
                self.document(event)
            case "MappingStartEvent" | "SequenceStartEvent":
                self.begin(event)
            case "MappingEndEvent" | "SequenceEndEvent":
                self.end(event)
            case "ScalarEvent":
                self.scalar(event)
            case "AliasEvent":
                self.refuse(event, "an alias repeats another part", "write the part again")

    def refuse(self, event: "Event", what: str, help_: str) -> None:
        raise _StopError("P110", f"{what}, which the short form does not have", _place(event, ""), help_)

    def document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self.refuse(event, "`---` begins a second document", "write each policy into a file of its own")
        if event.version or event.tags:
            self.refuse(event, "a line with `%` is a directive", "remove it")

    def check(self, event: Any) -> None:
        if event.anchor is not None:
            self.refuse(event, "`&` names a part to repeat it", "write the part where it is needed")
        if event.tag is not None:
            self.refuse(event, "`!` gives a value another type", "remove it; quotes make a text")

    def pointer(self) -> str:
        """Of the value that comes next."""
        if not self.open:
            return ""
        top = self.open[-1]
        if not top.is_object:
            return f"{top.pointer}/{len(top.items)}"
        return top.pointer if top.key is None else f"{top.pointer}/{escape(top.key.text)}"

    def begin(self, event: Any) -> None:
        self.check(event)
        is_object = type(event).__name__ == "MappingStartEvent"
        if self.open and self.open[-1].is_object and self.open[-1].key is None:
            self.refuse(event, "a list or an object is the key of another object", "write a word as key")
        if len(self.open) >= MAX_DEPTH:
            message = f"objects and lists are nested more than {MAX_DEPTH} deep"
            raise _StopError("P104", message, _place(event, ""))
        self.open.append(_Open(event.start_mark.index, self.pointer(), is_object))

    def end(self, event: Any) -> None:
        top = self.open.pop()
        place = Place(top.start, event.end_mark.index, top.pointer)
        if top.is_object:
            self.add(JsonObject(tuple(top.members), place))
        else:
            self.add(JsonArray(tuple(top.items), place))

    def scalar(self, event: Any) -> None:
        self.check(event)
        if self.open and self.open[-1].is_object and self.open[-1].key is None:
            self.key(event)
        else:
            self.add(self.plain(event) if event.style is None else _text(event, self.pointer()))

    def key(self, event: Any) -> None:
        top = self.open[-1]
        if event.style is None and event.value in _NULLS:
            self.refuse(event, "a key without a name", "write a word before the colon")
        key = _text(event, f"{top.pointer}/{escape(event.value)}")
        if key.text in top.keys:
            self.faults.append(key_twice(key, is_policy=self.is_policy))
        top.keys.add(key.text)
        top.key = key

    def plain(self, event: Any) -> JsonValue:
        place, text = _place(event, self.pointer()), event.value
        if text in _NULLS:
            return JsonNamed(None, place)
        if text in _TRUTHS:
            return JsonNamed(_TRUTHS[text], place)
        if not is_number(text):
            return JsonString(text, place)
        if is_too_large(text):
            help_ = "write a finite number with at most 64 characters"
            raise _StopError("P106", "the number is too large to be read exactly", place, help_)
        return JsonNumber(text, place)

    def add(self, value: JsonValue) -> None:
        if not self.open:
            self.value = value
            return
        top = self.open[-1]
        if not top.is_object:
            top.items.append(value)
        elif top.key is not None:
            top.members.append(Member(top.key, value))
            top.key = None


def _text(event: Any, pointer: str) -> JsonString:
    return JsonString(event.value, _place(event, pointer))


def _place(event: Any, pointer: str) -> Place:
    return Place(event.start_mark.index, event.end_mark.index, pointer)
