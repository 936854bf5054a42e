"""`smalti budget`: figures for owners, refusals without figures for everybody else."""

import json
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, OWNER, USER, Ran, smalti

sys.path.insert(0, str(Path(__file__).parent / "engine" / "registry"))
from budget_world import charge, hmac

from smalti import budgeting
from smalti.engine.registry import _budgets
from smalti.engine.registry.budget import Ceiling
from smalti.engine.registry.registry import Registry
from smalti.errors import ProblemsError, UsageError
from smalti.transforms.identifiability import gaussian_advantage, mu_for_epsilon, posterior_belief
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

WIDE = Ceiling(Decimal(100), Decimal("0.5"))
ELSEWHERE = "http://example.com/Elsewhere"
RULE = "http://example.com/rule/statistics"


def release_rule(**parts: Any) -> dict[str, Any]:
    constraints = parts.pop("constraint", [("budgetEpsilon", 2), ("budgetDelta", 1e-6)])
    refinements = [
        ("mosaicrown:method", "eq", "differential-privacy"),
        ("smalti:epsilon", "lteq", 0.5),
        ("smalti:statistic", "isAnyOf", ["count"]),
    ]
    names = ("leftOperand", "operator", "rightOperand")
    rule = {
        "uid": RULE,
        "target": CUSTOMER,
        "assignee": USER,
        "action": [
            {
                "rdf:value": {"@id": "odrl:anonymize"},
                "refinement": [dict(zip(names, one, strict=True)) for one in refinements],
            }
        ],
        "output": "http://example.com/statistics",
    }
    stated = [
        dict(zip(names, (f"smalti:{word}", "lteq", number), strict=True)) for word, number in constraints
    ]
    return rule | ({"constraint": stated} if stated else {}) | parts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a registry in which the owner lets statistics be released."""
    document = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": "http://example.com/policy/statistics",
        "profile": "https://w3id.org/smalti#",
        "permission": [
            release_rule(),
            release_rule(uid=f"{RULE}/small", constraint=[("budgetEpsilon", 1)]),
            release_rule(uid=f"{RULE}/none", constraint=[]),
        ],
    }
    (tmp_path / "p.jsonld").write_text(json.dumps(document))
    done = smalti("policy", "add", "p.jsonld", "--as", OWNER, cwd=tmp_path)
    assert done.code == 0, done.err
    return tmp_path


def spend(folder: Path, epsilon: str, target: str = CUSTOMER, **changes: Any) -> None:
    registry = Registry.open(folder / "smalti.sqlite")
    assert registry.ledger.charge(charge(epsilon, target, **changes), WIDE)


def show(folder: Path, *more: str, party: str = OWNER, target: str = CUSTOMER) -> Ran:
    return smalti("budget", "show", target, "--as", party, *more, cwd=folder)


def forecast(folder: Path, *more: str, party: str = OWNER) -> Ran:
    return smalti("budget", "forecast", CUSTOMER, "--as", party, *more, cwd=folder)


def test_an_owner_sees_what_was_spent_and_what_is_left(folder: Path) -> None:
    spend(folder, "0.5")
    spend(folder, "0.6")
    shown = show(folder)
    assert (shown.code, shown.err) == (0, "")
    assert "charged    epsilon 1.1, delta 0 in 2 releases" in shown.out
    assert "belief     at most 0.7503 about one person, starting at one half\n" in shown.out
    assert "advantage  at most 0.5006" in shown.out
    assert "left: epsilon 0.9, delta 0.000001" in shown.out
    assert "left: epsilon 0, delta 0\n" in shown.out
    assert f"{RULE}/none (for user) permits no release: it states no `smalti:budgetEpsilon`" in shown.out
    assert "no other registry" in shown.out


def test_a_delta_without_a_ceiling_is_told_to_the_owner(folder: Path) -> None:
    spend(folder, "0.1", delta=Decimal("1e-9"))
    assert show(folder).out.count("nothing more fits: a delta was charged") == 1
    shown = forecast(folder, "--epsilon", "6000")
    assert shown.code == 0, "images lose that much as a whole"


def test_programs_get_exact_amounts(folder: Path) -> None:
    for _ in range(3):
        spend(folder, "0.1")
    told = show(folder, "--format", "json").json
    assert told["charged"] == {"epsilon": "0.3", "delta": "0"}
    assert told["releases"] == 3
    assert told["composition"]["posteriorBelief"] == pytest.approx(posterior_belief(0.3))
    left = {one["rule"]: one["left"] for one in told["ceilings"]}
    assert left == {
        RULE: {"epsilon": "1.7", "delta": "0.000001"},
        f"{RULE}/small": {"epsilon": "0.7", "delta": "0"},
        f"{RULE}/none": None,
    }
    assert [(one["party"], one["rule"], one["epsilon"]) for one in told["charges"]] == [
        (USER, RULE, "0.1")
    ] * 3


def test_before_any_release_all_is_left(folder: Path) -> None:
    told = show(folder, "--format", "json").json
    assert (told["charged"]["epsilon"], told["releases"], told["charges"]) == ("0", 0, [])
    assert told["composition"]["posteriorBelief"] == 0.5
    assert "in 0 releases" in show(folder).out


def test_others_get_a_refusal_without_figures(folder: Path) -> None:
    spend(folder, "0.71828")
    for refused in (show(folder, party=USER), forecast(folder, "--epsilon", "0.1", party=USER)):
        assert (refused.code, refused.out) == (2, "")
        assert refused.message == (
            f"{CUSTOMER}: {USER} does not own it; expected an owner of the target. Ask one of its owners\n"
        )
    unknown = show(folder, target=ELSEWHERE)
    assert (unknown.code, unknown.out) == (2, "")
    assert "the registry does not know it" in unknown.err


def test_an_owner_is_told_of_other_peoples_releases_only_how_much(folder: Path) -> None:
    spend(folder, "0.2", inputs=(hmac("a"),))
    spend(folder, "0.3", ELSEWHERE, inputs=(hmac("a"),), party="http://org/secretive")
    shown = show(folder)
    assert "epsilon 0.5, delta 0 in 2 releases" in shown.out
    assert "other data of the same respondents" in shown.out
    told = show(folder, "--format", "json")
    assert [one["isOwnData"] for one in told.json["charges"]] == [True, False]
    for out in (shown.out, told.out):
        assert "secretive" not in out
        assert ELSEWHERE not in out


def test_two_neighbouring_relations_are_not_added_up(folder: Path) -> None:
    spend(folder, "0.2")
    spend(folder, "0.3", ELSEWHERE, neighbors=NeighboringRelation.CHANGE_ONE)
    assert "neighbours" not in show(folder).out
    assert show(folder, "--format", "json").json["neighbors"] == ["add-or-remove-one"]
    with Registry.open(folder / "smalti.sqlite")._database.writing() as connection:
        _budgets.note_read(connection, (IRI(CUSTOMER), IRI(ELSEWHERE)), ())  # as a run that is not charged
    shown = show(folder)
    assert "charged    epsilon 0.7, delta 0 in 2 releases" in shown.out
    assert "neighbours releases were made under both neighbouring relations" in shown.out
    assert "belief     at most 0.6682" in shown.out, "of 0.7, rounded up"
    assert shown.out.count("left: epsilon 0, delta 0\n") == 2
    told = show(folder, "--format", "json").json
    assert told["neighbors"] == ["add-or-remove-one", "change-one"]
    assert [one.get("neighbors") for one in told["charges"]] == ["add-or-remove-one", None]
    foreseen = forecast(folder, "--epsilon", "0.1", "--format", "json").json
    assert foreseen["neighbors"] == told["neighbors"]
    assert {one["releases"] for one in foreseen["fits"]} == {0}
    assert "earlier releases are about `change-one`" in foreseen["fits"][0]["problem"]
    assert "both neighbouring relations" in forecast(folder, "--epsilon", "0.1").out


def test_nothing_fits_under_a_rule_for_another_neighbouring_relation(folder: Path) -> None:
    spend(folder, "0.3", neighbors=NeighboringRelation.CHANGE_ONE)
    shown = show(folder).out
    assert shown.count("left: epsilon 0, delta 0\n") == 2
    closed = "earlier releases are about `change-one`, and this rule is about `add-or-remove-one`"
    assert shown.count(f"nothing more fits: {closed}") == 2
    told = forecast(folder, "--epsilon", "0.1", "--format", "json").json
    assert [one["releases"] for one in told["fits"]] == [0, 0, 0]
    assert [one["neighbors"] for one in told["fits"]] == ["add-or-remove-one"] * 3
    assert f"no more release under {RULE} (for user): {closed}" in forecast(folder, "--epsilon", "0.1").out


def test_a_forecast_says_how_many_fit_and_what_could_be_found_out(folder: Path) -> None:
    spend(folder, "0.5")
    told = forecast(folder, "--epsilon", "0.1", "--releases", "5", "--format", "json").json
    assert {one["rule"]: one["releases"] for one in told["fits"]} == {
        RULE: 15,
        f"{RULE}/small": 5,
        f"{RULE}/none": 0,
    }
    assert told["charged"] == {"epsilon": "1.0", "delta": "0"}
    assert told["composition"]["posteriorBelief"] == pytest.approx(posterior_belief(1))
    shown = forecast(folder, "--epsilon", "0.1", "--releases", "5").out
    assert f"fits       15 more releases under {RULE} (for user)" in shown
    assert f"fits       no more release under {RULE}/none (for user): it states no" in shown
    assert "after 5 more releases: epsilon 1.0, delta 0 charged" in shown


@pytest.mark.parametrize(
    ("delta", "loss"),
    [
        ("0", PrivacyLoss(pure=Fraction(1, 10))),
        ("3e-7", PrivacyLoss(pure=Fraction(1, 10))),
        ("3e-7", PrivacyLoss.of_gaussian(mu_for_epsilon(0.1, 3e-7))),
    ],
)
def test_a_forecast_is_kept_by_what_then_happens(folder: Path, delta: str, loss: PrivacyLoss) -> None:
    registry, ceiling = Registry.open(folder / "smalti.sqlite"), Ceiling(Decimal(2), Decimal("1e-6"))

    def release() -> bool:
        return registry.ledger.charge(charge("0.1", CUSTOMER, delta=Decimal(delta), loss=loss), ceiling)

    spend(folder, "0.95")
    found = budgeting.forecast(
        CUSTOMER, party=OWNER, epsilon="0.1", delta=delta, releases=2, registry=registry
    )
    assert release()
    assert release()
    after = budgeting.budget(CUSTOMER, party=OWNER, registry=registry)
    assert after.spent == found.spent
    assert after.account.belief <= found.account.belief
    assert after.account.advantage <= found.account.advantage
    number = 2
    while release():
        number += 1
    assert [one.number for one in found.fits if one.stated.rule == RULE] == [number]


def test_a_forecast_with_delta_reckons_with_the_worse_kind_of_noise(folder: Path) -> None:
    def account(epsilon: str, delta: str) -> Any:
        return budgeting.forecast(
            CUSTOMER, party=OWNER, epsilon=epsilon, delta=delta, registry=folder / "smalti.sqlite"
        ).account

    plain, with_delta = account("0.5", "0"), account("0.5", "1e-6")
    mu = mu_for_epsilon(0.5, 1e-6)
    assert with_delta.advantage >= max(plain.advantage, gaussian_advantage(mu))
    assert with_delta.belief > posterior_belief(0.5), "of Gaussian noise, whose loss has no end"


def test_what_cannot_be_foreseen_is_refused_at_once(folder: Path) -> None:
    refused = forecast(folder, "--epsilon", "0", "--delta", "1", "--releases", "0")
    assert (refused.code, refused.out) == (2, "")
    assert [line.split(" (")[0] for line in refused.message.splitlines()] == [
        "epsilon",
        "delta",
        "releases",
    ]
    for wrong in ("-1", "x", "1e10", "NaN"):
        with pytest.raises(UsageError, match="epsilon"):
            budgeting.forecast(CUSTOMER, party=OWNER, epsilon=wrong, registry=folder / "smalti.sqlite")
    with pytest.raises(ProblemsError):
        budgeting.forecast(
            CUSTOMER, party=OWNER, epsilon="0", delta="-1", registry=folder / "smalti.sqlite"
        )


def test_nothing_is_made_by_asking(tmp_path: Path) -> None:
    assert show(tmp_path).code == 2
    assert not (tmp_path / "smalti.sqlite").exists()
