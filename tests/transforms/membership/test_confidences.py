"""Confidences: what is refused of them, and the losses and logits that attacks read."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import DataError
from smalti.transforms.membership.confidences import (
    LEAST_CONFIDENCE,
    SUM_TOLERANCE,
    checked_confidences,
    checked_labels,
    cross_entropy,
    logit_scaled,
    of_true_class,
    softmax,
)

LABELS = np.array([1, 0])
GOOD = np.array([[0.25, 0.75], [0.5, 0.5]])
CANARY = 0.8123456789


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array([[1, 0], [0, 1]]), "of type int64"),
        (GOOD[0], "have the shape 2;"),
        (GOOD[:1], "have the shape 1 x 2;"),
        (np.ones((2, 3)) / 3, "have the shape 2 x 3;"),
        (np.array([[CANARY, np.nan], [0.5, 0.5]]), "of 1 record are not finite"),
        (np.array([[np.inf, CANARY], [np.inf, 0.5]]), "of 2 records are not finite"),
        (np.array([[1 + CANARY, -CANARY], [0.5, 0.5]]), "of 1 record are not probabilities"),
        (np.array([[CANARY, 0.5], [0.5, 0.5]]), "of 1 record do not sum to one"),
        (np.array([[0.5, 0.5 - 2 * SUM_TOLERANCE], [0.5, 0.5]]), "of 1 record do not sum to one"),
    ],
)
def test_bad_confidences_are_refused_without_a_value(given: np.ndarray, message: str) -> None:
    with pytest.raises(DataError) as raised:
        checked_confidences("the target", given, 2, 2)
    assert message in str(raised.value)
    assert str(raised.value).startswith("the target: ")
    assert "0.81" not in str(raised.value)


def test_the_tolerance_takes_rounded_floats_of_16_bits() -> None:
    given = softmax(np.random.default_rng(0).normal(size=(50, 1000))).astype(np.float16)
    assert checked_confidences("the target", given, 50, 1000) is given


def test_confidences_of_several_models_are_checked_together() -> None:
    assert checked_confidences("the shadow models", np.stack([GOOD, GOOD]), 2, 2).shape == (2, 2, 2)
    with pytest.raises(DataError, match="of 1 record do not"):
        checked_confidences("the shadow models", np.stack([GOOD, GOOD * [[1], [0.5]]]), 2, 2)


@pytest.mark.parametrize(
    "labels", [np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([0, 2]), np.array([-1, 0])]
)
def test_bad_labels_are_refused(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match="classes numbered from 0"):
        checked_labels("the records", labels, 2)


def test_losses_and_logits_by_hand() -> None:
    assert of_true_class(GOOD, LABELS).tolist() == [0.75, 0.5]
    assert cross_entropy(GOOD, LABELS) == pytest.approx([-np.log(0.75), np.log(2)])
    assert logit_scaled(GOOD, LABELS) == pytest.approx([np.log(3), 0])
    three = np.array([[0.2, 0.7, 0.1], [0.2, 0.7, 0.1]])
    assert logit_scaled(three, LABELS) == pytest.approx([np.log(0.7 / 0.3), np.log(0.2 / 0.8)])
    assert logit_scaled(np.stack([three, three]), LABELS)[1] == pytest.approx(logit_scaled(three, LABELS))


@settings(max_examples=examples(50))
@given(st.floats(-80, 80), st.sampled_from([np.float32, np.float64]))
def test_logits_keep_their_digits_where_the_confidence_is_near_one(logit: float, kind: type) -> None:
    """1 - p would be 0 in float64 from a logit of 37 on, and from 17 on in float32."""
    given = softmax(np.array([[0.0, logit]], np.float64)).astype(kind)
    assert logit_scaled(given, np.array([1]))[0] == pytest.approx(logit, rel=1e-5, abs=1e-6)


def test_certain_confidences_have_finite_losses_and_logits() -> None:
    certain = np.array([[0.0, 1.0], [0.0, 1.0]])
    bound = -np.log(LEAST_CONFIDENCE)
    assert logit_scaled(certain, LABELS) == pytest.approx([bound, -bound])
    assert cross_entropy(certain, LABELS) == pytest.approx([0, bound])


@settings(max_examples=examples(50))
@given(st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=5), st.floats(-1e3, 1e3))
def test_softmax_is_a_distribution_that_a_shift_does_not_change(logits: list[float], shift: float) -> None:
    shares = softmax(np.array([logits]))
    assert checked_confidences("softmax", shares, 1, len(logits)) is shares
    assert softmax(np.array([logits]) + shift) == pytest.approx(shares, abs=1e-9)
