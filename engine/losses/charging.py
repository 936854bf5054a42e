"""The charge of a run, made before anything random is drawn, and the composition of all charges."""

from datetime import UTC, datetime
from fractions import Fraction

from smalti.engine.binding.binding import input_hmac
from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.files import Composition
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.budget import (
    Ceiling,
    Charge,
    ChargedLoss,
    ComposedLoss,
    EpsilonDelta,
    compose,
    other_relation,
)
from smalti.engine.registry.ceilings import declared_ceiling
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.reading import Contents
from smalti.errors import InternalError
from smalti.policy.decide.decision import Decision, Reason
from smalti.policy.model.model import Permission
from smalti.vocab.terms import IRI


def loss_to_charge(plan: AnyPlan) -> ChargedLoss:
    """The loss of a plan; an internal error if it is not charged."""
    lost = capability_of(plan.kind).loss(plan)
    if lost is None:
        raise InternalError("a plan that loses nothing was to be charged")
    return lost


def refusal(under: RunUnder, plan: AnyPlan, lost: ChargedLoss, contents: Contents) -> Decision | None:
    """Charge a run.

    Args:
        under: the run.
        plan: its plan.
        lost: what it loses.
        contents: of its input; files without rows are not charged.

    Returns:
        None where it was charged, which nothing takes back. Otherwise a denial: it does not fit.

    Raises:
        UsageError: as `Registry.charge`.
    """
    request, registry = under.request, under.registry
    charge = Charge(
        run=under.stage.run,
        target=request.target,
        inputs=tuple(input_hmac(registry, digest) for digest in contents.telling_digests),
        epsilon=lost.epsilon,
        delta=lost.delta,
        loss=lost.loss,
        neighbors=lost.neighbors,
        selection_delta=lost.selection_delta,
        party=request.asker,
        purpose=request.purpose,
        policy_uid=request.document.policy.uid,
        rule_uid=under.granted.permission.uid,
        plan_digest=plan_digest(plan),
        time=datetime.now(UTC),
    )
    ceiling = declared_ceiling(under.granted.permission)
    said = memberships_said(request)
    by, issuer = request.submitter, request.document.issuer
    if registry.ledger.charge(charge, ceiling, said, bound_by=by, said_by=issuer):
        return None
    spent = registry.ledger.budget(request.target).spent
    return deny_afterwards(
        registry, under.decision, _no_room(request, under.granted.permission, ceiling, spent)
    )


def memberships_said(request: RunRequest) -> tuple[tuple[IRI, IRI], ...]:
    """What the policy of a run says of assets and the collections that they belong to."""
    said = request.document.policy.memberships
    return tuple(
        (membership.member, membership.collection) for membership in said if not membership.of_parties
    )


def foreseen_reason(
    registry: Registry, request: RunRequest, permission: Permission, plan: AnyPlan
) -> Reason | None:
    """Why a run of a plan would be denied now, as far as its target's ledger says; nothing is charged.

    Files that were read under other IRIs may join more to the ledger, so a run may still be denied.

    Returns:
        None where it fits.
    """
    spent, ceiling = registry.ledger.budget(request.target).spent, declared_ceiling(permission)
    lost = loss_to_charge(plan)
    if ceiling.admits(spent + lost.spent):
        return None
    return _no_room(request, permission, ceiling, spent)


def _no_room(request: RunRequest, permission: Permission, ceiling: Ceiling, spent: EpsilonDelta) -> Reason:
    """That it does not fit; not by how much, which is the owner's to know."""
    text = (
        "the loss of this release exceeds what is left of the budget for all releases about the same"
        " respondents; the data's owner can see what is left"
    )
    if spent.delta and not ceiling.delta:
        text += (
            ". Earlier releases were charged a delta, but this permission states no ceiling for delta"
            " (`smalti:budgetDelta`)"
        )
    return Reason(text, request.document.policy.uid, permission.uid)


def composition(registry: Registry, target: IRI) -> Composition:
    """What all releases so far about the respondents of a target lose together."""
    budget = registry.ledger.budget(target)
    return _composition(budget.spent, budget.account, len(budget.charges))


def composition_with(registry: Registry, target: IRI, plan: AnyPlan) -> Composition:
    """The same, once a plan has been carried out.

    Raises:
        PlanError: what was charged so far is about another neighbouring relation.
    """
    budget, lost = registry.ledger.budget(target), loss_to_charge(plan)
    if set(budget.relations) - {lost.neighbors}:
        raise other_relation(target, budget.relations)
    spent = budget.spent + lost.spent
    selection = budget.selection_delta + Fraction(lost.selection_delta)
    account = compose(spent, budget.loss + lost.loss, selection)
    return _composition(spent, account, len(budget.charges) + 1)


def _composition(spent: EpsilonDelta, account: ComposedLoss, releases: int) -> Composition:
    return Composition(account.stated(spent.epsilon), releases)
