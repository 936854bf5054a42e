"""Contradictions inside of a policy: a permission and a prohibition that one request could meet together.

Told from the policy alone (ODRL IM 2.9). Two rules are no contradiction when no request meets both: they
share no target, no action or no party, or a condition of the one provably excludes one of the other. An
obligation to anonymize, and a duty of a permission to read, permit to anonymize, and count so.
"""

from collections.abc import Iterator
from typing import Final

from smalti.policy.buckets import Buckets, Keys, related
from smalti.policy.comparing import UNSATISFIED
from smalti.policy.conditions import evaluate_parameter
from smalti.policy.exclusion import Prover
from smalti.policy.hierarchies import Hierarchy
from smalti.policy.matching import Form, Kind, PreparedPolicy, PreparedRule
from smalti.policy.model import Party, Rule

_STEPS: Final = 200_000
_STEPS_FOR_EACH_RULE: Final = 20


def contradiction(prepared: PreparedPolicy) -> tuple[Rule, Rule] | None:
    """A rule that permits and a prohibition, of one policy, that some request could meet together.

    Where there are too many pairs to look at, the first one that was not looked at counts.
    """
    prover = Prover(prepared.hierarchies, _STEPS + _STEPS_FOR_EACH_RULE * len(prepared.rules))
    for one, other in _pairs(prepared):
        prover.step()
        if prover.is_exhausted or any(_overlap(form, other, prepared, prover) for form in _forms(one)):
            return one.rule, other.rule
    return None


def _forms(prepared: PreparedRule) -> tuple[Form, ...]:
    if prepared.kind is Kind.OBLIGATION and not prepared.rule.assignees:
        return ()
    return (() if prepared.form is None else (prepared.form,)) + prepared.by_duty


def _pairs(prepared: PreparedPolicy) -> Iterator[tuple[PreparedRule, PreparedRule]]:
    """Those with a target, a party and a purpose that may be one."""
    hierarchies = prepared.hierarchies
    prohibitions = Buckets()
    for rule in prepared.rules:
        if rule.kind is Kind.PROHIBITION:
            prohibitions.add(rule, Keys.of(rule.rule, hierarchies).bounded())
    for rule in prepared.rules:
        if _forms(rule):
            keys = Keys.of(rule.rule, hierarchies).widened(hierarchies)
            yield from ((rule, other) for other in prohibitions.find(keys))


def _overlap(form: Form, other: PreparedRule, prepared: PreparedPolicy, prover: Prover) -> bool:
    """Whether some request could meet both a form of a rule and a prohibition about one target."""
    permission, prohibition, hierarchies = form.permission, other.rule, prepared.hierarchies
    return (
        hierarchies.actions.relation(permission.action, prohibition.action) is not UNSATISFIED
        and _share_a_party(permission.assignees, prohibition.assignees, hierarchies.parties)
        and not prover.exclude(permission.constraints, prohibition.constraints)
        and not _transformations_exclude(form, prohibition, prover)
    )


def _share_a_party(one: tuple[Party, ...], other: tuple[Party, ...], parties: Hierarchy) -> bool:
    if not one or not other:
        return True
    reached = related(parties, [party.iri for party in one])
    return any(parties.concept(party.iri) in reached for party in other)


def _transformations_exclude(form: Form, prohibition: Rule, prover: Prover) -> bool:
    if not prohibition.refinements:
        return False
    if form.transformation is None:
        return prover.exclude(form.permission.refinements, prohibition.refinements, of_action=True)
    absent = {operand: values for operand, values in form.transformation.witness.items() if not values}
    if any(evaluate_parameter(one, absent) is UNSATISFIED for one in prohibition.refinements):
        return True
    held = form.transformation.refinements
    return prover.exclude(held, prohibition.refinements, of_action=True)
