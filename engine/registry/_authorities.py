"""The authorities whose hierarchies owners trust, inside a transaction.

A hierarchy decides who is meant by a policy. So for an owner's targets only those count that the owner
added, or an authority that the owner trusts, such as the operator of a data market.
"""

from sqlalchemy import Connection, insert, select, update

from smalti.engine.registry import _tables as db
from smalti.engine.registry._journal import note, tick
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


def check_speaks_for_themselves(owner: IRI, by: IRI, what: str) -> None:
    """Refuse a party who acts for another owner."""
    if owner != by:
        raise UsageError(str(owner), f"{by} may not say {what}", "the owner", "ask the owner to do it")


def trusted(connection: Connection) -> dict[IRI, frozenset[IRI]]:
    """The authorities that each owner trusts now."""
    authorities: dict[IRI, frozenset[IRI]] = {}
    rows = connection.execute(select(db.authorities).where(db.authorities.c.ended_at.is_(None))).all()
    for row in rows:
        owner = IRI(row.owner)
        authorities[owner] = authorities.get(owner, frozenset()) | {IRI(row.authority)}
    return authorities


def trust(connection: Connection, owner: IRI, authority: IRI) -> None:
    """Let an authority's hierarchies count for an owner's targets from now on."""
    if authority not in trusted(connection).get(owner, ()):
        values = {"owner": owner, "authority": authority, "trusted_at": tick(connection)}
        connection.execute(insert(db.authorities).values(values))
        note(connection, "authority", owner)


def check_is_trusted(connection: Connection, owner: IRI, authority: IRI) -> None:
    """Refuse an authority that the owner does not trust."""
    if authority not in trusted(connection).get(owner, ()):
        raise UsageError(
            str(authority), f"{owner} does not trust its vocabularies", "an authority that the owner trusts"
        )


def distrust(connection: Connection, owner: IRI, authority: IRI) -> None:
    """Let an authority's hierarchies count no longer."""
    where = (db.authorities.c.owner == owner) & (db.authorities.c.authority == authority)
    ended = update(db.authorities).where(where, db.authorities.c.ended_at.is_(None))
    connection.execute(ended.values(ended_at=tick(connection)))
    note(connection, "authority", owner)
