"""The rows that take part: those that satisfy a plan's filter, of respondents who have not withdrawn."""

import json
from collections.abc import Callable
from typing import Final, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends.staged import Listed, RowTest, StagedTable, Together
from smalti.engine.binding.rows import satisfying_values
from smalti.engine.plan.plan import (
    Filter,
    RespondentColumn,
    RowComparison,
    RowCondition,
    RowLogical,
    RowPlan,
)
from smalti.engine.tables.withdrawn import Withdrawn, sought_forms
from smalti.errors import DataError, PlanError
from smalti.policy.model.model import LogicalOperator, Operator
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError

_WORDS: Final = {
    Operator.EQ: "is",
    Operator.NEQ: "is not",
    Operator.GT: "is above",
    Operator.GTEQ: "is at least",
    Operator.LT: "is below",
    Operator.LTEQ: "is at most",
    Operator.IS_ANY_OF: "is one of",
    Operator.IS_NONE_OF: "is none of",
}


def leave_out_rows(plan: RowPlan, table: StagedTable, withdrawn: Withdrawn) -> None:
    """Leave out, from here on, the rows that take no part in a plan, as when it was made.

    Raises:
        PlanError: people withdrew, but the plan does not identify respondents.
        DataError: a value is none of its column's datatype.
    """
    respondent = plan.read.respondent
    if withdrawn:
        if not isinstance(respondent, RespondentColumn):
            raise PlanError(plan.read.target, "people withdrew, but the plan does not identify respondents")
        column = plan.column(respondent.column)
        leave_out_withdrawn(table, column.name, column.datatype, column.time_zone, withdrawn)
    if plan.filter is not None:
        keep_satisfying(table, plan.filter, lambda name: plan.column(name).time_zone)


def keep_satisfying(table: StagedTable, wanted: Filter, time_zone: Callable[[str], str | None]) -> None:
    """Leave out, from here on, each row that does not satisfy a filter.

    Args:
        table: where.
        wanted: the filter.
        time_zone: of a column, by name.

    Raises:
        DataError: a value is none of its column's datatype.
    """

    def test(condition: RowCondition) -> RowTest:
        match condition:
            case RowComparison(column=column):
                texts = table.texts(column)
                return Listed(column, texts.filter(pa.array(_checked(condition, texts, time_zone(column)))))
            case RowLogical(operator=operator, operands=operands):
                return Together(operator, tuple(map(test, operands)))
            case _:
                assert_never(condition)

    table.keep(Together(LogicalOperator.AND, tuple(map(test, wanted.conditions))))


def _checked(comparison: RowComparison, texts: pa.Array, time_zone: str | None) -> NDArray[np.bool_]:
    try:
        return satisfying_values(comparison, texts, time_zone)
    except ValueFormError:
        raise DataError(
            f"column `{comparison.column}`",
            f"a value is not a valid {comparison.datatype}",
            "the plan's datatype",
        ) from None


def leave_out_withdrawn(
    table: StagedTable, column: str, datatype: Datatype, time_zone: str | None, withdrawn: Withdrawn
) -> None:
    """Leave out, from here on, each row about a respondent who withdrew.

    Args:
        table: where.
        column: whose values tell respondents apart.
        datatype: what the kernel compares them as.
        time_zone: of date-times that state none.
        withdrawn: who withdrew.
    """
    texts = [
        text
        for text in table.texts(column).to_pylist()
        if withdrawn.includes(sought_forms(text, datatype, time_zone))
    ]
    if texts:
        table.leave_out(Listed(column, pa.array(texts, pa.string())))


def describe_rows(wanted: Filter) -> str:
    """The conditions as one phrase for people.

    >>> describe_rows(Filter((RowComparison("age", Operator.GTEQ, ("18",), Datatype.INTEGER),)))
    'age is at least 18'
    """
    return "; and ".join(map(_described, wanted.conditions))


def _described(condition: RowCondition) -> str:
    match condition:
        case RowComparison(column=column, operator=operator, values=values, datatype=datatype):
            quoted = [
                json.dumps(value, ensure_ascii=False) if datatype is Datatype.STRING else value
                for value in values
            ]
            return f"{column} {_WORDS[operator]} {', '.join(quoted)}" if values else f"{column} has a value"
        case RowLogical(operator=LogicalOperator.XONE, operands=operands):
            return f"exactly one of ({'; '.join(map(_described, operands))})"
        case RowLogical(operator=operator, operands=operands):
            return f"({f' {operator} '.join(map(_described, operands))})"
        case _:
            assert_never(condition)
