"""The findings of a comparison of central and local differential privacy, for programs."""

import math
from typing import Any, Final

from smalti.studies.comparison.findings import CONFIDENCE, Finding, Findings, FoundPart, FoundPhi, Weighed
from smalti.studies.comparison.settings import Central, Local, Original, Setting
from smalti.studies.comparison.verdicts import Interval, Region

_INFINITE: Final = "INF"
"""As in the lexical space of xsd:double; JSON has no number for it."""


def findings_json(findings: Findings) -> dict[str, Any]:
    """All statements with all intervals. Infinite ends are `"INF"` and `"-INF"`."""
    largest = findings.largest_phi
    return {
        "confidenceOfAllTogether": CONFIDENCE,
        "statements": [_finding(finding) for finding in findings.findings],
        "phi": [
            {
                **_phi(efficiency),
                "ofMeans": number(efficiency.value),
                "interval": _interval(efficiency.interval),
            }
            for efficiency in findings.phis
        ],
        "largestPhi": {
            "measured": None if largest is None else {**_phi(largest), "ofMeans": number(largest.value)},
            "interval": _interval(findings.largest_interval),
        },
    }


def number(value: float | None) -> float | str | None:
    """A number as JSON has it."""
    if value is None or math.isfinite(value):
        return value
    return _INFINITE if value > 0 else f"-{_INFINITE}"


def _phi(efficiency: FoundPhi) -> dict[str, Any]:
    place = efficiency.phi.place
    return {"classes": place.classes, **_setting(place.setting), "attack": str(efficiency.phi.attack)}


def _setting(setting: Setting) -> dict[str, float]:
    match setting:
        case Central(noise_multiplier=noise):
            return {"noiseMultiplier": noise}
        case Local(epsilon=epsilon):
            return {"epsilonOfBit": epsilon}
        case Original():
            return {}


def _finding(finding: Finding) -> dict[str, Any]:
    statement = finding.statement
    return {
        "statement": statement.name,
        "said": statement.said,
        "page": statement.page,
        "figure": statement.figure or None,
        "verdict": str(finding.verdict),
        "parts": [_part(part) for part in finding.parts],
    }


def _part(weighed_part: FoundPart) -> dict[str, Any]:
    return {
        "quantity": weighed_part.part.what,
        "needed": weighed_part.part.needed,
        "verdict": str(weighed_part.verdict),
        "conditions": [_condition(weighed) for weighed in weighed_part.conditions],
    }


def _condition(weighed: Weighed) -> dict[str, Any]:
    return {
        "of": weighed.condition.what,
        "measured": number(weighed.value),
        "interval": _interval(weighed.interval),
        "claimed": _region(weighed.condition.region),
        "verdict": str(weighed.verdict),
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {"low": number(interval.low), "high": number(interval.high)}


def _region(region: Region) -> dict[str, Any]:
    return {"low": number(region.low), "high": number(region.high), "isOutside": region.is_outside}
