"""The line between engine and algorithm: a backend moves rows, and decides nothing about them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.description import Source
from smalti.engine.plan import Plan
from smalti.engine.reading import Contents
from smalti.policy.model import LogicalOperator


@dataclass(frozen=True, slots=True)
class Frequencies:
    """What the kernel needs to know of the rows, as texts; missing is null.

    The order of tuples is the backend's own; results never depend on it.
    """

    tuples: pa.Table
    """Each distinct combination of quasi-identifiers once: one column for each, by name."""
    rows: NDArray[np.int64]
    """By tuple: its rows."""
    respondents: pa.Table | None
    """Distinct pairs `tuple`, `respondent`; None where each row is another respondent."""
    sensitive: tuple[pa.Table, ...]
    """For each sensitive column the distinct `tuple`, `value` and, with a respondent column,
    `respondent`."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """What becomes of each tuple."""

    classes: NDArray[np.int64]
    """By tuple: its class."""
    labels: pa.Table
    """By class: the published text of each quasi-identifier, by name; null is missing."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Satisfied by rows whose text in a column is among these; never by one without a text."""

    column: str
    texts: pa.Array
    """Each once, none of them missing."""


@dataclass(frozen=True, slots=True)
class Together:
    """Tests taken together."""

    operator: LogicalOperator
    tests: "tuple[RowTest, ...]"
    """At least one."""


RowTest = Listed | Together


class BoundTable(ABC):
    """One input, staged privately for one run; to be used in `contextlib.closing`.

    What is said of rows is said of those that `keep` and `leave_out` have not removed.
    """

    contents: Contents
    """Of the file as a whole."""

    @abstractmethod
    def keep(self, test: RowTest) -> None:
        """Remove each row that does not satisfy a test."""

    @abstractmethod
    def leave_out(self, test: RowTest) -> None:
        """Remove each row that satisfies a test."""

    @abstractmethod
    def texts(self, column: str) -> pa.Array:
        """The distinct present texts of a column, in any order."""

    @abstractmethod
    def repeats(self, column: str) -> bool:
        """Whether a present value occurs in two rows."""

    @abstractmethod
    def misses(self, column: str) -> bool:
        """Whether a row has no value there."""

    @abstractmethod
    def matches(self, column: str, pattern: str) -> bool:
        """Whether each present text matches a regular expression as a whole."""

    @abstractmethod
    def frequencies(self, plan: Plan) -> Frequencies: ...

    @abstractmethod
    def write(self, plan: Plan, recoding: Recoding, output: Path, link: Path) -> None:
        """Write the published file, and beside it the private link.

        Args:
            plan: says which columns, and the format.
            recoding: by tuple, in the order of `frequencies`.
            output: a file that does not exist yet.
            link: a `.npy` file of int64: the input row of each published row, from 0.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; the workspace is removed by its owner."""


class Backend(ABC):
    """A place where plans run."""

    name: ClassVar[str]

    @abstractmethod
    def open(self, source: Source, workspace: Path) -> BoundTable:
        """Check a source's file and stage it.

        Args:
            source: the file and its description.
            workspace: an empty folder private to the run, for staging and spill.

        Raises:
            DataError: the file cannot be read as its format says.
            BackendError: the machine.
        """


@contextmanager
def open_link(path: Path, rows: int) -> Iterator[BinaryIO]:
    """A new link file, to which `link_bytes` of so many rows are written.

    Not a memory map: when the disk is full, that ends the process without a word.
    """
    with path.open("xb") as file:
        form = {"descr": "<i8", "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_1_0(file, form)
        yield file


def link_bytes(rows: pa.Array) -> bytes:
    """Input rows as they stand in a link file."""
    content: bytes = rows.to_numpy().astype("<i8").tobytes()
    return content


def published_columns(plan: Plan) -> tuple[tuple[str, int | None], ...]:
    """The output's columns in order, each with its place among the quasi-identifiers, if it is one."""
    place = {name: i for i, name in enumerate(plan.apply.transform.quasi_identifiers)}
    return tuple((name, place.get(name)) for name in plan.write.columns)
