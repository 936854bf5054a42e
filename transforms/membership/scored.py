"""The scores of an attack, one for each audited record, beside the truth."""

from dataclasses import dataclass

import numpy as np

from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores of one attack on one target model; what they show is for `transforms.auditing` to say."""

    scores: Doubles
    """float[records]; a higher score says "member" more strongly. Finite."""
    is_member: Flags
    """bool[records]; whether the target was trained on the record. No attack was given this."""

    def __post_init__(self) -> None:
        if self.scores.shape != self.is_member.shape or self.scores.ndim != 1:
            raise ValueError("there is one score and one membership for each record")
        if not np.isfinite(self.scores).all():
            raise ValueError("scores are finite")

    def take(self, records: Integers) -> "Scored":
        """The same of some records, by their positions."""
        return Scored(self.scores[records], self.is_member[records])

    def split(self) -> Scores:
        """The scores of members and of non-members, for curves, limits and bounds.

        Raises:
            ValueError: there are no members, or no others.
        """
        return Scores.of(self.scores[self.is_member], self.scores[~self.is_member])
