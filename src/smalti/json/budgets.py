"""Budgets for programs; what is exact is a text."""

from typing import TYPE_CHECKING

from smalti.engine.registry.budget import Ceiling, ComposedLoss, EpsilonDelta
from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.budgeting import BudgetReport, CeilingLeft, Forecast, ToldCharge
    from smalti.engine.losses.stated_ceilings import StatedCeiling


def budget_json(report: "BudgetReport") -> Json:
    """The same for programs; the keys are stable, and what is exact is a text."""
    return {
        "target": report.target,
        "neighbors": list(report.relations),
        "charged": _spent_json(report.spent),
        "releases": len(report.charges),
        "composition": _account_json(report.account),
        "ceilings": [_ceiling_json(one) for one in report.ceilings],
        "charges": [_charge_json(one) for one in report.charges],
    }


def forecast_json(found: "Forecast") -> Json:
    """The same for programs; the keys are stable, and what is exact is a text."""
    return {
        "target": found.target,
        "neighbors": list(found.relations),
        "each": _spent_json(found.each),
        "releases": found.releases,
        "charged": _spent_json(found.spent),
        "composition": _account_json(found.account),
        "fits": [_stated_json(fit.stated) | {"releases": fit.number} for fit in found.fits],
    }


def _spent_json(spent: EpsilonDelta | Ceiling) -> Json:
    return {"epsilon": format(spent.epsilon, "f"), "delta": format(spent.delta, "f")}


def _account_json(account: ComposedLoss) -> Json:
    return {
        "epsilon": account.epsilon,
        "delta": format(account.delta, "f"),
        "posteriorBelief": account.belief,
        "membershipAdvantage": account.advantage,
    }


def _stated_json(stated: "StatedCeiling") -> Json:
    ceiling = stated.ceiling
    return {
        "policy": stated.policy,
        "rule": stated.rule,
        "parties": list(stated.parties),
        "neighbors": stated.neighbors,
        "ceiling": None if ceiling is None else _spent_json(ceiling),
        "problem": stated.problem or None,
    }


def _ceiling_json(one: "CeilingLeft") -> Json:
    return _stated_json(one.stated) | {"left": None if one.left is None else _spent_json(one.left)}


def _charge_json(one: "ToldCharge") -> Json:
    known = one.charge
    told: Json = {"time": one.time.isoformat(), **_spent_json(one.spent), "isOwnData": known is not None}
    if known is None:
        return told
    return told | {
        "target": known.target,
        "party": known.party,
        "purpose": known.purpose,
        "policy": known.policy_uid,
        "rule": known.rule_uid,
        "neighbors": known.neighbors,
        "run": known.run,
    }
