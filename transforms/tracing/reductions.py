"""Each attack from the other: membership by reconstruction, and the reverse (CS208)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smalti.transforms.auditing.limits import Figure, share
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Flags
from smalti.transforms.tracing.reconstruction import SubsetSums, bits, least_squares


def membership_by_reconstruction(
    statistics: SubsetSums, reconstruct: Callable[[SubsetSums], Floats] = least_squares
) -> Flags:
    """Who of some candidates is in the data: the secret bit of a candidate is whether it is.

    A statistic of the data is a sum over all candidates, each of whom counts if its bit is 1. A wrong bit
    of a member is a false negative, that of another one a false positive: so the probability that
    reconstruction fails bounds both rates.

    Args:
        statistics: what each candidate would contribute to each one, and their released values.
        reconstruct: the attack.

    Returns:
        Shape (candidates,): who is called a member.
    """
    return bits(reconstruct(statistics))


@dataclass(frozen=True, slots=True)
class Decided:
    """What reconstruction from membership decided about people whose bit is known to the owner."""

    correct: int
    incorrect: int
    undecided: int

    @property
    def people(self) -> int:
        return self.correct + self.incorrect + self.undecided

    def right(self, confidence: float) -> Figure:
        """The probability of a right bit, about the true positive rate of the test of membership."""
        return share(self.correct, self.people, confidence)

    def wrong(self, confidence: float) -> Figure:
        """The probability of a wrong bit, about its false positive rate."""
        return share(self.incorrect, self.people, confidence)


def reconstruction_by_membership(
    in_zeros: Flags, in_ones: Flags, scores: tuple[Floats, Floats], secret: Flags
) -> Decided:
    """The secret bit of people, by tests whether they are among those with a 0, and among those with a 1.

    It fails where both tests say "out". Where both say "in", the higher score decides.

    Args:
        in_zeros: by person, whether the test with the statistics of those whose bit is 0 says "in".
        in_ones: likewise of those whose bit is 1.
        scores: of both tests, comparable with each other.
        secret: the true bits.
    """
    chosen = np.where(in_zeros & in_ones, scores[1] > scores[0], in_ones)
    is_decided = in_zeros | in_ones
    correct = int((is_decided & (chosen == secret)).sum())
    return Decided(correct, int(is_decided.sum()) - correct, int((~is_decided).sum()))
