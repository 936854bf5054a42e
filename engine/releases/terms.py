"""What a permission allows of releases: the refinements of its action, as typed values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.engine.losses.allowed import LOSSES, AllowedLoss, is_in_range, told_as
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.plan import StatisticKind, neighbors_said
from smalti.engine.releases.query import Query, asked_loss
from smalti.engine.releases.words_of_loss import bounds_of_loss
from smalti.errors import PlanError, SmaltiError, raise_all
from smalti.policy.model.model import (
    Anonymization,
    ColumnReference,
    Comparison,
    Named,
    Number,
    Text,
    Value,
)
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab import terms
from smalti.vocab.terms import IRI

_PURE: Final = frozenset({Mechanism.LAPLACE, Mechanism.EXPONENTIAL})


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
    problems = [*_meaningless(wanted), *_unbounded(said, query, str(wanted.where))]
    delta = _first(query.delta, _number(said, terms.DELTA)) or Decimal(0)
    mechanisms, unfit = _mechanisms(said, delta, str(wanted.where))
    raise_all([*problems, *unfit])
    return ReleaseTerms(
        _allowed(said, query, delta, mechanisms),
        neighbors_said(wanted.parameters),
        _whole(said, terms.ROWS_PER_RESPONDENT),
        _whole(said, terms.GROUPS_PER_RESPONDENT),
        frozenset(map(StatisticKind, _texts(said, terms.STATISTIC))),
        _iris(said, terms.MEASURE),
        _iris(said, terms.GROUP_BY),
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


def _allowed(
    said: Mapping[IRI, tuple[Value, ...]], query: Query, delta: Decimal, mechanisms: frozenset[Mechanism]
) -> AllowedLoss:
    bounded = bounds_of_loss(said)
    numbers: dict[IRI, Decimal | None] = {word: _number(said, word) for word in LOSSES}
    for word, value in asked_loss(query).items():
        if word not in bounded and is_in_range(word, value):
            numbers |= {other: told_as(other, word, value) for other in bounded}
        numbers[word] = value
    epsilon, belief, advantage = (numbers[word] for word in LOSSES)
    return AllowedLoss(epsilon, belief, advantage, delta, mechanisms)


def _unbounded(said: Mapping[IRI, tuple[Value, ...]], query: Query, where: str) -> Iterable[SmaltiError]:
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


def _meaningless(wanted: Anonymization) -> Iterable[SmaltiError]:
    """Columns that a policy wants published: a release publishes no rows, and ignores no word."""
    lists: dict[str, tuple[ColumnReference, ...]] = {
        "mosaicrown:quasi-identifier": wanted.quasi_identifiers,
        "mosaicrown:sensitive": wanted.sensitive,
        "smalti:released": wanted.released,
    }
    for word, columns in lists.items():
        if columns:
            yield PlanError(
                str(columns[0].where),
                f"`{word}` is about published rows, and statistics are published here",
                "`smalti:measure` and `smalti:groupBy` for columns that statistics are made of",
                "leave it out",
            )


def _mechanisms(
    said: Mapping[IRI, tuple[Value, ...]], delta: Decimal, where: str
) -> tuple[frozenset[Mechanism], list[SmaltiError]]:
    """The mechanisms that may be used, all where the policy names none; and why there is none."""
    named = _texts(said, terms.MECHANISM)
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


def _number(said: Mapping[IRI, tuple[Value, ...]], operand: IRI) -> Decimal | None:
    numbers = (value.value for value in said.get(operand, ()) if isinstance(value, Number))
    return min(numbers, default=None)


def _whole(said: Mapping[IRI, tuple[Value, ...]], operand: IRI) -> int | None:
    number = _number(said, operand)
    return None if number is None else int(number)


def _texts(said: Mapping[IRI, tuple[Value, ...]], operand: IRI) -> frozenset[str]:
    return frozenset(value.text for value in said.get(operand, ()) if isinstance(value, Text))


def _iris(said: Mapping[IRI, tuple[Value, ...]], operand: IRI) -> frozenset[IRI]:
    return frozenset(value.iri for value in said.get(operand, ()) if isinstance(value, Named))
