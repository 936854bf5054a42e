"""Data in object stores: fetched into a run's private folder before anything reads it.

Engines and verifier read the copy, so a table is the same wherever it comes from. A URI may hold
credentials, before an `@` or behind a `?`: nothing of it but its scheme and the object's name is
repeated, and a library's message is never passed on.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from smalti.engine.tables.disk import writing_copies
from smalti.engine.tables.parts import CONTAINERS, FILES, METADATA_SUFFIX, kind_of, way_out_for
from smalti.engine.tables.sources import read_description, split_url
from smalti.errors import BackendError, DataError, SmaltiError, UsageError

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileInfo, FileSystem

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
SCHEMES: Final = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""Of the stores that can be read; tested against a server: the first one."""
_CHUNK: Final = 1 << 22
_PATIENCE: Final = 30
"""Seconds for which a request to Google's store is repeated; its client's own limit is 15 minutes."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a store, or all objects under a prefix."""

    scheme: str
    uri: str = field(repr=False)
    """May hold secrets."""


Phase = Callable[[str], object]


def located(text: str, where: str) -> Path | StoredObject:
    """A path on this machine, or an object of a store.

    Args:
        text: a path, or a URI.
        where: the argument that it comes from, for messages.

    Raises:
        UsageError: it is a URI of another kind.
    """
    match = _SCHEME.match(text)
    if match is None:
        return Path(text)
    scheme = match[1].lower()
    if scheme not in SCHEMES:
        raise UsageError(
            where,
            f"`{scheme}://` is not a supported store",
            f"a path without a scheme, or one of {', '.join(SCHEMES)}",
            "give the path alone, without an IRI before it"
            if "=" in text
            else "copy the data to a disk, or mount its store",
        )
    return StoredObject(scheme, text)


def on_disk(text: str, where: str) -> Path:
    """A path on this machine, and nothing else.

    Raises:
        UsageError: it is a URI.
    """
    place = located(text, where)
    if not isinstance(place, Path):
        raise UsageError(
            where,
            f"`{place.scheme}://` cannot be written to yet",
            "a folder on a disk, or on a mounted store",
            "write to a folder, then copy the output to the store",
        )
    return place


def fetched(data: Path | StoredObject, folder: Path, phase: Phase = lambda _: None) -> Path:
    """The data as a path: its own, or that of a copy of it.

    A description beside the object is fetched as well, where there is one.

    Args:
        data: a path, which is returned as it is, or an object of a store.
        folder: a private place for the copy, which does not exist yet; who made what it is in removes it.
        phase: told when objects are fetched.

    Raises:
        UsageError: there is no such object, or its name ends in nothing known.
        DataError: it may not be read, or the object changed while it was fetched.
        BackendError: the store does not answer, what is needed to ask it is missing, or the disk failed.
    """
    if isinstance(data, Path):
        return data
    phase("fetch")
    with writing_copies():
        folder.mkdir(mode=0o700)
    return _Fetching.of(data, folder).all()


@dataclass(frozen=True, slots=True)
class _State:
    """The facts by which an object is recognised as unchanged."""

    path: str
    size: int
    modified: int | None
    tag: bytes
    """That the store gave its bytes, where it does."""


class _Fetching:
    """Copies the object, or the folder, at one address."""

    def __init__(self, store: "FileSystem", path: str, scheme: str, folder: Path) -> None:
        self._store, self._path, self._scheme, self._folder = store, path, scheme, folder

    @classmethod
    def of(cls, data: StoredObject, folder: Path) -> "_Fetching":
        from pyarrow import fs  # noqa: PLC0415 (its libraries load slowly, and few runs need them)

        with _answers(f"{data.scheme} store"):
            try:
                store, path = fs.FileSystem.from_uri(_with_patience(data))
            except ValueError:
                raise UsageError(
                    "data (--data)",
                    f"the address after `{data.scheme}://` is not understood",
                    "the store's own form, such as s3://BUCKET/KEY.csv",
                    "correct it",
                ) from None
        return cls(store, path.rstrip("/"), data.scheme, folder)

    def all(self) -> Path:
        info = self._existing(self._path)
        if _name(self._path).endswith(METADATA_SUFFIX):
            description = self._copied(info, self._folder)
            beside = (
                self._path.removesuffix(_name(self._path)) + split_url(read_description(description)[1])[0]
            )
            self._fetched(self._existing(beside))
            return description
        table = self._fetched(info)
        description = self._info(self._path + METADATA_SUFFIX)
        if description.is_file:
            self._copied(description, self._folder)
        return table

    def _fetched(self, info: "FileInfo") -> Path:
        """A copy of an object or of those under a prefix, which are a table."""
        if not info.is_file:
            return self._fetched_folder(info)
        if kind_of(info.path) is None and Path(info.path).suffix.lower() not in CONTAINERS:
            raise UsageError(self._where(info.path), "unknown file type", FILES, way_out_for(info.path))
        return self._copied(info, self._folder)

    def _fetched_folder(self, prefix: "FileInfo") -> Path:
        """A folder with the objects under a prefix; of those that are no part of a table only the names."""
        folder = self._folder / _name(prefix.path)
        with writing_copies():
            folder.mkdir(mode=0o700)
        before = self._listed(prefix.path)
        for info in before:
            place = folder / _name(info.path)
            if info.is_file and kind_of(place.name) is not None and place.name[0] not in "._":
                self._copied(info, folder)
                continue
            with writing_copies():
                place.touch() if info.is_file else place.mkdir()
        if list(map(_state_of, self._listed(prefix.path))) != list(map(_state_of, before)):
            raise self._changed(prefix.path)
        return folder

    def _listed(self, path: str) -> list["FileInfo"]:
        from pyarrow.fs import FileSelector  # noqa: PLC0415

        with _answers(self._where(path)):
            infos = self._store.get_file_info(FileSelector(path))
        return sorted(infos, key=lambda info: info.path)

    def _copied(self, info: "FileInfo", folder: Path) -> Path:
        """A copy of one object in a folder; it is the same before and after."""
        where = self._where(info.path)
        copy, size = folder / _name(info.path), 0
        with _answers(where):
            before, stream = (
                self._state(info.path),
                self._store.open_input_stream(info.path, compression=None),
            )
        with stream, writing_copies(), copy.open("xb") as file:
            while data := self._read(stream, where):
                file.write(data)
                size += len(data)
        with _answers(where):
            after = self._state(info.path)
        if before != after or size != after.size:
            raise self._changed(info.path)
        return copy

    def _read(self, stream: "NativeFile", where: str) -> bytes:
        with _answers(where):
            data: bytes = stream.read(_CHUNK)
        return data

    def _state(self, path: str) -> _State:
        info = self._store.get_file_info(path)
        with self._store.open_input_stream(path, compression=None) as stream:
            tags = stream.metadata() or {}
        tag = next((value for key, value in tags.items() if key.lower() == "etag"), b"")
        return _State(path, info.size, info.mtime_ns, tag)

    def _existing(self, path: str) -> "FileInfo":
        info = self._info(path)
        if not _name(path) or (not info.is_file and info.type.name != "Directory"):
            raise UsageError(
                self._where(path), "there is no such object", "an object of the store", "check the address"
            )
        return info

    def _info(self, path: str) -> "FileInfo":
        with _answers(self._where(path)):
            return self._store.get_file_info(path)

    def _where(self, path: str) -> str:
        """The name of an object in messages."""
        return f"{self._scheme} store, {_name(path) or 'no object'}"

    def _changed(self, path: str) -> DataError:
        return DataError(
            self._where(path),
            "the object changed while it was fetched",
            "an object that does not change during a run",
            "run again",
        )


def _state_of(info: "FileInfo") -> tuple[str, str, int | None, int | None]:
    return info.path, info.type.name, info.size, info.mtime_ns


def _name(path: str) -> str:
    name = path.rpartition("/")[2]
    return "" if name in {".", ".."} else name


def _with_patience(data: StoredObject) -> str:
    if data.scheme not in {"gs", "gcs"} or "retry_limit_seconds=" in data.uri:
        return data.uri
    return f"{data.uri}{'&' if '?' in data.uri else '?'}retry_limit_seconds={_PATIENCE}"


@contextmanager
def _answers(where: str) -> Iterator[None]:
    """Replace a library's exception about a store: it may quote an address, and with it a secret."""
    try:
        yield
    except (OSError, NotImplementedError, pa.ArrowException) as error:
        raise _refusal(where, str(error)) from None


_NO_CLIENT: Final = ("libhdfs", "libjvm", "CLASSPATH", "JAVA_HOME", "built without", "not built with")
_DENIED: Final = (
    "ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN",
    "UNRECOGNIZED_CLIENT", "EXPIRED_TOKEN", "MISSING_AUTHENTICATION", "HTTP status 403", "HTTP status 401",
    "UNAUTHENTICATED", "PERMISSION_DENIED", "AuthenticationException", "AuthenticationFailed",
    "AuthorizationFailure", "Permission denied",
)  # fmt: skip
_ABSENT: Final = ("NO_SUCH_BUCKET", "NO_SUCH_KEY", "HTTP status 404", "NOT_FOUND", "ContainerNotFound")


def _refusal(where: str, text: str) -> SmaltiError:
    """The error for a library's exception, whose text is not repeated."""
    if any(words in text for words in _NO_CLIENT):
        return BackendError(
            where,
            "the client for this kind of store is not installed",
            "for HDFS: Hadoop's libhdfs, Java, and their paths in HADOOP_HOME, JAVA_HOME and CLASSPATH",
            "install it, or copy the data to a disk",
        )
    if any(words in text for words in _DENIED):
        return DataError(
            where,
            "the store denies access",
            "credentials that allow reading, in the environment or the files of the store's own tools",
            "check the credentials and the owner of the object",
        )
    if any(words in text for words in _ABSENT):
        return UsageError(where, "there is no such object", "an object of the store", "check the address")
    return BackendError(
        where,
        "the store does not answer",
        "a store that can be reached from this machine",
        "check the address, the region and the network",
    )
