"""The one way from a browser's request to a page: same origin, session, form, handler, template."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response as HttpResponse

from smalti.service.asking import Asking, admitted
from smalti.service.handling import NOBODY, address_of, to_response
from smalti.service.operations import Answer, AnyOperation
from smalti.service.parties import Asker
from smalti.service.problems import TITLES, RefusedError, refusal_of
from smalti.service.state import Service
from smalti.service.web.page import HOME, NOTICES, Entry, Form, Framed, Moved, Page, Response, Shown, Visit
from smalti.service.web.receiving import read_form, receive_form
from smalti.service.web.rendering import rendered
from smalti.service.web.sessions import LONGEST, Sessions

SIGN_IN: Final = f"{HOME}sign-in"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    # With `no-referrer` browsers send `Origin: null` with forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_IN_FRAME: Final = HEADERS | {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none';"
        " frame-ancestors 'self'; sandbox"
    ),
}
"""Of reports that stand alone: their styles stand inside of them, and nothing in them runs."""
_COOKIE: Final = "smalti"
_SECURE_COOKIE: Final = "__Host-smalti"
"""Browsers take it from this host alone, and over TLS alone."""
_NOTICED: Final = 60
"""Seconds for which a notice waits for its page."""
_BY_SCRIPT: Final = "smalti-script"
"""A header of requests that a script sends, and whose page is loaded again."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages of a service share."""

    service: Service
    sessions: Sessions
    operations: Mapping[str, AnyOperation]
    entries: tuple[Entry, ...]
    """The navigation."""

    @property
    def is_secure(self) -> bool:
        """Whether browsers come by TLS."""
        configuration = self.service.configuration
        return configuration.certificate is not None or configuration.behind_proxy

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return _SECURE_COOKIE if self.is_secure else _COOKIE

    @property
    def notice_cookie(self) -> str:
        """The name of the cookie with what the next page says once."""
        return f"{self.cookie}-notice"


class PageEndpoint:
    """One page of a site, as an endpoint of Starlette."""

    def __init__(self, site: Site, page: Page) -> None:
        self._site, self._page = site, page

    async def respond(self, request: Request) -> HttpResponse:
        """The page, or what is wrong, whatever happens."""
        begun = time.perf_counter()
        try:
            response = await self._response(request)
        except Exception as error:  # what is not foreseen is told by its class alone (`refusal_of`)
            refusal = refusal_of(error)
            response = await run_in_threadpool(self._refused, request, refusal)
        self._site.service.measurements.answered(
            f"web.{self._page.name}", response.status_code, time.perf_counter() - begun
        )
        return response

    async def _response(self, request: Request) -> HttpResponse:
        if self._page.method == "GET":
            return await run_in_threadpool(self._handled, request, self._visit(request, Form()))
        check_origin(request)
        visit = self._visit(request, Form())
        if self._page.admits is not None:
            return await self._received(request, visit)
        if not self._page.is_for_anybody:
            visit = await run_in_threadpool(self._recognised, request, visit)
        form = await read_form(request)
        return await run_in_threadpool(self._handled, request, replace(visit, form=form))

    async def _received(self, request: Request, visit: Visit) -> HttpResponse:
        uploads = self._site.service.uploads
        visit = await run_in_threadpool(self._recognised, request, visit)

        begun = [visit]

        def admit(form: Form) -> None:
            begun[:] = [replace(visit, form=form)]
            if self._page.admits is not None:
                self._page.admits(begun[0])

        try:
            form, upload = await receive_form(request, uploads, admit)
        except Exception as error:
            refusal = refusal_of(error)
            if self._page.refuses is None or refusal.status >= 500:
                raise
            shown = self._page.refuses(begun[0], refusal)
            return await run_in_threadpool(self._sent, request, visit.asking.asker, shown)
        try:
            received = replace(visit, form=form, upload=upload)
            return await run_in_threadpool(self._handled, request, received)
        finally:
            await run_in_threadpool(uploads.discard, upload)

    def _visit(self, request: Request, form: Form) -> Visit:
        token = request.cookies.get(self._site.cookie)
        sessions, service = self._site.sessions, self._site.service
        asking = Asking(service, NOBODY, lambda: sessions.asker(token), self._site.operations)
        notice = request.cookies.get(self._site.notice_cookie, "")
        return Visit(asking, request.path_params, dict(request.query_params), form, sessions, token, notice)

    def _recognised(self, request: Request, visit: Visit) -> Visit:
        """The visit of whoever is signed in, if the page is for one of its roles; counted the first time.

        Raises:
            RefusedError: nobody is signed in (401), the page is for others (403), or there are too many
                requests (429).
        """
        if visit.asking.asker is NOBODY:
            asker = admitted(self._site.service, address_of(request), visit.asking.recognise)
        else:
            asker = visit.asking.recognise()
        if not self._page.roles & asker.roles:
            raise RefusedError(403, "forbidden", "this page is for another role")
        # What lasts, such as a stream of events, looks at the session again and does not prolong it.
        looked_at = partial(visit.sessions.asker, visit.token, renews=False)
        return replace(visit, asking=replace(visit.asking, asker=asker, recognise=looked_at))

    def _handled(self, request: Request, visit: Visit) -> HttpResponse:
        """All that blocks, in one thread."""
        if self._page.is_for_anybody:
            self._site.service.rates.admit_address(address_of(request))
        else:
            visit = self._recognised(request, visit)
        return self._sent(request, visit.asking.asker, self._page.handler(visit))

    def _sent(self, request: Request, asker: Asker | None, shown: Response) -> HttpResponse:
        match shown:
            case Shown():
                return self._page_of(request, asker, shown)
            case Moved():
                return self._moved(shown)
            case Framed():
                return HTMLResponse(shown.html, headers=_IN_FRAME)
            case Answer():
                return to_response(shown)

    def _page_of(self, request: Request, asker: Asker | None, shown: Shown) -> HttpResponse:
        left = request.cookies.get(self._site.notice_cookie, "")
        somebody = None if asker is NOBODY else asker
        roles = frozenset() if somebody is None else somebody.roles
        is_party = somebody is not None and somebody.is_party
        entries = [entry.seen(by_party=is_party) for entry in self._site.entries if entry.roles & roles]
        values = {
            "asker": somebody,
            "entries": entries,
            "here": request.url.path,
            "notice": NOTICES.get(left) if shown.status < 400 else None,
            **shown.values,
        }
        response = HTMLResponse(rendered(shown.template, values), shown.status, HEADERS)
        # The script that sends a file is led on first, and shows the page to nobody.
        if self._site.notice_cookie in request.cookies and _BY_SCRIPT not in request.headers:
            self._keep(response, self._site.notice_cookie, "", 0)
        return response

    def _moved(self, moved: Moved) -> HttpResponse:
        response = RedirectResponse(moved.place, 303, HEADERS)
        if moved.notice:
            self._keep(response, self._site.notice_cookie, moved.notice, _NOTICED)
        if moved.session is not None:
            self._keep(response, self._site.cookie, moved.session, int(LONGEST) if moved.session else 0)
        return response

    def _keep(self, response: HttpResponse, name: str, text: str, seconds: int) -> None:
        """Have the browser keep a text for this site alone; 0 seconds: no more."""
        response.set_cookie(
            name, text, max_age=seconds, path="/", secure=self._site.is_secure, httponly=True,
            samesite="strict",
        )  # fmt: skip

    def _refused(self, request: Request, refusal: RefusedError) -> HttpResponse:
        """The page of a refusal; whoever is not signed in is asked to."""
        if refusal.status == 401 and self._page.method == "GET" and not self._page.is_for_anybody:
            place = quote(request.url.path, safe="/")
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"{SIGN_IN}?next={quote(place + query, safe='')}", 303, HEADERS)
        asker = None
        try:
            asker = self._visit(request, Form()).asking.recognise()
        except Exception as error:  # the page of a refusal is shown to whoever is not recognised, too
            refusal_of(error)
        values = {"title": TITLES[refusal.code], "refusal": refusal}
        response = self._page_of(request, asker, Shown("problem.html", values, refusal.status))
        response.headers.update(refusal.headers)
        if refusal.status == 401:
            del response.headers["www-authenticate"]
        return response


def check_origin(request: Request) -> None:
    """Refuse a form that a page of another origin sent, or sent by nobody knows whom.

    Browsers say where a form comes from: by `Sec-Fetch-Site` (where they trust the connection) and by
    `Origin`. The cookie's SameSite alone would let another port or a sister domain of this host send forms.

    Raises:
        RefusedError: by 403.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        if site != "same-origin":
            raise _foreign()
    elif origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        raise _foreign()


def _foreign() -> RefusedError:
    return RefusedError(403, "forbidden", "the form was not sent by a page of this service")
