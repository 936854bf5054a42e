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

from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.network_trainer import NetworkTrainer

STEPS: Final = 2000
"""Steps of its training, at least: 1 s of CPU for batches of 100 on 600-128-100."""


def overfitted(trainer: NetworkTrainer, training: DataSet) -> TrainedModel:
    """Train the control: the architecture of the target, without noise, and for `STEPS` steps at least.

    It is private, as the records are, whatever the target is: it must leave the audit as figures only.

    Args:
        trainer: of the target.
        training: the target's training set; at least one record.
    """
    wanted = trainer.hyperparameters
    epochs = math.ceil(STEPS * wanted.batch_size / len(training))
    longer = replace(wanted, private=None, epochs=max(wanted.epochs, min(epochs, STEPS)))
    everybody = np.ones((1, len(training)), np.bool_)
    made = NetworkTrainer(trainer.architecture, longer, trainer.randomness)
    return made.train(training.features, training.labels, everybody)[0]
