"""Decisions in a terminal, and the tests of policies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from smalti.policy.decide.decision import Decision, DutyReading, RuleReport
from smalti.policy.say.describe import describe_condition, describe_duty
from smalti.show.terminal import LABEL, bullet, short

if TYPE_CHECKING:
    from smalti.engine.run.case_runs import CaseResult


def headline(decision: Decision) -> str:
    """A decision as one line."""
    request = decision.request
    may = "may" if decision.is_permitted else "may not"
    purpose = f"for {short(request.purpose)}" if request.purpose else "without a stated purpose"
    targets = " and ".join(request.targets)
    limits = ""
    if decision.is_limited:
        limits = ", within limits" if decision.is_permitted else ", except within limits"
    return f"{decision.effect}: {request.party} {may} {short(request.action)} {targets} {purpose}{limits}"


_LIMITED = (
    "permitted only within these limits, and the caller did not state that it applies them: a program that"
    " applies the limits states so with --understands-limits (`understands_limits=True`)"
)


_NOT_VIOLATED = (
    "duties were read as `not-violated`: a permission applies although its duties are not fulfilled yet;"
    " they are owed"
)


def show_decision(out: Console, decision: Decision) -> None:
    """Show a decision with its reasons, duties and limits, and the explanation where there is one."""
    style = "green" if decision.is_unconditional else "yellow" if decision.is_permitted else "red"
    out.print(Text(headline(decision), style=f"bold {style}"))
    for reason in decision.reasons:
        where = reason.rule or reason.policy
        bullet(out, reason.text + (f" [{where}]" if where else ""))
    if decision.request.duties is DutyReading.NOT_VIOLATED:
        bullet(out, _NOT_VIOLATED)
    for grant in decision.grants:
        for duty in grant.obligations:
            bullet(out, f"provided that: {describe_duty(duty)} [{duty.uid}]")
        if grant.rows:
            rows = " and ".join(describe_condition(condition) for condition in grant.rows)
            bullet(out, f"only rows where {rows} [{grant.permission.uid}]")
        if grant.withheld:
            bullet(out, f"without the columns {', '.join(grant.withheld)} [{grant.permission.uid}]")
        if grant.spared:
            bullet(out, f"only if the data has {', '.join(grant.spared)} [{grant.permission.uid}]")
        if grant.clauses:
            clauses = " and ".join(describe_condition(clause) for clause in grant.clauses)
            by = decision.request.on_behalf_of
            bullet(out, f"accepted on behalf of {by}: {clauses} [{grant.permission.uid}]")
    if decision.is_limited and not decision.is_permitted:
        bullet(out, _LIMITED)
    for duty in decision.remedies:
        bullet(out, f"after a violation: {describe_duty(duty)} [{duty.uid}]")
    if decision.considered:
        _show_considered(out, decision.considered)


def _show_considered(out: Console, considered: tuple[RuleReport, ...]) -> None:
    out.print(Text("considered", style=LABEL))
    for report in considered:
        applies = "applies" if report.applies else "does not apply"
        out.print(Text(f"  {report.kind} {report.rule}: {applies}"))
        for part in report.parts:
            place = f" ({part.where})" if part.where.document else ""
            bullet(out, f"{part.part}: {part.finding}: {part.text}{place}", indent=4)


def show_cases(out: Console, results: "Sequence[tuple[str, tuple[CaseResult, ...]]]") -> None:
    """Show each test with its result, and the totals."""
    for name, cases in results:
        out.print(Text(f"{name}: running {len(cases)} {'test' if len(cases) == 1 else 'tests'}"))
        for case in cases:
            ended, style = ("ok", "green") if case.passed else ("FAILED", "bold red")
            out.print(Text(f"  {case.name} ... ").append(ended, style))
            for failure in case.failures:
                bullet(out, failure, indent=4)
    passed = [case.passed for _, cases in results for case in cases]
    out.print(Text(f"result: {sum(passed)} passed, {passed.count(False)} failed", style=LABEL))
