"""Budgets of privacy loss, for owners alone."""

from typing import Annotated, Final

from pydantic import Field

from smalti.budgeting import budget, forecast
from smalti.json.budgets import budget_json, forecast_json
from smalti.policy.decide.names import iri
from smalti.service.operations import Answer, AnyOperation, Call, Described, Operation, answered, having
from smalti.service.parties import PARTIES
from smalti.service.problems import not_found

_Iri = Annotated[str, Field(max_length=4096)]
_Number = Annotated[str, Field(max_length=310, description="a decimal number")]


class Budgeted(Described):
    """Whose respondents."""

    target: Annotated[_Iri, Field(description="a target that the asker owns, or a part of it")]


class Forecasted(Budgeted):
    """Which further releases."""

    epsilon: _Number
    delta: _Number = "0"
    releases: Annotated[int, Field(ge=1, le=10**9)] = 1


def read_budget(call: Call[Budgeted, None]) -> Answer:
    """The charges about a target's respondents."""
    _check_owns(call)
    report = budget(call.query.target, party=call.asker.party, registry=call.service.registry)
    return answered(budget_json(report))


def read_forecast(call: Call[Forecasted, None]) -> Answer:
    """How many more releases fit."""
    _check_owns(call)
    query = call.query
    result = forecast(
        query.target, party=call.asker.party, epsilon=query.epsilon, delta=query.delta,
        releases=query.releases, registry=call.service.registry,
    )  # fmt: skip
    return answered(forecast_json(result))


def _check_owns(call: Call[Budgeted, None] | Call[Forecasted, None]) -> None:
    """Answer alike about what is unknown, and about what somebody else owns."""
    if call.asker.party not in call.service.registry.ownership.on_record(iri(call.query.target, "target")):
        raise not_found()


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/v1/budgets", name="readBudget", tag="budgets",
        summary="Read the charges about a target's respondents, and what is left; for its owners.",
        roles=PARTIES, handler=read_budget, query=Budgeted, body=type(None),
        gives=having("target", "charged", "releases", "composition", "ceilings", "charges"), refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/forecasts", name="readForecast", tag="budgets",
        summary="Read how many more releases fit; for the target's owners.",
        roles=PARTIES, handler=read_forecast, query=Forecasted, body=type(None),
        gives=having("target", "each", "releases", "fits"), refuses=(404,),
    ),
)  # fmt: skip
