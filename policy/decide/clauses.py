"""The clauses that a permission depends on, as a request accepts them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from smalti.policy.decide.comparing import SATISFIED, UNSATISFIED
from smalti.policy.decide.conditions import evaluate
from smalti.policy.decide.duties import claimed_conditions
from smalti.policy.decide.facts import Facts, accepted_values, needs_all_values
from smalti.policy.decide.matching import Situation, judged_duties
from smalti.policy.decide.outcomes import Outcome, Residual
from smalti.policy.decide.prepared import Form, PreparedRule
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Duty,
    LogicalOperator,
)
from smalti.vocab.declarations import OperandKind
from smalti.vocab.terms import PLANNED_DUTIES

_ALL: Final = frozenset({LogicalOperator.AND, LogicalOperator.AND_SEQUENCE})


def clauses_of(
    prepared: PreparedRule, form: Form, situation: Situation, owed: Collection[Duty]
) -> tuple[Comparison, ...]:
    """The clauses without whose acceptance a rule would not permit a request, in order, each once.

    Those of its constraints, and of the duties that count as fulfilled, or as such that still can be:
    clauses stand nowhere else. Each names only values that the request accepts. Of alternatives, all that
    hold are named, and none where one holds without any clause.

    Args:
        prepared: a rule that permits the request.
        form: in which it does so.
        situation: the request, under the hierarchies of the rule's policy.
        owed: of its duties those that do not count as fulfilled.
    """
    if not situation.request.accepted:
        return ()
    permission, facts = form.permission, situation.facts
    of_rule = _of_all(permission.constraints, facts.about(permission.targets))
    of_duties = _of_duties((*form.obligations, *judged_duties(prepared)), facts, owed)
    return tuple(dict.fromkeys((*of_rule, *of_duties)))


def _of_duties(duties: Iterable[Duty], facts: Facts, owed: Collection[Duty]) -> Iterator[Comparison]:
    """The clauses of duties that count as fulfilled, and of those that must be such as still can be."""
    for duty in duties:
        if duty not in owed:
            yield from _of_all(duty.constraints, facts)
        elif duty.action not in PLANNED_DUTIES:
            yield from _of_all(claimed_conditions(duty), facts)


def _of_all(conditions: Iterable[Condition], facts: Facts) -> Iterator[Comparison]:
    """The clauses that some conditions depend on which hold, all of them."""
    for condition in conditions:
        match condition:
            case Comparison():
                yield from _accepted(condition, facts)
            case ColumnComparison():
                pass
            case _ if condition.operator in _ALL:
                yield from _of_all(condition.operands, facts)
            case _:
                yield from _of_alternatives(
                    (evaluate(operand, facts), list(_of_all((operand,), facts)))
                    for operand in condition.operands
                )


def _of_alternatives(alternatives: Iterable[tuple[Outcome, Sequence[Comparison]]]) -> Iterator[Comparison]:
    """The clauses of what holds; of what depends on the row where nothing else does."""
    listed = [(outcome, clauses) for outcome, clauses in alternatives if outcome is not UNSATISFIED]
    holding = [clauses for outcome, clauses in listed if outcome is SATISFIED]
    holding = holding or [clauses for outcome, clauses in listed if isinstance(outcome, Residual)]
    if all(holding):
        for clauses in holding:
            yield from clauses


def _accepted(leaf: Comparison, facts: Facts) -> Iterator[Comparison]:
    """A clause that is accepted, with the values that are: of several listed ones perhaps not all."""
    declaration = facts.declaration(leaf.operand)
    if declaration is None or declaration.kind is not OperandKind.CLAUSE:
        return
    if evaluate(leaf, facts) is SATISFIED:
        values = accepted_values(leaf, declaration, facts)
        yield leaf if needs_all_values(leaf) else replace(leaf, values=values)
