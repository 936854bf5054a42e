"""The registry's tables, and how its database is opened: SQLite now, anything SQLAlchemy speaks later."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from smalti.errors import RegistryError

SCHEMA_VERSION: Final = 1
_BUSY_MILLISECONDS: Final = 30_000

metadata = MetaData()

meta = Table(
    "smalti_meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", String(255), nullable=False),
)
assets = Table(
    "assets",
    metadata,
    Column("iri", Text, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("registered_at", String(40), nullable=False),
)
owners = Table(
    "owners",
    metadata,
    Column("iri", Text, ForeignKey("assets.iri"), primary_key=True),
    Column("party", Text, primary_key=True),
)
documents = Table(
    "documents",
    metadata,
    Column("digest", String(80), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
policies = Table(
    "policies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", Text, nullable=False, index=True),
    Column("digest", String(80), ForeignKey("documents.digest"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("added_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)
policy_targets = Table(
    "policy_targets",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("target", Text, primary_key=True, index=True),
)
policy_uids = Table(
    "policy_uids",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("uid", Text, primary_key=True, index=True),
)
versions = Table(
    "versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("target", Text, ForeignKey("assets.iri"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("run", String(36), nullable=False, unique=True),
    Column("path", Text, nullable=False),
    Column("format", String(16), nullable=False),
    Column("output_digest", String(80), nullable=False),
    Column("plan", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("policy_digest", String(80), ForeignKey("documents.digest"), nullable=False),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("party", Text, nullable=False),
    Column("purpose", Text),
    Column("created_at", String(40), nullable=False),
    Column("certificate", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("details", Text, nullable=False),
    UniqueConstraint("target", "number"),
)
lineage = Table(
    "lineage",
    metadata,
    Column("version", Integer, ForeignKey("versions.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("input", Text, ForeignKey("assets.iri"), nullable=False, index=True),
    Column("input_version", Integer),
)
intents = Table(
    "intents",
    metadata,
    Column("run", String(36), primary_key=True),
    Column("stage", Text, nullable=False),
    Column("out", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("created_at", String(40), nullable=False),
)

_SQLITE_PROBLEMS: Final = {
    "SQLITE_BUSY": ("another program is writing to it", "try again when that program has ended"),
    "SQLITE_NOTADB": ("it is not a registry", "name another file with --registry"),
    "SQLITE_CORRUPT": ("it is damaged", "restore it from a backup"),
    "SQLITE_FULL": ("the disk is full", "make room, then try again"),
    "SQLITE_READONLY": ("it cannot be written", "check the permissions of the file and of its folder"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "check the permissions of the file and of its folder"),
    "SQLITE_IOERR": ("reading or writing it failed", "check the disk, then try again"),
    "SQLITE_PERM": ("it cannot be opened", "check the permissions of the file and of its folder"),
}


class Database:
    """Transactions on the registry's database.

    A file is made by the first write, complete and at once: a missing file reads as an empty registry,
    and no reader ever sees half a schema.
    """

    def __init__(self, location: Path | str) -> None:
        file = location if isinstance(location, Path) else _sqlite_file(location)
        self.path = None if file is None else Path(os.path.abspath(file))
        self.name = str(location) if isinstance(location, Path) else _without_password(location)
        self._engine = _url_engine(str(location)) if self.path is None else _file_engine(self.path)
        self._is_checked = False

    @property
    def exists(self) -> bool:
        """False while nothing has been written."""
        if self.path is not None:
            return self.path.exists()
        if not self._is_checked:
            with self._translated(), self._engine.connect() as connection:
                return inspect(connection).has_table(meta.name)
        return True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view of the registry; an empty one where there is no file."""
        exists = self.exists
        engine = self._engine if exists else _memory_engine()
        with self._translated(), engine.connect() as connection, connection.begin():
            if exists:
                self._check(connection)
            else:
                _create_schema(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, all or nothing; makes the registry where there is none.

        Raises:
            RegistryError: the database cannot be written; nothing was changed.
        """
        if self.path is not None and not self.path.exists():
            self._create(self.path)
        with self._translated(), self._engine.connect() as connection:
            writer = connection.execution_options(smalti_writes=True)
            with writer.begin():
                if self.path is None:
                    _create_schema(writer)
                self._check(writer)
                yield writer

    def _create(self, path: Path) -> None:
        """Make the file complete under another name, then link it to its own: exclusive and atomic."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with self._translated():
                _fill(draft)
            os.link(draft, path)
            sync_folder(path.parent)
        except FileExistsError:
            return  # another process was first; its registry is as good
        except OSError as error:
            raise RegistryError(
                self.name,
                f"the registry cannot be made ({error.strerror})",
                "a file in a folder that exists, on a local disk, and that you may write to",
                "make the folder, or name another file with --registry",
            ) from None
        finally:
            draft.unlink(missing_ok=True)

    def _check(self, connection: Connection) -> None:
        if self._is_checked:
            return
        if not inspect(connection).has_table(meta.name):
            raise self._error("it is not a registry", "name another file with --registry")
        version = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
        if version != str(SCHEMA_VERSION):
            raise RegistryError(
                self.name,
                f"the registry has schema version {version}",
                f"version {SCHEMA_VERSION}, which is what this smalti knows",
                "use the smalti that wrote it, or a newer one",
            )
        self._is_checked = True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        # The database's own messages quote statements and values: none of them leaves this module.
        try:
            yield
        except DBAPIError as error:
            name = str(getattr(error.orig, "sqlite_errorname", ""))
            key = "_".join(name.split("_")[:2])
            unknown = (f"the database failed {name}".rstrip(), "")
            raise self._error(*_SQLITE_PROBLEMS.get(key, unknown)) from None
        except SQLAlchemyError as error:
            raise self._error(f"the database failed ({type(error).__name__})", "") from None

    def _error(self, problem: str, way_out: str) -> RegistryError:
        return RegistryError(self.name, problem, "a registry of smalti", way_out)


def _fill(draft: Path) -> None:
    engine = _file_engine(draft)
    with engine.connect() as connection:
        # Outside any transaction, because SQLite changes its journal only there. The file remembers it.
        cursor = connection.connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.close()
        with connection.execution_options(smalti_writes=True).begin():
            _create_schema(connection)


def _create_schema(connection: Connection) -> None:
    metadata.create_all(connection)
    if connection.execute(select(meta.c.value).where(meta.c.key == "schema")).first() is None:
        connection.execute(insert(meta).values(key="schema", value=str(SCHEMA_VERSION)))


def _file_engine(path: Path) -> Engine:
    return _sqlite_engine(URL.create("sqlite", database=str(path)))


def _memory_engine() -> Engine:
    return _sqlite_engine(URL.create("sqlite"))


def _sqlite_engine(url: URL) -> Engine:
    # No pool: a connection lives as long as its transaction, so nothing is held, forked or leaked.
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # Python's module would send its own BEGIN, late and deferred: `_begin_sqlite` sends ours instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("foreign_keys=ON", f"busy_timeout={_BUSY_MILLISECONDS}", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # INVARIANT: a transaction that writes takes the write lock first. One that reads first and writes
    # later fails at once when somebody else has written in between, whatever the busy timeout.
    writes = connection.get_execution_options().get("smalti_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _url_engine(url: str) -> Engine:
    try:
        return create_engine(url, hide_parameters=True, isolation_level="SERIALIZABLE")
    except (SQLAlchemyError, ImportError) as error:
        raise RegistryError(
            _without_password(url),
            f"the registry's address cannot be used ({type(error).__name__})",
            "a path, or an address such as postgresql+psycopg://host/database with its driver installed",
            "install the driver, or mend the address",
        ) from None


def _sqlite_file(url: str) -> Path | None:
    """The file that an address means, where it is one of SQLite's."""
    with suppress(SQLAlchemyError):
        address = make_url(url)
        if address.get_backend_name() == "sqlite" and address.database:
            return Path(address.database)
    return None


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except SQLAlchemyError:
        return "--registry"


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
