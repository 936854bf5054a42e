"""The page of a comparison of central and local differential privacy; about 3 s of CPU, mostly drawings."""

import math
import re
from dataclasses import replace

import pytest

from smalti.reports.comparison import page
from smalti.reports.page import Drawing, Page, Table
from smalti.reports.plots import Line, curves, on_straight_lines, rates
from smalti.reports.web import to_html
from smalti.studies.comparison.findings import findings
from smalti.studies.comparison.models import Measured
from smalti.studies.comparison.results import (
    Attacked,
    Compared,
    Efficiency,
    Row,
    Skew,
    Spread,
)
from smalti.studies.comparison.settings import Case, Central, Comparison, Original, Setting
from smalti.transforms.auditing.limits import Outcomes

COMPARISON = Comparison(
    classes=(10, 20),
    records=400,
    epochs=2,
    shadow_models=1,
    repetitions=2,
    noise_multipliers=(2.0,),
    local_epsilons=(1.0, 0.1),
    noises=(0.5, 0.2),
    seed=41,
)


def attacked(setting: Setting, value: float) -> Attacked:
    spread = Spread(value, 0.0625)
    if setting == Original():
        return Attacked(spread, spread, None, None)
    return Attacked(spread, spread, Efficiency(1.5, 0.25, math.inf), Efficiency(None, None, None))


def row(classes: int, setting: Setting) -> Row:
    spread = Spread(0.75, 0.125)
    return Row(classes, setting, spread, spread, attacked(setting, 0.8125), attacked(setting, 0.5625))


def measured(case: Case) -> Measured:
    outcomes = Outcomes(200, 400, 100, 400)
    of_original = outcomes if isinstance(case.setting, Central) else None
    return Measured(case, 0.75, 0.8, outcomes, outcomes, of_original)


COMPARED = Compared(
    COMPARISON,
    tuple(row(classes, setting) for classes in (10, 20) for setting in COMPARISON.settings),
    tuple(
        Skew(classes, noise, difference, Spread(0.875, 0.1), Spread(0.6875, 0.1))
        for classes in (10, 20)
        for noise, difference in ((0.2, 0.28), (0.5, 0.0))
    ),
    findings(COMPARISON, (measured(case) for case in COMPARISON.cases)),
)


@pytest.fixture(scope="module")
def drawn() -> Page:
    return page(COMPARED, in_full=True)


def tables(shown: Page) -> list[Table]:
    return [part for section in shown.sections for part in section.parts if isinstance(part, Table)]


def drawings(shown: Page) -> list[Drawing]:
    return [part for section in shown.sections for part in section.parts if isinstance(part, Drawing)]


def test_tables_hold_the_figures_with_what_they_are() -> None:
    shown = page(COMPARED, in_full=False)
    assert not drawings(shown)
    accuracies = next(table for table in tables(shown) if table.header[0] == "classes")
    assert accuracies.rows[0] == ("10", "original", "0.750 ± 0.125", "0.750 ± 0.125")
    assert len(accuracies.rows) == 2 * 4
    first, *_, last = (table for table in tables(shown) if table.caption.endswith("0 classes"))
    assert first.rows[0] == ("original", "0.812 ± 0.062", "0.812 ± 0.062", "", "")
    assert last.rows[0][1] == "0.562 ± 0.062", "with other others"
    assert first.rows[1][0] == "central, z 2"
    assert first.rows[1][-2:] == ("1.50 (0.25 to inf)", "-")
    assert [one[0] for one in first.rows[2:]] == ["local, epsilon 1 per bit", "local, epsilon 0.1 per bit"]
    text = str(shown)
    assert "standard deviation of single repetitions" in text
    assert "is not a confidence limit" in text


def test_a_single_repetition_has_no_deviation() -> None:
    rows = (replace(one, test_accuracy=Spread(0.75, None)) for one in COMPARED.rows)
    shown = page(replace(COMPARED, rows=tuple(rows)), in_full=False)
    found = next(table for table in tables(shown) if table.header[0] == "classes")
    assert {row[2] for row in found.rows} == {"0.750"}


def test_a_page_says_that_it_is_a_study() -> None:
    shown = page(COMPARED, in_full=False)
    (facts, epsilons, *_) = tables(shown)
    assert ("seed", "41, of the data and of all noise: test only") in facts.rows
    assert epsilons.rows[1] == ("local, epsilon 1 per bit", "600 bits", "600")
    (limits,) = shown.sections[-1].parts
    for said in (
        "came from a seed",
        "nobody's privacy is at stake",
        "labels as they are",
        "may achieve more",
    ):
        assert said in str(limits)


def test_drawings_are_those_of_the_document(drawn: Page) -> None:
    captions = [one.caption for one in drawings(drawn)]
    for figure, count in (("4.4", 1), ("4.5", 4 + 3), ("4.6", 4 + 3), ("4.7", 2 * 2 * 2)):
        assert sum(caption.endswith(f"after figure {figure}") for caption in captions) == count, figure
    assert len(set(captions)) == len(captions) == 23 + 3, "verdicts, and phi of precision and recall"


def test_drawings_hold_names_and_figures(drawn: Page) -> None:
    by_caption = {one.caption: one.svg for one in drawings(drawn)}
    accuracy = next(svg for caption, svg in by_caption.items() if caption.startswith("accuracy"))
    for text in ("original", "10 classes, training", "20 classes, test", "epsilon of a record"):
        assert text in accuracy
    efficiency = next(
        svg for caption, svg in by_caption.items() if "phi over epsilon of each bit" in caption
    )
    assert "original" not in efficiency, "it mitigates nothing"
    assert ">0.5<" in efficiency
    assert not [one.caption for one in drawings(drawn) if "$" in one.svg or "nan" in one.svg]


def test_the_page_stands_alone_and_is_repeatable(drawn: Page) -> None:
    text = to_html(drawn)
    assert text.count("<svg") == 26
    places = re.findall(r"(?:href|src|action)\s*=\s*[\"']([^\"']*)", text)
    assert all(place.startswith("#") for place in places), places
    assert "<script" not in text
    one = next(iter(drawings(drawn)))
    again = next(iter(drawings(page(replace(COMPARED, rows=COMPARED.rows), in_full=True))))
    assert one.svg == again.svg


def test_only_what_was_compared_is_drawn() -> None:
    comparison = replace(COMPARISON, local_epsilons=(), classes=(10,), noises=(0.2,))
    rows = tuple(row(10, setting) for setting in comparison.settings)
    shown = page(Compared(comparison, rows, COMPARED.skews[:1], COMPARED.findings), in_full=True)
    captions = " ".join(one.caption for one in drawings(shown))
    assert "local" not in captions
    assert "central differential privacy" in captions


def test_numbers_of_logarithmic_axes_are_plain() -> None:
    lines = [Line("costs $5 and $6", ((0.001, 0.01), (0.1, 0.5), (1.0, 1.0)))]
    for drawing in (rates("c", "d", lines), curves("c", "d", lines, x="x", y="y", is_logarithmic=True)):
        assert "mathdefault" not in drawing.svg
        assert ">0.001<" in drawing.svg
        assert "costs $5 and $6" in drawing.svg


def test_lines_between_equal_scores_are_straight_ones_and_steps_stay_steps() -> None:
    tied = on_straight_lines(((0.0, 0.0), (0.9, 1.0)))
    assert len(tied) > 50
    assert all(y == pytest.approx(x / 0.9) for x, y in tied)
    steps = on_straight_lines(((0.0, 0.0), (0.0, 0.2), (0.5, 0.2), (0.5, 1.0), (1.0, 1.0)))
    assert all(y == (0.2 if 0 < x < 0.5 else 1.0) for x, y in steps if x not in {0.0, 0.5})
