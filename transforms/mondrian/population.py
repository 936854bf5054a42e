"""Mondrian for the models that hold classes against a population table."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

from smalti.transforms.base import Asked, Guarantee, k_map_guarantee, presence_guarantee
from smalti.transforms.mondrian.transform import Mondrian, Partitioning
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.vocab import terms


@dataclass(frozen=True, slots=True)
class _OfPopulation(Mondrian):
    """Cuts a population table, of which the published rows are a part.

    Classes are strict, so that each person of the population has the labels of one class.
    """

    def __post_init__(self) -> None:
        super(_OfPopulation, self).__post_init__()
        if self.sensitive_columns or self.l > 1:
            raise ValueError("models of a population are about no sensitive column")
        if self.partitioning is not Partitioning.STRICT:
            raise ValueError("a population is cut strictly")
        if self.sampled_fragments is not None:
            raise ValueError("a population is not cut by samples")


@dataclass(frozen=True, slots=True)
class MondrianKMap(_OfPopulation):
    """Mondrian for k-map (Sweeney, "k-Anonymity", IJUFKS 2002, section 5, and her thesis, 2001).

    Contract:
        Guarantee  each combination of published quasi-identifiers covers at least k persons of the
                   population table, in which each respondent is with the same quasi-identifiers.
        Not given  anything against somebody who knows that a person is in the table: a class may hold
                   rows of that one alone.
    """

    method: ClassVar[str] = terms.K_MAP

    @property
    def guarantee(self) -> Guarantee:
        return k_map_guarantee(self.k)


@dataclass(frozen=True, slots=True)
class MondrianPresence(_OfPopulation):
    """Mondrian for delta-presence (Nergiz, Atzori, Clifton, SIGMOD 2007, Definition 2).

    Contract:
        Guarantee  of the persons of the population table whom a combination of published quasi-identifiers
                   covers, a share within the bounds is in the table; with a lower bound above 0, each
                   person of the population is covered.
        Not given  what k-anonymity promises: few persons may share a combination.
    """

    method: ClassVar[str] = terms.DELTA_PRESENCE
    least_k: ClassVar[int] = 1

    low: Fraction = field(default=Fraction(0), metadata=LEFT_OUT_AT_DEFAULT)
    """The least share."""
    high: Fraction = field(default=Fraction(1), metadata=LEFT_OUT_AT_DEFAULT)
    """The largest share."""

    def __post_init__(self) -> None:
        super(MondrianPresence, self).__post_init__()
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("presence is from 0 to 1")

    @property
    def guarantee(self) -> Guarantee:
        return presence_guarantee(self.low, self.high)

    @classmethod
    def of(cls, asked: Asked) -> Self:
        low, high = asked.presence
        same = super(MondrianPresence, cls).of(asked)
        return replace(same, low=low, high=high)
