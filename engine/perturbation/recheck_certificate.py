"""Whether the certificate of a perturbation says what its noise, its plan and the ledger say."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from smalti.engine.losses.certified import (
    broken,
    check_alone,
    check_charged,
    check_made_again,
    least_belief,
)
from smalti.engine.losses.checks import ReleaseCheck
from smalti.engine.perturbation.guarantee import LocalGuarantee, describe, guarantee_of, limits
from smalti.engine.perturbation.mechanisms import loss_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedColumn
from smalti.engine.plan.files import Composition
from smalti.engine.registry.budget import Budget
from smalti.engine.registry.entries import TargetVersion
from smalti.transforms.privacy_loss import PrivacyLoss


@dataclass(frozen=True, slots=True)
class StatedPerturbation:
    """What the certificate of a perturbation states, apart from names and digests."""

    guarantee: LocalGuarantee
    composition: Composition
    statement: str
    limits: tuple[str, ...]


def check_sentences(place: Path, stated: StatedPerturbation) -> ReleaseCheck:
    """Hold the sentences and the composition of a certificate against its figures.

    Whether the figures are those of the noise is `recheck.check_perturbation`'s to say.

    Args:
        place: of the certificate, for messages.
        stated: in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised = stated.guarantee
    if stated.statement != describe(promised) or stated.limits != limits(promised):
        raise broken(place, "its sentences are not those of its figures")
    delta = Fraction(stated.composition.loss.delta)
    belief = least_belief(_lost_by(place, promised.perturbed), delta)
    check_alone(place, promised.loss, stated.composition, belief)
    earlier = () if stated.composition.releases == 1 else ("what earlier releases lost",)
    return ReleaseCheck(("the sentences of the certificate are those of its figures",), earlier)


def check_recorded(
    place: Path,
    text: str,
    stated: StatedPerturbation,
    version: TargetVersion,
    plan: PerturbationPlan,
    ledger: Budget,
) -> ReleaseCheck:
    """Make a certificate again: from the record, the noise of the plan, and the charges of the ledger.

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
    check_charged(place, plan.loss, _lost_by(place, plan.perturbed), Fraction(0))
    seen = ReleaseCheck(("the noise of the plan loses no more than was charged for it",), ())
    return seen + check_made_again(
        place, text, version, plan, guarantee_of(plan), stated.composition, ledger
    )


def _lost_by(place: Path, perturbed: tuple[PerturbedColumn, ...]) -> PrivacyLoss:
    """What the noise of all columns loses together."""
    try:
        return sum(map(loss_of, perturbed), PrivacyLoss())
    except (ValueError, ArithmeticError):
        raise broken(place, "the noise that is stated cannot be drawn") from None
