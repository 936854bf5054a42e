"""Figures against scikit-learn, on scores with many ties and on decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.confidences import cross_entropy

few = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
many = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)
groups = st.one_of(few, many)


def labelled(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    truth = np.r_[np.ones(scores.members.size), np.zeros(scores.non_members.size)]
    return truth, np.r_[scores.members, scores.non_members]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(groups, groups)
def test_curves(members: list[float], non_members: list[float]) -> None:
    scores = Scores.of(members, non_members)
    curve = RocCurve.of(scores)
    wrong, found, thresholds = metrics.roc_curve(*labelled(scores), drop_intermediate=False)
    np.testing.assert_array_equal(curve.false_positive_rates, wrong)
    np.testing.assert_array_equal(curve.true_positive_rates, found)
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[1:])
    assert curve.area == pytest.approx(metrics.roc_auc_score(*labelled(scores)), rel=1e-12, abs=1e-12)
    best = max(
        metrics.balanced_accuracy_score(truth, given >= threshold)
        for truth, given in [labelled(scores)]
        for threshold in [*thresholds[1:], np.inf]
    )
    assert curve.advantage == pytest.approx(2 * best - 1, abs=1e-12)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 40))
def test_outcomes_of_as_many_members_as_others(data: st.DataObject, size: int) -> None:
    members, non_members = (
        data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)) for _ in range(2)
    )
    scores = Scores.of(members, non_members)
    truth, given_scores = labelled(scores)
    said = given_scores >= 0.5
    outcomes = Outcomes.at(scores, 0.5)
    assert outcomes.recall(0.95).value == pytest.approx(metrics.recall_score(truth, said))
    accuracy = metrics.balanced_accuracy_score(truth, said)
    assert outcomes.advantage(0.95).value == pytest.approx(2 * accuracy - 1, abs=1e-12)
    precision = outcomes.precision(0.95).value
    if said.any():
        assert precision == pytest.approx(metrics.precision_score(truth, said))
    else:
        assert precision is None


def test_losses() -> None:
    draw = np.random.default_rng(2)
    confidences, labels = draw.dirichlet(np.full(4, 0.3), 500), draw.integers(0, 4, 500)
    found = cross_entropy(confidences, labels).mean()
    assert found == pytest.approx(metrics.log_loss(labels, confidences, labels=range(4)), rel=1e-9)
