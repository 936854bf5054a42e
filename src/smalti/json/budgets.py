"""Budgets for programs; what is exact is a text."""

from typing import TYPE_CHECKING

from smalti.engine.registry.budget import Ceiling, ComposedLoss, EpsilonDelta
from smalti.json.text import Json

if TYPE_CHECKING:
    from smalti.budgeting import BudgetReport, CeilingLeft, Forecast, ShownCharge
    from smalti.engine.losses.stated_ceilings import StatedCeiling


def budget_json(report: "BudgetReport") -> Json:
    """A budget; what is exact is a text."""
    return {
        "target": report.target,
        "neighbors": list(report.relations),
        "charged": _spent_json(report.spent),
        "releases": len(report.charges),
        "composition": _account_json(report.account),
        "ceilings": [_ceiling_json(ceiling) for ceiling in report.ceilings],
        "charges": [_charge_json(charge) for charge in report.charges],
    }


def forecast_json(forecast: "Forecast") -> Json:
    """A forecast; what is exact is a text."""
    return {
        "target": forecast.target,
        "neighbors": list(forecast.relations),
        "each": _spent_json(forecast.each),
        "releases": forecast.releases,
        "charged": _spent_json(forecast.spent),
        "composition": _account_json(forecast.account),
        "fits": [_stated_json(fit.stated) | {"releases": fit.number} for fit in forecast.fits],
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


def _ceiling_json(ceiling: "CeilingLeft") -> Json:
    return _stated_json(ceiling.stated) | {
        "left": None if ceiling.left is None else _spent_json(ceiling.left)
    }


def _charge_json(shown: "ShownCharge") -> Json:
    charge = shown.charge
    document: Json = {
        "time": shown.time.isoformat(),
        **_spent_json(shown.spent),
        "isOwnData": charge is not None,
    }
    if charge is None:
        return document
    return document | {
        "target": charge.target,
        "party": charge.party,
        "purpose": charge.purpose,
        "policy": charge.policy_uid,
        "rule": charge.rule_uid,
        "neighbors": charge.neighbors,
        "run": charge.run,
    }
