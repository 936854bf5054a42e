"""One row of each respondent, as numbers of public categories and units.

Which row of a respondent counts depends on its own rows alone, and what a row reports on its own text
alone: so another respondent's values change nothing about it. No text raises an error.
"""

# ruff: noqa: S608 (queries are put together from names and whole numbers of ours)

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends.staged import STAGED, StagedTable
from smalti.engine.losses.contributions import bounded
from smalti.engine.losses.readings import identities, in_units
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.reads import BoundContributions, Measure, ReadColumn, ReadRows
from smalti.errors import InternalError
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import NeighboringRelation

_ONE_ROW = BoundContributions(NeighboringRelation.CHANGE_ONE, 1, 1)
Sums: TypeAlias = NDArray[np.int32]
"""Of the pixels of cells: image, row, column. An image's pixels together are less than 2^31."""
_RESPONDENT = "u"
_ROWS = "n"


@dataclass(frozen=True, slots=True)
class CodedCategory:
    """A column of public texts; what is missing or none of them is category 0."""

    column: str
    values: tuple[str, ...]
    """Each once."""
    has_missing: bool
    """Whether a missing value is the category before `values`."""


@dataclass(frozen=True, slots=True)
class CodedNumber:
    """A column of numbers in units between public bounds."""

    measure: Measure
    middle: int
    """What is taken for what is missing or no number, in units."""

    @property
    def column(self) -> str:
        return self.measure.column


@dataclass(frozen=True, slots=True)
class CodedImage:
    """A column of images, each coded by the number of its sums of cells."""

    column: str
    coded: Callable[[pa.Array], tuple[Sums, Integers]]
    """Of different texts: the different sums, in order; and which of them a grey image has, and then each
    text."""


Coded: TypeAlias = CodedCategory | CodedNumber | CodedImage
"""What becomes of the texts of a column."""


@dataclass(frozen=True, slots=True)
class ExactReports:
    """The reports before noise. Private: they never leave the engine's driver.

    Equal ones are there once, in the order of their codes, so that the order of rows is gone.
    """

    codes: tuple[Integers, ...]
    """By column of the plan, by combination: the category, units above the lower bound, or the image."""
    respondents: Integers
    """By combination: how many respondents have it."""
    sums: Mapping[str, Sums] = field(default_factory=dict)
    """By column of images and by image: the sums of its cells (image, row, column). In their order."""


def coded_reports(read: ReadRows, columns: Sequence[Coded], table: StagedTable) -> ExactReports:
    """The first row of each respondent, in the order of the file, as codes.

    Args:
        read: says who respondents are, and what is read.
        columns: of those that are read, at least one.
        table: without the rows of those who withdrew.

    Raises:
        BackendError: the machine. Nothing about the values is ever raised.
    """
    reading = _Reading(read, columns, table)
    try:
        return reading.reports()
    finally:
        reading.close()


class _Reading:
    def __init__(self, read: ReadRows, columns: Sequence[Coded], table: StagedTable) -> None:
        self._read, self._columns, self._table = read, columns, table
        self._relations: list[str] = []
        self._joins: list[str] = []
        self._sums: dict[str, Sums] = {}

    def close(self) -> None:
        """Let go of what was kept."""
        for name in self._relations:
            self._table.relations.drop(name)

    def reports(self) -> ExactReports:
        names = [f"c{i}x" for i in range(len(self._columns))]
        selected = [
            f"{self._code(column, name)} AS {name}"
            for column, name in zip(self._columns, names, strict=True)
        ]
        listed = ", ".join(names)
        counted = f"SELECT {listed}, count(*) AS {_ROWS} FROM ({self._counting(selected, names)}) AS used"
        counts = self._table.relations.take(f"{counted} GROUP BY {listed}")
        codes = [_integers(counts, name) for name in names]
        order = np.lexsort(codes[::-1])
        ordered = tuple(column[order] for column in codes)
        return ExactReports(ordered, _integers(counts, _ROWS)[order], self._sums)

    def _counting(self, selected: list[str], names: list[str]) -> str:
        """A query for the rows that count."""
        if not isinstance(self._read.respondent, RespondentColumn):
            return f"SELECT {', '.join(selected)} FROM {STAGED} {' '.join(self._joins)}"
        respondent, condition = self._respondent(self._read.respondent.column)
        expressions = ", ".join([f"{STAGED}.row AS row", f"{respondent} AS {_RESPONDENT}", *selected])
        rows = f"SELECT {expressions} FROM {STAGED} {' '.join(self._joins)}{condition}"
        return bounded(rows, names, [], _ONE_ROW)

    def _respondent(self, column: str) -> tuple[str, str]:
        """What tells respondents apart, one value in all spellings; and the condition that it is there."""
        texts = self._table.texts(column)
        same = identities(texts, self._column(column))
        if same is None:
            expression, present = self._table.present(column)
            return expression, f" WHERE {present}"
        self._joins.append(self._beside(column, texts, {_RESPONDENT + "x": pa.array(same, pa.int64())}))
        return _RESPONDENT + "x", ""

    def _column(self, name: str) -> ReadColumn:
        return next(column for column in self._read.columns if column.name == name)

    def _code(self, column: Coded, name: str) -> str:
        """The code of a column; what no public text or number is gets a public one."""
        if isinstance(column, CodedCategory):
            # INVARIANT: each text is there once, so no row is joined twice, and reported twice.
            if len(set(column.values)) < len(column.values):
                raise InternalError("a domain with the same value twice")
            first = int(column.has_missing)
            texts, other = pa.array(column.values, pa.string()), 0
            codes = np.arange(first, first + len(column.values))
        elif isinstance(column, CodedImage):
            texts = self._table.texts(column.column)
            self._sums[column.column], numbers = column.coded(texts)
            codes, other = numbers[1:], int(numbers[0])
        else:
            texts = self._table.texts(column.column)
            units = in_units(texts, column.measure, self._column(column.column).datatype)
            codes = np.array([number for some in units for number in some], np.int64)
            other = column.middle
        # LEFT: no row is lost because of what it says.
        join = self._beside(column.column, texts, {f"{name}v": pa.array(codes, pa.int64())})
        self._joins.append(f"LEFT {join}")
        return f"coalesce({name}v, CAST({other} AS BIGINT))"

    def _beside(self, column: str, texts: pa.Array, values: Mapping[str, pa.Array]) -> str:
        name = f"reported{len(self._relations)}"
        self._relations.append(name)
        return self._table.beside(name, column, texts, values)


def _integers(table: pa.Table, name: str) -> Integers:
    numbers: Integers = table.column(name).to_numpy().astype(np.int64)
    return numbers


def describe_reporters(read: ReadRows) -> str:
    """Who reports which row, in words for people."""
    if isinstance(read.respondent, RespondentColumn):
        return (
            f"rows with the same {read.respondent.column} are about one person, of whom the first row"
            " in the file takes part; rows without one, and of those who withdrew, are left out"
        )
    return "each row is about another person (declared)"
