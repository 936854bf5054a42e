"""What the service keeps and nothing needs any more: found, and removed where that is asked for.

Removed are folders of uploads that no target is bound to, folders of jobs that ended and in which no
recorded output and no report is, private folders of ended jobs without a report and a checkpoint, data
flows that are over and of which no output is recorded, sessions that ended, and answers whose day is over.
Kept is whatever a binding in force, a job that is not over, a version, an intent or a report names; what
the service did not create, by its name; and links. Outputs and certificates are never touched: later
verification and the figures over several releases read them.
"""

import logging
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from smalti.engine.jobs.folders import JobFolder
from smalti.engine.registry.job_entries import StoredJob
from smalti.engine.registry.registry import Registry
from smalti.errors import SmaltiError, UsageError

LEAST: Final = timedelta(days=1)
"""Nothing younger is removed: an upload may be under way for as long."""
_UPLOAD: Final = re.compile(r"(\.partial-)?[0-9a-f]{32}")
_JOB: Final = re.compile(r"[0-9a-f]{16}")
"""Names are random, so that a name in a text says which folder is meant, however its path is written."""
_EVERY: Final = timedelta(days=1)
_ENDING_SECONDS: Final = 5.0
_LOG: Final = logging.getLogger("smalti.tidying")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders to look at; each may be missing. None: it is not looked at."""

    uploads: Path | None = None
    """The service's folder of uploads."""
    outputs: Path | None = None
    """The service's folder of outputs of jobs."""
    private: Path | None = None
    """A worker's folder of private folders of jobs."""


@dataclass(frozen=True, slots=True)
class Tidied:
    """What nothing needs any more."""

    uploads: tuple[Path, ...]
    """Folders, each of one upload."""
    jobs: tuple[Path, ...]
    """Folders of jobs that ended: of outputs, and private ones."""
    flows: int
    sessions: int
    answers: int
    size: int
    """Bytes of the folders."""
    was_removed: bool
    vanished: tuple[Path, ...] = ()
    """Folders that somebody else removed, or began to, while this looked at them."""


def tidy(
    registry: Registry,
    places: Places,
    older_than: timedelta,
    *,
    removes: bool,
    now: datetime | None = None,
) -> Tidied:
    """Find, and perhaps remove, what nothing needs any more.

    Args:
        registry: that says what is needed.
        places: to look at.
        older_than: what is younger stays.
        removes: whether to remove it.
        now: the time.

    Raises:
        UsageError: `older_than` is less than a day.
        RegistryError: the registry cannot be read or written.
    """
    if older_than < LEAST:
        raise UsageError("--older-than", "it is less than a day", "a number of days from 1")
    now = now or datetime.now(UTC)
    before = now - older_than
    # The folders are listed first: what is bound or ordered meanwhile is seen by the registry afterwards.
    old_uploads = tuple(_folders(places.uploads, _UPLOAD, before))
    old_jobs = tuple(_folders(places.outputs, _JOB, before))
    needed = _needed(registry)
    ended = [job for job in registry.jobs.listed() if job.ended_at is not None and job.ended_at < before]
    over = {job.id for job in ended} | {
        folder.name for folder in old_jobs if registry.jobs.get(folder.name) is None
    }
    unneeded_uploads = tuple(folder for folder in old_uploads if folder.name not in needed)
    unneeded_jobs = (
        *(folder for folder in old_jobs if folder.name in over and folder.name not in needed),
        *_private(ended, places.private, needed, before),
    )
    sizes = {folder: _size(folder) for folder in (*unneeded_uploads, *unneeded_jobs)}
    vanished = [folder for folder, size in sizes.items() if size is None]
    if removes:
        for folder in sizes:
            shutil.rmtree(folder, ignore_errors=True)
    sessions = registry.sessions.sweep(before.timestamp(), removes=removes)
    answers = registry.answers.sweep(before, removes=removes)
    flows = registry.flows.sweep(before, registry.intents.places(), removes=removes)
    uploads, jobs = (
        tuple(folder for folder in folders if folder not in vanished)
        for folders in (unneeded_uploads, unneeded_jobs)
    )
    total = sum(size or 0 for size in sizes.values())
    return Tidied(uploads, jobs, flows, sessions, answers, total, removes, tuple(vanished))


@contextmanager
def tidying(registry: Registry, places: Places, older_than: timedelta | None) -> Iterator[None]:
    """Remove what nothing needs, now and every day until the end of the block, in a thread.

    What was removed, and what goes wrong, is logged; nothing is raised.

    Args:
        registry: that says what is needed.
        places: to look at.
        older_than: what is younger stays; None: nothing is removed.
    """
    is_over = threading.Event()

    def turn() -> None:
        _tidy_and_log(registry, places, older_than or LEAST)
        while not is_over.wait(_EVERY.total_seconds()):
            _tidy_and_log(registry, places, older_than or LEAST)

    thread = threading.Thread(target=turn, daemon=True)
    if older_than is not None:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.is_alive():
            thread.join(_ENDING_SECONDS)


def _tidy_and_log(registry: Registry, places: Places, older_than: timedelta) -> None:
    try:
        tidied = tidy(registry, places, older_than, removes=True)
    except SmaltiError as error:
        _LOG.error("tidying: %s", error)
    except Exception as error:
        _LOG.error("tidying: %s", type(error).__name__)
    else:
        for folder in (*tidied.uploads, *tidied.jobs):
            _LOG.warning("tidying: removed %s", folder)
        for folder in tidied.vanished:
            _LOG.warning("tidying: somebody else removed %s meanwhile", folder)


def _size(folder: Path) -> int | None:
    """The bytes of a folder; None: it, or a file in it, vanishes meanwhile."""
    try:
        folder.lstat()
        return sum(file.lstat().st_size for file in folder.rglob("*"))
    except FileNotFoundError:
        return None


def _folders(place: Path | None, names: re.Pattern[str], before: datetime) -> Iterator[Path]:
    """The service's own folders in a place, that nobody changed after a time."""
    if place is None or not place.is_dir():
        return
    for folder in sorted(place.iterdir()):
        if names.fullmatch(folder.name) and _is_old(folder, before):
            yield folder


def _private(
    ended: Iterable[StoredJob], place: Path | None, needed: str, before: datetime
) -> Iterator[Path]:
    """The private folders in a place, of ended jobs, without a report and a checkpoint."""
    for job in ended:
        if job.folder is None or job.folder.parent != place or _is_named(job.folder, needed):
            continue
        folder = JobFolder(job.folder)
        if _is_old(folder.path, before) and not folder.is_alive and not folder.holds_work:
            yield folder.path


def _is_named(folder: Path, needed: str) -> bool:
    """Whether a place is this folder, or in it. Names of jobs may be chosen, so the whole path counts."""
    return any(f"{folder}{end}" in needed for end in (os.sep, "\n", '"'))


def _is_old(folder: Path, before: datetime) -> bool:
    """Whether it is a folder, no link, and nobody changed it after a time; one that vanishes is none."""
    try:
        if not folder.is_dir() or folder.is_symlink():
            return False
        return max(each.lstat().st_mtime for each in (folder, *folder.rglob("*"))) < before.timestamp()
    except FileNotFoundError:
        return False


def _needed(registry: Registry) -> str:
    """All places that the registry names and needs, as one text with a line for each."""
    places = [str(bound.place) for bound in registry.bindings.in_force()]
    places += [str(version.path) for version in registry.outputs.all()]
    places += map(str, registry.intents.places())
    for job in registry.jobs.listed():
        if not job.state.is_over:
            places.append(job.request)
        elif job.result is not None:
            places += [str(place) for place in (job.result.report, job.result.out) if place is not None]
    return "".join(f"{place}\n" for place in places)
