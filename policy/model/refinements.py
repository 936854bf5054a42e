"""The refinements of an action, as conditions on the parameters of what is done.

Actions to train and to audit are read into values of their own (`model.Training`, `model.Audit`); here they
are conditions again, to compare, write or describe them.
"""

from decimal import Decimal

from smalti.policy.model.model import (
    Anonymization,
    Audit,
    Bound,
    ColumnReference,
    Comparison,
    Condition,
    DecimalBound,
    Duty,
    Named,
    Number,
    Operator,
    Permission,
    Rule,
    Text,
    Training,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI


def refinements_of(rule: Rule) -> tuple[Condition, ...]:
    """The refinements of a rule's action, except of actions to anonymize."""
    if isinstance(rule, Permission) and rule.training is not None:
        return training_conditions(rule.training)
    if isinstance(rule, Duty) and rule.audit is not None:
        return audit_conditions(rule.audit)
    return rule.refinements


def parameters_of(permission: Permission) -> tuple[Condition, ...]:
    """All conditions of a permission on the parameters of what it makes; empty where it makes nothing."""
    way = permission.anonymization
    if way is None:
        return refinements_of(permission)
    bounds = (bounded(terms.K, way.k), bounded(terms.L, way.l))
    return (*(bound for bound in bounds if bound is not None), *way.parameters)


def training_conditions(training: Training) -> tuple[Condition, ...]:
    """The refinements of training, in the order of descriptions."""
    label = training.label_column
    conditions = [
        equal(terms.RECIPE, Text(training.recipe)),
        None if label is None else equal(terms.LABEL_COLUMN, Named(label.iri)),
        bounded(terms.SYNTHETIC_RECORDS, training.synthetic_records),
        all_columns(terms.IDENTIFIER, training.identifiers),
        respondent_of(training),
        bounded(terms.EPOCHS, training.epochs),
        bounded(terms.SAMPLING_RATE, training.sampling_rate),
        bounded(terms.NOISE_MULTIPLIER, training.noise_multiplier),
        bounded(terms.CLIPPING_NORM, training.clipping_norm),
        bounded(terms.EPSILON, training.epsilon),
        bounded(terms.POSTERIOR_BELIEF, training.posterior_belief),
        bounded(terms.MEMBERSHIP_ADVANTAGE, training.membership_advantage),
        bounded(terms.DELTA, training.delta),
        equal(terms.NEIGHBORS, Text(training.neighbors)) if training.neighbors else None,
        bounded(terms.ROWS_PER_RESPONDENT, training.rows_per_respondent),
    ]
    return (*(condition for condition in conditions if condition is not None), *training.parameters)


def audit_conditions(audit: Audit) -> tuple[Condition, ...]:
    """The refinements of an audit, in the order of descriptions."""
    conditions = [
        Comparison(terms.ATTACK, Operator.IS_ALL_OF, tuple(map(Text, audit.attacks))),
        _number(terms.ATTACK_ADVANTAGE, Operator.LTEQ, audit.attack_advantage),
        _number(terms.ATTACK_PRECISION, Operator.LTEQ, audit.attack_precision),
        _number(terms.TRUE_POSITIVE_RATE, Operator.LTEQ, audit.true_positive_rate),
        _number(terms.FALSE_POSITIVE_RATE, Operator.EQ, audit.false_positive_rate),
        _number(terms.EPSILON_LOWER_BOUND, Operator.LTEQ, audit.epsilon_lower_bound),
        _number(terms.CONFIDENCE, Operator.EQ, audit.confidence),
    ]
    return (*(condition for condition in conditions if condition is not None), *audit.parameters)


def equal(operand: IRI, value: Value) -> Comparison:
    """The condition that a parameter has one value."""
    return Comparison(operand, Operator.EQ, (value,))


def bounded(operand: IRI, bound: Bound | DecimalBound | None) -> Comparison | None:
    """The condition that a parameter meets a bound; None without a bound."""
    if bound is None:
        return None
    return Comparison(operand, bound.operator, (Number(Decimal(bound.value)),), where=bound.where)


def all_columns(operand: IRI, columns: tuple[ColumnReference, ...]) -> Comparison | None:
    """The condition that the columns of a role are these; None without columns."""
    if not columns:
        return None
    return Comparison(operand, Operator.IS_ALL_OF, tuple(Named(column.iri) for column in columns))


def respondent_of(way: Anonymization | Training) -> Comparison | None:
    """The condition that declares respondents; None where they are not declared."""
    if way.one_row_each:
        return equal(terms.RESPONDENT, Named(terms.ONE_ROW_EACH))
    return None if way.respondent is None else equal(terms.RESPONDENT, Named(way.respondent.iri))


def _number(operand: IRI, operator: Operator, number: Decimal | None) -> Comparison | None:
    return None if number is None else Comparison(operand, operator, (Number(number),))
