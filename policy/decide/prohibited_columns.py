"""The prohibitions on columns of what is requested, before any permission is known."""

from collections.abc import Iterable
from dataclasses import dataclass

from smalti.policy.decide.decision import Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.matching import Situation, forbidden_columns, named_columns
from smalti.policy.decide.prepared import Kind, PreparedPolicy
from smalti.policy.decide.rules_of_decision import distinct
from smalti.policy.decide.tally import NO_COLUMNS, forbids
from smalti.policy.model.model import Policy, Rule
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class ColumnProhibition:
    """A prohibition on columns of the targets of one request."""

    policy: Policy
    rule: Rule
    columns: frozenset[IRI]
    """As `Grant.withheld`; empty where it is about all of a target."""
    implied: frozenset[IRI]
    """As `Grant.implied`."""


def prohibited_columns(
    request: Request, policies: Iterable[Policy], hierarchies: Hierarchies = STANDARD
) -> tuple[ColumnProhibition, ...]:
    """The prohibitions that may apply to columns of the requested targets, or to all of a target.

    Refinements are not considered, since the transformation is not known; nor are conflict strategies.

    Args:
        request: who does what to which targets.
        policies: those of the targets' owners that are in force.
        hierarchies: what includes what.
    """
    situation, prohibitions = Situation(request, hierarchies), []
    for policy in distinct(policies):
        for prepared in PreparedPolicy(policy, hierarchies).rules:
            if prepared.kind is Kind.PROHIBITION and forbids(prepared, situation):
                columns = forbidden_columns(prepared, situation)
                columns = columns or NO_COLUMNS
                implied = columns - named_columns(prepared, situation)
                prohibitions.append(ColumnProhibition(policy, prepared.rule, columns, implied))
    return tuple(prohibitions)
