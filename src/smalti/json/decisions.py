"""Decisions for programs, and the tests of policies."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from smalti.json.text import Json
from smalti.policy.decide.decision import Decision, RuleReport
from smalti.policy.model.model import ColumnComparison, Condition, Duty, Logical, Value
from smalti.policy.say.describe import describe_condition, describe_duty

if TYPE_CHECKING:
    from smalti.engine.run.case_runs import CaseResult


def decision_json(decision: Decision) -> Json:
    """A decision."""
    request = decision.request
    return {
        "effect": str(decision.effect),
        "permitted": decision.is_permitted,
        "unconditional": decision.is_unconditional,
        "request": {
            "party": request.party,
            "action": request.action,
            "target": request.target,
            "targets": list(request.targets),
            "purpose": request.purpose,
            "rule": request.rule,
            "time": None if request.time is None else request.time.isoformat(),
            "duties": str(request.duties),
            "understandsLimits": request.understands_limits,
            "accepted": sorted({acceptance.clause for acceptance in request.accepted}),
            "onBehalfOf": request.on_behalf_of,
            "agreed": None if request.agreed is None else request.agreed.isoformat(),
        },
        "reasons": [{"text": r.text, "policy": r.policy, "rule": r.rule} for r in decision.reasons],
        "grants": [
            {
                "policy": grant.policy.uid,
                "rule": grant.permission.uid,
                "obligations": [_duty_json(duty) for duty in grant.obligations],
                "rows": [_condition_json(condition) for condition in grant.rows],
                "withheld": list(grant.withheld),
                "spared": list(grant.spared),
                "clauses": [
                    {"clause": clause.operand, "text": describe_condition(clause)}
                    for clause in grant.clauses
                ],
            }
            for grant in decision.grants
        ],
        "remedies": [_duty_json(duty) for duty in decision.remedies],
        "considered": [_report_json(report) for report in decision.considered],
    }


def cases_json(name: str, results: "tuple[CaseResult, ...]") -> Json:
    """The same for programs; the keys are stable."""
    return {
        "file": name,
        "tests": [
            {
                "name": case.name,
                "passed": case.passed,
                "failures": list(case.failures),
                "decision": decision_json(case.decision),
            }
            for case in results
        ],
    }


def _condition_json(condition: Condition) -> Json:
    """A limit to rows, for programs that apply it themselves."""
    document: Json = {"text": describe_condition(condition), "operator": str(condition.operator)}
    match condition:
        case Logical(operands=operands):
            return document | {"operands": [_condition_json(operand) for operand in operands]}
        case ColumnComparison(column=column, values=values):
            return document | {"column": column.iri, "values": [_value_json(value) for value in values]}
    return document


def _value_json(value: Value) -> Json:
    (content,) = asdict(value).values()
    return {"type": type(value).__name__.lower(), "value": str(content)}


def _duty_json(duty: Duty) -> Json:
    return {"uid": duty.uid, "action": duty.action, "text": describe_duty(duty)}


def _report_json(report: RuleReport) -> Json:
    return {
        "policy": report.policy,
        "rule": report.rule,
        "kind": report.kind,
        "applies": report.applies,
        "parts": [
            {
                "part": str(part.part),
                "finding": str(part.finding),
                "text": part.text,
                "where": str(part.where) if part.where.document else None,
            }
            for part in report.parts
        ],
    }
