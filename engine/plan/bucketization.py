"""A plan of two tables: records in groups, and the sensitive values of each group.

Everything that a result depends on is in here, apart from the data and the secret of the registry.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import (
    Column,
    Filter,
    OutputFormat,
    Read,
    Role,
    Select,
    columns_of_respondent,
    facts_of_columns,
)
from smalti.policy.model.model import Permission
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Group:
    """Put records into groups of at least l different sensitive values; a secret decides the order."""

    method: str
    """`l-diversity`."""
    algorithm: str
    """`anatomy`."""
    l: int  # noqa: E741 (the literature's name)
    """Different sensitive values in each group."""
    sensitive: str
    """The column whose values are published apart."""
    suppression_limit: Fraction = field(default=Fraction(0), metadata=LEFT_OUT_AT_DEFAULT)
    """The share of respondents whose records may be left out."""


@dataclass(frozen=True, slots=True)
class WriteTable:
    """Write one table, ordered by all of its columns, bytewise, missing first."""

    output: IRI
    """Its own IRI."""
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteTables:
    """Write records with the numbers of their groups, and the values of each group with their counts."""

    output: IRI
    """Of both together."""
    format: OutputFormat
    records: WriteTable
    """Its last column is the number of the group."""
    values: WriteTable
    """The number of the group, the sensitive value, and how many records of the group have it."""


@dataclass(frozen=True, slots=True)
class BucketizationPlan(ShownInNotebooks):
    """Read, filter, drop, group, write two tables: the steps of one run."""

    kind: ClassVar[Kind] = Kind.BUCKETIZATION

    read: Read
    select: Select
    group: Group
    write: WriteTables
    filter: Filter | None = None
    """None where all rows are granted."""

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(Read, steps["read"]),
            node_of(Select, steps["select"]),
            node_of(Group, steps["group"]),
            node_of(WriteTables, steps["write"]),
            node_of(Filter, steps["filter"]) if "filter" in steps else None,
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> None:
        """Nothing is charged."""
        del permission

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        return ("select", self.select), ("group", self.group)

    @property
    def used_columns(self) -> frozenset[str]:
        of_rows = frozenset[str]() if self.filter is None else self.filter.columns
        return columns_of_respondent(self.read.respondent) | frozenset(self.select.kept) | of_rows

    @property
    def input_facts(self) -> InputFacts:
        return facts_of_columns(self.kind, self.read.columns)

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the records that are published as they are, by name, in their order."""
        return self.write.records.columns[:-1]

    @property
    def released(self) -> tuple[str, ...]:
        """Those among them that are published on the policy author's word."""
        return self._named(Role.RELEASED)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self._named(Role.QUASI_IDENTIFIER)

    def _named(self, role: Role) -> tuple[str, ...]:
        return tuple(column.name for column in self.read.columns if column.role is role)

    def column(self, name: str) -> Column:
        """The input column of that name; KeyError if there is none."""
        for column in self.read.columns:
            if column.name == name:
                return column
        raise KeyError(name)
