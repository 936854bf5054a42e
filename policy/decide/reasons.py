"""Why a decision came out as it did: its reasons, and what an explanation reports of each rule."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from smalti.policy.decide import wording
from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.decision import Effect, Part, PartReport, Reason, Request, RuleReport
from smalti.policy.decide.matching import (
    Judged,
    Situation,
    in_force,
    judged_as_grant,
    judged_as_prohibition,
    judged_refinements,
)
from smalti.policy.decide.prepared import Form, Kind, PreparedRule
from smalti.policy.decide.rules_of_decision import Rules
from smalti.policy.decide.tally import Tally, named_remedies
from smalti.policy.model.model import NOWHERE
from smalti.vocab.terms import ANONYMIZE

NEAR_MISSES: Final = 3
"""The most rules about the target that a refusal names although they did not apply..."""
FEW_RULES: Final = 20
"""... if at most so many are about the target; an explanation names more."""
FAILURES: Final = 2
"""The most failing parts of a rule that a refusal names."""


def remedies_about(situation: Situation, rules: Rules) -> list[PreparedRule]:
    """The remedies that a request names, of prohibitions about its targets."""
    if situation.request.rule is None or situation.request.action != ANONYMIZE:
        return []
    touching = rules.touching(situation)
    return [remedy for rule in touching for remedy in named_remedies(rule, situation.request)]


def reasons_of(effect: Effect, tally: Tally, rules: Rules) -> list[Reason]:
    """The reasons of a decision, those that determine it first."""
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


def _denials(tally: Tally) -> Iterator[Reason]:
    for prepared in tally.denying:
        text = wording.matched(prepared, None, tally.situation.request)
        if (columns := tally.columns(prepared)) is not None:
            text = wording.forbidden_columns(columns)
        yield Reason(text, prepared.policy.policy.uid, prepared.rule.uid)


def _withholdings(tally: Tally) -> Iterator[Reason]:
    for prepared in tally.withholding:
        columns = tally.columns(prepared)
        if columns is not None and any(
            columns <= tally.withheld(candidate) for candidate in tally.surviving
        ):
            text = wording.withheld_columns(columns)
            yield Reason(text, prepared.policy.policy.uid, prepared.rule.uid)


def _determining(tally: Tally) -> Iterator[Reason]:
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


def _near_misses(tally: Tally, rules: Rules) -> Iterator[Reason]:
    """Reasons why some rules about the targets do not apply, and how many others there are."""
    situation, effective = tally.situation, tally.effective()
    named = [remedy for remedy in remedies_about(situation, rules) if remedy not in effective]
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


def reports_of_rules(tally: Tally, rules: Rules) -> Iterator[RuleReport]:
    """A report of every rule about the targets; a rule applies when no part of it fails."""
    effective, situation = tally.effective(), tally.situation
    for prepared in (*rules.touching(situation), *remedies_about(situation, rules)):
        parts = tuple(_parts(prepared, tally, rules))
        applies = prepared in effective and not any(_is_failure(prepared, part) for part in parts)
        policy, rule = prepared.policy.policy.uid, prepared.rule.uid
        yield RuleReport(policy, rule, str(prepared.kind), applies, parts)


def _parts(prepared: PreparedRule, tally: Tally, rules: Rules) -> Iterator[PartReport]:
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


def _judged(prepared: PreparedRule, tally: Tally, situation: Situation) -> Iterator[Judged]:
    if prepared.kind is Kind.PROHIBITION:
        yield from judged_as_prohibition(prepared, situation)
        yield from judged_refinements(prepared.rule, tally.parameters(prepared))
    elif (form := tally.form(prepared)) is not None:
        yield from judged_as_grant(prepared, form, situation)
    else:
        yield Part.ACTION, UNSATISFIED, None


def _of_policy(prepared: PreparedRule, tally: Tally, rules: Rules) -> PartReport:
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
