"""Decide by the policies in force, under the hierarchies of each owner of a part."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

from smalti.engine.registry.questions import Judge, Question, load_entries
from smalti.engine.registry.views import View
from smalti.policy.decide.column_uses import column_uses
from smalti.policy.decide.decision import Decision, Effect, Grant, Reason, effect_of
from smalti.policy.decide.index import Standing
from smalti.policy.decide.prohibited_columns import ColumnProhibition, prohibited_columns
from smalti.policy.decide.table_columns import columns_in
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


def authorize_in_views(
    judge: Judge, question: Question, added: Policy | None, owners: frozenset[IRI]
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
            forbidden = columns_forbidden(judge, question, view, added)
            decision = _without(decision, forbidden)
    return decision


def columns_forbidden(
    judge: Judge, question: Question, view: View, added: Policy | None
) -> tuple[ColumnProhibition, ...]:
    """What owners forbid of columns, as one view has it."""
    keys = frozenset[int]().union(*load_entries(judge, question))
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
    judge: Judge, question: Question, view: View, added: Policy | None, owners: frozenset[IRI]
) -> Decision:
    def standing(policy: Policy) -> Standing:
        if added is not None and policy == added:
            return Standing.FULL
        return judge.snapshot.standing(view, policy, question.owners, question.full_owners)

    with nullcontext() if added is None else view.also(added):
        return view.index.authorize(
            question.request, explain=judge.explain, standing=standing, owners=owners
        )
