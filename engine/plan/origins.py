"""Where the columns of an output come from: from a plan alone, for catalogues of lineage."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from smalti.engine.plan.plan import Column, Filter, Respondent, Role, columns_of_respondent


class Change(StrEnum):
    """What is done to values on their way into an output."""

    NONE = "none"
    """They are published as they are."""
    MASKED = "masked"
    """They are generalised, replaced or perturbed, one by one or by class."""
    AGGREGATED = "aggregated"
    """One figure, with noise, stands for many of them."""


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A published column, and the input columns that its values come from."""

    column: str
    inputs: tuple[str, ...]
    change: Change


@dataclass(frozen=True, slots=True)
class Origins:
    """The columns of one table of an output, and the input columns that decide which rows it has."""

    columns: tuple[ColumnOrigin, ...] = ()
    grouped_by: tuple[str, ...] = ()
    """By which rows are divided into classes, groups or people."""
    filtered_by: tuple[str, ...] = ()
    """By which rows are left out."""


def of_rows(
    columns: Iterable[Column],
    published: Iterable[str],
    changed: Iterable[str],
    respondent: Respondent,
    filter_: Filter | None,
) -> Origins:
    """The origins of published rows, whose columns have the names that they had.

    Args:
        columns: of the input.
        published: their names.
        changed: those among them that are not published as they are.
        respondent: by what people are counted.
        filter_: which rows take part.
    """
    names, masked = tuple(published), frozenset(changed)
    classes = tuple(column.name for column in columns if column.role is Role.QUASI_IDENTIFIER)
    return Origins(
        tuple(
            ColumnOrigin(name, (name,), Change.MASKED if name in masked else Change.NONE) for name in names
        ),
        grouped_by=(*classes, *columns_of_respondent(respondent).difference(classes)),
        filtered_by=tuple(sorted(filter_.columns)) if filter_ is not None else (),
    )
