"""From how many records on a bound of an audit can be met; what is computed is held against the limits."""

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_worlds import people, policy, registry, run

from smalti.engine.registry.attempts import HIGHEST_CONFIDENCE, error_of_attempt
from smalti.engine.training.attainable import (
    Size,
    advised_for,
    check_attainable,
    is_attainable,
    never_exceeded,
    never_met,
    records_for,
    records_needed,
    undecided_by_trainings,
)
from smalti.engine.training.judge import Judge, Reached
from smalti.engine.training.plan import Audit, FigureBound
from smalti.errors import DataError
from smalti.transforms.auditing.epsilon_bounds import reach_by_ranks
from smalti.transforms.auditing.limits import of_two, quantile_ranks
from smalti.transforms.auditing.one_run import one_run
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.problem import Flags

CONFIDENCE = Decimal("0.95")
ERROR = error_of_attempt(CONFIDENCE, 1)
HALF, DELTA = Fraction(1, 2), 1e-5


def bound(figure: str, most: str, rate: str | None = None) -> FigureBound:
    return FigureBound(figure, Decimal(most), None if rate is None else Decimal(rate))


def audit(*bounds: FigureBound, attacks: tuple[str, ...] = ("loss",)) -> Audit:
    return Audit(attacks, bounds, CONFIDENCE, 16)


def size(records: int, included: Flags | None = None) -> Size:
    return Size(records, records, DELTA, included)


def least_limit(asked: FigureBound, records: int) -> float:
    """Of an attack that takes all records for the same, or finds no member at all, as audits judge it."""
    others = np.ones(records) if asked.figure == "truePositiveRate" else np.zeros(records)
    scores, confidence = Scores(np.zeros(records), others), float(1 - ERROR)
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


@pytest.mark.parametrize(
    "vain",
    [
        bound("attackAdvantage", "0"),
        bound("attackAdvantage", "1e-30"),
        bound("attackAdvantage", "1e-161"),
        bound("attackAdvantage", "1e-999"),
        bound("attackPrecision", "0"),
        bound("attackPrecision", "0.5"),
        bound("truePositiveRate", "0", "0.01"),
        bound("truePositiveRate", "0.009", "0.01"),
        bound("truePositiveRate", "0.01", "0.01"),
        bound("truePositiveRate", "0.1", "1e-30"),
        bound("truePositiveRate", "0.1", "0.99999999999999999999"),
    ],
    ids=lambda one: f"{one.figure} {one.most} {one.false_positive_rate}",
)
def test_what_is_never_met_is_told_from_the_plan_alone(vain: FigureBound) -> None:
    assert records_for(vain, CONFIDENCE) is None
    assert never_met(audit(vain, bound("attackAdvantage", "0.3"))) == (vain,)
    is_inverted = vain.figure == "attackAdvantage"
    assert never_met(audit(vain, attacks=("model-inversion",))) == ((vain,) if is_inverted else ())
    is_of_sets = vain.figure != "truePositiveRate"
    assert never_met(audit(vain, attacks=("set-membership",))) == ((vain,) if is_of_sets else ())


def test_a_lower_bound_that_no_number_of_records_decides_is_told_from_the_plan_alone() -> None:
    asked = audit(bound("epsilonLowerBound", "20"), bound("epsilonLowerBound", "40"))
    assert never_exceeded(asked, DELTA) == asked.bounds[1:]
    assert never_exceeded(replace(asked, attacks=("differential-identifiability",)), DELTA) == ()


def test_every_bound_of_these_can_be_met_at_the_highest_confidence() -> None:
    for asked in (*BOUNDS, bound("attackAdvantage", "0.00001"), bound("epsilonLowerBound", "2")):
        assert never_met(replace(audit(asked), confidence=HIGHEST_CONFIDENCE)) == ()


def test_it_is_told_for_respondents() -> None:
    advantage_of = bound("attackAdvantage", "0.3")
    records = records_for(advantage_of, CONFIDENCE)
    assert records == 98
    (told,) = records_needed(audit(advantage_of), HALF, DELTA)
    assert told == (
        "attackAdvantage at most 0.3 requires at least about 196 respondents; with about 446, a guess"
        " stays within it in nine of ten trainings or more, at the first attempt"
    )
    (fifth,) = records_needed(audit(advantage_of), Fraction(1, 5), DELTA)
    assert "requires at least about 490 respondents" in fifth
    rare = records_needed(audit(bound("truePositiveRate", "0.05", "0.01")), HALF, DELTA)
    assert "at a false positive rate of 0.01 requires at least about 874 respondents" in rare[0]
    for vain in (bound("attackPrecision", "0.4"), bound("truePositiveRate", "0.01", "0.01")):
        assert "exceeded by a guess" in records_needed(audit(vain), HALF, DELTA)[0]
    assert records_needed(audit(advantage_of, attacks=("model-inversion",)), HALF, DELTA) == ()


def test_of_other_figures_and_attacks_it_is_told_too() -> None:
    (epsilon,) = records_needed(audit(bound("epsilonLowerBound", "2")), HALF, DELTA)
    found = re.fullmatch(r"epsilonLowerBound at most 2 can be decided from about (\d+) respond.*", epsilon)
    assert found
    records, sides = int(found[1]) // 2, of_two(float(1 - ERROR))
    assert reach_by_ranks(records, records, DELTA, sides) > 2 > reach_by_ranks(32, 32, DELTA, sides)
    (never,) = records_needed(audit(bound("epsilonLowerBound", "30")), HALF, DELTA)
    assert "with any number of records" in never
    sets = records_needed(audit(bound("attackAdvantage", "0.3"), attacks=("set-membership",)), HALF, DELTA)
    assert sets == (
        "set-membership: attackAdvantage at most 0.3 requires at least about 8200 respondents; with about"
        " 23400, a guess stays within it in nine of ten trainings or more, at the first attempt",
    )
    single = bound("attackPrecision", "0.5")
    (told,) = records_needed(audit(single, attacks=("single-membership",)), HALF, DELTA)
    assert "exceeded by a guess" in told


def test_an_audit_of_other_attacks_is_not_judged_by_records() -> None:
    missed = bound("attackAdvantage", "0.01")
    check_attainable(audit(missed, attacks=("differential-identifiability",)), size(10), ERROR)
    with pytest.raises(DataError, match="too little for one of its bounds"):
        check_attainable(audit(missed, attacks=("differential-identifiability", "loss")), size(10), ERROR)


@pytest.mark.parametrize(
    ("attack", "asked", "few", "enough"),
    [
        ("set-membership", bound("attackAdvantage", "0.3"), 700, 4500),
        ("set-membership", bound("attackPrecision", "0.65"), 700, 4500),
        ("single-membership", bound("attackAdvantage", "0.2"), 300, 400),
        ("model-inversion", bound("attackAdvantage", "0.1"), 40, 42),
        ("lira-online", bound("epsilonLowerBound", "4"), 300, 900),
    ],
)
def test_each_attack_is_judged_by_the_records_it_takes(
    attack: str, asked: FigureBound, few: int, enough: int
) -> None:
    check_attainable(audit(asked, attacks=(attack,)), size(enough), ERROR)
    with pytest.raises(DataError, match="so few records") as caught:
        check_attainable(audit(asked, attacks=(attack,)), size(few), ERROR)
    assert not any(letter.isdigit() for letter in str(caught.value))


@pytest.mark.parametrize("records", [50, 333, 1426])
def test_a_lower_bound_is_decided_where_the_audit_would_decide_it(records: int) -> None:
    """By what an attack that is never wrong shows, with coins and without, as audits judge it."""
    included = np.arange(records) % 2 == 0
    scores = Scores(np.ones(records // 2), np.zeros(records // 2))
    for coins in (None, included):
        measure = size(records // 2, coins)
        judge = Judge(audit(), DELTA, float(1 - ERROR), 7)
        one = None
        if coins is not None:
            shown = one_run(coins.astype(float), coins, DELTA, judge.confidence_of_each)
            one = Reached(shown, shown.epsilon)
        reach = max(bound.reach for bound in judge._bounds(scores, one))
        for most, decided in ((reach * 1.001, False), (reach * 0.999, True)):
            asked = audit(bound("epsilonLowerBound", f"{most:.6f}"))
            if decided:
                check_attainable(asked, measure, ERROR)
            else:
                with pytest.raises(DataError, match="no attack could exceed"):
                    check_attainable(asked, measure, ERROR)


def test_repeated_trainings_are_judged_without_data() -> None:
    asked = audit(
        bound("attackAdvantage", "0.1"),
        bound("attackAdvantage", "0.11"),
        bound("epsilonLowerBound", "3"),
        bound("epsilonLowerBound", "5"),
        attacks=("differential-identifiability",),
    )
    assert undecided_by_trainings(asked, DELTA, is_gaussian=False) == (asked.bounds[0], asked.bounds[3])
    assert undecided_by_trainings(asked, DELTA, is_gaussian=True) == asked.bounds[:1]
    assert undecided_by_trainings(replace(asked, attacks=("loss",)), DELTA, is_gaussian=False) == ()
    later = undecided_by_trainings(asked, DELTA, is_gaussian=False, attempt=20)
    assert later == (*asked.bounds[:2], *asked.bounds[2:]), "each later attempt decides less"


def test_what_a_guess_keeps_to_as_a_rule_takes_more_than_the_least() -> None:
    for asked in BOUNDS:
        least, advised = records_for(asked, CONFIDENCE), advised_for(asked, CONFIDENCE)
        assert least is not None
        assert advised is not None
        assert advised > least
    assert advised_for(bound("truePositiveRate", "0.01", "0.01"), CONFIDENCE) is None
    easy = bound("truePositiveRate", "0.9", "0.01")
    assert advised_for(easy, CONFIDENCE) == records_for(easy, CONFIDENCE) == 437, "before, none begins"
    assert advised_for(bound("epsilonLowerBound", "2"), CONFIDENCE) == 1


def test_the_numbers_of_the_documentation_are_these() -> None:
    text = (Path(__file__).parents[3] / "docs" / "membership-inference.md").read_text(encoding="utf-8")
    rate = r"(?:, at a false positive rate of ([\d.]+))?"
    row = re.compile(rf"^\| `(\w+)` at most ([\d., ]+?){rate} \| ([\d, ]+) \| ([\d, ]+) \|$")
    found = [match for line in text.splitlines() if (match := row.match(line))]
    assert len(found) == 4
    for figure, most, at, *told in (match.groups() for match in found):
        bounds = [bound(figure, one, at) for one in most.split(", ")]
        computed = [[which(one, CONFIDENCE) for one in bounds] for which in (records_for, advised_for)]
        assert told == [", ".join(f"{one:,}" for one in numbers) for numbers in computed]


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
