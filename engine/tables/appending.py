"""Lines that are appended to a file in one piece, whichever process writes."""

import fcntl
import os
import stat
from collections.abc import Sequence
from pathlib import Path


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines, each with its end; the file is created by the first ones, readable by its owner alone.

    They are not synchronised to the disk, so a machine that loses power may lose the last ones.

    Raises:
        OSError: they cannot be written; then nothing of them is in the file. A pipe may have got some.
    """
    # A pipe that nobody reads is an error, and nothing to wait for.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        # The lock makes it safe to take a part of them back; the append alone keeps lines whole.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = os.fstat(descriptor)
        # A pipe takes a line whole or not at all, but not what is longer.
        for piece in [b"".join(lines)] if stat.S_ISREG(before.st_mode) else lines:
            if (written := os.write(descriptor, piece)) != len(piece):
                os.ftruncate(descriptor, before.st_size)
                raise OSError(0, f"{written} of {len(piece)} bytes were written")
    finally:
        os.close(descriptor)
