"""Properties of rules that a vocabulary declares as cases of ODRL's own (`rdfs:subPropertyOf`)."""

from collections.abc import Mapping
from dataclasses import replace

from smalti.policy.document.nodes import Node, Property, Value
from smalti.policy.findings.findings import Findings, quoted
from smalti.vocab.terms import IRI


def with_functions(node: Node, functions: Mapping[IRI, IRI], findings: Findings) -> Node:
    """A node in which each declared property stands as the one of ODRL that it is a case of.

    Where a node has both, or two cases of one, it is an error: together they would name more parties than
    each of them does.

    Args:
        node: with the nodes inside it.
        functions: by declared property, ODRL's.
        findings: where problems go.
    """
    properties: dict[str, Property] = {}
    for iri, prop in node.properties.items():
        whole = functions.get(IRI(iri), iri)
        values = tuple(_within(value, functions, findings) for value in prop.values)
        if whole in properties:
            message = f"{quoted(prop.word)} means the same as {quoted(properties[whole].word)}"
            findings.error("P213", prop.key, message, "keep one of them")
        else:
            properties[whole] = replace(prop, iri=whole, values=values)
    return replace(node, properties=properties)


def _within(value: Value, functions: Mapping[IRI, IRI], findings: Findings) -> Value:
    return with_functions(value, functions, findings) if isinstance(value, Node) else value
