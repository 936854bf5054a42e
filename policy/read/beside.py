"""What a document says beside its policies: of assets and of parties (ODRL IM 2.2 and 2.3)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from smalti.policy.document.nodes import Name, Node, Property, Value, nodes_below
from smalti.policy.findings.findings import quoted
from smalti.policy.read.assets import CLAIMS, read_described
from smalti.policy.read.inclusions import defines_action
from smalti.policy.read.properties import Place
from smalti.policy.read.reading import Reading
from smalti.policy.read.values import odrl_name
from smalti.vocab.odrl import PARTY_FUNCTIONS
from smalti.vocab.terms import (
    ASSIGNEE,
    ASSIGNEE_OF,
    ASSIGNER,
    ASSIGNER_OF,
    BELONGS_TO,
    DCT,
    FOAF,
    HAS_POLICY,
    IRI,
    ODRL,
    OUTPUT,
    PART_OF,
    REFINEMENT,
    SOURCE,
    TARGET,
    VCARD,
)  # fmt: skip

_PARTS: Final = {HAS_POLICY: TARGET, ASSIGNER_OF: ASSIGNER, ASSIGNEE_OF: ASSIGNEE}
_NAMED_BY: Final[Mapping[str, Place]] = {
    **dict.fromkeys((TARGET, OUTPUT), Place.ASSET),
    **dict.fromkeys((ASSIGNER, ASSIGNEE, *(ODRL + name for name in PARTY_FUNCTIONS)), Place.PARTY),
}
_VOCABULARIES: Final = {VCARD: Place.PARTY, FOAF: Place.PARTY, DCT: Place.ASSET}
"""The kind of thing that the types of a vocabulary are about."""

Claims = tuple[tuple[IRI, Name], ...]
"""Pairs of `target`, `assigner` or `assignee`, and what every rule of a policy has as such."""


def read_beside(policy: Node, reading: Reading) -> None:
    """Read the nodes beside a policy that describe assets and parties: memberships, and claims."""
    used = _places_of_names(policy) if policy.beside else {}
    for node in policy.beside:
        if defines_action(node):
            continue
        place = _place(node, used)
        if place is None:
            called = quoted(node.name.written) if node.name is not None else "the node"
            message = f"nothing tells whether {called} is an asset or a party"
            help_ = 'write "@type": "Asset" or "Party"'
            reading.scope.findings.error(
                "P216", node.name.place if node.name else node.place, message, help_
            )
        else:
            read_described(_without_others(node, reading), place, reading)


def claims_on(policy: Node, uid: IRI) -> Claims:
    """What nodes of the document say of a policy: `hasPolicy`, `assignerOf` and `assigneeOf`, each once."""
    claims = {
        (_PARTS[word], name.iri): name
        for top in (policy, *policy.beside)
        for node in nodes_below(top)
        for word in CLAIMS
        if uid in _names(node.get(word)) and (name := _subject(node)) is not None
    }
    return tuple((part, name) for (part, _), name in claims.items())


def with_claims(rule: Node, claims: Claims) -> Node:
    """A rule with what nodes beside the policy claim for every rule of it, beside its own parts."""
    merged = dict(rule.properties)
    for part, name in claims:
        own = merged.get(part)
        if own is None:
            merged[part] = Property(part, odrl_name(part), name.place, (_reference(name),))
        elif name.iri not in _names(own):
            merged[part] = replace(own, values=(*own.values, _reference(name)))
    return replace(rule, properties=merged)


def _reference(name: Name) -> Node:
    return Node(name, (), {}, name.place, True)


def _names(prop: Property | None) -> frozenset[str]:
    if prop is None:
        return frozenset()
    return frozenset(v.name.iri for v in prop.values if isinstance(v, Node) and v.name is not None)


def _subject(node: Node) -> Name | None:
    """The name of an asset or a party; None of a refined part of a collection, which has none."""
    if node.get(REFINEMENT) is not None:
        return None
    source = node.get(SOURCE)
    values = source.values if source is not None and node.name is None else (node,)
    return next((v.name for v in values if isinstance(v, Node)), None)


def _places_of_names(policy: Node) -> dict[str, set[Place]]:
    """Of each name in a policy and in what is said of assets and parties there, what it is."""
    places: dict[str, set[Place]] = {}
    for node in nodes_below(policy):
        for word, place in _NAMED_BY.items():
            for described in _described(node.get(word)):
                if described.name is not None:
                    places.setdefault(described.name.iri, set()).add(place)
    return places


def _described(prop: Property | None) -> Iterator[Node]:
    """The assets or parties of a property, with their collections."""
    pending: list[Node] = [v for v in (prop.values if prop is not None else ()) if isinstance(v, Node)]
    while pending:
        node = pending.pop()
        yield node
        for word in (PART_OF, BELONGS_TO, SOURCE):
            below = node.get(word)
            pending += [v for v in (below.values if below is not None else ()) if isinstance(v, Node)]


def _without_others(node: Node, reading: Reading) -> Node:
    """The node without its claims on other policies of the document, which are read for those."""
    others = reading.scope.policies - {reading.uid}

    def is_kept(value: Value) -> bool:
        return not isinstance(value, Node) or value.name is None or value.name.iri not in others

    claims: dict[str, Property] = {
        word: replace(prop, values=tuple(filter(is_kept, prop.values)))
        for word in CLAIMS
        if (prop := node.get(word)) is not None
    }
    kept: dict[str, Property] = {**node.properties, **claims}
    return replace(
        node, properties={word: prop for word, prop in kept.items() if prop.values or word not in claims}
    )


def _place(node: Node, used: Mapping[str, set[Place]]) -> Place | None:
    """What a node describes: by its types, by what it claims, or by how the policy uses its collections."""
    claimed = [Place.ASSET if word == HAS_POLICY else Place.PARTY for word in _PARTS if node.get(word)]
    kinds = {*_by_type(name.iri for name in node.types), *claimed}
    return _single(kinds or _by_use(node, used) or _by_vocabulary(name.iri for name in node.types))


def _single(kinds: set[Place]) -> Place | None:
    return kinds.pop() if len(kinds) == 1 else None


def _by_use(node: Node, used: Mapping[str, set[Place]]) -> set[Place]:
    collections = [below for word in (PART_OF, BELONGS_TO) for below in _described(node.get(word))]
    names = [described.name.iri for described in (node, *collections) if described.name is not None]
    return {place for name in names for place in used.get(name, ())}


def _by_vocabulary(types: Iterable[str]) -> set[Place]:
    starts = _VOCABULARIES.items()
    return {place for iri in types for start, place in starts if iri.startswith(start)}


def _by_type(types: Iterable[str]) -> Iterator[Place]:
    for iri in types:
        name = odrl_name(iri).removesuffix("Collection")
        if name in {"Asset", "Party"}:
            yield Place.ASSET if name == "Asset" else Place.PARTY
