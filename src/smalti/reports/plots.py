"""Drawings of a report, by Matplotlib, as SVG that stands inside of a page.

The same figures give the same bytes with one version of Matplotlib: no dates, no random names.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any, Final

from smalti.errors import not_installed
from smalti.reports.page import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE: Final = (6.4, 4.4)
"""Inches."""
_LEAST_RATE: Final = 1e-4
"""Where logarithmic axes begin: lower rates are drawn there."""
_RATES: Final = tuple(10 ** (power / 20) for power in range(-80, 0))
"""Between which a line on logarithmic axes looks straight."""
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, which people with colour vision deficiencies can tell apart."""
_OF_PARTS: Final = (_COLOURS[0], "#cccccc", _COLOURS[1])
_MARKS: Final = "osD^vP*X"
_MARKED: Final = tuple(digit * 10.0**power for power in range(-4, 5) for digit in (1, 2, 5))
"""On a logarithmic axis of ratios, which may have no power of ten."""
_STYLE: Final[Any] = {
    "svg.hashsalt": "smalti",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One named line of a drawing."""

    name: str
    points: tuple[tuple[float, float], ...]
    """By x."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where a figure lies, with the ends of a bar."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ranges:
    """One named line of a drawing by names instead of numbers."""

    name: str
    points: tuple[Range | None, ...]
    """One for each name on the horizontal axis; None where there is none to be drawn."""
    is_dashed: bool = False
    colour: int = 0
    """Lines of one number have one colour."""
    offset: float | None = None
    """By how much marks that no line joins stand beside their names; None: a line joins them."""


@dataclass(frozen=True, slots=True)
class SettingAxes:
    """The axes of a drawing over settings that stand side by side, whatever their numbers."""

    settings: tuple[str, ...]
    """Their names, from left to right."""
    x: str
    """What the horizontal axis shows."""
    y: str
    """What the vertical one shows."""
    guess: float | None = None
    """Where a dotted line is drawn, if anywhere."""
    is_logarithmic: bool = False
    """Whether the vertical axis is; otherwise it goes from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One named bar of parts."""

    name: str
    counts: tuple[int, ...]
    """Of each part; not all are 0."""


def rates(caption: str, description: str, lines: Sequence[Line]) -> Drawing:
    """True over false positive rates on logarithmic axes, beside the diagonal of a guess.

    Args:
        caption: below it.
        description: in words.
        lines: points (false positive rate, true positive rate), each from 0 to 1.
    """
    with _style():
        figure, axes = _figure()
        for line, colour in zip(lines, _cycled(len(lines)), strict=True):
            drawn = replace(line, points=on_straight_lines(line.points))
            x, y = ([max(value, _LEAST_RATE) for value in values] for values in _columns(drawn))
            axes.plot(x, y, label=line.name, color=colour)
        axes.plot([_LEAST_RATE, 1], [_LEAST_RATE, 1], color="#999999", linestyle=":", label="a guess")
        axes.set(xscale="log", yscale="log", xlim=(_LEAST_RATE, 1), ylim=(_LEAST_RATE, 1))
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
        _plain_numbers(axes.xaxis, axes.yaxis)
        axes.legend(frameon=False, loc="lower right")
        return Drawing(caption, description, _svg(figure))


def on_straight_lines(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """A curve with points between those that are far apart: a straight line is bent on logarithmic axes.

    Equal scores make such lines (`RocCurve.true_positive_rate_at`); all others are level or upright.
    """
    drawn = list(points[:1])
    for (x, y), (next_x, next_y) in pairwise(points):
        between = (rate for rate in _RATES if x < rate < next_x)
        drawn += [(rate, y + (next_y - y) * (rate - x) / (next_x - x)) for rate in between]
        drawn.append((next_x, next_y))
    return tuple(drawn)


def curves(
    caption: str,
    description: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    is_logarithmic: bool = False,
) -> Drawing:
    """Lines with a mark at each point.

    Args:
        caption: below it.
        description: in words.
        lines: by x.
        x: what the horizontal axis shows.
        y: what the vertical one shows.
        is_logarithmic: whether the horizontal axis is.
    """
    with _style():
        figure, axes = _figure()
        for line, colour in zip(lines, _cycled(len(lines)), strict=True):
            across, up = _columns(line)
            axes.plot(across, up, marker="o", label=line.name, color=colour)
        axes.set(xlabel=x, ylabel=y, **({"xscale": "log"} if is_logarithmic else {}))
        if is_logarithmic:
            _plain_numbers(axes.xaxis)
            axes.xaxis.set_major_locator(_fixed(_MARKED))
        _legend(figure)
        return Drawing(caption, description, _svg(figure))


def by_setting(caption: str, description: str, lines: Sequence[Ranges], labels: SettingAxes) -> Drawing:
    """Lines with bars over settings.

    Args:
        caption: below it.
        description: in words.
        lines: as many points in each as there are settings.
        labels: of the axes.
    """
    with _style():
        figure, axes = _figure()
        for line in lines:
            _draw_ranges(axes, line)
        if labels.guess is not None:
            axes.axhline(labels.guess, color="#999999", linestyle=":")
        axes.set_xticks(range(len(labels.settings)), labels.settings)
        axes.set(xlabel=labels.x, ylabel=labels.y, xlim=(-0.3, len(labels.settings) - 0.7))
        axes.set(**({"yscale": "log"} if labels.is_logarithmic else {"ylim": (0, 1.03)}))
        if labels.is_logarithmic:
            _plain_numbers(axes.yaxis)
            axes.yaxis.set_major_locator(_fixed(_MARKED))
        _legend(figure)
        return Drawing(caption, description, _svg(figure))


def _draw_ranges(axes: Any, line: Ranges) -> None:
    drawn = [(place, point) for place, point in enumerate(line.points) if point is not None]
    if not drawn:
        return
    bars = (
        [point.value - point.low for _, point in drawn],
        [point.high - point.value for _, point in drawn],
    )
    axes.errorbar(
        [place + (line.offset or 0) for place, _ in drawn],
        [point.value for _, point in drawn],
        yerr=bars,
        label=line.name,
        color=_COLOURS[line.colour % len(_COLOURS)],
        linestyle=_line_style(line),
        marker="o",
        markersize=4,
        capsize=3,
    )


def _line_style(line: Ranges) -> str:
    if line.offset is not None:
        return "none"
    return "--" if line.is_dashed else "-"


def scatter(caption: str, description: str, groups: Sequence[Line], *, x: str, y: str) -> Drawing:
    """Marks by two figures from 0 to 1; each group has a form and a colour of its own.

    Args:
        caption: below it.
        description: in words.
        groups: points (x, y).
        x: what the horizontal axis shows.
        y: what the vertical one shows.
    """
    with _style():
        figure, axes = _figure()
        for group, colour, mark in zip(groups, _cycled(len(groups)), cycle(_MARKS), strict=False):
            across, up = _columns(group)
            axes.plot(across, up, marker=mark, linestyle="none", label=group.name, color=colour)
        axes.axhline(0.5, color="#999999", linestyle=":")
        axes.set(xlabel=x, ylabel=y, xlim=(0, 1.03), ylim=(0, 1.03))
        _legend(figure)
        return Drawing(caption, description, _svg(figure))


def shares(caption: str, description: str, bars: Sequence[Bar], parts: tuple[str, ...]) -> Drawing:
    """Level bars of one length, one below the other, each with its parts.

    Args:
        caption: below it.
        description: in words.
        bars: from the top; as many counts in each as there are parts.
        parts: their names; the middle one of three is grey.
    """
    with _style():
        figure, axes = _figure()
        figure.set_size_inches(_SIZE[0], max(_SIZE[1], 0.3 * len(bars) + 1))
        begun = [0.0] * len(bars)
        for part, (word, colour) in enumerate(zip(parts, _OF_PARTS, strict=True)):
            wide = [bar.counts[part] / sum(bar.counts) for bar in bars]
            axes.barh(range(len(bars)), wide, left=begun, label=word, color=colour)
            begun = [start + share for start, share in zip(begun, wide, strict=True)]
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.invert_yaxis()
        axes.set(xlabel="share", xlim=(0, 1))
        _legend(figure)
        return Drawing(caption, description, _svg(figure))


def _columns(line: Line) -> tuple[list[float], list[float]]:
    return [x for x, _ in line.points], [y for _, y in line.points]


def _cycled(count: int) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(count)]


def _legend(figure: "Figure") -> None:
    """Below the axes: Matplotlib's search for a free place inside them warns where it takes long."""
    if any(axes.get_legend_handles_labels()[0] for axes in figure.axes):
        figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize="small")


def _plain_numbers(*axes: Any) -> None:
    """Numbers of logarithmic axes as they are: powers would be mathematical text, which is off."""
    for axis in axes:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")


def _fixed(places: Sequence[float]) -> Any:
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415 (an extra)

    return FixedLocator(places)


def _style() -> Any:
    try:
        import matplotlib as mpl  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("report", "drawings", "matplotlib", "audit") from None
    return mpl.rc_context(_STYLE)


def _figure() -> "tuple[Figure, Any]":
    from matplotlib.figure import Figure  # noqa: PLC0415 (an extra)

    figure = Figure(figsize=_SIZE, layout="constrained")
    return figure, figure.add_subplot()


def _svg(figure: "Figure") -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 (an extra)

    text = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(text, metadata={"Date": None, "Creator": None})
    # Only the element: a declaration and a document type have no place inside of a page.
    return re.sub(r"^.*?(?=<svg)", "", text.getvalue(), count=1, flags=re.DOTALL).strip()
