"""The interface of transforms, and the vocabulary of tables that they use."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Final, Self, TypeAlias

from smalti.transforms.class_models import PLAIN, ClassModels, Diversity
from smalti.vocab import terms


class CutScore(StrEnum):
    """What a cut is judged by."""

    CERTAINTY_PENALTY = "certainty-penalty"
    """The least penalty of all allowed cuts; above the cut threshold as the normalised span."""
    NORMALIZED_SPAN = "normalized-span"
    """The median of the attribute with the largest penalty that has an allowed cut (LeFevre, DeWitt,
    Ramakrishnan, ICDE 2006, 4.1)."""
    ENTROPY = "entropy"
    """The median of the attribute with the largest entropy, over the partition's rows, that has one."""


class Figure(StrEnum):
    """What a class is published as where nobody's value is to be: one for all its rows."""

    MEAN = "mean"
    """Of numbers and days."""
    MEDIAN = "median"
    MODE = "mode"
    """Of categories: the value with the most weight."""
    MEDOID = "medoid"
    """The value that all others are nearest to."""


class Standardization(StrEnum):
    """What the values of each column are divided by before distances are measured."""

    NONE = "none"
    RANGE = "range"
    """The difference of the largest and the smallest one."""
    STANDARD_DEVIATION = "standard-deviation"


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
POPULATION_RESPONDENTS: Final = "respondents of the population"
PRESENCE: Final = "presence"
OF_POPULATION: Final = frozenset({POPULATION_RESPONDENTS, PRESENCE})
"""Requirements that count the persons of a population table, and stand in place of those of a table."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What each class must meet, by name; who judges classes has a judge of that name.

    The kernel's are in `smalti.transforms.requirements`. Cuts in SQL and the verifier have their own.
    """

    name: str
    parameters: tuple[int | Fraction | str, ...] = ()
    column: str | None = None
    """The sensitive column that it is about, where it is about one; None: each by itself."""
    place: int | None = field(default=None, compare=False)
    """Of that column among the sensitive ones, for who judges by places."""

    def __str__(self) -> str:
        of = () if self.column is None else ("of", self.column)
        return " ".join((self.name, *map(str, self.parameters), *of))


def class_requirements(k: int, l: int | None = None) -> tuple[Requirement, ...]:  # noqa: E741
    """Of k-anonymity, and of distinct l-diversity where l exceeds 1; each implies none of the others.

    Args:
        k: the least number of respondents.
        l: the least number of values of each sensitive column.
    """
    diversity = () if l is None or l <= 1 else (Requirement(DISTINCT_VALUES, (l,)),)
    return Requirement(RESPONDENTS, (k,)), Requirement(NOT_HELD_BY_ALL), *diversity


_Parameters: TypeAlias = tuple[Fraction | str, ...]


def distribution_requirements(
    models: ClassModels,
    sensitive: Sequence[str],
    l: int,  # noqa: E741
) -> tuple[Requirement, ...]:
    """What the distribution of each sensitive column must meet in a class, the strongest last.

    Args:
        models: of distributions.
        sensitive: the columns, by name.
        l: of l-diversity.
    """
    of_each = [models.of_column(name) for name in sensitive]
    largest: list[_Parameters] = [() if each.alpha is None else (each.alpha,) for each in of_each]
    closest: list[_Parameters] = [
        () if each.t is None else (each.t, str(each.distance)) for each in of_each
    ]
    diversities: list[Requirement] = []
    if models.diversity is Diversity.ENTROPY:
        diversities.append(Requirement(ENTROPY_DIVERSITY, (l,)))
    if models.c is not None:
        diversities.append(Requirement(RECURSIVE_DIVERSITY, (models.c, l)))
    return (
        *_by_column(ALPHA, largest, sensitive),
        *diversities,
        *_by_column(CLOSENESS, closest, sensitive),
    )


def _by_column(
    name: str, parameters: Sequence[_Parameters], sensitive: Sequence[str]
) -> Sequence[Requirement]:
    """One requirement of all sensitive columns where they agree, else one of each that has some."""
    if not any(parameters):
        return ()
    if len(set(parameters)) == 1:
        return (Requirement(name, parameters[0]),)
    return [Requirement(name, own, sensitive[place], place) for place, own in enumerate(parameters) if own]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy model that an output meets, with its parameters."""

    model: str
    """`k-anonymity` or `l-diversity`."""
    k: int
    """Least number of respondents in an equivalence class; 1 where none is promised."""
    l: int | None = None  # noqa: E741 (the literature's name)
    """Least number of well-represented values of each sensitive column, for l-diversity."""
    more: tuple[Requirement, ...] = ()
    """What classes meet beside k and l."""

    @property
    def is_of_population(self) -> bool:
        """Whether it counts the persons of a population table, not the respondents of the output."""
        return any(requirement.name in OF_POPULATION for requirement in self.more)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All that each class meets; what says most stands last."""
        return self.more if self.is_of_population else (*class_requirements(self.k, self.l), *self.more)


def k_map_guarantee(k: int) -> Guarantee:
    """At least k persons of a population table in each class."""
    return Guarantee(terms.K_MAP, k, more=(Requirement(POPULATION_RESPONDENTS, (k,)),))


def presence_guarantee(low: Fraction, high: Fraction) -> Guarantee:
    """A share of those who are in the table, among the persons of a population table, within bounds."""
    return Guarantee(terms.DELTA_PRESENCE, 1, more=(Requirement(PRESENCE, (low, high)),))


STRICT_MONDRIAN: Final = "strict Mondrian"
RELAXED_MONDRIAN: Final = "relaxed Mondrian"
IMPROVED_MONDRIAN: Final = "improved Mondrian"
SINGLE_DIMENSIONAL_MONDRIAN: Final = "single-dimensional Mondrian"
FULL_DOMAIN: Final = "full-domain generalisation"
MICROAGGREGATION: Final = "microaggregation"

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
class LatticeTerms:
    """What a node of a lattice is chosen by; an algorithm without a lattice passes over them."""

    suppression_limit: Fraction = Fraction(0)
    """The share of respondents that may be suppressed, from 0 and below 1."""
    keeps_suppressed: bool = False
    """Whether suppressed records are a class of their own at the roots; otherwise they are left out."""
    measure: str = "non-uniform-entropy"
    """The smaller, the better (`smalti.transforms.lattice.measures`)."""
    node: tuple[int, ...] = ()
    """The only one that may be taken, by attribute; empty: any."""

    @property
    def leaves_out(self) -> bool:
        """Whether records may lack in the output."""
        return self.suppression_limit > 0 and not self.keeps_suppressed


FINEST: Final = LatticeTerms()
"""Nothing is left out."""


@dataclass(frozen=True, slots=True)
class GroupingTerms:
    """What groups of near rows are made by; an algorithm that measures no distances passes over them."""

    standardization: Standardization = Standardization.STANDARD_DEVIATION
    blocks: int = 1
    """Into how many the table is cut before, at most; each is grouped by itself."""


WHOLE: Final = GroupingTerms()
"""All rows in one block."""


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
    models: ClassModels = PLAIN
    """What each class must meet beside k and distinct l."""
    presence: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    """The bounds of delta-presence."""
    node: tuple[int, ...] = ()
    """The levels of the quasi-identifiers, where an earlier release says them."""


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
        """The name of the algorithm that makes the classes (`smalti.transforms.algorithms`)."""

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
    def lattice_terms(self) -> LatticeTerms:
        """What a node of a lattice is chosen by."""
        return FINEST

    @property
    def grouping_terms(self) -> GroupingTerms:
        """What groups of near rows are made by."""
        return WHOLE

    @property
    def most_combinations(self) -> int | None:
        """How many different combinations of quasi-identifiers a table may have; None: any number.

        Those of one column on a line are not counted.
        """
        return None

    @property
    def generalises_whole_domains(self) -> bool:
        """Whether each quasi-identifier has one level of its hierarchy, or `*`, in all rows."""
        return False

    @property
    def technique(self) -> str:
        """How classes are made, in words for people."""
        return self.algorithm
