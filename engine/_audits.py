"""Attempts at models, inside a transaction."""

from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, func, insert, select, update

from smalti.engine import _database as db
from smalti.engine._assets import now_text, to_text, to_time
from smalti.engine.audits.attempts import Attempt, AttemptState
from smalti.errors import InternalError
from smalti.vocab.terms import IRI

_OPEN: Final = tuple(one.value for one in (AttemptState.BEGUN, AttemptState.STOPPED, AttemptState.FAILED))
"""States that another one may follow: a run that was stopped or failed can be taken up again."""


def begin(connection: Connection, attempt: Attempt) -> Attempt:
    """Write down that a model is about to be trained; its number is the next one."""
    same = (db.audits.c.target == attempt.target) & (db.audits.c.output == attempt.output)
    number = connection.execute(select(func.count()).select_from(db.audits).where(same)).scalar_one() + 1
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


def end(connection: Connection, run: str, state: AttemptState, figures: str) -> None:
    """Write down what became of an attempt, once."""
    done = connection.execute(
        update(db.audits)
        .where(db.audits.c.run == run, db.audits.c.state.in_(_OPEN))
        .values(state=state.value, figures=figures, ended_at=now_text())
    )
    if done.rowcount != 1:
        raise InternalError("an attempt ended that was not under way")


def attempts(connection: Connection, target: IRI | None) -> tuple[Attempt, ...]:
    """All attempts to learn from a target, or to make it; oldest first. None: all of the registry."""
    query = select(db.audits).order_by(db.audits.c.id)
    if target is not None:
        query = query.where((db.audits.c.target == target) | (db.audits.c.output == target))
    return tuple(
        Attempt(
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
            figures=row.figures,
        )
        for row in connection.execute(query).all()
    )
