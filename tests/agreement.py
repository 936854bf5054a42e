"""Documents as the JSON Schema and the SHACL shapes see them, and what these find."""

import hashlib
import json
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pyshacl
import pytest
import rdflib
from pyld import ContextResolver, FrozenDocumentLoader, jsonld
from pyshacl import constraints
from pyshacl.constraints import core
from rdflib.namespace import SH

from smalti.policy.document.spellings import VOCABULARIES
from smalti.vocab.aliases import NAMESPACES
from smalti.vocab.contexts import ADDRESSES
from smalti.vocab.terms import (
    DCT,
    LEFT_OPERAND,
    OPERATOR,
    PROHIBITION,
    RDF,
    RDF_VALUE,
    RDFS,
    RIGHT_OPERAND,
    XSD,
)

HERE = Path(__file__).parent / "policy"
BASE = "smalti-unresolved://policy/document/"
SHARED = {LEFT_OPERAND, RDF_VALUE}
"""What conditions and refined actions have, and nothing else."""
WORDS = (*VOCABULARIES, *(alias for alias, _ in NAMESPACES), DCT, RDF, RDFS, XSD)


# --- JSON Schema


@cache
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(files("smalti.vocab").joinpath("policy.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


@cache
def schema_accepts(text: str) -> bool:
    return validator().is_valid(json.loads(text))


def is_compact(text: str) -> bool:
    """Whether the schema speaks of a document: JSON whose policies have contexts, without `@graph`."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    policies = document if isinstance(document, list) else [document]
    return not any(
        isinstance(policy, dict)
        and ("@graph" in policy or not {"@context", "uid", "permission", "prohibition"} & set(policy))
        for policy in policies
    )


# --- SHACL


class FixedGraph(rdflib.Graph):
    """A graph that changes no more once it is asked: it is asked the same millions of times."""

    answers: dict[Any, list[Any]] | None = None

    def triples(self, triple: Any) -> Iterator[Any]:
        if self.answers is None:
            return super().triples(triple)
        if triple not in self.answers:
            self.answers[triple] = list(super().triples(triple))
        return iter(self.answers[triple])


@cache
def shapes() -> rdflib.Graph:
    text = files("smalti.vocab").joinpath("shapes.ttl").read_text(encoding="utf-8")
    graph = FixedGraph().parse(data=text, format="turtle")
    graph.answers = {}
    return graph


def _without_descriptions(patch: pytest.MonkeyPatch) -> None:
    """Spell no nodes: a third of the time goes into texts that stand in no result."""
    names = [f"{core.__name__}.{module.name}" for module in pkgutil.iter_modules(core.__path__)]
    for module in map(import_module, [f"{constraints.__name__}.constraint_component", *names]):
        if hasattr(module, "stringify_node"):
            patch.setattr(module, "stringify_node", lambda *_: "")


def graph_of(text: str, number: int) -> rdflib.Graph | None:
    """A document as RDF, its own names marked with a number; None where JSON-LD refuses the document."""
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    options = {"base": BASE, "documentLoader": loader, "contextResolver": ContextResolver({}, loader)}
    try:
        quads = jsonld.to_rdf(json.loads(text), {**options, "format": "application/n-quads"})
        graph = rdflib.Graph().parse(data=quads, format="nt")
    except (ValueError, jsonld.JsonLdError, rdflib.exceptions.ParserError):
        return None
    shared = not any(graph.triples((None, rdflib.URIRef(PROHIBITION), None)))
    nodes = list(graph.all_nodes())
    names = {node: _label(graph, node, number, shared) for node in nodes}
    if len(set(names.values())) < len(
        nodes
    ):  # the document says something twice, and that may be the point
        names = {node: _label(graph, node, number, shared=False) for node in nodes}
    marked = rdflib.Graph()
    for subject, predicate, found in graph:
        is_value = str(predicate) in (LEFT_OPERAND, OPERATOR, RIGHT_OPERAND)
        keeps = is_value and isinstance(found, rdflib.URIRef)
        marked.add((names[subject], predicate, found if keeps else names[found]))
    return marked


def _label(
    graph: rdflib.Graph,
    node: rdflib.term.Node,
    number: int,
    shared: bool,
    above: frozenset[object] = frozenset(),
) -> rdflib.term.Node:
    """The node's name among all documents.

    Equal actions and conditions of several documents are one node, which saves most of the time: the shapes
    ask of what is above them only whether it is a prohibition, and documents with one share nothing.
    """
    if isinstance(node, rdflib.URIRef):
        return node if _is_word(node) else rdflib.URIRef(f"{node}#{number}")
    if not isinstance(node, rdflib.BNode):
        return node
    inside = list(graph.predicate_objects(node))
    if not shared or node in above or not SHARED & {str(predicate) for predicate, _ in inside}:
        return rdflib.BNode(f"d{number}x{node}")
    below = above | {node}
    parts = sorted(
        f"{predicate.n3()} {_text(found) or _label(graph, found, number, shared, below).n3()}"
        for predicate, found in inside
    )
    return rdflib.BNode("h" + hashlib.sha256(repr(parts).encode()).hexdigest()[:24])


def _text(term: rdflib.term.Node) -> str:
    return "" if isinstance(term, rdflib.BNode) else term.n3()


def _is_word(term: rdflib.term.Node) -> bool:
    """Whether the term means the same in every document."""
    return isinstance(term, rdflib.URIRef) and str(term).startswith(WORDS)


def codes_from_shapes(texts: Mapping[str, str]) -> dict[str, frozenset[str] | None]:
    """The codes that the shapes report of each document, by name; None for what is no RDF.

    Documents are validated together, which takes a tenth of the time; those that describe a word itself
    would describe it for all, and are validated alone.
    """
    found: dict[str, frozenset[str] | None] = {}
    together: dict[str, rdflib.Graph] = {}
    for number, (name, text) in enumerate(texts.items()):
        graph = graph_of(text, number)
        if graph is None:
            found[name] = None
        elif any(_is_word(subject) for subject in graph.subjects()):
            found |= _validated({name: graph})
        else:
            together[name] = graph
    return found | _validated(together)


def _validated(graphs: Mapping[str, rdflib.Graph]) -> dict[str, frozenset[str]]:
    whole = rdflib.Graph()
    owners: dict[rdflib.term.Node, set[str]] = {}
    for name, graph in graphs.items():
        for triple in graph:
            whole.add(triple)
            for term in (triple[0], triple[2]):
                if not isinstance(term, rdflib.Literal) and not _is_word(term):
                    owners.setdefault(term, set()).add(name)
    with pytest.MonkeyPatch.context() as patch:
        _without_descriptions(patch)
        _, report, _ = pyshacl.validate(whole, shacl_graph=shapes(), inplace=True)
    assert isinstance(report, rdflib.Graph)
    codes: dict[str, set[str]] = {name: set() for name in graphs}
    only = next(iter(graphs)) if len(graphs) == 1 else None
    for result in report.objects(None, SH.result):
        message = str(report.value(result, SH.resultMessage))
        places = [report.value(result, SH.focusNode), report.value(result, SH.value)]
        named = {only} if only else next((owners[place] for place in places if place in owners), set())
        assert named, (message, places)
        for name in named:
            codes[name].add(message.partition(":")[0])
    return {name: frozenset(of) for name, of in codes.items()}


def read(paths: Iterable[Path]) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in paths}
