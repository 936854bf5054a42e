"""The values of a plan's columns as codes: in their order, or in that of the hierarchy that is declared."""

from collections.abc import Mapping
from dataclasses import replace
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
    hierarchy_of,
)
from smalti.engine.plan.plan import Column, OutputForm, Plan, Region
from smalti.engine.tables.description import Description
from smalti.errors import DataError, InternalError
from smalti.transforms.base import Datatype, Figure
from smalti.transforms.problem import (
    FigureAttribute,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
    RegionAttribute,
)
from smalti.transforms.values.hierarchical_codes import with_hierarchy
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
from smalti.transforms.values.texts import Codebook, ValueFormError, keys, make_codebook, unit_places
from smalti.transforms.values.times import days

Hierarchies = Mapping[str, DeclaredHierarchy]
"""By column; of columns without one there is no entry."""
NO_HIERARCHIES: Final[Hierarchies] = {}


def hierarchies_of(description: Description) -> Hierarchies:
    """The hierarchies that a description declares, by column."""
    return {column.name: column.hierarchy for column in description.columns if column.hierarchy is not None}


def codebook_of(
    plan: Plan, name: str, texts: pa.Array, hierarchies: Hierarchies, *, has_missing: bool
) -> Codebook:
    """The codebook of a column's distinct texts, as a plan says that they are read.

    Raises:
        DataError: one of them is no value of the column's datatype, or has no place in its hierarchy.
        InternalError: the hierarchy is not that of the plan.
    """
    said = plan.column(name)
    try:
        book = make_codebook(texts, said.datatype, said.time_zone, has_missing)
    except ValueFormError:
        raise DataError(
            f"column `{name}`", f"a value is not a valid {said.datatype}", "the plan's datatype"
        ) from None
    if said.form is OutputForm.PREFIX:
        return replace(book, attribute=PrefixedAttribute.of(book.texts))
    if said.is_published_as_figures:
        return replace(book, attribute=_figures(said, book))
    if said.region is not None:
        return replace(book, attribute=_region(said, said.region, book))
    if said.hierarchy is None:
        return book
    declared = hierarchy_of(said.hierarchy, hierarchies.get(name))
    if declared is None:
        raise InternalError("a plan was run with other hierarchies than its own")
    ladders, ranks = column_ladders(said, book.texts, declared.stated)
    return with_hierarchy(book, ladders, has_missing=has_missing, ranks=ranks)


def _figures(said: Column, book: Codebook) -> FigureAttribute:
    if said.form is None or said.decimals is None or not isinstance(book.attribute, OrderedAttribute):
        raise InternalError("a plan asks for figures of a column that has none")
    return FigureAttribute(
        book.attribute.positions,
        Figure(said.form),
        keys(book.texts, said.datatype, said.time_zone),
        unit_places(book.texts, said.datatype),
        said.decimals,
        said.datatype is Datatype.DATE,
    )


def _region(said: Column, region: Region, book: Codebook) -> RegionAttribute:
    if not isinstance(book.attribute, OrderedAttribute):
        raise InternalError("a plan asks for regions of a column that has none")
    low, high = (int(Fraction(bound) * 10**region.decimals) for bound in (region.low, region.high))
    numbers = keys(book.texts, said.datatype, None, region.decimals)
    return RegionAttribute(book.attribute.positions, numbers, low, high, region.decimals)


def tree_of(book: Codebook) -> Integers | None:
    """Shape (levels, codes): the number of each code's node; None without a hierarchy."""
    return book.attribute.nodes if isinstance(book.attribute, HierarchicalAttribute) else None


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
    return HierarchyProblem(
        f"{count} values in it are written twice, in different ways",
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
