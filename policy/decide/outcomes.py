"""Outcomes of conditions, combined by Kleene's strong logic, with limits to rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.decision import Finding
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Logical,
    LogicalOperator,
    Operator,
)

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


def any_finding(findings: Iterable[Finding]) -> Finding:
    """The disjunction of findings; unsatisfied where there is none."""
    present = set(findings)
    if SATISFIED in present:
        return SATISFIED
    return UNKNOWN if UNKNOWN in present else UNSATISFIED


def all_findings(findings: Iterable[Finding]) -> Finding:
    """The conjunction of findings; satisfied where there is none."""
    present = set(findings)
    if UNSATISFIED in present:
        return UNSATISFIED
    return UNKNOWN if UNKNOWN in present else SATISFIED


def agreed_finding(findings: Iterable[Finding]) -> Finding:
    """The finding that all have; unknown where they differ, and unsatisfied where there is none."""
    present = set(findings) or {UNSATISFIED}
    return present.pop() if len(present) == 1 else UNKNOWN


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
    total = all_findings(findings)
    if total is not SATISFIED or not residuals:
        return total
    return _joined(
        LogicalOperator.AND, residuals, is_exact=all(residual.is_exact for residual in residuals)
    )


def disjunction(outcomes: Iterable[Outcome]) -> Outcome:
    """Any of them. Rows that satisfy a part do so even where another part is unknown."""
    residuals, findings = _parted(outcomes)
    total = any_finding(findings)
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
