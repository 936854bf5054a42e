"""From the text of a short form to its JSON-LD, whose parts keep their places in the short form."""

import re
from dataclasses import dataclass
from typing import Final

from smalti.policy.short.words import TOP_WORDS
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
    read,
)
from smalti.policy.text.kinds import looks_short
from smalti.policy.text.layout import lay_out

ENDINGS: Final = (".yaml", ".yml")
IN_CODE: Final = "<policy>"
"""What messages call a policy that is written in code; it is always in the short form."""
_OTHERS: Final = (".json", ".jsonld", ".ttl")
_JSON: Final = re.compile(r"\ufeff?\s*[\[{]")
_START: Final = re.compile(r"\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n|---[ \t]*\r?\n)*([a-z-]+):(?:\s|\Z)")

_NOT_SHORT: Final = JsonFault(
    "P111",
    "the text is not a policy in the short form: none of its words is one of its first words",
    Place(0, 1, ""),
    "docs/how-to/write-a-policy.md lists the words of the short form",
)


@dataclass(frozen=True, slots=True)
class ShortSource:
    """The JSON-LD of a document in the short form."""

    text: str
    """Empty after a fault."""
    value: JsonValue | None
    """The same, with the places of the short form; pointers are those of the JSON-LD. After a fault:
    of what could be read, to look for more."""
    faults: tuple[JsonFault, ...]
    """At their places in the short form."""


def is_short(name: str, text: str) -> bool:
    """Whether a document is meant as a short form: by its name, or by the word that it begins with.

    Text that begins with a bracket is JSON, whatever its name.

    >>> is_short("p.yaml", "a: 1"), is_short("<stdin>", "target: x"), is_short("p.yaml", "{}")
    (True, True, False)
    """
    if _JSON.match(text):
        return False
    start = _START.match(text)
    begins = start is not None and start[1] in TOP_WORDS and not name.endswith(_OTHERS)
    return name == IN_CODE or name.endswith(ENDINGS) or begins


def read_source(text: str) -> ShortSource:
    """The JSON-LD of a text in the short form, or its faults."""
    # Most documents are JSON-LD, and do without.
    from smalti.policy.short.document import document_of  # noqa: PLC0415
    from smalti.policy.short.reading import read_short  # noqa: PLC0415
    from smalti.policy.text.yaml_text import read_yaml  # noqa: PLC0415

    value, faults = read_yaml(text)
    if faults:
        return ShortSource("", None, faults)
    policy, faults = read_short(value)
    if faults and policy is not None and not looks_short(text):
        return ShortSource("", None, (_NOT_SHORT,))  # what it says may be data
    if policy is None:
        return ShortSource("", None, faults)
    document = document_of(policy)
    json_ld = lay_out(document)
    parsed, more = read(json_ld)
    if parsed is None or more:  # half a character, or too many values
        start = Place(0, 0, "")
        located = tuple(JsonFault(fault.code, fault.message, start, fault.help) for fault in more)
        return ShortSource("", None, (*faults, *located))
    return ShortSource("" if faults else json_ld, _located(parsed, document), faults)


def _located(value: JsonValue, source: JsonValue) -> JsonValue:
    """A value of the JSON-LD text, with the places of the equal value that it was written from."""
    place = Place(source.place.start, source.place.end, value.place.pointer)
    match value, source:
        case JsonObject(members=members), JsonObject():
            return JsonObject(tuple(_located_member(member, source) for member in members), place)
        case JsonArray(items=items), JsonArray(items=sources):
            return JsonArray(tuple(map(_located, items, sources)), place)
        case JsonString(text=text), _:
            return JsonString(text, place)
        case JsonNumber(text=text), _:
            return JsonNumber(text, place)
        case JsonNamed(value=named), _:
            return JsonNamed(named, place)
    raise TypeError(type(source))  # a fault of ours: both were one value


def _located_member(member: Member, source: JsonObject) -> Member:
    origin = source.find(member.key.text)
    if origin is None:
        raise TypeError(member.key.text)  # likewise
    start, end = origin.key.place.start, origin.key.place.end
    key = JsonString(member.key.text, Place(start, end, member.key.place.pointer))
    return Member(key, _located(member.value, origin.value))
