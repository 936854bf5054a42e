"""Objects of stores: fetched whole and unchanged, or refused without a word of their address."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from shell import CUSTOMER, describe, listing, request, small_policy, small_rows, small_table, smalti

from smalti.engine.tables import stores
from smalti.engine.tables.stores import StoredObject, fetched, located, on_disk
from smalti.errors import BackendError, DataError, SmaltiError, UsageError

KEY, SECRET = "AKIACANARY", "s3cr3tCANARY"
COLUMNS = ("who", "age", "city", "illness")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that speaks S3."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 (nothing else needs it)

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    try:
        yield f"{host}:{port}"
    finally:
        running.stop()


@pytest.fixture
def bucket(server: str, request: pytest.FixtureRequest) -> "Bucket":
    place = Bucket(server, f"bucket{abs(hash(request.node.nodeid))}")
    place.store.create_dir(place.name)
    return place


class Bucket:
    """A new bucket of the server."""

    def __init__(self, server: str, name: str) -> None:
        self.server, self.name = server, name
        self.store = fs.S3FileSystem(
            access_key=KEY, secret_key=SECRET, endpoint_override=server, scheme="http", region="eu-west-1",
            allow_bucket_creation=True,
        )  # fmt: skip

    def put(self, key: str, content: bytes) -> str:
        with self.store.open_output_stream(f"{self.name}/{key}") as stream:
            stream.write(content)
        return self.uri(key)

    def uri(self, key: str, *, server: str | None = None) -> str:
        place = (server or self.server).replace(":", "%3A")
        query = f"endpoint_override={place}&scheme=http&region=eu-west-1"
        return f"s3://{KEY}:{SECRET}@{self.name}/{key}?{query}"


def fetch(uri: str, folder: Path, told: list[str] | None = None) -> Path:
    return fetched(located(uri, "data"), folder / "input", (told if told is not None else []).append)


def keeps_secrets(text: str) -> None:
    assert not any(secret in text for secret in (KEY, SECRET, "endpoint_override", "region="))


# --- Addresses


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    told: list[str] = []
    assert fetch(str(path), tmp_path, told) == path
    assert told == []
    assert not (tmp_path / "input").exists()


@pytest.mark.parametrize("uri", ["file:///people.csv", "ftp://host/people.csv", "s3a://bucket/people.csv"])
def test_what_is_no_store_is_refused_by_name(uri: str) -> None:
    with pytest.raises(UsageError, match=f"`{uri.partition(':')[0]}://` is not a supported store"):
        located(uri, "data")


def test_an_iri_before_a_path_is_no_store(tmp_path: Path) -> None:
    """As `run` takes data, and `verify` does not."""
    with pytest.raises(UsageError, match="without an IRI before it"):
        fetch("http://example.com/people=people.csv", tmp_path)


def test_outputs_go_to_disks() -> None:
    with pytest.raises(UsageError, match=r"`s3://` cannot be written to yet"):
        on_disk("s3://bucket/out", "out")
    assert on_disk("out", "out") == Path("out")


def test_an_address_is_not_shown() -> None:
    assert SECRET not in repr(StoredObject("s3", f"s3://{KEY}:{SECRET}@bucket/key.csv"))


@pytest.mark.parametrize(
    "rest", [f"{KEY}:{SECRET}@", f"{KEY}:{SECRET}", "bucket/x.csv?unknown=1", "/x.csv", ""]
)
def test_an_address_that_is_none(tmp_path: Path, rest: str) -> None:
    with pytest.raises(SmaltiError) as refused:
        fetch(f"s3://{rest}", tmp_path)
    keeps_secrets(str(refused.value))


def test_without_hadoop_there_is_no_hdfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    with pytest.raises(BackendError, match="libhdfs"):
        fetch("hdfs://127.0.0.1:9/people.csv", tmp_path)


# --- Fetching


def test_an_object_is_fetched_with_its_description(tmp_path: Path, bucket: Bucket) -> None:
    content = b"a,b\n" + b"1,2\n" * 3_000_000  # more than is read at once
    uri = bucket.put("deep/people.csv", content)
    bucket.put("deep/people.csv-metadata.json", b"{}")
    bucket.put("deep/other.csv", b"")
    told: list[str] = []
    path = fetch(uri, tmp_path, told)
    assert told == ["fetch"]
    assert path.read_bytes() == content
    assert path.name == "people.csv"
    assert sorted(one.name for one in path.parent.iterdir()) == ["people.csv", "people.csv-metadata.json"]
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_description_leads_to_its_object(tmp_path: Path, bucket: Bucket) -> None:
    table = small_table(tmp_path)
    metadata = describe(table, COLUMNS)
    bucket.put("people.csv", table.read_bytes())
    path = fetch(bucket.put("people.csv-metadata.json", metadata.read_bytes()), tmp_path)
    assert path.name == "people.csv-metadata.json"
    assert (path.parent / "people.csv").read_bytes() == table.read_bytes()


def test_a_description_of_nothing(tmp_path: Path, bucket: Bucket) -> None:
    metadata = describe(small_table(tmp_path), COLUMNS)
    with pytest.raises(UsageError, match=r"s3 store, people\.csv: there is no such object"):
        fetch(bucket.put("people.csv-metadata.json", metadata.read_bytes()), tmp_path)


@pytest.mark.parametrize("end", ["", "/"])
def test_a_prefix_is_fetched_as_a_folder(tmp_path: Path, bucket: Bucket, end: str) -> None:
    for name in ("a.csv", "b.csv", "_SUCCESS", ".hidden", "notes.txt", "deeper/c.csv"):
        bucket.put(f"table/{name}", b"x,y\n1,2\n")
    bucket.put("table-metadata.json", b"{}")
    folder = fetch(bucket.uri(f"table{end}"), tmp_path)
    found = listing(folder)
    # What is no part of a table is there by its name, so that what is refused is refused by it.
    assert found == {
        ".hidden": b"", "_SUCCESS": b"", "a.csv": b"x,y\n1,2\n", "b.csv": b"x,y\n1,2\n", "deeper/": b"",
        "notes.txt": b"",
    }  # fmt: skip
    assert (folder.parent / "table-metadata.json").read_bytes() == b"{}"


def test_an_object_that_is_not_there(tmp_path: Path, bucket: Bucket) -> None:
    with pytest.raises(UsageError, match=r"s3 store, none\.csv: there is no such object") as refused:
        fetch(bucket.uri("none.csv"), tmp_path)
    keeps_secrets(str(refused.value))
    bucket.name = "nobucket"
    with pytest.raises(UsageError, match="there is no such object"):
        fetch(bucket.uri("none.csv"), tmp_path / "input")


@pytest.mark.parametrize(("name", "way_out"), [("people.json", "Rename"), ("people.csv.xz", "Unpack it")])
def test_an_object_of_another_kind_is_not_fetched(
    tmp_path: Path, bucket: Bucket, name: str, way_out: str
) -> None:
    with pytest.raises(UsageError, match=rf"unknown file type; .*\.sqlite\. {way_out}"):
        fetch(bucket.put(name, b"x"), tmp_path)
    assert list((tmp_path / "input").iterdir()) == []


@pytest.mark.slow
def test_a_store_that_does_not_answer(tmp_path: Path, bucket: Bucket) -> None:
    with pytest.raises(BackendError, match="the store does not answer") as refused:
        fetch(bucket.uri("people.csv", server="127.0.0.1:9"), tmp_path)
    keeps_secrets(str(refused.value))


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (
            "AWS Error ACCESS_DENIED during HeadObject operation: No response body.",
            DataError,
            "denies access",
        ),
        ("AWS Error UNKNOWN (HTTP status 403) during HeadObject", DataError, "denies access"),
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2", UsageError, "no such object"),
        ("Unable to load libhdfs: libhdfs.so: cannot open", BackendError, "libhdfs"),
        (
            "failed: N5Azure4Core11Credentials23AuthenticationExceptionE: Failed to",
            DataError,
            "denies access",
        ),
        ("curlCode: 28, Timeout was reached", BackendError, "does not answer"),
    ],
)
def test_what_a_library_says_is_told_in_our_words(said: str, kind: type[SmaltiError], told: str) -> None:
    found = stores._refusal("s3 store, people.csv", f"{said} {SECRET}")
    assert type(found) is kind
    assert told in str(found)
    keeps_secrets(str(found))


def test_a_store_that_refuses(tmp_path: Path, bucket: Bucket) -> None:
    from moto.core import set_initial_no_auth_action_count  # noqa: PLC0415

    uri = bucket.put("people.csv", b"a\n1\n")

    @set_initial_no_auth_action_count(0)  # it looks at credentials as long as this runs
    def refused() -> str:
        with pytest.raises(DataError, match="the store denies access") as found:
            fetch(uri, tmp_path)
        return str(found.value)

    keeps_secrets(refused())


class Changing:
    """A store in which somebody writes an object while it is read."""

    def __init__(self, store: Any, change: Any) -> None:
        self._store, self._change, self._opened = store, change, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def open_input_stream(self, path: str, **options: Any) -> Any:
        self._opened += 1
        if self._opened == 3:  # for the state before, for the bytes, and for the state after
            self._change()
        return self._store.open_input_stream(path, **options)


@pytest.mark.parametrize("content", [b"a\n2\n", b"a\n1\n2\n"], ids=["same size", "longer"])
def test_an_object_that_changes_while_it_is_fetched(tmp_path: Path, bucket: Bucket, content: bytes) -> None:
    bucket.put("people.csv", b"a\n1\n")
    path, folder = f"{bucket.name}/people.csv", tmp_path / "input"
    folder.mkdir()
    store = Changing(bucket.store, lambda: bucket.put("people.csv", content))
    with pytest.raises(DataError, match="the object changed while it was fetched"):
        stores._Fetching(store, path, "s3", folder).all()


def test_an_object_that_joins_a_prefix_meanwhile(tmp_path: Path, bucket: Bucket) -> None:
    bucket.put("table/a.csv", b"a\n1\n")
    folder = tmp_path / "input"
    folder.mkdir()
    store = Changing(bucket.store, lambda: bucket.put("table/b.csv", b"a\n1\n"))
    with pytest.raises(DataError, match="s3 store, table: the object changed"):
        stores._Fetching(store, f"{bucket.name}/table", "s3", folder).all()


def test_a_full_disk(tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = bucket.put("people.csv", b"a\n1\n")

    def full(self: Path, *_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(BackendError, match="free space"):
        fetch(uri, tmp_path)


# --- Runs


def everything(folder: Path) -> str:
    """All that a run left in a folder, and in the registry."""
    texts = [content.decode("utf-8", errors="replace") for content in listing(folder).values()]
    with sqlite3.connect(folder / "smalti.sqlite") as database:
        texts += database.iterdump()
    database.close()
    log = folder / "smalti.sqlite.decisions.jsonl"
    return "\n".join([*texts, log.read_text(encoding="utf-8") if log.exists() else ""])


def test_a_run_from_a_store_is_the_run_from_a_disk(tmp_path: Path, bucket: Bucket) -> None:
    policy, table = small_policy(tmp_path), small_table(tmp_path)
    uri = bucket.put("people.csv", table.read_bytes())
    here = smalti("run", policy, *request(table), "--out", "here", "--registry", "h.sqlite", cwd=tmp_path)
    there = smalti("run", policy, *request(uri), "--out", "there", "--format", "json", cwd=tmp_path)
    assert (here.code, there.code) == (0, 0), there.err
    phases = [timing["phase"] for timing in there.json["ownerReport"]["timings"]]
    assert phases[:3] == ["decide", "fetch", "read"]
    name = "anonCustomer.csv"
    assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    keeps_secrets(there.out + there.err + everything(tmp_path))
    assert not list(tmp_path.glob(".smalti-*"))
    seen = smalti("verify", "there", "--data", uri, cwd=tmp_path)
    assert (seen.code, "the recorded plan gave the same content" in " ".join(seen.out.split())) == (0, True)
    planned = smalti("plan", policy, "--data", f"{CUSTOMER}={uri}", cwd=tmp_path)
    assert planned.out == smalti("plan", policy, "--data", f"{CUSTOMER}={table}", cwd=tmp_path).out
    keeps_secrets(planned.out + seen.out)


def test_a_run_from_a_prefix_and_one_from_parquet(tmp_path: Path, bucket: Bucket) -> None:
    policy, rows = small_policy(tmp_path), small_rows()
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))
    for number in range(2):
        pq.write_table(table.slice(6 * number, 6), tmp_path / "part.parquet")
        bucket.put(f"table/{number}.parquet", (tmp_path / "part.parquet").read_bytes())
    ran = smalti("run", policy, *request(bucket.uri("table")), "--out", "parts", cwd=tmp_path)
    assert ran.code == 0, ran.err
    whole = smalti(
        "run",
        policy,
        *request(small_table(tmp_path)),
        "--out",
        "out",
        "--registry",
        "o.sqlite",
        cwd=tmp_path,
    )
    assert whole.code == 0, whole.err
    name = "anonCustomer.csv"
    assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize("command", ["run", "plan"])
def test_nothing_is_left_where_an_object_cannot_be_fetched(
    tmp_path: Path, bucket: Bucket, command: str
) -> None:
    policy = small_policy(tmp_path)
    before = listing(tmp_path)
    out = ["--out", "out"] if command == "run" else []
    ran = smalti(command, policy, *request(bucket.uri("none.csv")), *out, cwd=tmp_path)
    assert ran.code == 2
    keeps_secrets(ran.out + ran.err)
    assert listing(tmp_path) == before


def test_an_address_without_a_target_is_not_repeated(tmp_path: Path, bucket: Bucket) -> None:
    ran = smalti("plan", small_policy(tmp_path), "--data", bucket.uri("people.csv"), cwd=tmp_path)
    assert ran.code == 2
    keeps_secrets(ran.out + ran.err)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_output_in_a_store_is_refused_by_name(tmp_path: Path, more: tuple[str, ...]) -> None:
    policy, table = small_policy(tmp_path), small_table(tmp_path)
    ran = smalti("run", policy, *request(table), "--out", "s3://bucket/out", *more, cwd=tmp_path)
    assert ran.code == 2
    assert "`s3://` cannot be written to yet" in ran.err


def test_spark_reads_the_same_copy(tmp_path: Path, bucket: Bucket, spark: Any) -> None:
    del spark
    policy, table = small_policy(tmp_path), small_table(tmp_path)
    uri = bucket.put("people.csv", table.read_bytes())
    for out, data, engine in (("here", table, "local"), ("there", uri, "spark")):
        options = ["--engine", engine, "--out", out, "--registry", f"{out}.sqlite"]
        ran = smalti("run", policy, *request(data), *options, cwd=tmp_path)
        assert ran.code == 0, ran.err
    here, there = (tmp_path / out / "anonCustomer.csv" for out in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()
