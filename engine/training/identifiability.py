"""Differential identifiability as a part of an audit of private training (arXiv 2103.02913).

The training is repeated, with the plan's noise, sampling and steps, on at most `MOST_RECORDS` of those that
the model was trained on, with and without one more: the record that is most unlike the others (arXiv
2103.02913, equation 18). Where neighbours change a record, another one that is most unlike it is in its
place (equation 20). Noise and clipping are the plan's, so they are those of the global sensitivity. That
the records are few changes the weights that are passed through, and no promise, which is about any data. It
is the training that is looked at, and not the one model.

The planted leak is the same training with hardly any noise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from smalti.engine.training.attacks import LEAK_NOISE, MOST_RECORDS, TRAININGS
from smalti.engine.training.figures import AttackResult, Detail, Figure
from smalti.engine.training.judge import Judge, Reached, upper
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of, hyperparameters_of
from smalti.errors import DataError, InternalError
from smalti.transforms.auditing.curves import RocCurve, thinned
from smalti.transforms.auditing.differential_identifiability import Beliefs
from smalti.transforms.auditing.empirical_epsilon import (
    from_advantage,
    from_belief_quantile,
    from_largest_belief,
    from_sensitivities,
)
from smalti.transforms.auditing.epsilon_bounds import EpsilonBound, clopper_pearson_by_ranks, gaussian
from smalti.transforms.auditing.limits import Figure as Limits
from smalti.transforms.auditing.neighbors import (
    Distance,
    NeighboringPair,
    most_dissimilar_record,
    most_dissimilar_replacement,
)
from smalti.transforms.auditing.network_gradients import LabelledRecords
from smalti.transforms.auditing.scores import Floats, Scores
from smalti.transforms.auditing.training_identifiability import TrainingExperiment
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.data import DataSet
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import NeighboringRelation

_Bound = Callable[[Scores, float, float], EpsilonBound]

NAME = "differential-identifiability"
_LEAST = 2
_COMPARED = 1000
"""Records, drawn at random, among which unlike ones are looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Identifiability:
    """What is trained again and again, and what it promised. Private."""

    architecture: Architecture
    hyperparameters: Hyperparameters
    relation: NeighboringRelation
    training: DataSet
    """What the model was trained on."""
    others: DataSet
    """Records of the same kind that it was not trained on."""
    delta: float
    """Of epsilon, and of the belief."""
    belief: float
    """That is promised not to be exceeded, but with probability delta."""
    seed: int
    """Draws records, coins, starts, batches and noise: no model of it is released."""
    trainings: int = TRAININGS

    @classmethod
    def of(cls, plan: TrainingPlan, training: DataSet, others: DataSet, seed: int) -> Self:
        """That of a plan of a private training."""
        private, loss = plan.train.private, plan.train.loss
        if private is None or loss is None:
            raise InternalError("the noise of a training is examined that has none")
        return cls(
            architecture_of(plan),
            hyperparameters_of(plan),
            private.neighbors,
            training,
            others,
            float(loss.delta),
            loss.belief,
            seed,
        )

    def check(self) -> None:
        """Refuse too few records.

        Raises:
            DataError: there is no pair of neighbouring data sets.
        """
        if len(self.training) < _LEAST or not len(self.others):
            raise DataError(NAME, "there are no neighbouring data sets", "two members, and another record")

    def result(self, judge: Judge) -> AttackResult:
        """What the adversary achieved, with the noise and with hardly any."""
        beliefs = self._beliefs(self.hyperparameters, 0)
        leak = self._beliefs(replace(self.hyperparameters, private=self._leaking()), 1)
        planted = leak.advantage(judge.confidence)
        curve = RocCurve.of(beliefs.scores)
        return AttackResult(
            attack=NAME,
            members=curve.members,
            non_members=curve.non_members,
            area=curve.area,
            curve=thinned(curve),
            figures=(
                upper("attackAdvantage", beliefs.advantage(judge.confidence)),
                self._lower_bound(beliefs.scores, judge),
            ),
            finds_leak=planted.lower > 0,
            leak_advantage=planted.lower,
            details=(*self._of_beliefs(beliefs, judge), *self._epsilons(beliefs, judge)),
        )

    @property
    def _private(self) -> PrivateTraining:
        if self.hyperparameters.private is None:
            raise InternalError("the noise of a training is examined that has none")
        return self.hyperparameters.private

    @property
    def _is_gaussian(self) -> bool:
        """Whether each step takes all records, so that the loss is that of Gaussian noise."""
        return self._private.sampling_rate == 1

    def _leaking(self) -> PrivateTraining:
        return replace(self._private, noise_multiplier=min(LEAK_NOISE, self._private.noise_multiplier))

    def _beliefs(self, hyperparameters: Hyperparameters, purpose: int) -> Beliefs:
        experiment = TrainingExperiment(self.architecture, hyperparameters, self._pair())
        coins, noise = np.random.SeedSequence((self.seed, purpose)).spawn(2)
        seed = int.from_bytes(noise.generate_state(4).tobytes())
        return experiment.run(self.trainings, np.random.default_rng(coins), Seeded(seed))

    def _pair(self) -> NeighboringPair[LabelledRecords]:
        draw = np.random.default_rng((self.seed, 2))
        members, others = (_some(records, _COMPARED, draw) for records in (self.training, self.others))
        euclidean, points, replacing = Distance.EUCLIDEAN, _seen(members), None
        if self.relation is NeighboringRelation.CHANGE_ONE:
            odd, other = most_dissimilar_replacement(points, _seen(others), euclidean)
            replacing = _labelled(others, np.array([other]))
        else:
            odd = most_dissimilar_record(points, euclidean)
        rest = draw.permutation(np.delete(np.arange(len(members)), odd))[:MOST_RECORDS]
        return NeighboringPair(_labelled(members, rest), _labelled(members, np.array([odd])), replacing)

    def _lower_bound(self, scores: Scores, judge: Judge) -> Figure:
        """Trainings are independent of one another, so what takes scores for that holds here."""
        perfect = Scores(np.ones_like(scores.members), np.zeros_like(scores.non_members))
        methods: list[_Bound] = [clopper_pearson_by_ranks]
        each = judge.confidence
        if self._is_gaussian:
            methods.append(gaussian)
            each = judge.confidence_of_each
        return judge.lower_bound([
            Reached(method(scores, self.delta, each), method(perfect, self.delta, each).epsilon)
            for method in methods
        ])  # fmt: skip

    def _of_beliefs(self, beliefs: Beliefs, judge: Judge) -> tuple[Detail, ...]:
        believed = beliefs.in_the_used
        shown = (
            Detail(name="posterior belief in the right data set: mean", value=float(believed.mean())),
            Detail(name="posterior belief in the right data set: largest", value=float(believed.max())),
        )
        if not 0.5 < self.belief < 1:
            return shown
        above = beliefs.chance_of_belief_above(self.belief, judge.confidence)
        name = f"share of beliefs above {self.belief:.6g}, promised to be at most {self.delta:g}"
        return (*shown, _detail(name, above))

    def _epsilons(self, beliefs: Beliefs, judge: Judge) -> tuple[Detail, ...]:
        """The empirical epsilons of the paper (section 5.3); two of them are of Gaussian noise alone."""
        details = [
            Detail(
                name="empirical epsilon, of the largest belief (no lower bound: it grows with trainings)",
                value=from_largest_belief(beliefs),
            ),
            _detail(
                f"empirical epsilon, exceeded by losses with probability {self.delta:g}",
                from_belief_quantile(beliefs, self.delta, judge.confidence),
            ),
        ]
        if self._is_gaussian:
            details += [
                Detail(
                    name="empirical epsilon, of the distance of both data sets (this pair, these runs)",
                    value=from_sensitivities(beliefs, self.delta),
                ),
                _detail(
                    "empirical epsilon, of the advantage (its lower limit is a lower bound)",
                    from_advantage(beliefs, self.delta, judge.confidence),
                ),
            ]
        return tuple(details)


def _some(records: DataSet, most: int, draw: np.random.Generator) -> DataSet:
    return records.take(draw.permutation(len(records))[:most])


def _seen(records: DataSet) -> Floats:
    """What dissimilarity is about: the features, and the class as one number for each."""
    classes = np.eye(records.classes)[records.labels]
    return np.hstack([records.features, classes])


def _labelled(records: DataSet, places: Integers) -> LabelledRecords:
    return LabelledRecords(records.features[places].astype(np.float32), records.labels[places])


def _detail(name: str, limits: Limits) -> Detail:
    lower, above = (limit if np.isfinite(limit) else None for limit in (limits.lower, limits.upper))
    return Detail(name=name, value=limits.value, lower=lower, upper=above)
