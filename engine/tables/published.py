"""Published tables as columns of numbers, dates and lists: what labels say, typed.

Files may be a stranger's: they pass the checks of every input, and what is held at a time is bounded. That
a file is the one that a run published, and keeps what its certificate promises, is not looked at here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never
from zoneinfo import available_timezones

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.plan.published_columns import LabelForm, PublishedColumn
from smalti.engine.plan.reading import Reading
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import Contents, inspect, text_batches
from smalti.errors import DataError, SmaltiError, UsageError, raise_all
from smalti.transforms.base import Datatype
from smalti.transforms.values.hierarchy_rules import ROOT
from smalti.transforms.values.label_reading import (
    check_ranges,
    read_categories,
    read_figures,
    read_prefixes,
    read_ranges,
    read_sets,
)
from smalti.transforms.values.texts import ValueFormError, check_values, infer_datatype
from smalti.transforms.values.typed_values import Bounds, TooManyDigitsError, typed_bounds, typed_values

_TEXT: Final = pa.large_string()
_LIST: Final = pa.list_(pa.string())
_CELL: Final = 8
"""Bytes that a cell is counted with beside its text."""

Columns = list[tuple[str, pa.ChunkedArray]]


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of a column, each distinct one once."""

    name: str
    texts: pa.Array
    """Large strings; none is missing or empty."""
    indices: tuple[pa.Array, ...]
    """By batch, into the texts; null where the value is missing."""

    def spread(self, values: pa.Array) -> pa.ChunkedArray:
        """A value for each row, from one for each text."""
        return pa.chunked_array([values.take(part) for part in self.indices], values.type)


def published_table(source: Source, stated: Sequence[PublishedColumn], reading: Reading) -> pa.Table:
    """A published table, typed.

    Args:
        source: its files.
        stated: what its certificate says of columns; of all others nothing.
        reading: what is wanted.

    Returns:
        In the order of the file: of a column `x` that is generalised to ranges `x.low`, `x.high`, `x.mid`
        and `x.missing`; of one that is generalised to sets `x.values` and `x.missing`; of one that is
        generalised to prefixes `x.prefix`, `x.exact` and `x.missing`; of a mean or a median the same as of
        ranges, with null for `x.low` and `x.high`; of any other `x`.

    Raises:
        DataError: a file cannot be read as its format says, holds something else than labels where these
            stand, or is larger than wanted; no value is repeated.
        UsageError: there is no wanted column, a datatype contradicts the certificate, or two columns would
            have one name.
    """
    contents = inspect(source)
    columns = _wanted(source, contents.header, {column.name: column for column in stated}, reading)
    problems: list[SmaltiError] = []
    typed: Columns = []
    for column, texts in zip(columns, _read(source, contents, columns, reading), strict=True):
        try:
            typed += _typed(column, texts, reading)
        except ValueFormError:
            problems.append(_not_readable(source, column))
        except TooManyDigitsError:
            problems.append(_too_long(source, column))
    raise_all(problems)
    _check_names([name for name, _ in typed])
    return pa.table([values for _, values in typed], names=[name for name, _ in typed])


def _wanted(
    source: Source, header: tuple[str, ...], stated: Mapping[str, PublishedColumn], reading: Reading
) -> list[PublishedColumn]:
    """The columns to read, in the order of the file, with what is said of them."""
    problems: list[SmaltiError] = []
    names = header if reading.columns is None else reading.columns
    for name in dict.fromkeys((*names, *reading.datatypes)):
        if name not in header:
            problems.append(
                UsageError(
                    source.path.name, f"it has no column `{name}`", f"some of {', '.join(header)}",
                    "name columns as they are published, without `.low` and the like",
                )
            )  # fmt: skip
    for name, column in stated.items():
        if column.time_zone is not None and column.time_zone not in available_timezones():
            problems.append(
                DataError(
                    f"{source.path.name}, column `{name}`",
                    "its certificate states an unknown time zone",
                    "an IANA name",
                    "take both from their source again, and update this system's time zones",
                )
            )
        if column.is_generalised and name not in header:
            problems.append(
                DataError(
                    source.path.name,
                    f"the column `{name}` of the certificate is missing",
                    "the published file",
                    "take file and certificate from one source",
                )
            )
    raise_all(problems)
    wanted = [stated.get(name, PublishedColumn(name)) for name in header if name in names]
    columns = [_with_datatype(column, reading, problems) for column in wanted]
    raise_all(problems)
    if not columns:
        raise UsageError("columns", "none is named", f"some of {', '.join(header)}")
    return columns


def _with_datatype(
    column: PublishedColumn, reading: Reading, problems: list[SmaltiError]
) -> PublishedColumn:
    datatype, form = reading.datatypes.get(column.name, column.datatype), column.form
    if column.is_generalised and form is None and datatype is not None:
        form = LabelForm.RANGES if datatype.is_ordered else LabelForm.SETS
    if column.is_generalised and form is None:
        problems.append(
            UsageError(
                f"column `{column.name}`",
                "its certificate, of an earlier smalti, does not say how it is generalised",
                "the datatype of what it holds",
                f'pass `datatypes={{"{column.name}": "integer"}}`, or "string" where it holds texts',
            )
        )
    elif (
        form is not None
        and datatype is not None
        and not form.is_of_categories
        and datatype.is_ordered != form.is_of_ordered_values
    ):
        problems.append(
            UsageError(
                f"column `{column.name}`",
                f"it is stated to be `{datatype}`, and is generalised to {form}",
                "a datatype of numbers or times for ranges and figures, `string` for sets",
                "leave it out of `datatypes`",
            )
        )
    return replace(column, form=form, datatype=datatype)


def _read(
    source: Source, contents: Contents, columns: Sequence[PublishedColumn], reading: Reading
) -> list[_Texts]:
    """The texts of some columns, a bounded piece of the files at a time."""
    places = [contents.header.index(column.name) for column in columns]
    empty = pa.array([], _TEXT).dictionary_encode()
    encoded: list[list[pa.DictionaryArray]] = [[empty] for _ in columns]
    size = 0
    for batch in text_batches(source, contents, places):
        size += sum(column.nbytes for column in batch.columns[1:]) + _CELL * batch.num_rows * len(columns)
        if size > reading.most_bytes:
            raise DataError(
                source.path.name,
                f"reading it takes more than {reading.most_bytes} bytes of memory",
                "a smaller table",
                "read some columns with `columns=`, or allow more with `max_bytes=`",
            )
        for parts, column in zip(encoded, batch.columns[1:], strict=True):
            parts.append(column.cast(_TEXT).dictionary_encode())
    return [_unified(column.name, parts) for column, parts in zip(columns, encoded, strict=True)]


def _unified(name: str, parts: list[pa.DictionaryArray]) -> _Texts:
    chunks = pa.chunked_array(parts).unify_dictionaries().chunks
    return _Texts(name, chunks[0].dictionary, tuple(chunk.indices for chunk in chunks))


def _typed(column: PublishedColumn, texts: _Texts, reading: Reading) -> Columns:
    match column.form:
        case None:
            return _kept(column, texts, reading)
        case LabelForm.RANGES | LabelForm.REGIONS:
            return _ranges(column, texts, reading)
        case LabelForm.SETS:
            return _sets(texts, reading)
        case LabelForm.NODES:
            return _sets(texts, reading, root=ROOT)
        case LabelForm.PREFIXES:
            return _prefixes(texts, reading)
        case LabelForm.MEANS | LabelForm.MEDIANS | LabelForm.MODES | LabelForm.MEDOIDS:
            of_form = _categories if column.form.is_of_categories else _figures
            return of_form(column, texts, reading)
        case _:
            assert_never(column.form)


def _kept(column: PublishedColumn, texts: _Texts, reading: Reading) -> Columns:
    datatype = column.datatype or Datatype.STRING
    check_values(texts.texts, datatype, column.time_zone)
    values = typed_values(texts.texts, datatype, column.time_zone, is_exact=reading.is_exact)
    spread = texts.spread(values)
    return [(column.name, spread.cast(pa.string()) if datatype is Datatype.STRING else spread)]


def _ranges(column: PublishedColumn, texts: _Texts, reading: Reading) -> Columns:
    ranges, zone = read_ranges(texts.texts), column.time_zone
    if not column.may_be_open and (ranges.low.null_count or ranges.high.null_count):
        raise ValueFormError
    ends = pc.drop_null(pa.concat_arrays([ranges.low, ranges.high]))
    datatype = column.datatype or _inferred(ends, zone)
    check_ranges(ranges, datatype, zone)
    # Where a range has one end, the other is read as the same, and is null afterwards.
    low, high = (pc.coalesce(*pair) for pair in ((ranges.low, ranges.high), (ranges.high, ranges.low)))
    has_end = pc.is_valid(low)
    bounds = typed_bounds(
        low.filter(has_end), high.filter(has_end), datatype, zone, is_exact=reading.is_exact
    )
    place = pc.if_else(has_end, pc.subtract(pc.cumulative_sum(has_end.cast(pa.int64())), 1), None)
    has_both = pc.and_(pc.is_valid(ranges.low), pc.is_valid(ranges.high))
    wanted = (pc.is_valid(ranges.low), pc.is_valid(ranges.high), has_both)
    read = (
        values.take(pc.if_else(is_there, place, None))
        for values, is_there in zip((bounds.low, bounds.high, bounds.mid), wanted, strict=True)
    )
    return _bounded(texts, Bounds(*read), ranges.or_missing, reading)


def _figures(column: PublishedColumn, texts: _Texts, reading: Reading) -> Columns:
    """A figure stands in the middle; which values it is of, a label does not say."""
    figures, zone = read_figures(texts.texts), column.time_zone
    datatype = column.datatype or _inferred(figures.texts, zone)
    check_values(figures.texts, datatype, zone)
    exact = typed_bounds(figures.texts, figures.texts, datatype, zone, is_exact=reading.is_exact)
    unstated = pa.nulls(len(figures.texts), exact.low.type)
    return _bounded(texts, Bounds(unstated, unstated, exact.mid), figures.or_missing, reading)


def _categories(column: PublishedColumn, texts: _Texts, reading: Reading) -> Columns:
    """The value that stands for a class, of the declared datatype; where there is none, a text."""
    read, datatype = read_categories(texts.texts), column.datatype or Datatype.STRING
    check_values(read.texts, datatype, column.time_zone)
    values = typed_values(read.texts, datatype, column.time_zone, is_exact=reading.is_exact)
    spread = texts.spread(values)
    return [
        (
            f"{texts.name}{reading.separator}representative",
            spread.cast(pa.string()) if datatype is Datatype.STRING else spread,
        ),
        (f"{texts.name}{reading.separator}missing", _missing(texts, read.or_missing)),
    ]


def _bounded(texts: _Texts, bounds: Bounds, or_missing: pa.Array, reading: Reading) -> Columns:
    return [
        (f"{texts.name}{reading.separator}low", texts.spread(bounds.low)),
        (f"{texts.name}{reading.separator}high", texts.spread(bounds.high)),
        (f"{texts.name}{reading.separator}mid", texts.spread(bounds.mid)),
        (f"{texts.name}{reading.separator}missing", _missing(texts, or_missing)),
    ]


def _inferred(ends: pa.Array, time_zone: str | None) -> Datatype:
    """What ends of ranges are, by the rule of a plan; they bound the values of the narrowest type, too."""
    if not len(ends):
        return Datatype.DECIMAL
    datatype = infer_datatype(ends, time_zone)
    if not datatype.is_ordered:
        raise ValueFormError
    return datatype


def _sets(texts: _Texts, reading: Reading, root: str | None = None) -> Columns:
    """The texts that a value may be; under the root of a hierarchy it may be missing, too."""
    sets = read_sets(texts.texts)
    or_missing = sets.or_missing
    if root is not None:
        has_root = np.zeros(len(sets.texts), bool)
        is_root = pc.equal(pc.list_flatten(sets.texts), root)
        has_root[pc.list_parent_indices(sets.texts).filter(is_root)] = True
        or_missing = pc.or_(or_missing, pa.array(has_root))
    none, count = pa.array([[]], sets.texts.type), len(texts.texts)
    lists = pa.concat_arrays([sets.texts, none])
    parts = [lists.take(pc.fill_null(part, count)).cast(_LIST) for part in texts.indices]
    return [
        (f"{texts.name}{reading.separator}values", pa.chunked_array(parts, _LIST)),
        (f"{texts.name}{reading.separator}missing", _missing(texts, or_missing)),
    ]


def _prefixes(texts: _Texts, reading: Reading) -> Columns:
    prefixes = read_prefixes(texts.texts)
    prefix = texts.spread(prefixes.texts).cast(pa.string())
    return [
        (f"{texts.name}{reading.separator}prefix", prefix),
        (f"{texts.name}{reading.separator}exact", texts.spread(prefixes.is_whole)),
        (f"{texts.name}{reading.separator}missing", _missing(texts, prefixes.or_missing)),
    ]


def _missing(texts: _Texts, or_missing: pa.Array) -> pa.ChunkedArray:
    """Whether the value may be missing; it is, where there is no label."""
    return pc.fill_null(texts.spread(or_missing), True)


def _check_names(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            "separator",
            f"two columns would be called {', '.join(f'`{name}`' for name in twice)}",
            "names that differ",
            "pass another one, such as `separator='__'`",
        )


def _not_readable(source: Source, column: PublishedColumn) -> DataError:
    where = f"{source.path.name}, column `{column.name}`"
    datatype = column.datatype or Datatype.STRING
    if column.form is not None:
        return DataError(
            where,
            "something in it is no label of the documented grammar"
            + (f" for `{datatype}`" if column.datatype is not None else ""),
            f"{column.form}, as docs/labels.md describes them",
            "take the published file and its certificate from their source again",
        )
    return DataError(
        where,
        f"something in it is not a valid {datatype}",
        "what the certificate or `datatypes` states",
        f'read it as it is: `datatypes={{"{column.name}": "string"}}`',
    )


def _too_long(source: Source, column: PublishedColumn) -> DataError:
    return DataError(
        f"{source.path.name}, column `{column.name}`",
        "a number has more than 76 digits",
        "numbers that an exact type has room for",
        'read it with `decimals="float"`',
    )
