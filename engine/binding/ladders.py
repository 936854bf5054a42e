"""Which node each value of a column is under, at each level of the hierarchy that is declared."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.plan.hierarchies import (
    AllOrNothing,
    Calendar,
    DeclaredHierarchy,
    HierarchyFile,
    Intervals,
    Masking,
    OrderedList,
    Prefixes,
    Stated,
)
from smalti.engine.plan.plan import Column
from smalti.engine.tables.description import Description
from smalti.errors import DataError
from smalti.transforms.base import Datatype
from smalti.transforms.problem import Integers
from smalti.transforms.values.hierarchy import (
    HierarchyError,
    HierarchyProblem,
    Ladders,
    check_ladders,
    ladders_of,
    looked_up,
    uncovered,
)
from smalti.transforms.values.hierarchy_rules import (
    NoPlaceError,
    all_or_nothing_ladders,
    calendar_ladders,
    interval_ladders,
    masking_ladders,
    ordered_ladders,
    prefix_ladders,
)
from smalti.transforms.values.texts import ValueFormError, make_codebook
from smalti.transforms.values.times import days

Hierarchies = Mapping[str, DeclaredHierarchy]
"""By column; of columns without one there is no entry."""
NO_HIERARCHIES: Final[Hierarchies] = {}


def hierarchies_of(description: Description) -> Hierarchies:
    """The hierarchies that a description declares, by column."""
    return {column.name: column.hierarchy for column in description.columns if column.hierarchy is not None}


def column_ladders(column: Column, texts: pa.Array, stated: Stated) -> tuple[Ladders, Integers | None]:
    """The ladders of a column's values, and their places where the hierarchy orders them itself.

    Args:
        column: as the plan has it.
        texts: its values in their order, one text for each.
        stated: its hierarchy.

    Raises:
        DataError: some values have no place in it, or labels would stand for different sets of them.
    """
    try:
        return _ladders(column, texts, stated)
    except HierarchyError as error:
        fault = error.problems[0]
        raise DataError(
            f"column `{column.name}`, hierarchy", fault.problem, fault.expected, fault.way_out
        ) from None


def values_without_place(column: Column, texts: pa.Array, stated: Stated, most: int) -> list[str]:
    """Some values that have no place in a hierarchy, in their order; for the eyes of the owner alone.

    Args:
        column: as the plan has it.
        texts: its values in their order, one text for each.
        stated: its hierarchy.
        most: how many of them, at most.
    """
    waiting, without = [texts], list[str]()
    while waiting and len(without) < most:
        part = waiting.pop()
        if not len(part) or _have_places(column, part, stated):
            continue
        if len(part) == 1:
            without.append(part[0].as_py())
        else:
            middle = len(part) // 2
            waiting += [part.slice(middle), part.slice(0, middle)]
    return without


def _have_places(column: Column, texts: pa.Array, stated: Stated) -> bool:
    try:
        _ladders(column, texts, stated)
    except HierarchyError:
        return False
    return True


def _ladders(column: Column, texts: pa.Array, stated: Stated) -> tuple[Ladders, Integers | None]:
    if isinstance(stated, HierarchyFile):
        return _places_in(column, texts, ladders_of(stated.rows)), None
    if isinstance(stated, OrderedList):
        whole = ordered_ladders(stated.values, stated.fan_out)
        check_ladders(whole)
        places = pc.index_in(texts, whole[0])
        if places.null_count:
            raise HierarchyError([uncovered(places.null_count)])
        ranks: Integers = places.to_numpy().astype(np.int64)
        return looked_up(whole, ranks), ranks
    try:
        ladders = _by_rule(column, texts.to_pylist(), stated)
    except NoPlaceError as error:
        raise HierarchyError([uncovered(error.count)]) from None
    if len(texts):
        check_ladders(ladders)
    return ladders, None


def _by_rule(
    column: Column, texts: list[str], stated: Intervals | Calendar | Prefixes | Masking | AllOrNothing
) -> Ladders:
    match stated:
        case AllOrNothing():
            return all_or_nothing_ladders(texts)
        case Intervals(width, start, fan_out):
            first = Fraction(start) if "-" not in start[1:] else Fraction(int(days(pa.array([start]))[0]))
            return interval_ladders(texts, column.datatype, Fraction(width), first, fan_out)
        case Calendar(units):
            return calendar_ladders(texts, units)
        case Prefixes(lengths):
            return prefix_ladders(texts, lengths)
        case Masking(width, from_right):
            return masking_ladders(texts, width, from_right=from_right)


def _of_another_type(datatype: Datatype) -> HierarchyProblem:
    return HierarchyProblem(
        f"a value in it is not a valid {datatype}",
        "values of the column's datatype",
        "correct the hierarchy",
    )


def _spelled_twice(count: int) -> HierarchyProblem:
    counted = "1 value in it is" if count == 1 else f"{count} values in it are"
    return HierarchyProblem(
        f"{counted} written twice, in different ways",
        "each value once",
        "remove one of each",
    )


def _places_in(column: Column, texts: pa.Array, whole: Ladders) -> Ladders:
    """The ladders of some texts; those of ordered datatypes are found by value."""
    if not column.datatype.is_ordered:
        places = pc.index_in(texts, whole[0])
    else:
        every = pc.unique(pa.concat_arrays([texts.cast(pa.large_string()), whole[0]]))
        try:
            codes = pa.array(make_codebook(every, column.datatype, column.time_zone, False).codes)
        except ValueFormError:
            raise HierarchyError([_of_another_type(column.datatype)]) from None
        of_text, of_value = (codes.take(pc.index_in(some, every)) for some in (texts, whole[0]))
        if len(pc.unique(of_value)) < len(of_value):
            raise HierarchyError([_spelled_twice(len(of_value) - len(pc.unique(of_value)))])
        places = pc.index_in(of_text, of_value)
    if places.null_count:
        raise HierarchyError([uncovered(places.null_count)])
    ladders = looked_up(whole, places.to_numpy().astype(np.int64))
    return (texts.cast(pa.large_string()), *ladders[1:])
