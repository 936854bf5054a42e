"""The files of an output, held against what its certificate says of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from smalti.engine.plan.files import PublishedFile
from smalti.engine.tables.reading import file_digest
from smalti.errors import GuaranteeError

CHANGED_LATER: Final = (
    "the file was changed or damaged after the run: copy it again from its registered folder, or"
    " from a backup of that; or run the policy again, which makes another version"
)
"""The way out where published bytes are no longer those that were recorded."""


@dataclass(frozen=True, slots=True)
class ReleaseCheck:
    """What the bytes of a release show by themselves: that they are those that were drawn."""

    recounted: tuple[str, ...]
    attested: tuple[str, ...]
    """Taken on trust: noise cannot be measured again."""
    of_classes: ClassVar[None] = None
    """There are none."""

    def __add__(self, other: "ReleaseCheck") -> "ReleaseCheck":
        """What both show."""
        return ReleaseCheck((*self.recounted, *other.recounted), (*self.attested, *other.attested))


def check_release(folder: Path, files: tuple[PublishedFile, ...]) -> ReleaseCheck:
    """Compare the bytes with what was recorded.

    Raises:
        GuaranteeError: they are others.
    """
    for file in files:
        path = folder / file.name
        if path.stat().st_size != file.size or file_digest(path) != file.digest:
            raise GuaranteeError(
                str(folder / file.name),
                "the bytes differ from the published ones",
                "the recorded bytes",
                CHANGED_LATER,
            )
    return ReleaseCheck(
        ("the bytes are those that were recorded",),
        (),
    )
