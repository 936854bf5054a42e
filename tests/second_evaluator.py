"""A second evaluator of policies: small, slow, and written without a look at the first one.

It says what ODRL 2.2 and the documents of this project say, in the plainest way: sets of pairs for
hierarchies, all outcomes of a condition for limits to rows, and all requests of a small world for
contradictions of a policy. It knows permissions, prohibitions, obligations and duties to anonymize,
other duties, constraints and refinements, columns, and the strategies for conflicts; it knows no
remedies, no training, no spellings of IRIs, and of parameters only `k`, `l` and `method`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import cache, cached_property
from itertools import combinations, product
from math import prod
from operator import eq, ge, gt, le, lt
from random import Random
from typing import Any, Final, TypeVar

from smalti.policy.decide.decision import DutyReading, Fact, Request
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    ConflictStrategy,
    Day,
    Duty,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Text,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL, ODRL_PURPOSE, READ

Truth = bool | None
"""Satisfied, unsatisfied, or unknown: Kleene's strong logic (decision 17)."""
DATE_TIME, RECIPIENT = IRI(ODRL + "dateTime"), IRI(ODRL + "recipient")
Row = Mapping[IRI, Value]
RuleT = TypeVar("RuleT", bound=Rule)


def every(truths: Iterable[Truth]) -> Truth:
    several = list(truths)
    return False if False in several else None if None in several else True


def some(truths: Iterable[Truth]) -> Truth:
    return opposite(every(map(opposite, truths)))


def opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


def exactly_one(truths: Iterable[Truth]) -> Truth:
    several = list(truths)
    if several.count(True) > 1:
        return False
    return None if None in several else several.count(True) == 1


# --- What is known of the world


class Order:
    """What is within what: pairs of a narrower and a broader name."""

    def __init__(self, pairs: Iterable[tuple[IRI, IRI]], *, is_open: bool) -> None:
        self.pairs = frozenset(pairs)
        self.names = frozenset(name for pair in self.pairs for name in pair)
        self.is_open = is_open
        """Whether a name that is in no pair may mean anything: a purpose or an action of somebody else."""
        self._within: dict[tuple[IRI, IRI], Truth] = {}
        self._above: dict[IRI, frozenset[IRI]] = {}

    def above(self, name: IRI) -> frozenset[IRI]:
        """The name itself, and all that it is within."""
        if name not in self._above:
            reached = {name}
            while broader := {high for low, high in self.pairs if low in reached} - reached:
                reached |= broader
            self._above[name] = frozenset(reached)
        return self._above[name]

    def within(self, name: IRI, other: IRI) -> Truth:
        """Whether what is called so is within the other; unknown where a part of it may be (decision
        17)."""
        if (name, other) not in self._within:
            self._within[name, other] = self._is_within(name, other)
        return self._within[name, other]

    def _is_within(self, name: IRI, other: IRI) -> Truth:
        if other in self.above(name):
            return True
        if self.is_open and name not in self.names:
            return None
        is_shared = any({name, other} <= self.above(part) for part in self.names)
        return None if is_shared else False


@dataclass(frozen=True, eq=False)
class Lore:
    """Vocabularies that count, as pairs."""

    parties: Order
    assets: Order
    purposes: Order
    actions: Order
    operands: frozenset[IRI]
    """All left operands that ODRL, the profile or a vocabulary declares."""
    tables: frozenset[IRI]
    """Assets that have columns under their IRI."""
    columns: frozenset[tuple[IRI, IRI]]
    """Tables and their columns that have another IRI."""

    def of(self, policy: Policy) -> "Lore":
        """With what a policy says of members, which counts for its own rules alone (decision 18)."""
        if not policy.memberships:
            return self
        return _with_members(self, policy)


@cache
def _with_members(lore: Lore, policy: Policy) -> Lore:
    def pairs(of_parties: bool) -> set[tuple[IRI, IRI]]:
        return {
            (said.member, said.collection) for said in policy.memberships if said.of_parties is of_parties
        }

    return replace(
        lore,
        parties=Order(lore.parties.pairs | pairs(True), is_open=False),
        assets=Order(lore.assets.pairs | pairs(False), is_open=False),
    )


@dataclass(frozen=True, eq=False)
class Ask:
    """A request as one policy sees it."""

    request: Request
    lore: Lore
    named: frozenset[IRI] = frozenset()
    """The assets that the rule names whose conditions are judged."""

    @cached_property
    def facts(self) -> dict[IRI, tuple[Value, ...]]:
        stated: dict[IRI, tuple[Value, ...]] = {}
        for fact in self.request.facts:
            stated[fact.operand] = (*stated.get(fact.operand, ()), *fact.values)
        if self.request.purpose is not None:
            stated[ODRL_PURPOSE] = (Named(self.request.purpose), *stated.get(ODRL_PURPOSE, ()))
        if self.request.time is not None:
            stated[DATE_TIME] = (Instant(self.request.time), *stated.get(DATE_TIME, ()))
        return stated

    @cached_property
    def parameters(self) -> dict[IRI, tuple[Value, ...]]:
        return {fact.operand: fact.values for fact in self.request.parameters}

    def is_column(self, name: IRI, table: IRI) -> bool:
        """A table's IRI, a slash and one name, or what is declared as its column (decision 28)."""
        if (table, name) in self.lore.columns:
            return True
        if name in self.request.columns and self.request.targets == (table,):
            return True
        start, _, rest = name.rpartition("/")
        return table in self.lore.tables and start == table and bool(rest)

    def tables(self, name: IRI) -> tuple[IRI, ...]:
        """The tables that a column is one of."""
        start = IRI(name.rpartition("/")[0])
        declared = tuple(table for table, column in self.lore.columns if column == name)
        return (*((start,) if self.is_column(name, start) else ()), *declared)

    def is_about_rows(self, condition: ColumnComparison) -> bool:
        """Whether it limits the rows of all that is requested.

        A column is one of a requested target (decision 29); where a column is requested of a table that
        the rule is about, it is one of that table: a permission on a table reaches its columns, on its
        rows (28).
        """
        return all(
            any(self.is_column(condition.column.iri, table) for table in self._rows_of(target))
            for target in self.request.targets
        )

    def _rows_of(self, target: IRI) -> Sequence[IRI]:
        table = IRI(target.rpartition("/")[0])
        return (table,) if table in self.named and target not in self.named else (target,)

    def about(self, assets: Iterable[Asset]) -> "Ask":
        """The same for a rule about some assets."""
        named = frozenset(asset.iri for asset in assets)
        if named == self.named or not any(self.tables(target) for target in self.request.targets):
            return self
        return replace(self, named=named)


# --- Comparisons of two values

_DURATION: Final = re.compile(
    r"\s*[+-]?P(?=\d|T\d)(\d+[.,]?\d*Y)?(\d+[.,]?\d*M)?(\d+[.,]?\d*W)?(\d+[.,]?\d*D)?"
    r"(T(?=\d)(\d+[.,]?\d*H)?(\d+[.,]?\d*M)?(\d+[.,]?\d*S)?)?\s*"
)
_ORDER: Final = frozenset({Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ})
_PART: Final = frozenset({Operator.IS_A, Operator.IS_PART_OF, Operator.HAS_PART})
_SIDES: Final = (timedelta(hours=-14), timedelta(hours=14))
"""How far a local time can be from UTC."""


def compare(operator: Operator, value: Value, reference: Value, order: Order | None) -> Truth:
    """Compare two values by an operator for single values; `neq` and the operators for lists are built
    on it."""
    if operator is Operator.NEQ:
        return opposite(compare(Operator.EQ, value, reference, order))
    match value, reference:
        case Named(iri=name), Named(iri=other):
            return _compare_names(operator, name, other, order)
        case Number(), Number():
            return _by_order(operator, value.value, reference.value)
        case ((Instant() | Day()), (Instant() | Day())):
            return _compare_times(operator, value, reference)
        case Text(), Text() if operator is Operator.EQ:
            # Durations that are written differently may be equally long.
            may_be_equal = all(_DURATION.fullmatch(each.text) for each in (value, reference))
            return value == reference or (None if may_be_equal else False)
    return None


def _compare_names(operator: Operator, name: IRI, other: IRI, order: Order | None) -> Truth:
    if operator in _ORDER:
        return None
    if order is not None:
        return order.within(other, name) if operator is Operator.HAS_PART else order.within(name, other)
    # What no hierarchy tells of may be a part all the same.
    return name == other or (None if operator in _PART else False)


def _by_order(operator: Operator, value: object, reference: object) -> Truth:
    compared = _COMPARED.get(operator)
    return None if compared is None else bool(compared(value, reference))


_COMPARED: Final[Mapping[Operator, Callable[[Any, Any], object]]] = {
    Operator.EQ: eq,
    Operator.LT: lt,
    Operator.LTEQ: le,
    Operator.GT: gt,
    Operator.GTEQ: ge,
}


def _compare_times(operator: Operator, value: Instant | Day, reference: Instant | Day) -> Truth:
    if isinstance(value, Day) and isinstance(reference, Day):
        return _by_order(operator, value.day, reference.day)
    if operator is Operator.EQ:
        return every(_compare_times(both, value, reference) for both in (Operator.LTEQ, Operator.GTEQ))
    spans = _spans(value)
    if isinstance(value, Day):  # of what is stated: some moment of the day
        spans = [(moment, moment) for start, end in spans for moment in (start, end - datetime.resolution)]
    results = {_of_spans(operator, span, other) for span, other in product(spans, _spans(reference))}
    return results.pop() if len(results) == 1 else None


def _spans(value: Instant | Day) -> list[tuple[datetime, datetime]]:
    """First and last moment (of a day: the first one after it), at each end of the possible zones."""
    if isinstance(value, Day):
        start = datetime.combine(value.day, time(), UTC)
        return [(start + side, start + timedelta(days=1) + side) for side in _SIDES]
    if value.time.tzinfo is None:
        return [(value.time.replace(tzinfo=UTC) + side,) * 2 for side in _SIDES]
    return [(value.time, value.time)]


def _of_spans(
    operator: Operator, span: tuple[datetime, datetime], other: tuple[datetime, datetime]
) -> Truth:
    match operator:
        case Operator.LT:
            return span[1] < other[0] if span[0] == span[1] else span[1] <= other[0]
        case Operator.GTEQ:
            return opposite(_of_spans(Operator.LT, span, other))
        case Operator.GT:
            return _of_spans(Operator.LT, other, span)
        case Operator.LTEQ:
            return opposite(_of_spans(Operator.LT, other, span))
    return None


# --- Comparisons of what is stated with what is listed

_NEGATIVE: Final = {Operator.NEQ: Operator.EQ, Operator.IS_NONE_OF: Operator.IS_ANY_OF}


def is_satisfied(
    comparison: Comparison, values: Sequence[Value], order: Order | None, *, is_of_request: bool
) -> Truth:
    """Whether a comparison holds of what is stated.

    Several facts are true together: `eq` needs one of them. A request for several purposes is for each: all
    must agree. An order, and what contains the value, needs all to agree in both cases (decision 17).
    """
    operator, listed = comparison.operator, comparison.values
    if operator is Operator.IS_ALL_OF:
        return every(
            [
                *(some(compare(Operator.EQ, value, other, order) for other in listed) for value in values),
                *(some(compare(Operator.EQ, value, other, order) for value in values) for other in listed),
            ]
        )
    if operator in _NEGATIVE:
        positive = replace(comparison, operator=_NEGATIVE[operator])
        return opposite(is_satisfied(positive, values, order, is_of_request=is_of_request))
    single = Operator.EQ if operator is Operator.IS_ANY_OF else operator
    results = [some(compare(single, value, other, order) for other in listed) for value in values]
    if is_of_request or operator in {*_ORDER, Operator.HAS_PART}:
        return results[0] if len(set(results)) == 1 else None
    return some(results)


def truth_of(comparison: Comparison, ask: Ask) -> Truth:
    """Of a constraint on facts: an operand that nobody declares is unknown, and so is what is not
    stated."""
    if comparison.operand not in ask.lore.operands or comparison.unit is not None:
        return None
    values = ask.facts.get(comparison.operand)
    if values is None:
        return None
    order = {ODRL_PURPOSE: ask.lore.purposes, RECIPIENT: ask.lore.parties}.get(comparison.operand)
    is_of_request = comparison.operand in {ODRL_PURPOSE, DATE_TIME}
    return is_satisfied(comparison, values, order, is_of_request=is_of_request)


# --- Conditions, whose outcome may differ from row to row

_TOGETHER: Final = {
    LogicalOperator.AND: every,
    LogicalOperator.AND_SEQUENCE: every,
    LogicalOperator.OR: some,
    LogicalOperator.XONE: exactly_one,
}


def outcomes(condition: Condition, ask: Ask) -> frozenset[Truth]:
    """All truths that a condition can have, whatever the rows are."""
    match condition:
        case Comparison():
            return frozenset({truth_of(condition, ask)})
        case ColumnComparison():
            return frozenset({True, False} if ask.is_about_rows(condition) else {None})
        case Logical():
            parts = [outcomes(operand, ask) for operand in condition.operands]
            if _is_left_open(condition, parts, ask):
                return frozenset({None})
            together = _TOGETHER[condition.operator]
            truths = frozenset(together(each) for each in product(*parts))
            return truths if True in truths or None not in truths else frozenset({None})


def _is_left_open(condition: Logical, parts: Sequence[frozenset[Truth]], ask: Ask) -> bool:
    """Whether a `xone` of limits to rows is unknown as a whole, though some rows are known to satisfy it.

    Decision 17: a filter of rows is not made of limits that are unsure of some rows, nor of one that
    says that not exactly one of some limits holds.
    """
    if condition.operator is not LogicalOperator.XONE:
        return False
    by_row = [
        (operand, part) for operand, part in zip(condition.operands, parts, strict=True) if len(part) > 1
    ]
    if frozenset({True}) in parts:
        return any(_leaves_xone(operand, ask) for operand, _ in by_row)
    return len(by_row) > 1 and any(None in part for _, part in by_row)


def _leaves_xone(condition: Condition, ask: Ask) -> bool:
    """Whether what is left to the rows needs exactly one of several limits."""
    if not isinstance(condition, Logical):
        return False
    parts = [(operand, outcomes(operand, ask)) for operand in condition.operands]
    by_row = [operand for operand, part in parts if len(part) > 1]
    if condition.operator is LogicalOperator.XONE:
        if any(part == {True} for _, part in parts):
            return False
        if len(by_row) > 1:
            return True
    return any(_leaves_xone(operand, ask) for operand in by_row)


def may_hold(limits: Iterable["Limit"]) -> bool:
    """What a permission needs: each condition is satisfied, for some rows at least."""
    return all(True in outcomes(condition, ask) for condition, ask in limits)


def is_limited(limits: Iterable["Limit"]) -> bool:
    """Whether not all rows are known to satisfy each condition."""
    return any(outcomes(condition, ask) != {True} for condition, ask in limits)


def may_not_fail(conditions: Iterable[Condition], ask: Ask) -> bool:
    """What a prohibition needs: no condition is unsatisfied. A limit to rows is unknown there
    (decision 17)."""
    return not any(outcomes(condition, ask) == {False} for condition in conditions)


def truth_on_row(condition: Condition, ask: Ask, row: Row) -> Truth:
    """Of one row that has a value in each column."""
    possible = outcomes(condition, ask)
    if len(possible) == 1 or isinstance(condition, Comparison):
        return next(iter(possible))
    if isinstance(condition, ColumnComparison):
        return compares(condition, row)
    return _TOGETHER[condition.operator](truth_on_row(operand, ask, row) for operand in condition.operands)


def compares(condition: ColumnComparison, row: Row) -> Truth:
    column = condition.column.iri
    as_fact = Comparison(column, condition.operator, condition.values)
    return is_satisfied(as_fact, (row[column],), None, is_of_request=True)


def is_left(condition: Condition, row: Row) -> Truth:
    """Whether a row is among those that a grant of the product is limited to by one of its conditions."""
    assert not isinstance(condition, Comparison)
    if isinstance(condition, ColumnComparison):
        return compares(condition, row)
    return _TOGETHER[condition.operator](is_left(operand, row) for operand in condition.operands)


def columns_of(condition: Condition, ask: Ask) -> frozenset[IRI]:
    """The columns that choose rows."""
    rows = [leaf for leaf in leaves_of(condition) if isinstance(leaf, ColumnComparison)]
    return frozenset(leaf.column.iri for leaf in rows if ask.is_about_rows(leaf))


# --- Parts of rules


Limit = tuple[Condition, "Ask"]
"""A condition, as the rule sees the request."""


Choice = tuple[tuple[Limit, ...], ...]
"""Limits of which those in one part must hold: a target may be covered in several ways."""


def granted_assets(rule: Rule, way: Anonymization | None, ask: Ask) -> tuple[Choice, ...] | None:
    """The refinements under which a rule covers each target that is requested; None: it does not.

    One rule must cover all targets (decision 16). A permission on a table reaches its columns; one to
    anonymize reaches those that it uses (28).
    """
    choices: list[Choice] = []
    for target in ask.request.targets:
        is_reached = way is None or target in columns_of_way(way)
        names = (target, *ask.tables(target)) if is_reached else (target,)
        covering = [
            tuple((refinement, ask.about([asset])) for refinement in asset.refinements)
            for asset in rule.targets
            if any(ask.lore.assets.within(name, asset.iri) is True for name in names)
        ]
        holding = tuple(limits for limits in covering if may_hold(limits))
        if not holding:
            return None
        choices.append(holding)
    return tuple(choices)


def columns_of_way(way: Anonymization) -> set[IRI]:
    return {column.iri for column in (*way.quasi_identifiers, *way.sensitive, *way.released)}


def is_granted_party(parties: Sequence[Party], ask: Ask) -> bool:
    """Nobody named means anybody."""
    within = ask.lore.parties.within
    return not parties or any(
        within(ask.request.party, party.iri) is True
        and all(outcomes(refinement, ask) == {True} for refinement in party.refinements)
        for party in parties
    )


def is_forbidden_party(parties: Sequence[Party], ask: Ask) -> bool:
    within = ask.lore.parties.within
    return not parties or any(
        within(ask.request.party, party.iri) is not False and may_not_fail(party.refinements, ask)
        for party in parties
    )


def is_assigner_plain(rule: Rule) -> bool:
    """What refines an assigner is unknown: the request states nothing about other parties (decision 29)."""
    return not any(party.refinements for party in rule.assigners)


# --- What grants


@dataclass(frozen=True, eq=False)
class Candidate:
    """A permission, or what a duty or an obligation to anonymize amounts to, that a request meets."""

    policy: Policy
    uid: IRI
    duty: IRI | None
    """The duty or obligation that says how; the request may name it, too."""
    ask: Ask
    choices: tuple[Choice, ...]
    """What holds, for some rows at least: of each choice one part."""
    way: Anonymization | None
    owed: tuple[Duty, ...]

    @property
    def limiting(self) -> tuple[Choice, ...]:
        return tuple(choice for choice in self.choices if all(map(is_limited, choice)))

    @property
    def uses(self) -> frozenset[IRI]:
        """The columns that it needs (decision 28): to generalise, to publish, to choose rows by them."""
        ways = [self.way, *(duty.anonymization for duty in self.owed)]
        columns = {column for way in ways if way is not None for column in columns_of_way(way)}
        by_row = (
            columns_of(*limit)
            for choice in self.limiting
            for part in choice
            for limit in part
            if is_limited([limit])
        )
        return frozenset(columns).union(*by_row)

    def grants_row(self, row: Row) -> bool:
        return all(
            any(all(truth_on_row(*limit, row) for limit in part) for part in choice)
            for choice in self.limiting
        )


def number_of(value: Value) -> int:
    assert isinstance(value, Number)
    return int(value.value)


def witness(
    way: Anonymization, parameters: Mapping[IRI, tuple[Value, ...]]
) -> dict[IRI, tuple[Value, ...]] | None:
    """What a run would do: the bounds themselves, or what is asked for if they permit it (semantics of
    bounds)."""
    values: dict[IRI, int] = {}
    bounds = {terms.K: way.k, terms.L: way.l}
    for parameter, bound in bounds.items():
        asked = parameters.get(parameter)
        if bound is None:
            if asked is not None:
                return None
            continue
        value = bound.value if asked is None else number_of(asked[0])
        if value < bound.value or (bound.operator is Operator.EQ and value != bound.value):
            return None
        values[parameter] = value
    if values.get(terms.L, 0) > values[terms.K]:
        assert way.k is not None
        if way.k.operator is Operator.EQ:
            return None
        values[terms.K] = values[terms.L]
    if parameters.keys() - bounds:
        return None
    numbers = {parameter: (Number(Decimal(value)),) for parameter, value in values.items()}
    return {**numbers, terms.METHOD: (Text(way.method),)}


def counts(duty: Duty, ask: Ask) -> bool:
    """Whether the claim that a duty was fulfilled counts (decision 29).

    Nothing in it is unknown, its constraints hold now, but for a deadline, which may have been kept
    before. The requester says nothing of other parties that are refined.
    """
    if duty.uid not in ask.request.fulfilled or not is_assigner_plain(duty):
        return False
    if any(party.refinements for party in duty.assignees) and not is_granted_party(duty.assignees, ask):
        return False
    leaves = [leaf for constraint in duty.constraints for leaf in leaves_of(constraint)]
    if not all(is_understood(leaf, ask) for leaf in leaves):
        return False
    lasting = [constraint for constraint in duty.constraints if not is_deadline(constraint)]
    return all(outcomes(constraint, ask) == {True} for constraint in lasting)


def is_understood(leaf: Comparison | ColumnComparison, ask: Ask) -> bool:
    return (
        ask.is_about_rows(leaf) if isinstance(leaf, ColumnComparison) else leaf.operand in ask.lore.operands
    )


def is_deadline(constraint: Condition) -> bool:
    return (
        isinstance(constraint, Comparison)
        and constraint.operand == DATE_TIME
        and constraint.operator in {Operator.LT, Operator.LTEQ}
        and constraint.unit is None
        and all(isinstance(value, Instant | Day) for value in constraint.values)
    )


def is_open(duty: Duty, ask: Ask) -> bool:
    """Whether a duty that is not fulfilled can still be, which is known (decision 39)."""
    refined = [refinement for target in duty.targets for refinement in target.refinements]
    return all(
        is_open_by(leaf, ask)
        for condition in (*duty.constraints, *duty.refinements, *refined)
        for leaf in leaves_of(condition)
    )


def is_open_by(leaf: Comparison | ColumnComparison, ask: Ask) -> bool:
    """No deadline has passed, and each one is understood."""
    if isinstance(leaf, ColumnComparison) or not is_understood(leaf, ask):
        return False
    if leaf.operand.removeprefix(terms.ODRL) in {
        "delayPeriod", "elapsedTime", "event", "meteredTime", "timeInterval"
    }:  # fmt: skip
        return False
    is_begin = leaf.operator in {Operator.GT, Operator.GTEQ}
    return leaf.operand != DATE_TIME or is_begin or outcomes(leaf, ask) == {True}


def owed_duties(duties: Iterable[Duty], ask: Ask) -> tuple[Duty, ...] | None:
    """What is still to be done; None: another duty keeps the permission from applying."""
    unfulfilled = [duty for duty in duties if duty.action == terms.ANONYMIZE or not counts(duty, ask)]
    others = [duty for duty in unfulfilled if duty.action not in terms.PLANNED_DUTIES]
    may_wait = ask.request.duties is DutyReading.NOT_VIOLATED
    if others and not (may_wait and all(is_open(duty, ask) for duty in others)):
        return None
    return tuple(unfulfilled)


def _candidate(
    policy: Policy, rules: Sequence[Rule], way: Duty | Permission | None, ask: Ask
) -> Candidate | None:
    """What grants if each of these rules lets it; the first one is named by the decision."""
    rule, limits, choices = rules[0], list[Limit](), list[Choice]()
    anonymization = None if way is None else way.anonymization
    own = ask.about(rule.targets)
    for each in rules:
        assets = granted_assets(each, anonymization, ask) if each.targets else ()
        if assets is None or not is_granted_party(each.assignees, ask) or not is_assigner_plain(each):
            return None
        limits += [(constraint, own) for constraint in each.constraints]
        choices += assets
    of_action = _of_action(ask, ask.parameters)
    limits += [(refinement, of_action) for refinement in rule.refinements]
    if not may_hold(limits):
        return None
    choices += [((limit,),) for limit in limits]
    if anonymization is not None and witness(anonymization, ask.parameters) is None:
        return None
    duties = rule.duties if isinstance(rule, Permission) else ()
    owed = owed_duties([duty for duty in duties if duty is not way], ask)
    if owed is None:
        return None
    uid = None if way is None else way.uid
    return Candidate(policy, rule.uid, uid, ask, tuple(choices), anonymization, owed)


def _of_action(ask: Ask, parameters: Mapping[IRI, tuple[Value, ...]]) -> Ask:
    """Parameters in the place of facts."""
    facts = tuple(Fact(operand, values) for operand, values in parameters.items())
    request = replace(ask.request, facts=facts, purpose=None, time=None)
    declared = ask.lore.operands | {terms.K, terms.L, terms.METHOD}
    return Ask(request, replace(ask.lore, operands=declared))


def is_for_reading(permission: Permission, ask: Ask) -> bool:
    """A duty to anonymize lets one anonymize before reading: "may read, only if anonymized as follows"."""
    return ask.lore.actions.within(READ, permission.action) is True


def candidates(policy: Policy, ask: Ask) -> Iterator[Candidate]:
    """All that a policy would grant, were there no prohibition."""
    is_anonymizing = ask.request.action == terms.ANONYMIZE
    for permission in policy.permissions:
        ways = [duty for duty in permission.duties if duty.anonymization is not None]
        own = permission if permission.anonymization is not None else None
        if is_anonymizing and ways and is_for_reading(permission, ask):
            several = [_candidate(policy, (permission, duty), duty, ask) for duty in ways]
        elif ask.lore.actions.within(ask.request.action, permission.action) is True:
            several = [_candidate(policy, (permission,), own, ask)]
        else:
            several = []
        yield from (each for each in several if each is not None)
    for duty in policy.obligations:
        if is_anonymizing and duty.anonymization is not None and duty.assignees and duty.targets:
            candidate = _candidate(policy, (duty,), duty, ask)
            if candidate is not None:
                yield candidate


# --- What forbids


@dataclass(frozen=True)
class Touch:
    """What a prohibition forbids of what is requested."""

    is_whole: bool = False
    columns: frozenset[IRI] = frozenset()

    def strikes(self, candidate: Candidate) -> bool:
        return self.is_whole or bool(self.columns & candidate.uses)


NOTHING: Final = Touch()


def touch(prohibition: Prohibition, ask: Ask, parameters: Mapping[IRI, tuple[Value, ...]]) -> Touch:
    """A prohibition applies unless a part of it fails (decision 17)."""
    if ask.lore.actions.within(ask.request.action, prohibition.action) is False:
        return NOTHING
    if not is_forbidden_party(prohibition.assignees, ask) or not may_not_fail(prohibition.constraints, ask):
        return NOTHING
    if not may_not_fail(prohibition.refinements, _of_action(ask, parameters)):
        return NOTHING
    touches = [
        touch_of_asset(asset, target, ask)
        for asset, target in product(prohibition.targets, ask.request.targets)
        if may_not_fail(asset.refinements, ask)
    ]
    if any(each.is_whole for each in touches):
        return Touch(is_whole=True)
    return Touch(columns=frozenset[IRI]().union(*(each.columns for each in touches)))


def touch_of_asset(asset: Asset, target: IRI, ask: Ask) -> Touch:
    """The asset itself, one that it is a part of, one that shares a part with it; or a column of it."""
    within = ask.lore.assets.within
    if any(within(name, asset.iri) is not False for name in (target, *ask.tables(target))):
        return Touch(is_whole=True)
    columns = set()
    for table in ask.tables(asset.iri):
        name = asset.iri.removeprefix(table + "/")
        if within(table, target) is not False and within(target, table) is not True:
            columns.add(asset.iri)  # a column of the target, or of a member of it
        elif within(target, table) is True:
            columns.add(asset.iri if name == asset.iri else IRI(f"{target}/{name}"))
        elif any(target == f"{own}/{name}" and within(own, table) is True for own in ask.tables(target)):
            return Touch(is_whole=True)  # the same column of a collection
    return Touch(columns=frozenset(columns))


# --- Contradictions: a policy without a strategy is void where two of its rules may both apply


def is_void(policy: Policy, lore: Lore) -> bool:
    """Whether a policy contradicts itself, and says (also by saying nothing) that this makes it void."""
    return policy.conflict is ConflictStrategy.INVALID and contradiction(policy, lore)


def contradiction(policy: Policy, lore: Lore) -> bool:
    """Whether some request meets a permission and a prohibition of the policy (ODRL IM 2.9).

    Looked for among all requests that its own words can tell apart.
    """
    plain = [
        replace(each, duties=tuple(duty for duty in each.duties if duty.anonymization is not None))
        for each in policy.permissions
    ]
    granting = [
        *(replace(policy, permissions=(each,), obligations=()) for each in plain),
        *(replace(policy, permissions=(), obligations=(each,)) for each in policy.obligations),
    ]
    return any(
        _may_meet(replace(one_sided, prohibitions=(prohibition,)), lore)
        for one_sided, prohibition in product(granting, policy.prohibitions)
    )


def _may_meet(policy: Policy, lore: Lore) -> bool:
    """Of a policy with two rules."""
    own_lore = lore.of(policy)
    bare = without_conditions(policy)
    meeting = [request for request in _requests(policy, own_lore) if _meet(bare, Ask(request, own_lore))]
    if policy == bare or not meeting:
        return bool(meeting)
    worlds = _worlds(policy, own_lore)
    requests = (
        meeting
        if len(meeting) * len(worlds) <= MOST_WORLDS
        else Random(0).sample(meeting, min(len(meeting), 20))
    )
    return any(
        _meet(policy, Ask(_stating(request, facts), own_lore)) for facts in worlds for request in requests
    )


MOST_WORLDS: Final = 300


def _meet(policy: Policy, ask: Ask) -> bool:
    (prohibition,) = policy.prohibitions
    for candidate in candidates(policy, ask):
        way = candidate.way
        parameters = ask.parameters if way is None else witness(way, ask.parameters)
        assert parameters is not None
        touched = touch(prohibition, ask, parameters)
        # Without a way to be anonymized, all columns of the table are needed (decision 28).
        if touched.strikes(candidate) or (way is None and touched.columns):
            return True
    return False


def without_conditions(policy: Policy) -> Policy:
    def bare(rule: RuleT) -> RuleT:
        return replace(
            rule,
            constraints=(),
            refinements=(),
            targets=tuple(Asset(asset.iri) for asset in rule.targets),
            assignees=tuple(Party(party.iri) for party in rule.assignees),
            assigners=(),
        )

    return replace(
        policy,
        permissions=tuple(
            replace(bare(rule), duties=tuple(map(bare, rule.duties))) for rule in policy.permissions
        ),
        prohibitions=tuple(map(bare, policy.prohibitions)),
        obligations=tuple(map(bare, policy.obligations)),
    )


SOMEBODY: Final = IRI("http://example.com/somebody-else")


def _requests(policy: Policy, lore: Lore) -> Iterator[Request]:
    """Each party, action and single target of the world: where rules meet for several, they meet for
    one."""
    duties = [duty for rule in policy.permissions for duty in rule.duties]
    rules = (*policy.rules, *duties)
    parties = {SOMEBODY} | {party.iri for rule in rules for party in rule.assignees} | lore.parties.names
    named = {asset.iri for rule in rules for asset in rule.targets}
    columns = {column for _, column in lore.columns}
    ways = [rule.anonymization for rule in (*policy.permissions, *policy.obligations, *duties)
            if isinstance(rule, Permission | Duty) and rule.anonymization is not None]  # fmt: skip
    used = {column for way in ways for column in columns_of_way(way)}
    actions = lore.actions.names | {rule.action for rule in rules}
    targets = lore.assets.names | named | columns | used
    (prohibition,) = policy.prohibitions
    for party, action in product(sorted(parties), sorted(actions)):
        forbidden = prohibition.assignees or (Party(party),)
        if lore.actions.within(action, prohibition.action) is not False and any(
            lore.parties.within(party, each.iri) is not False for each in forbidden
        ):
            yield from (
                Request(party=party, action=action, targets=(target,)) for target in sorted(targets)
            )


def _stating(request: Request, facts: Sequence[Fact]) -> Request:
    parameters = tuple(fact for fact in facts if fact.operand in {terms.K, terms.L, terms.METHOD})
    return replace(
        request, parameters=parameters, facts=tuple(fact for fact in facts if fact not in parameters)
    )


def conditions_of(policy: Policy) -> Iterator[Condition]:
    duties = [duty for rule in policy.permissions for duty in rule.duties]
    for rule in (*policy.rules, *duties):
        yield from rule.constraints
        yield from rule.refinements
        for part in (*rule.targets, *rule.assignees, *rule.assigners):
            yield from part.refinements


def leaves_of(condition: Condition) -> Iterator[Comparison | ColumnComparison]:
    if isinstance(condition, Logical):
        for operand in condition.operands:
            yield from leaves_of(operand)
    else:
        yield condition


def _worlds(policy: Policy, lore: Lore) -> list[tuple[Fact, ...]]:
    """All that may be stated of the operands that the policy compares, as far as it can tell it apart."""
    listed: dict[IRI, set[Value]] = {}
    for condition in conditions_of(policy):
        for leaf in leaves_of(condition):
            if isinstance(leaf, Comparison) and leaf.unit is None:
                listed.setdefault(leaf.operand, set()).update(leaf.values)
    choices = [
        [(), *((Fact(operand, values),) for values in _statements(operand, tuple(near), lore))]
        for operand, near in sorted(listed.items())
    ]
    if prod(map(len, choices)) <= MOST_WORLDS:
        several = list(product(*choices))
    else:
        random = Random(0)
        several = [tuple(map(random.choice, choices)) for _ in range(MOST_WORLDS)]
    return [tuple(fact for facts in chosen for fact in facts) for chosen in several]


def _statements(operand: IRI, listed: Sequence[Value], lore: Lore) -> list[tuple[Value, ...]]:
    singles = sorted({near for value in listed for near in _near(value, operand, lore)}, key=repr)
    is_single = operand in {ODRL_PURPOSE, DATE_TIME, terms.K, terms.L, terms.METHOD}
    pairs = [] if is_single else list(combinations(singles, 2))
    return [*((value,) for value in singles), *pairs]


def _near(value: Value, operand: IRI, lore: Lore) -> set[Value]:
    """Values that compare with this one in each way there is."""
    second = timedelta(seconds=1)
    match value:
        case Number(value=number):
            return {Number(number + step) for step in (-1, 0, 1)}
        case Text():
            return {value, Text("something else")}
        case Named():
            order = lore.purposes if operand == ODRL_PURPOSE else lore.parties
            return {value, Named(SOMEBODY), *map(Named, order.names)}
        case Instant() | Day():
            moments = {moment for span in _spans(value) for moment in span}
            close = {moment + step for moment in moments for step in (-second, 0 * second, second)}
            local = {moment.replace(tzinfo=None) for moment in close}
            return {*map(Instant, close | local), *(Day(moment.date()) for moment in close)}
    return {value}


# --- The decision


@dataclass(frozen=True)
class Granted:
    policy: IRI
    rule: IRI
    withheld: frozenset[IRI]
    owed: frozenset[IRI]
    by_row: bool
    """Whether it is limited to rows."""
    rows: frozenset[int]
    """Which of some rows it grants, by number."""

    @property
    def is_limited(self) -> bool:
        return bool(self.withheld or self.owed or self.by_row)


@dataclass(frozen=True)
class Verdict:
    effect: str
    """As the product names it."""
    grants: frozenset[Granted]
    forbidding: frozenset[tuple[IRI, IRI]]
    """Policy and uid of the prohibitions that strike what would be granted."""


def is_in_force(policy: Policy, request: Request) -> Truth:
    """An Offer never is; outside of `dct:valid` no policy is."""
    if policy.type is PolicyType.OFFER:
        return False
    if policy.valid is None:
        return True
    if request.time is None:
        return None
    now = Instant(request.time)
    start, end = policy.valid.start, policy.valid.end
    return every(
        [
            start is None or compare(Operator.GTEQ, now, Instant(start), None),
            end is None or compare(Operator.LT, now, Instant(end), None),
        ]
    )


class Evaluator:
    """Decides requests by policies."""

    def __init__(
        self, policies: Sequence[Policy], lore: Lore, void: Sequence[bool], rows: Sequence[Row]
    ) -> None:
        self.lore = lore
        self.rows = rows
        self.policies = tuple(zip(policies, void, strict=True))
        """Each with whether it contradicts itself, and says that this makes it void."""

    def decide(self, request: Request) -> Verdict:
        in_force = {
            policy.uid: (Ask(request, self.lore.of(policy)), policy, is_void)
            for policy, is_void in self.policies
            if is_in_force(policy, request) is not False
        }
        granting = [
            candidate
            for ask, policy, is_void in in_force.values()
            if not is_void and is_in_force(policy, request)
            for candidate in candidates(policy, ask)
        ]
        chosen = [each for each in granting if request.rule in {None, each.uid, each.duty}]
        against = [
            (policy, prohibition, ask)
            for ask, policy, _ in in_force.values()
            for prohibition in policy.prohibitions
        ]
        judged = [judge(candidate, against, self.rows) for candidate in chosen]
        grants = frozenset(granted for granted in judged if isinstance(granted, Granted))
        if grants:
            return Verdict(
                "limited" if all(each.is_limited for each in grants) else "permit", grants, frozenset()
            )
        forbidding = frozenset(name for names in judged if not isinstance(names, Granted) for name in names)
        if not chosen:
            lenient = {each.policy for each in granting if each.policy.conflict is ConflictStrategy.PERMIT}
            forbidding = frozenset(
                (policy.uid, prohibition.uid)
                for policy, prohibition, ask in against
                if policy not in lenient and touch(prohibition, ask, ask.parameters).is_whole
            )
        if any(not in_force[policy][-1] for policy, _ in forbidding):
            return Verdict("deny", grants, forbidding)
        if any(is_void and decides(policy, ask) for ask, policy, is_void in in_force.values()):
            return Verdict("void", grants, forbidding)
        is_applicable = bool(granting) or any(
            is_about(rule, Ask(request, self.lore.of(policy)))
            for policy, _ in self.policies
            for rule in rules_of(policy, Ask(request, self.lore.of(policy)))
        )
        return Verdict("deny" if is_applicable else "not applicable", grants, forbidding)


def judge(
    candidate: Candidate, against: Iterable[tuple[Policy, Prohibition, Ask]], rows: Sequence[Row]
) -> Granted | frozenset[tuple[IRI, IRI]]:
    """What is granted, or the prohibitions that strike it.

    A prohibition always wins, also over other policies; the strategy `perm` spares what the same policy
    permits.
    """
    striking, withholding, withheld = set(), set(), set()
    for policy, prohibition, ask in against:
        if policy is candidate.policy and policy.conflict is ConflictStrategy.PERMIT:
            continue
        parameters = ask.parameters if candidate.way is None else witness(candidate.way, ask.parameters)
        assert parameters is not None
        touched = touch(prohibition, ask, parameters)
        if touched.strikes(candidate):
            striking.add((policy.uid, prohibition.uid))
        if touched.columns:
            withholding.add((policy.uid, prohibition.uid))
            withheld |= touched.columns
    columns = candidate.ask.request.columns
    if columns and columns <= withheld:
        striking |= withholding  # nothing is left of the table (decision 28)
    if striking:
        return frozenset(striking)
    owed = frozenset(duty.uid for duty in candidate.owed)
    granted_rows = frozenset(number for number, row in enumerate(rows) if candidate.grants_row(row))
    return Granted(
        candidate.policy.uid,
        candidate.uid,
        frozenset(withheld),
        owed,
        bool(candidate.limiting),
        granted_rows,
    )


def decides(policy: Policy, ask: Ask) -> bool:
    """Whether a rule of a void policy would permit or forbid, were its policy not void."""
    plain = [replace(prohibition, refinements=()) for prohibition in policy.prohibitions]
    if any(touch(prohibition, ask, {}) != NOTHING for prohibition in plain):
        return True
    return is_in_force(policy, ask.request) is True and any(True for _ in candidates(policy, ask))


def rules_of(policy: Policy, ask: Ask) -> Iterator[Rule]:
    """With what its duties to anonymize amount to, where that is what is requested."""
    yield from policy.rules
    for permission in policy.permissions if ask.request.action == terms.ANONYMIZE else ():
        for duty in permission.duties:
            if duty.anonymization is not None and is_for_reading(permission, ask):
                yield replace(
                    permission, action=terms.ANONYMIZE, anonymization=duty.anonymization, duties=()
                )


def is_about(rule: Rule, ask: Ask) -> bool:
    """Whether a rule is about the action and a target."""
    if ask.lore.actions.within(ask.request.action, rule.action) is False:
        return False
    return any(
        touch_of_asset(asset, target, ask) != NOTHING
        for asset, target in product(rule.targets, ask.request.targets)
    )
