"""Templates, and how texts, times, sizes and IRIs are written in them."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from smalti.service.web.page import HOME

STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "smalti.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages name, with their content types."""
_PARTS: Final = re.compile("[#/:]")
_OPTION: Final = re.compile(r" \(--[a-z-]+\)")
_VOCABULARY: Final = re.compile(
    r"(?<![\w:/])(?:(?:smalti|mosaicrown|odrl|dct|dpv):(?=[A-Za-z])|https://w3id\.org/smalti#"
    r"|https://www\.mosaicrown\.eu/ns/mosaicrown/1/|http://www\.w3\.org/ns/odrl/2/)(?=\w)"
)
_OPERATORS: Final = {
    "eq": "equal to", "neq": "other than", "gteq": "at least", "lteq": "at most",
    "gt": "above", "lt": "below",
}  # fmt: skip
_COMPARED: Final = re.compile(rf"`([^`\s]+) ({'|'.join(_OPERATORS)}) ([^`]+)`")
_UNMET: Final = re.compile(r"its (?:refinement|constraint) (`[^`]+`) is unsatisfied")
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


def rendered(template: str, values: Mapping[str, object]) -> str:
    """A template, filled; every inserted text is escaped.

    Raises:
        TemplateError: of jinja2; a fault of ours.
    """
    return _environment().get_template(template).render(values)


@cache
def static_file(name: str) -> bytes:
    """A file that pages name; one of `STATIC`."""
    return files("smalti.service.web").joinpath("static", name).read_bytes()


@cache
def asset(name: str) -> str:
    """The address of such a file, which changes with its content."""
    return f"{HOME}static/{name}?v={hashlib.sha256(static_file(name)).hexdigest()[:12]}"


def link(path: str, **query: object) -> str:
    """The address of a page.

    >>> link("policy", uid="http://example.com/a#b")
    '/web/policy?uid=http%3A%2F%2Fexample.com%2Fa%23b'
    """
    stated = {name: text for name, text in query.items() if text not in (None, "")}
    return f"{HOME}{quote(path)}" + (f"?{urlencode(stated)}" if stated else "")


def short(iri: object) -> str:
    """The last part of an IRI, as a title where there is none.

    >>> short("http://example.com/party/owner"), short("urn:uuid:1f"), short("http://example.com/")
    ('owner', '1f', 'http://example.com/')
    """
    whole = str(iri)
    text = whole.rstrip("/#")
    last = _PARTS.split(text)[-1]
    return whole if not last or text.endswith(f"//{last}") else last


def plain(text: str) -> str:
    """A text without the names of options of the command line that places have.

    >>> plain("purpose (--purpose): it is no IRI")
    'purpose: it is no IRI'
    """
    return _OPTION.sub("", text)


def worded(text: str) -> str:
    """A message in words: no prefixes, IRIs of a vocabulary, or names of operators.

    >>> worded("`smalti:respondent` `eq` a column")
    '`respondent` `eq` a column'
    >>> worded("`https://www.mosaicrown.eu/ns/mosaicrown/1/k` is 1, in `http://example.com/Customer`")
    '`k` is 1, in `http://example.com/Customer`'
    >>> worded("its refinement `k gteq 2` is unsatisfied")
    'it asks for `k at least 2`'
    """
    text = _VOCABULARY.sub("", text)
    text = _COMPARED.sub(lambda match: f"`{match[1]} {_OPERATORS[match[2]]} {match[3]}`", text)
    return _UNMET.sub(r"it asks for \1", text)


def moment(written: str | datetime) -> str:
    """A time as people read it, to the minute, in UTC.

    >>> moment("2026-02-03T04:05:06+00:00")
    '2026-02-03 04:05 UTC'
    """
    time = datetime.fromisoformat(written) if isinstance(written, str) else written
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def size(count: int | None) -> str:
    """A number of bytes as people read it.

    >>> size(999), size(1536), size(None)
    ('999 bytes', '1.5 kB', '')
    """
    if count is None:
        return ""
    number, unit = float(count), 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{count} bytes" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("smalti.service.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "short": short,
        "moment": moment,
        "plain": plain,
        "worded": worded,
        "size": size,
        "thousands": "{:,}".format,
    }
    environment.filters["pair"] = lambda name: (name, name)
    environment.filters["zipped"] = lambda names, others: list(zip(names, others, strict=True))
    environment.globals |= {"asset": asset, "link": link, "home": HOME, "once": secrets.token_urlsafe}
    return environment
