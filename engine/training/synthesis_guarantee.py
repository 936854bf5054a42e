"""What is promised of synthetic records, in words and numbers, and what it does not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final

from smalti.engine.plan.guarantees import LOSS_TERMS, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import StatedLoss, describe_loss, loss_from_object, loss_to_object
from smalti.engine.plan.published_columns import PublishedColumn
from smalti.engine.training.guarantee import (
    AUDITED,
    NEIGHBORS,
    TRAINING_TERMS,
    audit_from_object,
    audit_to_object,
    bound_in_words,
    limits_of,
    steps_from_object,
    steps_to_object,
)
from smalti.engine.training.plan import Audit, CategoryFeature, Feature, NumberFeature, PrivateSteps
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.transforms.base import Datatype
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY

_TERMS: Final[Mapping[str, Json]] = {
    **LOSS_TERMS,
    **TRAINING_TERMS,
    "records": "s:numberOfRecords",
    "synthetic": {"@id": "s:syntheticColumn", "@container": "@list"},
    "values": {"@id": "s:publicValue", "@container": "@list"},
    "hasMissing": "s:hasMissingCategory",
    "lower": {"@id": "s:lowerBound", "@type": "xsd:decimal"},
    "upper": {"@id": "s:upperBound", "@type": "xsd:decimal"},
    "unit": {"@id": "s:unit", "@type": "xsd:decimal"},
}


@dataclass(frozen=True, slots=True)
class SynthesisGuarantee:
    """What is promised of the records of one model: a privacy loss, or an audit."""

    model: str
    """`differential-privacy`, or `audited` where only an audit stands behind it."""
    recipe: str
    records: int
    columns: tuple[Feature, ...]
    """In the order of the table, with their public domains."""
    loss: StatedLoss | None
    """Of the one training; None where it was not private."""
    steps: PrivateSteps | None
    """None exactly where `loss` is."""
    examined: Audit | None
    """None where none was demanded. Beside a loss its bounds follow from the noise."""

    kind: ClassVar[Kind] = Kind.SYNTHESIS
    terms: ClassVar[Mapping[str, Json]] = _TERMS
    types: ClassVar[tuple[str, ...]] = (
        "prov:Entity",
        "dcat:Dataset",
        "odrl:Asset",
        "s:SyntheticRecords",
    )
    activity: ClassVar[str] = "s:train"

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        numbers = (column.column for column in self.columns if isinstance(column, NumberFeature))
        return tuple(PublishedColumn(name, datatype=Datatype.DECIMAL) for name in numbers)

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    def to_object(self) -> dict[str, Json]:
        return {
            "recipe": self.recipe,
            "records": self.records,
            "synthetic": [_column(column) for column in self.columns],
            **({} if self.loss is None else loss_to_object(self.loss)),
            **({} if self.steps is None else {"training": steps_to_object(self.steps)}),
            **({} if self.examined is None else {"audit": audit_to_object(self.examined)}),
        }


def guarantee_of(plan: SynthesisPlan) -> SynthesisGuarantee:
    """What a plan promises of its records."""
    synthesize = plan.synthesize
    loss = None if synthesize.loss is None else synthesize.loss.stated
    return SynthesisGuarantee(
        AUDITED if loss is None else DIFFERENTIAL_PRIVACY,
        synthesize.recipe,
        synthesize.records,
        synthesize.columns,
        loss,
        synthesize.private,
        plan.audit,
    )


def describe(guarantee: SynthesisGuarantee) -> str:
    """What is promised, as one sentence for people."""
    text = f"{guarantee.records} synthetic records of a model by {guarantee.recipe}"
    if guarantee.loss is None or guarantee.steps is None:
        text += ": not a privacy model without noise"
        return text if guarantee.examined is None else f"{text}; {_attacked(guarantee.examined)}"
    delta = f", but for a chance of {guarantee.loss.delta}" if guarantee.loss.delta else ""
    text += (
        f": {NEIGHBORS[guarantee.steps.neighbors]} changes the chance of any such records by a factor of at"
        f" most e^{guarantee.loss.epsilon}{delta}: {describe_loss(guarantee.loss)}"
    )
    if guarantee.examined is None:
        return text
    bounds = ", ".join(map(bound_in_words, guarantee.examined.bounds))
    return f"{text}; it follows from the noise, and none was tried, that each attack stays within {bounds}"


def _attacked(examined: Audit) -> str:
    bounds = ", ".join(map(bound_in_words, examined.bounds))
    names = ", ".join(examined.attacks)
    is_single = len(examined.attacks) == 1
    tried = f"the attack {names} was" if is_single else f"the attacks {names} were"
    return (
        f"{tried} tried on the records; {'it' if is_single else 'each'} found a leak that was"
        " planted in another table (records of half of those who were learned from, or of as many as have"
        f" room), and on these stayed within {bounds}, with a confidence of {examined.confidence} over all"
        " attempts"
    )


def limits(guarantee: SynthesisGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    sentences = [
        "learning what holds for the respondents as a whole, and what follows from it for each of them",
        "taking synthetic records for people: one may be equal to somebody's, and says nothing of them",
        "wrong conclusions: a model keeps some of what holds between columns, and loses the rest",
    ]
    if guarantee.loss is None:
        sentences += [
            "anything by a proof: the model was trained without noise",
            "attacks on the records that were not tried, stronger ones among them",
            "the average over records hides some: single records may be found more easily than most",
            "whether an audit was passed depends on the data, and is outside of every epsilon",
            "scores of records that depend on one another, which the limits take for independent",
            *(() if guarantee.examined is None else limits_of(guarantee.examined.attacks)),
        ]
    else:
        sentences += [
            "somebody who sees other releases about the same respondents, too: their losses add up",
            "learning about several people whose data depend on each other, as in a family",
            "artefacts of numbers: the noise is no exact Gaussian, and that of each step is made from 64"
            " random bits",
        ]
    return tuple(sentences)


def _column(column: Feature) -> Json:
    """What a certificate says of a column: all of it is public."""
    if isinstance(column, CategoryFeature):
        return {"name": column.column, "values": column.values, "hasMissing": column.has_missing}
    return {
        "name": column.column,
        "lower": format(column.lower, "f"),
        "upper": format(column.upper, "f"),
        "unit": format(column.unit, "f"),
    }


def _stated_column(stated: Mapping[str, Any]) -> Feature:
    if "values" in stated:
        return CategoryFeature(stated["name"], tuple(stated["values"]), stated["hasMissing"])
    lower, upper, unit = (Decimal(stated[word]) for word in ("lower", "upper", "unit"))
    return NumberFeature(stated["name"], lower, upper, unit)


def stated_guarantee(promised: Mapping[str, Any]) -> SynthesisGuarantee:
    """The guarantee in a certificate of synthetic records that its schema has accepted."""
    is_private = "training" in promised
    return SynthesisGuarantee(
        promised["model"],
        promised["recipe"],
        promised["records"],
        tuple(map(_stated_column, promised["synthetic"])),
        loss_from_object(promised) if is_private else None,
        steps_from_object(promised["training"]) if is_private else None,
        audit_from_object(promised["audit"]) if "audit" in promised else None,
    )
