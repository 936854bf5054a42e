"""Hierarchies as descriptions declare them: by a file, or by a rule with its parameters."""

import hashlib
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Final

import rfc8785


class FileForm(StrEnum):
    """How a file states a hierarchy."""

    CSV = "csv"
    """A line for each value: the value, and its label of each level (the form of ARX)."""
    JSON = "json"
    """A tree: objects of nodes by label, arrays of values."""
    SKOS = "skos"
    """Concepts with `skos:broader` or `skos:narrower`, in Turtle."""


@dataclass(frozen=True, slots=True)
class HierarchyFile:
    """A hierarchy that was read from a file."""

    kind: ClassVar[str] = "file"

    form: FileForm
    name: str
    """Of the file, for messages; no part of the digest."""
    rows: tuple[tuple[str, ...], ...]
    """For each value, itself and its labels from level 1 on, all of one length; ascending by value."""

    @property
    def levels(self) -> int:
        """Above the values."""
        return max((len(row) for row in self.rows), default=1) - 1


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of numbers, or of dates in days."""

    kind: ClassVar[str] = "intervals"

    width: Decimal
    """Above 0."""
    start: str = "0"
    """An end of an interval: a number, or a date (`0` is 1970-01-01)."""
    fan_out: tuple[int, ...] = ()
    """How many intervals of a level become one on the next."""

    @property
    def levels(self) -> int:
        """Above the values."""
        return len(self.fan_out) + 2


@dataclass(frozen=True, slots=True)
class Calendar:
    """Dates in months, quarters, years or decades."""

    kind: ClassVar[str] = "dates"

    units: tuple[str, ...]

    @property
    def levels(self) -> int:
        """Above the values."""
        return len(self.units) + 1


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The first characters of codes."""

    kind: ClassVar[str] = "prefixes"

    lengths: tuple[int, ...]
    """Falling, at least 1."""

    @property
    def levels(self) -> int:
        """Above the values."""
        return len(self.lengths) + 1


@dataclass(frozen=True, slots=True)
class Masking:
    """Characters of codes that are replaced with `*`, one more on each level."""

    kind: ClassVar[str] = "masking"

    width: int
    """The most characters that a code has."""
    from_right: bool = True

    @property
    def levels(self) -> int:
        """Above the values."""
        return self.width


@dataclass(frozen=True, slots=True)
class OrderedList:
    """A list of all values in their order, whose neighbours become one."""

    kind: ClassVar[str] = "ordered"

    values: tuple[str, ...]
    fan_out: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Above the values."""
        return len(self.fan_out) + 1


@dataclass(frozen=True, slots=True)
class AllOrNothing:
    """Each value by itself, or `*` for all: of a column for which nothing is declared."""

    kind: ClassVar[str] = "all or nothing"

    @property
    def levels(self) -> int:
        """Above the values."""
        return 1


Stated = HierarchyFile | Intervals | Calendar | Prefixes | Masking | OrderedList | AllOrNothing

CALENDAR_UNITS: Final = ("month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class ColumnHierarchy:
    """What a plan says of a column's hierarchy; never a value."""

    kind: str
    """`file`, or the name of a rule."""
    digest: str
    """`sha256:` and hexadecimal digits, of its canonical form: another hierarchy is another plan."""
    levels: int
    """Above the values."""
    is_derived: bool = False
    """Whether it was made from the data: then it is not public."""


@dataclass(frozen=True, slots=True)
class DeclaredHierarchy:
    """The hierarchy of a column, as the description declares it."""

    stated: Stated
    is_derived: bool = False

    @property
    def in_plan(self) -> ColumnHierarchy:
        """What a plan says of it."""
        return ColumnHierarchy(
            self.stated.kind, digest_of(self.stated), self.stated.levels, self.is_derived
        )


UNDECLARED: Final = DeclaredHierarchy(AllOrNothing())
"""Of a column whose description says nothing, where an algorithm takes whole domains."""


def hierarchy_of(in_plan: ColumnHierarchy, declared: DeclaredHierarchy | None) -> DeclaredHierarchy | None:
    """The hierarchy that a plan has of a column; None where what is declared is another one."""
    hierarchy = UNDECLARED if in_plan.kind == AllOrNothing.kind else declared
    return hierarchy if hierarchy is not None and hierarchy.in_plan == in_plan else None


def digest_of(stated: Stated) -> str:
    """The digest of a hierarchy's canonical form: its rows, or its rule with all parameters (RFC 8785)."""
    if isinstance(stated, HierarchyFile):
        content: object = [list(row) for row in stated.rows]
    else:
        content = {name: _plain(value) for name, value in asdict(stated).items()}
    canonical = rfc8785.dumps({"kind": stated.kind, "content": content})  # type: ignore[dict-item]
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return list(value) if isinstance(value, tuple) else value
