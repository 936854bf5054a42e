"""What is said of published files and of the run that made them."""

from dataclasses import dataclass
from datetime import datetime

from smalti.engine.plan.losses import Loss


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of an output, as it was checked."""

    name: str
    """Relative to the output's folder, with `/` between parts."""
    digest: str
    """`sha256:` and hexadecimal digits, of its bytes."""
    size: int
    """Bytes."""
    media_type: str
    """For example `text/csv`."""


@dataclass(frozen=True, slots=True)
class Composition:
    """All releases about the same respondents, within one registry."""

    loss: Loss
    """Epsilon and delta are sums; belief and advantage come from the noise that was used."""
    releases: int


@dataclass(frozen=True, slots=True)
class InputDigest:
    """A file that was read, recognisable under the registry's secret only."""

    name: str
    """As the owner bound it; a name, not a path."""
    hmac: str
    """See `secret.hmac_digest`."""


@dataclass(frozen=True, slots=True)
class Diversity:
    """The least l that any class has in one sensitive column."""

    column: str
    l: int  # noqa: E741 (the literature's name)


@dataclass(frozen=True, slots=True)
class ColumnLoss:
    """The global certainty penalty of one column: 0 as it was, 1 nothing left."""

    column: str
    loss: float


@dataclass(frozen=True, slots=True)
class ExactColumn:
    """What of a text column stands exactly in the output, alone or in a set (see `exact_values`)."""

    column: str
    values: int
    """Distinct texts, all of which are published exactly."""
    rare: int
    """Of these, the ones in fewer rows than k."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a phase of the run took."""

    phase: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReport:
    """What was measured, for the owners of the inputs only: figures here can help to single people out."""

    engine: str
    """`local` or `spark`."""
    inputs: tuple[InputDigest, ...]
    rows_in: int
    """Of the file."""
    rows_out: int
    respondents: int
    classes: int
    """Number of equivalence classes."""
    k: int
    """Least number of respondents in a class, as verified."""
    diversity: tuple[Diversity, ...]
    """One for each sensitive column, as verified."""
    losses: tuple[ColumnLoss, ...]
    """One for each quasi-identifier."""
    loss: float
    """Global certainty penalty of the output."""
    timings: tuple[Timing, ...]
    rows_withdrawn: int = 0
    """Left out, for they are about people who withdrew."""
    rows_filtered: int = 0
    """Left out of the others, for the policy does not grant them."""
    respondents_listed: int = 0
    """On the list of those who withdrew, whether or not they are in the data."""
    withdrawn_at: datetime | None = None
    """When the list of those who withdrew was read."""
    sampled_fragments: int | None = None
    """The most fragments, where first cuts came from a sample; exact cuts may lose more or less."""
    exact: tuple[ExactColumn, ...] = ()
    """One for each generalised text column."""
    rows_alike: int = 0
    """Rows that equal another one in all columns but the sensitive ones, where each is another person."""
