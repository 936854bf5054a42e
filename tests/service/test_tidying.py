"""What nothing needs is removed, and nothing else is."""

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from service_world import POLICY, World, make_world
from shell import OWNER, USER, small_document, small_table, smalti

from smalti.errors import UsageError
from smalti.tidying import tidy

OLD = time.time() - 40 * 86_400


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def aged(folder: Path) -> Path:
    for each in (*folder.rglob("*"), folder):
        os.utime(each, (OLD, OLD), follow_symlinks=False)
    return folder


def left_behind(place: Path, name: str) -> Path:
    folder = place / name
    folder.mkdir(mode=0o700)
    folder.joinpath("x.csv").write_text("a\n1\n", encoding="utf-8")
    return folder


def everything(world: World) -> Iterator[Path]:
    for place in (world.service.uploads.folder, world.service.outputs):
        yield from place.rglob("*")


def test_what_is_bound_queued_foreign_or_young_stays(world: World) -> None:
    bound = world.upload(small_table(world.folder).read_bytes()).json()
    world.add_policy(small_document())
    ordered = {"kind": "run", "policy": POLICY, "target": bound["target"], "purpose": "marketing"}
    job = world.ask("POST", "/v1/jobs", USER, json=ordered).json()
    assert job["state"] == "queued", job
    uploads, outputs = world.service.uploads.folder, world.service.outputs
    for place in (uploads, outputs):
        aged(place)
    unbound, partial = left_behind(uploads, "0" * 32), left_behind(uploads, ".partial-" + "1" * 32)
    nobody_ordered = left_behind(outputs, "2" * 16)
    gone = {aged(folder) for folder in (unbound, partial, nobody_ordered)}
    aged(left_behind(uploads, "notes"))
    left_behind(uploads, "3" * 32)
    outside = aged(left_behind(world.folder, "outside"))
    (uploads / ("4" * 32)).symlink_to(outside)
    before = set(everything(world))
    month = timedelta(days=30)
    shown = tidy(world.registry, uploads, outputs, month, removes=False)
    assert {*shown.uploads, *shown.jobs} == gone
    assert set(everything(world)) == before, "nothing is removed unless it is asked for"
    tidy(world.registry, uploads, outputs, month, removes=True)
    assert before - set(everything(world)) == {*gone, *(folder / "x.csv" for folder in gone)}
    assert outside.joinpath("x.csv").exists()
    world.ask("POST", f"/v1/jobs/{job['id']}/stop", USER)
    aged(outputs / job["id"])
    assert tidy(world.registry, uploads, outputs, month, removes=False).jobs == (), "it has just ended"


def test_ended_sessions_and_answers_go_and_a_day_is_the_least(world: World) -> None:
    world.ask("POST", "/v1/policies", OWNER, json={}, headers={"Idempotency-Key": "1"})
    places = (world.service.uploads.folder, world.service.outputs)
    with pytest.raises(UsageError, match="less than a day"):
        tidy(world.registry, *places, timedelta(hours=23), removes=True)
    done = smalti("registry", "tidy", "--registry", str(world.registry.path), "--uploads", places[0],
                  "--outputs", places[1], cwd=world.folder)  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.endswith("0 sessions, 0 answers: would be removed (--remove does it)\n")
