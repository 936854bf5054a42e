"""The quality certificate of a model (D5.1, section 3.2): what attacks achieved; for its owners."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

from smalti.engine.registry.attempts import Attempt
from smalti.engine.training.figures import AttackResult, AuditFigures, Detail, Figure
from smalti.transforms.learning.randomness import Origin
from smalti.vocab import terms

_CONTEXT: Final[Mapping[str, Any]] = {
    "dct": terms.DCT,
    "dqv": "http://www.w3.org/ns/dqv#",
    "prov": terms.PROV,
    "s": terms.SMALTI,
    "xsd": terms.XSD,
    "computedOn": {"@id": "dqv:computedOn", "@type": "@id"},
    "wasDerivedFrom": {"@id": "prov:wasDerivedFrom", "@type": "@id"},
    "policy": {"@id": "prov:used", "@type": "@id"},
    "rule": {"@id": "s:rule", "@type": "@id"},
    "begun": {"@id": "prov:startedAtTime", "@type": "xsd:dateTime"},
    "ended": {"@id": "prov:endedAtTime", "@type": "xsd:dateTime"},
    "state": "s:auditState",
    "attempt": "s:auditAttempt",
    "errorProbability": "s:errorProbability",
    "shadowModels": "s:shadowModels",
    "trainAccuracy": "s:trainAccuracy",
    "testAccuracy": "s:testAccuracy",
    "randomness": "s:randomness",
    "attack": "s:attack",
    "results": {"@id": "s:attackResult", "@container": "@set"},
    "members": "s:auditedMembers",
    "nonMembers": "s:auditedNonMembers",
    "areaUnderCurve": "s:areaUnderCurve",
    "plantedLeakFound": "s:plantedLeakFound",
    "plantedLeakAdvantage": "s:plantedLeakAdvantage",
    "measurements": {"@id": "dqv:hasQualityMeasurement", "@container": "@set"},
    "figure": "s:figure",
    "falsePositiveRate": {"@id": "s:falsePositiveRate", "@type": "xsd:decimal"},
    "value": "dqv:value",
    "limit": "s:confidenceLimit",
    "method": "s:boundMethod",
    "details": {"@id": "s:attackDetail", "@container": "@set"},
    "name": "s:detailName",
    "lowerLimit": "s:lowerConfidenceLimit",
    "upperLimit": "s:upperConfidenceLimit",
}


def quality_certificate(attempt: Attempt, figures: AuditFigures | None) -> dict[str, Any]:
    """What an attempt showed, as JSON-LD with its context inside.

    It is the owners' and not public: its figures are about people, and outside of every epsilon.

    Args:
        attempt: as it was recorded.
        figures: of it; None where it did not come so far.
    """
    return {
        "@context": dict(_CONTEXT),
        "@id": f"urn:uuid:{attempt.run}#audit",
        "@type": ["prov:Activity", "dqv:QualityMetadata"],
        "computedOn": attempt.output,
        "wasDerivedFrom": attempt.target,
        "policy": attempt.policy_uid,
        "rule": attempt.rule_uid,
        "begun": attempt.begun_at.isoformat(timespec="seconds"),
        **({} if attempt.ended_at is None else {"ended": attempt.ended_at.isoformat(timespec="seconds")}),
        "state": str(attempt.state),
        "attempt": attempt.number,
        **({} if figures is None else _measured(figures)),
    }


def study_certificate(model: str, figures: AuditFigures, *, is_test_only: bool = False) -> dict[str, Any]:
    """What a study of a model file showed, as JSON-LD: no attempt, and no duty is met by it.

    It is private as `quality_certificate` is.

    Args:
        model: the digest of the file, hexadecimal digits of SHA-256.
        figures: of it.
        is_test_only: whether the file says that the model's randomness came from a seed.
    """
    return {
        "@context": dict(_CONTEXT),
        "@type": ["prov:Activity", "dqv:QualityMetadata"],
        "computedOn": f"ni:///sha-256;{urlsafe_b64encode(bytes.fromhex(model)).decode().rstrip('=')}",
        **({"randomness": str(Origin.SEED)} if is_test_only else {}),
        **_measured(figures),
    }


def _measured(figures: AuditFigures) -> dict[str, Any]:
    return {
        "errorProbability": figures.error,
        "shadowModels": figures.shadows,
        **_accuracies(figures),
        "results": [_result(result) for result in figures.results],
        **({"dct:description": list(figures.reasons)} if figures.reasons else {}),
    }


def _accuracies(figures: AuditFigures) -> dict[str, Any]:
    """Of a model that predicts; none of synthetic records."""
    if figures.test_accuracy is None:
        return {}
    return {"trainAccuracy": figures.train_accuracy, "testAccuracy": figures.test_accuracy}


def _result(result: AttackResult) -> dict[str, Any]:
    return {
        "attack": result.attack,
        "members": result.members,
        "nonMembers": result.non_members,
        **({} if result.area is None else {"areaUnderCurve": result.area}),
        "plantedLeakFound": result.finds_leak,
        "plantedLeakAdvantage": result.leak_advantage,
        "measurements": [_measurement(figure) for figure in result.figures],
        **({"details": [_detail(detail) for detail in result.details]} if result.details else {}),
    }


def _detail(detail: Detail) -> dict[str, Any]:
    limits = {"lowerLimit": detail.lower, "upperLimit": detail.upper}
    return {
        "name": detail.name,
        "value": detail.value,
        **{name: limit for name, limit in limits.items() if limit is not None},
    }


def _measurement(figure: Figure) -> dict[str, Any]:
    rate = figure.false_positive_rate
    return {
        "figure": figure.figure,
        **({} if rate is None else {"falsePositiveRate": format(rate, "f")}),
        "value": figure.value,
        "limit": figure.limit,
        **({} if figure.method is None else {"method": figure.method}),
    }
