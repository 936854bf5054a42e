"""Assessments for programs: counts and names of columns, and no value."""

from typing import TYPE_CHECKING

from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.engine.run.assessing import Assessment
    from smalti.transforms.uniqueness.column_sets import SetFigures


def assessment_json(assessment: "Assessment") -> Json:
    """An assessment, with each set of columns that was looked at."""
    together, linked, uniques = assessment.together, assessment.linked, assessment.uniques
    document: Json = {
        "countsPeople": assessment.counts_people,
        "respondent": assessment.respondent,
        "rows": assessment.profile.rows,
        "rowsWithoutRespondent": assessment.without_respondent,
        "threshold": float(assessment.threshold),
        "columns": [
            {
                "name": column.profile.name,
                "datatype": column.profile.datatype,
                "different": column.profile.distinct,
                "missing": column.profile.missing,
                "shareOfUniqueValues": column.unique_share,
                "proposed": column.proposed,
                "isToBeDecided": column.is_open,
            }
            for column in assessment.columns
        ],
        "size": assessment.size,
        "sets": [_set_json(assessment, figures) for figures in assessment.sets],
        "minimalUniqueSets": [list(assessment.named(figures)) for figures in assessment.minimal],
        "together": None if together is None else _set_json(assessment, together),
        "journalist": None,
        "populationUniques": None,
    }
    if linked is not None and together is not None:
        document["journalist"] = {
            "atRisk": linked.at_risk,
            "shareAtRisk": linked.at_risk / together.respondents,
            "highestRisk": 1 / linked.fewest,
            "averageRisk": linked.average_risk,
        }
    if uniques is not None:
        document["populationUniques"] = {
            "population": assessment.sample_of,
            "confidence": assessment.confidence,
            "least": uniques.least,
            "most": uniques.most,
            "pitman": uniques.pitman,
            "remarks": list(assessment.population_remarks),
        }
    return document


def _set_json(assessment: "Assessment", figures: "SetFigures") -> Json:
    return {
        "columns": list(assessment.named(figures)),
        "respondents": figures.respondents,
        "combinations": figures.combinations,
        "unique": figures.unique,
        "uniqueShare": figures.unique_share,
        "separation": figures.separation,
        "distinction": figures.distinction,
        "prosecutor": {
            "atRisk": figures.at_risk,
            "shareAtRisk": figures.at_risk / figures.respondents,
            "highestRisk": 1 / figures.fewest,
            "averageRisk": figures.average_risk,
        },
    }
