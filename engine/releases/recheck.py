"""Looking at a release again: its bytes, and what its certificate states."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from smalti.engine.registry.certificate import PublishedFile
from smalti.engine.releases.guarantee import Loss, LossGuarantee, Noise
from smalti.engine.releases.plan import Mechanism, Quantity
from smalti.engine.tables.reading import file_digest
from smalti.errors import GuaranteeError
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY


@dataclass(frozen=True, slots=True)
class ReleaseCheck:
    """What the bytes of a release show by themselves: that they are those that were drawn."""

    recounted: tuple[str, ...]
    attested: tuple[str, ...]
    """Taken on trust: noise cannot be measured again."""

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
                "the bytes are not those that were published",
                "the recorded bytes",
                "the file was changed after the run, or damaged: take it from its registered place again",
            )
    return ReleaseCheck(
        ("the bytes are those that were recorded",),
        (),
    )


def stated_guarantee(promised: Mapping[str, Any]) -> LossGuarantee:
    """The guarantee in a certificate of a release that its schema has accepted."""
    return LossGuarantee(
        DIFFERENTIAL_PRIVACY,
        Loss(
            Decimal(promised["epsilon"]),
            Decimal(promised["delta"]),
            promised["posteriorBelief"],
            promised["membershipAdvantage"],
        ),
        NeighboringRelation(promised["neighbors"]),
        promised["rowsPerRespondent"],
        promised["groupsPerRespondent"],
        tuple(
            Noise(one["name"], Quantity(one["quantity"]), Mechanism(one["mechanism"]), one["scale"])
            for one in promised["measurement"]
        ),
    )
