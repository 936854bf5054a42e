"""Warnings about policies of one owner that contradict each other.

Decisions stay as they are: between policies a prohibition always denies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smalti.policy.decide.conflicts import Contradiction, contradictions_between, prepared_together
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.prepared import Kind
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Policy, Rule
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Conflict:
    """A rule of one policy, and a prohibition of another one that may apply to the same request."""

    policy: Policy
    """Of the rule."""
    rule: Rule
    prohibition: Rule
    finding: Diagnostic
    """At the rule; names the prohibition and its place."""


def conflicts_across(
    policies: Sequence[Policy], hierarchies: Hierarchies, renamed: frozenset[tuple[IRI, IRI]] = frozenset()
) -> Iterator[Conflict]:
    """The permissions and obligations of some policies that prohibitions of others contradict.

    What one document says of collections, groups and actions holds for all of them here. A rule and a
    prohibition that exclude each other by their constraints, or by when their policies are valid, are no
    conflict. Those that meet at columns alone are left out where `overlaps.columns_between` shows them.

    Args:
        policies: each one once; of one owner.
        hierarchies: what includes what, beside what the documents say.
        renamed: what is known of columns of their targets (`Request.renamed`).
    """
    prepared = prepared_together(policies, hierarchies)
    named = dict(zip(prepared, policies, strict=True))
    for conflict in contradictions_between(prepared, renamed):
        rule, other = conflict.rule.rule, conflict.prohibition.rule
        yield Conflict(named[conflict.rule.policy], rule, other, _finding(conflict))


def _finding(conflict: Contradiction) -> Diagnostic:
    rule, other = conflict.rule.rule, conflict.prohibition.rule
    place = f" ({other.where})" if other.where.document else ""
    prohibition = f"the prohibition {quoted(other.uid)}{place}"
    if not conflict.is_compared:
        message = f"this rule was not compared with {prohibition}, nor with later ones: there are too many"
        help_ = "compare fewer policies at once, or mend the conflicts that are shown"
    elif conflict.rule.kind is Kind.OBLIGATION:
        message = (
            f"this obligation contradicts {prohibition}: where both apply, what it requires is forbidden"
        )
        help_ = "narrow one of them, by parties, purposes or other constraints, so that they do not meet"
    else:
        message = f"this permission contradicts {prohibition}: where both apply, the prohibition denies"
        help_ = "narrow one of them, by parties, purposes or other constraints, so that they do not meet"
    return Diagnostic("P625", Severity.WARNING, message, rule.where, help=help_)
