"""What a table holds, before there is a policy: datatypes, formats and counts, for the owner's eyes.

The counts are figures about the data: they are shown, and never written. No value leaves this module.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.local import LocalRelations
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.addresses import Frame, Location, ServedTable
from smalti.engine.tables.bringing import bound, brought
from smalti.engine.tables.canonical import canonical
from smalti.engine.tables.description import Description, Foreign, MixedColumn, Source
from smalti.engine.tables.guessing import Guess, ProposedColumn
from smalti.engine.tables.proposing import Proposal, propose, with_proposals
from smalti.engine.tables.reading import Contents, inspect, text_batches
from smalti.engine.tables.sources import described
from smalti.engine.tables.stores import StoredObject
from smalti.errors import DataError, UsageError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

_TARGET: Final = IRI("urn:smalti:init")
_COPY: Final = "copied"
_NUMERIC: Final = (Datatype.DECIMAL, Datatype.DOUBLE, Datatype.DATE, Datatype.DATETIME)
_SAMPLED: Final = 300
"""Values of a column of text that are looked at for formats."""
_ROWS_EACH: Final = 20
"""A column with more rows for each value than this, on average, is no likely column of people."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column of a table, and figures about it for the data's owner."""

    name: str
    proposed: ProposedColumn
    """What it seems to hold, or what the description or the table says."""
    is_stated: bool
    """Whether the description or the table says so."""
    missing: int
    """Rows without a value."""
    distinct: int
    """Different values."""
    repeated: int
    """Rows whose value other rows have, too."""
    mostly: tuple[ProposedColumn, ...] = ()
    """What most values of a sample look like, where others are of another form; none: nothing."""

    @property
    def datatype(self) -> Datatype | None:
        """What it holds; None: text, or nothing, or people have to decide."""
        return None if self.proposed.rival is not None else self.proposed.datatype


@dataclass(frozen=True, slots=True)
class Profile:
    """A table as it is found, without a policy."""

    columns: tuple[ColumnProfile, ...]
    rows: int
    file: Path | None
    """The file or folder that a description stands beside; None: there is none."""
    table: str | None
    """The sheet or table in the file, where one is named."""
    proposal: Proposal | None
    """How the CSV file seems to be written; None where a description says it, or the data is no CSV."""
    nulls: tuple[str, ...]
    """The texts that were said to be missing values."""
    description: str
    """The name of the description that is there; empty: there is none."""
    states_respondent: bool
    """Whether it says who the person is."""
    mixed: tuple[MixedColumn, ...] = ()
    """Columns whose cells are of several types."""
    served: str | None = None
    """The table's name on a server, by which a description is about it; None: it is on no server."""

    @property
    def candidates(self) -> tuple[ColumnProfile, ...]:
        """Columns that may tell people apart, the likeliest first: always there, and with many values."""
        likely = [
            column
            for column in self.columns
            if self.rows
            and not column.missing
            and column.distinct * _ROWS_EACH > self.rows
            and column.datatype not in _NUMERIC
        ]
        return tuple(sorted(likely, key=lambda column: -column.distinct))


def profiled(data: Location, nulls: Sequence[str] = (), *, has_header: bool = False) -> Profile:
    """Look at a table, in one pass over its bytes and with the embedded engine.

    Args:
        data: where it is.
        nulls: the texts that say that there is no value.
        has_header: whether the first record of a CSV file is said to name its columns.

    Raises:
        UsageError: there is no such data, it stands in a store, or `nulls` are said beside a description.
        DataError: it cannot be read, or seems to have no header.
        BackendError: the machine, or a server.
    """
    with looked_at(data, nulls, has_header=has_header) as table:
        check_nulls_are_written(table.profile)
        return table.profile


def check_nulls_are_written(profile: Profile) -> None:
    """Refuse texts for missing values that a policy would be begun with, and a description does not state.

    Raises:
        UsageError: there are some, and a description that nothing is written into.
    """
    if profile.nulls and profile.description:
        raise UsageError(
            "missing values (--null)",
            f"`{profile.description}` describes the data already",
            "no --null",
            "write `null` into that description",
        )


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A table that is open, with its profile."""

    profile: Profile
    description: Description
    relations: LocalRelations

    def texts(self, places: Sequence[int], at_most: int | None = None) -> pa.Table:
        """The texts of some columns, row by row, in any order; null where there is no value."""
        names = ", ".join(f"c{place}" for place in places)
        limit = "" if at_most is None else f" LIMIT {int(at_most)}"
        return self.relations.take(f"SELECT {names} FROM {_COPY}{limit}")


@contextmanager
def looked_at(
    data: Location,
    nulls: Sequence[str] = (),
    *,
    has_header: bool = False,
    check: Callable[[Sequence[str], Description], None] = lambda _names, _description: None,
) -> Iterator[LookedAt]:
    """A table while it is open for more looks at it.

    Args:
        data: as of `profiled`.
        nulls: the texts that say that there is no value, beside those that a description states.
        has_header: as of `profiled`.
        check: called with the names of the columns and the description, before values are looked at.

    Raises:
        SmaltiError: as `profiled`, and what `check` raises.
    """
    if isinstance(data, StoredObject):
        raise UsageError(
            "data",
            "it stands in an object store, where nothing is written",
            "a file on this machine",
            "copy it here, or a part of it with the same columns, and run `init` on the copy; then the"
            " description belongs beside the object, and `--data` of other commands takes its address",
        )
    with tempfile.TemporaryDirectory(prefix="smalti-") as place:
        folder = Path(place)
        served = None
        if isinstance(data, ServedTable | Frame):
            source, proposal, file = brought(_TARGET, data, folder / "input"), None, None
            if isinstance(data, ServedTable):
                served = data.table or source.path.name.rpartition("#")[2]
        else:
            found_there = bound(_TARGET, data)
            file = found_there.path
            original, proposal = _described(found_there, nulls, has_header=has_header)
            source = canonical(original, folder / "input")
        with with_proposals(source.paths):
            contents = inspect(source)
        check(contents.header, source.description)
        with closing(LocalRelations(folder)) as relations:
            relations.copy_texts(_COPY, source, contents)
            columns = tuple(_columns(source, contents, relations))
            description = source.description
            profile = Profile(
                columns,
                contents.rows,
                file,
                source.table,
                proposal,
                tuple(nulls),
                description.source,
                description.one_row_each or description.respondent is not None,
                source.mixed,
                served,
            )
            yield LookedAt(profile, description, relations)


def _described(source: Source, nulls: Sequence[str], *, has_header: bool) -> tuple[Source, Proposal | None]:
    """A source as its description says it is, or as it seems to be, without datatypes."""
    if source.description.source:
        if nulls:
            return replace(source, description=source.description.with_nulls(nulls)), None
        return source, None
    proposal = None
    if source.format is OutputFormat.CSV and source.foreign in (None, Foreign.CSV):
        proposal = _proposed(source.paths[0], has_header=has_header)
    dialect = None if proposal is None or proposal.is_canonical else proposal.dialect
    return described(source, Description(dialect=dialect, nulls=frozenset(nulls) - {""})), proposal


def _proposed(path: Path, *, has_header: bool) -> Proposal | None:
    """How a CSV file seems to be written; None where nothing can be said, and reading it says why."""
    proposal = None
    with suppress(OSError):
        proposal = propose(path)
    if proposal is None or proposal.dialect.has_header:
        return proposal
    if not has_header:
        raise DataError(
            path.name,
            "it seems to have no header: its first record looks like values, or two of its texts are alike",
            "a first record with the column names",
            'add one, or write a description with "header": false and the names (docs/descriptions.md);'
            " where the first record does name the columns, say --header",
        )
    return replace(proposal, dialect=replace(proposal.dialect, has_header=True))


def _columns(source: Source, contents: Contents, relations: LocalRelations) -> Iterator[ColumnProfile]:
    guesses = _guesses(source, contents)
    for place, name in enumerate(contents.header):
        distinct, filled, repeated = relations.counts(_COPY, place)
        description = source.description.column(name)
        datatype = description.datatype or contents.datatypes[place]
        proposed = guesses[place].column(name)
        if datatype is not None:
            proposed = ProposedColumn(name, datatype, description.format)
        mostly = guesses[place].mostly(name) if datatype is None else ()
        missing = contents.rows - filled
        yield ColumnProfile(name, proposed, datatype is not None, missing, distinct, repeated, mostly)


def _guesses(source: Source, contents: Contents) -> list[Guess]:
    """What the texts of each column have in common."""
    guesses = [Guess(_SAMPLED) for _ in contents.header]
    for batch in text_batches(source, contents):
        for guess, texts in zip(guesses, batch.columns[1:], strict=True):
            if not guess.is_done:
                guess.add(_present(pc.unique(texts)))
    return guesses


def _present(texts: pa.Array) -> Collection[str]:
    return [text for text in texts.to_pylist() if text is not None]
