"""The values of a plan's columns as codes: in their order, or in that of the hierarchy that is declared."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.binding.ladders import Hierarchies, column_ladders
from smalti.engine.plan.hierarchies import hierarchy_of
from smalti.engine.plan.plan import Column, OutputForm, Plan, Region
from smalti.errors import DataError, InternalError
from smalti.transforms.base import Datatype, Figure
from smalti.transforms.class_models import Distance
from smalti.transforms.problem import (
    CategoricalAttribute,
    FigureAttribute,
    HierarchicalAttribute,
    Integers,
    NominalAttribute,
    OrderedAttribute,
    PrefixedAttribute,
    RegionAttribute,
)
from smalti.transforms.values.hierarchical_codes import with_hierarchy
from smalti.transforms.values.texts import Codebook, ValueFormError, keys, make_codebook, unit_places


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
    if said.distance is Distance.EQUAL:
        size = len(book.texts) + has_missing
        return replace(book, attribute=NominalAttribute(size, np.arange(len(book.texts))))
    if said.is_published_as_figures and said.distance is None:
        return replace(book, attribute=_figures(said, book))
    if said.region is not None:
        return replace(book, attribute=_region(said, said.region, book))
    if said.hierarchy is None:
        codes = plan.codes_of(name)
        return book if codes is None else replace(book, top=codes.top, bottom=codes.bottom)
    declared = hierarchy_of(said.hierarchy, hierarchies.get(name))
    if declared is None:
        raise InternalError("a plan was run with other hierarchies than its own")
    ladders, ranks = column_ladders(said, book.texts, declared.stated)
    bound = with_hierarchy(book, ladders, has_missing=has_missing, ranks=ranks)
    return bound if said.distance is None else _categories(said, book, bound, ranks)


def _categories(said: Column, book: Codebook, bound: Codebook, ranks: Integers | None) -> Codebook:
    """The codebook of a column of which each class shows one category.

    Args:
        said: the column.
        book: its values in their order.
        bound: the same in the order of the hierarchy.
        ranks: their places in a list, in the first order; None: there is no list.
    """
    tree, order = bound.attribute, pc.index_in(bound.texts, book.texts).to_numpy().astype(np.int64)
    if ranks is not None:
        order = ranks[order]
    lacks_list = said.has_places and ranks is None
    if said.form is None or not isinstance(tree, HierarchicalAttribute) or lacks_list:
        raise InternalError("a plan asks for categories of a column that has none")
    places = order if said.has_places else None
    attribute = CategoricalAttribute(tree.nodes, tree.size, Figure(said.form), order, places)
    return replace(bound, attribute=attribute)


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
