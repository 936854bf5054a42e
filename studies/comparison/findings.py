"""What a comparison says of the statements of MOSAICrOWN D5.2, section 4.3.

All intervals of all statements hold together with the confidence: each statement has an equal part of the
error, and each of its intervals an equal part of that (`verdicts` has the proof). So a page with any false
verdict is as rare as one study in twenty, as far as repetitions are distributed normally.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from smalti.studies.comparison.models import Measured
from smalti.studies.comparison.quantities import LargestPhi, Phi, Repetitions, contrasts
from smalti.studies.comparison.settings import Comparison
from smalti.studies.comparison.statements import (
    STATEMENTS,
    ClaimPart,
    Condition,
    Statement,
    every_phi,
)
from smalti.studies.comparison.verdicts import Interval, Verdict, of_all, of_needed

CONFIDENCE: Final = 0.95
"""That no verdict is false, and no interval of phi misses."""
_ERROR: Final = (1 - CONFIDENCE) / (len(STATEMENTS) + 1)
"""Of each statement, and of the list of all phi."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A condition with what was measured."""

    condition: Condition
    value: float | None
    """None: the study has no such setting, or the figure is not defined."""
    interval: Interval | None
    """None: also for a single repetition."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part of a claim."""

    part: ClaimPart
    conditions: tuple[Weighed, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement, and whether it holds at the size of the study."""

    statement: Statement
    parts: tuple[FoundPart, ...]
    verdict: Verdict

    @property
    def conditions(self) -> tuple[Weighed, ...]:
        """Those of all parts."""
        return tuple(weighed for part in self.parts for weighed in part.conditions)

    @property
    def deciding(self) -> FoundPart:
        """The first part whose verdict is that of the whole."""
        return next(part for part in self.parts if part.verdict is self.verdict)


@dataclass(frozen=True, slots=True)
class FoundPhi:
    """One mitigation efficiency."""

    phi: Phi
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a comparison says of the document's statements."""

    findings: tuple[Finding, ...]
    phis: tuple[FoundPhi, ...]
    """Of all settings of the study."""
    largest_interval: Interval | None
    """Where the largest of all true ones lies."""

    @property
    def largest_phi(self) -> FoundPhi | None:
        """The one that was measured to be the largest; None where none is defined."""
        defined = [efficiency for efficiency in self.phis if efficiency.value is not None]
        return max(defined, key=lambda efficiency: efficiency.value or 0.0, default=None)

    def number_of(self, verdict: Verdict) -> int:
        """How many statements have it."""
        return sum(finding.verdict is verdict for finding in self.findings)


def findings(comparison: Comparison, measured: Iterable[Measured]) -> Findings:
    """Weigh the document's statements.

    Args:
        comparison: what was compared. What a statement needs and the comparison has not is open.
        measured: one for each of `comparison.cases`, in any order.
    """
    repetitions = Repetitions(comparison, measured)
    largest = LargestPhi(every_phi(comparison))
    error = _ERROR / max(1, len(contrasts(largest)))
    return Findings(
        tuple(_finding(repetitions, statement) for statement in STATEMENTS),
        tuple(
            FoundPhi(phi, repetitions.value(phi), repetitions.interval(phi, error)) for phi in largest.of
        ),
        repetitions.interval(largest, error) if largest.of else None,
    )


def _finding(repetitions: Repetitions, statement: Statement) -> Finding:
    needed = frozenset[object]().union(
        *(contrasts(condition.quantity) for part in statement.parts for condition in part.conditions)
    )
    parts = tuple(_weighed_part(repetitions, part, _ERROR / len(needed)) for part in statement.parts)
    return Finding(statement, parts, of_all([part.verdict for part in parts]))


def _weighed_part(repetitions: Repetitions, part: ClaimPart, error: float) -> FoundPart:
    weighed = tuple(_weighed(repetitions, condition, error) for condition in part.conditions)
    return FoundPart(part, weighed, of_needed([condition.verdict for condition in weighed], part.needed))


def _weighed(repetitions: Repetitions, condition: Condition, error: float) -> Weighed:
    interval = repetitions.interval(condition.quantity, error)
    return Weighed(
        condition,
        repetitions.value(condition.quantity),
        interval,
        condition.region.verdict(interval),
    )
