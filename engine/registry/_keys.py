"""Keys that sign for owners, inside a transaction."""

from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_time
from smalti.engine.registry._journal import note, tick
from smalti.engine.registry.entries import TrustedKey
from smalti.engine.registry.signatures import PublicKey, signing_key
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


def trust(connection: Connection, owner: IRI, key: PublicKey) -> None:
    """Let a key sign for an owner from now on."""
    same = _trusted(owner).where(db.keys.c.thumbprint == key.thumbprint)
    if connection.execute(same).first() is None:
        values = {
            "owner": owner,
            "thumbprint": key.thumbprint,
            "pem": key.pem,
            "trusted_at": tick(connection),
        }
        connection.execute(insert(db.keys).values(values))
        note(connection, "key", owner)


def revoke(connection: Connection, owner: IRI, thumbprint: str) -> None:
    """End the trust in a key."""
    where = (db.keys.c.owner == owner) & (db.keys.c.thumbprint == thumbprint)
    ended = update(db.keys).where(where, db.keys.c.revoked_at.is_(None)).values(revoked_at=tick(connection))
    connection.execute(ended)
    note(connection, "key", owner)


def check_is_trusted(connection: Connection, owner: IRI, thumbprint: str) -> None:
    """Refuse a key that does not sign for the owner."""
    if connection.execute(_trusted(owner).where(db.keys.c.thumbprint == thumbprint)).first() is None:
        raise UsageError(
            thumbprint,
            f"no such key is trusted for {owner}",
            "the thumbprint of a trusted key",
            "list the owner's keys",
        )


def listed(connection: Connection) -> tuple[TrustedKey, ...]:
    """All keys that were ever trusted, in that order."""
    rows = connection.execute(select(db.keys).order_by(db.keys.c.id)).all()
    return tuple(_to_key(row) for row in rows)


def check_signature(
    connection: Connection, owner: IRI, document: bytes, signature: bytes | None, name: str
) -> str | None:
    """The thumbprint of the key that signed an owner's document; None if no signature is needed.

    Once a key was trusted for an owner, each document needs a signature, also after all keys were revoked:
    otherwise revoking the keys would remove the need for one.

    Raises:
        UsageError: a signature is missing, or is not that of a trusted key on these bytes.
    """
    must_sign = connection.execute(select(db.keys.c.id).where(db.keys.c.owner == owner)).first() is not None
    if signature is None and not must_sign:
        return None
    if signature is None:
        raise UsageError(
            name,
            f"it is not signed, but policies of {owner} must be: the registry has a key of this owner",
            "a detached signature by a key that is trusted for the owner",
            "sign the document, or ask its owner to sign it",
        )
    rows = connection.execute(_trusted(owner).order_by(db.keys.c.id)).all()
    keys = [PublicKey(row.thumbprint, row.pem) for row in rows]
    return signing_key(signature, document, keys, name).thumbprint


def signed(key: str | None, signature: bytes | None) -> tuple[str, bytes] | None:
    """The thumbprint of the key that signed a document, with the signature, where there are both."""
    return None if key is None or signature is None else (key, signature)


def trusted(connection: Connection) -> frozenset[tuple[IRI, str]]:
    """Each owner with each thumbprint that signs for them."""
    rows = connection.execute(select(db.keys).where(db.keys.c.revoked_at.is_(None))).all()
    return frozenset((IRI(row.owner), row.thumbprint) for row in rows)


def _trusted(owner: IRI) -> Select[tuple[Any, ...]]:
    return select(db.keys).where(db.keys.c.owner == owner, db.keys.c.revoked_at.is_(None))


def _to_key(row: Row[tuple[Any, ...]]) -> TrustedKey:
    revoked_at = to_time(row.revoked_at) if row.revoked_at else None
    return TrustedKey(IRI(row.owner), row.thumbprint, to_time(row.trusted_at), revoked_at)
