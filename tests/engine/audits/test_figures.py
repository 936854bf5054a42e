"""What follows from figures: met only where every leak was found and every limit keeps to its bound."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from audit_samples import figures, result

from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training.figures import (
    AttackResult,
    figures_from_json,
    figures_to_json,
    verdict,
)
from smalti.engine.training.plan import FigureBound
from smalti.errors import InternalError, RegistryError

ADVANTAGE = FigureBound("attackAdvantage", Decimal("0.3"))
RATE = FigureBound("truePositiveRate", Decimal("0.05"), Decimal("0.01"))
BOUNDS = (ADVANTAGE, RATE)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        ((result(),), AttemptState.MET),
        ((result(), result("rmia")), AttemptState.MET),
        ((result(advantage=0.3, rate=0.05),), AttemptState.MET),
        ((result(advantage=0.31),), AttemptState.NOT_MET),
        ((result(), result("rmia", rate=0.06)), AttemptState.NOT_MET),
        ((result(advantage=0.31, leak=False),), AttemptState.NOT_MET),
        ((result(leak=False),), AttemptState.INCONCLUSIVE),
        ((result(), result("rmia", leak=False)), AttemptState.INCONCLUSIVE),
        ((result(rate=None),), AttemptState.INCONCLUSIVE),
        ((result(advantage=0.31, rate=None),), AttemptState.NOT_MET),
        ((result(advantage=float("nan")),), AttemptState.NOT_MET),
    ],
)
def test_a_duty_is_met_only_where_nothing_speaks_against_it(
    found: tuple[AttackResult, ...], state: AttemptState
) -> None:
    judged = verdict(figures(*found), BOUNDS)
    assert judged.state is state
    assert bool(judged.reasons) == (state is not AttemptState.MET)


def test_the_reason_names_attack_figure_and_bound() -> None:
    (reason,) = verdict(figures(result("rmia", rate=0.06)), BOUNDS).reasons
    assert reason == "rmia: truePositiveRate at a false positive rate of 0.01 may be 0.06, above 0.05"


def test_a_bound_without_its_figure_is_a_fault() -> None:
    with pytest.raises(InternalError, match="lacks a figure"):
        verdict(figures(result()), (replace(RATE, false_positive_rate=Decimal("0.001")),))


def test_a_bound_holds_for_the_attacks_that_have_its_figure() -> None:
    sets = replace(result("set-membership"), figures=result().figures[:1])
    assert verdict(figures(sets, result()), BOUNDS).state is AttemptState.MET
    assert verdict(figures(sets, result(rate=0.06)), BOUNDS).state is AttemptState.NOT_MET
    above = replace(sets, figures=result(advantage=0.31).figures[:1])
    assert verdict(figures(above, result()), BOUNDS).state is AttemptState.NOT_MET
    with pytest.raises(InternalError, match="lacks a figure"):
        verdict(figures(replace(sets, figures=())), (ADVANTAGE,))


def test_figures_of_earlier_versions_are_read() -> None:
    told = json.loads(figures_to_json(figures(result())))
    del told["results"][0]["details"]
    for one in told["results"][0]["figures"]:
        del one["method"]
    assert figures_from_json(json.dumps(told)) == figures(result())


def test_figures_are_read_back_as_they_were() -> None:
    made = figures(result(), result("rmia", advantage=None))
    assert figures_from_json(figures_to_json(made)) == made
    with pytest.raises(RegistryError, match="cannot be read"):
        figures_from_json('{"attempt": "one"}')
