"""Which bounds of an audit can be met at all with so many records; no data is needed to tell.

A limit is above what was measured by what chance can hide, and chance hides more among fewer records. An
attack that is no better than a guess has the least figures that attacks usually have, and their limits are
not 0: a bound below these is met by no model, however little it gives away. It is assumed that members and
others are as many, and that attacks score single records: figures of others have other limits.
"""

from bisect import bisect_left
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from smalti.engine.audits.attacks import Family, of_family
from smalti.engine.audits.attempts import error_of_attempt
from smalti.engine.audits.plan import Audit, FigureBound
from smalti.errors import DataError
from smalti.transforms.auditing.limits import Outcomes, of_two, quantile_ranks, upper_limit
from smalti.transforms.membership.planted_leak import SHARE, least_records

_MOST: Final = 1 << 40
"""Records that nobody has."""


def is_attainable(bound: FigureBound, records: int, error: Fraction) -> bool:
    """Whether a guess keeps to a bound.

    Args:
        bound: on a figure. Of `epsilonLowerBound`, and of figures that other attacks have, nothing is known
            here: those count as met.
        records: members that are audited, and as many others; at least 1.
        error: the probability that a limit is on the wrong side.
    """
    confidence, most = float(1 - error), float(bound.most)
    if bound.figure == "attackAdvantage":
        return records >= _for_advantage(most, confidence)
    if bound.figure == "attackPrecision":
        judged = records - records // 2  # the threshold is chosen on the others
        return Outcomes(judged, judged, judged, judged).precision(confidence).upper <= most
    if bound.figure == "truePositiveRate" and bound.false_positive_rate is not None:
        sides = of_two(confidence)
        least, greatest = quantile_ranks(records, float(bound.false_positive_rate), sides)
        # With fewer records no threshold is shown to be within the rate, and no audit begins.
        return 1 <= least < greatest <= records and float(upper_limit(0, records, sides)) <= most
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
    doubled = next(size for exponent in range(41) if is_attainable(bound, size := 1 << exponent, error))
    least = doubled // 2 + 1
    return least + bisect_left(
        range(least, doubled), True, key=lambda records: is_attainable(bound, records, error)
    )


def told_of(audit: Audit, part: Fraction) -> tuple[str, ...]:
    """From how many respondents on an audit can be met at its first attempt; as sentences for people.

    Args:
        audit: of a plan.
        part: the probability of a respondent to be trained on.
    """
    return tuple(_told(audit, part)) if of_family(audit.attacks, Family.RECORDS) else ()


def _told(audit: Audit, part: Fraction) -> Iterator[str]:
    leak = least_records(SHARE, float(1 - error_of_attempt(audit.confidence, 1)))
    needed = [(records_for(bound, audit.confidence), bound) for bound in audit.bounds]
    for records, bound in needed:
        rate = bound.false_positive_rate
        at = "" if rate is None else f" at a false positive rate of {rate}"
        asked = f"{bound.figure} at most {bound.most}{at}"
        if records is None:
            yield f"{asked} is exceeded by a guess, with any number of records"
        elif records > 1:
            respondents = _respondents(max(records, leak), part)
            yield f"{asked} can be met from about {respondents} respondents on, at the first attempt"


def _respondents(records: int, part: Fraction) -> int:
    """Of whom as many are trained on, on average; at least as many others are left."""
    return -(-records // part)


def check_attainable(audit: Audit, records: int, error: Fraction) -> None:
    """Refuse an audit that a model which gives nothing away would not pass with so few records.

    Args:
        audit: that is due.
        records: members that are audited, and as many others.
        error: the probability that a limit is on the wrong side.

    Raises:
        DataError: there is a bound that a guess exceeds. It holds no number of records.
    """
    if not of_family(audit.attacks, Family.RECORDS):
        return
    missed = [bound for bound in audit.bounds if not is_attainable(bound, records, error)]
    if missed:
        named = ", ".join(sorted({f"`{bound.figure}`" for bound in missed}))
        raise DataError(
            "the audit",
            f"the data is too little for a bound of it: with so few records even a guess exceeds {named}",
            "respondents enough for the limit of a guess to be below it (`smalti plan` says how many)",
            "raise the bound, ask for a lower confidence, or add data",
        )


def _for_advantage(most: float, confidence: float) -> int:
    """The limits of an advantage are as far from it above as below, where a leak has to show."""
    return least_records(min(most, 1.0), confidence)
