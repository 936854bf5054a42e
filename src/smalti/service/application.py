"""The service as an ASGI application: a route for each operation of the table."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smalti.json.text import as_json
from smalti.service.asking import refused
from smalti.service.handling import Endpoint, to_response
from smalti.service.openapi import document
from smalti.service.operations import Answer, AnyOperation
from smalti.service.problems import RefusedError, refusal_of
from smalti.service.routes import (
    audits,
    budgets,
    data,
    decisions,
    evaluations,
    jobs,
    owners,
    permissions,
    policies,
    previews,
    signaling,
    status,
    targets,
)
from smalti.service.state import Service
from smalti.service.web.site import routes_of, to_home, wants_page

OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    *decisions.OPERATIONS, *evaluations.OPERATIONS, *status.OPERATIONS, *policies.OPERATIONS,
    *data.OPERATIONS, *permissions.OPERATIONS, *targets.OPERATIONS, *previews.OPERATIONS,
    *budgets.OPERATIONS, *jobs.OPERATIONS, *audits.OPERATIONS, *signaling.OPERATIONS, *owners.OPERATIONS,
)  # fmt: skip
"""All operations of the service; routes are tried in this order, and decisions are asked for most."""
_CODES: Final = {404: "not-found", 405: "method-not-allowed"}


def application(service: Service) -> Starlette:
    """The application of a service."""
    described = as_json(document(OPERATIONS)).encode()

    async def openapi(_: Request) -> Response:
        return to_response(Answer(described))

    routes = [
        Route(
            operation.path,
            _for_browsers(operation, Endpoint(service, operation)),
            methods=[operation.method],
        )
        for operation in OPERATIONS
    ]
    return Starlette(
        routes=[
            *routes,
            Route("/openapi.json", openapi, methods=["GET"]),
            *routes_of(service, OPERATIONS),
        ],
        exception_handlers={HTTPException: _unrouted, Exception: _failed},
    )


def _for_browsers(operation: AnyOperation, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint; that of the first path leads browsers to the pages."""
    if operation.path != "/":
        return endpoint.respond

    async def start(request: Request) -> Response:
        return to_home() if wants_page(request) else await endpoint.respond(request)

    return start


async def _unrouted(_: Request, error: Exception) -> Response:
    status_code = error.status_code if isinstance(error, HTTPException) else 500
    headers = getattr(error, "headers", None) or {}
    code = _CODES.get(status_code, "bad-request")
    return to_response(refused(RefusedError(status_code, code, "see /openapi.json", headers=headers)))


async def _failed(_: Request, error: Exception) -> Response:
    return to_response(refused(refusal_of(error)))
