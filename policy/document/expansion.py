"""JSON-LD expansion by PyLD, offline, and the result as nodes that know their place."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from smalti.policy.document._pyld import import_jsonld
from smalti.policy.document.context import Terms, imported_context
from smalti.policy.document.keys import is_null, is_unknown
from smalti.policy.document.nodes import Literal, Name, Node, Property, Value
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import respelled
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
_MOST_CACHED: Final = 64


def expand(
    objects: Sequence[JsonObject], context: JsonValue | None, terms: Terms, findings: Findings
) -> list[Node]:
    """Expand node objects of one document that share a context; their keys were checked.

    Returns:
        One node for each object, in order; none after an error that ends the reading.
    """
    filled = [source for source in objects if _has_content(source, terms, findings)]
    if not filled:
        return []
    # Imported here: PyLD takes 80 ms, and a document with broken JSON never needs it.
    jsonld = import_jsonld()
    dropped: list[str | None] = []
    options = {"base": BASE, **_offline()}
    try:
        expanded = jsonld.expand(_document(filled, context), options, on_property_dropped=dropped.append)
    except jsonld.JsonLdError as error:
        findings.error("P210", objects[0].place, f"JSON-LD expansion failed: {error.code or error.type}")
        return []
    _report_dropped(dropped, objects[0], findings)
    if len(expanded) != len(filled) or not all(isinstance(node, dict) for node in expanded):
        if not findings.has_errors:
            findings.error(
                "P210",
                objects[0].place,
                "JSON-LD expansion returned other nodes than the document contains",
            )
        return []
    builder = _Builder(terms, findings)
    return [builder.node(node, source) for node, source in zip(expanded, filled, strict=True)]


def _offline() -> dict[str, object]:
    """PyLD's options to load the shipped contexts and nothing else.

    PyLD's own resolver is shared by the process: other code may have filled it from the network. Ours is
    kept for the next document, since processing the contexts takes most of the time of an expansion; one
    for each thread, because its caches know no locks, and a new one before inline contexts fill it.
    """
    from pyld import ContextResolver, FrozenDocumentLoader  # noqa: PLC0415

    if _cache.options is None or len(_cache.resolver.per_op_cache) > _MOST_CACHED:
        shipped = FrozenDocumentLoader(documents=dict(ADDRESSES))

        def loader(url: str, options: dict[str, object]) -> dict[str, object]:
            loaded = shipped(url, options)
            return {**loaded, "document": _without_imports(loaded["document"])}

        _cache.resolver = ContextResolver({}, loader)
        _cache.options = {"documentLoader": loader, "contextResolver": _cache.resolver}
    return _cache.options


def _without_imports(value: object) -> object:
    """A context with what it imports written out (JSON-LD 1.1, 4.1.10).

    PyLD adds what stands beside `@import` to the imported context itself, which it keeps: documents that
    are read later would have other terms.
    """
    if isinstance(value, list):
        return [_without_imports(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key: _without_imports(item) for key, item in value.items()}
    address = own.get("@import")
    if not isinstance(address, str) or address not in ADDRESSES:
        return own
    del own["@import"]
    return {**imported_context(ADDRESSES[address]), **own}


class _Resolver(Protocol):
    per_op_cache: dict[str, object]


class _ThreadCache(threading.local):
    options: dict[str, object] | None = None
    resolver: _Resolver


_cache: Final = _ThreadCache()


def _has_content(source: JsonObject, terms: Terms, findings: Findings) -> bool:
    """Whether expansion keeps the object; reports it otherwise."""
    meanings = {terms.expand(member.key.text) for member in source.members if not is_null(member.value)}
    if meanings & {"@value", "@list", "@set"}:
        findings.error("P201", source.place, "a policy is a node with properties, not a value, list or set")
        return False
    if any(meaning is not None and meaning not in {"@id", "@context"} for meaning in meanings):
        return True
    if not findings.has_errors:
        findings.error("P302", source.place, "the policy has no properties")
    return False


def _document(objects: Sequence[JsonObject], context: JsonValue | None) -> object:
    nodes = [
        {
            member.key.text: to_plain(member.value)
            for member in source.members
            if member.key.text != "@context"
        }
        for source in objects
    ]
    return nodes if context is None else {"@context": _without_imports(to_plain(context)), "@graph": nodes}


def _report_dropped(dropped: list[str | None], policy: JsonObject, findings: Findings) -> None:
    """Report properties that expansion dropped and no earlier check reported."""
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
            is_unknown(member.key.text, self.terms) or is_null(member.value) for member in source.members
        )
        return Node(self.name(expanded, members, source), self.types(expanded, members, source),
                    properties, source.place, complete)  # fmt: skip

    def members(self, source: JsonValue) -> dict[str, Member]:
        if not isinstance(source, JsonObject):
            return {}
        return {self.terms.expand(m.key.text) or "": m for m in source.members}

    def add(self, properties: dict[str, Property], prop: Property) -> None:
        iri = self.findings.word(prop.iri, prop.key)
        if iri in properties:
            first = quoted(properties[iri].word)
            self.findings.error("P213", prop.key, f"{quoted(prop.word)} means the same as {first}")
        properties[iri] = Property(iri, prop.word, prop.key, prop.values, prop.is_list)

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
        values = expanded.get("@type", [])
        iris = [iri for iri in values if isinstance(iri, str)] if isinstance(values, list) else []
        written = members["@type"].value if "@type" in members else source
        places = _leaves(written, self.terms)
        if len(places) != len(iris):
            places = [written] * len(iris)
        names = (_name(iri, place, source) for iri, place in zip(iris, places, strict=True))
        return tuple(Name(self.findings.word(n.iri, n.place), n.written, n.place) for n in names)


def _name(iri: str, written: JsonValue, source: JsonValue) -> Name:
    place: Place = written.place if isinstance(written, JsonString) else source.place
    return Name(respelled(iri), written.text if isinstance(written, JsonString) else iri, place)


def _leaves(source: JsonValue, terms: Terms) -> list[JsonValue]:
    """The source of each value of a property, as JSON-LD flattens lists and sets."""
    match source:
        case JsonArray(items=items):
            return [leaf for item in items for leaf in _leaves(item, terms)]
        case JsonObject(members=(member,)) if terms.expand(member.key.text) in {"@list", "@set"}:
            return _leaves(member.value, terms)
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
