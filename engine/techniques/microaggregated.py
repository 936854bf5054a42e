"""How a policy wants columns to be microaggregated: by which distance, and what stands for a class."""

from dataclasses import replace
from typing import Final, TypeAlias

from smalti.engine.binding.bound_columns import parameter_parts
from smalti.engine.plan.hierarchies import OrderedList
from smalti.engine.plan.plan import Column, OutputForm
from smalti.errors import PlanError, SmaltiError
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Anonymization, Comparison, Text, Where
from smalti.transforms.base import Datatype
from smalti.transforms.class_models import Distance
from smalti.vocab.terms import DISTANCE

_WITH_FIGURES: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE, Datatype.DATE)
_FIGURES: Final = (OutputForm.MEAN, OutputForm.MEDIAN)
_NUMBERS_OR_LIST: Final = "numbers, dates, or texts whose description declares their order"
_NEEDS: Final = {
    Distance.ORDERED: _NUMBERS_OR_LIST,
    Distance.HIERARCHICAL: "a column whose description declares a hierarchy",
}
"""By distance, the columns that have it; any column has the other one."""


_OTHERWISE: Final = {
    True: "for a mode or a medoid, state the distance `equal` or declare a hierarchy",
    False: "means and medians are of numbers and dates with the distance `ordered`: declare such a datatype"
    " in the description if the values have it",
}
"""By whether groups have a figure, how they get what else was stated."""
StatedDistance: TypeAlias = tuple[Distance, Where] | None
"""What a policy states for a column, and where; None: nothing."""


def microaggregated(
    column: Column,
    form: tuple[str, Where] | None,
    stated: StatedDistance,
    where: Where,
    problems: list[SmaltiError],
) -> Column:
    """A column as it is grouped, and as what stands for each group.

    Numbers and dates are apart as they are, unless the policy states otherwise; texts as their places in
    the list or the hierarchy that the description declares, and where it declares none, all alike.

    Args:
        column: of the plan, with the hierarchy that the description declares.
        form: what the policy states for it, and where; None: nothing.
        stated: the distance of the column.
        where: the action is.
        problems: takes a `PlanError` for each word that does not fit the column.
    """
    possible = _distances_of(column)
    if not possible and stated is None:
        problems.append(
            PlanError(
                str(where),
                f"microaggregation of date-times is not implemented yet: `{column.name}`",
                "dates, numbers or texts",
                f"state the distance `{Distance.EQUAL}` or declare a hierarchy for `{column.name}`, name it"
                " elsewhere in the policy, or state another `smalti:algorithm`",
            )
        )
        return column
    chosen = possible[0] if stated is None else stated[0]
    if stated is not None and chosen not in (*possible, Distance.EQUAL):
        problems.append(
            PlanError(
                str(stated[1]),
                f"the distance is `{chosen}`, which the column `{column.name}` cannot have",
                _NEEDS[chosen],
                "state another distance, or the column's datatype or hierarchy in the description",
            )
        )
        return column
    is_listed = column.hierarchy is not None and column.hierarchy.kind == OrderedList.kind
    if chosen is Distance.ORDERED and not is_listed:
        return _formed(replace(column, hierarchy=None), form, _FIGURES, problems)
    possible_forms: tuple[OutputForm, ...] = (OutputForm.MEDOID, OutputForm.MODE)
    if chosen is Distance.EQUAL:
        column = replace(column, hierarchy=None)
        # Of values that are all as far from each other it is the same.
        form = None if form is not None and form[0] == OutputForm.MEDOID else form
        possible_forms = (OutputForm.MODE,)
    return _formed(replace(column, distance=chosen), form, possible_forms, problems)


def _nature(column: Column) -> str:
    """The datatype of a column, and on whose word it has it."""
    source = "inferred from the data" if column.is_inferred else "declared"
    return f"{column.datatype}, {source}"


def _distances_of(column: Column) -> tuple[Distance, ...]:
    """Beside `equal`, the one that a column has where none is stated before others."""
    has_figures = column.datatype in _WITH_FIGURES
    if column.hierarchy is None:
        texts = () if column.datatype is Datatype.DATETIME else (Distance.EQUAL,)
        return (Distance.ORDERED,) if has_figures else texts
    if column.hierarchy.kind == OrderedList.kind:
        return Distance.ORDERED, Distance.HIERARCHICAL
    return (Distance.HIERARCHICAL, Distance.ORDERED) if has_figures else (Distance.HIERARCHICAL,)


def distance_in(wanted: Anonymization, column: Column) -> StatedDistance:
    """The distance that a policy states for a column."""
    for parameter in wanted.parameters:
        iri, stated = parameter_parts(parameter)
        match stated:
            case Comparison(operand=operand, values=(Text(name),), where=where) if (
                operand == DISTANCE
                and iri is not None
                and normalised_column(iri) == normalised_column(column.iri)
            ):
                return Distance(name), where
    return None


def _formed(
    column: Column,
    stated: tuple[str, Where] | None,
    possible_forms: tuple[OutputForm, ...],
    problems: list[SmaltiError],
) -> Column:
    """The column in the stated form, or in the first of those that it may have."""
    if stated is not None and stated[0] not in possible_forms:
        listed = " or ".join(f"`{form}`" for form in sorted(possible_forms))
        distance = column.distance or Distance.ORDERED
        problems.append(
            PlanError(
                str(stated[1]),
                f"`smalti:outputForm` is `{stated[0]}`, but the column `{column.name}` ({_nature(column)})"
                f" is grouped by the distance `{distance}`",
                f"{listed}, by that distance",
                f"write {'one of these' if len(possible_forms) > 1 else 'it'} for this column, or leave the"
                f" word out for `{possible_forms[0]}`; {_OTHERWISE[possible_forms == _FIGURES]}",
            )
        )
        return column
    return replace(column, form=possible_forms[0] if stated is None else OutputForm(stated[0]))
