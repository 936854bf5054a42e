"""Whole runs on tables of several files, and outputs in parts: what is recorded, checked, and refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import (
    CUSTOMER,
    HEADER,
    OUTPUT,
    OWNER,
    USER,
    nobody_has_those_in,
    small_document,
    small_policy,
    small_rows,
    smalti,
)

from smalti import run as smalti_run
from smalti.engine.anonymization import capability as anonymizing
from smalti.engine.binding.binding import input_hmac
from smalti.engine.registry import commit
from smalti.engine.registry.entries import Intent, TargetVersion
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.errors import DataError, GuaranteeError, UsageError
from smalti.vocab.terms import IRI

STRANGER = "http://example.com/party/stranger"
NEW = "http://example.com/New"


def csv_of(rows: list[list[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in [list(HEADER), *rows]).encode()


def folder_of(place: Path, rows: list[list[str]], kind: str = "csv", parts: int = 3) -> Path:
    """Rows as files of about equal size, and one without rows."""
    place.mkdir()
    step = -(-len(rows) // parts)
    for first in range(0, len(rows) + step, step):
        some, path = rows[first : first + step], place / f"part-{first:05}.{kind}"
        if kind == "csv":
            path.write_bytes(csv_of(some))
        else:
            columns = zip(*some, strict=True) if some else [[] for _ in HEADER]
            texts = [pa.array(column, pa.string()) for column in columns]
            pq.write_table(pa.table(texts, names=list(HEADER)), path)
    return place


def declare(folder: Path) -> None:
    """Describe a folder or a file: its rows are told apart by `who`."""
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": folder.name,
        "tableSchema": {"columns": [{"name": name} for name in HEADER]},
        "https://w3id.org/smalti#respondent": "who",
    }
    folder.with_name(folder.name + "-metadata.json").write_text(json.dumps(document))


def run(folder: Path, data: Path, out: str, policy: Path | None = None, **more: Any) -> TargetVersion:
    target = more.pop("target", CUSTOMER)
    asked: dict[str, Any] = {"party": USER, "owner": OWNER, "purpose": "marketing"}
    outcome = smalti_run(
        policy or small_policy(folder), data={target: data}, out=folder / out,
        registry=folder / "smalti.sqlite", **(asked | more),
    )  # fmt: skip
    assert outcome.version is not None
    return outcome.version


def other_policy(folder: Path, target: str, **changes: Any) -> Path:
    """A policy on another target, with the columns of the small table."""
    document = small_document(uid="http://example.com/policy/new", rule={"uid": "urn:x:r"}, **changes)
    text = json.dumps(document).replace(OUTPUT, "http://example/n").replace(CUSTOMER, target)
    place = folder / "other.jsonld"
    place.write_text(text)
    return place


def verified(folder: Path, out: str = "out", *options: str | Path) -> int:
    return smalti("verify", out, *options, cwd=folder).code


# --- Input


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_gives_the_output_of_the_one_file(tmp_path: Path, kind: str) -> None:
    rows = small_rows(30)
    (tmp_path / "people.csv").write_bytes(csv_of(rows))
    one = run(tmp_path, tmp_path / "people.csv", "one")
    nobody_has_those_in(tmp_path)  # nothing tells whether rows in other files are the same people's
    data = folder_of(tmp_path / "people", rows, kind)
    several = run(tmp_path, data, "several")
    assert several.plan_digest == one.plan_digest
    name = one.files[0].name
    assert (several.path / name).read_bytes() == (one.path / name).read_bytes()
    assert (several.report.rows_in, several.report.rows_out) == (30, 30)
    assert verified(tmp_path, "several", "--data", data) == 0
    (data / f"part-00010.{kind}").unlink()
    assert verified(tmp_path, "several", "--data", data) == 1


def test_the_report_lists_each_file(tmp_path: Path) -> None:
    data = folder_of(tmp_path / "people", small_rows(30))
    made, registry = run(tmp_path, data, "out"), Registry.open(tmp_path / "smalti.sqlite")
    files = sorted(data.iterdir())
    assert [one.name for one in made.report.inputs] == [path.name for path in files]
    expected = [input_hmac(registry, file_digest(path)) for path in files]
    assert [one.hmac for one in made.report.inputs] == expected
    assert file_digest(files[0]).removeprefix("sha256:") not in made.certificate


def altered(folder: Path) -> None:
    path = folder / "part-00010.csv"
    path.write_bytes(path.read_bytes().replace(b"flu", b"gut"))


def one_more(folder: Path) -> None:
    (folder / "part-99999.csv").write_bytes(csv_of(small_rows(2)))


def one_of_another_kind(folder: Path) -> None:
    (folder / "notes.txt").touch()


@pytest.mark.parametrize("change", [altered, one_more, one_of_another_kind])
def test_a_folder_that_changes_during_the_run_is_named_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    data = folder_of(tmp_path / "people", small_rows(30))
    verify = anonymizing.verify_run

    def changed_first(*args: Any, **options: Any) -> Any:
        change(data)
        return verify(*args, **options)

    monkeypatch.setattr(anonymizing, "verify_run", changed_first)
    with pytest.raises(DataError, match="changed during the run"):
        run(tmp_path, data, "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_goes_during_the_run_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = folder_of(tmp_path / "people", small_rows(30))
    verify = anonymizing.verify_run

    def gone_first(*args: Any, **options: Any) -> Any:
        (data / "part-00020.csv").unlink()
        return verify(*args, **options)

    monkeypatch.setattr(anonymizing, "verify_run", gone_first)
    ran = smalti(
        "run", small_policy(tmp_path), "--data", f"{CUSTOMER}={data}", "--as", USER, "--owner", OWNER,
        "--purpose", "marketing", "--out", "out", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 3
    assert "part-00020.csv" in ran.message
    assert not (tmp_path / "out").exists()


# --- Output in parts


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_parts_have_the_content_of_the_one_file(tmp_path: Path, kind: str) -> None:
    rows = small_rows(30)
    (tmp_path / "people.csv").write_bytes(csv_of(rows))
    one = run(tmp_path, tmp_path / "people.csv", "one", output_format=kind)
    made = run(tmp_path, tmp_path / "people.csv", "parts", output_format=kind, rows_per_part=7)
    names = [f"anonCustomer-{number:05}.{kind}" for number in range(5)]
    assert [file.name for file in made.files] == names
    assert sorted(path.name for path in made.path.iterdir()) == sorted([*names, commit.CERTIFICATE_NAME])
    assert made.output_digest == one.output_digest
    assert content_digest([made.path / name for name in names], made.format) == one.output_digest
    assert [file.digest for file in made.files] == [file_digest(made.path / name) for name in names]
    listed = [file["name"] for file in json.loads(made.certificate)["distribution"]]
    assert listed == names
    assert verified(tmp_path, "parts") == 0
    assert verified(tmp_path, "parts", "--data", tmp_path / "people.csv") == 0
    assert verified(tmp_path, "parts", "--registry", "none.sqlite") == 1  # only its certificate speaks
    default = run(tmp_path, tmp_path / "people.csv", "default", output_format=kind, parts=True)
    assert [file.name for file in default.files] == names[:1]


@pytest.mark.parametrize("fragments", [1, 4])
def test_fragments_write_parts_of_the_same_content(tmp_path: Path, fragments: int) -> None:
    rows = [[f"p{n}", str(n * 7 % 61), "abcd"[n % 4], "xyz"[n % 3]] for n in range(200)]
    (tmp_path / "people.csv").write_bytes(csv_of(rows))
    asked: dict[str, Any] = {"fragments": fragments, "cut_threshold": 4}
    one = run(tmp_path, tmp_path / "people.csv", "one", **asked)
    parts = run(tmp_path, tmp_path / "people.csv", "parts", rows_per_part=64, **asked)
    assert len(parts.files) == 4
    assert parts.output_digest == one.output_digest


def test_only_a_plan_in_parts_speaks_of_them(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(csv_of(small_rows()))
    data = ["--data", f"{CUSTOMER}={tmp_path / 'people.csv'}"]
    whole = smalti("plan", small_policy(tmp_path), *data, cwd=tmp_path)
    parts = smalti("plan", small_policy(tmp_path), *data, "--rows-per-part", "5000", cwd=tmp_path)
    assert "part" not in whole.out.split("write ")[1].split("\n")[0]
    assert "csv in parts of at most 5,000 rows" in parts.out
    as_json = smalti("plan", small_policy(tmp_path), *data, "--format", "json", cwd=tmp_path).json
    assert "rows_per_part" not in json.dumps(as_json["plan"])


def test_runs_and_targets_show_parts_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(csv_of(small_rows()))
    ran = smalti(
        "run", small_policy(tmp_path), "--data", f"{CUSTOMER}=people.csv", "--as", USER, "--owner", OWNER,
        "--purpose", "marketing", "--out", "out", "--rows-per-part", "5", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    shown = "3 parts, anonCustomer-00000.csv to anonCustomer-00002.csv"
    assert shown in " ".join(ran.out.split())
    assert shown in " ".join(smalti("targets", cwd=tmp_path).out.split())


def part(folder: Path, number: int) -> Path:
    return folder / f"anonCustomer-{number:05}.csv"


def swapped(folder: Path) -> None:
    part(folder, 0).rename(folder / "x")
    part(folder, 1).rename(part(folder, 0))
    (folder / "x").rename(part(folder, 1))


def missing(folder: Path) -> None:
    part(folder, 1).unlink()


def additional(folder: Path) -> None:
    part(folder, 9).write_bytes(part(folder, 0).read_bytes())


def changed(folder: Path) -> None:
    part(folder, 2).write_bytes(part(folder, 2).read_bytes().replace(b"flu", b"gut"))


def shifted(folder: Path) -> None:
    """The same content, with a row on the other side of a border."""
    header, first, *others = part(folder, 1).read_bytes().splitlines(keepends=True)
    part(folder, 0).write_bytes(part(folder, 0).read_bytes() + first)
    part(folder, 1).write_bytes(header + b"".join(others))


TAMPER = [swapped, missing, additional, changed, shifted]


@pytest.fixture
def made(tmp_path: Path) -> TargetVersion:
    (tmp_path / "people.csv").write_bytes(csv_of(small_rows(30)))
    return run(tmp_path, tmp_path / "people.csv", "out", rows_per_part=10)


@pytest.mark.parametrize("tamper", TAMPER)
def test_verify_finds_parts_that_are_not_those_of_the_run(
    tmp_path: Path, made: TargetVersion, tamper: Callable[[Path], None]
) -> None:
    assert b"flu" in part(made.path, 2).read_bytes()
    tamper(made.path)
    assert verified(tmp_path) == 1
    assert verified(tmp_path, "out", "--data", tmp_path / "people.csv") == 1
    assert verified(tmp_path, "out", "--registry", "none.sqlite") == 1


def test_the_order_is_checked_across_the_borders_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts in another order hold the same rows: only their order, or the link, tells."""
    (tmp_path / "people.csv").write_bytes(csv_of(small_rows(30)))
    verify = anonymizing.verify_run

    def swapped_first(plan: Any, original: Any, output: Any, *args: Any, **options: Any) -> Any:
        swapped(output.path)
        return verify(plan, original, output, *args, **options)

    monkeypatch.setattr(anonymizing, "verify_run", swapped_first)
    with pytest.raises(GuaranteeError, match="not in the order of the published values"):
        run(tmp_path, tmp_path / "people.csv", "out", rows_per_part=10)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tamper", [*TAMPER, None])
def test_recovery_compares_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tamper: Callable[[Path], None] | None
) -> None:
    """A run that dies between the move and the record: what lies there then is whole, or is removed."""
    (tmp_path / "people.csv").write_bytes(csv_of(small_rows(30)))
    registry = Registry.open(tmp_path / "smalti.sqlite")

    def dies(self: Intents, intent: Intent, *_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Intents, "finish", dies)
        patch.setattr(commit, "_undo", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, tmp_path / "people.csv", "out", rows_per_part=10)
    assert registry.versions(IRI(OUTPUT)) == ()
    if tamper is not None:
        tamper(tmp_path / "out")
    assert len(commit.recover(registry)) == (tamper is None)
    assert (tmp_path / "out").exists() is (tamper is None)
    assert len(registry.versions(IRI(OUTPUT))) == (tamper is None)


# --- A part is known, whatever stands beside it


def alone(folder: Path) -> Path:
    place = folder / "alone"
    place.mkdir()
    (place / "mine.csv").write_bytes(part(folder / "out", 1).read_bytes())
    return place


def single(folder: Path) -> Path:
    return alone(folder) / "mine.csv"


def among_others(folder: Path) -> Path:
    place = alone(folder)
    header = part(folder / "out", 1).read_bytes().splitlines(keepends=True)[0]
    (place / "a.csv").write_bytes(header + b"20,Rome,flu\n")
    (place / "z.csv").write_bytes(header + b"30,Rome,flu\n")
    return place


@pytest.mark.parametrize("bound", [single, alone, among_others])
def test_a_part_of_an_output_cannot_be_relabelled(
    tmp_path: Path, made: TargetVersion, bound: Callable[[Path], Path]
) -> None:
    policy = other_policy(tmp_path, NEW, identifier=None)
    with pytest.raises(UsageError, match=r"it is version 1 of .* or a part of it"):
        run(tmp_path, bound(tmp_path), "again", policy, target=NEW, owner=STRANGER)


@pytest.fixture
def owned(tmp_path: Path) -> Path:
    """A folder that its owner ran a policy on."""
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows(30))]
    data = folder_of(tmp_path / "people", rows)
    declare(data)
    run(tmp_path, data, "out")
    return data


def test_a_part_of_somebody_elses_input_cannot_be_relabelled(tmp_path: Path, owned: Path) -> None:
    policy = other_policy(tmp_path, NEW, respondent=None)
    mine = folder_of(tmp_path / "mine", [[f"q{n}", *row[1:]] for n, row in enumerate(small_rows(30))])
    declare(mine)
    theirs = (owned / "part-00010.csv").read_bytes()
    declare(owned / "part-00010.csv")
    (mine / "part-00011.csv").write_bytes(theirs)
    for data in (mine, owned / "part-00010.csv"):
        with pytest.raises(UsageError, match="registered under another IRI"):
            run(tmp_path, data, "again", policy, target=NEW, owner=STRANGER)
    # A bare header, which both have, is nobody's data.
    (mine / "part-00011.csv").unlink()
    assert (mine / "part-00030.csv").read_bytes() == (owned / "part-00030.csv").read_bytes()
    run(tmp_path, mine, "again", policy, target=NEW, owner=STRANGER)


def without_one(data: Path) -> None:
    (data / "part-00010.csv").unlink()


def with_one_more(data: Path) -> None:
    (data / "part-00040.csv").write_bytes(
        csv_of([["q1", "30", "Rome", "flu"], ["q2", "31", "Rome", "flu"]])
    )


def in_another_order(data: Path) -> None:
    (data / "part-00000.csv").rename(data / "part-00050.csv")


@pytest.mark.parametrize("change", [without_one, with_one_more, in_another_order])
def test_a_stranger_binds_all_of_the_owners_files_or_none(
    tmp_path: Path, owned: Path, change: Callable[[Path], None]
) -> None:
    run(tmp_path, owned, "same", owner=None)
    change(owned)
    with pytest.raises(UsageError, match="must not bind other data to it"):
        run(tmp_path, owned, "again", owner=None)


# --- An output in parts as an input


def chained(folder: Path, data: Path, out: str) -> TargetVersion:
    policy = other_policy(folder, OUTPUT, identifier=None)
    return run(folder, data, out, policy, target=OUTPUT)


def test_an_output_in_parts_is_an_input_by_its_folder(tmp_path: Path, made: TargetVersion) -> None:
    again = chained(tmp_path, made.path, "again")
    assert [(one.iri, one.version) for one in again.inputs] == [(made.target, 1)]
    assert [one.name for one in again.report.inputs] == [file.name for file in made.files]
    whole = run(tmp_path, tmp_path / "people.csv", "whole")
    from_one = chained(tmp_path, whole.path, "from-one")  # a folder of one file is bound as well
    assert [(one.iri, one.version) for one in from_one.inputs] == [(made.target, 2)]
    assert from_one.output_digest == again.output_digest


@pytest.mark.parametrize("tamper", [*TAMPER, None])
def test_some_parts_are_no_version(
    tmp_path: Path, made: TargetVersion, tamper: Callable[[Path], None] | None
) -> None:
    if tamper is not None:
        tamper(made.path)
    data = made.path if tamper is not None else part(made.path, 1)
    with pytest.raises(UsageError, match="is not a registered version of"):
        chained(tmp_path, data, "again")
