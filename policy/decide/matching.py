"""Compares one rule with a request, part by part.

A permission applies when every part is satisfied; a prohibition unless some part is unsatisfied.
"""

from collections.abc import Iterator
from typing import TypeAlias

from smalti.policy.decide.column_uses import ColumnUses
from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED, span
from smalti.policy.decide.conditions import evaluate
from smalti.policy.decide.conditions import evaluate_parameter as evaluate_refinement
from smalti.policy.decide.decision import DutyReading, Finding, Part, Request
from smalti.policy.decide.duties import can_be_fulfilled, claimed_conditions
from smalti.policy.decide.facts import DATE_TIME, Facts
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.outcomes import Outcome, Residual, conjunction, disjunction
from smalti.policy.decide.prepared import ANY_COLUMN, Form, Kind, PreparedRule, owed_beside
from smalti.policy.decide.table_columns import NOT_REACHED, Reached, Requested
from smalti.policy.decide.transformations import Parameters, judged_parameters
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Asset,
    Comparison,
    Condition,
    Day,
    Duty,
    Instant,
    Interval,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Rule,
)
from smalti.vocab.terms import IRI, PLANNED_DUTIES

Subject: TypeAlias = Condition | Duty | IRI | None
"""What a part is about: a condition, a duty, a parameter, a target or a profile."""
Judged: TypeAlias = tuple[Part, Outcome, Subject]
"""The outcome of one part of a rule, and its subject."""


# --- Judging


class Situation:
    """A request with its facts, under the hierarchies that count for one policy."""

    __slots__ = ("_requested", "_under", "facts", "hierarchies", "owners", "request")

    def __init__(
        self, request: Request, hierarchies: Hierarchies, owners: frozenset[IRI] = frozenset()
    ) -> None:
        self.request = request
        self.hierarchies = hierarchies
        self.owners = owners
        """The known owners of all of each target."""
        self.facts = Facts(request, hierarchies)
        self._requested: Requested | None = None
        self._under: dict[Hierarchies, Situation] = {}

    @property
    def requested(self) -> Requested:
        """The targets, with the tables that they are columns of, and their own columns."""
        if self._requested is None:
            self._requested = Requested(self.request, self.hierarchies)
        return self._requested

    def under(self, hierarchies: Hierarchies) -> "Situation":
        """The same under the hierarchies of a policy with its own memberships; worked out once for each."""
        if hierarchies is self.hierarchies:
            return self
        if (situation := self._under.get(hierarchies)) is None:
            situation = self._under[hierarchies] = Situation(self.request, hierarchies, self.owners)
        return situation


def touches(prepared: PreparedRule, situation: Situation) -> bool:
    """Whether a rule is about a requested target, a part of it, or a whole that contains it.

    A column is a part of its table.
    """
    requested = situation.under(prepared.policy.hierarchies).requested
    return requested.is_touched_by(asset.iri for asset in prepared.rule.targets)


def forbidden_columns(prepared: PreparedRule, situation: Situation) -> frozenset[IRI] | None:
    """The columns that a prohibition, if it applies, withholds of the targets.

    Returns:
        None where it is about all of a target: about the target, its table, or something with a part of
        both. Else at least one column, as `policy.model.column_iris.normalised_column` spells it.
    """
    situation = situation.under(prepared.policy.hierarchies)
    touching = [
        reached
        for reached, outcome in _reached(prepared.rule.targets, situation)
        if outcome is not UNSATISFIED
    ]
    if not touching or any(reached.whole is not UNSATISFIED for reached in touching):
        return None
    return frozenset[IRI]().union(*(reached.columns for reached in touching))


def prohibited_parts(prepared: PreparedRule, situation: Situation) -> frozenset[IRI]:
    """The columns that a rule is about, also where it is about all of a target, too."""
    requested = situation.under(prepared.policy.hierarchies).requested
    pairs = ((target, asset.iri) for target in situation.request.targets for asset in prepared.rule.targets)
    return frozenset[IRI]().union(*(requested.columns_about(*pair) for pair in pairs))


def named_columns(prepared: PreparedRule, situation: Situation) -> frozenset[IRI]:
    """The IRIs that a rule names, as `column_iris.normalised_column` spells them: some may be columns."""
    requested = situation.under(prepared.policy.hierarchies).requested
    return requested.named(asset.iri for asset in prepared.rule.targets)


def judged_as_grant(prepared: PreparedRule, form: Form, situation: Situation) -> Iterator[Judged]:
    """The parts of a permission; it applies when each is satisfied, or limits the rows."""
    rule, request = prepared.rule, situation.request
    yield Part.POLICY, in_force(prepared.policy.policy, request), None
    for profile in prepared.policy.unknown_profiles:
        yield Part.POLICY, UNKNOWN, profile
    yield Part.TARGET, _covered(form.permission.targets, situation, form.uses), None
    actions = situation.hierarchies.actions
    yield Part.ACTION, actions.relation(request.action, form.permission.action), form.duty
    yield Part.PARTY, _parties(prepared, situation), None
    if form.duty is not None and form.duty.assignees:
        yield Part.DUTY, _any_party(form.duty.assignees, situation), form.duty
    if form.duty is not None and form.duty.targets:
        yield Part.TARGET, _covered(rule.targets, situation), None
    if prepared.of is not None:
        yield Part.TARGET, _covered(prepared.of.rule.targets, situation), None
    yield from _of_assigners(prepared, form, situation)
    constraints = form.permission.constraints
    facts = situation.facts.about(form.permission.targets) if constraints else situation.facts
    for condition in constraints:
        yield Part.CONSTRAINT, evaluate(condition, facts), condition
    for condition in form.permission.refinements:
        outcome = evaluate_refinement(condition, situation.facts.parameters)
        yield Part.REFINEMENT, outcome, condition
    if form.transformation is not None:
        parameters = situation.facts.parameters_in(form.transformation.operands)
        for subject, outcome in judged_parameters(form.transformation, parameters):
            yield Part.REFINEMENT, outcome, subject
    for duty in judged_duties(prepared):
        judged = _as_read if prepared.of is None else fulfilled
        yield Part.DUTY, judged(duty, situation), duty


def judged_duties(prepared: PreparedRule) -> Iterator[Duty]:
    """The duties that decide whether a rule permits: those that no plan can contain.

    Of a remedy: the other remedies of its prohibition.
    """
    rule = prepared.rule
    duties = rule.duties if isinstance(rule, Permission) else ()
    beside = () if prepared.of is None else owed_beside(prepared.of.rule)
    return (duty for duty in (*duties, *beside) if duty.action not in PLANNED_DUTIES)


def _of_assigners(prepared: PreparedRule, form: Form, situation: Situation) -> Iterator[Judged]:
    """The refinements of assigners, and of the assignees of a remedy's prohibition.

    The facts of a request are about the world and the requester, not about an assigner or another party.
    So these refinements are unknown.
    """
    rules = [
        prepared.rule,
        *([prepared.of.rule] if prepared.of else []),
        *([form.duty] if form.duty else []),
    ]
    for rule in rules:
        for assigner in rule.assigners:
            for condition in assigner.refinements:
                yield Part.PARTY, UNKNOWN, condition
    forbidden = prepared.of.rule.assignees if prepared.of is not None else ()
    conditions = [condition for assignee in forbidden for condition in assignee.refinements]
    if conditions and _any_party(forbidden, situation) is not SATISFIED:
        yield from ((Part.PARTY, UNKNOWN, condition) for condition in conditions)


def judged_as_prohibition(prepared: PreparedRule, situation: Situation) -> Iterator[Judged]:
    """The parts of a prohibition except its refinements; it applies unless one is unsatisfied."""
    rule = prepared.rule
    yield Part.POLICY, in_force(prepared.policy.policy, situation.request), None
    yield Part.TARGET, _touched(rule.targets, situation), None
    actions = situation.hierarchies.actions
    yield Part.ACTION, actions.relation(situation.request.action, rule.action), None
    yield Part.PARTY, _parties(prepared, situation), None
    facts = situation.facts.of_prohibitions()
    for condition in rule.constraints:
        yield Part.CONSTRAINT, _undecided(evaluate(condition, facts)), condition


def judged_refinements(rule: Rule, parameters: Parameters) -> Iterator[Judged]:
    """The refinements of a prohibited action, for a transformation with these parameters."""
    for condition in rule.refinements:
        yield Part.REFINEMENT, evaluate_refinement(condition, parameters), condition


def in_force(policy: Policy, request: Request) -> Finding:
    """Whether a policy is in force at the time of a request; an Offer never is."""
    if policy.type is PolicyType.OFFER:
        return UNSATISFIED
    if policy.valid is None:
        return SATISFIED
    return UNKNOWN if request.time is None else _within(policy.valid, Instant(request.time))


def _within(interval: Interval, moment: Instant) -> Finding:
    time_span = span(moment)
    if interval.contains(time_span.earliest_start) and interval.contains(time_span.latest_end):
        return SATISFIED
    is_before = interval.start is not None and time_span.latest_end < interval.start
    is_after = interval.end is not None and time_span.earliest_start >= interval.end
    return UNSATISFIED if is_before or is_after else UNKNOWN


def _covered(assets: tuple[Asset, ...], situation: Situation, uses: ColumnUses = ANY_COLUMN) -> Outcome:
    """Whether one rule covers every requested target: joint requests need a joint permission."""
    targets = situation.request.targets
    if len(targets) == 1:
        return _any_asset(targets[0], assets, situation, uses)
    return conjunction([_any_asset(target, assets, situation, uses) for target in targets])


def _touched(assets: tuple[Asset, ...], situation: Situation) -> Outcome:
    outcomes = [outcome for _, outcome in _reached(assets, situation)]
    return _undecided(outcomes[0] if len(outcomes) == 1 else disjunction(outcomes))


def _reached(assets: tuple[Asset, ...], situation: Situation) -> list[tuple[Reached, Outcome]]:
    """For each target and asset of a prohibition: the part that it is about, and whether it applies."""
    return [
        (reached, _refined(_of_any(reached), asset, situation))
        for target in situation.request.targets
        for asset in assets
        if (reached := situation.requested.touched(target, asset.iri)).is_anything
    ] or [(NOT_REACHED, UNSATISFIED)]


def _of_any(reached: Reached) -> Finding:
    return UNKNOWN if reached.whole is UNSATISFIED else reached.whole


def _refined(relation: Finding, asset: Asset, situation: Situation) -> Outcome:
    if relation is UNSATISFIED or not asset.refinements:
        return relation
    facts = situation.facts.about((asset,))
    return conjunction((relation, *(evaluate(refinement, facts) for refinement in asset.refinements)))


def _any_asset(target: IRI, assets: tuple[Asset, ...], situation: Situation, uses: ColumnUses) -> Outcome:
    relations: list[Outcome] = []
    reaches = uses.reaches(normalised_column(target))
    for asset in assets:
        covered = situation.requested.covered(target, asset.iri, reaches_columns=reaches)
        relation = _refined(covered, asset, situation)
        if relation is SATISFIED:
            return SATISFIED
        relations.append(relation)
    return disjunction(relations)


def _parties(prepared: PreparedRule, situation: Situation) -> Finding:
    assignees = prepared.rule.assignees
    if assignees:
        return _any_party(assignees, situation)
    if prepared.kind is Kind.REMEDY:
        return SATISFIED if situation.request.party in situation.owners else UNSATISFIED
    # An obligation of nobody in particular lets nobody do anything.
    return UNSATISFIED if prepared.kind is Kind.OBLIGATION else SATISFIED


def _any_party(parties: tuple[Party, ...], situation: Situation) -> Finding:
    relations: list[Outcome] = []
    for party in parties:
        relation: Outcome = situation.hierarchies.parties.relation(situation.request.party, party.iri)
        if relation is not UNSATISFIED and party.refinements:
            facts = situation.facts
            relation = conjunction(
                (relation, *(evaluate(refinement, facts) for refinement in party.refinements))
            )
        if relation is SATISFIED:
            return SATISFIED
        relations.append(relation)
    return _undecided(disjunction(relations))


def _as_read(duty: Duty, situation: Situation) -> Finding:
    """Whether a duty of a permission lets it apply, in the reading of the request."""
    finding = fulfilled(duty, situation)
    if finding is SATISFIED or situation.request.duties is not DutyReading.NOT_VIOLATED:
        return finding
    return can_be_fulfilled(duty, situation.facts)


def fulfilled(duty: Duty, situation: Situation) -> Finding:
    """Whether a duty was fulfilled: the requester claims it, and its constraints are known to hold.

    ODRL IM 2.6.3: a duty is fulfilled if all of its constraints are satisfied and its action, with all
    refinements, was done. The claim is that it was done; what a request states says nothing of that, so
    refinements are taken as they are claimed, unless they are not understood. A deadline may have been
    kept, whatever the time is now. What refines another party than the requester is unknown.
    """
    if duty.uid not in situation.request.fulfilled:
        return UNKNOWN
    facts = situation.facts
    outcomes = [evaluate(condition, facts) for condition in duty.constraints if not _is_deadline(condition)]
    if any(party.refinements for party in duty.assignees):
        outcomes.append(_any_party(duty.assignees, situation))
    is_odd = any(map(facts.is_unknown, claimed_conditions(duty)))
    if is_odd or any(party.refinements for party in duty.assigners):
        outcomes.append(UNKNOWN)
    return _undecided(conjunction(outcomes))


def _is_deadline(condition: Condition) -> bool:
    """Whether a condition is only a deadline."""
    if not isinstance(condition, Comparison) or condition.operand != DATE_TIME or condition.unit:
        return False
    is_end = condition.operator in (Operator.LT, Operator.LTEQ)
    return is_end and all(isinstance(value, Instant | Day) for value in condition.values)


def _undecided(outcome: Outcome) -> Finding:
    """The finding of an outcome: one that depends on the rows is unknown."""
    return UNKNOWN if isinstance(outcome, Residual) else outcome
