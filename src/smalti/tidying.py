"""What the service keeps and nothing needs any more: found, and removed where that is asked for.

Removed are folders of uploads that no target is bound to, folders of jobs that ended and in which no
recorded output and no report is, sessions that ended, and answers whose day is over. Kept is whatever a
binding in force, a job that is not over, a version, an intent or a report names; what the service did not
create, by its name; and links. Outputs, certificates and the private folders of workers are never touched:
later verification and the figures over several releases read them.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError

LEAST: Final = timedelta(days=1)
"""Nothing younger is removed: an upload may be under way for as long."""
_UPLOAD: Final = re.compile(r"(\.partial-)?[0-9a-f]{32}")
_JOB: Final = re.compile(r"[0-9a-f]{16}")
"""Names are random, so that a name in a text says which folder is meant, however its path is written."""


@dataclass(frozen=True, slots=True)
class Tidied:
    """What nothing needs any more."""

    uploads: tuple[Path, ...]
    """Folders, each of one upload."""
    jobs: tuple[Path, ...]
    """Folders of jobs that ended."""
    sessions: int
    answers: int
    size: int
    """Bytes of the folders."""
    was_removed: bool


def tidy(
    registry: Registry,
    uploads: Path,
    outputs: Path,
    older_than: timedelta,
    *,
    removes: bool,
    now: datetime | None = None,
) -> Tidied:
    """Find, and perhaps remove, what nothing needs any more.

    Args:
        registry: that says what is needed.
        uploads: the service's folder of uploads; it may be missing.
        outputs: the service's folder of outputs of jobs; likewise.
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
    old_uploads = tuple(_folders(uploads, _UPLOAD, before))
    old_jobs = tuple(_folders(outputs, _JOB, before))
    needed = _needed(registry)
    over = {
        job.id for job in registry.jobs.listed() if job.ended_at is not None and job.ended_at < before
    } | {folder.name for folder in old_jobs if registry.jobs.get(folder.name) is None}
    unneeded_uploads = tuple(folder for folder in old_uploads if folder.name not in needed)
    unneeded_jobs = tuple(
        folder for folder in old_jobs if folder.name in over and folder.name not in needed
    )
    folders = (*unneeded_uploads, *unneeded_jobs)
    size = sum(file.lstat().st_size for folder in folders for file in folder.rglob("*"))
    if removes:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    sessions = registry.sessions.sweep(before.timestamp(), removes=removes)
    answers = registry.answers.sweep(before, removes=removes)
    return Tidied(unneeded_uploads, unneeded_jobs, sessions, answers, size, removes)


def _folders(place: Path, names: re.Pattern[str], before: datetime) -> Iterator[Path]:
    """The service's own folders in a place, that nobody changed after a time."""
    if not place.is_dir():
        return
    for folder in sorted(place.iterdir()):
        if names.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            changed = max(each.lstat().st_mtime for each in (folder, *folder.rglob("*")))
            if changed < before.timestamp():
                yield folder


def _needed(registry: Registry) -> str:
    """All places that the registry names and needs, as one text."""
    places = [str(bound.place) for bound in registry.bindings.in_force()]
    places += [str(version.path) for version in registry.outputs.all()]
    places += map(str, registry.intents.places())
    for job in registry.jobs.listed():
        if not job.state.is_over:
            places.append(job.request)
        elif job.result is not None:
            places += [str(place) for place in (job.result.report, job.result.out) if place is not None]
    return "\n".join(places)
