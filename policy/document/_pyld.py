"""PyLD without the HTTP libraries of its default loader, which is never used here.

Where `requests` is installed, PyLD imports it, and with it urllib3, which opens a socket to see whether the
machine speaks IPv6. Nothing that reads a policy opens a socket. Other code in the process keeps PyLD's
default loader: it is created on its first use.
"""

import sys
from contextlib import suppress
from typing import Any, Final

_LIBRARIES: Final = ("requests", "aiohttp")


def import_jsonld() -> Any:
    """The module `pyld.jsonld`."""
    if "pyld.jsonld" in sys.modules:
        from pyld import jsonld  # noqa: PLC0415

        return jsonld
    hidden = [name for name in _LIBRARIES if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment] # so that PyLD does not find it
    try:
        from pyld import jsonld  # noqa: PLC0415
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
    if hidden:
        jsonld.set_document_loader(_load)
    return jsonld


def _load(url: str, options: dict[str, Any]) -> Any:
    """What PyLD's default loader makes of an address."""
    from pyld import jsonld  # noqa: PLC0415

    chosen = jsonld.dummy_document_loader()
    for make in (jsonld.aiohttp_document_loader, jsonld.requests_document_loader):
        with suppress(ImportError):
            chosen = make()
    jsonld.set_document_loader(chosen)
    return chosen(url, options)
