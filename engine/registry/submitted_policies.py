"""Whether a submitted policy counts, and what it alone grants."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from smalti.engine.registry._policy_checks import assigned
from smalti.engine.registry._policy_documents import digest_of
from smalti.engine.registry.questions import Judge, Question, are_unknown, owners_of, question_of
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Resolved, Submission, resolve
from smalti.errors import UsageError
from smalti.policy.decide.decision import Decision, Effect, Reason, Request, effect_of
from smalti.policy.decide.index import Standing
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submitted policy that counts."""

    policy: Policy
    """As an owner of the targets says it (`submissions`)."""
    reason: Reason
    """Why it counts."""


def resolved(registry: Registry, targets: tuple[IRI, ...], submission: Submission) -> Resolved | Reason:
    """What a submission stands for in a request about some targets (see `submissions.resolve`)."""
    with registry.snapshot() as snapshot:
        request = Request(party=IRI(""), action=IRI(""), targets=targets)
        question = question_of(snapshot, request, submission)
        return resolve(registry, snapshot, submission, owners_of(question, submission))


def submitted_policy(judge: Judge, question: Question, submission: Submission) -> Submitted | Reason:
    """The submitted policy as an owner says it, or why it does not count."""
    by, targets = submission.by, question.request.targets
    owners = owners_of(question, submission)
    resolution = resolve(judge.registry, judge.snapshot, submission, owners)
    if isinstance(resolution, Reason):
        return resolution
    shown = " and ".join(f"`{target}`" for target in targets)
    if resolution.entry is not None:
        for view in question.views:
            judge.snapshot.place(view, [resolution.entry.key])
        what = "what says the same" if resolution.is_laid_out_anew else "it"
        text = f"an owner of {shown} has put {what} in force"
        if by == resolution.issuer:
            text = f"{by} submitted it and owns {shown}"
        return Submitted(resolution.policy, Reason(text, resolution.policy.uid))
    refusal = _submission_refused(judge, resolution, targets, owners, replaces=submission.replaces)
    if refusal is not None:
        return refusal
    if (refusal := _badly_signed(judge.registry, submission, resolution.issuer)) is not None:
        return refusal
    text = f"{by} submitted it and owns {shown}"
    if are_unknown(question):
        text = f"{by} submitted it, and counts as the owner of {shown}, which is not registered"
    return Submitted(resolution.policy, Reason(text, resolution.policy.uid))


def _submission_refused(
    judge: Judge,
    resolution: Resolved,
    targets: tuple[IRI, ...],
    owners: frozenset[IRI],
    *,
    replaces: bool,
) -> Reason | None:
    """Why what an owner submits, and has not put in force, does not count."""
    policy, registry = resolution.policy, judge.registry
    if registry.policies.is_revoked(policy, owners):
        return Reason("it was revoked; an owner must add it again before it counts", policy.uid)
    taken = registry.policies.uid_conflict(policy, resolution.issuer, replaces=replaces)
    if taken is not None:
        replacing = "put this one in its place with `smalti run --replace` or `smalti policy add --replace`"
        return Reason(f"{taken.problem}: {taken.way_out(replacing)}", policy.uid)
    request = Request(party=IRI(""), action=IRI(""), targets=targets)
    requested = judge.snapshot.requested(request)
    for rule, naming_rule, assigner in assigned(policy):
        is_about = policy.memberships or requested.is_touched_by(target.iri for target in rule.targets)
        if assigner not in owners and is_about:
            shown = " and ".join(f"`{target}`" for target in targets)
            text = f"its assigner {assigner} does not own {shown}: it does not count"
            return Reason(text, policy.uid, naming_rule.uid)
    return None


def _badly_signed(registry: Registry, submission: Submission, owner: IRI) -> Reason | None:
    name = submission.name
    is_its_own = digest_of(submission.document) == submission.policy.document_digest
    if submission.signature is not None and not is_its_own:
        return Reason(
            "it does not count, because its signature is of another document", submission.policy.uid
        )
    try:
        registry.keys.check_signature(submission.document, submission.signature, owner, name)
    except UsageError as error:
        return Reason(f"it does not count, because {error.problem}", submission.policy.uid)
    return None


def decision_alone(judge: Judge, question: Question, submission: Submission, added: Policy) -> Decision:
    """What a submitted policy by itself says, with all hierarchies that count."""

    def standing(policy: Policy) -> Standing:
        return Standing.FULL if policy == added else Standing.NONE

    owners = owners_of(question, submission)
    with question.view.also(added):
        return question.view.index.authorize(
            question.request, explain=False, standing=standing, owners=owners
        )


def only_granted_by(decision: Decision, submitted: Policy, alone: Callable[[], Decision]) -> Decision:
    """Keep the permissions of the submitted policy: a run of a document is never a run of another one.

    Args:
        decision: with everything that is stored.
        submitted: the policy of the run.
        alone: what it says by itself, which tells why it does not grant.
    """
    granted = tuple(grant for grant in decision.grants if grant.policy == submitted)
    if not decision.grants:
        return decision
    if not granted:
        text = "the submitted policy does not grant the request; a stored one does"
        itself = alone()
        why = () if itself.grants else itself.reasons
        reasons = (Reason(text, submitted.uid), *why, *decision.reasons)
        return replace(decision, effect=Effect.DENY, reasons=reasons, grants=(), determining=())
    name = (submitted.uid, submitted.document_digest)
    determining = tuple(rule for rule in decision.determining if (rule.policy, rule.digest) == name)
    struck = tuple(grant for grant in decision.struck if grant.policy == submitted)
    return replace(
        decision, effect=effect_of(granted), grants=granted, struck=struck, determining=determining
    )
