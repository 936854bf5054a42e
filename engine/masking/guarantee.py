"""What a masked table states: what was done to it, and that no privacy model is promised."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final

from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.guarantees import Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    RareRecords,
    Recoded,
)
from smalti.engine.plan.nodes import node_of
from smalti.engine.plan.plan import Column, Role
from smalti.engine.plan.published_columns import DeclaredType, LabelForm, PublishedColumn
from smalti.transforms.base import Datatype
from smalti.vocab import terms
from smalti.vocab.techniques import NOT_COVERED

_TERMS: Final[Mapping[str, Json]] = {
    "masked": {"@id": "s:maskedColumn", "@container": "@list"},
    "technique": "s:usedTechnique",
    "top": "s:topThreshold",
    "bottom": "s:bottomThreshold",
    "level": "s:publishedLevel",
    "width": {"@id": "s:widthOfIntervals", "@type": "xsd:decimal"},
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
    "samplingRate": {"@id": "s:sampledShare", "@type": "xsd:decimal"},
    "suppressedRecords": {"@id": "s:suppressedRecordsOf", "@container": "@list"},
    "suppressesColumns": "s:leavesOutColumns",
    "unchanged": {"@id": "s:unchangedName", "@container": "@set"},
    "datatypes": {"@id": "s:declaredColumn", "@container": "@set"},
    "datatype": "s:declaredDatatype",
    "timeZone": "s:declaredTimeZone",
}
_LABELS: Final[Mapping[type[MaskedColumn], LabelForm]] = {
    AtLevel: LabelForm.NODES,
    Recoded: LabelForm.NODES,
}
_BOTH: Final = "top- and bottom-coding"


@dataclass(frozen=True, slots=True)
class MaskingGuarantee:
    """What single techniques did to a table."""

    masked: tuple[MaskedColumn, ...]
    """In the order of the file."""
    unchanged: tuple[str, ...] = ()
    """The columns that are published as they came, by name."""
    sampling_rate: Decimal | None = None
    rare_records: tuple[RareRecords, ...] = ()
    suppresses_columns: bool = False
    """Whether attribute suppression left out columns; their names are not published."""
    declared: tuple[DeclaredType, ...] = ()
    """What is declared of published numbers and times."""

    kind: ClassVar[Kind] = Kind.MASKING
    model: ClassVar[str] = terms.MASKING
    terms: ClassVar[Mapping[str, Json]] = _TERMS
    types: ClassVar[tuple[str, ...]] = ("prov:Entity", "dcat:Dataset", "odrl:Asset")
    activity: ClassVar[str] = "dpv:Transform"

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        declared = {each.column: each for each in self.declared}
        labels = {each.column: form for each in self.masked if (form := _form(each)) is not None}
        names = dict.fromkeys((*labels, *declared))
        return tuple(
            PublishedColumn(
                name,
                name in labels,
                labels.get(name),
                declared[name].datatype if name in declared else None,
                declared[name].time_zone if name in declared else None,
            )
            for name in names
        )

    def to_object(self) -> dict[str, Json]:
        rate = {} if self.sampling_rate is None else {"samplingRate": format(self.sampling_rate, "f")}
        rare: list[Json] = [{"name": each.column, "minimum": each.minimum} for each in self.rare_records]
        return {
            "masked": [to_object(each) for each in self.masked],
            "unchanged": self.unchanged,
            **rate,
            **({"suppressedRecords": rare} if rare else {}),
            **({"suppressesColumns": True} if self.suppresses_columns else {}),
            **({"datatypes": [each.to_object() for each in self.declared]} if self.declared else {}),
        }


def _form(node: MaskedColumn) -> LabelForm | None:
    match node:
        case AtLevel() | Recoded():
            return LabelForm.NODES
        case Averaged(figure=figure):
            return LabelForm.MEANS if figure == "mean" else LabelForm.MEDIANS
        case _:
            return None


def guarantee_of(plan: MaskingPlan) -> MaskingGuarantee:
    """What a plan states of its output."""
    nodes = {each.column: each for each in plan.mask.columns}
    declared = (_declared(column, nodes.get(column.name)) for column in plan.read.columns)
    return MaskingGuarantee(
        plan.mask.columns,
        plan.released,
        plan.mask.sampling_rate,
        plan.mask.rare_records,
        bool(plan.mask.suppressed),
        tuple(each for each in declared if each is not None),
    )


def _declared(column: Column, node: MaskedColumn | None) -> DeclaredType | None:
    """What is declared of a published column of numbers or times; None where its texts are others."""
    if isinstance(node, Noisy):
        return DeclaredType(column.name, Datatype.DECIMAL)
    is_kept = isinstance(node, Coded | RareCells | Averaged) or column.role is Role.RELEASED
    if not is_kept or not column.datatype.is_ordered or column.is_inferred:
        return None
    zone = column.time_zone if column.datatype is Datatype.DATETIME else None
    return DeclaredType(column.name, column.datatype, zone)


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


def stated_guarantee(promised: Mapping[str, Any]) -> MaskingGuarantee:
    """The guarantee in a certificate of a masked table that its schema has accepted."""
    rate = promised.get("samplingRate")
    return MaskingGuarantee(
        tuple(map(from_object, promised["masked"])),
        tuple(promised["unchanged"]),
        None if rate is None else Decimal(rate),
        tuple(RareRecords(each["name"], each["minimum"]) for each in promised.get("suppressedRecords", ())),
        promised.get("suppressesColumns", False),
        tuple(map(DeclaredType.from_object, promised.get("datatypes", ()))),
    )


def describe(guarantee: MaskingGuarantee) -> str:
    """What was done, as one sentence for people; it begins with what is not promised."""
    parts = [f"{each.column} {what(each)}" for each in guarantee.masked]
    if guarantee.sampling_rate is not None:
        parts.insert(0, f"each respondent is in the output with probability {guarantee.sampling_rate:f}")
    parts += [
        f"records are left out whose value of {each.column} fewer than {each.minimum} respondents have"
        for each in guarantee.rare_records
    ]
    if guarantee.suppresses_columns:
        parts.append("whole columns are suppressed")
    if guarantee.unchanged:
        parts.append(f"published unchanged: {', '.join(guarantee.unchanged)}")
    return "; ".join(["no privacy model is promised", *parts])


def what(node: MaskedColumn) -> str:  # noqa: PLR0911 (one for each technique)
    """What was done to a column, as the end of a sentence that begins with its name."""
    match node:
        case Coded(top=top, bottom=bottom):
            ends = [f"at most {top}"] if top is not None else []
            ends += [f"at least {bottom}"] if bottom is not None else []
            return f"is published as {' and '.join(ends)} ({node.technique})"
        case AtLevel(level=level):
            return f"is generalised to level {level} of its hierarchy"
        case Recoded(width=width):
            return f"is recoded to intervals of width {width:f}"
        case Noisy():
            return f"has {noise_in_words(node)} added, which is not differential privacy"
        case Pseudonymized(key=key):
            return f"is pseudonymised (HMAC-SHA-256 under the key `{key}`)"
        case RareCells(minimum=minimum):
            return f"is missing where fewer than {minimum} respondents have its value"
        case Averaged(k=k, figure=figure):
            return f"is the {figure} of groups of at least {k} respondents (microaggregation)"


def noise_in_words(node: Noisy) -> str:
    """The noise of a column."""
    if node.distribution == "uniform":
        return f"uniform noise of at most {node.scale:f}"
    return f"normal noise of standard deviation {node.scale:f}"


def limits(guarantee: MaskingGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people: one for each technique."""
    named = {each.technique for each in guarantee.masked}
    techniques = named - {_BOTH} | ({terms.TOP_CODING, terms.BOTTOM_CODING} if _BOTH in named else set())
    techniques |= {terms.SAMPLING} if guarantee.sampling_rate is not None else set()
    techniques |= {terms.RECORD_SUPPRESSION} if guarantee.rare_records else set()
    techniques |= {terms.ATTRIBUTE_SUPPRESSION} if guarantee.suppresses_columns else set()
    sentences = ["learning anything about a person: no privacy model is promised that would bound it"]
    sentences += [f"{name}: {said}" for name, said in NOT_COVERED.items() if name in techniques]
    if not techniques:
        sentences.append(f"{terms.ATTRIBUTE_SUPPRESSION}: {NOT_COVERED[terms.ATTRIBUTE_SUPPRESSION]}")
    if guarantee.unchanged:
        listed = ", ".join(guarantee.unchanged)
        sentences.append(f"whatever the unchanged columns tell or help to find out: {listed}")
    return tuple(sentences)
