"""The page that everybody begins with: how things stand, and what to do next."""

from collections.abc import Callable, Iterator
from typing import Final

from smalti.service.parties import EVERYBODY
from smalti.service.problems import not_found
from smalti.service.web import ask, audits, data, health, outputs, policies
from smalti.service.web.page import Card, Entry, Page, Response, Shown, Visit

_SUBJECTS: Final[tuple[Callable[[Visit], Iterator[Card]], ...]] = (
    data.cards, policies.cards, outputs.cards, ask.cards, audits.cards, health.cards,
)  # fmt: skip
"""What modules say of their subjects, in the order of the page: each its `cards`."""


def show_home(visit: Visit) -> Response:
    """A card for each subject that the roles of the visitor have."""
    cards = tuple(card for subject in _SUBJECTS for card in subject(visit))
    return Shown("home.html", {"cards": cards})


def show_nothing(visit: Visit) -> Response:
    """What has no page."""
    del visit
    raise not_found()


ENTRIES: Final = (Entry("", "Overview", "", EVERYBODY),)
PAGES: Final = (Page(method="GET", path="", name="showHome", roles=EVERYBODY, handler=show_home),)
ELSEWHERE: Final = Page(
    method="GET", path="{rest:path}", name="showNothing", roles=EVERYBODY, handler=show_nothing
)
"""The last one: what no other page answers."""
