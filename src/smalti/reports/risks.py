"""The report of `smalti risk`: the figures, the paper's closed forms, and Figure 3 of arXiv 2103.02913."""

import math
from collections.abc import Callable
from typing import Final

from smalti.reports.page import Drawing, Page, Paragraph, Section, Table
from smalti.reports.plots import Line, curves
from smalti.transforms.auditing.risk import Calibration, ClosedForm, Mechanism, Risk, Verdict
from smalti.transforms.identifiability import (
    advantage,
    classic_gaussian_advantage,
    gaussian_advantage,
    mu_for_epsilon,
    posterior_belief,
)
from smalti.transforms.loss.belief import largest_loss

_EPSILONS: Final = tuple(0.25 * step for step in range(1, 25))
_DELTAS: Final = (1e-6, 1e-3, 1e-2)
_SAID: Final = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "does not hold",
    Verdict.NOT_SHOWN: "not shown to hold",
}
_MEANING: Final = (
    "The adversary knows everything but which of two data sets was used, which differ in one person, and"
    " holds either for equally likely. The belief is its belief in the right one afterwards, at prior one"
    " half; the advantage is twice its share of right guesses, minus one. Both are about all steps."
)
_OF_FORMS: Final = (
    "Closed forms of arXiv 2103.02913 at this epsilon and delta, each beside what the noise itself gives:"
    " a form holds where it is not smaller. That of the belief is meant to be exceeded with probability"
    " delta at most."
)


def page(
    risk: Risk,
    sigma: float,
    formulas: tuple[ClosedForm, ...],
    ways: tuple[Calibration, ...],
    *,
    with_drawings: bool,
) -> Page:
    """The report.

    Args:
        risk: all figures.
        sigma: of one step.
        formulas: of the paper.
        ways: to calibrate noise for the same epsilon and delta; may be none.
        with_drawings: whether Figure 3 is drawn; it needs the extra `audit`.
    """
    sections = [Section("Figures", (_figures(risk, sigma), Paragraph(_MEANING)))]
    if formulas:
        sections.append(Section("The paper's closed forms", (Paragraph(_OF_FORMS), _formulas(formulas))))
    if ways:
        sections.append(Section("Noise for this epsilon and delta", (_calibrations(risk, ways),)))
    if with_drawings:
        sections.append(Section("Any epsilon (the paper's Figure 3)", (_beliefs(risk), _advantages(risk))))
    return Page("What a noise means for one person", _lead(risk), tuple(sections))


def _lead(risk: Risk) -> str:
    but = f", but with probability {risk.of.delta:g}" if risk.of.mechanism is Mechanism.GAUSSIAN else ""
    return (
        f"Nobody who sees all of it is surer than {risk.belief:.4g} of anyone's presence{but}, and nobody"
        f" guesses it with an advantage above {risk.advantage:.4g}."
    )


def _figures(risk: Risk, sigma: float) -> Table:
    of = risk.of
    kind = "standard deviation" if of.mechanism is Mechanism.GAUSSIAN else "scale"
    rows = [
        ("mechanism", f"{of.mechanism}, {of.steps} steps, sampling rate {of.sampling_rate:g}"),
        ("epsilon", f"{risk.epsilon:.6g}, at delta {of.delta:g}"),
        ("posterior belief at most", f"{risk.belief:.6g}"),
        ("membership advantage at most", f"{risk.advantage:.6g}"),
        ("noise multiplier of a step", f"{risk.noise_multiplier:.6g}"),
        (f"sigma of a step ({kind})", f"{sigma:.6g}"),
    ]
    if risk.excess is not None:
        rows.append(("chance of a belief above 1 / (1 + exp(-epsilon))", f"{risk.excess:.4g}"))
    return Table("All of it together", ("figure", "value"), tuple(rows))


def _formulas(formulas: tuple[ClosedForm, ...]) -> Table:
    rows = tuple(
        (form.name, form.formula, f"{form.printed:.4g}", f"{form.corrected:.4g}", _SAID[form.verdict])
        for form in formulas
    )
    return Table("Closed forms", ("of", "formula", "it gives", "from the noise", "verdict"), rows)


def _calibrations(risk: Risk, ways: tuple[Calibration, ...]) -> Table:
    rows = tuple(
        (
            way.name,
            f"{way.noise_multiplier:.4g}",
            f"{way.advantage:.3f}",
            f"{way.excess:.2g}",
            "yes" if way.is_private else "no",
        )
        for way in ways
    )
    caption = (
        f"Ways to calibrate Gaussian noise of {risk.of.steps} steps for epsilon {risk.epsilon:.4g} and"
        f" delta {risk.of.delta:g}, the least noise first"
    )
    header = (
        "calibration", "noise multiplier", "advantage", "chance of a larger belief", "(epsilon, delta)",
    )  # fmt: skip
    return Table(caption, header, rows)


def _beliefs(risk: Risk) -> Drawing:
    lines = [_line("1 / (1 + exp(-epsilon))", posterior_belief)]
    if risk.of.mechanism is Mechanism.GAUSSIAN:
        lines += [_line(f"exact noise, delta {delta:g}", _believed(delta)) for delta in _DELTAS]
    return curves(
        "Bounds of the posterior belief: the closed form, and what is exceeded with probability delta at"
        " most with the least Gaussian noise of that epsilon and delta",
        "A line chart of the belief by epsilon; that of the least Gaussian noise is above the form.",
        lines,
        x="epsilon",
        y="posterior belief",
    )


def _advantages(risk: Risk) -> Drawing:
    if risk.of.mechanism is Mechanism.LAPLACE:
        lines = [
            _line("any pure mechanism", advantage),
            _line("one Laplace release", lambda epsilon: -math.expm1(-epsilon / 2)),
        ]
    else:
        lines = [_line("any pure mechanism", advantage)]
        for delta in _DELTAS:
            lines += [
                _line(f"Theorem 2, delta {delta:g}", _classic(delta)),
                _line(f"exact noise, delta {delta:g}", _exact(delta)),
            ]
    return curves(
        "Membership advantage: the closed form, and that of the least Gaussian noise"
        if risk.of.mechanism is Mechanism.GAUSSIAN
        else "Membership advantage of pure mechanisms",
        "A line chart of the advantage by epsilon; that of the least Gaussian noise lies above Theorem 2.",
        lines,
        x="epsilon",
        y="membership advantage",
    )


def _line(name: str, of_epsilon: Callable[[float], float]) -> Line:
    return Line(name, tuple((epsilon, of_epsilon(epsilon)) for epsilon in _EPSILONS))


def _believed(delta: float) -> Callable[[float], float]:
    return lambda epsilon: posterior_belief(largest_loss(delta, mu_for_epsilon(epsilon, delta)))


def _classic(delta: float) -> Callable[[float], float]:
    return lambda epsilon: classic_gaussian_advantage(epsilon, delta)


def _exact(delta: float) -> Callable[[float], float]:
    return lambda epsilon: gaussian_advantage(mu_for_epsilon(epsilon, delta))
