"""The room of keys that sign policies."""

from dataclasses import dataclass

from sqlalchemy import Connection

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _keys
from smalti.engine.registry._authorities import check_speaks_for_themselves
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import TrustedKey
from smalti.engine.registry.signatures import read_public_key
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that sign for each owner."""

    _shared: Shared

    def trust(self, owner: IRI, public_key_pem: bytes, by: IRI) -> TrustedKey:
        """See `Registry.trust_key`."""
        check_speaks_for_themselves(owner, by, "which keys sign for this owner")
        key = read_public_key(public_key_pem, f"the key of {owner}")

        def write(connection: Connection, _: None) -> list[TrustedKey]:
            _keys.trust(connection, owner, key)
            return [trusted for trusted in _keys.listed(connection) if trusted.is_trusted]

        keys = self._shared.database.change(unchecked, write)
        return next(
            trusted for trusted in keys if (trusted.owner, trusted.thumbprint) == (owner, key.thumbprint)
        )

    def revoke(self, owner: IRI, thumbprint: str, by: IRI) -> None:
        """See `Registry.revoke_key`."""
        check_speaks_for_themselves(owner, by, "which keys sign for this owner")

        def check(connection: Connection) -> None:
            _keys.check_is_trusted(connection, owner, thumbprint)

        def write(connection: Connection, _: None) -> None:
            _keys.revoke(connection, owner, thumbprint)

        self._shared.database.change(check, write)

    def listed(self) -> tuple[TrustedKey, ...]:
        """All keys that were ever trusted, in that order."""
        with self._shared.database.reading() as connection:
            return _keys.listed(connection)

    def check_signature(self, document: bytes, signature: bytes | None, issuer: IRI, name: str) -> None:
        """Refuse a document that must be signed and is not, or whose signature is wrong.

        Raises:
            UsageError: as `Registry.add_policy`.
        """
        with self._shared.database.reading() as connection:
            _keys.check_signature(connection, issuer, document, signature, name)
