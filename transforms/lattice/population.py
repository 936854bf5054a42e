"""Full-domain generalisation for the models that hold classes against a population table."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

from smalti.transforms.base import Asked, Guarantee, k_map_guarantee, presence_guarantee
from smalti.transforms.lattice.transform import FullDomain
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.vocab import terms


@dataclass(frozen=True, slots=True)
class _OfPopulation(FullDomain):
    """Generalises a population table, of which the published rows are a part."""

    def __post_init__(self) -> None:
        super(_OfPopulation, self).__post_init__()
        if self.sensitive_columns:
            raise ValueError("models of a population are about no sensitive column")
        if self.suppression_limit:
            raise ValueError("a population is not suppressed")


@dataclass(frozen=True, slots=True)
class FullDomainKMap(_OfPopulation):
    """Full-domain generalisation for k-map; the contract is that of `MondrianKMap`."""

    method: ClassVar[str] = terms.K_MAP

    @property
    def guarantee(self) -> Guarantee:
        return k_map_guarantee(self.k)


@dataclass(frozen=True, slots=True)
class FullDomainPresence(_OfPopulation):
    """Full-domain generalisation for delta-presence; the contract is that of `MondrianPresence`."""

    method: ClassVar[str] = terms.DELTA_PRESENCE
    least_k: ClassVar[int] = 1

    low: Fraction = field(default=Fraction(0), metadata=LEFT_OUT_AT_DEFAULT)
    """The least share."""
    high: Fraction = field(default=Fraction(1), metadata=LEFT_OUT_AT_DEFAULT)
    """The largest share."""

    def __post_init__(self) -> None:
        super(FullDomainPresence, self).__post_init__()
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("presence is from 0 to 1")

    @property
    def guarantee(self) -> Guarantee:
        return presence_guarantee(self.low, self.high)

    @classmethod
    def of(cls, asked: Asked) -> Self:
        low, high = asked.presence
        same = super(FullDomainPresence, cls).of(asked)
        return replace(same, low=low, high=high)
