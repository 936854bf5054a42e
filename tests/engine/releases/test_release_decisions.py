"""A query is held against a permission by the one decision that every request meets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from release_policies import AGE, SEX, TARGET, policy_text, query

from smalti.engine.registry.authority import decide
from smalti.engine.registry.registry import Registry
from smalti.engine.releases.query import facts
from smalti.policy.decide.decision import Decision, Effect, Finding, Part, Request
from smalti.vocab import terms
from smalti.vocab.terms import IRI, SMALTI

OWNER, USER = IRI("http://org/owner"), IRI("http://org/user")
COUNT = {"statistic": "count"}
NARROW = {
    "statistic": ("isAnyOf", ["count", "mean"]),
    "measure": ("isAnyOf", ["age"]),
    "groupBy": ("isAnyOf", ["sex"]),
}


def decided(folder: Path, changes: Any, *statistics: dict[str, Any], **loss: Any) -> Decision:
    registry = Registry.open(folder / "r.sqlite", log_decisions=False)
    text = policy_text({**NARROW, **changes}, assignee=USER)
    registry.add_policy(text, "policy.jsonld", OWNER)
    asked = facts(query(*statistics, **loss), TARGET)
    request = Request(party=USER, action=terms.ANONYMIZE, targets=(TARGET,), parameters=asked)
    return decide(registry, request, explain=True)


def failed(decision: Decision) -> set[str]:
    """The words of the refinements that do not hold, or that nobody offers."""
    return {
        part.text.split("`")[1].split()[0].removeprefix(SMALTI).removeprefix("smalti:")
        for rule in decision.considered
        for part in rule.parts
        if part.part is Part.REFINEMENT and part.finding is not Finding.SATISFIED
    }


@pytest.mark.parametrize(
    ("changes", "statistics", "loss"),
    [
        ({}, [COUNT], {}),
        ({}, [COUNT], {"epsilon": 1}),
        ({}, [COUNT], {"epsilon": 0.1}),
        ({}, [COUNT, {"statistic": "mean", **AGE, "groupBy": [SEX]}], {}),
        ({}, [{"statistic": "mean", **AGE, "measure": f"{TARGET}/age"}], {}),
        ({"measure": None, "groupBy": None, "statistic": ("isAnyOf", ["count"])}, [COUNT], {}),
        ({"delta": ("lteq", 0.001)}, [COUNT], {"delta": 0}),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.75)}, [COUNT], {"posteriorBelief": 0.6}),
        ({}, [COUNT], {"posteriorBelief": 0.73}),
        ({}, [COUNT], {"membershipAdvantage": 0.46}),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.75)}, [COUNT], {"epsilon": 1.0986}),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.75)}, [COUNT], {"membershipAdvantage": 0.5}),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.5)}, [COUNT], {"epsilon": 1.0986}),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.5)}, [COUNT], {"posteriorBelief": 0.75}),
    ],
)
def test_a_query_within_the_permission_is_permitted(
    tmp_path: Path, changes: Any, statistics: list[dict[str, Any]], loss: dict[str, float]
) -> None:
    decision = decided(tmp_path, changes, *statistics, **loss)
    assert decision.is_permitted, [reason.text for reason in decision.reasons]


WORDS = {"epsilon": 1, "posteriorBelief": 0.73, "membershipAdvantage": 0.46}
"""A bound in each word; about the same."""


@pytest.mark.parametrize(
    ("loss", "granting"),
    [
        ({"epsilon": 0.9}, ["epsilon", "posteriorBelief", "membershipAdvantage"]),
        ({"posteriorBelief": 0.7}, ["epsilon", "posteriorBelief", "membershipAdvantage"]),
        ({"epsilon": 0.999}, ["epsilon"]),
        ({"posteriorBelief": 0.7299}, ["epsilon", "posteriorBelief", "membershipAdvantage"]),
        ({"membershipAdvantage": 0.462}, ["epsilon"]),
        ({"epsilon": 1.1}, []),
        ({"membershipAdvantage": 0.47}, []),
    ],
)
def test_each_permission_is_held_against_the_loss_in_its_own_word(
    tmp_path: Path, loss: dict[str, float], granting: list[str]
) -> None:
    registry = Registry.open(tmp_path / "r.sqlite", log_decisions=False)
    base = "http://example.com/policy/statistics/"
    for word, most in WORDS.items():
        changes = {**NARROW, "epsilon": None, word: ("lteq", most)}
        text = policy_text(changes, assignee=USER, uid=base + word, output=f"http://example.com/{word}")
        text = text.replace(b'policy/statistics"', f'policy/statistics/of/{word}"'.encode())
        registry.add_policy(text, word, OWNER)
    asked = facts(query(COUNT, **loss), TARGET)
    request = Request(party=USER, action=terms.ANONYMIZE, targets=(TARGET,), parameters=asked)
    decision = decide(registry, request)
    assert [one.uid.removeprefix(base) for one in decision.permissions] == granting
    for word in granting:
        assert decide(registry, replace(request, rule=IRI(base + word))).is_permitted


@pytest.mark.parametrize(
    ("changes", "statistics", "loss", "word"),
    [
        ({}, [{"statistic": "sum", **AGE}], {}, "statistic"),
        ({}, [COUNT, {"statistic": "sum", **AGE}], {}, "statistic"),
        ({}, [{"statistic": "mean", **AGE, "measure": "income"}], {}, "measure"),
        ({}, [{"statistic": "mean", **AGE}, {"statistic": "mean", "measure": "income"}], {}, "measure"),
        ({}, [{"statistic": "mean", **AGE, "measure": "http://example.com/other/age"}], {}, "measure"),
        ({}, [{**COUNT, "groupBy": ["age"]}], {}, "groupBy"),
        ({"groupBy": None}, [{**COUNT, "groupBy": ["sex"]}], {}, "groupBy"),
        ({"statistic": ("isAnyOf", ["count"]), "measure": None}, [{"statistic": "mean", **AGE}], {},
         "measure"),
        ({}, [COUNT], {"epsilon": 1.0000001}, "epsilon"),
        ({"epsilon": ("eq", 1)}, [COUNT], {"epsilon": 0.5}, "epsilon"),
        ({}, [COUNT], {"delta": 1e-9}, "delta"),
        ({"delta": ("lteq", 0.0001)}, [COUNT], {"delta": 0.001}, "delta"),
        ({}, [COUNT], {"posteriorBelief": 0.74}, "epsilon"),
        ({}, [COUNT], {"membershipAdvantage": 0.47}, "epsilon"),
        ({"epsilon": ("eq", 1)}, [COUNT], {"posteriorBelief": 0.6}, "epsilon"),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.75)}, [COUNT], {"epsilon": 1.0987},
         "posteriorBelief"),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.5)}, [COUNT], {"epsilon": 1.0987},
         "membershipAdvantage"),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.5)}, [COUNT], {"posteriorBelief": 0.751},
         "membershipAdvantage"),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.6)}, [COUNT], {"posteriorBelief": 0.7},
         "posteriorBelief"),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.2)}, [COUNT], {"membershipAdvantage": 0.3},
         "membershipAdvantage"),
    ],
)  # fmt: skip
def test_what_goes_beyond_it_is_denied_with_its_word(
    tmp_path: Path, changes: Any, statistics: list[dict[str, Any]], loss: dict[str, float], word: str
) -> None:
    decision = decided(tmp_path, changes, *statistics, **loss)
    assert decision.effect is Effect.DENY
    assert word in failed(decision)
    assert any(word in reason.text for reason in decision.reasons)
