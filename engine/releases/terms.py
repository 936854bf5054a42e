"""The terms of a permission for releases: the refinements of its action as typed values."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.engine.losses.allowed import LOSSES, AllowedLoss, equivalent_bound, is_in_range
from smalti.engine.losses.refinements import Said, columns_of_rows, iris, least, texts
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.plan import StatisticKind, neighbors_said
from smalti.engine.releases.query import (
    DEFAULT_CONFIDENCE,
    Query,
    WantedKey,
    WantedStatistic,
    asked_loss,
)
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

_MEDIAN: Final = Decimal("0.5")
_PURE: Final = frozenset({Mechanism.LAPLACE, Mechanism.EXPONENTIAL})
_COLUMNS: Final = (
    "published rows, and statistics are published here",
    "`smalti:measure` and `smalti:groupBy` for columns that statistics are made of",
)
"""What words of rows are about, and what is expected in their place."""


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """The terms of a permission, with the loss that a query requests."""

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
    """Read the terms of a permission, with the loss that a query requests.

    Whether the query is within the permission is the decision's to say, or the compiler's.

    Args:
        wanted: of method differential-privacy.
        query: that is to be answered.

    Raises:
        PlanError: there is no such release; all problems at once.
    """
    refinements = _refinements(wanted)
    problems = [*columns_of_rows(wanted, *_COLUMNS), *_unbounded(refinements, query, str(wanted.where))]
    delta = _first(query.delta, least(refinements, terms.DELTA)) or Decimal(0)
    mechanisms, unfit = _mechanisms(refinements, delta, str(wanted.where))
    raise_all([*problems, *unfit])
    return ReleaseTerms(
        _allowed(refinements, query, delta, mechanisms),
        neighbors_said(wanted.parameters),
        _whole(refinements, terms.ROWS_PER_RESPONDENT),
        _whole(refinements, terms.GROUPS_PER_RESPONDENT),
        frozenset(map(StatisticKind, texts(refinements, terms.STATISTIC))),
        iris(refinements, terms.MEASURE),
        iris(refinements, terms.GROUP_BY),
    )


def single_release(wanted: Anonymization) -> Query:
    """The query of a permission that permits one release only: one statistic of one column, without groups.

    Raises:
        PlanError: it permits several releases, or none.
    """
    nothing = Query((), DEFAULT_CONFIDENCE)
    permitted = read_terms(wanted, nothing)
    kinds = sorted(permitted.statistics)
    measures = tuple(map(WantedKey, sorted(permitted.measures)))
    if len(kinds) == 1 and not permitted.group_by:
        kind = kinds[0]
        least, most = (0, 0) if kind is StatisticKind.COUNT else (1, 1)
        if kind is StatisticKind.CONTINGENCY:
            least, most = 2, len(measures)
        if least <= len(measures) <= most:
            levels = (_MEDIAN,) if kind is StatisticKind.QUANTILE else ()
            statistic = WantedStatistic(str(kind), kind, measures, (), Decimal(1), levels=levels)
            return Query((statistic,), DEFAULT_CONFIDENCE, name="the policy's one release")
    raise PlanError(
        str(wanted.where),
        "the policy permits several releases, and no query selects one",
        "a query file that names the statistics wanted",
        "write one, and name it with --query",
    )


def _refinements(wanted: Anonymization) -> dict[IRI, tuple[Value, ...]]:
    """The values by operand; each operand occurs once, and none is limited to one column."""
    refinements: dict[IRI, tuple[Value, ...]] = {}
    for parameter in wanted.parameters:
        if not isinstance(parameter, Comparison) or parameter.operand in refinements:
            raise PlanError(
                str(parameter.where),
                "a refinement is repeated or limited to one column; releases support neither",
                "each refinement once, for the whole release",
                "remove it",
            )
        refinements[parameter.operand] = parameter.values
    return refinements


def _allowed(
    refinements: Said, query: Query, delta: Decimal, mechanisms: frozenset[Mechanism]
) -> AllowedLoss:
    bounded = bounds_of_loss(refinements)
    numbers: dict[IRI, Decimal | None] = {word: least(refinements, word) for word in LOSSES}
    for word, value in asked_loss(query).items():
        if word not in bounded and is_in_range(word, value):
            numbers |= {other: equivalent_bound(other, word, value) for other in bounded}
        numbers[word] = value
    epsilon, belief, advantage = (numbers[word] for word in LOSSES)
    return AllowedLoss(epsilon, belief, advantage, delta, mechanisms)


def _unbounded(refinements: Said, query: Query, where: str) -> Iterable[SmaltiError]:
    asked = asked_loss(query)
    if len(asked) > 1:
        yield PlanError(
            query.name or "query",
            "the query requests several of epsilon, belief and advantage, which determine each other",
            "one of them",
            "keep one",
        )
    if not asked and len(bounds_of_loss(refinements)) != 1:
        yield PlanError(
            where,
            "the policy bounds the privacy loss by none or by several of epsilon, belief and advantage",
            "one refinement with `smalti:epsilon`, `smalti:posteriorBelief` or"
            " `smalti:membershipAdvantage`",
        )


def _mechanisms(
    refinements: Said, delta: Decimal, where: str
) -> tuple[frozenset[Mechanism], list[SmaltiError]]:
    """The mechanisms that may be used, all where the policy names none; and why there is none."""
    named = texts(refinements, terms.MECHANISM)
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
    problem = "only the mechanism `gaussian` is permitted, and delta is 0"
    return usable, [PlanError(where, problem, "a delta above 0, or `laplace`", "request a delta")]


def _first(*numbers: Decimal | None) -> Decimal | None:
    return next((number for number in numbers if number is not None), None)


def _whole(refinements: Said, operand: IRI) -> int | None:
    number = least(refinements, operand)
    return None if number is None else int(number)
