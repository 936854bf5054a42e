"""Files of owners in a private folder: received in a stream, each kept in a folder of its own."""

import base64
import binascii
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool

from smalti.errors import UsageError
from smalti.service.problems import RefusedError
from smalti.service.received import Upload

_PARTIAL: Final = ".partial-"
_STALE: Final = 86_400.0
"""Seconds after which what a process left behind is removed: nobody uploads for longer."""
_BUFFERED: Final = 1 << 20
"""Bytes that are written at once."""
_NAME: Final = re.compile(r"[\w][\w .+()-]{0,199}")
"""Names of files; no separator, and no dot at the beginning."""
_DIGEST: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):")
_RECEIVED: Final = "received"
_MOST_LISTED: Final = 1000
"""Files below a root that are listed."""


@dataclass(frozen=True, slots=True)
class Uploads:
    """The folder of all uploads."""

    folder: Path
    limit: int
    """Bytes of one."""

    def prepare(self) -> None:
        """Create the folder, and remove what an earlier process did not end.

        Raises:
            UsageError: others may enter the folder, or it cannot be used.
        """
        make_private(self.folder, "--uploads")
        for partial in self.folder.glob(f"{_PARTIAL}*"):
            if time.time() - partial.stat().st_mtime > _STALE:
                shutil.rmtree(partial, ignore_errors=True)

    async def receive(self, stream: AsyncIterator[bytes], announced: int | None, digest: str) -> Upload:
        """Receive a stream into a folder of its own; memory does not grow with it.

        Args:
            stream: the parts; raises where the limit is exceeded.
            announced: the length that the request stated.
            digest: hexadecimal SHA-256 that the request stated; empty: none.

        Raises:
            RefusedError: it is not as long as announced, has another digest, or there is no room. Then
                nothing of it is left.
        """
        folder = self.folder / f"{_PARTIAL}{secrets.token_hex(16)}"
        try:
            received = await self._received(folder, stream)
            if announced is not None and received.size != announced:
                raise RefusedError(400, "bad-request", "the body is not as long as `Content-Length` says")
            if digest and digest != received.digest:
                raise RefusedError(422, "digest-mismatch", "the body has another SHA-256 than was stated")
        except BaseException as error:
            # Also where the client goes away: what it left is nobody's.
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise RefusedError(
                    507, "machine-error", "the upload cannot be written; nothing is kept"
                ) from None
            raise
        return received

    async def _received(self, folder: Path, stream: AsyncIterator[bytes]) -> Upload:
        digest, size, waiting = hashlib.sha256(), 0, bytearray()
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / _RECEIVED, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

        def write(content: bytes) -> None:
            digest.update(content)
            file.write(content)

        with os.fdopen(descriptor, "wb", buffering=0) as file:
            async for chunk in stream:
                waiting += chunk
                size += len(chunk)
                if len(waiting) >= _BUFFERED:
                    await run_in_threadpool(write, bytes(waiting))
                    waiting.clear()
            await run_in_threadpool(write, bytes(waiting))
            await run_in_threadpool(os.fsync, file.fileno())
        return Upload(folder, digest.hexdigest(), size)

    def keep(self, upload: Upload, name: str) -> Path:
        """Give a received file its name, in a folder that is no partial one.

        Returns:
            The file's place.
        """
        place = upload.folder / name
        (upload.folder / _RECEIVED).rename(place)
        kept = self.folder / secrets.token_hex(16)
        upload.folder.rename(kept)
        return kept / name

    def discard(self, upload: Upload) -> None:
        """Remove what was received and not kept."""
        shutil.rmtree(upload.folder, ignore_errors=True)

    def remove(self, place: Path) -> None:
        """Remove a file that was kept, with its folder; nothing outside of the uploads."""
        if place.parent.parent == self.folder:
            shutil.rmtree(place.parent, ignore_errors=True)


def make_private(folder: Path, option: str) -> None:
    """Create a folder that nobody else may enter.

    Raises:
        UsageError: others may enter the folder that is there, or it cannot be used.
    """
    where = f"{folder} ({option})"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        raise UsageError(where, "the folder cannot be used", "a folder that can be written") from None
    if status.st_mode & 0o077 or status.st_uid != os.geteuid():
        problem = "others may enter this folder"
        raise UsageError(where, problem, "a folder of the user's own", f"chmod 700 {folder}")


def file_name(written: str) -> str:
    """A name of a file, and never a path.

    Raises:
        RefusedError: it is none.
    """
    if not _NAME.fullmatch(written):
        raise RefusedError(
            422, "invalid", "`name` is no name of a file: letters, digits, blanks and `. + - ( )`, no path"
        )
    return written


def stated_digest(header: str | None) -> str:
    """The SHA-256 of a `Content-Digest` or `Repr-Digest` header (RFC 9530), hexadecimal; empty: none.

    Raises:
        RefusedError: the header has no SHA-256 in its form.
    """
    if header is None:
        return ""
    match = _DIGEST.search(header)
    try:
        digest = base64.b64decode(match[1], validate=True) if match else b""
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise RefusedError(400, "bad-request", "the digest is not of the form `sha-256=:BASE64:`")
    return digest.hex()


def file_below(root: Path, name: str) -> Path:
    """A file below a configured root by its name; nothing outside, also by links.

    Raises:
        RefusedError: there is none.
    """
    refusal = RefusedError(404, "not-found", "there is no such file below the root of this party")
    parts = name.split("/")
    if any(part in {"", ".", ".."} or "\\" in part or "\0" in part for part in parts):
        raise refusal
    try:
        place, base = root.joinpath(*parts).resolve(strict=True), root.resolve(strict=True)
    except (OSError, RuntimeError):
        raise refusal from None
    if not place.is_relative_to(base) or not (place.is_file() or place.is_dir()):
        raise refusal
    return place


def files_below(root: Path) -> list[str]:
    """The names of the files below a configured root, as `file_below` takes them.

    Hidden ones and descriptions beside data are left out, and links; of very many, some.
    """
    names: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name[:1] != ".")
        names += [
            str((Path(folder) / name).relative_to(root))
            for name in sorted(files)
            if name[:1] != "." and not name.endswith("-metadata.json") and not _is_link(folder, name)
        ]
        if len(names) >= _MOST_LISTED:
            break
    return names[:_MOST_LISTED]


def _is_link(folder: str, name: str) -> bool:
    return (Path(folder) / name).is_symlink()
