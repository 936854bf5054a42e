"""At least k respondents (Sweeney 2002; classes of rows become sets of respondents)."""

from typing import ClassVar

import numpy as np

from smalti.transforms.base import RESPONDENTS
from smalti.transforms.partitions.held import Held, HeldOnSides, OneClass, Sampled
from smalti.transforms.problem import Flags
from smalti.transforms.requirements.judge import ClassJudge


class EnoughRespondents(ClassJudge):
    """A class has k respondents or more."""

    __slots__ = ()

    name: ClassVar[str] = RESPONDENTS
    examples: ClassVar[tuple[tuple[int, ...], ...]] = ((2,), (3,))

    @property
    def k(self) -> int:
        """The least number of respondents."""
        return int(self.requirement.parameters[0])

    def statement(self, counted: str) -> str:
        return f"each combination of published quasi-identifiers belongs to at least {self.k} {counted}"

    @property
    def parameters(self) -> str:
        return f"k = {self.k}"

    @property
    def fewest_respondents(self) -> int:
        return self.k

    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        return True

    def is_kept_by_adding(self, *, has_respondents: bool, sensitive: int) -> bool:
        return True

    def meets(self, held: OneClass) -> bool:
        return held.respondents >= self.k

    def may_meet(self, held: Held) -> Flags:
        return held.people >= self.k

    def may_meet_on_both_sides(self, held: HeldOnSides) -> Flags:
        left, right = held.people
        return (left >= self.k) & (right >= self.k)

    def surely_may_meet(self, sampled: Sampled) -> Flags:
        return np.bincount(sampled.of_people, minlength=sampled.size) >= self.k

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        return True
