"""An audit of a release by its owner: its record and table beside the owner's data and a population."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import Listed, StagedTable
from smalti.engine.binding.binding import files_of, input_hmac
from smalti.engine.binding.kept_rows import leave_out_withdrawn
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.releases.attack_results import ReleaseAttacks
from smalti.engine.releases.attacking import Published, ReleaseUnderAttack, Settings, attackable
from smalti.engine.releases.granted_rows import keep_granted
from smalti.engine.releases.guarantee import guarantee_of
from smalti.engine.releases.people import People
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.table import key_columns
from smalti.engine.tables.addresses import Location
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.description import Source
from smalti.engine.tables.disk import private_folder
from smalti.engine.tables.published_files import source_of
from smalti.engine.tables.reading import file_digest, inspect, text_batches
from smalti.errors import DataError, UsageError


@dataclass(frozen=True, slots=True)
class ReleaseAudit:
    """A recorded release, and what it is attacked with."""

    version: TargetVersion
    folder: Path
    """Where it is published, as it was recorded."""
    data: Location
    """The owner's data that it was made from."""
    population: Location
    """People who are not in the data: with the columns that the release reads, described as the data is."""
    settings: Settings


def recorded_release(version: TargetVersion) -> ReleasePlan:
    """The plan of a recorded release that attacks apply to.

    Raises:
        UsageError: it is the output of another kind of run.
        DataError: none of its statistics is attacked.
    """
    plan = plan_from_json(version.plan)
    if not isinstance(plan, ReleasePlan):
        raise UsageError(
            str(version.target),
            "it is no release of statistics",
            "an output of a policy with the method differential-privacy",
            "`smalti run --page` attacks published rows, `smalti audit model` attacks models",
        )
    attackable(plan)
    return plan


def attack_release(
    audit: ReleaseAudit,
    registry: Registry,
    backend: Backend,
    place: Path,
    phase: Callable[[str], None] = lambda _: None,
) -> ReleaseAttacks:
    """Attack a release, with its noise and without.

    Args:
        audit: the release and the data.
        registry: that recorded it.
        backend: where rows are read.
        place: a private folder to work in.
        phase: called with the name of each phase.

    Raises:
        UsageError: it is no release, or a table lacks a column that it reads.
        DataError: the data is not what it was made from, there are too few people, or the statistics lack
            what an attack needs.
    """
    plan = recorded_release(audit.version)
    phase("read")
    with _opened(plan, audit.data, "the data", backend, place / "data") as (source, members):
        _check_data(audit.version, plan, source, registry)
        _leave_out_withdrawn(plan, members, audit.version, registry)
        with _opened(plan, audit.population, "the population", backend, place / "population") as (
            _,
            others,
        ):
            left_out = _leave_out_members(plan, members, others)
            published = _published(plan, audit.folder, audit.version)
            attacked = ReleaseUnderAttack(plan, published, members, others)
            results = attacked.attacked(audit.settings, phase)
            return ReleaseAttacks(
                output=audit.version.target,
                version=audit.version.iri,
                target=plan.read.target,
                promise=guarantee_of(plan).statement,
                people=len(attacked.members),
                others=len(attacked.others),
                left_out=left_out,
                statistics=results.statistics,
                thresholds=results.thresholds,
                traced=results.traced,
                controls=results.controls,
                reconstructed=results.reconstructed,
                not_run=results.not_run,
                false_positive_rate=audit.settings.false_positive_rate,
                confidence=audit.settings.confidence,
                seed=audit.settings.seed,
            )


@contextmanager
def _opened(
    plan: ReleasePlan, data: Location, role: str, backend: Backend, place: Path
) -> Iterator[tuple[Source, StagedTable]]:
    """The rows of a table that take part in a plan."""
    source = brought(plan.read.target, data, private_folder(place) / "input")
    header = inspect(source).header
    missing = sorted(plan.used_columns - set(header))
    if missing:
        raise UsageError(
            role,
            f"it lacks columns that the release reads: {', '.join(f'`{name}`' for name in missing)}",
            "a table with these columns",
            "rename its columns as those of the data",
        )
    with closing(backend.open(source, private_folder(place / "spill"), plan.used_columns)) as table:
        if plan.filter is not None:
            keep_granted(table, plan.filter, lambda name: plan.read.column(name).time_zone)
        yield source, table


def _check_data(version: TargetVersion, plan: ReleasePlan, source: Source, registry: Registry) -> None:
    digests = [input_hmac(registry, file_digest(path)) for path in source.paths]
    if digests != files_of(version, plan.read.target):
        raise DataError(
            "the data",
            "the release was made from other data",
            "the files that it was made from, as they were",
            "bind them with --data",
        )


def _leave_out_withdrawn(
    plan: ReleasePlan, table: StagedTable, version: TargetVersion, registry: Registry
) -> None:
    """Leave out who had withdrawn when the release was made."""
    withdrawn, respondent = registry.withdrawals.before(version, plan.read.target), plan.read.respondent
    if withdrawn and isinstance(respondent, RespondentColumn):
        column = plan.read.column(respondent.column)
        leave_out_withdrawn(table, column.name, column.datatype, column.time_zone, withdrawn)


def _leave_out_members(plan: ReleasePlan, members: StagedTable, others: StagedTable) -> int:
    """Leave out of the population who is in the data, by the text that tells people apart; how many."""
    respondent = plan.read.respondent
    if not isinstance(respondent, RespondentColumn):
        return 0
    before = len(People(plan, others))
    others.leave_out(Listed(respondent.column, members.texts(respondent.column).cast(pa.string())))
    return before - len(People(plan, others))


def _published(plan: ReleasePlan, folder: Path, version: TargetVersion) -> Published:
    """The published figures of numbers, by statistic and group."""
    source = source_of(folder, version.files)
    contents = inspect(source)
    table = text_batches(source, contents).read_all()
    columns = {name: table.column(f"c{place}").to_pylist() for place, name in enumerate(contents.header)}
    written = key_columns(plan)
    keys = {
        statistic.name: [columns[written[key.column]] for key in statistic.keys]
        for statistic in attackable(plan)
    }
    published: dict[str, dict[tuple[str, ...], str]] = {name: {} for name in keys}
    for row, name in enumerate(columns["statistic"]):
        if name in published:
            published[name][tuple(column[row] or "" for column in keys[name])] = columns["value"][row]
    return published
