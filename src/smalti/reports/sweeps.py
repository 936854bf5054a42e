"""The report of a sweep: risk and loss of each point, and the frontier drawn."""

from collections.abc import Iterable, Sequence
from typing import Final

from smalti.engine.plan.class_figures import ClassFigures
from smalti.engine.plan.notices import ordered
from smalti.engine.run.sweep import Point, Sweep
from smalti.engine.run.trial import Varied
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.reports.plots import Line, curves

TITLES: Final = (
    "lost", "entropy lost", "discernibility", "average class", "shown exactly", "k reached",
    "highest risk", "average risk", "homogeneous",
)  # fmt: skip
"""Of the figures of a point, in the order of `cells`."""
_LEAST_RISK: Final = 0.0001
SQUARED_ERROR: Final = "SSE/SST"
_LIMITS: Final = (
    "Nothing was published and nothing verified: figures come from the classes that a run with the same"
    " plan makes, and the run verifies them. They are about the data, and for its owner alone. Risks are"
    " those of somebody who knows the quasi-identifiers of a person in the table, and nothing else. What"
    " several releases tell together is no part of them: publish one point, not several."
)
MEANINGS: Final = (
    ("lost", "global certainty penalty (GCP): how much of each domain labels cover, 0 to 1"),
    ("entropy lost", "non-uniform entropy: the share of each column's entropy that labels leave open"),
    ("discernibility", "for each row the rows of its class, or all rows where it is left out, added up"),
    ("average class", "published rows divided by classes"),
    ("shown exactly", "the share of published cells of quasi-identifiers that show one value"),
    ("k reached", "respondents in the smallest class"),
    ("highest risk", "prosecutor risk: 1 divided by the respondents of the smallest class"),
    ("average risk", "the mean prosecutor risk of respondents"),
    ("homogeneous", "classes in which all respondents hold one value of a column published as it is"),
    (
        SQUARED_ERROR,
        "information loss of microaggregation: of the numbers and dates that are published as means or"
        " medians, each column divided by its standard deviation, the share of squared error within"
        " classes; rounding, and medians, add to it",
    ),
)


def titles(points: Iterable[Point]) -> tuple[str, ...]:
    """Of the figures of points of one policy: which of its columns are numbers is the same in all."""
    return next((titles_of(point.figures) for point in points if point.figures is not None), TITLES)


def titles_of(figures: ClassFigures) -> tuple[str, ...]:
    """Of `cells`."""
    return TITLES if figures.squared_error is None else (*TITLES, SQUARED_ERROR)


def cells(figures: ClassFigures) -> tuple[str, ...]:
    """The figures of a point as people read them."""
    error = figures.squared_error
    return (
        f"{float(figures.loss):.1%}",
        f"{float(figures.entropy_loss):.1%}",
        f"{figures.discernibility:.3g}",
        f"{float(figures.average_class):.1f}",
        f"{float(figures.exact_share):.1%}",
        str(figures.k),
        _risk(figures.highest_risk),
        _risk(figures.average_risk),
        str(figures.homogeneous_classes),
        *(() if error is None else (f"{float(error):.2%}",)),
    )


def _risk(risk: float) -> str:
    """A risk, which is above 0."""
    return f"{risk:.2%}" if risk >= _LEAST_RISK else f"<{_LEAST_RISK:.2%}"


def notes(sweep: Sweep) -> tuple[tuple[str, str], ...]:
    """What is to be said beside figures: the points that it is about, and a sentence, each one once."""
    about: dict[str, list[Point]] = {}
    for point in sweep.points:
        if point.problem:
            about.setdefault(point.problem, []).append(point)
        elif point.refused:
            text = f"`run` refuses it as the policy stands: {point.refused}"
            about.setdefault(text, []).append(point)
    return tuple((_named_together(points), text) for text, points in about.items())


def _named_together(points: Sequence[Point]) -> str:
    """The numbers of several points, those of the first word together that have the same others."""
    by_first: dict[Varied, list[tuple[Varied, ...]]] = {}
    for point in points:
        by_first.setdefault(point.numbers[0], []).append(point.numbers[1:])
    by_others: dict[tuple[tuple[Varied, ...], ...], list[Varied]] = {}
    for first, others in by_first.items():
        by_others.setdefault(tuple(others), []).append(first)
    return "; ".join(
        " and ".join(_listed(some) for some in (firsts, *zip(*others, strict=True)))
        for others, firsts in by_others.items()
    )


def _listed(numbers: Sequence[Varied]) -> str:
    """Different numbers of one word."""
    return f"{numbers[0].word} = {', '.join(dict.fromkeys(str(varied.number) for varied in numbers))}"


def named(point: Point) -> str:
    """The numbers of a point."""
    return ", ".join(map(str, point.numbers))


def meanings(shown: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What figures with these titles mean."""
    said = dict(MEANINGS)
    return tuple((title, said[title]) for title in shown)


def page(sweep: Sweep, target: str, *, with_drawings: bool) -> Page:
    """The report of a sweep that was permitted.

    Args:
        sweep: with its points.
        target: the data, by its IRI.
        with_drawings: whether the frontier is drawn; it needs the extra `audit`.
    """
    met = [point for point in sweep.points if point.figures is not None]
    lead = f"{len(sweep.points)} points of risk against loss, of which {len(met)} can be met."
    said, warnings = notes(sweep), [notice.sentence for notice in ordered(sweep.notices)]
    sections = [
        Section("The frontier", (*(_drawings(met) if with_drawings and met else ()), _figures(sweep))),
        *(
            [Section("What is to be known of points", (Table("", ("points", "note"), said),))]
            if said
            else []
        ),
        *([Section("Warnings", tuple(Paragraph(each) for each in warnings))] if warnings else []),
        Section("How to run a point", (_runs(sweep),)),
        Section("What the figures mean", (Table("", ("figure", "meaning"), meanings(titles(met))),)),
        Section("What this does not show", (Paragraph(_LIMITS),)),
    ]
    return Page(f"Sweep of {target}", lead, tuple(sections))


def _figures(sweep: Sweep) -> Table:
    shown = titles(sweep.points)
    blank = ("",) * len(shown)
    rows = tuple(
        (*_numbers(point), *(blank if point.figures is None else cells(point.figures)))
        for point in sweep.points
    )
    words = tuple(varied.word for varied in sweep.points[0].numbers)
    return Table("Each point; one without figures cannot be met", (*words, *shown), rows)


def _numbers(point: Point) -> tuple[str, ...]:
    return tuple(str(varied.number) for varied in point.numbers)


def _runs(sweep: Sweep) -> Table:
    rows = tuple(
        (named(point), " ".join(f"--with {word}" for word in point.words), point.plan_digest)
        for point in sweep.points
        if point.plan_digest is not None and not point.refused and point.figures is not None
    )
    caption = "Points that the policy permits as it stands; others need another policy"
    return Table(caption, ("point", "options of run and plan", "digest of its plan"), rows)


def _drawings(points: list[Point]) -> tuple[Part, ...]:
    lines = [Line(name, tuple(sorted(ends))) for name, ends in _by_others(points).items()]
    description = "; ".join(
        f"{named(point)}: {float(point.figures.loss):.1%} lost at an average risk of"
        f" {point.figures.average_risk:.2%}"
        for point in points
        if point.figures is not None
    )
    return (
        curves(
            "Loss (GCP) over average prosecutor risk: lower and further left is better",
            f"A curve of loss over risk. {description}.",
            lines,
            x="average prosecutor risk",
            y="loss (GCP)",
            is_logarithmic=True,
        ),
    )


def _by_others(points: list[Point]) -> dict[str, list[tuple[float, float]]]:
    """Risk and loss of points by the numbers of all words but the first."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        if point.figures is not None:
            name = ", ".join(map(str, point.numbers[1:])) or f"by {point.numbers[0].word}"
            lines.setdefault(name, []).append((point.figures.average_risk, float(point.figures.loss)))
    return lines
