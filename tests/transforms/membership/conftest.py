"""A small task whose records can be memorised, and recipes that do so, or do not."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import EstimatorTrainer

CLASSES = 3
FEATURES = 100

Draw = Callable[..., DataSet]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of linear algebra wait for one another where others use the machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def draw_records() -> Draw:
    """Records of three classes that differ little: a model of many weights learns them by heart."""
    centres = np.random.default_rng(99).normal(size=(CLASSES, FEATURES)) * 0.25

    def drawn(name: str, records: int, seed: int, classes: int = CLASSES) -> DataSet:
        draw = np.random.default_rng(seed)
        labels = np.arange(records) % classes
        return DataSet(name, centres[labels] + draw.normal(size=(records, FEATURES)), labels, classes)

    return drawn


@pytest.fixture(scope="session")
def overfitted() -> EstimatorTrainer:
    return EstimatorTrainer(lambda _: LinearDiscriminantAnalysis(), CLASSES, "linear discriminants")


@pytest.fixture(scope="session")
def general() -> EstimatorTrainer:
    """It sees two features only, so that each record weighs little.

    Regularisation would not do: without noise, attacks find the least differences.
    """
    two = FunctionTransformer(lambda features: features[:, :2])
    return EstimatorTrainer(
        lambda _: make_pipeline(two, LinearDiscriminantAnalysis()), CLASSES, "discriminants of two features"
    )
