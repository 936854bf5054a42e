"""How a policy wants generalised values to be written: `smalti:outputForm`, for all columns or for one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import parameter_parts
from smalti.engine.plan.plan import Column, OutputForm, Role
from smalti.engine.techniques.microaggregated import distance_in, microaggregated
from smalti.errors import PlanError, SmaltiError
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Anonymization, Comparison, Text, Where
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import keys, unit_places
from smalti.vocab.terms import IRI, MDAV, OUTPUT_FORM

_NEEDS: Final = {
    "range": "numbers or times without a hierarchy",
    "set": "texts without a hierarchy",
    "prefix": "texts without a hierarchy",
    "node": "a column with a hierarchy",
    "mean": "numbers or dates without a hierarchy",
    "median": "numbers or dates without a hierarchy",
    "mode": "a column that is microaggregated",
    "medoid": "a column that is microaggregated",
}
"""By form, the columns that have it."""
_FIGURES: Final = (OutputForm.MEAN, OutputForm.MEDIAN)
MOST_DIGITS: Final = 100
"""Before the point, and behind it: as many as numbers may have."""


def stated_forms(
    wanted: Anonymization, columns: tuple[Column, ...], problems: list[SmaltiError]
) -> tuple[Column, ...]:
    """The same columns, with the forms that a policy states; that of a column precedes that of all.

    A form that a column has anyway changes nothing, not even the plan's digest.

    Args:
        wanted: by the policy; its words are implemented.
        columns: of the plan.
        problems: takes a `PlanError` for each form that does not fit its column.
    """
    of_all: tuple[str, Where] | None = None
    of_columns: dict[IRI, tuple[str, Where]] = {}
    for parameter in wanted.parameters:
        iri, stated = parameter_parts(parameter)
        match stated:
            case Comparison(operand=operand, values=(Text(name),), where=where) if operand == OUTPUT_FORM:
                if iri is None:
                    of_all = name, where
                else:
                    of_columns[normalised_column(iri)] = name, where
    formed = []
    for column in columns:
        own = of_columns.pop(normalised_column(column.iri), None)
        if column.role is Role.QUASI_IDENTIFIER and wanted.algorithm == MDAV:
            distance = distance_in(wanted, column)
            formed.append(microaggregated(column, own or of_all, distance, wanted.where, problems))
        elif column.role is not Role.QUASI_IDENTIFIER:
            problems += [_not_generalised(own[1])] if own else []
            formed.append(column)
        else:
            formed.append(_formed(column, own or of_all, problems))
    problems += [_not_generalised(where) for _, where in of_columns.values()]
    return tuple(formed)


def _formed(column: Column, stated: tuple[str, Where] | None, problems: list[SmaltiError]) -> Column:
    if stated is None:
        return column
    name, where = stated
    if name not in _forms_of(column):
        has = ", ".join(f"`{form}`" for form in _forms_of(column))
        problems.append(
            PlanError(
                str(where),
                f"the output form is `{name}`, which the column `{column.name}` cannot have",
                f"{_NEEDS[name]}; this column has {has}",
                "state another form for this column, or its datatype or hierarchy in the description",
            )
        )
        return column
    return replace(column, form=OutputForm(name)) if name in set(OutputForm) else column


def _forms_of(column: Column) -> Sequence[str]:
    if column.hierarchy is not None:
        return ("node",)
    if not column.datatype.is_ordered:
        return ("set", "prefix")
    return ("range",) if column.datatype is Datatype.DATETIME else ("range", "mean", "median")


def with_decimals(
    columns: tuple[Column, ...], table: StagedTable, problems: list[SmaltiError]
) -> tuple[Column, ...]:
    """The same columns; those that are published as figures with the decimals of these.

    A figure has as many decimals as the value of the column that is written with most, at most 100; of
    doubles the shortest spelling counts.

    Args:
        columns: of the plan.
        table: its rows; their values are of their columns' datatypes.
        problems: takes a `PlanError` for each column with numbers that are too large.
    """
    return tuple(
        _with_decimals(column, table, problems) if column.form in _FIGURES else column for column in columns
    )


def _with_decimals(column: Column, table: StagedTable, problems: list[SmaltiError]) -> Column:
    texts = table.texts(column.name)
    places = unit_places(texts, column.datatype)
    numbers = keys(texts, column.datatype, None) if column.datatype is Datatype.DOUBLE else ()
    if any(abs(number) >= 10 ** (MOST_DIGITS + places) for number in numbers):
        problems.append(
            PlanError(
                f"column `{column.name}`",
                f"a number is too large for the output form `{column.form}`",
                f"numbers of at most {MOST_DIGITS} digits before the point",
                "state the form `range` for this column",
            )
        )
    # Doubles may all be multiples of ten: a figure has no fewer decimals than none.
    return replace(column, decimals=min(max(places, 0), MOST_DIGITS))


def _not_generalised(where: Where) -> PlanError:
    return PlanError(
        str(where),
        "`smalti:outputForm` is stated for a column that is not generalised",
        "a column under `mosaicrown:quasi-identifier`",
        "list the column there, or remove the parameter",
    )
