"""Circles are found where a search from each thing finds them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.model.circles import on_circles
from tests.effort import examples

THINGS = st.integers(0, 7)


def reached(leads_to: dict[int, list[int]], start: int) -> set[int]:
    found: set[int] = set()
    waiting = list(leads_to.get(start, ()))
    while waiting:
        thing = waiting.pop()
        if thing not in found:
            found.add(thing)
            waiting += leads_to.get(thing, ())
    return found


@settings(max_examples=examples(200))
@given(st.dictionaries(THINGS, st.lists(THINGS, max_size=3), max_size=8))
def test_circles_and_the_ways_between_them(leads_to: dict[int, list[int]]) -> None:
    circular = {thing for thing in leads_to if thing in reached(leads_to, thing)}
    between = {
        thing
        for thing in leads_to
        if reached(leads_to, thing) & circular
        and any(thing in reached(leads_to, start) for start in circular)
    }
    assert on_circles(leads_to) == circular | between
