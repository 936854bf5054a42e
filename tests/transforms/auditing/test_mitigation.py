"""Equation 4.2 of D5.2, by hand and by its properties; under 1 s."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.auditing.mitigation import Standing, mitigation_efficiency

ORIGINAL = Standing(accuracy=0.9, attack=0.8)


@pytest.mark.parametrize(
    ("accuracy", "attack", "efficiency"),
    [
        (0.9, 0.8, 1.0),  # nothing changed
        (0.5, 0.6, 1.5),  # half of the accuracy is kept, and a third of the attack
        (0.5, 0.65, 1.0),  # half of both
        (0.3, 0.8, 0.25),  # a quarter of the accuracy, all of the attack
        (0.1, 0.65, 0.0),  # a guess, with half of the attack
        (0.02, 0.65, 0.0),  # worse than a guess counts as one
        (1.0, 0.65, 2.25),  # better than the original: nine eighths
        (0.5, 0.95, 1 / 3),  # the attack is better than on the original: three halves
        (0.5, 0.5, math.inf),  # the attack has fallen to its base
        (0.5, 0.1, math.inf),  # below its base it counts as that
        (0.1, 0.5, 1.0),  # all of both is lost
        (0.0, 0.0, 1.0),
    ],
)
def test_values_by_hand(accuracy: float, attack: float, efficiency: float) -> None:
    found = mitigation_efficiency(ORIGINAL, Standing(accuracy, attack), classes=10)
    assert found == pytest.approx(efficiency, abs=1e-12)


def test_the_base_of_accuracy_follows_the_classes() -> None:
    private = Standing(0.5, 0.65)
    assert mitigation_efficiency(ORIGINAL, private, classes=2) == 0.0
    assert mitigation_efficiency(ORIGINAL, private, classes=100) == pytest.approx(2 * 0.49 / 0.89)


@pytest.mark.parametrize(
    "original", [Standing(0.9, 0.5), Standing(0.9, 0.3), Standing(0.1, 0.8), Standing(0, 1)]
)
def test_there_is_nothing_to_mitigate_without_a_model_and_an_attack(original: Standing) -> None:
    assert mitigation_efficiency(original, Standing(0.5, 0.6), classes=10) is None


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="two classes"):
        mitigation_efficiency(ORIGINAL, ORIGINAL, classes=1)
    for wrong in ({"accuracy": 1.1}, {"attack": -0.1}, {"accuracy": math.nan}):
        with pytest.raises(ValueError, match="between 0 and 1"):
            replace(ORIGINAL, **wrong)


shares = st.floats(0, 1)
standings = st.builds(Standing, shares, shares)
numbers_of_classes = st.sampled_from([2, 10, 20, 50, 100])


def attacked(classes: int) -> st.SearchStrategy[tuple[int, Standing]]:
    """The classes, with a model that is better than a guess, and an attack that is, too."""
    better = (st.floats(base + 1e-6, 1, exclude_min=True) for base in (1 / classes, 0.5))
    return st.tuples(st.just(classes), st.builds(Standing, *better))


originals = numbers_of_classes.flatmap(attacked)


def kept(original: float, private: float, base: float) -> Fraction:
    """Exactly what is kept above a base."""
    return max(Fraction(0), (Fraction(private) - Fraction(base)) / (Fraction(original) - Fraction(base)))


@settings(max_examples=examples(200))
@given(originals, standings)
def test_it_is_above_one_where_the_attack_loses_more(
    attacked_model: tuple[int, Standing], private: Standing
) -> None:
    classes, original = attacked_model
    found = mitigation_efficiency(original, private, classes)
    assert found is not None
    assert found >= 0
    loss = 1 - kept(original.accuracy, private.accuracy, 1 / classes)
    gain = 1 - kept(original.attack, private.attack, 0.5)
    if abs(gain - loss) > 1e-9:
        assert (found > 1) is (gain > loss)
    else:
        # A share of nearly nothing is kept of both: any ratio may be.
        assert loss > 1 - 1e-6 or found == pytest.approx(1, abs=1e-2)


@settings(max_examples=examples(100))
@given(originals, standings, shares)
def test_it_rises_with_accuracy_and_falls_with_the_attack(
    attacked_model: tuple[int, Standing], private: Standing, other: float
) -> None:
    classes, original = attacked_model
    found = mitigation_efficiency(original, private, classes)
    assert found is not None
    better = replace(private, accuracy=max(private.accuracy, other))
    exposed = replace(private, attack=max(private.attack, other))
    risen, fallen = (mitigation_efficiency(original, one, classes) for one in (better, exposed))
    assert risen is not None
    assert risen >= found or math.isclose(risen, found)
    # Where no accuracy is kept, phi falls from 1 to 0 as soon as the attack is above its base.
    assert fallen is not None
    assert fallen <= found or math.isclose(fallen, found)


@settings(max_examples=examples(50))
@given(standings, standings, numbers_of_classes)
def test_what_is_below_a_base_counts_as_the_base(
    original: Standing, private: Standing, classes: int
) -> None:
    raised = Standing(max(private.accuracy, 1 / classes), max(private.attack, 0.5))
    assert mitigation_efficiency(original, private, classes) == mitigation_efficiency(
        original, raised, classes
    )
