"""Reconstruction: the secret bits of people from sums over subsets that the attacker knows.

Dinur and Nissim, "Revealing Information while Preserving Privacy", PODS 2003: sums over n random
subsets with an error well below sqrt(n) reveal nearly all of n bits; with one of sqrt(n) they need not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from scipy import linalg, optimize, sparse, special

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Flags

_TOLERANCE: Final = 1e-9


class Reconstruction(StrEnum):
    """The attacks."""

    LEAST_SQUARES = "least-squares"
    LINEAR_PROGRAM = "linear-program"


@dataclass(frozen=True, slots=True, eq=False)
class SubsetSums:
    """Sums of secret numbers from 0 to 1, as they were released."""

    subsets: Any
    """A sparse matrix, shape (sums, people): by how much each person's secret counts in each sum."""
    values: Floats
    """Shape (sums,)."""
    deviations: Floats
    """The standard deviations of the noise, shape (sums,); 0 where there is none."""

    def __post_init__(self) -> None:
        sums, people = self.subsets.shape
        if not people or (sums,) != self.values.shape or (sums,) != self.deviations.shape:
            raise ValueError("a value and a deviation are expected for each sum, of at least one person")

    @property
    def people(self) -> int:
        return int(self.subsets.shape[1])

    @property
    def weights(self) -> Floats:
        """By sum: the inverse of its noise; exact ones count as much as with a noise of 1/1,000."""
        return np.asarray(1 / np.maximum(self.deviations, 1e-3), np.float64)


def least_sums(people: int) -> int:
    """How many sums determine n bits at least, however exact they are: n / log2(n + 1).

    A sum over n bits has n + 1 values at most, so k sums tell (n + 1)^k cases apart, and there are 2^n.

    >>> least_sums(1), least_sums(1000)
    (1, 101)
    """
    return math.ceil(people / math.log2(people + 1))


def least_squares(sums: SubsetSums) -> Floats:
    """The numbers from 0 to 1 with the least sum of squared errors, in deviations of the noise.

    Returns:
        Shape (people,); a bit is reconstructed as 1 where it is above one half (`bits`).
    """
    scaled = sparse.diags(sums.weights) @ sparse.csr_matrix(sums.subsets)
    solved = optimize.lsq_linear(
        scaled, sums.weights * sums.values, (0.0, 1.0), lsq_solver="lsmr", tol=_TOLERANCE
    )
    return np.asarray(solved.x, np.float64)


def linear_program(sums: SubsetSums) -> Floats:
    """The numbers from 0 to 1 with the least sum of absolute errors, in deviations of the noise.

    Dinur and Nissim's program in the form that needs no bound on errors, as Dwork, McSherry, Talwar, "The
    Price of Privacy and the Limits of LP Decoding", STOC 2007, use it. Solved by HiGHS. Returns as
    `least_squares`.
    """
    count, people = sums.subsets.shape
    subsets, identity = sparse.csr_matrix(sums.subsets), sparse.identity(count, format="csr")
    solved = optimize.linprog(
        np.concatenate([np.zeros(people), sums.weights]),
        A_ub=sparse.vstack([sparse.hstack([subsets, -identity]), sparse.hstack([-subsets, -identity])]),
        b_ub=np.concatenate([sums.values, -sums.values]),
        bounds=[(0.0, 1.0)] * people + [(0.0, None)] * count,
        method="highs",
    )
    if solved.x is None:
        raise ArithmeticError("the linear program of a reconstruction was not solved")
    return np.asarray(solved.x[:people], np.float64)


def one_person(memberships: Flags, values: Floats) -> float:
    """The secret bit of one person, by random subsets of which this person's alone are known.

    For subsets that hold each person by a fair coin, four times the covariance of "the person is in the
    subset" and the sum is the bit on average; all others are noise. This is the form of reconstruction that
    needs the person's identifier alone, where subsets are by hashes of identifiers.

    Args:
        memberships: whether the person is in each subset, shape (sums,).
        values: the sums.
    """
    return float(4 * np.mean((memberships - 0.5) * (values - values.mean())))


def share_right_by_one_person(sums: int, others: int, deviation: float) -> float:
    """How often `one_person` is right, for normal sums: Phi(sqrt(d / (4 (m + 4 t^2)))).

    The estimate has the variance 4 (m / 4 + t^2) 4 / (4 d) = (m + 4 t^2) / d.

    Args:
        sums: d.
        others: m, the number of bits of others that are 1.
        deviation: t, of the noise.
    """
    return float(special.ndtr(0.5 / math.sqrt((others + 4 * deviation**2) / sums)))


def bits(estimates: Floats) -> Flags:
    """The reconstructed bits."""
    return np.asarray(estimates > 0.5, np.bool_)


def expected_share(sums: SubsetSums) -> float | None:
    """The share of bits that least squares without the limits 0 and 1 gets right, for normal noise.

    The error of each bit has the variance on the diagonal of the inverse of A' W A, with W the inverse
    variances. With the limits more bits are right. None where the sums do not determine all bits, or a sum
    has no noise.
    """
    if (sums.deviations <= 0).any() or sums.subsets.shape[0] < sums.people:
        return None
    scaled = (sparse.diags(sums.weights) @ sparse.csr_matrix(sums.subsets)).toarray()
    triangle = linalg.qr(scaled, mode="r")[0][: sums.people]
    diagonal = np.abs(np.diagonal(triangle))
    if diagonal.min() <= _TOLERANCE * diagonal.max():
        return None
    inverse = linalg.solve_triangular(triangle, np.eye(sums.people))
    variances = (inverse**2).sum(axis=1)
    return float(special.ndtr(0.5 / np.sqrt(variances)).mean())


ESTIMATES: Final[dict[Reconstruction, Callable[[SubsetSums], Floats]]] = {
    Reconstruction.LEAST_SQUARES: least_squares,
    Reconstruction.LINEAR_PROGRAM: linear_program,
}
