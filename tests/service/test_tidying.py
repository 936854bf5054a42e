"""What nothing needs is removed, and nothing else is."""

import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from service_world import POLICY, World, make_market, make_world
from shell import CUSTOMER, OWNER, USER, small_document, small_table, smalti

from smalti import tidying as tidying_module
from smalti.engine.binding.checkpoints import STATE_NAME
from smalti.engine.jobs import queue
from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import CheckPolicies
from smalti.engine.registry.data_flows import FlowState, NewFlow
from smalti.engine.registry.job_entries import JobResult, JobState
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.service import server
from smalti.tidying import Places, Tidied, tidy, tidying
from smalti.vocab.terms import IRI

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
    places = Places(uploads=uploads, outputs=outputs)
    shown = tidy(world.registry, places, month, removes=False)
    assert {*shown.uploads, *shown.jobs} == gone
    assert set(everything(world)) == before, "nothing is removed unless it is asked for"
    tidy(world.registry, places, month, removes=True)
    assert before - set(everything(world)) == {*gone, *(folder / "x.csv" for folder in gone)}
    assert outside.joinpath("x.csv").exists()
    world.ask("POST", f"/v1/jobs/{job['id']}/stop", USER)
    aged(outputs / job["id"])
    assert tidy(world.registry, places, month, removes=False).jobs == (), "it has just ended"


def test_a_folder_that_vanishes_meanwhile_is_named_and_the_rest_is_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else removes the first after it was listed, and the second while its files are looked at."""
    uploads = world.service.uploads.folder
    first, second, third = (aged(left_behind(uploads, name * 32)) for name in "012")
    needed, lstat, looks = tidying_module._needed, Path.lstat, [0]

    def removing_needed(registry: Registry) -> str:
        shutil.rmtree(first)
        return needed(registry)

    def removing_lstat(path: Path) -> os.stat_result:
        if path == second / "x.csv":
            looks[0] += 1
            if looks[0] == 2:
                shutil.rmtree(second)
        return lstat(path)

    monkeypatch.setattr(tidying_module, "_needed", removing_needed)
    monkeypatch.setattr(Path, "lstat", removing_lstat)
    tidied = tidy(world.registry, Places(uploads=uploads), timedelta(days=30), removes=True)
    assert (tidied.uploads, tidied.vanished, tidied.size) == ((third,), (first, second), 4)
    assert not third.exists()
    aged(left_behind(uploads, second.name))
    looks[0] = 1
    monkeypatch.setattr(tidying_module, "_needed", needed)
    again = tidy(world.registry, Places(uploads=uploads), timedelta(days=30), removes=True)
    assert (again.uploads, again.vanished, second.exists()) == ((), (), False), "gone before it was old"


def test_ended_sessions_and_answers_go_and_a_day_is_the_least(world: World) -> None:
    world.ask("POST", "/v1/policies", OWNER, json={}, headers={"Idempotency-Key": "1"})
    with pytest.raises(UsageError, match="less than a day"):
        tidy(world.registry, Places(), timedelta(hours=23), removes=True)
    done = smalti("registry", "tidy", "--registry", str(world.registry.path), "--uploads",
                  world.service.uploads.folder, "--outputs", world.service.outputs,
                  cwd=world.folder)  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.endswith("0 sessions, 0 answers: would be removed (--remove does it)\n")


def ended(
    world: World, private: Path, name: str, *, report: bool = False, checkpoint: bool = False
) -> Path:
    """The private folder of a job that failed, or left a report or a checkpoint."""
    jobs = world.registry.jobs
    queue.submit(world.registry, CheckPolicies(files=("/policy.jsonld",)), job_id=name)
    job = jobs.claim("worker", private, timedelta(seconds=60), name)
    assert job is not None
    folder = JobFolder(private / name)
    folder.prepare()
    folder.log.write_text("a line\n", encoding="utf-8")
    if checkpoint:
        folder.checkpoint.mkdir()
        folder.checkpoint.joinpath(STATE_NAME).write_text("{}", encoding="utf-8")
    state = JobState.DONE if report else JobState.FAILED
    jobs.end(job.lease, state, "", JobResult(0, report=folder.report) if report else None)
    return aged(folder.path)


def test_private_folders_go_unless_a_report_or_a_checkpoint_is_in_them(world: World) -> None:
    private = world.folder / "private"
    gone = ended(world, private, "figure")
    kept = [
        ended(world, private, "figure2", report=True), ended(world, private, "taken-up", checkpoint=True),
        aged(left_behind(private, "notes")),
    ]  # fmt: skip
    month, later = timedelta(days=30), datetime.now(UTC) + timedelta(days=31)
    for folder in (gone, *kept):
        assert folder.is_dir()
    places = Places(private=private)
    assert tidy(world.registry, places, month, removes=True).jobs == (), "they have just ended"
    assert tidy(world.registry, Places(private=world.folder), month, removes=True, now=later).jobs == ()
    assert tidy(world.registry, places, month, removes=True, now=later).jobs == (gone,)
    assert [folder for folder in (gone, *kept) if folder.is_dir()] == kept
    assert queue.retry(world.registry, "figure").state is JobState.QUEUED
    job = world.registry.jobs.claim("worker", private, timedelta(seconds=60), "figure")
    assert job is not None
    JobFolder(gone).prepare()


def flow(world: World, name: str, state: FlowState, out: Path | None = None) -> None:
    party = IRI(OWNER)
    new = NewFlow(
        key=name, id=name, party=party, counterparty=IRI(USER), target=IRI(CUSTOMER), policy=IRI(POLICY),
        rule=None, callback="https://plane.example",
    )  # fmt: skip
    flows = world.registry.flows
    before = flows.add(new).state
    flows.move(name, [before], state, {} if out is None else {"out": str(out)})


def test_flows_go_that_are_over_and_whose_output_is_not_recorded(tmp_path: Path) -> None:
    market, _ = make_market(tmp_path)
    (version,) = market.registry.outputs.all()
    flow(market, "over", FlowState.TERMINATED, tmp_path / "elsewhere" / "out")
    flow(market, "recorded", FlowState.COMPLETED, version.path)
    flow(market, "started", FlowState.STARTED)
    month, later = timedelta(days=30), datetime.now(UTC) + timedelta(days=31)
    assert tidy(market.registry, Places(), month, removes=True).flows == 0
    assert tidy(market.registry, Places(), month, removes=True, now=later).flows == 1
    left = [name for name in ("over", "recorded", "started") if market.registry.flows.get(IRI(OWNER), name)]
    assert left == ["recorded", "started"]


def test_a_service_tidies_by_itself_where_it_is_told_to_and_bears_what_fails(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    uploads = world.service.uploads.folder
    places, month = Places(uploads=uploads), timedelta(days=30)
    unbound = aged(left_behind(uploads, "0" * 32))
    with tidying(world.registry, places, None):
        pass
    assert unbound.is_dir(), "nothing is removed where no setting says so"
    with tidying(world.registry, places, month):
        until = time.monotonic() + 10
        while unbound.is_dir() and time.monotonic() < until:
            time.sleep(0.01)
    assert not unbound.exists()
    assert str(unbound) in caplog.text

    def fails(*_: object, **__: object) -> None:
        raise ValueError("a value")

    monkeypatch.setattr(tidying_module, "tidy", fails)
    monkeypatch.setattr(tidying_module, "_EVERY", timedelta(milliseconds=1))
    caplog.clear()
    with tidying(world.registry, places, month):
        until = time.monotonic() + 10
        while caplog.text.count("ValueError") < 2 and time.monotonic() < until:
            time.sleep(0.01)
    assert caplog.text.count("ValueError") >= 2, "it goes on after what went wrong"
    assert "a value" not in caplog.text


def test_the_settings_say_whether_a_service_and_a_worker_tidy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Places, timedelta]] = []

    def noted(registry: Registry, places: Places, age: timedelta, **_: object) -> Tidied:
        calls.append((places, age))
        return Tidied((), (), 0, 0, 0, 0, was_removed=True)

    monkeypatch.setattr(tidying_module, "tidy", noted)
    monkeypatch.setattr(server, "answer_alone", lambda *_: None)
    tmp_path.joinpath("s.toml").write_text("[service]\ntidy-after-days = 7\n", encoding="utf-8")
    for words in (["serve", "--address", "127.0.0.1:0"], ["worker", "--drain"]):
        assert smalti(*words, cwd=tmp_path).code == 0
        assert calls == []
        assert smalti("--settings", "s.toml", *words, cwd=tmp_path).code == 0
        ((places, age),) = calls
        calls.clear()
        assert age == timedelta(days=7)
        looked_at = {places.uploads, places.outputs, places.private} - {None}
        ends = {"serve": {"uploads", "outputs"}, "worker": {"jobs"}}[words[0]]
        assert looked_at == {tmp_path / f"smalti.sqlite.{end}" for end in ends}
    tmp_path.joinpath("s.toml").write_text("[service]\ntidy-after-days = 0\n", encoding="utf-8")
    refused = smalti("--settings", "s.toml", "worker", "--drain", cwd=tmp_path)
    assert refused.code == 2
    assert "a number of days from 1" in refused.err
