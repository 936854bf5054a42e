"""Drawings of a report, by Matplotlib, as SVG that stands inside of a page.

The same figures give the same bytes with one version of Matplotlib: no dates, no random names.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smalti.errors import not_installed
from smalti.reports.page import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE: Final = (6.4, 4.4)
"""Inches."""
_LEAST_RATE: Final = 1e-4
"""Where logarithmic axes begin: lower rates are drawn there."""
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, which people with colour vision deficiencies can tell apart."""
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
            x, y = ([max(value, _LEAST_RATE) for value in values] for values in _columns(line))
            axes.step(x, y, where="post", label=line.name, color=colour)
        axes.plot([_LEAST_RATE, 1], [_LEAST_RATE, 1], color="#999999", linestyle=":", label="a guess")
        axes.set(xscale="log", yscale="log", xlim=(_LEAST_RATE, 1), ylim=(_LEAST_RATE, 1))
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
        axes.legend(frameon=False, loc="lower right")
        return Drawing(caption, description, _svg(figure))


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
        axes.legend(frameon=False)
        return Drawing(caption, description, _svg(figure))


def _columns(line: Line) -> tuple[list[float], list[float]]:
    return [x for x, _ in line.points], [y for _, y in line.points]


def _cycled(count: int) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(count)]


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
