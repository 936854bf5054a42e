"""Sets of many texts make an output long: it is said, and refused beyond all use; alike everywhere."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from shell import CUSTOMER, listing, request, small_policy, small_table, smalti

from smalti.engine.anonymization import label_sizes
from smalti.engine.backends.publication import _MOST_BYTES, Piece, Publication
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.writing import CsvWriter, TableWriter

ENGINES = [
    pytest.param(("--engine", "local"), id="local"),
    pytest.param(("--engine", "local", "--fragments", "2"), id="local-2"),
    pytest.param(("--engine", "spark"), id="spark", marks=pytest.mark.spark),
]


def many_texts(folder: Path, rows: int = 600) -> Path:
    """Each row in another city; with k of half the rows, each label lists half of the cities."""
    return small_table(
        folder, [[f"p{n}", str(n), f"city {n:05d}", f"illness {n % 7}"] for n in range(rows)]
    )


def policy(folder: Path, **changes: object) -> Path:
    return small_policy(folder, k=("gteq", 300), **changes)


def test_labels_are_counted_in_all_rows() -> None:
    labels = pa.array(["{a|b}", None, "è"])
    parts, rows = np.array([0, 0, 1, 2]), np.array([2, 1, 100, 10])
    assert label_sizes.label_bytes(labels, parts, rows) == 5 * 3 + 2 * 10


@pytest.mark.parametrize("engine", ENGINES)
def test_labels_beyond_all_use_are_refused_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: tuple[str, ...], request_spark: None
) -> None:
    asked = policy(tmp_path), *request(many_texts(tmp_path)), "--cut-threshold", "0", *engine
    # 600 rows, two classes, 300 texts of 10 bytes in each label, and the ranges of ages.
    exact = 600 * (300 * 11 + 1) + 300 * len("[0..299]") + 300 * len("[300..599]")
    before = 600 * len("city 00000") + 10 + 90 * 2 + 500 * 3
    told = f"the labels of `city` would take more than {exact >> 30} GiB"
    monkeypatch.setattr(label_sizes, "_LARGE", 0)
    monkeypatch.setattr(label_sizes, "MOST_GROWTH", (exact - 1) // before)
    monkeypatch.setattr(label_sizes, "MOST_BYTES", exact - 1)
    files = listing(tmp_path)
    ran = smalti("run", *asked, "--out", "out", cwd=tmp_path)
    assert ran.code == 1, ran.out
    assert told in ran.message
    assert "city 0" not in ran.err
    assert listing(tmp_path) == files
    monkeypatch.setattr(label_sizes, "MOST_BYTES", exact)
    ran = smalti("run", *asked, "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert f"labels take {exact // before} times" in " ".join(ran.out.split())


@pytest.fixture
def request_spark(request: pytest.FixtureRequest) -> None:
    """The session of all tests, where the parameter is Spark."""
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")


def test_labels_that_grow_little_are_not_refused_however_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_sizes, "_LARGE", 0)
    monkeypatch.setattr(label_sizes, "MOST_BYTES", 0)
    ran = smalti(
        "run", small_policy(tmp_path), *request(small_table(tmp_path)), "--out", "out", cwd=tmp_path
    )
    assert (ran.code, "labels take" in ran.out, ran.err) == (0, False, "")


def test_a_plan_foresees_long_labels(tmp_path: Path) -> None:
    asked = ["--data", f"{CUSTOMER}={many_texts(tmp_path)}"]
    long = smalti("plan", policy(tmp_path), *asked, cwd=tmp_path)
    assert long.code == 0
    assert "each label of city may list more than 100 texts" in " ".join(long.out.split())
    short = smalti("plan", small_policy(tmp_path, file="short.jsonld"), *asked, cwd=tmp_path)
    assert (short.code, short.err) == (0, "")
    assert "each label of city" not in short.out


# --- Memory


class WatchedCsv(CsvWriter):
    """Keeps how much is handed over at once."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.rows = 0

    def write_pieces(self, pieces: list[pa.Array]) -> None:
        decoded = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in pieces]
        self.bytes.append(sum(column.nbytes for column in decoded))
        self.rows += len(pieces[0])


class WatchedParquet(TableWriter):
    """The same."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self.bytes.append(batch.nbytes)
        self.rows += batch.num_rows

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("writer", "kind"), [(WatchedCsv, OutputFormat.CSV), (WatchedParquet, OutputFormat.PARQUET)]
)
@pytest.mark.parametrize("length", [1, 1000, 300_000])
def test_long_labels_are_written_a_bounded_piece_at_a_time(
    writer: type[WatchedCsv | WatchedParquet], kind: OutputFormat, length: int
) -> None:
    labels = pa.table({"city": [f"{{{'x' * length}|{n}}}" for n in range(3)]})
    publication = Publication.of([Piece(("city",), labels)], kind)
    rows = 2000
    batch = pa.record_batch([pa.array(np.arange(rows) % 3), pa.array(np.arange(rows))], names=["p0", "row"])
    watched = writer()
    publication.write(batch, watched)
    assert watched.rows == rows
    assert max(watched.bytes) <= _MOST_BYTES + (1 << 20)
    assert len(watched.bytes) == 1 + rows * (length + 5) // _MOST_BYTES
