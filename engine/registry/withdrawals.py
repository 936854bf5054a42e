"""The room of respondents who withdrew."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _withdrawals
from smalti.engine.registry._journal import moment
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.tables.withdrawn import NOBODY, Withdrawn, keyed_with, stored_digests
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Withdrawals:
    """The respondents whom runs leave out; stored as keyed digests, never in clear."""

    _shared: Shared

    def add(self, target: IRI, respondents: Iterable[str], by: IRI, column: str | None = None) -> int:
        """See `Registry.withdraw`."""
        database = self._shared.database

        def check(connection: Connection) -> str:
            _withdrawals.check(connection, self._shared.facts(connection), target, by)
            return _withdrawals.column_of(connection, target, column)

        # Refused before there is a secret; and digests take their time, before others have to wait.
        with database.reading() as connection:
            check(connection)
        keyed = keyed_with(load_secret(database.path))
        digests = [stored_digests([respondent], keyed) for respondent in respondents]

        def write(connection: Connection, listed_by: str) -> int:
            _withdrawals.add(connection, target, listed_by, digests)
            return _withdrawals.count(connection, target)

        return database.change(check, write, looks_first=False)

    def of(
        self,
        target: IRI,
        version: int | None = None,
        *,
        at: datetime | None = None,
        since: datetime | None = None,
    ) -> Withdrawn:
        """Who withdrew from the data behind a target, and could still be in it (see `withdrawn`).

        Args:
            target: whose owner, or the owner of something that it was made from, listed them.
            version: where the target is an output, the one that is read; who had withdrawn before it was
                made is not in it.
            at: as the list was then; None: as it is now.
            since: who withdrew then or later; None: ever.
        """
        until, first = (None if time is None else _assets.to_text(time) for time in (at, since))
        window = _withdrawals.Window(since=first, until=until)
        with self._shared.database.reading() as connection:
            listed = _withdrawals.listed(connection, target, version, window)
        if not listed.digests:
            return NOBODY
        keyed = keyed_with(load_secret(self._shared.database.path))
        return Withdrawn(listed.digests, listed.columns, keyed, listed.count)

    def before(self, version: TargetVersion, target: IRI) -> Withdrawn:
        """Who had withdrawn from an input when a version was made of it: those who did later are in it."""
        asked_at = version.report.withdrawn_at or version.created_at
        numbers = {source.iri: source.version for source in version.inputs}
        return self.of(target, numbers.get(target), at=asked_at)

    def count(self, target: IRI, by: IRI) -> int:
        """See `Registry.count_withdrawn`."""
        with self._shared.database.reading() as connection:
            if by not in self._shared.facts(connection).owners_on_record(target):
                raise UsageError(
                    str(target), f"{by} does not own it", "an owner of the target", "ask one of its owners"
                )
            return _withdrawals.count(connection, target)

    def moment(self) -> datetime:
        """A time after all that was written so far, and before whatever is written next.

        By the registry's clock, which never goes back: those of the machines that use it may differ.
        """
        with self._shared.database.reading() as connection:
            return moment(connection)
