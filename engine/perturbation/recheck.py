"""Verify a published table of perturbed records: its bytes, its form, its noise and its certificate."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from smalti.engine.binding.checks import ReleaseCheck, check_release
from smalti.engine.binding.stated import Stated
from smalti.engine.losses.certified import (
    SENTENCES,
    attested_of,
    broken,
    check_alone,
    check_charged,
    least_belief,
    stated_composition,
)
from smalti.engine.losses.public_tables import read_table
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.perturbation.images import Steps, fits
from smalti.engine.perturbation.mechanisms import ROUNDING, is_within, keeps_to_its_share, loss_of
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.engine.perturbation.shares import float_below
from smalti.engine.perturbation.table import steps_of
from smalti.engine.plan.files import PublishedFile
from smalti.errors import GuaranteeError
from smalti.transforms.loss.privacy_loss import PrivacyLoss


def check_perturbation(
    folder: Path, files: tuple[PublishedFile, ...], guarantee: LocalGuarantee
) -> ReleaseCheck:
    """Compare the bytes with the record, and their form with the guarantee.

    Raises:
        GuaranteeError: they are others; the stated noise loses more than the stated epsilon and delta,
            belief and advantage; a column is missing or not promised; a value is none that its noise gives;
            or rows stand in another order than that of their values.
    """
    seen = check_release(folder, files)
    _check_stated_noise(folder, guarantee)
    for file in files:
        _check_form(folder / file.name, guarantee)
    return ReleaseCheck(
        (
            *seen.recounted,
            "the columns are exactly the promised ones",
            "each value is one that the stated noise can produce",
            "rows are in the order of their values",
            "the stated noise loses no more than the stated epsilon, belief and advantage",
        ),
        (
            "one row for each respondent",
            "that the noise was drawn as stated",
        ),
    )


def check_sentences(place: Path, stated: Stated[LocalGuarantee]) -> ReleaseCheck:
    """Check the sentences and the composition of a certificate by its figures.

    Whether the figures are those of the noise is `check_perturbation`'s to say.

    Args:
        place: of the certificate, for messages.
        stated: in it.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    promised, composition = stated.guarantee, stated_composition(place, stated)
    delta = Fraction(composition.loss.delta)
    belief = least_belief(_lost_by(place, promised.perturbed), delta)
    check_alone(place, promised.loss, composition, belief)
    return ReleaseCheck((SENTENCES,), attested_of(composition))


def check_noise(place: Path, plan: PerturbationPlan) -> ReleaseCheck:
    """Check that a plan is charged no less than its noise loses; raises GuaranteeError otherwise."""
    check_charged(place, plan.loss, _lost_by(place, plan.perturbed), Fraction(0))
    return ReleaseCheck(("the noise of the plan loses no more than was charged for it",), ())


def _lost_by(place: Path, perturbed: tuple[PerturbedColumn, ...]) -> PrivacyLoss:
    """What the noise of all columns loses together."""
    try:
        return sum(map(loss_of, perturbed), PrivacyLoss())
    except (ValueError, ArithmeticError):
        raise broken(place, "the stated noise cannot be drawn") from None


def _check_stated_noise(folder: Path, guarantee: LocalGuarantee) -> None:
    images = [image for image in guarantee.perturbed if isinstance(image, PerturbedImage)]
    if not all(fits(image.height, image.width) for image in images):
        raise _broken(folder, "the stated images are too large", "images that this version perturbs")
    stated = guarantee.loss
    try:
        loss = sum(map(loss_of, guarantee.perturbed), PrivacyLoss())
        keeps = is_within(loss, stated.epsilon, stated.delta) and _shares_keep(guarantee)
        belief = loss.belief(float_below(stated.delta)) if keeps else 1.0
        advantage = loss.advantage
    except (ValueError, ArithmeticError):
        raise _broken(folder, "the stated noise is impossible", "mechanisms of this version") from None
    if not keeps:
        raise _broken(folder, "the stated noise loses more than the stated epsilon", "noise within it")
    if not (stated.belief >= belief - ROUNDING and stated.advantage >= advantage - ROUNDING):
        raise _broken(
            folder,
            "the stated noise loses more than the stated belief or advantage",
            "those that follow from the noise",
        )


def _shares_keep(guarantee: LocalGuarantee) -> bool:
    """Whether each column keeps to what is stated of it, and the deltas of all of them to the whole one."""
    numbers = [number for number in guarantee.perturbed if isinstance(number, PerturbedNumber)]
    deltas = sum((Fraction(number.delta) for number in numbers if number.delta is not None), Fraction(0))
    keep = all(keeps_to_its_share(column) for column in guarantee.perturbed)
    return keep and deltas <= Fraction(guarantee.loss.delta)


def _check_form(path: Path, guarantee: LocalGuarantee) -> None:
    table = read_table(path)
    names = [column.column for column in guarantee.perturbed]
    if table.column_names != names:
        raise _broken(path, "its columns are not the promised ones", ", ".join(names))
    columns = [steps_of(column, table.column(column.column)) for column in guarantee.perturbed]
    readable = [steps for steps in columns if steps is not None]
    if len(readable) < len(columns):
        raise _broken(
            path, "a value is not one that the stated noise produces", "values of the stated domains"
        )
    if not _in_order(readable):
        raise _broken(
            path, "the order of its rows reveals more than their values", "rows in the order of values"
        )


def _in_order(columns: Iterable[Steps]) -> bool:
    """Whether no row stands behind the next one, by the first column first."""
    together = np.zeros((), np.int8)
    for steps in columns:
        together = np.where(together == 0, steps, together)
    return bool((together >= 0).all())


def _broken(path: Path, problem: str, expected: str) -> GuaranteeError:
    return GuaranteeError(
        str(path), problem, expected, "get it again from its registered place, or ask the publisher"
    )
