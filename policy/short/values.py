"""Reads the values of the short form: names, comparisons, conditions. Every problem becomes a fault."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from smalti.policy.model.suggest import did_you_mean
from smalti.policy.short.form import Comparison, Condition, Joined, Names, Setting, Typed, Value
from smalti.policy.short.words import JOINED, ODRL_WORDS, OPERATORS, SETS, TYPES, WORDS, ShortWord
from smalti.policy.text.json_text import (
    JsonArray,
    JsonFault,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)

_LONGEST: Final = 80
_MOST_SUGGESTIONS: Final = 200
Operator = Callable[[bool], str | None]


class Faults:
    """Collects what is wrong with one document."""

    def __init__(self) -> None:
        self.all: list[JsonFault] = []

    def unknown(self, key: JsonString, where: str, words: Iterable[str]) -> None:
        """A key that has no meaning where it stands."""
        near = did_you_mean(key.text, words) if len(self.all) < _MOST_SUGGESTIONS else ""
        if key.text in ODRL_WORDS:
            near = f"write `{ODRL_WORDS[key.text]}`"
        if key.text.startswith("@"):
            near = "leave it out: contexts and types are filled in"
        help_ = near or "docs/how-to/write-a-policy.md lists the words of the short form"
        self.all.append(JsonFault("P111", f"{shown(key.text)} is no word of {where}", key.place, help_))

    def wrong(self, place: Place, message: str, help_: str = "") -> None:
        self.all.append(JsonFault("P112", message, place, help_))

    def misplaced(self, place: Place, message: str, help_: str = "") -> None:
        self.all.append(JsonFault("P113", message, place, help_))


def shown(word: str) -> str:
    """A word of the document in backticks, of bounded length."""
    return f"`{word if len(word) <= _LONGEST else word[: _LONGEST - 3] + '...'}`"


def kind(value: JsonValue) -> str:
    """What a value is, in words."""
    match value:
        case JsonNumber():
            return "a number"
        case JsonNamed(value=None):
            return "nothing"
        case JsonNamed():
            return "true or false"
        case JsonArray():
            return "a list"
        case JsonObject():
            return "an object"
    return "a text"


def text_of(key: JsonString, value: JsonValue, faults: Faults) -> JsonString | None:
    """One text."""
    if isinstance(value, JsonString) and value.text:
        return value
    help_ = "write it in double quotes" if isinstance(value, JsonNumber | JsonNamed) else ""
    if isinstance(value, JsonNamed) and value.value is None:
        help_ = "write a value after the colon, or leave the word out"
    faults.wrong(value.place, f"{shown(key.text)} takes a text, not {kind(value)}", help_)
    return None


def texts_of(key: JsonString, value: JsonValue, faults: Faults) -> Names:
    """One text, or a list of them."""
    items = value.items if isinstance(value, JsonArray) else (value,)
    texts = [text_of(key, item, faults) for item in items]
    return tuple(text for text in texts if text is not None)


def objects_of(key: JsonString, value: JsonValue, faults: Faults) -> list[JsonObject]:
    """One object, or a list of them."""
    items = value.items if isinstance(value, JsonArray) else (value,)
    for item in items:
        if not isinstance(item, JsonObject):
            message = f"{shown(key.text)} takes words with their values, not {kind(item)}"
            faults.wrong(item.place, message, "write each word on a line of its own, indented")
    return [item for item in items if isinstance(item, JsonObject)]


def members_of(key: JsonString, value: JsonValue, faults: Faults) -> tuple[Member, ...]:
    """The members of one object that names columns or operands."""
    if isinstance(value, JsonObject):
        return value.members
    faults.wrong(value.place, f"{shown(key.text)} takes names with their values, not {kind(value)}")
    return ()


# --- Comparisons


def setting(member: Member, word: ShortWord, faults: Faults) -> Setting:
    """A word of the profile with its value, or with operators and values."""
    comparisons, unit = _compared(
        member.key, member.value, lambda is_list: word.default(is_list=is_list), faults
    )
    if unit is not None:
        faults.wrong(unit.place, f"{shown(member.key.text)} has no unit", "remove it")
    return Setting(word, member.key, comparisons)


def comparisons_of(member: Member, faults: Faults) -> tuple[Comparison, ...]:
    """What a column is compared with: a value that stands alone is the value, a list has it in it."""
    comparisons, unit = _compared(member.key, member.value, _equal, faults)
    if unit is not None:
        faults.wrong(unit.place, "the values of a column have no unit", "remove it")
    return comparisons


def conditions_of(key: JsonString, value: JsonValue, faults: Faults) -> tuple[Condition | Joined, ...]:
    """Conditions whose operands are named, or that are joined by `and`, `or`, `xone` or `and-sequence`."""
    return tuple(
        condition
        for item in objects_of(key, value, faults)
        for condition in _conditions(item, faults)
    )  # fmt: skip


def _conditions(item: JsonObject, faults: Faults) -> Iterator[Condition | Joined]:
    if not item.members:
        faults.wrong(item.place, "a condition names what it compares", "as in `count: {at-most: 5}`")
    for member in item.members:
        if member.key.text in JOINED:
            operands = conditions_of(member.key, member.value, faults)
            yield Joined(JOINED[member.key.text], member.key, operands)
        else:
            comparisons, unit = _compared(member.key, member.value, _equal, faults)
            yield Condition(member.key, comparisons, unit)


def _equal(is_list: bool) -> str:
    return "isAnyOf" if is_list else "eq"


def _compared(
    key: JsonString, value: JsonValue, default: Operator, faults: Faults
) -> tuple[tuple[Comparison, ...], JsonString | None]:
    """What a word or an operand is compared with, and the unit."""
    if isinstance(value, JsonObject) and not _is_typed(value):
        return _by_operator(key, value, faults)
    operator = default(isinstance(value, JsonArray))
    if operator is None:
        message = f"{shown(key.text)} takes {_expected(key)}, not {kind(value)}"
        faults.wrong(value.place, message)
        return (), None
    comparison = _comparison(key, operator, value, key.place, faults)
    return (() if comparison is None else (comparison,)), None


def _expected(key: JsonString) -> str:
    word = WORDS.get(key.text)
    if word is not None and word.default(is_list=False) is not None:
        return "one value"
    return "operators with their values, as in `{at-least: 0.1, at-most: 0.5}`"


def _by_operator(
    key: JsonString, value: JsonObject, faults: Faults
) -> tuple[tuple[Comparison, ...], JsonString | None]:
    comparisons: list[Comparison] = []
    unit = None
    if not value.members:
        faults.wrong(value.place, f"{shown(key.text)} is compared with nothing", "write a value")
    for member in value.members:
        if member.key.text == "unit":
            unit = text_of(member.key, member.value, faults)
        elif member.key.text not in OPERATORS:
            faults.unknown(member.key, f"{shown(key.text)}: an operator is expected", OPERATORS)
        else:
            operator = OPERATORS[member.key.text]
            comparison = _comparison(member.key, operator, member.value, member.key.place, faults)
            comparisons += [] if comparison is None else [comparison]
    return tuple(comparisons), unit


def _comparison(
    key: JsonString, operator: str, value: JsonValue, place: Place, faults: Faults
) -> Comparison | None:
    is_list = isinstance(value, JsonArray)
    if is_list and operator not in SETS:
        faults.wrong(value.place, f"{shown(key.text)} takes one value, not a list")
        return None
    items = value.items if isinstance(value, JsonArray) else (value,)
    values = [_value(key, item, faults) for item in items]
    good = tuple(item for item in values if item is not None)
    takes_list = is_list or operator in SETS
    return Comparison(operator, good, takes_list, place) if good or takes_list else None


def _is_typed(value: JsonObject) -> bool:
    return len(value.members) == 1 and value.members[0].key.text in TYPES


def _value(key: JsonString, value: JsonValue, faults: Faults) -> Value | None:
    match value:
        case JsonObject(members=(member,)) if _is_typed(value):
            text = text_of(member.key, member.value, faults)
            return None if text is None else Typed(member.key.text, text)
        case JsonString() | JsonNumber():
            return value
        case JsonNamed(value=bool()):
            return value
    help_ = 'write "" for an empty text' if isinstance(value, JsonNamed) else ""
    faults.wrong(value.place, f"{shown(key.text)} takes a value, not {kind(value)}", help_)
    return None
