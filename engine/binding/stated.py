"""What a certificate states, and what was recorded beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.guarantees import AnyGuarantee
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.errors import GuaranteeError

G_co = TypeVar("G_co", bound=AnyGuarantee, covariant=True)
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Stated(Generic[G_co]):
    """What a certificate states, apart from names and digests."""

    guarantee: G_co
    composition: Composition | None
    """Of all releases; None where nothing is charged."""
    statement: str
    respondents: str
    limits: tuple[str, ...]

    @property
    def has_own_sentences(self) -> bool:
        """Whether statement and limits are those of the guarantee."""
        return (self.statement, self.limits) == (self.guarantee.statement, self.guarantee.limits)


@dataclass(frozen=True, slots=True)
class Published:
    """A published output under verification."""

    folder: Path
    files: tuple[PublishedFile, ...]
    certificate: Path
    """Where it says what is stated, for messages."""
    text: str
    """Of the certificate."""
    version: TargetVersion | None
    """What was recorded; None: the registry does not know it."""
    registry: Registry

    def recorded_plan(self, version: TargetVersion, plan_class: type[P]) -> P:
        """The plan in the record.

        Raises:
            GuaranteeError: it is of another kind than the certificate.
        """
        plan = plan_from_json(version.plan)
        if not isinstance(plan, plan_class):
            raise kind_differs(self.certificate)
        return plan


def kind_differs(certificate: Path) -> GuaranteeError:
    """That the recorded plan is of another kind than the certificate."""
    return GuaranteeError(
        str(certificate),
        "the recorded plan is of another kind than the certificate",
        "the plan that the output was made by",
        "ask the registry's operator to investigate",
    )
