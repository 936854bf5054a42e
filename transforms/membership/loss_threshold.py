"""The loss threshold: records with a small loss are called members.

Yeom, Giacomelli, Fredrikson, Jha, "Privacy Risk in Machine Learning: Analyzing the Connection to
Overfitting", CSF 2018, Adversary 1, for the cross-entropy. The threshold is left to whoever reads the
scores.
"""

from dataclasses import dataclass
from typing import ClassVar

from smalti.transforms.membership.attack import Needs
from smalti.transforms.membership.confidences import Doubles, cross_entropy
from smalti.transforms.membership.observation import Observation


@dataclass(frozen=True, slots=True)
class LossThreshold:
    """Minus the target's loss; needs nothing but the target."""

    name: ClassVar[str] = "loss"
    needs: ClassVar[Needs] = Needs.NOTHING

    def scores(self, observation: Observation) -> Doubles:
        return -cross_entropy(observation.target, observation.labels)
