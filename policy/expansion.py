"""JSON-LD expansion of one policy by PyLD, offline, and the result as nodes that know their place."""

from decimal import Decimal
from typing import Final

from smalti.policy.context import Terms
from smalti.policy.findings import Findings, quoted
from smalti.policy.json_text import (
    JsonArray,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
    to_plain,
)
from smalti.policy.keys import is_unknown, says_nothing
from smalti.policy.nodes import Literal, Name, Node, Property, Value
from smalti.vocab.contexts import ADDRESSES

BASE: Final = "smalti-unresolved://policy/document/"
"""The base of relative IRIs. No scheme of a real IRI, so that a relative one can never look absolute."""
UNRESOLVED: Final = "smalti-unresolved:"


def expand(policy: JsonObject, terms: Terms, findings: Findings) -> Node | None:
    """Expand one policy, whose context and keys were checked; None after an error that ends the reading."""
    # Imported here: PyLD takes 80 ms, and a document with broken JSON never needs it.
    from pyld import ContextResolver, FrozenDocumentLoader, jsonld  # noqa: PLC0415

    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    dropped: list[str | None] = []
    # PyLD's own resolver is shared by the process: other code may have filled it from the network.
    options = {"base": BASE, "documentLoader": loader, "contextResolver": ContextResolver({}, loader)}
    try:
        expanded = jsonld.expand(to_plain(policy), options, on_property_dropped=dropped.append)
    except jsonld.JsonLdError as error:
        findings.error("P210", policy.place, f"JSON-LD refuses the document: {error.code or error.type}")
        return None
    _report_dropped(dropped, policy, findings)
    if len(expanded) != 1 or not isinstance(expanded[0], dict):
        if not findings.has_errors:
            findings.error("P302", policy.place, "the policy says nothing")
        return None
    return _Builder(terms, findings).node(expanded[0], policy)


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
        properties[known] = Property(known, found.word, found.key, found.values)

    def property(self, iri: str, values: list[object], member: Member | None, node: JsonValue) -> Property:
        if member is None:
            return Property(iri, iri, node.place, self.values(values, node))
        return Property(iri, member.key.text, member.key.place, self.values(values, member.value))

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
        written = members["@id"].value if "@id" in members else source
        return _name(iri, written, source)

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
