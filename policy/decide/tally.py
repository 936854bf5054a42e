"""Which rules permit and which deny one request."""

from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.decide.clauses import clauses_of
from smalti.policy.decide.column_uses import ColumnUses, column_uses
from smalti.policy.decide.comparing import SATISFIED, UNSATISFIED
from smalti.policy.decide.decision import Grant, Request
from smalti.policy.decide.matching import (
    Situation,
    forbidden_columns,
    fulfilled,
    judged_as_grant,
    judged_as_prohibition,
    judged_refinements,
    named_columns,
    prohibited_parts,
)
from smalti.policy.decide.outcomes import Residual, rows_of
from smalti.policy.decide.prepared import Form, Kind, PreparedPolicy, PreparedRule
from smalti.policy.decide.rules_of_decision import Rules
from smalti.policy.decide.table_columns import columns_in
from smalti.policy.decide.transformations import Parameters, requested_parameters
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import Condition, ConflictStrategy, Duty, Permission, Rule
from smalti.vocab.terms import ANONYMIZE, AUDIT, IRI, PLANNED_DUTIES, TRAIN

NO_COLUMNS: Final[frozenset[IRI]] = frozenset()


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
            return NO_COLUMNS
        return columns_in(self.rows).union(normalised_column(column.iri) for column in way.unchanged)

    def grant(self, situation: Situation, tally: "Tally") -> Grant:
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


class Tally:
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
            if forbids(prepared, situation):
                forbidding.append(prepared)
                if (columns := forbidden_columns(prepared, situation)) is not None:
                    self._columns[prepared] = columns
                if prepared.rule.refinements:
                    self._limited[prepared] = prohibited_parts(prepared, situation)
            if not rules.may_prohibit_only(prepared.policy):
                for remedy in named_remedies(prepared, situation.request):
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
            return NO_COLUMNS
        if candidate not in self._withheld:
            striking = (
                columns for rule, columns in self._columns.items() if self._strikes(rule, candidate)
            )
            self._withheld[candidate] = NO_COLUMNS.union(*striking)
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
        return NO_COLUMNS.union(*(named_columns(rule, self.situation) for rule in striking))

    def spared(self, candidate: _Candidate) -> frozenset[IRI]:
        """The columns of prohibitions that apply to a permission but for their refinements."""
        if not self._limited or not candidate.left_as_they_are:
            return NO_COLUMNS
        rules = [rule for rule in self._limited if not self._is_spared_by_strategy(rule, candidate)]
        named = (
            named_columns(rule, self.situation) & self._limited[rule]
            for rule in rules
            if not self._hits(rule, candidate)
        )
        return NO_COLUMNS.union(*named)

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
        return not candidate.left_as_they_are.isdisjoint(self._limited.get(prepared) or NO_COLUMNS)

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


def named_remedies(prepared: PreparedRule, request: Request) -> list[PreparedRule]:
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


def forbids(prepared: PreparedRule, situation: Situation) -> bool:
    """Whether a prohibition applies to a request, its refinements not considered."""
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
