"""The regions of classes as labels: from cut to cut, or to the public bounds.

A cut between two neighbouring values lies half way between them, rounded down to the decimals of the
column: the lower side ends there, and the upper side begins one unit above. So an end is a value of nobody
in the class, unless its neighbours are one or two units apart, and the regions of a column leave nothing
between its bounds out.
"""

from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.problem import MISSING, Flags, Integers, RegionAttribute
from smalti.transforms.values.by_class import extremes
from smalti.transforms.values.decimal_digits import plain


def region_ends(attribute: RegionAttribute, around: Integers) -> tuple[list[int], list[int]]:
    """The least and the greatest number of each region, in the attribute's units.

    Args:
        attribute: of the column.
        around: by class and end (low, high), the codes on both sides of the cut there; 0: there is none.
    """
    numbers = attribute.numbers.tolist()
    low = [
        (numbers[a - 1] + numbers[b - 1]) // 2 + 1 if b else attribute.low for a, b in around[:, 0].tolist()
    ]
    high = [
        (numbers[a - 1] + numbers[b - 1]) // 2 if a and b else attribute.high
        for a, b in around[:, 1].tolist()
    ]
    return low, high


def region_texts(
    attribute: RegionAttribute, codes: Integers, classes: Integers, around: Integers
) -> tuple[pa.Array, pa.Array, Flags]:
    """The ends of each class's region as texts, null where all its values are missing; whether some are.

    Args:
        attribute: of the column.
        codes: by tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
        around: as for `region_ends`.
    """
    least, greatest = extremes(codes, classes, len(around))
    unit = 10**attribute.decimals
    nobody = pa.array(greatest == MISSING)
    low, high = (
        pc.if_else(
            nobody,
            pa.scalar(None, pa.large_string()),
            pa.array([plain(Fraction(number, unit)) for number in ends], pa.large_string()),
        )
        for ends in region_ends(attribute, around)
    )
    return low, high, least == MISSING
