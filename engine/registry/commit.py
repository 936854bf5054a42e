"""Publish and register a staged output, all or nothing.

A move of files and a commit to a database cannot be one transaction. So a run first records that it is
about to publish, then moves the folder, then registers it. After a crash, the next command completes the
run if the published bytes are the right ones, and undoes it otherwise.

INVARIANT: no target is registered without its whole output, and after `recover` no unregistered output
remains.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Final

from smalti.engine.registry._database import sync_folder
from smalti.engine.registry.entries import (
    Intent,
    NewVersion,
    TakenOver,
    TargetVersion,
    new_run,
    version_iri,
)
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.still_permitted import check_still_permitted
from smalti.engine.tables import locks
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.errors import BackendError, GuaranteeError, InternalError, SmaltiError, UsageError
from smalti.vocab.terms import IRI

_PREFIX: Final = ".smalti-"
_STAGE_NAME: Final = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Stage:
    """A run's private folder (0700), on the file system that it publishes to."""

    run: str
    folder: Path
    out: Path
    """Where the output will be, absolute."""

    @property
    def version(self) -> IRI:
        """The IRI of the version that the run will make."""
        return version_iri(self.run)

    @property
    def output(self) -> Path:
        """The folder that will be published: whatever is in here, and nothing else."""
        return self.folder / "output"

    @property
    def link(self) -> Path:
        """Place for the private link from published row to input row: outside `output`, never moved."""
        return self.folder / "link"

    @property
    def spill(self) -> Path:
        """Scratch space for engines, private as well."""
        return self.folder / "spill"


@contextmanager
def staging(registry: Registry, out: Path, taken: TakenOver | None = None) -> Iterator[Stage]:
    """A private place beside `out`, for one run; gone at the end, whatever happens.

    A killed run leaves its folder behind; the next run beside it, or `recover`, removes it. The registry
    is not written.

    Args:
        registry: where the output will be recorded.
        out: the folder to publish; must not exist, even empty, while its parent must.
        taken: the version in `out` whose folder it takes (`taken_over`); None: there is none.

    Raises:
        UsageError: `out` cannot be published to; nothing was written.
        BackendError: the folder cannot be made.
    """
    place = Path(os.path.abspath(out))
    if taken is None:
        _check_place(place, str(out))
    _check_is_apart(registry, place, str(out))
    sweep(place.parent)
    with _translated(str(out)):
        stage, lock = _make_stage(place)
    try:
        yield stage
    finally:
        # The lock is given up last: as long as it is held, nobody else removes the folder.
        _remove(stage.folder)
        os.close(lock)


def taken_over(registry: Registry, out: Path, output: IRI, by: IRI) -> TakenOver | None:
    """The version whose folder a run may take in its owner's name; None where nothing is in its way.

    The version stays on record: its folder is moved to a place beside, and nothing of it is lost.

    Args:
        registry: where it is recorded.
        out: the folder.
        output: what the run makes.
        by: who takes it; asserted by the caller.

    Raises:
        UsageError: what is there is no whole version of the output, or belongs to somebody else.
    """
    place = Path(os.path.abspath(out))
    if not os.path.lexists(place):
        return None
    versions = [version for version in registry.outputs.of(output) if version.path == place]
    problem = None
    if not versions:
        problem = f"it is no folder of a version of `{output}` that this registry recorded"
    elif by not in registry.ownership.full(output):
        problem = f"{by} does not own `{output}`"
    elif not holds_version(place, versions[-1]):
        problem = "its files are not those of the version that was recorded there"
    if problem is not None:
        raise UsageError(
            str(out), f"it cannot be replaced: {problem}", "a version of the same output, by its owner",
            "name another folder",
        )  # fmt: skip
    aside = place.with_name(f"{place.name}.version-{versions[-1].number}")
    _check_place(aside, str(aside))
    return TakenOver(versions[-1].run, aside)


@contextmanager
def scratch(workspace: Path | None = None) -> Iterator[Path]:
    """A private folder for work that publishes nothing; gone at the end, whatever happens.

    As with `scratch_stage`.
    """
    with scratch_stage(workspace) as stage:
        yield stage.folder


@contextmanager
def scratch_stage(workspace: Path | None = None) -> Iterator[Stage]:
    """The stage of a run that is stopped before it publishes; gone at the end, whatever happens.

    What a killed run left is removed by the next one, as with `staging`.

    Args:
        workspace: where to make it; None: in the system's folder for temporary files.

    Raises:
        UsageError: the workspace is no folder.
        BackendError: the folder cannot be made.
    """
    if workspace is not None and not workspace.is_dir():
        raise UsageError(
            str(workspace), "the work folder does not exist", "an existing folder", "create it first"
        )
    place = (workspace or Path(tempfile.gettempdir())).resolve() / "scratch"
    sweep(place.parent)
    with _translated(str(place.parent)):
        stage, lock = _make_stage(place)
    try:
        yield stage
    finally:
        _remove(stage.folder)
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a private folder, also when an interrupt comes meanwhile."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def publish(registry: Registry, stage: Stage, record: NewVersion) -> TargetVersion:
    """Move the staged output to its place, and record it.

    The certificate is written into the output, the private link is removed, and the bytes are compared
    with those that were checked.

    Args:
        registry: where to record it; made here when there is none.
        stage: of this run; its output holds exactly the files that `record` lists.
        record: what to record.

    Returns:
        The new version, with its number.

    Raises:
        UsageError: `stage.out` exists by now, or the output may not be recorded.
        GuaranteeError: the staged files are not those that were checked.
        BackendError: the disk failed.
        RegistryError: the registry cannot be written.
        In each case nothing is published, and nothing recorded.
    """
    if stage.version not in record.certificate:
        raise InternalError("a certificate names another version than its run makes")
    registry.intents.check(record)
    check_still_permitted(registry, record)
    _check_room(registry, stage.out, record.takes_over)
    forget_link(stage)
    with _translated(str(stage.out)):
        _check_files(stage.output, record)
        (stage.output / CERTIFICATE_NAME).write_text(record.certificate, encoding="utf-8")
        _open_to_others(stage.output)
        _sync_tree(stage.output)
    intent = Intent(stage.run, stage.folder, stage.out, record)
    registry.intents.begin(intent)
    try:
        with _translated(str(stage.out)):
            if record.takes_over is not None:
                _rename(stage.out, record.takes_over.aside)
            _move(stage)
        return _finished(registry, intent) or _ended_by_another(registry, stage)
    except BaseException:
        with suppress(SmaltiError):  # what cannot be undone now, the next recovery ends
            _undo(registry, intent)
        raise


def recover(registry: Registry) -> tuple[TargetVersion, ...]:
    """End what dead runs left: record what was published whole, remove the rest; leave live runs alone.

    To be called first by each command that writes or lists; makes no registry. A stage that was left
    before anything was recorded is found where outputs were published; elsewhere, by the next `staging`.

    Returns:
        The versions that were recorded now.

    Raises:
        RegistryError: the registry cannot be read or written.
    """
    recovered, places = [], registry.intents.places()
    for intent in registry.intents.pending():
        with _lock_of_dead(intent.stage) as is_dead:
            if is_dead and (version := _end(registry, intent)) is not None:
                recovered.append(version)
    for place in places:
        sweep(place)
    return tuple(recovered)


def sweep(folder: Path) -> None:
    """Remove the stages that dead runs left in a folder; those of live runs and of other users stay."""
    with suppress(OSError):
        for stage in list(folder.glob(_PREFIX + "*")):
            if _is_own_stage(stage):
                with _lock_of_dead(stage) as is_dead:
                    if is_dead:
                        shutil.rmtree(stage, ignore_errors=True)


def forget_link(stage: Stage) -> None:
    """Remove the private link from published row to input row, which is not needed once verified."""
    with _translated(str(stage.link)):
        if stage.link.is_dir():
            shutil.rmtree(stage.link)
        else:
            stage.link.unlink(missing_ok=True)


# --- Places


def _check_place(place: Path, name: str) -> None:
    if os.path.lexists(place):
        raise UsageError(
            name,
            "it exists already",
            "a folder that does not exist: versions live in the registry, and nothing is overwritten",
            "name another folder; the owner of the version in it puts the new one there with --replace",
        )
    if not place.parent.is_dir():
        raise UsageError(
            name,
            "its parent folder does not exist",
            "a new folder inside one that exists",
            f"create `{Path(name).parent}` first",
        )


def _check_room(registry: Registry, place: Path, taken: TakenOver | None) -> None:
    """Refuse a place where something is by now: another thing than the version that is taken over."""
    if taken is None:
        _check_place(place, str(place))
        return
    _check_place(taken.aside, str(taken.aside))
    if not any(holds_version(place, version) for version in registry.outputs.of(version_iri(taken.run))):
        raise UsageError(
            str(place), "it changed during the run", "a folder that stays as it is", "run again"
        )


def _check_is_apart(registry: Registry, place: Path, name: str) -> None:
    sides = ("", "-wal", "-shm", "-journal", ".secret")
    files = [registry.path.with_name(registry.path.name + side) for side in sides] if registry.path else []
    if registry.decision_log is not None:
        files.append(registry.decision_log.path)
    if place in {*files, *(parent for file in files for parent in file.parents)}:
        raise UsageError(
            name,
            "the output folder would contain or replace the registry",
            "a folder apart from the registry",
            "name another folder",
        )


def _make_stage(place: Path) -> tuple[Stage, int]:
    while True:
        run = new_run()
        stage = Stage(run, place.with_name(_PREFIX + run), place)
        stage.folder.mkdir(mode=0o700)
        lock = _lock(stage.folder, wait=True)
        if lock is not None:
            stage.output.mkdir()
            stage.spill.mkdir(mode=0o700)
            return stage, lock
        # A sweep took the folder before it was locked: try another one.


# --- Locks: a run is alive exactly as long as it holds the lock in its stage


def _lock(stage: Path, *, wait: bool) -> int | None:
    """Hold the lock of a stage; None if somebody else does, or if the stage is gone."""
    try:
        return locks.taken(stage / _LOCK, wait=wait)
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def _lock_of_dead(stage: Path) -> Iterator[bool]:
    """True, for one caller at a time, if the run of that stage is dead."""
    try:
        lock = _lock(stage, wait=False)
    except OSError:
        yield False  # another user's
        return
    if lock is None:
        # A live run never loses its folder: a stage that is gone was a dead run's.
        yield not os.path.lexists(stage)
        return
    try:
        yield True
    finally:
        os.close(lock)


def _is_own_stage(stage: Path) -> bool:
    status = stage.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and _STAGE_NAME.fullmatch(stage.name) is not None


# --- Files


def _files(folder: Path) -> dict[str, Path]:
    """The files of a folder by relative name; whatever is neither file nor folder counts as a file."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def _digest(path: Path) -> str:
    """Of a regular file; of anything else, what no digest equals."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return ""
    with path.open("rb") as file:
        return "sha256:" + file_digest(file, "sha256").hexdigest()


def _check_files(folder: Path, record: NewVersion) -> None:
    staged = {name: _digest(path) for name, path in _files(folder).items()}
    if staged != {file.name: file.digest for file in record.files}:
        raise GuaranteeError(
            str(record.target),
            "the staged files are not those that were checked",
            "the same names and bytes",
            "run it again, and find out what else writes to its folder",
        )


def _is_published(intent: Intent) -> bool:
    """True if the final folder holds the output, whole and unchanged."""
    if not _is_own_output(intent):
        return False
    published = _files(intent.out)
    del published[CERTIFICATE_NAME]
    expected = {file.name: file.digest for file in intent.record.files}
    return published.keys() == expected.keys() and all(
        _digest(path) == expected[name] for name, path in published.items()
    )


def _is_own_output(intent: Intent) -> bool:
    """True if the final folder is the one that the run moved there: it holds the run's certificate.

    The certificate names the version, and so the run. Neither name nor inode of the folder would do:
    both may be somebody else's by now.
    """
    if intent.out.is_symlink():
        return False
    try:
        return (intent.out / CERTIFICATE_NAME).read_bytes() == intent.record.certificate.encode()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False


def holds_version(place: Path, version: TargetVersion) -> bool:
    """True if a folder holds a recorded version, whole and unchanged."""
    try:
        if place.is_symlink() or (place / CERTIFICATE_NAME).read_bytes() != version.certificate.encode():
            return False
        files = _files(place)
        del files[CERTIFICATE_NAME]
        expected = {file.name: file.digest for file in version.files}
        return {name: _digest(path) for name, path in files.items()} == expected
    except OSError:
        return False


def _open_to_others(folder: Path) -> None:
    """Give what will be published the user's normal permissions; the stage around it was private."""
    # The output's own folder was made with them: asking for the umask itself would change it meanwhile.
    normal = stat.S_IMODE(folder.stat().st_mode)
    for path in folder.rglob("*"):
        path.chmod(normal if path.is_dir() else normal & 0o666)


def _sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)
    sync_folder(folder.parent)


def _move(stage: Stage) -> None:
    """Publish by a rename that never replaces."""
    _rename(stage.output, stage.out)
    sync_folder(stage.folder)


def _rename(source: Path, target: Path) -> None:
    """Rename a folder, and never replace: it succeeds only onto the folder that was just made."""
    try:
        target.mkdir()
    except FileExistsError:
        _check_place(target, str(target))
        raise
    try:
        os.rename(source, target)
    except OSError:
        with suppress(OSError):
            target.rmdir()
        raise
    sync_folder(target.parent)


# --- Ending an intent


def _ended_by_another(registry: Registry, stage: Stage) -> TargetVersion:
    """The version, recorded by a process that took this run for dead because its stage was removed."""
    versions = registry.outputs.of(stage.version)
    if not versions:
        raise BackendError(
            str(stage.out),
            "the run's private folder was removed while it ran",
            "a private folder that nothing else changes",
            "run it again",
        )
    return versions[0]


def _end(registry: Registry, intent: Intent) -> TargetVersion | None:
    with _translated(str(intent.out)):
        is_published = _is_published(intent)
    if is_published:
        try:
            return _finished(registry, intent)
        except UsageError:
            pass  # it may no longer be recorded, for example because its policy was revoked
    _undo(registry, intent)
    with suppress(OSError):
        # Killed between making the final folder and moving onto it. Only an empty folder goes this way.
        intent.out.rmdir()
    return None


def _finished(registry: Registry, intent: Intent) -> TargetVersion | None:
    """Record an output, if it is still permitted then: nobody else writes to the registry meanwhile."""
    return registry.intents.finish(intent, partial(check_still_permitted, registry))


def _undo(registry: Registry, intent: Intent) -> None:
    # INVARIANT: what is recorded is never removed. An intent that is gone was recorded, or undone.
    if not registry.intents.is_pending(intent.run):
        return
    with _translated(str(intent.out)):
        if _is_own_output(intent):
            shutil.rmtree(intent.out)
            sync_folder(intent.out.parent)
        shutil.rmtree(intent.stage / "output", ignore_errors=True)
        moved = _put_back(registry, intent)
    # The intent goes last: until then, the next recovery does this again.
    if moved is None:
        registry.intents.abandon(intent.run)
    else:
        registry.intents.abandon_beside(intent.run, moved)


def _put_back(registry: Registry, intent: Intent) -> TakenOver | None:
    """Put the folder back that a run took over; where something else is there by now, it stays beside.

    Returns:
        The version whose folder stays beside.
    """
    taken = intent.record.takes_over
    if taken is None:
        return None
    with suppress(OSError):
        # Killed between making a folder and moving onto it. Only an empty folder goes this way.
        taken.aside.rmdir()
    if not any(
        holds_version(taken.aside, version) for version in registry.outputs.of(version_iri(taken.run))
    ):
        return None  # it was not moved yet
    with suppress(OSError):
        intent.out.rmdir()
    try:
        _rename(taken.aside, intent.out)
    except UsageError:
        return taken
    return None


@contextmanager
def _translated(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(
            where, f"the disk failed ({error.strerror})", "a writable folder with free space"
        ) from None
