"""Which bounds of an audit can be decided and met with a number of records, without the data.

A limit is above what was measured by what chance can hide, and chance hides more among fewer records. An
attack that is no better than a guess has the least figures that attacks usually have, and their limits are
not 0: a bound below these is met by no model, however little it gives away. A lower bound on epsilon is
low where records are few, whatever there is to find: it decides only where a perfect attack would exceed
the duty's bound. It is assumed that members and others are as many, where nothing else is stated.

The least number is for refusing what is in vain; with no more than that, a guess is mostly above the bound,
as its measured figures scatter. For planning there is another number (`advised_for`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

import numpy as np

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.registry.attempts import error_of_attempt
from smalti.engine.training.attacks import (
    SET_SIZE,
    SINGLE,
    SINGLING_OUT,
    TRAININGS,
    WITH_SHADOWS,
    family_of,
    has_figure,
    of_family,
)
from smalti.engine.training.plan import Audit, FigureBound
from smalti.errors import DataError
from smalti.transforms.auditing import guesses
from smalti.transforms.auditing.epsilon_bounds import clopper_pearson_by_ranks, gaussian, reach_by_ranks
from smalti.transforms.auditing.guesses import MOST as _MOST
from smalti.transforms.auditing.limits import Outcomes, of_two, quantile_ranks, share, upper_limit
from smalti.transforms.auditing.one_run import reaches
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.generative.singling_out import GUESSES
from smalti.transforms.membership.planted_leak import SHARE, least_records
from smalti.transforms.membership.set_membership import AttackType, limit_of_guess
from smalti.transforms.problem import Flags
from smalti.vocab.attacks import Family

USUAL_DELTA: Final = 1e-5
"""Of a lower bound on epsilon, where training states none."""
_SPLITS: Final = range(TRAININGS * 2 // 5, TRAININGS * 3 // 5 + 1, 10)
"""Trainings with the record, of all."""
_LEAST_ADVANTAGE: Final = 2.0**-20
"""The limit of a guess's advantage is above it with so many records: its square is `1 / _MOST`."""


def delta_of(loss: PlannedLoss | None) -> float:
    """Of the lower bounds on epsilon of a training that loses so much, if that is stated."""
    return float(loss.delta) if loss is not None and loss.delta else USUAL_DELTA


def is_attainable(bound: FigureBound, records: int, error: Fraction) -> bool:
    """Whether the least figures of an attack on single records keep to a bound.

    Args:
        bound: on a figure. Of `epsilonLowerBound` nothing is known here: it counts as met.
        records: members that are audited, and as many others; at least 1.
        error: the probability that a limit is on the wrong side.
    """
    confidence, most = float(1 - error), float(bound.most)
    if bound.figure == "attackAdvantage":
        return most > _LEAST_ADVANTAGE and records >= _for_advantage(most, confidence)
    if bound.figure == "attackPrecision":
        judged = records - records // 2  # the threshold is chosen on the others
        return Outcomes(judged, judged, judged, judged).precision(confidence).upper <= most
    if bound.figure == "truePositiveRate" and bound.false_positive_rate is not None:
        sides, rate = of_two(confidence), float(bound.false_positive_rate)
        least, greatest = quantile_ranks(records, rate, sides)
        # With fewer records no threshold is shown to be within the rate, and no audit begins. A coin has
        # the rate itself, and more by chance.
        enough = 1 <= least < greatest <= records
        return most > rate and enough and float(upper_limit(0, records, sides)) <= most
    return True


def records_for(bound: FigureBound, confidence: Decimal, attempt: int = 1) -> int | None:
    """From how many members on, and as many others, a guess keeps to a bound; None where it never does.

    Args:
        bound: on a figure.
        confidence: of the duty, in (0, 1).
        attempt: its number; later ones take more records.
    """
    error = error_of_attempt(confidence, attempt)
    if not is_attainable(bound, _MOST, error):
        return None
    return guesses.first(lambda records: is_attainable(bound, records, error))


def advised_for(bound: FigureBound, confidence: Decimal) -> int | None:
    """From how many members on a guess keeps to a bound as a rule (`guesses.SHARE`), at the first attempt.

    About, and never fewer than `records_for`; None where that is None. It is for attacks on single records.
    """
    least = records_for(bound, confidence)
    level, most = float(1 - error_of_attempt(confidence, 1)), float(bound.most)
    if least is None or most >= 1:
        return least
    match bound.figure, bound.false_positive_rate:
        case "attackAdvantage", _:
            return max(least, guesses.for_advantage(most, level))
        case "attackPrecision", _:
            wanted = guesses.for_precision(most, level)
            return None if wanted is None else max(least, wanted)
        case "truePositiveRate", Decimal() as rate:
            return max(least, guesses.for_true_positive_rate(most, float(rate), level))
    return least


def never_met(audit: Audit) -> tuple[FigureBound, ...]:
    """The bounds of an audit that a guess exceeds with any number of records, at the first attempt."""
    error, size = error_of_attempt(audit.confidence, 1), Size(_MOST, _MOST, 0.0, None)
    attacks = [name for name in audit.attacks if family_of(name) is not Family.IDENTIFIABILITY]
    return tuple(
        bound
        for bound in audit.bounds
        if bound.figure != "epsilonLowerBound"
        and any(
            has_figure(name, bound.figure) and not _can_be_met(name, bound, size, error) for name in attacks
        )
    )


def never_exceeded(audit: Audit, delta: float) -> tuple[FigureBound, ...]:
    """The lower bounds on epsilon that no attack on records exceeds with any number of them."""
    if not of_family(audit.attacks, *SINGLE):
        return ()
    level = of_two(float(1 - error_of_attempt(audit.confidence, 1)))
    bounds = [bound for bound in audit.bounds if bound.figure == "epsilonLowerBound"]
    reach = reach_by_ranks(_MOST, _MOST, delta, level) if bounds else 0.0
    return tuple(bound for bound in bounds if reach <= float(bound.most))


def records_needed(audit: Audit, part: Fraction, delta: float) -> tuple[str, ...]:
    """How many respondents an audit requires to be decided and met at its first attempt, in sentences.

    Args:
        audit: of a plan.
        part: the probability of a respondent to be trained on.
        delta: of lower bounds on epsilon.
    """
    single, many = of_family(audit.attacks, *SINGLE), of_family(audit.attacks, Family.REPEATED)
    lines = [line for bound in audit.bounds for line in _needed_for(audit, bound, part, delta) if single]
    lines += [
        _needed_for_many(name, bound, audit.confidence, part)
        for name in many
        for bound in audit.bounds
        if has_figure(name, bound.figure)
    ]
    lines += [
        _needed_for_risk(name, bound, audit.confidence, part)
        for name in of_family(audit.attacks, Family.RISKS)
        for bound in audit.bounds
        if has_figure(name, bound.figure)
    ]
    return tuple(lines)


def _needed_for(audit: Audit, bound: FigureBound, part: Fraction, delta: float) -> Iterator[str]:
    asked = _asked(bound)
    if bound.figure == "epsilonLowerBound":
        yield _needed_for_epsilon(bound, audit.confidence, part, delta)
        return
    least, advised = records_for(bound, audit.confidence), advised_for(bound, audit.confidence)
    leak = least_records(SHARE, float(1 - error_of_attempt(audit.confidence, 1)))
    if least is None or advised is None:
        yield f"{asked} is exceeded by a guess, with any number of records"
    elif least > 1:
        yield _sentence(asked, _respondents(max(least, leak), part), _respondents(max(advised, leak), part))


def _needed_for_epsilon(bound: FigureBound, confidence: Decimal, part: Fraction, delta: float) -> str:
    """By ranks, at the confidence of either method where there are two."""
    level, most = of_two(float(1 - error_of_attempt(confidence, 1))), float(bound.most)
    records = guesses.first(lambda size: reach_by_ranks(size, size, delta, level) > most)
    if records is None:
        return f"{_asked(bound)} is exceeded by no attack, with any number of records: it decides nothing"
    enough = _respondents(records, part)
    return f"{_asked(bound)} can be decided from about {enough} respondents on, at the first attempt"


def _needed_for_many(attack: str, bound: FigureBound, confidence: Decimal, part: Fraction) -> str:
    asked, most = f"{attack}: {_asked(bound)}", _accuracy(bound)
    level, kind = float(1 - error_of_attempt(confidence, 1)), AttackType(attack)
    if most <= 0.5:
        return f"{asked} is exceeded by a guess, with any number of records"
    # Of an odd number of sets less than half are right, which takes fewer of them than an even number.
    pairs = guesses.first(lambda half: limit_of_guess(kind, 2 * half - 1, level, SET_SIZE) <= most)
    if pairs is None:
        return f"{asked} is exceeded by a guess, with any number of records"
    least = 2 * pairs - 1
    if kind is AttackType.SET:
        advised = guesses.for_sets(most, level)
    else:
        advised = -(-guesses.for_single(most, level) // SET_SIZE)
    fewest, enough = (_respondents(sets * SET_SIZE, part) for sets in (least, max(least, advised)))
    return _sentence(asked, fewest, enough)


def _needed_for_risk(attack: str, bound: FigureBound, confidence: Decimal, part: Fraction) -> str:
    """From the limits of two shares: with none of all attacks, and with as many about members as others."""
    asked, most = f"{attack}: {_asked(bound)}", float(bound.most)
    level = float(1 - error_of_attempt(confidence, 1))
    least = guesses.first(lambda size: _never_succeeds(size, size, level) <= most)
    if least is None:
        return f"{asked} is exceeded by a guess, with any number of records"
    if attack == SINGLING_OUT:
        return f"{asked} requires {least} guesses at least, each of which singles out a published record"
    leak = least_records(SHARE, level)
    advised = guesses.for_two_shares(most, level)
    return _sentence(asked, *(_respondents(max(size, leak), part) for size in (least, max(least, advised))))


def _sentence(asked: str, least: int, advised: int) -> str:
    return (
        f"{asked} requires at least about {least} respondents; with about {advised}, a guess stays within"
        " it in nine of ten trainings or more, at the first attempt"
    )


def _asked(bound: FigureBound) -> str:
    rate = bound.false_positive_rate
    return f"{bound.figure} at most {bound.most}" + (
        "" if rate is None else f" at a false positive rate of {rate}"
    )


def _accuracy(bound: FigureBound) -> float:
    """What an advantage or a precision of an attack on many records bounds."""
    most = float(bound.most)
    return (1 + most) / 2 if bound.figure == "attackAdvantage" else most


def _respondents(records: int, part: Fraction) -> int:
    """Of whom as many are trained on, on average; at least as many others are left."""
    return -(-records // part)


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """What limits depend on before there is a model: how many records there are. Private."""

    members: int
    """At least 1."""
    others: int
    """At least 1."""
    delta: float
    """Of lower bounds on epsilon."""
    included: Flags | None
    """The coins of one-run auditing; None where it is not valid."""

    @property
    def audited(self) -> int:
        """Members, and as many others."""
        return min(self.members, self.others)


def check_attainable(audit: Audit, size: Size, error: Fraction) -> None:
    """Refuse an audit that a model which gives nothing away would not pass with so few records.

    Args:
        audit: that is due.
        size: of what is audited.
        error: the probability that a limit is on the wrong side.

    Raises:
        DataError: there is a bound that a guess exceeds, or that no attack could. It holds no number of
            records.
    """
    missed = {
        bound.figure
        for attack in audit.attacks
        for bound in audit.bounds
        if has_figure(attack, bound.figure) and not _can_be_met(attack, bound, size, error)
    }
    if missed:
        named = ", ".join(f"`{figure}`" for figure in sorted(missed))
        vain = "no attack could exceed" if missed == {"epsilonLowerBound"} else "even a guess exceeds"
        raise DataError(
            "the audit",
            f"the data is too little for one of its bounds: with so few records {vain} {named}",
            "enough respondents to decide the bound (`smalti plan` says how many)",
            "change the bound, lower the confidence, or add data",
        )


def _can_be_met(attack: str, bound: FigureBound, size: Size, error: Fraction) -> bool:
    """Whether a bound on a figure of this attack is decided, and could be met."""
    confidence, family = float(1 - error), family_of(attack)
    match family:
        case Family.RECORDS | Family.SAMPLES if bound.figure == "epsilonLowerBound":
            return _is_decided(attack, float(bound.most), size, confidence)
        case Family.RECORDS | Family.SAMPLES:
            return is_attainable(bound, size.audited, error)
        case Family.REPEATED:
            attacks = max(1, size.audited // SET_SIZE)
            return limit_of_guess(AttackType(attack), attacks, confidence, SET_SIZE) <= _accuracy(bound)
        case Family.INVERSION:
            return _never_succeeds(size.members, size.others, confidence) <= float(bound.most)
        case Family.RISKS:
            tries = (GUESSES, GUESSES) if attack == SINGLING_OUT else (size.members, size.others)
            return _never_succeeds(*tries, confidence) <= float(bound.most)
        case Family.IDENTIFIABILITY:
            return True  # it depends on no data: `undecided_by_trainings`
    assert_never(family)


def _never_succeeds(members: int, others: int, confidence: float) -> float:
    """The upper limit of the advantage of attacks of which none succeeds."""
    return Outcomes(0, members, 0, others).advantage(confidence).upper


def _is_decided(attack: str, most: float, size: Size, confidence: float) -> bool:
    """Whether a perfect attack would exceed a lower bound on epsilon (`judge.Judge.lower_bound`)."""
    records, has_two = size.audited, size.included is not None and attack not in WITH_SHADOWS
    each = of_two(confidence) if has_two else confidence
    if reach_by_ranks(records, records, size.delta, each) > most:
        return True
    return size.included is not None and has_two and reaches(size.included, most, size.delta, each)


def undecided_by_trainings(
    audit: Audit, delta: float, is_gaussian: bool, attempt: int = 1
) -> tuple[FigureBound, ...]:
    """The bounds that repeated trainings may not decide, or half of all guesses exceed, whatever the data.

    How many of them were with the record is drawn by fair coins; that it is not within `_SPLITS` comes up
    with a probability below 1e-3 (Hoeffding's inequality).

    Args:
        audit: of a plan.
        delta: of lower bounds on epsilon.
        is_gaussian: whether each step of the training takes all records.
        attempt: its number; later ones decide less.
    """
    if not of_family(audit.attacks, Family.IDENTIFIABILITY):
        return ()
    confidence = float(1 - error_of_attempt(audit.confidence, attempt))
    reach = min(_reach(members, delta, confidence, is_gaussian) for members in _SPLITS)
    guessed = 2 * share(TRAININGS // 2, TRAININGS, confidence).upper - 1
    return tuple(
        bound
        for bound in audit.bounds
        if (bound.figure == "epsilonLowerBound" and reach <= float(bound.most))
        or (bound.figure == "attackAdvantage" and guessed > float(bound.most))
    )


def _reach(members: int, delta: float, confidence: float, is_gaussian: bool) -> float:
    others = TRAININGS - members
    if not is_gaussian:
        return reach_by_ranks(members, others, delta, confidence)
    perfect, sides = Scores(np.ones(members), np.zeros(others)), of_two(confidence)
    return max(method(perfect, delta, sides).epsilon for method in (clopper_pearson_by_ranks, gaussian))


def _for_advantage(most: float, confidence: float) -> int:
    """The limits of an advantage are as far from it above as below, where a leak has to show."""
    return least_records(min(most, 1.0), confidence)
