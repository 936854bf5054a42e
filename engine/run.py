"""The one path that everybody takes: decide, compile, execute, verify, certify, commit, register."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from smalti.engine.authority import Submission, decide
from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding import check_binding, input_hmac
from smalti.engine.certificate import (
    Certificate,
    ColumnLoss,
    Diversity,
    InputDigest,
    OwnerReport,
    PublishedFile,
    Timing,
)
from smalti.engine.commit import Stage, publish, recover, scratch, staging
from smalti.engine.compile import Circumstances, Options, column_iri, compile_plan
from smalti.engine.description import Source, bind
from smalti.engine.entries import Input, NewVersion, OutputColumn, TargetVersion
from smalti.engine.execute import InformationLoss, Phase, execute
from smalti.engine.label_sizes import foreseen
from smalti.engine.offers import offers
from smalti.engine.parts import files_in
from smalti.engine.plan import OutputFormat, Plan, RespondentColumn
from smalti.engine.reading import Contents, file_digest
from smalti.engine.registry import Registry
from smalti.engine.serialize import plan_digest, plan_to_json
from smalti.engine.stores import StoredObject, fetched
from smalti.engine.verify import Original, Output, Verification, verify_run
from smalti.engine.withdrawn import Withdrawn
from smalti.engine.writing import content_digest
from smalti.errors import (
    DataError,
    GuaranteeError,
    InternalError,
    PlanError,
    SmaltiError,
    UsageError,
    only_ours,
    raise_all,
)
from smalti.policy.decision import Decision, Fact, Grant, Request
from smalti.policy.diagnostics import Diagnostic
from smalti.policy.model import Condition, Duty, Permission, Policy
from smalti.vocab.terms import ANONYMIZE, IRI

_MEDIA_TYPES = {OutputFormat.CSV: "text/csv", OutputFormat.PARQUET: "application/vnd.apache.parquet"}


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """A policy with the document that it came from."""

    policy: Policy
    document: bytes
    name: str
    """As the user gave it, for messages."""
    signature: bytes | None = None
    """A detached JWS of the document (see `signatures`), where there is one."""
    warnings: tuple[Diagnostic, ...] = ()
    """What was found that is no error, as far as it was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What somebody asks for. `party` and `owner` are asserted by the caller and trusted."""

    document: PolicyDocument
    target: IRI
    data: Path | StoredObject
    """A CSV or Parquet file, a folder of such files that are one table, or CSVW metadata of either."""
    party: IRI | None
    """On whose behalf; None where nothing is to be decided (`plan_undecided`)."""
    purpose: IRI | None
    owner: IRI | None = None
    """Who submits the policy and binds the data; None: the party itself."""
    rule: IRI | None = None
    """The uid of the permission to use, where several match."""
    asks: tuple[Fact, ...] = ()
    """A stronger guarantee than the policy's, by the operands of refinements: `mosaicrown:k` is 20."""
    options: Options = field(default_factory=Options)
    workspace: Path | None = None
    """Where a plan is worked out, privately; None: in the system's folder for temporary files."""

    @property
    def asker(self) -> IRI:
        """The party; a fault of ours where a decision is asked for without one."""
        if self.party is None:
            raise InternalError("a decision was asked for without a party")
        return self.party

    @property
    def submitter(self) -> IRI:
        return self.owner or self.asker


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be done: a denial, or a plan."""

    decision: Decision | None
    """None where nobody asked."""
    plan: Plan | None
    """None exactly when the decision does not permit."""
    warnings: tuple[str, ...] = ()
    """What can be foreseen of the output's size."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done: a denial, or a registered output."""

    decision: Decision
    plan: Plan | None
    version: TargetVersion | None
    """None exactly when the decision does not permit; holds the certificate."""
    report: OwnerReport | None
    """The owner's figures; None where the submitter does not own what the output was made from."""
    warnings: tuple[str, ...] = ()
    """What the owner should know of the output's size; likewise."""


class Watch:
    """Told of the phases of a run; keeps how long each took. Made for one run."""

    def __init__(self) -> None:
        self._phases: list[tuple[str, float]] = []

    def phase(self, name: str) -> None:
        """A phase begins, and the one before it has ended."""
        self._phases.append((name, time.perf_counter()))

    def rows(self, count: int) -> None:
        """The input has so many rows; told once it is known."""

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The phases that have ended, and the one under way as far as it got."""
        ends = [start for _, start in self._phases[1:]] + [time.perf_counter()]
        return tuple(
            Timing(name, round(end - start, 3))
            for (name, start), end in zip(self._phases, ends, strict=True)
        )


@only_ours()
def plan(request: RunRequest, registry: Registry, backend: Backend) -> Planned:
    """Decide and compile, and write nothing but private scratch that is gone afterwards.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    decision = _decide(request, registry)
    if not decision.is_permitted:
        return Planned(decision, None)
    return Planned(decision, *_plan(request, registry, backend, _granted(request, decision)))


@only_ours()
def plan_undecided(request: RunRequest, registry: Registry, backend: Backend) -> Planned:
    """What the policy's permission for the target amounts to on the data, whoever asks.

    Raises:
        UsageError: the policy has no permission to anonymize the target.
        SmaltiError: as `run`, as far as it gets.
    """
    _check_target(request)
    offered = tuple(
        offer
        for offer in offers(request.document.policy, request.target)
        if request.rule is None or request.rule in offer.names
    )
    if not offered:
        raise UsageError(
            request.document.name,
            f"no permission lets anybody anonymize `{request.target}`"
            + (f" under the rule `{request.rule}`" if request.rule else ""),
            "a policy with a permission to anonymize",
            "`smalti check` shows what a policy says",
        )
    _check_one(request.target, [offer.permission for offer in offered])
    return Planned(
        None,
        *_plan(
            request, registry, backend, _Granted(offered[0].permission, offered[0].rows(request.target))
        ),
    )


@only_ours()
def plan_granted(request: RunRequest, registry: Registry, backend: Backend, grant: Grant) -> Planned:
    """What a grant to anonymize amounts to on the data: on the rows that it is limited to.

    Raises:
        SmaltiError: as `run`, as far as it gets.
    """
    _check_target(request)
    return Planned(None, *_plan(request, registry, backend, _Granted(grant.permission, grant.rows)))


def _check_target(request: RunRequest) -> None:
    targets = sorted(request.document.policy.targets)
    if request.target not in targets:
        raise UsageError(
            request.document.name,
            f"the policy says nothing about `{request.target}`",
            "a target of the policy, bound with --data IRI=PATH",
            f"the policy is about {', '.join(targets)}",
        )


def _plan(
    request: RunRequest, registry: Registry, backend: Backend, granted: "_Granted"
) -> tuple[Plan, tuple[str, ...]]:
    """The plan, and what can be foreseen of its output."""
    with scratch(request.workspace) as place, _bound(request, backend, place / "spill") as (source, table):
        compiled = _compile(request, registry, granted, source, table)
        if request.party is not None:
            check_binding(registry, source, table.contents, compiled.plan, request.submitter)
        return compiled.plan, foreseen(compiled.plan, table)


@only_ours()
def run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch | None = None
) -> Outcome:
    """Run a policy on data: all of it, or nothing.

    Returns:
        The decision, and where it permits, the plan and the registered version. A denial is a
        decision, never an exception; nothing is written then.

    Raises:
        UsageError: `out` exists already, or the request is put together wrongly.
        PlanError: the data cannot be treated as the policy asks.
        DataError: the data cannot be read.
        GuaranteeError: the data cannot meet what the policy promises.
        BackendError: the machine.
        RegistryError: the registry cannot be read or written.
        InternalError: a fault of smalti; no other exception comes out, for its message may quote data.
        In each case nothing is published and nothing registered.
    """
    watch = watch or Watch()
    recover(registry)
    watch.phase("decide")
    decision = _decide(request, registry)
    if not decision.is_permitted:
        return Outcome(decision, None, None, None)
    granted = _granted(request, decision)
    registry.check_output(granted.output, (request.target,), request.submitter)
    with staging(registry, out) as stage:
        with _bound(request, backend, stage.spill, watch.phase) as (source, table):
            watch.rows(table.contents.rows)
            watch.phase("plan")
            compiled = _compile(request, registry, granted, source, table)
            made = compiled.plan
            check_binding(registry, source, table.contents, made, request.submitter)
            loss = execute(made, table, stage.output / _file_name(made), stage.link, watch.phase)
        watch.phase("verify")
        output = Output.in_folder(stage.output, made.write.format)
        verification = _verified(compiled, source, table, output, stage)
        watch.phase("register")
        record = _record(
            _Run(request, registry, backend, granted.permission, stage),
            compiled, source, output, verification, loss, watch,
        )  # fmt: skip
        version = publish(registry, stage, record)
        is_owner = request.submitter in registry.full_owners(version.target)
        if not is_owner:
            return Outcome(decision, made, version, None)
        return Outcome(decision, made, version, version.report, loss.warnings)


def _decide(request: RunRequest, registry: Registry) -> Decision:
    _check_target(request)
    asked = Request(
        party=request.asker,
        action=ANONYMIZE,
        targets=(request.target,),
        purpose=request.purpose,
        rule=request.rule,
        parameters=request.asks,
    )
    given = request.document
    submission = Submission(given.policy, request.submitter, given.document, given.signature)
    return decide(registry, asked, submission=submission)


@dataclass(frozen=True, slots=True)
class _Granted:
    """What a run may do."""

    permission: Permission
    rows: tuple[Condition, ...]

    @property
    def output(self) -> IRI:
        if self.permission.output is None:
            raise InternalError("a permission without an output was granted")
        return self.permission.output


def _granted(request: RunRequest, decision: Decision) -> _Granted:
    """The one grant of a decision, if a run can do all that it asks.

    Raises:
        UsageError: several permissions match.
        PlanError: it does not say what to do, or asks for what a run does not do; all at once.
    """
    grants = [one for one in decision.grants if one.permission.anonymization] or decision.grants
    _check_one(request.target, [one.permission for one in grants])
    grant = grants[0]
    permission = grant.permission
    problems: list[SmaltiError] = []
    if permission.anonymization is None or permission.output is None:
        problems.append(
            PlanError(
                str(permission.where),
                f"`{permission.uid}` permits the run, and does not say how to anonymize `{request.target}`",
                "an action `odrl:anonymize` with refinements, and an output",
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
    return _Granted(permission, grant.rows)


def _is_contained(duty: Duty, grant: Grant, target: IRI) -> bool:
    """Whether a run under a grant does what one of its obligations asks."""
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


@contextmanager
def _bound(
    request: RunRequest, backend: Backend, workspace: Path, phase: Phase = lambda _: None
) -> Iterator[tuple[Source, StagedTable]]:
    data = fetched(request.data, workspace.with_name("input"), phase)
    phase("read")
    source = bind(request.target, data)
    with closing(backend.open(source, workspace)) as table:
        yield source, table


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A plan, and what it was made from."""

    plan: Plan
    inputs: tuple[Input, ...]
    withdrawn: Withdrawn
    withdrawn_at: datetime
    """When it was asked who withdrew."""


def _compile(
    request: RunRequest, registry: Registry, granted: _Granted, source: Source, table: StagedTable
) -> _Compiled:
    versions = registry.versions(source.target)
    version = _version_of(source, table, versions) if versions else None
    number = None if version is None else version.number
    now = datetime.now(UTC)
    withdrawn = registry.withdrawn(source.target, number, at=now)
    inherited = None if version is None else version.respondent
    circumstances = Circumstances(granted.rows, request.asks, inherited, withdrawn)
    made = compile_plan(granted.permission, source, table, request.options, circumstances)
    return _Compiled(made, (Input(source.target, number),), withdrawn, now)


def _version_of(source: Source, table: StagedTable, versions: tuple[TargetVersion, ...]) -> TargetVersion:
    same = [v for v in versions if tuple(file.digest for file in v.files) == table.contents.digests]
    if not same:
        raise UsageError(
            source.path.name,
            f"{'the folder' if source.parts else 'the file'} is no registered version of `{source.target}`",
            "the bytes that were registered, all parts of them in their order",
            "`smalti targets` lists the versions and where they are",
        )
    # Equal bytes may have been made with respondents counted in two ways: the stricter one holds.
    return next((v for v in same if isinstance(v.respondent, RespondentColumn)), same[-1])


def _file_name(made: Plan) -> str:
    last = re.split(r"[/#:]", made.write.output.rstrip("/#:"))[-1]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-") or "output"
    return f"{stem}.{made.write.format}"


def _check_unchanged(source: Source, digests: Sequence[str], contents: Contents) -> None:
    """That the input is what was read: the same files, with the same bytes."""
    names = [path.name for path in source.paths]
    for name, found, read in zip(names, digests, contents.digests, strict=True):
        if found != read:
            raise _changed(name)
    if source.parts and not _has_same_files(source):
        raise _changed(source.path.name)


def _has_same_files(source: Source) -> bool:
    try:
        return files_in(source.path)[1] == source.parts
    except UsageError:
        return False


def _changed(name: str) -> DataError:
    return DataError(name, "the file changed during the run", "a file that stays as it is", "run again")


def _verified(
    compiled: _Compiled, source: Source, table: StagedTable, output: Output, stage: Stage
) -> Verification:
    try:
        verification = verify_run(
            compiled.plan,
            Original(source.path, source.format, source.parts),
            output,
            stage.link,
            compiled.withdrawn.known_form,
            folder=stage.spill,
        )
    except GuaranteeError:
        # A file that is another one by now breaks promises, too.
        _check_unchanged(source, [file_digest(path) for path in source.paths], table.contents)
        raise
    _check_unchanged(source, [_named(one) for one in verification.input_digests], table.contents)
    return verification


def _named(digest: str) -> str:
    return digest if digest.startswith("sha256:") else f"sha256:{digest}"


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run is made under."""

    request: RunRequest
    registry: Registry
    backend: Backend
    permission: Permission
    stage: Stage


def _record(  # noqa: PLR0913, PLR0917 (everything that is known at the end of a run)
    made_under: _Run,
    compiled: _Compiled,
    source: Source,
    output: Output,
    verification: Verification,
    loss: InformationLoss,
    watch: Watch,
) -> NewVersion:
    request, permission = made_under.request, made_under.permission
    made, inputs = compiled.plan, compiled.inputs
    now = datetime.now(UTC)
    files = tuple(
        PublishedFile(path.name, _named(digest), path.stat().st_size, _MEDIA_TYPES[made.write.format])
        for path, digest in zip(output.paths, verification.output_digests, strict=True)
    )
    document = request.document
    certificate = Certificate(
        version=made_under.stage.version,
        output=made.write.output,
        issued=now,
        guarantee=made.apply.transform.guarantee,
        quasi_identifiers=made.apply.transform.quasi_identifiers,
        sensitive=made.apply.transform.sensitive,
        released=made.released,
        respondent=made.read.respondent,
        inputs=tuple(one.iri for one in inputs),
        policy_uid=document.policy.uid,
        policy_digest=document.policy.document_digest,
        rule_uid=permission.uid,
        plan_digest=plan_digest(made),
        files=files,
    )
    return NewVersion(
        target=made.write.output,
        format=made.write.format,
        output_digest=_content_of(output, files),
        files=files,
        plan=plan_to_json(made),
        plan_digest=plan_digest(made),
        policy_digest=document.policy.document_digest,
        policy_uid=document.policy.uid,
        rule_uid=permission.uid,
        rule_purposes=permission.purposes,
        party=request.asker,
        purpose=request.purpose,
        inputs=inputs,
        columns=_output_columns(made, source),
        respondent=made.read.respondent,
        created_at=now,
        certificate=certificate.to_json(),
        report=_report(made_under, compiled, source, verification, loss, watch),
        document=document.document,
        document_name=document.name,
        issuer=request.submitter,
        bound_by=request.submitter,
        signature=document.signature,
        started_at=compiled.withdrawn_at,
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
    made_under: _Run,
    compiled: _Compiled,
    source: Source,
    verification: Verification,
    loss: InformationLoss,
    watch: Watch,
) -> OwnerReport:
    digests = zip(source.paths, verification.input_digests, strict=True)
    return OwnerReport(
        engine=made_under.backend.name,
        inputs=tuple(
            InputDigest(path.name, input_hmac(made_under.registry, digest)) for path, digest in digests
        ),
        rows_in=verification.rows + verification.rows_withdrawn + verification.rows_filtered,
        rows_out=verification.rows,
        respondents=verification.respondents,
        classes=verification.classes,
        k=verification.k,
        diversity=tuple(Diversity(name, least) for name, least in verification.diversity),
        losses=tuple(ColumnLoss(name, float(value)) for name, value in loss.by_column),
        loss=float(loss.global_certainty_penalty),
        timings=watch.timings,
        rows_withdrawn=verification.rows_withdrawn,
        respondents_listed=compiled.withdrawn.count,
        rows_filtered=verification.rows_filtered,
        withdrawn_at=compiled.withdrawn_at,
        sampled_fragments=made_under.request.options.sampled_fragments,
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
