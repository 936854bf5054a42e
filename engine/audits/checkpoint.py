"""What a training has done so far, so that a run that died can be taken up again.

A checkpoint holds a model that nobody may have yet, and how to draw again who it was trained on: its folder
is private, and removed when the run ends. A model is trained once for one charge: what is here is used
again, and what is not here is charged anew.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from smalti.errors import BackendError, DataError, UsageError
from smalti.transforms.learning.model_files import load, save
from smalti.transforms.learning.models import TrainedModel

_MODEL: Final = "target.safetensors"
_STATE: Final = "state.json"
_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077
"""Bits of a mode that let others in."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A training whose model exists."""

    run: str
    """Of its charge and its attempt."""
    attempt: int
    """Its number; 1 where no audit is demanded."""
    plan_digest: str
    inputs: tuple[str, ...]
    """The keyed digests of the files that were read."""
    seed: int
    """Draws who is trained on, and everything of the audit; nothing of a model."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A private folder for one run, or None: then nothing is kept."""

    folder: Path | None

    def keep(self, begun: Begun, model: TrainedModel) -> None:
        """Write down that the model exists; all or nothing.

        Raises:
            BackendError: the disk, or the folder is not there any more.
        """
        if self.folder is None:
            return
        try:
            (self.folder / _STATE).unlink(missing_ok=True)
            (self.folder / _MODEL).unlink(missing_ok=True)
            save(model, self.folder / _MODEL)
            draft = self.folder / f"{_STATE}.draft"
            draft.write_text(json.dumps(asdict(begun)), encoding="utf-8")
            os.replace(draft, self.folder / _STATE)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def prepare(self) -> None:
        """Make the folder, or see that nobody else can read it; before anything is charged.

        Raises:
            UsageError: others may read it.
            BackendError: the disk.
        """
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=_PRIVATE, exist_ok=True)
            mode = self.folder.stat().st_mode
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        if mode & _OTHERS:
            raise UsageError(
                str(self.folder),
                "others may read it, and a checkpoint holds a model that nobody may have yet",
                "a folder of yours alone",
                f"`chmod 700 {self.folder}`, or name one that does not exist",
            )

    def found(self, plan_digest: str, inputs: tuple[str, ...]) -> tuple[Begun, TrainedModel] | None:
        """The training that was begun with the same plan on the same data; None where there is none."""
        if self.folder is None:
            return None
        try:
            said = json.loads((self.folder / _STATE).read_text(encoding="utf-8"))
            begun = Begun(**{**said, "inputs": tuple(said["inputs"])})
            if (begun.plan_digest, begun.inputs) != (plan_digest, inputs):
                return None
            return begun, load(self.folder / _MODEL)
        except (OSError, ValueError, KeyError, TypeError, DataError):
            return None


def _unwritable(folder: Path, error: OSError) -> BackendError:
    return BackendError(
        str(folder), f"the disk failed ({error.strerror})", "a folder that you may write to"
    )
