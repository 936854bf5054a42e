"""The room of the known columns of tables."""

from dataclasses import dataclass

from smalti.engine.arguments import public_methods
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.registry import _recorded_columns
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.decide.table_columns import spellings
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that registered runs recorded."""

    _shared: Shared

    def of(self, snapshot: Snapshot, target: IRI) -> KnownColumns:
        """The columns that a target is known to have, from its versions and from what was made of it.

        What was recorded under another spelling of its IRI counts, where that is not somebody else's.
        """
        known_columns, owners = NO_COLUMNS, snapshot.owners(target)
        for name in spellings(target):
            if owners and not snapshot.owners(name) <= owners:
                continue
            recorded = snapshot.recorded_columns(name)
            if recorded is None:
                with self._shared.database.reading() as connection:
                    recorded = _recorded_columns.recorded_columns(connection, name)
                snapshot.remember_columns(recorded)
            known_columns |= recorded.known_to(owners)
        return known_columns

    def tables_with(self, snapshot: Snapshot, column: IRI) -> frozenset[IRI]:
        """The targets of which a run that was registered read a column of that IRI, in any spelling."""
        tables = frozenset[IRI]()
        for name in spellings(column):
            recorded = snapshot.tables_with_column(name)
            if recorded is None:
                with self._shared.database.reading() as connection:
                    recorded = _recorded_columns.tables_with_column(connection, name)
                snapshot.remember_tables(name, recorded)
            tables |= recorded
        return tables
