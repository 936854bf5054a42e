"""Says once what a JSON Schema says often: large parts that are equal move to `$defs`."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Final, cast

from generators.schema_values import Schema, reference

_LARGE: Final = 120
"""Characters from which on a part is worth a name."""
_DIGITS: Final = 10
"""Of a part's name: that two of a thousand parts are named alike is less likely than one in a million."""
_MAPS: Final = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords whose values are schemas by name."""
_ONE: Final = frozenset(
    {"if", "then", "else", "not", "items", "contains", "propertyNames", "additionalProperties"}
)
_EXPLANATIONS: Final = frozenset({"errorMessage", "description", "enumDescriptions"})
_SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})


def share(schema: Schema) -> Schema:
    """An equal schema in which each large part stands once."""
    counts: Counter[str] = Counter()
    _count(schema, counts)
    names: dict[str, str] = {}
    parts: dict[str, object] = {}
    alike = Counter(_meaning(json.loads(text)) for text, count in counts.items() if count > 1)

    def replace(value: object) -> object:
        text = _text(value)
        if not isinstance(value, dict) or counts[text] < 2 or len(text) < _LARGE:
            return _inside(value, replace)
        if text not in names:
            meaning = _meaning(value)
            names[text] = _name(meaning if alike[meaning] == 1 else text)
            parts[names[text]] = _inside(value, replace)
        return reference(names[text])

    schema_with_references = cast(Schema, _inside(schema, replace))
    return schema_with_references | {"$defs": cast(Schema, schema_with_references["$defs"]) | parts}


def _meaning(value: object) -> str:
    """What a part allows, with its codes, without what it tells people: that may change, and names stay."""
    return _text(_unexplained(value))


def _unexplained(value: object) -> object:
    if isinstance(value, list):
        return [_unexplained(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _unexplained(inner) for key, inner in value.items() if key not in _EXPLANATIONS}


def _name(text: str) -> str:
    """A name that depends on nothing but the text."""
    return f"part-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def _count(schema: object, counts: Counter[str]) -> None:
    text = _text(schema)
    counts[text] += 1
    if counts[text] == 1:

        def count(inner: object) -> object:
            _count(inner, counts)
            return inner

        _inside(schema, count)


def _inside(schema: object, change: Callable[[object], object]) -> object:
    """A schema whose own schemas are changed."""
    if not isinstance(schema, dict):
        return schema
    copied: Schema = {}
    for key, value in schema.items():
        if key in _ONE:
            copied[key] = change(value)
        elif key in _SEVERAL:
            copied[key] = [change(item) for item in value]
        elif key in _MAPS:
            copied[key] = {name: change(item) for name, item in value.items()}
        else:
            copied[key] = value
    return copied


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
