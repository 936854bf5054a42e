"""What targets come to over repetitions, computed by hand; under 1 s."""

import math
from dataclasses import replace

import pytest

from smalti.studies.comparison.models import Measured, Others
from smalti.studies.comparison.results import Spread, summary
from smalti.studies.comparison.settings import Case, Central, Comparison, Local, Original, Setting
from smalti.transforms.auditing.limits import Outcomes

COMPARISON = Comparison(
    classes=(10,),
    records=100,
    epochs=1,
    shadow_models=2,
    repetitions=2,
    noise_multipliers=(2.0,),
    local_epsilons=(1.0,),
    noises=(0.5, 0.2),
)


def outcomes(found: int, wrong: int) -> Outcomes:
    return Outcomes(found, 100, wrong, 100)


def target(
    setting: Setting, repetition: int, accuracy: float, against_test: Outcomes, noise: float = 0.2
) -> Measured:
    return Measured(
        Case(10, noise, setting, repetition), accuracy, 1.0, against_test, against_unseen=outcomes(60, 40)
    )


FOUND = (
    target(Original(), 0, 0.8, outcomes(45, 5)),
    target(Original(), 1, 1.0, outcomes(70, 30)),
    target(Central(2.0), 0, 0.5, outcomes(60, 40)),
    target(Central(2.0), 1, 0.5, outcomes(50, 50)),
    target(Local(1.0), 0, 0.1, outcomes(0, 0)),
    target(Local(1.0), 1, 0.1, outcomes(20, 80)),
    target(Original(), 0, 0.8, outcomes(80, 20), noise=0.5),
    target(Original(), 1, 0.8, outcomes(80, 20), noise=0.5),
)


def test_a_spread() -> None:
    assert Spread.of([0.5]) == Spread(0.5, None)
    found = Spread.of([0.2, 0.4, 0.9])
    assert found.mean == pytest.approx(0.5)
    assert found.standard_deviation == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16) / 2))


def test_means_and_deviations_of_a_setting() -> None:
    found = summary(COMPARISON, FOUND)
    assert [row.setting for row in found.rows] == [Original(), Central(2.0), Local(1.0)]
    original, central, local = found.rows
    assert original.test_accuracy.mean == pytest.approx(0.9)
    assert original.test_accuracy.standard_deviation == pytest.approx(math.sqrt(0.02))
    assert original.against_test.precision.mean == pytest.approx(0.8)
    assert original.against_test.recall.mean == pytest.approx(0.575)
    assert central.against_test.precision.mean == pytest.approx(0.55)
    assert central.attacked(Others.UNSEEN).precision.mean == pytest.approx(0.6)
    # Who calls nobody a member has no precision, and counts as a guess; 20 of 100 right ones are 0.2.
    assert local.against_test.precision.mean == pytest.approx(0.35)
    assert local.against_test.recall.mean == pytest.approx(0.1)


def test_mitigation_efficiency_of_means_and_of_repetitions() -> None:
    original, central, local = summary(COMPARISON, FOUND).rows
    assert original.against_test.efficiency_of_precision is None
    found = central.against_test.efficiency_of_precision
    assert found is not None
    # Half of the accuracy (0.4 of 0.8), and a sixth of the precision (0.05 of 0.3).
    assert found.of_means == pytest.approx(3)
    # In the first repetition 4/7 by 1/4; in the second nothing is left of the attack.
    assert found.lowest == pytest.approx(16 / 7)
    assert found.highest == math.inf
    other = local.against_test.efficiency_of_precision
    assert other is not None
    assert (other.of_means, other.lowest, other.highest) == (1.0, 1.0, 1.0), "all of both is lost"
    of_recall = central.against_test.efficiency_of_recall
    assert of_recall is not None
    # Half of the accuracy, and two thirds of the recall (0.05 of 0.075).
    assert of_recall.of_means == pytest.approx(3 / 4)
    # In the first repetition the original's recall is below a guess's; in the second nothing is left.
    assert (of_recall.lowest, of_recall.highest) == (math.inf, math.inf)


def test_no_efficiency_where_the_attack_on_the_original_is_none() -> None:
    weak = [replace(one, against_test=outcomes(50, 50)) for one in FOUND]
    found = summary(COMPARISON, weak).rows[1].against_test.efficiency_of_precision
    assert found is not None
    assert (found.of_means, found.lowest, found.highest) == (None, None, None)


def test_the_order_of_targets_does_not_matter() -> None:
    assert summary(COMPARISON, FOUND[::-1]) == summary(COMPARISON, FOUND)


def test_skews_hold_the_original_of_the_comparison_too() -> None:
    found = summary(COMPARISON, FOUND).skews
    assert [(one.noise_in_training, one.precision.mean) for one in found] == [
        (0.2, pytest.approx(0.8)),
        (0.5, pytest.approx(0.8)),
    ]
    assert [one.entropy_difference for one in found] == pytest.approx([0.278, 0], abs=1e-3)
    assert found[0].precision_of_unseen.mean == pytest.approx(0.6)
