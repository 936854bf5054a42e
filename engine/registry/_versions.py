"""Versions of outputs, and runs about to publish, inside a transaction."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.known_columns import DescribedColumns
from smalti.engine.plan.plan import ModelFormat, OutputFormat, Respondent
from smalti.engine.plan.recorded import recorded_kind
from smalti.engine.plan.reports import report_from_json, report_to_json, to_json_text
from smalti.engine.registry import _policy_checks, _policy_documents
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts, check_spelling, find_asset, insert_all, to_text, to_time
from smalti.engine.registry._journal import note, tick
from smalti.engine.registry._recorded_columns import recorded_columns, tables_with_column
from smalti.engine.registry.entries import (
    VERSION_PREFIX,
    AssetKind,
    Input,
    Intent,
    NewVersion,
    OutputColumn,
    OutputTable,
    RecordedPlan,
    TakenOver,
    TargetVersion,
    VersionFacts,
    discarded_input,
    run_of_table,
)
from smalti.errors import UsageError
from smalti.policy.model.column_iris import normalised_column
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class _Details:
    files: tuple[PublishedFile, ...]
    columns: tuple[OutputColumn, ...]
    respondent: Respondent
    rule_purposes: frozenset[IRI] | None
    input_table: DescribedColumns | None = None
    issuer: IRI | None = None
    """Whose word the policy was, which names the output."""
    population_table: DescribedColumns | None = None
    discarded_at: datetime | None = None
    tables: tuple[OutputTable, ...] = ()
    whole: IRI | None = None
    holds_records: bool = True
    input_description: str | None = None


def check_record(connection: Connection, facts: Facts, record: NewVersion) -> None:
    """Refuse a version that may not be recorded, whatever its policy (see `Registry.check_record`)."""
    speakers = Speakers(record.issuer, record.bound_by)
    inputs = [source.iri for source in record.inputs]
    check_output_iri(connection, facts, record.target, inputs, speakers)
    for table in record.tables:
        check_output_iri(connection, facts, table.iri, inputs, speakers, record.target)
    _check_input_versions(connection, record)
    if any(record.issuer not in facts.full_owners_or(i.iri, record.bound_by) for i in record.inputs):
        raise UsageError(
            str(record.policy_uid),
            f"{record.issuer} does not own what it is about",
            "a policy issued by an owner",
            "ask an owner of the inputs to add it",
        )


def check_may_be_stored(
    connection: Connection,
    reader: _policy_documents.Reader,
    facts: Facts,
    record: NewVersion,
    new: _policy_documents.NewPolicies,
    ending: Collection[int] = (),
) -> None:
    """Refuse a policy that its issuer submitted with a run, and may not put in force.

    Of what is `ending` with it, nothing is in its way.
    """
    owners = [facts.full_owners_or(source.iri, record.bound_by) for source in record.inputs]
    if reader.is_revoked(connection, new.policies[0], frozenset.intersection(*owners)):
        raise UsageError(
            str(record.policy_uid),
            "the policy was revoked",
            "a policy in force",
            "add it again, as an owner",
        )
    if (taken := _policy_checks.uid_conflict(connection, reader, facts, new, ending)) is not None:
        raise UsageError(
            str(new.policies[0].where),
            taken.problem,
            "uids that no other document in force uses, of this issuer or about these targets",
            taken.way_out("put this one in its place with --replace"),
        )


def versions(connection: Connection, query: Select[tuple[Any, ...]]) -> tuple[TargetVersion, ...]:
    """The versions that a query on their table selects, sorted by output and number."""
    ordered = query.order_by(db.versions.c.target, db.versions.c.number)
    return tuple(to_version(connection, row) for row in connection.execute(ordered).all())


def was_read(connection: Connection, source: IRI, inputs: Iterable[str]) -> bool:
    """Whether a version was made from a source whose files had all of these keyed digests."""
    is_version = db.versions.c.id == db.lineage.c.version
    query = select(db.versions.c.report).join(db.lineage, is_version).where(db.lineage.c.input == source)
    reports = connection.execute(query).scalars()
    return any(set(inputs) <= _digests_in(report) for report in reports)


def _digests_in(report: str) -> set[str]:
    """The keyed digests of the files that a report names, and of what they were brought from."""
    files = json.loads(report)["inputs"]
    return {file["hmac"] for file in files} | {file["original"] for file in files if file.get("original")}


def begin(connection: Connection, intent: Intent) -> None:
    """Write down that a run is about to publish."""
    record = replace(intent.record, document=b"")
    connection.execute(
        insert(db.intents).values(
            run=intent.run,
            stage=str(intent.stage),
            out=str(intent.out),
            record=to_json_text(record),
            document=intent.record.document,
            created_at=tick(connection),
        )
    )


def end_intent(connection: Connection, run: str) -> bool:
    """Forget an intent; False if somebody else has ended it."""
    return connection.execute(delete(db.intents).where(db.intents.c.run == run)).rowcount > 0


def check_output_iri(
    connection: Connection,
    facts: Facts,
    output: IRI,
    inputs: Sequence[IRI],
    speakers: "Speakers",
    whole: IRI | None = None,
) -> None:
    """Refuse an output IRI that stands for other parties' data, or that is in use.

    Of an output with several tables, each is checked by itself; `whole` is that output then.

    That the new owners own the output so far is not enough: anybody can make somebody else a co-owner of
    an input. So whoever says what the output is must own what stands under its IRI.
    """
    owners = frozenset.intersection(*(facts.full_owners_or(iri, speakers.bound_by) for iri in inputs))

    def is_theirs(asset: IRI) -> bool:
        return speakers.issuer in facts.full_owners(asset) and facts.owners(asset) <= owners

    if (problem := _in_use(connection, facts, output, whole)) is not None:
        raise _taken(output, problem)
    if not all(is_theirs(table) for table in facts.tables(output)):
        raise _taken(output, "it may be a column of somebody else's table")
    asset = find_asset(connection, output)
    if output in inputs and (asset is None or asset.kind is AssetKind.SOURCE):
        raise _taken(output, "it is the IRI of its input")
    if output not in inputs and normalised_column(output) in map(normalised_column, inputs):
        raise _taken(output, "it is the IRI of its input in another spelling")
    if asset is None:
        check_spelling(facts, output)
        return
    used = select(db.lineage.c.version).where(db.lineage.c.input == output)
    if asset.kind is AssetKind.SOURCE and connection.execute(used).first() is not None:
        raise _taken(output, "it is the IRI of a source")
    if not is_theirs(output):
        raise _taken(output, "it belongs to somebody else")


@dataclass(frozen=True, slots=True)
class Speakers:
    """Whose word a run rests on."""

    issuer: IRI
    """The owner whose word the policy is, and with it the output's IRI."""
    bound_by: IRI
    """Who says what data the inputs are."""


def _in_use(connection: Connection, facts: Facts, output: IRI, whole: IRI | None) -> str | None:
    """What an IRI stands for besides an asset of its own, or a table of a whole; None: nothing."""
    run = output.removeprefix(VERSION_PREFIX)
    version = select(db.versions.c.id).where(db.versions.c.run == run)
    if run != output and connection.execute(version).first() is not None:
        return "it is the IRI of a version"
    if facts.is_open(output):
        return "it is a collection"
    wholes = _wholes(connection, output)
    if wholes - {whole}:
        return "it is an output by itself" if whole else "it is one of several tables of an output"
    for table in facts.tables(output):
        if not (table == whole and wholes) and recorded_columns(connection, table).names(output):
            return f"it is a column of `{table}`"
    return "a run has read a column with that IRI" if tables_with_column(connection, output) else None


def _wholes(connection: Connection, output: IRI) -> frozenset[IRI | None]:
    """Of which outputs an IRI is a table, by its versions; None among them: it is an output by itself."""
    query = select(db.versions.c.details).where(db.versions.c.target == output)
    return frozenset(json.loads(details).get("whole") for details in connection.execute(query).scalars())


def _taken(output: IRI, problem: str) -> UsageError:
    return UsageError(
        str(output),
        f"the output cannot be registered: {problem}",
        "an unused IRI, or that of an output of the same owners",
        "name another `output` in the policy",
    )


def _check_input_versions(connection: Connection, record: NewVersion) -> None:
    for source in record.inputs:
        if source.version is None:
            continue
        query = select(db.versions).where(db.versions.c.target == source.iri)
        version = versions(connection, query.where(db.versions.c.number == source.version))
        if version and version[0].discarded_at is not None:
            raise discarded_input(version[0])
        if not version:
            raise UsageError(
                str(source.iri),
                f"it has no version {source.version}",
                "a registered version of the input",
                "",
            )


def insert_version(connection: Connection, intent: Intent) -> TargetVersion:
    """Record a version; where it has several tables, each of these as a version of its own, too."""
    record = intent.record
    for table in record.tables:
        part = replace(
            record,
            target=table.iri,
            output_digest=table.digest,
            files=tuple(file for file in record.files if file.name in table.files),
            columns=table.columns,
            tables=(),
            whole=record.target,
            holds_records=table.holds_records,
        )
        _insert(connection, replace(intent, run=run_of_table(intent.run, table.iri), record=part))
    return _insert(connection, intent)


def _insert(connection: Connection, intent: Intent) -> TargetVersion:
    record = intent.record
    last = select(func.max(db.versions.c.number)).where(db.versions.c.target == record.target)
    number = (connection.execute(last).scalar() or 0) + 1
    # Nobody withdrew since the run asked, or it would not be recorded now.
    recorded_at = None if record.started_at is None else tick(connection)
    details = _Details(
        record.files,
        record.columns,
        record.respondent,
        record.rule_purposes,
        record.input_table,
        record.issuer,
        record.population_table,
        tables=record.tables,
        whole=record.whole,
        holds_records=record.holds_records,
        input_description=record.input_description,
    )
    values = {name: getattr(record, name) for name in _PLAIN}
    added = insert(db.versions).values(
        **values,
        format=record.format.value,
        number=number,
        run=intent.run,
        path=str(intent.out),
        created_at=to_text(record.created_at),
        recorded_at=recorded_at,
        report=report_to_json(record.report),
        details=to_json_text(details),
    )
    (key,) = connection.execute(added).inserted_primary_key or (None,)
    note(connection, "version", str(key))
    insert_all(
        connection,
        insert(db.lineage),
        (
            {"version": key, "position": position, "input": source.iri, "input_version": source.version}
            for position, source in enumerate(record.inputs)
        ),
    )
    # As reading it back would give it, for which every part of its form would have to be built first.
    facts = {attribute.name: getattr(record, attribute.name) for attribute in fields(VersionFacts)}
    return TargetVersion(
        **facts,
        number=number,
        run=intent.run,
        path=intent.out,
        recorded_at=None if recorded_at is None else to_time(recorded_at),
    )


_PLAIN: Final = (
    "target",
    "output_digest",
    "plan",
    "plan_digest",
    "policy_digest",
    "policy_uid",
    "rule_uid",
    "party",
    "purpose",
    "certificate",
    "policy_meaning",
)


def _format(name: str) -> OutputFormat | ModelFormat:
    return ModelFormat(name) if name in set(ModelFormat) else OutputFormat(name)


def to_version(connection: Connection, row: Row[tuple[Any, ...]]) -> TargetVersion:
    query = select(db.lineage).where(db.lineage.c.version == row.id).order_by(db.lineage.c.position)
    inputs = connection.execute(query).all()
    details = _details_adapter().validate_json(row.details)
    return TargetVersion(
        **{name: getattr(row, name) for name in _PLAIN},
        format=_format(row.format),
        files=details.files,
        rule_purposes=details.rule_purposes,
        inputs=tuple(Input(IRI(source.input), source.input_version) for source in inputs),
        columns=details.columns,
        respondent=details.respondent,
        input_table=details.input_table,
        population_table=details.population_table,
        input_description=details.input_description,
        tables=details.tables,
        whole=details.whole,
        holds_records=details.holds_records,
        created_at=to_time(row.created_at),
        report=report_from_json(row.report, recorded_kind(row.plan)),
        number=row.number,
        run=row.run,
        path=Path(row.path),
        recorded_at=None if row.recorded_at is None else to_time(row.recorded_at),
        discarded_at=details.discarded_at,
    )


def discard(connection: Connection, run: str) -> None:
    """Record that nobody has a version any more, nor one of its tables."""
    now = to_time(tick(connection))
    for each in runs_of(connection, run):
        of_run = db.versions.c.run == each
        details = _details_adapter().validate_json(
            connection.execute(select(db.versions.c.details).where(of_run)).scalar_one()
        )
        discarded = replace(details, discarded_at=now)
        connection.execute(update(db.versions).where(of_run).values(details=to_json_text(discarded)))


def runs_of(connection: Connection, run: str) -> list[str]:
    """The names under which a version and its tables are recorded."""
    query = select(db.versions.c.details).where(db.versions.c.run == run)
    tables = [
        run_of_table(run, IRI(table["iri"]))
        for details in connection.execute(query).scalars()
        for table in json.loads(details).get("tables", ())
    ]
    return [run, *tables]


def recorded_plan(connection: Connection, target: IRI, number: int) -> RecordedPlan | None:
    """What a version was made by; None where there is no such version."""
    query = select(db.versions.c.plan, db.versions.c.details).where(
        db.versions.c.target == target, db.versions.c.number == number
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return RecordedPlan(row.plan, _details_adapter().validate_json(row.details).input_table)


def set_place(connection: Connection, moved: TakenOver) -> None:
    """Record where the folder of a version has been moved to, with all of its tables."""
    is_moved = db.versions.c.run.in_(runs_of(connection, moved.run))
    connection.execute(update(db.versions).where(is_moved).values(path=str(moved.aside)))


def to_intent(row: Row[tuple[Any, ...]]) -> Intent:
    record = _new_version_adapter().validate_json(row.record)
    record = replace(record, document=row.document)
    return Intent(row.run, Path(row.stage), Path(row.out), record)


@cache
def _new_version_adapter() -> "TypeAdapter[NewVersion]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(NewVersion)


@cache
def _details_adapter() -> "TypeAdapter[_Details]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(_Details)
