"""Registries and outputs of a version without kinds: read, verified, listed, migrated and recovered.

`tests/fixtures/before-kinds/README.md` says what they are and how they were made.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from certificates import instead
from shell import smalti as command

import smalti
from smalti.engine.losses.certified import charged_run
from smalti.engine.plan.kinds import TABLE, Kind, plan_class, report_class
from smalti.engine.plan.recorded import names_kind, plan_from_json, recorded_kind
from smalti.engine.plan.serialize import plan_digest, recorded_digest
from smalti.engine.registry import commit
from smalti.engine.registry._migrations import SCHEMA_VERSION
from smalti.errors import GuaranteeError, PlanError, UsageError

FIXTURE = Path(__file__).parent / "fixtures" / "before-kinds"
TARGET = "http://example.com/people"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/researcher"
OUTPUTS = {
    "rows": Kind.ANONYMIZATION,
    "statistics": Kind.RELEASE,
    "noisy": Kind.PERTURBATION,
    "model": Kind.TRAINING,
}
EACH = pytest.mark.parametrize(("name", "kind"), OUTPUTS.items())


def restored(folder: Path) -> Path:
    """The files, as that version would have left them in a folder."""
    shutil.copytree(FIXTURE, folder, dirs_exist_ok=True)
    text = (folder / "registry.sql").read_text(encoding="utf-8").replace("@HERE@", str(folder))
    with closing(sqlite3.connect(folder / "registry.sqlite")) as connection:
        connection.executescript("PRAGMA journal_mode = WAL;" + text)
    for name in ("registry.sqlite", "registry.sqlite.secret"):
        (folder / name).chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that change nothing."""
    return restored(tmp_path_factory.mktemp("before-kinds"))


@pytest.fixture
def own_world(tmp_path: Path) -> Path:
    return restored(tmp_path)


@pytest.fixture
def registry(world: Path) -> Iterator[smalti.Registry]:
    with closing(smalti.Registry.open(world / "registry.sqlite")) as opened:
        yield opened


def version(registry: smalti.Registry, name: str) -> Any:
    (found,) = registry.versions(smalti.IRI(f"http://example.com/people-{name}"))
    return found


def test_there_is_one_for_each_kind_that_there_was() -> None:
    assert {entry.kind for entry in TABLE if entry.step is not None} == set(OUTPUTS.values())


@EACH
def test_they_are_read(registry: smalti.Registry, name: str, kind: Kind) -> None:
    found = version(registry, name)
    plan = plan_from_json(found.plan)
    assert (recorded_kind(found.plan), names_kind(found.plan)) == (kind, False)
    assert type(plan) is plan_class(kind)
    assert recorded_digest(found.plan) == found.plan_digest != plan_digest(plan)
    assert plan_from_json(smalti_json(plan)) == plan
    assert type(found.report) is report_class(kind)
    assert [one.name for one in found.report.inputs] == ["people.csv"]
    assert charged_run(found) == found.run


def smalti_json(plan: Any) -> str:
    """A plan as this version writes it."""
    document = json.loads(smalti.explain(plan, as_json=True))["plan"]
    assert document["kind"] == plan.kind
    return json.dumps(document)


@EACH
def test_they_are_verified(registry: smalti.Registry, world: Path, name: str, kind: Kind) -> None:
    assert "kind" not in json.loads((world / name / "certificate.jsonld").read_text())["guarantee"]
    seen = smalti.verify(world / name, registry=registry)
    assert seen.version == version(registry, name)
    assert seen.guarantee.kind is kind
    assert seen.check.recounted


@EACH
def test_they_are_verified_without_a_registry(world: Path, tmp_path: Path, name: str, kind: Kind) -> None:
    seen = smalti.verify(world / name, registry=tmp_path / "none.sqlite")
    assert seen.version is None
    assert seen.guarantee.kind is kind


def test_rows_are_verified_with_the_data(registry: smalti.Registry, world: Path) -> None:
    assert smalti.verify(world / "rows", registry=registry, data=world / "people.csv").is_repeated


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name != "rows"])
def test_noise_is_not_drawn_again(registry: smalti.Registry, world: Path, name: str) -> None:
    """That is said before anybody looks for the data."""
    with pytest.raises(UsageError, match="depends on random numbers"):
        smalti.verify(world / name, registry=registry, data=world / "absent.csv")


def test_they_are_listed(world: Path) -> None:
    shown = command("targets", "list", "--registry", "registry.sqlite", "--as", OWNER, cwd=world)
    assert shown.code == 0, shown.err
    for name in OUTPUTS:
        assert f"http://example.com/people-{name} version 1" in shown.out
    assert "achieved k = " in shown.out


@pytest.mark.parametrize("has_record", [True, False])
@EACH
def test_nothing_is_added_to_them(
    world: Path, tmp_path: Path, name: str, kind: Kind, has_record: bool
) -> None:
    """A kind in a certificate that is older than kinds: in its context, too, and in the registry."""
    document = json.loads((world / name / "certificate.jsonld").read_text())
    document["guarantee"]["kind"] = str(kind)
    without_term = json.dumps(document)
    document["@context"]["kind"] = "s:kind"
    for text in (without_term, json.dumps(document)) if has_record else (without_term,):
        with instead(world, name, certificate=text), pytest.raises(GuaranteeError):
            smalti.verify(
                world / name, registry=world / "registry.sqlite" if has_record else tmp_path / "none.sqlite"
            )


def test_they_are_migrated_and_count(own_world: Path) -> None:
    """Later runs join the registry: their kinds are named, and earlier releases are charged as before."""
    place = own_world / "registry.sqlite"
    made = {name: again(own_world, name) for name in ("rows", "noisy")}
    with closing(sqlite3.connect(place)) as connection:
        ((number,),) = connection.execute("SELECT value FROM smalti_meta WHERE key = 'schema'")
    assert number == str(SCHEMA_VERSION)
    together = made["noisy"].composition
    assert together is not None
    assert together.releases == 5  # statistics, noisy, model, killed, and this one
    for name, kind in OUTPUTS.items():
        assert smalti.verify(own_world / name, registry=place).guarantee.kind is kind
    for name, outcome in made.items():
        seen = smalti.verify(own_world / f"{name}-again", registry=place)
        assert seen.version == outcome.version
        assert seen.guarantee.kind is OUTPUTS[name]
        assert names_kind(outcome.version.plan)
        check_kind_is_there(own_world, f"{name}-again", str(OUTPUTS[name]))


def again(world: Path, name: str) -> Any:
    return smalti.run(
        world / f"{name}.jsonld",
        data={TARGET: world / "people.csv"},
        party=USER,
        owner=OWNER,
        out=world / f"{name}-again",
        registry=world / "registry.sqlite",
    )


def check_kind_is_there(world: Path, name: str, kind: str) -> None:
    """A newer certificate without its kind, or with another one, is refused; in the registry, too."""
    document = json.loads((world / name / "certificate.jsonld").read_text())
    assert document["guarantee"]["kind"] == kind
    absent = {key: value for key, value in document["guarantee"].items() if key != "kind"}
    context = {key: value for key, value in document["@context"].items() if key != "kind"}
    forged = [
        document | {"guarantee": absent},
        document | {"guarantee": absent, "@context": context},
        *(
            document | {"guarantee": absent | {"kind": other}}
            for other in ("other", *Kind)
            if other != kind
        ),
    ]
    for one in forged:
        with instead(world, name, certificate=json.dumps(one)), pytest.raises(GuaranteeError):
            smalti.verify(world / name, registry=world / "registry.sqlite")


def test_a_publication_that_was_begun_is_ended(own_world: Path) -> None:
    """That version did not write down what its policy meant, so it is undone; its charge stays."""
    with closing(smalti.Registry.open(own_world / "registry.sqlite")) as registry:
        (begun,) = registry.intents.pending()
        assert type(begun.record.report) is report_class(Kind.PERTURBATION)
        assert begun.record.policy_meaning is None
        assert commit.recover(registry) == ()
        assert registry.intents.pending() == ()
        assert begun.run in {one.run for one in registry.ledger.budget(smalti.IRI(TARGET)).charges}
    assert not (own_world / "killed").exists()
    assert not list(own_world.glob(".smalti-*"))


@pytest.mark.parametrize(
    "text",
    [
        "plan",
        "[]",
        "{}",
        '{"format": 3, "kind": "release", "steps": []}',
        '{"format": 2, "steps": [{"step": "release"}]}',
        '{"format": 2, "kind": "attack", "steps": []}',
        '{"format": 1, "steps": []}',
        '{"format": 1, "steps": [{"step": "attack"}]}',
        '{"format": 1, "steps": [{"step": "release"}, {"step": "perturb"}]}',
    ],
)
def test_what_tells_no_kind_is_taken_for_none(text: str) -> None:
    for read in (recorded_kind, plan_from_json):
        with pytest.raises(PlanError):
            read(text)
