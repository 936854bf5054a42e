"""Attacks that once worked: on what a value, a column, a target or a purpose is."""

import json
from contextlib import suppress
from decimal import Decimal
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
    describe,
    listing,
    small_document,
    small_policy,
    small_rows,
    small_table,
)

import smalti
from smalti.engine.anonymization import capability as anonymizing
from smalti.engine.registry.registry import Registry
from smalti.engine.run import driver
from smalti.engine.tables.secret import hmac_digest
from smalti.errors import DataError, GuaranteeError, PlanError, PolicyError, UsageError
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI

STRANGER = "http://example.com/party/stranger"


def run(policy: Path, data: Path, out: str, target: str = CUSTOMER, **changes: Any) -> smalti.Outcome:
    folder = policy.parent
    asked: dict[str, Any] = {
        "data": {target: data}, "party": USER, "owner": OWNER, "purpose": "marketing",
        "registry": folder / "smalti.sqlite",
    }  # fmt: skip
    return smalti.run(policy, out=folder / out, **(asked | changes))


# --- Equal values are one person, and one sensitive value


@pytest.mark.parametrize(
    ("datatype", "spellings"),
    [
        ("decimal", ["1", "1.0", "1.00"]),
        ("dateTime", ["2024-01-01T12:00Z", "2024-01-01T12:00:00Z", "2024-01-01T13:00+01:00"]),
    ],
)
def test_spellings_of_one_respondent_are_one_person(
    tmp_path: Path, datatype: str, spellings: list[str]
) -> None:
    rows = [[spelling, "30", "Rome", illness] for spelling, illness in zip(spellings, "abc", strict=True)]
    data = small_table(tmp_path, rows, respondent="who", datatypes={"who": datatype})
    before = listing(tmp_path)
    policy = small_policy(tmp_path)
    with pytest.raises(GuaranteeError, match="cannot meet k-anonymity"):
        run(policy, data, "out")
    policy.unlink()
    assert listing(tmp_path) == before


def test_spellings_of_one_sensitive_value_are_one_value(tmp_path: Path) -> None:
    rows = [[f"p{n}", "30", "Rome", ("10", "10.0", "10.00")[n % 3]] for n in range(6)]
    data = small_table(tmp_path, rows, respondent="who", datatypes={"illness": "decimal"})
    policy = small_policy(tmp_path, method=("eq", "l-diversity"), k=("gteq", 3), l=("gteq", 3))
    with pytest.raises(GuaranteeError, match="cannot meet l-diversity"):
        run(policy, data, "out")


def test_the_verifier_counts_values_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same table, with a kernel that compares texts: its output is not published."""
    rows = [[f"p{n}", "30", "Rome", ("10", "10.0", "10.00")[n % 3]] for n in range(6)]
    data = small_table(tmp_path, rows, respondent="who", datatypes={"illness": "decimal"})
    policy = small_policy(tmp_path, method=("eq", "l-diversity"), k=("gteq", 3), l=("gteq", 3))
    from smalti.engine.anonymization import execute  # noqa: PLC0415

    monkeypatch.setattr(execute, "_numbers", lambda plan, name, column, hierarchies: column.codes)
    with pytest.raises(
        GuaranteeError, match="all respondents of a class have a value of `illness` in common"
    ):
        run(policy, data, "out")
    assert not (tmp_path / "out").exists()


def test_spellings_of_one_identifier_repeat(tmp_path: Path) -> None:
    rows = [[spelling, "30", "Rome", spelling] for spelling in ("1", "1.0", "1.00")]
    data = small_table(tmp_path, rows, datatypes={"who": "decimal"})
    with pytest.raises(PlanError, match="values repeat in the identifier `who`"):
        run(small_policy(tmp_path), data, "out")


# --- A column is one column


def test_one_column_under_two_spellings_of_its_iri_has_one_role(tmp_path: Path) -> None:
    names = ("naïve", "age", "city", "illness")
    data = small_table(tmp_path, header=names)
    listed = [{"@id": f"{CUSTOMER}/illness"}, {"@id": f"{CUSTOMER}/na%C3%AFve"}]
    policy = small_policy(
        tmp_path, identifier=("isAllOf", [{"@id": f"{CUSTOMER}/naïve"}]), sensitive=("isAllOf", listed)
    )
    with pytest.raises(PolicyError, match="has two roles: `identifier` and `sensitive`"):
        run(policy, data, "out")


def test_two_columns_with_one_iri_are_refused(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    place = describe(data, HEADER, "who")
    document = json.loads(place.read_text())
    document["tableSchema"]["columns"][0]["propertyUrl"] = f"{CUSTOMER}/illness"
    place.write_text(json.dumps(document))
    with pytest.raises(smalti.SmaltiError, match="have the same IRI"):
        run(small_policy(tmp_path), data, "out")


# --- A target's data is its owner's


@pytest.fixture
def owned(tmp_path: Path) -> tuple[Path, Path]:
    """A policy in force, and the data that its owner ran it on."""
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows(24))]
    data, policy = small_table(tmp_path, rows, respondent="who"), small_policy(tmp_path)
    assert run(policy, data, "first").version is not None
    return policy, data


def test_a_stranger_runs_the_owners_policy_on_the_owners_data_as_it_is(owned: tuple[Path, Path]) -> None:
    policy, data = owned
    again = run(policy, data, "again", owner=None)
    assert again.version is not None
    assert again.report is None, "the owner's figures are not the stranger's"


def test_a_stranger_cannot_describe_the_owners_data_otherwise(owned: tuple[Path, Path]) -> None:
    policy, data = owned
    describe(data, HEADER, "age")
    with pytest.raises(UsageError, match="must not bind other data to it"):
        run(policy, data, "again", owner=None)
    assert not (policy.parent / "again").exists()


def test_a_stranger_cannot_bind_other_data_to_the_owners_target(owned: tuple[Path, Path]) -> None:
    policy, data = owned
    (policy.parent / "other").mkdir()
    other = small_table(policy.parent / "other", small_rows(30), respondent="who")
    with pytest.raises(UsageError, match="must not bind other data to it"):
        run(policy, other, "again", owner=None)
    assert data.exists()


def test_an_output_cannot_be_relabelled(owned: tuple[Path, Path]) -> None:
    """Under another IRI its respondents, who cannot be counted any more, would be forgotten."""
    policy, _ = owned
    published = policy.parent / "first" / "anonCustomer.csv"
    document = small_document(identifier=None, uid="http://example.com/policy/new", rule={"uid": "urn:x:r"})
    relabelled = policy.parent / "relabelled.jsonld"
    text = (
        json.dumps(document).replace(CUSTOMER, "http://example.com/New").replace(OUTPUT, "http://example/n")
    )
    relabelled.write_text(text)
    with pytest.raises(UsageError, match="it is version 1 of"):
        run(relabelled, published, "again", "http://example.com/New", owner=STRANGER)


def test_somebody_elses_input_cannot_be_relabelled(owned: tuple[Path, Path]) -> None:
    policy, data = owned
    document = small_document(respondent=None, uid="http://example.com/policy/new", rule={"uid": "urn:x:r"})
    relabelled = policy.parent / "relabelled.jsonld"
    text = (
        json.dumps(document).replace(CUSTOMER, "http://example.com/New").replace(OUTPUT, "http://example/n")
    )
    relabelled.write_text(text)
    with pytest.raises(UsageError, match="registered under another IRI"):
        run(relabelled, data, "again", "http://example.com/New", owner=STRANGER)


# --- What nothing describes follows from the values


def second_policy(folder: Path) -> Path:
    """Another policy of the owner in force; it infers a datatype that the one of `aged` does not."""
    policy = small_policy(
        folder,
        file="second.jsonld",
        uid="http://example.com/policy/second",
        rule={"uid": "http://example.com/policy/second/1", "output": "http://example.com/second"},
    )
    Registry.open(folder / "smalti.sqlite").add_policy(policy.read_bytes(), "second", IRI(OWNER))
    return policy


def aged(folder: Path, datatypes: dict[str, str] | None = None) -> Path:
    """Data that its owner ran a first policy on, which makes classes of cities alone."""
    rows = [
        [f"p{n}", str(30 + n % 3), ("Rome", "Oslo")[n % 2], ("flu", "gout")[n // 6 % 2]] for n in range(24)
    ]
    data = small_table(folder, rows, datatypes=datatypes)
    cities = ("isAllOf", [{"@id": f"{CUSTOMER}/city"}])
    assert run(small_policy(folder, **{"quasi-identifier": cities}), data, "first").version is not None
    return data


def test_a_second_policy_infers_what_the_first_one_did_not_look_at(tmp_path: Path) -> None:
    data = aged(tmp_path)
    second = second_policy(tmp_path)
    outcome = run(second, data, "second", owner=None)
    assert outcome.version is not None
    assert run(tmp_path / "policy.jsonld", data, "again", owner=None).version is not None


@pytest.mark.parametrize("is_owners", [True, False], ids=["owner's", "stranger's"])
def test_whoever_asks_leaves_a_description_as_it_was(tmp_path: Path, is_owners: bool) -> None:
    data = aged(tmp_path, {"age": "string"} if is_owners else None)
    second = second_policy(tmp_path)
    if is_owners:
        data.with_name("people.csv-metadata.json").unlink()
    else:
        describe(data, HEADER, None, {"age": "string"})
    with pytest.raises(UsageError, match="describes its data otherwise than an owner did"):
        run(second, data, "second", owner=None)


# --- What data means is the owner's word

DESCRIBED = {
    "who": {},
    "age": {"datatype": {"base": "integer", "minimum": 0, "maximum": 120}, "null": "-", "s:unit": 1},
    "city": {
        "datatype": "string",
        "csvw-eo:keyValues": ["Rome", "Oslo", "Bern"],
        "s:hierarchy": {"rule": "ordered", "values": ["Rome", "Oslo", "Bern"], "fanOut": [3]},
    },
    "illness": {"datatype": "string"},
}
"""What an owner says of columns."""
OTHERWISE: dict[str, tuple[str, dict[str, Any]]] = {
    "a least value that is nearer": (
        "age",
        {"datatype": {"base": "integer", "minimum": 20, "maximum": 120}},
    ),
    "no bounds": ("age", {"datatype": "integer"}),
    "bounds of the data": ("age", {"s:derivedFromData": True}),
    "a text that the data has not": ("age", {"null": ["-", "?"]}),
    "a value in each row": ("age", {"required": True}),
    "fewer public values": ("city", {"csvw-eo:keyValues": ["Rome", "Oslo"]}),
    "another order": (
        "city",
        {"s:hierarchy": {"rule": "ordered", "values": ["Oslo", "Rome", "Bern"], "fanOut": [3]}},
    ),
    "a description of less": ("city", {"s:hierarchy": None, "csvw-eo:keyValues": None}),
}
"""Words of a column that a stranger states otherwise; None: left out."""


def describes(data: Path, otherwise: dict[str, dict[str, Any]] | None = None, **of_table: Any) -> None:
    """The owner's description beside the data, or another one."""
    columns = [
        {"name": name}
        | {
            key: value
            for key, value in (words | (otherwise or {}).get(name, {})).items()
            if value is not None
        }
        for name, words in DESCRIBED.items()
    ]
    schema = {"columns": columns}
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": data.name,
        "tableSchema": schema,
        **of_table,
    }
    data.with_name(f"{data.name}-metadata.json").write_text(json.dumps(document))


def test_a_stranger_says_nothing_else_of_the_owners_data(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path, small_rows(24))
    describes(data)
    assert run(policy, data, "first").version is not None
    asked: dict[str, Any] = {
        "data": {CUSTOMER: data}, "party": USER, "purpose": "marketing",
        "registry": tmp_path / "smalti.sqlite",
    }  # fmt: skip
    accepted = []
    for words, (column, otherwise) in OTHERWISE.items():
        describes(data, {column: otherwise})
        with suppress(UsageError):
            smalti.plan(policy, **asked)
            accepted.append(words)
    for of_table in ({"dialect": {"trim": True}}, {"csvw-eo:bounds.maxContributions": 9}):
        describes(data, **of_table)
        with suppress(UsageError):
            smalti.plan(policy, **asked)
            accepted.append(str(of_table))
    assert accepted == []
    describes(data, {"age": {"titles": "Age", "null": ["-", ""]}}, **{"dc:title": "People"})
    assert run(policy, data, "again", owner=None).version is not None


def test_no_refusal_tells_what_another_description_makes_of_the_data(tmp_path: Path) -> None:
    """Whether a column has a value in each row would be told by the compiler."""
    rows = [
        [who, age if n else "", city, illness] for n, (who, age, city, illness) in enumerate(small_rows())
    ]
    policy, data = small_policy(tmp_path), small_table(tmp_path, rows)
    describes(data)
    assert run(policy, data, "first").version is not None
    for otherwise in ({"required": True}, {"required": True, "null": ["-", "25"]}):
        describes(data, {"age": otherwise})
        with pytest.raises(UsageError, match="does not own") as refused:
            run(policy, data, "again", owner=None)
        assert "record" not in str(refused.value)


def test_versions_of_an_earlier_smalti_say_nothing_of_descriptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path, small_rows(24))
    describes(data)
    with monkeypatch.context() as earlier:
        earlier.setattr(driver, "described_input", lambda *_: None)
        assert run(policy, data, "first").version is not None
    describes(data, {"age": {"s:unit": 50}})
    assert run(policy, data, "second", owner=None).version is not None
    describes(data)
    assert run(policy, data, "third").version is not None  # the owner's word, from now on
    assert run(policy, data, "fourth", owner=None).version is not None
    describes(data, {"age": {"s:unit": 50}})
    with pytest.raises(UsageError, match="describes its data otherwise"):
        run(policy, data, "fifth", owner=None)


# --- An output is the one that was registered


def test_one_output_does_not_stand_for_another(owned: tuple[Path, Path]) -> None:
    policy, data = owned
    second = run(policy, data, "second").version
    assert second is not None
    folder, registry = policy.parent, policy.parent / "smalti.sqlite"
    (folder / "second" / "certificate.jsonld").write_bytes(
        (folder / "first" / "certificate.jsonld").read_bytes()
    )
    with pytest.raises(GuaranteeError, match="another output than the registered one"):
        smalti.verify(second.iri, registry=registry)


def test_nothing_else_lies_beside_an_output(owned: tuple[Path, Path]) -> None:
    folder = owned[0].parent
    (folder / "first" / "raw.csv").write_text("who\np1\n")
    with pytest.raises(GuaranteeError, match="more than the published files"):
        smalti.verify(folder / "first", registry=folder / "smalti.sqlite")


# --- What is not understood denies


@pytest.mark.parametrize("purpose", [None, "marketing", "https://w3id.org/dpv#Marketing", "urn:x:anything"])
def test_a_forbidden_purpose_is_not_evaded_by_an_unknown_one(tmp_path: Path, purpose: str | None) -> None:
    document = {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld"],
        "@type": "Set", "uid": "http://x.org/p", "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        "conflict": "prohibit",
        "permission": [{"uid": "http://x.org/p/1", "target": "http://x.org/t", "action": "odrl:read"}],
        "prohibition": [
            {
                "uid": "http://x.org/p/2", "target": "http://x.org/t", "action": "odrl:read",
                "purpose": "mosaicrown:marketing",
            }
        ],
    }  # fmt: skip
    registry = Registry.open(tmp_path / "r.sqlite")
    registry.add_policy(json.dumps(document).encode(), "p.jsonld", IRI(OWNER))
    asked: dict[str, Any] = {
        "party": USER,
        "action": "read",
        "target": "http://x.org/t",
        "registry": registry,
    }
    assert not smalti.decide(purpose=purpose, **asked).is_permitted
    assert smalti.decide(purpose="statistical", **asked).is_permitted


@pytest.mark.parametrize(
    "hidden",
    [
        {"dct:description": {"prohibition": [{"target": CUSTOMER, "action": "use"}]}},
        {"dct:title": {"@type": "Prohibition", "target": CUSTOMER, "action": "use"}},
    ],
)
def test_no_rule_hides_in_a_remark(hidden: dict[str, Any]) -> None:
    parsed = parse(json.dumps(small_document() | hidden).encode(), "p.jsonld")
    assert not parsed.is_valid


def test_a_description_says_a_thing_once(tmp_path: Path) -> None:
    data = small_table(tmp_path, respondent="who")
    place = data.with_name(data.name + "-metadata.json")
    place.write_text(place.read_text()[:-1] + ', "https://w3id.org/smalti#respondent": "city"}')
    with pytest.raises(DataError, match="repeats a property"):
        run(small_policy(tmp_path), data, "out")


# --- What the public learns


def test_the_public_digest_of_a_plan_says_nothing_of_inferred_types(tmp_path: Path) -> None:
    digests = set()
    for name, middle in (("a", "21"), ("b", "21.5")):
        (tmp_path / name).mkdir()
        rows = small_rows(9)
        rows[4][1] = middle
        policy = small_policy(tmp_path / name)
        outcome = run(policy, small_table(tmp_path / name, rows), "out")
        assert outcome.version is not None
        digests.add(outcome.version.plan_digest)
    assert len(digests) == 1


def test_the_owner_knows_the_input_by_a_keyed_digest_only(tmp_path: Path) -> None:
    import hashlib  # noqa: PLC0415

    outcome = run(small_policy(tmp_path), small_table(tmp_path), "out")
    assert outcome.report is not None
    bare = hashlib.sha256((tmp_path / "people.csv").read_bytes()).digest()
    (known,) = outcome.report.inputs
    secret = (tmp_path / "smalti.sqlite.secret").read_bytes()
    assert bare.hex() not in known.hmac
    assert hmac_digest(b"another secret of thirty-two bytes", "input", bare) != known.hmac
    assert len(secret) >= 32
    for path in (tmp_path / "smalti.sqlite", tmp_path / "out" / "certificate.jsonld"):
        assert bare.hex().encode() not in path.read_bytes()


def test_a_file_that_changes_during_the_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    execute = anonymizing.execute

    def meddling(*arguments: Any) -> Any:
        loss = execute(*arguments)
        data.write_text(data.read_text().replace("p11", "p99"))
        return loss

    monkeypatch.setattr(anonymizing, "execute", meddling)
    with pytest.raises(DataError, match="changed during the run"):
        run(policy, data, "out")
    assert not (tmp_path / "out").exists()


def test_the_link_is_gone_before_anything_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smalti.engine.registry import commit  # noqa: PLC0415

    seen = []
    move = commit._move

    def watching(stage: commit.Stage) -> None:
        seen.append(stage.link.exists())
        move(stage)

    monkeypatch.setattr(commit, "_move", watching)
    assert run(small_policy(tmp_path), small_table(tmp_path), "out").version is not None
    assert seen == [False]


def test_a_stranger_sees_no_figures_of_inputs_that_are_not_theirs(owned: tuple[Path, Path]) -> None:
    from shell import smalti as command  # noqa: PLC0415

    ran = command("targets", OUTPUT, "--as", STRANGER, cwd=owned[0].parent)
    assert ran.code == 2
    assert "achieved k" not in ran.out + ran.err


@pytest.mark.parametrize("side", ["", "-wal", "-shm", "-journal", ".secret"])
def test_an_output_never_takes_the_place_of_the_registrys_files(tmp_path: Path, side: str) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    before = listing(tmp_path)
    with pytest.raises(UsageError, match="the output folder would contain or replace the registry"):
        run(policy, data, f"smalti.sqlite{side}")
    assert listing(tmp_path) == before


def test_a_description_does_not_redefine_our_words(tmp_path: Path) -> None:
    data = small_table(tmp_path, respondent="who")
    place = data.with_name(data.name + "-metadata.json")
    document = json.loads(place.read_text())
    document["@context"] = ["http://www.w3.org/ns/csvw", {"s": "http://example.com/other#"}]
    place.write_text(json.dumps(document))
    with pytest.raises(DataError, match="not understood"):
        run(small_policy(tmp_path), data, "out")


def test_equal_bytes_of_two_versions_are_taken_for_the_stricter_one(tmp_path: Path) -> None:
    """Version 1 was declared one row each, version 2 has a respondent: its people cannot be counted."""
    data, policy = small_table(tmp_path), small_policy(tmp_path, respondent=None)
    describe(data, HEADER, "https://w3id.org/smalti#oneRowEach")
    first = run(policy, data, "first").version
    describe(data, HEADER, "who")
    second = run(policy, data, "second").version
    assert first is not None
    assert second is not None
    assert first.output_digest == second.output_digest
    document = small_document(identifier=None, uid="http://example.com/policy/new", rule={"uid": "urn:x:r"})
    chained = tmp_path / "chained.jsonld"
    text = json.dumps(document).replace(OUTPUT, "http://example/n").replace(CUSTOMER, OUTPUT)
    chained.write_text(text)
    with pytest.raises(PlanError, match="can no longer be counted"):
        run(chained, second.path / second.files[0].name, "again", OUTPUT)


# --- Columns in forms and roles that once stopped a run


def test_a_respondent_with_many_values_may_be_a_quasi_identifier(tmp_path: Path) -> None:
    rows = [[f"p{n}", str(20 + n % 9), f"{n}", "abcd"[n % 4]] for n in range(5000)]
    data = small_table(tmp_path, rows, respondent="city")
    outcome = run(small_policy(tmp_path), data, "out")
    assert outcome.report is not None
    assert outcome.report.rows_out == 5000


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", None, "c"] * 10).dictionary_encode(),
        pa.array([Decimal(n) / 10**7 for n in range(40)], pa.decimal128(12, 7)),
    ],
    ids=["dictionary with gaps", "small decimals"],
)
@pytest.mark.parametrize("output_format", ["csv", "parquet"])
def test_columns_of_parquet_run_and_are_verified(
    tmp_path: Path, column: pa.Array, output_format: str
) -> None:
    texts = {name: [f"{name}{n % 5}" for n in range(40)] for name in HEADER}
    table = pa.table({**texts, "who": [f"p{n}" for n in range(40)], "city": column})
    pq.write_table(table, tmp_path / "people.parquet")
    outcome = run(small_policy(tmp_path), tmp_path / "people.parquet", "out", output_format=output_format)
    assert outcome.version is not None


def test_an_input_that_changes_during_the_run_is_named_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = small_table(tmp_path)
    verify = anonymizing.verify_run

    def changed_first(*args: Any, **options: Any) -> Any:
        data.write_bytes(data.read_bytes().replace(b"flu", b"gut"))
        return verify(*args, **options)

    assert b"flu" in data.read_bytes()
    monkeypatch.setattr(anonymizing, "verify_run", changed_first)
    with pytest.raises(DataError, match="the file changed during the run"):
        run(small_policy(tmp_path), data, "out")
    assert not (tmp_path / "out").exists()
