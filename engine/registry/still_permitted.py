"""Whether a run is still permitted when it is recorded: what owners take back meanwhile counts."""

from smalti.engine.plan.kinds import action_of
from smalti.engine.plan.known_columns import NO_COLUMNS, known_columns, known_spelling
from smalti.engine.plan.recorded import recorded_kind
from smalti.engine.registry.authority import decide_as, prohibitions_on
from smalti.engine.registry.entries import NewVersion, Permitted
from smalti.engine.registry.joinable import check_combined
from smalti.engine.registry.questions import Judge
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Grant, Reason, Request
from smalti.policy.model.meaning import grant_digest
from smalti.vocab.terms import IRI


def check_still_permitted(registry: Registry, record: NewVersion) -> None:
    """Refuse to record a run that is not permitted any more: what owners take back meanwhile counts.

    Asked inside of the transaction that records it, also where somebody else ends a run that was killed.
    Time and charges are those of the decision: a charge of the run itself is in the ledger by now.

    Raises:
        UsageError: an owner prohibits it by now, or no longer permits it; or another release was recorded
            that it was not held together with.
        RegistryError: the registry cannot be read.
    """
    check_combined(registry, record)
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
    _check_populations(registry, record, request, submission)
    with registry.snapshot() as snapshot:
        judge = Judge(registry, snapshot, explain=False, asks_charges=False)
        decision = decide_as(judge, request, submission, frozenset())
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


def _check_populations(
    registry: Registry, record: NewVersion, request: Request, submission: Submission
) -> None:
    """Refuse where a prohibition applies by now to an input that the decision was not about."""
    described = record.population_table
    for source in record.inputs:
        if source.iri in request.targets:
            continue
        columns = NO_COLUMNS if described is None else known_columns(source.iri, described.columns)
        asked = Request(
            party=request.party,
            action=request.action,
            targets=(source.iri,),
            purpose=request.purpose,
            time=request.time,
            columns=columns.iris,
            renamed=columns.renamed,
        )
        if reasons := prohibitions_on(registry, asked, submission):
            raise _no_longer(record, *reasons)


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
        action=action_of(recorded_kind(record.plan)),
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
