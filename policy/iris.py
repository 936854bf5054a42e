"""IRIs: what a policy may name, and how a column's name becomes one."""

import re
from typing import Final
from urllib.parse import quote

from smalti.vocab.terms import IRI

SCHEMES: Final = frozenset({"http", "https", "urn", "did", "mailto", "tag"})
"""Schemes of IRIs that a policy may use; any other is an undefined prefix, or leads to a file."""
_FORBIDDEN: Final = re.compile(r"[\s<>\"{}|\\^`\x00-\x20\x7f-\x9f]")  # RFC 3987, 2.2
_COMPLETE: Final = re.compile(r"https?://[^/?#@]+.*|urn:[A-Za-z0-9][A-Za-z0-9-]*:.+|(?:did|mailto|tag):.+")


def iri_problem(iri: str) -> str:
    """What keeps a text from being an absolute IRI that a policy may use; empty when nothing does.

    >>> iri_problem("http://example.com/Customer")
    ''
    >>> iri_problem("http://example.com/Store Category")
    'has a character that an IRI cannot have'
    """
    scheme, colon, _ = iri.partition(":")
    if not colon:
        return "is not an absolute IRI"
    if scheme not in SCHEMES:
        return "has a prefix or scheme that is not defined"
    if _FORBIDDEN.search(iri):
        return "has a character that an IRI cannot have"
    return "" if _COMPLETE.fullmatch(iri) else "is not a complete IRI"


def column_iri(target: IRI, name: str) -> IRI:
    """The IRI of a column that is known by its name only: the default `propertyUrl` of descriptions.

    >>> column_iri(IRI("http://example.com/Customer"), "ZIP code")
    'http://example.com/Customer/ZIP%20code'
    """
    return IRI(f"{target}/{quote(name, safe='')}")
