"""Looking at a table of perturbed records again: its bytes, and whether the stated noise can give them."""

from fractions import Fraction
from pathlib import Path

import numpy as np

from smalti.engine.certificate import PublishedFile
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.perturbation.mechanisms import keeps_to_its_share, loss_of
from smalti.engine.perturbation.table import codes_of, read_table
from smalti.engine.releases.recheck import ReleaseCheck, check_release
from smalti.errors import GuaranteeError
from smalti.transforms.problem import Flags, Integers


def check_perturbation(
    folder: Path, files: tuple[PublishedFile, ...], guarantee: LocalGuarantee
) -> ReleaseCheck:
    """Compare the bytes with what was recorded, and their form with what is promised.

    Raises:
        GuaranteeError: they are others; the stated noise loses more than the stated epsilon; a column is
            missing or not promised; a value is none that its noise gives; or rows stand in another order
            than that of their values.
    """
    seen = check_release(folder, files)
    _check_noise(folder, guarantee)
    for file in files:
        _check_form(folder / file.name, guarantee)
    return ReleaseCheck(
        (
            *seen.recounted,
            "the columns are those that were promised, and no other",
            "each value is one that the stated noise gives",
            "rows stand in the order of their values",
            "the stated noise loses no more than the stated epsilon",
        ),
        (
            "one row for each respondent",
            "that the noise was drawn as it is stated",
            "the privacy loss with earlier releases",
        ),
    )


def _check_noise(folder: Path, guarantee: LocalGuarantee) -> None:
    try:
        lost = sum((loss_of(one).pure for one in guarantee.perturbed), Fraction(0))
        keeps = all(keeps_to_its_share(one) for one in guarantee.perturbed)
    except (ValueError, ArithmeticError):
        raise _broken(folder, "the noise that is stated cannot be", "mechanisms of this version") from None
    if lost > Fraction(guarantee.loss.epsilon) or not keeps:
        raise _broken(
            folder, "the stated noise loses more than the stated epsilon", "noise that keeps to it"
        )


def _check_form(path: Path, guarantee: LocalGuarantee) -> None:
    table = read_table(path)
    names = [one.column for one in guarantee.perturbed]
    if table.column_names != names:
        raise _broken(path, "its columns are not those that were promised", ", ".join(names))
    columns = [codes_of(one, table.column(one.column)) for one in guarantee.perturbed]
    known = [codes for codes in columns if codes is not None]
    if len(known) < len(columns):
        raise _broken(path, "a value is none that the stated noise gives", "values of the stated domains")
    if not _in_order(known).all():
        raise _broken(
            path, "its rows tell more than their values by their order", "rows in the order of values"
        )


def _in_order(columns: list[Integers]) -> Flags:
    """By row but the last: whether it does not stand behind the next one, by the first column first."""
    before = np.zeros(max(len(columns[0]) - 1, 0), np.bool_)
    behind = before.copy()
    for codes in columns:
        behind |= ~before & (codes[:-1] > codes[1:])
        before |= codes[:-1] < codes[1:]
    in_order: Flags = ~behind
    return in_order


def _broken(path: Path, problem: str, expected: str) -> GuaranteeError:
    return GuaranteeError(
        str(path), problem, expected, "take it from its registered place again, or ask who published it"
    )
