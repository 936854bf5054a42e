"""Examinations of outputs for programs: the owner's figures, and no value."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from smalti.json.class_figures import figures_json
from smalti.json.text import Json, camel_case

if TYPE_CHECKING:
    from smalti.engine.plan.examination import Examination


def examination_json(examination: "Examination") -> Json:
    """What an owner's report says beside the figures of the run."""
    return {
        "figures": figures_json(examination.figures),
        "respondents": examination.respondents,
        "queries": [
            {**camel_case(asdict(errors)), "kind": str(errors.kind)} for errors in examination.queries
        ],
        "attacks": [
            {**camel_case(asdict(figures)), "attack": str(figures.attack)}
            for figures in examination.attacks
        ],
    }
