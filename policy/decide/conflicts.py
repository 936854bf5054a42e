"""Contradictions: a permission and a prohibition that may both apply to one request.

Found in the policy alone (ODRL IM 2.9), or between the policies of one owner. Two rules do not contradict
each other if no request meets both: they share no target, action or party, or a condition of one provably
excludes a condition of the other. A prohibition on a column contradicts a permission on its table that uses
the column, or all columns. An obligation to anonymize, and a duty of a permission to read, permit to
anonymize, and count so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.decide.buckets import Buckets, Keys, related
from smalti.policy.decide.comparing import UNSATISFIED
from smalti.policy.decide.conditions import evaluate_parameter
from smalti.policy.decide.decision import Request
from smalti.policy.decide.exclusion import Prover, size
from smalti.policy.decide.facts import DATE_TIME
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.decide.prepared import Form, Kind, PreparedPolicy, PreparedRule, as_permission
from smalti.policy.decide.table_columns import Requested, column_keys, columns_in, tables_of
from smalti.policy.model.model import Comparison, ConflictStrategy, Duty, Instant, Operator, Policy, Rule
from smalti.vocab.terms import IRI

_STEPS: Final = 200_000
_STEPS_FOR_EACH_RULE: Final = 20
_LOOKED_UP_IN_A_STEP: Final = 32
_STEPS_BETWEEN: Final = 50_000
_MOST_BETWEEN: Final = 16
"""The most prohibitions of other policies that one rule is shown to contradict."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A rule and a prohibition that may both apply to some request."""

    rule: PreparedRule
    """A permission, or an obligation."""
    prohibition: PreparedRule
    is_compared: bool = True
    """False: there are too many pairs, and this is the first one that was not compared."""


def contradiction(prepared: PreparedPolicy) -> tuple[Rule, Rule] | None:
    """A permitting rule and a prohibition of one policy that may both apply to some request.

    Where a policy has too many pairs, the first pair that was not compared counts as a contradiction.
    """
    prover = Prover(prepared.hierarchies, _STEPS + _STEPS_FOR_EACH_RULE * len(prepared.rules))
    comparing = _Comparing(prepared.hierarchies, prover)
    pairs = _pairs(prepared, _prohibitions((prepared,)))
    first = next((pair for pair in pairs if comparing.may_contradict(pair)), None)
    return None if first is None else (first.rule.rule, first.prohibition.rule)


def prepared_together(policies: Iterable[Policy], hierarchies: Hierarchies) -> list[PreparedPolicy]:
    """Policies of one owner, with the same hierarchies: what one document says holds for all of them."""
    listed = list(policies)
    together = hierarchies.of_policies(listed)
    # Each without what its document says, which the hierarchies say already.
    alone = (replace(policy, memberships=(), inclusions=()) for policy in listed)
    return [PreparedPolicy(policy, together) for policy in alone]


def contradictions_between(
    policies: Sequence[PreparedPolicy], renamed: frozenset[tuple[IRI, IRI]] = frozenset()
) -> Iterator[Contradiction]:
    """The same for rules of one policy and prohibitions of another one, which denies them.

    Here obligations of every action count, also those of nobody in particular. A rule and a prohibition
    that meet at columns alone are left out where `met_columns_between` finds them. Conflict strategies are
    those of one policy: a prohibition that a rule's own policy has, too, is left out unless `perm` spares
    the rule there.

    Args:
        policies: prepared for this call (`prepared_together`); their rules are numbered anew.
        renamed: as in `met_columns`.
    """
    if len(policies) < 2:
        return
    prohibitions = _prohibitions_of_all(policies)
    rules = sum(len(prepared.rules) for prepared in policies)
    prover = Prover(policies[0].hierarchies, _STEPS_BETWEEN + _STEPS_FOR_EACH_RULE * rules)
    comparing = _Comparing(policies[0].hierarchies, prover)
    for prepared in policies:
        own = frozenset(prepared.policy.prohibitions)
        spares = prepared.policy.conflict is ConflictStrategy.PERMIT
        pairs = (
            pair
            for pair in _pairs(prepared, prohibitions, renamed, is_between=True)
            if pair.prohibition.policy is not prepared and (spares or pair.prohibition.rule not in own)
        )
        yield from _at_most(_MOST_BETWEEN, pairs, comparing)
        if prover.is_exhausted:
            return


def _at_most(most: int, pairs: "Iterable[_Pair]", comparing: "_Comparing") -> Iterator[Contradiction]:
    """The contradictions among some pairs, so many of each rule; then the first that is not compared."""
    number: dict[PreparedRule, int] = {}
    for pair in pairs:
        so_far = number.get(pair.rule, 0)
        if so_far > most or not (so_far == most or comparing.may_contradict(pair)):
            continue
        number[pair.rule] = so_far + 1
        is_compared = so_far < most and not comparing.prover.is_exhausted
        yield Contradiction(pair.rule, pair.prohibition, is_compared)
        if comparing.prover.is_exhausted:
            return


@dataclass(frozen=True, slots=True)
class _Pair:
    """A rule and a prohibition that may share a target, a party and a purpose."""

    rule: PreparedRule
    rule_forms: tuple[Form, ...]
    """In which the rule permits, or requires, its action."""
    requested: Requested
    prohibition: PreparedRule
    is_between: bool
    """Whether they are of two policies."""
    of_columns: bool
    """Whether it counts that they meet at columns alone."""


class _Comparing:
    """Compares pairs of rules in a bounded number of steps."""

    def __init__(self, hierarchies: Hierarchies, prover: Prover) -> None:
        self.prover = prover
        self._actions = hierarchies.actions
        self._parties = _Parties(hierarchies.parties, prover)

    def may_contradict(self, pair: _Pair) -> bool:
        """Whether both rules may apply to one request; True also if no steps are left to prove it."""
        self.prover.step()
        return self.prover.is_exhausted or any(
            _share_a_target(pair, form, self.prover)
            and self._parties.may_meet(form, pair.prohibition)
            and _overlap(form, pair.prohibition, self._actions, self.prover)
            and _may_apply(form, pair.prohibition, self.prover)
            and not (pair.is_between and _are_apart_in_time(pair, form, self.prover))
            for form in pair.rule_forms
        )


def _are_apart_in_time(pair: _Pair, form: Form, prover: Prover) -> bool:
    """Whether two rules apply at different times by the validity of their policies."""
    times, others = _valid(pair.rule.policy), _valid(pair.prohibition.policy)
    return prover.exclude((*form.permission.constraints, *times), others) or prover.exclude(
        times, pair.prohibition.rule.constraints
    )


def _valid(prepared: PreparedPolicy) -> tuple[Comparison, ...]:
    """When a policy is in force, as constraints of its rules."""
    valid = prepared.policy.valid
    if valid is None:
        return ()
    start = () if valid.start is None else (Comparison(DATE_TIME, Operator.GTEQ, (Instant(valid.start),)),)
    end = () if valid.end is None else (Comparison(DATE_TIME, Operator.LT, (Instant(valid.end),)),)
    return start + end


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
    """The same for rules of one policy and prohibitions of another one.

    Args:
        policies: prepared for this call; their rules are numbered anew.
        renamed: as in `met_columns`.
    """
    prohibitions = _prohibitions_of_all(policies)
    for prepared in policies:
        own = set(prepared.policy.prohibitions)
        yield from (meeting for meeting in _met(prepared, prohibitions, renamed) if meeting[1] not in own)


def _met(
    prepared: PreparedPolicy, prohibitions: Buckets, renamed: frozenset[tuple[IRI, IRI]]
) -> Iterator[tuple[Rule, Rule, frozenset[IRI]]]:
    prover = Prover(prepared.hierarchies, _STEPS)
    parties = _Parties(prepared.hierarchies.parties, prover)
    for pair in _pairs(prepared, prohibitions, renamed):
        prohibiting = pair.prohibition
        for form in pair.rule_forms:
            prover.step()
            if prover.is_exhausted:
                return
            columns = _columns_met(pair.requested, form, prohibiting)
            may_meet = columns and parties.may_meet(form, prohibiting)
            if may_meet and _overlap(form, prohibiting, prepared.hierarchies.actions, prover):
                yield pair.rule.rule, prohibiting.rule, columns
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


def _forms_between(prepared: PreparedRule) -> tuple[Form, ...]:
    """Those, and what any obligation requires."""
    rule = prepared.rule
    if prepared.kind is not Kind.OBLIGATION or not isinstance(rule, Duty):
        return _forms_of(prepared)
    if prepared.form is not None:
        return (prepared.form,)
    return (Form(as_permission(rule, rule), None, ()),) if rule.targets else ()


def _prohibitions_of_all(policies: Sequence[PreparedPolicy]) -> Buckets:
    """The prohibitions of several policies, whose rules get different numbers: buckets need them."""
    for order, rule in enumerate(rule for prepared in policies for rule in prepared.rules):
        rule.order = order
    return _prohibitions(policies)


def _prohibitions(policies: Iterable[PreparedPolicy]) -> Buckets:
    buckets = Buckets()
    for prepared in policies:
        for rule in prepared.rules:
            if rule.kind is Kind.PROHIBITION:
                buckets.add(rule, _keys_of(rule))
    return buckets


def _pairs(
    prepared: PreparedPolicy,
    prohibitions: Buckets,
    renamed: frozenset[tuple[IRI, IRI]] = frozenset(),
    *,
    is_between: bool = False,
) -> Iterator[_Pair]:
    """The pairs of rules that may share a target, a party and a purpose."""
    hierarchies = prepared.hierarchies
    for rule in prepared.rules:
        permitting = _forms_of(rule)
        if rule_forms := _forms_between(rule) if is_between else permitting:
            requested = _requested(rule, renamed)
            keys = Keys.of(rule.rule, hierarchies).widened(hierarchies)
            keys = replace(keys, targets=keys.targets | requested.sought | requested.sought_tables)
            of_columns = not (is_between and permitting)
            for other in prohibitions.find(keys):
                yield _Pair(rule, rule_forms, requested, other, is_between, of_columns)


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


def _share_a_target(pair: _Pair, form: Form, prover: Prover) -> bool:
    """Whether a prohibition is about the targets of a rule, or about columns that the rule needs.

    True also where no steps are left to compare them.
    """
    assets, requested = pair.prohibition.rule.targets, pair.requested
    if not prover.affords(len(requested.targets) * len(assets)):
        return True
    reached = (requested.touched(target, asset.iri) for target in requested.targets for asset in assets)
    return any(
        part.whole is not UNSATISFIED or (pair.of_columns and any(map(form.uses.reaches, part.columns)))
        for part in reached
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
