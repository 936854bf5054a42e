"""The run of a training, from beginning to end: compile, charge, train once, audit, record or refuse.

The order is what protects. A private training is charged before anything random is drawn for it, and an
attempt counts from before its model exists. What was trained is readable only as the one output that is
published, and only where the duty to audit is met; whatever ends a run before that leaves no target.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from smalti.engine.audits.attempts import Attempt, AttemptState, error_of_attempt
from smalti.engine.audits.checkpoint import Begun, Checkpoint
from smalti.engine.audits.compile import compile_training
from smalti.engine.audits.examine import Examination, prepare
from smalti.engine.audits.figures import AuditFigures, figures_from_json, figures_to_json, verdict
from smalti.engine.audits.guarantee import guarantee_of
from smalti.engine.audits.plan import TrainingPlan
from smalti.engine.audits.records import TrainingRecords, training_records
from smalti.engine.audits.report import TrainingReport
from smalti.engine.audits.training import NetworkTrainer, Parts, target
from smalti.engine.binding import check_binding
from smalti.engine.charging import composition, denied, refusal
from smalti.engine.commit import publish
from smalti.engine.reading import Contents, file_digest
from smalti.engine.run_inputs import Given, bound, check_unchanged, given
from smalti.engine.run_record import (
    Promised,
    RunUnder,
    digests_of_inputs,
    file_name,
    new_version,
    published_files,
)
from smalti.engine.run_request import Outcome, refuse_options_of_rows
from smalti.engine.serialize import plan_digest
from smalti.policy.decision import Decision, Reason
from smalti.transforms.learning.model_files import save
from smalti.transforms.learning.models import TrainedModel

_JUDGED: Final = (AttemptState.MET, AttemptState.NOT_MET, AttemptState.INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Everything that is known before a model exists."""

    plan: TrainingPlan
    known: Given
    records: TrainingRecords
    report: TrainingReport


def carry_out_training(under: RunUnder) -> Outcome:
    """Train and audit a model: all of it, or nothing but a charge and an attempt.

    Returns:
        The outcome; a denial where it does not fit into what is left of its budget, and where the duty to
        audit is not met.

    Raises:
        SmaltiError: as `engine.run.run`.
    """
    refuse_options_of_rows(under.request)
    ready, contents = _prepared(under)
    kept = Checkpoint(under.request.checkpoint)
    kept.prepare()
    found = kept.found(plan_digest(ready.plan), _hmacs(ready))
    if found is None or not _is_known(under, ready.plan, found[0]):
        seed = secrets.randbits(128)
        examination = _examination(ready, seed, _next_attempt(under, ready.plan))
        if examination is not None:
            examination.check()
        if (denial := _charged(under, ready.plan, contents)) is not None:
            return Outcome(denial, None, None, None)
        begun, model = _begun(under, ready, seed), None
    else:
        begun, model = found
        earlier = _attempt_of(under, ready.plan, begun)
        if earlier is not None and earlier.state in _JUDGED:
            return _as_judged(under, ready, begun, model, earlier)
    with _ended(under, ready.plan, begun) as attempt:
        if model is None:
            under.watch.phase("train")
            model = target(ready.plan, ready.records, Parts.drawn(ready.plan, ready.records, begun.seed))
            kept.keep(begun, model)
        attempt.judge(under, ready, model)
        if attempt.state is not AttemptState.MET:
            return Outcome(_not_met(under), None, None, None)
    return _registered(under, ready, begun, model, attempt.figures)


def _is_known(under: RunUnder, made: TrainingPlan, begun: Begun) -> bool:
    """Whether this registry charged what is kept, and counted it as an attempt, where that is due."""
    is_charged = made.train.private is None or any(
        one.run == begun.run for one in under.registry.budget(under.request.target).charges
    )
    return is_charged and (made.audit is None or _attempt_of(under, made, begun) is not None)


def _attempt_of(under: RunUnder, made: TrainingPlan, begun: Begun) -> Attempt | None:
    return next((one for one in under.registry.attempts(made.write.output) if one.run == begun.run), None)


def _as_judged(
    under: RunUnder, ready: _Ready, begun: Begun, model: TrainedModel, earlier: Attempt
) -> Outcome:
    """What follows from an attempt that was judged before its run died: nothing is judged twice."""
    if earlier.state is not AttemptState.MET:
        return Outcome(_not_met(under), None, None, None)
    return _registered(under, ready, begun, model, figures_from_json(earlier.figures))


def _prepared(under: RunUnder) -> tuple[_Ready, Contents]:
    """The plan and the records."""
    request, registry, watch = under.request, under.registry, under.watch
    with bound(request, under.backend, under.stage.spill, watch.phase) as (source, table):
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = compile_training(under.granted.permission, source, table, known.circumstances)
        check_binding(registry, source, table.contents, made, request.submitter)
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
    return _Ready(made, known, records, report), contents


def _hmacs(ready: _Ready) -> tuple[str, ...]:
    return tuple(one.hmac for one in ready.report.inputs)


def _charged(under: RunUnder, made: TrainingPlan, contents: Contents) -> Decision | None:
    if made.train.private is None:
        return None
    under.watch.phase("charge")
    return refusal(under, made, contents)


def _begun(under: RunUnder, ready: _Ready, seed: int) -> Begun:
    """Write down the attempt, where an audit is due."""
    registry, request, made = under.registry, under.request, ready.plan
    digest, number = plan_digest(made), 1
    if made.audit is not None:
        attempt = Attempt(
            run=under.stage.run,
            target=request.target,
            output=made.write.output,
            policy_uid=request.document.policy.uid,
            rule_uid=under.granted.permission.uid,
            party=request.asker,
            bound_by=request.submitter,
            plan_digest=digest,
            number=0,
            begun_at=datetime.now(UTC),
        )
        number = registry.begin_attempt(attempt).number
    return Begun(under.stage.run, number, digest, _hmacs(ready), seed)


def _next_attempt(under: RunUnder, made: TrainingPlan) -> int:
    """The number that an attempt would have now."""
    known = under.registry.attempts(made.write.output)
    return 1 + sum(one.target == made.read.target for one in known)


def _examination(ready: _Ready, seed: int, attempt: int) -> Examination | None:
    audit = ready.plan.audit
    if audit is None:
        return None
    error = error_of_attempt(audit.confidence, attempt)
    return prepare(ready.plan, ready.records, error, NetworkTrainer(ready.plan), seed)


class _Attempt:
    """An attempt under way."""

    def __init__(self, begun: Begun) -> None:
        self._begun = begun
        self.state = AttemptState.FAILED
        self.figures: AuditFigures | None = None

    def judge(self, under: RunUnder, ready: _Ready, model: TrainedModel) -> None:
        """Examine the model, where that is due."""
        examination = _examination(ready, self._begun.seed, self._begun.attempt)
        if examination is not None:
            self.figures = examination.figures(model, self._begun.attempt, under.watch.phase)
            self.state = verdict(self.figures, examination.audit.bounds).state
        else:
            self.state = AttemptState.MET


@contextmanager
def _ended(under: RunUnder, made: TrainingPlan, begun: Begun) -> Iterator[_Attempt]:
    """Write down what became of an attempt."""
    found = _Attempt(begun)
    try:
        yield found
    except (KeyboardInterrupt, SystemExit):
        found.state = AttemptState.STOPPED
        raise
    finally:
        if made.audit is not None:
            told = "" if found.figures is None else figures_to_json(found.figures)
            under.registry.end_attempt(begun.run, found.state, told)


def _not_met(under: RunUnder) -> Decision:
    """That the duty was not met; not by how much, nor by which figure, which is the owner's to know."""
    permission = under.granted.permission
    reason = Reason(
        "the model was trained and attacked, and did not pass the audit that the permission obliges to; its"
        " owner can see the figures (`smalti audit report`)",
        under.request.document.policy.uid,
        permission.uid,
    )
    decision = denied(under.decision, reason)
    if under.registry.decision_log is not None:
        under.registry.decision_log.append(decision, 0.0)
    return decision


def _registered(
    under: RunUnder, ready: _Ready, begun: Begun, model: TrainedModel, figures: AuditFigures | None
) -> Outcome:
    registry, made, watch = under.registry, ready.plan, under.watch
    watch.phase("register")
    path = under.stage.output / file_name(made.write.output, made.write.format)
    save(model, path)
    digest = file_digest(path)
    files = published_files([path], [digest], made.write.format)
    together = None if made.train.loss is None else composition(registry, under.request.target)
    promised = Promised(guarantee_of(made), composition=together)
    report = replace(ready.report, timings=watch.timings, figures=figures, charged_as=begun.run)
    record = new_version(under, made, ready.known, files, promised, (), files[0].digest, report)
    version = publish(registry, under.stage, record)
    is_owner = under.request.submitter in registry.full_owners(version.target)
    return Outcome(
        under.decision, made, version, version.report if is_owner else None, composition=together
    )
