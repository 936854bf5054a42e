"""A plan of a training as text and as JSON: features, privacy loss and audit."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smalti.engine.losses.coded_reports import describe_reporters
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import loss_in_words
from smalti.engine.plan.notices import Notice, sentences, warning_lines
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.registry.attempts import error_of_attempt
from smalti.engine.training.attacks import MOST_RECORDS, SET_SIZE, TRAININGS, of_family
from smalti.engine.training.attainable import delta_of, records_needed
from smalti.engine.training.duties import guessable
from smalti.engine.training.guarantee import describe, guarantee_of, limits
from smalti.engine.training.plan import Audit, CategoryFeature, Feature, PrivateSteps, TrainingPlan
from smalti.transforms.membership.set_membership import AttackType, least_records
from smalti.vocab.attacks import Family


@dataclass(frozen=True, slots=True)
class TrainingExplanation:
    """A plan of a training in words."""

    digest: str
    columns: tuple[tuple[str, str], ...]
    """What the model sees of each column, by name; the one that it predicts comes last."""
    dropped: tuple[str, ...]
    respondent: str
    training: str
    promise: str
    loss: tuple[tuple[str, str], ...]
    """Epsilon, delta, belief and advantage, as people read them; none where it is not private."""
    audit: tuple[str, ...]
    """What is tried, and what must not be exceeded; none where no audit is demanded."""
    notices: tuple[Notice, ...]
    not_protected: tuple[str, ...]


def explain_training(plan: TrainingPlan) -> TrainingExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee = guarantee_of(plan)
    shown = [(feature.column, seen(feature)) for feature in plan.train.features]
    return TrainingExplanation(
        plan_digest(plan),
        (*shown, (plan.train.label.column, f"predicted: one of {plan.train.classes} public classes")),
        plan.select.dropped,
        describe_reporters(plan.read),
        _training(plan),
        f"{guarantee.model}: {describe(guarantee)}",
        () if plan.train.loss is None else loss_in_words(plan.train.loss),
        _audit(plan),
        notices_in(plan),
        limits(guarantee),
    )


def seen(feature: Feature) -> str:
    """What a model sees of a column."""
    if isinstance(feature, CategoryFeature):
        values = f"one of {len(feature.values)} public values"
        if feature.has_missing:
            return f"{values}, or missing; other values count as missing"
        return f"{values}; missing and other values become `{feature.values[0]}`"
    return (
        f"clamped to {feature.lower}..{feature.upper}, and scaled to 0..1; missing values and non-numbers"
        " become the middle"
    )


def _training(plan: TrainingPlan) -> str:
    train = plan.train
    network = train.network
    layers = " and ".join(f"{units} {network.activation} units" for units in network.hidden) or "no layer"
    text = (
        f"the recipe {train.recipe} ({layers} before the softmax; {network.optimizer} with a learning rate"
        f" of {network.learning_rate} and batches of {network.batch_size}), {train.epochs} epochs, on a"
        f" random part of the respondents (each with"
        f" probability {train.part}); the others are held out"
    )
    return text if train.private is None else f"{text}; {noise_in_words(train.private)}"


def noise_in_words(private: PrivateSteps) -> str:
    """How much noise is added, and to what."""
    return (
        f"gradients clipped to {private.clipping_norm}, with noise of {private.noise_multiplier} times that"
        f" on their sum, in {private.steps} steps that sample each record with probability"
        f" {private.sampling_rate} ({private.neighbors})"
    )


def _audit(plan: TrainingPlan) -> tuple[str, ...]:
    audit = plan.audit
    if audit is None:
        return ()
    return (
        *_tried(plan, audit),
        *records_needed(audit, Fraction(plan.train.part), delta_of(plan.train.loss)),
        *bounds_in_words(audit),
    )


def bounds_in_words(audit: Audit) -> tuple[str, ...]:
    """What must not be exceeded, and how surely."""
    bounds = [
        f"{bound.figure} at most {bound.most}"
        + (f" at a false positive rate of {bound.false_positive_rate}" if bound.false_positive_rate else "")
        for bound in audit.bounds
    ]
    return tuple(f"{bound}, at a confidence of {audit.confidence} over all attempts" for bound in bounds)


def _tried(plan: TrainingPlan, audit: Audit) -> list[str]:
    """What is attacked by which attacks, how often, and the leak that each of them must find."""
    private = plan.train.private
    trainings = of_family(audit.attacks, Family.IDENTIFIABILITY)
    on_model = [name for name in audit.attacks if name not in trainings]
    tried = []
    if on_model:
        shadows = f", with {audit.shadows} shadow models," if audit.shadows else ""
        tried.append(f"{', '.join(on_model)}{shadows} on this model and on one that memorises")
    tried += [
        f"{name}: by attacks on {SET_SIZE} members and {SET_SIZE} others each, from about"
        f" {_respondents_for(name, plan, audit)} respondents on"
        for name in of_family(audit.attacks, Family.REPEATED)
    ]
    if of_family(audit.attacks, Family.INVERSION):
        hidden = ", ".join(feature.column for feature in guessable(plan.train.features))
        tried.append(f"model-inversion: each of {hidden}, guessed from the rest of a record and its class")
    if trainings and private is not None:
        tried.append(
            f"differential-identifiability: {TRAININGS} trainings of {private.steps} steps on up to"
            f" {MOST_RECORDS} records, with and without one more, and as many with hardly any noise"
        )
    return tried


def _respondents_for(attack: str, plan: TrainingPlan, audit: Audit) -> int:
    """From how many on the leak can be found at the first attempt, half of whom are members, on average."""
    confidence = float(1 - error_of_attempt(audit.confidence, 1))
    return math.ceil(least_records(AttackType(attack), confidence, SET_SIZE) / Fraction(plan.train.part))


def notices_in(plan: TrainingPlan) -> tuple[Notice, ...]:
    """The warnings of a plan, whatever the data."""
    said = "column {} will be dropped: the policy says so"
    dropped = tuple(name for name in plan.select.dropped if plan.read.respondent != RespondentColumn(name))
    notices = [Notice("columns will be dropped", dropped, said)] if dropped else []
    if plan.audit is None:
        notices.append(Notice("no audit is required: the model is not attacked before it is released"))
    if plan.train.private is None:
        notices.append(Notice("the model is trained without noise, and may reveal its training data"))
    return tuple(notices)


def to_lines(
    plan: TrainingPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = True
) -> list[Line]:
    """The explanation as labels with texts; golden tests compare it."""
    explanation = explain_training(plan)
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *(("column", f"{name}: {what}") for name, what in explanation.columns),
        ("train", explanation.training),
        *(("audit", line) for line in explanation.audit),
        ("promise", explanation.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in explanation.loss),
        ("write", f"{plan.write.output}, {plan.write.format}"),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: TrainingPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain_training(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [{"name": name, "what": what} for name, what in explanation.columns],
        "dropped": list(explanation.dropped),
        "respondent": explanation.respondent,
        "training": explanation.training,
        "promise": explanation.promise,
        "loss": dict(explanation.loss),
        "audit": list(explanation.audit),
        "warnings": list(sentences(explanation.notices)),
        "notProtected": list(explanation.not_protected),
    }
