"""What a permission allows of releases: the refinements of its action, as typed values."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.engine.losses.allowed import LOSSES, AllowedLoss, equivalent_bound, is_in_range
from smalti.engine.losses.refinements import Said, columns_of_rows, iris, least, texts
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.plan import StatisticKind, neighbors_said
from smalti.engine.releases.query import Query, asked_loss
from smalti.engine.releases.words_of_loss import bounds_of_loss
from smalti.errors import PlanError, SmaltiError, raise_all
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Value,
)
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab import terms
from smalti.vocab.terms import IRI

_PURE: Final = frozenset({Mechanism.LAPLACE, Mechanism.EXPONENTIAL})
_COLUMNS: Final = (
    "published rows, and statistics are published here",
    "`smalti:measure` and `smalti:groupBy` for columns that statistics are made of",
)
"""What words of rows are about, and what is expected in their place."""


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """What a permission allows, and what a query takes of it."""

    allowed: AllowedLoss
    """What the query asks to lose, where it asks; else what the policy allows. Of a query that asks in
    another word than the policy's, both what it asks and what that comes to in the policy's word."""
    neighbors: NeighboringRelation
    rows: int | None
    """Of a respondent take part at most; None: the policy does not say."""
    groups: int | None
    """In which they are at most; None: the policy does not say."""
    statistics: frozenset[StatisticKind]
    measures: frozenset[IRI]
    group_by: frozenset[IRI]


def read_terms(wanted: Anonymization, query: Query) -> ReleaseTerms:
    """What a permission allows, with the loss that a query asks for.

    Whether the query is within the permission is the decision's to say, or the compiler's.

    Args:
        wanted: of method differential-privacy.
        query: that is to be answered.

    Raises:
        PlanError: there is no such release; all problems at once.
    """
    said = _said(wanted)
    problems = [*columns_of_rows(wanted, *_COLUMNS), *_unbounded(said, query, str(wanted.where))]
    delta = _first(query.delta, least(said, terms.DELTA)) or Decimal(0)
    mechanisms, unfit = _mechanisms(said, delta, str(wanted.where))
    raise_all([*problems, *unfit])
    return ReleaseTerms(
        _allowed(said, query, delta, mechanisms),
        neighbors_said(wanted.parameters),
        _whole(said, terms.ROWS_PER_RESPONDENT),
        _whole(said, terms.GROUPS_PER_RESPONDENT),
        frozenset(map(StatisticKind, texts(said, terms.STATISTIC))),
        iris(said, terms.MEASURE),
        iris(said, terms.GROUP_BY),
    )


def _said(wanted: Anonymization) -> dict[IRI, tuple[Value, ...]]:
    """By operand, its values; each operand is there once, and none is for one column only."""
    found: dict[IRI, tuple[Value, ...]] = {}
    for one in wanted.parameters:
        if not isinstance(one, Comparison) or one.operand in found:
            raise PlanError(
                str(one.where),
                "a refinement is there twice, or for one column, and a release heeds none of the two",
                "each refinement once, for the whole release",
                "leave it out",
            )
        found[one.operand] = one.values
    return found


def _allowed(said: Said, query: Query, delta: Decimal, mechanisms: frozenset[Mechanism]) -> AllowedLoss:
    bounded = bounds_of_loss(said)
    numbers: dict[IRI, Decimal | None] = {word: least(said, word) for word in LOSSES}
    for word, value in asked_loss(query).items():
        if word not in bounded and is_in_range(word, value):
            numbers |= {other: equivalent_bound(other, word, value) for other in bounded}
        numbers[word] = value
    epsilon, belief, advantage = (numbers[word] for word in LOSSES)
    return AllowedLoss(epsilon, belief, advantage, delta, mechanisms)


def _unbounded(said: Said, query: Query, where: str) -> Iterable[SmaltiError]:
    asked = asked_loss(query)
    if len(asked) > 1:
        yield PlanError(
            query.name or "query",
            "epsilon, belief and advantage determine each other, and several are asked for",
            "one of them",
            "keep one",
        )
    if not asked and len(bounds_of_loss(said)) != 1:
        yield PlanError(
            where,
            "the policy bounds the privacy loss by none or by several of epsilon, belief and advantage",
            "one refinement with `smalti:epsilon`, `smalti:posteriorBelief` or"
            " `smalti:membershipAdvantage`",
        )


def _mechanisms(said: Said, delta: Decimal, where: str) -> tuple[frozenset[Mechanism], list[SmaltiError]]:
    """The mechanisms that may be used, all where the policy names none; and why there is none."""
    named = texts(said, terms.MECHANISM)
    central = frozenset(map(Mechanism, named & frozenset(Mechanism))) if named else frozenset(Mechanism)
    if not central:
        listed = ", ".join(f"`{name}`" for name in sorted(named))
        return central, [
            PlanError(
                where,
                f"the mechanism {listed} is not implemented yet for statistics",
                "one of `laplace`, `gaussian` and `exponential`",
                "name one of these, or none",
            )
        ]
    usable = central if delta > 0 else central & _PURE
    if usable:
        return usable, []
    problem = "the mechanism `gaussian` is the only one that may be used, and delta is 0"
    return usable, [PlanError(where, problem, "a delta above 0, or `laplace`", "ask for a delta")]


def _first(*numbers: Decimal | None) -> Decimal | None:
    return next((number for number in numbers if number is not None), None)


def _whole(said: Said, operand: IRI) -> int | None:
    number = least(said, operand)
    return None if number is None else int(number)
