"""Synthetic records as numbers of public values, as texts, and read again.

A value is a category of its column, from 0, or the units of a number above its lower bound. Of a number the
model chooses an interval: interval i of n holds the units u with floor(u n / units) = i.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.backends.staged import StagedTable
from smalti.engine.losses.coded_reports import coded_reports
from smalti.engine.losses.public_tables import read_table
from smalti.engine.losses.units import texts_of_units
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.writing import open_writer
from smalti.engine.training.plan import CategoryFeature, Feature, NumberFeature
from smalti.engine.training.records import coded, grid_of
from smalti.engine.training.synthesis_plan import SynthesisPlan, Synthesize
from smalti.policy.model.column_iris import column_iri
from smalti.transforms.base import Datatype
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.gower import MixedColumns
from smalti.transforms.problem import Integers

_ROWS: Final = 1 << 17


def exact_records(plan: SynthesisPlan, table: StagedTable) -> Integers:
    """The first row of each respondent as values, in the order of their content; private.

    Rows without a respondent are left out; with one row each, every row counts.

    Args:
        plan: says who respondents are, and what is public of the columns.
        table: without the rows of those who withdrew.

    Returns:
        Shape (respondents, columns).

    Raises:
        BackendError: the machine. Nothing about the values is ever raised.
    """
    reports = coded_reports(plan.read, [coded(feature) for feature in plan.synthesize.columns], table)
    return np.stack([np.repeat(column, reports.respondents) for column in reports.codes], axis=1)


def values_of(feature: Feature) -> int:
    """How many values a column has."""
    return grid_of(feature).width + 1 if isinstance(feature, NumberFeature) else feature.size


def chosen(synthesize: Synthesize, values: Integers) -> Integers:
    """What the model sees of records: the category of each column, or the interval of its number."""
    sizes = np.array([values_of(feature) for feature in synthesize.columns])
    choices: Integers = values * np.array(synthesize.choices) // sizes
    return choices


def drawn_within(synthesize: Synthesize, choices: Integers, generator: np.random.Generator) -> Integers:
    """Values of choices: each unit of an interval is as likely.

    Args:
        synthesize: says columns and choices.
        choices: shape (records, columns).
        generator: fresh from the operating system, but for tests.
    """
    sizes = np.array([values_of(feature) for feature in synthesize.columns])
    numbers = np.array(synthesize.choices)
    first, end = -(-choices * sizes // numbers), -(-(choices + 1) * sizes // numbers)
    values: Integers = generator.integers(first, end)
    return values


def mixed_columns(synthesize: Synthesize) -> MixedColumns:
    """What distances between records are measured by: public bounds."""
    bounds = [
        (float(feature.lower), float(feature.upper - feature.lower))
        if isinstance(feature, NumberFeature)
        else (0.0, 0.0)
        for feature in synthesize.columns
    ]
    lowest, ranges = np.array(bounds).T
    ordered = np.array([isinstance(feature, NumberFeature) for feature in synthesize.columns])
    return MixedColumns(lowest, ranges, ordered)


def mixed_records(synthesize: Synthesize, values: Integers) -> Doubles:
    """Values as attacks compare them: what a number is, and which category.

    Args:
        synthesize: says columns.
        values: shape (records, columns).
    """
    scales = [
        (float(feature.lower), float(feature.unit)) if isinstance(feature, NumberFeature) else (0.0, 1.0)
        for feature in synthesize.columns
    ]
    lowest, units = np.array(scales).T
    records: Doubles = lowest + units * values
    return records


def in_order(records: Integers) -> Integers:
    """The records in the order of their values, by the first column first."""
    return records[np.lexsort(records.T[::-1])]


def write_records(plan: SynthesisPlan, records: Integers, path: Path) -> None:
    """Write a new file.

    Args:
        plan: says columns and format.
        records: shape (records, columns): values, in the order in which they are written.
        path: of the file.
    """
    names, form = plan.select.kept, OutputFormat(plan.write.format)
    with closing(open_writer(path, names, form)) as writer:
        for start in range(0, len(records), _ROWS):
            part = records[start : start + _ROWS]
            arrays = [
                _texts(feature, part[:, place]) for place, feature in enumerate(plan.synthesize.columns)
            ]
            writer.write(pa.RecordBatch.from_arrays(arrays, names=list(names)))


def _texts(feature: Feature, values: Integers) -> pa.Array:
    if isinstance(feature, CategoryFeature):
        first = int(feature.has_missing)
        indices = pa.array(values - first, pa.int32(), mask=values < first)
        return pa.DictionaryArray.from_arrays(indices, pa.array(feature.values, pa.large_string()))
    distinct, places = np.unique(values, return_inverse=True)
    texts = pa.array(texts_of_units(feature.lower, feature.unit, distinct.tolist()), pa.large_string())
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), texts)


def read_records(path: Path, columns: tuple[Feature, ...]) -> Integers | None:
    """The values of a published table; None where its columns are others, or a text is no value of one.

    Args:
        path: of the file.
        columns: that are promised, in their order.

    Raises:
        DataError: it is no table.
    """
    table = read_table(path)
    if table.column_names != [feature.column for feature in columns]:
        return None
    values = np.empty((table.num_rows, len(columns)), np.int64)
    for place, feature in enumerate(columns):
        texts = table.column(feature.column).to_pylist()
        numbers = dict(_written(feature, {text or None for text in texts}))
        if any((text or None) not in numbers for text in texts):
            return None
        values[:, place] = [numbers[text or None] for text in texts]
    return values


def _written(feature: Feature, texts: set[str | None]) -> Iterator[tuple[str | None, int]]:
    """Those of some texts that are values of a column, with their numbers."""
    if isinstance(feature, CategoryFeature):
        domain = (*([None] if feature.has_missing else []), *feature.values)
        yield from ((text, number) for number, text in enumerate(domain) if text in texts)
        return
    units = range(values_of(feature))
    for text, number in zip(texts_of_units(feature.lower, feature.unit, units), units, strict=True):
        if text in texts:
            yield text, number


def output_columns(plan: SynthesisPlan) -> tuple[OutputColumn, ...]:
    """The columns, as a later description of the output needs them."""
    return tuple(
        OutputColumn(
            feature.column,
            column_iri(plan.write.output, feature.column),
            Datatype.DECIMAL if isinstance(feature, NumberFeature) else Datatype.STRING,
        )
        for feature in plan.synthesize.columns
    )
