"""The transformations that a permission to anonymize or to train allows, and which one a planner takes.

Refinements say which are meant. What a request leaves open is chosen by the planner: the bound itself
(k = 10 of `k gteq 10`, and l where l is larger). That choice is the witness; prohibitions are judged by it.
What k and l come to, with what is asked for, is said by `taken` alone: to decisions and to plans.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from smalti.policy.decide.comparing import UNKNOWN, UNSATISFIED
from smalti.policy.decide.conditions import evaluate_parameter
from smalti.policy.decide.decision import Finding
from smalti.policy.model.model import (
    Anonymization,
    Bound,
    Comparison,
    Condition,
    Logical,
    Number,
    Operator,
    Text,
    Training,
    Value,
)
from smalti.policy.model.refinements import all_columns, bounded, equal, respondent_of, training_conditions
from smalti.vocab import terms
from smalti.vocab.terms import IRI

Parameters: TypeAlias = Mapping[IRI, tuple[Value, ...]]
"""By operand; no values: the transformation is known to have none."""

_DEFAULTS: Final = {terms.K_ANONYMITY: terms.MONDRIAN, terms.L_DIVERSITY: terms.MONDRIAN}
"""The technique of a method where the policy names none."""
_DETERMINED: Final = frozenset({Operator.EQ, Operator.GTEQ, Operator.LTEQ, Operator.IS_ALL_OF})
_TOO_MANY: Final = 1 << 62
_COLUMN_LISTS: Final = (terms.IDENTIFIER, terms.QUASI_IDENTIFIER, terms.SENSITIVE, terms.RELEASED)


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a permission or duty to anonymize, or a permission to train, allows."""

    refinements: tuple[Condition, ...]
    """All of them, as conditions on parameters."""
    operands: frozenset[IRI]
    """That the refinements say something of, or that the transformation is known to be without."""
    witness: Parameters
    """What the planner chooses."""
    k: Bound | None
    diversity: Bound | None


def transformation(anonymization: Anonymization) -> Transformation:
    """The refinements of an action to anonymize as conditions, and the planner's choice."""
    said = (*_fields(anonymization), *anonymization.parameters)
    witness = {**dict.fromkeys(_COLUMN_LISTS, ()), **_chosen(said), **_raised(anonymization)}
    operands = frozenset[IRI]().union(witness, *map(_operands, said))
    return Transformation(said, operands, witness, anonymization.k, anonymization.l)


def training_transformation(training: Training) -> Transformation:
    """The refinements of an action to train as conditions, and the planner's choice.

    What they leave open is the recipe's, and so unknown here: a prohibition of it applies.
    """
    said = training_conditions(training)
    operands = frozenset[IRI]().union(*map(_operands, said))
    return Transformation(said, operands, _chosen(said), None, None)


def _chosen(said: Sequence[Condition]) -> dict[IRI, tuple[Value, ...]]:
    """What the planner takes: the bound itself, where there is one."""
    determining = [one for one in said if isinstance(one, Comparison) and _determines(one)]
    times = Counter(one.operand for one in determining)
    # Of several bounds, as `gteq` and `lteq` of one operand, none is the planner's choice.
    return {one.operand: one.values for one in determining if times[one.operand] == 1}


def _determines(condition: Comparison) -> bool:
    return condition.operator in _DETERMINED or (
        condition.operator is Operator.IS_ANY_OF and len(condition.values) == 1
    )


def _raised(anonymization: Anonymization) -> dict[IRI, tuple[Value, ...]]:
    if anonymization.k is None or anonymization.l is None:
        return {}
    k, _ = taken(anonymization.k, anonymization.l)
    return {terms.K: (Number(Decimal(k)),)}


def taken(
    k: Bound, diversity: Bound | None, asked_k: int | None = None, asked_l: int | None = None
) -> tuple[int, int]:
    """The k and l that a transformation has; l is 1 where only k is promised.

    The bound itself, or what is asked for, where that is stronger. A k that may rise (`gteq`) is raised to
    l: a class of l different values has at least l respondents. A k of `eq` stays, even below l: such a
    transformation does not exist, and is to be refused.
    """
    number = k.value if asked_k is None else max(k.value, asked_k)
    least = 1
    if diversity is not None:
        least = diversity.value if asked_l is None else max(diversity.value, asked_l)
    return (max(number, least) if k.operator is Operator.GTEQ else number), least


def whole(values: Sequence[Value]) -> int | None:
    """The one whole number above 0 that is asked for as k or l; None: it is none."""
    if len(values) != 1 or not isinstance(values[0], Number):
        return None
    number = values[0].value
    if not number.is_finite() or not 1 <= number < _TOO_MANY or number % 1 != 0:
        return None
    return int(number)


def _fields(anonymization: Anonymization) -> list[Condition]:
    algorithm = anonymization.algorithm or _DEFAULTS.get(anonymization.method)
    found: list[Condition | None] = [
        equal(terms.METHOD, Text(anonymization.method)),
        equal(terms.ALGORITHM, Text(algorithm)) if algorithm else None,
        bounded(terms.K, anonymization.k),
        bounded(terms.L, anonymization.l),
        all_columns(terms.IDENTIFIER, anonymization.identifiers),
        all_columns(terms.QUASI_IDENTIFIER, anonymization.quasi_identifiers),
        all_columns(terms.SENSITIVE, anonymization.sensitive),
        all_columns(terms.RELEASED, anonymization.released),
        respondent_of(anonymization),
    ]
    return [condition for condition in found if condition is not None]


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
    if terms.L in asked and allowed.k is not None:
        k, least = _taken(allowed, asked)
        if k < least:
            found += [(one, UNSATISFIED) for one in allowed.refinements if _operands(one) == {terms.K}]
    return found


def requested(allowed: Transformation, asked: Parameters) -> Parameters:
    """The parameters of what a request would do under a permission."""
    if not asked:
        return allowed.witness
    found = {**allowed.witness, **asked}
    if allowed.k is None:
        return found
    k, least = _taken(allowed, asked)
    # What is no bound stays as it is asked for: no plan is made of it.
    if terms.K not in asked or whole(asked[terms.K]) is not None:
        found[terms.K] = (Number(Decimal(k)),)
    if allowed.diversity is not None and terms.L in asked and whole(asked[terms.L]) is not None:
        found[terms.L] = (Number(Decimal(least)),)
    return found


def _taken(allowed: Transformation, asked: Parameters) -> tuple[int, int]:
    if allowed.k is None:
        return 1, 1
    return taken(allowed.k, allowed.diversity, whole(asked.get(terms.K, ())), whole(asked.get(terms.L, ())))
