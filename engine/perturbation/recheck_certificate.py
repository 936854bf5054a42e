"""Whether the certificate of a perturbation says what its noise, its plan and the ledger say."""

from fractions import Fraction
from pathlib import Path

from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.stated import Stated
from smalti.engine.losses.certified import (
    broken,
    check_alone,
    check_charged,
    least_belief,
)
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.perturbation.mechanisms import loss_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedColumn
from smalti.transforms.loss.privacy_loss import PrivacyLoss


def check_sentences(place: Path, stated: Stated[LocalGuarantee]) -> ReleaseCheck:
    """Hold the sentences and the composition of a certificate against its figures.

    Whether the figures are those of the noise is `recheck.check_perturbation`'s to say.

    Args:
        place: of the certificate, for messages.
        stated: in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised, composition = stated.guarantee, stated.composition
    if composition is None:
        raise broken(place, "it states no composition with other releases")
    if not stated.has_own_sentences:
        raise broken(place, "its sentences are not those of its figures")
    delta = Fraction(composition.loss.delta)
    belief = least_belief(_lost_by(place, promised.perturbed), delta)
    check_alone(place, promised.loss, composition, belief)
    earlier = () if composition.releases == 1 else ("what earlier releases lost",)
    return ReleaseCheck(("the sentences of the certificate are those of its figures",), earlier)


def check_noise(place: Path, plan: PerturbationPlan) -> ReleaseCheck:
    """That no less is charged for a plan than its noise loses; a GuaranteeError says otherwise."""
    check_charged(place, plan.loss, _lost_by(place, plan.perturbed), Fraction(0))
    return ReleaseCheck(("the noise of the plan loses no more than was charged for it",), ())


def _lost_by(place: Path, perturbed: tuple[PerturbedColumn, ...]) -> PrivacyLoss:
    """What the noise of all columns loses together."""
    try:
        return sum(map(loss_of, perturbed), PrivacyLoss())
    except (ValueError, ArithmeticError):
        raise broken(place, "the noise that is stated cannot be drawn") from None
