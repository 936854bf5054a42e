"""The scores of an attack: one number for each record, higher where the attack takes it for a member."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of records that a model was trained on, and of records that it was not.

    Every limit and bound that is made from them takes the members' scores for independent draws of one
    distribution, and the non-members' for independent draws of another one. Infinite scores are allowed.
    """

    members: Floats
    """Shape (members,); at least one."""
    non_members: Floats
    """Shape (non-members,); at least one."""

    def __post_init__(self) -> None:
        for scores in (self.members, self.non_members):
            if scores.ndim != 1 or not scores.size or scores.dtype != np.float64:
                raise ValueError(
                    "the scores of members and of non-members are two lists of doubles, not empty"
                )
            if np.isnan(scores).any():
                raise ValueError("a score is a number, or infinite; not NaN")

    @classmethod
    def of(cls, members: ArrayLike, non_members: ArrayLike) -> Self:
        """From anything that holds numbers."""
        return cls(np.asarray(members, np.float64), np.asarray(non_members, np.float64))

    def halves(self, generator: np.random.Generator) -> tuple["Scores", "Scores"]:
        """A random half of the members and of the non-members, and the rest.

        A threshold that is chosen on the one half is fixed before the other one is looked at. At least two
        of each are expected.
        """
        if min(self.members.size, self.non_members.size) < 2:
            raise ValueError("at least two members and two non-members are expected, to halve them")
        first, rest = zip(*(_halved(s, generator) for s in (self.members, self.non_members)), strict=True)
        return Scores(*first), Scores(*rest)

    def untied(self, generator: np.random.Generator) -> "Scores":
        """The place of each record, counted from the lowest score on; coins order equal scores.

        An attacker may throw such coins, too. They are independent of the records, so the places are scores
        whose order is that of independent draws, as that of these is. Without equal scores it is the same.
        """
        everybody = np.concatenate((self.members, self.non_members))
        order = np.lexsort((generator.random(everybody.size), everybody))
        places = np.empty(everybody.size)
        places[order] = np.arange(everybody.size)
        return Scores(places[: self.members.size], places[self.members.size :])


def _halved(scores: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    mixed = generator.permutation(scores)
    return mixed[: scores.size // 2], mixed[scores.size // 2 :]
