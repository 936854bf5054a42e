"""Lines that are appended to a file in one piece, whichever process writes."""

import fcntl
import os
from pathlib import Path


def append_line(path: Path, line: bytes) -> None:
    """Append a line; the file is created by the first one, readable by its owner alone.

    Lines are not synchronised to the disk one by one, so a machine that loses power may lose the last ones.

    Raises:
        OSError: it cannot be written; then nothing of the line is in the file.
    """
    # A pipe that nobody reads is an error, and nothing to wait for.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        # The lock makes it safe to take a part of a line back; the append alone keeps lines whole.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = os.fstat(descriptor).st_size
        if (written := os.write(descriptor, line)) != len(line):
            os.ftruncate(descriptor, before)
            raise OSError(0, f"{written} of {len(line)} bytes were written")
    finally:
        os.close(descriptor)
