"""Reads the facts of a request from text: of the command line, or of a file of tests."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from smalti.errors import UsageError
from smalti.policy.decide.decision import Acceptance, Fact, Stated
from smalti.policy.decide.names import iri, word
from smalti.policy.model.column_iris import column_iri, normalised_column
from smalti.policy.model.iris import iri_problem, misspelt_iri, respelled
from smalti.policy.model.model import Day, Instant, Named, Number, Text, Truth, Value
from smalti.vocab.odrl import LEFT_OPERANDS
from smalti.vocab.terms import IRI, ODRL
from smalti.vocab.words import BY_IRI, Kind, Range

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,32}(\.[0-9]{1,32})?([eE][+-]?[0-9]{1,3})?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_COLUMNS: Final = frozenset({Range.COLUMN, Range.COLUMNS})
_NUMBERS: Final = frozenset({Range.INTEGER, Range.DECIMAL})
_TRUTHS: Final = {"true": True, "false": False}


def value(written: str, where: str) -> Value:
    """The value of a text: a number, a day, a point in time, true or false, an IRI, or the text itself.

    >>> value("20", "--with")
    Number(value=Decimal('20'))
    >>> value("2026-05-01", "--fact")
    Day(day=datetime.date(2026, 5, 1))
    >>> value("http://example.com/party/a", "--fact")
    Named(iri='http://example.com/party/a')

    Raises:
        UsageError: it is a day or a point in time that does not exist, or an IRI in another spelling than
            smalti accepts.
    """
    if _NUMBER.fullmatch(written):
        return Number(Decimal(written))
    if written in _TRUTHS:
        return Truth(_TRUTHS[written])
    if _DAY.fullmatch(written) or _INSTANT.fullmatch(written):
        return _moment(written, where)
    spelled = respelled(written)
    if misspelt_iri(spelled):
        return Named(iri(spelled, where))  # raises, with the spelling that is accepted
    return Text(written) if iri_problem(spelled) else Named(IRI(spelled))


def _moment(written: str, where: str) -> Day | Instant:
    try:
        if _DAY.fullmatch(written):
            return Day(date.fromisoformat(written))
        return Instant(datetime.fromisoformat(written))
    except ValueError:
        raise UsageError(
            where, f"`{written}` does not exist", "an existing date, or date with time"
        ) from None


def time(written: str, where: str) -> datetime:
    """A point in time with its zone; a day means its first instant in UTC.

    Raises:
        UsageError: it is not a point in time, or has no time zone.
    """
    expected = "a time with its zone, such as 2026-05-01T12:00:00Z, or a day"
    is_moment = _DAY.fullmatch(written) or _INSTANT.fullmatch(written)
    moment = _moment(written, where) if is_moment else None
    if isinstance(moment, Day):
        return datetime(moment.day.year, moment.day.month, moment.day.day, tzinfo=UTC)
    if moment is None or moment.time.tzinfo is None:
        raise UsageError(where, f"`{written}` is not a point in time", expected)
    return moment.time


def fact(written: str, where: str) -> Fact:
    """One fact about the world or the party: `OPERAND=VALUE`.

    Raises:
        UsageError: it has another form, or the operand is neither a known word nor an IRI.
    """
    name, value_ = _halves(written, where)
    return Fact(fact_operand(name, where), (value(value_, where),))


def stated(
    facts: Sequence[str],
    stated_by: Sequence[str],
    accepted: Sequence[str],
    on_behalf_of: str | None,
    agreed: str | datetime | None,
) -> Stated:
    """What a call or a command line states with a request, by its arguments' names.

    Raises:
        UsageError: something of it is malformed.
    """
    read_facts = [fact(written, "facts (--fact)") for written in facts]
    return Stated(
        facts=said_by(read_facts, stated_by, "stated_by (--stated-by)"),
        accepted=tuple(acceptance(written, "accepted (--accept)") for written in accepted),
        on_behalf_of=None if on_behalf_of is None else iri(on_behalf_of, "on_behalf_of (--on-behalf-of)"),
        agreed=time(agreed, "agreed (--agreed)") if isinstance(agreed, str) else agreed,
    )


def said_by(facts: Sequence[Fact], written: Sequence[str], where: str) -> tuple[Fact, ...]:
    """Facts with the parties on whose word they are stated, each `OPERAND=PARTY`.

    Raises:
        UsageError: one has another form, is about no stated fact, or names several parties for one.
    """
    parties: dict[IRI, IRI] = {}
    for text in written:
        name, party = _halves(text, where)
        operand = fact_operand(name, where)
        if operand not in {each.operand for each in facts} or operand in parties:
            raise UsageError(
                where, f"`{name}` is no fact of the request, or is named twice", "a fact of --fact, once"
            )
        parties[operand] = iri(party, where)
    return tuple(replace(each, by=parties.get(each.operand)) for each in facts)


def acceptance(written: str, where: str) -> Acceptance:
    """A clause that is accepted: `CLAUSE`, or `CLAUSE=VALUE` for this value alone.

    >>> acceptance("https://w3id.org/catenax/2025/9/policy/Liability", "--accept").values
    ()

    Raises:
        UsageError: it is neither, or the clause is neither a known word nor an IRI.
    """
    name, separator, value_ = written.partition("=")
    if separator and not value_:
        raise UsageError(where, f"`{name}=` has no value", "CLAUSE, or CLAUSE=VALUE")
    return Acceptance(fact_operand(name, where), (value(value_, where),) if separator else ())


def fact_operand(name: str, where: str) -> IRI:
    """The left operand that a fact is about: ODRL's by its name, any other by its IRI."""
    local = name.removeprefix("odrl:")
    if local in LEFT_OPERANDS:
        return IRI(ODRL + local)
    return word(Kind.CONSTRAINT, name, where) if ":" not in name else _operand_iri(name, where)


def _operand_iri(name: str, where: str) -> IRI:
    is_iri = not iri_problem(respelled(name)) or misspelt_iri(name)
    return iri(name, where) if is_iri else word(Kind.CONSTRAINT, name, where)


def parameter(written: str, where: str) -> Fact:
    """One parameter of the requested action: `WORD=VALUE`, for example `k=20`.

    Raises:
        UsageError: it has another form, or the profile has no such word, or the word no such value.
    """
    name, value_ = _halves(written, where)
    operand, stated = word(Kind.REFINEMENT, name, where), value(value_, where)
    entry = BY_IRI.get(operand)
    if entry is not None and entry.range in _NUMBERS and not _is_in(entry.range, stated):
        raise UsageError(where, f"`{name}` must be {entry.range}, not `{value_}`", f"{name}=NUMBER")
    if entry is not None and entry.range in _COLUMNS and isinstance(stated, Named):
        stated = Named(normalised_column(stated.iri))
    return Fact(operand, (stated,))


def about(stated: Fact, target: IRI) -> Fact:
    """A parameter whose columns are named as in the header of a target, with their IRIs.

    >>> about(parameter("measure=age", "--with"), IRI("http://example.com/Customer")).values
    (Named(iri='http://example.com/Customer/age'),)
    """
    entry = BY_IRI.get(stated.operand)
    if entry is None or entry.range not in _COLUMNS:
        return stated
    return Fact(
        stated.operand,
        tuple(
            Named(normalised_column(column_iri(target, column.text)))
            if isinstance(column, Text)
            else column
            for column in stated.values
        ),
    )


def _is_in(range_: Range, stated: Value) -> bool:
    if not isinstance(stated, Number):
        return False
    return range_ is not Range.INTEGER or stated.value == stated.value.to_integral_value()


def _halves(written: str, where: str) -> tuple[str, str]:
    name, separator, value_ = written.partition("=")
    if not separator or not name or not value_:
        raise UsageError(where, f"`{written}` has no word or no value", "WORD=VALUE")
    return name, value_
