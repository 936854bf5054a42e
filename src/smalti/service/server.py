"""The service as a process: opened, announced, served until it is stopped."""

import os
import secrets
import socket
import ssl
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from smalti.engine.registry.access import KEY_PREFIX
from smalti.engine.registry.commit import recover
from smalti.engine.registry.registry import Registry
from smalti.errors import BackendError, UsageError
from smalti.service.authentication import passing_key
from smalti.service.configuration import Configuration
from smalti.service.opening import open_service
from smalti.service.processes import Listener, answer_alone, answer_by_several
from smalti.tidying import Places, tidying
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Announcement:
    """What whoever starts the service needs, once."""

    url: str
    key: str | None
    """Generated for this process alone; None: the registry has keys, or tokens are configured."""
    party: IRI


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
        BackendError: the address cannot be used, a process does not start; or as `open_service`.
    """
    registry = Registry.open(place)
    try:
        recover(registry)
        key = _generated_key(registry, configuration)
        passing = None if key is None else passing_key(party, key)
        service = open_service(registry, configuration, passing)
        with listening(configuration) as (listener, port):
            bound = replace(configuration, port=port)
            _check_certificate(bound.certificate, bound.key)
            announcing = partial(announce, Announcement(bound.url, key, party))
            places = Places(uploads=bound.uploads, outputs=bound.outputs)
            with tidying(registry, places, bound.tidy_after):
                if bound.processes > 1:
                    answer_by_several(place, bound, passing, listener, announcing)
                else:
                    answer_alone(replace(service, configuration=bound), listener, announcing)
    finally:
        registry.close()


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
    listener = Listener(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((configuration.host, configuration.port))
            listener.listen()
        except OSError as error:
            raise BackendError(
                "address (--address)", f"it cannot be used ({os.strerror(error.errno or 0)})",
                "an address of this machine that is free", "choose another port",
            ) from None  # fmt: skip
        yield listener, listener.getsockname()[1]
    finally:
        listener.close()


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
