"""Open, read and change a registry's database: an SQLite file, or PostgreSQL by address."""

import logging
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool
from sqlalchemy.sql.compiler import Compiled
from sqlalchemy.util import LRUCache

from smalti.engine.registry import _tables as db
from smalti.engine.registry._journal import NO_REVISION, Revision, last_revision
from smalti.engine.registry._migrations import (
    MENDABLE_VERSIONS,
    SCHEMA_VERSION,
    create_schema,
    mend,
    schema_version,
)
from smalti.errors import RegistryError

# Without a handler of the program's own, SQLAlchemy would tell of a connection that is closed while an
# interrupt comes with a traceback on standard error.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())

_BUSY_MILLISECONDS: Final = 30_000
_WRITERS: Final = 7_645_213_902
"""The advisory lock that each writing transaction on PostgreSQL holds, so that writers come one by one."""

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


_SERVER_PROBLEMS: Final = {
    "08": ("the database server does not answer", "check that it runs, and the address"),
    "28": ("the database server refuses the user", "check the user and the password"),
    "3D": ("the database does not exist", "create it, or correct the address"),
    "53": ("the database server has no room left", "make room, then try again"),
    "55": ("another program is writing to it", "try again when that program has ended"),
    "57": ("the database server ended the connection", "try again"),
    "40": ("another program is writing to it", "try again"),
    "42501": ("the user lacks a permission", "ask the database's owner to grant it"),
}
_UNREACHABLE: Final = ("the database server does not answer", "check that it runs, and the address")


C = TypeVar("C")
R = TypeVar("R")


def unchecked(_connection: Connection) -> None:
    """The check of a change that is always allowed."""


class Database:
    """Transactions on the registry's database.

    The first write creates the file, complete and at once: a missing file reads as an empty registry,
    and no reader ever sees half a schema. A registry of an older version is migrated when it is opened.

    Writers come one by one: on SQLite by its write lock, on PostgreSQL by an advisory lock that is taken
    before anything is read. A writer therefore sees what all earlier ones did, and never fails because of
    another one. Readers wait for nobody, and see one state throughout.
    """

    def __init__(self, location: Path | str) -> None:
        """Remember the location; nothing is opened yet.

        Args:
            location: the path of a file, or the address of a server.
        """
        file = location if isinstance(location, Path) else _sqlite_file(location)
        self.path = None if file is None else Path(os.path.abspath(file))
        self.name = str(location) if isinstance(location, Path) else _without_password(location)
        self._engine = _server_engine(str(location)) if self.path is None else _file_engine(self.path)
        self._is_checked = False
        self._watch = _Watch(self.path or Path())
        # What is kept open is closed when nobody can use it any more.
        self.close = weakref.finalize(self, _close, self._engine, self._watch)

    @property
    def exists(self) -> bool:
        """False while nothing has been written."""
        if self.path is not None:
            return self.path.exists()
        if not self._is_checked:
            with self._translated(), self._engine.connect() as connection:
                return inspect(connection).has_table(db.meta.name)
        return True

    def revision(self) -> Revision:
        """The last change; `NO_REVISION` where there is none. One cheap query."""
        if self._is_checked and self.path is not None:
            with self._translated():
                return self._watch.revision()
        if not self.exists:
            return NO_REVISION
        with self.reading() as connection:
            return last_revision(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view of the registry; an empty one where there is no file."""
        exists = self.exists
        if exists:
            self._prepare()
        engine = self._engine if exists else _memory_engine()
        with self._connected(engine, writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, all or nothing; creates the registry if there is none. For `change`.

        Raises:
            RegistryError: the database cannot be written; nothing was changed.
        """
        if self.path is not None and not self.path.exists():
            self._create(self.path)
        elif self.path is None and not self.exists:
            with self._transaction() as connection:
                create_schema(connection)
        self._prepare()
        with self._transaction() as connection:
            yield connection

    def change(
        self,
        check: Callable[[Connection], C],
        write: Callable[[Connection, C], R],
        *,
        looks_first: bool = True,
    ) -> R:
        """Check, then change: the one way to write.

        INVARIANT: a change relies on a check in its own transaction, in which nobody else writes. The same
        check may be asked before, on a view: whom it refuses need not wait for other writers. That look
        never permits anything. Where there is no registry yet it comes first in any case, so that what is
        refused makes none.

        Args:
            check: raises an error if the change is refused; changes nothing. Called once or twice.
            write: makes the change, from the result of the check in its transaction; raises an error if the
                outcome is not allowed.
            looks_first: whether to check before the transaction where a registry exists; False where the
                check is expensive.

        Raises:
            RegistryError: the database cannot be written; nothing was changed.
        """
        if check is not unchecked and (looks_first or not self.exists):
            with self.reading() as connection:
                check(connection)
        with self.writing() as connection:
            return write(connection, check(connection))

    def copy_to(self, file: Path) -> None:
        """Copy an SQLite file in one state, while others read and write it, to a file that does not exist.

        Raises:
            RegistryError: it cannot be read, the copy cannot be written, or the copy is damaged.
        """
        self._prepare()
        with self._translated(), closing(sqlite3.connect(file)) as copy:
            os.chmod(file, 0o600)
            with closing(sqlite3.connect(str(self.path))) as original:
                original.backup(copy)
            (answer,) = copy.execute("PRAGMA integrity_check").fetchone()
        if answer != "ok":
            raise self._error("it is damaged", "restore it from a backup")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._connected(self._engine, writes=True) as connection:
            if self.path is None:
                connection.execute(text(f"SET LOCAL lock_timeout = {_BUSY_MILLISECONDS}"))
                connection.execute(select(func.pg_advisory_xact_lock(_WRITERS)))
            yield connection

    @contextmanager
    def _connected(self, engine: Engine, *, writes: bool) -> Iterator[Connection]:
        options = self._options(writes=writes)
        with (
            self._translated(),
            engine.connect() as connection,
            connection.execution_options(**options).begin(),
        ):
            yield connection

    def _options(self, *, writes: bool) -> dict[str, Any]:
        if self.path is not None or not self.exists:
            return {"smalti_writes": writes}
        # Each statement of a writer sees what was committed before the lock was its own; the one snapshot
        # of a stricter level would be taken before the lock, and be outdated once it is.
        return {"isolation_level": "READ COMMITTED" if writes else "REPEATABLE READ"}

    def _create(self, path: Path) -> None:
        """Create the file complete under another name, then link it to its own: exclusive and atomic."""
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
                f"the registry cannot be created ({error.strerror})",
                "a file in an existing, writable folder on a local disk",
                "create the folder, or name another file with --registry",
            ) from None
        finally:
            draft.unlink(missing_ok=True)

    def check_again(self) -> None:
        """Check with the next use that this smalti still understands the registry: for what runs long."""
        self._is_checked = False

    def _prepare(self) -> None:
        """Check that this is a registry of the current version; migrate an older one."""
        if self._is_checked:
            return
        version = self._version()
        if version in MENDABLE_VERSIONS:
            with self._transaction() as connection:
                mend(connection)
            version = self._version()
        if version != str(SCHEMA_VERSION):
            raise RegistryError(
                self.name,
                f"the registry has schema version {version}",
                f"version {SCHEMA_VERSION}, which this smalti uses",
                "use the smalti that wrote it, or a newer one",
            )
        self._is_checked = True

    def _version(self) -> str:
        with self._translated(), self._engine.connect() as connection, connection.begin():
            if not inspect(connection).has_table(db.meta.name):
                raise self._error("it is not a registry", "name another file with --registry")
            return schema_version(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        # The database's own messages quote statements and values: none of them leaves this module.
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            raise self._error(*_problem(error)) from None
        except SQLAlchemyError as error:
            raise self._error(f"the database failed ({type(error).__name__})", "") from None

    def _error(self, problem: str, way_out: str) -> RegistryError:
        return RegistryError(self.name, problem, "a registry of smalti", way_out)


class _Watch:
    """Reads the revision of an SQLite file; keeps it open, because opening it takes most of the time.

    Not for several threads at once. An open connection holds no lock between questions.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int, int] | None = None
        """By which process, and which file: after a fork, or under another file, it is opened anew."""

    def revision(self) -> Revision:
        try:
            status = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            self.close()
            return NO_REVISION
        process_and_file = (os.getpid(), status.st_dev, status.st_ino)
        if self._connection is None or process_and_file != self._opened:
            self.close()
            address, seconds = f"{self._path.as_uri()}?mode=rw", _BUSY_MILLISECONDS / 1000
            self._connection = sqlite3.connect(
                address, timeout=seconds, uri=True, isolation_level=None, check_same_thread=False
            )
            self._opened = process_and_file
        try:
            query = "SELECT id, token FROM changes ORDER BY id DESC LIMIT 1"
            last: Revision | None = self._connection.execute(query).fetchone()
        except sqlite3.Error:
            self.close()
            raise
        return last or NO_REVISION

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._opened is not None:
            if self._opened[0] == os.getpid():
                connection.close()
            else:  # the parent's: SQLite forbids a child to touch it
                _PARENTS.append(connection)


_PARENTS: Final[list[sqlite3.Connection]] = []


def _close(engine: Engine, watch: _Watch) -> None:
    engine.dispose()
    watch.close()


def _problem(error: DBAPIError | sqlite3.Error) -> tuple[str, str]:
    original = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(original, "sqlite_errorname", ""))
    if key := "_".join(name.split("_")[:2]):
        return _SQLITE_PROBLEMS.get(key, (f"the database failed {name}", ""))
    state = getattr(original, "sqlstate", None)
    if state is None:
        return _UNREACHABLE if isinstance(error, OperationalError) else ("the database failed", "")
    explained = _SERVER_PROBLEMS.get(state) or _SERVER_PROBLEMS.get(state[:2])
    return explained or (f"the database failed (SQLSTATE {state})", "")


def _fill(draft: Path) -> None:
    with draft.open("r+b") as file:
        file.write(_empty_registry())
        file.flush()
        os.fsync(file.fileno())
    with _file_engine(draft).connect() as connection:
        # Outside any transaction, because SQLite changes its journal only there. The file remembers it.
        cursor = connection.connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.close()


def _file_engine(path: Path) -> Engine:
    return _sqlite_engine(URL.create("sqlite", database=str(path)))


@cache
def _memory_engine() -> Engine:
    """Each connection is to an empty registry of its own."""
    engine = _sqlite_engine(URL.create("sqlite"))
    event.listen(engine, "connect", _make_empty)
    return engine


def _make_empty(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    connection.deserialize(_empty_registry())


@cache
def _empty_registry() -> bytes:
    """The image of an empty registry: making the tables takes 8 ms, and a first run looks seven times."""
    engine = _sqlite_engine(URL.create("sqlite"))
    with engine.connect() as connection:
        with connection.execution_options(smalti_writes=True).begin():
            create_schema(connection)
        raw: Any = connection.connection.driver_connection
        image: bytes = raw.serialize()
        return image


def _sqlite_engine(url: URL) -> Engine:
    # No pool: a connection lives as long as its transaction, so nothing is held, forked or leaked. All
    # registries share what is compiled: `create_engine` would make a dialect for each, which begins anew.
    dialect = _sqlite_dialect()
    arguments, options = dialect.create_connect_args(url)
    pool = NullPool(lambda: dialect.connect(*arguments, **options), dialect=dialect)
    shared = {"compiled_cache": _compiled_for_sqlite()}
    engine = Engine(pool, dialect, url, hide_parameters=True, execution_options=shared)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


@cache
def _sqlite_dialect() -> Dialect:
    engine = create_engine("sqlite://", poolclass=NullPool)
    with engine.connect():  # the first connection tells the dialect which SQLite this is
        return engine.dialect


@cache
def _compiled_for_sqlite() -> LRUCache[Any, Compiled]:
    """The last statements that were compiled, each with the values that it came with first."""
    return LRUCache(500)


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


def _server_engine(url: str) -> Engine:
    try:
        address = make_url(url)
        if address.get_backend_name() != "postgresql":
            raise RegistryError(
                _without_password(url),
                f"a registry cannot be stored in `{address.get_backend_name()}`",
                "a path, or an address such as postgresql://host/database",
                "name a file, or a database of PostgreSQL",
            )
        if address.drivername == "postgresql":
            address = address.set(drivername="postgresql+psycopg")
        engine = create_engine(address, hide_parameters=True, pool_pre_ping=True)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise RegistryError(
            _without_password(url),
            f"the registry's address cannot be used ({type(error).__name__})",
            "a path, or an address such as postgresql://host/database with its driver installed",
            "`smalti doctor` shows whether its driver is installed; or correct the address",
        ) from None
    _forget_after_fork(weakref.ref(engine))
    return engine


def _forget_after_fork(engine_ref: "weakref.ref[Engine]") -> None:
    # A child shares the sockets of its parent: it leaves them alone and opens its own.
    def forget() -> None:
        if (engine := engine_ref()) is not None:
            engine.dispose(close=False)

    os.register_at_fork(after_in_child=forget)


def _sqlite_file(url: str) -> Path | None:
    """The file of an SQLite address; None for other databases."""
    with suppress(SQLAlchemyError, ValueError):
        address = make_url(url)
        if address.get_backend_name() == "sqlite" and address.database:
            return Path(address.database)
    return None


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (SQLAlchemyError, ValueError):
        return "--registry"


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
