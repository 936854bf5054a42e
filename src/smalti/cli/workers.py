"""The command `worker`, and workers that a command leaves behind."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from smalti.cli.options import events_option, registry_option

if TYPE_CHECKING:
    from smalti.engine.registry.job_entries import StoredJob
    from smalti.engine.registry.registry import Registry

_ENVIRONMENT = "SMALTI_REGISTRY"
"""Names the registry of a worker, whose address can hold a secret that others would see in a command."""
_STARTING_SECONDS = 60.0
_POLL_SECONDS = 0.05


@click.command()
@click.option("--parallel", default=1, show_default=True, type=click.IntRange(1), metavar="N",
              help="The most jobs at once.")  # fmt: skip
@click.option("--drain", is_flag=True, help="End when no job waits and none runs any more.")
@click.option("--once", is_flag=True, help="End after one job.")
@click.option("--name", metavar="NAME",
              help="Of this worker; no other one of the registry may have it.  [default: host, process and"
              " a random part]")  # fmt: skip
@click.option("--folder", metavar="DIR", type=click.Path(path_type=Path),
              help="Where private folders of jobs are made.  [default: beside the registry]")  # fmt: skip
@click.option("--lease", default=60.0, show_default=True, type=click.FloatRange(3), metavar="SECONDS",
              help="How long another worker waits before it takes over the jobs of one that is not heard"
              " of.")  # fmt: skip
@click.option("--kill-after", default=30.0, show_default=True, type=click.FloatRange(0), metavar="SECONDS",
              help="How long a job that is stopped may take to clean up.")  # fmt: skip
@events_option
@click.option("--only", "job_id", hidden=True, help="The id of the one job that it may take.")
@registry_option
def worker(  # noqa: PLR0913 (an option each)
    *,
    parallel: int,
    drain: bool,
    once: bool,
    name: str | None,
    folder: Path | None,
    lease: float,
    kill_after: float,
    events: str | None,
    job_id: str | None,
    registry: str,
) -> int:
    """Do the jobs of a registry, each in a process of its own.

    Any number of workers share a registry. Ctrl-C or SIGTERM ends the jobs that run, which clean up: those
    that kept a checkpoint or have tries left are queued again, others are stopped.
    """
    from smalti.cli.opening import open_registry
    from smalti.cli.serve import service_settings, tidy_after
    from smalti.engine.jobs.folders import folder_beside
    from smalti.engine.jobs.requests import absolute
    from smalti.engine.jobs.worker import Until, Worker, WorkerChoices, own_name
    from smalti.tidying import Places, tidying

    if once and drain:
        raise click.UsageError("`--once` or `--drain`, not both.")
    if events is not None:
        from smalti.engine.run.lineage_events import check_place

        check_place(events)
    keeps = tidy_after(service_settings(click.get_current_context()))
    place = _place(registry)
    opened = open_registry(place)
    choices = WorkerChoices(
        location=place if opened.path is None else str(opened.path),
        folder=folder_beside(opened) if folder is None else folder.absolute(),
        name=name or own_name(),
        parallel=parallel,
        lease=timedelta(seconds=lease),
        kill_after=timedelta(seconds=kill_after),
        events=None if events is None else absolute(events),
    )
    until = Until.FIRST if once else Until.EMPTY if drain else Until.STOPPED
    working = Worker(opened, choices, lambda line: click.echo(line, err=True))

    def tell(number: int, frame: FrameType | None) -> None:
        del number, frame
        working.tell_to_stop()

    before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if until is Until.STOPPED:
            click.echo(f"worker {choices.name}: waits for jobs of {opened.name}", err=True)
        with tidying(opened, Places(private=choices.folder), keeps):
            working.work(until, job_id)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _place(registry: str) -> str:
    """The registry: as an option says, else the environment, else a settings file."""
    from_environment = os.environ.pop(_ENVIRONMENT, None)
    source = click.get_current_context().get_parameter_source("registry")
    return (
        registry if from_environment is None or source is ParameterSource.COMMANDLINE else from_environment
    )


def start_worker(registry: "Registry", place: str, job: "StoredJob") -> "StoredJob":
    """Start a worker for one job, which goes on when this process ends.

    Args:
        registry: of the job.
        place: its location, as the user gave it.
        job: that is queued.

    Returns:
        The job once somebody has begun it, or nobody does.
    """
    from smalti.engine.jobs.folders import JobFolder, folder_beside
    from smalti.engine.jobs.queue import job_of
    from smalti.engine.registry.job_entries import JobState

    folder = JobFolder(folder_beside(registry) / job.id)
    folder.prepare()
    location = place if registry.path is None else str(registry.path)
    command = [sys.executable, "-m", "smalti", "--no-settings", "worker", "--drain", "--only", job.id]
    environment = os.environ | {_ENVIRONMENT: location}
    descriptor = os.open(folder.path / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as log:
        process = subprocess.Popen(  # noqa: S603 (this very program)
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + _STARTING_SECONDS
    while (job := job_of(registry, job.id)).state is JobState.QUEUED:
        if time.monotonic() > until or process.poll() is not None:
            break
        time.sleep(_POLL_SECONDS)
    return job
