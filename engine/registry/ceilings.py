"""Ceilings on the total loss of releases, as rules state them."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from smalti.engine.registry.budget import Ceiling
from smalti.errors import OWNER_CAN, PlanError, SmaltiError, raise_all
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Logical,
    LogicalOperator,
    Number,
    Operator,
    Permission,
    Policy,
)
from smalti.vocab.terms import IRI, SMALTI

BUDGET_EPSILON: Final = IRI(SMALTI + "budgetEpsilon")
BUDGET_DELTA: Final = IRI(SMALTI + "budgetDelta")
BUDGETS: Final = frozenset({BUDGET_EPSILON, BUDGET_DELTA})
"""The operands whose value is what has been charged."""

_ALL_HOLD: Final = frozenset({LogicalOperator.AND, LogicalOperator.AND_SEQUENCE})


def ceiling_of(permission: Permission) -> Ceiling | None:
    """The ceiling that a permission states for all releases about the same respondents.

    Its constraints `smalti:budgetEpsilon lteq` and `smalti:budgetDelta lteq`, alone or inside of `and`; of
    several the least. Where no delta is stated, it is 0.

    Returns:
        None where no epsilon is stated: no ledger is declared then, and nothing may be released (see
        `declared_ceiling`).

    Raises:
        PlanError: a ceiling stands where it need not hold, or is no plain number; all problems at once.
    """
    bounds: dict[IRI, list[Decimal]] = {BUDGET_EPSILON: [], BUDGET_DELTA: []}
    problems: list[SmaltiError] = []
    for condition in permission.constraints:
        for comparison in _comparisons(condition, problems):
            number = _number(comparison)
            if number is None:
                problems.append(_no_ceiling(comparison))
            else:
                bounds[comparison.operand].append(number)
    raise_all(problems)
    if not bounds[BUDGET_EPSILON]:
        return None
    return Ceiling(min(bounds[BUDGET_EPSILON]), min(bounds[BUDGET_DELTA], default=Decimal(0)))


def declared_ceiling(permission: Permission) -> Ceiling:
    """The same, for a release, which needs one.

    Raises:
        PlanError: as `ceiling_of`; and where no ceiling of epsilon is stated.
    """
    ceiling = ceiling_of(permission)
    if ceiling is None:
        raise PlanError(
            str(permission.where),
            f"`{permission.uid}` states no budget, which a release requires",
            "a constraint `smalti:budgetEpsilon` `lteq` a number: the ceiling of all releases together",
            f"{OWNER_CAN} state it",
        )
    return ceiling


def speaks_of_budget(policy: Policy) -> bool:
    """Whether some rule of a policy depends on what has been charged."""
    return any(_speaks(condition) for rule in all_rules(policy.rules) for condition in rule.constraints)


def _comparisons(condition: Condition, problems: list[SmaltiError]) -> Iterator[Comparison]:
    """The comparisons of a budget that must hold where a condition does."""
    match condition:
        case Comparison(operand=operand) if operand in BUDGETS:
            yield condition
        case Logical(operator=operator, operands=operands) if operator in _ALL_HOLD:
            for part in operands:
                yield from _comparisons(part, problems)
        case Logical() if _speaks(condition):
            problems.append(_misplaced(condition))


def _speaks(condition: Condition) -> bool:
    match condition:
        case Comparison(operand=operand):
            return operand in BUDGETS
        case Logical(operands=operands):
            return any(map(_speaks, operands))
        case ColumnComparison():
            return False


def _number(comparison: Comparison) -> Decimal | None:
    numbers = [value.value for value in comparison.values if isinstance(value, Number)]
    is_plain = (
        comparison.operator is Operator.LTEQ
        and comparison.unit is None
        and len(numbers) == len(comparison.values)
    )
    return min(numbers) if is_plain else None


def _misplaced(condition: Condition) -> PlanError:
    return PlanError(
        str(condition.where),
        "a ceiling of the budget is inside a condition where it need not hold",
        "`smalti:budgetEpsilon` and `smalti:budgetDelta` as constraints of the rule, or inside of `and`",
        "state it as a constraint of its own",
    )


def _no_ceiling(condition: Comparison) -> PlanError:
    return PlanError(
        str(condition.where),
        "a ceiling of the budget is not a plain upper bound",
        "`lteq` and a number, without a unit",
        "write it in that form",
    )
