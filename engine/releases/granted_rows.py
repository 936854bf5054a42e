"""Which rows of a table take part in a release, without any failure that depends on values.

As `engine.rows`, but that a text which is no value of its column's datatype satisfies nothing, like a
missing one, where a run that publishes rows ends. Whether a row takes part depends on this row alone: so a
respondent who comes or goes changes nothing about the rows of others.
"""

import operator as comparing
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import Listed, RowTest, StagedColumn, StagedTable, Together
from smalti.engine.plan.plan import Filter, RowComparison, RowCondition, RowLogical
from smalti.policy.model.model import LogicalOperator, Operator
from smalti.transforms.base import Datatype
from smalti.transforms.problem import Flags
from smalti.transforms.values.texts import LEXICAL_FORMS, ValueFormError, are_finite, keys, make_codebook

_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_STATES_ZONE: Final = r"[T ].*(Z|[+-][0-9]{2}:[0-9]{2})$"
_SECOND_PLACES: Final = 9
_ORDERING: Final[dict[Operator, Callable[[Any, Any], bool]]] = {
    Operator.GT: comparing.gt,
    Operator.GTEQ: comparing.ge,
    Operator.LT: comparing.lt,
    Operator.LTEQ: comparing.le,
}
_NEGATIVE: Final = (Operator.NEQ, Operator.IS_NONE_OF)


def without_rows(table: StagedTable) -> StagedTable:
    """A table with the same columns and no rows: to bind conditions on, which looks at no value then."""
    empty = StagedColumn(pa.array([], pa.string()))
    contents = replace(table.contents, rows=0, parts=())
    return StagedTable(contents, table.relations, (empty,) * len(contents.header))


def keep_granted(table: StagedTable, wanted: Filter, time_zone: Callable[[str], str | None]) -> None:
    """Remove each row that does not satisfy a filter.

    Args:
        table: where.
        wanted: the filter, bound without an error.
        time_zone: of a column's date-times that state none, by name.
    """

    def test(condition: RowCondition) -> RowTest:
        match condition:
            case RowComparison(column=column):
                texts = table.texts(column)
                return Listed(
                    column, texts.filter(pa.array(satisfying(condition, texts, time_zone(column))))
                )
            case RowLogical(operator=operator, operands=operands):
                return Together(operator, tuple(map(test, operands)))
            case _:
                assert_never(condition)

    table.keep(Together(LogicalOperator.AND, tuple(map(test, wanted.conditions))))


def satisfying(comparison: RowComparison, texts: pa.Array, time_zone: str | None) -> Flags:
    """By text of a column, whether it satisfies a comparison; each by itself.

    Of date-times without a time zone, those that state theirs are not compared with those that do not.
    """
    satisfied = np.zeros(len(texts), np.bool_)
    comparable = np.flatnonzero(_comparable(comparison, texts, time_zone))
    some, values = texts.take(pa.array(comparable)), pa.array(comparison.values, pa.string())
    match comparison.datatype:
        case Datatype.STRING:
            satisfied[comparable] = _compared(
                some.to_pylist(), list(comparison.values), comparison.operator
            )
        case Datatype.DATE | Datatype.DATETIME:
            times = _all_times(some, comparison.datatype, time_zone)
            exist = [place for place, time in enumerate(times) if time is not None]
            wanted = _all_times(values, comparison.datatype, time_zone)
            satisfied[comparable[exist]] = _compared(
                [times[place] for place in exist], wanted, comparison.operator
            )
        case _:
            # One codebook for both sides; a whole number may be compared with one that is none.
            both = pa.concat_arrays([some.cast(pa.string()), values])
            compared_as = Datatype.DOUBLE if comparison.datatype is Datatype.DOUBLE else Datatype.DECIMAL
            codes = make_codebook(both, compared_as, None, has_missing=False).codes.tolist()
            satisfied[comparable] = _compared(codes[: len(some)], codes[len(some) :], comparison.operator)
    return satisfied


def _comparable(comparison: RowComparison, texts: pa.Array, time_zone: str | None) -> Flags:
    """By text, whether it has the datatype's form, and states a zone as the filter's values do."""
    if comparison.datatype is Datatype.STRING:
        return np.ones(len(texts), np.bool_)
    # `$` of RE2 matches at the very end only.
    fits = _matching(texts, rf"^(?:{LEXICAL_FORMS[comparison.datatype]})$")
    if comparison.datatype is Datatype.DOUBLE:
        fits[fits] = are_finite(texts.filter(pa.array(fits)))
    if comparison.datatype is Datatype.DATETIME and time_zone is None and comparison.values:
        stated = _matching(pa.array(comparison.values), _STATES_ZONE)
        fits &= _matching(texts, _STATES_ZONE) == stated[0]
    return fits


def _matching(texts: pa.Array, pattern: str) -> Flags:
    flags: Flags = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False).astype(np.bool_)
    return flags


def _compared(values: list[Any], wanted: list[Any], operator: Operator) -> list[bool]:
    if operator in _ORDERING:
        compare = _ORDERING[operator]
        return [compare(value, wanted[0]) for value in values]
    listed = set(wanted)
    return [(value in listed) is not (operator in _NEGATIVE) for value in values]


def _all_times(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> list[int | None]:
    """As `_times`, those that state their zone apart from those that do not: they need not be compared."""
    if datatype is not Datatype.DATETIME or time_zone is not None:
        return list(_times(texts, datatype, time_zone))
    stated = _matching(texts, _STATES_ZONE)
    instants: list[int | None] = [None] * len(texts)
    for chosen in (np.flatnonzero(stated), np.flatnonzero(~stated)):
        times = _times(texts.take(pa.array(chosen)), datatype, None)
        for place, time in zip(chosen.tolist(), times, strict=True):
            instants[place] = time
    return instants


def _times(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> Iterator[int | None]:
    """Days or instants; None where there is no such day or time."""
    try:
        yield from keys(texts, datatype, time_zone, _SECOND_PLACES).tolist()
    except ValueFormError:
        if len(texts) == 1:
            yield None
            return
        half = len(texts) // 2
        for part in (texts.slice(0, half), texts.slice(half)):
            yield from _times(part, datatype, time_zone)
