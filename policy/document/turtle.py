"""Turtle documents as the nodes that JSON-LD leads to; places are named by node, and not by line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from smalti.policy.document.context import Terms
from smalti.policy.document.expansion import UNRESOLVED
from smalti.policy.document.nodes import Literal, Name, Node, Property, Value
from smalti.policy.document.turtle_text import (
    BASE,
    Blank,
    Object,
    Reference,
    Statements,
    Subject,
    Written,
    read_statements,
)
from smalti.policy.findings.findings import Findings, printable, quoted
from smalti.policy.model.iris import respelled
from smalti.policy.text.json_text import MAX_DEPTH, Place
from smalti.vocab.contexts import MOSAICROWN_CONTEXT
from smalti.vocab.terms import LEFT_OPERAND, ODRL, RDF

_TYPE: Final = Reference(RDF + "type")
_FIRST: Final = Reference(RDF + "first")
_REST: Final = Reference(RDF + "rest")
_NIL: Final = Reference(RDF + "nil")
_LONGEST_STEP: Final = 60
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class _Values:
    """The objects of one predicate of one subject, those of a list in its place."""

    objects: tuple[Object, ...]
    is_list: bool


_Description = Mapping[Reference, _Values]


def read_turtle(text: str, findings: Findings) -> list[tuple[Node, Terms]]:
    """Each subject of a Turtle document as a node, with the others only named; none after an error."""
    statements = read_statements(text, findings)
    if statements is None:
        return []
    terms = Terms(statements.prefixes, (MOSAICROWN_CONTEXT,))
    described = _Lists(statements, findings).described()
    if not described and not findings.has_errors:
        findings.error("P201", Place(0, 0, ""), "the document is empty")
    if findings.has_errors:
        return []
    builder = _Builder(described, terms, findings)
    return [(builder.node(subject), terms) for subject in described]


class _Lists:
    """Puts the items of RDF lists where the lists are used."""

    def __init__(self, statements: Statements, findings: Findings) -> None:
        self.findings = findings
        self.by_subject: dict[Subject, dict[Reference, list[Object]]] = {}
        for subject, predicate, object_ in statements.triples:
            self.by_subject.setdefault(subject, {}).setdefault(predicate, []).append(object_)
        self.consumed: set[Object] = set()

    def described(self) -> dict[Subject, _Description]:
        """What is said of each subject; the cells of lists are no subjects."""
        cells = {subject for subject in self.by_subject if self.is_cell(subject)}
        descriptions: dict[Subject, _Description] = {
            subject: {predicate: self.values(objects) for predicate, objects in said.items()}
            for subject, said in self.by_subject.items()
            if subject not in cells
        }
        if cells - self.consumed:
            self.broken("a list is used by nothing")
        return descriptions

    def is_cell(self, term: Object) -> bool:
        return isinstance(term, Blank) and not {_FIRST, _REST}.isdisjoint(self.by_subject.get(term, {}))

    def values(self, objects: list[Object]) -> _Values:
        heads = [term for term in objects if term == _NIL or self.is_cell(term)]
        items = tuple(item for term in objects for item in self.items(term, 0))
        return _Values(items, len(heads) == len(objects) == 1)

    def items(self, term: Object, depth: int) -> Iterator[Object]:
        if term != _NIL and not self.is_cell(term):
            yield term
        while term != _NIL and self.is_cell(term):
            cell = self.by_subject[term] if isinstance(term, Blank) else {}
            firsts, rests = cell.get(_FIRST, []), cell.get(_REST, [])
            whole = len(firsts) == len(rests) == 1 and set(cell) <= {_FIRST, _REST, _TYPE}
            if term in self.consumed or not whole or depth > MAX_DEPTH:
                self.broken("a list is used twice, is nested too deeply, or its cells are incomplete")
                return
            self.consumed.add(term)
            yield from self.items(firsts[0], depth + 1)
            term = rests[0]
            if term != _NIL and not self.is_cell(term):
                self.broken("a list does not end with rdf:nil")

    def broken(self, message: str) -> None:
        if not self.findings.has_errors:
            self.findings.error("P217", Place(0, 0, ""), message, "write lists in round brackets")


class _Builder:
    def __init__(self, described: Mapping[Subject, _Description], terms: Terms, findings: Findings) -> None:
        self.described = described
        self.terms = terms
        self.findings = findings
        self.paths = _Paths(described, self.short)

    def node(self, subject: Subject) -> Node:
        said = self.described[subject]
        place = self.paths.place(subject)
        properties: dict[str, Property] = {}
        for predicate, values in said.items():
            if predicate != _TYPE:
                self.add(properties, predicate, values, place)
        return Node(self.name(subject, place), self.types(said.get(_TYPE), place), properties, place, True)

    def add(
        self, properties: dict[str, Property], predicate: Reference, values: _Values, node: Place
    ) -> None:
        word, place = self.short(predicate), _inside(node, self.step(predicate))
        iri = self.findings.word(predicate, place)
        if iri in properties:
            first = quoted(properties[iri].word)
            self.findings.error("P213", place, f"{quoted(word)} means the same as {first}")
        contents = tuple(self.value(value, place) for value in values.objects)
        properties[iri] = Property(iri, word, place, contents, values.is_list)

    def value(self, value: Object, place: Place) -> Value:
        if isinstance(value, Written):
            return Literal(value.text, None, value.datatype, True, value.has_language, place)
        if isinstance(value, Blank) and value not in self.described:
            return Node(None, (), {}, place, True)
        return Node(self.name(value, place), (), {}, place, True)

    def name(self, subject: Subject, place: Place) -> Name:
        if isinstance(subject, Blank):
            return Name(f"_:{subject.number}", "", place)
        return Name(respelled(subject), self.short(subject), place)

    def types(self, values: _Values | None, node: Place) -> tuple[Name, ...]:
        names: list[Name] = []
        place = _inside(node, "a")
        for value in values.objects if values is not None else ():
            if isinstance(value, Reference):
                names.append(Name(self.findings.word(value, place), self.short(value), place))
            else:
                self.findings.error("P320", place, "a type is an IRI")
        return tuple(names)

    def short(self, iri: str) -> str:
        """An IRI as the document would write it."""
        return _relative(iri) if iri.startswith(UNRESOLVED) else self.terms.shorten(iri)

    def step(self, predicate: str) -> str:
        return _step(predicate, self.short(predicate))


def _relative(iri: str) -> str:
    """A relative IRI as it is written."""
    for start in (BASE, BASE.removesuffix("/document/"), UNRESOLVED):
        if iri.startswith(start):
            return iri.removeprefix(start)
    return iri


def _step(predicate: str, short: str) -> str:
    name = predicate.removeprefix(ODRL) if predicate.startswith(ODRL) else short
    return _shown(name, _LONGEST_STEP)


def _shown(word: str, longest: int) -> str:
    return printable(word if len(word) <= longest else word[: longest - 3] + "...")


def _inside(node: Place, step: str) -> Place:
    return Place(0, 0, node.pointer, f"{node.node} {step}")


class _Paths:
    """Names each node: by its IRI, or by the way to it from the nearest node that has one."""

    def __init__(self, described: Mapping[Subject, _Description], short: Callable[[str], str]) -> None:
        self.described = described
        self.short = short
        self.parents: dict[Blank, tuple[Subject, str]] = {}
        for subject, said in described.items():
            for predicate, values in said.items():
                self.children(subject, predicate, values)
        self.numbers = {subject: number for number, subject in enumerate(described)}

    def children(self, parent: Subject, predicate: Reference, values: _Values) -> None:
        blanks = [value for value in values.objects if isinstance(value, Blank)]
        seen: dict[str, int] = {}
        for blank in blanks:
            step = _step(predicate, self.short(predicate)) + self.operand(blank)
            seen[step] = seen.get(step, 0) + 1
            numbered = step if seen[step] == 1 else f"{step} {seen[step]}"
            self.parents.setdefault(blank, (parent, numbered))

    def operand(self, blank: Blank) -> str:
        said = self.described.get(blank, {}).get(Reference(LEFT_OPERAND))
        first = said.objects[0] if said is not None and said.objects else None
        return " " + _shown(self.short(first), _LONGEST_STEP) if isinstance(first, Reference) else ""

    def place(self, subject: Subject) -> Place:
        """Where a node is described."""
        way: list[str] = []
        top = subject
        while isinstance(top, Blank) and top in self.parents and len(way) < MAX_DEPTH:
            top, step = self.parents[top]
            way.append(step)
        root = f"<{_shown(_relative(top), _LONGEST_NAME)}>" if isinstance(top, Reference) else "[]"
        pointer = quote(
            "/".join(["", str(self.numbers.get(top, 0)), *(s.replace(" ", "/") for s in way[::-1])])
        )
        return Place(0, 0, pointer, " ".join([root, *way[::-1]]))
