"""Epochs of training a network of 600-128-100; the CPU seconds of each phase as JSON.

    python benchmarks/training_job.py smalti private DATA
    python benchmarks/training_job.py smalti plain DATA
    python benchmarks/training_job.py scikit-learn plain DATA

DATA is what `trainings.data_file` writes. private: batches sampled at random, gradients clipped to 1, noise
of multiplier 1 from the operating system. plain: all records in random order, and nothing else differs.
"""

# ruff: noqa: PLC0415 (what is measured is imported in its phase)

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise

HIDDEN = 128
BATCH = 100
LEARNING_RATE = 1e-3
EPOCHS = 10
"""Of which the mean is taken, after a first one that compiles."""
PHASES = ("start", "first epoch", "epoch")
Train = Callable[[int], object]
"""Trains for some epochs from the start."""


def with_smalti(what: str, data: str) -> Train:
    """The trainer of smalti."""
    import numpy as np

    from smalti.transforms.learning.architecture import Architecture
    from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
    from smalti.transforms.learning.randomness import FromSystem
    from smalti.transforms.learning.training import train

    with np.load(data) as records:
        features, labels = records["features"].astype(np.float32), records["labels"]
    architecture = Architecture(features.shape[1], (HIDDEN,), int(labels.max()) + 1)
    private = PrivateTraining(1.0, 1.0, BATCH / len(labels)) if what == "private" else None
    everybody = np.ones((1, len(labels)), np.bool_)

    def trained(epochs: int) -> object:
        wanted = Hyperparameters(epochs, BATCH, LEARNING_RATE, Optimizer.SGD, private)
        return train(architecture, wanted, features, labels, everybody, FromSystem())

    return trained


def with_scikit_learn(what: str, data: str) -> Train:
    """The multi-layer perceptron of scikit-learn, which knows no privacy."""
    if what != "plain":
        raise ValueError("scikit-learn trains without privacy only")
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    with np.load(data) as records:
        features, labels = records["features"].astype(np.float32), records["labels"]
    warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped after some epochs

    def trained(epochs: int) -> object:
        model = MLPClassifier(
            (HIDDEN,), solver="sgd", momentum=0.0, alpha=0.0, batch_size=BATCH, max_iter=epochs,
            learning_rate_init=LEARNING_RATE, tol=0.0, n_iter_no_change=epochs + 1,
        )  # fmt: skip
        return model.fit(features, labels)

    return trained


def measured(make: Callable[[], Train]) -> dict[str, float]:
    """CPU seconds: of imports and data, of a training of one epoch, and of each epoch of a longer one."""
    clock = [time.process_time()]
    train = make()
    clock.append(time.process_time())
    for epochs in (1, EPOCHS):
        train(epochs)
        clock.append(time.process_time())
    start, first, later = (after - before for before, after in pairwise(clock))
    return dict(zip(PHASES, (start, first, later / EPOCHS), strict=True))


def main() -> None:
    """Train as the command line says."""
    tool, what, data = sys.argv[1:]
    trainer = {"smalti": with_smalti, "scikit-learn": with_scikit_learn}[tool]
    print(json.dumps(measured(lambda: trainer(what, data))))


if __name__ == "__main__":
    main()
