"""The values of an action's refinements, by operand and type."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TypeAlias

from smalti.errors import PlanError
from smalti.policy.model.model import Anonymization, Named, Number, Text, Value
from smalti.vocab.terms import IRI

Said: TypeAlias = Mapping[IRI, tuple[Value, ...]]
"""By operand, its values."""


def numbers(said: Said, operand: IRI) -> tuple[Decimal, ...]:
    """The numbers among the values of an operand."""
    return tuple(value.value for value in said.get(operand, ()) if isinstance(value, Number))


def least(said: Said, operand: IRI) -> Decimal | None:
    """The least number of an operand, which a bound from above leaves; None: there is none."""
    return min(numbers(said, operand), default=None)


def texts(said: Said, operand: IRI) -> frozenset[str]:
    """The texts among the values of an operand."""
    return frozenset(value.text for value in said.get(operand, ()) if isinstance(value, Text))


def iris(said: Said, operand: IRI) -> frozenset[IRI]:
    """The IRIs among the values of an operand."""
    return frozenset(value.iri for value in said.get(operand, ()) if isinstance(value, Named))


def columns_of_rows(wanted: Anonymization, what: str, expected: str) -> Iterator[PlanError]:
    """Refuse columns that a policy wants published in rows, where noise is published: no word is ignored.

    Args:
        wanted: by the policy.
        what: the words are about, in a message.
        expected: in their place.
    """
    columns = {
        "mosaicrown:quasi-identifier": wanted.quasi_identifiers,
        "mosaicrown:sensitive": wanted.sensitive,
        "smalti:released": wanted.released,
    }
    for word, named in columns.items():
        if named:
            yield PlanError(str(named[0].where), f"`{word}` is about {what}", expected, "leave it out")
