"""Compares one rule with a request, part by part.

A permission applies when every part is satisfied; a prohibition unless some part is unsatisfied.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from smalti.policy.decide.column_uses import ColumnUses, column_uses
from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED, span
from smalti.policy.decide.conditions import (
    DATE_TIME,
    Facts,
    Outcome,
    Residual,
    conjunction,
    disjunction,
    evaluate,
)
from smalti.policy.decide.conditions import evaluate_parameter as evaluate_refinement
from smalti.policy.decide.decision import DutyReading, Finding, Part, Request
from smalti.policy.decide.duties import can_be_fulfilled, claimed_conditions
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.table_columns import NOT_REACHED, Reached, Requested
from smalti.policy.decide.transformations import (
    Parameters,
    Transformation,
    judged_parameters,
    training_transformation,
    transformation,
)
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
    Prohibition,
    Rule,
    Training,
)
from smalti.vocab.terms import ANONYMIZE, IRI, PLANNED_DUTIES, READ

_ANYTHING: Final = ColumnUses(frozenset())
"""The uses of actions on a table as it is."""


class Kind(StrEnum):
    PERMISSION = "permission"
    PROHIBITION = "prohibition"
    OBLIGATION = "obligation"
    REMEDY = "remedy"
    """A prohibition's duty to anonymize; it permits only a request that names it."""


Subject: TypeAlias = Condition | Duty | IRI | None
"""What a part is about: a condition, a duty, a parameter, a target or a profile."""


Judged: TypeAlias = tuple[Part, Outcome, Subject]
"""The outcome of one part of a rule, and its subject."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One form in which a rule permits an action."""

    permission: Permission
    """The rule itself, or the permission that is equivalent to its duty or to the obligation."""
    transformation: Transformation | None
    """The permitted transformation; None: the rule does not restrict how the action is done."""
    obligations: tuple[Duty, ...]
    """The duties that a plan must contain."""
    duty: Duty | None = None
    """The duty that the permission was made from."""
    uses: ColumnUses = field(init=False)
    """The columns without which it cannot be used, on whatever rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "uses", column_uses(self.permission, self.obligations))


class PreparedRule:
    """A rule prepared for requests: what does not depend on them is computed once."""

    __slots__ = (
        "by_duty", "form", "is_for_any_purpose", "kind", "of", "order", "policy", "remedies", "rule"
    )  # fmt: skip

    def __init__(
        self, policy: "PreparedPolicy", rule: Rule, kind: Kind, of: "PreparedRule | None" = None
    ) -> None:
        self.policy = policy
        self.rule = rule
        self.kind = kind
        self.of = of
        """Of a remedy: its prohibition."""
        self.remedies: tuple[PreparedRule, ...] = ()
        """Its remedies to anonymize, which permit requests that name them."""
        self.order = 0
        """Its position among the rules of all policies."""
        self.is_for_any_purpose = not rule.constraints or rule.purposes is None
        self.form = _own_form(rule, () if of is None else _beside(of.rule))
        """How it permits its own action; None where it permits nothing."""
        self.by_duty = _forms_by_duty(rule, policy.hierarchies)
        """How it permits to anonymize, by its duties to anonymize before reading."""

    def forms_for(self, action: IRI) -> tuple[Form, ...]:
        """The forms in which it may permit an action."""
        if self.by_duty and action == ANONYMIZE:
            return self.by_duty
        return () if self.form is None else (self.form,)

    def is_about(self, action: IRI) -> bool:
        """Whether its action, or that of a duty which permits to anonymize, overlaps another action."""
        if self.by_duty and action == ANONYMIZE:
            return True
        actions = self.policy.hierarchies.actions
        return actions.relation(action, self.rule.action) is not UNSATISFIED


class PreparedPolicy:
    """A policy prepared for requests: what does not depend on them is computed once."""

    __slots__ = ("conflict", "has_members", "hierarchies", "policy", "rules", "unknown_profiles")

    def __init__(self, policy: Policy, hierarchies: Hierarchies) -> None:
        self.policy = policy
        self.has_members = bool(policy.memberships)
        self.hierarchies = hierarchies.of_policy(policy)
        self.unknown_profiles = tuple(sorted({*policy.profiles} - hierarchies.profiles))
        """Profiles that no vocabulary here defines: it permits nothing (ODRL IM 3.2)."""
        self.conflict: tuple[Rule, Rule] | None = None
        """A permission and a prohibition that make it void."""
        self.rules = tuple(PreparedRule(self, rule, kind) for kind, rule in _rules(policy))
        for order, rule in enumerate(self.rules):
            rule.order = order
        self._prepare_remedies()

    def _prepare_remedies(self) -> None:
        """Each remedy once, also of a prohibition that was written with several actions."""
        seen: set[tuple[tuple[Asset, ...], Rule]] = set()
        for rule in self.rules:
            if isinstance(rule.rule, Prohibition) and rule.rule.remedies:
                own = [(rule.rule.targets, remedy) for remedy in _remedies(rule.rule)]
                new = [key for key in dict.fromkeys(own) if key not in seen]
                rule.remedies = tuple(PreparedRule(self, remedy, Kind.REMEDY, rule) for _, remedy in new)
                seen.update(new)


def _rules(policy: Policy) -> Iterator[tuple[Kind, Rule]]:
    yield from ((Kind.PERMISSION, rule) for rule in policy.permissions)
    yield from ((Kind.PROHIBITION, rule) for rule in policy.prohibitions)
    yield from ((Kind.OBLIGATION, rule) for rule in policy.obligations)


def _remedies(rule: Prohibition) -> Iterator[Duty]:
    """The remedies to anonymize, each with the constraints and assignees of its prohibition."""
    for duty in rule.remedies:
        if duty.action == ANONYMIZE and duty.anonymization is not None and duty.output is not None:
            yield replace(
                duty,
                targets=duty.targets or rule.targets,
                assignees=duty.assignees or rule.assignees,
                constraints=(*rule.constraints, *duty.constraints),
            )


def _beside(prohibition: Rule) -> tuple[Duty, ...]:
    """The remedies of other actions, which are owed together with a remedy to anonymize."""
    remedies = prohibition.remedies if isinstance(prohibition, Prohibition) else ()
    return tuple(duty for duty in remedies if duty.action != ANONYMIZE)


def _own_form(rule: Rule, beside: tuple[Duty, ...] = ()) -> Form | None:
    match rule:
        case Permission(training=Training() as training, duties=duties):
            return Form(rule, training_transformation(training), _planned(duties))
        case Permission(anonymization=how, duties=duties):
            return Form(rule, transformation(how) if how is not None else None, _planned(duties))
        case Duty(anonymization=how) if how is not None and rule.action == ANONYMIZE:
            return Form(as_permission(rule, rule), transformation(how), _planned(beside))
    return None


def _planned(duties: tuple[Duty, ...]) -> tuple[Duty, ...]:
    return tuple(duty for duty in duties if duty.action in PLANNED_DUTIES) if duties else ()


def _forms_by_duty(rule: Rule, hierarchies: Hierarchies) -> tuple[Form, ...]:
    if not isinstance(rule, Permission) or not rule.duties:
        return ()
    if not hierarchies.actions.covers(rule.action, READ):
        return ()
    return tuple(
        Form(
            as_permission(rule, duty),
            transformation(duty.anonymization),
            tuple(other for other in rule.duties if other.action in PLANNED_DUTIES and other is not duty),
            duty,
        )
        for duty in rule.duties
        if duty.action == ANONYMIZE and duty.anonymization is not None
    )


def as_permission(rule: Rule, duty: Duty) -> Permission:
    """The permission to do what a duty of a rule, or an obligation, requires.

    What a duty prepares for a refined action is for that action alone: the refinements are judged, too.
    """
    more = () if duty is rule else duty.constraints
    return Permission(
        uid=rule.uid,
        action=duty.action,
        targets=duty.targets or rule.targets,
        assignees=duty.assignees or rule.assignees,
        assigners=rule.assigners,
        constraints=rule.constraints + more,
        refinements=rule.refinements,
        where=duty.where,
        output=duty.output,
        anonymization=duty.anonymization,
    )


# --- Judging


class Situation:
    """A request with its facts, under the hierarchies that count for one policy."""

    __slots__ = ("_requested", "facts", "hierarchies", "owners", "request")

    def __init__(
        self, request: Request, hierarchies: Hierarchies, owners: frozenset[IRI] = frozenset()
    ) -> None:
        self.request = request
        self.hierarchies = hierarchies
        self.owners = owners
        """The known owners of all of each target."""
        self.facts = Facts(request, hierarchies)
        self._requested: Requested | None = None

    @property
    def requested(self) -> Requested:
        """The targets, with the tables that they are columns of, and their own columns."""
        if self._requested is None:
            self._requested = Requested(self.request, self.hierarchies)
        return self._requested

    def under(self, hierarchies: Hierarchies) -> "Situation":
        """The same under the hierarchies of a policy with its own memberships."""
        if hierarchies is self.hierarchies:
            return self
        return Situation(self.request, hierarchies, self.owners)


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
    beside = () if prepared.of is None else _beside(prepared.of.rule)
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


def _covered(assets: tuple[Asset, ...], situation: Situation, uses: ColumnUses = _ANYTHING) -> Outcome:
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
