"""The figures of the page about learning are those that were measured, and the script still measures."""

import json

import published_learning as learning


def test_the_page_shows_what_was_measured() -> None:
    page, areas = learning.PAGE.read_text(encoding="utf-8"), json.loads(learning.FIGURES.read_text())
    assert learning.with_figures(page, areas) == page
    assert set(areas) == {"original", *(f"k = {k}" for k in learning.KS)}
    assert {len(found) for found in areas.values()} == {learning.SPLITS}


def test_a_division_is_measured_again() -> None:
    """To about a hundredth: the model is another library's, and may change with it."""
    areas = json.loads(learning.FIGURES.read_text())
    for name, found in learning.measured(splits=1, ks=[20]).items():
        assert abs(found[0] - areas[name][0]) < 0.03, name
