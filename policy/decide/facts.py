"""What a request states, as conditions ask for it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Final

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, compare
from smalti.policy.decide.decision import Acceptance, Fact, Finding, Request
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    Instant,
    Logical,
    Named,
    Operator,
    Text,
    Value,
)
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.odrl import LEFT_OPERANDS, Measured
from smalti.vocab.terms import IRI, ODRL, ODRL_PURPOSE
from smalti.vocab.words import BY_IRI, Kind

STANDARD_OPERANDS: Final = frozenset(IRI(ODRL + name) for name in LEFT_OPERANDS) | {
    iri for iri, word in BY_IRI.items() if word.kind in {Kind.CONSTRAINT, Kind.REFINEMENT}
}
"""The left operands of ODRL and of the profile, which need no declaration."""
DATE_TIME: Final = IRI(ODRL + "dateTime")
RECIPIENT: Final = IRI(ODRL + "recipient")
SOME_OPERATORS: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
NEGATIVE_OPERATORS: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})
ELEMENTARY_OPERATORS: Final = {
    Operator.IS_ANY_OF: Operator.EQ,
    Operator.IS_NONE_OF: Operator.EQ,
    Operator.IS_ALL_OF: Operator.EQ,
    Operator.NEQ: Operator.EQ,
}


def declaration_of(operand: IRI, hierarchies: Hierarchies) -> OperandDeclaration | None:
    """What a vocabulary declares of an operand that is neither ODRL's nor the profile's."""
    return None if operand in STANDARD_OPERANDS else hierarchies.declaration(operand)


def is_clause(operand: IRI, hierarchies: Hierarchies) -> bool:
    """Whether a left operand is an obligation between people, which no machine decides."""
    declaration = declaration_of(operand, hierarchies)
    return declaration is not None and declaration.kind is OperandKind.CLAUSE


class Facts:
    """The facts of a request, about the world and its action, by left operand."""

    __slots__ = (
        "_accepted", "_facts", "_has_same", "_kept", "_own", "_parameters", "_request", "_tables",
        "hierarchies",
    )  # fmt: skip

    def __init__(self, request: Request, hierarchies: Hierarchies) -> None:
        self._request = request
        self._tables: tuple[tuple[IRI, ...], ...] = tuple((target,) for target in request.targets)
        self._own = frozenset(map(normalised_column, request.tables))
        self.hierarchies = hierarchies
        self._facts = _by_operand([fact for fact in request.facts if self._counts(fact)])
        self._kept = _by_operand(request.kept)
        self._accepted = request.accepted
        self._parameters = _by_operand(request.parameters)
        self._has_same = any(fact.same for fact in request.parameters)

    def is_declared(self, operand: IRI) -> bool:
        """Whether a left operand is declared, so that its values count."""
        if operand in STANDARD_OPERANDS:
            return True
        spelled, hierarchies = normalised_column(operand), self.hierarchies
        is_known = spelled in hierarchies.operands or spelled in hierarchies.declarations
        return is_known and spelled not in hierarchies.disputed

    def declaration(self, operand: IRI) -> OperandDeclaration | None:
        """What a vocabulary declares of an operand that is neither ODRL's nor the profile's."""
        return declaration_of(operand, self.hierarchies)

    def _counts(self, fact: Fact) -> bool:
        """Whether a stated fact counts: its operand is declared, on the word of whoever states it."""
        declaration = self.declaration(fact.operand)
        if declaration is None:
            return self.is_declared(fact.operand)
        by, parties = fact.by or self._request.party, self.hierarchies.parties
        return declaration.kind is OperandKind.FACT and (
            not declaration.stated_by
            or any(parties.relation(by, party) is SATISFIED for party in declaration.stated_by)
        )

    @property
    def agreed(self) -> datetime | None:
        """When the agreement was made."""
        return self._request.agreed

    def acceptances(self, clause: IRI) -> tuple[Acceptance, ...]:
        """How the request accepts a clause; empty where it does not."""
        spelled = spelled_operand(clause)
        return tuple(accepted for accepted in self._accepted if spelled_operand(accepted.clause) == spelled)

    def of_prohibitions(self) -> "Facts":
        """The same for prohibitions, which no accepted clause keeps from applying."""
        if not self._accepted:
            return self
        strict = copy(self)
        strict._accepted = ()
        return strict

    def is_column(self, iri: IRI) -> bool:
        """Whether an IRI, as `normalised_column` spells it, is that of a column of each requested target.

        A limit by a column of one target does not limit the rows of another. A separate table below a
        target is a column only by a declaration, not by its IRI.
        """
        if len(self._tables) == 1 and iri in self._request.columns:
            return True
        declared = self.hierarchies.columns
        is_own = iri in self._own
        return all(
            any(
                (not is_own and is_column_of(table, iri))
                or iri in declared.get(normalised_column(table), ())
                for table in tables
            )
            for tables in self._tables
        )

    def may_be_column(self, iri: IRI) -> bool:
        """Whether an IRI may be that of a column of a requested target: then facts under it do not count.

        Otherwise a fact could decide a prohibition for a larger request, but not for a smaller one.
        """
        declared = self.hierarchies.columns
        tables = {*self._request.targets, *(table for tables in self._tables for table in tables)}
        return iri in self._request.columns or any(
            is_column_of(table, iri) or iri in declared.get(normalised_column(table), ())
            for table in tables
        )

    def about(self, assets: Sequence[Asset]) -> "Facts":
        """The same for a rule about some assets.

        A target that is a column of one of these assets has no columns itself, whatever IRIs begin with its
        own: the columns are those of its table.

        Args:
            assets: the targets of the rule.
        """
        names = {asset.iri for asset in assets}
        tables = tuple(self._tables_of(target, names) for target in self._request.targets)
        if tables == self._tables:
            return self
        narrowed = copy(self)
        narrowed._tables = tables
        return narrowed

    def _tables_of(self, target: IRI, assets: Collection[IRI]) -> tuple[IRI, ...]:
        if target in self._request.tables or target in assets:
            return (target,)
        return tuple(table for table in assets if is_column_of(table, target)) or (target,)

    def is_unknown(self, condition: ColumnComparison | Comparison) -> bool:
        """Whether the operand of a comparison is not declared."""
        if isinstance(condition, Comparison):
            return not self.is_declared(condition.operand)
        column = condition.column.iri
        return not self.is_column(column) and not self.is_declared(column)

    @property
    def parameters(self) -> Mapping[IRI, tuple[Value, ...]]:
        """Of the requested action, by operand."""
        return self._parameters

    def parameters_in(self, operands: Collection[IRI]) -> Mapping[IRI, tuple[Value, ...]]:
        """The same, in the words of a permission (`in_words`)."""
        return in_words(self._request.parameters, operands) if self._has_same else self._parameters

    def values(self, operand: IRI) -> tuple[Value, ...] | None:
        """The known values of an operand of a constraint; None: none are known."""
        stated = self._facts.get(spelled_operand(operand)) if self._facts else None
        if operand == ODRL_PURPOSE and self._request.purpose is not None:
            return (Named(self._request.purpose), *(stated or ()))
        if operand == DATE_TIME and self._request.time is not None:
            return (Instant(self._request.time), *(stated or ()))
        declaration = self.declaration(operand)
        if declaration is None or declaration.kind is OperandKind.FACT:
            return stated
        if declaration.kind is OperandKind.CLOCK and self._request.time is not None:
            return (Instant(self._request.time),)
        return self._kept.get(spelled_operand(operand)) if declaration.kind is OperandKind.COUNT else None

    def hierarchy(self, operand: IRI) -> Hierarchy | None:
        """The hierarchy by which the values of an operand are compared."""
        if operand == ODRL_PURPOSE:
            return self.hierarchies.purposes
        return self.hierarchies.parties if operand == RECIPIENT else None


def spelled_operand(operand: IRI) -> IRI:
    """The normalised spelling of an operand that is not standard."""
    return operand if operand in STANDARD_OPERANDS else normalised_column(operand)


def _by_operand(facts: Sequence[Fact]) -> dict[IRI, tuple[Value, ...]]:
    values: dict[IRI, tuple[Value, ...]] = {}
    for fact in facts:
        operand = spelled_operand(fact.operand)
        values[operand] = (*values.get(operand, ()), *fact.values)
    return values


def in_words(facts: Sequence[Fact], operands: Collection[IRI]) -> dict[IRI, tuple[Value, ...]]:
    """The parameters of an action, each by its operand, or by an equivalent one that a permission names.

    Args:
        facts: of the requested action.
        operands: those that the permission names.
    """
    return _by_operand(
        [
            fact
            if fact.operand in operands
            else next((alias for alias in fact.same if alias.operand in operands), fact)
            for fact in facts
        ]
    )


def leaves(conditions: Iterable[Condition]) -> Iterator[ColumnComparison | Comparison]:
    """The comparisons of some conditions, out of logical ones."""
    for condition in conditions:
        if isinstance(condition, Logical):
            yield from leaves(condition.operands)
        else:
            yield condition


def comparisons(conditions: Iterable[Condition]) -> Iterator[Comparison]:
    """Likewise, without limits to rows."""
    return (leaf for leaf in leaves(conditions) if isinstance(leaf, Comparison))


def meant_value(value: Value, declaration: OperandDeclaration, hierarchies: Hierarchies) -> Value:
    """What a value under a declared operand stands for: a concept by its text, or a text like an IRI."""
    if declaration.scheme is not None and isinstance(value, Text):
        concept = hierarchies.scheme_of(declaration).by_notation.get(value.text)
        return value if concept is None else Named(concept)
    if declaration.range is Measured.TEXT and isinstance(value, Named):
        return Text(value.iri)
    return value


def accepted(condition: Comparison, declaration: OperandDeclaration, facts: Facts) -> Finding:
    """Whether the request accepts a clause as a rule states it; otherwise unknown, and never unsatisfied.

    Where values are accepted, each listed one must be for `isAllOf`, and else any. No value says that a
    negated clause is accepted.
    """
    values = accepted_values(condition, declaration, facts)
    if needs_all_values(condition):
        return SATISFIED if len(values) == len(condition.values) else UNKNOWN
    return SATISFIED if values else UNKNOWN


def needs_all_values(condition: Comparison) -> bool:
    """Whether a clause must be accepted with each of its values, and not only with one of them."""
    return condition.operator not in SOME_OPERATORS


def accepted_values(
    condition: Comparison, declaration: OperandDeclaration, facts: Facts
) -> tuple[Value, ...]:
    """Those values of a clause that the request accepts: all where it does as the rule states it."""
    acceptances = facts.acceptances(condition.operand)
    if any(not acceptance.values for acceptance in acceptances):
        return condition.values
    if condition.operator in NEGATIVE_OPERATORS:
        return ()
    hierarchies = facts.hierarchies
    values = [
        meant_value(value, declaration, hierarchies)
        for acceptance in acceptances
        for value in acceptance.values
    ]
    hierarchy = hierarchies.values if declaration.scheme is not None else None
    elementary = ELEMENTARY_OPERATORS.get(condition.operator, condition.operator)
    return tuple(
        value
        for value in condition.values
        if any(
            compare(elementary, own, meant_value(value, declaration, hierarchies), hierarchy) is SATISFIED
            for own in values
        )
    )
