"""Audits of generative models for programs: figures of attacks, and no value."""

from typing import TYPE_CHECKING

from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.transforms.auditing.limits import Figure
    from smalti.transforms.generative.results import GenerativeAudit


def generative_audit_json(audit: "GenerativeAudit") -> Json:
    """What an audit of a generative model found."""
    single, sets = audit.least
    return {
        "model": audit.model,
        "members": audit.members,
        "others": audit.others,
        "reference": audit.reference,
        "othersEqualToMembers": audit.equal,
        "samples": audit.samples,
        "size": audit.size,
        "disjointAttacks": audit.disjoint,
        "repeatedAttacks": audit.repeated,
        "leastMembers": {"singleMembership": single, "setMembership": sets},
        "confidence": audit.confidence,
        "seed": audit.seed,
        "testOnly": audit.is_test_only,
        "attacks": [
            {
                "attack": each.attack,
                "singleMembership": {**_figure(each.single), "average": each.document_single},
                "setMembership": {**_figure(each.sets), "average": each.document_sets},
            }
            for each in audit.attacks
        ],
        "noGuesses": audit.has_no_guess,
        "risks": [
            {
                "attack": each.attack,
                "about": each.about,
                "attempts": each.attempts,
                "controlAttempts": each.control_attempts,
                "success": _figure(each.success),
                "control": _figure(each.control),
                "naive": _figure(each.naive),
                "risk": _figure(each.risk),
                "betterThanNaive": each.is_better,
            }
            for each in audit.risks
        ],
    }


def _figure(figure: "Figure") -> dict[str, float | None]:
    return {"value": figure.value, "lower": figure.lower, "upper": figure.upper}
