"""The process of a job ends with its worker, and does nothing for a job that is somebody else's."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from job_worlds import SHORT, claimed, submitted

from smalti.cli.job_process import JobWatch
from smalti.engine.jobs import queue
from smalti.engine.jobs.errands import RENEWAL, Errand
from smalti.engine.jobs.folders import JobFolder, Status
from smalti.engine.registry.job_entries import JobResult, Lease
from smalti.engine.registry.registry import Registry

LASTS, GRACE = 1.5, 0.3
HELD = """
import signal, sys, time
from smalti.cli.leash import channel_of_worker, leashed, read_errand
channel = channel_of_worker()
errand = read_errand(channel)
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with leashed(channel, errand) as is_cut_off:
    print("ready", flush=True)
    time.sleep(60 if sys.argv[1] != "done" else 0.1)
print("over", is_cut_off.is_set())
"""


@pytest.fixture
def process(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that a worker has started, once it has understood its errand."""
    errand = Errand(
        "r.sqlite", Lease("job", 1), tmp_path, "{}", timedelta(seconds=LASTS), timedelta(seconds=GRACE)
    )
    started = subprocess.Popen(
        [sys.executable, "-c", HELD, request.param],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0,
    )  # fmt: skip
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        started.stdin.write(errand.to_line())
        assert started.stdout.readline() == b"ready\n"
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdin.close()
        started.stdout.close()


def tell(process: "subprocess.Popen[bytes]", line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)


@pytest.mark.parametrize(
    ("process", "expected"), [("works", -signal.SIGTERM), ("deaf", -signal.SIGKILL)], indirect=["process"]
)
def test_it_ends_when_its_worker_is_gone(process: "subprocess.Popen[bytes]", expected: int) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == expected


@pytest.mark.parametrize("process", ["works"], indirect=True)
def test_it_ends_when_its_worker_is_silent(process: "subprocess.Popen[bytes]") -> None:
    since = time.monotonic()
    for _ in range(3):
        time.sleep(LASTS / 2)
        tell(process, RENEWAL)
    assert process.poll() is None
    assert process.wait(20) == -signal.SIGTERM
    assert time.monotonic() - since > LASTS * 2


@pytest.mark.parametrize("process", ["done"], indirect=True)
def test_it_ends_by_itself_when_it_is_done(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdout is not None
    assert process.stdout.read() == b"over False\n"
    assert process.wait(20) == 0


def test_a_phase_of_a_job_that_somebody_else_has_does_not_begin(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    submitted(registry)
    job = claimed(registry, lease=timedelta(minutes=1))
    watch, folder = JobWatch(JobFolder(tmp_path), registry, job.lease), JobFolder(tmp_path)
    watch.phase("decide")
    assert folder.status.phase == "decide"
    watch.end(JobResult(1), "why")
    assert (folder.status.result, folder.status.error, folder.status.phase) == (
        JobResult(1),
        "why",
        "decide",
    )
    assert registry.jobs.beat(job.lease, timedelta(0), "decide", None) is not None
    claimed(registry, "other", SHORT)
    with pytest.raises(KeyboardInterrupt):
        watch.phase("register")
    assert folder.status.phase == "decide"


def test_a_phase_of_a_job_that_was_queued_again_does_not_begin(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    submitted(registry)
    job = claimed(registry, lease=timedelta(0))
    watch = JobWatch(JobFolder(tmp_path), registry, job.lease)
    queue.retry(registry, job.id)
    with pytest.raises(KeyboardInterrupt):
        watch.phase("register")


def test_a_status_that_is_none_says_nothing(tmp_path: Path) -> None:
    assert JobFolder(tmp_path).status == Status()
    (tmp_path / "status.json").write_text("{]")
    assert JobFolder(tmp_path).status == Status()
