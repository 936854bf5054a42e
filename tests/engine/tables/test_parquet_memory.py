"""Parquet files that say much in few bytes: read in bounded memory, or refused; never believed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from smalti.engine.backends.numbering import Numbering, TooVariedError
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables import parquet_pages, reading
from smalti.engine.tables.parquet import parquet_batches, raw_batches, text_bytes
from smalti.engine.tables.parquet_pages import Group, TooLargeError, groups
from smalti.engine.tables.sources import bind
from smalti.engine.tables.writing import content_digest, open_writer
from smalti.engine.verify.read import Original, Output, open_original, read_output
from smalti.errors import DataError, GuaranteeError
from smalti.vocab.terms import IRI

MIB = 1 << 20
ROWS = 500
"""Of a mebibyte each; the files take some kilobytes, or a mebibyte for each row group."""
READERS = {
    "engine": """
from smalti.engine.tables import reading
from smalti.engine.tables.sources import bind
from smalti.vocab.terms import IRI
source = bind(IRI("http://example.com/t"), path)
def rows():
    for batch in reading.text_batches(source, reading.inspect(source)):
        yield batch.num_rows
""",
    "verifier": """
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.verify.read import Original, open_original
def rows():
    for batch in open_original(Original(path, OutputFormat.PARQUET), ["text"]).batches(["text"], None):
        yield batch.rows
""",
}
MEASURED = """
import json, sys
from pathlib import Path
import pyarrow.parquet, pyarrow.compute
path = Path(sys.argv[1])
{reader}
def peak():  # of this program alone: `ru_maxrss` begins with the peak of the process that started it
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
before = peak()
count = sum(rows())
print(json.dumps([count, (peak() - before) / 1024]))
"""


def one_text(path: Path) -> None:
    """Each row refers to the one text of a dictionary."""
    texts = pa.array(["x" * MIB])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), texts)
    pq.write_table(pa.table({"text": column}), path, store_schema=False)


def one_text_large(path: Path) -> None:
    """The same, of the type that Arrow has for long columns."""
    column = pa.array(["x" * MIB] * ROWS, pa.large_string())
    pq.write_table(pa.table({"text": column}), path)


def well_compressed(path: Path) -> None:
    """Pages of a text each that take no room."""
    texts = pa.array([f"{'y' * MIB}{i}" for i in range(ROWS)])
    pq.write_table(
        pa.table({"text": texts}), path, compression="zstd", use_dictionary=False, write_batch_size=1
    )


def many_groups(path: Path) -> None:
    """The same in many row groups."""
    texts = pa.array([f"{'y' * MIB}{i}" for i in range(ROWS)])
    pq.write_table(
        pa.table({"text": texts}), path, compression="zstd", use_dictionary=False, row_group_size=8
    )


def repeated_beginnings(path: Path) -> None:
    """Each text is written as what it has more than the one before it."""
    texts = pa.array([f"{'z' * MIB}{i}" for i in range(ROWS)])
    pq.write_table(
        pa.table({"text": texts}), path, compression="none", use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"}, write_batch_size=1, row_group_size=100,
    )  # fmt: skip


MORE = [
    pytest.param(write, marks=pytest.mark.slow)
    for write in (repeated_beginnings, one_text_large, well_compressed, many_groups)
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("write", [one_text, *MORE])
def test_memory_does_not_grow_with_what_a_file_unfolds_to(
    tmp_path: Path, write: Callable[[Path], None], reader: str
) -> None:
    path = tmp_path / "t.parquet"
    write(path)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED.format(reader=READERS[reader]), str(path)],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    count, grown = json.loads(ran.stdout)
    assert count == ROWS
    assert grown < 450, f"{grown:.0f} MiB"  # read at once, the texts take twice 500


def source(path: Path) -> reading.Source:
    return bind(IRI("http://example.com/t"), path)


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=str)
def test_a_record_longer_than_csv_allows_is_refused(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "t.parquet"
    halves = pa.array(["s3cret" + "x" * (4 * MIB)]).cast(kind)
    pq.write_table(pa.table({"a": halves, "b": halves}), path, use_dictionary=kind == pa.string())
    with pytest.raises(DataError, match="a record is longer than 8 MiB") as refused:
        list(parquet_batches(path, ("a", "b"), None, (0, 1)))
    assert "s3cret" not in str(refused.value)
    pq.write_table(pa.table({"a": ["x" * 4 * MIB, "x"], "b": ["x", "x" * 4 * MIB]}), path)
    assert sum(batch.num_rows for batch in parquet_batches(path, ("a", "b"), None, (0, 1))) == 2


def test_the_verifier_reads_views_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * MIB + str(row) for row in range(40)]).cast(pa.string_view())
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    original = open_original(Original(path, OutputFormat.PARQUET), ["text"])
    rows = [batch.rows for batch in original.batches(["text"], None)]
    assert sum(rows) == 40
    assert max(rows) <= 17


def test_pages_that_are_too_large_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    texts = {name: ["x" * 1000 + str(i) for i in range(1000)] for name in "ab"}
    pq.write_table(pa.table(texts), path, use_dictionary=False, compression="zstd")
    assert sum(batch.num_rows for batch in raw_batches(path)) == 1000
    monkeypatch.setattr(parquet_pages, "MOST_PAGE_BYTES", 3 * MIB)  # two pages of a million bytes, twice
    with pytest.raises(DataError, match="smaller pages"):
        list(raw_batches(path))
    with pytest.raises(DataError):
        list(open_original(Original(path, OutputFormat.PARQUET), "ab").batches("ab", None))
    with pytest.raises(GuaranteeError):
        list(read_output(Output(path, OutputFormat.PARQUET), "ab", ()).batches("ab", None))


def test_a_long_footer_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 100 + (1 << 25).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match="footer"):
        reading.inspect(source(path))


def group_of(table: pa.Table, path: Path, **options: object) -> Group:
    pq.write_table(table, path, store_schema=False, **options)  # type: ignore[arg-type]
    (group,) = groups(path, range(1))
    return group


def test_how_many_rows_are_read_at_once_follows_from_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    short = pa.table({"a": [str(i % 7) for i in range(10_000)], "n": range(10_000)})
    assert group_of(short, path) == Group(parquet_pages.MOST_ROWS, ("a",))
    assert group_of(short, path, use_dictionary=False) == Group(parquet_pages.MOST_ROWS, ())
    long = pa.table({"a": [f"{'x' * 100_000}{i}" for i in range(100)]})
    plain = group_of(long, path, use_dictionary=False, compression="zstd")
    assert 1 <= plain.rows_at_once * 100_000 <= 64 * MIB
    delta = group_of(
        long, path, use_dictionary=False, compression="none", column_encoding={"a": "DELTA_BYTE_ARRAY"}
    )
    assert 1 <= delta.rows_at_once * 100_000 <= 64 * MIB
    # Decimals are not read as dictionaries, so each row may take as much as the dictionary.
    few = pa.table({"a": pa.array([1, 2] * 50).cast(pa.decimal128(30, 2))})
    assert group_of(few, path).dictionaries == ()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_headers_are_those_that_were_written(tmp_path: Path, version: str) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [None if i % 3 == 0 else str(i) * 20 for i in range(50_000)]})
    pq.write_table(table, path, data_page_version=version, use_dictionary=False, data_page_size=1 << 12)
    with path.open("rb") as file:
        footer = parquet_pages._footer(file, path.stat().st_size)
        (group,) = parquet_pages._structs(footer, 4)
        (chunk,) = parquet_pages._structs(group, 1)
        pages = list(parquet_pages._pages(file, path.stat().st_size, parquet_pages._struct(chunk, 3)))
    assert len(pages) > 10
    assert sum(page.values for page in pages) == 50_000
    assert sum(page.bytes for page in pages) >= pc.sum(pc.binary_length(table["a"])).as_py()


@pytest.mark.parametrize("place", range(0, 40))
def test_a_broken_header_is_refused_or_harmless(tmp_path: Path, place: int) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(i) for i in range(100)]}), path, compression="none")
    content = bytearray(path.read_bytes())
    content[4 + place] ^= 0xFF
    path.write_bytes(content)
    try:
        contents = reading.inspect(source(path))
        assert sum(batch.num_rows for batch in reading.text_batches(source(path), contents)) == 100
    except DataError:
        pass


def test_a_header_that_says_a_size_twice_is_refused() -> None:
    # Fields 2 and 2 again, each a number of 32 bits.
    with pytest.raises(ValueError):  # noqa: PT011 (it has no message)
        parquet_pages._read_struct(bytes([0x25, 2, 0x05, 4, 9, 0]), 0, 0)


def test_a_chunk_beyond_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x"]}), path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + content[-200:])
    with pytest.raises(ValueError):  # noqa: PT011
        list(groups(path, range(1)))
    assert issubclass(TooLargeError, ValueError)


def test_pieces_hold_every_row_once(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = [None if i % 5 == 0 else f"{i}{'x' * (i % 7) * 300_000}" for i in range(200)]
    pq.write_table(pa.table({"a": texts}), path)
    batches = list(parquet_batches(path, ("a",), None, (0,)))
    assert [text for batch in batches for text in batch.column(0).to_pylist()] == texts
    assert len(batches) > 5
    assert all(text_bytes(batch).sum() <= 17 * MIB for batch in batches)
    seen = open_original(Original(path, OutputFormat.PARQUET), ["a"]).batches(["a"], None)
    found: list[str] = []
    for batch in seen:
        column = batch.columns["a"]
        found += column.texts.take(pa.array(column.numbers)).to_pylist()
    assert found == [text or "" for text in texts]


def test_long_labels_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    writer = open_writer(path, ("a",), OutputFormat.PARQUET)
    labels = pa.array([f"{{{'x' * 2 * MIB}|{i}}}" for i in range(30)])
    writer.write(pa.record_batch([labels], names=["a"]))
    writer.close()
    seen = read_output(Output(path, OutputFormat.PARQUET), ["a"], ()).batches(["a"], None)
    assert sum(batch.rows for batch in seen) == 30


def test_the_content_of_long_records_has_a_digest(tmp_path: Path) -> None:
    rows = ["x" * (9 * MIB), None, "a,b", "", *["y" * MIB] * 40]
    kinds = OutputFormat.CSV, OutputFormat.PARQUET
    for kind in kinds:
        writer = open_writer(tmp_path / f"t.{kind}", ("a", "b"), kind)
        writer.write(pa.record_batch([pa.array(rows), pa.array(["1"] * len(rows))], names=["a", "b"]))
        writer.close()
    as_csv, as_parquet = (content_digest([tmp_path / f"t.{kind}"], kind) for kind in kinds)
    assert as_csv == as_parquet


def test_texts_that_are_long_together_are_staged_as_texts() -> None:
    numbering = Numbering()
    texts = [f"{n}{'x' * 8 * MIB}" for n in range(9)]
    numbering.number(pa.array(texts[:7] * 3))
    with pytest.raises(TooVariedError):
        numbering.number(pa.array(texts[7:] * 3))
    assert numbering.is_too_varied


BROKEN = """
import random, sys
from pathlib import Path
import pyarrow as pa
import pyarrow.parquet as pq
from smalti.engine.tables import reading
from smalti.engine.tables.sources import bind
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.verify.read import Original, open_original
from smalti.errors import SmaltiError
from smalti.vocab.terms import IRI
path, draw, refused = Path(sys.argv[1]), random.Random(3), 0
names = ["a", "n"]
table = pa.table({"a": [None if k % 7 == 0 else f"v{k % 40}" for k in range(300)], "n": range(300)})
forms = [{"use_dictionary": ["a"]}, {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}]
for turn in range(300):
    pq.write_table(table, path, data_page_size=200, compression="zstd", **forms[turn % 2])
    content = bytearray(path.read_bytes())
    content[draw.randrange(4, len(content))] = draw.randrange(256)
    path.write_bytes(content)
    for read in (
        lambda: list(reading.text_batches(s := bind(IRI("http://e.com/t"), path), reading.inspect(s))),
        lambda: list(open_original(Original(path, OutputFormat.PARQUET), names).batches(names, None)),
    ):
        try:
            read()
        except SmaltiError:
            refused += 1
print(refused)
"""


def test_a_broken_file_is_refused_and_never_ends_the_process(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BROKEN, str(tmp_path / "t.parquet")],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 100
