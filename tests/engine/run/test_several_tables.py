"""An output with several tables is one version: recorded, decided about, verified, replaced as a whole."""

import csv
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import kind_worlds as world
import pytest
from forked import run_forked
from killed_command import run_and_kill
from kind_worlds import OWNER, TARGET, USER, output_of, registry
from shell import smalti as command

import smalti
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.commit import recover
from smalti.engine.registry.entries import TargetVersion
from smalti.errors import DataError, GuaranteeError, PlanError, UsageError
from smalti.policy.decide.decision import Effect
from smalti.vocab.terms import IRI

KIND = Kind.BUCKETIZATION
WHOLE = output_of(KIND)
RECORDS, VALUES = IRI(f"{WHOLE}/quasi-identifiers"), IRI(f"{WHOLE}/sensitive")
OTHER = "http://example.com/party/other"
OUTPUTS = (WHOLE, RECORDS, VALUES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    world.write(tmp_path, KIND)
    assert world.run(tmp_path, KIND).version is not None
    return tmp_path


def versions(folder: Path) -> dict[str, list[TargetVersion]]:
    return {output: list(registry(folder).versions(output)) for output in OUTPUTS}


def add(folder: Path, kind: str, target: str, *, action: str = "odrl:read", party: str = OTHER) -> None:
    uid = f"http://example.com/policy/{kind}-{len(registry(folder).list_policies())}"
    rule = {"uid": f"{uid}/1", "target": target, "assignee": party, "action": action}
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": uid, kind: [rule],
    }  # fmt: skip
    registry(folder).add_policy(json.dumps(document).encode(), "policy", IRI(OWNER))


def effects(folder: Path, *targets: str) -> list[Effect]:
    decided = (
        smalti.decide(registry=folder / "r.sqlite", party=OTHER, action="read", target=target)
        for target in targets
    )
    return [decision.effect for decision in decided]


PERMIT, DENY, LIMITED = Effect.PERMIT, Effect.DENY, Effect.LIMITED


# --- Records


def test_each_table_is_a_target_with_a_version_of_its_own(folder: Path) -> None:
    (whole,), (records,), (values,) = versions(folder).values()
    assert [table.iri for table in whole.tables] == [RECORDS, VALUES]
    assert (records.whole, values.whole, whole.whole) == (WHOLE, WHOLE, None)
    assert {whole.path, records.path, values.path} == {folder / "out"}
    assert whole.files == (*records.files, *values.files)
    assert whole.certificate == records.certificate == values.certificate
    assert len({whole.iri, records.iri, values.iri}) == 3
    assert [column.name for column in records.columns] == ["number", "class", "group_"]
    assert [column.name for column in values.columns] == ["group_", "group", "count"]
    known = registry(folder)
    assert {known.full_owners(output) for output in OUTPUTS} == {frozenset({OWNER})}
    listed = json.loads(whole.certificate)["distribution"]
    assert [file["table"] for file in listed] == [RECORDS, VALUES]


def test_a_second_version_adds_one_to_each(folder: Path) -> None:
    made = world.run(folder, KIND, "again")
    with pytest.raises(UsageError, match="it holds several tables"):
        made.to_arrow()
    seen = versions(folder)
    assert [[one.number for one in of_each] for of_each in seen.values()] == [[1, 2]] * 3
    assert all(one.output_digest == two.output_digest for one, two in seen.values())
    assert smalti.verify(folder / "again", registry=folder / "r.sqlite").version == seen[WHOLE][1]


def test_the_content_is_the_same_in_parquet(folder: Path) -> None:
    (first,) = registry(folder).versions(WHOLE)
    discarded = command("targets", "discard", WHOLE, "--as", OWNER, "--registry", "r.sqlite", cwd=folder)
    assert discarded.code == 0, discarded
    assert not (folder / "out").exists()
    made = world.run(folder, KIND, "parquet", output_format="parquet").version
    assert made is not None
    assert made.output_digest == first.output_digest
    assert [file.name for file in made.files] == ["quasi-identifiers.parquet", "sensitive.parquet"]
    assert smalti.verify(folder / "parquet", registry=folder / "r.sqlite").version == made


def test_a_run_is_counted_once(folder: Path) -> None:
    """Vocabularies may limit how often a party gets something made; tables are made with their output."""
    with registry(folder).snapshot() as snapshot:
        assert snapshot.number_made(IRI(USER), [IRI(TARGET)]) == 1


def test_all_of_them_are_listed_and_exported(folder: Path) -> None:
    listed = command("targets", "--registry", "r.sqlite", "--format", "json", cwd=folder).json
    by_target = {each["target"]: each for each in listed}
    assert by_target.keys() == set(OUTPUTS)
    assert [each["target"] for each in by_target[WHOLE]["tables"]] == [RECORDS, VALUES]
    assert (by_target[RECORDS]["partOf"], by_target[VALUES]["partOf"]) == (WHOLE, WHOLE)
    shown = command("targets", "--registry", "r.sqlite", cwd=folder).out
    assert shown.count("part of") == 2
    turtle = command("targets", "--registry", "r.sqlite", "--format", "turtle", cwd=folder)
    assert f"dct:hasPart <{RECORDS}>" in turtle.out


def test_an_ended_policy_marks_all_of_them(folder: Path) -> None:
    registry(folder).revoke_policy(IRI(f"http://example.com/policy/{KIND}"), IRI(OWNER))
    listed = command("targets", "--registry", "r.sqlite", "--format", "json", cwd=folder).json
    assert all("was revoked" in each["reviewReasons"][0] for each in listed)
    affected = registry(folder).affected_by(IRI(f"http://example.com/policy/{KIND}"))
    assert {version.target for version in affected} == set(OUTPUTS)


def test_no_table_takes_the_place_of_other_data(tmp_path: Path) -> None:
    """The IRI of a table may be in use though that of the output is free."""
    world.write(tmp_path, KIND)
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": "urn:a:theirs",
        "permission": [{"uid": "urn:a:theirs/1", "target": VALUES, "assignee": USER, "action": "read"}],
    }  # fmt: skip
    registry(tmp_path).add_policy(json.dumps(document).encode(), "policy", IRI(OTHER))
    with pytest.raises(UsageError, match="belongs to somebody else") as caught:
        world.run(tmp_path, KIND)
    assert VALUES in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert registry(tmp_path).all_versions() == ()


def test_an_output_by_itself_does_not_become_a_table_and_a_table_no_output(tmp_path: Path) -> None:
    policy = world.document(Kind.ANONYMIZATION)
    policy["permission"][0]["output"] = VALUES
    world.write(tmp_path, KIND)
    (tmp_path / "one.jsonld").write_text(json.dumps(policy))
    asked = world.asked(tmp_path, KIND)
    assert smalti.run(tmp_path / "one.jsonld", **asked, out=tmp_path / "one").version is not None
    with pytest.raises(UsageError, match="it is an output by itself"):
        world.run(tmp_path, KIND)
    (tmp_path / "r.sqlite").unlink()
    assert world.run(tmp_path, KIND).version is not None
    with pytest.raises(UsageError, match="it is one of several tables of an output"):
        smalti.run(tmp_path / "one.jsonld", **asked, out=tmp_path / "two")


# --- Decisions


def test_permissions_reach_the_tables_of_an_output_and_not_the_other_way_round(folder: Path) -> None:
    assert effects(folder, *OUTPUTS) == [DENY] * 3
    add(folder, "permission", RECORDS)
    assert effects(folder, *OUTPUTS) == [DENY, PERMIT, DENY]
    add(folder, "permission", WHOLE)
    assert effects(folder, *OUTPUTS) == [PERMIT] * 3


def test_a_prohibition_on_one_table_withholds_it_from_the_whole(folder: Path) -> None:
    add(folder, "permission", WHOLE)
    add(folder, "prohibition", VALUES)
    assert effects(folder, *OUTPUTS) == [LIMITED, PERMIT, DENY]


def test_a_prohibition_on_the_whole_is_about_each_table_and_its_columns(folder: Path) -> None:
    add(folder, "permission", RECORDS)
    add(folder, "permission", VALUES)
    assert effects(folder, RECORDS, f"{RECORDS}/number", VALUES) == [PERMIT] * 3
    add(folder, "prohibition", WHOLE)
    assert effects(folder, *OUTPUTS, f"{RECORDS}/number") == [DENY] * 4


def test_a_prohibition_on_a_column_of_one_table_limits_the_whole(folder: Path) -> None:
    add(folder, "permission", WHOLE)
    add(folder, "prohibition", f"{RECORDS}/number")
    assert effects(folder, *OUTPUTS) == [LIMITED, LIMITED, PERMIT]


def test_the_implicit_rule_is_about_each(folder: Path) -> None:
    add(folder, "permission", TARGET)
    assert effects(folder, *OUTPUTS) == [PERMIT] * 3
    add(folder, "prohibition", f"{TARGET}/number")
    assert effects(folder, *OUTPUTS) == [DENY] * 3


# --- The tables as data


def chained(folder: Path, target: str, data: Path, **more: Any) -> smalti.Outcome:
    policy = world.document(
        Kind.ANONYMIZATION,
        (
            ("mosaicrown:method", "eq", "k-anonymity"),
            ("mosaicrown:k", "gteq", 5),
            ("mosaicrown:quasi-identifier", "isAllOf", [{"@id": f"{target}/number"}]),
        ),
    )
    policy["permission"][0]["target"] = target
    (folder / "chained.jsonld").write_text(json.dumps(policy))
    return smalti.run(
        folder / "chained.jsonld", data={target: data}, party=USER, owner=OWNER,
        registry=folder / "r.sqlite", out=folder / "chained", **more,
    )  # fmt: skip


def test_the_records_can_be_generalised_by_a_later_policy(folder: Path) -> None:
    made = chained(folder, RECORDS, folder / "out" / "quasi-identifiers.csv").version
    assert made is not None
    assert [(source.iri, source.version) for source in made.inputs] == [(RECORDS, 1)]
    assert world.run(folder, KIND, "again").version is not None
    registry(folder).revoke_policy(IRI(f"http://example.com/policy/{KIND}"), IRI(OWNER))
    listed = command("targets", "--registry", "r.sqlite", "--format", "json", cwd=folder).json
    reasons = next(each["reviewReasons"] for each in listed if each["target"] == made.target)
    assert reasons == [f"its input, version 1 of `{RECORDS}`, needs a review"]


def test_counts_are_no_records_of_people(folder: Path) -> None:
    with pytest.raises(PlanError, match="its rows are counts or synthetic, and no records of respondents"):
        chained(folder, VALUES, folder / "out" / "sensitive.csv")
    assert not (folder / "chained").exists()


def test_the_whole_is_no_table(folder: Path) -> None:
    with pytest.raises(UsageError, match="it has several tables") as caught:
        chained(folder, WHOLE, folder / "out" / "quasi-identifiers.csv")
    assert RECORDS in str(caught.value)
    (folder / "out" / "certificate.jsonld").unlink()
    with pytest.raises(DataError):
        chained(folder, WHOLE, folder / "out")


def test_a_table_keeps_its_iri(folder: Path) -> None:
    with pytest.raises(UsageError, match=f"it is version 1 of `{RECORDS}`"):
        chained(folder, "http://example.com/elsewhere", folder / "out" / "quasi-identifiers.csv")


def test_people_withdraw_from_what_the_tables_were_made_from(folder: Path) -> None:
    for output in OUTPUTS:
        with pytest.raises(UsageError, match="do not identify respondents"):
            registry(folder).withdraw(output, ["7"], by=IRI(OWNER))


def test_tables_are_read_one_at_a_time(folder: Path) -> None:
    with pytest.raises(UsageError, match="it holds several tables"):
        smalti.read_published(folder / "out")
    records = smalti.read_published(folder / "out" / "quasi-identifiers.csv")
    values = smalti.read_published(folder / "out" / "sensitive.csv")
    assert [str(kind) for kind in records.schema.types] == ["int64", "string", "string"]
    assert [str(kind) for kind in values.schema.types] == ["string", "string", "int64"]
    assert records.join(values, "group_", join_type="inner").num_rows > records.num_rows


# --- All or nothing


def test_a_missing_or_changed_table_is_refused(folder: Path) -> None:
    known = folder / "r.sqlite"
    seen = smalti.verify(folder / "out", registry=known)
    assert (seen.check.of_classes and seen.check.of_classes.rows) == 60
    assert command("verify", VALUES, "--registry", "r.sqlite", cwd=folder).code == 0
    for name in ("quasi-identifiers.csv", "sensitive.csv"):
        copy = shutil.copytree(folder / "out", folder / f"copy-{name}")
        text = (copy / name).read_text()
        (copy / name).write_text(text.replace(",x", ",y", 1).replace(",a,", ",b,", 1))
        with pytest.raises(GuaranteeError, match=r"bytes|twice|number"):
            smalti.verify(copy, registry=known)
        (copy / name).unlink()
        with pytest.raises(GuaranteeError, match=f"`{name}` is missing"):
            smalti.verify(copy, registry=known)


def test_strangers_verify_by_the_certificate_alone(folder: Path, tmp_path: Path) -> None:
    seen = smalti.verify(folder / "out", registry=tmp_path / "elsewhere.sqlite")
    assert seen.version is None
    again = smalti.verify(folder / "out", registry=folder / "r.sqlite", data=folder / "people.csv")
    assert again.is_repeated


def test_other_data_gives_other_content(folder: Path) -> None:
    rows = [*csv.reader((folder / "people.csv").read_text().splitlines())]
    rows[1][0] = "1"
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    with pytest.raises(GuaranteeError, match="produces other content"):
        smalti.verify(folder / "out", registry=folder / "r.sqlite", data=folder / "people.csv")


def replace_arguments(*more: str) -> list[str]:
    return [
        "run", "policy.jsonld", "--data", f"{TARGET}=people.csv", "--as", USER, "--owner", OWNER,
        "--registry", "r.sqlite", "--out", "out", "--replace", *more,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("rename:before", marks=pytest.mark.slow),
        "rename:after",
        pytest.param("finish:before", marks=pytest.mark.slow),
        "finish:after",
    ],
)
def test_a_killed_replacement_keeps_all_tables_or_takes_all(folder: Path, point: str) -> None:
    first = (folder / "out" / "sensitive.csv").read_bytes()
    ended = run_forked(run_and_kill, point, replace_arguments(), folder=folder)
    assert ended.code == -signal.SIGKILL, ended.err.decode()
    recover(registry(folder))
    seen = versions(folder)
    is_done = point.startswith("finish")
    places = [folder / "out.version-1", folder / "out"] if is_done else [folder / "out"]
    assert all([one.path for one in of_each] == places for of_each in seen.values())
    assert all(world.is_whole(place) for place in places)
    assert (places[0] / "sensitive.csv").read_bytes() == first
    for place in places:
        assert command("verify", place, "--registry", "r.sqlite", cwd=folder).code == 0
