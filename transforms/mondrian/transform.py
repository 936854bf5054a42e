"""Mondrian, as a plan states it; the algorithm is in `smalti.transforms.mondrian.kernel`."""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Final, Self

from smalti.transforms.base import (
    ALPHA,
    CLOSENESS,
    DEFAULT_CUT_THRESHOLD,
    ENTROPY_DIVERSITY,
    IMPROVED_MONDRIAN,
    LEFT_OUT_AT_DEFAULT,
    RECURSIVE_DIVERSITY,
    RELAXED_MONDRIAN,
    SINGLE_DIMENSIONAL_MONDRIAN,
    STRICT_MONDRIAN,
    Asked,
    CutScore,
    CutTerms,
    Guarantee,
    Requirement,
    Transform,
)
from smalti.vocab import terms

_CUTS: Final = {
    CutScore.CERTAINTY_PENALTY: "the cut with the least loss in partitions of at most {} distinct"
    " combinations, the median in larger ones",
    CutScore.NORMALIZED_SPAN: "the median of the widest quasi-identifier",
    CutScore.ENTROPY: "the median of the quasi-identifier with the largest entropy",
}


class Partitioning(StrEnum):
    """Whether rows with equal quasi-identifiers stay together."""

    STRICT = "strict"
    RELAXED = "relaxed"
    """They may be in different classes."""
    IMPROVED = "improved"
    """They stay together; what classes publish may overlap."""


_CLASS_MAKERS: Final = {
    Partitioning.STRICT: STRICT_MONDRIAN,
    Partitioning.RELAXED: RELAXED_MONDRIAN,
    Partitioning.IMPROVED: IMPROVED_MONDRIAN,
}
_OF_PARTITIONING: Final = {
    Partitioning.STRICT: "",
    Partitioning.RELAXED: "; rows with equal quasi-identifiers may be divided evenly between both sides",
    Partitioning.IMPROVED: "; then combinations move between classes where that loses less, so that"
    " classes may overlap",
}


class Dimensionality(StrEnum):
    """How far a cut reaches."""

    MULTI = "multi"
    """Through one partition."""
    SINGLE = "single"
    """Through the whole domain of an attribute: equal values are generalised alike wherever they occur."""


class Diversity(StrEnum):
    """Which values of a class are well represented."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class Distance(StrEnum):
    """How far two values are from each other, for t-closeness."""

    EQUAL = "equal"
    """Each two as far as any others."""
    ORDERED = "ordered"
    """As far as their places in the order."""


@dataclass(frozen=True, slots=True)
class _Mondrian(Transform):
    algorithm: ClassVar[str] = terms.MONDRIAN

    k: int
    """Least number of respondents in an equivalence class."""
    l: int  # noqa: E741 (the literature's name)
    """Least number of distinct values of each sensitive column; 1 where only k is promised."""
    quasi_identifier_columns: tuple[str, ...]
    """In the order that breaks ties between attributes."""
    sensitive_columns: tuple[str, ...]
    cut_threshold: int = DEFAULT_CUT_THRESHOLD
    """Partitions with at most this many distinct tuples take their best cut, larger ones the median."""
    partitioning: Partitioning = field(default=Partitioning.STRICT, metadata=LEFT_OUT_AT_DEFAULT)
    dimensionality: Dimensionality = field(default=Dimensionality.MULTI, metadata=LEFT_OUT_AT_DEFAULT)
    cut_score: CutScore = field(default=CutScore.CERTAINTY_PENALTY, metadata=LEFT_OUT_AT_DEFAULT)
    fragment_column: str | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """A quasi-identifier on which the first cut of a table above the threshold is tried first."""
    sampled_fragments: int | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Into how many partitions, at most, a table is divided at first by medians of a sample, on which its
    classes depend then; None: each median is exact, and the number of fragments changes nothing."""
    diversity: Diversity = field(default=Diversity.DISTINCT, metadata=LEFT_OUT_AT_DEFAULT)
    """Of l-diversity."""
    c: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of recursive (c, l)-diversity, above 0."""
    alpha: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The largest share of one sensitive value in a class, between 0 and 1; None: any."""
    t: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The largest distance of t-closeness, between 0 and 1."""
    distance: Distance = field(default=Distance.EQUAL, metadata=LEFT_OUT_AT_DEFAULT)
    """Of t-closeness."""

    def __post_init__(self) -> None:
        if self.k < 2:
            raise ValueError("k is at least 2")
        if not 1 <= self.l <= self.k:
            raise ValueError("l is from 1 to k")
        if not self.quasi_identifier_columns:
            raise ValueError("there is at least one quasi-identifier")
        if self.cut_threshold < 0:
            raise ValueError("the cut threshold is not negative")
        if self.l > 1 and not self.sensitive_columns:
            raise ValueError("l-diversity is about at least one sensitive column")
        if self.partitioning is not Partitioning.STRICT and self.dimensionality is Dimensionality.SINGLE:
            raise ValueError("domains are cut strictly")
        if self.fragment_column not in (None, *self.quasi_identifier_columns):
            raise ValueError("the fragment column is a quasi-identifier")
        if self.sampled_fragments is not None and self.sampled_fragments < 2:
            raise ValueError("a sample is for two fragments or more")
        if self.sampled_fragments is not None and self.dimensionality is Dimensionality.SINGLE:
            raise ValueError("domains are not cut by samples")
        self._check_model()

    def _check_model(self) -> None:
        if (self.c is not None) is not (self.diversity is Diversity.RECURSIVE):
            raise ValueError("recursive diversity has c, and no other has")
        if self.c is not None and self.c <= 0:
            raise ValueError("c is above 0")
        if self.diversity is not Diversity.DISTINCT and self.l < 2:
            raise ValueError("a kind of diversity has l")
        if self.distance is not Distance.EQUAL and self.t is None:
            raise ValueError("a distance is of t-closeness")
        for share in (self.alpha, self.t):
            if share is not None and not 0 < share < 1:
                raise ValueError("alpha and t are between 0 and 1")
            if share is not None and not self.sensitive_columns:
                raise ValueError("alpha and t are about at least one sensitive column")

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.quasi_identifier_columns

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.sensitive_columns

    @property
    def class_maker(self) -> str:
        if self.dimensionality is Dimensionality.SINGLE:
            return SINGLE_DIMENSIONAL_MONDRIAN
        return _CLASS_MAKERS[self.partitioning]

    @property
    def of_distributions(self) -> tuple[Requirement, ...]:
        """What the distribution of each sensitive column must meet in a class, the strongest last."""
        required: list[Requirement] = []
        if self.alpha is not None:
            required.append(Requirement(ALPHA, (self.alpha,)))
        if self.diversity is Diversity.ENTROPY:
            required.append(Requirement(ENTROPY_DIVERSITY, (self.l,)))
        if self.c is not None:
            required.append(Requirement(RECURSIVE_DIVERSITY, (self.c, self.l)))
        if self.t is not None:
            required.append(Requirement(CLOSENESS, (self.t, str(self.distance))))
        return tuple(required)

    @classmethod
    def of(cls, asked: Asked) -> Self:
        choices = asked.choices
        c, alpha, t = (Fraction(choices[n]) if n in choices else None for n in ("c", "alpha", "t"))
        return cls(
            asked.k,
            asked.l,
            asked.quasi_identifiers,
            asked.sensitive,
            asked.cut_threshold,
            Partitioning(choices.get("partitioning", Partitioning.STRICT)),
            Dimensionality(choices.get("dimensionality", Dimensionality.MULTI)),
            CutScore(choices.get("cut_score", CutScore.CERTAINTY_PENALTY)),
            choices.get("fragment_column"),
            asked.sampled_fragments,
            Diversity(choices.get("diversity", Diversity.DISTINCT)),
            c,
            alpha,
            t,
            Distance(choices.get("distance", Distance.EQUAL)),
        )

    @property
    def cut_terms(self) -> CutTerms:
        name = self.fragment_column
        first = None if name is None else self.quasi_identifier_columns.index(name)
        return CutTerms(self.cut_threshold, self.cut_score, first, self.sampled_fragments)

    @property
    def technique(self) -> str:
        if self.dimensionality is Dimensionality.SINGLE:
            return (
                f"{self.algorithm}, strict, single-dimensional: domains of quasi-identifiers are cut, at"
                " the median of the part that loses most, and equal values are published alike"
            )
        cuts = _CUTS[self.cut_score].format(self.cut_threshold)
        first = sampled = ""
        if self.fragment_column is not None:
            first = (
                f"; a table of more than {self.cut_threshold} distinct combinations is cut along"
                f" {self.fragment_column} first"
            )
        if self.sampled_fragments is not None:
            sampled = (
                f"; first cuts, into at most {self.sampled_fragments} fragments, at medians of a sample:"
                " another number gives other classes"
            )
        way = f"{self.algorithm}, {self.partitioning}, multidimensional"
        return f"{way}: {cuts}{first}{sampled}{_OF_PARTITIONING[self.partitioning]}"


@dataclass(frozen=True, slots=True)
class MondrianKAnonymity(_Mondrian):
    """Mondrian for k-anonymity (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).

    Contract:
        Input      rows with quasi-identifiers and, where declared, the respondent of each row.
        Output     the same rows, each quasi-identifier generalised to what its class has in common.
        Guarantee  each combination of published quasi-identifiers belongs to at least k respondents;
                   with sensitive columns, no value of one is held by all respondents of a class
                   (MOSAICrOWN D5.1, 2.2).
        Not given  protection against attribute disclosure beyond that, against somebody who knows
                   more than the quasi-identifiers, or against several releases put together.
    """

    method: ClassVar[str] = terms.K_ANONYMITY

    def __post_init__(self) -> None:
        super(MondrianKAnonymity, self).__post_init__()
        if self.t is not None:
            raise ValueError("t is of t-closeness")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.method, self.k, None, self.of_distributions)


@dataclass(frozen=True, slots=True)
class MondrianLDiversity(_Mondrian):
    """Mondrian whose classes are also l-diverse (Machanavajjhala et al., TKDD 2007).

    Contract:
        Guarantee  as `MondrianKAnonymity`, and for each sensitive column, judged by itself: l
                   different values can be matched to l different respondents of the class, and no
                   value is held by all of them. Entropy and recursive (c, l)-diversity hold beside
                   that, by weights of respondents; with one row each they imply it.
        Not given  protection against skewness or similarity of the values, or against somebody who
                   can rule some of them out; knowing one sensitive column weakens the others.
    """

    method: ClassVar[str] = terms.L_DIVERSITY

    def __post_init__(self) -> None:
        super(MondrianLDiversity, self).__post_init__()
        if self.l < 2:
            raise ValueError("l is at least 2")
        if self.t is not None:
            raise ValueError("t is of t-closeness")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.method, self.k, self.l, self.of_distributions)


@dataclass(frozen=True, slots=True)
class MondrianTCloseness(_Mondrian):
    """Mondrian whose classes are also t-close (Li, Li, Venkatasubramanian, ICDE 2007).

    Contract:
        Guarantee  as `MondrianKAnonymity`, and for each sensitive column, judged by itself: the earth
                   mover's distance between the values of the class and those of the whole table, by
                   weights of respondents, is at most t.
        Not given  protection against what the distribution in the whole table tells of everybody;
                   knowing one sensitive column weakens the others.
    """

    method: ClassVar[str] = terms.T_CLOSENESS

    def __post_init__(self) -> None:
        super(MondrianTCloseness, self).__post_init__()
        if self.t is None:
            raise ValueError("t-closeness has t")
        if self.l > 1:
            raise ValueError("l is of l-diversity")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.method, self.k, None, self.of_distributions)
