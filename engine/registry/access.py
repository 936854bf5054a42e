"""The room of who may ask the service: API keys, and the subjects of tokens.

Of a key only a digest is kept. It has 256 random bits, so that a digest without a salt, and one round of
it, tells nothing. All entries stay on record; each is revoked at most once.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, insert, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_time
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._journal import Revision, note, tick
from smalti.engine.registry._shared import Shared
from smalti.errors import UsageError
from smalti.policy.model.iris import accepted_spelling, misspelt_iri
from smalti.vocab.terms import IRI

KEY_PREFIX: Final = "smalti_"
"""What each key begins with, so that one that lies about is recognised."""
_LONGEST: Final = 1024
"""Characters of a label, an issuer or a subject."""


class Role(StrEnum):
    """What somebody may ask for; who owns a target follows from the registry."""

    PARTY = "party"
    """Asks as the party: submits, requests, owns."""
    AUDITOR = "auditor"
    """Sees policies, certificates and owners' reports of all parties, and no data."""
    OPERATOR = "operator"
    """Sees jobs and measurements of the service, and no data."""
    GATEWAY = "gateway"
    """Asks for decisions about other parties, and enforces them; sees what its own party may."""
    CONTROL_PLANE = "control-plane"
    """Starts data flows of its party, and nothing else."""
    RECIPIENT = "recipient"
    """Downloads what one data flow made for its party; the label of the key names the flow. Nobody is given
    it but by a data flow."""


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One way to be recognised as a party."""

    handle: str
    """Public; what revokes it."""
    party: IRI
    roles: frozenset[Role]
    label: str
    """For people; may be empty."""
    added_at: datetime
    revoked_at: datetime | None = None
    digest: str | None = None
    """Of a key, hexadecimal SHA-256; None: it is the subject of tokens."""
    issuer: str | None = None
    subject: str | None = None
    """As tokens of that issuer state it; None: it is a key."""

    @property
    def is_in_force(self) -> bool:
        return self.revoked_at is None


@public_methods
@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask the service, and as whom."""

    _shared: Shared

    def add_key(self, party: IRI, roles: Collection[Role], label: str = "") -> tuple[str, AccessEntry]:
        """Create a key.

        Returns:
            The key, which is kept nowhere, and its entry.

        Raises:
            UsageError: the party is misspelt, there is no role, or the label is too long.
        """
        _check(party, roles, label)
        handle = secrets.token_hex(8)
        key = f"{KEY_PREFIX}{handle}_{secrets.token_urlsafe(32)}"
        entry = self._added(handle, party, roles, {"label": label, "digest": digest_of_key(key)})
        return key, entry

    def map_subject(
        self, issuer: str, subject: str, party: IRI, roles: Collection[Role], label: str = ""
    ) -> AccessEntry:
        """Let the subject of an issuer's tokens ask as a party.

        Raises:
            UsageError: as `add_key`; or the subject is mapped already.
        """
        _check(party, roles, label, issuer, subject)
        same = _in_force().where(db.access.c.issuer == issuer, db.access.c.subject == subject)

        def check(connection: Connection) -> None:
            if (row := connection.execute(same).first()) is not None:
                raise UsageError(
                    "subject", f"it is mapped to {row.party} already", "a subject that is not mapped",
                    f"revoke it first: smalti access revoke {row.handle}",
                )  # fmt: skip

        values = {"label": label, "issuer": issuer, "subject": subject}
        return self._added(secrets.token_hex(8), party, roles, values, check)

    def revoke(self, handle: str) -> AccessEntry:
        """End an entry: from now on nobody is recognised by it.

        Raises:
            UsageError: no such entry is in force.
        """

        def check(connection: Connection) -> None:
            if connection.execute(_in_force().where(db.access.c.handle == handle)).first() is None:
                raise UsageError(
                    handle, "no such entry is in force", "a handle", "`smalti access list` shows them"
                )

        def write(connection: Connection, _: None) -> AccessEntry:
            of_handle = db.access.c.handle == handle
            connection.execute(update(db.access).where(of_handle).values(revoked_at=tick(connection)))
            note(connection, "access", handle)
            return _to_entry(connection.execute(select(db.access).where(of_handle)).one())

        return self._shared.database.change(check, write)

    def listed(self) -> tuple[AccessEntry, ...]:
        """All entries that ever were, in that order."""
        with self._shared.database.reading() as connection:
            rows = connection.execute(select(db.access).order_by(db.access.c.id)).all()
        return tuple(map(_to_entry, rows))

    def revision(self) -> Revision:
        """Changes when any entry does; cheap to ask."""
        return self._shared.database.revision()

    def _added(
        self,
        handle: str,
        party: IRI,
        roles: Collection[Role],
        values: dict[str, str],
        check: Callable[[Connection], None] = unchecked,
    ) -> AccessEntry:
        kind = "subject" if "subject" in values else "key"
        row = {"handle": handle, "kind": kind, "party": party, "roles": ",".join(sorted(roles)), **values}

        def write(connection: Connection, _: None) -> AccessEntry:
            connection.execute(insert(db.access).values(row | {"added_at": tick(connection)}))
            note(connection, "access", handle)
            added = select(db.access).where(db.access.c.handle == handle)
            return _to_entry(connection.execute(added).one())

        return self._shared.database.change(check, write)


def digest_of_key(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _in_force() -> Select[tuple[Any, ...]]:
    return select(db.access).where(db.access.c.revoked_at.is_(None))


def _check(party: IRI, roles: Collection[Role], *texts: str) -> None:
    if problem := misspelt_iri(party):
        way_out = f"write `{accepted_spelling(party)}`"
        raise UsageError(str(party), problem, "a party as policies and requests name it", way_out)
    if not roles or not {*Role}.issuperset(roles):
        problem = "something else than a role is stated" if roles else "no role is stated"
        raise UsageError("role", problem, ", ".join(Role))
    if any(len(text) > _LONGEST for text in texts):
        raise UsageError("access", "a text is too long", f"at most {_LONGEST} characters")


def _to_entry(row: Row[tuple[Any, ...]]) -> AccessEntry:
    return AccessEntry(
        row.handle,
        IRI(row.party),
        frozenset(map(Role, row.roles.split(","))),
        row.label,
        to_time(row.added_at),
        to_time(row.revoked_at) if row.revoked_at else None,
        row.digest,
        row.issuer,
        row.subject,
    )
