"""The charge of a run: taken before anything random is drawn for it, and told to whom it concerns."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from smalti.engine.binding import input_hmac
from smalti.engine.budget import Charge
from smalti.engine.ceilings import declared_ceiling
from smalti.engine.certificate import Composition
from smalti.engine.reading import Contents
from smalti.engine.releases.guarantee import Loss
from smalti.engine.run_record import RunUnder
from smalti.engine.serialize import AnyPlan, plan_digest
from smalti.policy.decision import Decision, Effect, Reason
from smalti.transforms.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation


@dataclass(frozen=True, slots=True)
class Losing:
    """What a run loses."""

    epsilon: Decimal
    delta: Decimal
    loss: PrivacyLoss
    """From the noise that will be used."""
    neighbors: NeighboringRelation
    selection_delta: Decimal = Decimal(0)
    """The part of delta that the private selection of groups takes."""


def refusal(under: RunUnder, made: AnyPlan, losing: Losing, contents: Contents) -> Decision | None:
    """Charge a run.

    Args:
        under: the run.
        made: its plan.
        losing: what it loses.
        contents: of its input; files without rows are nobody's data.

    Returns:
        None where it was charged, which nothing takes back. Otherwise a denial: it does not fit.
    """
    request, registry = under.request, under.registry
    charge = Charge(
        run=under.stage.run,
        target=request.target,
        inputs=tuple(input_hmac(registry, digest) for digest in contents.telling_digests),
        epsilon=losing.epsilon,
        delta=losing.delta,
        loss=losing.loss,
        neighbors=losing.neighbors,
        selection_delta=losing.selection_delta,
        party=request.asker,
        purpose=request.purpose,
        policy_uid=request.document.policy.uid,
        rule_uid=under.granted.permission.uid,
        plan_digest=plan_digest(made),
        time=datetime.now(UTC),
    )
    fits = registry.charge(charge, declared_ceiling(under.granted.permission))
    return None if fits else _denied(under)


def _denied(under: RunUnder) -> Decision:
    """That it does not fit; not by how much, which is the owner's to know."""
    reason = Reason(
        "what this release would lose does not fit into what is left of the budget for all releases about"
        " the same respondents; its owner can see how much that is",
        under.request.document.policy.uid,
        under.granted.permission.uid,
    )
    decision = replace(
        under.decision, effect=Effect.DENY, reasons=(reason,), grants=(), determining=(), remedies=()
    )
    if under.registry.decision_log is not None:
        under.registry.decision_log.append(decision, 0.0)
    return decision


def composition(under: RunUnder) -> Composition:
    """What all releases so far about the same respondents lose together, this one among them."""
    budget = under.registry.budget(under.request.target)
    spent, account = budget.spent, budget.account
    loss = Loss(spent.epsilon, spent.delta, account.belief, account.advantage)
    return Composition(loss, len(budget.charges))
