"""Operands whose IRIs do not say whether they are columns: what is known of the data tells."""

from collections.abc import Iterable, Iterator

from smalti.policy.decide.conditions import leaves
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.iris import is_column_of
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    Policy,
    Rule,
    Where,
)
from smalti.vocab.terms import IRI


def speaks_of_foreign_columns(policy: Policy) -> bool:
    """Whether some operand of a policy is a column only if a description or a vocabulary says so."""
    targets = policy.targets
    return any(
        not any(is_column_of(target, one.iri) for target in targets) for one in possible_columns(policy)
    )


def possible_columns(policy: Policy) -> Iterator[ColumnReference]:
    """Each operand of a policy's conditions that may be a column."""
    for rule in all_rules(policy.rules):
        yield from _columns(_conditions(rule))


def named_operands(policy: Policy) -> Iterator[tuple[IRI, Where]]:
    """The operands of a policy's conditions, columns among them, and where they are named."""
    for rule in all_rules(policy.rules):
        parties = (*rule.assignees, *rule.assigners)
        refinements = [one for party in parties for one in party.refinements]
        for found in leaves([*_conditions(rule), *refinements]):
            if isinstance(found, ColumnComparison):
                yield found.column.iri, found.column.where
            else:
                yield found.operand, found.where


def _conditions(rule: Rule) -> Iterator[Condition]:
    yield from rule.constraints
    for asset in rule.targets:
        yield from asset.refinements


def _columns(conditions: Iterable[Condition]) -> Iterator[ColumnReference]:
    for condition in conditions:
        match condition:
            case ColumnComparison(column=column):
                yield column
            case Logical(operands=operands):
                yield from _columns(operands)
            case Comparison():
                pass
