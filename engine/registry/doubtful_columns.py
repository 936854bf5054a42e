"""Why a requested column may be one that is prohibited under another name."""

from collections.abc import Iterator
from dataclasses import replace

from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.registry.owner_views import columns_forbidden
from smalti.engine.registry.questions import (
    Judge,
    Question,
    members_of_collection,
    tables_of_columns,
    tables_with_data,
)
from smalti.policy.decide.decision import Decision, Reason
from smalti.policy.decide.prohibited_columns import ColumnProhibition
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import ConflictStrategy, Policy
from smalti.vocab.terms import IRI


def doubt_about_columns(judge: Judge, question: Question, decision: Decision) -> Reason | None:
    """Why a requested column may be one that is prohibited, though no prohibition names it.

    One names a column that its table is known to lack: nothing tells which one is meant, as in a run
    (`used_columns.refusal`). Or one names some column, and the table is known to lack the requested one.
    Of a whole table, the decision says what is withheld.
    """
    snapshot, targets = judge.snapshot, question.request.targets
    for whole in sorted(tables_of_columns(judge, question) - set(targets)):
        columns = [column for column in targets if not snapshot.is_another_table(column, whole)]
        for table in (whole, *sorted(members_of_collection(question, whole))) if columns else ():
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
    judge: Judge, question: Question, decision: Decision, table: IRI, columns: list[IRI]
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
    judge: Judge, question: Question, table: IRI, known_columns: KnownColumns
) -> Iterator[ColumnProhibition]:
    """What owners forbid the requester of a table's columns, where the request is about one of them."""
    tables = tables_with_data(judge.snapshot, (table,))
    request = replace(
        question.request,
        targets=(table,),
        columns=known_columns.iris,
        renamed=known_columns.renamed,
        tables=tables,
    )
    of_table = replace(question, request=request)
    for view in question.views:
        yield from columns_forbidden(judge, of_table, view, None)


def _spares(policy: Policy, prohibition: ColumnProhibition) -> bool:
    """Whether a policy's own strategy keeps a prohibition from its permissions."""
    return policy == prohibition.policy and policy.conflict is ConflictStrategy.PERMIT
