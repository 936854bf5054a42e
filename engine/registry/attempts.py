"""Attempts to train a model: each counts, whatever its outcome.

Whoever may train and audit again and again gets a model through in the end, by chance alone. So the
attempts at models of the same data share one probability of error, whatever the models are called: attempt
number i is judged at the error 1 / (i (i + 1)) times the whole one. These shares add up to 1 over all
attempts to come (a telescoping sum).
A model with a figure above its bound passes only where the limit of that very figure is on the wrong side,
however many other limits there are (an intersection-union test; Berger, "Multiparameter Hypothesis Testing
and Acceptance Sampling", Technometrics 24 (1982)). So by the union bound over attempts, the probability
that any of these models passes stays within the whole error. That all limits of one attempt are right
together is not promised.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from smalti.errors import PlanError
from smalti.vocab.terms import IRI

HIGHEST_CONFIDENCE: Final = Decimal("0.999999")
"""Of a duty. Limits are computed with floats, which near 1 have 16 digits; attempts share what is left."""
_LEAST_ERROR: Final = Fraction(1, 10**12)
"""Of an attempt. A lower bound on epsilon divides it among some hundred limits: each keeps a few digits."""


class AttemptState(StrEnum):
    """The outcome of an attempt."""

    BEGUN = "begun"
    """Under way, or its process died: the registry does not tell them apart."""
    MET = "met"
    """All bounds hold, the planted leaks were found, and the model was registered or is about to be."""
    NOT_MET = "not met"
    INCONCLUSIVE = "inconclusive"
    """A planted leak was not found, there was too little data, or the training diverged: nothing follows
    from low figures."""
    FAILED = "failed"
    """It ended with an error, before there was a verdict."""
    STOPPED = "stopped"
    """By Ctrl-C or a signal, before there was a verdict."""


class AttemptReason(StrEnum):
    """Why an attempt has no figures; for the owners, as `state` is."""

    TOO_LITTLE = "too little data"
    DIVERGED = "diverged"
    SHADOWS_DIVERGED = "shadows diverged"

    @property
    def sentence(self) -> str:
        """For people, without a full stop."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    AttemptReason.TOO_LITTLE: ("The audit had too little data, or the audited records lacked a class"),
    AttemptReason.DIVERGED: (
        "The training diverged: the weights of the model are not finite, or yield no confidences"
    ),
    AttemptReason.SHADOWS_DIVERGED: (
        "The training of a shadow model diverged: its weights are not finite, or yield no confidences"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One training under an audit duty; for the owners of what it learned from only."""

    run: str
    """Of the version that it makes, if it makes one."""
    target: IRI
    """What was learned from."""
    output: IRI
    """The model."""
    policy_uid: IRI
    rule_uid: IRI
    party: IRI
    """On whose behalf; asserted by the caller."""
    bound_by: IRI
    """Who bound the target to data, and so owns what nobody is known to own."""
    plan_digest: str
    number: int
    """From 1, over all attempts at models of the same data (`Trainings.begin`)."""
    begun_at: datetime
    inputs: tuple[str, ...] = ()
    """The keyed digests of the files that were read, by which the data is known under any IRI; only where
    an attempt begins."""
    state: AttemptState = AttemptState.BEGUN
    ended_at: datetime | None = None
    figures: str = ""
    """What was measured, as JSON (`figures.figures_to_json`); empty until it ended, or if nothing was."""
    reason: AttemptReason | None = None
    """Why nothing was measured, where it is known."""


_REASON: Final = "reason: "
"""Before a reason, where figures would stand in a record: no JSON begins so."""


def to_record(figures: str, reason: AttemptReason | None) -> str:
    """What is kept of the end of an attempt: its figures, or why there are none."""
    return figures if reason is None else f"{_REASON}{reason}"


def from_record(kept: str) -> tuple[str, AttemptReason | None]:
    """The inverse of `to_record`."""
    if not kept.startswith(_REASON):
        return kept, None
    return "", AttemptReason(kept.removeprefix(_REASON))


def error_of_attempt(confidence: Decimal, number: int) -> Fraction:
    """The probability of error that one attempt may use up.

    Args:
        confidence: of all attempts together, in (0, 1).
        number: of the attempt, from 1.

    >>> error_of_attempt(Decimal("0.95"), 1), error_of_attempt(Decimal("0.95"), 2)
    (Fraction(1, 40), Fraction(1, 120))
    """
    if not 0 < confidence < 1 or number < 1:
        raise ValueError("a confidence in (0, 1), and attempts from 1")
    return (1 - Fraction(confidence)) / (number * (number + 1))


def check_computable(confidence: Decimal, number: int) -> None:
    """Refuse an attempt whose error is too small to compute limits with.

    Args:
        confidence: of all attempts together, in (0, 1).
        number: of the attempt, from 1.

    Raises:
        PlanError: so many attempts came before. It holds no number of them.
    """
    if error_of_attempt(confidence, number) < _LEAST_ERROR:
        raise PlanError(
            "the audit",
            "too many attempts were made at models of this data: limits of another one cannot be computed",
            "a share of the error that is large enough to compute limits",
            "ask for a lower confidence in the duty (`smalti:confidence`)",
        )
