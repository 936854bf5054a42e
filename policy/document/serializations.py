"""The serializations of a policy document, each read to the same nodes.

JSON-LD in compact, expanded and flattened form (JSON-LD 1.1, 1.3 and API, section 4), lists of policies,
`@graph`, envelopes of data spaces, and Turtle.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.agreed import NOTHING_AGREED, Agreed, agreed, as_agreed
from smalti.policy.document.context import NO_TERMS, Terms, contexts_of, read_context
from smalti.policy.document.envelopes import Enclosed, enclosed_policies
from smalti.policy.document.expansion import expand
from smalti.policy.document.keys import check_keys
from smalti.policy.document.linking import link
from smalti.policy.document.nodes import Node, Stated
from smalti.policy.findings.findings import Findings
from smalti.policy.model.iris import SCHEMES
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonValue, read, to_plain

MAX_CONTEXTS: Final = 100
"""Different contexts in one document: each takes milliseconds to process."""
_TURTLE: Final = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:@prefix\b|@base\b|(?i:prefix|base)\s|<)")
_NOT_A_POLICY: Final = "a policy is an object, not another JSON value"


@dataclass(frozen=True, slots=True)
class _Part:
    """Node objects that share the meaning of their words."""

    objects: tuple[JsonObject, ...]
    context: JsonValue | None
    terms: Terms
    owns_context: bool
    """The one object itself contains the context."""
    stated: tuple[tuple[Stated, ...], ...] = ((),)
    """Of each object, what its envelope says."""
    agreed: Agreed = NOTHING_AGREED
    """What the message around all of them determines."""


def is_turtle(name: str, text: str) -> bool:
    """Whether a document is meant as Turtle: by its name, or by how it begins."""
    return name.endswith(".ttl") or _TURTLE.match(text) is not None


def read_nodes(text: str, findings: Findings) -> list[tuple[Node, Terms]]:
    """The policies of a document as nodes, each with the meaning of its words; none after an error."""
    if is_turtle(findings.document, text):
        from smalti.policy.document.turtle import read_turtle  # noqa: PLC0415 (few documents are Turtle)

        return link(read_turtle(text, findings), findings)
    value, faults = read(text)
    for fault in faults:
        findings.error(fault.code, fault.place, fault.message, fault.help)
    return [] if value is None or findings.has_errors else nodes_of(value, findings)


def nodes_of(value: JsonValue, findings: Findings) -> list[tuple[Node, Terms]]:
    """The policies of a JSON-LD document as nodes, as `read_nodes`."""
    nodes = [pair for part in _parts(value, findings) for pair in _expand(part, findings)]
    # Policies in the document's order, whatever context they share.
    return link(sorted(nodes, key=lambda pair: pair[0].place.start), findings) if nodes else []


def _parts(value: JsonValue, findings: Findings) -> list[_Part]:
    parts: list[_Part] = []
    expanded: list[JsonObject] = []
    for source in _objects(value, findings):
        enclosed = enclosed_policies(source, findings) if source.find("@graph") is None else None
        if enclosed is not None:
            parts += _enclosed(source, enclosed, findings)
        elif source.find("@graph") is not None:
            parts += _graph(source, findings)
        elif source.find("@context") is None and _is_expanded(source):
            expanded.append(source)
        else:
            terms = read_context(source, NO_TERMS, findings)
            member = source.find("@context")
            if terms is not None and member is not None:
                parts.append(_Part((source,), member.value, terms, True))
    if expanded:
        parts.append(_Part(tuple(expanded), None, NO_TERMS, False, ((),) * len(expanded)))
    return _joined(parts, findings)


def _joined(parts: list[_Part], findings: Findings) -> list[_Part]:
    """The parts, with those of equal contexts as one; none when there are too many."""
    joined: dict[tuple[str, bool, Agreed], _Part] = {}
    for part in parts:
        written = "" if part.context is None else json.dumps(to_plain(part.context))
        key = (written, part.owns_context, part.agreed)
        first = joined.get(key)
        objects = part.objects if first is None else (*first.objects, *part.objects)
        stated = part.stated if first is None else (*first.stated, *part.stated)
        joined[key] = replace(first or part, objects=objects, stated=stated)
    if len(joined) <= MAX_CONTEXTS:
        return list(joined.values())
    message = f"the document has more than {MAX_CONTEXTS} different contexts"
    findings.error("P108", parts[MAX_CONTEXTS].objects[0].place, message, "split the document")
    return []


def _enclosed(source: JsonObject, enclosed: list[Enclosed], findings: Findings) -> Iterable[_Part]:
    """The policies of an envelope."""
    by = agreed(source, findings) if len(enclosed) == 1 else NOTHING_AGREED
    if not enclosed and not findings.has_errors:
        findings.error("P201", source.place, "the document of a data space contains no policy")
    for each in enclosed:
        is_expanded = each.terms == NO_TERMS and each.policy.find("@context") is None
        terms = NO_TERMS if is_expanded else read_context(each.policy, each.terms, findings)
        if terms is not None:
            entries = (*each.contexts, *contexts_of(each.policy))
            context = JsonArray(entries, each.policy.place) if entries else None
            yield _Part((each.policy,), context, terms, True, (each.stated,), by)


def _objects(value: JsonValue, findings: Findings) -> list[JsonObject]:
    items = value.items if isinstance(value, JsonArray) else (value,)
    if not items:
        findings.error("P201", value.place, "the document is an empty list")
    for item in items:
        if not isinstance(item, JsonObject):
            findings.error("P201", item.place, _NOT_A_POLICY)
    return [item for item in items if isinstance(item, JsonObject)]


def _is_expanded(source: JsonObject) -> bool:
    """Whether an object without `@context` needs none (JSON-LD 1.1 API, section 5)."""
    keys = [member.key.text for member in source.members]
    absolute = any(key.partition(":")[0] in SCHEMES for key in keys if ":" in key)
    return absolute or (bool(keys) and all(key.startswith("@") for key in keys))


def _graph(document: JsonObject, findings: Findings) -> Iterable[_Part]:
    """The node objects of a document that has `@graph` at its top."""
    graph, context = document.find("@graph"), document.find("@context")
    if graph is None or any(member.key.text not in {"@context", "@graph"} for member in document.members):
        if graph is not None:
            help_ = "keep `@context` and `@graph` alone at the top"
            findings.not_implemented(graph.key.place, "`@graph` beside other keys (a named graph)", help_)
        return ()
    objects = tuple(_objects(graph.value, findings))
    if context is None and all(map(_is_expanded, objects)):
        return (_Part(objects, None, NO_TERMS, False, ((),) * len(objects)),) if objects else ()
    terms = read_context(document, NO_TERMS, findings)
    if terms is None or context is None or not objects:
        return ()
    return (_Part(objects, context.value, terms, False, ((),) * len(objects)),)


def _expand(part: _Part, findings: Findings) -> list[tuple[Node, Terms]]:
    good = [check_keys(source, part.terms, findings, part.owns_context) for source in part.objects]
    if not all(good):
        return []
    nodes = expand(part.objects, part.context, part.terms, findings)
    if len(nodes) != len(part.objects):
        return []
    return [
        (replace(as_agreed(node, part.agreed, findings), stated=stated), part.terms)
        for node, stated in zip(nodes, part.stated, strict=True)
    ]
