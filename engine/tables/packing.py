"""Files packed by gzip or Zstandard, unpacked as they are read, and no further than is plausible."""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa

from smalti.engine.tables.parts import PACKINGS
from smalti.errors import DataError

ALWAYS_UNPACKED = 1 << 30
"""Bytes that any packed file may unpack to."""
MOST_TIMES = 200
"""The most that a file may unpack to beyond that, in its own sizes; tables of text pack to a third up to a
fiftieth, and bombs to a thousandth."""
_CHUNK: Final = 1 << 20


class Hashed(io.RawIOBase):
    """The bytes of a stream, hashed as they are read from its beginning to its end."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        count = self._stream.readinto(buffer) or 0
        self._digest.update(memoryview(buffer)[:count])
        return count

    def finish(self) -> str:
        """Hash what was not read; the digest of all of it."""
        while self.read(_CHUNK):
            pass
        return f"sha256:{self._digest.hexdigest()}"

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """What a packed file holds; refuses a bomb before it fills anything."""

    def __init__(self, path: Path, packed: io.RawIOBase, packing: str) -> None:
        self._stream = pa.CompressedInputStream(pa.PythonFile(packed, "r"), packing)
        self._name, self._packing = path.name, packing
        self._left = max(ALWAYS_UNPACKED, MOST_TIMES * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        try:
            data = cast(bytes, self._stream.read(len(buffer)))
        except (OSError, pa.ArrowException):
            raise DataError(
                self._name,
                f"it cannot be unpacked as {self._packing}",
                "a whole file of that kind",
                "pack the table again",
            ) from None
        self._left -= len(data)
        if self._left < 0:
            raise DataError(
                self._name,
                "it unpacks to more than is plausible of a table",
                f"at most {MOST_TIMES} times its size, or {ALWAYS_UNPACKED >> 30} GiB",
                "unpack it yourself, if you trust it",
            )
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: Path) -> Iterator[tuple[io.BufferedReader, Hashed]]:
    """The bytes of a file, unpacked where its name says that it is packed; and what hashes them.

    They are hashed as they are unpacked, so that packing makes no other data of them.

    Raises:
        DataError: when it is read: it is not packed as its name says, or unpacks to too much.
    """
    packing = PACKINGS.get(path.suffix.lower())
    with path.open("rb", buffering=0) as stored:
        content: io.RawIOBase = stored if packing is None else _Unpacked(path, stored, packing)
        hashed = Hashed(content)
        with io.BufferedReader(cast(Any, hashed), _CHUNK) as reader:
            yield reader, hashed
