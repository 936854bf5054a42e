"""What `smalti audit list` says of audits that ended, and what of a name that it does not list."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from model_worlds import TARGET, USER
from shell import smalti

from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import Audit, CheckPolicies
from smalti.engine.jobs.worker import LEASE
from smalti.engine.registry import jobs
from smalti.engine.registry.job_entries import JobResult, JobState, StoredJob
from smalti.engine.registry.registry import Registry

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredJob:
    """An audit that a worker has, and something else."""
    monkeypatch.setattr(jobs, "wall_clock", lambda: NEW_YEAR)
    registry = Registry.open(tmp_path / "r.sqlite")
    request = Audit(
        policy="/p/policy.jsonld", target=TARGET, data="/p/people.csv", party=USER, out="/p/out"
    )
    queue.submit(registry, request, job_id="abc")
    queue.submit(registry, CheckPolicies(files=("/p/policy.jsonld",)), job_id="abd")
    job = registry.jobs.claim("worker", tmp_path / "r.sqlite.jobs", LEASE)
    assert job is not None
    registry.jobs.beat(job.lease, LEASE, "records", NEW_YEAR)
    return job


@pytest.mark.parametrize(
    ("state", "result", "told"),
    [
        (JobState.DONE, JobResult(0), "ended, permitted (exit code 0)"),
        (JobState.FAILED, JobResult(1), "ended, refused, or an error (exit code 1)"),
        (JobState.FAILED, JobResult(3), "ended, failed (exit code 3)"),
        (JobState.STOPPED, None, "stopped, records"),
        (JobState.DIED, None, "died, records"),
        (None, None, "running, records"),
    ],
)
def test_how_an_audit_ended_is_told(
    tmp_path: Path, claimed: StoredJob, state: JobState | None, result: JobResult | None, told: str
) -> None:
    if state is not None:
        assert Registry.open(tmp_path / "r.sqlite").jobs.end(claimed.lease, state, "", result)
    ran = smalti("audit", "list", "--registry", "r.sqlite", cwd=tmp_path)
    assert ran.out == f"abc  {told}  started 2026-01-01T00:00:00+00:00  /p/policy.jsonld\n", ran.err


@pytest.mark.usefixtures("claimed")
@pytest.mark.parametrize("command", ["follow", "stop", "resume"])
def test_where_a_name_was_looked_for_is_told(tmp_path: Path, command: str) -> None:
    ran = smalti("audit", command, "abc", cwd=tmp_path)
    assert ran.code == 2
    assert "the registry smalti.sqlite has no audit of this name" in ran.message
    assert "--registry" in ran.message
    other_kind = smalti("audit", command, "abd", "--registry", "r.sqlite", cwd=tmp_path)
    assert "no audit of this name" in other_kind.message
