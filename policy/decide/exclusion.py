"""Proves that two conditions exclude each other: where one is satisfied, the other is unsatisfied.

Without a proof, both may be satisfied. Clauses prove nothing: they are never unsatisfied. A proof takes a
bounded number of steps, so that no document makes it slow.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from smalti.policy.decide.comparing import SATISFIED, UNSATISFIED, compare
from smalti.policy.decide.conditions import holds
from smalti.policy.decide.facts import DATE_TIME, RECIPIENT, is_clause
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.model.iris import normalised_iri
from smalti.policy.model.model import (
    Comparison,
    Condition,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
    Value,
)
from smalti.vocab.terms import IRI, ODRL_PURPOSE

_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
_NEGATIVE: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})
_EQUAL: Final = frozenset({Operator.EQ, Operator.IS_ANY_OF})
_UPPER: Final = frozenset({Operator.LT, Operator.LTEQ})
_LOWER: Final = frozenset({Operator.GT, Operator.GTEQ})
_CLOSED: Final = frozenset({Operator.LTEQ, Operator.GTEQ})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_YEAR: Final = 9999
_PAIRS: Final = 64
"""The most conditions of one rule that are compared with each other."""
_ALL: Final = frozenset({LogicalOperator.AND, LogicalOperator.AND_SEQUENCE})
_ANY: Final = frozenset({LogicalOperator.OR, LogicalOperator.XONE})
_BY_HIERARCHY: Final = frozenset({Operator.IS_A, Operator.IS_PART_OF, Operator.HAS_PART})


def all_of(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Conditions that must all hold, one by one."""
    for condition in conditions:
        if isinstance(condition, Logical) and condition.operator in _ALL:
            yield from all_of(condition.operands)
        else:
            yield condition


class Prover:
    """Proves exclusions within a bounded number of steps, for the rules of one policy."""

    def __init__(self, hierarchies: Hierarchies, steps: int) -> None:
        self._hierarchies = hierarchies
        self._steps = steps

    @property
    def is_exhausted(self) -> bool:
        return self._steps <= 0

    def step(self) -> None:
        """Count a step of the caller."""
        self._steps -= 1

    def exclude(
        self, held: Sequence[Condition], other: Sequence[Condition], *, of_action: bool = False
    ) -> bool:
        """Whether one of some satisfied conditions makes one of the others unsatisfied.

        Args:
            held: satisfied, all of them.
            other: of which one is to be shown to be unsatisfied.
            of_action: whether they are refinements of an action.
        """
        pairs = ((left, right) for left in held for right in other)
        for left, right in pairs:
            if self.is_exhausted:
                return False
            if self._excludes(left, right, of_action):
                return True
        return False

    def never(self, conditions: Sequence[Condition]) -> bool:
        """Whether some conditions are never satisfied together: one of them excludes another one."""
        limits = list(all_of(conditions))[:_PAIRS]
        pairs = ((first, second) for at, first in enumerate(limits) for second in limits[:at])
        return any(
            self.exclude([first], [second]) or self.exclude([second], [first]) for first, second in pairs
        )

    def _excludes(self, held: Condition, other: Condition, of_action: bool) -> bool:
        self.step()
        # Alternatives first: what holds of all of them may hold for another reason of each.
        for chosen in (True, False):
            if isinstance(held, Logical) and (held.operator in _ANY) is chosen:
                exclusions = (self._excludes(operand, other, of_action) for operand in held.operands)
                return not self.is_exhausted and (all(exclusions) if chosen else any(exclusions))
            if isinstance(other, Logical) and (other.operator in _ANY) is chosen:
                exclusions = (self._excludes(held, operand, of_action) for operand in other.operands)
                return not self.is_exhausted and (all(exclusions) if chosen else any(exclusions))
        if not isinstance(held, Comparison) or not isinstance(other, Comparison):
            return False
        return not self.is_exhausted and self._comparisons(held, other, of_action)

    def _comparisons(self, held: Comparison, other: Comparison, of_action: bool) -> bool:
        if held.operand != other.operand or held.unit is not None or other.unit is not None:
            return False
        if not of_action and is_clause(held.operand, self._hierarchies):
            return False  # whatever is accepted, none is unsatisfied
        is_one = of_action or held.operand in {ODRL_PURPOSE, DATE_TIME}
        hierarchy = None if of_action else self._hierarchy(held.operand)
        if hierarchy is None and {held.operator, other.operator} & _BY_HIERARCHY:
            return False  # whether one is within another is not known then
        return (
            self.affords(len(held.values) + len(other.values))
            and _lists_exclude(held, other, is_exact=is_one and hierarchy is None)
        ) or (
            self.affords(len(held.values) * len(other.values))
            and _comparisons_exclude(held, other, hierarchy, is_one)
        )

    def affords(self, steps: int) -> bool:
        """Count further steps; False if too few are left."""
        self._steps -= steps
        return not self.is_exhausted

    def _hierarchy(self, operand: IRI) -> Hierarchy | None:
        if operand == ODRL_PURPOSE:
            return self._hierarchies.purposes
        return self._hierarchies.parties if operand == RECIPIENT else None


def size(condition: Condition) -> int:
    """The number of steps to read a condition."""
    if isinstance(condition, Logical):
        return 1 + sum(map(size, condition.operands))
    return 1 + len(condition.values)


def _lists_exclude(held: Comparison, other: Comparison, *, is_exact: bool) -> bool:
    """Whether one list contains the other or is disjoint from it, so that no values are compared."""
    values, others = frozenset(held.values), frozenset(other.values)
    if held.operator in _POSITIVE and other.operator in _NEGATIVE:
        return values <= others
    if held.operator in _NEGATIVE and other.operator in _POSITIVE:
        return others <= values
    equal = is_exact and held.operator in _EQUAL and other.operator in _EQUAL
    if not equal or not all(isinstance(value, Named) for value in values | others):
        return False
    return _spelled(values).isdisjoint(_spelled(others))


def _spelled(values: Iterable[Value]) -> set[IRI]:
    return {normalised_iri(value.iri) for value in values if isinstance(value, Named)}


def _comparisons_exclude(
    held: Comparison, other: Comparison, hierarchy: Hierarchy | None, is_one: bool
) -> bool:
    if is_one and hierarchy is None and _is_exact(held):
        return _values_exclude(held, other)
    if held.operator in _UPPER | _LOWER:
        return _order_excludes(held, other)
    if held.operator in _POSITIVE and other.operator in _POSITIVE:
        apart = (_are_apart(left, right, hierarchy) for left in held.values for right in other.values)
        return is_one and all(apart)
    if held.operator in _POSITIVE and other.operator in _NEGATIVE:
        return _are_within(held.values, other.values, hierarchy)
    if held.operator in _NEGATIVE and other.operator in _POSITIVE:
        return _are_within(other.values, held.values, hierarchy)
    return False


def _is_exact(held: Comparison) -> bool:
    """Whether a condition allows only its listed values."""
    plain = all(isinstance(value, Named | Number | Text | Truth) for value in held.values)
    return plain and held.operator in _EQUAL | {Operator.IS_ALL_OF}


def _values_exclude(held: Comparison, other: Comparison) -> bool:
    if held.operator is Operator.IS_ALL_OF or len(held.values) == 1:
        return holds(other, held.values, None, is_one=True) is UNSATISFIED
    if other.operator is Operator.IS_ALL_OF:
        return False
    return all(holds(other, (value,), None, is_one=True) is UNSATISFIED for value in held.values)


def _are_apart(left: Value, right: Value, hierarchy: Hierarchy | None) -> bool:
    """Whether two concepts have no narrower concept in common."""
    both = isinstance(left, Named) and isinstance(right, Named) and hierarchy is not None
    return both and compare(Operator.EQ, left, right, hierarchy) is UNSATISFIED


def _are_within(values: Sequence[Value], references: Sequence[Value], hierarchy: Hierarchy | None) -> bool:
    """Whether everything that equals one of some values equals one of the references."""
    return all(any(_is_within(value, reference, hierarchy) for reference in references) for value in values)


def _is_within(value: Value, reference: Value, hierarchy: Hierarchy | None) -> bool:
    """Whether everything that equals a value equals the reference, too."""
    if isinstance(value, Named) and isinstance(reference, Named):
        return compare(Operator.EQ, value, reference, hierarchy) is SATISFIED
    return value == reference


def _order_excludes(held: Comparison, other: Comparison) -> bool:
    limits = [_ordinal(value) for value in (*held.values, *other.values)]
    kinds = {kind for kind, _ in limits}
    if len(held.values) > 1 or len(kinds) != 1 or None in kinds:
        return False
    limit, others = limits[0][1], [number for _, number in limits[1:]]
    if other.operator in _EQUAL:
        values = [Number(number) for number in others]
        return all(compare(held.operator, value, Number(limit), None) is UNSATISFIED for value in values)
    if held.operator in _UPPER and other.operator in _LOWER and len(others) == 1:
        low, high = others[0], limit
    elif held.operator in _LOWER and other.operator in _UPPER and len(others) == 1:
        low, high = limit, others[0]
    else:
        return False
    return high < low or (high == low and not {held.operator, other.operator} <= _CLOSED)


def _ordinal(value: Value) -> tuple[type[Value] | None, Decimal]:
    """A value as a number with the same order among values of its type; None: no exact number exists."""
    match value:
        case Number(value=number) if not number.is_nan():
            return Number, number
        case Day(day=day):
            return Day, Decimal(day.toordinal())
        case Instant(time=time) if time.tzinfo is not None and 1 < time.year < _LAST_YEAR:
            passed = time - _EPOCH
            return Instant, Decimal(passed // timedelta(microseconds=1))
    return None, Decimal()
