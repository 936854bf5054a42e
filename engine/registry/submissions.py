"""Resolve a submitted document to the policy of an owner of its targets.

A policy may inherit from others, which are found by uid among those that one party has put in force. So the
same bytes mean different things in the name of different parties. What is granted, charged, recorded and
checked again is the policy as an owner of its targets resolves it, and this module alone decides which one
that is. Where an owner has put the document in force, or one that says the same, it is that one, with its
parents; what the submitter has in force has no part in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from smalti.engine.registry._policy_documents import digest_of
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.engine.registry.views import Entry
from smalti.errors import PolicyError
from smalti.policy.decide.decision import Reason
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Submission:
    """A policy that accompanies a request."""

    policy: Policy
    """As its submitter read it. Only its uid is relied on, and all of it where it inherits from nothing."""
    by: IRI | None
    """Who submits it; asserted by the caller."""
    document: bytes = b""
    """The policy's document; needed where the policy inherits, or its owner's policies must be signed."""
    signature: bytes | None = None
    """A detached JWS of the document (see `signatures`)."""
    replaces: bool = False
    """Whether it takes the place of what its issuer has in force under its uid, which holds until then."""

    @property
    def name(self) -> str:
        """Of the document, for messages."""
        return self.policy.where.document or "the submitted policy"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A submitted policy, as an owner of its targets resolves it."""

    policy: Policy
    issuer: IRI
    """The owner whose word it is."""
    entry: Entry | None
    """Of the registry, where that owner has put it in force; None: the owner submits it now."""
    is_laid_out_anew: bool = False
    """True where other bytes are in force, which say the same."""


def resolve(
    registry: Registry, snapshot: Snapshot, submission: Submission, owners: frozenset[IRI]
) -> Resolved | Reason:
    """The policy that a submission stands for.

    An owner's own submission is what that owner has in force under these bytes, or in other bytes that say
    the same; otherwise it is read with the parents that this owner has in force. Anybody else's stands for
    what one of the owners has put in force, and for nothing else.

    Args:
        registry: what is known; it is only read.
        snapshot: of it.
        submission: the policy and its document.
        owners: of all of each target; of what nobody knows, the submitter.

    Returns:
        The policy, or why the submission does not count.
    """
    policy, by = submission.policy, submission.by
    if submission.document and digest_of(submission.document) != policy.document_digest:
        return Reason("it does not count, because it was read from another document", policy.uid)
    problem: Reason | None = None
    if by is not None and by in owners:
        if (own := next(_in_force(registry, snapshot, submission, by), None)) is not None:
            return own
        read = _read_as(registry, submission, by)
        if isinstance(read, Policy):
            return Resolved(read, by, None)
        problem = read
    stored = [
        resolution
        for owner in sorted(owners)
        for resolution in _in_force(registry, snapshot, submission, owner)
    ]
    if len({meaning_digest(resolution.policy) for resolution in stored}) > 1:
        text = "owners have put it in force with different parents, so its meaning is ambiguous"
        return Reason(text, policy.uid)
    exact = [resolution for resolution in stored if not resolution.is_laid_out_anew]
    return next(iter(exact or stored), problem or _not_in_force(registry, snapshot, submission, owners))


def _in_force(
    registry: Registry, snapshot: Snapshot, submission: Submission, owner: IRI
) -> Iterator[Resolved]:
    """What an owner has in force that is the submitted document, or says the same under its uid."""
    policy = submission.policy
    entries = [entry for entry in snapshot.entries_named(policy.uid) if entry.issuer == owner]
    registry.policies.load(snapshot, [entry.key for entry in entries])
    usable = [entry for entry in entries if snapshot.why_it_ended(entry) is None]
    others = [entry for entry in usable if entry.digest != policy.document_digest]
    read = _read_as(registry, submission, owner) if others else None
    meaning = meaning_digest(read) if isinstance(read, Policy) else None
    for entry in usable:
        is_same = entry.digest == policy.document_digest
        stored = snapshot.policy(entry)
        if stored is not None and (is_same or snapshot.meaning(entry) == meaning):
            yield Resolved(stored, owner, entry, not is_same)


def _read_as(registry: Registry, submission: Submission, owner: IRI) -> Policy | Reason:
    """The submitted policy with the parents that an owner has in force."""
    policy = submission.policy
    if not policy.inherits:
        return policy
    if not submission.document:
        return Reason("it inherits from other policies, so its document is required", policy.uid)
    try:
        owners_policy = registry.policies.read_as(submission.document, submission.name, policy.uid, owner)
    except PolicyError:
        owners_policy = None
    if owners_policy is None:
        text = f"{owner} has not put in force what it inherits from"
        return Reason(text, policy.uid)
    return owners_policy


def _not_in_force(
    registry: Registry, snapshot: Snapshot, submission: Submission, owners: frozenset[IRI]
) -> Reason:
    """Why a submission of somebody who is no owner does not count."""
    policy = submission.policy
    for entry in snapshot.entries_named(policy.uid):
        if entry.issuer in owners and entry.digest == policy.document_digest:
            registry.policies.load(snapshot, [entry.key])
            if (ended := snapshot.why_it_ended(entry)) is not None:
                return ended
    if registry.policies.is_revoked(policy, owners):
        return Reason("it was revoked; an owner must add it again before it counts", policy.uid)
    text = "its submitter is not known, and no owner has put it in force"
    if submission.by is not None:
        text = (
            f"{submission.by} submitted it and does not own the targets, and no owner has put it in force"
        )
    return Reason(text, policy.uid)
