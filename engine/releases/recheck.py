"""Verify the certificate of a release by its figures, and by the noise of its plan."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.stated import Stated
from smalti.engine.losses.certified import (
    ROUNDING,
    SENTENCES,
    attested_of,
    broken,
    check_alone,
    check_charged,
    check_stated,
    least_belief,
    stated_composition,
)
from smalti.engine.plan.plan import OneRowEach, Respondent, RespondentColumn
from smalti.engine.plan.reads import Mechanism
from smalti.engine.registry.certificate import describe_respondents
from smalti.engine.releases.guarantee import LossGuarantee
from smalti.engine.releases.losses import least_loss, lost_by
from smalti.engine.releases.plan import Quantity, ReleasePlan
from smalti.transforms.identifiability import composed_advantage, epsilon_for_belief, posterior_belief
from smalti.transforms.loss.belief import mu_for_largest_loss
from smalti.transforms.loss.privacy_loss import PrivacyLoss

_CAUTION: Final = 1e-9
"""Relative; many times the error of what is computed with floats from a scale."""
_DECLARED: Final[tuple[Respondent, ...]] = (RespondentColumn(""), OneRowEach(is_declared=True))
_RESPONDENTS: Final = frozenset(map(describe_respondents, _DECLARED))
"""Of a release nothing about respondents is assumed."""


def check_sentences(place: Path, stated: Stated[LossGuarantee]) -> ReleaseCheck:
    """Check that the sentences and figures of a certificate are consistent, from the certificate alone.

    Args:
        place: of the certificate, for messages.
        stated: in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised, composition = stated.guarantee, stated_composition(place, stated)
    if stated.respondents not in _RESPONDENTS:
        raise broken(place, "its statement about respondents is not one that a release makes")
    is_pure = all(noise.mechanism is not Mechanism.GAUSSIAN for noise in promised.noise)
    try:
        least = least_loss(promised)
    except (ValueError, ArithmeticError):
        raise broken(place, "the stated noise cannot be drawn") from None
    selection = Fraction(promised.loss.delta) if is_pure else Fraction(0)
    check_stated(place, promised.loss, least, selection)
    if is_pure:
        _check_pure(place, promised)
    together = composition.loss.delta
    belief = promised.loss.belief if is_pure else belief_together(promised, least, together)
    check_alone(place, promised.loss, composition, belief)
    return ReleaseCheck(
        (
            SENTENCES,
            "its figures are consistent with each other, and with the stated noise of counts and choices",
        ),
        ("the noise of sums, in units that the certificate does not state",)
        + (() if is_pure else ("belief and advantage, beyond the digits in the sentence",))
        + attested_of(composition),
    )


def _check_pure(place: Path, promised: LossGuarantee) -> None:
    """Without Gaussian noise, belief and advantage follow from each other, and epsilon covers both."""
    loss = promised.loss
    selects = any(noise.quantity is Quantity.RESPONDENTS for noise in promised.noise)
    expected = composed_advantage((2 * loss.belief - 1, float(loss.delta)))
    if (
        selects is not bool(loss.delta)
        or abs(loss.advantage - expected) > _CAUTION
        or loss.belief > posterior_belief(float(loss.epsilon)) + ROUNDING
    ):
        raise broken(place, "its epsilon, delta, belief and advantage do not describe one loss")


def belief_together(promised: LossGuarantee, least: PrivacyLoss, delta: Decimal) -> float:
    """The belief that a composition states at least which contains this release with Gaussian noise.

    At the delta of the composition, its belief is that of the noise of known units; and that of Gaussian
    noise alone which has the stated belief at the release's own delta.

    Proof:
        Of a pure loss p and Gaussian noise, p + l(d, mu) follows from the stated belief, with l
        `belief.largest_loss` and d the release's own delta; p + l(D, mu) is looked for, with D >= d. In mu,
        l(d, mu) - l(D, mu) does not fall: its derivative is h(q(d) + mu) - h(q(D) + mu), where q is the
        quantile in l and h the hazard of the normal distribution, which grows. So the least is where mu is
        greatest and p is 0.

    Args:
        promised: of the release.
        least: what its noise loses at least.
        delta: of the composition.
    """
    loss = promised.loss
    selects = any(noise.quantity is Quantity.RESPONDENTS for noise in promised.noise)
    selection = Fraction(loss.delta) / 2 if selects else Fraction(0)  # as `allowed_noise` divides it
    chance = Fraction(delta) - selection
    of_units, own = least_belief(least, chance), float(Fraction(loss.delta) - selection)
    stated = min(loss.belief, 1.0) - ROUNDING
    if not (0 < own < 1 and stated > 0.5):
        return of_units
    mu = mu_for_largest_loss(epsilon_for_belief(stated), own)
    return max(of_units, least_belief(PrivacyLoss.of_gaussian(mu), chance))


def check_noise(place: Path, plan: ReleasePlan) -> ReleaseCheck:
    """Check that a plan states no less than its noise loses; raises GuaranteeError otherwise."""
    planned = plan.loss
    try:
        noise = lost_by(plan)
    except (ValueError, ArithmeticError):
        raise broken(place, "the noise of the plan cannot be drawn") from None
    check_charged(place, planned, noise.loss, noise.selection_delta)
    check_stated(place, planned, noise.loss, Fraction(planned.selection_delta))
    return ReleaseCheck(
        ("the noise of the plan loses no more than the stated epsilon, delta, belief and advantage",),
        ("that the noise was drawn as the plan says",),
    )
