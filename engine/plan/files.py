"""Facts about published files and the run that wrote them."""

from dataclasses import dataclass

from smalti.engine.plan.losses import StatedLoss
from smalti.vocab.terms import IRI


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

    loss: StatedLoss
    """Epsilon and delta are sums; belief and advantage come from the noise that was used."""
    releases: int


@dataclass(frozen=True, slots=True)
class InputDigest:
    """A file that was read, recognisable under the registry's secret only."""

    name: str
    """As the owner bound it; a name, not a path."""
    hmac: str
    """Of what was read, in the canonical form; see `secret.hmac_digest`."""
    original: str | None = None
    """Of the bytes that this was brought from, likewise; None where it was read as it is."""
    input: IRI | None = None
    """What it is a file of, where that is not the target of the run."""

    @property
    def digests(self) -> tuple[str, ...]:
        """All by which the data is recognised."""
        return (self.hmac,) if self.original is None else (self.hmac, self.original)


@dataclass(frozen=True, slots=True)
class Diversity:
    """The least l that any class has in one sensitive column."""

    column: str
    l: int  # noqa: E741 (the literature's name)


@dataclass(frozen=True, slots=True)
class ColumnLevel:
    """The level of a column's hierarchy that is published in all rows."""

    column: str
    level: int
    """0 is that of the values."""
    levels: int
    """Above the values."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What the worst class reaches of a requirement of how a sensitive column's values are distributed."""

    column: str
    requirement: str
    """In the words of the plan: `t = 0.2 (equal distance)`."""
    figure: float


@dataclass(frozen=True, slots=True)
class ReachedOfPopulation:
    """What was counted of the persons of a population table whom published classes cover."""

    least: int
    """Persons whom a class covers, at least."""
    least_share: float
    """Of those of a class, the share that is in the table, at least."""
    largest_share: float


@dataclass(frozen=True, slots=True)
class ColumnLoss:
    """The global certainty penalty of one column: 0 as it was, 1 nothing left."""

    column: str
    loss: float


@dataclass(frozen=True, slots=True)
class ExactColumn:
    """The texts of a column that are exactly in the output, alone or in sets (see `exact_values`)."""

    column: str
    values: int
    """Distinct texts, all of which are published exactly."""
    rare: int
    """Of these, the ones in fewer rows than k."""

    @property
    def of_all(self) -> str:
        """How many of the column's texts are published exactly, in words."""
        return f"{self.values} of {self.values}"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a phase of the run took."""

    phase: str
    seconds: float
