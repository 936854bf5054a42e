"""Decides requests by policies; what is not understood denies."""

from collections.abc import Iterator, Sequence

from smalti.policy.decide.conflicts import contradiction
from smalti.policy.decide.decision import Decision, Effect, Request, RuleName, effect_of
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.matching import Situation
from smalti.policy.decide.prepared import PreparedPolicy
from smalti.policy.decide.reasons import reasons_of, remedies_about, reports_of_rules
from smalti.policy.decide.rules_of_decision import ListedRules, Rules, distinct
from smalti.policy.decide.tally import Tally
from smalti.policy.model.model import ConflictStrategy, Duty, Policy, Rule
from smalti.vocab.terms import IRI


def authorize(
    request: Request,
    policies: Sequence[Policy],
    hierarchies: Hierarchies = STANDARD,
    *,
    explain: bool = False,
    owners: frozenset[IRI] = frozenset(),
) -> Decision:
    """Decide a request by policies; pure, and denying by default.

    Contract:
        Logic        a condition is satisfied, unsatisfied or unknown (`policy.decide.conditions`); what the
                     request does not state is unknown.
        Permission   applies when each part of it is satisfied: one and the same rule covers every requested
                     target (joint visibility) and the action (or one that includes it); the party is an
                     assignee or in a group that is; each constraint and refinement holds; each duty
                     is fulfilled that no plan can contain, or can still be, where the request reads duties
                     so (`Request.duties`). Its limits to rows become `Grant.rows`.
        Prohibition  applies unless some part is unsatisfied: when it touches any requested target, the
                     action, or one included in it. Its refinements are judged by the transformation that
                     each permission would lead to (`policy.decide.transformations`).
        To anonymize is also permitted by a permission to read with a duty to anonymize, and to the
                     assignees of an obligation to anonymize.
        Remedy       to anonymize: permits exactly its own transformation of its own target, which its
                     prohibition covers, too, and only a request that names it by its uid. Each condition
                     of it and of its prohibition must hold, and no other prohibition may apply: only its
                     own prohibition does not deny it, whatever the conflict strategy. Its party is one of
                     its assignees (its prohibition's, where it has none), or an owner, where no party is
                     named. The prohibition's remedies of other actions are owed as well, and so are the
                     other actions of a remedy with several: each must be fulfilled that no plan can
                     contain. Of several remedies to anonymize a request relies on one.
                     That its prohibition was infringed (ODRL IM 2.6.7) is the requester's claim: ODRL has
                     no term to record it.
        Duty to anonymize: whoever reads owes it, even if the request claims that it was fulfilled, since
                     the request is about the target itself. Likewise an audit: whoever trains owes it for
                     the new model. For an existing model it may have been fulfilled.
        Clauses      An obligation between people is satisfied for a permission only where the request
                     accepts it (`Request.accepted`); the grant names it (`Grant.clauses`).
        Profiles     A policy with a profile that no vocabulary here defines permits nothing.
        Policies     that are Offers are not considered; outside of its `dct:valid` a policy is not in
                     force, and at an unknown time its prohibitions apply and its permissions do not.
        Conflict     inside of a policy: as its strategy says. `invalid` makes the whole policy void: its
                     permissions grant nothing, and its prohibitions still deny (deliberately stricter than
                     ODRL IM 2.9). `perm`: its permissions are spared by its own prohibitions, as they are
                     (with their transformation and rows), and nothing else is. Between policies: any
                     prohibition denies.
        Columns      A column is a part of its table (`table_columns`). A permission on a table
                     reaches its columns. A prohibition on a column of a target withholds the column
                     (`Grant.withheld`), and denies a permission that needs it
                     (`policy.decide.column_uses`); so do prohibitions on all columns that are known.
        Several      permissions may grant one request; `request.rule` picks one by its uid (or its duty's).
        Limits       a grant may have limits: some rows or columns only, or obligations. Where each one has,
                     the decision is `limited`, which permits only a requester who understands limits.
        Monotone     adding a prohibition never permits more, except by its own remedy; and no policy, nor a
                     rule that is added to it, makes another policy permit more.

    Args:
        request: who wants to do what. The caller asserts the party; it is not authenticated here.
        policies: those of the target's owners that are in force; others must not be passed.
        hierarchies: which concepts include which.
        explain: whether the decision reports each part of each rule about the targets (`considered`).
        owners: the owners of all of each target; a remedy that names no party is theirs.
    """
    prepared = [prepare(policy, hierarchies) for policy in distinct(policies)]
    return conclude(Situation(request, hierarchies, owners), ListedRules(prepared), explain=explain)


def prepare(policy: Policy, hierarchies: Hierarchies) -> PreparedPolicy:
    """A policy prepared for requests: what does not depend on them is computed once, conflicts included."""
    prepared = PreparedPolicy(policy, hierarchies)
    if policy.conflict is ConflictStrategy.INVALID and policy.prohibitions:
        prepared.conflict = contradiction(prepared)
    return prepared


def conclude(situation: Situation, rules: Rules, *, explain: bool) -> Decision:
    """The decision of a request by some rules."""
    request, tally = situation.request, Tally(situation, rules)
    grants = tuple(candidate.grant(situation, tally) for candidate in tally.surviving)
    effect = effect_of(grants) if grants else _refusal(tally, rules)
    remedies = () if tally.surviving else _remedies(tally)
    return Decision(
        request=request,
        effect=effect,
        reasons=tuple(reasons_of(effect, tally, rules)),
        grants=grants,
        struck=tuple(candidate.grant(situation, tally) for candidate in tally.struck()),
        determining=tuple(dict.fromkeys(_rule_names(tally))),
        remedies=remedies,
        considered=tuple(reports_of_rules(tally, rules)) if explain else (),
    )


def _rule_names(tally: Tally) -> Iterator[RuleName]:
    if tally.surviving:
        for candidate in tally.surviving:
            yield _rule_name(candidate.policy.policy, candidate.form.permission)
        return
    for prepared in tally.denying:
        yield _rule_name(prepared.policy.policy, prepared.rule)
    for policy in tally.void:
        for rule in policy.conflict or ():
            yield _rule_name(policy.policy, rule)


def _rule_name(policy: Policy, rule: Rule) -> RuleName:
    return RuleName(policy.uid, policy.document_digest, rule.uid)


def _refusal(tally: Tally, rules: Rules) -> Effect:
    if any(rule.policy.conflict is None for rule in tally.denying):
        return Effect.DENY
    if tally.void:
        return Effect.VOID
    is_about = tally.granting or tally.denying or rules.is_about(tally.situation)
    is_about = is_about or remedies_about(tally.situation, rules)
    return Effect.DENY if is_about else Effect.NOT_APPLICABLE


def _remedies(tally: Tally) -> tuple[Duty, ...]:
    remedies = [remedy for prepared in tally.denying for remedy in getattr(prepared.rule, "remedies", ())]
    return tuple(dict.fromkeys(remedies))
