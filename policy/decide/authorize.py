"""Decides requests by policies; what is not understood denies."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from smalti.policy.decide import wording
from smalti.policy.decide.clauses import clauses_of
from smalti.policy.decide.column_uses import ColumnUses, column_uses
from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.conditions import Residual, rows_of
from smalti.policy.decide.conflicts import contradiction
from smalti.policy.decide.decision import (
    Decision,
    Effect,
    Grant,
    Part,
    PartReport,
    Reason,
    Request,
    RuleName,
    RuleReport,
    effect_of,
)
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.matching import (
    Form,
    Judged,
    Kind,
    PreparedPolicy,
    PreparedRule,
    Situation,
    forbidden_columns,
    fulfilled,
    in_force,
    judged_as_grant,
    judged_as_prohibition,
    judged_refinements,
    named_columns,
    prohibited_parts,
    touches,
)
from smalti.policy.decide.table_columns import columns_in
from smalti.policy.decide.transformations import Parameters, requested_parameters
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import (
    NOWHERE,
    Condition,
    ConflictStrategy,
    Duty,
    Permission,
    Policy,
    Rule,
)
from smalti.vocab.terms import ANONYMIZE, AUDIT, IRI, PLANNED_DUTIES, TRAIN

NEAR_MISSES: Final = 3
"""The most rules about the target that a refusal names although they did not apply..."""
FEW_RULES: Final = 20
"""... if at most so many are about the target; an explanation names more."""
_NO_COLUMNS: Final[frozenset[IRI]] = frozenset()
FAILURES: Final = 2
"""The most failing parts of a rule that a refusal names."""


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
    return conclude(Situation(request, hierarchies, owners), _Listed(prepared), explain=explain)


def prepare(policy: Policy, hierarchies: Hierarchies) -> PreparedPolicy:
    """A policy prepared for requests: what does not depend on them is computed once, conflicts included."""
    prepared = PreparedPolicy(policy, hierarchies)
    if policy.conflict is ConflictStrategy.INVALID and policy.prohibitions:
        prepared.conflict = contradiction(prepared)
    return prepared


def distinct(policies: Iterable[Policy]) -> list[Policy]:
    """The policies in order, each once."""
    by_name: dict[tuple[IRI, str], list[Policy]] = {}
    kept = []
    for policy in policies:
        same = by_name.setdefault((policy.uid, policy.document_digest), [])
        if policy not in same:
            same.append(policy)
            kept.append(policy)
    return kept


# --- Where rules come from


class Rules(ABC):
    """The rules that a decision is made by, in their policies' order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rules."""

    @abstractmethod
    def candidates(self, situation: Situation) -> Iterable[PreparedRule]:
        """In order, every rule that may apply, and perhaps others."""

    @abstractmethod
    def touching(self, situation: Situation, most: int | None = None) -> Sequence[PreparedRule]:
        """In order, exactly the rules about a requested target, a part of it, or a whole that contains it.

        Args:
            situation: the request.
            most: at most so many, the first ones; None: all.
        """

    @abstractmethod
    def number_touching(self, situation: Situation) -> int:
        """The number of rules that `touching` returns."""

    @abstractmethod
    def is_about(self, situation: Situation) -> bool:
        """Whether such a rule is about the requested action, or about one that overlaps it."""

    def may_prohibit_only(self, policy: PreparedPolicy) -> bool:
        """Whether the permissions and obligations of a policy do not count for the request."""
        return False


class _Listed(Rules):
    """All rules of some policies."""

    def __init__(self, policies: Sequence[PreparedPolicy]) -> None:
        self._rules = [rule for policy in policies for rule in policy.rules]
        for order, rule in enumerate(self._rules):
            rule.order = order
        self._touching: list[PreparedRule] | None = None

    @property
    def size(self) -> int:
        return len(self._rules)

    def candidates(self, situation: Situation) -> Iterable[PreparedRule]:
        return self._rules

    def touching(self, situation: Situation, most: int | None = None) -> Sequence[PreparedRule]:
        if self._touching is None:
            self._touching = [rule for rule in self._rules if touches(rule, situation)]
        return self._touching[:most]

    def number_touching(self, situation: Situation) -> int:
        return len(self.touching(situation))

    def is_about(self, situation: Situation) -> bool:
        return any(rule.is_about(situation.request.action) for rule in self.touching(situation))


# --- The decision


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A permission that applies unless a prohibition denies it."""

    prepared: PreparedRule
    form: Form
    rows: tuple[Condition, ...]
    uses: ColumnUses
    """The columns without which it cannot be used."""

    @property
    def policy(self) -> PreparedPolicy:
        return self.prepared.policy

    @property
    def is_remedy(self) -> bool:
        return self.prepared.kind is Kind.REMEDY

    def is_picked(self, rule: IRI | None) -> bool:
        duty = self.form.duty
        return rule is None or rule == self.prepared.rule.uid or (duty is not None and rule == duty.uid)

    @property
    def left_as_they_are(self) -> frozenset[IRI]:
        """The columns that an anonymization publishes unchanged, or discloses by the selection of rows."""
        way = self.form.permission.anonymization
        if way is None:
            return _NO_COLUMNS
        return columns_in(self.rows).union(normalised_column(column.iri) for column in way.released)

    def grant(self, situation: Situation, tally: "_Tally") -> Grant:
        situation = situation.under(self.policy.hierarchies)
        owed = tuple(
            duty
            for duty in (*self.form.obligations, *_unplanned(self.prepared.rule))
            if _is_owed_always(duty, situation.request) or fulfilled(duty, situation) is not SATISFIED
        )
        withheld = tally.withheld(self)
        return Grant(
            self.policy.policy,
            self.form.permission,
            self.rows,
            owed,
            tuple(sorted(withheld)),
            tuple(sorted(withheld - tally.named(self))),
            tuple(sorted(tally.spared(self))),
            clauses_of(self.prepared, self.form, situation, owed),
        )


def _unplanned(rule: Rule) -> tuple[Duty, ...]:
    """The duties of a permission that no plan can contain."""
    duties = rule.duties if isinstance(rule, Permission) else ()
    return tuple(duty for duty in duties if duty.action not in PLANNED_DUTIES)


def _is_owed_always(duty: Duty, request: Request) -> bool:
    """Whether a duty is owed although the request claims that it was fulfilled.

    A request to read is about the target itself, not about its anonymized data; a model that is still to
    be trained was not audited.
    """
    return duty.action == ANONYMIZE or (duty.action == AUDIT and request.action == TRAIN)


class _Tally:
    """Which rules permit and which deny one request."""

    __slots__ = (
        "_columns", "_limited", "_withheld", "chosen", "denying", "forbidding", "granting", "situation",
        "surviving", "void", "withholding",
    )  # fmt: skip

    def __init__(self, situation: Situation, rules: Rules) -> None:
        self.situation = situation
        permitting: list[_Candidate] = []
        forbidding: list[PreparedRule] = []
        self._columns: dict[PreparedRule, frozenset[IRI]] = {}
        """The columns of each prohibition that applies to less than all of a target."""
        self._limited: dict[PreparedRule, frozenset[IRI]] = {}
        """The columns of each prohibition with refinements, whether or not it is about the table, too."""
        self._withheld: dict[_Candidate, frozenset[IRI]] = {}
        for prepared in rules.candidates(situation):
            if prepared.kind is not Kind.PROHIBITION:
                permitting += _candidates(prepared, situation)
                continue
            if _forbids(prepared, situation):
                forbidding.append(prepared)
                if (columns := forbidden_columns(prepared, situation)) is not None:
                    self._columns[prepared] = columns
                if prepared.rule.refinements:
                    self._limited[prepared] = prohibited_parts(prepared, situation)
            if not rules.may_prohibit_only(prepared.policy):
                for remedy in _named_remedies(prepared, situation.request):
                    permitting += _candidates(remedy, situation)
        self.void = _void(permitting, forbidding)
        """Policies that contradict themselves, and otherwise would grant or deny."""
        self.granting = [candidate for candidate in permitting if candidate.policy not in self.void]
        """Permissions of policies that are not void."""
        picked = situation.request.rule
        self.chosen = [candidate for candidate in self.granting if candidate.is_picked(picked)]
        """Those that the request relies on."""
        self.forbidding = forbidding
        """Prohibitions that apply, their refinements not considered."""
        self.denying = self._denying(forbidding)
        """Prohibitions that deny a chosen permission."""
        self.surviving = (
            [candidate for candidate in self.chosen if not self._is_denied(candidate)]
            if self.denying
            else self.chosen
        )
        """The permissions that grant the request."""
        self.withholding = [rule for rule in self._hitting(list(self._columns)) if rule not in self.denying]
        """Prohibitions on columns that apply, and deny nothing."""

    def _denying(self, forbidding: list[PreparedRule]) -> list[PreparedRule]:
        if not forbidding:
            return []
        if self.chosen:
            return [
                rule
                for rule in forbidding
                if any(self._denies(rule, candidate) for candidate in self.chosen)
            ]
        return [rule for rule in self._hitting(forbidding) if rule not in self._columns]

    def _hitting(self, forbidding: list[PreparedRule]) -> list[PreparedRule]:
        """The prohibitions that apply to a chosen permission; without one, all that apply."""
        if self.chosen:
            return [
                rule
                for rule in forbidding
                if any(self._strikes(rule, candidate) for candidate in self.chosen)
            ]
        lenient = {candidate.policy for candidate in self.granting if _is_lenient(candidate.policy)}
        return [rule for rule in forbidding if rule.policy not in lenient and self._hits(rule, None)]

    def _is_denied(self, candidate: _Candidate) -> bool:
        return any(self._denies(prepared, candidate) for prepared in self.denying)

    def _denies(self, prepared: PreparedRule, candidate: _Candidate) -> bool:
        """Whether a prohibition applies to a permission that needs what it forbids."""
        if not self._strikes(prepared, candidate):
            return False
        columns = self._columns.get(prepared)
        if columns is None or self._leaves_nothing(candidate):
            return True
        return candidate.uses.needs(columns, named_columns(prepared, self.situation))

    def _leaves_nothing(self, candidate: _Candidate) -> bool:
        """Whether all known columns of the requested targets are withheld."""
        columns = self.situation.request.columns
        if not columns or not columns <= self.withheld(candidate):
            return False
        # Where only columns with IRIs of their own are known, there may be others.
        targets = self.situation.request.targets
        return any(is_column_of(target, column) for target in targets for column in columns)

    def withheld(self, candidate: _Candidate) -> frozenset[IRI]:
        """The columns that prohibitions withhold from a permission."""
        if not self._columns:
            return _NO_COLUMNS
        if candidate not in self._withheld:
            striking = (
                columns for rule, columns in self._columns.items() if self._strikes(rule, candidate)
            )
            self._withheld[candidate] = _NO_COLUMNS.union(*striking)
        return self._withheld[candidate]

    def struck(self) -> list[_Candidate]:
        """The chosen permissions that only prohibitions on columns deny."""
        if not (self.denying and self._columns):
            return []
        denied = [candidate for candidate in self.chosen if candidate not in self.surviving]
        whole = [rule for rule in self.denying if rule not in self._columns]
        return [
            candidate for candidate in denied if not any(self._denies(rule, candidate) for rule in whole)
        ]

    def named(self, candidate: _Candidate) -> frozenset[IRI]:
        """The IRIs that the prohibitions name which withhold columns from a permission."""
        striking = [rule for rule in self._columns if self._strikes(rule, candidate)]
        return _NO_COLUMNS.union(*(named_columns(rule, self.situation) for rule in striking))

    def spared(self, candidate: _Candidate) -> frozenset[IRI]:
        """The columns of prohibitions that apply to a permission but for their refinements."""
        if not self._limited or not candidate.left_as_they_are:
            return _NO_COLUMNS
        rules = [rule for rule in self._limited if not self._is_spared_by_strategy(rule, candidate)]
        named = (
            named_columns(rule, self.situation) & self._limited[rule]
            for rule in rules
            if not self._hits(rule, candidate)
        )
        return _NO_COLUMNS.union(*named)

    def columns(self, prepared: PreparedRule) -> frozenset[IRI] | None:
        """The columns that a prohibition is about; None where it is about all of a target."""
        return self._columns.get(prepared)

    def _strikes(self, prepared: PreparedRule, candidate: _Candidate) -> bool:
        """Whether a prohibition applies to a permission, and no conflict strategy spares the permission.

        `perm` spares the permissions of the same policy only: another policy's permission may be weaker. A
        remedy is spared from its own prohibition only.
        """
        return not self._is_spared_by_strategy(prepared, candidate) and self._hits(prepared, candidate)

    @staticmethod
    def _is_spared_by_strategy(prepared: PreparedRule, candidate: _Candidate) -> bool:
        if (prohibition := candidate.prepared.of) is not None:
            return _is_of_one_node(prepared, prohibition)
        return prepared.policy is candidate.policy and _is_lenient(prepared.policy)

    def _hits(self, prepared: PreparedRule, candidate: _Candidate | None) -> bool:
        """Whether a prohibition applies to the transformation that a permission leads to."""
        if not prepared.rule.refinements or self._leaves_as_it_is(prepared, candidate):
            return True
        judged = judged_refinements(prepared.rule, self._parameters(candidate))
        return all(outcome is not UNSATISFIED for _, outcome, _ in judged)

    def _leaves_as_it_is(self, prepared: PreparedRule, candidate: _Candidate | None) -> bool:
        """Whether a permission publishes a prohibited column unchanged.

        No parameter of its transformation is about such a column.
        """
        if candidate is None:
            return False
        return not candidate.left_as_they_are.isdisjoint(self._limited.get(prepared) or _NO_COLUMNS)

    def _parameters(self, candidate: _Candidate | None) -> Parameters:
        """The parameters of the transformation that a permission leads to."""
        facts = self.situation.facts
        if candidate is None or (allowed := candidate.form.transformation) is None:
            return facts.parameters
        return requested_parameters(allowed, facts.parameters_in(allowed.operands))

    def parameters(self, prepared: PreparedRule) -> Parameters:
        """The parameters to judge a rule's refinements by: of a transformation that it applies to."""
        if prepared.kind is not Kind.PROHIBITION or not self.chosen:
            return self.situation.facts.parameters
        denied = (candidate for candidate in self.chosen if self._strikes(prepared, candidate))
        return self._parameters(next(denied, self.chosen[0]))

    def form(self, prepared: PreparedRule) -> Form | None:
        """The form in which a rule permits the request; else its first form."""
        granting = (candidate.form for candidate in self.granting if candidate.prepared is prepared)
        return next(granting, next(iter(prepared.forms_for(self.situation.request.action)), None))

    def overriding(self, prepared: PreparedRule) -> PreparedRule | None:
        """The rule of the same policy that overrides a rule which would apply."""
        if prepared.kind is Kind.PROHIBITION:
            if prepared not in self.forbidding or prepared in self.denying:
                return None
            relied_on = self.chosen or self.granting
            return next(
                (candidate.prepared for candidate in relied_on if self._overrides(candidate, prepared)),
                None,
            )
        mine = [candidate for candidate in self.granting if candidate.prepared is prepared]
        own = [rule for rule in self.denying if rule.policy is prepared.policy]
        if any(candidate in self.surviving for candidate in mine):
            return None
        return next((rule for rule in own for candidate in mine if self._denies(rule, candidate)), None)

    @staticmethod
    def _overrides(candidate: _Candidate, prohibition: PreparedRule) -> bool:
        if candidate.prepared.of is not None:
            return _is_of_one_node(prohibition, candidate.prepared.of)
        return candidate.policy is prohibition.policy and _is_lenient(candidate.policy)

    def effective(self) -> set[PreparedRule]:
        """The rules that apply and count; remedies only where the request names them."""
        return {*(candidate.prepared for candidate in self.granting), *self.denying, *self.withholding}


def _named_remedies(prepared: PreparedRule, request: Request) -> list[PreparedRule]:
    """The remedies of a prohibition that a request relies on."""
    if request.rule is None or request.action != ANONYMIZE:
        return []
    return [remedy for remedy in prepared.remedies if remedy.rule.uid == request.rule]


def _is_of_one_node(rule: PreparedRule, other: PreparedRule) -> bool:
    """Whether a document wrote two rules as one with several actions."""
    return rule is other or (
        rule.policy is other.policy
        and rule.kind is other.kind
        and replace(rule.rule, action=other.rule.action, refinements=other.rule.refinements) == other.rule
    )


def _is_lenient(policy: PreparedPolicy) -> bool:
    return policy.policy.conflict is ConflictStrategy.PERMIT


def _void(permitting: list[_Candidate], forbidding: list[PreparedRule]) -> list[PreparedPolicy]:
    applying = [rule.policy for rule in permitting] + [rule.policy for rule in forbidding]
    void = [policy for policy in applying if policy.conflict is not None]
    return list(dict.fromkeys(void)) if void else void


def conclude(situation: Situation, rules: Rules, *, explain: bool) -> Decision:
    """The decision of a request by some rules."""
    request, tally = situation.request, _Tally(situation, rules)
    grants = tuple(candidate.grant(situation, tally) for candidate in tally.surviving)
    effect = effect_of(grants) if grants else _refusal(tally, rules)
    remedies = () if tally.surviving else _remedies(tally)
    return Decision(
        request=request,
        effect=effect,
        reasons=tuple(_reasons(effect, tally, rules)),
        grants=grants,
        struck=tuple(candidate.grant(situation, tally) for candidate in tally.struck()),
        determining=tuple(dict.fromkeys(_rule_names(tally))),
        remedies=remedies,
        considered=tuple(_reports(tally, rules)) if explain else (),
    )


@dataclass(frozen=True, slots=True)
class ColumnProhibition:
    """A prohibition on columns of the targets of one request."""

    policy: Policy
    rule: Rule
    columns: frozenset[IRI]
    """As `Grant.withheld`; empty where it is about all of a target."""
    implied: frozenset[IRI]
    """As `Grant.implied`."""


def prohibited_columns(
    request: Request, policies: Iterable[Policy], hierarchies: Hierarchies = STANDARD
) -> tuple[ColumnProhibition, ...]:
    """The prohibitions that may apply to columns of the requested targets, or to all of a target.

    Refinements are not considered, since the transformation is not known; nor are conflict strategies.

    Args:
        request: who does what to which targets.
        policies: those of the targets' owners that are in force.
        hierarchies: what includes what.
    """
    situation, prohibitions = Situation(request, hierarchies), []
    for policy in distinct(policies):
        for prepared in PreparedPolicy(policy, hierarchies).rules:
            if prepared.kind is Kind.PROHIBITION and _forbids(prepared, situation):
                columns = forbidden_columns(prepared, situation)
                columns = columns or _NO_COLUMNS
                implied = columns - named_columns(prepared, situation)
                prohibitions.append(ColumnProhibition(policy, prepared.rule, columns, implied))
    return tuple(prohibitions)


def _rule_names(tally: _Tally) -> Iterator[RuleName]:
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


def _forbids(prepared: PreparedRule, situation: Situation) -> bool:
    situation = situation.under(prepared.policy.hierarchies)
    judged = judged_as_prohibition(prepared, situation)
    return all(outcome is not UNSATISFIED for _, outcome, _ in judged)


def _candidates(prepared: PreparedRule, situation: Situation) -> list[_Candidate]:
    candidates = []
    situation = situation.under(prepared.policy.hierarchies)
    for form in prepared.forms_for(situation.request.action):
        rows: list[Condition] = []
        for _, outcome, _ in judged_as_grant(prepared, form, situation):
            if outcome is SATISFIED:
                continue
            if not isinstance(outcome, Residual):
                break
            rows += rows_of(outcome)
        else:
            candidates.append(_candidate(prepared, form, tuple(dict.fromkeys(rows)), situation))
    return candidates


def _candidate(
    prepared: PreparedRule, form: Form, rows: tuple[Condition, ...], situation: Situation
) -> _Candidate:
    uses = form.uses
    if form.transformation is not None and uses.columns:
        parameters = situation.facts.parameters_in(form.transformation.operands)
        uses = column_uses(form.permission, form.obligations, parameters) if parameters else uses
    # Which rows are published tells the values of the columns by which they are chosen.
    return _Candidate(prepared, form, rows, uses.also(columns_in(rows)))


def _refusal(tally: _Tally, rules: Rules) -> Effect:
    if any(rule.policy.conflict is None for rule in tally.denying):
        return Effect.DENY
    if tally.void:
        return Effect.VOID
    is_about = tally.granting or tally.denying or rules.is_about(tally.situation)
    is_about = is_about or _remedies_about(tally.situation, rules)
    return Effect.DENY if is_about else Effect.NOT_APPLICABLE


def _remedies_about(situation: Situation, rules: Rules) -> list[PreparedRule]:
    """The remedies that a request names, of prohibitions about its targets."""
    if situation.request.rule is None or situation.request.action != ANONYMIZE:
        return []
    touching = rules.touching(situation)
    return [remedy for rule in touching for remedy in _named_remedies(rule, situation.request)]


def _remedies(tally: _Tally) -> tuple[Duty, ...]:
    remedies = [remedy for prepared in tally.denying for remedy in getattr(prepared.rule, "remedies", ())]
    return tuple(dict.fromkeys(remedies))


# --- Why


def _reasons(effect: Effect, tally: _Tally, rules: Rules) -> list[Reason]:
    request = tally.situation.request
    others = (
        [candidate for candidate in tally.granting if candidate not in tally.chosen] if request.rule else []
    )
    grants = [
        _matched(candidate.prepared, candidate.form, request) for candidate in (*tally.chosen, *others)
    ]
    denials = [*_denials(tally), *_withholdings(tally)]
    determining = list(_determining(tally)) if tally.void or request.rule else []
    if effect in {Effect.PERMIT, Effect.LIMITED}:
        return _each_once([*grants, *denials, *determining])
    reasons = _each_once([*denials, *determining, *grants])
    if not reasons:
        reasons = [Reason(_nothing(effect, request))]
    return [*reasons, *_near_misses(tally, rules)]


def _each_once(reasons: list[Reason]) -> list[Reason]:
    return reasons if len(reasons) < 2 else list(dict.fromkeys(reasons))


def _matched(prepared: PreparedRule, form: Form | None, request: Request) -> Reason:
    text = wording.matched(prepared, None if form is None else form.duty, request)
    return Reason(text, prepared.policy.policy.uid, prepared.rule.uid)


def _denials(tally: _Tally) -> Iterator[Reason]:
    for prepared in tally.denying:
        text = wording.matched(prepared, None, tally.situation.request)
        if (columns := tally.columns(prepared)) is not None:
            text = wording.forbidden_columns(columns)
        yield Reason(text, prepared.policy.policy.uid, prepared.rule.uid)


def _withholdings(tally: _Tally) -> Iterator[Reason]:
    for prepared in tally.withholding:
        columns = tally.columns(prepared)
        if columns is not None and any(
            columns <= tally.withheld(candidate) for candidate in tally.surviving
        ):
            text = wording.withheld_columns(columns)
            yield Reason(text, prepared.policy.policy.uid, prepared.rule.uid)


def _determining(tally: _Tally) -> Iterator[Reason]:
    for policy in tally.void:
        if policy.conflict is not None:
            yield Reason(
                wording.void(policy.policy, policy.conflict), policy.policy.uid, policy.conflict[1].uid
            )
    if tally.situation.request.rule is not None and not tally.chosen:
        uid = tally.situation.request.rule
        yield Reason(f"no permission with the uid `{uid}` grants this request")


def _nothing(effect: Effect, request: Request) -> str:
    return wording.not_about(request) if effect is Effect.NOT_APPLICABLE else wording.NOTHING_APPLIES


def _near_misses(tally: _Tally, rules: Rules) -> Iterator[Reason]:
    """Reasons why some rules about the targets do not apply, and how many others there are."""
    situation, effective = tally.situation, tally.effective()
    named = [remedy for remedy in _remedies_about(situation, rules) if remedy not in effective]
    effective = {rule for rule in effective if rule.kind is not Kind.REMEDY}
    touching = rules.number_touching(situation)
    misses: list[PreparedRule] = []
    if touching <= FEW_RULES:
        first = rules.touching(situation, NEAR_MISSES + len(effective))
        misses = [rule for rule in first if rule not in effective][:NEAR_MISSES]
    for prepared in (*named[:NEAR_MISSES], *misses):
        failing = (
            report.text for report in _parts(prepared, tally, rules) if _is_failure(prepared, report)
        )
        text = wording.not_applying(prepared, list(islice(failing, FAILURES)))
        yield Reason(text, prepared.policy.policy.uid, prepared.rule.uid)
    yield from wording.others(touching - len(effective) - len(misses), rules.size - touching)


def _is_failure(prepared: PreparedRule, report: PartReport) -> bool:
    if prepared.kind is Kind.PROHIBITION:
        return report.finding is UNSATISFIED
    return report.finding is not SATISFIED


def _reports(tally: _Tally, rules: Rules) -> Iterator[RuleReport]:
    """A report of every rule about the targets; a rule applies when no part of it fails."""
    effective, situation = tally.effective(), tally.situation
    for prepared in (*rules.touching(situation), *_remedies_about(situation, rules)):
        parts = tuple(_parts(prepared, tally, rules))
        applies = prepared in effective and not any(_is_failure(prepared, part) for part in parts)
        policy, rule = prepared.policy.policy.uid, prepared.rule.uid
        yield RuleReport(policy, rule, str(prepared.kind), applies, parts)


def _parts(prepared: PreparedRule, tally: _Tally, rules: Rules) -> Iterator[PartReport]:
    """Reports of all parts of a rule; that of its policy first, and once."""
    situation = tally.situation.under(prepared.policy.hierarchies)
    yield _of_policy(prepared, tally, rules)
    basis = wording.Basis(
        situation.request, situation.facts.about(prepared.rule.targets), tally.parameters(prepared)
    )
    for part, outcome, subject in _judged(prepared, tally, situation):
        if part is not Part.POLICY:
            text = wording.of_part(prepared, (part, outcome, subject), basis)
            where = NOWHERE if subject is None or isinstance(subject, str) else subject.where
            yield PartReport(part, wording.finding_of(outcome), text, where)


def _judged(prepared: PreparedRule, tally: _Tally, situation: Situation) -> Iterator[Judged]:
    if prepared.kind is Kind.PROHIBITION:
        yield from judged_as_prohibition(prepared, situation)
        yield from judged_refinements(prepared.rule, tally.parameters(prepared))
    elif (form := tally.form(prepared)) is not None:
        yield from judged_as_grant(prepared, form, situation)
    else:
        yield Part.ACTION, UNSATISFIED, None


def _of_policy(prepared: PreparedRule, tally: _Tally, rules: Rules) -> PartReport:
    """Whether a rule counts, by its policy as a whole."""
    policy, request = prepared.policy, tally.situation.request
    forbids = prepared.kind is Kind.PROHIBITION
    finding, text = in_force(policy.policy, request), ""
    if finding is not UNSATISFIED and not forbids and policy.unknown_profiles:
        finding, text = UNKNOWN, wording.unknown_profile(policy.unknown_profiles[0])
    elif finding is not UNSATISFIED:
        overriding = tally.overriding(prepared)
        if rules.may_prohibit_only(policy):
            finding, text = (finding if forbids else UNSATISFIED), wording.prohibits_only(forbids)
        elif policy.conflict is not None:
            finding, text = (finding if forbids else UNSATISFIED), wording.voided(policy.conflict, forbids)
        elif overriding is not None:
            finding, text = UNSATISFIED, wording.overridden(overriding)
    return PartReport(Part.POLICY, finding, text or wording.in_force(policy.policy, finding, request))
