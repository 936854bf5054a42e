"""A second control: a network of the target's form that is overfitted on purpose, on the target's records.

The planted leak (`planted_leak`) shows that an attack would notice records that are recalled. A network
gives records away otherwise: it is surer of some of them by more or less. What an attack achieves on a
network that was trained without noise, and for long, says how well it reads that.

It is shown beside the figures of an attack, and decides nothing. A small network cannot memorise, however
long it is trained: then the attack achieves little for no fault of its own, and a condition on it would
refuse the models that give least away. The shadow models are the target's and not trained as long: so
attacks that compare with them may achieve much less than with shadow models of its own (measured in
`docs/membership-inference.md`), and it says most of attacks that need none.
"""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from smalti.transforms.learning.hyperparameters import Optimizer
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.network_trainer import NetworkTrainer

STEPS: Final = 5000
"""Steps of its training, at least: 5 s of CPU for 600-128-100."""
BATCH: Final = 200
LEARNING_RATE: Final = 0.02
"""Both at least, and with Adam: at D5.2's 0.001 and 100, a network of 128 units memorises little in this
time (an advantage of 0.09 instead of 0.30, on a survey with 700 members)."""
_COMMON: Final = 256


def overfitted(trainer: NetworkTrainer, training: DataSet) -> TrainedModel:
    """Train the control: the architecture of the target, without noise, and for `STEPS` steps at least.

    It is private, as the records are, whatever the target is: it must leave the audit as figures only.

    Args:
        trainer: of the target.
        training: the target's training set; at least one record.
    """
    wanted = trainer.hyperparameters
    size = max(wanted.batch_size, BATCH)
    rate = wanted.learning_rate if wanted.optimizer is Optimizer.ADAM else LEARNING_RATE
    longer = replace(
        wanted,
        epochs=max(wanted.epochs, min(math.ceil(STEPS * size / len(training)), STEPS)),
        batch_size=size,
        learning_rate=max(rate, LEARNING_RATE),
        optimizer=Optimizer.ADAM,
        private=None,
    )
    # A training is compiled for a number of records: rows that nobody is trained on make it a common one.
    added = -len(training) % _COMMON
    features = np.pad(training.features, ((0, added), (0, 0)))
    labels = np.pad(training.labels, (0, added))
    members = np.arange(len(labels)) < len(training)
    control = NetworkTrainer(trainer.architecture, longer, trainer.randomness)
    return control.train(features, labels, members[None])[0]
