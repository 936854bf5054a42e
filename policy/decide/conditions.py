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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from smalti.policy.decide.comparing import UNKNOWN, UNSATISFIED, compare, negated
from smalti.policy.decide.decision import Finding
from smalti.policy.decide.facts import (
    DATE_TIME,
    ELEMENTARY_OPERATORS,
    NEGATIVE_OPERATORS,
    SOME_OPERATORS,
    STANDARD_OPERANDS,
    Facts,
    accepted,
    meant_value,
    spelled_operand,
)
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.decide.outcomes import (
    Outcome,
    Residual,
    agreed_finding,
    all_findings,
    any_finding,
    combine,
)
from smalti.policy.model.anchors import anchored_time, is_anchored
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Instant,
    Logical,
    Operator,
    Text,
    Value,
)
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.terms import IRI, ODRL_PURPOSE


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
    if condition.unit is not None or facts.may_be_column(spelled_operand(condition.operand)):
        return UNKNOWN
    if declaration.kind is OperandKind.CLAUSE:
        return accepted(condition, declaration, facts)
    stated = facts.values(condition.operand)
    references = [_reference(value, declaration, facts) for value in condition.values]
    known_references = tuple(reference for reference in references if reference is not None)
    if stated is None or len(known_references) < len(references):
        return UNKNOWN
    values = [meant_value(value, declaration, facts.hierarchies) for value in stated]
    hierarchy = facts.hierarchies.values if declaration.scheme is not None else None
    is_one = declaration.kind is not OperandKind.FACT
    return holds(replace(condition, values=known_references), values, hierarchy, is_one=is_one)


def _reference(value: Value, declaration: OperandDeclaration, facts: Facts) -> Value | None:
    """What a value of a condition stands for; None: a time from an agreement of an unknown date."""
    if declaration.kind is OperandKind.CLOCK and isinstance(value, Text) and is_anchored(value.text):
        moment = None if facts.agreed is None else anchored_time(value.text, facts.agreed)
        return None if moment is None else Instant(moment)
    return meant_value(value, declaration, facts.hierarchies)


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
    elementary = ELEMENTARY_OPERATORS.get(operator, operator)
    references = comparison.values
    if len(values) == 1 == len(references):
        finding = compare(elementary, values[0], references[0], hierarchy)
        return negated(finding) if operator in NEGATIVE_OPERATORS else finding
    table = [
        [compare(elementary, value, reference, hierarchy) for reference in references] for value in values
    ]
    if operator is Operator.IS_ALL_OF:
        return all_findings(
            (
                *map(any_finding, table),
                *(map(any_finding, zip(*table, strict=True)) if table else (UNSATISFIED,)),
            )
        )
    if operator not in SOME_OPERATORS | NEGATIVE_OPERATORS:
        return agreed_finding([finding for row in table for finding in row])
    each = [any_finding(row) for row in table]
    finding = agreed_finding(each) if is_one else any_finding(each)
    return negated(finding) if operator in NEGATIVE_OPERATORS else finding
