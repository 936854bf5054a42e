"""Model inversion: what a model tells of a hidden attribute, and what of that only its own people lose."""

import numpy as np
import pytest

from smalti.transforms.attacks.model_inversion import Attribute, Floats, guessed, inverted
from smalti.transforms.problem import Integers

RECORDS = 4000
CONFIDENCE = 0.999
SHARES = np.array([0.7, 0.3])


class Told:
    """A model of two classes: the class is the hidden bit, with a given confidence."""

    def __init__(self, confidence: float) -> None:
        self.confidence = confidence

    def confidences(self, features: Floats) -> Floats:
        of_one = np.where(features[:, 0] == 1, 1 - self.confidence, self.confidence)
        return np.column_stack([1 - of_one, of_one])


class Memory:
    """A model that knows the class of its own records only, by their number."""

    def __init__(self, features: Floats, labels: Integers) -> None:
        self.known = {
            tuple(row): label for row, label in zip(features.tolist(), labels.tolist(), strict=True)
        }

    def confidences(self, features: Floats) -> Floats:
        found = np.full((len(features), 2), 0.5)
        for i, row in enumerate(features.tolist()):
            if tuple(row) in self.known:
                found[i] = (0.99, 0.01) if self.known[tuple(row)] == 0 else (0.01, 0.99)
        return found


def records(seed: int, *, is_told: bool) -> tuple[Floats, Integers]:
    """A hidden bit in two features, and a number that nobody else has."""
    generator = np.random.default_rng(seed)
    bits = (generator.random(RECORDS) >= SHARES[0]).astype(np.int64)
    features = np.column_stack([bits == 0, bits == 1, np.arange(RECORDS) + seed * RECORDS]).astype(float)
    labels = bits if is_told else generator.integers(0, 2, RECORDS)
    return features, labels


def attribute() -> Attribute:
    return Attribute.of_categories((0, 1), SHARES)


def test_a_correlation_is_found_in_everybody_and_is_no_advantage() -> None:
    found = inverted(
        Told(0.95), records(1, is_told=True), records(2, is_told=True), attribute(), CONFIDENCE
    )
    assert found.members.value == found.others.value == 1.0
    assert found.others.lower > found.without_model, "the attack works on people outside of the data"
    assert found.advantage.lower <= 0 <= found.advantage.upper


def test_what_only_members_lose_is_the_advantage() -> None:
    """The memory is wrong about nobody whom it knows, and says nothing of the others."""
    members, others = records(1, is_told=False), records(2, is_told=False)
    even = Attribute.of_categories((0, 1), np.array([0.5, 0.5]))
    found = inverted(Memory(*members), members, others, even, CONFIDENCE)
    assert found.members.value == 1.0
    assert found.others.value == pytest.approx(found.without_model, abs=0.05)
    assert found.advantage.lower > 0.2


def test_a_model_that_says_nothing_leaves_the_most_frequent_value() -> None:
    features, labels = records(3, is_told=True)
    assert (guessed(Told(0.5), features, labels, attribute()) == 0).all()


def test_the_guess_does_not_look_at_what_is_hidden() -> None:
    features, labels = records(4, is_told=True)
    before = guessed(Told(0.8), features, labels, attribute())
    features[:, :2] = features[::-1, :2]
    assert np.array_equal(guessed(Told(0.8), features, labels, attribute()), before)


def test_confidence_and_frequency_are_weighed_together() -> None:
    """By hand: 0.7 (1 - c) against 0.3 c for class 1, which is even at c = 0.7."""
    features, labels = np.array([[1.0, 0.0, 0.0]]), np.array([1])
    for confidence, expected in ((0.69, 0), (0.71, 1)):
        assert guessed(Told(confidence), features, labels, attribute()).tolist() == [expected]


def test_numbers_may_be_hidden_too() -> None:
    hidden = Attribute((0,), np.array([[0.0], [1.0]]), np.array([0.5, 0.5]))
    assert hidden.values_of(np.array([[1.0, 9.0], [0.0, 9.0]])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="none of the values"):
        hidden.values_of(np.array([[0.5, 9.0]]))


@pytest.mark.parametrize(
    ("candidates", "shares"),
    [([[0.0]], [1.0]), ([[0.0], [1.0]], [0.5]), ([[0.0], [1.0]], [1.0, 0.0]), ([[0.0], [1.0]], [0.6, 0.6])],
)
def test_an_attribute_has_two_values_with_shares(
    candidates: list[list[float]], shares: list[float]
) -> None:
    with pytest.raises(ValueError, match=r"values|share"):
        Attribute((0,), np.array(candidates), np.array(shares))
