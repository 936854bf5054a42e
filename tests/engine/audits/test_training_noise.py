"""The noise of a training meets its bound, and what is charged is what the accountant says."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from model_worlds import most, private, training

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.registry.budget import EpsilonDelta, compose
from smalti.engine.training.noise import mechanism_of, private_steps, stated_loss
from smalti.engine.training.plan import PrivateSteps
from smalti.errors import PlanError
from smalti.policy.model.model import DecimalBound, Training
from smalti.transforms.identifiability import gaussian_advantage, gaussian_delta, posterior_belief
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

BELIEF, ADVANTAGE, EPSILON = (
    {"posterior_belief": most("0.9")},
    {"membership_advantage": most("0.3")},
    {"epsilon": most("2")},
)


COORDINATES = 10_000


def noisy(wanted: Training, epochs: int = 2) -> tuple[PrivateSteps, PlannedLoss]:
    private, loss = private_steps(wanted, epochs, COORDINATES)
    assert private is not None
    assert loss is not None
    return private, loss


def test_a_training_that_is_not_private_has_neither() -> None:
    assert private_steps(training(), 2, COORDINATES) == (None, None)


@pytest.mark.parametrize("rate", [pytest.param("0.5", marks=pytest.mark.slow), "1"])
@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("bound", [BELIEF, ADVANTAGE, EPSILON], ids=["belief", "advantage", "epsilon"])
def test_a_bound_is_met_by_the_least_noise(
    rate: str, relation: NeighboringRelation, bound: dict[str, object]
) -> None:
    """With sampling it is slow: each noise that is tried has an account of its own."""
    asked = {"noise_multiplier": None, "sampling_rate": most(rate), "neighbors": relation.value, **bound}
    steps, loss = noisy(private(**asked))
    assert (steps.neighbors, steps.steps) == (relation, 2 * round(1 / float(rate)))
    if bound is BELIEF:
        told, most_told = loss.belief, 0.9
    elif bound is ADVANTAGE:
        told, most_told = loss.advantage, 0.3
    else:
        told, most_told = float(loss.epsilon), 2.0
    assert told <= most_told
    assert told > 0.98 * most_told, "and not by much more noise than it takes"


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_what_is_stated_is_what_the_accountant_says(relation: NeighboringRelation) -> None:
    steps, loss = noisy(private(neighbors=relation.value))
    mechanism, delta = mechanism_of(steps), 0.99 * float(loss.delta)
    assert (mechanism.noise_multiplier, mechanism.sampling_rate, mechanism.steps) == (2, 0.5, 4)
    assert float(loss.epsilon) == pytest.approx(mechanism.largest_loss(delta), abs=1e-8)
    assert float(loss.epsilon) >= mechanism.largest_loss(delta) > mechanism.epsilon(delta)
    assert 0 <= loss.belief - posterior_belief(mechanism.largest_loss(delta)) < 1e-9
    ends = 0.01 * float(loss.delta)
    assert mechanism.advantage + ends <= loss.advantage < mechanism.advantage * (1 + 1e-5) + ends
    # Pure but for a probability of delta, all of which may reveal everything.
    assert Fraction(loss.pure) == Fraction(loss.epsilon)
    assert (loss.mu_squared, loss.selection_delta) == ("0", loss.delta)


def test_a_plan_does_not_depend_on_the_last_digits_of_the_accountant() -> None:
    """They differ with the versions of numpy and SciPy, and a plan has one digest."""
    _, loss = noisy(private())
    assert all(figure == float(f"{figure:.9g}") for figure in (loss.belief, loss.advantage))


@pytest.mark.parametrize(("relation", "distance"), [*zip(NeighboringRelation, (1, 2), strict=True)])
def test_without_sampling_it_is_gaussian(relation: NeighboringRelation, distance: int) -> None:
    assert (relation is NeighboringRelation.CHANGE_ONE) == (distance == 2)
    steps, loss = noisy(private(sampling_rate=most("1"), neighbors=relation.value))
    assert (loss.pure, loss.mu_squared) == ("0", str(Fraction(2 * distance**2, 4)))
    mu = math.sqrt(Fraction(loss.mu_squared))
    assert gaussian_delta(float(loss.epsilon), mu) == pytest.approx(0.99 * float(loss.delta), rel=1e-6)
    assert gaussian_delta(float(loss.epsilon), mu) <= 0.99 * float(loss.delta)
    # The ends of the noise reveal; with what is left of delta the composition is no better than the model.
    assert loss.selection_delta == loss.delta / 100
    lost = PrivacyLoss(Fraction(loss.pure), Fraction(loss.mu_squared))
    together = compose(EpsilonDelta(loss.epsilon, loss.delta), lost, Fraction(loss.selection_delta))
    assert together.belief == pytest.approx(loss.belief, rel=1e-8)
    assert together.epsilon == pytest.approx(float(loss.epsilon), rel=1e-8)
    rest = (1 - gaussian_advantage(mu)) * (1 - float(loss.delta) / 100)
    assert together.advantage == pytest.approx(1 - rest, rel=1e-9)
    assert gaussian_advantage(mu) < together.advantage <= loss.advantage
    assert mechanism_of(steps).mu == pytest.approx(mu)


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ({"membership_advantage": most("0.1")}, "advantage"),
        ({"posterior_belief": most("0.75000000049")}, "belief"),
        ({"epsilon": most("0.30000000049")}, "epsilon"),
    ],
)
def test_what_is_stated_keeps_to_the_bound_where_delta_is_large(
    bound: dict[str, DecimalBound], told: str
) -> None:
    """The ends of the noise take their part of an advantage, and figures are rounded up."""
    asked = {"noise_multiplier": None, "sampling_rate": most("1"), "delta": most("0.1"), **bound}
    _, loss = noisy(private(**asked))
    (allowed,) = bound.values()
    assert 0.99 * float(allowed.value) < Decimal(str(getattr(loss, told))) <= allowed.value


def test_noise_that_is_fixed_must_keep_what_is_stated_within_the_bound() -> None:
    """Its own advantage is below it, and with the part of the ends it is not."""
    asked = private(sampling_rate=most("1"), delta=most("0.1"))
    _, loss = noisy(asked)
    between = most(str(Decimal(str(loss.advantage)) - Decimal("0.0005")))
    assert "loses more than the bound" in refused(replace(asked, membership_advantage=between))


def test_noise_that_is_fixed_must_keep_what_is_stated_within_the_bound_to_the_last_digit() -> None:
    asked = private(sampling_rate=most("1"))
    steps, loss = noisy(asked)
    exact = mechanism_of(steps).belief(0.99 * float(loss.delta))
    between = (Decimal(exact) + Decimal(str(loss.belief))) / 2
    assert exact < between < Decimal(str(loss.belief))
    assert "loses more than the bound" in refused(replace(asked, posterior_belief=most(str(between))))


def test_bounds_that_nothing_can_keep_are_refused_and_those_beside_one_are_kept() -> None:
    asked = private(noise_multiplier=None, sampling_rate=most("1"))
    for bound in (
        {"membership_advantage": most("0.00001")},
        {"posterior_belief": most("0.50000000000000000001")},
        {"epsilon": most("1e-400")},
    ):
        assert "no noise that can be accounted for" in refused(replace(asked, **bound))
    _, loss = noisy(replace(asked, posterior_belief=most("0.9999999999999999999")))
    assert loss.belief <= 0.999999999


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        ("clipping_norm", "1e-400", "the clipping norm is out of range"),
        ("clipping_norm", "9e-11", "the clipping norm is out of range"),
        ("clipping_norm", "1e60", "the clipping norm is out of range"),
        ("sampling_rate", "1e-12", "the sampling rate is out of range"),
        ("delta", "1.01e-10", "delta is out of range"),
    ],
)
def test_numbers_out_of_range_are_refused(word: str, value: str, said: str) -> None:
    assert refused(private(**{word: most(value)})) == said


def test_the_ends_of_ranges_are_taken() -> None:
    for norm in ("1e-10", "1e10"):
        noisy(private(sampling_rate=most("1"), clipping_norm=most(norm)))
    noisy(private(sampling_rate=most("1"), delta=most("1.02e-10")))


def test_a_delta_within_the_rounding_of_so_many_steps_is_refused() -> None:
    asked = private(noise_multiplier=most("300"), delta=most("2e-9"))
    assert "no loss is known" in refused(asked, 10_000)


def test_more_noise_loses_less_and_more_steps_lose_more() -> None:
    def loss(noise: str, steps: int) -> Decimal:
        made = PrivateSteps(
            Decimal(noise), Decimal(1), Decimal("0.5"), steps, NeighboringRelation.ADD_OR_REMOVE_ONE
        )
        return stated_loss(made, Decimal("0.001")).epsilon

    assert loss("2", 4) > loss("3", 4)
    assert loss("2", 8) > loss("2", 4)


def refused(wanted: Training, epochs: int = 2, coordinates: int = COORDINATES) -> str:
    with pytest.raises(PlanError) as caught:
        private_steps(wanted, epochs, coordinates)
    assert caught.value.where == str(wanted.where)
    return caught.value.problem


def test_noise_whose_ends_would_take_too_much_of_delta_is_refused() -> None:
    """Many parameters, little noise and a small delta; each alone is no reason."""
    asked = {"noise_multiplier": most("0.5"), "sampling_rate": most("1")}
    assert "drawn in 64 bits" in refused(private(**asked, delta=most("1e-8")), 5, 1 << 20)
    noisy(private(**asked, delta=most("1e-3")), 5)
    assert "drawn in 64 bits" in refused(
        private(noise_multiplier=most("0.3"), sampling_rate=most("1"), neighbors="change-one"), 1
    )


def test_noise_that_is_fixed_is_taken_where_it_meets_the_bound() -> None:
    steps, loss = noisy(private(**BELIEF))
    assert steps.noise_multiplier == 2
    assert loss.belief < 0.9
    for bound in ({"posterior_belief": most("0.55")}, {"membership_advantage": most("0.01")}):
        assert "loses more than the bound allows" in refused(private(**bound))
    for rate in ("0.5", "1"):
        asked = private(sampling_rate=most(rate), epsilon=most("0.1"))
        assert "loses more than the bound allows" in refused(asked)


def test_noise_without_an_account_is_refused() -> None:
    assert "no noise that can be accounted for" in refused(private(noise_multiplier=most("0.2")))
    assert "no noise that can be accounted for" in refused(private(), 1_000_000)


SMALL = {"noise_multiplier": None, "sampling_rate": most("1"), "membership_advantage": most("1e-5")}


@pytest.mark.parametrize(
    ("asked", "epochs", "expected", "way_out"),
    [
        ({"noise_multiplier": most("0.2")}, 2, "a noise multiplier from 0.3 to 1,000,000", "change"),
        ({}, 1_000_000, "at most 1,000,000 steps", "ask for fewer epochs"),
        (SMALL, 2, "a bound that a noise multiplier of at most 1,000,000 keeps", "allow more loss"),
    ],
)
def test_it_is_told_at_which_end_there_is_no_account(
    asked: dict[str, object], epochs: int, expected: str, way_out: str
) -> None:
    with pytest.raises(PlanError) as caught:
        noisy(private(**asked), epochs)
    assert caught.value.expected == expected
    assert caught.value.way_out.startswith(way_out)


def test_a_delta_is_needed_to_charge() -> None:
    assert "the policy states none" in refused(private(delta=None))
    for delta in ("0", "1e-11", "1"):
        assert "out of range" in refused(private(delta=most(delta)))
