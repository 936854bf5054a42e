"""How requests are answered: by this process, or by several on one socket.

Several processes share the socket and the registry, and nothing else: who is signed in, what is revoked and
what was answered stands in the registry. uvicorn supervises them: one that dies is started again, and one
that cannot start ends the service. A process ends with the one that started it, also where that was killed.
"""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from smalti.engine.registry.registry import Registry
from smalti.errors import BackendError, SmaltiError
from smalti.service.application import application
from smalti.service.authentication import PassingKey
from smalti.service.configuration import Configuration
from smalti.service.flows import tend_until
from smalti.service.measurements import SHARED
from smalti.service.opening import open_service
from smalti.service.state import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET: Final = 5
"""Seconds for which an idle connection is kept."""
_GRACE: Final = 10
"""Seconds for requests to end once the service is stopped."""
_UNANSWERED: Final = 60
"""Seconds after which a process that does not answer its supervisor is killed; starting takes some."""
_WAITING: Final = 2048
"""Connections that wait to be taken."""
_TAKEN_AT_ONCE: Final = 1
"""Connections that one of several processes takes before it looks after those that it has. asyncio takes up
to as many as may wait; then one process takes all that come together, and the others have nothing to do."""
LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def answer_alone(service: Service, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Answer requests until the process is asked to stop.

    Args:
        service: that answers.
        listener: where connections come from.
        announce: called when they are about to be taken.
    """
    server = _Server(server_configuration(application(service), service.configuration))
    with _tending(service):
        announce()
        server.run(sockets=[listener])


def answer_by_several(
    place: str,
    configuration: Configuration,
    passing: PassingKey | None,
    listener: socket.socket,
    announce: Callable[[], None],
) -> None:
    """Let several processes answer until this one is asked to stop.

    Args:
        place: the registry's path or address.
        configuration: of the service, which was opened with it once already.
        passing: the key that ends with this process.
        listener: where connections come from.
        announce: called when they are about to be taken.

    Raises:
        BackendError: a process does not start; the log says why.
    """
    answering = _OneOfSeveral(place, configuration, passing)
    with tempfile.TemporaryDirectory(prefix="smalti-measurements-") as shared:
        os.environ[SHARED] = shared
        try:
            supervisor = Multiprocess(server_configuration(answering, configuration), [listener])
            announce()
            supervisor.run()
        finally:
            del os.environ[SHARED]
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise BackendError(
            "smalti serve",
            "a process of the service did not start",
            "one that answers",
            "see the log above",
        )


class Listener(socket.socket):
    """A socket whose connections wait, however few a process takes at once; for asyncio the two are one."""

    def listen(self, _taken_at_once: int = _WAITING, /) -> None:
        """Let connections wait."""
        super().listen(_WAITING)

    def __reduce__(self) -> tuple[Callable[..., "Listener"], tuple[object, ...]]:
        """For processes that are started."""
        return _received, (DupFd(self.fileno()), self.family, self.type, self.proto)


def _received(descriptor: Any, family: int, kind: int, protocol: int) -> Listener:
    return Listener(family, kind, protocol, fileno=descriptor.detach())


@dataclass(frozen=True, slots=True)
class _OneOfSeveral:
    """What a started process makes its application from."""

    place: str
    configuration: Configuration
    passing: PassingKey | None

    def __call__(self) -> Starlette:
        logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        try:
            service = open_service(Registry.open(self.place), self.configuration, self.passing)
        except SmaltiError as error:
            logging.getLogger("smalti.service").error("%s", error)
            sys.exit(STARTUP_FAILURE)
        if self.configuration.control_planes:
            threading.Thread(target=tend_until, args=(service, threading.Event()), daemon=True).start()
        return application(service)


def _end_with_parent() -> None:
    """Stop this process once the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class _Server(uvicorn.Server):
    """Ends in good order when it is asked to; that is how a service ends, and no interrupt of a command."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more connections; the second time, wait for no request either."""
        del sig, frame
        self.force_exit, self.should_exit = self.should_exit, True


@contextmanager
def _tending(service: Service) -> "Iterator[None]":
    """Look after data flows until the end of the block, where there can be any."""
    is_over = threading.Event()
    thread = threading.Thread(target=tend_until, args=(service, is_over), daemon=True)
    if service.configuration.control_planes:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.is_alive():
            thread.join(_GRACE)


def server_configuration(
    answering: Starlette | Callable[[], Starlette], configuration: Configuration
) -> uvicorn.Config:
    """How uvicorn answers.

    Args:
        answering: the application; or, of several processes, what makes it in each of them.
        configuration: of the service.
    """
    return uvicorn.Config(
        answering,
        factory=not isinstance(answering, Starlette),
        workers=configuration.processes,
        backlog=_WAITING if configuration.processes == 1 else _TAKEN_AT_ONCE,
        timeout_worker_healthcheck=_UNANSWERED,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=configuration.behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=_QUIET,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=configuration.certificate,
        ssl_keyfile=configuration.key,
        lifespan="off",
        ws="none",
    )
