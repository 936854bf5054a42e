"""Figures of classes for programs."""

from typing import TYPE_CHECKING

from smalti.json.text import Json

if TYPE_CHECKING:
    from fractions import Fraction

    from smalti.engine.plan.class_figures import ClassFigures


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
        "squaredError": _share(figures.squared_error),
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
                "squaredError": _share(column.squared_error),
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


def _share(share: "Fraction | None") -> float | None:
    return None if share is None else float(share)
