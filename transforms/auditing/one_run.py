"""A lower bound on epsilon from a single training run with many canaries.

Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023 (arXiv 2305.08846),
Theorem 5.2 and Appendix D. Each canary was put into the training data by a fair coin of its own. Somebody
who sees the model, and never the coins, guesses the coins of some canaries and abstains on the others.
"""

from typing import Final

import numpy as np
from scipy import optimize, special

from smalti.transforms.auditing.epsilon_bounds import EpsilonBound, Method
from smalti.transforms.auditing.limits import checked
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Flags

_LEAST_GUESSES: Final = 8
_TOLERANCE: Final = 1e-9


def one_run(scores: Floats, included: Flags, delta: float, confidence: float) -> EpsilonBound:
    """The best bound over a fixed grid of numbers of guesses; the error is divided by their number.

    The canaries are guessed from both ends: the highest scores are taken for included, as many of the
    lowest for left out; equal scores by the order of the canaries, which must not depend on the coins. The
    numbers of guesses are all, a half, a quarter ... of the canaries.

    Args:
        scores: of each canary, shape (canaries,); higher where it is taken for included.
        included: the coins, shape (canaries,).
        delta: in [0, 1).
        confidence: in (0, 1).
    """
    if scores.ndim != 1 or scores.shape != included.shape or scores.size < 2 or np.isnan(scores).any():
        raise ValueError("one score, not NaN, and one coin are expected for each of at least two canaries")
    order, grid = np.argsort(scores, kind="stable"), _numbers_of_guesses(scores.size)
    each = 1 - (1 - checked(confidence)) / len(grid)
    best = 0.0
    for half in grid:
        correct = int((~included[order[:half]]).sum() + included[order[-half:]].sum())
        if p_value(scores.size, 2 * half, correct, best, delta) < 1 - each:
            best = max(best, epsilon_of_guesses(scores.size, 2 * half, correct, delta, each))
    return EpsilonBound(best, delta, confidence, Method.ONE_RUN)


def reaches(included: Flags, epsilon: float, delta: float, confidence: float) -> bool:
    """Whether `one_run` says more than an epsilon of an attack that is never wrong.

    Args:
        included: the coins; of how many canaries, and how many were included, is all that counts.
        epsilon: at least 0.
        delta: in [0, 1).
        confidence: in (0, 1).
    """
    inside, outside = int(included.sum()), int((~included).sum())
    grid = _numbers_of_guesses(included.size)
    error = (1 - checked(confidence)) / len(grid)
    return any(
        p_value(included.size, 2 * half, min(half, inside) + min(half, outside), epsilon, delta) < error
        for half in grid
    )


def epsilon_of_guesses(canaries: int, guesses: int, correct: int, delta: float, confidence: float) -> float:
    """The greatest epsilon that so many correct guesses refute; 0 where they refute none.

    `guesses` must be fixed before the run, `correct` is counted after it. As `p_value` rises with epsilon,
    a bound above the true epsilon means that the true one is refuted, too: a probability of 1 - confidence
    at most.
    """
    error = 1 - checked(confidence)

    def spare(epsilon: float) -> float:
        return error - p_value(canaries, guesses, correct, epsilon, delta)

    if spare(0.0) <= 0:
        return 0.0
    top = 1.0
    while spare(top) > 0:
        top *= 2
    epsilon_refuted = optimize.brentq(spare, 0.0, top, xtol=_TOLERANCE)
    return max(0.0, float(epsilon_refuted) - 2 * _TOLERANCE)


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """How probable so many correct guesses are, at most, if the training is (epsilon, delta)-private.

    With B binomial over the guesses with probability e^epsilon / (1 + e^epsilon), it is
    P[B >= correct] + 2 canaries delta max_i P[correct > B >= correct - i] / i (Theorem 5.2).

    It must not fall with epsilon: a bound is read where it crosses the error. With c = 2 canaries delta / i
    up to 1, a term is (1 - c) P[B >= correct] + c P[B >= correct - i], which rises with epsilon, as both
    do. With c above 1 it is replaced by c P[B >= correct - i], which is no less, and rises, too.

    Args:
        canaries: m, whose coins were thrown.
        guesses: r, up to m; abstentions are left out.
        correct: v, up to r.
        epsilon: at least 0.
        delta: in [0, 1).
    """
    if not 0 <= correct <= guesses <= canaries or not 0 <= delta < 1 or not epsilon >= 0:
        raise ValueError(
            "correct <= guesses <= canaries, an epsilon from 0 and a delta below 1 are expected"
        )
    right = special.expit(epsilon)
    reached = float(special.bdtrc(correct - 1, guesses, right))
    steps = np.arange(1, correct + 1)
    if delta == 0 or not steps.size:
        return reached
    wider = special.bdtrc(correct - steps - 1, guesses, right)
    weights = 2 * canaries * delta / steps
    terms = np.where(weights <= 1, reached * (1 - weights), 0) + weights * wider
    return min(1.0, float(terms.max()))


def _numbers_of_guesses(canaries: int) -> list[int]:
    """Halves of the numbers of guesses, from all canaries down."""
    halves = [canaries // 2]
    while halves[-1] >= _LEAST_GUESSES:
        halves.append(halves[-1] // 2)
    return halves
