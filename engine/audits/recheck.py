"""Looking at a model again: its bytes, and whether its certificate says what its plan and ledger say."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from smalti.engine.audits.guarantee import ModelGuarantee, describe, guarantee_of, limits
from smalti.engine.audits.plan import Audit, FigureBound, PrivateSteps, TrainingPlan
from smalti.engine.budget import Budget, Spent, compose
from smalti.engine.certificate import Composition
from smalti.engine.certified import (
    broken,
    check_alone,
    check_charged,
    check_made_again,
    least_belief,
)
from smalti.engine.entries import TargetVersion
from smalti.engine.releases.guarantee import Loss
from smalti.engine.releases.recheck import ReleaseCheck
from smalti.errors import BackendError
from smalti.transforms.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

_LAST_DIGITS: Final = Fraction(1, 10**7)
"""By which share another version of the accountant may lose more, for its arithmetic differs."""


@dataclass(frozen=True, slots=True)
class StatedModel:
    """What the certificate of a model states, apart from names and digests."""

    guarantee: ModelGuarantee
    composition: Composition | None
    """Of a private training."""
    statement: str
    limits: tuple[str, ...]


def check_sentences(place: Path, stated: StatedModel) -> ReleaseCheck:
    """Hold the sentences and the composition of a certificate against its figures.

    Args:
        place: of the certificate, for messages.
        stated: in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised = stated.guarantee
    if stated.statement != describe(promised) or stated.limits != limits(promised):
        raise broken(place, "its sentences are not those of its figures")
    attested = ["that the model was trained and audited as it is stated"]
    if promised.loss is not None and promised.steps is not None and stated.composition is not None:
        _check_together(place, promised.loss, promised.steps, stated.composition)
        attested += ["what earlier releases lost"] if stated.composition.releases > 1 else []
    return ReleaseCheck(("the sentences of the certificate are those of its figures",), tuple(attested))


def _check_together(place: Path, loss: Loss, steps: PrivateSteps, composition: Composition) -> None:
    """That a composition contains the loss of a training as it adds up (`noise.stated_loss`)."""
    noise, selection = PrivacyLoss.of_pure(Fraction(loss.epsilon)), Fraction(loss.delta)
    if steps.sampling_rate == 1:
        noise, selection = _gaussian(place, steps, loss.delta)
    account = compose(Spent(loss.epsilon, loss.delta), noise, selection)
    own = Loss(loss.epsilon, loss.delta, account.belief, account.advantage)
    belief = least_belief(noise, Fraction(composition.loss.delta) - selection)
    check_alone(place, own, composition, belief)


def _gaussian(place: Path, steps: PrivateSteps, delta: Decimal) -> tuple[PrivacyLoss, Fraction]:
    """What the noise of a training without sampling loses, and the part of delta that its ends take.

    That needs no accountant.
    """
    from smalti.engine.audits.noise import stated_loss  # noqa: PLC0415 (only for private models)

    try:
        made = stated_loss(steps, delta)
    except (ValueError, ArithmeticError):
        raise broken(place, "the noise that is stated has no account") from None
    return PrivacyLoss(mu_squared=Fraction(made.mu_squared)), Fraction(made.selection_delta)


def check_recorded(
    place: Path,
    text: str,
    stated: StatedModel,
    version: TargetVersion,
    plan: TrainingPlan,
    ledger: Budget,
) -> ReleaseCheck:
    """Make a certificate again: from the record, and from the charges of the ledger.

    Args:
        place: of the certificate, for messages.
        text: of the certificate.
        stated: in it.
        version: the record.
        plan: in the record.
        ledger: all charges about the same respondents.

    Raises:
        GuaranteeError: a field says something else than follows; it is named, and no value.
    """
    seen = check_made_again(place, text, version, plan, guarantee_of(plan), stated.composition, ledger)
    if stated.composition is None:
        return seen
    account = ("that the stated loss is that of the stated noise",)
    is_accounted = _is_accounted(place, plan)
    return seen + (ReleaseCheck(account, ()) if is_accounted else ReleaseCheck((), account))


def _is_accounted(place: Path, plan: TrainingPlan) -> bool:
    """Whether the accountant is here, and the stated loss was compared with its own.

    Raises:
        GuaranteeError: the noise loses more than is stated.
    """
    private, stated = plan.train.private, plan.train.loss
    if private is None or stated is None:
        return False
    try:
        from smalti.engine.audits.noise import stated_loss  # noqa: PLC0415 (an extra)

        made = stated_loss(private, stated.delta)
    except BackendError:
        return False
    pairs = (
        (float(made.epsilon), float(stated.epsilon)),
        (made.belief, stated.belief),
        (made.advantage, stated.advantage),
    )
    if any(again * (1 - float(_LAST_DIGITS)) > said for again, said in pairs):
        raise broken(place, "the stated noise loses more than the stated loss")
    noise = PrivacyLoss(Fraction(made.pure) * (1 - _LAST_DIGITS), Fraction(made.mu_squared))
    check_charged(place, stated, noise, Fraction(made.selection_delta))
    return True


def stated_guarantee(promised: Mapping[str, Any]) -> ModelGuarantee:
    """The guarantee in a certificate of a model that its schema has accepted."""
    loss = steps = examined = None
    if "training" in promised:
        loss = Loss(
            Decimal(promised["epsilon"]),
            Decimal(promised["delta"]),
            promised["posteriorBelief"],
            promised["membershipAdvantage"],
        )
        said = promised["training"]
        steps = PrivateSteps(
            Decimal(said["noiseMultiplier"]),
            Decimal(said["clippingNorm"]),
            Decimal(said["samplingRate"]),
            said["steps"],
            NeighboringRelation(said["neighbors"]),
        )
    if "audit" in promised:
        audit = promised["audit"]
        examined = Audit(
            tuple(audit["attacks"]),
            tuple(_bound(one) for one in audit["bounds"]),
            Decimal(audit["confidence"]),
            audit["shadowModels"],
        )
    return ModelGuarantee(promised["model"], promised["recipe"], loss, steps, examined)


def _bound(told: Mapping[str, Any]) -> FigureBound:
    rate = told.get("falsePositiveRate")
    return FigureBound(told["figure"], Decimal(told["most"]), None if rate is None else Decimal(rate))
