"""What two tables promise, and what they do not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.guarantees import DATASET, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.plan import Column
from smalti.engine.plan.published_columns import DeclaredType, PublishedColumn
from smalti.transforms.base import Datatype
from smalti.transforms.requirements.distribution_judge import shown

EXACTLY: Final = "quasi-identifiers are published exactly, so that no k is promised"
"""What is said wherever such an output is spoken of."""
_TERMS: Final[Mapping[str, Json]] = {
    "technique": "s:usedTechnique",
    "group": "s:groupColumn",
    "count": "s:countColumn",
    "columns": {"@id": "s:recordColumn", "@container": "@list"},
    "datatypes": {"@id": "s:declaredColumn", "@container": "@set"},
    "datatype": "s:declaredDatatype",
    "timeZone": "s:declaredTimeZone",
}
_SUPPRESSION_TERMS: Final[Mapping[str, Json]] = {"suppressionLimit": "s:allowedSuppression"}


@dataclass(frozen=True, slots=True)
class GroupsGuarantee:
    """Distinct l-diversity of groups whose sensitive values are published apart: no k, no other l."""

    model: str
    """`l-diversity`."""
    technique: str
    """`anatomy`."""
    l: int  # noqa: E741 (the literature's name)
    quasi_identifiers: tuple[str, ...]
    """Published exactly."""
    sensitive: str
    released: tuple[str, ...]
    group: str
    """The column that numbers groups, in both tables; of the records it is the last one."""
    count: str
    columns: tuple[str, ...]
    """Of the records, in their order, but for the group."""
    declared: tuple[DeclaredType, ...] = ()
    suppression_limit: Fraction = Fraction(0)

    kind: ClassVar[Kind] = Kind.BUCKETIZATION
    types: ClassVar[tuple[str, ...]] = DATASET
    activity: ClassVar[str] = "dpv:Anonymise"

    @property
    def terms(self) -> Mapping[str, Json]:
        return {**_TERMS, **(_SUPPRESSION_TERMS if self.suppression_limit else {})}

    @property
    def statement(self) -> str:
        return describe(self)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        count = PublishedColumn(self.count, datatype=Datatype.INTEGER)
        columns = (
            PublishedColumn(each.column, datatype=each.datatype, time_zone=each.time_zone)
            for each in self.declared
        )
        return (count, *columns)

    def to_object(self) -> dict[str, Json]:
        return {
            "technique": self.technique,
            "l": self.l,
            "quasiIdentifiers": self.quasi_identifiers,
            "sensitive": [self.sensitive],
            "released": self.released,
            "group": self.group,
            "count": self.count,
            "columns": self.columns,
            **({"datatypes": [each.to_object() for each in self.declared]} if self.declared else {}),
            **({"suppressionLimit": str(self.suppression_limit)} if self.suppression_limit else {}),
        }


def guarantee_of(plan: BucketizationPlan) -> GroupsGuarantee:
    """What a plan promises."""
    group, sensitive, count = plan.write.values.columns
    return GroupsGuarantee(
        plan.group.method,
        plan.group.algorithm,
        plan.group.l,
        plan.quasi_identifiers,
        sensitive,
        plan.released,
        group,
        count,
        plan.published,
        _declared(plan),
        plan.group.suppression_limit,
    )


def _declared(plan: BucketizationPlan) -> tuple[DeclaredType, ...]:
    """What is declared of the columns of numbers and times that are published."""
    columns = (plan.column(name) for name in (*plan.published, plan.group.sensitive))
    return tuple(_declared_type(column) for column in columns if column.datatype.is_ordered)


def _declared_type(column: Column) -> DeclaredType:
    zone = column.time_zone if column.datatype is Datatype.DATETIME else None
    return DeclaredType(column.name, column.datatype, zone)


def stated_guarantee(promised: Mapping[str, Any]) -> GroupsGuarantee:
    """The guarantee in a certificate of two tables that its schema has accepted."""
    return GroupsGuarantee(
        promised["model"],
        promised["technique"],
        promised["l"],
        tuple(promised["quasiIdentifiers"]),
        promised["sensitive"][0],
        tuple(promised["released"]),
        promised["group"],
        promised["count"],
        tuple(promised["columns"]),
        tuple(map(DeclaredType.from_object, promised.get("datatypes", ()))),
        Fraction(promised.get("suppressionLimit", 0)),
    )


def describe(guarantee: GroupsGuarantee, counted: str = "respondents") -> str:
    """What is promised, as one sentence for people.

    Args:
        guarantee: of an output.
        counted: "respondents", or "rows" where nothing tells people apart.
    """
    limit = guarantee.suppression_limit
    left_out = f"; records of at most {shown(limit * 100)} % of the {counted} are left out" if limit else ""
    return (
        f"each group of {counted} has at least {guarantee.l} different values of {guarantee.sensitive}"
        f" (distinct l-diversity), which are published apart from the records; {EXACTLY}{left_out}"
    )


def limits(guarantee: GroupsGuarantee) -> tuple[str, ...]:
    """What it does not protect against, as sentences for people."""
    released = ", ".join(guarantee.released)
    return (
        "learning that a person is in the table, and all of their quasi-identifiers: these are published"
        " exactly, and may be of one person alone",
        "learning a value that most of a group have, or the values that a person cannot have",
        "somebody who knows the values of others in a group, or what excludes a value of a person",
        "learning a person's value from what goes with their quasi-identifiers in all groups together: a"
        " value that only men have, or statistics of the whole table",
        "releases about the same people that this one was not held together with",
        *(
            [f"whatever the released columns tell or help to find out, by themselves: {released}"]
            if released
            else []
        ),
    )
