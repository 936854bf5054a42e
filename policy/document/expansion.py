"""JSON-LD expansion by PyLD, offline, and the result as nodes that know their place."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from smalti.policy.document._pyld import import_jsonld
from smalti.policy.document.context import Terms
from smalti.policy.document.keys import is_unknown, says_nothing
from smalti.policy.document.nodes import Literal, Name, Node, Property, Value
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
    to_plain,
)
from smalti.vocab.contexts import ADDRESSES

BASE: Final = "smalti-unresolved://policy/document/"
"""The base of relative IRIs. No scheme of a real IRI, so that a relative one can never look absolute."""
UNRESOLVED: Final = "smalti-unresolved:"
_MOST_KEPT: Final = 64


def expand(
    objects: Sequence[JsonObject], context: JsonValue | None, terms: Terms, findings: Findings
) -> list[Node]:
    """Expand node objects of one document that share a context; their keys were checked.

    Returns:
        One node for each object, in order; none after an error that ends the reading.
    """
    speaking = [found for found in objects if _speaks(found, terms, findings)]
    if not speaking:
        return []
    # Imported here: PyLD takes 80 ms, and a document with broken JSON never needs it.
    jsonld = import_jsonld()
    dropped: list[str | None] = []
    options = {"base": BASE, **_offline()}
    try:
        expanded = jsonld.expand(_document(speaking, context), options, on_property_dropped=dropped.append)
    except jsonld.JsonLdError as error:
        findings.error(
            "P210", objects[0].place, f"JSON-LD refuses the document: {error.code or error.type}"
        )
        return []
    _report_dropped(dropped, objects[0], findings)
    if len(expanded) != len(speaking) or not all(isinstance(node, dict) for node in expanded):
        if not findings.has_errors:
            findings.error("P210", objects[0].place, "JSON-LD reads other nodes than are written")
        return []
    builder = _Builder(terms, findings)
    return [builder.node(node, found) for node, found in zip(expanded, speaking, strict=True)]


def _offline() -> dict[str, object]:
    """PyLD's options to load the shipped contexts and nothing else.

    PyLD's own resolver is shared by the process: other code may have filled it from the network. Ours is
    kept for the next document, since processing the contexts takes most of the time of an expansion; one
    for each thread, because its caches know no locks, and a new one before inline contexts fill it.
    """
    from pyld import ContextResolver, FrozenDocumentLoader  # noqa: PLC0415

    if _kept.options is None or len(_kept.resolver.per_op_cache) > _MOST_KEPT:
        loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
        _kept.resolver = ContextResolver({}, loader)
        _kept.options = {"documentLoader": loader, "contextResolver": _kept.resolver}
    return _kept.options


class _Resolver(Protocol):
    per_op_cache: dict[str, object]


class _Kept(threading.local):
    options: dict[str, object] | None = None
    resolver: _Resolver


_kept: Final = _Kept()


def _speaks(found: JsonObject, terms: Terms, findings: Findings) -> bool:
    """Whether expansion keeps the object; reports it otherwise."""
    meanings = {terms.expand(member.key.text) for member in found.members if not says_nothing(member.value)}
    if meanings & {"@value", "@list", "@set"}:
        findings.error("P201", found.place, "a policy is a node with properties, and this is not one")
        return False
    if any(meaning is not None and meaning not in {"@id", "@context"} for meaning in meanings):
        return True
    if not findings.has_errors:
        findings.error("P302", found.place, "the policy says nothing")
    return False


def _document(objects: Sequence[JsonObject], context: JsonValue | None) -> object:
    nodes = [
        {
            member.key.text: to_plain(member.value)
            for member in found.members
            if member.key.text != "@context"
        }
        for found in objects
    ]
    return nodes if context is None else {"@context": to_plain(context), "@graph": nodes}


def _report_dropped(dropped: list[str | None], policy: JsonObject, findings: Findings) -> None:
    """The second net: whatever was dropped and is not reported yet."""
    if dropped and not findings.has_errors:
        names = ", ".join(quoted(str(name)) for name in sorted(set(map(str, dropped))))
        findings.error("P206", policy.place, f"unknown properties {names}")


class _Builder:
    """Walks the expanded document and its source side by side; the source gives the places."""

    def __init__(self, terms: Terms, findings: Findings) -> None:
        self.terms = terms
        self.findings = findings

    def node(self, expanded: dict[str, object], source: JsonValue) -> Node:
        members = self.members(source)
        properties: dict[str, Property] = {}
        for iri, values in expanded.items():
            if not iri.startswith("@") and isinstance(values, list):
                self.add(properties, self.property(iri, values, members.get(iri), source))
        complete = not isinstance(source, JsonObject) or not any(
            is_unknown(member.key.text, self.terms) or says_nothing(member.value)
            for member in source.members
        )
        return Node(self.name(expanded, members, source), self.types(expanded, members, source),
                    properties, source.place, complete)  # fmt: skip

    def members(self, source: JsonValue) -> dict[str, Member]:
        if not isinstance(source, JsonObject):
            return {}
        return {self.terms.expand(m.key.text) or "": m for m in source.members}

    def add(self, properties: dict[str, Property], found: Property) -> None:
        known = self.findings.word(found.iri, found.key)
        if known in properties:
            first = quoted(properties[known].word)
            self.findings.error("P213", found.key, f"{quoted(found.word)} means the same as {first}")
        properties[known] = Property(known, found.word, found.key, found.values, found.is_list)

    def property(self, iri: str, values: list[object], member: Member | None, node: JsonValue) -> Property:
        is_list = len(values) == 1 and isinstance(values[0], dict) and "@list" in values[0]
        if member is None:
            return Property(iri, iri, node.place, self.values(values, node), is_list)
        return Property(iri, member.key.text, member.key.place, self.values(values, member.value), is_list)

    def values(self, expanded: list[object], source: JsonValue) -> tuple[Value, ...]:
        leaves = _leaves(source, self.terms)
        flat = _flat(expanded)
        if len(leaves) != len(flat):  # a place that is too coarse beats a wrong one
            leaves = [source] * len(flat)
        return tuple(self.value(value, leaf) for value, leaf in zip(flat, leaves, strict=True))

    def value(self, expanded: dict[str, object], source: JsonValue) -> Value:
        if "@value" not in expanded:
            return self.node(expanded, source)
        content, kind = expanded["@value"], expanded.get("@type")
        member = self.members(source).get("@value")
        written = member.value if member is not None else source
        return Literal(_text(content), _number(content, written), kind if isinstance(kind, str) else None,
                       isinstance(content, str), "@language" in expanded, written.place)  # fmt: skip

    def name(
        self, expanded: dict[str, object], members: dict[str, Member], source: JsonValue
    ) -> Name | None:
        iri = expanded.get("@id")
        if not isinstance(iri, str):
            return None
        member = members.get("@id")
        name = _name(iri, member.value if member is not None else source, source)
        return replace(name, is_uid=member is not None and member.key.text != "@id")

    def types(
        self, expanded: dict[str, object], members: dict[str, Member], source: JsonValue
    ) -> tuple[Name, ...]:
        found = expanded.get("@type", [])
        iris = [iri for iri in found if isinstance(iri, str)] if isinstance(found, list) else []
        written = members["@type"].value if "@type" in members else source
        places = _leaves(written, self.terms)
        if len(places) != len(iris):
            places = [written] * len(iris)
        names = (_name(iri, place, source) for iri, place in zip(iris, places, strict=True))
        return tuple(Name(self.findings.word(n.iri, n.place), n.written, n.place) for n in names)


def _name(iri: str, written: JsonValue, source: JsonValue) -> Name:
    place: Place = written.place if isinstance(written, JsonString) else source.place
    return Name(iri, written.text if isinstance(written, JsonString) else iri, place)


def _leaves(source: JsonValue, terms: Terms) -> list[JsonValue]:
    """The source of each value of a property, as JSON-LD flattens lists and sets."""
    match source:
        case JsonArray(items=items):
            return [leaf for item in items for leaf in _leaves(item, terms)]
        case JsonObject(members=(only,)) if terms.expand(only.key.text) in {"@list", "@set"}:
            return _leaves(only.value, terms)
    return [source]


def _flat(expanded: list[object]) -> list[dict[str, object]]:
    """The values, with those of lists in their place: policies use no order."""
    flat: list[dict[str, object]] = []
    for value in expanded:
        if isinstance(value, dict) and isinstance(value.get("@list"), list):
            flat.extend(_flat(value["@list"]))
        elif isinstance(value, dict):
            flat.append(value)
    return flat


def _text(content: object) -> str:
    if isinstance(content, bool):
        return str(content).lower()
    return str(content)


def _number(content: object, written: JsonValue) -> Decimal | None:
    """The number as the text writes it: binary floating point would lose digits."""
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    if isinstance(written, JsonNumber) and float(written.exact) == float(content):
        return written.exact
    return Decimal(str(content))
