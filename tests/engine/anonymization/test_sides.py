"""When a window around a median has shown enough."""

import numpy as np
import pytest

from smalti.engine.anonymization.sides import Sides, Window


@pytest.mark.parametrize(
    ("place", "is_decided"),
    [
        (6, True),  # the median itself
        (7, True),  # as even as any cut that follows the window
        (5, True),
        (4, False),  # one after the window can be more even
        (None, False),
    ],
)
def test_a_cut_outside_of_the_window_may_be_nearer(place: int | None, is_decided: bool) -> None:
    """The places 4 and 8 stand for all that is before and after the window from 5 to 7."""
    places, upto = np.array([4, 5, 6, 7, 8]), np.array([40, 45, 50, 55, 100])
    sides = Sides(places, upto, np.ones(5, np.bool_), Window(5, 7), [])
    assert sides.is_decided(place) is is_decided


def test_a_window_over_all_places_decides() -> None:
    places, upto = np.array([5, 6, 7]), np.array([10, 90, 100])
    sides = Sides(places, upto, np.array([True, False, False]), Window(5, 7), [])
    assert sides.is_decided(5)
    assert sides.is_decided(None)
