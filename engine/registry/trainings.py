"""The room of attempts to train models under audit duties.

Attempts are counted by data, not by names. All attempts count together whose targets had files with the
same bytes, or are about the same respondents as far as the registry knows: by files that were read, by
inputs, and by collections (the members of one ledger, `_budgets`). Data that was rewritten under another
IRI, for example in another order, is not recognised.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, Row, func, insert, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _budgets
from smalti.engine.registry import _tables as db
from smalti.engine.registry._claims import check_claim
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._journal import tick
from smalti.engine.registry._people import same_respondents
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.attempts import Attempt, AttemptState, from_record
from smalti.errors import InternalError
from smalti.vocab.terms import IRI

_OPEN: Final = tuple(
    state.value for state in (AttemptState.BEGUN, AttemptState.STOPPED, AttemptState.FAILED)
)
"""States that another state may follow: a run that stopped or failed can be resumed."""


@public_methods
@dataclass(frozen=True, slots=True)
class Trainings:
    """Attempts at models; none is ever removed, and each ends once."""

    _shared: Shared

    def begin(
        self,
        attempt: Attempt,
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        said_by: IRI | None = None,
    ) -> Attempt:
        """Record that a model is about to be trained under an audit duty; this is never undone.

        Who bound its target to data owns that from now on, where nobody did.

        Args:
            attempt: its number is ignored.
            memberships: what the policy says of assets and the collections that they belong to.
            said_by: the owner whose word the policy is; None: who bound the target.

        Returns:
            The attempt, with its number among all at models of the same data (see `Ledger.charge`).

        Raises:
            UsageError: somebody else owns the target by now; nothing may be trained.
            RegistryError: the registry cannot be written; nothing may be trained.
        """

        def check(connection: Connection) -> None:
            facts = self._shared.facts(connection)
            check_claim(connection, facts, attempt.target, attempt.inputs, attempt.bound_by)

        def write(connection: Connection, _: None) -> Attempt:
            _assets.claim_sources(connection, [attempt.target], attempt.bound_by)
            vocabularies, of, by = self._shared.vocabularies, (attempt.target,), attempt.bound_by
            assets = same_respondents(connection, vocabularies, of, memberships, by, said_by)
            return _begin(connection, attempt, assets)

        return self._shared.database.change(check, write, looks_first=False)

    def end(self, run: str, state: AttemptState, figures: str = "") -> None:
        """Record the outcome of an attempt.

        Raises:
            InternalError: it has ended, or never began.
            RegistryError: the registry cannot be written.
        """

        def write(connection: Connection, _: None) -> None:
            _end(connection, run, state, figures)

        self._shared.database.change(unchecked, write)

    def about(self, target: IRI | None = None) -> tuple[Attempt, ...]:
        """Attempts to train on a target, or to produce it; oldest first. Figures for its owners only.

        Args:
            target: None: all of the registry.
        """
        with self._shared.database.reading() as connection:
            return _attempts(connection, target)


def _begin(connection: Connection, attempt: Attempt, assets: Iterable[IRI]) -> Attempt:
    """Record an attempt under the next number.

    Args:
        connection: of the transaction.
        attempt: its own number is ignored.
        assets: its target, and all assets whose respondents the target may have.
    """
    _budgets.note_read(connection, assets, attempt.inputs)
    number = 1 + _count(connection, attempt.target)
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
            begun_at=_assets.to_text(attempt.begun_at),
            figures="",
        )
    )
    return replace(attempt, number=number)


def _count(connection: Connection, target: IRI) -> int:
    """How many attempts there were at models of the same data."""
    members = db.ledger_members
    ledger = select(members.c.ledger).where(members.c.member == target)
    same_data = select(members.c.member).where(members.c.ledger.in_(ledger))
    same = (db.audits.c.target == target) | db.audits.c.target.in_(same_data)
    return connection.execute(select(func.count()).select_from(db.audits).where(same)).scalar_one()


def _end(connection: Connection, run: str, state: AttemptState, figures: str) -> None:
    done = connection.execute(
        update(db.audits)
        .where(db.audits.c.run == run, db.audits.c.state.in_(_OPEN))
        .values(state=state.value, figures=figures, ended_at=tick(connection))
    )
    if done.rowcount != 1:
        raise InternalError("an attempt ended that was not under way")


def _attempts(connection: Connection, target: IRI | None) -> tuple[Attempt, ...]:
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
        begun_at=_assets.to_time(row.begun_at),
        state=AttemptState(row.state),
        ended_at=None if row.ended_at is None else _assets.to_time(row.ended_at),
        figures=figures,
        reason=reason,
    )
