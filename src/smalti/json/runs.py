"""Plans, runs and verifications for programs."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from smalti.engine.plan.notices import Notice
from smalti.engine.plan.reports import Report
from smalti.json.decisions import decision_json
from smalti.json.examinations import examination_json
from smalti.json.registry import version_json
from smalti.json.text import Json, as_json, camel_case

if TYPE_CHECKING:
    from smalti.engine.binding.run_request import Outcome, Planned
    from smalti.engine.run.recheck import Recheck


def outcome_json(outcome: "Outcome") -> Json:
    """The outcome of a run."""
    version, plan = outcome.version, outcome.plan
    document: Json = {
        "decision": decision_json(outcome.decision),
        "warnings": list(outcome.warnings),
        "notices": notices_json(outcome.notices),
    }
    if version is not None and plan is not None:
        from smalti.engine.run.explain import promise_of  # noqa: PLC0415 (it comes with the engines)

        document |= version_json(version) | {"promise": promise_of(plan)}
        if outcome.composition is not None:
            document["composition"] = camel_case(asdict(outcome.composition))
    if outcome.report is not None:
        document["ownerReport"] = report_json(outcome.report)
    if outcome.examination is not None:
        document["examination"] = examination_json(outcome.examination)
    return document


def planned_json(plan: str, planned: "Planned") -> str:
    """A plan in JSON, with all that it warns of and what all releases would have lost together."""
    document: Json = {
        **json.loads(plan),
        "warnings": list(planned.warnings),
        "notices": notices_json(planned.notices),
    }
    if planned.obstacle is not None:
        document["obstacle"] = planned.obstacle
    if planned.composition is not None:
        document["composition"] = camel_case(asdict(planned.composition))
    return as_json(document)


def notices_json(notices: Iterable[Notice]) -> list[Json]:
    """Warnings with what they list; `warnings` has them as sentences."""
    return [
        {"text": notice.text, "listed": list(notice.listed), "ofData": notice.is_of_data}
        for notice in notices
    ]


def report_json(report: Report) -> Json:
    """The owner's figures."""
    shown: Json = camel_case(asdict(report))
    return shown


def recheck_json(seen: "Recheck") -> Json:
    """The result of a verification."""
    return {
        "target": seen.target,
        "recorded": seen.version is not None,
        "version": seen.version.number if seen.version else None,
        "recounted": [str(prop) for prop in seen.check.recounted],
        "attested": [] if seen.is_repeated else [str(prop) for prop in seen.check.attested],
        "repeated": seen.is_repeated,
        "countsRows": seen.counts_rows,
        **_counts(seen),
    }


def _counts(seen: "Recheck") -> Json:
    check = seen.check.of_classes
    if check is None:
        return {}
    return {"rows": check.rows, "classes": check.classes, "leastRows": check.least_rows}
