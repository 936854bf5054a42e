"""The document's statements, weighed on figures that were written down; 1 s."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from smalti.comparing import PAPER, REDUCED
from smalti.studies.comparison.findings import Finding, findings
from smalti.studies.comparison.models import Measured
from smalti.studies.comparison.quantities import LargestPhi, contrasts
from smalti.studies.comparison.settings import Case, Central, Comparison, Local, Original
from smalti.studies.comparison.statements import STATEMENTS
from smalti.studies.comparison.verdicts import Interval, Verdict
from smalti.transforms.auditing.limits import Outcomes

STUDY = replace(REDUCED, records=1_000_000, repetitions=6)
"""So large that a share of the records is as good as any number."""


@dataclass(frozen=True)
class Truth:
    """The mean figures of one case."""

    accuracy: float
    gap: float
    precision: float
    recall: float
    unadapted_precision: float = 0.5
    unadapted_recall: float = 0.5


def as_the_document_says(case: Case) -> Truth:
    """Figures with which all statements hold: they do not contradict each other."""
    is_few = case.classes in {10, 20}
    plain = Truth(0.2, 0.8, 0.87, 0.62) if is_few else Truth(0.3, 0.7, 0.9, 0.62)
    match case.setting:
        case Central(noise_multiplier=noise):
            precision, recall = plain.precision - 0.02, plain.recall - 0.02
            if not is_few and noise == 16:
                recall = 0.51
            if case.classes == 50 and noise == 2:
                precision = 0.53
            return Truth(0.12 if is_few else 0.23, 0.1, precision, recall)
        case Local(epsilon=epsilon):
            if is_few and epsilon == 0.1:
                return Truth(0.98, 0.01, 0.8, 0.53)
            if is_few and epsilon == 1:
                return replace(plain, accuracy=0.22, precision=0.86, recall=0.61)
            return plain if is_few else replace(plain, accuracy=0.29 if epsilon == 8 else 0.2)
        case _:
            return plain if case.noise_in_training != 0.5 else replace(plain, precision=0.6)


def all_the_same(case: Case) -> Truth:
    return Truth(0.5, 0.1, 0.7, 0.7, 0.7, 0.7)


def drawn(
    truth: Callable[[Case], Truth], comparison: Comparison, deviation: float, seed: int
) -> Iterator[Measured]:
    """Targets whose figures vary by a deviation."""
    draw = np.random.default_rng(seed)
    for case in comparison.cases:
        true = truth(case)
        noise = draw.normal(0, deviation, 6)
        accuracy = between_0_and_1(true.accuracy + noise[0])
        yield Measured(
            case,
            accuracy,
            between_0_and_1(true.accuracy + true.gap + noise[1]),
            outcomes(true.recall + noise[2], true.precision + noise[3]),
            outcomes(0.5, 0.5),
            outcomes(true.unadapted_recall + noise[4], true.unadapted_precision + noise[5])
            if isinstance(case.setting, Central)
            else None,
        )


def outcomes(recall: float, precision: float) -> Outcomes:
    """Precisions of at least a half, so that there are others enough."""
    right = round(STUDY.records * between_0_and_1(recall))
    precision = max(0.5, between_0_and_1(precision))
    return Outcomes(right, STUDY.records, round(right * (1 - precision) / precision), STUDY.records)


def between_0_and_1(value: float) -> float:
    return min(1.0, max(0.0, value))


def weighed(
    truth: Callable[[Case], Truth], *, deviation: float = 1e-4, seed: int = 0
) -> dict[str, Finding]:
    found = findings(STUDY, drawn(truth, STUDY, deviation, seed))
    return {finding.statement.name: finding for finding in found.findings}


def test_all_statements_hold_where_everything_is_as_the_document_says() -> None:
    found = weighed(as_the_document_says)
    verdicts = {name: finding.verdict for name, finding in found.items()}
    assert verdicts == dict.fromkeys(found, Verdict.HOLDS)
    phi = findings(STUDY, drawn(as_the_document_says, STUDY, 1e-4, 0))
    # Accuracy is kept (.98 - .1) / (.2 - .1) times, and of the recall .03 / .12.
    assert phi.largest_phi is not None
    assert phi.largest_phi.value == pytest.approx(8.8 / 0.25, rel=0.01)
    assert (phi.largest_phi.phi.attack, phi.largest_phi.phi.place.setting) == ("recall", Local(0.1))
    assert phi.largest_interval is not None
    assert phi.largest_interval.low < 35.2 < phi.largest_interval.high


def test_statements_fail_where_nothing_makes_a_difference_and_only_there() -> None:
    """Differences of 0 are on the border of claims of a rise or a fall, so those are open."""
    found = weighed(all_the_same)
    verdicts = {name: finding.verdict for name, finding in found.items()}
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.HOLDS} == {
        "central-precision-kept", "central-recall-kept", "local-precision-kept",
    }  # fmt: skip
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.FAILS} == {
        "central-precision-lost", "central-recall-guess", "local-accuracy-kept", "phi-largest",
    }  # fmt: skip


def test_each_statement_fails_if_its_figures_are_others() -> None:
    """The document's figures, with accuracy and attack exchanged for others, one statement at a time."""

    def with_randomised_response_of_no_use(case: Case) -> Truth:
        truth = as_the_document_says(case)
        strong = case.setting == Local(0.1)
        return replace(truth, accuracy=0.15, gap=0.3, recall=0.64) if strong else truth

    found = weighed(with_randomised_response_of_no_use)
    failing = {name for name, finding in found.items() if finding.verdict is Verdict.FAILS}
    assert {"local-regularises", "phi-largest", "local-over-central", "phi-by-accuracy"} <= failing
    assert not {name for name in failing if name.startswith("central")}

    def without_noise(case: Case) -> Truth:
        central = isinstance(case.setting, Central)
        return as_the_document_says(replace(case, setting=Original()) if central else case)

    free = {name for name, finding in weighed(without_noise).items() if finding.verdict is Verdict.FAILS}
    assert {"central-precision-lost", "central-recall-guess"} <= free

    def without_skew(case: Case) -> Truth:
        truth = as_the_document_says(case)
        return replace(truth, precision=0.95) if case.noise_in_training == 0.5 else truth

    assert weighed(without_skew)["skew"].verdict is Verdict.FAILS


def test_a_small_study_cannot_tell() -> None:
    noisy = weighed(as_the_document_says, deviation=0.3)
    assert [finding.verdict for finding in noisy.values()].count(Verdict.OPEN) >= 15
    once = replace(STUDY, repetitions=1)
    found = findings(once, drawn(as_the_document_says, once, 0, 0))
    assert {finding.verdict for finding in found.findings} == {Verdict.OPEN}
    assert found.largest_interval is None
    assert found.largest_phi is not None
    assert found.largest_phi.value == pytest.approx(35.2, rel=0.01)


def test_what_the_study_lacks_is_open() -> None:
    few = replace(STUDY, classes=(20,), noise_multipliers=(4.0,), local_epsilons=(1.0,), noises=())
    found = findings(few, drawn(as_the_document_says, few, 1e-4, 0))
    assert {finding.verdict for finding in found.findings} == {Verdict.OPEN}
    assert len(found.phis) == 2 * 2


@pytest.mark.parametrize("comparison", [REDUCED, PAPER])
def test_both_sizes_have_all_that_statements_need(comparison: Comparison) -> None:
    there = {(case.classes, case.setting, case.noise_in_training) for case in comparison.cases}
    for statement in STATEMENTS:
        for part in statement.parts:
            assert 0 < part.needed <= len(part.conditions)
            for condition in part.conditions:
                for contrast in contrasts(condition.quantity):
                    for term in contrast.terms:
                        place = term.place
                        assert (place.classes, place.setting, place.noise_in_training) in there


def test_statements_say_where_they_are() -> None:
    assert len({statement.name for statement in STATEMENTS}) == len(STATEMENTS) == 18
    assert {statement.page for statement in STATEMENTS} == {38, 39, 40, 41, 42}


@pytest.mark.slow
def test_a_page_has_a_false_verdict_as_seldom_as_stated() -> None:
    """At most one page in twenty: of 200, more than 27 with a probability below 1e-6.

    The deviation is large enough that most statements are not decided, so that what is near a border is
    there. The mean of a precision is that of its parts but for some 1e-5, which is far below the intervals.
    """
    exact = findings(STUDY, drawn(as_the_document_says, STUDY, 0, 0)).findings
    true = [
        [
            condition.condition.region.verdict(Interval(condition.value, condition.value))
            for condition in finding.conditions
            if condition.value is not None
        ]
        for finding in exact
    ]
    pages_with_errors = decided = 0
    for seed in range(200):
        found = findings(STUDY, drawn(as_the_document_says, STUDY, 0.01, seed)).findings
        wrong = 0
        for truths, finding in zip(true, found, strict=True):
            for truth, condition in zip(truths, finding.conditions, strict=True):
                is_decided = condition.verdict is not Verdict.OPEN
                decided += is_decided
                wrong += is_decided and condition.verdict is not truth
        pages_with_errors += wrong > 0
    assert pages_with_errors <= 27
    assert decided > 200 * 50, "the intervals are not so wide that nothing can be wrong"


def test_the_largest_phi_needs_the_intervals_of_all() -> None:
    largest = next(
        condition.quantity
        for statement in STATEMENTS
        for part in statement.parts
        for condition in part.conditions
        if isinstance(condition.quantity, LargestPhi)
    )
    # Of each number of classes: accuracy, precision and recall of the original and of ten settings.
    assert len(contrasts(largest)) == 4 * 3 * 11
