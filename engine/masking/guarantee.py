"""What a masked table states: what was done to it, and that no privacy model is promised."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.guarantees import Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.masks import (
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    RareCells,
    RareRecords,
)
from smalti.engine.plan.plan import Column, Role
from smalti.engine.plan.published_columns import DeclaredType, PublishedColumn
from smalti.engine.techniques.statements import (
    TERMS,
    from_object,
    label_form,
    techniques_of,
    to_object,
    what,
)
from smalti.transforms.base import Datatype
from smalti.vocab import terms
from smalti.vocab.techniques import NOT_COVERED


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
    types: ClassVar[tuple[str, ...]] = ("prov:Entity", "dcat:Dataset", "odrl:Asset")
    activity: ClassVar[str] = "dpv:Transform"

    @property
    def terms(self) -> Mapping[str, Json]:
        has_distance = any(isinstance(each, Averaged) and each.distance for each in self.masked)
        return {name: term for name, term in TERMS.items() if name != "distance" or has_distance}

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        declared = {each.column: each for each in self.declared}
        labels = {each.column: form for each in self.masked if (form := label_form(each)) is not None}
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


def limits(guarantee: MaskingGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people: one for each technique."""
    techniques = techniques_of(guarantee.masked)
    techniques |= {terms.SAMPLING} if guarantee.sampling_rate is not None else set()
    techniques |= {terms.RECORD_SUPPRESSION} if guarantee.rare_records else set()
    techniques |= {terms.ATTRIBUTE_SUPPRESSION} if guarantee.suppresses_columns else set()
    sentences = ["learning anything about a person: no privacy model is promised that would bound it"]
    sentences += [f"{name}: {said}" for name, said in NOT_COVERED.items() if name in techniques]
    if not techniques:
        sentences.append(f"{terms.ATTRIBUTE_SUPPRESSION}: {NOT_COVERED[terms.ATTRIBUTE_SUPPRESSION]}")
    categories = [each.column for each in guarantee.masked if isinstance(each, Averaged) and each.distance]
    if categories:
        sentences.append(
            "learning that somebody in a group has the value that stands for it; many of them may, or all"
            f" ({', '.join(categories)})"
        )
    if guarantee.unchanged:
        listed = ", ".join(guarantee.unchanged)
        sentences.append(f"whatever the unchanged columns tell or help to find out: {listed}")
    return tuple(sentences)
