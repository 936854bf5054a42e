"""The transformations that a permission to anonymize or to train allows, and which one a planner chooses.

The refinements limit the transformations. Where a request leaves a choice, the planner takes the bound
itself (k = 10 of `k gteq 10`, and l where l is larger). That choice is the witness; prohibitions are judged
by it.
`effective_bounds` alone computes k and l from policy and request: for decisions and for plans.
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
    Number,
    Operator,
    Text,
    Training,
    Value,
    operands_of,
)
from smalti.policy.model.refinements import all_columns, bounded, equal, respondent_of, training_conditions
from smalti.vocab import terms
from smalti.vocab.terms import IRI

Parameters: TypeAlias = Mapping[IRI, tuple[Value, ...]]
"""By operand; no values: the transformation is known to have none."""

_DEFAULTS: Final = dict.fromkeys(
    (terms.K_ANONYMITY, terms.L_DIVERSITY, terms.T_CLOSENESS, terms.K_MAP, terms.DELTA_PRESENCE),
    terms.MONDRIAN,
)
"""The technique of a method if the policy names none."""
_DETERMINED: Final = frozenset({Operator.EQ, Operator.GTEQ, Operator.LTEQ, Operator.IS_ALL_OF})
_TOO_MANY: Final = 1 << 62
_COLUMN_LISTS: Final = (terms.IDENTIFIER, terms.QUASI_IDENTIFIER, terms.SENSITIVE, terms.RELEASED)


@dataclass(frozen=True, slots=True)
class Transformation:
    """The transformations that a permission or duty to anonymize, or a permission to train, allows."""

    refinements: tuple[Condition, ...]
    """All of them, as conditions on parameters."""
    operands: frozenset[IRI]
    """The operands of the refinements, and those that the transformation is known not to have."""
    witness: Parameters
    """The planner's choice."""
    k: Bound | None
    diversity: Bound | None


def transformation(anonymization: Anonymization) -> Transformation:
    """The refinements of an action to anonymize as conditions, and the planner's choice."""
    refinements = (*_fields(anonymization), *anonymization.parameters)
    witness = {**dict.fromkeys(_COLUMN_LISTS, ()), **_chosen(refinements), **_raised(anonymization)}
    operands = frozenset[IRI]().union(witness, *map(operands_of, refinements))
    return Transformation(refinements, operands, witness, anonymization.k, anonymization.l)


def training_transformation(training: Training) -> Transformation:
    """The refinements of an action to train as conditions, and the planner's choice.

    The recipe determines the rest, which is unknown here: a prohibition of it applies.
    """
    refinements = training_conditions(training)
    operands = frozenset[IRI]().union(*map(operands_of, refinements))
    return Transformation(refinements, operands, _chosen(refinements), None, None)


def _chosen(refinements: Sequence[Condition]) -> dict[IRI, tuple[Value, ...]]:
    """The planner's choice: the bound itself, where there is exactly one."""
    determining = [
        condition
        for condition in refinements
        if isinstance(condition, Comparison) and _determines(condition)
    ]
    times = Counter(comparison.operand for comparison in determining)
    # Of several bounds, as `gteq` and `lteq` of one operand, none is the planner's choice.
    return {
        comparison.operand: comparison.values
        for comparison in determining
        if times[comparison.operand] == 1
    }


def _determines(condition: Comparison) -> bool:
    return condition.operator in _DETERMINED or (
        condition.operator is Operator.IS_ANY_OF and len(condition.values) == 1
    )


def _raised(anonymization: Anonymization) -> dict[IRI, tuple[Value, ...]]:
    if anonymization.k is None or anonymization.l is None:
        return {}
    k, _ = effective_bounds(anonymization.k, anonymization.l)
    return {terms.K: (Number(Decimal(k)),)}


def effective_bounds(
    k: Bound, diversity: Bound | None, asked_k: int | None = None, asked_l: int | None = None
) -> tuple[int, int]:
    """The k and l of a transformation; l is 1 where only k is required.

    The bound itself, or the requested value if that is stronger. A k of `gteq` is raised to l: a class with
    l different values has at least l respondents. A k of `eq` stays, even below l: such a transformation
    does not exist, and the caller must refuse it.
    """
    number = k.value if asked_k is None else max(k.value, asked_k)
    least = 1
    if diversity is not None:
        least = diversity.value if asked_l is None else max(diversity.value, asked_l)
    return (max(number, least) if k.operator is Operator.GTEQ else number), least


def whole(values: Sequence[Value]) -> int | None:
    """The requested k or l, a whole number above 0; None: the values are not one such number."""
    if len(values) != 1 or not isinstance(values[0], Number):
        return None
    number = values[0].value
    if not number.is_finite() or not 1 <= number < _TOO_MANY or number % 1 != 0:
        return None
    return int(number)


def _fields(anonymization: Anonymization) -> list[Condition]:
    conditions: list[Condition | None] = [
        equal(terms.METHOD, Text(anonymization.method)),
        _algorithms(anonymization),
        bounded(terms.K, anonymization.k),
        bounded(terms.L, anonymization.l),
        all_columns(terms.IDENTIFIER, anonymization.identifiers),
        all_columns(terms.QUASI_IDENTIFIER, anonymization.quasi_identifiers),
        all_columns(terms.SENSITIVE, anonymization.sensitive),
        all_columns(terms.RELEASED, anonymization.released),
        respondent_of(anonymization),
    ]
    return [condition for condition in conditions if condition is not None]


def _algorithms(anonymization: Anonymization) -> Comparison | None:
    if anonymization.several_algorithms:
        names = tuple(map(Text, anonymization.several_algorithms))
        return Comparison(terms.ALGORITHM, Operator.IS_ALL_OF, names)
    algorithm = anonymization.algorithm or _DEFAULTS.get(anonymization.method)
    return equal(terms.ALGORITHM, Text(algorithm)) if algorithm else None


def judged_parameters(
    allowed: Transformation, parameters: Parameters
) -> list[tuple[Condition | IRI, Finding]]:
    """The findings of the refinements whose operands a request states.

    A requested parameter that no refinement mentions is unknown: the permission does not offer it. So are
    parameters of single columns, which a request cannot state.
    """
    if not parameters:
        return []
    judged: list[tuple[Condition | IRI, Finding]] = []
    for condition in allowed.refinements:
        if operands_of(condition) & parameters.keys():
            judged.append((condition, evaluate_parameter(condition, parameters)))
    for operand in sorted(parameters.keys() - allowed.operands):
        judged.append((operand, UNKNOWN))
    for operand in _COLUMN_LISTS:
        if parameters.get(operand) and not allowed.witness.get(operand):
            judged.append((operand, UNKNOWN))
    if terms.L in parameters and allowed.k is not None:
        k, least = _effective_bounds(allowed, parameters)
        if k < least:
            judged += [
                (refinement, UNSATISFIED)
                for refinement in allowed.refinements
                if operands_of(refinement) == {terms.K}
            ]
    return judged


def requested_parameters(allowed: Transformation, parameters: Parameters) -> Parameters:
    """The parameters of the transformation of a request under a permission."""
    if not parameters:
        return allowed.witness
    combined = {**allowed.witness, **parameters}
    if allowed.k is None:
        return combined
    k, least = _effective_bounds(allowed, parameters)
    # What is no bound stays as it is asked for: no plan is made of it.
    if terms.K not in parameters or whole(parameters[terms.K]) is not None:
        combined[terms.K] = (Number(Decimal(k)),)
    if allowed.diversity is not None and terms.L in parameters and whole(parameters[terms.L]) is not None:
        combined[terms.L] = (Number(Decimal(least)),)
    return combined


def _effective_bounds(allowed: Transformation, parameters: Parameters) -> tuple[int, int]:
    if allowed.k is None:
        return 1, 1
    return effective_bounds(
        allowed.k, allowed.diversity, whole(parameters.get(terms.K, ())), whole(parameters.get(terms.L, ()))
    )
