"""JSON values without places, for documents that are written and not read."""

from collections.abc import Iterable, Mapping
from typing import Final

from smalti.policy.text.json_text import (
    JsonArray,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)

NOWHERE: Final = Place(0, 0, "")


def text_value(content: str) -> JsonString:
    """A text."""
    return JsonString(content, NOWHERE)


def array(items: Iterable[JsonValue]) -> JsonArray:
    """A list."""
    return JsonArray(tuple(items), NOWHERE)


def plain_object(members: Mapping[str, JsonValue]) -> JsonObject:
    """An object with members in their order."""
    return JsonObject(
        tuple(Member(text_value(key), value) for key, value in members.items()), NOWHERE
    )  # fmt: skip


def text(value: JsonValue | None) -> str:
    """The content of a text or a number; of anything else the empty text."""
    return value.text if isinstance(value, JsonString | JsonNumber) else ""


def items_of(value: JsonValue | None) -> tuple[JsonValue, ...]:
    """The items of a list; one value by itself; nothing."""
    if value is None:
        return ()
    return value.items if isinstance(value, JsonArray) else (value,)


def one_or_list(items: Iterable[JsonValue]) -> JsonValue:
    """One value by itself, several as a list."""
    values = tuple(items)
    return values[0] if len(values) == 1 else array(values)
