"""The registry's tables, and how its database is opened: a file of SQLite's, or PostgreSQL by address."""

import logging
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

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
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from smalti.errors import RegistryError

# Without a handler of the program's own, SQLAlchemy would tell of a connection that is closed while an
# interrupt comes with a traceback on standard error.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())

SCHEMA_VERSION: Final = 5
_MENDABLE_VERSIONS: Final = frozenset({"1", "2", "3", "4"})
_BUSY_MILLISECONDS: Final = 30_000
_WRITERS: Final = 7_645_213_902
"""The advisory lock that each writing transaction on PostgreSQL holds, so that writers come one by one."""

_CLOCK: Final = "clock"
_LEAST: Final = timedelta(microseconds=1)

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
policy_iris = Table(
    "policy_iris",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("iri", Text, primary_key=True, index=True),
)
"""Every asset that a policy speaks of: its targets, and the members and collections that it names."""
policy_parents = Table(
    "policy_parents",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("uid", Text, primary_key=True),
    Column("parent", Integer, ForeignKey("policies.id"), nullable=False, index=True),
)
policy_signatures = Table(
    "policy_signatures",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("key", String(80), nullable=False, index=True),
    Column("signature", Text, nullable=False),
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
    Column("policy_meaning", String(80)),
    Column("recorded_at", String(40)),
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
hierarchies = Table(
    "hierarchies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("digest", String(80), ForeignKey("documents.digest"), nullable=False),
    Column("party", Text, nullable=False),
    Column("added_at", String(40), nullable=False),
    Column("removed_at", String(40)),
    UniqueConstraint("name", "number"),
)
keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("thumbprint", String(80), nullable=False, index=True),
    Column("owner", Text, nullable=False, index=True),
    Column("pem", Text, nullable=False),
    Column("trusted_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)
authorities = Table(
    "authorities",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("authority", Text, nullable=False),
    Column("trusted_at", String(40), nullable=False),
    Column("ended_at", String(40)),
)
"""Whose hierarchies an owner lets count for what they own."""
withdrawals = Table(
    "withdrawals",
    metadata,
    Column("target", Text, ForeignKey("assets.iri"), primary_key=True),
    Column("hmac", String(80), primary_key=True),
    Column("respondent", Text, nullable=False),
    Column("is_first", Integer, nullable=False),
    Column("withdrawn_at", String(40), nullable=False, index=True),
)
ledgers = Table(
    "ledgers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("neighbors", Text, nullable=False),
)
"""One for each set of respondents: the exact sums of what has been charged about them."""
ledger_members = Table(
    "ledger_members",
    metadata,
    Column("member", Text, primary_key=True),
    Column("ledger", Integer, ForeignKey("ledgers.id"), nullable=False, index=True),
)
charges = Table(
    "charges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", String(36), nullable=False, unique=True),
    Column("target", Text, nullable=False, index=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("selection_delta", Text),
    Column("pure", Text, nullable=False),
    Column("mu_squared", Text, nullable=False),
    Column("neighbors", String(32), nullable=False),
    Column("party", Text, nullable=False),
    Column("purpose", Text),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("charged_at", String(40), nullable=False),
)
"""Only ever added to; the target is that of a version where one was named."""
charge_members = Table(
    "charge_members",
    metadata,
    Column("charge", Integer, ForeignKey("charges.id"), primary_key=True),
    Column("member", Text, ForeignKey("ledger_members.member"), primary_key=True, index=True),
)
audits = Table(
    "audits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", String(36), nullable=False, unique=True),
    Column("target", Text, nullable=False, index=True),
    Column("output", Text, nullable=False, index=True),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("party", Text, nullable=False),
    Column("bound_by", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("begun_at", String(40), nullable=False),
    Column("ended_at", String(40)),
    Column("figures", Text, nullable=False),
    UniqueConstraint("target", "output", "number"),
)
"""Attempts at models; none is ever removed, and each ends once."""
changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("token", String(32), nullable=False),
    sqlite_autoincrement=True,
)
"""What was changed, in order; the last row is the registry's revision, which indexes in memory follow.

Its random token tells a registry from another one that has as many changes: a restored backup, for one.
"""

Revision = tuple[int, str]
"""The number and the token of the last change."""
NO_REVISION: Final[Revision] = (0, "")
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


_SERVER_PROBLEMS: Final = {
    "08": ("the database server does not answer", "check that it runs, and the address"),
    "28": ("the database server refuses the user", "check the user and the password"),
    "3D": ("the database does not exist", "make it, or mend the address"),
    "53": ("the database server has no room left", "make room, then try again"),
    "55": ("another program is writing to it", "try again when that program has ended"),
    "57": ("the database server ended the connection", "try again"),
    "40": ("another program is writing to it", "try again"),
    "42501": ("the user may not do that", "let the database's owner grant it"),
}
_UNREACHABLE: Final = ("the database server does not answer", "check that it runs, and the address")


class Database:
    """Transactions on the registry's database.

    A file is made by the first write, complete and at once: a missing file reads as an empty registry,
    and no reader ever sees half a schema. A registry of an older version is mended when it is opened.

    Writers come one by one: on SQLite by its write lock, on PostgreSQL by an advisory lock that is taken
    before anything is read. A writer therefore sees what all earlier ones did, and never fails because of
    another one. Readers wait for nobody, and see one state throughout.
    """

    def __init__(self, location: Path | str, fill_ledgers: Callable[[Connection], None]) -> None:
        """Nothing is opened yet.

        Args:
            location: of the file, or the address of a server.
            fill_ledgers: notes in the ledgers what was registered before there were any.
        """
        self._fill_ledgers = fill_ledgers
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
                return inspect(connection).has_table(meta.name)
        return True

    def revision(self) -> Revision:
        """The last change; `NO_REVISION` where there is none. One cheap query."""
        if not self.exists:
            return NO_REVISION
        if not self._is_checked or self.path is None:
            with self.reading() as connection:
                return last_revision(connection)
        with self._translated():
            return self._watch.revision()

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
        """One transaction, all or nothing; makes the registry where there is none.

        Raises:
            RegistryError: the database cannot be written; nothing was changed.
        """
        if self.path is not None and not self.path.exists():
            self._create(self.path)
        elif self.path is None and not self.exists:
            with self._transaction() as connection:
                _create_schema(connection)
        self._prepare()
        with self._transaction() as connection:
            yield connection

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

    def _prepare(self) -> None:
        """See that this is a registry of the present version; mend an older one."""
        if self._is_checked:
            return
        version = self._version()
        if version in _MENDABLE_VERSIONS:
            with self._transaction() as connection:
                _mend(connection, self._fill_ledgers)
            version = self._version()
        if version != str(SCHEMA_VERSION):
            raise RegistryError(
                self.name,
                f"the registry has schema version {version}",
                f"version {SCHEMA_VERSION}, which is what this smalti knows",
                "use the smalti that wrote it, or a newer one",
            )
        self._is_checked = True

    def _version(self) -> str:
        with self._translated(), self._engine.connect() as connection, connection.begin():
            if not inspect(connection).has_table(meta.name):
                raise self._error("it is not a registry", "name another file with --registry")
            return _schema_version(connection)

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
    """Asks a file of SQLite's for its revision; keeps it open, because opening it takes most of the time.

    Not for several threads at once. An open connection holds no lock between questions.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int, int] | None = None
        """By which process, and which file: after a fork, or under another file, it is opened anew."""

    def revision(self) -> Revision:
        try:
            status = self._path.stat()
        except OSError:
            self.close()
            return NO_REVISION
        found = (os.getpid(), status.st_dev, status.st_ino)
        if self._connection is None or found != self._opened:
            self.close()
            address, seconds = f"{self._path.as_uri()}?mode=rw", _BUSY_MILLISECONDS / 1000
            self._connection = sqlite3.connect(
                address, timeout=seconds, uri=True, isolation_level=None, check_same_thread=False
            )
            self._opened = found
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
    known = _SERVER_PROBLEMS.get(state) or _SERVER_PROBLEMS.get(state[:2])
    return known or (f"the database failed (SQLSTATE {state})", "")


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
    if not _schema_version(connection):
        connection.execute(insert(meta).values(key="schema", value=str(SCHEMA_VERSION)))


def _schema_version(connection: Connection) -> str:
    return connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar() or ""


def _mend(connection: Connection, fill_ledgers: Callable[[Connection], None]) -> None:
    """Make an older registry one of this version: its tables stay as they are, and others join them."""
    version = _schema_version(connection)
    if version not in _MENDABLE_VERSIONS:
        return  # another process was first
    metadata.create_all(connection)
    if version == "1":
        columns = [policy_iris.c.policy, policy_iris.c.iri]
        about = select(policy_targets.c.policy, policy_targets.c.target)
        connection.execute(insert(policy_iris).from_select(columns, about))
    if version in {"1", "2"}:
        fill_ledgers(connection)
    known = {column["name"] for column in inspect(connection).get_columns(versions.name)}
    for column, kind in (
        (versions.c.policy_meaning, "VARCHAR(80)"),
        (versions.c.recorded_at, "VARCHAR(40)"),
    ):
        if column.name not in known:
            connection.execute(text(f"ALTER TABLE versions ADD COLUMN {column.name} {kind}"))
    _start_clock(connection)
    connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(SCHEMA_VERSION)))


def _start_clock(connection: Connection) -> None:
    """Begin after all that earlier versions wrote, each by the clock of its machine."""
    written = (
        assets.c.registered_at,
        hierarchies.c.added_at,
        withdrawals.c.withdrawn_at,
        versions.c.created_at,
    )
    times = [connection.execute(select(func.max(column))).scalar() for column in written]
    if (known := [time for time in times if time is not None]) and last_tick(connection) is None:
        connection.execute(insert(meta).values(key=_CLOCK, value=max(known)))


def wall_clock() -> datetime:
    """This machine's time; several machines that use one registry need not agree on it."""
    return datetime.now(UTC)


def tick(connection: Connection) -> str:
    """The time of a writing transaction, later than all that the registry holds, as its tables hold it.

    Which of two things came first is asked of these times, and a clock that is ahead or behind must not
    answer it. So where this machine's clock is behind what others wrote, the time goes on from that.
    """
    last, now = last_tick(connection), wall_clock()
    time = now if last is None else max(now, last + 2 * _LEAST)
    value = time.astimezone(UTC).isoformat(timespec="microseconds")
    row = meta.c.key == _CLOCK
    if last is None:
        connection.execute(insert(meta).values(key=_CLOCK, value=value))
    else:
        connection.execute(update(meta).where(row).values(value=value))
    return value


def last_tick(connection: Connection) -> datetime | None:
    """The time of the last thing that was written; None: nothing was, or by an earlier smalti."""
    found = connection.execute(select(meta.c.value).where(meta.c.key == _CLOCK)).scalar()
    return None if found is None else datetime.fromisoformat(found)


def moment(connection: Connection) -> datetime:
    """A time after all that the registry holds, and before whatever is written next."""
    last = last_tick(connection)
    return wall_clock() if last is None else last + _LEAST


def note(connection: Connection, kind: str, subject: str) -> None:
    """Write down that something was changed, for the indexes that follow; part of the transaction."""
    note_all(connection, kind, [subject])


def note_all(connection: Connection, kind: str, subjects: Iterable[str]) -> None:
    """Write down that several things of a kind were changed."""
    rows = [{"kind": kind, "subject": one, "token": secrets.token_hex(8)} for one in subjects]
    if rows:
        connection.execute(insert(changes), rows)


def last_revision(connection: Connection) -> Revision:
    """The last change; `NO_REVISION` where there is none."""
    query = select(changes.c.id, changes.c.token).order_by(changes.c.id.desc()).limit(1)
    found = connection.execute(query).first()
    return NO_REVISION if found is None else (found.id, found.token)


def _file_engine(path: Path) -> Engine:
    return _sqlite_engine(URL.create("sqlite", database=str(path)))


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
            _create_schema(connection)
        raw: Any = connection.connection.driver_connection
        image: bytes = raw.serialize()
        return image


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


def _server_engine(url: str) -> Engine:
    try:
        address = make_url(url)
        if address.get_backend_name() != "postgresql":
            raise RegistryError(
                _without_password(url),
                f"registries are not kept in `{address.get_backend_name()}`",
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
            "install smalti with the extra `postgresql`, or mend the address",
        ) from None
    _forget_after_fork(weakref.ref(engine))
    return engine


def _forget_after_fork(found: "weakref.ref[Engine]") -> None:
    # A child shares the sockets of its parent: it leaves them alone and opens its own.
    def forget() -> None:
        if (engine := found()) is not None:
            engine.dispose(close=False)

    os.register_at_fork(after_in_child=forget)


def _sqlite_file(url: str) -> Path | None:
    """The file that an address means, where it is one of SQLite's."""
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
