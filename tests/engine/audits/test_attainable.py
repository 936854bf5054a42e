"""From how many records on a bound of an audit can be met; what is computed is held against the limits."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_worlds import people, policy, registry, run

from smalti.engine.audits.attainable import check_attainable, is_attainable, records_for, told_of
from smalti.engine.audits.attempts import error_of_attempt
from smalti.engine.audits.judge import Judge
from smalti.engine.audits.plan import Audit, FigureBound
from smalti.errors import DataError
from smalti.transforms.auditing.limits import of_two, quantile_ranks
from smalti.transforms.auditing.scores import Scores

CONFIDENCE = Decimal("0.95")
ERROR = error_of_attempt(CONFIDENCE, 1)


def bound(figure: str, most: str, rate: str | None = None) -> FigureBound:
    return FigureBound(figure, Decimal(most), None if rate is None else Decimal(rate))


def audit(*bounds: FigureBound, attacks: tuple[str, ...] = ("loss",)) -> Audit:
    return Audit(attacks, bounds, CONFIDENCE, 16)


def least_limit(asked: FigureBound, records: int) -> float:
    """Of an attack that takes all records for the same, as audits judge it."""
    scores, confidence = Scores(np.zeros(records), np.zeros(records)), float(1 - ERROR)
    rate = asked.false_positive_rate
    if rate is not None and not quantile_ranks(records, float(rate), of_two(confidence))[0]:
        return 2.0  # no audit begins
    figures = Judge(audit(asked), 1e-5, confidence, 7)._rates(scores)
    wanted = (asked.figure, asked.false_positive_rate)
    (limit,) = (one.limit for one in figures if (one.figure, one.false_positive_rate) == wanted)
    assert limit is not None
    return limit


BOUNDS = [
    bound("attackAdvantage", "0.01"),
    bound("attackAdvantage", "0.3"),
    bound("attackPrecision", "0.52"),
    bound("attackPrecision", "0.6"),
    bound("truePositiveRate", "0.02", "0.01"),
    bound("truePositiveRate", "0.3", "0.1"),
]


@given(st.sampled_from(BOUNDS), st.integers(2, 3000))
def test_a_bound_is_attainable_where_the_limits_of_a_guess_are_below_it(
    asked: FigureBound, records: int
) -> None:
    assert is_attainable(asked, records, ERROR) == (least_limit(asked, records) <= float(asked.most))


@pytest.mark.parametrize("asked", BOUNDS, ids=lambda one: f"{one.figure} {one.most}")
def test_the_least_number_of_records_is_the_least(asked: FigureBound) -> None:
    records = records_for(asked, CONFIDENCE)
    assert records is not None
    assert is_attainable(asked, records, ERROR)
    assert not is_attainable(asked, records - 1, ERROR)
    later = records_for(asked, CONFIDENCE, attempt=10)
    assert later is not None
    assert later > records


def test_what_no_number_of_records_meets() -> None:
    assert records_for(bound("attackPrecision", "0.5"), CONFIDENCE) is None
    assert records_for(bound("attackAdvantage", "1"), CONFIDENCE) is not None
    assert records_for(bound("epsilonLowerBound", "2"), CONFIDENCE) == 1, "nothing is known of it here"


def test_it_is_told_for_respondents() -> None:
    advantage_of = bound("attackAdvantage", "0.3")
    records = records_for(advantage_of, CONFIDENCE)
    assert records == 98
    (told,) = told_of(audit(advantage_of), Fraction(1, 2))
    assert told == (
        "attackAdvantage at most 0.3 can be met from about 196 respondents on, at the first attempt"
    )
    assert "about 490 respondents" in told_of(audit(advantage_of), Fraction(1, 5))[0]
    rare = told_of(audit(bound("truePositiveRate", "0.05", "0.01")), Fraction(1, 2))
    assert "at most 0.05 at a false positive rate of 0.01 can be met from about 874 respond" in rare[0]
    assert "exceeded by a guess" in told_of(audit(bound("attackPrecision", "0.4")), Fraction(1, 2))[0]
    assert told_of(audit(advantage_of, attacks=("model-inversion",)), Fraction(1, 2)) == ()


def test_an_audit_of_other_attacks_is_not_judged_by_records() -> None:
    missed = bound("attackAdvantage", "0.01")
    check_attainable(audit(missed, attacks=("differential-identifiability",)), 10, ERROR)
    with pytest.raises(DataError, match="too little for a bound of it"):
        check_attainable(audit(missed, attacks=("differential-identifiability", "loss")), 10, ERROR)


def test_the_numbers_of_the_documentation_are_these() -> None:
    text = (Path(__file__).parents[3] / "docs" / "membership-inference.md").read_text(encoding="utf-8")
    rate = r"(?:, at a false positive rate of ([\d.]+))?"
    row = re.compile(rf"^\| `(\w+)` at most ([\d., ]+?){rate} \| ([\d, ]+) \|$")
    found = [match for line in text.splitlines() if (match := row.match(line))]
    assert len(found) == 4
    for figure, most, at, told in (match.groups() for match in found):
        computed = [records_for(bound(figure, one, at), CONFIDENCE) for one in most.split(", ")]
        assert told == ", ".join(f"{one:,}" for one in computed)


# --- Whole runs ----------------------------------------------------------------------------------


def test_what_so_few_records_cannot_show_is_told_before_a_training_without_noise(tmp_path: Path) -> None:
    asked = policy(tmp_path, noise=False, bound=0.01)
    with pytest.raises(DataError) as caught:
        run(tmp_path, people(tmp_path), policy=asked)
    said = str(caught.value)
    assert "too little" in said
    assert "`attackAdvantage`" in said
    assert not any(letter.isdigit() for letter in said), "how many there are is the owner's to know"
    assert registry(tmp_path).attempts() == ()
