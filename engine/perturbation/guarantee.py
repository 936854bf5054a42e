"""What a local perturbation promises, in words and numbers, and what it does not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final

from smalti.engine.perturbation.plan import (
    PIXELATION,
    RANDOMIZED_RESPONSE,
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.engine.plan.guarantees import DATASET, LOSS_TERMS, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.losses import (
    LOCAL_NEIGHBORS,
    StatedLoss,
    describe_loss,
    loss_from_object,
    loss_to_object,
)
from smalti.engine.plan.published_columns import PublishedColumn
from smalti.transforms.base import Datatype
from smalti.vocab.terms import LOCAL_DIFFERENTIAL_PRIVACY

_TERMS: Final[Mapping[str, Json]] = {
    **LOSS_TERMS,
    "perturbed": {"@id": "s:perturbedColumn", "@container": "@list"},
    "values": {"@id": "s:publicValue", "@container": "@list"},
    "hasMissing": "s:hasMissingCategory",
    "changed": "s:changeProbability",
    "lower": {"@id": "s:lowerBound", "@type": "xsd:decimal"},
    "upper": {"@id": "s:upperBound", "@type": "xsd:decimal"},
    "unit": {"@id": "s:unit", "@type": "xsd:decimal"},
    "wholeEpsilon": "s:promisedEpsilonOfWholeImages",
    "height": "s:imageHeight",
    "width": "s:imageWidth",
    "pixelSize": "s:usedPixelSize",
    "pixelNeighborhood": "s:promisedPixelNeighborhood",
}


@dataclass(frozen=True, slots=True)
class LocalGuarantee:
    """Local differential privacy of one perturbation, with all that is needed to read its table."""

    model: str
    """`local-differential-privacy`."""
    loss: StatedLoss
    """Of all columns of a record together."""
    perturbed: tuple[PerturbedColumn, ...]
    """In the order of the table."""

    kind: ClassVar[Kind] = Kind.PERTURBATION
    terms: ClassVar[Mapping[str, Json]] = _TERMS
    types: ClassVar[tuple[str, ...]] = DATASET
    activity: ClassVar[str] = "dpv:Anonymise"

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        numbers = (column.column for column in self.perturbed if isinstance(column, PerturbedNumber))
        return tuple(PublishedColumn(name, datatype=Datatype.DECIMAL) for name in numbers)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    def to_object(self) -> dict[str, Json]:
        return {
            **loss_to_object(self.loss),
            "neighbors": str(LOCAL_NEIGHBORS),
            "perturbed": [to_object(column) for column in self.perturbed],
        }


def guarantee_of(plan: PerturbationPlan) -> LocalGuarantee:
    """What a plan promises."""
    return LocalGuarantee(LOCAL_DIFFERENTIAL_PRIVACY, plan.loss.stated, plan.perturbed)


def describe(guarantee: LocalGuarantee) -> str:
    """What is promised, as one sentence for people."""
    columns = len(guarantee.perturbed)
    together = f", over its {columns} columns together" if columns > 1 else ""
    but_for = f", but for a probability of {guarantee.loss.delta}" if guarantee.loss.delta else ""
    return (
        "whatever a respondent's values are, others in their place change the chance of any row by a factor"
        f" of at most e^{format(guarantee.loss.epsilon, 'f')}{but_for}{together}:"
        f" {describe_loss(guarantee.loss)}; {_images(guarantee)}one row for each respondent is published"
    )


def _images(guarantee: LocalGuarantee) -> str:
    """What is promised of images that differ in few pixels only."""
    return "".join(
        f"of {image.column} an image that differs in at most {image.neighborhood} pixels would change it"
        f" by a factor of at most e^{format(image.epsilon, 'f')}; "
        for image in guarantee.perturbed
        if isinstance(image, PerturbedImage)
    )


def limits(guarantee: LocalGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    images = tuple(
        f"whatever more than {image.neighborhood} pixels of {image.column} show: two images that differ in"
        f" all pixels may be told apart by a factor of e^{format(image.whole_epsilon, 'f')}"
        for image in guarantee.perturbed
        if isinstance(image, PerturbedImage)
    )
    larger = (
        f"a larger loss, which has a probability of at most {guarantee.loss.delta} for each respondent",
    )
    return (
        *images,
        *(larger if guarantee.loss.delta else ()),
        "learning how many respondents there are, which is the number of rows and taken for public",
        "learning what holds for the respondents as a whole, and what follows from it for each of them",
        "somebody who sees other releases about the same respondents, too: their losses add up",
        "learning about several people whose data depend on each other, as in a family",
        "whoever may read the data itself, which is perturbed here and not at the respondents",
    )


def to_object(column: PerturbedColumn) -> dict[str, Any]:
    """What a certificate says of a column: all of it is public."""
    stated: dict[str, Any] = {
        "name": column.column,
        "mechanism": column.mechanism,
        "epsilon": format(column.epsilon, "f"),
    }
    if isinstance(column, PerturbedCategory):
        return stated | {
            "values": column.values,
            "hasMissing": column.has_missing,
            "changed": column.changed,
        }
    if isinstance(column, PerturbedImage):
        return stated | {
            "wholeEpsilon": format(column.whole_epsilon, "f"),
            "height": column.height,
            "width": column.width,
            "pixelSize": column.cell,
            "pixelNeighborhood": column.neighborhood,
            "scale": column.scale,
        }
    delta = {} if column.delta is None else {"delta": format(column.delta, "f")}
    return stated | {
        **delta,
        "lower": format(column.lower, "f"),
        "upper": format(column.upper, "f"),
        "unit": format(column.unit, "f"),
        "scale": column.scale,
    }


def from_object(stated: Mapping[str, Any]) -> PerturbedColumn:
    """The inverse of `to_object`, of what the certificate's schema has accepted."""
    name, epsilon = stated["name"], Decimal(stated["epsilon"])
    if stated["mechanism"] == RANDOMIZED_RESPONSE:
        return PerturbedCategory(
            name, epsilon, tuple(stated["values"]), stated["hasMissing"], stated["changed"]
        )
    if stated["mechanism"] == PIXELATION:
        whole, scale = Decimal(stated["wholeEpsilon"]), float(stated["scale"])
        height, width = int(stated["height"]), int(stated["width"])
        cell, neighborhood = int(stated["pixelSize"]), int(stated["pixelNeighborhood"])
        return PerturbedImage(name, epsilon, whole, height, width, cell, neighborhood, scale)
    lower, upper, unit = (Decimal(stated[word]) for word in ("lower", "upper", "unit"))
    delta = Decimal(stated["delta"]) if "delta" in stated else None
    return PerturbedNumber(
        name, epsilon, lower, upper, unit, float(stated["scale"]), stated["mechanism"], delta
    )


def stated_guarantee(promised: Mapping[str, Any]) -> LocalGuarantee:
    """The guarantee in a certificate of a perturbation that its schema has accepted."""
    return LocalGuarantee(
        LOCAL_DIFFERENTIAL_PRIVACY,
        loss_from_object(promised),
        tuple(map(from_object, promised["perturbed"])),
    )
