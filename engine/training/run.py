"""The run of a training, from beginning to end: compile, charge, train once, audit, record or refuse.

The order is what protects. A private training is charged before anything random is drawn for it, and before
anything is found out about its data; an attempt counts from before its model exists, and is ended as soon
as there is a verdict. What was trained is readable only as the one output that is published, and only where
the duty to audit is met; whatever ends a run before that leaves no target. A run with a checkpoint that
ends before its verdict, or between its verdict and its registration, leaves the model in there, for the one
run that takes it up; a model that is refused is removed.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np

from smalti.engine.anonymization.execute import Phase
from smalti.engine.binding.binding import input_hmac
from smalti.engine.binding.run_inputs import Given, admit, bound, check_unchanged, given
from smalti.engine.binding.run_record import (
    Promised,
    RunUnder,
    digests_of_inputs,
    file_name,
    new_version,
    published_files,
)
from smalti.engine.binding.run_request import Outcome, Watch, refuse_options_of_rows
from smalti.engine.losses.certified import charged_run
from smalti.engine.losses.charging import composition, memberships_said, refusal
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.attempts import (
    Attempt,
    AttemptReason,
    AttemptState,
    check_computable,
    error_of_attempt,
    to_record,
)
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.budget import Charge
from smalti.engine.registry.commit import publish
from smalti.engine.registry.registry import Registry
from smalti.engine.run.explain import warnings_in
from smalti.engine.tables.reading import Contents, file_digest
from smalti.engine.training.attainable import check_attainable, delta_of
from smalti.engine.training.checkpoint import Begun, Checkpoint, LearnedFrom
from smalti.engine.training.compile import compile_training
from smalti.engine.training.divergence import ConvergingTrainer, DivergedError, has_diverged
from smalti.engine.training.duties import check_trainings
from smalti.engine.training.examine import Examination, prepare
from smalti.engine.training.figures import AuditFigures, figures_from_json, figures_to_json, verdict
from smalti.engine.training.guarantee import guarantee_of
from smalti.engine.training.inputs import header_of
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of, hyperparameters_of
from smalti.engine.training.records import TrainingRecords, training_records
from smalti.engine.training.report import TrainingReport
from smalti.engine.training.training import Parts, target, trainer_of
from smalti.errors import BackendError, DataError, UsageError
from smalti.policy.decision import Decision, Reason
from smalti.transforms.learning.model_files import save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.randomness import Origin

_JUDGED: Final = (AttemptState.MET, AttemptState.NOT_MET, AttemptState.INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Everything that is known before a model exists."""

    plan: TrainingPlan
    known: Given
    records: TrainingRecords
    learned_from: LearnedFrom
    report: TrainingReport

    def as_of(self, at: datetime) -> "_Ready":
        """The same for a training that was begun then: who withdrew since keeps it from being recorded."""
        report = replace(self.report, withdrawn_at=at)
        return replace(self, known=replace(self.known, at=at), report=report)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What is said of a model, and what from."""

    state: AttemptState
    """One of those that are judged."""
    figures: AuditFigures | None = None
    reason: AttemptReason | None = None
    """Why there are none."""


def carry_out_training(under: RunUnder) -> Outcome:
    """Train and audit a model: all of it, or nothing but a charge and an attempt.

    Data that is too little for the audit is an error before any training, and costs nothing, where training
    is not private: nothing is promised of a single person there. Where it is private, that error would tell
    for nothing whether one person more is in the data. So the training is charged and counted first, its
    attempt is inconclusive then, and whoever asks gets the denial of a model that did not pass. So it is
    where a shadow model diverges, which no charge covers.

    A training that diverges is an error, too, where it is not private. Where it is, it was charged, and
    that it diverged follows from its weights alone: whoever asks is told in a denial.

    Returns:
        The outcome; a denial where it does not fit into what is left of its budget, and where the duty to
        audit is not met.

    Raises:
        UsageError: what was begun in the checkpoint is registered already, or another run works with it.
        DivergedError: a training without noise diverged.
        SmaltiError: as `engine.run.run`.
    """
    refuse_options_of_rows(under.request)
    ready, contents = _prepared(under)
    kept = Checkpoint(under.request.checkpoint, under.registry)
    with kept.held():
        return _carried_out(under, ready, contents, kept)


def _carried_out(under: RunUnder, ready: _Ready, contents: Contents, kept: Checkpoint) -> Outcome:
    found = kept.found(ready.learned_from, _description(ready.plan))
    if found is not None and _is_taken(under, ready, found[0]):
        return _taken_up(under, ready, kept, *found)
    is_private = ready.plan.train.private is not None
    _check_attempt(ready.plan, _next_attempt(under, ready.plan))
    if is_private and (denial := _charged(under, ready.plan, contents)) is not None:
        return Outcome(denial, None, None, None)
    seed = secrets.randbits(128)
    if not is_private:
        _check(ready, seed, _next_attempt(under, ready.plan))
    begun = Begun(under.stage.run, ready.known.at, ready.learned_from, seed)
    return _audited(under, ready, kept, begun, _number(under, ready.plan, contents), None)


def _is_taken(under: RunUnder, ready: _Ready, begun: Begun) -> bool:
    """Whether the same party asks under the same rule as when it was charged and counted, as is due.

    And nobody withdrew since: with such a one it could not be recorded.
    """
    charge = next(
        (one for one in under.registry.budget(under.request.target).charges if one.run == begun.run), None
    )
    attempt = _attempt_of(under, ready.plan, begun)
    is_charged = ready.plan.train.private is None or _is_for_this(under, ready.plan, charge)
    is_counted = ready.plan.audit is None or _is_for_this(under, ready.plan, attempt)
    (read,) = ready.known.inputs
    withdrawn = under.registry.withdrawn(read.iri, read.version, since=begun.at)
    return is_charged and is_counted and not withdrawn


def _is_for_this(under: RunUnder, made: TrainingPlan, recorded: Charge | Attempt | None) -> bool:
    if recorded is None:
        return False
    request = under.request
    asked = (request.asker, request.document.policy.uid, under.granted.permission.uid, plan_digest(made))
    return asked == (recorded.party, recorded.policy_uid, recorded.rule_uid, recorded.plan_digest)


def _attempt_of(under: RunUnder, made: TrainingPlan, begun: Begun) -> Attempt | None:
    return next((one for one in under.registry.attempts(made.write.output) if one.run == begun.run), None)


def _taken_up(
    under: RunUnder, ready: _Ready, kept: Checkpoint, begun: Begun, model: TrainedModel
) -> Outcome:
    """What follows from a model that exists; nothing is judged twice."""
    ready, earlier = ready.as_of(begun.at), _attempt_of(under, ready.plan, begun)
    if earlier is None or earlier.state not in _JUDGED:
        number = 1 if earlier is None else earlier.number
        return _audited(under, ready, kept, begun, number, model)
    if earlier.state is not AttemptState.MET:
        kept.forget()
        return Outcome(_not_met(under), None, None, None)
    return _registered(under, ready, kept, begun, model, figures_from_json(earlier.figures))


def _prepared(under: RunUnder) -> tuple[_Ready, Contents]:
    """The plan and the records."""
    request, registry, watch = under.request, under.registry, under.watch
    with bound(request, under.backend, under.stage.spill, watch.phase) as (source, table):
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = compile_training(under.granted.permission, source, table, known.circumstances)
        admit(request, registry, known, source, table, made)
        watch.phase("records")
        records, contents = training_records(made, table), table.contents
    digests = [file_digest(path) for path in source.paths]
    check_unchanged(source, digests, contents)
    report = TrainingReport(
        engine=under.backend.name,
        recipe=made.train.recipe,
        inputs=digests_of_inputs(registry, source, digests),
        timings=watch.timings,
        withdrawn_at=known.at,
        respondents_listed=known.circumstances.withdrawn.count,
    )
    hmacs = tuple(one.hmac for one in report.inputs)
    learned_from = LearnedFrom(plan_digest(made), hmacs, _keyed_digest(registry, records))
    return _Ready(made, known, records, learned_from, report), contents


def _keyed_digest(registry: Registry, records: TrainingRecords) -> str:
    digest = hashlib.sha256()
    for array in (records.features, records.labels):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return input_hmac(registry, digest.hexdigest())


def _description(made: TrainingPlan) -> Description:
    """Of the model that a plan makes."""
    return Description(architecture_of(made), hyperparameters_of(made), Origin.SYSTEM)


def _charged(under: RunUnder, made: TrainingPlan, contents: Contents) -> Decision | None:
    under.watch.phase("charge")
    return refusal(under, made, contents)


def _number(under: RunUnder, made: TrainingPlan, contents: Contents) -> int:
    """The number of the attempt, which is written down where an audit is due; otherwise 1."""
    if made.audit is None:
        return 1
    request = under.request
    attempt = Attempt(
        run=under.stage.run,
        target=request.target,
        output=made.write.output,
        policy_uid=request.document.policy.uid,
        rule_uid=under.granted.permission.uid,
        party=request.asker,
        bound_by=request.submitter,
        plan_digest=plan_digest(made),
        number=0,
        inputs=tuple(input_hmac(under.registry, digest) for digest in contents.telling_digests),
        begun_at=datetime.now(UTC),
    )
    said = memberships_said(request)
    return under.registry.begin_attempt(attempt, said, said_by=request.document.issuer).number


def _next_attempt(under: RunUnder, made: TrainingPlan) -> int:
    """The number that an attempt would have now, by the target's name; or a lower one.

    Attempts under other names of the same data are counted when the attempt begins.
    """
    known = under.registry.attempts(made.read.target)
    return 1 + sum(one.target == made.read.target for one in known)


def _check_attempt(made: TrainingPlan, attempt: int) -> None:
    """Raise PlanError where no limit of this attempt can be computed, or none decides on any data."""
    if made.audit is not None:
        check_computable(made.audit.confidence, attempt)
        check_trainings("the audit", made.audit, made.train.private, delta_of(made.train.loss), attempt)


def _examination(ready: _Ready, seed: int, attempt: int) -> Examination | None:
    audit = ready.plan.audit
    if audit is None:
        return None
    _check_attempt(ready.plan, attempt)
    error = error_of_attempt(audit.confidence, attempt)
    trainer = ConvergingTrainer.like(trainer_of(ready.plan))
    return prepare(ready.plan, ready.records, error, trainer, seed)


def _check(ready: _Ready, seed: int, attempt: int) -> None:
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
    ready: _Ready,
    kept: Checkpoint,
    begun: Begun,
    number: int,
    model: TrainedModel | None,
) -> Outcome:
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
        return Outcome(_not_met(under, attempt.reason), None, None, None)
    return _registered(under, ready, kept, begun, model, attempt.verdict.figures)


def _phases(watch: Watch, made: TrainingPlan) -> Phase:
    """Told of the phases from the charge to the verdict; where those are nobody's to know, they are one.

    How far a private training comes tells whether its data was too little for its audit, or whether a
    shadow model diverged. How long it takes tells that, too: nothing here keeps it secret.
    """
    if made.train.private is None or made.audit is None:
        return watch.phase
    watch.phase("train and audit")
    return lambda _: None


def _trained(ready: _Ready, begun: Begun, number: int, phase: Phase) -> TrainedModel:
    _check(ready, begun.seed, number)
    phase("train")
    model = target(ready.plan, ready.records, Parts.drawn(ready.plan, ready.records, begun.seed))
    if has_diverged(model):
        raise DivergedError(AttemptReason.DIVERGED)
    return model


def _judged(ready: _Ready, begun: Begun, number: int, model: TrainedModel, phase: Phase) -> _Verdict:
    """Examine the model, where that is due."""
    examination = _examination(ready, begun.seed, number)
    if examination is None:
        return _Verdict(AttemptState.MET)
    figures = examination.figures(model, number, phase)
    found = verdict(figures, examination.audit.bounds)
    return _Verdict(found.state, replace(figures, reasons=found.reasons))


class _Attempt:
    """An attempt under way."""

    def __init__(self) -> None:
        self.verdict: _Verdict | None = None
        self.reason: AttemptReason | None = None
        """Why it came to no figures."""


@contextmanager
def _too_little(made: TrainingPlan, attempt: _Attempt) -> Iterator[None]:
    """Of a private training, that its data is too little for its audit is told to nobody who asks."""
    try:
        yield
    except DataError:
        attempt.reason = AttemptReason.TOO_LITTLE
        if made.train.private is None or made.audit is None:
            raise
        attempt.verdict = _Verdict(AttemptState.INCONCLUSIVE, reason=attempt.reason)


@contextmanager
def _diverged(made: TrainingPlan, attempt: _Attempt) -> Iterator[None]:
    """A private training that diverged has been charged: it ends as one that did not pass."""
    try:
        yield
    except DivergedError as error:
        attempt.reason = error.reason
        if made.train.private is None:
            raise
        attempt.verdict = _Verdict(AttemptState.INCONCLUSIVE, reason=error.reason)


@contextmanager
def _ended(under: RunUnder, made: TrainingPlan, kept: Checkpoint, begun: Begun) -> Iterator[_Attempt]:
    """Write down what became of an attempt, and remove a refused model; no verdict is taken back."""
    found, ended = _Attempt(), AttemptState.FAILED
    try:
        yield found
    except (KeyboardInterrupt, SystemExit):
        ended = AttemptState.STOPPED
        raise
    finally:
        try:
            if made.audit is not None:
                said = found.verdict or _Verdict(ended, reason=found.reason)
                told = "" if said.figures is None else figures_to_json(said.figures)
                under.registry.end_attempt(begun.run, said.state, to_record(told, said.reason))
        finally:
            if found.verdict is not None and found.verdict.state is not AttemptState.MET:
                kept.forget()


_NOT_MET: Final = (
    "the training did not pass the audit that the permission obliges to; the owner of the data can see why"
    " (`smalti audit report`)"
)
_DIVERGED: Final = (
    "the training diverged: the weights are no finite numbers, or give no confidences, and nothing was"
    " registered; it was charged as any other. A recipe with a smaller learning rate, a smaller clipping"
    " norm or less noise may help"
)


def _not_met(under: RunUnder, reason: AttemptReason | None = None) -> Decision:
    """That there is no model; not by how much a duty was missed, nor by which figure.

    That is the owner's to know, and so is what was found out about the data. That the released model itself
    diverged is not: it follows from the weights, which were charged.
    """
    text = _DIVERGED if reason is AttemptReason.DIVERGED else _NOT_MET
    said = Reason(text, under.request.document.policy.uid, under.granted.permission.uid)
    return deny_afterwards(under.registry, under.decision, said)


def _registered(
    under: RunUnder,
    ready: _Ready,
    kept: Checkpoint,
    begun: Begun,
    model: TrainedModel,
    figures: AuditFigures | None,
) -> Outcome:
    registry, made, watch = under.registry, ready.plan, under.watch
    watch.phase("register")
    path = under.stage.output / file_name(made.write.output, made.write.format)
    save(model, path, header_of(made.train))
    digest = file_digest(path)
    files = published_files([path], [digest], made.write.format)
    together = None if made.train.loss is None else composition(registry, under.request.target)
    promised = Promised(guarantee_of(made), composition=together)
    report = replace(ready.report, timings=watch.timings, figures=figures, charged_as=begun.run)
    record = new_version(under, made, ready.known, files, promised, (), files[0].digest, report)
    _refuse_registered(under, made, kept, begun)
    version = publish(registry, under.stage, record)
    with suppress(BackendError):  # it is registered: nothing takes that back
        kept.forget()
    is_owner = under.request.submitter in registry.full_owners(version.target)
    told = version.report if is_owner else None
    return Outcome(under.decision, made, version, told, warnings_in(made), together)


def _refuse_registered(under: RunUnder, made: TrainingPlan, kept: Checkpoint, begun: Begun) -> None:
    """Refuse a second release of one charge; the model that is kept is of no more use then."""
    if any(charged_run(one) == begun.run for one in under.registry.versions(made.write.output)):
        kept.forget()
        raise UsageError(
            str(made.write.output),
            "the model that was begun in this checkpoint is registered already",
            "one release for one training",
            "`smalti targets` shows it; another run trains another model, and is charged for it",
        )
