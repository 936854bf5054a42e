"""The one path that everybody takes: decide, compile, execute, verify, certify, commit, register."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import InformationLoss, execute
from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.below import forbidden_below
from smalti.engine.binding.binding import check_binding
from smalti.engine.binding.bound_columns import column_iri
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.known_respondents import with_respondents
from smalti.engine.binding.offers import offers
from smalti.engine.binding.run_inputs import (
    Given,
    Granted,
    admit,
    bound,
    check_unchanged,
    given,
    without_tables,
)
from smalti.engine.binding.run_record import (
    Promised,
    RunUnder,
    digests_of_inputs,
    file_name,
    new_version,
    prefixed,
    published_files,
)
from smalti.engine.binding.run_request import Outcome, Planned, PolicyDocument, RunRequest, Watch
from smalti.engine.binding.used_columns import (
    DeclaresMoreError,
    DeniedOnDataError,
    check_withheld,
    declared_columns,
    refusal,
    withheld_columns,
)
from smalti.engine.plan.files import ColumnLoss, Diversity, OwnerReport, PublishedFile
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.plan.serialize import AnyPlan
from smalti.engine.registry.authority import decide, deny_afterwards, resolved
from smalti.engine.registry.commit import Stage, publish, recover, scratch, staging
from smalti.engine.registry.entries import NewVersion, OutputColumn
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.engine.run.exact_values import forms
from smalti.engine.run.explain import warnings_in
from smalti.engine.run.run_warnings import Looked, look
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.sources import bind
from smalti.engine.tables.stores import fetched
from smalti.engine.tables.writing import content_digest
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError, PlanError, SmaltiError, UsageError, only_ours, raise_all
from smalti.policy.decision import Decision, Grant, Reason, Request
from smalti.policy.foreign_columns import speaks_of_foreign_columns
from smalti.policy.iris import is_column_of, normalised_column
from smalti.policy.model import ConflictStrategy, Duty, Permission
from smalti.vocab.terms import ANONYMIZE, DIFFERENTIAL_PRIVACY, IRI, LOCAL_DIFFERENTIAL_PRIVACY, TRAIN

if TYPE_CHECKING:
    from smalti.engine.losses.charged_run import ChargedRun

__all__ = [
    "EngineName",
    "Outcome",
    "Planned",
    "PolicyDocument",
    "RunRequest",
    "Watch",
    "is_perturbation",
    "is_release",
    "make_backend",
    "plan",
    "plan_granted",
    "plan_undecided",
    "run",
]


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


@only_ours()
def plan(request: RunRequest, registry: Registry, backend: Backend) -> Planned:
    """Decide and compile, and write nothing but private scratch that is gone afterwards.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    request = _resolved(request, registry)
    columns = described_columns(request)
    try:
        planned = _planned(request, registry, backend, columns)
    except DeclaresMoreError as more:
        columns = more.columns
        planned = _planned(request, registry, backend, columns)
    if planned.plan is None:
        return planned
    return replace(planned, warnings=(*planned.warnings, *_below(request, registry, columns)))


def _planned(request: RunRequest, registry: Registry, backend: Backend, columns: KnownColumns) -> Planned:
    decision = _decide(request, registry, columns)
    if not decision.is_permitted:
        return Planned(decision, None)
    granted = replace(_granted(request, decision), columns=columns)
    try:
        found = _plan(request, registry, backend, granted)
    except DeniedOnDataError as refused:
        return Planned(deny_afterwards(registry, decision, refused.reason), None)
    made = found.plan
    if made is not None and not isinstance(made, Plan) and not _is_free(made):
        from smalti.engine.losses.charging import foreseen_reason  # noqa: PLC0415 (only for what is charged)

        if (reason := foreseen_reason(registry, request, granted.permission, made)) is not None:
            return Planned(deny_afterwards(registry, decision, reason), None)
    return replace(found, decision=decision)


@only_ours()
def plan_undecided(request: RunRequest, registry: Registry, backend: Backend) -> Planned:
    """What the policy's permission for the target amounts to on the data, whoever asks.

    Raises:
        UsageError: the policy has no permission to anonymize the target.
        SmaltiError: as `run`, as far as it gets.
    """
    request = _resolved(request, registry)
    _check_target(request)
    offered = tuple(
        offer
        for offer in offers(request.document.policy, request.target)
        if request.rule is None or request.rule in offer.names
    )
    if not offered:
        raise UsageError(
            request.document.name,
            f"no permission lets anybody anonymize `{request.target}`, or train on it"
            + (f" under the rule `{request.rule}`" if request.rule else ""),
            "a policy with a permission to anonymize or to train",
            "`smalti check` shows what a policy says",
        )
    _check_one(request.target, [offer.permission for offer in offered])
    granted = Granted(offered[0].permission, offered[0].rows(request.target))
    return _plan(request, registry, backend, granted)


@only_ours()
def plan_granted(request: RunRequest, registry: Registry, backend: Backend, grant: Grant) -> Planned:
    """What a grant to anonymize amounts to on the data: on the rows that it is limited to.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    _check_target(request)
    granted = Granted(grant.permission, grant.rows, grant.withheld, grant.implied)
    return _plan(request, registry, backend, granted)


def is_release(permission: Permission) -> bool:
    """Whether what a permission allows is a release of noisy statistics."""
    wanted = permission.anonymization
    return wanted is not None and wanted.method == DIFFERENTIAL_PRIVACY


def is_perturbation(permission: Permission) -> bool:
    """Whether what a permission allows is a table of perturbed records."""
    wanted = permission.anonymization
    return wanted is not None and wanted.method == LOCAL_DIFFERENTIAL_PRIVACY


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
    """The plan, what it warns of, what would have been lost with it, and what a run would stop at."""
    kind = _charged(granted.permission)
    wanted = (lambda _: None) if kind is None else kind.columns_read(request, granted)
    columns = with_respondents(wanted, request, registry)
    with (
        scratch(request.workspace) as place,
        bound(request, backend, place / "spill", columns=columns) as (source, table),
    ):
        known = given(request, registry, granted, source, table)
        made = _made(kind, request, granted, source, table, known.circumstances)
        warnings = _missing_columns(known)
        denied = refusal(made, table.contents.header, known.withheld)
        obstacle = None if denied is None else denied.text
        if request.party is not None:
            check_binding(registry, source, table.contents, made, request.submitter)
            check_withheld(replace(known.withheld, lacking=()), table.contents.header, made)
            obstacle = _obstacle(request, registry, known, source, table, made)
        else:
            warnings += _own_prohibitions(request, registry, source, table, made)
            warnings += _below(request, registry, declared_columns(source))
        if isinstance(made, Plan):
            looked = look(made, source, table, is_output=known.is_output, with_counts=False)
            return Planned(None, made, (*looked.warnings, *warnings), None, obstacle)
        if _is_free(made):
            return Planned(None, made, (*warnings_in(made), *warnings), None, obstacle)
        from smalti.engine.losses.charging import (  # noqa: PLC0415 (only for what is charged)
            composition_with,
            foreseen_reason,
        )

        together = composition_with(registry, request.target, made)
        reason = foreseen_reason(registry, request, granted.permission, made)
        denial = () if reason is None else (reason.text,)
        obstacle = obstacle if reason is None else reason.text
        return Planned(None, made, (*warnings_in(made), *denial, *warnings), together, obstacle)


def _obstacle(
    request: RunRequest, registry: Registry, known: Given, source: Source, table: StagedTable, made: AnyPlan
) -> str | None:
    """What a run would stop at, where it comes to count."""
    try:
        admit(request, registry, known, source, table, made)
    except DeniedOnDataError as denied:
        return denied.reason.text
    except SmaltiError as refused:
        return str(refused)
    return None


def _missing_columns(known: Given) -> tuple[str, ...]:
    """What a plan tells of prohibitions that name no column of the data; a run is denied."""
    return tuple(
        f"a policy prohibits the use of `{iri}`, and the data has no such column: a run is denied"
        for iri in known.withheld.lacking
    )


def _own_prohibitions(
    request: RunRequest, registry: Registry, source: Source, table: StagedTable, made: AnyPlan
) -> tuple[str, ...]:
    """What the policy itself forbids to some of the plan's columns; nobody asked, so nothing is decided."""
    if request.document.policy.conflict is ConflictStrategy.PERMIT:
        return ()  # none of them holds against a permission beside it
    found = []
    declared = declared_columns(source).iris
    for rule in request.document.policy.prohibitions:
        iris = [
            asset.iri
            for asset in rule.targets
            if is_column_of(request.target, asset.iri) or normalised_column(asset.iri) in declared
        ]
        named = withheld_columns(source, table.contents.header, iris)
        withheld = without_tables(registry, source, named)
        if (reason := refusal(made, table.contents.header, withheld)) is not None:
            found.append(f"where the prohibition `{rule.uid}` applies, a run is denied: {reason.text}")
    return tuple(found)


def _is_free(made: AnyPlan) -> bool:
    """Whether it is a training without noise, of which nothing is charged: an audit stands for it."""
    return isinstance(made, TrainingPlan) and made.train.private is None


def _charged(permission: Permission) -> "ChargedRun[Any, Any] | None":
    """The kind of run that a permission allows, if it is one that is charged."""
    if is_release(permission):
        from smalti.engine.releases.run import Release  # noqa: PLC0415 (only for releases)

        return Release()
    if is_perturbation(permission):
        from smalti.engine.perturbation.run import Perturbation  # noqa: PLC0415 (only for perturbations)

        return Perturbation()
    return None


def _made(
    kind: "ChargedRun[Any, Any] | None",
    request: RunRequest,
    granted: Granted,
    source: Source,
    table: StagedTable,
    circumstances: Circumstances,
) -> AnyPlan:
    """The plan of whatever a permission allows."""
    if granted.permission.training is not None:
        _check_installed()
        from smalti.engine.training.compile import compile_training  # noqa: PLC0415 (only for training)

        _refuse_query(request)
        return compile_training(granted.permission, source, table, circumstances)
    if kind is not None:
        made: AnyPlan = kind.planned(request, granted, source, table, circumstances)
        return made
    _refuse_query(request)
    return compile_plan(granted.permission, source, table, request.options, circumstances)


@only_ours()
def run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch | None = None
) -> Outcome:
    """Run a policy on data: all of it, or nothing.

    Returns:
        The decision, and where it permits, the plan and the registered version. A denial is a
        decision, never an exception; nothing is written then. So is a release that does not fit into
        its budget.

    Raises:
        UsageError: `out` exists already, or the request is put together wrongly.
        PlanError: the data cannot be treated as the policy asks.
        DataError: the data cannot be read.
        GuaranteeError: the data cannot meet what the policy promises.
        BackendError: the machine.
        RegistryError: the registry cannot be read or written.
        InternalError: a fault of smalti; no other exception comes out, for its message may quote data.
        In each case nothing is published and nothing registered. What a release was charged stays so.
    """
    watch = watch or Watch()
    recover(registry)
    watch.phase("decide")
    request = _resolved(request, registry)
    columns = described_columns(request)
    try:
        outcome = _run(request, out, registry, backend, watch, columns)
    except DeclaresMoreError as more:
        columns = more.columns
        outcome = _run(request, out, registry, backend, watch, columns)
    if outcome.version is None:
        return outcome
    return replace(outcome, warnings=(*outcome.warnings, *_below(request, registry, columns)))


def _below(request: RunRequest, registry: Registry, columns: KnownColumns) -> tuple[str, ...]:
    policy, binder = request.document.policy, request.owner or request.party
    return forbidden_below(registry, request.target, policy, binder=binder, columns=columns)


def _run(
    request: RunRequest,
    out: Path,
    registry: Registry,
    backend: Backend,
    watch: Watch,
    columns: KnownColumns,
) -> Outcome:
    decision = _decide(request, registry, columns)
    if not decision.is_permitted:
        return Outcome(decision, None, None, None)
    granted = replace(_granted(request, decision), columns=columns)
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
    issuer = request.document.issuer or request.submitter
    registry.check_output(granted.output, (request.target,), request.submitter, issuer)
    with staging(registry, out) as stage:
        made_under = RunUnder(
            request, registry, backend, decision, granted, stage, watch, _binds_as_owner(request, registry)
        )
        if granted.permission.training is not None:
            from smalti.engine.training.run import carry_out_training  # noqa: PLC0415 (only for training)

            _refuse_query(request)
            return carry_out_training(made_under)
        kind = _charged(granted.permission)
        if kind is not None:
            from smalti.engine.losses.charged_run import carry_out  # noqa: PLC0415 (only for what is charged)

            return carry_out(kind, made_under)
        _refuse_query(request)
        return _published(made_under)


def _refuse_query(request: RunRequest) -> None:
    if request.query is not None:
        raise UsageError(
            request.query.name or "query (--query)",
            "the permission that matches is not about statistics",
            "a policy with the method differential-privacy",
            "leave out --query, or name another rule with --rule",
        )


def _published(under: RunUnder) -> Outcome:
    request, registry, stage, watch = under.request, under.registry, under.stage, under.watch
    with bound(request, under.backend, stage.spill, watch.phase) as (source, table):
        watch.rows(table.contents.rows)
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = compile_plan(under.granted.permission, source, table, request.options, known.circumstances)
        admit(request, registry, known, source, table, made)
        looked = look(made, source, table, is_output=known.is_output, with_counts=True)
        loss = execute(
            made, table, stage.output / file_name(made.write.output, made.write.format), stage.link,
            watch.phase,
        )  # fmt: skip
    watch.phase("verify")
    output = Output.in_folder(stage.output, made.write.format)
    verification = _verified(made, known, source, table, output, stage)
    watch.phase("register")
    record = _record(under, made, known, source, output, verification, loss, looked)
    version = publish(registry, stage, record)
    if request.submitter not in registry.full_owners(version.target):
        return Outcome(under.decision, made, version, None, looked.in_plan)
    warnings = dict.fromkeys((*looked.warnings, *loss.warnings))
    return Outcome(under.decision, made, version, version.report, tuple(warnings))


def _binds_as_owner(request: RunRequest, registry: Registry) -> bool:
    is_known = registry.exists and registry.is_known(request.target)
    return not is_known or request.submitter in registry.full_owners(request.target)


def _resolved(request: RunRequest, registry: Registry) -> RunRequest:
    """The request with its policy as an owner of the target says it.

    One that does not count stays as it is: the decision says why.
    """
    given = request.document
    submission = Submission(given.policy, request.owner or request.party, given.document, given.signature)
    found = resolved(registry, (request.target,), submission)
    if isinstance(found, Reason):
        return request
    document = replace(given, policy=found.policy, issuer=found.issuer)
    if found.is_laid_out_anew:
        content = registry.document(found.policy.document_digest)
        document = replace(document, document=content, name=found.policy.where.document, signature=None)
    return replace(request, document=document)


def described_columns(request: RunRequest) -> KnownColumns:
    """What a description tells of columns, as far as it can be read before a decision."""
    if speaks_of_foreign_columns(request.document.policy):
        return _described_columns(request)
    if not isinstance(request.data, Path):
        return NO_COLUMNS
    try:
        return declared_columns(bind(request.target, request.data))
    except SmaltiError:
        return NO_COLUMNS  # told once the data may be read


def _decide(request: RunRequest, registry: Registry, columns: KnownColumns) -> Decision:
    _check_target(request)
    action = _action(request)
    if action == TRAIN:
        _check_installed()  # before a decision says that it may be done
    asked = Request(
        party=request.asker,
        action=action,
        targets=(request.target,),
        purpose=request.purpose,
        rule=request.rule,
        parameters=request.parameters,
        columns=columns.iris,
        renamed=columns.renamed,
        understands_limits=True,  # a run keeps to rows, columns and duties of its grant, or is refused
    )
    given = request.document
    submission = Submission(given.policy, request.submitter, given.document, given.signature)
    decision = decide(registry, asked, submission=submission)
    if decision.is_permitted:
        return decision
    return replace(decision, reasons=(*decision.reasons, *map(Reason, request.stands_for)))


def _described_columns(request: RunRequest) -> KnownColumns:
    """What the description tells of columns, wherever the data is.

    Whoever binds data that somebody else owns has to describe it as an owner did (`check_binding`).

    Raises:
        UsageError, DataError, BackendError: as where the data is bound.
    """
    with tempfile.TemporaryDirectory(prefix="smalti-") as folder:
        source = bind(request.target, fetched(request.data, Path(folder) / "input"))
    return declared_columns(source)


def _check_installed() -> None:
    from smalti.transforms.learning.installed import check_installed  # noqa: PLC0415 (only for training)

    check_installed()


def _action(request: RunRequest) -> IRI:
    """Whether the policy's rule about the target is one to anonymize it, or to train a model on it.

    Raises:
        UsageError: it has rules of both kinds, and the request names none of them.
    """
    trains = [
        one.uid
        for one in request.document.policy.permissions
        if one.training is not None and request.target in {asset.iri for asset in one.targets}
    ]
    if request.rule is not None:
        return TRAIN if request.rule in trains else ANONYMIZE
    if not trains:
        return ANONYMIZE
    others = [
        offer.permission.uid
        for offer in offers(request.document.policy, request.target)
        if offer.permission.training is None
    ]
    if not others:
        return TRAIN
    raise UsageError(
        str(request.target),
        f"the policy lets it be anonymized and be trained on: {', '.join([*others, *trains])}",
        "the uid of the rule to use",
        "name one with --rule",
    )


def _granted(request: RunRequest, decision: Decision) -> Granted:
    """The one grant of a decision, if a run can do all that it asks.

    Raises:
        UsageError: several permissions match.
        PlanError: it does not say what to do, or asks for what a run does not do; all at once.
    """
    grants = [one for one in decision.grants if _says_how(one.permission)] or decision.grants
    struck = [one for one in decision.struck if _says_how(one.permission)]
    # One that a prohibition on a column strikes still counts: more prohibitions never let a run go on.
    _check_one(request.target, [one.permission for one in (*grants, *struck)])
    grant = grants[0]
    permission = grant.permission
    problems: list[SmaltiError] = []
    if not _says_how(permission) or permission.output is None:
        problems.append(
            PlanError(
                str(permission.where),
                f"`{permission.uid}` permits the run, and does not say what to make of `{request.target}`",
                "an action `odrl:anonymize` or `smalti:train` with refinements, and an output",
                "name a rule that has them with --rule, or ask the data's owner for one",
            )
        )
    problems += [
        PlanError(
            str(duty.where),
            f"`{permission.uid}` obliges to do `{duty.action}` (`{duty.uid}`), which this run does not",
            "duties that the run's plan contains: to anonymize the target in the same way",
            "fulfil the duty another way and say so, or ask the data's owner",
        )
        for duty in grant.obligations
        if not _is_contained(duty, grant, request.target)
    ]
    raise_all(problems)
    return Granted(permission, grant.rows, grant.withheld, grant.implied)


def _says_how(permission: Permission) -> bool:
    return permission.anonymization is not None or permission.training is not None


def _is_contained(duty: Duty, grant: Grant, target: IRI) -> bool:
    """Whether a run under a grant does what one of its obligations asks."""
    if duty.audit is not None:
        return grant.permission.training is not None and not duty.constraints
    return (
        duty.action == ANONYMIZE
        and duty.anonymization == grant.permission.anonymization
        and duty.output in (None, grant.permission.output)
        and (not duty.targets or target in {asset.iri for asset in duty.targets})
        and not duty.constraints
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


def _verified(
    made: Plan, known: Given, source: Source, table: StagedTable, output: Output, stage: Stage
) -> Verification:
    try:
        verification = verify_run(
            made,
            Original(source.path, source.format, source.parts),
            output,
            stage.link,
            known.circumstances.withdrawn.known_form,
            folder=stage.spill,
        )
    except GuaranteeError:
        # A file that is another one by now breaks promises, too.
        check_unchanged(source, [file_digest(path) for path in source.paths], table.contents)
        raise
    check_unchanged(source, [prefixed(one) for one in verification.input_digests], table.contents)
    return verification


def _record(  # noqa: PLR0913, PLR0917 (everything that is known at the end of a run)
    under: RunUnder,
    made: Plan,
    known: Given,
    source: Source,
    output: Output,
    verification: Verification,
    loss: InformationLoss,
    looked: Looked,
) -> NewVersion:
    files = published_files(output.paths, verification.output_digests, made.write.format)
    return new_version(
        under,
        made,
        known,
        files,
        Promised(
            made.apply.transform.guarantee,
            made.apply.transform.quasi_identifiers,
            forms(made),
            made.apply.transform.sensitive,
            made.released,
        ),
        _output_columns(made, source),
        _content_of(output, files),
        _report(under, known, source, verification, loss, looked),
    )


def _content_of(output: Output, files: tuple[PublishedFile, ...]) -> str:
    if output.format is OutputFormat.CSV and len(files) == 1:
        return files[0].digest  # such a file is the form that is digested
    return content_digest(output.paths, output.format)


def _output_columns(made: Plan, source: Source) -> tuple[OutputColumn, ...]:
    published = replace(source, target=made.write.output, description=type(source.description)())
    return tuple(
        OutputColumn(name, column_iri(published, name), made.column(name).datatype)
        for name in made.write.columns
    )


def _report(
    under: RunUnder,
    known: Given,
    source: Source,
    verification: Verification,
    loss: InformationLoss,
    looked: Looked,
) -> OwnerReport:
    return OwnerReport(
        engine=under.backend.name,
        inputs=digests_of_inputs(under.registry, source, verification.input_digests),
        rows_in=verification.rows + verification.rows_withdrawn + verification.rows_filtered,
        rows_out=verification.rows,
        respondents=verification.respondents,
        classes=verification.classes,
        k=verification.k,
        diversity=tuple(Diversity(name, least) for name, least in verification.diversity),
        losses=tuple(ColumnLoss(name, float(value)) for name, value in loss.by_column),
        loss=float(loss.global_certainty_penalty),
        timings=under.watch.timings,
        rows_withdrawn=verification.rows_withdrawn,
        respondents_listed=known.circumstances.withdrawn.count,
        rows_filtered=verification.rows_filtered,
        withdrawn_at=known.at,
        sampled_fragments=under.request.options.sampled_fragments,
        exact=looked.exact,
        rows_alike=looked.alike,
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
        raise UsageError("fragments (--fragments)", "there are none", "1 or more")
    if name is EngineName.LOCAL:
        from smalti.engine.backends.local import LocalBackend  # noqa: PLC0415

        if master is not None or settings:
            raise UsageError(
                "--master and --conf", "they are for Spark", "neither of them", "or say --engine spark"
            )
        return LocalBackend(fragments)
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    return SparkBackend(None, fragments, master=master, settings=settings)
