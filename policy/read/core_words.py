"""Which words of a policy lie outside ODRL's core vocabulary (ODRL Vocabulary 2.2, section 3)."""

from collections.abc import Iterator
from typing import Final

from smalti.policy.document.nodes import Name, Node, Property, nodes_below
from smalti.vocab.odrl import CORE_ACTIONS, PARTY_FUNCTIONS
from smalti.vocab.terms import ACTION, IRI, LEFT_OPERAND, MOSAICROWN, ODRL, OUTPUT, RDF_VALUE, SMALTI

_ACTIONS: Final = frozenset(ODRL + name for name in CORE_ACTIONS)
_BEYOND: Final = frozenset({OUTPUT, *(IRI(ODRL + name) for name in PARTY_FUNCTIONS)})


def word_outside_core(policy: Node) -> Name | None:
    """The first word of a policy for which ODRL requires a profile (IM 2.1); or None."""
    return next((word for node in nodes_below(policy) for word in _words(node)), None)


def _words(node: Node) -> Iterator[Name]:
    for prop in node.properties.values():
        if prop.iri in _BEYOND or prop.iri.startswith((MOSAICROWN, SMALTI)):
            yield Name(prop.iri, prop.word, prop.key)
        elif prop.iri == LEFT_OPERAND:  # the core has the property, and no operand
            yield from _names(prop, frozenset())
        elif prop.iri in {ACTION, RDF_VALUE}:
            yield from _names(prop, _ACTIONS)


def _names(prop: Property, core: frozenset[str]) -> Iterator[Name]:
    for value in prop.values:
        if isinstance(value, Node) and value.name is not None and value.name.iri not in core:
            yield value.name
