"""Records of an audit, and which of them are the same by content."""

import numpy as np
import pytest

from smalti.errors import DataError
from smalti.transforms.membership.data import DataSet

FEATURES = np.array([[0.5, 1.0], [0.5, 2.0], [0.5, 1.0]])
LABELS = np.array([0, 1, 0])


def data(features: np.ndarray = FEATURES, labels: np.ndarray = LABELS, name: str = "records") -> DataSet:
    return DataSet(name, features, labels, 2)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (FEATURES.astype(int), LABELS, "not a table of floats"),
        (FEATURES[0], LABELS, "not a table of floats"),
        (FEATURES[:, :0], LABELS, "not a table of floats"),
        (FEATURES, LABELS[:2], "3 records have 2 labels"),
        (np.where(FEATURES == 2, np.nan, FEATURES), LABELS, "1 records have features that are not finite"),
        (FEATURES, LABELS + 1, "2 labels are none|1 labels are none"),
        (FEATURES, LABELS.astype(float), "not one whole number"),
    ],
)
def test_bad_records_are_refused(features: np.ndarray, labels: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        data(features, labels)


def test_one_class_is_too_few() -> None:
    with pytest.raises(DataError, match="at least two"):
        DataSet("records", FEATURES, np.zeros(3, int), 1)


def test_content_is_compared_and_not_position() -> None:
    others = data(FEATURES[[2, 1]], LABELS[[2, 1]])
    assert data().occurs_in(others).all()
    assert data().occurs_in(data(FEATURES[[1]], LABELS[[1]])).tolist() == [False, True, False]
    assert data().without(data(FEATURES[:1], LABELS[:1])).labels.tolist() == [1]


def test_content_is_features_as_doubles_with_the_label() -> None:
    assert data().digests() == data(FEATURES.astype(np.float32)).digests()
    assert data(-0.0 * FEATURES).digests() == data(0.0 * FEATURES).digests()
    assert not data().occurs_in(data(labels=1 - LABELS)).any()
    first, second, third = data().digests()
    assert first == third != second


def test_taking_and_joining() -> None:
    joined = data().take(np.array([1])).joined("both", data())
    assert joined.name == "both"
    assert joined.labels.tolist() == [1, 0, 1, 0]
    assert joined.features[0].tolist() == [0.5, 2.0]
    assert joined.class_counts.tolist() == [2, 2]
    assert len(joined) == 4
