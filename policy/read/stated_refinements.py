"""The refinements of one action, as a document states them: looked up by their left operand."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import (
    Bound,
    ColumnReference,
    Comparison,
    Condition,
    DecimalBound,
    Logical,
    Number,
    Text,
)
from smalti.policy.read.columns import Column, read_column, read_respondent
from smalti.policy.read.comparisons import WrittenComparison
from smalti.policy.read.values import Scope, plain_text
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import ALGORITHM, IRI, METHOD, MONDRIAN, ONE_ROW_EACH, PRESENCE, RESPONDENT
from smalti.vocab.words import ALGORITHM_METHODS, Range, Word

Key = tuple[str, str, str]
"""What may occur once: an operand, with its column and (where there may be two bounds) its operator."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """One refinement that was read without error."""

    comparison: Comparison
    written: WrittenComparison
    targets: tuple[IRI, ...]
    column: Column | None = None
    """The column that it is for; None: the whole output."""
    logical: Logical | None = None
    """Of `smalti:column` and the comparison, where it is for a column."""

    @property
    def operand(self) -> IRI:
        return self.comparison.operand

    @property
    def word(self) -> Word | None:
        return self.written.word

    @property
    def shown(self) -> str:
        return self.written.shown

    @property
    def place(self) -> Place:
        """Of the operand."""
        return self.written.operand_name.place

    @property
    def value_place(self) -> Place:
        """Of the first value."""
        return self.written.values[0].place

    def place_of(self, name: str) -> Place:
        """Of the value that is a name; of the first value where none is written so."""
        values = (value for value in self.written.values if plain_text(value) == name)
        return next(values, self.written.values[0]).place

    @property
    def number(self) -> Decimal | None:
        """The one value, where it is a number."""
        first = self.comparison.values[0]
        return first.value if isinstance(first, Number) else None

    @property
    def names(self) -> frozenset[str]:
        """The values that are names."""
        return frozenset(value.text for value in self.comparison.values if isinstance(value, Text))

    @property
    def key(self) -> Key:
        operator = str(self.comparison.operator) if self.operand == PRESENCE else ""
        return self.operand, self.column.iri if self.column is not None else "", operator


@dataclass(slots=True)
class Refinements:
    """The refinements of one action that were read without error."""

    place: Place
    targets: tuple[IRI, ...]
    constraints: tuple[Condition, ...] = ()
    """Of the rule."""
    by_key: dict[Key, Refinement] = field(default_factory=dict)
    columns: dict[IRI, tuple[Column, ...]] = field(default_factory=dict)
    is_whole: bool = True
    """False when a refinement could not be read: it may be the one that seems to be missing."""

    def add(self, refinement: Refinement, scope: Scope) -> bool:
        """Add a refinement; False, and a finding, when it repeats an earlier one."""
        if refinement.key in self.by_key:
            first = scope.findings.where(self.by_key[refinement.key].place)
            before = f"at line {first.line}" if first.line else "above"
            message = f"{quoted(refinement.shown)} repeats the refinement {before}"
            scope.findings.error("P412", refinement.place, message, "keep one of them")
            return False
        self.by_key[refinement.key] = refinement
        if refinement.word is not None and refinement.word.range in {Range.COLUMN, Range.COLUMNS}:
            reader = read_respondent if refinement.operand == RESPONDENT else read_column
            read = (reader(value, self.targets, scope) for value in refinement.written.values)
            self.columns[refinement.operand] = tuple(column for column in read if column is not None)
        return True

    def get(self, operand: IRI) -> Refinement | None:
        """The refinement of an operand: for the whole output, else for some column."""
        whole = self.by_key.get((operand, "", ""))
        return whole or next(
            (refinement for refinement in self.by_key.values() if refinement.operand == operand), None
        )

    def first(self, *operands: IRI) -> Refinement | None:
        """The refinement of the first of some operands that has one."""
        return next(
            (refinement for operand in operands if (refinement := self.get(operand)) is not None), None
        )

    def others(self, operands: Iterable[IRI]) -> tuple[Condition, ...]:
        """The conditions on any other operand, sorted by operand and column."""
        kept = set(operands)
        return tuple(
            refinement.logical or refinement.comparison
            for _, refinement in sorted(self.by_key.items())
            if refinement.operand not in kept
        )

    def name(self, operand: IRI) -> str | None:
        """The one name that a refinement states for an operand; the first of several."""
        return next(iter(self.all_names(operand)), None)

    def all_names(self, operand: IRI) -> tuple[str, ...]:
        """The names that a refinement states for an operand, sorted."""
        refinement = self.get(operand)
        return tuple(sorted(refinement.names)) if refinement is not None else ()

    @property
    def method(self) -> str | None:
        return self.name(METHOD)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The stated algorithms, or the default of methods that form classes."""
        default = (MONDRIAN,) if self.method in ALGORITHM_METHODS[MONDRIAN] else ()
        return self.all_names(ALGORITHM) or default

    def references(self, role: IRI, scope: Scope) -> tuple[ColumnReference, ...]:
        """The columns of a role, sorted by IRI: a list is a set in ODRL."""
        first = {column.iri: column for column in reversed(self.columns.get(role, ()))}
        return tuple(ColumnReference(iri, scope.findings.where(first[iri].place)) for iri in sorted(first))


def whole_bound(refinements: Refinements, operand: IRI, scope: Scope) -> Bound | None:
    """The whole number that a refinement states for an operand, with its operator and its place."""
    refinement = refinements.get(operand)
    number = refinement.number if refinement is not None else None
    if refinement is None or number is None:
        return None
    return Bound(refinement.comparison.operator, int(number), scope.findings.where(refinement.value_place))


def decimal_bound(refinements: Refinements, operand: IRI, scope: Scope) -> DecimalBound | None:
    """The number that a refinement states for an operand, with its operator and its place."""
    refinement = refinements.get(operand)
    number = refinement.number if refinement is not None else None
    if refinement is None or number is None:
        return None
    return DecimalBound(
        refinement.comparison.operator, number, scope.findings.where(refinement.value_place)
    )


def stated_respondent(refinements: Refinements, scope: Scope) -> tuple[ColumnReference | None, bool]:
    """The column that identifies respondents, if one is stated, and whether each row has another one."""
    columns = refinements.columns.get(RESPONDENT, ())
    if not columns or columns[0].iri == ONE_ROW_EACH:
        return None, bool(columns)
    return ColumnReference(columns[0].iri, scope.findings.where(columns[0].place)), False
