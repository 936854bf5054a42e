"""Drawings of pages: places of lines, marks and ticks, which a template draws as SVG.

Matplotlib's SVG has styles inside, which the security policy of pages refuses, and is an extra.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44
_TICKS: Final = 5
_EXACT: Final = 1 - 1e-9
"""What binary fractions may be off."""


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    step: float
    """Between two ticks."""


@dataclass(frozen=True, slots=True)
class Mark:
    x: float
    y: float
    label: str
    """Beside it; may be empty."""


@dataclass(frozen=True, slots=True)
class DrawnLine:
    name: str
    number: int
    """Of its colour, from 0."""
    points: str
    """As an SVG polyline has them."""
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing; all places are in its own units, of which it has `width` by `height`."""

    x: str
    y: str
    lines: tuple[DrawnLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    levels: tuple[Tick, ...] = ()
    """Horizontal lines, such as a ceiling."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def marked_lines(lines: Mapping[str, Sequence[tuple[float, float, str]]], *, x: str, y: str) -> Chart:
    """Lines with a labelled mark at each point (x, y, label), by x; both axes begin at 0."""
    points = [point for line in lines.values() for point in line]
    across, up = _axis(place for place, _, _ in points), _axis(place for _, place, _ in points)
    drawn = []
    for number, (name, line) in enumerate(lines.items()):
        marks = _joined(
            Mark(_across(place, across), _up(height, up), label) for place, height, label in line
        )
        marks = tuple(sorted(marks, key=lambda mark: mark.x))
        drawn.append(DrawnLine(name, number, _polyline((mark.x, mark.y) for mark in marks), marks))
    return Chart(x, y, tuple(drawn), _ticks(across, _across), _ticks(up, _up))


def steps(
    points: Sequence[tuple[float, float]],
    *,
    x: str,
    y: str,
    labels: Sequence[str],
    levels: Mapping[str, float],
) -> Chart:
    """A sum that grows in steps over time, from 0, with the ceilings that it may reach.

    Args:
        points: seconds and the sum from then on, by time; at least one.
        x: what the horizontal axis shows.
        y: what the vertical one shows.
        labels: of the first and the last time.
        levels: heights of horizontal lines, by name.
    """
    first, last = points[0][0], points[-1][0]
    span = (last - first) or 1.0
    across = _Axis(first - span / 20, last + span / 20, span)
    up = _axis((*(height for _, height in points), *levels.values()))
    corners = [(_across(across.low, across), _up(0, up))]
    for time, height in points:
        corners += [(_across(time, across), corners[-1][1]), (_across(time, across), _up(height, up))]
    corners.append((_across(across.high, across), corners[-1][1]))
    marks = tuple(Mark(_across(time, across), _up(height, up), "") for time, height in points)
    ends = [Tick(_across(first, across), labels[0]), Tick(_across(last, across), labels[-1])]
    drawn = DrawnLine(y, 0, _polyline(corners), marks)
    ceilings = tuple(Tick(_up(height, up), name) for name, height in levels.items())
    return Chart(x, y, (drawn,), tuple(ends[: 1 if first == last else 2]), _ticks(up, _up), ceilings)


def _axis(values: Iterable[float]) -> _Axis:
    """An axis from 0 to a round number that is no smaller than any value, with at most six ticks."""
    most = max([*values, 0.0]) or 1.0
    power = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= most / _TICKS * _EXACT)
    return _Axis(0.0, step * math.ceil(most / step * _EXACT), step)


def _ticks(axis: _Axis, place: Callable[[float, _Axis], float]) -> tuple[Tick, ...]:
    values = [
        axis.low + axis.step * number for number in range(round((axis.high - axis.low) / axis.step) + 1)
    ]
    return tuple(Tick(place(value, axis), f"{value:.3g}") for value in values)


def _joined(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Marks of one place as one, with all of their labels."""
    labels: dict[tuple[float, float], list[str]] = {}
    for mark in marks:
        labels.setdefault((mark.x, mark.y), []).append(mark.label)
    return tuple(Mark(x, y, ", ".join(filter(None, names))) for (x, y), names in labels.items())


def _across(value: float, axis: _Axis) -> float:
    return round(_LEFT + (value - axis.low) / (axis.high - axis.low) * (WIDTH - _LEFT - _RIGHT), 1)


def _up(value: float, axis: _Axis) -> float:
    return round(
        HEIGHT - _BOTTOM - (value - axis.low) / (axis.high - axis.low) * (HEIGHT - _TOP - _BOTTOM), 1
    )


def _polyline(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
