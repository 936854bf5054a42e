"""How IRIs name the columns of a table, and what else lies below a table."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from smalti.policy.model.iris import (
    accepted_spelling,
    fault_of_iri,
    normalised_iri,
    parts_of_iri,
    percent_encoded,
)
from smalti.vocab.terms import IRI

_RESERVED: Final = re.compile(r"[:@!$&'()*+,;=\[\]]")
_MARKS: Final = ("/", "#", "?")
_BEYOND_A_NAME: Final = re.compile(r"[/?#]")


def column_iri(target: IRI, name: str) -> IRI:
    """The IRI of a column that is known by its name only: the default `propertyUrl` of descriptions.

    >>> column_iri(IRI("http://example.com/Customer"), "ZIP code")
    'http://example.com/Customer/ZIP%20code'
    """
    return accepted_spelling(f"{target}/{quote(name, safe='')}")


def is_column_of(table: str, iri: str) -> bool:
    """Whether an IRI names a column of a table: the table's IRI, a slash and one name, in any spelling.

    The name is not looked up: the data may have no such column.

    >>> is_column_of("http://example.com/C", "http://example.com/C/Name")
    True
    >>> is_column_of("http://example.com/C", "http://example.com/C/2024/Name")
    False
    """
    stem = normalised_column(table) + "/"
    column = normalised_column(iri)
    name = column.removeprefix(stem)
    return column.startswith(stem) and bool(name) and not _BEYOND_A_NAME.search(name)


def is_below(table: str, iri: str) -> bool:
    """Whether an IRI lies below a table's, and is not that of a column of it (`is_column_of`).

    Case is ignored: it makes another IRI, which may be meant as the same.

    >>> is_below("http://example.com/C", "http://example.com/C#Name")
    True
    >>> is_below("http://example.com/C", "http://example.com/C/Name")
    False
    >>> is_below("http://example.com/C", "http://example.com/c/Name")
    True
    >>> is_below("http://example.com/C/", "http://example.com/C/Name")
    True
    """
    names = {table.lower(), normalised_column(table).lower()}
    stems = tuple(name if name.endswith(mark) else f"{name}{mark}" for name in names for mark in _MARKS)
    spelled = {iri.lower(), normalised_column(iri).lower()}
    starts = names.isdisjoint(spelled) and any(spelling.startswith(stems) for spelling in spelled)
    return starts and not is_column_of(table, iri)


def parts_of_others(iris: Iterable[IRI]) -> dict[IRI, tuple[IRI, ...]]:
    """Those of some IRIs that name a column of another one, or lie below it, each with all such others.

    As `is_column_of` and `is_below`, without comparing each with each.

    >>> parts_of_others([IRI("http://example.com/C#Name"), IRI("http://example.com/C")])
    {'http://example.com/C#Name': ('http://example.com/C',)}
    """
    texts = {(text.lower(), iri) for iri in set(iris) for text in (iri, normalised_column(iri))}
    parts: dict[IRI, dict[IRI, None]] = {}
    begun: list[tuple[str, IRI]] = []
    # In this order, whatever begins with a text follows it at once.
    for text, iri in sorted(texts):
        while begun and not text.startswith(begun[-1][0]):
            begun.pop()
        near = [whole for stem, whole in begun if stem[-1:] in _MARKS or text[len(stem) :][:1] in _MARKS]
        for whole in near:
            if whole != iri and (is_column_of(whole, iri) or is_below(whole, iri)):
                parts.setdefault(iri, {})[whole] = None
        begun.append((text, iri))
    return {iri: tuple(wholes) for iri, wholes in parts.items()}


def table_of(iri: str) -> IRI | None:
    """The IRI of the table that an IRI may name a column of (`is_column_of`), as it is written.

    >>> table_of("http://example.com/C/Name")
    'http://example.com/C'
    """
    table, _, name = iri.rpartition("/")
    if not name or _BEYOND_A_NAME.search(name) or fault_of_iri(table):
        return None
    return IRI(table)


@lru_cache(maxsize=1 << 16)
def normalised_column(iri: str) -> IRI:
    """The one spelling of a column's IRI: as `normalised_iri`, and with names as CSVW has them.

    In a last part that is a name, and in the path and fragment of a web address, reserved characters are
    encoded, as in the default `propertyUrl` of a column (CSVW metadata, 5.6): `a:b` and `a%3Ab` name one
    column.

    >>> normalised_column("http://example.com/T/Größe")
    'http://example.com/T/Gr%C3%B6%C3%9Fe'
    >>> normalised_column("http://example.com/T/Gr%c3%b6%c3%9fe")
    'http://example.com/T/Gr%C3%B6%C3%9Fe'
    >>> normalised_column("http://example.com/T/%41ge")
    'http://example.com/T/Age'
    >>> normalised_column("http://example.com/T/a:b")
    'http://example.com/T/a%3Ab'
    """
    start, path, query, fragment = parts_of_iri(normalised_iri(iri))
    return IRI(
        start + _RESERVED.sub(percent_encoded, path) + query + _RESERVED.sub(percent_encoded, fragment)
    )
