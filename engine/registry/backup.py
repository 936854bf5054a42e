"""Copies of a registry with its keys, taken while it is used, and put back elsewhere.

A copy is a folder that its owner alone can enter. It holds the database in one state, the log of decisions,
the secret and the keys of pseudonyms, and a manifest that names them with their digests. Outputs are not in
it: they stay in their own folders.

# INVARIANT: a restored registry knows nothing of what was charged and released after the copy was taken. So
# that this happens to nobody unawares, `restore` needs the caller's word that nothing was.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from smalti.engine.arguments import public
from smalti.engine.registry._database import Database, sync_folder
from smalti.engine.registry.decision_log import DecisionLog
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.secret import (
    ENVIRONMENT,
    hmac_digest,
    pseudonym_key_path,
    pseudonym_key_paths,
    secret_path,
)
from smalti.errors import RegistryError, SmaltiError, UsageError, raise_all

MANIFEST: Final = "backup.json"
DATABASE: Final = "registry.sqlite"
SECRET: Final = "secret"  # noqa: S105 (the name of a file)
DECISIONS: Final = "decisions.jsonl"
PSEUDONYMS: Final = "pseudonyms."
"""Begins the name of a key's file; the key's name follows."""
_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_PURPOSE: Final = "registry-backup"
_LEFT_BEHIND: Final = ("-wal", "-journal", "-shm")
"""End the names of files beside a database whose process was killed."""
_NAME: Final = re.compile(r"pseudonyms\.[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a registry."""

    folder: Path
    taken_at: datetime
    """All that was recorded before is in it."""
    files: tuple[str, ...]
    """Names in the folder, without the manifest."""

    @property
    def has_secret(self) -> bool:
        """False where the secret is in the environment, and has to be kept by whoever set it."""
        return SECRET in self.files


class _Manifest(BaseModel):
    """`backup.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    smaltiBackup: Literal[1]  # noqa: N815 (a name in JSON)
    takenAt: str  # noqa: N815
    files: Mapping[str, str]
    """From each file to its digest."""
    underSecret: str  # noqa: N815
    """A keyed digest of all of that: tells whether a secret in the environment is the one of then."""


@public
def back_up(registry: Registry, folder: str | Path) -> Backup:
    """Copy a registry and its keys, in one state, while others go on to use it.

    Args:
        registry: in a file.
        folder: is created; readable by its owner alone.

    Raises:
        UsageError: the folder exists or cannot be created, or nothing is recorded yet.
        RegistryError: the registry is on a server, or a file cannot be read or written.
    """
    place, source = Path(folder), _file_of(registry)
    if not registry.exists:
        raise UsageError(registry.name, "nothing is recorded in it yet", "a registry", "check its name")
    secret = load_secret(source)
    with _new_folder(place), _translated(place):
        # Before the copy: what is recorded from here on need not be in it.
        taken_at = datetime.now(UTC)
        Database(source).copy_to(place / DATABASE)
        _copy(source, place)
        digests = {file.name: _digest(file) for file in sorted(place.iterdir())}
        manifest = _Manifest(
            smaltiBackup=1,
            takenAt=taken_at.isoformat(),
            files=digests,
            underSecret=_under(secret, digests),
        )
        _write(place / MANIFEST, manifest.model_dump_json(indent=2).encode())
        sync_folder(place)
    return Backup(place, taken_at, tuple(digests))


@public
def restore(folder: str | Path, registry: str | Path, *, nothing_released_since: bool) -> Backup:
    """Put a copy in the place of a registry that is lost; all or nothing, and never over another one.

    The database comes last: until it is there, nothing is.

    Args:
        folder: as `back_up` left it.
        registry: the file to create. A secret or a key beside it that is the same one stays.
        nothing_released_since: the caller's word that no run ended, and nothing was charged, after the copy
            was taken. The restored registry would grant such budgets again, and would not hold new outputs
            together with outputs that it does not know.

    Raises:
        UsageError: that word is missing; the folder is no copy, or not whole; something else is in the
            place of the registry or its keys; or the secret of the environment is another one.
        RegistryError: a file cannot be read or written.
    """
    source, target = Path(folder), Path(os.path.abspath(registry))
    if not nothing_released_since:
        raise UsageError(
            "nothing-released-since (--nothing-released-since)",
            "a restored registry does not know what was charged or released after its copy was taken",
            "your word that nothing was",
            "state it, or restore a later copy",
        )
    manifest = _read_manifest(source)
    places = {name: _place(name, target) for name in manifest.files}
    _check_whole(source, manifest)
    raise_all([*_taken(source, places), *_unfinished(target)])
    _check_secret(source, manifest)
    with _translated(target):
        for name in sorted(manifest.files, key=lambda each: each == DATABASE):
            _put(source / name, places[name])
        sync_folder(target.parent)
    return Backup(source, datetime.fromisoformat(manifest.takenAt), tuple(manifest.files))


def _file_of(registry: Registry) -> Path:
    if registry.path is None:
        raise RegistryError(
            registry.name,
            "a registry on a database server is copied by the server's own tools",
            "a registry in a file",
            f"use pg_dump, and keep {ENVIRONMENT} and the keys of pseudonyms with the dump",
        )
    return registry.path


@contextmanager
def _new_folder(place: Path) -> Iterator[None]:
    """A private folder that is there afterwards only if all went well."""
    try:
        place.mkdir(mode=_PRIVATE_FOLDER)
    except OSError as error:
        raise UsageError(
            str(place),
            f"the folder cannot be created ({error.strerror})",
            "a folder that does not exist, in one that does",
        ) from None
    try:
        yield
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = str(error.filename or place)
        problem = f"it cannot be read or written ({error.strerror})"
        raise RegistryError(where, problem, "a file that you may use, and free space") from None


def _copy(registry: Path, place: Path) -> None:
    """Copy what lies beside a registry."""
    log = DecisionLog.of(registry)
    beside = {
        SECRET: secret_path(registry),
        DECISIONS: registry if log is None else log.path,
        **{PSEUDONYMS + name: path for name, path in pseudonym_key_paths(registry).items()},
    }
    for name, path in beside.items():
        with suppress(FileNotFoundError):
            _write(place / name, path.read_bytes())


def _write(place: Path, content: bytes) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _under(secret: bytes, digests: Mapping[str, str]) -> str:
    listed = "\n".join(f"{name} {digest}" for name, digest in sorted(digests.items()))
    return hmac_digest(secret, _PURPOSE, hashlib.sha256(listed.encode()).digest())


def _read_manifest(folder: Path) -> _Manifest:
    try:
        manifest = _Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        datetime.fromisoformat(manifest.takenAt)
    except (OSError, ValidationError, ValueError):
        raise _no_backup(folder, f"it has no readable {MANIFEST}") from None
    names = set(manifest.files)
    if DATABASE not in names or not all(
        name in {DATABASE, SECRET, DECISIONS} or _NAME.fullmatch(name) for name in names
    ):
        raise _no_backup(folder, f"its {MANIFEST} names other files than a copy has")
    return manifest


def _no_backup(folder: Path, problem: str) -> UsageError:
    return UsageError(str(folder), problem, "a folder that `smalti registry backup` wrote")


def _place(name: str, registry: Path) -> Path:
    """Where a file of a copy belongs."""
    if name == DATABASE:
        return registry
    if name == SECRET:
        return secret_path(registry)
    if name == DECISIONS:
        log = DecisionLog.of(registry)
        return registry if log is None else log.path
    return pseudonym_key_path(registry, name.removeprefix(PSEUDONYMS))


def _check_whole(folder: Path, manifest: _Manifest) -> None:
    def is_other(name: str) -> bool:
        try:
            return _digest(folder / name) != manifest.files[name]
        except OSError:
            return True

    problem = "it is missing, or was changed after it was copied"
    raise_all(
        [UsageError(str(folder / name), problem, "the copy") for name in manifest.files if is_other(name)]
    )


def _taken(folder: Path, places: Mapping[str, Path]) -> list[SmaltiError]:
    """What is in the way; a key that is the same is not."""
    return [
        UsageError(
            str(path),
            "there is another file in this place",
            "a place without a registry, and without the keys of another one",
            "move it away, or name another place with --registry",
        )
        for name, path in places.items()
        if path.exists() and (name == DATABASE or _digest(path) != _digest(folder / name))
    ]


def _unfinished(registry: Path) -> list[SmaltiError]:
    """What SQLite left of a lost database: it would be read into the restored one."""
    return [
        UsageError(
            str(path),
            "it is left of another registry in this place, and would change the restored one",
            "a place without a registry",
            "keep it elsewhere, for it may hold what that registry recorded last, or name another place"
            " with --registry",
        )
        for path in (Path(f"{registry}{suffix}") for suffix in _LEFT_BEHIND)
        if path.exists()
    ]


def _check_secret(folder: Path, manifest: _Manifest) -> None:
    """A secret that the environment states has to be the one of the copied registry."""
    stated = os.environ.get(ENVIRONMENT)
    if stated:
        secret = stated.encode()
    elif SECRET in manifest.files:
        secret = (folder / SECRET).read_bytes().strip()
    else:
        raise UsageError(
            ENVIRONMENT,
            "the copied registry had its secret in the environment, and there is none",
            "the same secret",
            f"set {ENVIRONMENT} as it was",
        )
    if _under(secret, manifest.files) != manifest.underSecret:
        raise UsageError(
            ENVIRONMENT if stated else str(folder / SECRET),
            "it is another secret than the copied registry had",
            "the same secret: withdrawals, digests and orders depend on it",
            f"set {ENVIRONMENT} as it was" if stated else "restore a copy that was not changed",
        )


def _put(source: Path, place: Path) -> None:
    """Copy a file to a place, complete and at once; the same one may be there already."""
    if place.exists():
        return
    draft = place.with_name(f".{place.name}.restored-{os.getpid()}")
    try:
        _write(draft, source.read_bytes())
        os.link(draft, place)
    finally:
        draft.unlink(missing_ok=True)
