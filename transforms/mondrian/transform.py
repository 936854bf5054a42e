"""Mondrian, as a plan states it; the algorithm is in `smalti.transforms.mondrian.kernel`."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final, Self

from smalti.transforms.base import (
    DEFAULT_CUT_THRESHOLD,
    IMPROVED_MONDRIAN,
    RELAXED_MONDRIAN,
    SINGLE_DIMENSIONAL_MONDRIAN,
    STRICT_MONDRIAN,
    Asked,
    CutScore,
    CutTerms,
    Guarantee,
    Transform,
    distribution_requirements,
)
from smalti.transforms.class_models import PLAIN, ClassModels
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
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


@dataclass(frozen=True, slots=True)
class Mondrian(Transform):
    """Mondrian, for any model."""

    algorithm: ClassVar[str] = terms.MONDRIAN
    least_k: ClassVar[int] = 2
    """No smaller k is a promise."""

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
    models: ClassModels = field(default=PLAIN, metadata=LEFT_OUT_AT_DEFAULT)
    """What each class must meet beside k and distinct l."""

    def __post_init__(self) -> None:
        if self.k < self.least_k:
            raise ValueError(f"k is at least {self.least_k}")
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
        self.models.check(self.sensitive_columns, self.l, is_close=self.method == terms.T_CLOSENESS)

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
    def guarantee(self) -> Guarantee:
        more = distribution_requirements(self.models, self.sensitive_columns, self.l)
        return Guarantee(self.method, self.k, self.l if self.l > 1 else None, more)

    @classmethod
    def of(cls, asked: Asked) -> Self:
        choices = asked.choices
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
            asked.models,
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
class MondrianKAnonymity(Mondrian):
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
        if self.l > 1:
            raise ValueError("l is of l-diversity")


@dataclass(frozen=True, slots=True)
class MondrianLDiversity(Mondrian):
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


@dataclass(frozen=True, slots=True)
class MondrianTCloseness(Mondrian):
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
        if self.l > 1:
            raise ValueError("l is of l-diversity")
