"""Whether a duty that is not fulfilled yet can still be fulfilled in time.

ODRL leaves open when a duty must be fulfilled, and a request chooses (`decision.DutyReading`). Under the
reading `not-violated` a duty may be fulfilled later, up to its deadline.
"""

from collections.abc import Iterator
from typing import Final

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.conditions import evaluate
from smalti.policy.decide.decision import Finding
from smalti.policy.decide.facts import DATE_TIME, Facts, leaves
from smalti.policy.decide.outcomes import conjunction
from smalti.policy.model.model import ColumnComparison, Comparison, Condition, Duty, Operator
from smalti.vocab.declarations import OperandKind
from smalti.vocab.odrl import Measured
from smalti.vocab.terms import IRI, ODRL

_FROM_SOME_MOMENT: Final = frozenset(
    IRI(ODRL + name) for name in ("delayPeriod", "elapsedTime", "event", "meteredTime", "timeInterval")
)
"""Operands that may limit when a duty must be fulfilled, from a moment that no request states."""
_UP_TO: Final = frozenset({Operator.LT, Operator.LTEQ})
_FROM: Final = frozenset({Operator.GT, Operator.GTEQ})


def claimed_conditions(duty: Duty) -> Iterator[ColumnComparison | Comparison]:
    """What a duty says of how and when it is done."""
    refinements: list[Condition] = [*duty.constraints, *duty.refinements]
    refinements += [refinement for target in duty.targets for refinement in target.refinements]
    return leaves(refinements)


def can_be_fulfilled(duty: Duty, facts: Facts) -> Finding:
    """Whether a duty that is not fulfilled is not violated, either.

    It is violated once one of its deadlines has passed, also one of several alternatives. That is unknown
    where something in it is not understood, a clause is not accepted, or a time counts from a moment that
    no request states.
    """
    findings = (_is_open(leaf, facts) for leaf in claimed_conditions(duty))
    outcome = conjunction(findings)
    return outcome if isinstance(outcome, Finding) else UNKNOWN


def _is_open(leaf: ColumnComparison | Comparison, facts: Facts) -> Finding:
    if isinstance(leaf, ColumnComparison) or facts.is_unknown(leaf) or leaf.operand in _FROM_SOME_MOMENT:
        return UNKNOWN
    declaration = facts.declaration(leaf.operand)
    kind = OperandKind.FACT if declaration is None else declaration.kind
    if kind is OperandKind.CLAUSE:
        return SATISFIED if evaluate(leaf, facts) is SATISFIED else UNKNOWN
    if leaf.operand == DATE_TIME or kind is OperandKind.CLOCK:
        return _is_before_the_end(leaf, facts)
    is_moment = declaration is not None and declaration.range is Measured.MOMENT
    return UNKNOWN if is_moment else SATISFIED


def _is_before_the_end(leaf: Comparison, facts: Facts) -> Finding:
    if leaf.operator in _FROM:
        return SATISFIED
    outcome = evaluate(leaf, facts)
    if outcome is UNSATISFIED and leaf.operator in _UP_TO:
        return UNSATISFIED
    return SATISFIED if outcome is SATISFIED else UNKNOWN
