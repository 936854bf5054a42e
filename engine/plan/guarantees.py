"""The interface of guarantees of all kinds, for certificates and for people."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Protocol, TypeAlias

from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.published_columns import PublishedColumn

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

DATASET: Final = ("prov:Entity", "dcat:Dataset", "odrl:Asset", "dpv:ContextuallyAnonymisedData")
"""The types of an output of rows or statistics."""
LOSS_TERMS: Final[Mapping[str, Json]] = {
    "epsilon": {"@id": "s:promisedEpsilon", "@type": "xsd:decimal"},
    "delta": {"@id": "s:promisedDelta", "@type": "xsd:decimal"},
    "posteriorBelief": "s:promisedPosteriorBelief",
    "membershipAdvantage": "s:promisedMembershipAdvantage",
    "neighbors": "s:promisedNeighbors",
    "rowsPerRespondent": "s:promisedRowsPerRespondent",
    "groupsPerRespondent": "s:promisedGroupsPerRespondent",
    "measurement": {"@id": "s:measurement", "@container": "@set"},
    "quantity": "s:quantity",
    "mechanism": "s:usedMechanism",
    "scale": "s:noiseScaleUsed",
    "composition": "s:composition",
    "releases": "s:numberOfReleases",
}
"""The JSON-LD terms of certificates that state a privacy loss."""


class AnyGuarantee(Protocol):
    """What an output promises."""

    kind: ClassVar[Kind]
    types: ClassVar[tuple[str, ...]]
    """What the output is, as RDF types."""
    activity: ClassVar[str]
    """What was done, as an RDF type."""

    @property
    def terms(self) -> Mapping[str, Json]:
        """The JSON-LD terms of its certificates, beside those that all have."""
        ...

    @property
    def model(self) -> str:
        """The privacy model, by its name."""
        ...

    @property
    def statement(self) -> str:
        """What is promised, as one sentence for people."""
        ...

    @property
    def limits(self) -> tuple[str, ...]:
        """What it does not protect against, as sentences for people."""
        ...

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        """The columns of the output that it says something of; all others are published as plain texts."""
        ...

    def to_object(self) -> Mapping[str, Json]:
        """Its parameters, in the words of a certificate."""
        ...
