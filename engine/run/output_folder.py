"""The folder of an output under verification: each file is opened once, and copied to a private place.

What is hashed, parsed and counted afterwards are the bytes of the copy: they cannot be replaced
meanwhile. Links are not followed, neither that of the folder nor those in it: where they lead, and
who may change that, is not known.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from smalti.errors import BackendError, GuaranteeError, UsageError

_BLOCK: Final = 1 << 20
_NO_LINK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """A folder that is open."""

    folder: Path
    """As it was named."""
    _descriptor: int

    def names(self) -> frozenset[str]:
        """What is in it, hidden files too."""
        return frozenset(os.listdir(self._descriptor))

    def read(self, name: str, most: int) -> bytes | None:
        """The first bytes of a file; None where there is no such name.

        Raises:
            GuaranteeError: it is a link, or no plain file.
        """
        try:
            with self._opened(name) as file:
                return file.read(most)
        except FileNotFoundError:
            return None

    def copy(self, name: str, to: Path, most: int) -> None:
        """Copy the first bytes of a file to a new one.

        Raises:
            GuaranteeError: as `read`; or it is not there.
            BackendError: it cannot be read, or there is no room for the copy.
        """
        try:
            with self._opened(name) as file, to.open("xb") as copy:
                while most > 0 and (data := file.read(min(_BLOCK, most))):
                    copy.write(data)
                    most -= len(data)
        except FileNotFoundError:
            raise _not_published(self.folder / name, "it is missing") from None
        except OSError as error:
            raise BackendError(
                str(self.folder / name),
                f"it cannot be copied to a private place ({error.strerror})",
                "a file that you may read, and room for it",
                "name a larger folder to work in with --workspace",
            ) from None

    @contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        try:
            # A named pipe would keep whoever opens it waiting.
            descriptor = os.open(name, _NO_LINK | os.O_NONBLOCK, dir_fd=self._descriptor)
        except FileNotFoundError:
            raise
        except OSError:
            raise self._no_file(name) from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self._no_file(name)
            yield file

    def _no_file(self, name: str) -> GuaranteeError:
        mode = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            return _not_published(self.folder / name, "it cannot be read")
        return _not_published(
            self.folder / name, "it is a symbolic link" if stat.S_ISLNK(mode) else "it is not a file"
        )


@contextmanager
def opened_folder(folder: Path) -> Iterator[OutputFolder]:
    """Open an output's folder.

    Raises:
        UsageError: it is a link, or no folder that may be read.
    """
    try:
        descriptor = os.open(folder, _NO_LINK | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(
            str(folder),
            "it is a symbolic link" if folder.is_symlink() else f"it cannot be read ({error.strerror})",
            "the folder of an output itself",
            "name the folder that the link leads to, if you trust who made it",
        ) from None
    try:
        yield OutputFolder(folder, descriptor)
    finally:
        os.close(descriptor)


def _not_published(path: Path, problem: str) -> GuaranteeError:
    way_out = "copy the output from its registered folder again"
    return GuaranteeError(str(path), problem, "a file as a run publishes it", way_out)
