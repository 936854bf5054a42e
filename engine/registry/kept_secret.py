"""The secret of a registry that may have recorded digests under it already."""

import os
from pathlib import Path

from sqlalchemy import exists, select

from smalti.engine.registry import _tables
from smalti.engine.registry._database import Database
from smalti.engine.tables import secret as of_tables
from smalti.errors import RegistryError


def load_secret(registry: Path | None) -> bytes:
    """The secret of a registry, created if nothing is recorded under one.

    A new one beside recorded digests would make the same data look like other data, and who withdrew like
    somebody else.

    Args:
        registry: as for `tables.secret.load_secret`.

    Raises:
        RegistryError: it is missing and the registry has recorded digests under it; or as
            `tables.secret.load_secret`.
    """
    path = None if registry is None else of_tables.secret_path(registry)
    is_missing = path is not None and not path.exists() and not os.environ.get(of_tables.ENVIRONMENT)
    if registry is not None and is_missing and _has_digests(registry):
        raise RegistryError(
            str(path),
            "the registry's secret is missing, and the registry has recorded digests under it",
            "the secret of then: under another, the same data looks like other data",
            f"restore it from the backup of the registry, or set {of_tables.ENVIRONMENT} if that was set",
        )
    return of_tables.load_secret(registry)


def _has_digests(registry: Path) -> bool:
    database = Database(registry)
    if not database.exists:
        return False
    kept = (_tables.versions, _tables.withdrawals)
    with database.reading() as connection:
        return any(connection.scalar(select(exists().select_from(table))) for table in kept)
