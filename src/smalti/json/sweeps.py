"""Sweeps for programs: the owner's figures of each point, and no value."""

from typing import TYPE_CHECKING

from smalti.json.decisions import decision_json
from smalti.json.runs import notices_json
from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.engine.plan.class_figures import ClassFigures
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


def figures_json(figures: "ClassFigures") -> Json:
    """The figures of classes."""
    return {
        "rows": figures.rows,
        "rowsSuppressed": figures.rows_suppressed,
        "respondents": figures.respondents,
        "respondentsSuppressed": figures.respondents_suppressed,
        "classes": figures.classes,
        "k": figures.k,
        "loss": float(figures.loss),
        "entropyLoss": float(figures.entropy_loss),
        "discernibility": figures.discernibility,
        "averageClass": float(figures.average_class),
        "exactShare": float(figures.exact_share),
        "prosecutor": {"highestRisk": figures.highest_risk, "averageRisk": figures.average_risk},
        "homogeneousClasses": figures.homogeneous_classes,
        "generalised": [
            {
                "column": column.name,
                "loss": float(column.certainty_penalty),
                "entropyLoss": float(column.entropy_loss),
                "exactRows": column.exact_rows,
            }
            for column in figures.generalised
        ],
        "kept": [
            {
                "column": column.name,
                "sensitive": column.is_sensitive,
                "homogeneousClasses": column.homogeneous_classes,
                "disclosedRespondents": column.disclosed_respondents,
            }
            for column in figures.kept
        ],
    }
