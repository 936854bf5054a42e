"""The transformations that a permission to anonymize allows, and the one that a planner takes of them.

Refinements say which are meant. What a request leaves open is chosen by the planner: the bound itself
(k = 10 of `k gteq 10`, and l where l is larger). That choice is the witness; prohibitions are judged by it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from smalti.policy.comparing import UNKNOWN
from smalti.policy.conditions import evaluate_parameter
from smalti.policy.decision import Finding
from smalti.policy.model import (
    Anonymization,
    Bound,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    Named,
    Number,
    Operator,
    Text,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

Parameters: TypeAlias = Mapping[IRI, tuple[Value, ...]]
"""By operand; no values: the transformation is known to have none."""

_DEFAULTS: Final = {terms.K_ANONYMITY: terms.MONDRIAN, terms.L_DIVERSITY: terms.MONDRIAN}
"""The technique of a method where the policy names none."""
_DETERMINED: Final = frozenset({Operator.EQ, Operator.GTEQ, Operator.LTEQ, Operator.IS_ALL_OF})
_COLUMN_LISTS: Final = (terms.IDENTIFIER, terms.QUASI_IDENTIFIER, terms.SENSITIVE, terms.RELEASED)


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a permission or duty to anonymize allows."""

    refinements: tuple[Condition, ...]
    """All of them, as conditions on parameters."""
    operands: frozenset[IRI]
    """That the refinements say something of, or that the transformation is known to be without."""
    witness: Parameters
    """What the planner chooses."""


def transformation(anonymization: Anonymization) -> Transformation:
    """The refinements of an action to anonymize as conditions, and the planner's choice."""
    said = (*_fields(anonymization), *anonymization.parameters)
    determining = [one for one in said if isinstance(one, Comparison) and _determines(one)]
    times = Counter(one.operand for one in determining)
    # Of several bounds, as `gteq` and `lteq` of one operand, none is the planner's choice.
    chosen = {one.operand: one.values for one in determining if times[one.operand] == 1}
    witness = {**dict.fromkeys(_COLUMN_LISTS, ()), **chosen, **_raised(anonymization)}
    return Transformation(said, frozenset[IRI]().union(witness, *map(_operands, said)), witness)


def _determines(condition: Comparison) -> bool:
    return condition.operator in _DETERMINED or (
        condition.operator is Operator.IS_ANY_OF and len(condition.values) == 1
    )


def _raised(anonymization: Anonymization) -> dict[IRI, tuple[Value, ...]]:
    """A larger k, where l is larger: a class of l different values has at least l respondents."""
    k, diversity = anonymization.k, anonymization.l
    if k is None or diversity is None or k.operator is not Operator.GTEQ:
        return {}
    return {terms.K: (Number(Decimal(max(k.value, diversity.value))),)}


def _fields(anonymization: Anonymization) -> list[Condition]:
    algorithm = anonymization.algorithm or _DEFAULTS.get(anonymization.method)
    found: list[Condition | None] = [
        _equal(terms.METHOD, Text(anonymization.method)),
        _equal(terms.ALGORITHM, Text(algorithm)) if algorithm else None,
        _bound(terms.K, anonymization.k),
        _bound(terms.L, anonymization.l),
        _columns(terms.IDENTIFIER, anonymization.identifiers),
        _columns(terms.QUASI_IDENTIFIER, anonymization.quasi_identifiers),
        _columns(terms.SENSITIVE, anonymization.sensitive),
        _columns(terms.RELEASED, anonymization.released),
        _respondent(anonymization),
    ]
    return [condition for condition in found if condition is not None]


def _equal(operand: IRI, value: Value) -> Comparison:
    return Comparison(operand, Operator.EQ, (value,))


def _bound(operand: IRI, bound: Bound | None) -> Comparison | None:
    if bound is None:
        return None
    return Comparison(operand, bound.operator, (Number(Decimal(bound.value)),), where=bound.where)


def _columns(operand: IRI, columns: tuple[ColumnReference, ...]) -> Comparison | None:
    if not columns:
        return None
    return Comparison(operand, Operator.IS_ALL_OF, tuple(Named(column.iri) for column in columns))


def _respondent(anonymization: Anonymization) -> Comparison | None:
    if anonymization.one_row_each:
        return _equal(terms.RESPONDENT, Named(terms.ONE_ROW_EACH))
    if anonymization.respondent is None:
        return None
    return _equal(terms.RESPONDENT, Named(anonymization.respondent.iri))


def _operands(condition: Condition) -> frozenset[IRI]:
    match condition:
        case Comparison(operand=operand):
            return frozenset((operand,))
        case Logical(operands=operands):
            return frozenset[IRI]().union(*map(_operands, operands))
    return frozenset()


def asked_of(allowed: Transformation, asked: Parameters) -> list[tuple[Condition | IRI, Finding]]:
    """What is known of the refinements that a request says something of.

    What a request asks for and no refinement speaks of is unknown: the permission does not offer it. A
    column's own parameters are not asked for one by one, so that they are unknown, too.
    """
    if not asked:
        return []
    found: list[tuple[Condition | IRI, Finding]] = []
    for condition in allowed.refinements:
        if _operands(condition) & asked.keys():
            found.append((condition, evaluate_parameter(condition, asked)))
    for operand in sorted(asked.keys() - allowed.operands):
        found.append((operand, UNKNOWN))
    for operand in _COLUMN_LISTS:
        if asked.get(operand) and not allowed.witness.get(operand):
            found.append((operand, UNKNOWN))
    return found


def requested(allowed: Transformation | None, asked: Parameters) -> Parameters:
    """The parameters of what a request would do under a permission."""
    if allowed is None:
        return asked
    return {**allowed.witness, **asked} if asked else allowed.witness
