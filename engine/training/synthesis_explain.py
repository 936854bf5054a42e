"""A plan of synthetic records as text and as JSON: columns, model, privacy loss and audit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smalti.engine.losses.coded_reports import describe_reporters
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import loss_in_words
from smalti.engine.plan.notices import Notice, sentences, warning_lines
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.training.attainable import delta_of, records_needed
from smalti.engine.training.explain import bounds_in_words, noise_in_words, seen
from smalti.engine.training.plan import Feature, NumberFeature
from smalti.engine.training.records import grid_of
from smalti.engine.training.synthesis_guarantee import describe, guarantee_of, limits
from smalti.engine.training.synthesis_plan import SynthesisPlan

WITHOUT_NOISE = "the model is trained without noise: its records are synthetic, and no privacy model"


@dataclass(frozen=True, slots=True)
class SynthesisExplanation:
    """A plan of synthetic records in words."""

    digest: str
    columns: tuple[tuple[str, str], ...]
    """What the model sees of each column and what is published of it, by name."""
    dropped: tuple[str, ...]
    respondent: str
    training: str
    promise: str
    loss: tuple[tuple[str, str], ...]
    """Epsilon, delta, belief and advantage, as people read them; none where it is not private."""
    audit: tuple[str, ...]
    """What is tried or proved, and what must not be exceeded; none where no audit is demanded."""
    notices: tuple[Notice, ...]
    not_protected: tuple[str, ...]


def explain_synthesis(plan: SynthesisPlan) -> SynthesisExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee, synthesize = guarantee_of(plan), plan.synthesize
    columns = zip(synthesize.columns, synthesize.choices, strict=True)
    return SynthesisExplanation(
        plan_digest(plan),
        tuple((feature.column, _column(feature, choices)) for feature, choices in columns),
        plan.select.dropped,
        describe_reporters(plan.read),
        _training(plan),
        f"{guarantee.model}: {describe(guarantee)}",
        () if synthesize.loss is None else loss_in_words(synthesize.loss),
        _audit(plan),
        notices_in(plan),
        limits(guarantee),
    )


def _column(feature: Feature, choices: int) -> str:
    if not isinstance(feature, NumberFeature):
        return f"{seen(feature)}; a public value is published"
    units = grid_of(feature).width + 1
    chosen = (
        "one of them" if choices == units else f"one of {choices} equal intervals, and a unit within it"
    )
    return (
        f"clamped to {feature.lower}..{feature.upper}, in {units} units of {feature.unit}; missing values"
        f" and non-numbers become the middle; {chosen} is drawn and published"
    )


def _training(plan: SynthesisPlan) -> str:
    synthesize = plan.synthesize
    network = synthesize.network
    text = (
        f"the recipe {synthesize.recipe} (a variational autoencoder with {network.hidden} tanh units before"
        f" and behind {network.latent} latent numbers; weight of the divergence"
        f" {network.divergence_weight}; {network.optimizer} with a learning rate of"
        f" {network.learning_rate} and batches of {network.batch_size}), {synthesize.epochs} epochs, on"
    )
    if synthesize.private is not None:
        return f"{text} all respondents; {noise_in_words(synthesize.private)}"
    return (
        f"{text} a random part of the respondents (each with probability {synthesize.part}); the others are"
        " held out"
    )


def _audit(plan: SynthesisPlan) -> tuple[str, ...]:
    audit, synthesize = plan.audit, plan.synthesize
    if audit is None:
        return ()
    if synthesize.private is not None:
        return (
            "decided by the noise, which bounds every attack; none is tried on the data",
            *bounds_in_words(audit),
        )
    return (
        f"{', '.join(audit.attacks)} on the {synthesize.records} published records, and on a table with the"
        " records of half of those who were learned from, or of as many as have room",
        *records_needed(audit, Fraction(synthesize.part), delta_of(None)),
        *bounds_in_words(audit),
    )


def notices_in(plan: SynthesisPlan) -> tuple[Notice, ...]:
    """The warnings of a plan, whatever the data."""
    said = "column {} will be dropped: the policy says so"
    dropped = tuple(name for name in plan.select.dropped if plan.read.respondent != RespondentColumn(name))
    notices = [Notice("columns will be dropped", dropped, said)] if dropped else []
    if plan.synthesize.private is None:
        notices.append(Notice(WITHOUT_NOISE))
    return tuple(notices)


def to_lines(
    plan: SynthesisPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = True
) -> list[Line]:
    """The explanation as labels with texts; golden tests compare it."""
    explanation = explain_synthesis(plan)
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *(("column", f"{name}: {what}") for name, what in explanation.columns),
        ("train", explanation.training),
        ("records", f"{plan.synthesize.records}, in the order of their values"),
        *(("audit", line) for line in explanation.audit),
        ("promise", explanation.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in explanation.loss),
        ("write", f"{plan.write.output}, {plan.write.format}"),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: SynthesisPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain_synthesis(plan)
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
