"""The W3C CSVW description of a data file.

`customers.csv-metadata.json` beside `customers.csv` is found by itself, as CSVW prescribes; so is that of
a folder of files which are one table. The subset that is understood: `url`, `dialect`, `null`,
`tableSchema.columns` with `name`, `datatype` with its `format`, and `propertyUrl`, the respondent, a
column's time zone, and what is public of values and contributions. Notes for people (titles, Dublin Core,
...) are passed over by name; anything else is refused, for a description that is half understood changes
what is published.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Self

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.formats import Format
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """What the description says of one column; None where it says nothing."""

    name: str
    iri: IRI | None
    datatype: Datatype | None
    time_zone: str | None
    is_required: bool = False
    """True where each row must have a value."""
    most_values: int | None = None
    """At most so many different values, where that is public."""
    values: tuple[str, ...] = ()
    """The texts that are public, each once; none: not said. A row may have another one all the same."""
    lower: Decimal | None = None
    """The public lower bound of its numbers; a row may lie below it all the same."""
    upper: Decimal | None = None
    """Above `lower`, where that is said."""
    unit: Decimal | None = None
    """What its numbers are counted in; above 0."""
    most_groups: int | None = None
    """One respondent has at most so many different values, where that is public."""
    is_derived: bool = False
    """True where bounds and values were taken from the data: then they are not public."""
    image_size: tuple[int, int] | None = None
    """Width and height in pixels of the images in it, where that is public."""
    nulls: frozenset[str] = frozenset()
    """The texts that say that there is no value; the empty text always does."""
    format: Format | None = None
    """How its values are written; None: as the datatype says, in the canonical form."""
    hierarchy: DeclaredHierarchy | None = None
    """Along which its values are generalised; None: as the datatype says."""


@dataclass(frozen=True, slots=True)
class Description:
    """A description of a table; empty when there is none."""

    columns: tuple[ColumnDescription, ...] = ()
    respondent: str | None = None
    """The name of the column that tells respondents apart."""
    one_row_each: bool = False
    """True where each row is declared to be about another person."""
    source: str = ""
    """The file that it came from, for messages."""
    key: tuple[str, ...] = ()
    """The columns that tell rows apart together; for checking policies, a run does not use it."""
    most_rows: int | None = None
    """At most so many rows, where that is public; likewise."""
    most_contributions: int | None = None
    """At most so many rows of one respondent."""
    dialect: Dialect | None = None
    """How the file is written; None: in the canonical dialect."""
    nulls: frozenset[str] = frozenset()
    """As `ColumnDescription.nulls`, of columns that are not described."""

    def column(self, name: str) -> ColumnDescription:
        """The description of a column; empty where it is not described."""
        for column in self.columns:
            if column.name == name:
                return column
        return ColumnDescription(name, None, None, None, nulls=self.nulls)

    def with_nulls(self, texts: Collection[str]) -> Self:
        """The same, where these texts say in each column, too, that there is no value."""
        more = frozenset(texts) - {""}
        columns = tuple(replace(column, nulls=column.nulls | more) for column in self.columns)
        return replace(self, columns=columns, nulls=self.nulls | more)

    @property
    def is_canonical(self) -> bool:
        """Whether the file is written as all engines read it, as far as the description says."""
        if self.dialect is not None or self.nulls:
            return False
        return all(column.format is None and not column.nulls for column in self.columns)


class Foreign(StrEnum):
    """What a source is that is no canonical CSV or Parquet file."""

    CSV = "CSV"
    """In another dialect, with formats or texts for missing values, or packed."""
    PARQUET = "Parquet"
    """With formats or texts for missing values."""
    EXCEL = "Excel"
    DATABASE = "database"
    """A file of DuckDB or SQLite."""


@dataclass(frozen=True, slots=True)
class MixedColumn:
    """A column without a datatype whose cells are of several types: one value may have two spellings."""

    name: str
    counts: tuple[tuple[str, int], ...]
    """How many of its cells are of each kind (`foreign.CELL_KINDS`), the most first; figures for owners."""

    @property
    def counted(self) -> str:
        """As in `3 texts, 1 number`."""
        return ", ".join(f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in self.counts)


@dataclass(frozen=True, slots=True)
class Source:
    """A target bound to a file, or to a folder of files that are one table."""

    target: IRI
    path: Path
    """The file or the folder."""
    format: OutputFormat
    description: Description
    parts: tuple[Path, ...] = ()
    """The files of a folder, in their order; none where `path` is the file."""
    foreign: Foreign | None = None
    """What has to be brought into the canonical form before it is read (`bringing`); None: nothing."""
    table: str | None = None
    """The sheet of a workbook, or the table of a database; None: its only one."""
    originals: tuple[str, ...] = ()
    """`sha256:` and hexadecimal digits, of what each file was brought from; none where it was not."""
    datatypes: tuple[Datatype | None, ...] = ()
    """By column, where what it was brought from states them; none where it was not."""
    mixed: tuple[MixedColumn, ...] = ()
    """Columns whose cells were of several types; none where it was not brought from anything."""

    @property
    def is_plain_csv(self) -> bool:
        """Whether it is a CSV file, or several, that is read as it is."""
        return (
            self.format is OutputFormat.CSV
            and self.foreign is None
            and not self.originals
            and not self.datatypes
        )

    def has_format(self, column: str) -> bool:
        """Whether the description says how the values of a column are written, other than canonically."""
        return self.description.column(column).format is not None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of their rows: at least one."""
        return self.parts or (self.path,)
