"""From the conditions of a grant to a plan's filter of rows."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends.faults import first_fault
from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import Filter, RowComparison, RowCondition, RowLogical
from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
    Value,
)
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import (
    LEXICAL_FORMS,
    ValueFormError,
    all_match,
    check_values,
    make_codebook,
)

_ORDERING: Final = {
    Operator.GT: np.greater,
    Operator.GTEQ: np.greater_equal,
    Operator.LT: np.less,
    Operator.LTEQ: np.less_equal,
}
_SETS: Final = {Operator.IS_ANY_OF: Operator.EQ, Operator.IS_NONE_OF: Operator.NEQ}
_NEGATIVE: Final = (Operator.NEQ, Operator.IS_NONE_OF)
_KNOWN: Final = (Operator.EQ, Operator.NEQ, *_ORDERING, *_SETS)
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_MOST_DIGITS: Final = 100


# --- From a grant to a plan


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What binding needs to know of a column."""

    name: str
    datatype: Datatype | None
    """As declared; None where it is not."""
    time_zone: str | None


class RowBinder:
    """Binds conditions to the columns of a table, and collects problems."""

    def __init__(
        self,
        find: Callable[[ColumnReference], ColumnFacts | None],
        table: StagedTable,
        problems: list[SmaltiError],
        cell: Callable[[str, int], str],
    ) -> None:
        """Bind conditions to a table.

        Args:
            find: the column that is meant; None after having said that there is none.
            table: where values are checked.
            problems: takes a `PlanError` for each thing that stands against it.
            cell: the place of a value, for messages, by column and row.
        """
        self._find, self._table, self._problems, self._cell = find, table, problems, cell

    def filter(self, conditions: Iterable[Condition]) -> Filter | None:
        """The plan's step; None where there are no conditions, or they cannot be bound."""
        bound = [self._bound(condition) for condition in conditions]
        operands = _simplified(LogicalOperator.AND, [operand for operand in bound if operand is not None])
        if not operands or None in bound:
            return None
        return Filter(operands)

    def _bound(self, condition: Condition) -> RowCondition | None:
        match condition:
            case ColumnComparison():
                return self._comparison(condition)
            case Logical(operator=operator, operands=operands):
                bound = [self._bound(operand) for operand in operands]
                complete = [operand for operand in bound if operand is not None]
                return _logical(operator, complete) if len(complete) == len(bound) else None
            case Comparison():
                raise InternalError("a condition that is not about rows reached the compiler")
            case _:
                assert_never(condition)

    def _comparison(self, said: ColumnComparison) -> RowComparison | None:
        column = self._find(said.column)
        if column is None:
            return None
        datatype = column.datatype or _told_by(said)
        if not self._is_possible(said, column, datatype):
            return None
        values = [self._literal(said, value, column, datatype) for value in said.values]
        written = sorted({value for value in values if value is not None})
        if None in values:
            return None
        operator = said.operator
        if len(written) == 1:
            operator = _SETS.get(operator, operator)
        comparison = RowComparison(column.name, operator, tuple(written), datatype)
        return comparison if self._can_compare(said, comparison, column.time_zone) else None

    def _is_possible(self, said: ColumnComparison, column: ColumnFacts, datatype: Datatype) -> bool:
        before = len(self._problems)
        if said.operator not in _KNOWN:
            self._problem(
                said,
                f"rows cannot be limited with `{said.operator}`",
                f"one of {', '.join(f'`{operator}`' for operator in _KNOWN)}",
            )
        elif len(said.values) > 1 and said.operator not in _SETS:
            self._problem(
                said, f"`{said.operator}` has {len(said.values)} values", "one value", "use `isAnyOf`"
            )
        elif said.operator in _ORDERING and not datatype.is_ordered:
            self._problem(
                said,
                f"the column `{column.name}` is text, which `{said.operator}` does not order",
                "a column of numbers, dates or date-times, or another operator",
                "" if column.datatype else "write such a value, or declare the column's datatype",
            )
        return len(self._problems) == before

    def _literal(
        self, said: ColumnComparison, value: Value, column: ColumnFacts, datatype: Datatype
    ) -> str | None:
        text = _literal(value, datatype)
        if text is None:
            self._problem(
                said,
                f"the column `{column.name}` is compared as {_KINDS[datatype]}, here with {_kind(value)}",
                f"{_KINDS[datatype]}{_EXAMPLES[datatype]}",
                "" if column.datatype else "declare the column's datatype, if it is another",
            )
        return text

    def _can_compare(
        self, said: ColumnComparison, comparison: RowComparison, time_zone: str | None
    ) -> bool:
        try:
            satisfying_values(comparison, self._table.texts(comparison.column), time_zone)
        except ValueFormError:
            zone = "" if comparison.datatype is not Datatype.DATETIME or time_zone else (
                ", and a time zone in the description where only some state their own"
            )  # fmt: skip
            self._problem(
                said,
                f"the column `{comparison.column}` cannot be compared as {_KINDS[comparison.datatype]}"
                + self._fault(comparison, time_zone),
                f"values that match {LEXICAL_FORMS[comparison.datatype]} and exist{zone}",
                "correct the data, its description or the policy",
            )
            return False
        return True

    def _fault(self, comparison: RowComparison, time_zone: str | None) -> str:
        """Where the column has another value; nothing where its own can be compared with each other."""
        try:
            check_values(self._table.texts(comparison.column), comparison.datatype, time_zone)
        except ValueFormError:
            row = first_fault(self._table, comparison.column, comparison.datatype, time_zone)
            return f" ({self._cell(comparison.column, row)})"
        return ""

    def _problem(self, said: ColumnComparison, problem: str, expected: str, way_out: str = "") -> None:
        self._problems.append(PlanError(str(said.where), problem, expected, way_out))


_KINDS: Final = {
    Datatype.STRING: "texts",
    Datatype.INTEGER: "numbers",
    Datatype.DECIMAL: "numbers",
    Datatype.DOUBLE: "numbers",
    Datatype.DATE: "dates",
    Datatype.DATETIME: "date-times",
}
_EXAMPLES: Final = {
    Datatype.STRING: ', such as "18"',
    Datatype.INTEGER: f", such as 18, of at most {_MOST_DIGITS} digits",
    Datatype.DECIMAL: f", such as 18.5, of at most {_MOST_DIGITS} digits",
    Datatype.DOUBLE: f", such as 18.5, of at most {_MOST_DIGITS} digits",
    Datatype.DATE: ", such as 2026-01-31",
    Datatype.DATETIME: ", such as 2026-01-31T00:00:00Z",
}


def _kind(value: Value) -> str:
    match value:
        case Number():
            return "a number"
        case Text():
            return "a text"
        case Named():
            return "an IRI"
        case Truth():
            return "a truth value"
        case Day():
            return "a date"
        case Instant():
            return "a date-time"
        case _:
            assert_never(value)


def _told_by(said: ColumnComparison) -> Datatype:
    """What a column without a declared datatype is compared as, by the first of the values."""
    match said.values[0]:
        case Number():
            return Datatype.DOUBLE
        case Day():
            return Datatype.DATE
        case Instant():
            return Datatype.DATETIME
        case Text(text=text) if said.operator in _ORDERING:
            datatypes = (Datatype.DOUBLE, Datatype.DATE, Datatype.DATETIME)
            return next((datatype for datatype in datatypes if _has_form(text, datatype)), Datatype.STRING)
        case _:
            return Datatype.STRING


def _has_form(text: str, datatype: Datatype) -> bool:
    return re.fullmatch(LEXICAL_FORMS[datatype], text, re.ASCII) is not None


def _literal(value: Value, datatype: Datatype) -> str | None:
    """A policy's value as a text of a column's datatype; None where it is none."""
    match value:
        case Text(text=text):
            return _read_text(text, datatype)
        case Number(value=number) if datatype in _NUMBERS:
            return _plain_number(number)
        case Day(day=day) if datatype is Datatype.DATE:
            return day.isoformat()
        case Instant(time=time) if datatype is Datatype.DATETIME:
            try:
                return (
                    (time if time.tzinfo is None else time.astimezone(UTC))
                    .isoformat()
                    .replace("+00:00", "Z")
                )
            except OverflowError:
                return None
        case _:
            return None


def _instant(time: datetime) -> str | None:
    if time.tzinfo is None:
        return time.isoformat()
    try:
        return time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    except OverflowError:
        return None


def _read_text(text: str, datatype: Datatype) -> str | None:
    if datatype is Datatype.STRING:
        return text
    if datatype in _NUMBERS:
        return _plain_number(Decimal(text)) if _has_form(text, Datatype.DOUBLE) else None
    return text if _has_form(text, datatype) else None


def _plain_number(number: Decimal) -> str | None:
    """A number without an exponent and without zeros at its end; None where it is too long."""
    if not number:
        return "0"
    if not -_MOST_DIGITS <= number.adjusted() < _MOST_DIGITS:
        return None
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if re.fullmatch(LEXICAL_FORMS[Datatype.DECIMAL], text) else None


def _logical(operator: LogicalOperator, operands: Sequence[RowCondition]) -> RowCondition:
    if operator is LogicalOperator.AND_SEQUENCE:
        operator = LogicalOperator.AND
    if operator is not LogicalOperator.XONE:
        simplified = _simplified(operator, operands)
        return simplified[0] if len(simplified) == 1 else RowLogical(operator, simplified)
    if len(operands) == 1:
        return operands[0]
    # Without a value, nobody can say that one of them is not satisfied: such a row is left out.
    exclusive = RowLogical(operator, tuple(sorted(operands, key=_key)))
    present = {comparison.column: comparison.datatype for comparison in _comparisons(operands)}
    present_values = (
        RowComparison(name, Operator.IS_NONE_OF, (), present[name]) for name in sorted(present)
    )
    return RowLogical(LogicalOperator.AND, _simplified(LogicalOperator.AND, (exclusive, *present_values)))


def _comparisons(conditions: Iterable[RowCondition]) -> Iterator[RowComparison]:
    for condition in conditions:
        if isinstance(condition, RowComparison):
            yield condition
        else:
            yield from _comparisons(condition.operands)


def _simplified(operator: LogicalOperator, operands: Iterable[RowCondition]) -> tuple[RowCondition, ...]:
    """The operands of `and` or `or`: each once, with nested operands of the same operator."""
    by_key: dict[str, RowCondition] = {}
    for operand in operands:
        inner: tuple[RowCondition, ...] = (operand,)
        if isinstance(operand, RowLogical) and operand.operator is operator:
            inner = operand.operands
        by_key.update({_key(operand): operand for operand in inner})
    return tuple(by_key[key] for key in sorted(by_key))


def _key(condition: RowCondition) -> str:
    """A place in the order of conditions."""
    match condition:
        case RowComparison(column=column, operator=operator, values=values, datatype=datatype):
            return json.dumps([column, operator, datatype, *values])
        case RowLogical(operator=operator, operands=operands):
            return json.dumps([[operator, *map(_key, operands)]])
        case _:
            assert_never(condition)


def satisfying_values(
    comparison: RowComparison, texts: pa.Array, time_zone: str | None
) -> NDArray[np.bool_]:
    """For each text of the column, whether it satisfies the comparison.

    Both sides get codes from one codebook, so that they are compared as the kernel compares values.
    """
    datatype, operator = comparison.datatype, comparison.operator
    if not all_match(texts, datatype):
        raise ValueFormError
    if datatype in _NUMBERS:  # `age gt 17.5` is good for whole numbers too
        datatype = Datatype.DOUBLE if datatype is Datatype.DOUBLE else Datatype.DECIMAL
    both = pa.concat_arrays([texts.cast(pa.string()), pa.array(comparison.values, pa.string())])
    if datatype is Datatype.STRING:
        both = both.dictionary_encode()
        codes = both.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        codes = make_codebook(both, datatype, time_zone, has_missing=False).codes
    column_codes, values = codes[: len(texts)], codes[len(texts) :]
    if operator in _ORDERING:
        ordered: NDArray[np.bool_] = _ORDERING[operator](column_codes, values[0])
        return ordered
    return np.isin(column_codes, values, invert=operator in _NEGATIVE)
