"""Microaggregation, as a plan states it; `algorithm` in this package makes the groups."""

from dataclasses import dataclass, field
from typing import ClassVar, Final, Self

from smalti.transforms.base import (
    MICROAGGREGATION,
    Asked,
    GroupingTerms,
    Guarantee,
    Standardization,
    Transform,
    distribution_requirements,
)
from smalti.transforms.class_models import PLAIN, ClassModels
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.vocab import terms

MOST_COMBINATIONS: Final = 1 << 16
"""Different combinations of quasi-identifiers in a block; the effort grows with their square."""


@dataclass(frozen=True, slots=True)
class Microaggregated(Transform):
    """Groups of near rows, of each of which a figure is published.

    The groups meet what those of Mondrian for the same method meet. They may overlap, and their number is
    not promised: MDAV is a heuristic, and only one quasi-identifier by itself is grouped in the best way.
    """

    algorithm: ClassVar[str] = terms.MDAV
    least_k: ClassVar[int] = 2
    """No smaller k is a promise."""

    k: int
    """Least number of respondents in a group."""
    l: int  # noqa: E741 (the literature's name)
    """Least number of distinct values of each sensitive column; 1 where only k is promised."""
    quasi_identifier_columns: tuple[str, ...]
    sensitive_columns: tuple[str, ...]
    models: ClassModels = field(default=PLAIN, metadata=LEFT_OUT_AT_DEFAULT)
    """What each class must meet beside k and distinct l."""
    standardization: Standardization = field(
        default=Standardization.STANDARD_DEVIATION, metadata=LEFT_OUT_AT_DEFAULT
    )
    """What the values of a column are divided by."""
    blocks: int = field(default=1, metadata=LEFT_OUT_AT_DEFAULT)
    """Into how many blocks, at most, the table is cut before."""

    def __post_init__(self) -> None:
        if self.k < self.least_k:
            raise ValueError(f"k is at least {self.least_k}")
        if not 1 <= self.l <= self.k:
            raise ValueError("l is from 1 to k")
        if (self.l > 1) is not (self.method == terms.L_DIVERSITY):
            raise ValueError("l is at least 2 for l-diversity, and of no other model")
        if self.l > 1 and not self.sensitive_columns:
            raise ValueError("l-diversity is about at least one sensitive column")
        if not self.quasi_identifier_columns:
            raise ValueError("there is at least one quasi-identifier")
        if self.blocks < 1:
            raise ValueError("there is at least one block")
        self.models.check(self.sensitive_columns, self.l, is_close=self.method == terms.T_CLOSENESS)

    @property
    def guarantee(self) -> Guarantee:
        more = distribution_requirements(self.models, self.sensitive_columns, self.l)
        return Guarantee(self.method, self.k, self.l if self.l > 1 else None, more)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.quasi_identifier_columns

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.sensitive_columns

    @property
    def class_maker(self) -> str:
        return MICROAGGREGATION

    @property
    def grouping_terms(self) -> GroupingTerms:
        return GroupingTerms(self.standardization, self.blocks)

    @property
    def most_combinations(self) -> int | None:
        return MOST_COMBINATIONS * self.blocks

    @classmethod
    def of(cls, asked: Asked) -> Self:
        return cls(
            asked.k,
            asked.l,
            asked.quasi_identifiers,
            asked.sensitive,
            asked.models,
            Standardization(asked.choices.get("standardization", Standardization.STANDARD_DEVIATION)),
            int(asked.choices.get("blocks", 1)),
        )

    @property
    def technique(self) -> str:
        way = "groups around distant rows (MDAV)"
        if len(self.quasi_identifier_columns) == 1:
            way = "the groups with the least squared error of all"
        measured = {
            Standardization.NONE: "as they are",
            Standardization.RANGE: "divided by its range",
            Standardization.STANDARD_DEVIATION: "divided by its standard deviation",
        }[self.standardization]
        cut = f"; in at most {self.blocks} blocks, each by itself" if self.blocks > 1 else ""
        return (
            f"microaggregation: {way}, the values of each column {measured}{cut}; groups that miss a"
            " requirement beside k join the nearest one; groups may overlap"
        )


@dataclass(frozen=True, slots=True)
class MicroaggregatedKAnonymity(Microaggregated):
    """Microaggregation for k-anonymity; the contract is that of `MondrianKAnonymity`."""

    method: ClassVar[str] = terms.K_ANONYMITY


@dataclass(frozen=True, slots=True)
class MicroaggregatedLDiversity(Microaggregated):
    """Microaggregation for l-diversity; the contract is that of `MondrianLDiversity`."""

    method: ClassVar[str] = terms.L_DIVERSITY


@dataclass(frozen=True, slots=True)
class MicroaggregatedTCloseness(Microaggregated):
    """Microaggregation for t-closeness; the contract is that of `MondrianTCloseness`."""

    method: ClassVar[str] = terms.T_CLOSENESS
