"""One attempt at a training: train once, audit, and end the attempt with its verdict.

The order is what protects. An attempt counts from before its model exists, and is ended as soon as there
is a verdict; a private one was charged before. A run with a checkpoint that ends before its verdict, or
between its verdict and its registration, leaves the model in there, for the one run that takes it up; a
model that is refused is removed.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from smalti.engine.binding.binding import input_hmac
from smalti.engine.binding.capability import Compiled, Produced
from smalti.engine.binding.run_inputs import RunInput
from smalti.engine.binding.run_record import (
    RunUnder,
    digests_of_inputs,
    file_name,
    published_files,
)
from smalti.engine.binding.run_request import Watch
from smalti.engine.plan.phase import Phase
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.attempts import (
    Attempt,
    AttemptReason,
    AttemptState,
    check_computable,
    error_of_attempt,
)
from smalti.engine.registry.budget import Charge
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.reading import Contents, file_digest
from smalti.engine.training.attainable import check_attainable, delta_of
from smalti.engine.training.checkpoint import Begun, Checkpoint, LearnedFrom
from smalti.engine.training.counting import (
    DIVERGED,
    NOT_MET,
    UnderWay,
    Verdict,
    begin_attempt,
    ended,
    next_attempt,
)
from smalti.engine.training.divergence import ConvergingTrainer, DivergedError, has_diverged
from smalti.engine.training.duties import check_trainings
from smalti.engine.training.examine import Examination, prepare
from smalti.engine.training.explain import notices_in
from smalti.engine.training.figures import AuditFigures, figures_from_json, verdict
from smalti.engine.training.inputs import header_of
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of, hyperparameters_of
from smalti.engine.training.records import TrainingRecords
from smalti.engine.training.report import TrainingReport
from smalti.engine.training.training import Parts, target, trainer_of
from smalti.errors import DataError
from smalti.policy.decide.decision import Reason
from smalti.transforms.learning.model_files import save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.randomness import Origin

_JUDGED: Final = (AttemptState.MET, AttemptState.NOT_MET, AttemptState.INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class Ready:
    """The inputs of a training, before a model exists."""

    plan: TrainingPlan
    run_input: RunInput
    contents: Contents
    records: TrainingRecords
    learned_from: LearnedFrom
    report: TrainingReport

    def as_of(self, at: datetime) -> "Ready":
        """The same for a training that was begun then."""
        return replace(
            self, run_input=replace(self.run_input, at=at), report=replace(self.report, withdrawn_at=at)
        )


def is_taken(under: RunUnder, ready: Ready, begun: Begun) -> bool:
    """Whether the same party requests the training under the same rule as when it was charged and counted.

    And nobody withdrew since: with such a one it could not be recorded.
    """
    charges = under.registry.ledger.budget(under.request.target).charges
    charge = next((entry for entry in charges if entry.run == begun.run), None)
    attempt = _attempt_of(under, ready.plan, begun)
    is_charged = ready.plan.train.private is None or _is_for_this(under, ready.plan, charge)
    is_counted = ready.plan.audit is None or _is_for_this(under, ready.plan, attempt)
    (read,) = ready.run_input.inputs
    withdrawn = under.registry.withdrawals.of(read.iri, read.version, since=begun.at)
    return is_charged and is_counted and not withdrawn


def _is_for_this(under: RunUnder, plan: TrainingPlan, recorded: Charge | Attempt | None) -> bool:
    if recorded is None:
        return False
    request = under.request
    requested = (
        request.asker,
        request.document.policy.uid,
        under.granted.permission.uid,
        plan_digest(plan),
    )
    return requested == (recorded.party, recorded.policy_uid, recorded.rule_uid, recorded.plan_digest)


def _attempt_of(under: RunUnder, plan: TrainingPlan, begun: Begun) -> Attempt | None:
    return next(
        (
            attempt
            for attempt in under.registry.trainings.about(plan.write.output)
            if attempt.run == begun.run
        ),
        None,
    )


def attempted(under: RunUnder, ready: Ready, kept: Checkpoint) -> Produced | Reason:
    """Train a model and judge it, after the charge."""
    seed = secrets.randbits(128)
    if ready.plan.train.private is None:
        _check(ready, seed, next_attempt(under, ready.plan))
    begun = Begun(under.stage.run, ready.run_input.at, ready.learned_from, seed)
    return _audited(under, ready, kept, begun, begin_attempt(under, ready.plan, ready.contents), None)


def taken_up(
    under: RunUnder, ready: Ready, kept: Checkpoint, begun: Begun, model: TrainedModel
) -> Produced | Reason:
    """Resume with a model that exists; nothing is judged twice."""
    ready, earlier = ready.as_of(begun.at), _attempt_of(under, ready.plan, begun)
    if earlier is None or earlier.state not in _JUDGED:
        number = 1 if earlier is None else earlier.number
        return _audited(under, ready, kept, begun, number, model)
    if earlier.state is not AttemptState.MET:
        kept.forget()
        return _not_met(under)
    return _saved(under, ready, begun, model, figures_from_json(earlier.figures))


def ready_to_train(under: RunUnder, compiled: Compiled[TrainingPlan], records: TrainingRecords) -> Ready:
    """What is known of a run before a model exists."""
    plan, run_input, contents = compiled.plan, compiled.run_input, compiled.contents
    report = TrainingReport(
        engine=under.backend.name,
        recipe=plan.train.recipe,
        inputs=digests_of_inputs(under.registry, compiled.source, contents.digests),
        timings=under.watch.timings,
        withdrawn_at=run_input.at,
        respondents_listed=run_input.circumstances.withdrawn.count,
    )
    hmacs = tuple(digest.hmac for digest in report.inputs)
    learned_from = LearnedFrom(plan_digest(plan), hmacs, _keyed_digest(under.registry, records))
    return Ready(plan, run_input, contents, records, learned_from, report)


def _keyed_digest(registry: Registry, records: TrainingRecords) -> str:
    digest = hashlib.sha256()
    for array in (records.features, records.labels):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return input_hmac(registry, digest.hexdigest())


def description_of(plan: TrainingPlan) -> Description:
    """Of the model that a plan makes."""
    return Description(architecture_of(plan), hyperparameters_of(plan), Origin.SYSTEM)


def _check_attempt(plan: TrainingPlan, attempt: int) -> None:
    """Raise PlanError where no limit of this attempt can be computed, or none decides on any data."""
    if plan.audit is not None:
        check_computable(plan.audit.confidence, attempt)
        check_trainings("the audit", plan.audit, plan.train.private, delta_of(plan.train.loss), attempt)


def check_next_attempt(under: RunUnder, plan: TrainingPlan) -> None:
    """Refuse an attempt for which no limit can be computed, before it is charged.

    Raises:
        PlanError: so it is.
    """
    _check_attempt(plan, next_attempt(under, plan))


def _examination(ready: Ready, seed: int, attempt: int) -> Examination | None:
    audit = ready.plan.audit
    if audit is None:
        return None
    _check_attempt(ready.plan, attempt)
    error = error_of_attempt(audit.confidence, attempt)
    trainer = ConvergingTrainer.like(trainer_of(ready.plan))
    return prepare(ready.plan, ready.records, error, trainer, seed)


def _check(ready: Ready, seed: int, attempt: int) -> None:
    """Raise DataError where there is too little data for the audit that is due.

    Where training is not private, also where no audit of so few records could decide or meet its bounds. A
    private training goes on there, as with more records: whether a bound can be met is told from the plan
    alone.
    """
    examination = _examination(ready, seed, attempt)
    if examination is None:
        return
    examination.check()
    if ready.plan.train.private is None:
        check_attainable(examination.audit, examination.size, examination.error)


def _audited(
    under: RunUnder,
    ready: Ready,
    kept: Checkpoint,
    begun: Begun,
    number: int,
    model: TrainedModel | None,
) -> Produced | Reason:
    """Train the model where there is none, judge it, and record or refuse it."""
    phase = _phases(under.watch, ready.plan)
    with (
        _ended(under, ready.plan, kept, begun) as attempt,
        _too_little(ready.plan, attempt),
        _diverged(ready.plan, attempt),
    ):
        if model is None:
            model = _trained(ready, begun, number, phase)
            kept.keep(begun, model)
        attempt.verdict = _judged(ready, begun, number, model, phase)
    if model is None or attempt.verdict is None or attempt.verdict.state is not AttemptState.MET:
        return _not_met(under, attempt.reason)
    return _saved(under, ready, begun, model, attempt.verdict.figures)


def _phases(watch: Watch, plan: TrainingPlan) -> Phase:
    """Told of the phases from the charge to the verdict; where those are nobody's to know, they are one.

    How far a private training comes tells whether its data was too little for its audit, or whether a
    shadow model diverged. How long it takes tells that, too: nothing here keeps it secret.
    """
    if plan.train.private is None or plan.audit is None:
        return watch.phase
    watch.phase("train and audit")
    return lambda _: None


def _trained(ready: Ready, begun: Begun, number: int, phase: Phase) -> TrainedModel:
    _check(ready, begun.seed, number)
    phase("train")
    model = target(ready.plan, ready.records, Parts.drawn(ready.plan, ready.records, begun.seed))
    if has_diverged(model):
        raise DivergedError(AttemptReason.DIVERGED)
    return model


def _judged(ready: Ready, begun: Begun, number: int, model: TrainedModel, phase: Phase) -> Verdict:
    """Examine the model, where that is due."""
    examination = _examination(ready, begun.seed, number)
    if examination is None:
        return Verdict(AttemptState.MET)
    figures = examination.figures(model, number, phase)
    decided = verdict(figures, examination.audit.bounds)
    return Verdict(decided.state, replace(figures, reasons=decided.reasons))


@contextmanager
def _too_little(plan: TrainingPlan, attempt: UnderWay) -> Iterator[None]:
    """Of a private training, that its data is too little for its audit is told to nobody who asks."""
    try:
        yield
    except DataError:
        attempt.reason = AttemptReason.TOO_LITTLE
        if plan.train.private is None or plan.audit is None:
            raise
        attempt.verdict = Verdict(AttemptState.INCONCLUSIVE, reason=attempt.reason)


@contextmanager
def _diverged(plan: TrainingPlan, attempt: UnderWay) -> Iterator[None]:
    """A private training that diverged has been charged: it ends as one that did not pass."""
    try:
        yield
    except DivergedError as error:
        attempt.reason = error.reason
        if plan.train.private is None:
            raise
        attempt.verdict = Verdict(AttemptState.INCONCLUSIVE, reason=error.reason)


@contextmanager
def _ended(under: RunUnder, plan: TrainingPlan, kept: Checkpoint, begun: Begun) -> Iterator[UnderWay]:
    """As `counting.ended`; a refused model is removed."""
    attempt = UnderWay()
    try:
        with ended(under, plan, begun.run) as attempt:
            yield attempt
    finally:
        if attempt.verdict is not None and attempt.verdict.state is not AttemptState.MET:
            kept.forget()


def _not_met(under: RunUnder, reason: AttemptReason | None = None) -> Reason:
    """That there is no model; not by how much a duty was missed, nor by which figure.

    That is the owner's to know, and so is what was found out about the data. That the released model itself
    diverged is not: it follows from the weights, which were charged.
    """
    text = DIVERGED if reason is AttemptReason.DIVERGED else NOT_MET
    return Reason(text, under.request.document.policy.uid, under.granted.permission.uid)


def _saved(
    under: RunUnder, ready: Ready, begun: Begun, model: TrainedModel, figures: AuditFigures | None
) -> Produced:
    plan = ready.plan
    path = under.stage.output / file_name(plan.write.output, plan.write.format)
    save(model, path, header_of(plan.train))
    files = published_files([path], [file_digest(path)], plan.write.format)
    return Produced(
        files=files,
        content=files[0].digest,
        report=replace(ready.report, figures=figures, charged_as=begun.run),
        notices=notices_in(plan),
        started_at=begun.at,
    )
