"""The table of a perturbation: one row for each respondent; written, and read again for estimates."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.losses.units import texts_of_units
from smalti.engine.perturbation.draw import NoisyColumn
from smalti.engine.perturbation.images import Steps, encoded, steps_of_images
from smalti.engine.perturbation.mechanisms import pixelation_of
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.writing import open_writer
from smalti.policy.model.column_iris import column_iri
from smalti.transforms.base import Datatype
from smalti.transforms.problem import Integers

_ROWS: Final = 1 << 17
_BYTES: Final = 1 << 24
"""Of a column's values that are written at a time."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,200}(\.[0-9]{1,200})?", re.ASCII)


def write_table(plan: PerturbationPlan, noisy: Sequence[NoisyColumn], path: Path) -> None:
    """Write a new file.

    Args:
        plan: says columns and format.
        noisy: by column the values of all records, in the order in which they are written.
        path: of the file.
    """
    names = plan.select.kept
    with closing(open_writer(path, names, plan.write.format)) as writer:
        at_once = max(min([_ROWS, *(_BYTES // max(values[:1].nbytes, 1) for values in noisy)]), 1)
        for start in range(0, len(noisy[0]), at_once):
            arrays = [
                _texts(column, values[start : start + at_once])
                for column, values in zip(plan.perturbed, noisy, strict=True)
            ]
            writer.write(pa.RecordBatch.from_arrays(arrays, names=list(names)))


def _texts(column: PerturbedColumn, values: NoisyColumn) -> pa.Array:
    if isinstance(column, PerturbedImage):
        return encoded(values.astype(np.uint8))
    codes = values.astype(np.int64)
    if isinstance(column, PerturbedCategory):
        first = int(column.has_missing)
        indices = pa.array(codes - first, pa.int32(), mask=codes < first)
        return pa.DictionaryArray.from_arrays(indices, pa.array(column.values, pa.large_string()))
    distinct, indices = np.unique(codes, return_inverse=True)
    texts = pa.array(written(column, distinct.tolist()), pa.large_string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), texts)


def written(column: PerturbedNumber, units: Iterable[int]) -> list[str]:
    """Numbers as they are published: exact, with as many places as the lower bound or the unit has.

    Args:
        column: says bounds and unit.
        units: above its lower bound.
    """
    return texts_of_units(column.lower, column.unit, units)


def steps_of(column: PerturbedColumn, texts: pa.ChunkedArray) -> Steps | None:
    """How the values of a column follow each other; None where a text is not of that column."""
    if isinstance(column, PerturbedImage):
        return steps_of_images((text.as_py() for text in texts), *pixelation_of(column).shape)
    codes = codes_of(column, texts)
    if codes is None:
        return None
    before, after = codes[:-1], codes[1:]
    return (before < after).astype(np.int8) - (before > after).astype(np.int8)


def codes_of(
    column: PerturbedCategory | PerturbedNumber, texts: pa.ChunkedArray | pa.Array
) -> Integers | None:
    """The inverse of what is written: by row the noisy code; None where a text is not of that column."""
    numbered = pc.dictionary_encode(texts.cast(pa.string()), null_encoding="encode")
    chunks = numbered.chunks if isinstance(numbered, pa.ChunkedArray) else [numbered]
    parts = []
    for chunk in chunks:
        codes = _codes_of_texts(column, chunk.dictionary.to_pylist())
        if codes is None:
            return None
        parts.append(codes[chunk.indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _codes_of_texts(
    column: PerturbedCategory | PerturbedNumber, texts: list[str | None]
) -> Integers | None:
    if isinstance(column, PerturbedCategory):
        places = {text: number for number, text in enumerate(column.domain)}
        codes: Iterator[int | None] = (places.get(text or None) for text in texts)
    else:
        codes = (_units(column, text) for text in texts)
    numbers = list(codes)
    return None if None in numbers else np.array(numbers, np.int64)


def _units(column: PerturbedNumber, text: str | None) -> int | None:
    if text is None or not _NUMBER.fullmatch(text):
        return None
    units = (Fraction(Decimal(text)) - Fraction(column.lower)) / Fraction(column.unit)
    number = int(units)
    return number if units.denominator == 1 and -(1 << 63) <= number < 1 << 63 else None


def output_columns(plan: PerturbationPlan) -> tuple[OutputColumn, ...]:
    """The columns, as a later description of the output needs them."""
    return tuple(
        OutputColumn(
            column.column,
            column_iri(plan.write.output, column.column),
            Datatype.DECIMAL if isinstance(column, PerturbedNumber) else Datatype.STRING,
        )
        for column in plan.perturbed
    )
