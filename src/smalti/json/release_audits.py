"""Audits of releases for programs: figures of attacks, and no value."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from smalti.json.text import Json, camel_case

if TYPE_CHECKING:
    from smalti.engine.releases.attack_results import ReleaseAttacks, Traced
    from smalti.transforms.auditing.limits import Figure


def release_audit_json(attacks: "ReleaseAttacks") -> Json:
    """What an audit of a release found."""
    return {
        "output": str(attacks.output),
        "version": str(attacks.version),
        "data": str(attacks.target),
        "promise": attacks.promise,
        "respondents": attacks.people,
        "others": attacks.others,
        "leftOut": attacks.left_out,
        "falsePositiveRate": attacks.false_positive_rate,
        "confidence": attacks.confidence,
        "seed": attacks.seed,
        "statistics": [{**camel_case(asdict(each)), "kind": str(each.kind)} for each in attacks.statistics],
        "thresholds": camel_case(asdict(attacks.thresholds)),
        "tracing": [_traced(each) for each in attacks.traced],
        "controls": [
            {"attack": str(each.attack), "advantage": _figure(each.advantage)} for each in attacks.controls
        ],
        "populationDiffers": attacks.population_differs,
        "reconstruction": [
            {**camel_case(asdict(each)), "attack": str(each.attack)} for each in attacks.reconstructed
        ],
        "notRun": [camel_case(asdict(each)) for each in attacks.not_run],
    }


def _traced(traced: "Traced") -> Json:
    return {
        "attack": str(traced.attack),
        "withNoise": not traced.is_exact,
        "members": traced.members,
        "others": traced.others,
        "advantage": _figure(traced.advantage),
        "truePositiveRate": _figure(traced.true_positive_rate),
        "area": traced.area,
        "expectedAdvantage": traced.expected_advantage,
        "expectedTruePositiveRate": traced.expected_rate,
    }


def _figure(figure: "Figure") -> Json:
    return {"value": figure.value, "lower": figure.lower, "upper": figure.upper}
