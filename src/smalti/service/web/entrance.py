"""Sign in and out."""

import re
from typing import Final

from smalti.service.parties import ANYBODY
from smalti.service.problems import RefusedError
from smalti.service.web.page import HOME, Moved, Page, Problem, Response, Shown, Visit

_NEXT: Final = re.compile(r"/web/[\w./~%:?=&+-]*", re.ASCII)
"""Where a sign-in may lead: an address of this site."""


def show_sign_in(visit: Visit) -> Response:
    """Ask for a key."""
    return Shown("sign-in.html", {"next": _next(visit.query.get("next", "")), "problems": ()})


def sign_in(visit: Visit) -> Response:
    """Begin a session."""
    place = _next(visit.form.raw("next"))
    try:
        token = visit.sessions.begin(visit.form.text("key"))
    except RefusedError:
        text = (
            "No such key is in force. Take the whole key, which begins with smalti_, or ask for a new one."
        )
        problems = (Problem(text, "key"),)
        return Shown("sign-in.html", {"next": place, "problems": problems}, 401)
    visit.sessions.end(visit.token)
    return Moved(place, session=token)


def sign_out(visit: Visit) -> Response:
    """End a session."""
    visit.sessions.end(visit.token)
    return Moved(f"{HOME}sign-in", "signed-out", session="")


def _next(stated: str) -> str:
    return stated if _NEXT.fullmatch(stated) and not stated.startswith(f"{HOME}sign-") else HOME


PAGES: Final = (
    Page(method="GET", path="sign-in", name="showSignIn", roles=ANYBODY, handler=show_sign_in),
    Page(method="POST", path="sign-in", name="signIn", roles=ANYBODY, handler=sign_in),
    Page(method="POST", path="sign-out", name="signOut", roles=ANYBODY, handler=sign_out),
)
