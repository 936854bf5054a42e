"""Column names: those that are read are written so that the reader and the verifier read them back."""

import csv
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.reading import inspect, read_names, text_batches
from smalti.engine.tables.writing import csv_records, open_writer
from smalti.engine.verify.columns import Batch, gathered
from smalti.engine.verify.read import Original, Output, open_original, read_output
from smalti.errors import DataError
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/t")
NAME = st.text(
    st.one_of(st.sampled_from("\0\ufeff\",\r\n \t.'aA1"), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=5,
)
TEXTS = [None, '"', "y,\r\n"]
"""Of each column: ordered as published rows are."""


def is_fit(name: str) -> bool:
    return "\0" not in name and not name.startswith("\ufeff")


def columns(count: int) -> list[pa.Array]:
    return [pa.array(TEXTS, pa.string())] * count


def input_of(folder: Path, names: list[str], kind: OutputFormat) -> Source:
    """A table with these names, as somebody else writes it: CSV with a byte order mark."""
    place = folder / f"input.{kind}"
    if kind is OutputFormat.PARQUET:
        pq.write_table(pa.Table.from_arrays(columns(len(names)), names), place)
    else:
        header = csv_records([pa.array([name]) for name in names])
        place.write_bytes(b"\xef\xbb\xbf" + header + csv_records(columns(len(names))))
    return Source(TARGET, place, kind, Description())


def read_back(source: Source) -> tuple[tuple[str, ...], list[list[str | None]]]:
    """A file as the one reader reads it."""
    contents = inspect(source)
    table = text_batches(source, contents).read_all()
    return contents.header, [column.to_pylist() for column in table.columns[1:]]


def verified(batches: Iterable[Batch], names: tuple[str, ...]) -> list[list[str | None]]:
    """Columns as the verifier reads them."""
    found, _ = gathered(batches)
    return [[[*found[name].values.to_pylist(), None][code] for code in found[name].codes] for name in names]


def check_published(place: Path, names: tuple[str, ...], kind: OutputFormat) -> None:
    """That a table is written under these names, and read as it was written by whoever reads it."""
    with closing(open_writer(place, names, kind)) as writer:
        writer.write(pa.RecordBatch.from_arrays(columns(len(names)), [f"c{i}" for i in range(len(names))]))
    expected = [TEXTS] * len(names)
    assert read_names(place, kind) == names
    assert read_back(Source(TARGET, place, kind, Description())) == (names, expected)
    published = read_output(Output(place, kind), names, ())
    assert verified(published.batches(names, None), names) == expected
    again = open_original(Original(place, kind), names)
    assert verified(again.batches(names, None), names) == expected


@settings(max_examples=examples(20, full=600), deadline=None)
@given(st.lists(NAME, min_size=1, max_size=4, unique=True), st.sampled_from(list(OutputFormat)))
@example(["a", "\ufeffb"], OutputFormat.CSV)
@example(["\ufeffb"], OutputFormat.PARQUET)
@example(["a", "b\0"], OutputFormat.PARQUET)
@example(["a", "a.b", "A", " a", "\ra", "a\ufeff"], OutputFormat.PARQUET)
def test_names_that_are_read_can_be_published_in_any_part(names: list[str], kind: OutputFormat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = input_of(Path(folder), names, kind)
        if not all(map(is_fit, names)):
            with pytest.raises(DataError, match=r"column [0-9]+: its name"):
                inspect(source)
            return
        assert read_back(source) == (tuple(names), [TEXTS] * len(names))
        for first in range(len(names)):  # whatever is dropped before it
            for output in OutputFormat:
                check_published(Path(folder) / f"{first}.{output}", tuple(names[first:]), output)


LONGEST = csv.field_size_limit()


@pytest.mark.parametrize("kind", OutputFormat)
@pytest.mark.parametrize(
    ("lengths", "is_read"),
    [([LONGEST], True), ([LONGEST + 1], False), ([131_000] * 8, True), ([131_000] * 8 + [600], False)],
)
def test_long_names_are_read_as_far_as_they_can_be_published(
    tmp_path: Path, kind: OutputFormat, lengths: list[int], is_read: bool
) -> None:
    names = [f"{number}".ljust(length, "x") for number, length in enumerate(lengths)]
    source = input_of(tmp_path, names, kind)
    if not is_read:
        with pytest.raises(DataError, match="too long"):
            inspect(source)
        return
    assert inspect(source).header == tuple(names)
    for output in OutputFormat:
        check_published(tmp_path / f"output.{output}", tuple(names), output)


def test_a_header_of_which_only_the_last_name_is_cut_is_no_header(tmp_path: Path) -> None:
    """The first MiB ends inside the last name: as many columns, and another name."""
    names = [f"{number}".ljust(120_000, "x") for number in range(9)]
    with pytest.raises(DataError, match="the header: it is too long"):
        inspect(input_of(tmp_path, names, OutputFormat.CSV))
