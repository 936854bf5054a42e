"""Belief and advantage: the printed tables, exactness far from one, and the findings that bind."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smalti.transforms.identifiability import (
    advantage,
    chance_of_excess,
    classic_gaussian_advantage,
    classic_gaussian_epsilon,
    compose_gaussian,
    composed_advantage,
    epsilon_for_advantage,
    epsilon_for_belief,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
    mu_for_advantage,
    mu_for_belief,
    mu_for_epsilon,
    posterior_belief,
)

# arXiv 2103.02913, table of experiment parameters: delta, belief, epsilon, advantage; rounded as printed.
PRINTED = [
    (0.01, 0.52, 0.08, 0.01),
    (0.01, 0.75, 1.1, 0.14),
    (0.01, 0.9, 2.2, 0.28),
    (0.01, 0.99, 4.6, 0.54),
    (0.001, 0.53, 0.12, 0.01),
    (0.001, 0.75, 1.1, 0.12),
    (0.001, 0.9, 2.2, 0.23),
    (0.001, 0.99, 4.6, 0.46),
]
# The same, measured to more digits: epsilon, advantage, and the noise multiplier of each of 30 steps, for
# the exact calibration and for that on P[loss > epsilon] = delta.
MEASURED = [
    (0.01, 0.52, 0.0800, 0.0103, 59.880, None),
    (0.01, 0.75, 1.0986, 0.1403, 9.584, 12.675),
    (0.01, 0.90, 2.1972, 0.2763, 5.700, 6.803),
    (0.01, 0.99, 4.5951, 0.5403, 3.314, 3.664),
    (0.001, 0.53, 0.1201, 0.0127, 82.228, None),
    (0.001, 0.75, 1.0986, 0.1156, 13.033, 16.247),
    (0.001, 0.90, 2.1972, 0.2289, 7.326, 8.506),
    (0.001, 0.99, 4.5951, 0.4571, 4.038, 4.422),
]
STEPS = 30


def covers(function: Callable[[float], float], argument: float, digits: int, printed: float) -> bool:
    """Whether a printed value is one of the images of the numbers that round to a printed argument."""
    half = 0.5 * 10.0**-digits
    low, high = sorted((function(argument - half), function(argument + half)))
    return low - 1e-9 <= printed <= high + 1e-9


@pytest.mark.parametrize(("delta", "belief", "epsilon", "printed_advantage"), PRINTED)
def test_printed_table(delta: float, belief: float, epsilon: float, printed_advantage: float) -> None:
    digits = 2 if epsilon < 1 else 1
    exact = epsilon_for_belief(belief)
    assert round(exact, digits) == epsilon
    assert round(classic_gaussian_advantage(exact, delta), 2) == printed_advantage
    assert covers(posterior_belief, epsilon, digits, belief)
    assert covers(epsilon_for_belief, belief, 2, exact)
    assert covers(lambda bound: classic_gaussian_epsilon(bound, delta), printed_advantage, 2, exact)


@pytest.mark.parametrize(("delta", "belief", "epsilon", "classic", "exact", "by_belief"), MEASURED)
def test_measured_table(
    delta: float, belief: float, epsilon: float, classic: float, exact: float, by_belief: float | None
) -> None:
    assert round(epsilon_for_belief(belief), 4) == epsilon
    loss = epsilon_for_belief(belief)
    assert round(classic_gaussian_advantage(loss, delta), 4) == classic
    assert math.sqrt(STEPS) / mu_for_epsilon(loss, delta) == pytest.approx(exact, abs=6e-4)
    if by_belief is not None:
        assert math.sqrt(STEPS) / mu_for_belief(belief, delta) == pytest.approx(by_belief, abs=6e-4)


def test_the_closed_form_is_no_bound_under_tighter_accounting() -> None:
    epsilon = epsilon_for_belief(0.9)
    mu = mu_for_epsilon(epsilon, 0.01)
    assert round(classic_gaussian_advantage(epsilon, 0.01), 3) == 0.276
    assert round(gaussian_advantage(mu), 3) == 0.369
    assert round(chance_of_excess(epsilon, mu), 4) == 0.0355  # and not 0.01


def test_a_laplace_release_states_the_advantage_of_pure_privacy() -> None:
    assert f"{advantage(1.1):.2f}" == "0.50"
    assert f"{classic_gaussian_advantage(1.1, 0.01):.2f}" == "0.14"


def test_randomized_response_with_two_coins_reaches_belief_and_advantage() -> None:
    epsilon = math.log(0.75 / 0.25)
    assert posterior_belief(epsilon) == pytest.approx(0.75)
    assert advantage(epsilon) == pytest.approx(0.75 - 0.25)


def normal_tail(x: Decimal) -> Decimal:
    """The upper tail of the standard normal distribution, from the power series, in the digits in force."""
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
    term, total, index = x, x, 0
    while abs(term) > Decimal(10) ** -(78):
        index += 1
        term = -term * x * x * (2 * index - 1) / (2 * index * (2 * index + 1))
        total += term
    return Decimal(1) / 2 - total / (2 * pi).sqrt()


def exact_delta(epsilon: float, mu: float) -> Decimal:
    with localcontext() as context:
        context.prec = 160
        e, m = Decimal(epsilon), Decimal(mu)
        return normal_tail(e / m - m / 2) - e.exp() * normal_tail(e / m + m / 2)


@pytest.mark.parametrize(
    ("epsilon", "mu"),
    [
        (1.0, 1.0),
        (0.0, 1e-12),
        (0.0, 3.0),
        (1e-9, 1e-8),
        (1e-7, 1e-8),
        (0.3, 0.1),
        (0.004, 0.001),
        (1.5, 0.999999),
        (1.5, 1.000001),
        (4.0, 0.5),
        (20.0, 2.0),
        (60.0, 9.0),
        (8.0, 9.0),
        (0.01, 5.0),
    ],
)
def test_delta_is_exact_where_the_formula_as_written_cancels_or_overflows(
    epsilon: float, mu: float
) -> None:
    exact = float(exact_delta(epsilon, mu))
    assert gaussian_delta(epsilon, mu) == pytest.approx(exact, rel=1e-11, abs=0)


def test_arguments_at_the_ends_do_not_overflow() -> None:
    assert gaussian_delta(1e5, 1.0) == gaussian_delta(1.0, 1e-300) == gaussian_delta(1.0, 0.0) == 0.0
    assert gaussian_delta(1.0, 1e200) == gaussian_delta(0.0, math.inf) == 1.0
    assert posterior_belief(1e6) == advantage(1e6) == advantage(math.inf, 1e-6) == 1.0
    assert advantage(1e-300) == pytest.approx(5e-301)
    assert epsilon_for_belief(1 - 2**-53) == pytest.approx(53 * math.log(2))
    assert mu_for_advantage(1e-200) == pytest.approx(1e-200 * math.sqrt(2 * math.pi))
    assert mu_for_epsilon(math.inf, 1e-6) == math.inf
    assert composed_advantage([0.5, 1.0]) == 1.0


positive = st.floats(1e-6, 50)
deltas = st.floats(1e-12, 0.4)


@settings(max_examples=examples(100))
@given(positive, deltas)
@example(6.103515625e-05, 0.19552695903036288)  # a step of epsilon that delta's arithmetic does not see
def test_calibrated_mu_keeps_and_reaches_its_promise(epsilon: float, delta: float) -> None:
    mu = mu_for_epsilon(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-9)) > delta * (1 - 1e-9)
    found = gaussian_epsilon(delta, mu)
    assert gaussian_delta(found, mu) <= delta
    # It is the least one: a little less epsilon, or a little less delta, and it would not do.
    assert gaussian_delta(found * (1 - 1e-9), mu) > delta * (1 - 1e-9)


@settings(max_examples=examples(100))
@given(st.floats(0.500001, 0.999999), st.floats(1e-12, 0.9))
def test_a_belief_bound_holds_with_its_probability(belief: float, delta: float) -> None:
    mu = mu_for_belief(belief, delta)
    excess = chance_of_excess(epsilon_for_belief(belief), mu)
    assert excess <= delta
    assert excess == pytest.approx(delta, rel=1e-8)


@settings(max_examples=examples(100))
@given(st.floats(1e-9, 1 - 1e-9))
def test_inverses_err_on_the_careful_side(bound: float) -> None:
    assert gaussian_advantage(mu_for_advantage(bound)) <= bound
    assert gaussian_advantage(mu_for_advantage(bound)) == pytest.approx(bound, rel=1e-9)
    assert advantage(epsilon_for_advantage(bound)) <= bound
    belief = 0.5 + bound / 2
    assert 0.5 <= posterior_belief(epsilon_for_belief(belief)) <= belief


@settings(max_examples=examples(100))
@given(st.lists(st.floats(0.001, 3), min_size=1, max_size=5), st.floats(0, 5))
def test_composition_is_exact_for_the_gaussian_and_bounded_for_the_rest(
    mus: list[float], epsilon: float
) -> None:
    mu = compose_gaussian(mus)
    assert mu == pytest.approx(math.sqrt(sum(x * x for x in mus)))
    assert gaussian_advantage(mu) <= composed_advantage(map(gaussian_advantage, mus)) + 1e-12
    assert gaussian_advantage(mu) <= advantage(epsilon, gaussian_delta(epsilon, mu)) + 1e-12


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_what_is_no_privacy_loss_is_refused(epsilon: float) -> None:
    for function in (posterior_belief, advantage, gaussian_advantage):
        with pytest.raises(ValueError, match="from 0"):
            function(epsilon)


@pytest.mark.parametrize("bound", [0.0, 0.5, 1.0, math.nan])
def test_a_belief_bound_lies_between_one_half_and_one(bound: float) -> None:
    with pytest.raises(ValueError, match=r"between 0\.5 and 1"):
        epsilon_for_belief(bound)


@pytest.mark.parametrize("bound", [0.0, 1.0, math.nan])
def test_bounds_of_advantage_and_delta_exclude_their_ends(bound: float) -> None:
    for call in (mu_for_advantage, epsilon_for_advantage, lambda delta: mu_for_epsilon(1.0, delta)):
        with pytest.raises(ValueError, match="both excluded"):
            call(bound)
    assert math.isnan(bound) or advantage(0.0, bound) == pytest.approx(bound)
