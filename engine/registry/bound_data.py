"""The room of data that owners bound to targets, so that requests name a target alone.

Whoever binds a target that nobody owns becomes its owner, as whoever runs on it does.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_time
from smalti.engine.registry._claims import check_binds, has_others_below
from smalti.engine.registry._journal import tick
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import AssetKind
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class BoundData:
    """Which file a target is, by its owner's word."""

    id: str
    target: IRI
    party: IRI
    """Who bound it."""
    place: Path
    """The file, absolute; for the service alone."""
    name: str
    """As its owner calls the file."""
    is_uploaded: bool
    """True: the service keeps the file, and removes it once it is bound no longer."""
    bound_at: datetime
    digest: str | None = None
    """Of an uploaded file, hexadecimal SHA-256."""
    size: int | None = None
    """Of an uploaded file, in bytes."""
    ended_at: datetime | None = None


@public_methods
@dataclass(frozen=True, slots=True)
class Bindings:
    """Which data each target is."""

    _shared: Shared

    def bind(  # noqa: PLR0913 (what is kept)
        self,
        target: IRI,
        by: IRI,
        place: Path,
        name: str,
        *,
        is_uploaded: bool,
        digest: str | None = None,
        size: int | None = None,
    ) -> tuple[BoundData, BoundData | None]:
        """Bind a target to a file, in place of what it was bound to.

        Args:
            target: a source; who binds it owns it, or becomes the owner where nobody is.
            by: who says so; asserted by the caller.
            place: the file, absolute.
            name: as its owner calls it.
            is_uploaded: as `BoundData.is_uploaded`.
            digest: as `BoundData.digest`.
            size: as `BoundData.size`.

        Returns:
            The new binding, and the one that it ended.

        Raises:
            UsageError: somebody else owns the target or an asset below it, it is an output, or its spelling
                is another one of a registered asset. Nothing was changed.
        """
        row = {
            "id": str(uuid.uuid4()), "target": target, "party": by, "place": str(place), "name": name,
            "is_uploaded": int(is_uploaded), "digest": digest, "size": size,
        }  # fmt: skip

        def check(connection: Connection) -> None:
            self._check(connection, target, by)

        def write(connection: Connection, _: None) -> tuple[BoundData, BoundData | None]:
            _assets.claim_sources(connection, [target], by)
            now = tick(connection)
            in_force = (db.bindings.c.target == target, db.bindings.c.ended_at.is_(None))
            before = connection.execute(select(db.bindings).where(*in_force)).first()
            connection.execute(update(db.bindings).where(*in_force).values(ended_at=now))
            connection.execute(insert(db.bindings).values(row | {"bound_at": now}))
            bound = connection.execute(select(db.bindings).where(db.bindings.c.id == row["id"])).one()
            return _to_bound(bound), None if before is None else _to_bound(before)

        return self._shared.database.change(check, write)

    def check(self, target: IRI, by: IRI) -> None:
        """Refuse a target that a party may not bind, before any data is taken.

        Raises:
            UsageError: as `bind`.
        """
        with self._shared.database.reading() as connection:
            self._check(connection, target, by)

    def _check(self, connection: Connection, target: IRI, by: IRI) -> None:
        facts = self._shared.facts(connection)
        check_binds(facts, target, by)
        _assets.check_spelling(facts, target)
        if by not in facts.full_owners_or(target, by) or has_others_below(connection, facts, target, by):
            raise UsageError(
                str(target), f"{by} does not own it, and may not say what data it is",
                "a target of your own", "choose another IRI, or let its owner bind it",
            )  # fmt: skip
        if facts.kind(target) is AssetKind.OUTPUT:
            raise UsageError(str(target), "it is an output of runs", "a target that is no output")

    def of(self, target: IRI) -> BoundData | None:
        """What a target is bound to; None: nothing."""
        return next(iter(self._bound(db.bindings.c.target == target)), None)

    def in_force(self) -> tuple[BoundData, ...]:
        """All bindings in force, in the order of their targets."""
        return self._bound()

    def _bound(self, *conditions: Any) -> tuple[BoundData, ...]:
        in_force = select(db.bindings).where(db.bindings.c.ended_at.is_(None), *conditions)
        with self._shared.database.reading() as connection:
            rows = connection.execute(in_force.order_by(db.bindings.c.target)).all()
        return tuple(map(_to_bound, rows))

    def end(self, id: str, by: IRI) -> BoundData:
        """Bind a target to nothing any more; what it was bound to is the caller's to remove.

        Raises:
            UsageError: there is no such binding in force, or `by` does not own its target.
        """
        in_force = (db.bindings.c.id == id, db.bindings.c.ended_at.is_(None))

        def check(connection: Connection) -> BoundData:
            row = connection.execute(select(db.bindings).where(*in_force)).first()
            if row is None or by not in self._shared.facts(connection).full_owners(IRI(row.target)):
                raise UsageError(id, "no such data of yours is bound", "the id of data that is bound")
            return _to_bound(row)

        def write(connection: Connection, bound: BoundData) -> BoundData:
            connection.execute(update(db.bindings).where(*in_force).values(ended_at=tick(connection)))
            return bound

        return self._shared.database.change(check, write)


def _to_bound(row: Row[tuple[Any, ...]]) -> BoundData:
    return BoundData(
        row.id,
        IRI(row.target),
        IRI(row.party),
        Path(row.place),
        row.name,
        bool(row.is_uploaded),
        to_time(row.bound_at),
        row.digest,
        row.size,
        to_time(row.ended_at) if row.ended_at else None,
    )
