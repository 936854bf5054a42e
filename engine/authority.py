"""Whose word counts: from a request and the registry to a decision.

Only the owners of a target speak for it. The party of a request and the person who submits a policy are
asserted by the caller and trusted; authentication belongs to whatever embeds this.
"""

from dataclasses import dataclass, replace

from smalti.engine.entries import StoredPolicy, TargetVersion
from smalti.engine.registry import Registry
from smalti.policy.authorize import authorize
from smalti.policy.decision import Decision, Effect, Reason, Request
from smalti.policy.model import Asset, ConflictStrategy, Party, Permission, Policy, Where
from smalti.vocab import terms
from smalti.vocab.terms import IRI

IMPLICIT_RULE = IRI(terms.SMALTI + "implicitRule")
"""The uid under which the implicit rule appears in a decision."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with what the registry knows about its target."""

    request: Request
    """About the output where the target is one of its versions."""
    versions: tuple[TargetVersion, ...]
    """That the request is about; empty where the target is no output."""
    is_known: bool
    owners: frozenset[IRI]
    """May prohibit."""
    full_owners: frozenset[IRI]
    """May permit."""


@dataclass(frozen=True, slots=True)
class _Counting:
    """The policies that count, and why others do not."""

    policies: tuple[Policy, ...] = ()
    reasons: tuple[Reason, ...] = ()
    refusal: Reason | None = None
    """Why nothing can be permitted, whatever the policies say."""


def decide(
    registry: Registry,
    request: Request,
    *,
    submitted: Policy | None = None,
    submitted_by: IRI | None = None,
) -> Decision:
    """Decide a request by the policies that count, and by the implicit rule.

    A stored policy counts when it is in force and its issuer owns the target: for an output, each source
    that it was made from. An owner of some of them may prohibit only. A submitted policy counts when
    `submitted_by` owns the target; or when the registry does not know the target, since who binds data
    can read it anyway and is taken as its owner; or when an owner has put the same document in force.
    Stored prohibitions apply in each case, and with a submitted policy only its own permissions grant.

    The target may be an output, which means all of its versions, or one version's IRI.

    Args:
        registry: what is known; it is only read.
        request: its party is asserted by the caller.
        submitted: a policy that accompanies the request.
        submitted_by: who submits it; asserted by the caller.

    Returns:
        The decision, with a reason for each part. A denial is a decision, never an exception.

    Raises:
        RegistryError: the registry cannot be read.
    """
    return _decide(registry, request, submitted, submitted_by, frozenset())


def _decide(
    registry: Registry,
    request: Request,
    submitted: Policy | None,
    submitted_by: IRI | None,
    asked: frozenset[IRI],
) -> Decision:
    question = _question(registry, request)
    stored = _stored(registry, question)
    added = _submitted(registry, question, submitted, submitted_by)
    if refusal := stored.refusal or added.refusal:
        reasons = (refusal, *stored.reasons, *added.reasons)
        return Decision(request=request, effect=Effect.DENY, reasons=reasons)
    policies = _without_duplicates((*added.policies, *stored.policies))
    decision = authorize(question.request, policies)
    if submitted is not None:
        decision = _only_granted_by(decision, submitted)
    elif _may_be_implied(question, decision):
        decision = _imply(registry, question, decision, policies, asked | {request.target})
    reasons = (*decision.reasons, *added.reasons, *stored.reasons, *_about_target(question, submitted))
    # Versions of one output tend to be refused for the same reasons.
    return replace(decision, request=request, reasons=tuple(dict.fromkeys(reasons)))


def _question(registry: Registry, request: Request) -> _Question:
    versions = registry.versions(request.target)
    target = versions[0].target if versions else request.target
    return _Question(
        replace(request, targets=(target,)),
        versions,
        registry.asset(target) is not None,
        registry.owners(target),
        registry.full_owners(target),
    )


def _about_target(question: _Question, submitted: Policy | None) -> tuple[Reason, ...]:
    if question.is_known or submitted is not None:
        return ()
    return (Reason(f"the registry does not know `{question.request.target}`"),)


# --- Policies that count


def _stored(registry: Registry, question: _Question) -> _Counting:
    counting = _Counting()
    for stored in registry.policies_about(question.request.target):
        counting = _with_stored(counting, stored, question)
    return counting


def _with_stored(counting: _Counting, stored: StoredPolicy, question: _Question) -> _Counting:
    policy, target = stored.policy, question.request.target
    if stored.issuer not in question.owners:
        text = f"its issuer {stored.issuer} does not own `{target}`: it does not count"
        return replace(counting, reasons=(*counting.reasons, Reason(text, stored.uid)))
    if policy is None:
        reason = Reason("this version of smalti does not understand it, which denies", stored.uid)
        return replace(counting, refusal=reason)
    reasons = counting.reasons
    stranger = _foreign_assigner(policy, target, question.full_owners)
    if stored.issuer not in question.full_owners:
        text = (
            f"its issuer {stored.issuer} owns a part of what `{target}` was made from: it may prohibit only"
        )
        policy, reasons = replace(policy, permissions=()), (*reasons, Reason(text, stored.uid))
    elif stranger is not None:
        policy, reasons = replace(policy, permissions=()), (*reasons, stranger)
    return replace(counting, policies=(*counting.policies, policy), reasons=reasons)


def _submitted(
    registry: Registry, question: _Question, policy: Policy | None, submitted_by: IRI | None
) -> _Counting:
    if policy is None:
        return _Counting()
    target = question.request.target
    owners = question.full_owners if question.is_known else _just(submitted_by)
    refusal = _submission_refused(registry, policy, target, owners)
    if refusal is not None:
        return _Counting(refusal=refusal)
    if submitted_by is not None and submitted_by in owners:
        text = f"{submitted_by} submitted it and owns `{target}`"
        if not question.is_known:
            text = f"{submitted_by} submitted it, and is taken as the owner of `{target}`, not known so far"
        return _Counting((policy,), (Reason(text, policy.uid),))
    if _is_stored_by_owner(registry, policy, question):
        return _Counting((policy,), (Reason(f"an owner of `{target}` has put it in force", policy.uid),))
    who = submitted_by or "nobody"
    text = f"{who} submitted it and does not own `{target}`, and no owner has put it in force"
    return _Counting(refusal=Reason(text, policy.uid))


def _submission_refused(
    registry: Registry, policy: Policy, target: IRI, owners: frozenset[IRI]
) -> Reason | None:
    if registry.is_revoked(policy.document_digest, policy.uid):
        return Reason("it was revoked; an owner must add it again before it counts", policy.uid)
    if (uid := registry.uid_conflict(policy)) is not None:
        text = (
            f"another document in force uses the uid `{uid}`: give this one uids of its own, or let an"
            " owner revoke the other first"
        )
        return Reason(text, policy.uid)
    return _foreign_assigner(policy, target, owners)


def _foreign_assigner(policy: Policy, target: IRI, owners: frozenset[IRI]) -> Reason | None:
    for rule in (*policy.permissions, *policy.prohibitions):
        stranger = next((party.iri for party in rule.assigners if party.iri not in owners), None)
        if target in {one.iri for one in rule.targets} and stranger is not None:
            text = f"its assigner {stranger} does not own `{target}`: it does not count"
            return Reason(text, policy.uid, rule.uid)
    return None


def _just(party: IRI | None) -> frozenset[IRI]:
    return frozenset() if party is None else frozenset({party})


def _is_stored_by_owner(registry: Registry, policy: Policy, question: _Question) -> bool:
    return any(
        (stored.digest, stored.uid) == (policy.document_digest, policy.uid)
        and stored.issuer in question.full_owners
        for stored in registry.policies_about(question.request.target)
    )


def _without_duplicates(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    found: dict[tuple[str, IRI], Policy] = {}
    for policy in policies:
        found.setdefault((policy.document_digest, policy.uid), policy)
    return tuple(found.values())


def _only_granted_by(decision: Decision, submitted: Policy) -> Decision:
    """Keep the permissions of the submitted policy: a run of a document is never a run of another one."""
    granted = tuple(
        grant
        for grant in decision.grants
        if (grant.policy.document_digest, grant.policy.uid) == (submitted.document_digest, submitted.uid)
    )
    if not decision.is_permitted:
        return decision
    if not granted:
        text = "the submitted policy does not grant the request; a stored one does"
        reasons = (Reason(text, submitted.uid), *decision.reasons)
        return replace(decision, effect=Effect.DENY, reasons=reasons, grants=())
    return replace(decision, grants=granted)


# --- The implicit rule: who may view all inputs may view the output


def _may_be_implied(question: _Question, decision: Decision) -> bool:
    return (
        bool(question.versions)
        and question.request.action == terms.READ
        and question.request.rule is None
        and decision.effect in (Effect.DENY, Effect.NOT_APPLICABLE)
    )


def _imply(
    registry: Registry,
    question: _Question,
    explicit: Decision,
    policies: tuple[Policy, ...],
    asked: frozenset[IRI],
) -> Decision:
    """Grant what the implicit rule grants, unless a prohibition about the output forbids it."""
    failures, grounds = [], []
    for version in question.versions:
        failed, held = _version_is_readable(registry, question.request, version, asked)
        failures += failed
        grounds += held
    if failures:
        return replace(explicit, effect=Effect.DENY, reasons=(*explicit.reasons, *failures))
    # The rule is evaluated as one more permission, so that prohibitions win over it by the same code.
    decision = authorize(question.request, (*policies, _implicit_policy(question.request)))
    if not decision.is_permitted:
        return decision
    text = "by the implicit rule: who may view all inputs may view the output"
    reasons = (Reason(text, rule=IMPLICIT_RULE), *grounds)
    return replace(decision, reasons=reasons)


def _version_is_readable(
    registry: Registry, request: Request, version: TargetVersion, asked: frozenset[IRI]
) -> tuple[list[Reason], list[Reason]]:
    name = f"version {version.number} of `{version.target}`"
    failures = _source_rule_failures(registry, request, version, name)
    grounds = []
    for target in _input_targets(registry, version):
        if target in asked:
            failures.append(Reason(f"{name} was made from `{target}`, which is asked about already"))
            continue
        reading = _decide(registry, replace(request, targets=(target,)), None, None, asked)
        if reading.is_permitted:
            rules = ", ".join(f"`{permission.uid}`" for permission in reading.permissions)
            grounds.append(Reason(f"reading `{target}`, an input of {name}, is permitted by {rules}"))
        else:
            failures.append(Reason(f"reading `{target}`, an input of {name}, is not permitted"))
            failures += reading.reasons
    return failures, grounds


def _source_rule_failures(
    registry: Registry, request: Request, version: TargetVersion, name: str
) -> list[Reason]:
    failures = []
    if not registry.is_in_force(version.policy_digest, version.policy_uid):
        text = f"the policy that {name} was made under was revoked"
        failures.append(Reason(text, version.policy_uid, version.rule_uid))
    if version.rule_purposes is not None and request.purpose not in version.rule_purposes:
        purpose = f"the purpose `{request.purpose}`" if request.purpose else "a request without a purpose"
        text = f"{purpose} is outside the purposes of the rule that {name} was made under"
        failures.append(Reason(text, version.policy_uid, version.rule_uid))
    return failures


def _input_targets(registry: Registry, version: TargetVersion) -> list[IRI]:
    """The inputs as targets of requests: of an output, the version that was read."""
    targets = []
    for given in version.inputs:
        found = [made.iri for made in registry.versions(given.iri) if made.number == given.version]
        targets.append(found[0] if found else given.iri)
    return targets


def _implicit_policy(request: Request) -> Policy:
    where = Where("the implicit rule", 1, 1)
    permission = Permission(
        uid=IMPLICIT_RULE,
        action=terms.READ,
        targets=(Asset(request.target),),
        assignees=(Party(request.party),),
        where=where,
    )
    return Policy(
        uid=IMPLICIT_RULE,
        document_digest="",
        conflict=ConflictStrategy.PROHIBIT,
        permissions=(permission,),
        prohibitions=(),
        where=where,
    )
