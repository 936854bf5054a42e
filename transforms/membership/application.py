"""Membership inference from the target to the scores: splits data, trains shadow models, runs attacks.

The `MIApplication` of D5.1, section 3.3. Everything that can be refused is refused by `check`, before any
model is trained.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Final

import numpy as np

from smalti.errors import DataError, SmaltiError, UsageError, raise_all
from smalti.transforms.auditing.limits import quantile_ranks
from smalti.transforms.membership.attack import Attack, Needs
from smalti.transforms.membership.confidences import Floats, checked_confidences
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import Classifier, ModelGroup, TargetModel, Trainer
from smalti.transforms.membership.observation import Observation, Population, ShadowAnswers
from smalti.transforms.membership.planted_leak import SHARE, least_records
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.shadow_sets import check_classes, check_disjoint, disjoint_sets, halves
from smalti.transforms.problem import Flags, Integers

SHADOW_MODELS: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class Attacked:
    """The results of the attacks."""

    labels: Integers
    """int[records]: the true classes of the audited records."""
    scored: tuple[tuple[str, Scored], ...]
    """By the names of the attacks, in their order; all about the same audited records."""
    on_control: tuple[tuple[str, Scored], ...] = ()
    """The same, of the control; none where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class MembershipInference:
    """Coordinates an audit of one target by several attacks (`MIApplication`).

    As many members as others are audited: all of the smaller of the target's training and test set, and a
    draw of the larger one. The seed decides everything that is drawn here; models are drawn by the trainer.
    """

    target: TargetModel
    trainer: Trainer
    """Of shadow models; its recipe must be the target's."""
    attacks: tuple[Attack, ...]
    pool: DataSet | None = None
    """For attacks with disjoint shadow models: records like the target's, and none of them the target's."""
    population: DataSet | None = None
    """For RMIA: records that no model here is trained on. Without it audited records are compared with one
    another."""
    shadow_models: int = SHADOW_MODELS
    """Of each design; an even number where audited records are in halves of the shadow training sets."""
    seed: int = 0
    control: Classifier | None = None
    """A model that was trained on the target's training set and is known to give much away (`overfitted`).
    It is attacked with the target's shadow models, and decides nothing."""

    @property
    def needs(self) -> Needs:
        """Of all attacks together."""
        return reduce(or_, (attack.needs for attack in self.attacks), Needs.NOTHING)

    def check(self, confidence: float, false_positive_rate: float | None = None) -> None:
        """Refuse what cannot be audited; trains nothing, and asks the target about a single record.

        Args:
            confidence: of the limits that are asked for, in (0, 1).
            false_positive_rate: at which a limit of the true positive rate is asked for, if one is.

        Raises:
            DataError, UsageError, ProblemsError: overlapping data, missing classes, other hyper-parameters,
                too little data for the confidence, a target that does not give confidences.
        """
        raise_all(
            [
                *self._problems_of_use(),
                *self._problems_of_data(),
                *self._problems_of_size(confidence, false_positive_rate),
            ]
        )
        if self._is_disjoint and self.pool is not None:
            sets = disjoint_sets(self.target.training, self.pool, self.shadow_models, self._draw(1))
            raise_all(check_disjoint(self.target.training, self.pool, sets))
        if self._is_halved:
            members, others, rest = self._audited()
            raise_all(
                check_classes(*self._halved_sets(members.joined("the audited records", others), rest))
            )
        _answers("the target", self.target.classifier, self.target.test.take(np.arange(1)))

    def run(self, confidence: float, false_positive_rate: float | None = None) -> Attacked:
        """Check, train shadow models, and run every attack. See `check`."""
        self.check(confidence, false_positive_rate)
        members, others, rest = self._audited()
        audited = members.joined("the audited records", others)
        is_member = np.arange(len(audited)) < len(members)
        observation = self._observed(audited, rest)
        scored = self._scored(observation, is_member)
        if self.control is None:
            return Attacked(audited.labels, scored)
        control = self._observed_instead(observation, "the control", self.control, audited)
        return Attacked(audited.labels, scored, self._scored(control, is_member))

    def _scored(self, observation: Observation, is_member: Flags) -> tuple[tuple[str, Scored], ...]:
        return tuple(
            (attack.name, Scored(attack.scores(observation), is_member)) for attack in self.attacks
        )

    def _observed_instead(
        self, observation: Observation, name: str, classifier: Classifier, audited: DataSet
    ) -> Observation:
        """What is observed where another model stands in the place of the target."""
        population = observation.population
        if population is not None and self.population is not None:
            population = replace(population, target=_answers(name, classifier, self.population))
        return replace(observation, target=_answers(name, classifier, audited), population=population)

    @property
    def _is_disjoint(self) -> bool:
        return Needs.SHADOW_POOL in self.needs

    @property
    def _is_halved(self) -> bool:
        """Whether shadow models are trained on halves of the audited records.

        Disjoint ones serve as well where only models without the audited record are needed.
        """
        return Needs.SHADOWS_IN in self.needs or (Needs.SHADOWS_OUT in self.needs and not self._is_disjoint)

    def _draw(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, purpose))

    def _audited(self) -> tuple[DataSet, DataSet, DataSet]:
        """Audited members, audited others, and the members that are not audited."""
        draw, training, test = self._draw(0), self.target.training, self.target.test
        size = min(len(training), len(test))
        mixed = draw.permutation(len(training))
        kept, rest = np.sort(mixed[:size]), np.sort(mixed[size:])
        others = np.sort(draw.permutation(len(test))[:size])
        return training.take(kept), test.take(others), training.take(rest)

    def _observed(self, audited: DataSet, rest: DataSet) -> Observation:
        shadows = population = pool = None
        group: ModelGroup | None = None
        # Before any shadow model is trained: what it gives may not be confidences.
        answers = _answers("the target", self.target.classifier, audited)
        of_population = self._answers_about_population()
        members = np.zeros((self.shadow_models, len(audited)), np.bool_)
        if self._is_disjoint and self.pool is not None:
            group, pool = self._disjoint_group(self.pool)
        if self._is_halved:
            everything, sets = self._halved_sets(audited, rest)
            group = self.trainer.train(everything.features, everything.labels, sets)
            members = sets[:, : len(audited)]
        if group is not None and Needs.SHADOWS_OUT in self.needs:
            shadows = _shadow_answers(group, audited, members)
            population = self._observed_population(group, of_population)
        return Observation(audited.labels, answers, shadows, population, pool)

    def _disjoint_group(self, pool: DataSet) -> tuple[ModelGroup, ShadowAnswers]:
        members = disjoint_sets(self.target.training, pool, self.shadow_models, self._draw(1))
        group = self.trainer.train(pool.features, pool.labels, members)
        return group, _shadow_answers(group, pool, members)

    def _halved_sets(self, audited: DataSet, rest: DataSet) -> tuple[DataSet, Flags]:
        """Each set has a half of the audited records, and all members that are not audited.

        So it is as large as the target's, which itself is such a set.
        """
        members = halves(len(audited), self.shadow_models, self._draw(2))
        not_audited = np.ones((len(members), len(rest)), np.bool_)
        return audited.joined("the shadow training data", rest), np.hstack([members, not_audited])

    def _answers_about_population(self) -> Floats | None:
        if self.population is None:
            return None
        return _answers("the target", self.target.classifier, self.population)

    def _observed_population(self, group: ModelGroup, answers: Floats | None) -> Population | None:
        if self.population is None or answers is None:
            return None
        none = np.zeros((self.shadow_models, len(self.population)), np.bool_)
        return Population(answers, _shadow_answers(group, self.population, none))

    def _problems_of_use(self) -> list[SmaltiError]:
        problems: list[SmaltiError] = []
        if not self.attacks:
            problems.append(UsageError("the audit", "no attack", "at least one"))
        if self._is_disjoint and self.pool is None:
            problems.append(
                UsageError(
                    "the audit",
                    "there is no shadow pool",
                    "records that the target was not trained on, for an attack with disjoint shadow models",
                    "give a pool, or leave the attack out",
                )
            )
        if self.needs and self.trainer.recipe != self.target.recipe:
            problems.append(
                UsageError(
                    "the shadow models",
                    "architecture or hyperparameters differ from the target's",
                    "the same for both",
                    "train shadow models with the target's recipe",
                )
            )
        if self.needs and (self.shadow_models < 1 or (self._is_halved and self.shadow_models % 2)):
            problems.append(
                UsageError(
                    "the shadow models", f"{self.shadow_models} models", "an even number, at least 2"
                )
            )
        return problems

    def _problems_of_data(self) -> list[SmaltiError]:
        training, test = self.target.training, self.target.test
        problems: list[SmaltiError] = []
        for records in (test, self.pool, self.population):
            if records is not None and (
                records.classes != training.classes
                or records.features.shape[1] != training.features.shape[1]
            ):
                problems.append(
                    DataError(records.name, "features or classes differ", f"those of {training.name}")
                )
        if problems:
            return problems
        pairs = ((test, training), (self.population, training), (self.population, test))
        return [
            _shared(records, other)
            for records, other in pairs
            if records and records.occurs_in(other).any()
        ]

    def _problems_of_size(self, confidence: float, false_positive_rate: float | None) -> list[SmaltiError]:
        size = min(len(self.target.training), len(self.target.test))
        wanted = least_records(SHARE, confidence)
        expected = ""
        if size < wanted:
            expected = f"{wanted} of each for a confidence of {confidence:g}"
        elif false_positive_rate and not quantile_ranks(size, false_positive_rate, (1 + confidence) / 2)[0]:
            # Then no threshold could be shown to be within the rate (`limits.true_positive_rate`).
            expected = f"enough for a false positive rate of {false_positive_rate:g} at this confidence"
        if not expected:
            return []
        problem = f"{size} members and as many others can be audited"
        way_out = "keep more records for the test, or ask for a lower confidence"
        return [DataError("the audit", problem, expected, way_out)]


def _shared(records: DataSet, other: DataSet) -> DataError:
    return DataError(
        records.name,
        f"{int(records.occurs_in(other).sum())} records are also in {other.name}",
        "disjoint data, by content",
        "remove these records",
    )


def _answers(where: str, classifier: Classifier, records: DataSet) -> Floats:
    answers = classifier.confidences(records.features)
    return checked_confidences(where, answers, len(records), records.classes)


def _shadow_answers(group: ModelGroup, records: DataSet, members: Flags) -> ShadowAnswers:
    answers = checked_confidences(
        "the shadow models", group.confidences(records.features), len(records), records.classes
    )
    return ShadowAnswers(records.labels, answers, members)


def with_planted_leak(audit: MembershipInference, trainer: Trainer) -> MembershipInference:
    """The same audit of a model that memorises, trained on the same records as the target.

    Args:
        audit: what is to be shown able to find a leak.
        trainer: of models that memorise: `MemorisingTrainer`, or any recipe that is known to overfit.
    """
    target = TargetModel.trained(trainer, audit.target.training, audit.target.test)
    return replace(audit, target=target, trainer=trainer, control=None)
