"""Locks on files: each is held by one process, and released when that process ends in any way."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

_LOOKING_SECONDS: Final = 1.0
"""For which a lock is tried again that somebody may only be looking at."""
_PAUSE_SECONDS: Final = 0.005


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


def taken_from_lookers(path: Path) -> int | None:
    """As `taken`, of a lock that others look at by `is_held`, which must not keep it from anybody."""
    until = time.monotonic() + _LOOKING_SECONDS
    while (lock := taken(path)) is None and time.monotonic() < until:
        time.sleep(_PAUSE_SECONDS)
    return lock


def is_held(path: Path) -> bool:
    """Whether some process holds the lock of a file; False where there is no such file.

    Looking shares the lock for an instant: nobody who looks sees another one who does, and whoever takes
    it meanwhile tries again (`taken_from_lookers`).
    """
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
