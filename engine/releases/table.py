"""The table of a release: one row for each noisy value, in the order of the plan."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from smalti.engine.plan.origins import Change, ColumnOrigin, Origins
from smalti.engine.plan.plan import columns_of_respondent
from smalti.engine.plan.values import NoisyValue
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.releases.plan import ReleasePlan, StatisticKind
from smalti.engine.tables.writing import open_writer
from smalti.policy.model.column_iris import column_iri
from smalti.transforms.base import Datatype

BEFORE = ("statistic",)
"""Columns before the keys."""
AFTER = ("level", "value", "lower", "upper", "confidence", "scale")
"""Columns behind them: of a quantile its level; the noisy value; its interval at a confidence, from the
noise alone; the scale of the noise."""


def key_columns(plan: ReleasePlan) -> dict[str, str]:
    """The name in the table of each input column that a statistic is grouped by."""
    grouped = [
        key.column
        for statistic in plan.statistics
        for key in statistic.keys[: len(statistic.keys) - statistic.choices]
    ]
    taken = {*BEFORE, *AFTER}
    named: dict[str, str] = {}
    for column in dict.fromkeys(grouped):
        name = column
        while name in taken:
            name += " (key)"
        taken.add(name)
        named[column] = name
    return named


def header(plan: ReleasePlan) -> tuple[str, ...]:
    """The columns of the table; which ones depends on the plan alone."""
    return (*BEFORE, *key_columns(plan).values(), *AFTER)


def write_table(plan: ReleasePlan, values: Iterable[NoisyValue], path: Path) -> None:
    """Write a new file.

    Args:
        plan: says columns and format.
        values: in the order in which they are written.
        path: of the file.
    """
    names, rows = key_columns(plan), list(values)
    confidence = format(plan.write.confidence, "f")
    columns: list[Sequence[str | None]] = [
        [row.statistic for row in rows],
        *([row.keys.get(column) for row in rows] for column in names),
        [row.level or None for row in rows],
        [row.value for row in rows],
        [row.lower or None for row in rows],
        [row.upper or None for row in rows],
        [confidence if row.lower else None for row in rows],
        [row.scale for row in rows],
    ]
    arrays = [pa.array(column, pa.string()) for column in columns]
    with closing(open_writer(path, header(plan), plan.write.format)) as writer:
        writer.write(pa.RecordBatch.from_arrays(arrays, names=list(header(plan))))


def origins_of(plan: ReleasePlan) -> Origins:
    """Where the columns of the table come from."""
    keys = key_columns(plan)
    measured = {
        column
        for statistic in plan.statistics
        for column in (
            *(key.column for key in statistic.keys if key.column not in keys),
            *([] if statistic.measure is None else [statistic.measure.column]),
            *([] if statistic.counted is None else [statistic.counted]),
        )
    }
    figures = ("value", "lower", "upper") if measured else ()
    return Origins(
        (
            *(ColumnOrigin(name, (column,), Change.NONE) for column, name in keys.items()),
            *(ColumnOrigin(name, tuple(sorted(measured)), Change.AGGREGATED) for name in figures),
        ),
        grouped_by=(*keys, *columns_of_respondent(plan.read.respondent).difference(keys)),
        filtered_by=() if plan.filter is None else tuple(sorted(plan.filter.columns)),
    )


def output_columns(plan: ReleasePlan) -> tuple[OutputColumn, ...]:
    """The columns, as a later description of the output needs them."""
    texts = {*BEFORE, *key_columns(plan).values(), "scale"}
    if any(statistic.kind is StatisticKind.MODE for statistic in plan.statistics):
        texts.add("value")
    return tuple(
        OutputColumn(
            name,
            column_iri(plan.write.output, name),
            Datatype.STRING if name in texts else Datatype.DECIMAL,
        )
        for name in header(plan)
    )
