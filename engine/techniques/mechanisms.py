"""From the nodes of a plan to the transforms that carry them out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.binding.ladders import NO_HIERARCHIES, Hierarchies, column_ladders
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    Recoded,
)
from smalti.engine.plan.plan import Column
from smalti.engine.techniques.grouped_values import stated_hierarchy
from smalti.errors import DataError, InternalError
from smalti.transforms.masking.additive_noise import AdditiveNoise, Distribution
from smalti.transforms.masking.coding import coded
from smalti.transforms.masking.pseudonyms import pseudonyms
from smalti.transforms.masking.recoding import at_level, intervals
from smalti.transforms.values.texts import Codebook, ValueFormError, make_codebook

Recoding: TypeAlias = Callable[[pa.Array], pa.Array]
"""From distinct present texts to those that are published in their place; null is missing."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What techniques need beside a plan; none of it is recorded."""

    key: bytes = field(default=b"", repr=False)
    """Of pseudonyms; empty where there are none."""
    hierarchies: Hierarchies = field(default_factory=lambda: NO_HIERARCHIES)
    """Those that the plan has the digests of."""


def noise_of(column: Noisy) -> AdditiveNoise:
    """The noise of a column.

    Raises:
        ValueError: it cannot be drawn.
    """
    lower, upper = (None if each is None else Fraction(each) for each in (column.lower, column.upper))
    return AdditiveNoise(
        Distribution(column.distribution), Fraction(column.scale), Fraction(column.unit), lower, upper
    )


def recoding_of(node: MaskedColumn, column: Column, secrets: Secrets, rare: pa.Array) -> Recoding | None:
    """What is published in the place of each text of a column; None where that depends on the row.

    Args:
        node: of a plan.
        column: as the plan reads it.
        secrets: of the run.
        rare: of cell suppression, the rare texts.
    """

    def recode(texts: pa.Array) -> pa.Array:
        try:
            return _recoded(node, column, secrets, rare, texts)
        except ValueFormError:
            raise DataError(
                f"column `{column.name}`",
                f"a value is not a valid {column.datatype}",
                "the plan's datatype",
            ) from None

    return None if isinstance(node, Noisy | Averaged) else recode


def _recoded(
    node: MaskedColumn, column: Column, secrets: Secrets, rare: pa.Array, texts: pa.Array
) -> pa.Array:
    match node:
        case Coded(top=top, bottom=bottom):
            return coded(texts, column.datatype, column.time_zone, top, bottom)
        case AtLevel(level=level):
            book = codebook_of(column, texts)
            stated = stated_hierarchy(column, secrets.hierarchies)
            return at_level(book, column_ladders(column, book.texts, stated)[0], level)
        case Recoded(width=width, start=start):
            return intervals(codebook_of(column, texts), Fraction(width), Fraction(start))
        case Pseudonymized():
            return pseudonyms(texts, column.datatype, secrets.key)
        case RareCells():
            is_rare = pc.is_in(texts, value_set=rare.cast(texts.type))
            return pc.if_else(is_rare, pa.scalar(None, texts.type), texts)
        case Noisy() | Averaged():
            raise InternalError("what depends on rows was to be recoded by texts")
        case _:
            assert_never(node)


def codebook_of(column: Column, texts: pa.Array) -> Codebook:
    """The values of a column's texts.

    Raises:
        ValueFormError: a text is no value of the datatype.
    """
    return make_codebook(texts, column.datatype, column.time_zone, has_missing=False)
