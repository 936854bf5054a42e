"""Reads a data market's own vocabulary: its groups, collections, actions, purposes and operands (Turtle).

| statement | says |
|---|---|
| `a odrl:Party`, `odrl:PartyCollection`, `odrl:Asset`, `odrl:AssetCollection`, `dcat:Dataset`, `odrl:Action`, `skos:Concept`, `dpv:Purpose` | of which kind a term is |
| `a odrl:LeftOperand` | facts stated under this left operand are used |
| `csvw:column` | a table has a column with this IRI |
| `odrl:partOf`, `mosaicrown:belongsTo` | a party or an asset belongs to a collection |
| `dct:isPartOf` | an asset belongs to a collection |
| `odrl:includedIn` | an action is included in another one |
| `skos:broader` | a purpose or action has a broader one |
| `skos:exactMatch` | two names are one purpose or action |
| `rdfs:label`, `rdfs:comment`, `skos:prefLabel`, `skos:altLabel`, `skos:definition`, `dct:title`, `dct:description` | nothing that has an effect |

Any other statement is refused, because it could be meant to have an effect; so are circles. Terms that
statements connect are of one kind, which a type, a standard term or the statement determines.
"""  # noqa: E501

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from smalti.errors import PolicyError
from smalti.policy.decide.hierarchies import STANDARD, Relations, Vocabulary
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import iri_problem, respelled
from smalti.vocab.aliases import canonical
from smalti.vocab.terms import CSVW, DCAT, DCT, DPV, IRI, MOSAICROWN, ODRL, RDF, RDFS

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_STATEMENTS: Final = 500_000
_SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
_BASE: Final = "https://unresolved.invalid/vocabulary/"
_LISTED: Final = 10
"""The most problems that a message names."""


class _Kind(StrEnum):
    PARTY = "party"
    ASSET = "asset"
    ACTION = "action"
    PURPOSE = "purpose"
    OPERAND = "left operand"


_TYPES: Final = {
    ODRL + "Party": _Kind.PARTY,
    ODRL + "PartyCollection": _Kind.PARTY,
    ODRL + "Asset": _Kind.ASSET,
    ODRL + "AssetCollection": _Kind.ASSET,
    DCAT + "Dataset": _Kind.ASSET,
    ODRL + "Action": _Kind.ACTION,
    DPV + "Purpose": _Kind.PURPOSE,
    ODRL + "LeftOperand": _Kind.OPERAND,
    _SKOS + "Concept": None,
}
_MEMBERS: Final = frozenset({_Kind.PARTY, _Kind.ASSET})
_CONCEPTS: Final = frozenset({_Kind.ACTION, _Kind.PURPOSE})
_EXACT: Final = _SKOS + "exactMatch"
_RELATIONS: Final = {
    ODRL + "partOf": _MEMBERS,
    MOSAICROWN + "belongsTo": _MEMBERS,
    DCT + "isPartOf": frozenset({_Kind.ASSET}),
    ODRL + "includedIn": frozenset({_Kind.ACTION}),
    _SKOS + "broader": _CONCEPTS,
    _EXACT: _CONCEPTS,
}
"""The kinds of terms that a statement may relate."""
_REMARKS: Final = frozenset(
    [RDFS + "label", RDFS + "comment", DCT + "title", DCT + "description"]
    + [_SKOS + name for name in ("prefLabel", "altLabel", "definition")]
)
_TYPE: Final = RDF + "type"
_COLUMN: Final = CSVW + "column"


@dataclass(slots=True)
class _Reading:
    """What was read from one document."""

    name: str
    types: dict[IRI, set[_Kind]] = field(default_factory=dict)
    concepts: set[IRI] = field(default_factory=set)
    """Terms that are `skos:Concept`: purposes, unless another statement determines their kind."""
    related: list[tuple[IRI, str, IRI]] = field(default_factory=list)
    columns: list[tuple[IRI, IRI]] = field(default_factory=list)
    """Tables, each with a column of it."""
    predicates: dict[IRI, set[str]] = field(default_factory=dict)
    """Of each term, those of `related`."""
    problems: list[str] = field(default_factory=list)

    def fail(self, problem: str) -> None:
        self.problems.append(problem)

    def check(self) -> None:
        """Raise if there is any problem; all of them at once."""
        if self.problems:
            shown = sorted(set(self.problems))
            text = "; ".join(shown[:_LISTED])
            more = f"; and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
            raise PolicyError(self.name, text + more, "a vocabulary with only the supported statements")


def read_vocabulary(document: bytes, name: str) -> Vocabulary:
    """Read a data market's own vocabulary.

    Args:
        document: Turtle, UTF-8, at most 16 MiB.
        name: how messages call it.

    Raises:
        PolicyError: it is not Turtle, is too large, has an unsupported statement or a circle, or
            changes a standard action or purpose.
    """
    reading = _Reading(name)
    for subject, predicate, object_ in _graph(document, name):
        _read_statement(str(predicate), subject, object_, reading)
    reading.check()
    kinds = _kinds(reading)
    reading.check()
    vocabulary = Vocabulary(
        parties=_relations(_Kind.PARTY, kinds, reading),
        assets=_relations(_Kind.ASSET, kinds, reading),
        actions=_relations(_Kind.ACTION, kinds, reading),
        purposes=_relations(_Kind.PURPOSE, kinds, reading),
        operands=frozenset(term for term, its in kinds.items() if its is _Kind.OPERAND),
        columns=tuple(sorted(reading.columns)),
    )
    _check_circles(reading)
    reading.check()
    STANDARD.with_(vocabulary)
    return vocabulary


def _graph(document: bytes, name: str) -> "Graph":
    import rdflib  # noqa: PLC0415 (only this command needs it)

    if len(document) > MOST_BYTES:
        raise PolicyError(name, f"the vocabulary is larger than {MOST_BYTES} bytes")
    graph = rdflib.Graph(bind_namespaces="none")
    try:
        document.decode("utf-8")
        graph.parse(io.BytesIO(document), format="turtle", publicID=_BASE)
    except Exception as error:  # the parser raises many kinds, with text of the document
        where = getattr(error, "lines", None)
        place = f" (line {where + 1})" if isinstance(where, int) else ""
        raise PolicyError(name, f"the vocabulary is not Turtle in UTF-8{place}") from None
    if len(graph) > MOST_STATEMENTS:
        raise PolicyError(name, f"the vocabulary has more than {MOST_STATEMENTS} statements")
    return graph


def _read_statement(predicate: str, subject: "Node", object_: "Node", reading: _Reading) -> None:
    relation = canonical(predicate)
    if relation in _REMARKS:
        return
    term = _term(subject, reading)
    if relation == _TYPE:
        _read_type(term, str(object_), reading)
    elif relation == _COLUMN:
        other = _term(object_, reading)
        if term is not None and other is not None:
            reading.columns.append((term, other))
            reading.types.setdefault(term, set()).add(_Kind.ASSET)
    elif relation in _RELATIONS:
        other = _term(object_, reading)
        if term is not None and other is not None:
            reading.related.append((term, relation, other))
            reading.predicates.setdefault(term, set()).add(relation)
    else:
        reading.fail(f"the statement {quoted(predicate)} of {quoted(str(subject))} is not supported")


def _read_type(term: IRI | None, type_: str, reading: _Reading) -> None:
    canonical_type = canonical(type_)
    if canonical_type not in _TYPES:
        reading.fail(f"the type {quoted(type_)} is not supported")
    elif term is not None:
        kind = _TYPES[canonical_type]
        if kind is None:
            reading.concepts.add(term)
        else:
            reading.types.setdefault(term, set()).add(kind)


def _term(node: "Node", reading: _Reading) -> IRI | None:
    from rdflib import BNode, URIRef  # noqa: PLC0415

    if not isinstance(node, URIRef):
        what = "a term without an IRI" if isinstance(node, BNode) else f"the text {quoted(str(node))}"
        reading.fail(f"{what} is not the IRI of a term")
        return None
    iri = respelled(str(node))
    problem = "is relative" if iri.startswith(_BASE) else iri_problem(iri)
    if problem:
        reading.fail(f"{quoted(iri.removeprefix(_BASE))} {problem}")
        return None
    standard = IRI(canonical(iri))
    return standard if _standard_kinds(standard) else IRI(iri)


# --- Kinds


def _kinds(reading: _Reading) -> dict[IRI, _Kind]:
    """The kind of each term; connected terms share one."""
    kinds: dict[IRI, _Kind] = {}
    for terms in _connected(reading):
        possible = _possible(terms, reading)
        named = quoted(min(terms))
        if len(possible) == 1:
            kinds.update(dict.fromkeys(terms, possible.pop()))
        elif possible:
            way_out = "give it a type, such as `odrl:Asset` or `odrl:Party`"
            reading.fail(f"the kind of {named} is ambiguous ({' or '.join(sorted(possible))}): {way_out}")
        else:
            reading.fail(f"{named} and the terms connected with it have different kinds")
    return kinds


def _possible(terms: set[IRI], reading: _Reading) -> set[_Kind]:
    allowed = set(_Kind)
    for term in terms:
        stated = reading.types.get(term, set()) | _standard_kinds(term)
        allowed &= stated if len(stated) == 1 else allowed if not stated else set()
        for predicate in reading.predicates.get(term, ()):
            allowed &= _RELATIONS[predicate]
    if allowed > {_Kind.PURPOSE} and (terms & reading.concepts or allowed == _CONCEPTS):
        return {_Kind.PURPOSE}
    return allowed


def _standard_kinds(term: IRI) -> set[_Kind]:
    kinds = ((_Kind.ACTION, STANDARD.actions), (_Kind.PURPOSE, STANDARD.purposes))
    return {kind for kind, hierarchy in kinds if hierarchy.defines(term)}


def _connected(reading: _Reading) -> Iterator[set[IRI]]:
    near: dict[IRI, set[IRI]] = {term: set() for term in (*reading.types, *reading.concepts)}
    for subject, _, object_ in reading.related:
        near.setdefault(subject, set()).add(object_)
        near.setdefault(object_, set()).add(subject)
    remaining = set(near)
    while remaining:
        pending = [remaining.pop()]
        group = set(pending)
        while pending:
            new = near[pending.pop()] - group
            group |= new
            pending += new
        remaining -= group
        yield group


def _relations(kind: _Kind, kinds: dict[IRI, _Kind], reading: _Reading) -> Relations:
    pairs = sorted(
        (subject, predicate, object_)
        for subject, predicate, object_ in reading.related
        if kinds[subject] is kind
    )
    return Relations(
        broader=tuple((subject, object_) for subject, predicate, object_ in pairs if predicate != _EXACT),
        exact=tuple((subject, object_) for subject, predicate, object_ in pairs if predicate == _EXACT),
        defined=frozenset(term for term, its in kinds.items() if its is kind),
    )


def _check_circles(reading: _Reading) -> None:
    """Refuse terms that include each other: one of the statements must be a mistake."""
    above: dict[IRI, set[IRI]] = {}
    for subject, predicate, object_ in reading.related:
        if predicate != _EXACT:
            above.setdefault(subject, set()).add(object_)
    left = _without_leaves(above)
    if left:
        reading.fail(f"{quoted(min(left))} includes itself, by way of others")


def _without_leaves(above: dict[IRI, set[IRI]]) -> Iterable[IRI]:
    """The terms that remain after repeatedly removing those that include nothing."""
    below: dict[IRI, int] = dict.fromkeys(above, 0)
    for others in above.values():
        for other in others:
            below[other] = below.get(other, 0) + 1
    pending = [term for term, count in below.items() if not count]
    while pending:
        term = pending.pop()
        del below[term]
        for other in above.get(term, ()):
            below[other] -= 1
            if not below[other]:
                pending.append(other)
    return below
