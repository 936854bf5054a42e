"""Requirements that count the persons of a population table from which the respondents come."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smalti.transforms.base import POPULATION_RESPONDENTS, PRESENCE
from smalti.transforms.partitions.weights import Floats
from smalti.transforms.requirements.distribution_judge import DistributionJudge, shown
from smalti.transforms.requirements.distributions import DistributionModel
from smalti.transforms.requirements.respondents import EnoughRespondents


class EnoughOfPopulation(EnoughRespondents):
    """k-map: a class has k persons of the population or more (Sweeney 2002, "k-map protection").

    The respondents of the problem are those of the population.
    """

    __slots__ = ()

    name: ClassVar[str] = POPULATION_RESPONDENTS
    strength: ClassVar[int] = 1
    limits: ClassVar[tuple[str, ...]] = (
        "somebody who knows that a person is in the table: of the published rows of a class, all may be"
        " about that person",
        "somebody who knows of fewer persons than the population table has",
    )

    def statement(self, counted: str) -> str:
        del counted
        return (
            f"each combination of published quasi-identifiers is shared by at least {self.k} persons of the"
            " population table"
        )

    @property
    def parameters(self) -> str:
        return f"k = {self.k} in the population table"


@dataclass(frozen=True, slots=True)
class PresenceShare(DistributionModel):
    """The share of the last value, those who are in the table, is between two bounds.

    Nergiz, Atzori, Clifton, "Hiding the Presence of Individuals from Shared Databases", SIGMOD 2007,
    Definition 2.
    """

    low: Fraction
    high: Fraction

    def margins(self, shares: Floats, reference: Floats) -> Floats:
        present: Floats = shares[:, -1]
        return -abs(present - float(self.low + self.high) / 2) + float(self.high - self.low) / 2

    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        share = Fraction(weights[-1], sum(weights))
        return self.low <= share <= self.high


class Presence(DistributionJudge):
    """Delta-presence: how likely it is that a person of the population is in the table.

    The problem is one of persons, each with one combination of quasi-identifiers and one value: 1 for those
    who are in the table, 0 for the others. The share is kept within the bounds by merging, as the mediant
    of two fractions lies between them.
    """

    __slots__ = ()

    name: ClassVar[str] = PRESENCE
    examples: ClassVar[tuple[tuple[Fraction, ...], ...]] = (
        (Fraction(0), Fraction(1, 2)), (Fraction(1, 4), Fraction(2, 3)),
    )  # fmt: skip
    limits: ClassVar[tuple[str, ...]] = (
        "somebody who knows of fewer persons than the population table has",
    )

    @property
    def model(self) -> PresenceShare:
        low, high = self.requirement.parameters
        return PresenceShare(Fraction(low), Fraction(high))

    @property
    def parameters(self) -> str:
        return f"presence from {shown(self.model.low)} to {shown(self.model.high)}"

    def clause(self, counted: str) -> str:
        del counted
        return (
            "of the persons of the population table who share a combination of published"
            f" quasi-identifiers, a share from {shown(self.model.low)} to {shown(self.model.high)} is in"
            " the table"
        )

    def statement(self, counted: str) -> str:
        return self.clause(counted)
