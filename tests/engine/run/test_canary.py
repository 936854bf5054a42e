"""No data value leaves in a message, log, exception, plan, certificate, record or decision.

Each column of the data holds a value that occurs nowhere else in the world. Every failure that can be
provoked is provoked, and everything that comes out of it is searched for those values. Also a script:
its child process fails on Spark, so that what the Java side prints is seen, too.
"""

import csv
import io
import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from effort import every
from shell import (
    CUSTOMER,
    HEADER,
    MARKETING,
    OUTPUT,
    OWNER,
    ROOT,
    USER,
    describe,
    listing,
    request,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

from smalti import api
from smalti.engine.anonymization import capability as anonymizing
from smalti.engine.anonymization import execute
from smalti.engine.backends import local
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend, LocalRelations
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding import binding as engine_binding
from smalti.engine.tables.writing import CsvWriter, csv_lines
from smalti.engine.verify import verifier as verify
from smalti.errors import InternalError, SmaltiError
from smalti.transforms.mondrian.kernel import StrictMondrian

READ_POLICY = ROOT / "examples" / "policies" / "analyst-read.jsonld"
ANALYST = "http://example.com/party/analyst"
MARK = "wombat"
CANARIES = {
    "who": "wombat-who-x1",
    "age": "918273645",
    "city": "wombat-city-x2",
    "illness": "wombat-illness-x3",
    "note": "wombat-note-x4",
}
COLUMNS = (*HEADER, "note")


def rows() -> list[list[str]]:
    """People, of whom the sixth is all canaries."""
    found = [[*row, f"note {number}"] for number, row in enumerate(small_rows())]
    found[5] = list(CANARIES.values())
    return found


def table(folder: Path, changed: list[list[str]] | None = None, **said: Any) -> Path:
    return small_table(folder, rows() if changed is None else changed, header=COLUMNS, **said)


def with_field(column: str, value: str) -> list[list[str]]:
    found = rows()
    found[6][COLUMNS.index(column)] = value
    return found


def is_clean(*texts: str | bytes) -> None:
    for text in texts:
        whole = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
        for canary in (MARK, CANARIES["age"]):
            at = whole.find(canary)
            assert at < 0, f"a value leaked: {whole[max(at - 80, 0) : at + 80]!r}"


def what_is_told(error: BaseException) -> Iterator[str | bytes]:
    """Whatever a user, or whoever logs the exception, sees of it."""
    yield str(error)
    yield repr(error)
    yield repr(error.args)
    yield repr(getattr(error, "__notes__", ()))
    yield repr(vars(error))
    yield pickle.dumps(error)
    yield "".join(traceback.format_exception(error))


def fail(folder: Path, data: Path, backend: Backend | str, **policy: Any) -> SmaltiError | InternalError:
    """Run into a failure, and search its exception."""
    document = small_policy(folder, **policy)
    before = listing(folder)
    with pytest.raises((SmaltiError, InternalError)) as caught:
        api.run(
            document, data={CUSTOMER: data}, party=USER, owner=OWNER, purpose=MARKETING,
            out=folder / "out", registry=folder / "r.sqlite", engine=backend,
        )  # fmt: skip
    after = listing(folder)
    assert after.keys() - before.keys() <= {"r.sqlite.secret"}
    is_clean(*what_is_told(caught.value), *(log.read_bytes() for log in folder.glob("*.decisions.jsonl")))
    return caught.value


# --- Failures that the data causes, on both engines


def bad_record(text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        place = table(folder)
        content = place.read_text().splitlines(keepends=True)
        content.insert(8, text)
        place.write_bytes("".join(content).encode("utf-8", errors="surrogateescape"))
        return place

    return write


def parquet(folder: Path, column: Any) -> Path:
    place = folder / "people.parquet"
    texts = {name: pa.array([row[i] for row in rows()]) for i, name in enumerate(COLUMNS)}
    pq.write_table(pa.table(texts | {"age": column}), place)
    return place


def truncated(folder: Path) -> Path:
    place = parquet(folder, pa.array([CANARIES["who"]] * 12))
    raw = place.read_bytes()
    place.write_bytes(raw[:4] + b"\xff" * 300 + raw[304:])
    return place


def headless(folder: Path) -> Path:
    place = folder / "people.csv"
    values = [CANARIES["who"], CANARIES["city"], CANARIES["city"], CANARIES["illness"]]
    place.write_text(",".join(values) + "\n" + "p1,a,b,c\n")
    return place


def without_header(folder: Path) -> Path:
    place = table(folder)
    content = place.read_text().splitlines(keepends=True)
    place.write_text(content[6] + "".join(content[1:6] + content[7:]))
    return place


def without_header_described(folder: Path) -> Path:
    place = without_header(folder)
    describe(place, COLUMNS, respondent="who")
    return place


def one_person(folder: Path) -> Path:
    return table(folder, [[CANARIES["who"], *row[1:]] for row in rows()], respondent="who")


def some_twice(folder: Path) -> Path:
    return table(folder, rows() + rows())


def declared(datatype: str, value: str, column: str = "age") -> Callable[[Path], Path]:
    return lambda folder: table(folder, with_field(column, value), datatypes={column: datatype})


def misdescribed(folder: Path) -> Path:
    place = table(folder)
    describe(place, (*COLUMNS, "nothing"))
    return place


Make = Callable[[Path], Path]
BAD_DATA: dict[str, Make] = {
    "few fields": bad_record("wombat,1\n"),
    "many fields": bad_record("wombat,1,2,3,wombat,wombat\n"),
    "stray quote": bad_record('wombat,1,"wom"bat",2,3\n'),
    "open quote": bad_record('wombat,1,"wombat\n'),
    "blank": bad_record("\n"),
    "nul": bad_record("wombat\0,1,2,3,4\n"),
    "return": bad_record("wombat\r,1,2,3,4\n"),
    "latin-1": bad_record("wombat\udce9,1,2,3,4\n"),
    "no header": headless,
    "no header at all": without_header,
    "no header at all, described": without_header_described,
    "no integer": declared("integer", "918273645x"),
    "no integer to speak of": declared("integer", "9" * 200 + CANARIES["age"]),
    "no date": declared("date", "2023-02-30 wombat"),
    "no day": declared("date", "2023-02-30"),
    "no date-time": declared("dateTime", "2023-01-01T99:00:00"),
    "no decimal": declared("decimal", "wombat"),
    "no double": declared("double", "1e9999wombat"),
    "no integer in a kept column": declared("integer", "wombat", "illness"),
    "no integer in a dropped column": declared("integer", "wombat", "note"),
    "no respondent": lambda folder: table(folder, with_field("who", ""), respondent="who"),
    "one person": one_person,
    "identifiers repeat": some_twice,
    "nobody": lambda folder: table(folder, []),
    "column too many": misdescribed,
    "list in parquet": lambda folder: parquet(folder, pa.array([["wombat"]] * 12)),
    "damaged parquet": truncated,
    "no parquet": lambda folder: (
        (folder / "people.csv").rename(folder / "people.parquet") if table(folder) else folder
    ),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_never_quoted(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    data = BAD_DATA[name](tmp_path)
    assert isinstance(fail(tmp_path, data, LocalBackend()), SmaltiError)
    ran = smalti("run", "policy.jsonld", *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    told = smalti("plan", "policy.jsonld", "--data", f"{CUSTOMER}={data}", cwd=tmp_path)
    is_clean(ran.out, ran.err, told.out, told.err, caplog.text, *capfd.readouterr())


@pytest.mark.parametrize("name", every(3, BAD_DATA))
def test_bad_data_is_never_quoted_on_spark(
    spark: Any,
    tmp_path: Path,
    name: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    caplog.set_level(logging.INFO)
    data = BAD_DATA[name](tmp_path)
    here = fail(tmp_path, data, LocalBackend())
    there = fail(tmp_path, data, SparkBackend(spark))
    assert (type(there), str(there)) == (type(here), str(here))
    is_clean(caplog.text, *capfd.readouterr())


# --- Failures of libraries and disks, whose own messages quote values


def raising(error: Exception) -> Callable[..., Any]:
    def fail_now(*_: Any, **__: Any) -> Any:
        raise error

    return fail_now


def quoting(query: str) -> Callable[..., Any]:
    """A step of an engine's that fails with a value in its message."""

    def step(self: StagedTable, *_: Any) -> Any:
        return self.relations.take(query)

    return step


def quoting_late(self: LocalRelations, query: str, *more: Any) -> None:
    broken = query.replace("staged.row AS row", "CAST(error('wombat' || staged.row) AS BIGINT) AS row")
    assert broken != query
    REAL_PUBLISH(self, broken, *more)


REAL_PUBLISH = LocalRelations._publish
FULL = OSError(28, "No space left on device", "wombat")
LOCAL_FAULTS: dict[str, tuple[Any, str, Any, int]] = {
    "full disk": (CsvWriter, "write_pieces", raising(FULL), 3),
    "disk with a long message": (CsvWriter, "write_pieces", raising(OSError("wombat")), 3),
    "arrow in the writer": (CsvWriter, "write_pieces", raising(pa.ArrowInvalid("wombat")), 3),
    "duckdb in the writer": (CsvWriter, "write_pieces", raising(duckdb.OutOfMemoryException("wombat")), 3),
    "closing": (CsvWriter, "close", raising(FULL), 3),
    "full disk under the link": (local, "link_bytes", raising(FULL), 3),
    "a query": (StagedTable, "_holders", quoting("SELECT error('wombat' || c0) FROM staged"), 3),
    "a cast": (StagedTable, "_holders", quoting("SELECT ('wombat' || c0)::integer FROM staged"), 3),
    "a query that streams": (LocalRelations, "_publish", quoting_late, 3),
    "kernel": (StrictMondrian, "generalised", raising(ValueError("wombat")), 3),
    "labels": (execute, "class_labels", raising(KeyError("wombat")), 3),
    "a loop of causes": (
        StrictMondrian,
        "generalised",
        raising(RuntimeError("wombat", RuntimeError("wombat"))),
        3,
    ),
    "verifier": (anonymizing, "verify_run", raising(pa.ArrowInvalid("wombat")), 3),
    "verifier's reader": (verify, "read_output", raising(UnicodeError("wombat")), 3),
    "digest": (anonymizing, "_content_of", raising(OSError("wombat")), 3),
    "secret": (engine_binding, "load_secret", raising(ValueError("wombat")), 3),
    "memory": (StrictMondrian, "generalised", raising(MemoryError("wombat")), 3),
}


@pytest.mark.parametrize("name", LOCAL_FAULTS)
def test_messages_of_libraries_are_replaced(
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    owner, attribute, replacement, code = LOCAL_FAULTS[name]
    monkeypatch.setattr(owner, attribute, replacement)
    data = table(tmp_path)
    error = fail(tmp_path, data, LocalBackend())
    assert error.exit_code == code
    ran = smalti("run", "policy.jsonld", *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == code
    assert ran.message == f"{error}\n"
    assert not (tmp_path / "smalti.sqlite").exists()
    is_clean(ran.out, ran.err, caplog.text, *capfd.readouterr())


def test_a_full_disk_is_named_as_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CsvWriter, "write_pieces", raising(FULL))
    message = str(fail(tmp_path, table(tmp_path), LocalBackend()))
    assert message.startswith("local engine: a step failed; expected enough free memory and disk")


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_broken_promise_names_the_column_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: int
) -> None:
    """A writer that publishes wrong values is found out, and they are not repeated."""
    real = CsvWriter.write_pieces

    def wrong(self: CsvWriter, pieces: list[pa.Array]) -> None:
        fields = list(csv.reader(io.StringIO(csv_lines(pieces).decode())))
        columns = [pa.array(texts) for texts in zip(*fields, strict=True)]
        columns[column] = pa.array(["wombat"] * len(fields))
        real(self, columns)

    monkeypatch.setattr(CsvWriter, "write_pieces", wrong)
    assert fail(tmp_path, table(tmp_path), LocalBackend()).exit_code == 1


def test_verification_with_other_data_quotes_nothing(tmp_path: Path) -> None:
    data, policy = table(tmp_path), small_policy(tmp_path)
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0
    for name in ("no integer", "few fields", "one person", "no respondent", "nobody"):
        ran = smalti("verify", "out", "--data", BAD_DATA[name](tmp_path), cwd=tmp_path)
        assert ran.code in (0, 1, 2)  # 0 where only dropped columns differ
        is_clean(ran.out, ran.err)


# --- A run that succeeds


def test_nothing_but_the_outputs_kept_columns_holds_a_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "in"
    folder.mkdir()
    data, policy = table(folder), small_policy(tmp_path)
    told = []
    for command, code in (
        (["run", policy, *request(data), "--out", "out"], 0),
        (["run", policy, *request(data), "--out", "again", "--format", "json"], 0),
        (["run", policy, *request(data), "--out", "never", "--dry-run"], 0),
        (["plan", policy, "--data", f"{CUSTOMER}={data}"], 0),
        (["plan", policy, "--data", f"{CUSTOMER}={data}", "--format", "json"], 0),
        (["policy", "add", READ_POLICY, "--as", OWNER], 0),
        (["policy", "list", "--format", "json"], 0),
        (["policy", "owners"], 0),
        (["targets", "--as", OWNER], 0),
        (["targets", "--as", OWNER, "--format", "json"], 0),
        (["targets", "--format", "turtle"], 0),
        (["decide", "--as", ANALYST, "--action", "read", "--target", OUTPUT, "--purpose", MARKETING], 0),
        (["decide", "--as", USER, "--action", "read", "--target", OUTPUT], 1),
        (["verify", "out"], 0),
        (["verify", "out", "--data", data, "--format", "json"], 0),
    ):
        ran = smalti(*command, cwd=tmp_path)
        assert ran.code == code, ran
        told += [ran.out, ran.err]
    is_clean(*told, caplog.text, *capfd.readouterr())
    outputs = {"out/anonCustomer.csv", "again/anonCustomer.csv"}
    found = listing(tmp_path)
    assert found.keys() > outputs | {"smalti.sqlite", "smalti.sqlite.secret", "out/certificate.jsonld"}
    for name, content in found.items():
        if name not in outputs | {"in/people.csv"}:
            is_clean(content)
    published = found["out/anonCustomer.csv"].decode()
    assert CANARIES["illness"] in published
    assert CANARIES["city"] in published
    assert CANARIES["who"] not in published
    assert CANARIES["note"] not in published


# --- Spark: steps that fail with a value in the message, on the driver and in tasks


def spark_faults() -> dict[str, tuple[str, Callable[..., Any]]]:
    def in_task(frame: Any, *_: Any) -> Any:
        def task(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                raise ValueError(f"{batch.column(0).to_pylist()} wombat")
            yield from ()

        return frame.mapInArrow(task, "part int, rows long").toArrow()

    step = "smalti.engine.backends.staged.StagedTable._holders"
    writing = "smalti.engine.backends.spark_writing"
    return {
        "sql": (step, quoting("SELECT raise_error(t0) FROM staged")),
        "cast": (step, quoting("SELECT CAST(concat(t0, 'wombat') AS INT) FROM staged")),
        "task": (f"{writing}.write_parts", in_task),
        "join": (f"{writing}.join", raising(OSError(28, "No space left on device: wombat"))),
        "analysis": (step, quoting("SELECT wombat FROM staged")),
    }


def break_spark(patch: pytest.MonkeyPatch, name: str) -> None:
    patch.setattr(*spark_faults()[name])


@pytest.mark.parametrize("name", ["sql", "cast", "task", "join", "analysis"])
def test_messages_of_spark_are_replaced(
    spark: Any,
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    caplog.set_level(logging.INFO)
    break_spark(monkeypatch, name)
    error = fail(tmp_path, table(tmp_path), SparkBackend(spark))
    assert (type(error).__name__, error.exit_code) == ("BackendError", 3)
    assert str(error).startswith("spark engine: a step failed; expected a running Spark")
    is_clean(caplog.text, *capfd.readouterr())


@pytest.mark.slow
@pytest.mark.spark
def test_spark_itself_prints_nothing(tmp_path: Path) -> None:
    """The whole process, with a session of its own: Java's output, and that of Python workers."""
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        capture_output=True,
        timeout=120,
        check=False,
        # Another interpreter comes first on the path: workers have to use this one all the same.
        env={
            "PATH": "/usr/bin:/bin",
            **{k: v for k, v in os.environ.items() if k in ("HOME", "JAVA_HOME")},
        },
    )
    is_clean(done.stdout, done.stderr)
    assert done.stdout.decode().split() == ["3", "0"], done.stderr.decode()
    published = (tmp_path / "out" / "anonCustomer.csv").read_text()
    assert CANARIES["illness"] in published


def _main(folder: Path) -> None:
    data, policy = table(folder), small_policy(folder)
    arguments = ["run", policy, *request(data), "--out", "out", "--engine", "spark"]
    for name in ("task", ""):
        with pytest.MonkeyPatch.context() as patch:
            if name:
                break_spark(patch, name)
            ran = smalti(*arguments, cwd=folder)
            is_clean(ran.out, ran.err)
            print(ran.code, flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
