"""Full-domain generalisation, as a plan states it; `smalti.transforms.lattice.full_domain` searches."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from smalti.transforms.base import (
    FULL_DOMAIN,
    Asked,
    Guarantee,
    LatticeTerms,
    Transform,
    distribution_requirements,
)
from smalti.transforms.class_models import PLAIN, ClassModels
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.transforms.values.decimal_digits import plain
from smalti.vocab import terms

_DEFAULT_MEASURE = LatticeTerms().measure


@dataclass(frozen=True, slots=True)
class FullDomain(Transform):
    """One level of each quasi-identifier's hierarchy for the whole table.

    LeFevre, DeWitt, Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity", SIGMOD 2005. The node of
    the lattice that the measure prefers, of those where each class meets the guarantee; the contract is
    that of Mondrian for the same method.
    """

    algorithm: ClassVar[str] = terms.INCOGNITO
    least_k: ClassVar[int] = 2
    """No smaller k is a promise."""

    k: int
    """Least number of respondents in an equivalence class."""
    l: int  # noqa: E741 (the literature's name)
    """Least number of distinct values of each sensitive column; 1 where only k is promised."""
    quasi_identifier_columns: tuple[str, ...]
    """In the order that breaks ties between nodes."""
    sensitive_columns: tuple[str, ...]
    models: ClassModels = field(default=PLAIN, metadata=LEFT_OUT_AT_DEFAULT)
    """What each class must meet beside k and distinct l."""
    suppression_limit: Fraction = field(default=Fraction(0), metadata=LEFT_OUT_AT_DEFAULT)
    """The share of respondents that may be suppressed, from 0 and below 1."""
    keeps_suppressed: bool = field(default=False, metadata=LEFT_OUT_AT_DEFAULT)
    """Whether suppressed records are a class of their own at the roots; otherwise they are left out."""
    measure: str = field(default=_DEFAULT_MEASURE, metadata=LEFT_OUT_AT_DEFAULT)
    """By which a node is preferred."""

    node: tuple[int, ...] = field(default=(), metadata=LEFT_OUT_AT_DEFAULT)
    """The levels that are taken, in the order of the quasi-identifiers; empty: those that are preferred."""

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
        if not 0 <= self.suppression_limit < 1:
            raise ValueError("the limit of suppression is from 0 and below 1")
        if self.keeps_suppressed and not self.suppression_limit:
            raise ValueError("records are kept only where some may be suppressed")
        if self.node and len(self.node) != len(self.quasi_identifier_columns):
            raise ValueError("there is a level for each quasi-identifier")
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
        return FULL_DOMAIN

    @property
    def lattice_terms(self) -> LatticeTerms:
        return LatticeTerms(self.suppression_limit, self.keeps_suppressed, self.measure, self.node)

    @property
    def generalises_whole_domains(self) -> bool:
        return True

    @classmethod
    def of(cls, asked: Asked) -> Self:
        return cls(
            asked.k,
            asked.l,
            asked.quasi_identifiers,
            asked.sensitive,
            asked.models,
            Fraction(asked.choices.get("suppression_limit", 0)),
            asked.choices.get("suppressed_records") == "kept",
            asked.choices.get("measure", _DEFAULT_MEASURE),
            asked.node,
        )

    @property
    def technique(self) -> str:
        left_out = ""
        if self.suppression_limit:
            share = plain(self.suppression_limit * 100)
            what = "are a class at the roots" if self.keeps_suppressed else "are left out"
            left_out = f"; records of at most {share} % of the respondents {what}"
        chosen = f"preferred by {self.measure.replace('-', ' ')}"
        if self.node:
            chosen = f"those of an earlier release ({', '.join(map(str, self.node))})"
        return (
            f"{self.algorithm}: one level of each quasi-identifier's hierarchy for the whole table,"
            f" {chosen}{left_out}"
        )


@dataclass(frozen=True, slots=True)
class FullDomainKAnonymity(FullDomain):
    """Full-domain generalisation for k-anonymity; the contract is that of `MondrianKAnonymity`."""

    method: ClassVar[str] = terms.K_ANONYMITY


@dataclass(frozen=True, slots=True)
class FullDomainLDiversity(FullDomain):
    """Full-domain generalisation for l-diversity; the contract is that of `MondrianLDiversity`."""

    method: ClassVar[str] = terms.L_DIVERSITY


@dataclass(frozen=True, slots=True)
class FullDomainTCloseness(FullDomain):
    """Full-domain generalisation for t-closeness; the contract is that of `MondrianTCloseness`."""

    method: ClassVar[str] = terms.T_CLOSENESS
