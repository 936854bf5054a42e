"""Evaluates conditions in Kleene's strong logic of three values.

The meaning of the operators where several values are known (`comparing.compare` compares two values):

| operator | facts about the world | values of which the request has one |
|---|---|---|
| `eq` `isA` `isAnyOf` `isPartOf` | some value matches some listed one | every value does |
| `neq` `isNoneOf` | not `eq`: no value matches any listed one | likewise, for every value |
| `gt` `gteq` `lt` `lteq` `hasPart` | every value matches every listed one | likewise |
| `isAllOf` | each value matches a listed one, and each listed one a value | likewise |

In the cells with "every", the condition is unknown if values differ: the reading that permits less counts.
The request has one purpose, one time and one value of each parameter of its action. An operand without
known values is unknown, whatever the operator; so a missing purpose satisfies neither `eq` nor `isNoneOf`.
A condition with a unit is unknown, since facts have none.

A left operand that is not declared is unknown, whatever values are stated for it: it is neither a word of
ODRL or the profile, nor declared by a vocabulary, nor a column of a requested target. So is one that two
vocabularies declare differently.

| a left operand that is declared as a | has as values |
|---|---|
| fact | what is stated with the request, by somebody whose word counts |
| clock | the time of the request; a reference may be counted from the date of the agreement |
| count | what the registry keeps |
| clause | none: the condition is satisfied where the request accepts it, and otherwise unknown |

Clauses never keep a prohibition from applying, whatever is accepted.

A condition on rows cannot be decided here: it remains as a `Residual`, and the rest is simplified.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED, compare, negated
from smalti.policy.decide.decision import Acceptance, Fact, Finding, Request
from smalti.policy.decide.hierarchies import Hierarchies, Hierarchy
from smalti.policy.model.anchors import anchored_time, is_anchored
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    Instant,
    Logical,
    LogicalOperator,
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

_SOME: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
_NO: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})
_ELEMENTARY: Final = {
    Operator.IS_ANY_OF: Operator.EQ,
    Operator.IS_NONE_OF: Operator.EQ,
    Operator.IS_ALL_OF: Operator.EQ,
    Operator.NEQ: Operator.EQ,
}
_NEGATIONS: Final = {
    Operator.EQ: Operator.NEQ,
    Operator.NEQ: Operator.EQ,
    Operator.GT: Operator.LTEQ,
    Operator.LTEQ: Operator.GT,
    Operator.GTEQ: Operator.LT,
    Operator.LT: Operator.GTEQ,
    Operator.IS_ANY_OF: Operator.IS_NONE_OF,
    Operator.IS_NONE_OF: Operator.IS_ANY_OF,
}


@dataclass(frozen=True, slots=True)
class Residual:
    """The rest of a condition that depends on the row: satisfied by the rows that satisfy it."""

    condition: ColumnComparison | Logical
    """Made of `ColumnComparison` and `Logical` alone."""
    is_exact: bool = True
    """False: for other rows it is unknown, and not false, since another part is unknown."""


Outcome: TypeAlias = Finding | Residual


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
        spelled = _spelled(clause)
        return tuple(accepted for accepted in self._accepted if _spelled(accepted.clause) == spelled)

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
        stated = self._facts.get(_spelled(operand)) if self._facts else None
        if operand == ODRL_PURPOSE and self._request.purpose is not None:
            return (Named(self._request.purpose), *(stated or ()))
        if operand == DATE_TIME and self._request.time is not None:
            return (Instant(self._request.time), *(stated or ()))
        declaration = self.declaration(operand)
        if declaration is None or declaration.kind is OperandKind.FACT:
            return stated
        if declaration.kind is OperandKind.CLOCK and self._request.time is not None:
            return (Instant(self._request.time),)
        return self._kept.get(_spelled(operand)) if declaration.kind is OperandKind.COUNT else None

    def hierarchy(self, operand: IRI) -> Hierarchy | None:
        """The hierarchy by which the values of an operand are compared."""
        if operand == ODRL_PURPOSE:
            return self.hierarchies.purposes
        return self.hierarchies.parties if operand == RECIPIENT else None


def _spelled(operand: IRI) -> IRI:
    """The normalised spelling of an operand that is not standard."""
    return operand if operand in STANDARD_OPERANDS else normalised_column(operand)


def _by_operand(facts: Sequence[Fact]) -> dict[IRI, tuple[Value, ...]]:
    values: dict[IRI, tuple[Value, ...]] = {}
    for fact in facts:
        operand = _spelled(fact.operand)
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


def evaluate(condition: Condition, facts: Facts) -> Outcome:
    """The outcome of a constraint, or of a refinement of a party or an asset."""
    match condition:
        case Comparison():
            return _of_fact(condition, facts)
        case ColumnComparison():
            return _of_column(condition, facts)
        case Logical(operator=operator, operands=operands):
            return combine(operator, [evaluate(operand, facts) for operand in operands])
    assert_never(condition)


def _of_fact(condition: Comparison, facts: Facts) -> Finding:
    operand = condition.operand
    if (declaration := facts.declaration(operand)) is not None:
        return _of_declared(condition, declaration, facts)
    values = facts.values(operand)
    if values is None or condition.unit is not None:
        return UNKNOWN
    is_one = operand in {ODRL_PURPOSE, DATE_TIME}
    return holds(condition, values, facts.hierarchy(operand), is_one=is_one)


def _of_column(condition: ColumnComparison, facts: Facts) -> Outcome:
    column = condition.column.iri
    if facts.is_column(column):
        return Residual(condition)
    # What is declared in full is read as such; a policy that was read without the declaration is not meant.
    if facts.may_be_column(column) or facts.declaration(column) is not None:
        return UNKNOWN
    stated = facts.values(column)
    as_fact = Comparison(column, condition.operator, condition.values)
    return UNKNOWN if stated is None else holds(as_fact, stated, None, is_one=False)


# --- Declared operands


def _of_declared(condition: Comparison, declaration: OperandDeclaration, facts: Facts) -> Finding:
    if condition.unit is not None or facts.may_be_column(_spelled(condition.operand)):
        return UNKNOWN
    if declaration.kind is OperandKind.CLAUSE:
        return accepted(condition, declaration, facts)
    stated = facts.values(condition.operand)
    references = [_reference(value, declaration, facts) for value in condition.values]
    known_references = tuple(reference for reference in references if reference is not None)
    if stated is None or len(known_references) < len(references):
        return UNKNOWN
    values = [_meant(value, declaration, facts.hierarchies) for value in stated]
    hierarchy = facts.hierarchies.values if declaration.scheme is not None else None
    is_one = declaration.kind is not OperandKind.FACT
    return holds(replace(condition, values=known_references), values, hierarchy, is_one=is_one)


def _reference(value: Value, declaration: OperandDeclaration, facts: Facts) -> Value | None:
    """What a value of a condition stands for; None: a time from an agreement of an unknown date."""
    if declaration.kind is OperandKind.CLOCK and isinstance(value, Text) and is_anchored(value.text):
        moment = None if facts.agreed is None else anchored_time(value.text, facts.agreed)
        return None if moment is None else Instant(moment)
    return _meant(value, declaration, facts.hierarchies)


def _meant(value: Value, declaration: OperandDeclaration, hierarchies: Hierarchies) -> Value:
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
    return condition.operator not in _SOME


def accepted_values(
    condition: Comparison, declaration: OperandDeclaration, facts: Facts
) -> tuple[Value, ...]:
    """Those values of a clause that the request accepts: all where it does as the rule states it."""
    acceptances = facts.acceptances(condition.operand)
    if any(not acceptance.values for acceptance in acceptances):
        return condition.values
    if condition.operator in _NO:
        return ()
    hierarchies = facts.hierarchies
    values = [
        _meant(value, declaration, hierarchies) for acceptance in acceptances for value in acceptance.values
    ]
    hierarchy = hierarchies.values if declaration.scheme is not None else None
    elementary = _ELEMENTARY.get(condition.operator, condition.operator)
    return tuple(
        value
        for value in condition.values
        if any(
            compare(elementary, own, _meant(value, declaration, hierarchies), hierarchy) is SATISFIED
            for own in values
        )
    )


def evaluate_parameter(condition: Condition, parameters: Mapping[IRI, tuple[Value, ...]]) -> Finding:
    """The finding of a refinement of an action, for an action with these parameters.

    An operand with an empty tuple of values is known to have none.
    """
    match condition:
        case Comparison(operand=operand):
            values = parameters.get(operand) if operand in STANDARD_OPERANDS else None
            if values is None or condition.unit is not None:
                return UNKNOWN
            return holds(condition, values, None, is_one=True)
        case ColumnComparison():
            return UNKNOWN
        case Logical(operator=operator, operands=operands):
            outcome = combine(operator, [evaluate_parameter(operand, parameters) for operand in operands])
            return UNKNOWN if isinstance(outcome, Residual) else outcome
    assert_never(condition)


def holds(
    comparison: Comparison, values: Sequence[Value], hierarchy: Hierarchy | None, *, is_one: bool
) -> Finding:
    """Whether a comparison holds for the known values of its operand.

    Args:
        comparison: without unit.
        values: all known ones; empty: it is known that there are none.
        hierarchy: the hierarchy by which IRIs are compared.
        is_one: whether the request has one value, so that the result is unknown where values differ.
    """
    operator = comparison.operator
    elementary = _ELEMENTARY.get(operator, operator)
    references = comparison.values
    if len(values) == 1 == len(references):
        finding = compare(elementary, values[0], references[0], hierarchy)
        return negated(finding) if operator in _NO else finding
    table = [
        [compare(elementary, value, reference, hierarchy) for reference in references] for value in values
    ]
    if operator is Operator.IS_ALL_OF:
        return _all(
            (*map(_some, table), *(map(_some, zip(*table, strict=True)) if table else (UNSATISFIED,)))
        )
    if operator not in _SOME | _NO:
        return _agreed([finding for row in table for finding in row])
    each = [_some(row) for row in table]
    finding = _agreed(each) if is_one else _some(each)
    return negated(finding) if operator in _NO else finding


def _some(findings: Iterable[Finding]) -> Finding:
    present = set(findings)
    if SATISFIED in present:
        return SATISFIED
    return UNKNOWN if UNKNOWN in present else UNSATISFIED


def _all(findings: Iterable[Finding]) -> Finding:
    present = set(findings)
    if UNSATISFIED in present:
        return UNSATISFIED
    return UNKNOWN if UNKNOWN in present else SATISFIED


def _agreed(findings: Iterable[Finding]) -> Finding:
    present = set(findings) or {UNSATISFIED}
    return present.pop() if len(present) == 1 else UNKNOWN


# --- Logical constraints (ODRL IM 2.5.2)


def combine(operator: LogicalOperator, outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a logical constraint, from the outcomes of its operands."""
    match operator:
        case LogicalOperator.AND | LogicalOperator.AND_SEQUENCE:
            return conjunction(outcomes)
        case LogicalOperator.OR:
            return disjunction(outcomes)
        case LogicalOperator.XONE:
            return _exactly_one(outcomes)
    assert_never(operator)


def conjunction(outcomes: Iterable[Outcome]) -> Outcome:
    """All of them. Unknown where one is unknown, even if others depend on the row."""
    residuals, findings = _parted(outcomes)
    total = _all(findings)
    if total is not SATISFIED or not residuals:
        return total
    return _joined(
        LogicalOperator.AND, residuals, is_exact=all(residual.is_exact for residual in residuals)
    )


def disjunction(outcomes: Iterable[Outcome]) -> Outcome:
    """Any of them. Rows that satisfy a part do so even where another part is unknown."""
    residuals, findings = _parted(outcomes)
    total = _some(findings)
    if total is SATISFIED or not residuals:
        return total
    is_exact = UNKNOWN not in findings and all(residual.is_exact for residual in residuals)
    return _joined(LogicalOperator.OR, residuals, is_exact=is_exact)


def _exactly_one(outcomes: Sequence[Outcome]) -> Outcome:
    residuals, findings = _parted(outcomes)
    satisfied = findings.count(SATISFIED)
    if satisfied > 1:
        return UNSATISFIED
    if UNKNOWN in findings:
        return UNKNOWN
    if not residuals:
        return SATISFIED if satisfied else UNSATISFIED
    return _no_other(residuals) if satisfied else _one_of(residuals)


def _one_of(residuals: Sequence[Residual]) -> Outcome:
    """Exactly one of these."""
    if len(residuals) == 1:
        return residuals[0]
    # Otherwise that a row does not satisfy the others is never known.
    is_known = all(residual.is_exact for residual in residuals)
    return _joined(LogicalOperator.XONE, residuals) if is_known else UNKNOWN


def _no_other(residuals: Sequence[Residual]) -> Outcome:
    """None of these, since another operand is satisfied."""
    others = [_negation(residual.condition) if residual.is_exact else None for residual in residuals]
    if any(other is None for other in others):
        return UNKNOWN
    return _joined(LogicalOperator.AND, [Residual(other) for other in others if other is not None])


def _parted(outcomes: Iterable[Outcome]) -> tuple[list[Residual], list[Finding]]:
    residuals: list[Residual] = []
    findings: list[Finding] = []
    for outcome in outcomes:
        if isinstance(outcome, Residual):
            residuals.append(outcome)
        else:
            findings.append(outcome)
    return residuals, findings


def _joined(operator: LogicalOperator, residuals: Sequence[Residual], *, is_exact: bool = True) -> Residual:
    parts = [residual.condition for residual in residuals]
    if operator is not LogicalOperator.XONE:
        flat = [inner for part in parts for inner in _operands(operator, part)]
        parts = list(dict.fromkeys(flat))
    if len(parts) == 1:
        return Residual(parts[0], is_exact)
    return Residual(Logical(operator, tuple(parts)), is_exact)


def _operands(
    operator: LogicalOperator, part: ColumnComparison | Logical
) -> list[ColumnComparison | Logical]:
    if isinstance(part, Logical) and part.operator is operator:
        return [operand for operand in part.operands if not isinstance(operand, Comparison)]
    return [part]


def _negation(condition: Condition) -> ColumnComparison | Logical | None:
    """A condition whose rows have values and do not satisfy the given one; None: not expressible."""
    match condition:
        case ColumnComparison(operator=operator):
            if operator not in _NEGATIONS:
                return None
            return ColumnComparison(
                condition.column, _NEGATIONS[operator], condition.values, condition.where
            )
        case Logical(operator=LogicalOperator.XONE) | Comparison():
            return None
        case Logical(operator=operator, operands=operands):
            parts = [_negation(operand) for operand in operands]
            if any(part is None for part in parts):
                return None
            other = LogicalOperator.AND if operator is LogicalOperator.OR else LogicalOperator.OR
            return Logical(other, tuple(part for part in parts if part is not None), condition.where)
    assert_never(condition)


def rows_of(outcome: Residual) -> tuple[Condition, ...]:
    """The conditions of a residual, all of which a row must satisfy."""
    return tuple(_operands(LogicalOperator.AND, outcome.condition))
