"""Attempts at models, inside a transaction.

Attempts are counted by data, and not by names: all at models of one target, and of every other target whose
files had the same bytes, or that is of the same respondents as far as the registry knows: by what was read,
by what it was made from, and by the collections that it belongs to (the members of one ledger, `_budgets`).
Data that was written anew under another IRI, in another order say, is not seen to be the same.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Row, func, insert, select, update

from smalti.engine.registry import _budgets
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_text, to_time
from smalti.engine.registry._journal import tick
from smalti.engine.registry.attempts import Attempt, AttemptState, from_record
from smalti.errors import InternalError
from smalti.vocab.terms import IRI

_OPEN: Final = tuple(one.value for one in (AttemptState.BEGUN, AttemptState.STOPPED, AttemptState.FAILED))
"""States that another one may follow: a run that was stopped or failed can be taken up again."""


def begin(connection: Connection, attempt: Attempt, assets: Iterable[IRI]) -> Attempt:
    """Write down that a model is about to be trained; its number is the next one.

    Args:
        connection: of the transaction.
        attempt: its number is not looked at.
        assets: its target, and all whose respondents that may have.
    """
    _budgets.note_read(connection, assets, attempt.inputs)
    number = 1 + _begun(connection, attempt.target)
    connection.execute(
        insert(db.audits).values(
            run=attempt.run,
            target=attempt.target,
            output=attempt.output,
            policy_uid=attempt.policy_uid,
            rule_uid=attempt.rule_uid,
            party=attempt.party,
            bound_by=attempt.bound_by,
            plan_digest=attempt.plan_digest,
            number=number,
            state=AttemptState.BEGUN.value,
            begun_at=to_text(attempt.begun_at),
            figures="",
        )
    )
    return replace(attempt, number=number)


def _begun(connection: Connection, target: IRI) -> int:
    """How many attempts there were at models of the same data."""
    members = db.ledger_members
    ledger = select(members.c.ledger).where(members.c.member == target)
    same_data = select(members.c.member).where(members.c.ledger.in_(ledger))
    same = (db.audits.c.target == target) | db.audits.c.target.in_(same_data)
    return connection.execute(select(func.count()).select_from(db.audits).where(same)).scalar_one()


def end(connection: Connection, run: str, state: AttemptState, figures: str) -> None:
    """Write down what became of an attempt, once."""
    done = connection.execute(
        update(db.audits)
        .where(db.audits.c.run == run, db.audits.c.state.in_(_OPEN))
        .values(state=state.value, figures=figures, ended_at=tick(connection))
    )
    if done.rowcount != 1:
        raise InternalError("an attempt ended that was not under way")


def attempts(connection: Connection, target: IRI | None) -> tuple[Attempt, ...]:
    """All attempts to learn from a target, or to make it; oldest first. None: all of the registry."""
    query = select(db.audits).order_by(db.audits.c.id)
    if target is not None:
        query = query.where((db.audits.c.target == target) | (db.audits.c.output == target))
    return tuple(map(_to_attempt, connection.execute(query).all()))


def _to_attempt(row: Row[tuple[Any, ...]]) -> Attempt:
    figures, reason = from_record(row.figures)
    return Attempt(
        run=row.run,
        target=IRI(row.target),
        output=IRI(row.output),
        policy_uid=IRI(row.policy_uid),
        rule_uid=IRI(row.rule_uid),
        party=IRI(row.party),
        bound_by=IRI(row.bound_by),
        plan_digest=row.plan_digest,
        number=row.number,
        begun_at=to_time(row.begun_at),
        state=AttemptState(row.state),
        ended_at=None if row.ended_at is None else to_time(row.ended_at),
        figures=figures,
        reason=reason,
    )
