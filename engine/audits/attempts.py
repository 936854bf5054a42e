"""Attempts at a model: each counts, whatever became of it.

Whoever may train and audit again and again gets a model through in the end, by chance alone. So the
attempts at one output share one probability of error: attempt number i is judged at the error
1 / (i (i + 1)) times the whole one. These shares add up to 1 over all attempts to come (a telescoping sum).
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

from smalti.vocab.terms import IRI


class AttemptState(StrEnum):
    """What became of an attempt."""

    BEGUN = "begun"
    """Under way, or its process died: the registry does not tell them apart."""
    MET = "met"
    """All bounds hold, the planted leaks were found, and the model was registered or is about to be."""
    NOT_MET = "not met"
    INCONCLUSIVE = "inconclusive"
    """A planted leak was not found, or there was too little data: nothing follows from low figures."""
    FAILED = "failed"
    """It ended with an error, before there was a verdict."""
    STOPPED = "stopped"
    """By Ctrl-C or a signal, before there was a verdict."""


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
    """From 1, over all attempts to make this output from this target."""
    begun_at: datetime
    state: AttemptState = AttemptState.BEGUN
    ended_at: datetime | None = None
    figures: str = ""
    """What was measured, as JSON (`figures.figures_to_json`); empty until it ended."""


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
