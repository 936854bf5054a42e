"""The values of a column with what says how far they are apart, and what stands for some of them."""

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from smalti.engine.binding.ladders import Hierarchies, column_ladders
from smalti.engine.plan.hierarchies import Stated, hierarchy_of
from smalti.engine.plan.plan import Column
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
)
from smalti.transforms.values.hierarchical_codes import with_hierarchy
from smalti.transforms.values.texts import Codebook, keys, unit_places


def as_grouped(
    said: Column, book: Codebook, hierarchies: Hierarchies, *, has_missing: bool = False
) -> Codebook:
    """The codebook of a column, along its hierarchy or as its figures and categories need it.

    Args:
        said: the column of a plan.
        book: its values in their order.
        hierarchies: those that the plan has the digests of.
        has_missing: whether the column misses values.

    Raises:
        DataError: a value has no place in its hierarchy, or that is not the one of the plan.
    """
    if said.distance is Distance.EQUAL:
        size = len(book.texts) + has_missing
        return replace(book, attribute=NominalAttribute(size, np.arange(len(book.texts))))
    if said.is_published_as_figures and said.distance is None:
        return replace(book, attribute=_figures(said, book))
    if said.hierarchy is None:
        return book
    ladders, ranks = column_ladders(said, book.texts, stated_hierarchy(said, hierarchies))
    bound = with_hierarchy(book, ladders, has_missing=has_missing, ranks=ranks)
    return bound if said.distance is None else _categories(said, book, bound, ranks)


def stated_hierarchy(said: Column, hierarchies: Hierarchies) -> Stated:
    """The hierarchy of a column that has one.

    Args:
        said: the column of a plan.
        hierarchies: those that are declared.

    Raises:
        DataError: none of them is that of the plan.
    """
    if said.hierarchy is None:
        raise InternalError("a hierarchy was asked for of a column without one")
    declared = hierarchy_of(said.hierarchy, hierarchies.get(said.name))
    if declared is None:
        raise DataError(
            f"column `{said.name}`",
            "its hierarchy is not that of the plan",
            "the hierarchy that the plan was made with",
        )
    return declared.stated


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
