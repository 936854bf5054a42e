"""Private copies of data on this machine's disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smalti.errors import BackendError


@contextmanager
def writing_copies() -> Iterator[None]:
    """Turn what the system says when a copy cannot be written into an error for people.

    Raises:
        BackendError: the disk is full, or may not be written to.
    """
    try:
        yield
    except OSError:
        raise BackendError(
            "this machine",
            "a copy of the data cannot be written",
            "enough free space in the folder of the output, or of temporary files",
            "free some space",
        ) from None


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner can look into, where there is none; the folder.

    Raises:
        BackendError: as `writing_copies`.
    """
    with writing_copies():
        folder.mkdir(mode=0o700, parents=False, exist_ok=True)
    return folder
