"""Contradictions in a policy: a permission and a prohibition that may both apply to one request.

Found in the policy alone (ODRL IM 2.9). Two rules do not contradict each other if no request meets both:
they share no target, action or party, or a condition of one provably excludes a condition of the other. A
prohibition on a column contradicts a permission on its table that uses the column, or all columns. An
obligation to anonymize, and a duty of a permission to read, permit to anonymize, and count so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from smalti.policy.decide.buckets import Buckets, Keys, related
from smalti.policy.decide.comparing import UNSATISFIED
from smalti.policy.decide.conditions import evaluate_parameter
from smalti.policy.decide.decision import Request
from smalti.policy.decide.exclusion import Prover, size
from smalti.policy.decide.hierarchies import Hierarchy
from smalti.policy.decide.matching import Form, Kind, PreparedPolicy, PreparedRule
from smalti.policy.decide.table_columns import Requested, column_keys, columns_in, tables_of
from smalti.policy.model.model import Rule
from smalti.vocab.terms import IRI

_STEPS: Final = 200_000
_STEPS_FOR_EACH_RULE: Final = 20
_LOOKED_UP_IN_A_STEP: Final = 32


def contradiction(prepared: PreparedPolicy) -> tuple[Rule, Rule] | None:
    """A permitting rule and a prohibition of one policy that may both apply to some request.

    Where a policy has too many pairs, the first pair that was not compared counts as a contradiction.
    """
    prover = Prover(prepared.hierarchies, _STEPS + _STEPS_FOR_EACH_RULE * len(prepared.rules))
    parties = _Parties(prepared.hierarchies.parties, prover)
    for permitting, requested, prohibiting in _pairs(prepared, _prohibitions((prepared,))):
        prover.step()
        if prover.is_exhausted or any(
            _share_a_target(requested, form, prohibiting, prover)
            and parties.may_meet(form, prohibiting)
            and _overlap(form, prohibiting, prepared.hierarchies.actions, prover)
            and _may_apply(form, prohibiting, prover)
            for form in _forms_of(permitting)
        ):
            return permitting.rule, prohibiting.rule
    return None


def _may_apply(form: Form, prohibition: PreparedRule, prover: Prover) -> bool:
    """Whether each of two rules applies to some request; True also if no steps are left to prove it.

    A prohibition that no known facts satisfy still denies where they are unknown, but it voids nothing.
    """
    return not (prover.never(form.permission.constraints) or prover.never(prohibition.rule.constraints))


def met_columns(
    prepared: PreparedPolicy, renamed: frozenset[tuple[IRI, IRI]] = frozenset()
) -> Iterator[tuple[Rule, Rule, frozenset[IRI]]]:
    """Each permitting rule and prohibition that may both apply to columns, with those columns.

    Compares a bounded number of pairs, and leaves out prohibitions of whole tables.

    Args:
        prepared: the policy.
        renamed: the described columns of one of its targets (`Request.renamed`).
    """
    yield from _met(prepared, _prohibitions((prepared,)), renamed)


def met_columns_between(
    policies: Sequence[PreparedPolicy], renamed: frozenset[tuple[IRI, IRI]] = frozenset()
) -> Iterator[tuple[Rule, Rule, frozenset[IRI]]]:
    """The same for rules of one policy and prohibitions of another one."""
    prohibitions = _prohibitions(policies)
    for prepared in policies:
        own = set(prepared.policy.prohibitions)
        yield from (meeting for meeting in _met(prepared, prohibitions, renamed) if meeting[1] not in own)


def _met(
    prepared: PreparedPolicy, prohibitions: Buckets, renamed: frozenset[tuple[IRI, IRI]]
) -> Iterator[tuple[Rule, Rule, frozenset[IRI]]]:
    prover = Prover(prepared.hierarchies, _STEPS)
    parties = _Parties(prepared.hierarchies.parties, prover)
    for permitting, requested, prohibiting in _pairs(prepared, prohibitions, renamed):
        for form in _forms_of(permitting):
            prover.step()
            if prover.is_exhausted:
                return
            columns = _columns_met(requested, form, prohibiting)
            may_meet = columns and parties.may_meet(form, prohibiting)
            if may_meet and _overlap(form, prohibiting, prepared.hierarchies.actions, prover):
                yield permitting.rule, prohibiting.rule, columns
                break


def _columns_met(requested: Requested, form: Form, prohibition: PreparedRule) -> frozenset[IRI]:
    """The columns that a rule needs and a prohibition forbids; empty if that forbids the table."""
    assets = prohibition.rule.targets
    reached = [requested.touched(target, asset.iri) for target in requested.targets for asset in assets]
    if any(part.whole is not UNSATISFIED for part in reached):
        return frozenset()
    uses = form.uses.also(columns_in(form.permission.constraints))
    return frozenset(column for part in reached for column in part.columns if uses.reaches(column))


class _Parties:
    """The parties of rules, computed once for each rule: a rule of many parties may be in many pairs."""

    def __init__(self, hierarchy: Hierarchy, prover: Prover) -> None:
        self._hierarchy = hierarchy
        self._prover = prover
        self._reached: dict[Form, frozenset[IRI]] = {}
        self._named: dict[PreparedRule, frozenset[IRI]] = {}

    def may_meet(self, form: Form, prohibition: PreparedRule) -> bool:
        """Whether one party may be that of both rules; True also if no steps are left to compare."""
        if not form.permission.assignees or not prohibition.rule.assignees:
            return True
        if form not in self._reached:
            iris = [party.iri for party in form.permission.assignees]
            self._reached[form] = related(self._hierarchy, iris)
        if prohibition not in self._named:
            iris = [party.iri for party in prohibition.rule.assignees]
            self._named[prohibition] = frozenset(map(self._hierarchy.concept, iris))
        reached, named = self._reached[form], self._named[prohibition]
        affordable = self._prover.affords(min(len(reached), len(named)) // _LOOKED_UP_IN_A_STEP)
        return not affordable or not reached.isdisjoint(named)


def _forms_of(prepared: PreparedRule) -> tuple[Form, ...]:
    if prepared.kind is Kind.OBLIGATION and not prepared.rule.assignees:
        return ()
    return (() if prepared.form is None else (prepared.form,)) + prepared.by_duty


def _prohibitions(policies: Iterable[PreparedPolicy]) -> Buckets:
    buckets = Buckets()
    for prepared in policies:
        for rule in prepared.rules:
            if rule.kind is Kind.PROHIBITION:
                buckets.add(rule, _keys_of(rule))
    return buckets


def _pairs(
    prepared: PreparedPolicy, prohibitions: Buckets, renamed: frozenset[tuple[IRI, IRI]] = frozenset()
) -> Iterator[tuple[PreparedRule, Requested, PreparedRule]]:
    """The pairs of rules that may share a target, a party and a purpose."""
    hierarchies = prepared.hierarchies
    for rule in prepared.rules:
        if _forms_of(rule):
            requested = _requested(rule, renamed)
            keys = Keys.of(rule.rule, hierarchies).widened(hierarchies)
            keys = replace(keys, targets=keys.targets | requested.sought | requested.sought_tables)
            yield from ((rule, requested, other) for other in prohibitions.find(keys))


def _keys_of(prohibition: PreparedRule) -> Keys:
    keys = Keys.of(prohibition.rule, prohibition.policy.hierarchies)
    narrower = prohibition.policy.hierarchies.assets.narrower
    parts = frozenset[IRI]().union(*map(narrower, keys.targets))
    return replace(keys, targets=keys.targets | column_keys(parts)).bounded()


def _requested(prepared: PreparedRule, renamed: frozenset[tuple[IRI, IRI]]) -> Requested:
    """The targets of a rule, as those of a request about all of them."""
    targets = tuple(asset.iri for asset in prepared.rule.targets)
    of_targets = {(name, own) for name, own in renamed if not set(tables_of(name)).isdisjoint(targets)}
    columns = frozenset(own for _, own in of_targets)
    request = Request(
        party=IRI(""),
        action=prepared.rule.action,
        targets=targets,
        columns=columns,
        renamed=frozenset(of_targets),
    )
    return Requested(request, prepared.policy.hierarchies)


def _share_a_target(requested: Requested, form: Form, prohibition: PreparedRule, prover: Prover) -> bool:
    """Whether a prohibition is about the targets of a rule, or about columns that the rule needs.

    True also where no steps are left to compare them.
    """
    assets = prohibition.rule.targets
    if not prover.affords(len(requested.targets) * len(assets)):
        return True
    reached = (requested.touched(target, asset.iri) for target in requested.targets for asset in assets)
    return any(
        part.whole is not UNSATISFIED or any(map(form.uses.reaches, part.columns)) for part in reached
    )


def _overlap(form: Form, other: PreparedRule, actions: Hierarchy, prover: Prover) -> bool:
    """Whether a form of a rule and a prohibition of one target and party may both apply to a request."""
    permission, prohibition = form.permission, other.rule
    return (
        actions.relation(permission.action, prohibition.action) is not UNSATISFIED
        and not prover.exclude(permission.constraints, prohibition.constraints)
        and not _transformations_exclude(form, prohibition, prover)
    )


def _transformations_exclude(form: Form, prohibition: Rule, prover: Prover) -> bool:
    if not prohibition.refinements:
        return False
    if form.transformation is None:
        return prover.exclude(form.permission.refinements, prohibition.refinements, of_action=True)
    absent = {operand: values for operand, values in form.transformation.witness.items() if not values}
    for refinement in prohibition.refinements:
        if prover.affords(size(refinement)) and evaluate_parameter(refinement, absent) is UNSATISFIED:
            return True
    held = form.transformation.refinements
    return prover.exclude(held, prohibition.refinements, of_action=True)
