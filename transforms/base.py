"""The interface of transforms, and the vocabulary of tables that they use."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final, Self


class CutScore(StrEnum):
    """What a cut is judged by."""

    CERTAINTY_PENALTY = "certainty-penalty"
    """The least penalty of all allowed cuts; above the cut threshold as the normalised span."""
    NORMALIZED_SPAN = "normalized-span"
    """The median of the attribute with the largest penalty that has an allowed cut (LeFevre, DeWitt,
    Ramakrishnan, ICDE 2006, 4.1)."""
    ENTROPY = "entropy"
    """The median of the attribute with the largest entropy, over the partition's rows, that has one."""


class Datatype(StrEnum):
    """What a column's texts mean; the lexical forms are in `smalti.transforms.values.texts`."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    DATE = "date"
    DATETIME = "dateTime"

    @property
    def is_ordered(self) -> bool:
        """True for types whose values lie on a line, so that a range can stand for them."""
        return self is not Datatype.STRING


RESPONDENTS: Final = "respondents"
NOT_HELD_BY_ALL: Final = "not held by all"
DISTINCT_VALUES: Final = "distinct values"
ENTROPY_DIVERSITY: Final = "entropy diversity"
RECURSIVE_DIVERSITY: Final = "recursive diversity"
ALPHA: Final = "alpha"
CLOSENESS: Final = "t-closeness"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What each class must meet, by name; who judges classes has a judge of that name.

    The kernel's are in `smalti.transforms.requirements`. Cuts in SQL and the verifier have their own.
    """

    name: str
    parameters: tuple[int | Fraction | str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name, *map(str, self.parameters)))


def class_requirements(k: int, l: int | None = None) -> tuple[Requirement, ...]:  # noqa: E741
    """Of k-anonymity, and of distinct l-diversity where l exceeds 1; each implies none of the others.

    Args:
        k: the least number of respondents.
        l: the least number of values of each sensitive column.
    """
    diversity = () if l is None or l <= 1 else (Requirement(DISTINCT_VALUES, (l,)),)
    return Requirement(RESPONDENTS, (k,)), Requirement(NOT_HELD_BY_ALL), *diversity


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy model that an output meets, with its parameters."""

    model: str
    """`k-anonymity` or `l-diversity`."""
    k: int
    """Least number of respondents in an equivalence class."""
    l: int | None = None  # noqa: E741 (the literature's name)
    """Least number of well-represented values of each sensitive column, for l-diversity."""
    more: tuple[Requirement, ...] = ()
    """What classes meet beside k and l."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All that each class meets; what says most stands last."""
        return (*class_requirements(self.k, self.l), *self.more)


STRICT_MONDRIAN: Final = "strict Mondrian"
RELAXED_MONDRIAN: Final = "relaxed Mondrian"
IMPROVED_MONDRIAN: Final = "improved Mondrian"
SINGLE_DIMENSIONAL_MONDRIAN: Final = "single-dimensional Mondrian"

DEFAULT_CUT_THRESHOLD: Final = 256


@dataclass(frozen=True, slots=True)
class CutTerms:
    """What cuts are chosen by; an algorithm that does not cut passes over them."""

    threshold: int = DEFAULT_CUT_THRESHOLD
    """Partitions with at most this many distinct tuples take their best cut, larger ones the median."""
    score: CutScore = CutScore.CERTAINTY_PENALTY
    first_attribute: int | None = None
    """The place among the quasi-identifiers of that which the first cut is tried on first."""
    sampled_fragments: int | None = None
    """Into how many partitions, at most, first cuts come from a sample; None: each is exact."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a policy and a run ask of a transform."""

    k: int
    l: int  # noqa: E741 (the literature's name)
    """1 where only k is asked for."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    cut_threshold: int = DEFAULT_CUT_THRESHOLD
    sampled_fragments: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    """What the policy's words of their own choose, by the name of a field."""


LEFT_OUT_AT_DEFAULT: Final[Mapping[str, bool]] = MappingProxyType({"left out at default": True})
"""Metadata of a field that a plan does not mention while it has its default.

So a parameter that comes with a later version changes neither the JSON nor the digest of plans without it.
"""


class Transform(ABC):
    """A named step that changes values; an open set, listed in `smalti.transforms.ALL_TRANSFORMS`."""

    __slots__ = ()

    method: ClassVar[str]
    """The privacy model, as `m:method` names it."""
    algorithm: ClassVar[str]
    """The technique, as `s:algorithm` names it."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What the output meets when the transform succeeds."""

    @property
    @abstractmethod
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that are generalised, by name."""

    @property
    @abstractmethod
    def sensitive(self) -> tuple[str, ...]:
        """The columns whose values must differ within each class, by name."""

    @property
    @abstractmethod
    def class_maker(self) -> str:
        """The name of the algorithm that makes the classes (`smalti.transforms.mondrian.algorithms`)."""

    @classmethod
    @abstractmethod
    def of(cls, asked: Asked) -> Self:
        """The transform that does what is asked for.

        Raises:
            ValueError: it cannot be.
        """

    @property
    def cut_terms(self) -> CutTerms:
        """What cuts are chosen by."""
        return CutTerms()

    @property
    def technique(self) -> str:
        """How classes are made, in words for people."""
        return self.algorithm
