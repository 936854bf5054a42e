"""A node of a plan as plain values, and back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeAlias, TypeVar

from smalti.errors import InternalError
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT

T = TypeVar("T")
Steps: TypeAlias = Mapping[str, dict[str, Any]]
"""The fields of each step of a plan, by the step's name, as JSON has them."""


def fields_of(node: object) -> dict[str, Any]:
    """The fields of a node for JSON; decimals are texts, since a number in JSON is a double."""
    if not is_dataclass(node) or isinstance(node, type):
        raise InternalError("a node of a plan must be a dataclass")
    values: dict[str, Any] = json.loads(json.dumps(asdict(node), default=str))
    _leave_out_defaults(node, values)
    return values


def _leave_out_defaults(node: object, values: Any) -> None:
    """Remove the fields that are left out at their default, of a node and of those inside it."""
    if isinstance(node, tuple):
        for inner, content in zip(node, values, strict=True):
            _leave_out_defaults(inner, content)
    if not is_dataclass(node) or isinstance(node, type):
        return
    for field in fields(node):
        _leave_out_defaults(getattr(node, field.name), values[field.name])
        if (
            LEFT_OUT_AT_DEFAULT.items() <= field.metadata.items()
            and getattr(node, field.name) == field.default
        ):
            del values[field.name]


def content_of(node: object) -> dict[str, Any]:
    """The fields of a step's node: of a dataclass, or of a mapping to plain values and nodes."""
    if isinstance(node, Mapping):
        return {name: _plain(value) for name, value in node.items()}
    return fields_of(node)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [fields_of(node) for node in value]
    return fields_of(value) if is_dataclass(value) else value


def node_of(kind: type[T], fields: Any) -> T:
    """A node from its fields, as they were read from JSON.

    Raises:
        ValueError: they are not those of such a node.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for plans that were written down)

    return TypeAdapter(kind).validate_python(fields)
