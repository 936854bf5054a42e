"""The figures of an audit, and the verdict on the duty; for the owners."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training.attacks import has_figure
from smalti.engine.training.plan import FigureBound
from smalti.errors import InternalError, RegistryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of one attack."""

    figure: str
    """As `FigureBound.figure`."""
    false_positive_rate: Decimal | None = None
    """Of a true positive rate: where it is read."""
    value: float | None
    """As it was measured; None where there is too little data to measure it."""
    limit: float | None
    """What is compared with a bound: the upper confidence limit; of `epsilonLowerBound` the lower one,
    which is the figure itself. None where there is too little data for any."""
    method: str | None = None
    """Of a lower bound on epsilon: where it comes from, so what it assumes (`epsilon_bounds.Method`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What is shown beside the figures, and compared with nothing."""

    name: str
    """In words."""
    value: float | None
    lower: float | None = None
    """Its limits, at the confidence of the figures; None where it has none."""
    upper: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """What one attack achieved on the model, and on a leak that was planted."""

    attack: str
    members: int
    """Records that the model was trained on; trainings with the record, where these are repeated."""
    non_members: int
    """Records that it was not trained on; trainings without that record, or with another in its place."""
    area: float | None
    """Under the curve of true over false positive rates; None where the attack has no score of records."""
    curve: tuple[tuple[float, float], ...]
    """Points of that curve (false positive rate, true positive rate), thinned out; none where there is no
    area."""
    figures: tuple[Figure, ...]
    finds_leak: bool
    """Whether it found the leak that was planted: the lower limit of its advantage there is above 0."""
    leak_advantage: float
    """That lower limit; of `model-inversion` the least of all attributes."""
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFigures:
    """All that an audit measured. Private: it is about people, and outside of every epsilon."""

    attempt: int
    error: str
    """The probability that a limit of this attempt is on the wrong side, as a fraction."""
    shadows: int
    test_accuracy: float | None
    """The share of held-out records whose class the model predicts; None where no model predicts any."""
    train_accuracy: float | None
    """The same, of those that it was trained on; None exactly where the other is."""
    results: tuple[AttackResult, ...]
    reasons: tuple[str, ...] = ()
    """Why a duty was not met by them (`Verdict.reasons`)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from an audit for the duty."""

    state: AttemptState
    """`MET`, `NOT_MET` or `INCONCLUSIVE`."""
    reasons: tuple[str, ...]
    """For the owners: why it was not met; names figures, bounds and attacks, with their numbers."""


def verdict(figures: AuditFigures, bounds: tuple[FigureBound, ...]) -> Verdict:
    """Judge figures by the bounds of a duty.

    Met only where every attack found the planted leak and every limit keeps to its bound. A figure that
    exceeds its bound is not met, whatever the leak says; low figures of an attack that does not find what
    it ought to find say nothing.
    """
    exceeded, unknown = [], []
    for result in figures.results:
        if not result.finds_leak:
            unknown.append(f"{result.attack} did not find the leak that was planted")
        for bound in bounds:
            if not has_figure(result.attack, bound.figure):
                continue
            figure = _figure(result, bound)
            if figure.limit is None:
                unknown.append(f"{result.attack}: too little data for {_named(bound)}")
            elif not figure.limit <= float(bound.most):
                exceeded.append(
                    f"{result.attack}: {_named(bound)} may be {figure.limit:.4g}, above {bound.most}"
                )
    if exceeded:
        return Verdict(AttemptState.NOT_MET, tuple(exceeded + unknown))
    return Verdict(AttemptState.INCONCLUSIVE if unknown else AttemptState.MET, tuple(unknown))


def _figure(result: AttackResult, bound: FigureBound) -> Figure:
    for figure in result.figures:
        if (figure.figure, figure.false_positive_rate) == (bound.figure, bound.false_positive_rate):
            return figure
    raise InternalError("an audit lacks a figure that is bounded")


def _named(bound: FigureBound) -> str:
    if bound.false_positive_rate is None:
        return bound.figure
    return f"{bound.figure} at a false positive rate of {bound.false_positive_rate}"


def figures_to_json(figures: AuditFigures) -> str:
    """Figures as JSON."""
    return _adapter().dump_json(figures).decode()


def figures_from_json(text: str) -> AuditFigures:
    """The inverse of `figures_to_json`.

    Raises:
        RegistryError: the text is none of that.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (only for what waits as JSON)

    try:
        return _adapter().validate_json(text)
    except ValidationError:
        raise RegistryError(
            "figures of an audit", "they cannot be read", "figures as smalti writes them"
        ) from None


@cache
def _adapter() -> "TypeAdapter[AuditFigures]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(AuditFigures)
