"""A plan of single techniques: which columns are published, and what is done to each."""

from dataclasses import dataclass
from typing import ClassVar, Self

from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.masks import Mask
from smalti.engine.plan.nodes import Steps, node_of
from smalti.engine.plan.plan import (
    Column,
    Filter,
    Read,
    Role,
    Select,
    Write,
    columns_of_respondent,
    facts_of_columns,
)
from smalti.policy.model.model import Permission


@dataclass(frozen=True, slots=True)
class MaskingPlan(ShownInNotebooks):
    """Read, filter, drop, mask, write: the steps of one run. It promises no privacy model."""

    kind: ClassVar[Kind] = Kind.MASKING

    read: Read
    select: Select
    mask: Mask
    write: Write
    filter: Filter | None = None
    """None where all rows are granted."""

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(Read, steps["read"]),
            node_of(Select, steps["select"]),
            node_of(Mask, steps["mask"]),
            node_of(Write, steps["write"]),
            node_of(Filter, steps["filter"]) if "filter" in steps else None,
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> None:
        """Nothing is charged."""
        del permission

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        return ("select", self.select), ("mask", self.mask)

    @property
    def used_columns(self) -> frozenset[str]:
        of_rows = frozenset[str]() if self.filter is None else self.filter.columns
        looked_at = {*self.write.columns, *(each.column for each in self.mask.rare_records)}
        return columns_of_respondent(self.read.respondent) | looked_at | of_rows

    @property
    def input_facts(self) -> InputFacts:
        return facts_of_columns(self.kind, self.read.columns)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that are published unchanged, by name."""
        return tuple(column.name for column in self.read.columns if column.role is Role.RELEASED)

    def column(self, name: str) -> Column:
        """The input column of that name; KeyError if there is none."""
        for column in self.read.columns:
            if column.name == name:
                return column
        raise KeyError(name)
