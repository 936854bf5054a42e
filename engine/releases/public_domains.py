"""Public domains of a query's columns: keys, bounds, units and candidates, none from the data."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Final

import pyarrow as pa

from smalti.engine.binding.rows import ColumnFacts
from smalti.engine.losses.units import default_unit
from smalti.engine.plan.reads import Key, Measure
from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.query import WantedKey, WantedStatistic
from smalti.engine.tables.description import ColumnDescription
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError, make_codebook

NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
MOST_UNITS: Final = 1 << 32
"""Between the bounds of a measure."""
MOST_CANDIDATES: Final = 1_001
"""Of a quantile whose candidates nobody says."""

_EXACT: Final = Context(prec=1000)

Problem = Callable[[str, str, str], None]
"""Takes down what stands against it: a problem, what is expected, and the way out."""


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """A column of a query, with what is said of it."""

    facts: ColumnFacts
    described: ColumnDescription

    @property
    def name(self) -> str:
        return self.facts.name


# --- Keys


def public_key(column: PublicColumn, wanted: WantedKey, has_delta: bool, problem: Problem) -> Key | None:
    """The grouping by a column: the query's values or bins, else the description's values.

    Where neither names any, groups are those that the data has, which takes a delta.

    Args:
        column: that is grouped by.
        wanted: what the query says of it.
        has_delta: whether groups may be selected privately.
        problem: takes what stands against it.

    Returns:
        None after a problem.
    """
    if wanted.edges:
        return _bins(column, wanted.edges, problem)
    values = wanted.values or column.described.values
    if not values:
        return _private_key(column, has_delta, problem)
    if not wanted.values and column.described.is_derived:
        problem(
            f"the values of `{column.name}` are marked as taken from the data (`smalti:derivedFromData`)",
            "public values, known without the data",
            "name public values in the query (`values`), or describe them from another source",
        )
        return None
    if not all(values) or len(set(values)) < len(values):
        problem(f"a value of `{column.name}` is empty or repeated", "different texts, none empty", "")
        return None
    return Key(column.name, values=values)


def _private_key(column: PublicColumn, has_delta: bool, problem: Problem) -> Key | None:
    if has_delta:
        return Key(column.name, is_private=True)
    problem(
        f"`{column.name}` has no public values, and without a delta groups require them",
        "public values, or a delta above 0 for the private selection of groups",
        "name them in the query (`values` or `edges`) or in the description (`csvw-eo:keyValues`), or let"
        " the policy allow a `smalti:delta`",
    )
    return None


def _bins(column: PublicColumn, edges: tuple[str, ...], problem: Problem) -> Key | None:
    declared = column.facts.datatype or Datatype.STRING
    # Bins of whole numbers may end between two of them.
    datatype = Datatype.DOUBLE if declared in (*NUMBERS, Datatype.STRING) else declared
    if len(edges) > 1 and all(edges) and _ascend(edges, datatype, column.facts.time_zone):
        return Key(column.name, edges=edges)
    kind = "numbers" if datatype is Datatype.DOUBLE else f"texts of the datatype {datatype}"
    problem(
        f"the edges for `{column.name}` do not ascend, or are not {kind}{_no_such_hour(datatype)}",
        f"at least two {kind}, each above the one before",
        "" if declared is not Datatype.STRING else "declare the column's datatype, if it is not text",
    )
    return None


def _no_such_hour(datatype: Datatype) -> str:
    if datatype is not Datatype.DATETIME:
        return ""
    return "; an hour that the time zone skips or repeats is not a point in time without an offset from UTC"


def _ascend(edges: tuple[str, ...], datatype: Datatype, time_zone: str | None) -> bool:
    texts = pa.array(edges, pa.string())
    try:
        codes = make_codebook(texts, datatype, time_zone, has_missing=False).codes.tolist()
    except ValueFormError:
        return False
    return all(low < high for low, high in pairwise(codes))


def cells(keys: tuple[Key, ...]) -> int:
    """The number of combinations of public keys; private ones are as many as the data has."""
    return prod(key.size or 1 for key in keys)


# --- Measures


def public_measure(column: PublicColumn, wanted: WantedStatistic, problem: Problem) -> Measure | None:
    """The bounds and unit of a column: the query's, else the description's.

    Without a unit, it is 1 for whole numbers within whole bounds; else there are `DEFAULT_UNITS` between
    the bounds.

    Args:
        column: that is measured.
        wanted: what the query says of it.
        problem: takes what stands against it.

    Returns:
        None after a problem.
    """
    if column.facts.datatype not in (*NUMBERS, None):
        problem(
            f"`{column.name}` is declared {column.facts.datatype}, but a {wanted.kind} requires numbers",
            "a column of integer, decimal or double, or without a declared datatype",
            "name another column, or correct the description",
        )
        return None
    bounds = _bounds(column, wanted, problem)
    if bounds is None:
        return None
    lower, upper = bounds
    unit = wanted.unit or column.described.unit or default_unit(column.facts.datatype, lower, upper)
    return _whole(column.name, wanted.kind, (lower, upper, unit), problem)


def _bounds(
    column: PublicColumn, wanted: WantedStatistic, problem: Problem
) -> tuple[Decimal, Decimal] | None:
    described = column.described
    lower = described.lower if wanted.lower is None else wanted.lower
    upper = described.upper if wanted.upper is None else wanted.upper
    in_the_query = (wanted.lower, wanted.upper, wanted.unit)
    in_the_description = (described.lower, described.upper, described.unit)
    takes = any(
        in_query is None and in_description is not None
        for in_query, in_description in zip(in_the_query, in_the_description, strict=True)
    )
    if described.is_derived and takes:
        problem(
            f"bounds or unit of `{column.name}` are marked as taken from the data"
            " (`smalti:derivedFromData`)",
            "public bounds, known without the data",
            "give `lower`, `upper` and `unit` in the query, or describe them from another source",
        )
        return None
    missing = [name for name, bound in (("lower", lower), ("upper", upper)) if bound is None]
    if lower is None or upper is None:
        listed = " and ".join(f"`{name}`" for name in missing)
        problem(
            f"clipping bounds of `{column.name}` are missing: {listed}",
            "two numbers between which values lie, known without the data",
            "give them in the query, or in the description as `csvw-eo:lowerBound` and"
            " `csvw-eo:upperBound`",
        )
        return None
    if lower >= upper:
        problem(f"`lower` of `{column.name}` is not below `upper`", "two numbers in order", "correct them")
        return None
    return lower, upper


def _whole(
    name: str, kind: StatisticKind, bounds_and_unit: tuple[Decimal, Decimal, Decimal], problem: Problem
) -> Measure | None:
    lower, upper, unit = bounds_and_unit
    steps = (Fraction(upper) - Fraction(lower)) / Fraction(unit)
    if steps.denominator != 1:
        problem(
            f"the unit of `{name}` does not divide the distance between its bounds",
            "bounds that are a whole number of units apart",
            "take another unit, or move a bound",
        )
        return None
    if steps > MOST_UNITS:
        problem(
            f"the unit of `{name}` is too small for its bounds",
            f"at most {MOST_UNITS} units between them",
            "take a larger unit",
        )
        return None
    half = int(steps) // 2 if kind in (StatisticKind.MEAN, StatisticKind.VARIANCE) else 0
    measure = Measure(name, lower, upper, unit, lower + half * unit)
    # What follows from these decimals is exact, or they have too many digits.
    is_exact = Fraction(measure.origin) == Fraction(lower) + half * Fraction(unit)
    if not is_exact or (measure.least, measure.most) != (-half, int(steps) - half):
        problem(
            f"bounds and unit of `{name}` have too many digits", "about 20 digits at most", "round them"
        )
        return None
    return measure


def public_candidates(measure: Measure, wanted: tuple[Decimal, ...], problem: Problem) -> tuple[str, ...]:
    """The numbers that a quantile is chosen from: the query's, or a grid over the bounds.

    Args:
        measure: says bounds and unit.
        wanted: the query's; none: a grid of at most `MOST_CANDIDATES`, the bounds among them.
        problem: takes what stands against it.
    """
    if not wanted:
        lower, unit, steps = measure.lower, measure.unit, measure.most
        places = range(steps + 1) if steps < MOST_CANDIDATES else _spread(steps)
        return tuple(_plain(_EXACT.add(lower, _EXACT.multiply(unit, place))) for place in places)
    if any(not measure.lower <= candidate <= measure.upper for candidate in wanted):
        problem(
            f"a candidate lies beyond the bounds of `{measure.column}`",
            "candidates between `lower` and `upper`",
            "leave it out, or move a bound",
        )
    elif any(_units(candidate, measure).denominator != 1 for candidate in wanted):
        problem(
            f"a candidate is not a whole number of units from the lower bound of `{measure.column}`",
            "candidates on the grid of the unit",
            "round it, or take a smaller unit",
        )
    else:
        return tuple(_plain(candidate) for candidate in sorted(wanted))
    return ()


def _spread(steps: int) -> list[int]:
    most = MOST_CANDIDATES - 1
    return [place * steps // most for place in range(MOST_CANDIDATES)]


def _units(number: Decimal, measure: Measure) -> Fraction:
    return (Fraction(number) - Fraction(measure.lower)) / Fraction(measure.unit)


def _plain(number: Decimal) -> str:
    text = format(number, "f") if number else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text
