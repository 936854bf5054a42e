"""Sums, ceilings and accounts: exact where they decide, and never too small where they are shown."""

import json
import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smalti.engine.registry.budget import (
    Budget,
    Ceiling,
    EpsilonDelta,
    total,
)
from smalti.engine.registry.ceilings import ceiling_of, declared_ceiling, speaks_of_budget
from smalti.errors import PlanError, ProblemsError
from smalti.policy.model.model import Comparison, Number, Operator, Permission, Policy
from smalti.policy.read.parse import parse
from smalti.transforms.identifiability import (
    epsilon_for_belief,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
    mu_for_epsilon,
    posterior_belief,
)
from smalti.transforms.loss.belief import belief_after, mu_for_largest_loss
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI, SMALTI

sys.path.insert(0, str(Path(__file__).parent))
from budget_world import charge

POLICY: dict[str, Any] = {
    "@context": [
        "http://www.w3.org/ns/odrl.jsonld",
        "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
        "https://w3id.org/smalti/context.jsonld",
    ],
    "@type": "Set",
    "uid": "http://example.com/policy/p",
    "profile": "https://w3id.org/smalti#",
}


def at_most(word: str, number: Any) -> dict[str, Any]:
    return {"leftOperand": f"smalti:{word}", "operator": "lteq", "rightOperand": number}


def policy(*constraints: dict[str, Any], **rule: Any) -> Policy:
    permission = {"uid": "http://example.com/rule/r", "target": "http://example.com/t", "action": "read"}
    stated = {"constraint": list(constraints)} if constraints else {}
    document = POLICY | {"permission": [permission | stated | rule]}
    parsed = parse(json.dumps(document).encode(), "p.jsonld")
    (found,) = parsed.policies
    return found


def permission(*constraints: dict[str, Any], **rule: Any) -> Permission:
    (found,) = policy(*constraints, **rule).permissions
    return found


EPSILON, DELTA = at_most("budgetEpsilon", 2), at_most("budgetDelta", 1e-6)

# --- Ceilings


@pytest.mark.parametrize(
    ("constraints", "epsilon", "delta"),
    [
        ([EPSILON], "2", "0"),
        ([EPSILON, DELTA], "2", "0.000001"),
        ([at_most("budgetEpsilon", 0.1), EPSILON], "0.1", "0"),
        ([DELTA, at_most("budgetDelta", 1e-9), EPSILON], "2", "1e-9"),
        ([{"and": [EPSILON, {"and": [DELTA, at_most("budgetEpsilon", 1.5)]}]}], "1.5", "1e-6"),
        ([{"andSequence": {"@list": [EPSILON, DELTA]}}], "2", "1e-6"),
        ([at_most("budgetEpsilon", 0)], "0", "0"),
    ],
)
def test_a_ceiling_is_the_least_that_must_hold(
    constraints: list[dict[str, Any]], epsilon: str, delta: str
) -> None:
    found = permission(*constraints)
    assert ceiling_of(found) == declared_ceiling(found) == Ceiling(Decimal(epsilon), Decimal(delta))


@pytest.mark.parametrize("constraints", [[], [DELTA]])
def test_without_a_ceiling_of_epsilon_nothing_is_released(constraints: list[dict[str, Any]]) -> None:
    found = permission(*constraints)
    assert ceiling_of(found) is None
    with pytest.raises(
        PlanError, match=r"p\.jsonld:.*states no budget.*Ask the data's owner, who can state it"
    ):
        declared_ceiling(found)


@pytest.mark.parametrize(
    "constraint",
    [
        {"or": [EPSILON, DELTA]},
        {"xone": [EPSILON, at_most("budgetEpsilon", 3)]},
        {"and": [EPSILON, {"or": [DELTA, at_most("budgetDelta", 0)]}]},
    ],
)
def test_a_ceiling_that_need_not_hold_is_refused(constraint: dict[str, Any]) -> None:
    for constraints in ([constraint], [EPSILON, DELTA, constraint]):
        with pytest.raises(PlanError, match="where it need not hold") as refused:
            ceiling_of(permission(*constraints))
        assert str(refused.value).startswith("p.jsonld:1:"), "it names the place"


def test_an_or_about_other_things_may_stand_beside_a_ceiling() -> None:
    purposes = [
        {"leftOperand": "purpose", "operator": "eq", "rightOperand": f"mosaicrown:{name}"}
        for name in ("marketing", "statistical")
    ]
    assert ceiling_of(permission({"or": purposes}, EPSILON)) is not None


def test_all_problems_are_told_at_once() -> None:
    bad = Comparison(IRI(SMALTI + "budgetEpsilon"), Operator.GTEQ, (Number(Decimal(1)),))
    good = permission(EPSILON, {"or": [EPSILON, DELTA]})
    both = Permission(uid=good.uid, action=good.action, targets=(), constraints=(*good.constraints, bad))
    with pytest.raises(
        ProblemsError,
        match=r"need not hold[^\0]*not a plain upper bound|not a plain upper bound[^\0]*need not hold",
    ):
        ceiling_of(both)


def test_whether_a_policy_depends_on_charges() -> None:
    assert not speaks_of_budget(policy())
    for constraints in ([DELTA], [{"or": [EPSILON, DELTA]}]):
        assert speaks_of_budget(policy(*constraints))
    prohibition = {
        "prohibition": [{"target": "http://example.com/t", "action": "read", "constraint": DELTA}]
    }
    (found,) = parse(json.dumps(POLICY | prohibition).encode(), "p.jsonld").policies
    assert speaks_of_budget(found)


def test_a_ceiling_is_a_limit_of_a_rule_and_of_nothing_else() -> None:
    # `ceiling_of` looks at constraints alone: elsewhere the parser refuses the words.
    for part in ("target", "assignee"):
        whole = {"@type": "AssetCollection", "source": "http://example.com/t", "refinement": [EPSILON]}
        rule = {"target": "http://example.com/t", "action": "read", part: whole}
        parsed = parse(json.dumps(POLICY | {"permission": [rule]}).encode(), "p.jsonld")
        assert not parsed.policies


# --- Sums

NUMBERS = st.decimals(0, 10**6, places=12) | st.decimals("1e-40", "1e-30", places=44)


@given(st.lists(st.builds(EpsilonDelta, NUMBERS, NUMBERS), max_size=8), st.randoms(use_true_random=False))
def test_sums_are_those_of_fractions_in_any_order(several: list[EpsilonDelta], chance: Any) -> None:
    found = total(several)
    assert Fraction(found.epsilon) == sum(Fraction(one.epsilon) for one in several)
    assert Fraction(found.delta) == sum(Fraction(one.delta) for one in several)
    chance.shuffle(several)
    assert total(several) == found


@given(NUMBERS, NUMBERS, NUMBERS.filter(bool))
def test_as_many_fit_as_the_ceiling_admits(ceiling: Decimal, spent: Decimal, each: Decimal) -> None:
    most, one = Ceiling(ceiling, Decimal(0)), EpsilonDelta(each)
    number = most.fitting(EpsilonDelta(spent), one)
    assert number is not None
    after, too_many = (EpsilonDelta(spent) + one.times(count) for count in (number, number + 1))
    assert most.admits(after) or (number == 0 and spent > ceiling)
    assert not most.admits(too_many)
    assert Fraction(most.left(EpsilonDelta(spent)).epsilon) == max(Fraction(ceiling) - Fraction(spent), 0)


def test_what_is_no_amount_is_refused() -> None:
    for wrong in ("-0.1", "NaN", "Infinity", "1e2000", "1e-2000"):
        with pytest.raises(ValueError, match=r"not negative|digits"):
            EpsilonDelta(Decimal(wrong))
        with pytest.raises(ValueError, match=r"not negative|digits"):
            Ceiling(Decimal(1), Decimal(wrong))


@pytest.mark.parametrize(
    ("epsilon", "changes"),
    [
        ("0", {}),
        ("1", {"delta": Decimal(1)}),
        ("1", {"delta": Decimal("-0.1")}),
        ("1", {"loss": PrivacyLoss(Fraction(1) + Fraction(1, 10**30))}),
        ("1", {"loss": PrivacyLoss.of_gaussian(0.1)}),
        ("1", {"loss": PrivacyLoss.of_gaussian(mu_for_epsilon(1.01, 1e-6)), "delta": Decimal("1e-6")}),
        ("1", {"delta": Decimal("1e-6"), "selection_delta": Decimal("2e-6")}),
    ],
)
def test_no_less_is_charged_than_is_lost(epsilon: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"charged|selection|not negative"):
        charge(epsilon, **changes)


# --- Accounts


def gaussian(epsilon: str, delta: str, mu: float, selection: str | None = "0") -> Any:
    """A release with Gaussian noise."""
    taken = None if selection is None else Decimal(selection)
    loss = PrivacyLoss.of_gaussian(mu)
    return charge(epsilon, delta=Decimal(delta), loss=loss, selection_delta=taken)


def test_nothing_released_lets_nobody_find_out_anything() -> None:
    account = Budget().account
    assert (account.epsilon, account.delta, account.belief, account.advantage) == (0, 0, 0.5, 0)


def test_a_laplace_release_has_the_advantage_of_its_noise() -> None:
    account = Budget((charge("1.1"),)).account
    assert round(account.advantage, 2) == 0.50
    assert account.belief == pytest.approx(posterior_belief(1.1))
    three = Budget((charge("0.4"), charge("0.4"), charge("0.3"))).account
    assert three.epsilon == pytest.approx(1.1)
    assert three.epsilon >= Fraction("1.1"), "rounded against who uses the data"
    assert three.advantage == pytest.approx(account.advantage)


def test_gaussian_releases_compose_by_the_squares_of_their_mus() -> None:
    mu = mu_for_epsilon(0.5, 1e-6)
    several = Budget(tuple(gaussian("0.5", "1e-6", mu) for _ in range(16))).account
    assert several.delta == Decimal("16e-6")
    assert several.epsilon == pytest.approx(gaussian_epsilon(16e-6, 4 * mu))
    assert several.epsilon < 8 / 2, "far below the sum"
    assert several.advantage == pytest.approx(gaussian_advantage(4 * mu))
    assert several.belief == pytest.approx(belief_after(0.0, 4 * mu, 16e-6))


def test_a_belief_that_was_promised_is_the_belief_that_is_shown() -> None:
    mu, delta = mu_for_largest_loss(epsilon_for_belief(0.9), 1e-5), "1e-5"
    epsilon = Decimal(gaussian_epsilon(1e-5, mu) * 1.001)
    account = Budget((gaussian(str(epsilon), delta, mu),)).account
    assert account.belief == pytest.approx(0.9)
    assert account.epsilon <= float(epsilon)


def test_private_selection_takes_its_part_of_delta() -> None:
    mu = mu_for_epsilon(1, 1e-6)
    plain = Budget((gaussian("1", "1e-6", mu),)).account
    parts = Budget((gaussian("1", "2e-6", mu, "1e-6"),)).account
    assert parts.epsilon == pytest.approx(plain.epsilon, rel=1e-6)
    assert parts.belief == pytest.approx(plain.belief, rel=1e-6)
    assert plain.advantage < parts.advantage <= plain.advantage + 1e-6
    laplace = charge("1", delta=Decimal("1e-6"), selection_delta=Decimal("1e-6"))
    both = Budget((gaussian("1", "1e-6", mu), laplace)).account
    assert both.epsilon == pytest.approx(plain.epsilon + 1, rel=1e-6)
    assert both.delta == Decimal("2e-6")


@pytest.mark.parametrize("taken", ["0", "3e-7", "9e-7"])
def test_a_selection_that_nobody_told_of_is_read_against_the_release(taken: str) -> None:
    # Noise for what is left of delta; the account must be no better than if it were told.
    rest = Decimal("1e-6") - Decimal(taken)
    mu = mu_for_epsilon(1, float(rest))
    told = Budget((gaussian("1", "1e-6", mu, taken),)).account
    untold = Budget((gaussian("1", "1e-6", mu, None),)).account
    assert untold.epsilon >= told.epsilon * (1 - 1e-6)
    assert untold.belief >= told.belief * (1 - 1e-6)
    assert untold.advantage >= told.advantage - 1e-12
    assert untold.epsilon <= 1


def test_a_pure_release_that_was_charged_a_delta_may_have_selected_with_all_of_it() -> None:
    other = gaussian("1", "1e-6", mu_for_epsilon(1, 1e-6))
    told = charge("1", delta=Decimal("1e-6"), selection_delta=Decimal("1e-6"))
    untold = charge("1", delta=Decimal("1e-6"))
    assert Budget((other, untold)).account == Budget((other, told)).account
    none = charge("1", delta=Decimal("1e-6"), selection_delta=Decimal(0))
    assert Budget((other, none)).account.epsilon < Budget((other, told)).account.epsilon


@given(st.lists(st.tuples(st.floats(0.05, 2), st.sampled_from([0.0, 1e-7, 1e-5])), min_size=1, max_size=5))
def test_an_account_holds_and_is_no_worse_than_the_sums(parts: list[tuple[float, float]]) -> None:
    charges = [
        charge(str(Decimal(epsilon)))
        if not delta
        else gaussian(str(Decimal(epsilon) * Decimal("1.001")), str(delta), mu_for_epsilon(epsilon, delta))
        for epsilon, delta in parts
    ]
    budget = Budget(tuple(charges))
    account, loss = budget.account, sum((one.loss for one in charges), PrivacyLoss())
    assert account.delta == budget.delta
    assert account.epsilon <= math.nextafter(float(budget.epsilon), math.inf)
    if account.epsilon > loss.pure:
        rest = account.epsilon - float(loss.pure)
        assert gaussian_delta(rest, loss.mu) <= float(budget.delta) * (1 + 1e-6)
    assert 0.5 <= account.belief <= 1
    alone = [Budget((one,)).account for one in charges]
    assert account.advantage >= max(one.advantage for one in alone) - 1e-12
    assert account.advantage <= sum(one.advantage for one in alone) + 1e-12


# --- Beliefs beside what reveals all

Outcomes = list[tuple[float, float]]
"""The probability of each outcome on the data, and on a neighbour."""


def coin(epsilon: float) -> Outcomes:
    """An answer with a pure loss."""
    likely = posterior_belief(epsilon)
    return [(likely, 1 - likely), (1 - likely, likely)]


def revealing(chance: float, epsilon: float) -> Outcomes:
    """All is told with a probability, and otherwise a coin."""
    return [(chance, 0.0), (0.0, chance), *((p * (1 - chance), q * (1 - chance)) for p, q in coin(epsilon))]


def halves(mu: float, chance: float) -> Outcomes:
    """Whether Gaussian noise was beyond a place that it passes with a probability: made from a release."""
    normal = NormalDist()
    other = normal.cdf(normal.inv_cdf(chance) - mu)
    return [(chance, other), (1 - chance, 1 - other)]


def together(*several: Outcomes) -> Outcomes:
    found = [(1.0, 1.0)]
    for one in several:
        found = [(p * q, other * more) for p, other in found for q, more in one]
    return found


def chance_of_more(outcomes: Outcomes, loss: float) -> float:
    """The probability, on the data, of a greater loss."""
    return sum(p for p, q in outcomes if p > math.exp(loss) * q * (1 + 1e-12))


def revealing_charge(chance: Decimal, epsilon: str) -> Any:
    return charge(epsilon, delta=chance, selection_delta=chance)


@pytest.mark.parametrize("reveals", ["1e-6", "1e-3", "0.05"])
@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_a_composed_belief_is_exceeded_with_delta_at_most_and_nearly_so_often(
    mu: float, reveals: str
) -> None:
    rest = Decimal("0.01")
    epsilon = str(Decimal(gaussian_epsilon(float(rest), mu)) * Decimal("1.001"))
    releases = (charge("0.7"), revealing_charge(Decimal(reveals), "0.4"), gaussian(epsilon, str(rest), mu))
    budget = Budget(releases)
    loss = math.log(budget.account.belief / (1 - budget.account.belief))
    # One that is made from the Gaussian release, with the greatest loss that it has so often.
    worst = together(coin(0.7), revealing(float(reveals), 0.4), halves(mu, float(rest) * 0.9999))
    assert chance_of_more(worst, loss) <= float(budget.delta)
    assert chance_of_more(worst, loss) >= float(reveals), "what reveals does so"
    all_but_coins = together(revealing(float(reveals), 0.0), halves(mu, float(rest) * 0.9999))
    assert chance_of_more(all_but_coins, loss - 1.1) >= 0.98 * float(budget.delta), "delta is used up"


@given(st.floats(0.05, 3), st.floats(1e-6, 0.05), st.floats(0.01, 2))
def test_what_is_made_from_what_reveals_may_be_believed_more_often(
    epsilon: float, chance: float, more: float
) -> None:
    """The counterexample of `compose`, and the bound that remains."""
    account = Budget((revealing_charge(Decimal(chance), str(Decimal(epsilon))),)).account
    loss = math.log(account.belief / (1 - account.belief))
    told, _, likely, unlikely = revealing(chance, epsilon)
    assert chance_of_more([told, likely, unlikely], loss) <= float(account.delta)
    made = [(told[0] + likely[0], told[1] + likely[1]), unlikely]
    assert chance_of_more(made, loss) > 0.5 > float(account.delta)
    assert chance_of_more(made, loss + more) <= float(account.delta) / -math.expm1(-more)
    # As much of the likelier side as there may be at that loss: then the bound is reached.
    part = told[0] / (math.expm1(more) * likely[0])
    if part < 1:
        parts = [(told[0] + part * likely[0] * 0.999, part * likely[1] * 0.999)]
        assert chance_of_more(parts, loss + more) >= 0.99 * (1 - 1e-6) * chance / -math.expm1(-more)


# --- Charges about both neighbouring relations

CHANGE_ONE = NeighboringRelation.CHANGE_ONE
NONE = Fraction(0)


def test_what_adding_one_loses_counts_twice_beside_what_changing_one_loses() -> None:
    adding, changing = charge("0.5"), charge("0.4", neighbors=CHANGE_ONE)
    for alone in (adding, changing):
        assert Budget((alone,)).spent == alone.spent
        assert Budget((alone,)).relations == (alone.neighbors,)
    both = Budget((adding, changing))
    assert both.relations == tuple(NeighboringRelation)
    assert both.spent == EpsilonDelta(Decimal("1.4"))
    assert both.account.epsilon == pytest.approx(1.4)
    assert both.account.belief == pytest.approx(posterior_belief(1.4))
    assert both.account == Budget((changing, adding)).account


@given(st.floats(0.01, 8), st.sampled_from([1e-9, 1e-5, 0.01, 0.2]))
def test_gaussian_noise_for_adding_one_has_twice_the_mu_for_changing_one(
    epsilon: float, delta: float
) -> None:
    mu = mu_for_epsilon(epsilon, delta)
    adding = gaussian(str(Decimal(epsilon) * Decimal("1.001")), str(delta), mu)
    other = charge("0.1", neighbors=CHANGE_ONE)
    both = Budget((adding, other))
    assert both.loss == PrivacyLoss(Fraction("0.1"), 4 * adding.loss.mu_squared)
    assert Fraction(both.epsilon) == 2 * Fraction(adding.epsilon) + Fraction(other.epsilon)
    # N(0, 1) and N(2 mu, 1) are as far apart as is claimed of them, at most.
    if both.delta < 1:
        assert gaussian_delta(2 * epsilon, 2 * mu) <= both.delta
        account = both.account
        assert gaussian_delta(account.epsilon - 0.1, 2 * mu) <= float(both.delta) * (1 + 1e-6)
    assert both.delta <= min(1, (1 + math.exp(1.002 * epsilon)) * delta) * (1 + 1e-9)


@given(st.floats(0.01, 3), st.floats(1e-6, 0.02), st.sampled_from([NONE, Fraction(1, 4)]))
def test_what_reveals_in_either_step_is_counted(
    epsilon: float, chance: float, mu_squared: Fraction
) -> None:
    """Distributions that get as far apart as two neighbours of one may: the bound is reached."""
    loss = PrivacyLoss(NONE, mu_squared) if mu_squared else PrivacyLoss.of_pure(epsilon)
    # Noise reaches (epsilon, rest) only where its delta at epsilon is that.
    rest = loss.delta(epsilon) if mu_squared else 0.0
    delta, selection = Decimal(chance + rest * 1.000001), Decimal(chance)
    bounds = {"delta": delta, "selection_delta": selection, "loss": loss}
    exact = charge(str(Decimal(epsilon) * Decimal("1.000001")), **bounds)
    both = Budget((exact, charge("0.1", neighbors=CHANGE_ONE)))
    # With the one, P(A) = chance, and of B, which only R has, e^epsilon times more, and the rest.
    revealed = chance + math.exp(epsilon) * chance + rest
    assert revealed <= both.selection_delta <= revealed * (1 + 1e-5) + 1e-12
    assert both.selection_delta <= both.delta <= 1


def test_a_loss_without_end_may_reveal_all_for_certain() -> None:
    """Images lose thousands as a whole."""
    image = charge("6000", delta=Decimal("1e-9"))
    both = Budget((image, charge("0.1", neighbors=CHANGE_ONE)))
    assert (both.epsilon, both.delta, both.selection_delta) == (Decimal("12000.1"), 1, 1)
    assert both.account.advantage == 1
