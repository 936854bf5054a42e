"""Policy tests with a query: decided and planned as a run would, with nothing drawn and nothing charged."""

import json
from pathlib import Path
from typing import Any

import pytest
from release_worlds import QUERY, ROWS, TARGET, USER, policy, visits

from smalti.engine.backends.local import LocalBackend
from smalti.engine.run.case_files import read_cases
from smalti.engine.run.case_runs import CaseResult, run_cases
from smalti.errors import SmaltiError, UsageError

COUNT = {"statistics": [{"statistic": "count"}]}


def ran(
    folder: Path, query: Any, expect: dict[str, Any], name: str = "query.json", **more: Any
) -> CaseResult:
    policy(folder)
    visits(folder, ROWS)
    (folder / "query.json").write_text(json.dumps(query))
    case = {
        "name": "asked",
        "request": {
            "party": USER, "action": "anonymize", "target": TARGET, "query": name,
        },
        "expect": expect,
        **more,
    }  # fmt: skip
    (folder / "cases.json").write_text(json.dumps({"policies": ["policy.jsonld"], "tests": [case]}))
    (result,) = run_cases(read_cases(folder / "cases.json"), LocalBackend())
    return result


@pytest.mark.parametrize(
    ("query", "effect"),
    [
        (QUERY, "permit"),
        ({**QUERY, "epsilon": 0.5}, "permit"),
        ({**QUERY, "epsilon": 1.5}, "deny"),
        ({**QUERY, "posteriorBelief": 0.6}, "permit"),
        ({**QUERY, "posteriorBelief": 0.8}, "deny"),
        ({**QUERY, "membershipAdvantage": 0.4}, "permit"),
        ({**QUERY, "membershipAdvantage": 0.5}, "deny"),
        ({"statistics": [{"statistic": "count", "groupBy": ["patient"]}]}, "deny"),
    ],
)
def test_a_case_expects_what_becomes_of_a_query(tmp_path: Path, query: Any, effect: str) -> None:
    assert ran(tmp_path, query, {"effect": effect}).passed
    wrong = ran(tmp_path, query, {"effect": "deny" if effect == "permit" else "permit"})
    assert wrong.failures


def test_a_case_expects_a_plan_of_its_query(tmp_path: Path) -> None:
    plan = {"data": "visits.csv", "method": "differential-privacy"}
    assert ran(tmp_path, COUNT, {"effect": "permit", "plan": plan}).failures == ()
    (tmp_path / "explained.txt").write_text("another plan")
    told = ran(tmp_path, COUNT, {"effect": "permit", "plan": {**plan, "explained": "explained.txt"}})
    assert "the explanation of the plan differs" in told.failures[0]
    (failure,) = ran(tmp_path, QUERY, {"effect": "permit", "plan": {**plan, "k": 3}}).failures
    assert "has none" in failure


def test_a_case_may_say_what_has_been_released(tmp_path: Path) -> None:
    world = {"facts": {"https://w3id.org/smalti#budgetEpsilon": 3}}
    assert ran(tmp_path, COUNT, {"effect": "deny"}, world=world).failures == ()


@pytest.mark.parametrize(
    ("query", "name", "told"),
    [
        (COUNT, "nowhere.json", "cannot be read"),
        ({"statistics": [{"statistic": "median"}]}, "query.json", "query.json:1:"),
    ],
)
def test_a_query_that_is_none_ends_the_file_with_its_place(
    tmp_path: Path, query: Any, name: str, told: str
) -> None:
    with pytest.raises(SmaltiError, match=told) as caught:
        ran(tmp_path, query, {"effect": "permit"}, name)
    assert isinstance(caught.value, UsageError)
