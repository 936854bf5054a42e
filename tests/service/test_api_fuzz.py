"""Random requests that the description of the API allows: no 5xx, and no undocumented answer."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from service_world import PARTIES, World, make_market

from smalti.service.application import OPERATIONS, application
from smalti.service.operations import AnyOperation

FEW = settings(
    max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
ENDLESS = {"followJob"}
"""It ends with the job that it follows; tried in `test_jobs.py`."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_market(tmp_path_factory.mktemp("fuzz"))[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.name not in ENDLESS], ids=lambda one: one.name
)
def test_each_answer_is_documented(world: World, operation: AnyOperation) -> None:
    import schemathesis  # noqa: PLC0415 (it takes long to load, and only this test needs it)
    from schemathesis.checks import CHECKS, load_all_checks  # noqa: PLC0415

    load_all_checks()
    # A schema cannot say which texts are IRIs of the registry, or policies: these are refused.
    unfit = CHECKS.get_one("positive_data_acceptance")
    app = application(world.service)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    described = schema[operation.path.replace(":path", "")][operation.method]
    party = next((party for party, roles in PARTIES.items() if operation.roles & {*roles}), None)
    headers = {} if party is None else {"Authorization": f"Bearer {world.keys[party]}"}

    @FEW
    @given(case=described.as_strategy())
    def answers(case: Any) -> None:
        answer = case.call(headers=headers)
        assert answer.status_code < 500
        case.validate_response(answer, headers=headers, excluded_checks=[unfit])

    answers()
