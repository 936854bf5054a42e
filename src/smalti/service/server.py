"""The service as a process: opened, announced, served until it is stopped."""

import os
import secrets
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import uvicorn

from smalti.engine.registry.access import KEY_PREFIX
from smalti.engine.registry.commit import recover
from smalti.engine.registry.registry import Registry
from smalti.errors import BackendError, UsageError
from smalti.service.application import application
from smalti.service.authentication import Authentication, PassingKey, passing_key
from smalti.service.configuration import Configuration, check_configuration
from smalti.service.flows import tend_until
from smalti.service.measurements import Measurements
from smalti.service.rates import rates_of
from smalti.service.state import Service
from smalti.service.tokens import Tokens
from smalti.service.uploads import Uploads, make_private
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAITING: Final = 2048
"""Connections that wait to be taken."""
_QUIET: Final = 5
"""Seconds for which an idle connection is kept."""
_GRACE: Final = 10
"""Seconds for requests to end once the service is stopped."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What whoever starts the service needs, once."""

    url: str
    key: str | None
    """Generated for this process alone; None: the registry has keys, or tokens are configured."""
    party: IRI


def open_service(registry: Registry, configuration: Configuration, passing: PassingKey | None) -> Service:
    """A service on an open registry, ready for requests.

    Raises:
        UsageError: it may not be started so, or a folder or file of the configuration cannot be used.
        BackendError: the keys of the issuer of tokens cannot be fetched.
        RegistryError: the registry cannot be read.
    """
    has_entries = passing is not None or any(entry.is_in_force for entry in registry.access.listed())
    check_configuration(configuration, has_entries=has_entries)
    uploads = Uploads(configuration.uploads, configuration.upload_limit)
    uploads.prepare()
    make_private(configuration.outputs, "--outputs")
    tokens = None if configuration.tokens is None else Tokens(configuration.tokens)
    apart = registry if registry.path is None else Registry.open(registry.path, log_decisions=False)
    authentication = Authentication(apart, tokens, passing)
    rates = rates_of(configuration.rate_of_party, configuration.rate_of_address)
    return Service(
        registry, configuration, authentication, uploads, configuration.outputs, Measurements(), rates
    )


def serve(
    place: str, configuration: Configuration, party: IRI, announce: Callable[[Announcement], None]
) -> None:
    """Serve until the process is stopped.

    Args:
        place: the registry's path or address.
        configuration: how.
        party: as whom a generated key asks, where one is needed.
        announce: called once requests are taken.

    Raises:
        UsageError: as `open_service`.
        BackendError: the address cannot be used; or as `open_service`.
    """
    registry = Registry.open(place)
    try:
        recover(registry)
        key = _generated_key(registry, configuration)
        service = open_service(registry, configuration, None if key is None else passing_key(party, key))
        with listening(configuration) as (listener, port):
            bound = replace(configuration, port=port)
            service = replace(service, configuration=bound)
            server = _Server(_server_configuration(service))
            with _tending(service):
                announce(Announcement(bound.url, key, party))
                server.run(sockets=[listener])
    finally:
        registry.close()


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


def _generated_key(registry: Registry, configuration: Configuration) -> str | None:
    """A key for this process, where nobody could ask otherwise, and nobody else is near."""
    is_needed = configuration.tokens is None and not any(
        entry.is_in_force for entry in registry.access.listed()
    )
    return f"{KEY_PREFIX}{secrets.token_urlsafe(32)}" if is_needed and configuration.is_local else None


@contextmanager
def listening(configuration: Configuration) -> "Iterator[tuple[socket.socket, int]]":
    """The socket that connections are taken from, and its port.

    Raises:
        BackendError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in configuration.host else socket.AF_INET
    # asyncio sends small packets at once only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((configuration.host, configuration.port))
            listener.listen(_WAITING)
        except OSError as error:
            raise BackendError(
                "address (--address)", f"it cannot be used ({os.strerror(error.errno or 0)})",
                "an address of this machine that is free", "choose another port",
            ) from None  # fmt: skip
        yield listener, listener.getsockname()[1]
    finally:
        listener.close()


def _server_configuration(service: Service) -> uvicorn.Config:
    configuration = service.configuration
    _check_certificate(configuration.certificate, configuration.key)
    return uvicorn.Config(
        application(service),
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


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if certificate is None or key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, _no_password)
    except (OSError, ssl.SSLError):
        raise UsageError(
            "TLS (--tls-cert, --tls-key)", "the files cannot be used",
            "a certificate and its private key without password, in PEM", "check the two files",
        ) from None  # fmt: skip


def _no_password() -> str:
    """Ask nobody: a service has no terminal."""
    return ""
