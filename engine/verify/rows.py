"""The verifier's own selection of the original rows that may be published.

Shares no code with what leaves rows out: values are compared by the places that the verifier reads
them at (`verify_labels`), and the forms under which withdrawn respondents are known are made anew from
their definition: `text:` and the text; for numbers `number:`, the digits without zeros at the ends, `e`
and a power of ten; for date-times `instant:` and nanoseconds since 1970 in UTC, `local:` and the same by
the clock of a zone, if that clock reading means this instant (of two, the first).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.any_plan import PlanOfColumns
from smalti.engine.plan.plan import RespondentColumn, RowComparison, RowCondition
from smalti.engine.verify.columns import MISSING, Coded, Codes, Table, broken
from smalti.engine.verify.labels import LEXICAL_FORMS, UnreadableError, places_beside
from smalti.errors import DataError
from smalti.policy.model.model import LogicalOperator, Operator
from smalti.transforms.base import Datatype

Flags = NDArray[np.bool_]
IsWithdrawn = Callable[[str], bool]
"""Whether a respondent who withdrew is known under a form."""

_COMPARE: Final[dict[Operator, Callable[[Codes, Codes], Flags]]] = {
    Operator.EQ: np.isin,
    Operator.IS_ANY_OF: np.isin,
    Operator.NEQ: lambda values, operands: ~np.isin(values, operands),
    Operator.IS_NONE_OF: lambda values, operands: ~np.isin(values, operands),
    Operator.GT: lambda values, operands: values > operands[0],
    Operator.GTEQ: lambda values, operands: values >= operands[0],
    Operator.LT: lambda values, operands: values < operands[0],
    Operator.LTEQ: lambda values, operands: values <= operands[0],
}
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)


def columns_of_filter(plan: PlanOfColumns) -> frozenset[str]:
    """The columns that decide which rows are left out."""
    return frozenset(_columns(plan.filter.conditions)) if plan.filter else frozenset()


def _columns(conditions: tuple[RowCondition, ...]) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, RowComparison):
            yield condition.column
        else:
            yield from _columns(condition.operands)


def columns_to_read(plan: PlanOfColumns, published: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are published, that tell respondents apart, and that decide which rows are left out.

    Raises:
        GuaranteeError: the plan does not read one of them.
    """
    wanted = list(published)
    match plan.read.respondent:
        case RespondentColumn(column) if column not in wanted:
            wanted.append(column)
    wanted += sorted(columns_of_filter(plan) - set(wanted))
    if not set(wanted) <= {column.name for column in plan.read.columns}:
        raise broken("plan", "it publishes a column that it does not read", "columns of the input")
    return tuple(wanted)


def restricted(owned: Table, rows: Codes) -> Table:
    """The same table with these rows, in this order; texts of no other row are in it."""
    columns = {name: _compacted(column.rows(rows)) for name, column in owned.columns.items()}
    return Table(columns, len(rows), owned.digests)


def _compacted(column: Coded) -> Coded:
    used, numbers = np.unique(column.codes, return_inverse=True)
    shift = int(len(used) > 0 and used[0] == MISSING)
    return Coded(numbers.astype(np.int64) - shift, column.values.take(pa.array(used[shift:])))


def still_participating(plan: PlanOfColumns, owned: Table, is_withdrawn: IsWithdrawn | None) -> Codes:
    """The rows of respondents who did not withdraw; all rows if none withdrew.

    Raises:
        DataError: people withdrew, and the plan does not say how to tell them.
    """
    if is_withdrawn is None:
        return np.arange(owned.rows)
    if not isinstance(plan.read.respondent, RespondentColumn):
        raise DataError(
            plan.read.target, "respondents withdrew, but the plan does not identify respondents",
            "a respondent column",
        )  # fmt: skip
    name = plan.read.respondent.column
    spellings = _Forms(plan.column(name).datatype, plan.column(name).time_zone)
    column = owned.columns[name]
    gone = [any(map(is_withdrawn, spellings.of(text))) for text in column.values.to_pylist()]
    return np.flatnonzero(~np.array([*gone, False])[column.codes])


def participating(plan: PlanOfColumns, owned: Table, is_withdrawn: IsWithdrawn | None) -> Codes:
    """The rows that take part: of respondents who did not withdraw, and satisfying the plan's filter.

    Raises:
        DataError: as `still_participating` and `satisfying`.
    """
    here = still_participating(plan, owned, is_withdrawn)
    return here[satisfying(plan, restricted(owned, here))]


def satisfying(plan: PlanOfColumns, owned: Table) -> Codes:
    """The rows that satisfy the plan's filter; all where it has none.

    Raises:
        DataError: a value is none of its column's datatype.
    """
    if plan.filter is None:
        return np.arange(owned.rows)
    return np.flatnonzero(
        _all([_satisfied(plan, owned, condition) for condition in plan.filter.conditions])
    )


def _satisfied(plan: PlanOfColumns, owned: Table, condition: RowCondition) -> Flags:
    if isinstance(condition, RowComparison):
        column = owned.columns[condition.column]
        flags = _compared(plan, condition, column)
        return np.append(flags, False)[column.codes]
    parts = [_satisfied(plan, owned, operand) for operand in condition.operands]
    match condition.operator:
        case LogicalOperator.OR:
            return ~_all([~part for part in parts])
        case LogicalOperator.XONE:
            holds: Flags = np.sum(parts, axis=0) == 1
            return holds
        case _:
            return _all(parts)


def _all(parts: list[Flags]) -> Flags:
    every: Flags = reduce(np.logical_and, parts)
    return every


def _compared(plan: PlanOfColumns, condition: RowComparison, column: Coded) -> Flags:
    """For each text of the column, whether it satisfies the comparison."""
    operands = pa.array(condition.values, pa.large_string())
    if condition.datatype is Datatype.STRING:
        numbers = {text: number for number, text in enumerate(column.values.to_pylist())}
        wanted = np.array([numbers.get(text, -2) for text in condition.values], np.int64)
        return _COMPARE[condition.operator](np.arange(len(column.values)), wanted)
    read_as = replace(plan.column(condition.column), datatype=condition.datatype)
    try:
        places, wanted = places_beside(read_as, column.values, operands)
    except UnreadableError:
        raise DataError(
            f"column `{condition.column}`", "an original value cannot be read",
            f"{condition.datatype.value} values",
        ) from None  # fmt: skip
    return _COMPARE[condition.operator](places, wanted)


class _Forms:
    """The forms of a respondent's value, by their definition."""

    def __init__(self, datatype: Datatype, time_zone: str | None) -> None:
        self._datatype = datatype
        self._zone = ZoneInfo(time_zone) if time_zone else None

    def of(self, text: str) -> Iterator[str]:
        yield f"text:{text}"
        if self._datatype in _NUMBERS and re.fullmatch(LEXICAL_FORMS[Datatype.DOUBLE], text, re.ASCII):
            yield self._number(Decimal(text))
            if self._datatype is Datatype.DOUBLE:
                yield from self._float(np.float64(text) + 0.0)
        if self._datatype is Datatype.DATETIME:
            match = re.fullmatch(
                r"(?P<clock>\S{10}[T ][0-9:]{5,8})(?:\.(?P<fraction>[0-9]+))?(?P<zone>Z|[+-]\S{5})?", text
            )
            if match is not None:
                yield from self._moments(
                    match["clock"], (match["fraction"] or "").ljust(9, "0"), match["zone"]
                )

    @staticmethod
    def _number(number: Decimal) -> str:
        sign, digits, power = number.as_tuple()
        written = "".join(map(str, digits)).lstrip("0")
        while written.endswith("0"):
            written, power = written[:-1], int(power) + 1
        return f"number:{'-' * sign}{written}e{power}" if written else "number:0e0"

    def _float(self, number: np.float64) -> Iterator[str]:
        """The shortest of the numbers that are nearest to a float, and its bits."""
        yield self._number(Decimal(np.format_float_scientific(number, unique=True, trim="-")))
        yield f"double:{int(number.view(np.uint64)):016x}"

    def _moments(self, clock: str, fraction: str, zone: str | None) -> Iterator[str]:
        try:
            stated = datetime.fromisoformat(clock + (zone or ""))
            if zone:
                yield f"instant:{_nanoseconds(stated, fraction)}"
                if self._zone:
                    there = stated.astimezone(self._zone)
                    if there.fold == 0:
                        yield f"local:{_nanoseconds(there.replace(tzinfo=UTC), fraction)}"
            else:
                yield f"local:{_nanoseconds(stated.replace(tzinfo=UTC), fraction)}"
                if self._zone:
                    yield f"instant:{_nanoseconds(stated.replace(tzinfo=self._zone), fraction)}"
        except (ValueError, OverflowError):
            return


def _nanoseconds(moment: datetime, fraction: str) -> int:
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return seconds * 10**9 + int(fraction)
