"""The verifier's own reading of ranges that end at public bounds and at cuts.

A cut of a column has two sides: where one range ends, another begins one unit above. Only the public bounds
have one side. An end that is neither was taken from the values of a class. That each range covers its
original values, others check; which values a cut lies between, published labels do not show.
"""

from fractions import Fraction
from typing import Final

import pyarrow as pa

from smalti.engine.plan.plan import Column, Region
from smalti.engine.verify.columns import ArrowArray, broken, pc
from smalti.engine.verify.labels import UnreadableError, range_ends
from smalti.engine.verify.stage import StagedColumn, StagedTable

_TEXT: Final = pa.large_string()


def check_regions(column: Column, region: Region, table: StagedTable) -> None:
    """Check all labels of a column.

    Raises:
        GuaranteeError: an end is neither a public bound nor one side of a cut.
    """
    where = f"column `{column.name}`"
    try:
        low, high = range_ends(_labels(table.columns[column.name], table))
        begins, ends = ({_units(text, region) for text in texts.to_pylist()} for texts in (low, high))
    except UnreadableError:
        raise broken(
            where,
            "a published value is not a range between public bounds and cuts",
            f"ranges with ends of at most {region.decimals} decimals",
        ) from None
    if not begins:
        return  # all values are missing
    first, last = _units(region.low, region), _units(region.high, region)
    # So the least range begins at one bound and the greatest ends at the other, too.
    if {end + 1 for end in ends - {last}} != begins - {first}:
        raise broken(
            where,
            "an end of a range is neither a public bound nor a cut",
            f"ranges from {region.low} to {region.high}, each of which begins where another one ended",
        )


def _labels(column: StagedColumn, table: StagedTable) -> ArrowArray:
    """The distinct labels that are not missing."""
    if not column.is_wide:
        return column.coded.values.cast(_TEXT)
    parts = [pc.unique(column.texts(extent.number).cast(_TEXT)) for extent in table.extents]
    every = pc.unique(pa.chunked_array(parts, _TEXT).combine_chunks())
    return every.filter(pc.not_equal(every, ""))


def _units(text: str, region: Region) -> int:
    """Whole units of the last decimal.

    Raises:
        UnreadableError: it has more decimals.
    """
    units: Fraction = Fraction(text) * 10**region.decimals
    if units.denominator != 1:
        raise UnreadableError
    return units.numerator
