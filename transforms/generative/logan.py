"""LOGAN's black-box attack: adversarial networks are trained on samples, and their discriminator is asked.

Hayes, Melis, Danezis, De Cristofaro, "LOGAN: Membership Inference Attacks Against Generative Models",
PoPETs 2019; D5.2, 4.4.4. What a model that overfits writes is near its training records, and so is what
the auxiliary discriminator takes for records.
"""

from typing import Final

import numpy as np

from smalti.transforms.generative.models import discriminator
from smalti.transforms.generative.sampler import Numbers
from smalti.transforms.learning.adversarial import Adversarial
from smalti.transforms.learning.generative_models import train_generative
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.randomness import Randomness
from smalti.transforms.membership.confidences import Doubles

AUXILIARY: Final = Hyperparameters(epochs=20, batch_size=128, learning_rate=1e-3)
"""With a rate of 2e-4, 40 records of 200 random bits were not found in 2,000 copies of them."""
LARGEST: Final = 10_000
"""Samples that the auxiliary networks are trained on, at most."""


class AuxiliarySamples:
    """Keeps the first samples for the auxiliary networks."""

    def __init__(self, most: int = LARGEST) -> None:
        """Nothing is drawn.

        Args:
            most: samples that are kept.
        """
        self._most, self._parts, self._count = most, list[Numbers](), 0

    def add(self, samples: Numbers) -> None:
        """Take a block, while there is room."""
        part = samples.take(np.flatnonzero(samples.labels >= 0)[: self._most - self._count])
        if len(part):
            self._parts.append(part)
            self._count += len(part)

    @property
    def kept(self) -> Numbers:
        """All that was kept."""
        return Numbers(
            np.concatenate([part.features for part in self._parts]),
            np.concatenate([part.labels for part in self._parts]),
        )


def auxiliary_discriminator(
    samples: Numbers,
    audited: Numbers,
    classes: int,
    randomness: Randomness,
    hyperparameters: Hyperparameters = AUXILIARY,
) -> Doubles:
    """The scores of records by adversarial networks that were trained on samples.

    Numbers are scaled by the range of the samples, which is all that the adversary knows.

    Args:
        samples: of the model.
        audited: the records.
        classes: labels, at least 1.
        randomness: of the auxiliary training.
        hyperparameters: of it.
    """
    least, most = samples.features.min(axis=0), samples.features.max(axis=0)
    wide = np.maximum(most - least, np.finfo(np.float32).tiny)

    def scaled(records: Numbers) -> Numbers:
        return Numbers(np.clip((records.features - least) / wide, 0, 1), records.labels)

    inside = scaled(samples)
    everybody = np.ones((1, len(samples)), np.bool_)
    records = inside.features, inside.labels
    network = Adversarial(samples.features.shape[1], max(1, classes))
    (model,) = train_generative(network, hyperparameters, records, everybody, randomness)
    return discriminator(model, scaled(audited))
