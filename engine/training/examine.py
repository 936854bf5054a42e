"""Attack a trained model and one that memorises, and measure both."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from smalti.engine.training.attacks import SET_SIZE, of_family
from smalti.engine.training.attainable import Size, delta_of
from smalti.engine.training.canaries import FAIR, Canaries
from smalti.engine.training.divergence import has_diverged
from smalti.engine.training.figures import AttackResult, AuditFigures
from smalti.engine.training.identifiability import Identifiability
from smalti.engine.training.inversion import Inversion
from smalti.engine.training.judge import Judge
from smalti.engine.training.plan import Audit, TrainingPlan
from smalti.engine.training.records import TrainingRecords
from smalti.engine.training.training import Parts
from smalti.errors import DataError, InternalError, ProblemsError
from smalti.transforms.learning.networks import Floats
from smalti.transforms.membership.application import MembershipInference, with_planted_leak
from smalti.transforms.membership.attack import Needs
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import Classifier, TargetModel, Trainer
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.membership.overfitted import overfitted
from smalti.transforms.membership.planted_leak import MemorisingTrainer
from smalti.transforms.membership.registry import NamedAttack, named
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.set_membership import least_records
from smalti.vocab.attacks import Family


@dataclass(frozen=True, slots=True, eq=False)
class Examination:
    """The part of an audit that is fixed before the model exists. Private."""

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
    canaries: Canaries | None = None
    """All respondents, where each was trained on by a fair coin of their own."""
    inversion: Inversion | None = None
    """Where attributes are guessed."""
    identifiability: Identifiability | None = None
    """Where the training is repeated."""

    @property
    def confidence(self) -> float:
        """Of each limit alone."""
        return float(1 - self.error)

    @property
    def size(self) -> Size:
        """What limits depend on before there is a model."""
        included = None if self.canaries is None else self.canaries.included
        return Size(len(self.training), len(self.test), self.delta, included)

    def check(self) -> None:
        """Refuse what cannot be audited, before any model is trained.

        Raises:
            DataError: too little data for the confidence, classes that are missing, and the like; without
                a number of records.
        """
        with _without_numbers():
            if self._named:
                rates = [bound.false_positive_rate for bound in self.audit.bounds]
                lowest = min((float(rate) for rate in rates if rate is not None), default=None)
                self._inference(_Undecided(self.training.classes)).check(self.confidence, lowest)
            self._check_size()
            for part in (self.inversion, self.identifiability):
                if part is not None:
                    part.check()

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
        results = self._by_scores(target, phase) if self._named else {}
        if self.inversion is not None:
            phase("guess attributes")
            memoriser = MemorisingTrainer(self.training.classes)
            leak = TargetModel.trained(memoriser, self.training, self.test).classifier
            result = self.inversion.result(target, leak, self.confidence)
            results[result.attack] = result
        if self.identifiability is not None:
            phase("repeat the training")
            result = self.identifiability.result(self._judge)
            results[result.attack] = result
        return AuditFigures(
            attempt=attempt,
            error=str(self.error),
            shadows=self.audit.shadows,
            test_accuracy=_accuracy(target, self.test),
            train_accuracy=_accuracy(target, self.training),
            results=tuple(results[name] for name in self.audit.attacks),
        )

    @property
    def _named(self) -> tuple[NamedAttack, ...]:
        """The attacks that score records, in the order of their names."""
        wanted = of_family(self.audit.attacks, Family.RECORDS, Family.REPEATED)
        return tuple(named(name) for name in wanted)

    @property
    def _judge(self) -> Judge:
        return Judge(self.audit, self.delta, self.confidence, self.seed)

    def _by_scores(self, target: Classifier, phase: Callable[[str], None]) -> dict[str, AttackResult]:
        asks_shadows = any(entry.attack.needs for entry in self._named)
        phase("train shadow models" if asks_shadows else "attack the model")
        inference = replace(self._inference(target), control=self._overfitted())
        inferred = inference.run(self.confidence)
        on_control = dict(inferred.on_control)
        phase("plant a leak")
        planted = with_planted_leak(inference, MemorisingTrainer(self.training.classes))
        leaks = planted.run(self.confidence)
        phase("judge")
        return {
            entry.name: self._judged(target, entry, scored, leak, on_control.get(entry.name))
            for entry, (_, scored), (_, leak) in zip(
                self._named, inferred.scored, leaks.scored, strict=True
            )
        }

    def _overfitted(self) -> Classifier | None:
        """A second control, where an attack on records reads the model alone; one that diverged is none."""
        if not isinstance(self.trainer, NetworkTrainer) or not any(map(_reads_alone, self._named)):
            return None
        control = overfitted(self.trainer, self.training)
        return None if has_diverged(control) else control

    def _judged(
        self,
        target: Classifier,
        entry: NamedAttack,
        scored: Scored,
        leak: Scored,
        on_control: Scored | None,
    ) -> AttackResult:
        judge = self._judge
        if entry.judged_as is not None:
            return judge.repeatedly(entry.name, entry.judged_as, scored, leak)
        canaries = None
        if self.canaries is not None and self.canaries.suit(entry.attack):
            canaries = self.canaries.bound(entry.attack, target, self.delta, judge.confidence_of_each)
        shown = on_control if _reads_alone(entry) else None
        return judge.by_record(entry.name, scored, leak, canaries, shown)

    def _check_size(self) -> None:
        """Refuse too few records for attacks on many at once, which could not find the planted leak."""
        size = min(len(self.training), len(self.test))
        for entry in self._named:
            wanted = (
                0 if entry.judged_as is None else least_records(entry.judged_as, self.confidence, SET_SIZE)
            )
            if size < wanted:
                raise DataError(
                    entry.name,
                    f"{size} members and as many others can be audited",
                    f"{wanted} of each for a confidence of {self.confidence:g}",
                    "keep more records for the test, or ask for a lower confidence",
                )

    def _inference(self, target: Classifier) -> MembershipInference:
        return MembershipInference(
            TargetModel(target, self.trainer.recipe, self.training, self.test),
            self.trainer,
            tuple(entry.attack for entry in self._named),
            pool=self.pool,
            shadow_models=self.audit.shadows,
            seed=self.seed,
        )


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
    drawn = int(generator.integers(1 << 62))
    tried = {family for family in Family if of_family(audit.attacks, family)}
    return Examination(
        audit,
        delta_of(plan.train.loss),
        training,
        test,
        pool,
        trainer,
        error,
        drawn,
        Canaries(everybody, parts.trained) if Fraction(plan.train.part) == FAIR else None,
        Inversion.of(plan, training, test) if Family.INVERSION in tried else None,
        Identifiability.of(plan, training, test, drawn) if Family.IDENTIFIABILITY in tried else None,
    )


def divided(training: DataSet, others: DataSet, attacks: tuple[str, ...]) -> tuple[DataSet, DataSet | None]:
    """Non-members, and a pool for shadow models whose sets are disjoint, where one is needed.

    Args:
        training: what the model was trained on.
        others: records that it was not trained on, in random order.
        attacks: names of those that are tried.
    """
    scoring = of_family(attacks, Family.RECORDS, Family.REPEATED)
    needs_pool = any(Needs.SHADOW_POOL in named(name).attack.needs for name in scoring)
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
            "the data is too little, or a class is missing from the audited records",
            "enough respondents for the confidence and the false positive rates of the duty, of each class",
            "ask for a lower confidence, a higher false positive rate or other attacks, or add data",
        ) from None


def _reads_alone(entry: NamedAttack) -> bool:
    """Whether an attack on single records asks nobody but the model."""
    return entry.judged_as is None and not entry.attack.needs


def _accuracy(target: Classifier, records: DataSet) -> float:
    predicted = target.confidences(records.features).argmax(axis=1)
    return float((predicted == records.labels).mean())
