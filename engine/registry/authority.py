"""Decide a request by the policies in the registry that count.

Only the owners of a target speak for it. The party of a request and the person who submits a policy are
asserted by the caller and trusted; authentication belongs to whatever embeds this.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from smalti.engine.registry.doubtful_columns import doubt_about_columns
from smalti.engine.registry.implicit_rule import may_be_implied, with_implicit_rule
from smalti.engine.registry.owner_views import authorize_in_views
from smalti.engine.registry.questions import (
    Judge,
    Question,
    load_entries,
    owners_of,
    question_of,
    with_charges,
    with_columns,
    with_counts,
)
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.engine.registry.submissions import Submission
from smalti.engine.registry.submitted_policies import decision_alone, only_granted_by, submitted_policy
from smalti.engine.registry.views import Entry
from smalti.policy.decide.decision import Decision, Effect, Reason, Request
from smalti.vocab.terms import IRI

_NAMED: Final = 5
"""Policies of others that are named in the reasons."""


def decide(
    registry: Registry,
    request: Request,
    *,
    submission: Submission | None = None,
    explain: bool = False,
    asked_by: IRI | None = None,
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
    document in force, or one that says the same and was only laid out otherwise: then it is that one, with
    what its owner has in force as its parents (`submissions.resolve`). Stored prohibitions apply in each
    case, and with a submitted policy only its own permissions grant.

    Hierarchies count that all of the targets' owners added, or trust (`Registry.trust_authority`); for
    prohibitions, those of any of them count besides.

    A target may be an output, which means all of its versions, or one version's IRI.

    What has been charged about the targets' respondents is known under `smalti:budgetEpsilon` and
    `smalti:budgetDelta`; what a request itself states there is passed over. No reason tells the figure.

    A left operand is a column where its IRI says so, where an owner's vocabulary does, or where a run that
    was registered read a column of that IRI from a target. Facts under an operand that is none of ODRL's or
    the profile's count where a vocabulary declares it that counts. What else nobody declares is unknown.

    Args:
        registry: what is known; it is only read.
        request: its party is asserted by the caller; a request that states no time is about now.
        submission: a policy that accompanies the request.
        explain: whether the decision reports each part of each rule about the targets (`considered`).
        asked_by: who asks, where it is another party than the request's; for the log alone.

    Returns:
        The decision, with a reason for each part. A denial is a decision, never an exception. Its request
        has the time that was judged.

    Raises:
        RegistryError: the registry cannot be read, or its decision log not be written.
    """
    start = time.perf_counter()
    if request.time is None:
        request = replace(request, time=datetime.now(UTC))
    with registry.snapshot() as snapshot:
        judge = Judge(registry, snapshot, explain)
        decision = decide_as(judge, request, submission, frozenset())
    if registry.decision_log is not None:
        registry.decision_log.append(decision, time.perf_counter() - start, asked_by=asked_by)
    return decision


def deny_afterwards(registry: Registry, decision: Decision, reason: Reason) -> Decision:
    """Deny what was permitted, for a reason that no rule states, and write that down.

    Args:
        registry: whose log it is.
        decision: the one that permitted, which was written down.
        reason: what was found out since; with no data value.

    Raises:
        RegistryError: the decision log cannot be written.
    """
    denial = replace(
        decision, effect=Effect.DENY, reasons=(reason,), grants=(), determining=(), remedies=()
    )
    if registry.decision_log is not None:
        registry.decision_log.append(denial, 0.0, reason)
    return denial


def prohibitions_on(registry: Registry, request: Request, submission: Submission) -> tuple[Reason, ...]:
    """The prohibitions of owners that apply to a request, whatever permits it; nothing is written down.

    Args:
        registry: what is known; it is only read.
        request: its party is asserted by the caller.
        submission: the policy that accompanies the request, whose own prohibitions count.

    Returns:
        A reason for each, also for those on parts of its targets; and for a policy about them that is not
        understood, which may be one.
    """
    if request.time is None:
        request = replace(request, time=datetime.now(UTC))
    with registry.snapshot() as snapshot:
        judge = Judge(registry, snapshot, explain=True)
        question = with_columns(judge, question_of(snapshot, request, submission))
        refusal = _not_understood(snapshot, snapshot.exceptional(load_entries(judge, question)))
        if refusal is not None:
            return (refusal,)
        decision = decide_as(judge, request, submission, frozenset())
    return tuple(
        Reason(f"a prohibition on `{request.targets[0]}` applies", report.policy, report.rule)
        for report in decision.considered
        if report.kind == "prohibition" and report.applies
    )


def decide_as(
    judge: Judge, request: Request, submission: Submission | None, visited: frozenset[IRI]
) -> Decision:
    """Decide inside of one snapshot, and write nothing down; `visited` are targets that wait for this."""
    question = with_columns(judge, question_of(judge.snapshot, request, submission))
    about = load_entries(judge, question)
    entries = judge.snapshot.exceptional(about)
    submitted = None if submission is None else submitted_policy(judge, question, submission)
    refusal = _not_understood(judge.snapshot, entries)
    if isinstance(submitted, Reason):
        refusal = refusal or submitted
    notes = tuple(_notes(judge.snapshot, question, entries))
    if refusal is not None or isinstance(submitted, Reason):
        reasons = tuple(dict.fromkeys((*filter(None, [refusal]), *notes)))
        return Decision(request=request, effect=Effect.DENY, reasons=reasons)
    added = None if submitted is None else submitted.policy
    question = replace(question, request=with_charges(judge, question.request, about, added))
    question = replace(question, request=with_counts(judge, question))
    if submission is None:
        decision = authorize_in_views(judge, question, None, question.full_owners)
    else:
        decision = authorize_in_views(judge, question, added, owners_of(question, submission))
    if submission is not None and submitted is not None:
        decision = only_granted_by(
            decision,
            submitted.policy,
            lambda: decision_alone(judge, question, submission, submitted.policy),
        )
        notes = (submitted.reason, *notes)
    elif may_be_implied(question, decision):
        visited |= set(request.targets)
        decide_input = partial(decide_as, judge, submission=None, visited=visited)
        decision = with_implicit_rule(judge, question, decision, visited, decide_input)
    if submission is None and decision.grants and (doubt := doubt_about_columns(judge, question, decision)):
        decision = replace(decision, effect=Effect.DENY, reasons=(doubt,), grants=(), determining=())
    if submission is None:
        notes += tuple(Reason(f"the registry does not know `{iri}`") for iri in question.unknown)
    # Versions of one output tend to be refused for the same reasons.
    return replace(decision, request=request, reasons=tuple(dict.fromkeys((*decision.reasons, *notes))))


def _not_understood(snapshot: Snapshot, entries: Iterable[Entry]) -> Reason | None:
    for entry in entries:
        if snapshot.policy(entry) is None:
            text = (
                "this version of smalti does not understand it, or a vocabulary that it needs has ended,"
                " which denies the request"
            )
            return Reason(text, entry.uid)
    return None


def _notes(snapshot: Snapshot, question: Question, entries: Iterable[Entry]) -> Iterator[Reason]:
    """Why policies about the targets do not count, or not in full."""
    yield from filter(None, map(snapshot.why_it_ended, entries))
    for target in question.request.targets:
        for issuer, keys in snapshot.about((target,)):
            if issuer in question.full_owners:
                continue
            text = f"its issuer {issuer} does not own `{target}`: it does not count"
            if issuer in question.owners:
                text = f"its issuer {issuer} owns a part of what is requested: it may only prohibit"
            if issuer in snapshot.owners(target) - snapshot.full_owners(target):
                part_owner = f"its issuer {issuer} owns a part of what `{target}` was made from"
                text = f"{part_owner}: it may only prohibit"
            for key in sorted(keys)[:_NAMED]:
                yield Reason(text, snapshot.entry(key).uid)
