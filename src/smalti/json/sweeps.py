"""Sweeps for programs: the owner's figures of each point, and no value."""

from typing import TYPE_CHECKING

from smalti.json.class_figures import figures_json
from smalti.json.decisions import decision_json
from smalti.json.runs import notices_json
from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.engine.run.sweep import Point, Sweep


def sweep_json(sweep: "Sweep") -> Json:
    """A sweep; shares and means are numbers from 0, risks from 0 to 1."""
    return {
        "decision": decision_json(sweep.decision),
        "recorded": False,
        "verified": False,
        "warnings": list(sweep.warnings),
        "notices": notices_json(sweep.notices),
        "points": [_point_json(point) for point in sweep.points],
    }


def _point_json(point: "Point") -> Json:
    document: Json = {varied.word: varied.number for varied in point.numbers}
    document["with"] = list(point.words)
    if point.plan_digest is not None:
        document["planDigest"] = point.plan_digest
    if point.refused:
        document["refused"] = point.refused
    if point.problem:
        document["problem"] = point.problem
    if point.figures is not None:
        document["figures"] = figures_json(point.figures)
    return document
