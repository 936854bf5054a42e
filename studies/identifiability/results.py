"""The experiments of a study, and what each of them shows.

Sums of gradients, noise and coins come from a seeded generator: nothing of it is released, and noise that
is scaled by the data's own distances gives no differential privacy.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from smalti.studies.identifiability.settings import Scale, Settings
from smalti.studies.identifiability.subject import Pair, Subject
from smalti.transforms.auditing.differential_identifiability import (
    Beliefs,
    Experiment,
    StepSensitivity,
    global_sensitivity,
    local_sensitivity,
    loss_threshold,
)
from smalti.transforms.auditing.empirical_epsilon import (
    classic_from_advantage,
    from_advantage,
    from_belief_quantile,
    from_largest_belief,
    from_sensitivities,
)
from smalti.transforms.auditing.epsilon_bounds import gaussian
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.auditing.network_gradients import LabelledRecords, Network, NetworkGradients
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.identifiability import (
    classic_gaussian_advantage,
    epsilon_for_belief,
    gaussian_advantage,
    gaussian_epsilon,
)
from smalti.transforms.learning.architecture import ConvolutionalArchitecture
from smalti.transforms.problem import Flags
from smalti.transforms.sensitivity import NeighboringRelation

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
BINS = 20
"""Of beliefs, all as wide, from 0 to 1."""
SHOWN = 3
"""Neighbours of either end whose distances are compared (the paper's Figure 4)."""


@dataclass(frozen=True, slots=True)
class Epsilons:
    """The empirical epsilons of one experiment (section 5.3), and a lower bound."""

    from_sensitivities: float
    from_largest_belief: float
    """As in the paper; no bound: it grows with repetitions."""
    from_beliefs: Figure
    """The loss that is exceeded with probability delta."""
    from_advantage: Figure
    from_advantage_as_printed: float
    """By equation 15."""
    lower_bound: float
    """Of Gaussian noise, over all thresholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One experiment: a bound of the belief, a kind of neighbours, and what the noise is a multiple of."""

    belief: float
    relation: NeighboringRelation
    scale: Scale
    epsilon: float
    """Of the belief (equation 10)."""
    delta: float
    noise_multiplier: float
    """Of a step, in sensitivities of this scale."""
    noise_epsilon: float
    """The exact epsilon of this noise at the delta, where the distance is the whole sensitivity."""
    expected_advantage: float
    """So is this; the advantage cannot be above it but by chance, where distances are within the scale."""
    printed_advantage: float
    """Theorem 2."""
    mean_belief: float
    belief_quantiles: tuple[float, ...]
    """In the data set that was used, at `QUANTILES`."""
    belief_counts: tuple[int, ...]
    """Of beliefs in it, by bins from 0 to 1."""
    above: Figure
    """The share of beliefs above the bound: the paper's delta'."""
    advantage: Figure
    loss_advantage: Figure
    """Of Yeom's adversary, who sees the trained model alone."""
    epsilons: Epsilons
    distances: tuple[float, ...]
    """Of both data sets' clipped gradient sums, over all steps and trainings, at `QUANTILES`."""
    sensitivities: tuple[float, ...]
    """What the noise was a multiple of, at `QUANTILES`."""
    accuracy: float
    """Mean over trained models, on records that were not trained on."""
    accuracy_deviation: float


@dataclass(frozen=True, slots=True)
class Neighbor:
    """How far one neighbour was during training: the paper's Figure 4."""

    relation: NeighboringRelation
    rank: int
    """From 1 by dissimilarity; negative: from the most alike on."""
    distances: tuple[float, ...]
    """At `QUANTILES`."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The results of a study."""

    settings: Settings
    name: str
    network: str
    records: int
    others: int
    cells: tuple[Cell, ...]
    neighbors: tuple[Neighbor, ...]


def identify(
    subject: Subject, settings: Settings, trained: Callable[[int], None] = lambda _: None
) -> Identified:
    """Carry out all experiments.

    Args:
        subject: the data set and the network.
        settings: what is varied.
        trained: called with a number of trainings that ended.

    Raises:
        ValueError: the dissimilarity is none of these records.
    """
    gradients = NetworkGradients(subject.network, settings.clipping_norm)
    cells, neighbors = [], []
    for relation in settings.relations:
        ranked = subject.ranked(relation, settings, max(settings.neighbors, SHOWN))
        shown = [*ranked[:SHOWN], *ranked[-SHOWN:]]
        stated = ranked[: min(settings.neighbors, len(ranked) // 2)]
        for number, (belief, scale) in enumerate(product(settings.beliefs, settings.scales)):
            experiment = _Experiments(subject, settings, gradients, relation, stated)
            compared = shown if number == 0 else []
            cell, distances = experiment.cell(belief, scale, compared, trained)
            cells.append(cell)
            ends = len(compared) // 2
            neighbors += [
                Neighbor(relation, place + 1 if place < ends else place - 2 * ends, _at(apart))
                for place, apart in enumerate(distances)
            ]
    return Identified(
        settings, subject.name, described(subject.network), len(subject.training.labels),
        len(subject.others.labels), tuple(cells), tuple(neighbors),
    )  # fmt: skip


def described(network: Network) -> str:
    """A network, in few words."""
    if isinstance(network, ConvolutionalArchitecture):
        layers = ", ".join(f"{filters} filters" for filters in network.filters)
        return f"convolutional: {network.height} x {network.width}, {layers}, {network.classes} classes"
    units = "-".join(map(str, (network.features, *network.hidden, network.classes)))
    return f"dense: {units}" + (f", {network.activation}" if network.hidden else "")


@dataclass(slots=True, eq=False)
class _Watched:
    """A sensitivity that keeps what it was asked, and how far some pairs are at the same weights."""

    sensitivity: StepSensitivity
    distances: list[StepSensitivity]
    asked: list[Floats] = field(default_factory=list)
    apart: list[list[Floats]] = field(default_factory=list)

    def __call__(self, weights: Floats) -> Floats:
        scale = self.sensitivity(weights)
        self.asked.append(scale)
        self.apart.append([distance(weights) for distance in self.distances])
        return scale


@dataclass(frozen=True, slots=True, eq=False)
class _Experiments:
    subject: Subject
    settings: Settings
    gradients: NetworkGradients
    relation: NeighboringRelation
    stated: tuple[Pair, ...]
    """The first one is to be told apart."""

    def cell(
        self, belief: float, scale: Scale, compared: list[Pair], trained: Callable[[int], None]
    ) -> tuple[Cell, list[Floats]]:
        settings, pair = self.settings, self.stated[0]
        delta = settings.delta or 1 / len(self.subject.training.labels)
        mu = settings.mu(belief, delta)
        watched = _Watched(
            self._sensitivity(scale),
            [local_sensitivity(self.gradients, [other]) for other in (pair, *compared)],
        )
        experiment = Experiment(
            pair=pair,
            gradient_sum=self.gradients,
            sensitivity=watched,
            noise_multiplier=settings.steps**0.5 / mu,
            steps=settings.steps,
            learning_rate=settings.learning_rate / len(self.subject.training.labels),
            initial_weights=self.gradients.start(settings.seed),
        )
        beliefs, accuracies, is_low = self._run(experiment, belief, scale, trained)
        apart = [np.concatenate([of[place] for of in watched.apart]) for place in range(1 + len(compared))]
        believed = beliefs.in_the_used
        cell = Cell(
            belief=belief,
            relation=self.relation,
            scale=scale,
            epsilon=epsilon_for_belief(belief),
            delta=delta,
            noise_multiplier=experiment.noise_multiplier,
            noise_epsilon=gaussian_epsilon(delta, mu),
            expected_advantage=gaussian_advantage(mu),
            printed_advantage=classic_gaussian_advantage(epsilon_for_belief(belief), delta),
            mean_belief=float(believed.mean()),
            belief_quantiles=_at(believed),
            belief_counts=tuple(map(int, np.histogram(believed, BINS, (0.0, 1.0))[0])),
            above=beliefs.chance_of_belief_above(belief, settings.confidence),
            advantage=beliefs.advantage(settings.confidence),
            loss_advantage=_loss_advantage(is_low, beliefs.first_used, settings.confidence),
            epsilons=self._epsilons(beliefs, delta),
            distances=_at(apart[0]),
            sensitivities=_at(np.concatenate(watched.asked)),
            accuracy=float(accuracies.mean()),
            accuracy_deviation=float(accuracies.std(ddof=1)),
        )
        return cell, apart[1:]

    def _run(
        self,
        experiment: Experiment[LabelledRecords],
        belief: float,
        scale: Scale,
        trained: Callable[[int], None],
    ) -> tuple[Beliefs, Floats, Flags]:
        """The beliefs, the accuracy of each model, and whether Yeom's adversary says "member"."""
        place = (self.settings.beliefs.index(belief), list(Scale).index(scale))
        kind = list(NeighboringRelation).index(self.relation)
        draw = np.random.default_rng((self.settings.seed, 1, kind, *place))
        parts, accuracies, lows = [], [], []
        for count in _groups(self.settings.repetitions, self.gradients.architecture.size):
            part = experiment.run(count, draw)
            accuracies.append(self.gradients.accuracies(part.weights, self.subject.others))
            lows.append(self._is_low(experiment.pair, part))
            parts.append(Beliefs(part.log_odds, part.first_used, part.mu, np.zeros((count, 0))))
            trained(count)
        joined = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("log_odds", "first_used", "mu", "weights")
        )
        return Beliefs(*joined), np.concatenate(accuracies), np.concatenate(lows)

    def _is_low(self, pair: Pair, part: Beliefs) -> Flags:
        own = self.gradients.losses(part.weights, pair.first_only)[:, 0]
        totals = self.gradients.losses(part.weights, pair.shared).sum(axis=1)
        used, count = part.first_used, len(pair.shared.labels) + 1
        if pair.second_only is None:
            means = (totals + np.where(used, own, 0)) / (count - 1 + used)
        else:
            other = self.gradients.losses(part.weights, pair.second_only)[:, 0]
            means = (totals + np.where(used, own, other)) / count
        low: Flags = own <= means
        return low

    def _sensitivity(self, scale: Scale) -> StepSensitivity:
        match scale:
            case Scale.GLOBAL:
                return global_sensitivity(self.settings.clipping_norm, self.relation)
            case Scale.LOCAL:
                return local_sensitivity(self.gradients, self.stated)
            case Scale.DATASET:
                return local_sensitivity(self.gradients, self.stated[:1])

    def _epsilons(self, beliefs: Beliefs, delta: float) -> Epsilons:
        confidence = self.settings.confidence
        return Epsilons(
            from_sensitivities(beliefs, delta),
            from_largest_belief(beliefs),
            from_belief_quantile(beliefs, delta, confidence),
            from_advantage(beliefs, delta, confidence),
            classic_from_advantage(beliefs, delta),
            gaussian(beliefs.scores, delta, confidence).epsilon,
        )


def _loss_advantage(is_low: Flags, used: Flags, confidence: float) -> Figure:
    return loss_threshold(np.where(is_low, 0.0, 1.0), 0.5, used).advantage(confidence)


def _at(values: Floats) -> tuple[float, ...]:
    return tuple(map(float, np.quantile(values, QUANTILES)))


def _groups(repetitions: int, size: int) -> Iterator[int]:
    together = max(1, min(100, (1 << 22) // size))
    for start in range(0, repetitions, together):
        yield min(together, repetitions - start)
