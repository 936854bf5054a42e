"""A hierarchy: which concept includes which.

A hierarchy is a partial order of concepts. It may have several broader concepts for one. Concepts that
include each other, directly or around a circle, are one in effect: each covers the other. (A data market's
own vocabulary with a circle is refused where it is read: see `read`.)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from smalti.policy.decide.decision import Finding
from smalti.policy.model.column_iris import normalised_column, table_of
from smalti.vocab.terms import IRI

Edges: TypeAlias = dict[IRI, list[IRI]]
Pairs: TypeAlias = Iterable[tuple[IRI, IRI]]
"""Pairs of a narrower concept and a broader one (or, of exact matches, of two names of one concept)."""
_MOST_KEPT: Final = 500_000
"""The most concepts in the results that a hierarchy keeps, altogether."""


@dataclass(frozen=True, slots=True)
class Relations:
    """The stated relations between concepts of one kind."""

    broader: tuple[tuple[IRI, IRI], ...] = ()
    """Pairs of a narrower concept and a broader one: a member and its group, a purpose and a wider one."""
    exact: tuple[tuple[IRI, IRI], ...] = ()
    """Pairs of two names of one concept."""
    defined: frozenset[IRI] = frozenset()
    """Concepts that stand alone."""

    @property
    def concepts(self) -> frozenset[IRI]:
        """Every concept that a relation names."""
        return self.defined.union(*self.broader, *self.exact)

    def __add__(self, other: "Relations") -> "Relations":
        return Relations(
            self.broader + other.broader, self.exact + other.exact, self.defined | other.defined
        )


@dataclass(frozen=True, slots=True)
class Spelling:
    """How IRIs are spelled that name concepts of one kind."""

    of: Callable[[str], IRI]
    """The one spelling of an IRI."""
    is_kept: bool = False
    """Whether a concept goes by its IRI as somebody wrote it, and one that nothing is said about as it is
    asked for: whoever asks compares."""


class Hierarchy:
    """The concepts of one kind. Immutable, except for a cache of results."""

    __slots__ = (
        "_above", "_below", "_broader", "_certain", "_closed", "_columns", "_concepts", "_names",
        "_related", "_size", "_spelled", "_spelling", "relations",
    )  # fmt: skip

    def __init__(
        self,
        relations: Relations | None = None,
        *,
        is_closed: bool = False,
        spelling: Spelling | None = None,
    ) -> None:
        """Make a hierarchy.

        Args:
            relations: the stated relations.
            is_closed: whether a concept that nothing is said about is a concept of its own. Otherwise it
                may be any, and what it is to another one is unknown.
            spelling: which IRIs are one concept's, though they are written in several ways; None: none are.
        """
        self.relations = relations or Relations()
        self._closed = is_closed
        self._spelling = spelling
        self._spelled = self._spell()
        self._names = self._name()
        self._concepts = frozenset(self.concept(iri) for iri in self.relations.concepts)
        self._above: Edges = {}
        self._below: Edges = {}
        self._connect(self.relations.broader)
        self._broader: dict[IRI, frozenset[IRI]] = {}
        self._related: dict[IRI, frozenset[IRI]] = {}
        self._size = 0
        self._certain: Hierarchy | None = None
        self._columns: Edges | None = None

    def _name(self) -> dict[IRI, IRI]:
        if self._spelling is None or self._spelling.is_kept:
            return _names(self.relations)
        spelled = self._spelling.of
        exact = tuple((spelled(left), spelled(right)) for left, right in self.relations.exact)
        return _names(replace(self.relations, exact=exact))

    def _spell(self) -> dict[IRI, IRI]:
        """From the one spelling of each concept to that in which it is written, of several the first."""
        if self._spelling is None or not self._spelling.is_kept:
            return {}
        return {self._spelling.of(iri): iri for iri in sorted(self.relations.concepts, reverse=True)}

    def _connect(self, pairs: Pairs) -> None:
        for narrower, broader in pairs:
            low, high = self.concept(narrower), self.concept(broader)
            if low != high:
                self._above.setdefault(low, []).append(high)
                self._below.setdefault(high, []).append(low)

    def concept(self, iri: IRI) -> IRI:
        """The one name of a concept among all that it has."""
        if self._spelling is not None:
            spelled = self._spelling.of(iri)
            iri = self._spelled.get(spelled, iri if self._spelling.is_kept else spelled)
        return self._names.get(iri, iri)

    def defines(self, iri: IRI) -> bool:
        """Whether some relation names a concept."""
        return self.concept(iri) in self._concepts

    def broader(self, iri: IRI) -> frozenset[IRI]:
        """The concept and all that include it, each by its one name."""
        if (cached := self._broader.get(iri)) is not None:
            return cached
        concepts = frozenset(_reached((self.concept(iri),), self.directly_broader))
        return self._kept(self._broader, iri, concepts)

    def related(self, iri: IRI) -> frozenset[IRI]:
        """The concepts that share a part with a concept: all that include something that it includes."""
        if (cached := self._related.get(iri)) is not None:
            return cached
        concept = self.concept(iri)
        if not self.directly_narrower(concept):
            return self.broader(concept)
        below = _reached((concept,), self.directly_narrower)
        concepts = frozenset(_reached(below, self.directly_broader))
        return self._kept(self._related, iri, concepts)

    def _kept(
        self, results: dict[IRI, frozenset[IRI]], iri: IRI, concepts: frozenset[IRI]
    ) -> frozenset[IRI]:
        """A result, kept for the next time; where that would be too much, all others are forgotten."""
        if len(concepts) > 1:  # concepts that nobody defined are as many as requests make up
            self._size += len(concepts)
            if self._size > _MOST_KEPT:
                self._broader.clear()
                self._related.clear()
                self._size = len(concepts)
            results[iri] = concepts
        return concepts

    def narrower(self, *iris: IRI) -> frozenset[IRI]:
        """Some concepts and all that they include, each by its one name; each is visited once."""
        return frozenset(_reached(map(self.concept, iris), self.directly_narrower))

    def related_to_any(self, iris: Iterable[IRI]) -> frozenset[IRI]:
        """The concepts that share a part with one of some concepts; each is visited once."""
        return frozenset(_reached(self.narrower(*iris), self.directly_broader))

    def columns_of(self, table: IRI) -> Sequence[IRI]:
        """The concepts that something is said about and whose IRIs name columns of a table."""
        if self._columns is None:
            self._columns = {}
            for iri in self.relations.concepts:
                for written in {iri, normalised_column(iri)}:
                    if (whole := table_of(written)) is not None:
                        self._columns.setdefault(whole, []).append(self.concept(iri))
        return self._columns.get(table, ())

    def directly_broader(self, concept: IRI) -> Sequence[IRI]:
        """What a concept, by its one name, is said to belong to."""
        return self._above.get(concept, ())

    def directly_narrower(self, concept: IRI) -> Sequence[IRI]:
        """What is said to belong to a concept, by its one name."""
        return self._below.get(concept, ())

    def covers(self, broader: IRI, narrower: IRI) -> bool:
        """Whether a concept is another one or includes it.

        >>> from smalti.vocab.terms import READ, USE
        >>> from smalti.policy.decide.hierarchies import STANDARD
        >>> STANDARD.actions.covers(USE, READ), STANDARD.actions.covers(READ, USE)
        (True, False)
        """
        return self.concept(broader) in self.broader(narrower) and (
            self._certain is None or self._certain.covers(broader, narrower)
        )

    def relation(self, value: IRI, reference: IRI) -> Finding:
        """Whether what a value names is within what a reference names.

        Returns:
            `SATISFIED` when the value is the reference or narrower. `UNKNOWN` when it may be: the value is
            broader, or both share a narrower concept, or nothing is said about the value in a hierarchy
            that is not closed; or only disputed statements include it. Otherwise `UNSATISFIED`.
        """
        wanted = self.concept(reference)
        if wanted in (self._broader.get(value) or self.broader(value)):
            is_certain = self._certain is None or self._certain.covers(reference, value)
            return Finding.SATISFIED if is_certain else Finding.UNKNOWN
        if wanted in self.related(value) or not (self._closed or self.defines(value)):
            return Finding.UNKNOWN
        return Finding.UNSATISFIED

    def with_(self, relations: Relations) -> "Hierarchy":
        """The hierarchy with further relations."""
        if relations == Relations():
            return self
        more = type(self)(self.relations + relations, is_closed=self._closed, spelling=self._spelling)
        more._certain = self._certain
        return more

    def disputed(self, certain: "Hierarchy") -> "Hierarchy":
        """The hierarchy where those who state its relations contradict each other.

        What any of them relates may be related; nothing is included for certain but by other statements.

        Args:
            certain: with the relations that nobody disputes.
        """
        doubtful = type(self)(self.relations, is_closed=self._closed, spelling=self._spelling)
        doubtful._certain = certain
        return doubtful

    def with_members(self, pairs: Pairs) -> "Hierarchy":
        """The hierarchy with pairs of a member and a collection; at the cost of the pairs alone."""
        return _Extended(self, tuple(pairs))


class _Extended(Hierarchy):
    """A hierarchy with a few additional pairs."""

    __slots__ = ("_base",)

    def __init__(self, base: Hierarchy, pairs: tuple[tuple[IRI, IRI], ...]) -> None:
        self._base = base
        super().__init__(Relations(pairs), is_closed=base._closed, spelling=base._spelling)
        if base._certain is not None:
            self._certain = base._certain.with_members(pairs)

    def _name(self) -> dict[IRI, IRI]:
        return self._base._names

    def _spell(self) -> dict[IRI, IRI]:
        return super()._spell() | self._base._spelled

    def defines(self, iri: IRI) -> bool:
        return self._base.defines(iri) or super().defines(iri)

    def columns_of(self, table: IRI) -> Sequence[IRI]:
        return (*super().columns_of(table), *self._base.columns_of(table))

    def directly_broader(self, concept: IRI) -> Sequence[IRI]:
        return (*super().directly_broader(concept), *self._base.directly_broader(concept))

    def directly_narrower(self, concept: IRI) -> Sequence[IRI]:
        return (*super().directly_narrower(concept), *self._base.directly_narrower(concept))


def _names(relations: Relations) -> dict[IRI, IRI]:
    """From each name of a concept with several ones to the name that is first in order."""
    root: dict[IRI, IRI] = {}

    def find(iri: IRI) -> IRI:
        while (above := root.get(iri)) is not None:
            root[iri] = root.get(above, above)
            iri = above
        return iri

    for left, right in relations.exact:
        first, second = sorted((find(left), find(right)))
        if first != second:
            root[second] = first
    return {iri: find(iri) for iri in list(root)}


def _reached(starts: Iterable[IRI], step: Callable[[IRI], Sequence[IRI]]) -> set[IRI]:
    """Some concepts, and all that steps lead to from any of them: each concept is visited once."""
    reached = set(starts)
    pending = list(reached)
    while pending:
        new = set(step(pending.pop())) - reached
        reached |= new
        pending += new
    return reached
