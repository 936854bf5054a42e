"""Decide a request by the policies in the registry that count.

Only the owners of a target speak for it. The party of a request and the person who submits a policy are
asserted by the caller and trusted; authentication belongs to whatever embeds this.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from smalti.engine.plan.known_columns import KnownColumns, known_spelling
from smalti.engine.plan.plan import ModelFormat
from smalti.engine.plan.respondents import COUNTED_ROWS
from smalti.engine.registry._policies import assigned, digest_of
from smalti.engine.registry.budget import EpsilonDelta
from smalti.engine.registry.ceilings import BUDGET_DELTA, BUDGET_EPSILON, BUDGETS, speaks_of_budget
from smalti.engine.registry.entries import NewVersion, Permitted
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Entry, Snapshot, VersionEntry, View
from smalti.engine.registry.submissions import Resolved, Submission, resolve
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.authorize import ColumnProhibition, authorize, prohibited_columns
from smalti.policy.decide.column_uses import column_uses
from smalti.policy.decide.decision import (
    Decision,
    Effect,
    Fact,
    Grant,
    Reason,
    Request,
    effect_of,
    owed_later,
)
from smalti.policy.decide.index import Standing
from smalti.policy.decide.table_columns import columns_in
from smalti.policy.model.iris import is_column_of, normalised_column
from smalti.policy.model.meaning import grant_digest, meaning_digest
from smalti.policy.model.model import (
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
_NO_COLUMNS: Final[frozenset[IRI]] = frozenset()
_NAMED: Final = 5
"""Policies of others that are named in the reasons."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with what the registry knows about its targets."""

    request: Request
    """About the output where a target is one of its versions."""
    versions: tuple[VersionEntry, ...]
    """That the request is about; empty where it is about several targets, or about no output."""
    unknown: tuple[IRI, ...]
    """The targets that the registry does not know."""
    owners: frozenset[IRI]
    """Of a part of a target; may prohibit."""
    full_owners: frozenset[IRI]
    """Of all of each target; may permit."""
    view: View
    """The policies about it, under the hierarchies that count for a permission."""
    strict: tuple[View, ...]
    """The same, under those that count for a prohibition: of all owners of a part together, and of each."""

    @property
    def views(self) -> tuple[View, ...]:
        return (self.view, *self.strict)


@dataclass(frozen=True, slots=True)
class _Judge:
    """The inputs of one decision."""

    registry: Registry
    snapshot: Snapshot
    explain: bool
    asks_charges: bool = True
    """False: as if nothing had been charged."""


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A submitted policy that counts."""

    policy: Policy
    """As an owner of the targets says it (`submissions`)."""
    reason: Reason
    """Why it counts."""


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
        judge = _Judge(registry, snapshot, explain)
        decision = replace(_decide(judge, request, submission, frozenset()), request=request)
    if registry.decision_log is not None:
        registry.decision_log.append(decision, time.perf_counter() - start)
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


def check_still_permitted(registry: Registry, record: NewVersion) -> None:
    """Refuse to record a run that is not permitted any more: what owners take back meanwhile counts.

    Asked inside of the transaction that records it, also where somebody else ends a run that was killed.
    Time and charges are those of the decision: a charge of the run itself is in the ledger by now.

    Raises:
        UsageError: an owner prohibits it by now, or no longer permits it.
        RegistryError: the registry cannot be read.
    """
    try:
        policy = registry.policies.read_as(
            record.document, record.document_name, record.policy_uid, record.issuer
        )
    except PolicyError:  # a parent has ended
        policy = None
    if policy is None:
        raise _no_longer(record, Reason("a parent of its policy has ended", record.policy_uid))
    permitted = record.permitted
    request = _request_of(record) if permitted is None else permitted.request
    by, replaces = record.issuer, record.replaces
    submission = Submission(policy, by, record.document, record.signature, replaces)
    with registry.snapshot() as snapshot:
        judge = _Judge(registry, snapshot, explain=False, asks_charges=False)
        decision = _decide(judge, request, submission, frozenset())
    if permitted is None:
        if not decision.grants and decision.determining:
            raise _no_longer(record, *decision.reasons)
        return
    same = [
        grant for grant in decision.grants if grant_digest(grant.permission, grant.rows) == permitted.grant
    ]
    if not same:
        raise _no_longer(record, *decision.reasons)
    if not any(_withholds_no_more(grant, permitted) for grant in same):
        raise _no_longer(record, Reason("the use of one of its columns is now prohibited"))
    if not all(
        _names_existing_columns(registry, record, source.iri, grant)
        for source in record.inputs
        for grant in same
    ):
        text = "its owners have changed, and which of its columns are prohibited is no longer known"
        raise _no_longer(record, Reason(text))


def _withholds_no_more(grant: Grant, permitted: Permitted) -> bool:
    """Whether what a grant withholds or names was held against the data when the run was permitted."""
    return {*grant.withheld} <= {*permitted.withheld} and _named(grant) <= _named(permitted)


def _named(limits: Grant | Permitted) -> set[IRI]:
    """The columns that prohibitions name, withheld or spared."""
    return ({*limits.withheld} - {*limits.implied}) | {*limits.spared}


def _names_existing_columns(registry: Registry, record: NewVersion, table: IRI, grant: Grant) -> bool:
    """Whether what a grant says of columns names such as the data of a run had, by its owners of now."""
    named = _named(grant)
    if not named or record.input_table is None:
        return True
    with registry.snapshot() as snapshot:
        believed = registry.columns.of(snapshot, table).believed
        owners = snapshot.owners(table) or frozenset((record.bound_by,))
        table_columns = record.input_table.certain(table, owners, believed)
        return all(
            known_spelling(iri) in table_columns or snapshot.is_another_table(iri, table) for iri in named
        )


def _request_of(record: NewVersion) -> Request:
    return Request(
        party=record.party,
        action=terms.TRAIN if record.format in set(ModelFormat) else terms.ANONYMIZE,
        targets=tuple(source.iri for source in record.inputs),
        purpose=record.purpose,
        rule=record.rule_uid,
        time=record.created_at,
        understands_limits=True,
    )


def _no_longer(record: NewVersion, *reasons: Reason) -> UsageError:
    why = reasons[0].text if reasons else "no rule permits it"
    return UsageError(
        str(record.policy_uid),
        f"the run is no longer permitted: {why}",
        "a run that is still permitted when it is recorded",
        "`smalti decide --explain` shows what is permitted now",
    )


def _decide(
    judge: _Judge, request: Request, submission: Submission | None, visited: frozenset[IRI]
) -> Decision:
    question = _with_columns(judge, _question(judge.snapshot, request, submission))
    about = _about(judge, question)
    entries = judge.snapshot.exceptional(about)
    submitted = None if submission is None else _submitted(judge, question, submission)
    refusal = _not_understood(judge.snapshot, entries)
    if isinstance(submitted, Reason):
        refusal = refusal or submitted
    notes = tuple(_notes(judge.snapshot, question, entries))
    if refusal is not None or isinstance(submitted, Reason):
        reasons = tuple(dict.fromkeys((*filter(None, [refusal]), *notes)))
        return Decision(request=request, effect=Effect.DENY, reasons=reasons)
    added = None if submitted is None else submitted.policy
    question = replace(question, request=_with_charges(judge, question.request, about, added))
    question = replace(question, request=_with_counts(judge, question))
    if submission is None:
        decision = _authorize(judge, question, None, question.full_owners)
    else:
        decision = _authorize(judge, question, added, _owners(question, submission))
    if submission is not None and submitted is not None:
        decision = _only_granted_by(
            decision, submitted.policy, lambda: _alone(judge, question, submission, submitted.policy)
        )
        notes = (submitted.reason, *notes)
    elif _may_be_implied(question, decision):
        decision = _imply(judge, question, decision, visited | set(request.targets))
    if submission is None and decision.grants and (doubt := _doubtful(judge, question, decision)):
        decision = replace(decision, effect=Effect.DENY, reasons=(doubt,), grants=(), determining=())
    if submission is None:
        notes += tuple(Reason(f"the registry does not know `{iri}`") for iri in question.unknown)
    # Versions of one output tend to be refused for the same reasons.
    return replace(decision, request=request, reasons=tuple(dict.fromkeys((*decision.reasons, *notes))))


def _question(snapshot: Snapshot, request: Request, submission: Submission | None) -> _Question:
    versions_of_each = [snapshot.versions(target) for target in request.targets]
    targets = tuple(
        dict.fromkeys(
            versions[0].target if versions else target
            for target, versions in zip(request.targets, versions_of_each, strict=True)
        )
    )
    view = snapshot.view(snapshot.authorities(targets, None if submission is None else submission.by))
    return _Question(
        replace(request, targets=targets, tables=_tables(snapshot, targets)),
        versions_of_each[0] if len(versions_of_each) == 1 else (),
        tuple(target for target in targets if not _is_known(snapshot, target)),
        _part_owners(snapshot, targets, submission),
        frozenset.intersection(*map(snapshot.full_owners, targets)),
        view,
        _strict_views(snapshot, targets, view),
    )


def _strict_views(snapshot: Snapshot, targets: tuple[IRI, ...], view: View) -> tuple[View, ...]:
    """The views that prohibitions are held against the request in, besides the one of permissions.

    A vocabulary can make a prohibition meet a request, and can keep one from it (`isNoneOf`): so those of
    all owners of a part count together, and those of each count alone.
    """
    owners = sorted(frozenset[IRI]().union(*map(snapshot.owners, targets)))
    each = [snapshot.view(snapshot.authorities_of(owner)) for owner in owners]
    views = dict.fromkeys((snapshot.view(snapshot.any_authorities(targets)), *each))
    return tuple(strict_view for strict_view in views if strict_view is not view)


def _with_columns(judge: _Judge, question: _Question) -> _Question:
    """The question, with the columns that earlier runs recorded of the targets, and of their tables."""
    request, known_columns = question.request, judge.registry.columns.of
    of_targets = [known_columns(judge.snapshot, target) for target in request.targets]
    near = _tables_of(judge, question) | _members_of(question)
    of_tables = [known_columns(judge.snapshot, table) for table in sorted(near)]
    columns = request.columns.union(*(described.iris for described in of_targets))
    renamed = request.renamed.union(*(described.renamed for described in (*of_targets, *of_tables)))
    if (columns, renamed) == (request.columns, request.renamed):
        return question
    return replace(question, request=replace(request, columns=columns, renamed=renamed))


def _members_of(question: _Question) -> frozenset[IRI]:
    """What belongs to a target, where it is a collection."""
    members = (_members(question, target) for target in question.request.targets)
    return frozenset[IRI]().union(*members) - set(question.request.targets)


def _members(question: _Question, collection: IRI) -> frozenset[IRI]:
    """What belongs to a collection by some hierarchies that count."""
    narrower = (view.hierarchies.assets.narrower(collection) for view in question.views)
    return frozenset[IRI]().union(*narrower) - {collection}


def _tables_of(judge: _Judge, question: _Question) -> frozenset[IRI]:
    """The owners' tables that the targets are columns of: by IRI, a vocabulary, or what a run recorded."""
    snapshot = judge.snapshot
    targets = question.request.targets
    tables = frozenset[IRI]().union(*map(snapshot.tables, targets))
    names = frozenset(map(normalised_column, targets))
    declared = (view.hierarchies.columns.items() for view in question.views)
    declaring = [table for pairs in declared for table, columns in pairs if columns & names]
    declaring += [
        table for target in targets for table in judge.registry.columns.tables_with(snapshot, target)
    ]
    return tables.union(table for table in declaring if snapshot.full_owners(table) & question.owners)


def _is_known(snapshot: Snapshot, target: IRI) -> bool:
    if snapshot.is_known(target) or len(snapshot.related(target)) > 1:
        return True
    return bool(snapshot.tables(target) or snapshot.spelled_otherwise(target))


def _part_owners(
    snapshot: Snapshot, targets: tuple[IRI, ...], submission: Submission | None
) -> frozenset[IRI]:
    """Who owns a part of a target; of what nobody knows, who binds it: they may have forbidden columns."""
    owners = frozenset[IRI]().union(*map(snapshot.owners, targets))
    binds = submission is not None and not any(_is_known(snapshot, target) for target in targets)
    return owners | _just(submission.by) if submission is not None and binds else owners


def _tables(snapshot: Snapshot, targets: Collection[IRI]) -> frozenset[IRI]:
    """What has data of its own, though it may be a column: targets, and what lies below or beside one."""
    tables = frozenset(targets).union(*map(snapshot.tables, targets))
    below = (
        data
        for table in tables
        for data in snapshot.data_below(table)
        if snapshot.is_another_table(data, table)
    )
    return frozenset(
        (*below, *(target for target in targets if snapshot.has_data(target) and snapshot.tables(target)))
    )


# --- Policies that count


def _about(judge: _Judge, question: _Question) -> list[set[int]]:
    """Read what owners issued about what is requested; the entries of each issuer about each asset."""
    snapshot = judge.snapshot
    requested = snapshot.requested(question.request)
    keys_by_issuer = [keys for issuer, keys in snapshot.touching(requested) if issuer in question.owners]
    for keys in keys_by_issuer:
        judge.registry.policies.load(snapshot, keys)
        for view in question.views:
            snapshot.place(view, keys)
    return keys_by_issuer


def _with_charges(
    judge: _Judge, request: Request, about: list[set[int]], submitted: Policy | None
) -> Request:
    """A request with what has been charged, where a policy asks; never with the caller's word of it."""
    facts = tuple(fact for fact in request.facts if fact.operand not in BUDGETS)
    speaks = submitted is not None and speaks_of_budget(submitted)
    if speaks or judge.snapshot.speak_of_budgets(about):
        spent = judge.registry.ledger.spent(request.targets) if judge.asks_charges else EpsilonDelta()
        charged = ((BUDGET_EPSILON, spent.epsilon), (BUDGET_DELTA, spent.delta))
        facts += tuple(Fact(operand, (Number(value),)) for operand, value in charged)
    return request if facts == request.facts else replace(request, facts=facts)


def _with_counts(judge: _Judge, question: _Question) -> Request:
    """A request with what the registry counts, where a vocabulary declares such an operand."""
    counts = dict.fromkeys(operand for view in question.views for operand in view.hierarchies.counts)
    request = question.request
    if not counts:
        return request
    number = Number(Decimal(judge.snapshot.number_made(request.party, request.targets)))
    return replace(request, kept=tuple(Fact(operand, (number,)) for operand in counts))


def _not_understood(snapshot: Snapshot, entries: Iterable[Entry]) -> Reason | None:
    for entry in entries:
        if snapshot.policy(entry) is None:
            text = (
                "this version of smalti does not understand it, or a vocabulary that it needs has ended,"
                " which denies the request"
            )
            return Reason(text, entry.uid)
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
                text = f"its issuer {issuer} owns a part of what is requested: it may only prohibit"
            if issuer in snapshot.owners(target) - snapshot.full_owners(target):
                part_owner = f"its issuer {issuer} owns a part of what `{target}` was made from"
                text = f"{part_owner}: it may only prohibit"
            for key in sorted(keys)[:_NAMED]:
                yield Reason(text, snapshot.entry(key).uid)


def _authorize(
    judge: _Judge, question: _Question, added: Policy | None, owners: frozenset[IRI]
) -> Decision:
    """Decide by what is in force, and by one policy more.

    Prohibitions are held against the request under the hierarchies of each owner of a part, too: one more
    hierarchy can make a prohibition meet a request, and must not make a permission do so.
    """
    decision = _authorized(judge, question, question.view, added, owners)
    for view in question.strict:
        strict = _authorized(judge, question, view, added, owners)
        if not decision.grants:
            break
        if strict.grants:
            decision = _both(decision, strict)
        elif strict.determining:  # prohibitions
            decision = strict
        else:  # the permission itself needs more vocabularies; what is forbidden of columns does not
            forbidden = _columns_forbidden(judge, question, view, added)
            decision = _without(decision, forbidden)
    return decision


def _columns_forbidden(
    judge: _Judge, question: _Question, view: View, added: Policy | None
) -> tuple[ColumnProhibition, ...]:
    """What owners forbid of columns, as one view has it."""
    keys = frozenset[int]().union(*_about(judge, question))
    stored = (judge.snapshot.policy(judge.snapshot.entry(key)) for key in sorted(keys))
    policies = [policy for policy in stored if policy is not None]
    policies += [] if added is None or added in policies else [added]
    prohibitions = prohibited_columns(question.request, policies, view.hierarchies)
    return tuple(prohibition for prohibition in prohibitions if prohibition.columns)


def _without(decision: Decision, forbidden: tuple[ColumnProhibition, ...]) -> Decision:
    """A decision with some columns withheld; a grant that cannot do without one is none."""
    if not forbidden:
        return decision
    columns = frozenset[IRI]().union(*(prohibition.columns for prohibition in forbidden))
    named = frozenset[IRI]().union(
        *(prohibition.columns - prohibition.implied for prohibition in forbidden)
    )
    grants, struck = [], list(decision.struck)
    for grant in decision.grants:
        uses = column_uses(grant.permission, grant.obligations).also(columns_in(grant.rows))
        if uses.needs(columns, named):
            struck.append(grant)
        else:
            grants.append(_withholding(grant, columns, named))
    names = ", ".join(f"`{column}`" for column in sorted(columns))
    reasons = (Reason(f"an owner prohibits the use of {names}"), *decision.reasons)
    effect = effect_of(grants) if grants else Effect.DENY
    return replace(decision, effect=effect, grants=tuple(grants), struck=tuple(struck), reasons=reasons)


def _doubtful(judge: _Judge, question: _Question, decision: Decision) -> Reason | None:
    """Why a requested column may be one that is prohibited, though no prohibition names it.

    One names a column that its table is known to lack: nothing tells which one is meant, as in a run
    (`used_columns.refusal`). Or one names some column, and the table is known to lack the requested one.
    Of a whole table, the decision says what is withheld.
    """
    snapshot, targets = judge.snapshot, question.request.targets
    for whole in sorted(_tables_of(judge, question) - set(targets)):
        columns = [column for column in targets if not snapshot.is_another_table(column, whole)]
        for table in (whole, *sorted(_members(question, whole))) if columns else ():
            of_table = [_column_of_member(column, whole, table) for column in columns]
            if (doubt := _doubtful_in(judge, question, decision, table, of_table)) is not None:
                return doubt
    return None


def _column_of_member(column: IRI, collection: IRI, member: IRI) -> IRI:
    """The column of a member that a column of its collection stands for."""
    name = normalised_column(column)
    return (
        normalised_column(f"{member}/{name.rpartition('/')[2]}") if is_column_of(collection, name) else name
    )


def _doubtful_in(
    judge: _Judge, question: _Question, decision: Decision, table: IRI, columns: list[IRI]
) -> Reason | None:
    snapshot = judge.snapshot
    known_columns = judge.registry.columns.of(snapshot, table)
    if not known_columns.is_whole:
        return None
    is_unfound = any(map(known_columns.lacks, columns))
    for prohibition in _forbidden_of_table(judge, question, table, known_columns):
        named = sorted(prohibition.columns - prohibition.implied)
        named = [iri for iri in named if not snapshot.is_another_table(iri, table)]
        doubtful = named if is_unfound else [iri for iri in named if known_columns.lacks(iri)]
        if doubtful and not all(_spares(grant.policy, prohibition) for grant in decision.grants):
            iri = doubtful[0]
            text = f"a policy prohibits the use of `{iri}`, and a run did not find it in `{table}`"
            if is_unfound:
                text = f"a run did not find the column in `{table}`, of which a policy prohibits `{iri}`"
            return Reason(
                f"{text}: nothing tells which of its columns is meant",
                prohibition.policy.uid,
                prohibition.rule.uid,
            )
    return None


def _forbidden_of_table(
    judge: _Judge, question: _Question, table: IRI, known_columns: KnownColumns
) -> Iterator[ColumnProhibition]:
    """What owners forbid the requester of a table's columns, where the request is about one of them."""
    tables = _tables(judge.snapshot, (table,))
    request = replace(
        question.request,
        targets=(table,),
        columns=known_columns.iris,
        renamed=known_columns.renamed,
        tables=tables,
    )
    of_table = replace(question, request=request)
    for view in question.views:
        yield from _columns_forbidden(judge, of_table, view, None)


def _spares(policy: Policy, prohibition: ColumnProhibition) -> bool:
    """Whether a policy's own strategy keeps a prohibition from its permissions."""
    return policy == prohibition.policy and policy.conflict is ConflictStrategy.PERMIT


def _withholding(grant: Grant, columns: Iterable[IRI], named: Iterable[IRI]) -> Grant:
    """A grant with more columns withheld, of which prohibitions name some."""
    withheld = {*grant.withheld, *columns}
    implied = withheld - {*named} - (set(grant.withheld) - set(grant.implied))
    return replace(grant, withheld=tuple(sorted(withheld)), implied=tuple(sorted(implied)))


def _both(decision: Decision, strict: Decision) -> Decision:
    """A decision with what the stricter one says besides; a grant of one alone is none."""
    grants = [
        _withholding(
            replace(
                grant,
                rows=tuple(dict.fromkeys((*grant.rows, *other.rows))),
                spared=tuple(sorted({*grant.spared, *other.spared})),
            ),
            other.withheld,
            set(other.withheld) - set(other.implied),
        )
        for grant in decision.grants
        for other in strict.grants
        if (grant.policy, grant.permission) == (other.policy, other.permission)
    ]
    if not grants:
        return replace(strict, effect=Effect.DENY, grants=(), determining=())
    struck = tuple(dict.fromkeys((*decision.struck, *strict.struck)))
    return replace(decision, effect=effect_of(grants), grants=tuple(grants), struck=struck)


def _authorized(
    judge: _Judge, question: _Question, view: View, added: Policy | None, owners: frozenset[IRI]
) -> Decision:
    def standing(policy: Policy) -> Standing:
        if added is not None and policy == added:
            return Standing.FULL
        return judge.snapshot.standing(view, policy, question.owners, question.full_owners)

    with nullcontext() if added is None else view.also(added):
        return view.index.authorize(
            question.request, explain=judge.explain, standing=standing, owners=owners
        )


# --- Submitted policies


def resolved(registry: Registry, targets: tuple[IRI, ...], submission: Submission) -> Resolved | Reason:
    """What a submission stands for in a request about some targets (see `submissions.resolve`)."""
    with registry.snapshot() as snapshot:
        request = Request(party=IRI(""), action=IRI(""), targets=targets)
        question = _question(snapshot, request, submission)
        return resolve(registry, snapshot, submission, _owners(question, submission))


def _submitted(judge: _Judge, question: _Question, submission: Submission) -> _Submitted | Reason:
    """The submitted policy as an owner says it, or why it does not count."""
    by, targets = submission.by, question.request.targets
    owners = _owners(question, submission)
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
        return _Submitted(resolution.policy, Reason(text, resolution.policy.uid))
    refusal = _submission_refused(judge, resolution, targets, owners, replaces=submission.replaces)
    if refusal is not None:
        return refusal
    if (refusal := _badly_signed(judge.registry, submission, resolution.issuer)) is not None:
        return refusal
    text = f"{by} submitted it and owns {shown}"
    if _are_unknown(question):
        text = f"{by} submitted it, and counts as the owner of {shown}, which is not registered"
    return _Submitted(resolution.policy, Reason(text, resolution.policy.uid))


def _owners(question: _Question, submission: Submission) -> frozenset[IRI]:
    """Who owns all of each target; of what nobody knows, who binds it."""
    return _just(submission.by) if _are_unknown(question) else question.full_owners


def _are_unknown(question: _Question) -> bool:
    return len(question.unknown) == len(question.request.targets)


def _submission_refused(
    judge: _Judge,
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
    uid = registry.policies.uid_conflict(policy, resolution.issuer, replaces=replaces)
    if uid is not None:
        text = (
            f"another document in force uses the uid `{uid}`: its owner puts this one in its place with"
            " `smalti run --replace` or `smalti policy add --replace`; others use other uids"
        )
        return Reason(text, policy.uid)
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


def _just(party: IRI | None) -> frozenset[IRI]:
    return frozenset() if party is None else frozenset({party})


def _alone(judge: _Judge, question: _Question, submission: Submission, added: Policy) -> Decision:
    """What a submitted policy by itself says, with all hierarchies that count."""

    def standing(policy: Policy) -> Standing:
        return Standing.FULL if policy == added else Standing.NONE

    owners = _owners(question, submission)
    with question.view.also(added):
        return question.view.index.authorize(
            question.request, explain=False, standing=standing, owners=owners
        )


def _only_granted_by(decision: Decision, submitted: Policy, alone: Callable[[], Decision]) -> Decision:
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


# --- The implicit rule: who may view all inputs, or this version as what may be viewed of them


def _may_be_implied(question: _Question, decision: Decision) -> bool:
    return (
        bool(question.versions)
        and question.request.action == terms.READ
        and question.request.rule is None
        and decision.effect in {Effect.LIMITED, Effect.DENY, Effect.NOT_APPLICABLE}
    )


def _imply(judge: _Judge, question: _Question, explicit: Decision, visited: frozenset[IRI]) -> Decision:
    """Grant what the implicit rule grants, unless a prohibition about the output forbids it."""
    failures: list[Reason] = []
    grounds: list[Reason] = []
    relied_on: list[Grant] = []
    for version in question.versions:
        failed, held, grants_of_inputs = _version_is_readable(judge, question.request, version, visited)
        failures += failed
        grounds += held
        relied_on += grants_of_inputs
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
    named = tuple(dict.fromkeys(clause for grant in relied_on for clause in grant.clauses))
    owed = tuple(dict.fromkeys(duty for grant in relied_on for duty in owed_later(grant)))
    grants = tuple(
        replace(grant, clauses=(*grant.clauses, *named), obligations=(*grant.obligations, *owed))
        for grant in decision.grants
    )
    return replace(decision, effect=effect_of(grants), reasons=reasons, grants=grants)


def _version_is_readable(
    judge: _Judge, request: Request, version: VersionEntry, visited: frozenset[IRI]
) -> tuple[list[Reason], list[Reason], list[Grant]]:
    """Why a version may not be read, by what else it may, and the grants of its inputs that this needs."""
    name = f"version {version.number} of `{version.target}`"
    failures = _source_rule_failures(judge, request, version, name)
    grounds = [Reason(f"of {name}: {COUNTED_ROWS}")] if version.counts_rows else []
    relied_on: list[Grant] = []
    for target in _input_targets(judge.snapshot, version):
        if target in visited:
            failures.append(Reason(f"{name} was made from `{target}`, which is already being decided"))
            continue
        input_request = replace(request, targets=(target,), columns=_NO_COLUMNS, renamed=frozenset())
        input_decision = _decide(judge, input_request, None, visited)
        plain = [grant for grant in input_decision.grants if _shows_only_granted(judge, grant, version)]
        plain = [grant for grant in plain if not owed_later(grant)] or plain
        if plain:
            relied_on += plain
            rules = ", ".join(f"`{grant.permission.uid}`" for grant in plain)
            grounds.append(Reason(f"reading `{target}`, an input of {name}, is permitted by {rules}"))
        elif input_decision.grants:
            text = f"reading `{target}`, an input of {name}, is permitted only under further conditions"
            if withheld := sorted({column for grant in input_decision.grants for column in grant.withheld}):
                text += f", and without {', '.join(f'`{column}`' for column in withheld)}"
            failures.append(Reason(text))
        else:
            failures.append(Reason(f"reading `{target}`, an input of {name}, is not permitted"))
            failures += input_decision.reasons
    return failures, grounds, relied_on


def _source_rule_failures(
    judge: _Judge, request: Request, version: VersionEntry, name: str
) -> list[Reason]:
    about = (version.policy_uid, version.rule_uid)
    if not judge.registry.policies.entries_of(judge.snapshot, version):
        return [Reason(f"the policy that {name} was made under was revoked", *about)]
    limits = _purposes(judge, request, version)
    if limits is None:
        return [Reason(f"the policy that {name} was made under has ended", *about)]
    # Held against the request as an implicit permission with the rule's purposes, and nothing else.
    hierarchies = judge.snapshot.view(judge.snapshot.authorities((version.target,))).hierarchies
    alone = authorize(request, (_implicit_policy(request, limits),), hierarchies)
    if alone.is_unconditional:
        return []
    purpose = f"the purpose `{request.purpose}`" if request.purpose else "a request without a purpose"
    text = f"{purpose} is outside the purposes of the rule that {name} was made under"
    return [Reason(text, *about)]


def _purposes(judge: _Judge, request: Request, version: VersionEntry) -> list[Condition] | None:
    """The limits to purposes of the rule that a version was made under; None where it has ended.

    Where several entries of the policy stand, they say the same of it.
    """
    snapshot = judge.snapshot
    for entry, policy in judge.registry.policies.entries_of(snapshot, version):
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
            for part in operands:
                yield from _operands(part)


def _shows_only_granted(judge: _Judge, grant: Grant, version: VersionEntry) -> bool:
    """Whether who may read an input under a grant may see what a version shows of it.

    Nothing of a version may come from a column that is withheld of the input.
    """
    whole = replace(grant, withheld=())
    if not (_is_plain(whole) or _is_met(judge, whole, version)):
        return False
    if not grant.withheld:
        return True
    from smalti.engine.registry.recorded_columns import uses_any  # noqa: PLC0415 (only where columns are withheld)

    plan = judge.registry.outputs.plan_of(version)
    named = [column for column in grant.withheld if column not in grant.implied]
    stated = [column for column in named if not _is_table_below(judge.snapshot, version, column)]
    inputs = [source.iri for source in version.inputs]
    owners = frozenset[IRI]().union(*map(judge.snapshot.owners, inputs))
    of_inputs = (judge.registry.columns.of(judge.snapshot, iri).believed for iri in inputs)
    believed = frozenset[tuple[IRI, IRI]]().union(*of_inputs)
    return plan is not None and not uses_any(plan, grant.withheld, stated, owners, believed)


def _is_table_below(snapshot: Snapshot, version: VersionEntry, column: IRI) -> bool:
    """Whether it is a table of its own below an input, by the word of the input's owners."""
    return any(
        is_column_of(source.iri, column) and snapshot.is_another_table(column, source.iri)
        for source in version.inputs
    )


def _is_plain(grant: Grant) -> bool:
    """Whether a grant to read is limited to purposes at most."""
    rule = grant.permission
    conditions: list[Condition] = [*rule.constraints, *rule.refinements]
    conditions += [refinement for target in rule.targets for refinement in target.refinements]
    conditions += [
        refinement for party in (*rule.assignees, *rule.assigners) for refinement in party.refinements
    ]
    return (
        not rule.duties
        and grant.is_unconditional
        and all(leaf == terms.ODRL_PURPOSE for condition in conditions for leaf in _operands(condition))
    )


def _is_met(judge: _Judge, grant: Grant, version: VersionEntry) -> bool:
    """Whether a version is what a grant to read its input asks for: made as the grant's duty says.

    That is so where it was made under the very rule of the grant, since a run under it does what all of
    its duties say, on the rows that it is limited to. Which rows those are must not depend on the request:
    another request, at another time, may have led to others.
    """
    rule, policy = grant.permission, grant.policy
    anonymizing = [duty for duty in rule.duties if duty.action == terms.ANONYMIZE]
    if (
        not anonymizing
        or grant.withheld
        or (rule.uid, policy.uid) != (version.rule_uid, version.policy_uid)
    ):
        return False
    if any(duty.targets not in ((), rule.targets) for duty in anonymizing):
        return False
    if any(other.duties != rule.duties for other in policy.permissions if other.uid == rule.uid):
        return False
    conditions = [
        *rule.constraints,
        *(refinement for target in rule.targets for refinement in target.refinements),
    ]
    if any(_has_columns(condition) and not _is_only_columns(condition) for condition in conditions):
        return False
    # Of one document there are several meanings where what it inherits has changed: which one was it then?
    return judge.registry.policies.meaning_of(judge.snapshot, version) == meaning_digest(policy)


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


def _input_targets(snapshot: Snapshot, version: VersionEntry) -> list[IRI]:
    """The inputs as targets of requests: of an output, the version that was read."""
    inputs = ((source, snapshot.version(source)) for source in version.inputs)
    return [source.iri if read is None else read.iri for source, read in inputs]


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
