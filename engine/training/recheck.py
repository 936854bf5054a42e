"""Verify the certificate of a published model by its figures, and by the noise of its plan."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.stated import Stated
from smalti.engine.losses.certified import (
    SENTENCES,
    attested_of,
    broken,
    check_alone,
    check_charged,
    check_own_sentences,
    least_belief,
)
from smalti.engine.plan.files import Composition
from smalti.engine.plan.guarantees import AnyGuarantee
from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.engine.registry.budget import EpsilonDelta, compose
from smalti.engine.training.plan import PrivateSteps
from smalti.errors import BackendError
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

if TYPE_CHECKING:
    from smalti.transforms.learning.accounting import SampledGaussian

AS_STATED: Final = "that the model was trained and audited as stated"
_LAST_DIGITS: Final = Fraction(1, 10**7)
"""By which share another version of the accountant may lose more, for its arithmetic differs."""
_MOST_LOSS: Final = 200.0
"""On average; the memory that an account takes grows with it, and nobody is protected any more."""
_ACCOUNT: Final = ("that the stated loss matches the stated noise",)


class Trained(AnyGuarantee, Protocol):
    """What is promised of a model or of its records."""

    @property
    def loss(self) -> StatedLoss | None: ...
    @property
    def steps(self) -> PrivateSteps | None: ...


G = TypeVar("G", bound=Trained)


def check_sentences(place: Path, stated: Stated[G], attested: str = AS_STATED) -> ReleaseCheck:
    """Check the sentences, the composition and the loss of a certificate by its figures.

    The loss is compared with that of the stated noise where the accountant is here.

    Args:
        place: of the certificate, for messages.
        stated: in it.
        attested: what nobody can see in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised = stated.guarantee
    check_own_sentences(place, stated)
    trusted = [attested]
    seen = ReleaseCheck((), ())
    if promised.loss is not None and promised.steps is not None and stated.composition is not None:
        _check_together(place, promised.loss, promised.steps, stated.composition)
        trusted += attested_of(stated.composition)
        is_accounted = _account(place, promised.steps, promised.loss) is not None
        seen = ReleaseCheck(_ACCOUNT, ()) if is_accounted else ReleaseCheck((), _ACCOUNT)
    return ReleaseCheck((SENTENCES,), tuple(trusted)) + seen


def _check_together(place: Path, loss: StatedLoss, steps: PrivateSteps, composition: Composition) -> None:
    """That a composition contains the loss of a training as it adds up (`noise.stated_loss`)."""
    noise, selection = PrivacyLoss.of_pure(Fraction(loss.epsilon)), Fraction(loss.delta)
    if steps.sampling_rate == 1:
        noise, selection = _gaussian(place, steps, loss.delta)
    account = compose(EpsilonDelta(loss.epsilon, loss.delta), noise, selection)
    own = account.stated(loss.epsilon)
    belief = least_belief(noise, Fraction(composition.loss.delta) - selection)
    check_alone(place, own, composition, belief)


def _gaussian(place: Path, steps: PrivateSteps, delta: Decimal) -> tuple[PrivacyLoss, Fraction]:
    """What the noise of a training without sampling loses, and the part of delta that its ends take.

    That needs no accountant.
    """
    from smalti.engine.training.noise import stated_loss  # noqa: PLC0415 (only for private models)

    try:
        planned = stated_loss(steps, delta)
    except (ValueError, ArithmeticError):
        raise broken(place, "the stated noise cannot be accounted for") from None
    return PrivacyLoss(mu_squared=Fraction(planned.mu_squared)), Fraction(planned.selection_delta)


def check_noise(place: Path, private: PrivateSteps | None, loss: PlannedLoss | None) -> ReleaseCheck:
    """Check that a plan states no less than its noise loses, where the accountant is installed.

    Raises:
        GuaranteeError: it states less; no value is named.
    """
    if private is None or loss is None:
        return ReleaseCheck((), ())
    accounted = _account(place, private, loss)
    if accounted is None:
        return ReleaseCheck((), _ACCOUNT)
    noise = PrivacyLoss(Fraction(accounted.pure) * (1 - _LAST_DIGITS), Fraction(accounted.mu_squared))
    check_charged(place, loss, noise, Fraction(accounted.selection_delta))
    return ReleaseCheck((), ())


def _account(place: Path, private: PrivateSteps, stated: StatedLoss) -> PlannedLoss | None:
    """What the accountant makes of the noise of a training.

    Where that would take very much memory, the loss is only held against that of fewer of its steps, which
    lose less.

    Returns:
        None where there is no accountant, or not of all steps.

    Raises:
        GuaranteeError: the noise loses more than is stated, or has no account.
    """
    from smalti.engine.training.noise import mechanism_of, stated_loss  # noqa: PLC0415 (an extra)

    try:
        steps = _accounted_steps(mechanism_of(private))
        accounted = stated_loss(replace(private, steps=steps), stated.delta)
    except BackendError:
        return None
    except (ValueError, ArithmeticError):
        raise broken(place, "the stated noise cannot be accounted for") from None
    pairs = (
        (float(accounted.epsilon), float(stated.epsilon)),
        (accounted.belief, stated.belief),
        (accounted.advantage, stated.advantage),
    )
    if any(again * (1 - float(_LAST_DIGITS)) > said for again, said in pairs):
        raise broken(place, "the stated noise loses more than the stated loss")
    return accounted if steps == private.steps else None


def _accounted_steps(mechanism: "SampledGaussian") -> int:
    """As many steps of a training as lose `_MOST_LOSS` on average at most; all of one without sampling.

    The loss of a step is a Kullback-Leibler divergence, q^2 (e^(mu^2) - 1) at most (it is not above the one
    of chi-squares), and q mu^2 / 2 (it is convex).
    """
    rate = mechanism.sampling_rate
    if rate == 1:
        return mechanism.steps
    distance = 2 if mechanism.neighbors is NeighboringRelation.CHANGE_ONE else 1
    mu_squared = (distance / mechanism.noise_multiplier) ** 2
    most = min(rate**2 * math.expm1(min(mu_squared, 100.0)), rate * mu_squared / 2)
    return max(1, min(mechanism.steps, int(_MOST_LOSS / most)))
