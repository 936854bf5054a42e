"""Single techniques as certificates and plans say them: in words, and as objects."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final

from smalti.engine.plan.guarantees import Json
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    Recoded,
)
from smalti.engine.plan.nodes import node_of
from smalti.engine.plan.published_columns import LabelForm
from smalti.vocab import terms

TERMS: Final[Mapping[str, Json]] = {
    "masked": {"@id": "s:maskedColumn", "@container": "@list"},
    "technique": "s:usedTechnique",
    "top": "s:topThreshold",
    "bottom": "s:bottomThreshold",
    "level": "s:publishedLevel",
    "width": {"@id": "s:widthOfIntervals", "@type": "xsd:decimal"},
    "measure": "s:unitOfWidth",
    "start": {"@id": "s:startOfIntervals", "@type": "xsd:decimal"},
    "distribution": "s:distributionOfNoise",
    "scale": {"@id": "s:scaleOfNoise", "@type": "xsd:decimal"},
    "unit": {"@id": "s:unitOfNoise", "@type": "xsd:decimal"},
    "lower": {"@id": "s:leastResult", "@type": "xsd:decimal"},
    "upper": {"@id": "s:greatestResult", "@type": "xsd:decimal"},
    "key": "s:usedKey",
    "minimum": "s:leastFrequency",
    "k": "s:leastRespondents",
    "figure": "s:publishedFigure",
    "distance": "s:distanceOfValues",
    "samplingRate": {"@id": "s:sampledShare", "@type": "xsd:decimal"},
    "suppressedRecords": {"@id": "s:suppressedRecordsOf", "@container": "@list"},
    "suppressesColumns": "s:leavesOutColumns",
    "unchanged": {"@id": "s:unchangedName", "@container": "@set"},
    "datatypes": {"@id": "s:declaredColumn", "@container": "@set"},
    "datatype": "s:declaredDatatype",
    "timeZone": "s:declaredTimeZone",
}
"""What a certificate says of single techniques, alone or beside classes."""
_FORMS: Final[Mapping[str, LabelForm]] = {
    "mean": LabelForm.MEANS,
    "median": LabelForm.MEDIANS,
    "mode": LabelForm.MODES,
    "medoid": LabelForm.MEDOIDS,
}
_BOTH: Final = "top- and bottom-coding"


def label_form(node: MaskedColumn) -> LabelForm | None:
    """How a masked column is written; None: as values are."""
    match node:
        case AtLevel() | Recoded():
            return LabelForm.NODES
        case Averaged(figure=figure):
            return _FORMS[figure]
        case _:
            return None


def to_object(node: MaskedColumn) -> dict[str, Any]:
    """What a certificate says of a column; all of it is public."""
    stated = {name: value for name, value in asdict(node).items() if value is not None}
    plain = {
        name: format(value, "f") if isinstance(value, Decimal) else value for name, value in stated.items()
    }
    return {"name": plain.pop("column"), "technique": plain.pop("technique"), **plain}


def from_object(stated: Mapping[str, Any]) -> MaskedColumn:
    """The inverse of `to_object`, of what the certificate's schema has accepted."""
    fields: dict[str, Any] = {"top": None, "bottom": None, "lower": None, "upper": None, **stated}
    fields["column"] = fields.pop("name")
    node: MaskedColumn = node_of(MaskedColumn, fields)  # type: ignore[arg-type]
    return node


def what(node: MaskedColumn) -> str:  # noqa: PLR0911 (one for each technique)
    """What was done to a column, as the end of a sentence that begins with its name."""
    match node:
        case Coded(top=top, bottom=bottom):
            ends = [f"at most {top}"] if top is not None else []
            ends += [f"at least {bottom}"] if bottom is not None else []
            return f"is published as {' and '.join(ends)} ({node.technique})"
        case AtLevel(level=level):
            return f"is generalised to level {level} of its hierarchy"
        case Recoded(width=width, measure=measure):
            unit = "" if measure is None else f" {measure.removesuffix('s') if width == 1 else measure}"
            return f"is recoded to intervals of width {width:f}{unit}"
        case Noisy():
            return f"has {noise_in_words(node)} added, which is not differential privacy"
        case Pseudonymized(key=key):
            return f"is pseudonymised (HMAC-SHA-256 under the key `{key}`)"
        case RareCells(minimum=minimum):
            return f"is missing where fewer than {minimum} respondents have its value"
        case Averaged(k=k, figure=figure, distance=distance):
            near = f", by the distance `{distance}`" if distance is not None else ""
            return f"is the {figure} of groups of at least {k} respondents{near} (microaggregation)"


def noise_in_words(node: Noisy) -> str:
    """The noise of a column."""
    if node.distribution == "uniform":
        return f"uniform noise of at most {node.scale:f}"
    return f"normal noise of standard deviation {node.scale:f}"


def techniques_of(masked: Iterable[MaskedColumn]) -> set[str]:
    """The names of the techniques of some columns."""
    named = {each.technique for each in masked}
    return named - {_BOTH} | ({terms.TOP_CODING, terms.BOTTOM_CODING} if _BOTH in named else set())
