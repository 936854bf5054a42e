"""`smalti risk`: each figure from any other, the paper's table, and what does not fit."""

import json
import math
from pathlib import Path

import pytest
from shell import smalti

from smalti.errors import ProblemsError, UsageError
from smalti.risking import Stated, risk
from smalti.transforms.auditing.risk import Mechanism, Verdict
from smalti.transforms.identifiability import classic_gaussian_advantage, posterior_belief

# arXiv 2103.02913, table of experiment parameters: delta, belief, epsilon, advantage; rounded as printed.
CELLS = [
    (0.01, 0.52, 0.08, 0.01),
    (0.01, 0.75, 1.1, 0.14),
    (0.01, 0.9, 2.2, 0.28),
    (0.01, 0.99, 4.6, 0.54),
    (0.001, 0.53, 0.12, 0.01),
    (0.001, 0.75, 1.1, 0.12),
    (0.001, 0.9, 2.2, 0.23),
    (0.001, 0.99, 4.6, 0.46),
]


@pytest.mark.parametrize(("delta", "belief", "epsilon", "advantage"), CELLS)
def test_all_cells_of_the_papers_table_are_closed_forms(
    delta: float, belief: float, epsilon: float, advantage: float
) -> None:
    """Eight columns of two figures each, printed with one or two digits after the point."""
    exact = math.log(belief / (1 - belief))
    shown = risk(Stated(epsilon=exact, delta=delta, steps=30))
    by_name = {form.name.split(" (")[1]: form for form in shown.closed_forms}
    assert round(shown.risk.epsilon, 2 if epsilon < 1 else 1) == epsilon
    assert round(by_name["Theorem 1)"].printed, 2) == belief
    assert round(by_name["Theorem 2)"].printed, 2) == advantage
    # The least noise with this epsilon exceeds both (the corrections), and the composed form is exact.
    assert by_name["Theorem 1)"].verdict is by_name["Theorem 2)"].verdict is Verdict.FAILS
    assert by_name["section 4.4)"].printed == pytest.approx(shown.risk.advantage)
    classic = next(way for way in shown.calibrations if way.name.startswith("classic"))
    assert classic.advantage == pytest.approx(classic_gaussian_advantage(exact, delta), rel=1e-6)


@pytest.mark.parametrize(
    "of",
    [
        {"delta": 1e-3, "steps": 30},
        {"mechanism": Mechanism.LAPLACE},
        pytest.param({"delta": 1e-5, "steps": 100, "sampling_rate": 0.01}, marks=pytest.mark.slow),
        pytest.param(
            {"mechanism": Mechanism.LAPLACE, "delta": 1e-4, "steps": 5, "sampling_rate": 0.2},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_each_figure_gives_back_the_noise_that_it_came_from(of: dict[str, object]) -> None:
    shown = risk(Stated(noise_multiplier=1.7, sensitivity=3.0, **of)).risk
    for name in ("epsilon", "belief", "advantage"):
        back = risk(Stated(**{name: getattr(shown, name)}, sensitivity=3.0, **of))
        assert back.risk.noise_multiplier == pytest.approx(1.7, rel=5e-3)
        assert getattr(back.risk, name) <= getattr(shown, name) * (1 + 1e-6)
        assert back.sigma == 3 * back.risk.noise_multiplier
    fitting = Stated(noise_multiplier=1.7, sigma=5.1, epsilon=shown.epsilon, sensitivity=3.0, **of)
    assert risk(fitting).risk == shown


def test_laplace_noise_has_the_known_figures() -> None:
    shown = risk(Stated(mechanism=Mechanism.LAPLACE, noise_multiplier=1 / 1.1)).risk
    assert shown.epsilon == pytest.approx(1.1)
    assert shown.belief == pytest.approx(posterior_belief(1.1))
    assert shown.advantage == pytest.approx(1 - math.exp(-1.1 / 2))  # of two Laplace distributions


def test_what_does_not_fit_is_refused_with_all_reasons() -> None:
    with pytest.raises(UsageError, match="do not fit each other: sigma takes a noise multiplier of 1,"):
        risk(Stated(epsilon=2.2, sigma=1, delta=0.01, steps=30))
    with pytest.raises(ProblemsError) as refused:
        risk(Stated(belief=0.5, advantage=1, steps=0, sampling_rate=2, sensitivity=math.nan))
    places = {problem.where for problem in refused.value.problems}
    assert places == {"belief", "advantage", "sensitivity", "delta", "steps", "sampling rate"}
    with pytest.raises(UsageError, match="no figure is stated"):
        risk(Stated(delta=0.1))


@pytest.mark.slow
def test_the_command_writes_a_page_and_json(tmp_path: Path) -> None:
    words = ("risk", "--belief", "0.9", "--delta", "0.01", "--steps", "30")
    ran = smalti(*words, "--page", "risk.html", "--format", "json", cwd=tmp_path)
    shown = json.loads(ran.out)
    assert (ran.code, round(shown["noiseMultiplier"], 3)) == (0, 7.478)
    page = (tmp_path / "risk.html").read_text()
    assert page.count("<svg") == 2
    assert "does not hold" in smalti("risk", "--epsilon", "2.2", *words[3:], cwd=tmp_path).out
    assert smalti(*words, "--page", "risk.html", cwd=tmp_path).code == 2
