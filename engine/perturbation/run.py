"""A local perturbation from beginning to end: compile, take reports, charge, draw once, record.

As with releases of statistics, the order is what protects: nothing random happens before the ledger has
taken the charge, and noisy rows are drawn once, in this process, and readable only as the one output that
is published under it. A run that dies behind the charge has been charged, and shows nothing.
"""

from dataclasses import replace

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding import check_binding
from smalti.engine.ceilings import declared_ceiling
from smalti.engine.charging import composition, refusal
from smalti.engine.commit import publish
from smalti.engine.compile import Circumstances
from smalti.engine.description import Source
from smalti.engine.perturbation.compile import compile_perturbation
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.guarantee import guarantee_of
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.perturbation.reports import ExactReports, exact_reports
from smalti.engine.perturbation.table import output_columns, write_table
from smalti.engine.reading import file_digest
from smalti.engine.releases.report import ReleaseReport
from smalti.engine.run_inputs import Given, bound, check_unchanged, given
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
from smalti.errors import UsageError
from smalti.policy.model import Permission
from smalti.transforms.noise import SAMPLER


def planned(
    request: RunRequest,
    permission: Permission,
    source: Source,
    table: StagedTable,
    circumstances: Circumstances,
) -> PerturbationPlan:
    """What a perturbation would do, without any look at its budget but that there is one.

    Raises:
        UsageError: statistics or parts are asked for.
        PlanError: the data cannot be perturbed as the policy asks; all problems at once.
    """
    if request.query is not None:
        raise UsageError(
            request.query.name or "query (--query)",
            "the permission that matches perturbs records, and answers no query",
            "a policy with the method differential-privacy",
            "leave out --query: any statistic can be read from the noisy rows (`smalti estimate`)",
        )
    refuse_options_of_rows(request)
    declared_ceiling(permission)
    return compile_perturbation(permission, source, table, request.options.output_format, circumstances)


def perturb(under: RunUnder) -> Outcome:
    """Make a perturbation: all of it, or nothing but a charge.

    Returns:
        The outcome; a denial where it does not fit into what is left of its budget.

    Raises:
        SmaltiError: as `engine.run.run`.
    """
    request, registry, stage, watch = under.request, under.registry, under.stage, under.watch
    with bound(request, under.backend, stage.spill, watch.phase) as (source, table):
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = planned(request, under.granted.permission, source, table, known.circumstances)
        check_binding(registry, source, table.contents, made, request.submitter)
        watch.phase("reports")
        exact = exact_reports(made, table)
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
    under: RunUnder, made: PerturbationPlan, exact: ExactReports, known: Given, report: ReleaseReport
) -> Outcome:
    """Draw the noise of a charged perturbation, and publish what was drawn."""
    registry, stage = under.registry, under.stage
    path = stage.output / file_name(made.write.output, made.write.format)
    write_table(made, draw(made, exact, SAMPLER), path)
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
    return Outcome(under.decision, made, version, told, composition=together)
