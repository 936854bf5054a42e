"""What is promised of a model, in words and numbers, and what it does not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final

from smalti.engine.plan.guarantees import LOSS_TERMS, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import StatedLoss, describe_loss, loss_from_object, loss_to_object
from smalti.engine.plan.published_columns import PublishedColumn
from smalti.engine.training.attacks import of_family
from smalti.engine.training.plan import Audit, FigureBound, PrivateSteps, TrainingPlan
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.attacks import Family
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY

AUDITED: Final = "audited"
"""What the model of protection is called where training itself promises nothing."""


TRAINING_TERMS: Final[Mapping[str, Json]] = {
    "recipe": "s:usedRecipe",
    "training": "s:privateTraining",
    "noiseMultiplier": {"@id": "s:usedNoiseMultiplier", "@type": "xsd:decimal"},
    "clippingNorm": {"@id": "s:usedClippingNorm", "@type": "xsd:decimal"},
    "samplingRate": {"@id": "s:usedSamplingRate", "@type": "xsd:decimal"},
    "steps": "s:numberOfSteps",
    "audit": "s:passedAudit",
    "attacks": {"@id": "s:triedAttack", "@container": "@set"},
    "bounds": {"@id": "s:figureBound", "@container": "@set"},
    "figure": "s:figure",
    "most": {"@id": "s:figureAtMost", "@type": "xsd:decimal"},
    "falsePositiveRate": {"@id": "s:atFalsePositiveRate", "@type": "xsd:decimal"},
    "confidence": {"@id": "s:auditConfidence", "@type": "xsd:decimal"},
    "shadowModels": "s:shadowModels",
}
"""Of the certificates of whatever is trained."""


@dataclass(frozen=True, slots=True)
class ModelGuarantee:
    """What is promised of one model: a privacy loss, an audit, or both."""

    model: str
    """`differential-privacy`, or `audited` where only an audit stands behind it."""
    recipe: str
    loss: StatedLoss | None
    """Of one training; None where it was not private."""
    steps: PrivateSteps | None
    """None exactly where `loss` is."""
    examined: Audit | None
    """None where no audit was demanded."""

    kind: ClassVar[Kind] = Kind.TRAINING
    terms: ClassVar[Mapping[str, Json]] = {**LOSS_TERMS, **TRAINING_TERMS}
    types: ClassVar[tuple[str, ...]] = ("prov:Entity", "dcat:Resource", "odrl:Asset", "s:Model")
    activity: ClassVar[str] = "s:train"
    published: ClassVar[tuple[PublishedColumn, ...]] = ()

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    def to_object(self) -> dict[str, Json]:
        return {
            "recipe": self.recipe,
            **({} if self.loss is None else loss_to_object(self.loss)),
            **({} if self.steps is None else {"training": steps_to_object(self.steps)}),
            **({} if self.examined is None else {"audit": audit_to_object(self.examined)}),
        }


def guarantee_of(plan: TrainingPlan) -> ModelGuarantee:
    """What a plan promises of its model."""
    planned = plan.train.loss
    loss = None if planned is None else planned.stated
    return ModelGuarantee(
        AUDITED if loss is None else DIFFERENTIAL_PRIVACY,
        plan.train.recipe,
        loss,
        plan.train.private,
        plan.audit,
    )


NEIGHBORS: Final = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "whether one respondent is in the data",
    NeighboringRelation.CHANGE_ONE: "what one respondent's row says",
}
"""What the loss of a training is about, in words."""


def describe(guarantee: ModelGuarantee) -> str:
    """What is promised, as one sentence for people."""
    parts = []
    if guarantee.loss is not None and guarantee.steps is not None:
        delta = f", but for a chance of {guarantee.loss.delta}" if guarantee.loss.delta else ""
        parts.append(
            f"{NEIGHBORS[guarantee.steps.neighbors]} changes the chance of any model by a factor of at"
            f" most e^{guarantee.loss.epsilon}{delta}: {describe_loss(guarantee.loss)}"
        )
    if guarantee.examined is not None:
        parts.append(_audit(guarantee.examined))
    return "; ".join(parts) or "nothing: it was trained without noise, and no audit was demanded"


def _audit(examined: Audit) -> str:
    attacks = ", ".join(examined.attacks)
    alone = len(examined.attacks) == 1
    tried = f"the attack {attacks} was" if alone else f"the attacks {attacks} were"
    shadows = f" with {examined.shadows} shadow models" if examined.shadows else ""
    noise = (
        "; for differential-identifiability, trainings with hardly any noise"
        if of_family(examined.attacks, Family.IDENTIFIABILITY)
        else ""
    )
    bounds = ", ".join(bound_in_words(bound) for bound in examined.bounds)
    return (
        f"{tried} tried{shadows}; {'it' if alone else 'each'} found a leak that was planted in another"
        f" model (half of its records memorised{noise}), and on this one stayed within {bounds}, with a"
        f" confidence of {examined.confidence} over all attempts"
    )


def bound_in_words(bound: FigureBound) -> str:
    """A figure with what it stays within."""
    if bound.figure == "epsilonLowerBound":
        return f"a lower bound of epsilon of {bound.most} (no greater one was found)"
    rate = (
        ""
        if bound.false_positive_rate is None
        else f" at a false positive rate of {bound.false_positive_rate}"
    )
    return f"{bound.figure} {bound.most}{rate}"


_LEFT_OUT: Final = {
    "singling-out": "guesses of other kinds about a single person; guesses on one table depend on one"
    " another, and the limits take them for independent",
    "linkability": "linking by other ways to divide the columns between two tables, or with more in hand",
    "attribute-inference": "inference by better guesses than the nearest record, and what follows about"
    " anybody from what goes together",
}
"""Of the risks of synthetic records."""


def limits_of(attacks: tuple[str, ...]) -> list[str]:
    """What single attacks leave out, as sentences for people."""
    sentences = []
    if of_family(attacks, Family.REPEATED):
        sentences.append("sets of other sizes: the more records an attack is about, the more it finds")
    if of_family(attacks, Family.INVERSION):
        sentences.append(
            "what the model tells about an attribute of anybody, by what goes together; bounded is only"
            " what it tells more about those whom it was trained on"
        )
    if of_family(attacks, Family.IDENTIFIABILITY):
        sentences.append(
            "other neighbouring data sets: the training was repeated on one pair, of few records"
        )
    return sentences + [_LEFT_OUT[name] for name in of_family(attacks, Family.RISKS)]


def limits(guarantee: ModelGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    sentences = [
        "learning what holds for the respondents as a whole, and what follows from it for each of them",
        "attacks on the model that were not tried, stronger ones among them",
    ]
    if guarantee.examined is not None:
        sentences.append(
            "the average over records hides some: single records may be found more easily than most"
        )
        sentences.append("whether an audit was passed depends on the data, and is outside of every epsilon")
        sentences.append(
            "scores of records that depend on one another, which the limits take for independent"
        )
        sentences += limits_of(guarantee.examined.attacks)
    if guarantee.loss is None:
        sentences.append("anything by a proof: the model was trained without noise")
    else:
        sentences.append(
            "somebody who sees other releases about the same respondents, too: their losses add up"
        )
        sentences.append("learning about several people whose data depend on each other, as in a family")
        sentences.append(
            "artefacts of numbers: the noise is no exact Gaussian, and that of each step is made from 64"
            " random bits"
        )
    return tuple(sentences)


def steps_to_object(steps: PrivateSteps) -> Json:
    """The noise of a training in the words of a certificate."""
    return {
        "noiseMultiplier": format(steps.noise_multiplier, "f"),
        "clippingNorm": format(steps.clipping_norm, "f"),
        "samplingRate": format(steps.sampling_rate, "f"),
        "steps": steps.steps,
        "neighbors": str(steps.neighbors),
    }


def audit_to_object(examined: Audit) -> Json:
    """An audit in the words of a certificate."""
    return {
        "attacks": examined.attacks,
        "bounds": [
            {"figure": bound.figure, "most": format(bound.most, "f")}
            | (
                {}
                if bound.false_positive_rate is None
                else {"falsePositiveRate": format(bound.false_positive_rate, "f")}
            )
            for bound in examined.bounds
        ],
        "confidence": format(examined.confidence, "f"),
        "shadowModels": examined.shadows,
    }


def stated_guarantee(promised: Mapping[str, Any]) -> ModelGuarantee:
    """The guarantee in a certificate of a model that its schema has accepted."""
    loss = steps = examined = None
    if "training" in promised:
        loss, steps = loss_from_object(promised), steps_from_object(promised["training"])
    if "audit" in promised:
        examined = audit_from_object(promised["audit"])
    return ModelGuarantee(promised["model"], promised["recipe"], loss, steps, examined)


def steps_from_object(training: Mapping[str, Any]) -> PrivateSteps:
    """The inverse of `steps_to_object`, of what the certificate's schema has accepted."""
    return PrivateSteps(
        Decimal(training["noiseMultiplier"]),
        Decimal(training["clippingNorm"]),
        Decimal(training["samplingRate"]),
        training["steps"],
        NeighboringRelation(training["neighbors"]),
    )


def audit_from_object(audit: Mapping[str, Any]) -> Audit:
    """The inverse of `audit_to_object`, of what the certificate's schema has accepted."""
    return Audit(
        tuple(audit["attacks"]),
        tuple(_stated_bound(bound) for bound in audit["bounds"]),
        Decimal(audit["confidence"]),
        audit["shadowModels"],
    )


def _stated_bound(stated: Mapping[str, Any]) -> FigureBound:
    rate = stated.get("falsePositiveRate")
    return FigureBound(stated["figure"], Decimal(stated["most"]), None if rate is None else Decimal(rate))
