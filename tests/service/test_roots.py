"""Files below a party's root: links, names and folders by which it could read more than its own files."""

import os
from pathlib import Path

import pytest
from service_world import STRANGER, World, make_world

from smalti.cli.job_process import check_files
from smalti.engine.jobs.requests import Assess
from smalti.errors import SmaltiError, UsageError
from smalti.vocab.terms import IRI

DATA = "http://stranger.example/data"
TABLE = "id,x\n1,2\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    root.joinpath("in", "a.csv").write_text(TABLE, encoding="utf-8")
    return make_world(tmp_path, roots=((IRI(STRANGER), root),))


def bound(world: World) -> str:
    done = world.ask("POST", "/v1/data", STRANGER, json={"target": DATA, "file": "in/a.csv"})
    assert done.status_code == 201, done.text
    return f"/v1/data/{done.json()['id']}"


@pytest.mark.parametrize("name", ["in/a.csv", "in/a.csv-metadata.json", "in"])
def test_what_becomes_a_link_after_it_was_bound_leads_nowhere(world: World, name: str) -> None:
    data, root, outside = bound(world), world.folder / "root", world.folder / "outside"
    place = root / "in" / "a.csv"
    assert world.get(f"{data}/proposal", STRANGER).status_code == 200
    outside.mkdir()
    for each in ("a.csv", "a.csv-metadata.json"):
        outside.joinpath(each).write_text("name,illness\nann,flu\n", encoding="utf-8")
    if (root / name).exists():
        (root / name).rename(root / "away")
    (root / name).symlink_to(outside if name == "in" else outside / Path(name).name)
    for path in ("/proposal", "/description"):
        answer = world.get(f"{data}{path}", STRANGER)
        assert answer.status_code in {404, 422}
        assert "illness" not in answer.text
    ordered = {"kind": "assess", "target": DATA, "quasiIdentifiers": ["name"], "oneRowEach": True}
    assert world.ask("POST", "/v1/jobs", STRANGER, json=ordered).status_code == 422
    with pytest.raises(UsageError, match="a link stands in the place"):
        check_files(world.registry, Assess(data=str(place), quasi_identifiers=("name",)))
    assert world.ask("DELETE", data, STRANGER).status_code == 204


def test_files_that_cannot_be_bound_are_not_listed(world: World) -> None:
    root = world.folder / "root"
    os.mkfifo(root / "pipe.csv")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.csv")).write_text(TABLE, encoding="utf-8")
    assert world.get("/v1/files", STRANGER).json()["items"] == [{"file": "in/a.csv"}]
    os.mkfifo(root / "in" / "a.csv-metadata.json")
    bound(world)
    assert world.get("/v1/data", STRANGER).json()["items"][0]["described"] is False


@pytest.mark.parametrize("root", ["", "uploads", "outputs/0123456789abcdef"])
def test_a_root_is_apart_from_what_the_service_keeps(tmp_path: Path, root: str) -> None:
    with pytest.raises(SmaltiError, match="would be those of the service, or of others"):
        make_world(tmp_path, roots=((IRI(STRANGER), tmp_path / root),))
