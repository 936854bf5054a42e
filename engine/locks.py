"""Locks on files: one process holds one, and nobody does once that process is gone, however it ended."""

import fcntl
import os
from pathlib import Path


def taken(path: Path, *, wait: bool = False) -> int | None:
    """Hold the lock of a file, which is made where there is none; closing it lets go.

    Args:
        path: of the file, in a folder that exists. It may be removed by whoever holds the lock.
        wait: until nobody else holds it.

    Returns:
        An open descriptor; None where another process holds the lock, or has just removed the file.

    Raises:
        OSError: the disk, or there is no such folder.
    """
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        # The file may have been removed, and made again, between its opening and its locking.
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None
