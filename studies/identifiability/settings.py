"""What is varied in the study, and its sizes."""

import math
from dataclasses import dataclass
from enum import StrEnum

from smalti.transforms.auditing.neighbors import Dissimilarity, Distance, StructuralDissimilarity
from smalti.transforms.identifiability import (
    classic_renyi_mu,
    epsilon_for_belief,
    mu_for_belief,
    mu_for_epsilon,
)
from smalti.transforms.sensitivity import NeighboringRelation

STRUCTURAL = "structural"
"""The dissimilarity of images; the others are distances of any records."""
DISSIMILARITIES = (*(str(distance) for distance in Distance), STRUCTURAL)


class Scale(StrEnum):
    """What the noise is a multiple of. Only the global sensitivity gives differential privacy."""

    DATASET = "dataset"
    """The distance of this data set from the neighbour that a dissimilarity chose (equations 19 and 21);
    what the paper calls local sensitivity in its figures."""
    LOCAL = "local"
    """The greatest distance from some stated neighbours: those that are most unlike it."""
    GLOBAL = "global"
    """C, or 2 C where a record is changed."""


class Calibration(StrEnum):
    """How much noise an epsilon and a delta take, in sensitivities."""

    EXACT = "exact"
    """The least noise that is (epsilon, delta)-private."""
    BELIEF = "belief"
    """The least noise whose belief exceeds the bound with probability delta, for a fixed distance."""
    PAPER = "paper"
    """By Renyi divergences with the classic conversion, as in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Of all experiments on one data set."""

    beliefs: tuple[float, ...] = (0.75, 0.9, 0.99)
    """Bounds of the posterior belief, each in (0.5, 1); epsilon follows (equation 10)."""
    delta: float | None = None
    """In (0, 1); None: one in as many records, as the paper has it."""
    relations: tuple[NeighboringRelation, ...] = tuple(NeighboringRelation)
    scales: tuple[Scale, ...] = tuple(Scale)
    calibration: Calibration = Calibration.EXACT
    clipping_norm: float = 1.0
    """C, above 0."""
    steps: int = 30
    """Each over all records."""
    learning_rate: float = 5.0
    """Of the mean gradient, by plain gradient descent; above 0."""
    records: int = 100
    """To train on, at most."""
    repetitions: int = 100
    """Trainings of each experiment; at least 20."""
    neighbors: int = 5
    """Stated for the local sensitivity; at least 1."""
    dissimilarity: str = str(Distance.EUCLIDEAN)
    """One of `DISSIMILARITIES`; the structural one is of square images."""
    confidence: float = 0.95
    """Of each limit alone."""
    seed: int = 0

    @property
    def trainings(self) -> int:
        """Of the whole study."""
        return len(self.beliefs) * len(self.relations) * len(self.scales) * self.repetitions

    def mu(self, belief: float, delta: float) -> float:
        """The distance of both data sets in noise, where it is the whole sensitivity in each step."""
        epsilon = epsilon_for_belief(belief)
        match self.calibration:
            case Calibration.EXACT:
                return mu_for_epsilon(epsilon, delta)
            case Calibration.BELIEF:
                return mu_for_belief(belief, delta)
            case Calibration.PAPER:
                return classic_renyi_mu(epsilon, delta)

    def measure(self, features: int) -> Dissimilarity:
        """The dissimilarity, for records of so many features.

        Raises:
            ValueError: it is of images, and they are not square, or too small.
        """
        if self.dissimilarity != STRUCTURAL:
            return Distance(self.dissimilarity)
        side = math.isqrt(features)
        if side * side != features:
            raise ValueError("images are square")
        return StructuralDissimilarity(side, side, 1.0)
