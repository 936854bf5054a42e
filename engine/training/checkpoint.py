"""The progress of a training, from which a run that died resumes.

A checkpoint holds a model that nobody may have yet, and how to draw again who it was trained on. Its folder
is private; what it holds is removed once the model is refused or registered (`run`), and stays where a run
ends before that. A model is trained once for one charge: what is here is used again, and what is not here
is charged anew. One run at a time works with a folder: it holds a lock in there.

Only what this registry's secret vouches for is taken (HMAC, RFC 2104), and only for the same plan and the
same records: whoever may write to the folder can make a training be charged anew, and nothing else.
"""

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from smalti.engine.binding.checkpoints import STATE_NAME
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.registry.registry import Registry
from smalti.engine.tables import locks
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.secret import hmac_digest
from smalti.errors import BackendError, DataError, UsageError

if TYPE_CHECKING:
    from smalti.transforms.learning.models import Description, TrainedModel

_MODEL: Final = "target.safetensors"
_DRAFT: Final = "state.json.draft"
_LOCK: Final = "lock"
_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077
"""Bits of a mode that let others in."""
_PURPOSE: Final = "checkpoint"
"""Of its authentication code (`secret.hmac_digest`)."""


@dataclass(frozen=True, slots=True)
class LearnedFrom:
    """The inputs of a training, without its randomness."""

    plan_digest: str
    inputs: tuple[str, ...]
    """The keyed digests of the files that were read."""
    records: str
    """The keyed digest of the records: other ones where somebody withdrew meanwhile."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A training whose model exists."""

    run: str
    """Of its charge and its attempt."""
    at: datetime
    """When it was asked who withdrew."""
    learned_from: LearnedFrom
    seed: int
    """Draws who is trained on, and everything of the audit; nothing of a model."""


@dataclass(frozen=True, slots=True)
class _State:
    """The file beside the model."""

    begun: Begun
    code: str
    """Authenticates what was begun, and the bytes of the model."""


_BEGUN: Final = TypeAdapter(Begun)
_STATES: Final = TypeAdapter(_State)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A private folder for one run, or None: then nothing is kept."""

    folder: Path | None
    registry: Registry
    """Whose secret vouches for what is kept."""

    def keep(self, begun: Begun, model: "TrainedModel") -> None:
        """Write down that the model exists; all or nothing.

        Raises:
            BackendError: the disk, or the folder is not there any more.
            RegistryError: the secret cannot be read.
        """
        if self.folder is None:
            return
        from smalti.transforms.learning.model_files import save  # noqa: PLC0415 (imports JAX)

        try:
            _remove(self.folder)
            save(model, self.folder / _MODEL)
            state = _State(begun, self._code(begun, file_digest(self.folder / _MODEL)))
            (self.folder / _DRAFT).write_bytes(_STATES.dump_json(state))
            os.replace(self.folder / _DRAFT, self.folder / STATE_NAME)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of the folder until the end of the block.

        It begins before anything is charged. The folder is made where there is none.

        Raises:
            UsageError: others may read it, or another run works with it.
            BackendError: the disk.
        """
        if self.folder is None:
            yield
            return
        self._prepare(self.folder)
        try:
            lock = locks.taken(self.folder / _LOCK)
        except FileNotFoundError:
            lock = None  # another run has just removed the folder, with what was in it
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        if lock is None:
            raise UsageError(
                str(self.folder),
                "another run is working with this checkpoint",
                "one run at a time: a checkpoint is one training, with one charge",
                "wait until that run has ended, or name another folder",
            )
        try:
            yield
        finally:
            os.close(lock)

    def _prepare(self, folder: Path) -> None:
        """Make the folder, or see that nobody else can read it."""
        try:
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
            mode = folder.stat().st_mode
        except OSError as error:
            raise _unwritable(folder, error) from None
        if mode & _OTHERS:
            raise UsageError(
                str(folder),
                "other users may read it, and a checkpoint holds a model that is not released",
                "a folder that only you can read",
                f"`chmod 700 {folder}`, or name one that does not exist",
            )

    def find(
        self, learned_from: LearnedFrom, description: "Description"
    ) -> "tuple[Begun, TrainedModel] | None":
        """The training that was begun with the same plan on the same records.

        Args:
            learned_from: what a training would be made from now.
            description: of the model that it would make.

        Returns:
            None where there is none, or none that this registry's secret vouches for.

        Raises:
            RegistryError: the secret cannot be read.
        """
        if self.folder is None:
            return None
        from smalti.transforms.learning.model_files import load  # noqa: PLC0415 (imports JAX)

        path = self.folder / _MODEL
        try:
            state = _STATES.validate_json((self.folder / STATE_NAME).read_bytes())
            code = self._code(state.begun, file_digest(path))
            if not hmac.compare_digest(state.code.encode(), code.encode()):
                return None
            if state.begun.learned_from != learned_from:
                return None
            model = load(path)
        except (OSError, ValueError, DataError):
            return None
        return (state.begun, model) if model.description == description else None

    def forget(self) -> None:
        """Remove what is kept, the model first; and the folder, unless it holds something else.

        Raises:
            BackendError: the disk.
        """
        if self.folder is None:
            return
        try:
            _remove(self.folder)
            (self.folder / _LOCK).unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        with suppress(OSError):  # it is gone, or not empty
            self.folder.rmdir()

    def _code(self, begun: Begun, model_digest: str) -> str:
        content = _BEGUN.dump_json(begun) + b"\n" + model_digest.encode()
        return hmac_digest(load_secret(self.registry.path), _PURPOSE, hashlib.sha256(content).digest())


def _remove(folder: Path) -> None:
    for name in (_MODEL, STATE_NAME, _DRAFT):
        (folder / name).unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> BackendError:
    return BackendError(
        str(folder), f"the disk failed ({error.strerror})", "a folder that you may write to"
    )
