"""An expanded JSON-LD document as typed values, each with its place in the text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.policy.text.json_text import Place
from smalti.vocab.terms import IRI, ODRL

_ABSENT_IF_EMPTY: Final = frozenset(
    ODRL + name
    for name in (
        "permission",
        "prohibition",
        "obligation",
        "duty",
        "remedy",
        "consequence",
        "constraint",
        "refinement",
    )
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number or a truth value."""

    text: str
    """The characters of a text; otherwise the value as the document writes it."""
    number: Decimal | None
    """Exact, for a JSON number."""
    datatype: str | None
    """The IRI of `@type`, when the document gives one."""
    is_text: bool
    """False for a JSON number, `true` and `false`."""
    has_language: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a node, with all its values."""

    iri: str
    word: str
    """The key, as the document writes it."""
    key: Place
    values: "tuple[Value, ...]"
    is_list: bool | None = None
    """Whether the values are one ordered list (`@list`, an RDF list); None where that is not visible."""


@dataclass(frozen=True, slots=True)
class Name:
    """An IRI where the document writes it."""

    iri: str
    written: str
    place: Place
    is_uid: bool = False
    """Written as `uid`, and not as `@id` or a label: its author means it as a name."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What is said from outside of a policy about one part of each of its rules."""

    part: IRI
    """`odrl:target`, `odrl:assigner` or `odrl:assignee`."""
    name: Name
    source: str = "the document around it"
    """Who says it, for messages."""


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON-LD node object, or a reference to one."""

    name: Name | None
    """Its `@id`."""
    types: tuple[Name, ...]
    properties: Mapping[str, Property]
    """By IRI, in canonical spelling."""
    place: Place
    is_complete: bool
    """False when keys of this object were not understood: what seems to be missing may be among them."""
    beside: "tuple[Node, ...]" = ()
    """Of a policy: what its document says beside the policies, of assets, parties and actions."""
    stated: "tuple[Stated, ...]" = ()
    """Of a policy: what its envelope, or a binding, says of all its rules."""

    @property
    def is_reference(self) -> bool:
        """True when the node has a name and nothing else."""
        return not self.properties and not self.types and self.is_complete

    def get(self, iri: str) -> Property | None:
        """A property with its values; None also for an empty list that means absence.

        In RDF every empty set is nothing. An empty list of parties, targets or actions is refused all the
        same: without it, a rule would be about anybody or anything.
        """
        prop = self.properties.get(iri)
        return None if prop is not None and not prop.values and iri in _ABSENT_IF_EMPTY else prop


Value = Literal | Node


def nodes_below(node: Node) -> Iterator[Node]:
    """The node and every node inside it."""
    yield node
    for prop in node.properties.values():
        for value in prop.values:
            if isinstance(value, Node):
                yield from nodes_below(value)
