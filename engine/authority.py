"""Whose word counts: from a request and the registry to a decision.

Only the owners of a target speak for it. The party of a request and the person who submits a policy are
asserted by the caller and trusted; authentication belongs to whatever embeds this.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from smalti.engine._policies import assigned, digest_of
from smalti.engine.ceilings import BUDGET_DELTA, BUDGET_EPSILON, BUDGETS, speaks_of_budget
from smalti.engine.entries import Input
from smalti.engine.registry import Registry
from smalti.engine.snapshot import Entry, Made, Snapshot
from smalti.errors import UsageError
from smalti.policy.authorize import authorize
from smalti.policy.decision import Decision, Effect, Fact, Grant, Reason, Request, effect_of
from smalti.policy.index import Standing
from smalti.policy.meaning import meaning_digest
from smalti.policy.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    ConflictStrategy,
    Logical,
    Number,
    Party,
    Permission,
    Policy,
    Rule,
    Where,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

IMPLICIT_RULE = IRI(terms.SMALTI + "implicitRule")
"""The uid under which the implicit rule appears in a decision."""
_NAMED: Final = 5
"""Policies of others that are named in the reasons."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A policy that accompanies a request."""

    policy: Policy
    by: IRI | None
    """Who submits it; asserted by the caller."""
    document: bytes = b""
    """The policy's document; needed where its owner's policies must be signed."""
    signature: bytes | None = None
    """A detached JWS of the document (see `signatures`)."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with what the registry knows about its targets."""

    request: Request
    """About the output where a target is one of its versions."""
    versions: tuple[Made, ...]
    """That the request is about; empty where it is about several targets, or about no output."""
    unknown: tuple[IRI, ...]
    """The targets that the registry does not know."""
    owners: frozenset[IRI]
    """Of a part of a target; may prohibit."""
    full_owners: frozenset[IRI]
    """Of all of each target; may permit."""


@dataclass(frozen=True, slots=True)
class _Judge:
    """What one decision is made with."""

    registry: Registry
    snapshot: Snapshot
    explain: bool


@dataclass(frozen=True, slots=True)
class _Submitted:
    """What became of a submission: it counts, or nothing can be permitted."""

    reason: Reason
    counts: bool


def decide(
    registry: Registry, request: Request, *, submission: Submission | None = None, explain: bool = False
) -> Decision:
    """Decide a request by the policies that count, and by the implicit rule; write the decision down.

    A stored policy counts when it is in force and its issuer owns what is requested. An output is owned
    through each source that it was made from, and a collection through its members. Whoever owns all of
    each requested target may permit, by one rule that covers them jointly; whoever owns some part of one
    may prohibit. A policy about a collection counts so for each of its members. A policy may prohibit only
    once one of its parents has ended, its signing key is trusted no longer, or an assigner has lost what
    it is about.

    A submitted policy counts when `by` owns the targets; or when the registry does not know them, since
    who binds data can read it anyway and is taken as its owner; or when an owner has put the same
    document in force, or one that says the same and was only laid out otherwise: it is judged in the place
    of that one. Stored prohibitions apply in each case, and with a submitted policy only its own
    permissions grant.

    A target may be an output, which means all of its versions, or one version's IRI.

    What has been charged about the targets' respondents is known under `smalti:budgetEpsilon` and
    `smalti:budgetDelta`; what a request itself states there is passed over. No reason tells the figure.

    Args:
        registry: what is known; it is only read.
        request: its party is asserted by the caller; a request that states no time is about now.
        submission: a policy that accompanies the request.
        explain: whether the decision reports each part of each rule about the targets (`considered`).

    Returns:
        The decision, with a reason for each part. A denial is a decision, never an exception. Its request
        has the time that was judged.

    Raises:
        RegistryError: the registry cannot be read, or its decision log not be written.
    """
    start = time.perf_counter()
    if not request.targets:
        raise UsageError("the request", "it names no target", "at least one")
    if request.time is None:
        request = replace(request, time=datetime.now(UTC))
    with registry.snapshot() as snapshot:
        judge = _Judge(registry, snapshot, explain)
        decision = replace(_decide(judge, request, submission, frozenset()), request=request)
    if registry.decision_log is not None:
        registry.decision_log.append(decision, time.perf_counter() - start)
    return decision


def _decide(
    judge: _Judge, request: Request, submission: Submission | None, asked: frozenset[IRI]
) -> Decision:
    question = _question(judge.snapshot, request)
    about = _about(judge, question)
    entries = judge.snapshot.exceptional(about)
    question = replace(question, request=_with_charges(judge, question.request, about, submission))
    refusal = _not_understood(judge.snapshot, entries)
    submitted = None if submission is None else _submitted(judge, question, submission)
    if submitted is not None and not submitted.counts:
        refusal = refusal or submitted.reason
    notes = tuple(_notes(judge.snapshot, question, entries))
    if refusal is not None:
        reasons = tuple(dict.fromkeys((refusal, *notes)))
        return Decision(request=request, effect=Effect.DENY, reasons=reasons)
    if submission is None:
        decision = _authorize(judge, question, None, question.full_owners)
    else:
        speaker = _speaker(judge, question, submission)
        decision = _authorize(judge, question, submission.policy, _owners(question, submission), speaker)
    if submission is not None and submitted is not None:
        decision = _only_granted_by(
            decision, submission.policy, lambda: _alone(judge, question, submission)
        )
        notes = (submitted.reason, *notes)
    elif _may_be_implied(question, decision):
        decision = _imply(judge, question, decision, asked | set(request.targets))
    if submission is None:
        notes += tuple(Reason(f"the registry does not know `{iri}`") for iri in question.unknown)
    # Versions of one output tend to be refused for the same reasons.
    return replace(decision, request=request, reasons=tuple(dict.fromkeys((*decision.reasons, *notes))))


def _question(snapshot: Snapshot, request: Request) -> _Question:
    made = [snapshot.versions(target) for target in request.targets]
    targets = tuple(
        dict.fromkeys(
            versions[0].target if versions else target
            for target, versions in zip(request.targets, made, strict=True)
        )
    )
    return _Question(
        replace(request, targets=targets),
        made[0] if len(made) == 1 else (),
        tuple(target for target in targets if not _is_known(snapshot, target)),
        frozenset[IRI]().union(*map(snapshot.owners, targets)),
        frozenset.intersection(*map(snapshot.full_owners, targets)),
    )


def _is_known(snapshot: Snapshot, target: IRI) -> bool:
    return snapshot.is_known(target) or len(snapshot.reach(target)) > 1


# --- Policies that count


def _about(judge: _Judge, question: _Question) -> list[set[int]]:
    """Read what owners issued about what is requested; the entries of each issuer about each asset."""
    snapshot = judge.snapshot
    reach = frozenset[IRI]().union(*map(snapshot.reach, question.request.targets))
    found = [keys for issuer, keys in snapshot.about(reach) if issuer in question.owners]
    for keys in found:
        judge.registry.read_policies(snapshot, keys)
    return found


def _with_charges(
    judge: _Judge, request: Request, about: list[set[int]], submission: Submission | None
) -> Request:
    """A request with what has been charged, where a policy asks; never with the caller's word of it."""
    facts = tuple(fact for fact in request.facts if fact.operand not in BUDGETS)
    submitted = submission is not None and speaks_of_budget(submission.policy)
    if submitted or judge.snapshot.speak_of_budgets(about):
        spent = judge.registry.spent(request.targets)
        charged = ((BUDGET_EPSILON, spent.epsilon), (BUDGET_DELTA, spent.delta))
        facts += tuple(Fact(operand, (Number(value),)) for operand, value in charged)
    return request if facts == request.facts else replace(request, facts=facts)


def _not_understood(snapshot: Snapshot, entries: Iterable[Entry]) -> Reason | None:
    for entry in entries:
        if snapshot.policy(entry) is None:
            return Reason("this version of smalti does not understand it, which denies", entry.uid)
    return None


def _notes(snapshot: Snapshot, question: _Question, entries: Iterable[Entry]) -> Iterator[Reason]:
    """Why policies about the targets do not count, or not in full."""
    yield from filter(None, map(snapshot.why_it_ended, entries))
    for target in question.request.targets:
        for issuer, keys in snapshot.about((target,)):
            if issuer in question.full_owners:
                continue
            text = f"its issuer {issuer} does not own `{target}`: it does not count"
            if issuer in question.owners:
                text = f"its issuer {issuer} owns a part of what is requested: it may prohibit only"
            if issuer in snapshot.owners(target) - snapshot.full_owners(target):
                made = f"its issuer {issuer} owns a part of what `{target}` was made from"
                text = f"{made}: it may prohibit only"
            for key in sorted(keys)[:_NAMED]:
                yield Reason(text, snapshot.entry(key).uid)


def _authorize(
    judge: _Judge,
    question: _Question,
    added: Policy | None,
    owners: frozenset[IRI],
    speaker: IRI | None = None,
) -> Decision:
    """Decide by the index, and by one policy more, in the place of what its speaker has in force."""
    snapshot = judge.snapshot
    replaced = () if added is None or speaker is None else _said_again(judge, added, speaker)

    def standing(policy: Policy) -> Standing:
        if added is not None and policy == added:
            return Standing.FULL
        others = _just(speaker) if policy in replaced else frozenset[IRI]()
        return snapshot.standing(policy, question.owners - others, question.full_owners - others)

    with nullcontext() if added is None else snapshot.also(added):
        return snapshot.index.authorize(
            question.request, explain=judge.explain, standing=standing, owners=owners
        )


# --- Submitted policies


def _submitted(judge: _Judge, question: _Question, submission: Submission) -> _Submitted:
    policy, by, targets = submission.policy, submission.by, question.request.targets
    owners, unknown = _owners(question, submission), _are_unknown(question)
    shown = " and ".join(f"`{target}`" for target in targets)
    if (refusal := _submission_refused(judge, submission, targets, owners)) is not None:
        return _Submitted(refusal, counts=False)
    if by is not None and by in owners:
        if (refusal := _badly_signed(judge.registry, submission, by)) is not None:
            return _Submitted(refusal, counts=False)
        text = f"{by} submitted it and owns {shown}"
        if unknown:
            text = f"{by} submitted it, and is taken as the owner of {shown}, not known so far"
        return _Submitted(Reason(text, policy.uid), counts=True)
    return _stored_by_owner(judge, question, submission, shown)


def _owners(question: _Question, submission: Submission) -> frozenset[IRI]:
    """Who owns all of each target; of what nobody knows, who binds it."""
    return _just(submission.by) if _are_unknown(question) else question.full_owners


def _are_unknown(question: _Question) -> bool:
    return len(question.unknown) == len(question.request.targets)


def _stored_by_owner(judge: _Judge, question: _Question, submission: Submission, shown: str) -> _Submitted:
    """What became of a submission by somebody who is no owner: it rests on what an owner has stored."""
    policy = submission.policy
    if _is_stored_by_owner(judge.snapshot, policy, question):
        return _Submitted(Reason(f"an owner of {shown} has put it in force", policy.uid), counts=True)
    if (twin := _twin_of_owner(judge, policy, question)) is not None:
        if (refusal := _badly_signed(judge.registry, submission, twin.issuer)) is not None:
            return _Submitted(refusal, counts=False)
        text = f"an owner of {shown} has put in force what says the same"
        return _Submitted(Reason(text, policy.uid), counts=True)
    who = submission.by or "nobody"
    text = f"{who} submitted it and does not own {shown}, and no owner has put it in force"
    return _Submitted(Reason(text, policy.uid), counts=False)


def _submission_refused(
    judge: _Judge, submission: Submission, targets: tuple[IRI, ...], owners: frozenset[IRI]
) -> Reason | None:
    policy, registry = submission.policy, judge.registry
    if registry.is_revoked(policy):
        return Reason("it was revoked; an owner must add it again before it counts", policy.uid)
    if submission.by is not None and (uid := registry.uid_conflict(policy, submission.by)) is not None:
        text = (
            f"another document in force uses the uid `{uid}`: give this one uids of its own, or let an"
            " owner put it in the other's place with `smalti policy add --replace`"
        )
        return Reason(text, policy.uid)
    about = frozenset[IRI]().union(*map(judge.snapshot.reach, targets))
    for rule, says, assigner in assigned(policy):
        is_about = policy.memberships or not about.isdisjoint(target.iri for target in rule.targets)
        if assigner not in owners and is_about:
            shown = " and ".join(f"`{target}`" for target in targets)
            text = f"its assigner {assigner} does not own {shown}: it does not count"
            return Reason(text, policy.uid, says.uid)
    return None


def _badly_signed(registry: Registry, submission: Submission, owner: IRI) -> Reason | None:
    name = submission.policy.where.document or "the submitted policy"
    is_its_own = digest_of(submission.document) == submission.policy.document_digest
    if submission.signature is not None and not is_its_own:
        return Reason(
            "it does not count, because its signature is of another document", submission.policy.uid
        )
    try:
        registry.check_signature(submission.document, submission.signature, owner, name)
    except UsageError as error:
        return Reason(f"it does not count, because {error.problem}", submission.policy.uid)
    return None


def _just(party: IRI | None) -> frozenset[IRI]:
    return frozenset() if party is None else frozenset({party})


def _is_stored_by_owner(snapshot: Snapshot, policy: Policy, question: _Question) -> bool:
    return any(
        entry.issuer in question.full_owners and snapshot.why_it_ended(entry) is None
        for entry in snapshot.entries(policy.document_digest, policy.uid)
    )


def _twin_of_owner(judge: _Judge, policy: Policy, question: _Question) -> Entry | None:
    """The entry of an owner that says the same as a submitted policy, in other bytes."""
    return next(
        (
            entry
            for entry in judge.registry.twins(judge.snapshot, policy)
            if entry.issuer in question.full_owners and judge.snapshot.why_it_ended(entry) is None
        ),
        None,
    )


def _said_again(judge: _Judge, policy: Policy, speaker: IRI) -> tuple[Policy, ...]:
    """What a speaker has in force that says the same as a submitted policy, in other bytes."""
    snapshot = judge.snapshot
    twins = judge.registry.twins(snapshot, policy)
    mine = (one for one in twins if one.issuer == speaker and snapshot.why_it_ended(one) is None)
    return tuple(found for one in mine if (found := snapshot.policy(one)) is not None)


def _speaker(judge: _Judge, question: _Question, submission: Submission) -> IRI | None:
    """Who submits what they own, or else the owner who has stored what is submitted, in other bytes."""
    if submission.by in question.full_owners:
        return submission.by
    if _is_stored_by_owner(judge.snapshot, submission.policy, question):
        return None
    twin = _twin_of_owner(judge, submission.policy, question)
    return None if twin is None else twin.issuer


def _alone(judge: _Judge, question: _Question, submission: Submission) -> Decision:
    """What a submitted policy by itself says, with all hierarchies that are stored."""
    added = submission.policy

    def standing(policy: Policy) -> Standing:
        return Standing.FULL if policy == added else Standing.NONE

    owners = _owners(question, submission)
    with judge.snapshot.also(added):
        return judge.snapshot.index.authorize(
            question.request, explain=False, standing=standing, owners=owners
        )


def _only_granted_by(decision: Decision, submitted: Policy, alone: Callable[[], Decision]) -> Decision:
    """Keep the permissions of the submitted policy: a run of a document is never a run of another one.

    Args:
        decision: with everything that is stored.
        submitted: the policy of the run.
        alone: what it says by itself, which tells why it does not grant.
    """
    name = (submitted.uid, submitted.document_digest)
    granted = tuple(
        grant for grant in decision.grants if (grant.policy.uid, grant.policy.document_digest) == name
    )
    if not decision.grants:
        return decision
    if not granted:
        text = "the submitted policy does not grant the request; a stored one does"
        itself = alone()
        why = () if itself.grants else itself.reasons
        reasons = (Reason(text, submitted.uid), *why, *decision.reasons)
        return replace(decision, effect=Effect.DENY, reasons=reasons, grants=(), determining=())
    determining = tuple(one for one in decision.determining if (one.policy, one.digest) == name)
    return replace(decision, effect=effect_of(granted), grants=granted, determining=determining)


# --- The implicit rule: who may view all inputs, or this version as what may be viewed of them


def _may_be_implied(question: _Question, decision: Decision) -> bool:
    return (
        bool(question.versions)
        and question.request.action == terms.READ
        and question.request.rule is None
        and decision.effect in {Effect.LIMITED, Effect.DENY, Effect.NOT_APPLICABLE}
    )


def _imply(judge: _Judge, question: _Question, explicit: Decision, asked: frozenset[IRI]) -> Decision:
    """Grant what the implicit rule grants, unless a prohibition about the output forbids it."""
    failures: list[Reason] = []
    grounds: list[Reason] = []
    for version in question.versions:
        failed, held = _version_is_readable(judge, question.request, version, asked)
        failures += failed
        grounds += held
    if failures and explicit.is_limited:
        return explicit
    if failures:
        return replace(explicit, effect=Effect.DENY, reasons=(*explicit.reasons, *failures))
    # The rule is evaluated as one more permission, so that prohibitions win over it by the same code.
    limits = [
        limit
        for version in question.versions
        for limit in _purposes(judge, question.request, version) or ()
    ]
    implicit = _implicit_policy(question.request, limits)
    decision = _authorize(judge, question, implicit, question.full_owners)
    if not decision.grants:
        return decision
    text = "by the implicit rule: who may view all inputs may view the output"
    reasons = (Reason(text, rule=IMPLICIT_RULE), *grounds)
    return replace(decision, reasons=reasons)


def _version_is_readable(
    judge: _Judge, request: Request, version: Made, asked: frozenset[IRI]
) -> tuple[list[Reason], list[Reason]]:
    name = f"version {version.number} of `{version.target}`"
    failures = _source_rule_failures(judge, request, version, name)
    grounds = []
    for target in _input_targets(judge.snapshot, version):
        if target in asked:
            failures.append(Reason(f"{name} was made from `{target}`, which is asked about already"))
            continue
        reading = _decide(judge, replace(request, targets=(target,)), None, asked)
        plain = [grant for grant in reading.grants if _is_plain(grant) or _is_met(judge, grant, version)]
        if plain:
            rules = ", ".join(f"`{grant.permission.uid}`" for grant in plain)
            grounds.append(Reason(f"reading `{target}`, an input of {name}, is permitted by {rules}"))
        elif reading.grants:
            text = f"reading `{target}`, an input of {name}, is permitted under further conditions only"
            failures.append(Reason(text))
        else:
            failures.append(Reason(f"reading `{target}`, an input of {name}, is not permitted"))
            failures += reading.reasons
    return failures, grounds


def _source_rule_failures(judge: _Judge, request: Request, version: Made, name: str) -> list[Reason]:
    about = (version.policy_uid, version.rule_uid)
    if not judge.registry.entries_of(judge.snapshot, version.policy_digest, version.policy_uid):
        return [Reason(f"the policy that {name} was made under was revoked", *about)]
    limits = _purposes(judge, request, version)
    if limits is None:
        return [Reason(f"the policy that {name} was made under has ended", *about)]
    # Held against the request as an implicit permission with the rule's purposes, and nothing else.
    alone = authorize(request, (_implicit_policy(request, limits),), judge.snapshot.hierarchies)
    if alone.is_unconditional:
        return []
    purpose = f"the purpose `{request.purpose}`" if request.purpose else "a request without a purpose"
    text = f"{purpose} is outside the purposes of the rule that {name} was made under"
    return [Reason(text, *about)]


def _purposes(judge: _Judge, request: Request, version: Made) -> list[Condition] | None:
    """The limits to purposes of the rule that a version was made under; None where it has ended.

    Where several entries of the policy stand, they say the same of it.
    """
    snapshot = judge.snapshot
    for entry, policy in judge.registry.entries_of(snapshot, version.policy_digest, version.policy_uid):
        if policy is None or snapshot.why_it_ended(entry) is not None or not _is_valid(policy, request):
            continue
        if rules := [rule for rule in _granting(policy) if rule.uid == version.rule_uid]:
            return [limit for rule in rules for limit in rule.constraints if _is_about_purpose(limit)]
    return None


def _is_valid(policy: Policy, request: Request) -> bool:
    return policy.valid is None or (request.time is not None and policy.valid.contains(request.time))


def _granting(policy: Policy) -> Iterator[Rule]:
    """The rules that a run may be made under; a duty as its permission, which the run is made under."""
    yield from policy.obligations
    for permission in policy.permissions:
        yield permission
        for duty in permission.duties if permission.action != terms.ANONYMIZE else ():
            if duty.action == terms.ANONYMIZE:
                yield replace(duty, uid=permission.uid)
    for prohibition in policy.prohibitions:
        for remedy in prohibition.remedies:
            yield replace(remedy, constraints=(*prohibition.constraints, *remedy.constraints))


def _is_about_purpose(condition: Condition) -> bool:
    return any(leaf == terms.ODRL_PURPOSE for leaf in _operands(condition))


def _operands(condition: Condition) -> Iterator[IRI]:
    match condition:
        case Comparison(operand=operand):
            yield operand
        case ColumnComparison(column=column):
            yield column.iri
        case Logical(operands=operands):
            for one in operands:
                yield from _operands(one)


def _is_plain(grant: Grant) -> bool:
    """Whether a grant to read is limited to purposes at most."""
    rule = grant.permission
    conditions: list[Condition] = [*rule.constraints, *rule.refinements]
    conditions += [one for target in rule.targets for one in target.refinements]
    conditions += [one for party in (*rule.assignees, *rule.assigners) for one in party.refinements]
    return (
        not rule.duties
        and grant.is_unconditional
        and all(leaf == terms.ODRL_PURPOSE for condition in conditions for leaf in _operands(condition))
    )


def _is_met(judge: _Judge, grant: Grant, version: Made) -> bool:
    """Whether a version is what a grant to read its input asks for: made as the grant's duty says.

    That is so where it was made under the very rule of the grant, since a run under it does what all of
    its duties say, on the rows that it is limited to. Which rows those are must not depend on the request:
    another request, at another time, may have led to others.
    """
    rule, policy = grant.permission, grant.policy
    how = [duty for duty in rule.duties if duty.action == terms.ANONYMIZE]
    if not how or grant.withheld or (rule.uid, policy.uid) != (version.rule_uid, version.policy_uid):
        return False
    if any(duty.targets not in ((), rule.targets) for duty in how):
        return False
    if any(other.duties != rule.duties for other in policy.permissions if other.uid == rule.uid):
        return False
    conditions = [*rule.constraints, *(one for target in rule.targets for one in target.refinements)]
    if any(_has_columns(one) and not _is_only_columns(one) for one in conditions):
        return False
    # Of one document there are several meanings where what it inherits has changed: which one was it then?
    made_under = judge.registry.versions_of_policy(version.policy_digest, version.policy_uid)
    return {meaning_digest(one) for one in made_under} == {meaning_digest(policy)}


def _has_columns(condition: Condition) -> bool:
    match condition:
        case Logical(operands=operands):
            return any(map(_has_columns, operands))
        case _:
            return isinstance(condition, ColumnComparison)


def _is_only_columns(condition: Condition) -> bool:
    match condition:
        case Logical(operands=operands):
            return all(map(_is_only_columns, operands))
        case _:
            return isinstance(condition, ColumnComparison)


def _input_targets(snapshot: Snapshot, version: Made) -> list[IRI]:
    """The inputs as targets of requests: of an output, the version that was read."""
    found: Callable[[Input], Made | None] = snapshot.version
    return [made.iri if (made := found(given)) else given.iri for given in version.inputs]


def _implicit_policy(request: Request, limits: Iterable[Condition]) -> Policy:
    where = Where("the implicit rule", 1, 1)
    permission = Permission(
        uid=IMPLICIT_RULE,
        action=terms.READ,
        targets=tuple(Asset(target) for target in request.targets),
        assignees=(Party(request.party),),
        constraints=tuple(dict.fromkeys(limits)),
        where=where,
    )
    return Policy(
        uid=IMPLICIT_RULE,
        document_digest="",
        conflict=ConflictStrategy.PROHIBIT,
        permissions=(permission,),
        where=where,
    )
