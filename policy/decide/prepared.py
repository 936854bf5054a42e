"""Rules prepared for requests: what does not depend on a request is computed once."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from smalti.policy.decide.column_uses import ColumnUses, column_uses
from smalti.policy.decide.comparing import UNSATISFIED
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.transformations import Transformation, training_transformation, transformation
from smalti.policy.model.model import Asset, Duty, Permission, Policy, Prohibition, Rule, Training
from smalti.vocab.terms import ANONYMIZE, IRI, PLANNED_DUTIES, READ

ANY_COLUMN: Final = ColumnUses(frozenset())
"""The uses of actions on a table as it is."""


class Kind(StrEnum):
    PERMISSION = "permission"
    PROHIBITION = "prohibition"
    OBLIGATION = "obligation"
    REMEDY = "remedy"
    """A prohibition's duty to anonymize; it permits only a request that names it."""


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
        self.form = _own_form(rule, () if of is None else owed_beside(of.rule))
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


def owed_beside(prohibition: Rule) -> tuple[Duty, ...]:
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
