"""The values of a plan's columns as codes: in their order, or in that of the hierarchy that is declared."""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.plan import Column, OutputForm, Plan, Region
from smalti.engine.techniques.grouped_values import as_grouped
from smalti.errors import DataError, InternalError
from smalti.transforms.problem import (
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
    RegionAttribute,
)
from smalti.transforms.values.texts import Codebook, ValueFormError, keys, make_codebook


def codebook_of(
    plan: Plan, name: str, texts: pa.Array, hierarchies: Hierarchies, *, has_missing: bool
) -> Codebook:
    """The codebook of a column's distinct texts, as a plan says that they are read.

    Raises:
        DataError: one of them is no value of the column's datatype, or has no place in its hierarchy, or
            that is not the one of the plan.
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
    if said.region is not None:
        return replace(book, attribute=_region(said, said.region, book))
    codes = plan.codes_of(name)
    if said.is_published_as_ranges and codes is not None:
        return replace(book, top=codes.top, bottom=codes.bottom)
    return as_grouped(said, book, hierarchies, has_missing=has_missing)


def _region(said: Column, region: Region, book: Codebook) -> RegionAttribute:
    if not isinstance(book.attribute, OrderedAttribute):
        raise InternalError("a plan asks for regions of a column that has none")
    low, high = (int(Fraction(bound) * 10**region.decimals) for bound in (region.low, region.high))
    numbers = keys(book.texts, said.datatype, None, region.decimals)
    return RegionAttribute(book.attribute.positions, numbers, low, high, region.decimals)


def tree_of(book: Codebook) -> Integers | None:
    """Shape (levels, codes): the number of each code's node; None without a hierarchy."""
    return book.attribute.nodes if isinstance(book.attribute, HierarchicalAttribute) else None
