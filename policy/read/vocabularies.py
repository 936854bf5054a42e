"""Reads a data market's own vocabulary: groups, concepts, columns, operands, profiles (Turtle, JSON-LD).

| statement | says |
|---|---|
| `a odrl:Party`, `odrl:PartyCollection`, `odrl:Asset`, `odrl:AssetCollection`, `dcat:Dataset`, `odrl:Action`, `skos:Concept`, `dpv:Purpose` | of which kind a term is |
| `a odrl:LeftOperand` | facts stated under this left operand are used |
| `smalti:operandKind` | a left operand is a `smalti:Fact`, which the request states (the default), a `smalti:Clock` (the time of the request), a `smalti:Count` (the outputs recorded for the requester) or a `smalti:Clause`, which the request accepts |
| `rdfs:range` | a left operand is compared with values of a datatype of XML Schema, or with concepts of a scheme |
| `smalti:operator` | a left operand is used with this operator of ODRL, and with others that are listed so; without any, with all that its range supports |
| `smalti:statedBy` | a fact counts only on the word of this party, or of a member of it |
| `a skos:ConceptScheme`, `a odrl:RightOperand`, `skos:inScheme` | a concept is a value of the left operands whose range is the scheme |
| `skos:notation` | the text that stands for such a concept in policies and requests |
| `a skos:Collection`, `skos:member` | a profile that policies may name, and the terms that belong to it |
| `rdfs:subPropertyOf` | a property of rules is a case of `odrl:assigner`, `odrl:assignee` or `odrl:target`, and read as that |
| `csvw:column` | a table has a column with this IRI |
| `odrl:partOf`, `mosaicrown:belongsTo` | a party or an asset belongs to a collection |
| `dct:isPartOf` | an asset belongs to a collection |
| `odrl:includedIn` | an action is included in another one |
| `skos:broader` | a purpose, an action or a value has a broader one |
| `skos:exactMatch` | two names are one purpose, action or value |
| `rdfs:label`, `rdfs:comment`, `rdfs:isDefinedBy`, `skos:prefLabel`, `skos:altLabel`, `skos:definition`, `dct:title`, `dct:description` | nothing that has an effect |

Any other statement is refused, because it could be meant to have an effect; so are circles, and
declarations of words and profiles that smalti reads or ignores (`shipped_words`). Terms that statements connect are of one kind, which
a type, a standard term or the statement determines.
"""  # noqa: E501

import io
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from smalti.errors import PolicyError
from smalti.policy.decide.hierarchies import STANDARD, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import iri_problem, respelled
from smalti.policy.read.shipped_words import is_shipped, is_shipped_profile
from smalti.policy.read.vocabulary_json import is_json, read_json_ld
from smalti.vocab.aliases import canonical
from smalti.vocab.declarations import (
    KIND,
    KINDS,
    OPERATOR_ALLOWED,
    STATED_BY,
    OperandDeclaration,
    OperandKind,
)
from smalti.vocab.odrl import OPERATORS_OF, Measured
from smalti.vocab.terms import (
    ASSIGNEE,
    ASSIGNER,
    CSVW,
    DCAT,
    DCT,
    DPV,
    IRI,
    MOSAICROWN,
    ODRL,
    RDF,
    RDFS,
    SKOS,
    SMALTI,
    TARGET,
    XSD,
)

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_STATEMENTS: Final = 500_000
_BASE: Final = "https://unresolved.invalid/vocabulary/"
_LISTED: Final = 10
"""The most problems that a message names."""


class _Kind(StrEnum):
    PARTY = "party"
    ASSET = "asset"
    ACTION = "action"
    PURPOSE = "purpose"
    OPERAND = "left operand"
    VALUE = "value"
    SCHEME = "concept scheme"
    PROFILE = "profile"
    FUNCTION = "property of rules"


_TYPES: Final = {
    ODRL + "Party": _Kind.PARTY,
    ODRL + "PartyCollection": _Kind.PARTY,
    ODRL + "Asset": _Kind.ASSET,
    ODRL + "AssetCollection": _Kind.ASSET,
    DCAT + "Dataset": _Kind.ASSET,
    ODRL + "Action": _Kind.ACTION,
    DPV + "Purpose": _Kind.PURPOSE,
    ODRL + "LeftOperand": _Kind.OPERAND,
    ODRL + "RightOperand": _Kind.VALUE,
    SKOS + "ConceptScheme": _Kind.SCHEME,
    SKOS + "Collection": _Kind.PROFILE,
    SKOS + "Concept": None,
}
_MEMBERS: Final = frozenset({_Kind.PARTY, _Kind.ASSET})
_CONCEPTS: Final = frozenset({_Kind.ACTION, _Kind.PURPOSE, _Kind.VALUE})
_EXACT: Final = SKOS + "exactMatch"
_RELATIONS: Final = {
    ODRL + "partOf": _MEMBERS,
    MOSAICROWN + "belongsTo": _MEMBERS,
    DCT + "isPartOf": frozenset({_Kind.ASSET}),
    ODRL + "includedIn": frozenset({_Kind.ACTION}),
    SKOS + "broader": _CONCEPTS,
    _EXACT: _CONCEPTS,
}
"""The kinds of terms that a statement may relate."""
_REMARKS: Final = frozenset(
    [RDFS + "label", RDFS + "comment", RDFS + "isDefinedBy", DCT + "title", DCT + "description"]
    + [SKOS + name for name in ("prefLabel", "altLabel", "definition")]
)
_TYPE: Final = RDF + "type"
_COLUMN: Final = CSVW + "column"
_IN_SCHEME: Final = SKOS + "inScheme"
_NOTATION: Final = SKOS + "notation"
_MEMBER: Final = SKOS + "member"
_RANGE: Final = RDFS + "range"
_CASE_OF: Final = RDFS + "subPropertyOf"
_DECLARING: Final[dict[str, tuple[_Kind, _Kind | None]]] = {
    KIND: (_Kind.OPERAND, None),
    OPERATOR_ALLOWED: (_Kind.OPERAND, None),
    _RANGE: (_Kind.OPERAND, None),
    STATED_BY: (_Kind.OPERAND, _Kind.PARTY),
    _IN_SCHEME: (_Kind.VALUE, _Kind.SCHEME),
    _MEMBER: (_Kind.PROFILE, None),
    _CASE_OF: (_Kind.FUNCTION, None),
}
"""Of the statements that declare something: the kind of the subject, and of the object where it has one."""
_CASES: Final = frozenset({ASSIGNER, ASSIGNEE, TARGET})
_DATATYPES: Final = {
    XSD + name: measured
    for measured, names in {
        Measured.TEXT: "string",
        Measured.WHOLE_NUMBER: "integer int long short nonNegativeInteger positiveInteger unsignedInt",
        Measured.NUMBER: "decimal double float",
        Measured.MOMENT: "date dateTime dateTimeStamp",
        Measured.DURATION: "duration",
        Measured.TRUTH: "boolean",
        Measured.IDENTIFIED: "anyURI",
    }.items()
    for name in names.split()
}
_OWN_WAY_OUT: Final = "declare a word of your own, in a namespace of your own"


@dataclass(slots=True)
class _Reading:
    """What was read from one document."""

    name: str
    is_stored: bool
    types: dict[IRI, set[_Kind]] = field(default_factory=dict)
    concepts: set[IRI] = field(default_factory=set)
    """Terms that are `skos:Concept`: purposes, unless another statement determines their kind."""
    related: list[tuple[IRI, str, IRI]] = field(default_factory=list)
    columns: list[tuple[IRI, IRI]] = field(default_factory=list)
    """Tables, each with a column of it."""
    predicates: dict[IRI, set[str]] = field(default_factory=dict)
    """Of each term, those of `related`."""
    declared: dict[tuple[IRI, str], set[IRI]] = field(default_factory=dict)
    """By subject and predicate, the objects of statements that declare something."""
    notations: list[tuple[IRI, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def objects(self, subject: IRI, predicate: str) -> frozenset[IRI]:
        return frozenset(self.declared.get((subject, predicate), ()))

    def fail(self, problem: str) -> None:
        self.problems.append(problem)

    def check(self) -> None:
        """Raise if there is any problem; all of them at once."""
        if self.problems:
            shown = sorted(set(self.problems))
            text = "; ".join(shown[:_LISTED])
            more = f"; and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
            raise PolicyError(self.name, text + more, "a vocabulary with only the supported statements")


def read_vocabulary(document: bytes, name: str, *, is_stored: bool = False) -> Vocabulary:
    """Read a data market's own vocabulary.

    Args:
        document: Turtle or JSON-LD (with shipped contexts and own prefixes alone), UTF-8, at most 16 MiB.
        name: how messages call it.
        is_stored: whether it was read before: an earlier smalti may have shipped fewer words. What it
            repeats of shipped ones changes nothing.

    Raises:
        PolicyError: it is neither, is too large, has an unsupported statement or a circle, changes a
            standard action or purpose, or declares a word or a profile that smalti ships.
    """
    reading = _Reading(name, is_stored)
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
        profiles=frozenset(term for term, its in kinds.items() if its is _Kind.PROFILE),
        declared=_operands(kinds, reading),
        values=_relations(_Kind.VALUE, kinds, reading),
        schemes=_schemes(kinds, reading),
        notations=tuple(sorted(reading.notations)),
        functions=_functions(kinds, reading),
    )
    _check_circles(reading)
    reading.check()
    STANDARD.with_(vocabulary)
    return vocabulary


def _graph(document: bytes, name: str) -> "Graph":
    import rdflib  # noqa: PLC0415 (only this command needs it)

    if len(document) > MOST_BYTES:
        raise PolicyError(name, f"the vocabulary is larger than {MOST_BYTES} bytes")
    # It logs a literal that is none of its datatype with a traceback, on the terminal if nobody listens.
    if not logging.getLogger("rdflib").handlers:
        logging.getLogger("rdflib").addHandler(logging.NullHandler())
    graph = rdflib.Graph(bind_namespaces="none")
    if is_json(document):
        for statement in read_json_ld(document, name):
            graph.add(statement)
        return graph
    try:
        document.decode("utf-8")
        graph.parse(io.BytesIO(document), format="turtle", publicID=_BASE)
    except Exception as error:  # the parser raises many kinds, with text of the document
        where = getattr(error, "lines", None)
        place = f" (line {where + 1})" if isinstance(where, int) else ""
        raise PolicyError(name, f"the vocabulary is not Turtle or JSON-LD in UTF-8{place}") from None
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
            for named in (term, other):
                _check_own(named, reading, is_new=not _standard_kinds(named), of_purposes=True)
            reading.related.append((term, relation, other))
            reading.predicates.setdefault(term, set()).add(relation)
    elif relation == _NOTATION:
        _read_notation(term, object_, reading)
    elif relation in _DECLARING:
        other = _term(object_, reading)
        if term is not None and other is not None:
            _read_declaration(term, relation, other, reading)
    else:
        reading.fail(f"the statement {quoted(predicate)} of {quoted(str(subject))} is not supported")


def _read_declaration(term: IRI, relation: str, other: IRI, reading: _Reading) -> None:
    _check_own(term, reading)
    reading.declared.setdefault((term, relation), set()).add(other)
    subject, object_ = _DECLARING[relation]
    reading.types.setdefault(term, set()).add(subject)
    if object_ is not None:
        reading.types.setdefault(other, set()).add(object_)


def _read_notation(term: IRI | None, object_: "Node", reading: _Reading) -> None:
    from rdflib import Literal  # noqa: PLC0415

    if term is None:
        return
    _check_own(term, reading)
    if not isinstance(object_, Literal) or not str(object_):
        reading.fail(f"the `skos:notation` of {quoted(term)} is not a text")
        return
    reading.notations.append((term, str(object_)))
    reading.types.setdefault(term, set()).add(_Kind.VALUE)


def _check_own(term: IRI, reading: _Reading, *, is_new: bool = True, of_purposes: bool = False) -> None:
    """Refuse a declaration of a word or a profile that smalti ships."""
    if reading.is_stored:
        return
    if is_shipped_profile(term):
        reading.fail(f"it claims the profile {quoted(term)}, which smalti ships: {_OWN_WAY_OUT}")
    elif is_new and is_shipped(term, of_purposes=of_purposes):
        reading.fail(f"it declares {quoted(term)} anew, in a namespace that is not its own: {_OWN_WAY_OUT}")


def _read_type(term: IRI | None, type_: str, reading: _Reading) -> None:
    canonical_type = canonical(type_)
    if canonical_type not in _TYPES:
        reading.fail(f"the type {quoted(type_)} is not supported")
    elif term is not None:
        kind = _TYPES[canonical_type]
        is_new = kind is not None or not _standard_kinds(term)
        _check_own(term, reading, is_new=is_new, of_purposes=kind in {None, _Kind.PURPOSE})
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


# --- Declarations


def _operands(kinds: dict[IRI, _Kind], reading: _Reading) -> tuple[OperandDeclaration, ...]:
    """The operands of which more is said than that they are operands."""
    declared = {term for term, predicate in reading.declared if _DECLARING[predicate][0] is _Kind.OPERAND}
    operands = sorted(term for term in declared if kinds.get(term) is _Kind.OPERAND)
    return tuple(_operand(term, reading) for term in operands)


def _operand(term: IRI, reading: _Reading) -> OperandDeclaration:
    kind = _kind(term, reading)
    measured, scheme = _range(term, kind, reading)
    stated_by = reading.objects(term, STATED_BY)
    if stated_by and kind is not OperandKind.FACT:
        reading.fail(f"{quoted(term)} is a {kind}, and `smalti:statedBy` is about facts: remove it")
    names = frozenset(iri.removeprefix(ODRL) for iri in reading.objects(term, OPERATOR_ALLOWED))
    for name in sorted(names - OPERATORS_OF[measured]):
        listed = ", ".join(f"`odrl:{operator}`" for operator in sorted(OPERATORS_OF[measured]))
        reading.fail(
            f"{quoted(term)}, which is {measured}, does not support the operator {quoted(name)}:"
            f" write some of {listed}"
        )
    return OperandDeclaration(term, kind, measured, names, scheme, stated_by)


def _kind(term: IRI, reading: _Reading) -> OperandKind:
    stated = reading.objects(term, KIND)
    if stated - KINDS.keys() or len(stated) > 1:
        listed = ", ".join(f"`smalti:{iri.removeprefix(SMALTI)}`" for iri in KINDS)
        reading.fail(f"the `smalti:operandKind` of {quoted(term)} is not one of {listed}")
        return OperandKind.CLAUSE
    return KINDS[min(stated)] if stated else OperandKind.FACT


def _range(term: IRI, kind: OperandKind, reading: _Reading) -> tuple[Measured, IRI | None]:
    stated = reading.objects(term, _RANGE)
    if len(stated) > 1:
        reading.fail(f"{quoted(term)} has several ranges: write one `rdfs:range`")
        return Measured.ANY, None
    range_ = next(iter(stated), None)
    needed = {OperandKind.CLOCK: Measured.MOMENT, OperandKind.COUNT: Measured.WHOLE_NUMBER}.get(kind)
    measured = needed or Measured.ANY
    if range_ is not None:
        measured = _DATATYPES.get(range_, Measured.CONCEPT)
    if needed is not None and measured is not needed:
        reading.fail(f"{quoted(term)} is a {kind}, and so must be {needed}: correct its `rdfs:range`")
    if range_ is None or measured is not Measured.CONCEPT:
        return measured, None
    if range_.startswith(XSD):
        listed = ", ".join(f"`xsd:{iri.removeprefix(XSD)}`" for iri in _DATATYPES)
        reading.fail(f"the datatype {quoted(range_)} is not supported: write one of {listed}, or a scheme")
    return measured, range_


def _schemes(kinds: dict[IRI, _Kind], reading: _Reading) -> tuple[tuple[IRI, IRI], ...]:
    """The concepts of each scheme: what is narrower than one of them is in it, too."""
    below: dict[IRI, list[IRI]] = {}
    for subject, predicate, object_ in reading.related:
        if kinds.get(subject) is _Kind.VALUE:
            below.setdefault(object_, []).append(subject)
            if predicate == _EXACT:
                below.setdefault(subject, []).append(object_)
    pairs: set[tuple[IRI, IRI]] = set()
    pending = [
        (concept, scheme)
        for (concept, predicate), schemes in reading.declared.items()
        for scheme in schemes
        if predicate == _IN_SCHEME
    ]
    while pending and len(pairs) <= MOST_STATEMENTS:
        concept, scheme = pair = pending.pop()
        if pair not in pairs:
            pairs.add(pair)
            pending += ((narrower, scheme) for narrower in below.get(concept, ()))
    if pending:
        reading.fail(f"its concepts are in schemes more than {MOST_STATEMENTS} times")
    return tuple(sorted(pairs))


def _functions(kinds: dict[IRI, _Kind], reading: _Reading) -> tuple[tuple[IRI, IRI], ...]:
    functions: list[tuple[IRI, IRI]] = []
    for (term, predicate), whole in sorted(reading.declared.items()):
        if predicate != _CASE_OF or kinds.get(term) is not _Kind.FUNCTION or is_shipped(term):
            continue  # an earlier smalti may have stored cases that shipped words are of
        if len(whole) > 1 or not whole <= _CASES:
            listed = ", ".join(f"`odrl:{iri.removeprefix(ODRL)}`" for iri in sorted(_CASES))
            reading.fail(f"{quoted(term)} is a case of {quoted(min(whole))}, which is not one of {listed}")
        else:
            functions.append((term, min(whole)))
    return tuple(functions)


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
