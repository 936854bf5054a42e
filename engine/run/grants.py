"""The decision of a run's request, and the one grant that the run is made under."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from smalti.engine.binding.candidate_permissions import candidate_permissions
from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.population import population_of, prohibited_population
from smalti.engine.binding.run_inputs import Granted, granted_by
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.withheld_columns import declared_columns
from smalti.engine.plan.kinds import action_of, granted_kind, kind_in_sole_room
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.registry.authority import decide, deny_afterwards
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.engine.registry.submitted_policies import resolved
from smalti.engine.tables.addresses import TableIn
from smalti.engine.tables.bringing import bound
from smalti.engine.tables.stores import StoredObject, fetched
from smalti.errors import OWNER_CAN, PlanError, SmaltiError, UsageError, for_owner, raise_all
from smalti.policy.decide.decision import Decision, Grant, Reason, Request
from smalti.policy.lint.foreign_columns import speaks_of_foreign_columns
from smalti.policy.model.model import Duty, Permission
from smalti.vocab.terms import ANONYMIZE, IRI


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
        SmaltiError: as `run.run`.
    """
    if registry.exists:
        registry.ownership.check_spelling(request.target)
    decision = _decide(request, registry, columns)
    if not decision.is_permitted:
        return decision, None
    granted = replace(_granted(request, decision), columns=columns)
    reason = prohibited_population(request, registry, granted.permission)
    if reason is not None:
        return deny_afterwards(registry, decision, reason), None
    return decision, granted


def check_target(request: RunRequest) -> None:
    """Refuse a request about what its policy does not speak of."""
    targets = sorted(request.document.policy.targets)
    if request.target not in targets:
        raise UsageError(
            request.document.name,
            f"the policy says nothing about `{request.target}`",
            "a target of the policy, bound with --data IRI=PATH",
            f"the policy is about {', '.join(targets)}",
        )


def check_output(request: RunRequest, registry: Registry, granted: Granted) -> None:
    """Ask, before any work, whether the output may be registered under its IRI.

    Raises:
        UsageError: it may not be.
    """
    if registry.exists:
        issuer = request.document.issuer or request.submitter
        population = population_of(granted.permission)
        inputs = (request.target,) if population is None else (request.target, population)
        tables = capability_of(granted_kind(granted.permission)).tables(granted.output)
        registry.outputs.check_output(granted.output, inputs, request.submitter, issuer, tables)


def binds_as_owner(request: RunRequest, registry: Registry) -> bool:
    """Whether the submitter fully owns the target, or nobody is known to own it."""
    is_known = registry.exists and registry.ownership.is_known(request.target)
    return not is_known or request.submitter in registry.ownership.full(request.target)


@contextmanager
def in_words_for(request: RunRequest, registry: Registry, *, with_figures: bool = False) -> Iterator[None]:
    """Say a refusal in the owner's words where the submitter is the owner of the data (`for_owner`)."""
    try:
        yield
    except SmaltiError as refused:
        error = for_owner(refused, with_figures=with_figures)
        if error is refused or not binds_as_owner(request, registry):
            raise
        raise error from None


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
    check_target(request)
    action = _action(request)
    if (kind := kind_in_sole_room(action)) is not None:
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
    decision = decide(registry, asked, submission=request.submission)
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
    check_single_permission(request.target, [decided.permission for decided in (*grants, *struck)])
    grant = grants[0]
    permission = grant.permission
    problems: list[SmaltiError] = []
    if not _says_how(permission) or permission.output is None:
        problems.append(
            PlanError(
                str(permission.where),
                f"`{permission.uid}` permits the run, but does not say how to transform `{request.target}`",
                "an action `odrl:anonymize` or `smalti:train` with refinements, and an output",
                f"name a rule that has them with --rule, or {OWNER_CAN} state them",
            )
        )
    problems += [
        PlanError(
            str(duty.where),
            f"`{permission.uid}` requires `{duty.action}` (`{duty.uid}`), which this run does not do",
            "duties that the run's plan contains: to anonymize the target in the same way",
            f"fulfil the duty separately and say so, or {OWNER_CAN} leave it out of the policy",
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


def check_single_permission(target: IRI, permissions: Sequence[Permission]) -> None:
    """Refuse several permissions of a target: the request names one of them."""
    if len(permissions) == 1:
        return
    listed = ", ".join(str(permission.uid) for permission in permissions)
    raise UsageError(
        str(target),
        f"several permissions match: {listed}",
        "exactly one, or the uid of the one to use",
        "name one with --rule",
    )
