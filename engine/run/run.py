"""Decide a request, and hand its grant to the one driver."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.binding import check_binding
from smalti.engine.binding.candidate_permissions import candidate_permissions
from smalti.engine.binding.capability import Compiled, capability_of
from smalti.engine.binding.prohibitions_below import forbidden_below
from smalti.engine.binding.run_inputs import (
    Granted,
    RunInput,
    admit,
    granted_by,
    without_tables,
)
from smalti.engine.binding.run_record import (
    RunUnder,
)
from smalti.engine.binding.run_request import Outcome, Planned, PolicyDocument, RunRequest, Watch
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
from smalti.engine.plan.kinds import action_of, granted_kind, sole_kind_of
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.plan.notices import Notice, ordered
from smalti.engine.registry.authority import decide, deny_afterwards
from smalti.engine.registry.commit import recover, scratch, staging, taken_over
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.engine.registry.submitted_policies import resolved
from smalti.engine.run.driver import carry_out, compiled_for
from smalti.engine.tables.addresses import TableIn
from smalti.engine.tables.bringing import bound
from smalti.engine.tables.description import Source
from smalti.engine.tables.stores import StoredObject, fetched
from smalti.errors import PlanError, SmaltiError, UsageError, only_ours, raise_all
from smalti.policy.decide.decision import Decision, Grant, Reason, Request
from smalti.policy.lint.foreign_columns import speaks_of_foreign_columns
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import ConflictStrategy, Duty, Permission
from smalti.vocab.terms import ANONYMIZE, IRI

if TYPE_CHECKING:
    pass

__all__ = [
    "EngineName",
    "Outcome",
    "Planned",
    "PolicyDocument",
    "RunRequest",
    "Watch",
    "make_backend",
    "plan",
    "plan_granted",
    "plan_undecided",
    "run",
]


_LOG: Final = logging.getLogger("smalti.run")


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


@only_ours()
def plan(request: RunRequest, registry: Registry, backend: Backend) -> Planned:
    """Decide and compile, and write nothing but private scratch that is gone afterwards.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    request = resolved_request(request, registry)
    columns = described_columns(request)
    try:
        planned = _planned(request, registry, backend, columns)
    except DeclaresMoreError as more:
        columns = more.columns
        planned = _planned(request, registry, backend, columns)
    if planned.plan is None:
        return planned
    notices = ordered((*planned.notices, *_below(request, registry, columns)))
    return replace(planned, notices=notices)


def _planned(request: RunRequest, registry: Registry, backend: Backend, columns: KnownColumns) -> Planned:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Planned(decision, None)
    return planned_under(request, registry, backend, decision, granted)


def decided(
    request: RunRequest, registry: Registry, columns: KnownColumns
) -> tuple[Decision, Granted | None]:
    """Decide a request, as an owner's policy says it (`resolved_request`).

    Args:
        request: of a run.
        registry: what is known.
        columns: what the description tells of columns (`described_columns`).

    Returns:
        The decision, and what a run may do under it; None where it does not permit.

    Raises:
        SmaltiError: as `run`.
    """
    if registry.exists:
        registry.ownership.check_spelling(request.target)
    decision = _decide(request, registry, columns)
    if not decision.is_permitted:
        return decision, None
    return decision, replace(_granted(request, decision), columns=columns)


def planned_under(
    request: RunRequest, registry: Registry, backend: Backend, decision: Decision, granted: Granted
) -> Planned:
    """The plan of what was granted, or a denial by what the data shows.

    Raises:
        SmaltiError: as `run`, as far as it gets.
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
def plan_undecided(
    request: RunRequest, registry: Registry, backend: Backend, under: Grant | None = None
) -> Planned:
    """The plan of the policy's permission for the target on the data, whoever asks.

    Args:
        request: names the permission, where there are several.
        registry: what is known.
        backend: where rows are staged.
        under: a grant to read that obliges to anonymize so, with its limits to rows and columns.

    Raises:
        UsageError: the policy has no permission to anonymize the target.
        SmaltiError: as `run`, as far as it gets.
    """
    request = resolved_request(request, registry)
    _check_target(request)
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
    _check_one(request.target, [candidate.permission for candidate in candidates])
    granted = Granted(candidates[0].permission, candidates[0].rows(request.target))
    if under is not None:
        granted = replace(granted_by(under), permission=granted.permission)
    return _plan(request, registry, backend, granted)


@only_ours()
def plan_granted(request: RunRequest, registry: Registry, backend: Backend, grant: Grant) -> Planned:
    """The plan of a grant to anonymize, on the rows that it is limited to.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    _check_target(request)
    granted = granted_by(grant)
    return _plan(request, registry, backend, granted)


def _check_target(request: RunRequest) -> None:
    targets = sorted(request.document.policy.targets)
    if request.target not in targets:
        raise UsageError(
            request.document.name,
            f"the policy says nothing about `{request.target}`",
            "a target of the policy, bound with --data IRI=PATH",
            f"the policy is about {', '.join(targets)}",
        )


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
        obstacle = None if denied is None else denied.text
        if request.party is not None:
            check_binding(registry, source, table.contents, plan, request.submitter)
            check_withheld(replace(run_input.withheld, lacking=()), table.contents.header, plan)
            obstacle = _obstacle(request, registry, compiled, table, granted)
        else:
            notices += _own_prohibitions(request, registry, source, table, plan)
            notices += _below(request, registry, declared_columns(source))
        with_counts = request.party is None or binds_as_owner(request, registry)
        notices = ordered((*capability.notices(compiled, table, with_counts=with_counts), *notices))
        if capability.loss(plan) is None:
            return Planned(None, plan, notices, None, obstacle)
        return _with_loss(request, registry, granted, Planned(None, plan, notices, None, obstacle))


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
    return replace(planned, notices=notices, composition=together, obstacle=reason.text)


def _obstacle(
    request: RunRequest,
    registry: Registry,
    compiled: Compiled[AnyPlan],
    table: StagedTable,
    granted: Granted,
) -> str | None:
    """The obstacle that would stop a run before it counts."""
    try:
        _check_output(request, registry, granted)
        admit(request, registry, compiled.run_input, compiled.source, table, compiled.plan)
    except DeniedOnDataError as denied:
        return denied.reason.text
    except SmaltiError as refused:
        return str(refused)
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


@only_ours()
def run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch | None = None
) -> Outcome:
    """Run a policy on data, completely or not at all.

    Returns:
        The decision, and where it permits, the plan and the registered version. A denial is a
        decision, never an exception; nothing is written then. So is a release that does not fit into
        its budget.

    Raises:
        UsageError: `out` exists already, or the request is invalid.
        PlanError: the data cannot be transformed as the policy requires.
        DataError: the data cannot be read.
        GuaranteeError: the data cannot meet what the policy promises.
        BackendError: the machine.
        RegistryError: the registry cannot be read or written.
        InternalError: a fault of smalti; no other exception comes out, for its message may quote data.
        In each case nothing is published and nothing registered. What a release was charged stays so.
    """
    watch = watch or Watch()
    try:
        outcome = _decided_and_run(request, out, registry, backend, watch)
    except SmaltiError as refused:
        _LOG.warning("run refused: %s", type(refused).__name__)
        raise
    _log_end(outcome, watch)
    return outcome


def _log_end(outcome: Outcome, watch: Watch) -> None:
    """Log what came of a run: words and sizes of what was published, and no figure of the data."""
    seconds = sum(timing.seconds for timing in watch.timings)
    if outcome.version is None:
        _LOG.info("run ended after %.3f s: %s", seconds, outcome.decision.effect)
        return
    files = outcome.version.files
    size, warnings = sum(file.size for file in files), len(outcome.warnings)
    published = "run ended after %.3f s: %s, %d files, %d bytes, %d warnings"
    _LOG.info(published, seconds, outcome.decision.effect, len(files), size, warnings)


def _decided_and_run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch
) -> Outcome:
    recover(registry)
    watch.phase("decide")
    request = resolved_request(request, registry)
    columns = described_columns(request)
    try:
        outcome = _run(request, out, registry, backend, watch, columns)
    except DeclaresMoreError as more:
        columns = more.columns
        outcome = _run(request, out, registry, backend, watch, columns)
    if outcome.version is None:
        return outcome
    notices = ordered((*outcome.notices, *_below(request, registry, columns)))
    return replace(outcome, notices=notices)


def _below(request: RunRequest, registry: Registry, columns: KnownColumns) -> tuple[Notice, ...]:
    policy, binder = request.document.policy, request.owner or request.party
    below = forbidden_below(registry, request.target, policy, binder=binder, columns=columns)
    return tuple(Notice(text, is_of_data=True) for text in below)


def _run(
    request: RunRequest,
    out: Path,
    registry: Registry,
    backend: Backend,
    watch: Watch,
    columns: KnownColumns,
) -> Outcome:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Outcome(decision, None, None, None)
    try:
        return _carried_out(request, out, registry, backend, watch, decision, granted)
    except DeniedOnDataError as refused:
        return Outcome(deny_afterwards(registry, decision, refused.reason), None, None, None)


def _carried_out(  # noqa: PLR0913, PLR0917 (likewise)
    request: RunRequest,
    out: Path,
    registry: Registry,
    backend: Backend,
    watch: Watch,
    decision: Decision,
    granted: Granted,
) -> Outcome:
    _check_output(request, registry, granted)
    is_owner = binds_as_owner(request, registry)
    if request.replaces and not is_owner:
        raise UsageError(
            "replace (--replace)",
            f"{request.submitter} does not own all of `{request.target}`",
            "the owner of the data",
            "leave it out, and name another folder",
        )
    taken = taken_over(registry, out, granted.output, request.submitter) if request.replaces else None
    with staging(registry, out, taken) as stage:
        made_under = RunUnder(request, registry, backend, decision, granted, stage, watch, is_owner, taken)
        return carry_out(capability_of(granted_kind(granted.permission)), made_under)


def _check_output(request: RunRequest, registry: Registry, granted: Granted) -> None:
    """Ask, before any work, whether the output may be registered under its IRI.

    Raises:
        UsageError: it may not be.
    """
    if registry.exists:
        issuer = request.document.issuer or request.submitter
        registry.outputs.check_output(granted.output, (request.target,), request.submitter, issuer)


def binds_as_owner(request: RunRequest, registry: Registry) -> bool:
    """Whether the submitter fully owns the target, or nobody is known to own it."""
    is_known = registry.exists and registry.ownership.is_known(request.target)
    return not is_known or request.submitter in registry.ownership.full(request.target)


def resolved_request(request: RunRequest, registry: Registry) -> RunRequest:
    """The request with its policy as an owner of the target says it.

    One that does not count stays as it is: the decision says why.
    """
    submitted = request.document
    submission = Submission(
        submitted.policy, request.owner or request.party, submitted.document, submitted.signature
    )
    resolution = resolved(registry, (request.target,), submission)
    if isinstance(resolution, Reason):
        return request
    document = replace(submitted, policy=resolution.policy, issuer=resolution.issuer)
    if resolution.is_laid_out_anew:
        content = registry.policies.document(resolution.policy.document_digest)
        document = replace(
            document, document=content, name=resolution.policy.where.document, signature=None
        )
    return replace(request, document=document)


def described_columns(request: RunRequest) -> KnownColumns:
    """What a description tells of columns, as far as it can be read before a decision."""
    if speaks_of_foreign_columns(request.document.policy):
        return _described_columns(request)
    if not isinstance(request.data, Path | TableIn):
        return NO_COLUMNS
    try:
        return declared_columns(bound(request.target, request.data))
    except SmaltiError:
        return NO_COLUMNS  # reported once the data may be read


def _decide(request: RunRequest, registry: Registry, columns: KnownColumns) -> Decision:
    _check_target(request)
    action = _action(request)
    if (kind := sole_kind_of(action)) is not None:
        capability_of(kind).check_installed()  # before a decision says that it may be done
    asked = Request(
        party=request.asker,
        action=action,
        targets=(request.target,),
        purpose=request.purpose,
        rule=request.rule,
        parameters=request.parameters,
        columns=columns.iris,
        renamed=columns.renamed,
        facts=request.stated.facts,
        accepted=request.stated.accepted,
        on_behalf_of=request.stated.on_behalf_of,
        agreed=request.stated.agreed,
        understands_limits=True,  # a run keeps to rows, columns and duties of its grant, or is refused
    )
    submitted = request.document
    submission = Submission(
        submitted.policy,
        request.submitter,
        submitted.document,
        submitted.signature,
        request.replaces,
    )
    decision = decide(registry, asked, submission=submission)
    if decision.is_permitted:
        return decision
    return replace(decision, reasons=(*decision.reasons, *map(Reason, request.stands_for)))


def _described_columns(request: RunRequest) -> KnownColumns:
    """What the description tells of columns, wherever the data is.

    A party that binds another party's data has to describe it as an owner did (`check_binding`).

    Raises:
        UsageError, DataError, BackendError: as where the data is bound.
    """
    with tempfile.TemporaryDirectory(prefix="smalti-") as folder:
        if isinstance(request.data, StoredObject):
            return declared_columns(bound(request.target, fetched(request.data, Path(folder) / "input")))
        if isinstance(request.data, Path | TableIn):
            return declared_columns(bound(request.target, request.data))
    return NO_COLUMNS  # nothing describes it


def _action(request: RunRequest) -> IRI:
    """What the policy's rule about the target lets a run do.

    Raises:
        UsageError: it has rules of several actions, and the request names none of them.
    """
    rules: dict[IRI, list[IRI]] = {}
    for candidate in candidate_permissions(request.document.policy, request.target):
        if request.rule is None or request.rule in candidate.names:
            action = action_of(granted_kind(candidate.permission))
            rules.setdefault(action, []).append(candidate.permission.uid)
    if len(rules) <= 1:
        return next(iter(rules), ANONYMIZE)  # whatever is asked of a policy without such a rule is denied
    uids = [uid for action in sorted(rules) for uid in rules[action]]
    raise UsageError(
        str(request.target),
        f"the policy permits both to anonymize it and to train on it: {', '.join(uids)}",
        "the uid of the rule to use",
        "name one with --rule",
    )


def _granted(request: RunRequest, decision: Decision) -> Granted:
    """The one grant of a decision, if a run can do all that it requires.

    Raises:
        UsageError: several permissions match.
        PlanError: it does not say what to do, or asks for what a run does not do; all at once.
    """
    grants = [grant for grant in decision.grants if _says_how(grant.permission)] or decision.grants
    struck = [decided for decided in decision.struck if _says_how(decided.permission)]
    # One that a prohibition on a column strikes still counts: more prohibitions never let a run go on.
    _check_one(request.target, [decided.permission for decided in (*grants, *struck)])
    grant = grants[0]
    permission = grant.permission
    problems: list[SmaltiError] = []
    if not _says_how(permission) or permission.output is None:
        problems.append(
            PlanError(
                str(permission.where),
                f"`{permission.uid}` permits the run, but does not say how to transform `{request.target}`",
                "an action `odrl:anonymize` or `smalti:train` with refinements, and an output",
                "name a rule that has them with --rule, or ask the data's owner for one",
            )
        )
    problems += [
        PlanError(
            str(duty.where),
            f"`{permission.uid}` requires `{duty.action}` (`{duty.uid}`), which this run does not do",
            "duties that the run's plan contains: to anonymize the target in the same way",
            "fulfil the duty separately and say so, or ask the data's owner",
        )
        for duty in grant.obligations
        if not _is_contained(duty, grant, request.target)
    ]
    raise_all(problems)
    return granted_by(grant)


def _says_how(permission: Permission) -> bool:
    return permission.how is not None


def _is_contained(duty: Duty, grant: Grant, target: IRI) -> bool:
    """Whether a run under a grant does what one of its obligations asks."""
    permission = grant.permission
    return _says_how(permission) and capability_of(granted_kind(permission)).fulfils(
        duty, permission, target
    )


def _check_one(target: IRI, permissions: Sequence[Permission]) -> None:
    if len(permissions) == 1:
        return
    listed = ", ".join(str(permission.uid) for permission in permissions)
    raise UsageError(
        str(target),
        f"several permissions match: {listed}",
        "exactly one, or the uid of the one to use",
        "name one with --rule",
    )


def make_backend(
    name: EngineName,
    *,
    fragments: int | None = None,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Backend:
    """The engine of that name; Spark is imported only when asked for.

    Args:
        name: which.
        fragments: the most kernels among which tuples are divided; None: the engine's own choice.
        master: of Spark.
        settings: of Spark.

    Raises:
        UsageError: something of this is not for that engine, or a setting cannot be made.
    """
    if fragments is not None and fragments < 1:
        raise UsageError("--fragments", "must be at least 1")
    if name is EngineName.LOCAL:
        from smalti.engine.backends.local import LocalBackend  # noqa: PLC0415

        if master is not None or settings:
            raise UsageError(
                "--master and --conf",
                "they apply to Spark only",
                "neither of them",
                "or say --engine spark",
            )
        return LocalBackend(fragments)
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    return SparkBackend(None, fragments, master=master, settings=settings)
