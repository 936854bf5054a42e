"""The plan of a request: decided or undecided, with its notices and what would stop a run."""

from dataclasses import replace

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.binding import check_binding
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.candidate_permissions import candidate_permissions
from smalti.engine.binding.capability import Compiled, capability_of
from smalti.engine.binding.mixed_cells import notices_of_mixed_cells
from smalti.engine.binding.prohibitions_below import forbidden_below
from smalti.engine.binding.run_inputs import Granted, RunInput, admit, granted_by, without_tables
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import Planned, RunRequest, Watch
from smalti.engine.binding.withheld_columns import (
    DeclaresMoreError,
    DeniedOnDataError,
    check_withheld,
    declared_columns,
    refusal,
    withheld_columns,
)
from smalti.engine.losses.charging import composition_with, foreseen_reason
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import granted_kind
from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.plan.notices import Notice, ordered
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import scratch, scratch_stage
from smalti.engine.registry.registry import Registry
from smalti.engine.run.driver import check_beside_earlier, compiled_for
from smalti.engine.run.grants import (
    binds_as_owner,
    check_output,
    check_single_permission,
    check_target,
    decided,
    described_columns,
    in_words_for,
    resolved_request,
)
from smalti.engine.run.own_words import in_own_words
from smalti.engine.tables.description import Source
from smalti.engine.tables.secret import pseudonym_key
from smalti.errors import BackendError, InternalError, SmaltiError, UsageError, for_owner, only_ours
from smalti.policy.decide.decision import Decision, Grant, Reason
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import ConflictStrategy


@only_ours()
@in_own_words
def plan(
    request: RunRequest, registry: Registry, backend: Backend, *, beside_earlier: bool = False
) -> Planned:
    """Decide and compile, and write nothing but private scratch that is gone afterwards.

    Args:
        request: with its party.
        registry: what is known.
        backend: where rows are staged.
        beside_earlier: where there are earlier releases about the same people, carry the run out up to its
            verified output too, and say whether it would be refused beside them.

    Raises:
        SmaltiError: as `run.run`, as far as it gets.
    """
    request = resolved_request(request, registry)
    columns = described_columns(request)
    with in_words_for(request, registry):
        try:
            planned = _planned(request, registry, backend, columns, beside_earlier=beside_earlier)
        except DeclaresMoreError as more:
            columns = more.columns
            planned = _planned(request, registry, backend, columns, beside_earlier=beside_earlier)
    if planned.plan is None:
        return planned
    notices = ordered((*planned.notices, *notices_below(request, registry, columns)))
    return replace(planned, notices=notices)


def _planned(
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    columns: KnownColumns,
    *,
    beside_earlier: bool,
) -> Planned:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Planned(decision, None)
    planned = planned_under(request, registry, backend, decision, granted)
    if not beside_earlier or planned.plan is None or planned.obstacle is not None:
        return planned
    return _beside_earlier(planned, request, registry, backend, decision, granted)


def _beside_earlier(
    planned: Planned,
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    decision: Decision,
    granted: Granted,
) -> Planned:
    """The plan, with what would stop its run beside earlier releases about the same people."""
    plan = planned.plan
    if plan is None:
        return planned
    capability = capability_of(granted_kind(granted.permission))
    is_owner = binds_as_owner(request, registry)
    with scratch_stage(request.workspace) as stage:
        under = RunUnder(request, registry, backend, decision, granted, stage, Watch(), is_owner)
        try:
            notice = check_beside_earlier(capability, under, plan)
        except DeniedOnDataError as denied:
            return planned.stopped_by(denied.reason)
        except (BackendError, InternalError):
            raise
        except SmaltiError as refused:
            return planned.stopped_by(for_owner(refused, with_figures=False) if is_owner else refused)
    return planned if notice is None else replace(planned, notices=ordered((*planned.notices, notice)))


def planned_under(
    request: RunRequest, registry: Registry, backend: Backend, decision: Decision, granted: Granted
) -> Planned:
    """The plan of what was granted, or a denial by what the data shows.

    Raises:
        SmaltiError: as `run.run`, as far as it gets.
    """
    try:
        planned = _plan(request, registry, backend, granted)
    except DeniedOnDataError as refused:
        return Planned(deny_afterwards(registry, decision, refused.reason), None)
    plan = planned.plan
    if plan is not None and capability_of(plan.kind).loss(plan) is not None:
        reason = foreseen_reason(registry, request, granted.permission, plan)
        if reason is not None:
            return Planned(deny_afterwards(registry, decision, reason), None)
    return replace(planned, decision=decision)


@only_ours()
@in_own_words
def plan_undecided(
    request: RunRequest, registry: Registry, backend: Backend, under: Grant | None = None
) -> Planned:
    """The plan of the policy's permission for the target on the data, whoever asks.

    Args:
        request: names the permission, where there are several.
        registry: what is known.
        backend: where rows are staged.
        under: a grant to read that obliges to anonymize so, with its limits to rows and columns; no key of
            pseudonyms is looked for then, since test cases have none.

    Raises:
        UsageError: the policy has no permission to anonymize the target.
        SmaltiError: as `run.run`, as far as it gets.
    """
    request = resolved_request(request, registry)
    check_target(request)
    candidates = tuple(
        candidate
        for candidate in candidate_permissions(request.document.policy, request.target)
        if request.rule is None or request.rule in candidate.names
    )
    if not candidates:
        raise UsageError(
            request.document.name,
            f"the policy has no permission to anonymize `{request.target}` or to train on it"
            + (f" under the rule `{request.rule}`" if request.rule else ""),
            "a policy with a permission to anonymize or to train",
            "`smalti check` shows what a policy says",
        )
    check_single_permission(request.target, [candidate.permission for candidate in candidates])
    granted = Granted(candidates[0].permission, candidates[0].rows(request.target))
    if under is not None:
        granted = replace(granted_by(under), permission=granted.permission)
    planned = _plan(request, registry, backend, granted)
    if planned.plan is None or planned.obstacle is not None or under is not None:
        return planned
    return planned.stopped_by(_lacks_key(registry, planned.plan))


@only_ours()
@in_own_words
def plan_granted(request: RunRequest, registry: Registry, backend: Backend, grant: Grant) -> Planned:
    """The plan of a grant to anonymize, on the rows that it is limited to.

    Raises:
        SmaltiError: as `run.run`, as far as it gets.
    """
    check_target(request)
    granted = granted_by(grant)
    return _plan(request, registry, backend, granted)


def _plan(request: RunRequest, registry: Registry, backend: Backend, granted: Granted) -> Planned:
    """The plan, its warnings, the composed loss, and the obstacle that would stop a run."""
    capability = capability_of(granted_kind(granted.permission))
    with (
        scratch(request.workspace) as place,
        compiled_for(capability, request, registry, backend, granted, place / "spill") as (compiled, table),
    ):
        plan, run_input, source = compiled.plan, compiled.run_input, compiled.source
        notices = _missing_columns(run_input)
        denied = refusal(plan, table.contents.header, run_input.withheld)
        obstacle: Reason | SmaltiError | None = denied
        if request.party is not None:
            check_binding(registry, source, table.contents, plan, request.submitter)
            check_withheld(replace(run_input.withheld, lacking=()), table.contents.header, plan)
            obstacle = _obstacle(request, registry, compiled, table, granted)
        else:
            notices += _own_prohibitions(request, registry, source, table, plan)
            notices += _own_prohibitions_of_population(request, run_input.circumstances.population)
            notices += notices_below(request, registry, declared_columns(source))
        with_counts = request.party is None or binds_as_owner(request, registry)
        if with_counts:  # whether a cell is of another type may be one person's: others see the plan alone
            notices += notices_of_mixed_cells(source, plan.used_columns, with_counts=True)
        notices = ordered((*capability.notices(compiled, table, with_counts=with_counts), *notices))
        if capability.loss(plan) is None:
            return Planned(None, plan, notices).stopped_by(obstacle)
        return _with_loss(request, registry, granted, Planned(None, plan, notices).stopped_by(obstacle))


def _with_loss(request: RunRequest, registry: Registry, granted: Granted, planned: Planned) -> Planned:
    """The same, with what all releases would have lost, and whether the budget has room for it."""
    plan = planned.plan
    if plan is None:
        return planned
    together = composition_with(registry, request.target, plan)
    reason = foreseen_reason(registry, request, granted.permission, plan)
    if reason is None:
        return replace(planned, composition=together)
    notices = ordered((*planned.notices, Notice(reason.text, is_of_data=True)))
    return replace(planned, notices=notices, composition=together).stopped_by(reason)


def _obstacle(
    request: RunRequest,
    registry: Registry,
    compiled: Compiled[AnyPlan],
    table: StagedTable,
    granted: Granted,
) -> Reason | SmaltiError | None:
    """The obstacle that would stop a run before it counts."""
    try:
        check_output(request, registry, granted)
        admit(request, registry, compiled.run_input, compiled.source, table, compiled.plan)
    except DeniedOnDataError as denied:
        return denied.reason
    except SmaltiError as refused:
        return refused
    return _lacks_key(registry, compiled.plan)


def _lacks_key(registry: Registry, plan: AnyPlan) -> SmaltiError | None:
    """Why the key of pseudonyms that a run takes cannot be had here; None: it can, or it takes none."""
    name = capability_of(plan.kind).key_named(plan)
    if name is None:
        return None
    try:
        pseudonym_key(registry.path, name)
    except SmaltiError as refused:
        return refused
    return None


def _missing_columns(run_input: RunInput) -> tuple[Notice, ...]:
    """Warn of prohibitions that name no column of the data; a run is denied."""
    return tuple(
        Notice(
            f"a policy prohibits the use of `{iri}`, but the data has no such column: a run is denied",
            is_of_data=True,
        )
        for iri in run_input.withheld.lacking
    )


def _own_prohibitions(
    request: RunRequest, registry: Registry, source: Source, table: StagedTable, plan: AnyPlan
) -> tuple[Notice, ...]:
    """Warn of the policy's own prohibitions on the plan's columns; without a party nothing is decided."""
    if request.document.policy.conflict is ConflictStrategy.PERMIT:
        return ()  # none of them holds against a permission beside it
    notices = []
    declared = declared_columns(source).iris
    for rule in request.document.policy.prohibitions:
        iris = [
            asset.iri
            for asset in rule.targets
            if is_column_of(request.target, asset.iri) or normalised_column(asset.iri) in declared
        ]
        named = withheld_columns(source, table.contents.header, iris)
        withheld = without_tables(registry, source, named)
        if (reason := refusal(plan, table.contents.header, withheld)) is not None:
            text = f"where the prohibition `{rule.uid}` applies, a run is denied: {reason.text}"
            notices.append(Notice(text, is_of_data=True))
    return tuple(notices)


def _own_prohibitions_of_population(
    request: RunRequest, population: BoundPopulation | None
) -> tuple[Notice, ...]:
    """Warn of the policy's own prohibitions on its population table, or on a column of it."""
    if population is None or request.document.policy.conflict is ConflictStrategy.PERMIT:
        return ()
    table, declared = population.source.target, declared_columns(population.source).iris
    return tuple(
        Notice(
            f"where the prohibition `{rule.uid}` applies, a run is denied: it is about the population"
            f" table, `{asset.iri}`",
            is_of_data=True,
        )
        for rule in request.document.policy.prohibitions
        for asset in rule.targets
        if asset.iri == table or is_column_of(table, asset.iri) or normalised_column(asset.iri) in declared
    )


def notices_below(request: RunRequest, registry: Registry, columns: KnownColumns) -> tuple[Notice, ...]:
    """Warn of prohibitions on what lies below the target and is no column of it."""
    policy, binder = request.document.policy, request.owner or request.party
    below = forbidden_below(registry, request.target, policy, binder=binder, columns=columns)
    return tuple(Notice(text, is_of_data=True) for text in below)
