"""The one layout of short forms in YAML: objects in lines, lists of plain values in one line."""

import re
from typing import TYPE_CHECKING, Final

from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    is_number,
)

if TYPE_CHECKING:
    from yaml.nodes import Node

WIDTH: Final = 100
_TEXT: Final = "tag:yaml.org,2002:str"
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SMALL: Final = 60
"""The longest object that stands on one line."""


def lay_out_yaml(value: JsonObject) -> str:
    """A document in YAML. Reading it gives the value again, with `read_yaml` and with any YAML reader.

    A text that some reader takes for another kind of value stands in quotes.
    """
    import yaml  # noqa: PLC0415 (20 ms, which JSON-LD does not need)

    return str(
        yaml.serialize(
            _node(value, is_top=True),
            Dumper=yaml.SafeDumper,
            allow_unicode=True,
            width=WIDTH,
        )
    )


def _node(value: JsonValue, *, is_top: bool = False) -> "Node":
    from yaml.nodes import MappingNode, SequenceNode  # noqa: PLC0415 (likewise)

    match value:
        case JsonObject(members=members):
            pairs = [(_scalar(member.key), _node(member.value)) for member in members]
            flow = not is_top and (not members or _is_small(value))
            return MappingNode("tag:yaml.org,2002:map", pairs, flow_style=flow)
        case JsonArray(items=items):
            flow = not any(isinstance(item, JsonObject | JsonArray) for item in items)
            return SequenceNode("tag:yaml.org,2002:seq", [_node(item) for item in items], flow_style=flow)
    return _scalar(value)


def _is_small(value: JsonObject) -> bool:
    """Whether an object is one word with its value, as a comparison is, or a date."""
    plain = all(isinstance(m.value, JsonString | JsonNumber | JsonNamed) for m in value.members)
    length = sum(len(m.key.text) + len(_text(m.value)) + 4 for m in value.members)
    return plain and len(value.members) <= 2 and length <= _SMALL


def _text(value: JsonValue) -> str:
    return value.text if isinstance(value, JsonString | JsonNumber) else "true"


def _scalar(value: JsonValue) -> "Node":
    from yaml.nodes import ScalarNode  # noqa: PLC0415 (likewise)

    match value:
        case JsonString(text=text):
            ambiguous = is_number(text) or _UNPRINTABLE.search(text) is not None
            return ScalarNode(_TEXT, text, style='"' if ambiguous else None)
        case JsonNumber(text=text):
            return ScalarNode(_resolved(text), text)
        case JsonNamed(value=None):
            return ScalarNode("tag:yaml.org,2002:null", "null")
        case JsonNamed(value=named):
            return ScalarNode("tag:yaml.org,2002:bool", "true" if named else "false")
    raise TypeError(type(value))  # lists and objects are no scalars


def _resolved(number: str) -> str:
    """The tag that PyYAML gives a plain number, so that it writes none: `1e3` is a text for YAML 1.1."""
    from yaml.nodes import ScalarNode  # noqa: PLC0415 (likewise)
    from yaml.resolver import Resolver  # noqa: PLC0415

    return str(Resolver().resolve(ScalarNode, number, (True, False)))  # type: ignore[no-untyped-call]
