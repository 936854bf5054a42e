"""Operands whose IRIs do not show whether they are columns."""

from collections.abc import Iterator

from smalti.policy.decide.facts import leaves
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Condition,
    Policy,
    Rule,
    Where,
)
from smalti.vocab.terms import IRI


def speaks_of_foreign_columns(policy: Policy) -> bool:
    """Whether some operand of a policy may be a column only by a description or a vocabulary."""
    targets = policy.targets
    return any(
        not any(is_column_of(target, column.iri) for target in targets)
        for column in possible_columns(policy)
    )


def possible_columns(policy: Policy) -> Iterator[ColumnReference]:
    """Each operand of a policy's conditions that may be a column."""
    for rule in all_rules(policy.rules):
        for leaf in leaves(_conditions(rule)):
            if isinstance(leaf, ColumnComparison):
                yield leaf.column


def named_operands(policy: Policy) -> Iterator[tuple[IRI, Where]]:
    """The operands of a policy's conditions, columns among them, and where they are named."""
    for rule in all_rules(policy.rules):
        parties = (*rule.assignees, *rule.assigners)
        refinements = [refinement for party in parties for refinement in party.refinements]
        for comparison in leaves([*_conditions(rule), *refinements]):
            if isinstance(comparison, ColumnComparison):
                yield comparison.column.iri, comparison.column.where
            else:
                yield comparison.operand, comparison.where


def _conditions(rule: Rule) -> Iterator[Condition]:
    yield from rule.constraints
    for asset in rule.targets:
        yield from asset.refinements
