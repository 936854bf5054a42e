"""A release from beginning to end: compile, aggregate, charge, draw once, record.

The order is what protects: nothing random happens before the ledger has taken the charge, and what was
drawn is readable only as the one output that is published under it. A run that dies behind the charge has
been charged, and shows nothing; whoever runs it again is charged again.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding import check_binding
from smalti.engine.ceilings import declared_ceiling
from smalti.engine.charging import composition, refusal
from smalti.engine.commit import publish
from smalti.engine.compile import Circumstances
from smalti.engine.description import Source
from smalti.engine.reading import file_digest
from smalti.engine.releases.aggregate import Aggregates, aggregate
from smalti.engine.releases.compile import columns_to_stage, compile_release
from smalti.engine.releases.draw import draw
from smalti.engine.releases.guarantee import guarantee_of
from smalti.engine.releases.only import only_release
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.query import Query
from smalti.engine.releases.report import ReleaseReport
from smalti.engine.releases.table import output_columns, write_table
from smalti.engine.run_inputs import Given, Granted, bound, check_unchanged, given
from smalti.engine.run_record import (
    Promised,
    RunUnder,
    digests_of_inputs,
    file_name,
    new_version,
    published_files,
)
from smalti.engine.run_request import Outcome, RunRequest, refuse_options_of_rows
from smalti.engine.writing import content_digest
from smalti.errors import InternalError
from smalti.policy.model import Permission
from smalti.transforms.noise import SAMPLER


def planned(
    request: RunRequest,
    permission: Permission,
    source: Source,
    table: StagedTable,
    circumstances: Circumstances,
) -> ReleasePlan:
    """What a release would do, without any look at its budget but that there is one.

    Raises:
        PlanError: the query cannot be answered under the permission; all problems at once.
    """
    query = _query(request, permission)
    refuse_options_of_rows(request)
    declared_ceiling(permission)
    return compile_release(permission, query, source, table, circumstances, request.options.output_format)


def columns_read(request: RunRequest, granted: Granted) -> Callable[[Source], Collection[str]]:
    """Which columns a release looks at, by their source."""
    query = _query(request, granted.permission)
    return lambda source: columns_to_stage(granted.permission, query, source, granted.rows)


def release(under: RunUnder) -> Outcome:
    """Make a release: all of it, or nothing but a charge.

    Returns:
        The outcome; a denial where the release does not fit into what is left of its budget.

    Raises:
        SmaltiError: as `engine.run.run`.
    """
    request, registry, stage, watch = under.request, under.registry, under.stage, under.watch
    columns = columns_read(request, under.granted)
    with bound(request, under.backend, stage.spill, watch.phase, columns) as (source, table):
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = planned(request, under.granted.permission, source, table, known.circumstances)
        check_binding(registry, source, table.contents, made, request.submitter)
        watch.phase("aggregate")
        exact = [aggregate(made, one, table) for one in made.statistics]
    digests = [file_digest(path) for path in source.paths]
    check_unchanged(source, digests, table.contents)
    report = ReleaseReport(
        engine=under.backend.name,
        inputs=digests_of_inputs(registry, source, digests),
        timings=watch.timings,
        withdrawn_at=known.at,
        respondents_listed=known.circumstances.withdrawn.count,
    )
    watch.phase("charge")
    if (denial := refusal(under, made, table.contents)) is not None:
        return Outcome(denial, None, None, None)
    watch.phase("draw")
    return _drawn(under, made, exact, known, report)


def _drawn(
    under: RunUnder, made: ReleasePlan, exact: list[Aggregates], known: Given, report: ReleaseReport
) -> Outcome:
    """Draw the noise of a charged release, and publish what was drawn."""
    registry, stage = under.registry, under.stage
    path = stage.output / file_name(made.write.output, made.write.format)
    values = tuple(
        value
        for one, amounts in zip(made.statistics, exact, strict=True)
        for value in draw(made, one, amounts, SAMPLER)
    )
    write_table(made, values, path)
    under.watch.phase("register")
    files = published_files([path], [file_digest(path)], made.write.format)
    together = composition(registry, under.request.target)
    promised = Promised(guarantee_of(made), composition=together)
    content = content_digest([path], made.write.format)
    report = replace(report, timings=under.watch.timings)
    record = new_version(under, made, known, files, promised, output_columns(made), content, report)
    version = publish(registry, stage, record)
    is_owner = under.request.submitter in registry.full_owners(version.target)
    told = version.report if is_owner else None
    return Outcome(under.decision, made, version, told, composition=together, values=values)


def _query(request: RunRequest, permission: Permission) -> Query:
    if permission.anonymization is None:
        raise InternalError("a permission without refinements reached a release")
    return request.query or only_release(permission.anonymization)
