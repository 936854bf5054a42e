"""All pages of the service, and their routes."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from smalti.service.operations import AnyOperation
from smalti.service.state import Service
from smalti.service.web import (
    ask,
    audits,
    budgets,
    data,
    entrance,
    health,
    home,
    jobs,
    outputs,
    owners,
    policies,
    studies,
)
from smalti.service.web.handling import HEADERS, PageEndpoint, Site
from smalti.service.web.page import HOME, Entry, Page
from smalti.service.web.rendering import STATIC, static_file
from smalti.service.web.sessions import Sessions

_MODULES: Final = (
    entrance, home, data, policies, outputs, budgets, owners, ask, studies, audits, jobs, health,
)  # fmt: skip
PAGES: Final[tuple[Page, ...]] = (
    *(page for module in _MODULES for page in module.PAGES), home.ELSEWHERE,
)  # fmt: skip
"""All pages."""
ENTRIES: Final[tuple[Entry, ...]] = tuple(
    entry for module in _MODULES for entry in getattr(module, "ENTRIES", ())
)
"""The navigation, in its order."""
_FOR_A_DAY: Final = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}


def routes_of(service: Service, operations: Iterable[AnyOperation]) -> list[BaseRoute]:
    """The routes of all pages of a service."""
    named = {operation.name: operation for operation in operations}
    site = Site(service, Sessions(service.authentication), named, ENTRIES)
    pages = [
        Route(f"{HOME}{page.path}", PageEndpoint(site, page).respond, methods=[page.method])
        for page in PAGES
    ]
    files = [Route(f"{HOME}static/{name}", _static(name), methods=["GET"]) for name in STATIC]
    return [*files, *pages, Route(HOME.rstrip("/"), _enter, methods=["GET"])]


def wants_page(request: Request) -> bool:
    """Whether a browser asks, and no program."""
    return "text/html" in request.headers.get("accept", "")


def to_home() -> Response:
    """Lead a browser to the pages."""
    return RedirectResponse(HOME, 303, HEADERS)


async def _enter(_: Request) -> Response:
    return to_home()


def _static(name: str) -> Callable[[Request], Awaitable[Response]]:
    content, media_type = static_file(name), STATIC[name]

    async def send(_: Request) -> Response:
        return Response(content, media_type=media_type, headers=_FOR_A_DAY)

    return send
