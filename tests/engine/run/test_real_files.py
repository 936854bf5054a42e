"""Files as people have them give, byte for byte, what their content in canonical CSV gives."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import real_files
from shell import CUSTOMER, OWNER, USER, request, small_policy, smalti

from smalti import api
from smalti.engine.backends.spark import SparkBackend
from smalti.errors import SmaltiError

Writer = Callable[[Path], Path]


def policy_in(folder: Path) -> Path:
    columns = [{"@id": f"{CUSTOMER}/{name}"} for name in ("born", "seen", "weight", "city")]
    return small_policy(
        folder, **{"k": ("gteq", 3), "quasi-identifier": ("isAllOf", columns), "respondent": None}
    )


def published(folder: Path, data: Path | Any, name: str, **choices: Any) -> bytes:
    outcome = api.run(
        policy_in(folder), data={CUSTOMER: data}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / name, registry=folder / f"{name}.sqlite", **choices,
    )  # fmt: skip
    assert outcome.version is not None, outcome.decision
    (file,) = outcome.version.files
    return (folder / name / file.name).read_bytes()


@pytest.fixture(scope="module")
def in_canonical_csv(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Writer], bytes]:
    """What is published of a canonical CSV file."""

    @cache
    def of(write: Writer) -> bytes:
        folder = tmp_path_factory.mktemp("canonical")
        return published(folder, write(folder), "out")

    return of


@pytest.mark.parametrize("kind", real_files.KINDS)
def test_each_kind_gives_what_its_content_in_canonical_csv_gives(
    tmp_path: Path, kind: str, in_canonical_csv: Callable[[Writer], bytes]
) -> None:
    write, write_canonical = real_files.KINDS[kind]
    content = published(tmp_path, write(tmp_path), "out")
    assert b"[1950-01-01.." in content, "dates become ranges"
    assert b"[2024-01-" in content
    assert b"..1041.25]" in content, "numbers become ranges"
    assert content == in_canonical_csv(write_canonical)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["german", "duckdb"])
def test_spark_gives_the_same(
    tmp_path: Path, spark: Any, kind: str, in_canonical_csv: Callable[[Writer], bytes]
) -> None:
    write, write_canonical = real_files.KINDS[kind]
    content = published(tmp_path, write(tmp_path), "out", engine=SparkBackend(spark))
    assert content == in_canonical_csv(write_canonical)


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_data_frames_give_the_same(
    tmp_path: Path, kind: str, in_canonical_csv: Callable[[Writer], bytes]
) -> None:
    table = real_files.arrow()
    data = table.to_pandas(date_as_object=True) if kind == "pandas" else table
    content = published(tmp_path, data, "out", respondent="who")
    assert content == in_canonical_csv(real_files.canonical)


def test_data_is_recognised_by_its_content_and_by_its_bytes(tmp_path: Path) -> None:
    """Neither packing nor another description makes other data of it."""
    registry = tmp_path / "registry.sqlite"
    choices: dict[str, Any] = {"party": USER, "purpose": "marketing", "registry": registry}
    first = api.run(
        policy_in(tmp_path), data={CUSTOMER: real_files.packed(tmp_path)}, owner=OWNER,
        out=tmp_path / "first", **choices,
    )  # fmt: skip
    assert first.report is not None
    (file,) = first.report.inputs
    assert file.name == "hospital.csv.gz"
    assert None not in (file.hmac, file.original)
    again = api.run(  # a party without ownership, on the same content
        policy_in(tmp_path),
        data={CUSTOMER: real_files.canonical(tmp_path)},
        out=tmp_path / "again",
        **choices,
    )
    assert again.decision.is_permitted
    other = f"{CUSTOMER}2"
    policy = policy_in(tmp_path)
    policy.write_text(policy.read_text().replace(CUSTOMER, other).replace("anonCustomer", "anonOther"))
    place = tmp_path / "hospital.csv.gz"
    real_files.description(place, real_files.DATATYPES, null="Grippe")
    with pytest.raises(SmaltiError, match="this data is registered under another IRI"):
        api.run(policy, data={other: place}, owner=USER, out=tmp_path / "other", **choices)


def test_verify_repeats_a_run_on_foreign_data(tmp_path: Path) -> None:
    published(tmp_path, data := real_files.german(tmp_path), "out")
    seen = api.verify(tmp_path / "out", registry=tmp_path / "out.sqlite", data=data)
    assert seen.is_repeated


def test_a_bad_record_publishes_nothing(tmp_path: Path) -> None:
    place = real_files.german(tmp_path)
    place.write_bytes(place.read_bytes().replace(b"03.03.1952", b"1952-03-03"))
    with pytest.raises(SmaltiError) as refused:
        published(tmp_path, place, "out")
    assert str(refused.value).startswith(
        "export.csv, record 3: the value of column `born` is of another format (in the column: 23 of"
        " `dd.MM.yyyy`, 1 of `yyyy-MM-dd`)"
    )
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".smalti*"))


@pytest.mark.parametrize(
    ("party", "owner", "where"),
    [("me", None, "party (--as)"), (USER, "me", "owner (--owner)"), ("me", "you", "party (--as)")],
)
def test_a_party_that_is_no_iri_is_blamed_by_its_own_name(
    tmp_path: Path, party: str, owner: str | None, where: str
) -> None:
    data = real_files.canonical(tmp_path)
    with pytest.raises(SmaltiError) as refused:
        api.run(policy_in(tmp_path), data={CUSTOMER: data}, party=party, owner=owner, out=tmp_path / "out")
    assert refused.value.where == where
    ran = smalti("plan", policy_in(tmp_path), *request(data, party=party, owner=owner), cwd=tmp_path)
    assert ran.message.startswith(f"{where}: ")


def test_packing_and_another_description_make_no_other_data(tmp_path: Path) -> None:
    """Another party tried owned data out, packed and with another text for missing values."""
    rows = [f"{who};{20 + who};{'flu' if who % 2 else 'cold'}" for who in range(8)]
    plain = "\n".join(["id;age;ill", *rows, ""]).encode()

    def described(name: str, content: bytes, nulls: list[str]) -> Path:
        (tmp_path / name).write_bytes(content)
        about = {
            "@context": "http://www.w3.org/ns/csvw", "url": name, "dialect": {"delimiter": ";"},
            "tableSchema": {"columns": [{"name": "ill", "datatype": "string", "null": nulls}]},
        }  # fmt: skip
        (tmp_path / f"{name}-metadata.json").write_text(json.dumps(about))
        return tmp_path / name

    def policy(owner: str, target: str) -> api.PolicyDocument:
        written = api.new_policy(policy=f"{target}/p", owner=owner, target=target, purpose="statistical")
        return api.load_policy(
            written.anonymize(
                k=2, respondent="id", quasi_identifiers=["age"], sensitive="ill", output=f"{target}/o"
            )
        )

    owner, other, target = (f"http://example.com/{name}" for name in ("owner", "other", "T"))
    registry = api.Registry.open(tmp_path / "r.sqlite")
    asked = {"party": owner, "purpose": "statistical", "registry": registry}
    source = described("a.csv", plain, ["n"])
    assert api.run(policy(owner, target), data={target: source}, out=tmp_path / "o", **asked).version
    packed = described("b.csv.gz", gzip.compress(plain), ["cold"])
    for own, data in (("http://example.com/mine", packed), ("http://example.com/plain", source)):
        with pytest.raises(SmaltiError):
            api.try_out(
                policy(other, own), data={own: data}, party=other, purpose="statistical", registry=registry
            )
