"""Respondents who withdrew, inside a transaction: kept as keyed digests, never in clear."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts, insert_all
from smalti.engine.registry._journal import tick
from smalti.engine.registry._versions import to_version
from smalti.engine.registry.entries import AssetKind, TargetVersion
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Window:
    """Which withdrawals are meant, by their time as the tables hold it; None: no limit."""

    after: str | None = None
    """Not this one."""
    since: str | None = None
    """This one, too."""
    until: str | None = None
    """This one, too."""


def check(connection: Connection, facts: Facts, target: IRI, by: IRI) -> None:
    """Refuse withdrawals by a party who owns no part of the target, or from data without respondents."""
    kind = facts.kind(target)
    if kind is None:
        raise UsageError(
            str(target), "the registry does not know it", "a known target", "bind data to it first"
        )
    if by not in facts.owners_on_record(target):
        raise UsageError(
            str(target), f"{by} does not own it", "an owner of the target", "ask one of its owners"
        )
    query = select(db.versions).where(db.versions.c.target == target)
    versions = [to_version(connection, row) for row in connection.execute(query).all()]
    if kind is AssetKind.OUTPUT and not all(map(_shows_respondents, versions)):
        made_from = sorted({source.iri for version in versions for source in version.inputs})
        raise UsageError(
            str(target),
            "its rows do not identify respondents",
            "a target with a respondent column",
            f"withdraw from its inputs ({', '.join(made_from)}), and publish it again",
        )


def _shows_respondents(version: TargetVersion) -> bool:
    names = {column.name for column in version.columns}
    return isinstance(version.respondent, RespondentColumn) and version.respondent.column in names


def column_of(connection: Connection, target: IRI, named: str | None) -> str:
    """The column that respondents are listed by: as it is named, or as runs on the target counted them.

    Raises:
        UsageError: the column is not known, or earlier respondents were listed by another one.
    """
    so_far = select(db.withdrawals.c.respondent).where(db.withdrawals.c.target == target)
    made_from = (
        select(db.versions)
        .join(db.lineage, db.lineage.c.version == db.versions.c.id)
        .where(db.lineage.c.input == target)
    )
    itself = select(db.versions).where(db.versions.c.target == target)
    rows = [*connection.execute(made_from).all(), *connection.execute(itself).all()]
    counted = [to_version(connection, row).respondent for row in rows]
    run_columns = {respondent.column for respondent in counted if isinstance(respondent, RespondentColumn)}
    before = set(connection.execute(so_far).scalars())
    column = named or next(iter(before or run_columns), None)
    if column is None or (named is None and len(before or run_columns) > 1):
        raise UsageError(
            str(target),
            "its respondent column is not known",
            "the name of the respondent column",
            "name it with --column",
        )
    if before and column not in before:
        raise UsageError(
            str(target),
            f"earlier respondents were listed by the column `{min(before)}`, not by `{column}`",
            "one respondent column for one target",
            "list all respondents by the same column",
        )
    return column


def add(connection: Connection, target: IRI, column: str, respondents: Iterable[frozenset[str]]) -> None:
    """Add respondents, each by all digests of one value; listed respondents stay unchanged."""
    query = select(db.withdrawals.c.hmac).where(db.withdrawals.c.target == target)
    already_listed = set(connection.execute(query).scalars())
    now, rows = tick(connection), []
    for digests in respondents:
        new = digests - already_listed
        already_listed |= new
        is_listed = new != digests
        rows += [
            {
                "target": target,
                "hmac": digest,
                "respondent": column,
                "is_first": int(at == 0 and not is_listed),
                "withdrawn_at": now,
            }
            for at, digest in enumerate(sorted(new))
        ]
    insert_all(connection, insert(db.withdrawals), rows)


def count(connection: Connection, target: IRI) -> int:
    """How many respondents are on the target's own list."""
    query = select(func.sum(db.withdrawals.c.is_first)).where(db.withdrawals.c.target == target)
    return int(connection.execute(query).scalar() or 0)


@dataclass(frozen=True, slots=True)
class Listed:
    """Those who withdrew from the data behind a target, and could still be in it."""

    digests: frozenset[str]
    columns: frozenset[str]
    """By which they were listed."""
    count: int
    """How many they are."""


def listed(
    connection: Connection, target: IRI, version: int | None, window: Window | None = None
) -> Listed:
    """Those who withdrew from the data behind a target, and could still be in it.

    Args:
        connection: of the transaction.
        target: whose list counts, and those of everything that it was made from.
        version: of an output, the one that is meant; None: all. Who was on the list of an input before a
            version was made had been left out of it.
        window: which withdrawals are meant.
    """
    digests: set[str] = set()
    columns: set[str] = set()
    count = 0
    waiting, seen = [(target, version, window or Window())], set()
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            iri, number, within = current
            for hmac, column, is_first in _listed(connection, iri, within):
                digests.add(hmac)
                columns.add(column)
                count += is_first
            waiting += _inputs(connection, iri, number, within)
    return Listed(frozenset(digests), frozenset(columns), count)


def _listed(connection: Connection, target: IRI, window: Window) -> Iterable[tuple[str, str, int]]:
    time = db.withdrawals.c.withdrawn_at
    columns = select(db.withdrawals.c.hmac, db.withdrawals.c.respondent, db.withdrawals.c.is_first)
    query = columns.where(db.withdrawals.c.target == target)
    if window.after is not None:
        query = query.where(time > window.after)
    if window.since is not None:
        query = query.where(time >= window.since)
    if window.until is not None:
        query = query.where(time <= window.until)
    return [(row.hmac, row.respondent, row.is_first) for row in connection.execute(query).all()]


def _inputs(
    connection: Connection, target: IRI, number: int | None, window: Window
) -> list[tuple[IRI, int | None, Window]]:
    query = (
        select(
            db.lineage.c.input,
            db.lineage.c.input_version,
            func.coalesce(db.versions.c.recorded_at, db.versions.c.created_at).label("made_at"),
        )
        .join(db.versions, db.versions.c.id == db.lineage.c.version)
        .where(db.versions.c.target == target)
    )
    if number is not None:
        query = query.where(db.versions.c.number == number)
    return [
        (IRI(row.input), row.input_version, _later(window, row.made_at))
        for row in connection.execute(query).all()
    ]


def _later(window: Window, made_at: str) -> Window:
    after = made_at if window.after is None else max(window.after, made_at)
    return Window(after, window.since, window.until)
