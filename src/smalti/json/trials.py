"""Tries for programs: the owner's figures, and never a row."""

import json
from typing import TYPE_CHECKING

from smalti.json.decisions import decision_json
from smalti.json.runs import notices_json, report_json
from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.engine.run.trial import Trial, Tried


def trial_json(trial: "Trial") -> Json:
    """A try, with the figures of each number that was tried; without any published row."""
    document: Json = {
        "decision": decision_json(trial.decision),
        "recorded": False,
        "warnings": list(trial.warnings),
        "notices": notices_json(trial.notices),
    }
    if trial.plan is not None:
        from smalti.engine.run.explain import to_json  # noqa: PLC0415 (it comes with the engines)

        document["plan"] = json.loads(to_json(trial.plan))
    if trial.tried is not None:
        document |= _tried_json(trial.tried)
    if trial.not_run:
        document |= {"notRun": trial.not_run, "expectedErrors": list(trial.expected_errors)}
    if trial.obstacle is not None:
        document["obstacle"] = trial.obstacle
    if trial.variations:
        document["variations"] = [
            {
                variation.varied.word: variation.varied.number,
                **({} if variation.tried is None else _tried_json(variation.tried)),
                **({"problem": variation.problem} if variation.problem else {}),
            }
            for variation in trial.variations
        ]
    return document


def _tried_json(tried: "Tried") -> Json:
    report = report_json(tried.report)
    del report["inputs"]  # keyed under a secret that is gone, or not needed here
    singles = [{"column": share.column, "rows": share.rows} for share in tried.exact]
    return {"ownerReport": report, "singleValues": singles}
