"""What attacks on a release achieved. Private: for the owner of the data, and recorded nowhere."""

from dataclasses import dataclass

from smalti.engine.releases.plan import StatisticKind
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.tracing.membership import Tracing
from smalti.transforms.tracing.reconstruction import Reconstruction
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class AttackedStatistic:
    """A statistic of the release, and whether attacks use it."""

    name: str
    kind: StatisticKind
    cells: int
    """Published figures that attacks use."""
    reason: str = ""
    """Why they do not; empty where they do."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What one attack achieved on one version of the statistics."""

    attack: Tracing
    is_exact: bool
    """True: on the statistics without their noise."""
    members: int
    others: int
    advantage: Figure
    """The greatest true minus false positive rate."""
    true_positive_rate: Figure
    """At the false positive rate of the audit."""
    area: float
    """Under the curve; 0.5 is a guess."""
    expected_advantage: float
    """By calculation from sizes and noise, for normal scores."""
    expected_rate: float
    """Likewise the true positive rate."""
    curve: tuple[tuple[float, float], ...]
    """False and true positive rates."""


@dataclass(frozen=True, slots=True)
class Control:
    """The same attack on respondents who are not in its statistics: those of a random half of the others.

    What it achieves comes from a population that differs from the data, and not from tracing.
    """

    attack: Tracing
    advantage: Figure


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The error of the statistics as means, in standard deviations of one person, beside what is known."""

    statistics: int
    effective: float
    """So many independent statistics tell as much."""
    error: float
    tracing: float
    """sqrt(d) / n, of the effective number."""
    sampling: float
    """1 / sqrt(n)."""


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """The share of people whose value in a column was guessed right."""

    attack: Reconstruction
    column: str
    values: int
    """Different public values that are guessed among."""
    sums: int
    """Released subset sums of each value, at least."""
    people: int
    right: float
    """From the release."""
    right_without_noise: float
    guessed: float
    """Without any statistics: always the value that is most frequent in the population."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """An attack that was not run."""

    attack: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReleaseAttacks:
    """The results of an audit of a release."""

    output: IRI
    version: IRI
    target: IRI
    promise: str
    """Of the release, which holds for every attack."""
    people: int
    """Respondents in the data."""
    others: int
    """People of the population who are not among them."""
    left_out: int
    """People of the population who are, and were left out."""
    statistics: tuple[AttackedStatistic, ...]
    thresholds: Thresholds
    traced: tuple[Traced, ...]
    controls: tuple[Control, ...]
    reconstructed: tuple[Reconstructed, ...]
    not_run: tuple[NotRun, ...]
    false_positive_rate: float
    confidence: float
    """Of each limit alone."""
    seed: int

    @property
    def population_differs(self) -> bool:
        """Whether a control finds something, so that the advantages are not all of tracing."""
        return any(control.advantage.lower > 0 for control in self.controls)

    def best(self, *, is_exact: bool) -> Traced:
        """The attack with the greatest measured advantage."""
        return max(
            (traced for traced in self.traced if traced.is_exact is is_exact),
            key=lambda traced: traced.advantage.value or 0.0,
        )
