"""The parts of a report: sections of texts, tables and drawings."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below a header."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each as long as the header."""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError("a row has as many cells as the header")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as SVG; its description replaces it where none can be shown."""

    caption: str
    description: str
    """What it shows, in words: for a terminal, and for readers who cannot see it."""
    svg: str
    """An `svg` element that refers to nothing outside of itself."""


Part: TypeAlias = Paragraph | Table | Drawing


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A report that stands alone."""

    title: str
    lead: str
    """The result, in one or two sentences."""
    sections: tuple[Section, ...]
