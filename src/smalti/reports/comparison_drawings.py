"""Drawings of a comparison of central and local differential privacy, after D5.2, figures 4.4 to 4.7."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from smalti.reports.page import Drawing
from smalti.reports.plots import Bar, Line, Range, Ranges, SettingAxes, by_setting, scatter, shares
from smalti.studies.comparison.findings import Findings, FoundPhi
from smalti.studies.comparison.models import Others
from smalti.studies.comparison.quantities import FigureKind, Place
from smalti.studies.comparison.results import (
    Attacked,
    Compared,
    Efficiency,
    Row,
    Skew,
    Spread,
)
from smalti.studies.comparison.settings import Central, Comparison, Local, Original, Setting
from smalti.studies.comparison.verdicts import Verdict
from smalti.transforms.auditing.mitigation import GUESS

_DEVIATIONS: Final = "bars are standard deviations over repetitions"
_ENDS: Final = (
    "bars join the lowest and the highest repetition; what is infinite, 0 or undefined is left out"
)
_LEAST_PHI: Final = 0.01
_MOST_PHI: Final = 1000.0
_SHORT: Final = {Verdict.HOLDS: "holds", Verdict.FAILS: "does not hold", Verdict.OPEN: "cannot tell"}
_Kind: TypeAlias = type[Central] | type[Local]
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Figure:
    """A few figures of each setting that are drawn together: full lines, then dashed ones."""

    what: str
    series: tuple[tuple[str, Callable[[Row], Range | None]], ...]
    """What is said of a line after the number of classes, and its points."""
    guess: float | None = None
    is_logarithmic: bool = False
    has_original: bool = True


def accuracies(compared: Compared) -> tuple[Drawing, ...]:
    """The accuracies of targets over epsilon (figures 4.5 and 4.6, c)."""
    return tuple(_over_epsilon(compared, kind, _ACCURACY, "") for kind in _kinds(compared))


def attacks(compared: Compared, others: Others) -> tuple[Drawing, ...]:
    """What the attack achieved, over epsilon and over accuracy (figures 4.5 to 4.7).

    Args:
        compared: what was found.
        others: what members are held against.
    """
    where = f"members against {others}, "
    return (
        *(
            _over_epsilon(compared, kind, figure, where)
            for kind in _kinds(compared)
            for figure in _attacks(others)
        ),
        *(
            _over_accuracy(compared, classes, others, which)
            for classes in compared.comparison.classes
            for which in ("precision", "recall")
        ),
    )


def _kinds(compared: Compared) -> list[_Kind]:
    """Those of which there are settings."""
    kinds: tuple[_Kind, ...] = (Central, Local)
    settings = compared.comparison.settings
    return [kind for kind in kinds if any(isinstance(setting, kind) for setting in settings)]


def verdicts(findings: Findings) -> Drawing:
    """How many conditions of each statement are inside, open and outside."""
    words = {Verdict.HOLDS: "inside", Verdict.OPEN: "open", Verdict.FAILS: "outside"}
    bars = tuple(
        Bar(
            f"{finding.statement.name}: {_SHORT[finding.verdict]}",
            tuple(sum(weighed.verdict is verdict for weighed in finding.conditions) for verdict in words),
        )
        for finding in findings.findings
    )
    said = "the share of the conditions of each statement whose intervals are inside of what is claimed"
    return shares(f"{said}, outside of it, or neither", f"{said}.", bars, tuple(words.values()))


def intervals_of_phi(compared: Compared) -> tuple[Drawing, ...]:
    """Mitigation efficiencies with their intervals, by precision and by recall (figures 4.5d and 4.6d)."""
    return tuple(
        _intervals_of_phi(compared, attack) for attack in (FigureKind.PRECISION, FigureKind.RECALL)
    )


def _intervals_of_phi(compared: Compared, attack: FigureKind) -> Drawing:
    comparison = compared.comparison
    settings = [setting for setting in comparison.settings if setting != Original()]
    by_place = {
        efficiency.phi.place: _within(efficiency)
        for efficiency in compared.findings.phis
        if efficiency.phi.attack is attack
    }
    lines = [
        Ranges(
            f"{classes} classes",
            tuple(by_place[Place(classes, setting)] for setting in settings),
            colour=colour,
            offset=0.15 * (colour - (len(comparison.classes) - 1) / 2),
        )
        for colour, classes in enumerate(comparison.classes)
    ]
    labels = tuple(_letter(setting) for setting in settings)
    axes = SettingAxes(labels, "z of central, e of local", f"phi of the {attack}", 1.0, is_logarithmic=True)
    said = f"phi of the {attack}, with intervals that hold together"
    caption = (
        f"{said}; cut off at {_LEAST_PHI:g} and {_MOST_PHI:g}; what is 0, infinite or undefined is left out"
    )
    return by_setting(caption, f"{said}.", lines, axes)


def _within(efficiency: FoundPhi) -> Range | None:
    """Within the drawing; None for what a logarithmic axis does not have."""
    value, interval = efficiency.value, efficiency.interval
    if value is None or not _LEAST_PHI < value < _MOST_PHI:
        return None
    if interval is None:
        return Range(value, value, value)
    return Range(value, *(min(_MOST_PHI, max(_LEAST_PHI, end)) for end in (interval.low, interval.high)))


def _letter(setting: Setting) -> str:
    match setting:
        case Central(noise_multiplier=noise):
            return f"z {noise:g}"
        case Local(epsilon=epsilon):
            return f"e {epsilon:g}"
        case Original():
            return "original"


def skew(compared: Compared) -> Drawing:
    """The precision without privacy over the skew of the data (figure 4.4)."""
    series: tuple[tuple[str, Callable[[Skew], Range | None]], ...] = (
        (", test", lambda skewed: _range(skewed.precision)),
        (", unseen", lambda skewed: _range(skewed.precision_of_unseen)),
    )
    said = (
        "precision of the attack without privacy over the entropy difference between test and training"
        " data, with test and with unseen training records for others; bars are standard deviations"
    )
    differences = sorted({skewed.entropy_difference for skewed in compared.skews}, reverse=True)
    labels = tuple(f"{difference:.2f}" for difference in differences)
    axes = SettingAxes(labels, "entropy difference in bits", "precision of the attack", GUESS)
    items = [
        (classes, [skewed for skewed in compared.skews if skewed.classes == classes])
        for classes in compared.comparison.classes
    ]
    return by_setting(f"{said}; after figure 4.4", f"{said}.", [*_lines(items, series)], axes)


def _attacks(others: Others) -> tuple[_Figure, ...]:
    def attacked(row: Row) -> Attacked:
        return row.attacked(others)

    efficiencies = (
        (", precision", lambda row: _range_of_efficiency(attacked(row).efficiency_of_precision)),
        (", recall", lambda row: _range_of_efficiency(attacked(row).efficiency_of_recall)),
    )
    return (
        _Figure("precision of the attack", (("", lambda row: _range(attacked(row).precision)),), GUESS),
        _Figure("recall of the attack", (("", lambda row: _range(attacked(row).recall)),), GUESS),
        _Figure("mitigation efficiency phi", efficiencies, 1.0, is_logarithmic=True, has_original=False),
    )


_ACCURACY = _Figure(
    "accuracy of the target",
    (
        (", training", lambda row: _range(row.train_accuracy)),
        (", test", lambda row: _range(row.test_accuracy)),
    ),
)


def _over_epsilon(compared: Compared, kind: _Kind, figure: _Figure, where: str) -> Drawing:
    comparison, kinds = compared.comparison, (Original, kind) if figure.has_original else (kind,)
    chosen = [setting for setting in comparison.settings if isinstance(setting, kinds)]
    labels = tuple(_place(comparison, setting) for setting in chosen)
    x = "epsilon of a record" if kind is Central else "epsilon of each bit"
    bars = _DEVIATIONS if figure.has_original else _ENDS
    word, number = ("central", "4.5") if kind is Central else ("local", "4.6")
    said = f"{figure.what} over {x}, {word} differential privacy; {bars}"
    items = [
        (classes, [row for row in compared.rows if row.classes == classes and row.setting in chosen])
        for classes in comparison.classes
    ]
    axes = SettingAxes(labels, x, figure.what, figure.guess, figure.is_logarithmic)
    caption = f"{said}; {where}after figure {number}"
    return by_setting(caption, f"{said}.", [*_lines(items, figure.series)], axes)


def _lines(
    items: Sequence[tuple[int, Sequence[_Item]]],
    series: Sequence[tuple[str, Callable[[_Item], Range | None]]],
) -> Iterator[Ranges]:
    """A line for each number of classes and each of a few figures."""
    for colour, (classes, several) in enumerate(items):
        for place, (which, of) in enumerate(series):
            points = tuple(of(item) for item in several)
            yield Ranges(f"{classes} classes{which}", points, is_dashed=place > 0, colour=colour)


def _over_accuracy(compared: Compared, classes: int, others: Others, which: str) -> Drawing:
    rows = [row for row in compared.rows if row.classes == classes]
    groups = [
        Line(word, tuple(_point(row, others, which) for row in rows if isinstance(row.setting, kind)))
        for word, kind in (("original", Original), ("central", Central), ("local", Local))
    ]
    said = f"{which} of the attack over test accuracy with {classes} classes, a mark for each setting"
    caption = f"{said}; members against {others}, after figure 4.7"
    return scatter(caption, f"{said}.", groups, x="test accuracy", y=f"{which} of the attack")


def _point(row: Row, others: Others, which: str) -> tuple[float, float]:
    attacked = row.attacked(others)
    spread = attacked.precision if which == "precision" else attacked.recall
    return row.test_accuracy.mean, spread.mean


def _place(comparison: Comparison, setting: Setting) -> str:
    match setting:
        case Original():
            return "original"
        case Central():
            return f"{comparison.epsilon_by_renyi(setting):.2g}"
        case Local(epsilon=epsilon):
            return f"{epsilon:g}"


def _range(spread: Spread) -> Range:
    wide = spread.standard_deviation or 0.0
    return Range(spread.mean, spread.mean - wide, spread.mean + wide)


def _range_of_efficiency(efficiency: Efficiency | None) -> Range | None:
    """None for what a logarithmic axis does not have."""
    if efficiency is None or efficiency.of_means is None or not 0 < efficiency.of_means < math.inf:
        return None
    ends = [
        end for end in (efficiency.lowest, efficiency.highest) if end is not None and 0 < end < math.inf
    ]
    return Range(efficiency.of_means, min([*ends, efficiency.of_means]), max([*ends, efficiency.of_means]))
