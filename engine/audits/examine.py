"""Attacking a model that was trained, and one that memorises, and what both show."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from smalti.engine.audits.figures import AttackResult, AuditFigures, Figure
from smalti.engine.audits.plan import Audit, TrainingPlan
from smalti.engine.audits.records import TrainingRecords
from smalti.engine.audits.training import Parts
from smalti.errors import DataError, InternalError, ProblemsError
from smalti.transforms.auditing.curves import FALSE_POSITIVE_RATES, RocCurve
from smalti.transforms.auditing.epsilon_bounds import clopper_pearson_by_ranks
from smalti.transforms.auditing.limits import Figure as Limits
from smalti.transforms.auditing.limits import Outcomes, advantage, true_positive_rate
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.learning.networks import Floats
from smalti.transforms.membership.application import MembershipInference, with_planted_leak
from smalti.transforms.membership.attack import Attack, Needs
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import Classifier, TargetModel, Trainer
from smalti.transforms.membership.planted_leak import MemorisingTrainer, detection
from smalti.transforms.membership.registry import named
from smalti.transforms.membership.scored import Scored

USUAL_DELTA: Final = 1e-5
"""Of a lower bound on epsilon, where training states none."""
_POINTS: Final = 200
"""Of a curve that is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Examination:
    """Everything of an audit that is fixed before the model exists. Private."""

    audit: Audit
    """What is tried; its bounds decide nothing here, and a study has none."""
    delta: float
    """Of the lower bounds on epsilon."""
    training: DataSet
    test: DataSet
    pool: DataSet | None
    """For shadow models whose sets are disjoint from the target's."""
    trainer: Trainer
    """Of shadow models."""
    error: Fraction
    """The probability that a limit is on the wrong side."""
    seed: int
    """Draws who is audited and who is in which shadow set, for the check and for what is checked alike."""

    @property
    def confidence(self) -> float:
        """Of each limit alone."""
        return float(1 - self.error)

    def check(self) -> None:
        """Refuse what cannot be audited, before any model is trained.

        Raises:
            DataError: too little data for the confidence, classes that are missing, and the like; without
                a number of records.
        """
        rates = {one.false_positive_rate for one in self.audit.bounds} - {None}
        lowest = min((float(rate) for rate in rates if rate is not None), default=None)
        with _without_numbers():
            self._inference(_Undecided(self.training.classes)).check(self.confidence, lowest)

    def figures(self, target: Classifier, attempt: int, phase: Callable[[str], None]) -> AuditFigures:
        """Attack the model and the one that memorises.

        Args:
            target: the model.
            attempt: its number.
            phase: told of each phase.
        """
        with _without_numbers():
            return self.measured(target, attempt, phase)

    def measured(self, target: Classifier, attempt: int, phase: Callable[[str], None]) -> AuditFigures:
        """As `figures`, for whoever has the data.

        Raises:
            DataError, UsageError, ProblemsError: what cannot be audited, with numbers of records; before
                any shadow model is trained.
        """
        phase("train shadow models")
        inference = self._inference(target)
        found = inference.run(self.confidence)
        phase("plant a leak")
        planted = with_planted_leak(inference, MemorisingTrainer(self.training.classes))
        leaks = planted.run(self.confidence)
        phase("judge")
        return AuditFigures(
            attempt=attempt,
            error=str(self.error),
            shadows=self.audit.shadows,
            test_accuracy=_accuracy(target, self.test),
            train_accuracy=_accuracy(target, self.training),
            results=tuple(
                self._result(name, scored, leak)
                for (name, scored), (_, leak) in zip(found.scored, leaks.scored, strict=True)
            ),
        )

    def _inference(self, target: Classifier) -> MembershipInference:
        attacks: tuple[Attack, ...] = tuple(named(name).attack for name in self.audit.attacks)
        return MembershipInference(
            TargetModel(target, self.trainer.recipe, self.training, self.test),
            self.trainer,
            attacks,
            pool=self.pool,
            shadow_models=self.audit.shadows,
            seed=self.seed,
        )

    def _result(self, name: str, scored: Scored, leak: Scored) -> AttackResult:
        scores = scored.split()
        curve = RocCurve.of(scores)
        found = detection(leak, self.confidence)
        return AttackResult(
            attack=name,
            members=curve.members,
            non_members=curve.non_members,
            area=curve.area,
            curve=_thinned(curve),
            figures=self._measured(scores),
            finds_leak=found.is_detected,
            leak_advantage=found.advantage.lower,
        )

    def _measured(self, scores: Scores) -> tuple[Figure, ...]:
        """Every figure that may be bounded, and true positive rates at the usual rates."""
        bound = clopper_pearson_by_ranks(scores, self.delta, self.confidence).epsilon
        asked = {
            one.false_positive_rate for one in self.audit.bounds if one.false_positive_rate is not None
        }
        usual = dict.fromkeys(map(str, FALSE_POSITIVE_RATES))
        rates = sorted({*asked, *map(Decimal, usual)}, reverse=True)
        return (
            _upper("attackAdvantage", advantage(scores, self.confidence)),
            _upper("attackPrecision", self._precision(scores)),
            *(
                replace(
                    _upper("truePositiveRate", true_positive_rate(scores, float(rate), self.confidence)),
                    false_positive_rate=rate,
                )
                for rate in rates
            ),
            Figure(figure="epsilonLowerBound", value=bound, limit=self._telling(bound, scores)),
        )

    def _telling(self, bound: float, scores: Scores) -> float | None:
        """A lower bound on epsilon, where so many records can show one that a duty excludes.

        It is no upper limit: the fewer records, the lower it is. So a low one tells something only if the
        records are enough for a perfect attack to exceed the duty's bound.
        """
        perfect = Scores(np.full_like(scores.members, 1.0), np.full_like(scores.non_members, 0.0))
        reach = clopper_pearson_by_ranks(perfect, self.delta, self.confidence).epsilon
        bounds = [float(one.most) for one in self.audit.bounds if one.figure == "epsilonLowerBound"]
        return None if bounds and reach <= max(bounds) else bound

    def _precision(self, scores: Scores) -> Limits:
        """At the threshold that is best on one half, judged on the other one."""
        first, rest = scores.halves(np.random.default_rng((self.seed, 3)))
        curve = RocCurve.of(first)
        best = int(np.argmax(curve.true_positive_rates - curve.false_positive_rates))
        threshold = curve.thresholds[max(best, 1)]
        return Outcomes.at(rest, float(threshold)).precision(self.confidence)


@dataclass(frozen=True, slots=True)
class _Undecided:
    """What stands for a model before there is one."""

    classes: int

    def confidences(self, features: Floats) -> Floats:
        return np.full((len(features), self.classes), 1 / self.classes)


def prepare(
    plan: TrainingPlan, records: TrainingRecords, error: Fraction, trainer: Trainer, seed: int
) -> Examination:
    """Divide the records of an audit: those that are trained on, others, and a pool where one is needed.

    A record whose content is also trained on is no non-member, and takes no part as one.

    Args:
        plan: with an audit.
        records: of all respondents.
        error: the probability that a limit may be on the wrong side.
        trainer: of shadow models.
        seed: that the parts were drawn by.
    """
    audit = plan.audit
    if audit is None:
        raise InternalError("a model is examined that need not be")
    parts, generator = Parts.drawn(plan, records, seed), np.random.default_rng((seed, 1))
    everybody = DataSet("the data", records.features, records.labels, plan.train.classes)
    training = replace(everybody.take(np.flatnonzero(parts.trained)), name="the training data")
    others = everybody.take(generator.permutation(np.flatnonzero(parts.held_out))).without(training)
    test, pool = divided(training, others, audit.attacks)
    stated = plan.train.loss
    delta = float(stated.delta) if stated is not None and stated.delta else USUAL_DELTA
    drawn = int(generator.integers(1 << 62))
    return Examination(audit, delta, training, test, pool, trainer, error, drawn)


def divided(training: DataSet, others: DataSet, attacks: tuple[str, ...]) -> tuple[DataSet, DataSet | None]:
    """Non-members, and a pool for shadow models whose sets are disjoint, where one is needed.

    Args:
        training: what the model was trained on.
        others: records that it was not trained on, in random order.
        attacks: names of those that are tried.
    """
    needs_pool = any(Needs.SHADOW_POOL in named(name).attack.needs for name in attacks)
    size = min(len(training), len(others)) if needs_pool else len(others)
    test = replace(others.take(np.arange(size)), name="the held-out data")
    if not needs_pool:
        return test, None
    return test, replace(others.take(np.arange(size, len(others))).without(test), name="the shadow pool")


@contextmanager
def _without_numbers() -> Iterator[None]:
    """Whoever asks may read the message, and how many records there are is the owner's to know."""
    try:
        yield
    except (DataError, ProblemsError):
        raise DataError(
            "the audit",
            "the data is too little for it, or the audited records lack a class",
            "enough respondents for the confidence and the false positive rates of the duty, of each class",
            "ask for a lower confidence, a higher false positive rate or other attacks, or add data",
        ) from None


def _accuracy(target: Classifier, records: DataSet) -> float:
    predicted = target.confidences(records.features).argmax(axis=1)
    return float((predicted == records.labels).mean())


def _upper(figure: str, found: Limits) -> Figure:
    return Figure(figure=figure, value=found.value, limit=found.upper)


def _thinned(curve: RocCurve) -> tuple[tuple[float, float], ...]:
    """Some points of a curve, more of them at low rates, and both ends."""
    wrong, found = curve.false_positive_rates, curve.true_positive_rates
    if len(wrong) > _POINTS:
        marks = np.geomspace(1 / len(wrong), 1, _POINTS)
        kept = np.unique(np.r_[0, np.searchsorted(wrong, marks, side="right") - 1, len(wrong) - 1])
        wrong, found = wrong[kept], found[kept]
    return tuple(zip(wrong.tolist(), found.tolist(), strict=True))
