"""The commands about jobs, and what they say of jobs in each state."""

import sys
from pathlib import Path

import pytest
from shell import CUSTOMER, Ran, small_policy, small_table, smalti

sys.path.insert(0, str(Path(__file__).parent / "engine" / "jobs"))
from job_worlds import DIES, PARTY, instead, submitted

from smalti.engine.registry.registry import Registry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_policy(tmp_path)
    return tmp_path


def jobs(folder: Path, *words: str) -> Ran:
    return smalti("jobs", *words, cwd=folder)


def test_a_job_goes_from_submission_to_its_findings(folder: Path) -> None:
    (folder / "policy.jsonld").write_text("{")
    assert jobs(folder, "list").out == "no job was submitted to this registry\n"
    assert jobs(folder, "submit", "--id", "first", "check", "policy.jsonld").out.startswith(
        "first  check   queued"
    )
    assert jobs(folder, "submit", "--id", "first", "check", "policy.jsonld").code == 0, "the same job"
    worked = smalti("worker", "--once", "--name", "me", cwd=folder)
    assert (worked.code, worked.err) == (0, "job first: check begins (attempt 1)\njob first: done\n")
    followed = jobs(folder, "follow", "fir")
    assert followed.code == 1, "its findings"
    assert followed.out.endswith("job first: done (exit code 1)\n")
    assert "error[P" in followed.out
    (shown,) = jobs(folder, "show", "first", "--format", "json").json["jobs"]
    assert (shown["state"], shown["exitCode"], shown["worker"], shown["attempts"]) == ("done", 1, "me", 1)
    assert Path(shown["report"]).read_text().startswith("[")
    assert shown["request"]["files"] == [str(folder / "policy.jsonld")]
    for word in ("stop", "retry"):
        refused = jobs(folder, word, "first")
        assert refused.code == 2
        assert "job first: it is done; expected a job that" in refused.message
    assert "smalti.sqlite: it has no job of this id" in jobs(folder, "show", "second").message


def test_what_died_is_listed_and_retried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, DIES)
    submitted(Registry.open(folder / "smalti.sqlite"), job_id="a-1")
    submitted(Registry.open(folder / "smalti.sqlite"), job_id="a-2")
    assert "several jobs have ids that begin so" in jobs(folder, "stop", "a").message
    assert "a-2  check   stopped: it was told to stop  submitted" in jobs(folder, "stop", "a-2").out
    assert smalti("worker", "--drain", cwd=folder).code == 0
    assert "a-1  check   died: its process was killed by signal 9  submitted" in jobs(folder, "list").out
    assert jobs(folder, "list", "--as", "http://nobody.example").out.startswith("no job")
    assert jobs(folder, "list", "--as", PARTY, "--kind", "check").out.count("\n") == 2
    assert jobs(folder, "follow", "a-1").code == 1
    assert "a-1  check   queued  submitted" in jobs(folder, "retry", "a-1").out
    assert "attempts  1 of 2" in jobs(folder, "show", "a-1").out


def test_a_worker_ends_once_or_when_all_is_done(folder: Path) -> None:
    ran = smalti("worker", "--once", "--drain", cwd=folder)
    assert ran.code == 2
    assert "`--once` or `--drain`, not both" in ran.err
    assert smalti("worker", "--once", cwd=folder).code == 0, "nothing waits"


def test_settings_of_what_jobs_do_not_take_are_not_announced(folder: Path) -> None:
    (folder / "smalti.toml").write_text('events = "events.jsonl"\nparty = "http://org/user"\n')
    data = small_table(folder)
    words = (
        "run",
        "policy.jsonld",
        "--data",
        f"{CUSTOMER}={data}",
        "--out",
        "out",
        "--purpose",
        "marketing",
    )
    queued = jobs(folder, "submit", *words)
    assert (queued.code, "gives --as http://org/user\n" in queued.err) == (0, True), queued.err
    assert "--events" not in queued.err
    assert "--events" in smalti(*words, cwd=folder).err, "runs take it"
