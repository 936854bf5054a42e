"""The implicit rule: who may view all inputs of an output may view the output.

Or who may view a version as what may be viewed of its inputs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from smalti.engine.plan.respondents import COUNTED_ROWS
from smalti.engine.registry.owner_views import authorize_in_views
from smalti.engine.registry.questions import Judge, Question
from smalti.engine.registry.snapshot import Snapshot, VersionEntry
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Decision, Effect, Grant, Reason, Request, effect_of, owed_later
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    ConflictStrategy,
    Logical,
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


def may_be_implied(question: Question, decision: Decision) -> bool:
    """Whether the implicit rule is about a question that what is in force does not fully permit."""
    return (
        bool(question.versions)
        and question.request.action == terms.READ
        and question.request.rule is None
        and decision.effect in {Effect.LIMITED, Effect.DENY, Effect.NOT_APPLICABLE}
    )


def with_implicit_rule(
    judge: Judge,
    question: Question,
    explicit: Decision,
    visited: frozenset[IRI],
    decide_input: Callable[[Request], Decision],
) -> Decision:
    """Grant what the implicit rule grants, unless a prohibition about the output forbids it.

    Args:
        judge: the inputs of the decision.
        question: about versions of an output.
        explicit: the decision by what is in force.
        visited: the targets that are already being decided.
        decide_input: decides a request about an input, which may be an output itself.
    """
    failures: list[Reason] = []
    grounds: list[Reason] = []
    relied_on: list[Grant] = []
    for version in question.versions:
        failed, held, grants_of_inputs = _version_is_readable(
            judge, question.request, version, visited, decide_input
        )
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
    decision = authorize_in_views(judge, question, implicit, question.full_owners)
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
    judge: Judge,
    request: Request,
    version: VersionEntry,
    visited: frozenset[IRI],
    decide_input: Callable[[Request], Decision],
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
        input_decision = decide_input(input_request)
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


def _source_rule_failures(judge: Judge, request: Request, version: VersionEntry, name: str) -> list[Reason]:
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


def _purposes(judge: Judge, request: Request, version: VersionEntry) -> list[Condition] | None:
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


def _shows_only_granted(judge: Judge, grant: Grant, version: VersionEntry) -> bool:
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


def _is_met(judge: Judge, grant: Grant, version: VersionEntry) -> bool:
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
