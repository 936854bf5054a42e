"""A vocabulary in JSON-LD as RDF statements, read as policies are: with shipped contexts alone, offline."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from smalti.errors import PolicyError
from smalti.policy.document.context import NO_TERMS, read_context
from smalti.policy.document.expansion import expand
from smalti.policy.document.keys import check_keys
from smalti.policy.document.nodes import Literal, Node
from smalti.policy.findings.findings import Findings
from smalti.policy.findings.render import render_human
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonValue, read
from smalti.vocab.terms import RDF

if TYPE_CHECKING:
    from rdflib.term import IdentifiedNode
    from rdflib.term import Node as Term

    Statement = tuple["IdentifiedNode", "IdentifiedNode", "Term"]


def is_json(document: bytes) -> bool:
    """Whether a document is JSON: Turtle begins neither with `{` nor with a list of objects."""
    start = document.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") or (start.startswith(b"[") and start[1:].lstrip().startswith(b"{"))


def read_json_ld(document: bytes, name: str) -> "Iterator[Statement]":
    """The statements of a vocabulary in JSON-LD.

    Raises:
        PolicyError: it is no JSON-LD, or has a word that its contexts do not define; with each place.
    """
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError(name, "the vocabulary is not Turtle or JSON-LD in UTF-8") from None
    findings = Findings(name, text)
    value, faults = read(text)
    for fault in faults:
        findings.error(fault.code, fault.place, fault.message, fault.help)
    sources = _objects(value, findings) if value is not None and not findings.has_errors else ()
    nodes = [node for source in sources for node in _nodes(source, findings)]
    errors = findings.sorted() if findings.has_errors else ()
    if errors:
        raise PolicyError(name, f"the vocabulary has errors\n{render_human(errors, text)}")
    return (statement for node in nodes for statement in _statements(node))


def _objects(value: JsonValue, findings: Findings) -> Sequence[JsonObject]:
    items = value.items if isinstance(value, JsonArray) else (value,)
    for item in items:
        if not isinstance(item, JsonObject):
            findings.error("P201", item.place, "a term is an object, not another JSON value")
    return [item for item in items if isinstance(item, JsonObject)]


def _nodes(source: JsonObject, findings: Findings) -> list[Node]:
    terms = read_context(source, NO_TERMS, findings)
    context, graph = source.find("@context"), source.find("@graph")
    if terms is None or context is None:
        return []
    for member in source.members if graph is not None else ():
        if member.key.text not in {"@context", "@graph"}:
            help_ = "keep `@context` and `@graph` alone at the top"
            findings.not_implemented(member.key.place, "a key beside `@graph`", help_)
    objects = _objects(graph.value, findings) if graph is not None else [source]
    good = [check_keys(part, terms, findings, owns_context=graph is None) for part in objects]
    return expand(objects, context.value, terms, findings) if all(good) else []


def _statements(node: Node) -> "Iterator[Statement]":
    """What a node says, and the nodes inside it."""
    from rdflib import URIRef  # noqa: PLC0415

    subject = _name(node)
    for type_ in node.types:
        yield subject, URIRef(RDF + "type"), URIRef(type_.iri)
    for iri, prop in node.properties.items():
        for value in prop.values:
            if isinstance(value, Literal):
                yield subject, URIRef(iri), _literal(value)
            else:
                yield subject, URIRef(iri), _name(value)
                yield from _statements(value)


def _literal(value: Literal) -> "Term":
    from rdflib import Literal as Text  # noqa: PLC0415

    return Text(value.text)


def _name(node: Node) -> "IdentifiedNode":
    from rdflib import BNode, URIRef  # noqa: PLC0415

    if node.name is None or node.name.iri.startswith("_:"):
        return BNode()
    return URIRef(node.name.iri)
