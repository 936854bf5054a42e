"""The promises of a run about its output, and the results of verifying them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, Self

from smalti.engine.plan.plan import Plan, Role
from smalti.engine.verify.classes import Diversity
from smalti.engine.verify.columns import broken
from smalti.engine.verify.recount import Recount
from smalti.engine.verify.recounts import recounts_of
from smalti.errors import GuaranteeError
from smalti.transforms.base import Guarantee, Requirement


class Property(StrEnum):
    """What a run promises of its output; the text says it to people."""

    FORM = "the header is the promised one, no dropped column is present"
    ORDER = "rows are ordered by published values only"
    DIGEST = "the bytes are those that were recorded"
    ROWS = "each input row that the plan keeps is published exactly once, and no other"
    KEPT = "sensitive and released values are unchanged"
    COVERAGE = "each published quasi-identifier covers its original, or is the figure of its class"
    CLASS_ROWS = "each equivalence class has enough rows, with enough sensitive values"
    RESPONDENTS = "each equivalence class has enough respondents, told apart by sensitive values"
    POPULATION = "of the population table, each equivalence class covers as many persons as is promised"
    SHARES = "sensitive values have the promised shares of each equivalence class's respondents"
    GROUPS = "each group has enough different sensitive values, and as many of them as records"
    VALUES = "the sensitive values of each group are those of its records"
    ONE_ROW = "no respondent has more than one record"
    MASKED_FORM = "each masked value is one that its technique can produce"
    MASKED = "each masked value is what its technique makes of its original"
    UNMASKED = "sensitive and released values that are not masked are unchanged"
    SAMPLED = "of each respondent in the sample each row is published exactly once, and no other row"
    DRAWN = "how samples and noise were drawn"


@dataclass(frozen=True, slots=True)
class Promise:
    """What the published bytes must show: part of a plan, or of a certificate."""

    columns: tuple[str, ...]
    """The header."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    dropped: tuple[str, ...]
    guarantee: Guarantee

    @classmethod
    def of(cls, plan: Plan) -> "Promise":
        """The promise of a plan.

        A column is taken as generalised, or as sensitive, when either its role or the transform
        says so.
        """
        transform, columns = plan.apply.transform, plan.write.columns
        roles = {column.name: column.role for column in plan.read.columns}

        def having(role: Role, named: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in columns if roles.get(name) is role or name in named)

        return cls(
            columns,
            having(Role.QUASI_IDENTIFIER, transform.quasi_identifiers),
            having(Role.SENSITIVE, transform.sensitive),
            tuple(name for name, role in roles.items() if not role.is_published),
            transform.guarantee,
        )

    def recounts(self, *, by_rows: bool = False) -> tuple[Recount, ...]:
        """What judges the classes; `by_rows` where rows are counted in place of respondents."""
        return recounts_of(self.guarantee.requirements, by_rows=by_rows)

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are published as they came."""
        return tuple(name for name in self.columns if name not in self.quasi_identifiers)


@dataclass(frozen=True, slots=True)
class PopulationCount:
    """What was counted, for the owner."""

    digests: tuple[str, ...] = ()
    """SHA-256 of the files. Private, as those of the original."""
    least: int = 0
    """Persons whom some class covers, at least; 0 if nothing is published."""
    shares: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    """The least and the largest share of those in the table among the persons whom a class covers."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Every promise was counted again and holds. For the owner: k and values can exceed the promise."""

    rows: int
    """Published."""
    classes: int
    respondents: int
    k: int
    """Least number of respondents in a class; 0 if there is no row."""
    diversity: tuple[tuple[str, int], ...]
    """For each sensitive column: the least number of values, over the classes, that can be matched to
    different respondents (with one row each: of different values)."""
    output_digests: tuple[str, ...]
    """SHA-256 of the published bytes that were checked, file by file: commit these, or none."""
    input_digests: tuple[str, ...]
    """SHA-256 of the owner's files. Private: they let a reader test guesses of a small table."""
    rows_withdrawn: int = 0
    """Left out, for they are about people who withdrew."""
    rows_filtered: int = 0
    """Left out of the others, for they do not satisfy the plan's filter."""
    reached: tuple[tuple[str, Requirement, float], ...] = ()
    """For each sensitive column and each requirement of how its values are distributed: what the worst
    class reaches, in floats."""
    rows_suppressed: int = 0
    """Left out of the others, since their classes did not meet the promise; within the plan's limit."""
    respondents_suppressed: int = 0
    """Who have such a row, or one that is kept at the roots of all columns."""
    population: PopulationCount | None = None
    """Of the population table, where the plan names one."""
    rows_not_sampled: int = 0
    """Left out of the others, for their respondents are not in the sample."""


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """What published bytes show by themselves; rows are counted, not respondents."""

    rows: int
    classes: int
    least_rows: int
    """Rows in the smallest class: at least as many as its respondents."""
    distinct: tuple[tuple[str, int], ...]
    """For each sensitive column: the least number of different values in a class."""
    output_digests: tuple[str, ...]
    recounted: tuple[Property, ...]
    attested: tuple[Property, ...]
    """Shown when the run was verified, and taken on trust here."""

    @property
    def of_classes(self) -> Self:
        """What was counted of classes: this."""
        return self


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of classes."""

    classes: int
    respondents: int
    k: int
    """Least number of respondents in a class; 0 if there is none."""
    diversities: tuple[Diversity, ...]
    """One for each sensitive column."""
    people_left_out: int = 0
    """Respondents with a row that is in no class."""

    def diversity_of(self, promise: Promise) -> tuple[tuple[str, int], ...]:
        """For each sensitive column by name: the least number of its values that tell respondents apart."""
        pairs = zip(promise.sensitive, self.diversities, strict=True)
        return tuple((name, diversity.least_values) for name, diversity in pairs)

    def reached_of(self, promise: Promise) -> tuple[tuple[str, Requirement, float], ...]:
        """What the worst class reaches, for each sensitive column by name."""
        pairs = zip(promise.sensitive, self.diversities, strict=True)
        return tuple(
            (name, requirement, figure)
            for name, diversity in pairs
            for requirement, figure in diversity.reached
            if math.isfinite(figure)
        )


def check_counted(promise: Promise, counted: Counted, recounts: Sequence[Recount]) -> None:
    """Check that the classes are as promised.

    Args:
        promise: about them.
        counted: with these recounts.
        recounts: what judges them.

    Raises:
        GuaranteeError: one is not.
    """
    for problem in problems_of(promise, counted, recounts):
        raise _unmet(f"{promise.guarantee.model}: {problem}")


def problems_of(promise: Promise, counted: Counted, recounts: Sequence[Recount]) -> list[str]:
    """What is wrong with the classes; nothing where they are as promised.

    Args:
        promise: about them.
        counted: with these recounts.
        recounts: what judges them.
    """
    if counted.classes == 0:
        return []
    problems = [recount.problem_of_respondents(counted.k) for recount in recounts]
    for name, diversity in zip(promise.sensitive, counted.diversities, strict=True):
        problems += [recount.problem_of_column(diversity, name) for recount in recounts]
    return [problem for problem in problems if problem is not None]


def _unmet(problem: str) -> GuaranteeError:
    return broken("published output", problem, "what the plan guarantees")


def shown(
    rows: int,
    digests: tuple[str, ...],
    counted: Counted,
    promise: Promise,
    unseen: tuple[Property, ...],
    recounts: Sequence[Recount],
) -> PublishedCheck:
    """What published bytes showed by themselves; `unseen` is what they cannot show."""
    check_counted(promise, counted, recounts)
    if len(recounts) < len(promise.recounts()) and not promise.guarantee.is_of_population:
        unseen = (*unseen, Property.SHARES)
    return PublishedCheck(
        rows,
        counted.classes,
        counted.k,
        counted.diversity_of(promise),
        digests,
        tuple(each for each in Property if each not in {*unseen, *_not_promised(promise)}),
        unseen,
    )


def _not_promised(promise: Promise) -> tuple[Property, ...]:
    if promise.guarantee.is_of_population:
        return Property.CLASS_ROWS, Property.RESPONDENTS, Property.SHARES, *_OF_OTHERS
    return Property.POPULATION, Property.SHARES, *_OF_OTHERS


_OF_OTHERS: Final = (
    Property.GROUPS,
    Property.VALUES,
    Property.ONE_ROW,
    Property.MASKED_FORM,
    Property.MASKED,
    Property.UNMASKED,
    Property.SAMPLED,
    Property.DRAWN,
)
"""What is promised of groups whose values are published apart, and of masked tables: of no class."""
