"""Where the ends of ranges come from: `smalti:labelBounds`, for all columns or for one."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import parameter_parts
from smalti.engine.plan.plan import Column, Region, Role
from smalti.engine.tables.description import Description
from smalti.errors import OWNER_CAN, PlanError, SmaltiError
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Anonymization, Comparison, Text, Where
from smalti.transforms.base import STRICT_MONDRIAN, Datatype, Transform
from smalti.transforms.values.texts import keys, unit_places
from smalti.vocab.terms import IRI, LABEL_BOUNDS

_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_REGION: Final = Text("region")
_MOST_DIGITS: Final = 100
"""Behind the point, and before it."""


class RegionBinder:
    """Binds the columns whose ranges shall end at public bounds and at cuts, and collects problems."""

    def __init__(
        self, wanted: Anonymization, description: Description, problems: list[SmaltiError]
    ) -> None:
        """Read what a policy states.

        Args:
            wanted: by the policy; its words are implemented.
            description: of the target, with its public bounds.
            problems: takes a `PlanError` for each column that cannot have regions.
        """
        self._description, self._problems = description, problems
        self._of_all: tuple[Text, Where] | None = None
        self._of_columns: dict[IRI, tuple[Text, Where]] = {}
        for parameter in wanted.parameters:
            iri, stated = parameter_parts(parameter)
            match stated:
                case Comparison(operand=operand, values=(Text() as name,), where=where) if (
                    operand == LABEL_BOUNDS
                ):
                    if iri is None:
                        self._of_all = name, where
                    else:
                        self._of_columns[normalised_column(iri)] = name, where

    def bound(self, columns: tuple[Column, ...], table: StagedTable) -> tuple[Column, ...]:
        """The same columns, those that need it with their region.

        Args:
            columns: of the plan, with their output forms.
            table: its rows; their values are of their columns' datatypes.
        """
        others = dict(self._of_columns)
        bound = tuple(
            self._with_region(column, others.pop(normalised_column(column.iri), None), table)
            for column in columns
        )
        for _, where in others.values():
            self._not_generalised(where)
        self._check_beside(bound)
        self._check_all(bound)
        return bound

    def _with_region(self, column: Column, own: tuple[Text, Where] | None, table: StagedTable) -> Column:
        if column.role is not Role.QUASI_IDENTIFIER:
            if own is not None:
                self._not_generalised(own[1])
            return column
        stated = own or (self._of_all if column.is_published_as_ranges else None)
        if stated is None or stated[0] != _REGION:
            return column
        where = stated[1]
        if not column.is_published_as_ranges or column.datatype not in _NUMBERS:
            self._problem(
                where,
                f"`smalti:labelBounds` is `region`, which the column `{column.name}` cannot have",
                "a column of numbers that is published as ranges",
                "state `observed` for this column, or its datatype in the description",
            )
            return column
        return self._between_bounds(column, where, table)

    def _between_bounds(self, column: Column, where: Where, table: StagedTable) -> Column:
        said = self._description.column(column.name)
        if said.lower is None or said.upper is None:
            self._problem(
                where,
                f"`smalti:labelBounds` is `region`, but the column `{column.name}` has no public bounds",
                "`minimum` and `maximum` of the column in the description",
                "declare both, from what is publicly known and not from the data; or state `observed`",
            )
            return column
        if said.is_derived:
            self._problem(
                where,
                f"`smalti:labelBounds` is `region`, but the bounds of the column `{column.name}` were taken"
                " from the data",
                "bounds that are publicly known",
                "declare such bounds; or state `observed`",
            )
            return column
        region = _region(said.lower, said.upper, column, table)
        if region is None:
            self._problem(
                where,
                f"numbers of the column `{column.name}`, or its bounds, are too long for a region",
                f"at most {_MOST_DIGITS} digits before the point and behind it",
                "state `observed` for this column",
            )
        elif not _lies_between(column, region, table):
            self._problem(
                where,
                f"values of the column `{column.name}` lie outside its public bounds",
                "values from `minimum` to `maximum` of the description",
                f"{OWNER_CAN} correct the bounds or the data; or state `observed`",
            )
        else:
            return replace(column, region=region)
        return column

    def _check_beside(self, columns: tuple[Column, ...]) -> None:
        """Refuse labels beside regions that do not show where their column was cut."""
        if not any(column.region for column in columns):
            return
        for column in columns:
            if column.role is Role.QUASI_IDENTIFIER and not (
                column.is_published_as_ranges or column.is_published_as_sets
            ):
                self._problem(
                    self._where,
                    "`smalti:labelBounds` `region` is not implemented yet beside the column"
                    f" `{column.name}`, whose labels are nodes, prefixes or figures",
                    "ranges and sets alone",
                    "state `observed`, or another form for this column",
                )

    def _check_all(self, columns: tuple[Column, ...]) -> None:
        """Refuse what is stated for all columns and is about none: it would be ignored."""
        if self._of_all is None or self._of_all[0] != _REGION:
            return
        if not any(column.is_published_as_ranges for column in columns):
            self._problem(
                self._of_all[1],
                "`smalti:labelBounds` is `region`, but no column is published as ranges",
                "a column of numbers that is published as ranges",
                "leave it out; or state the algorithm `mondrian`, the form `range`, or the datatypes of"
                " columns in the description",
            )

    @property
    def _where(self) -> Where:
        return next(
            where
            for name, where in (*([self._of_all] if self._of_all else []), *self._of_columns.values())
            if name == _REGION
        )

    def check_transform(
        self, transform: Transform, columns: tuple[Column, ...], *, is_sampled: bool
    ) -> None:
        """Refuse classes whose regions are not those of cuts.

        Args:
            transform: of the plan.
            columns: of the plan, bound.
            is_sampled: whether first cuts come from a sample.
        """
        if not any(column.region for column in columns):
            return
        if transform.class_maker != STRICT_MONDRIAN or transform.guarantee.is_of_population:
            self._problem(
                self._where,
                "`smalti:labelBounds` `region` is not implemented yet for this technique",
                "the algorithm `mondrian` with `strict` partitioning and `multi` dimensionality, without a"
                " population table",
                "leave the other choice out, or state `observed`",
            )
        elif is_sampled:
            self._problem(
                self._where,
                "requested first cuts from a sample, but the policy requires regions",
                "no first cuts, because the whole table is cut at once",
                "leave out --first-cuts",
            )

    def _not_generalised(self, where: Where) -> None:
        self._problem(
            where,
            "`smalti:labelBounds` is stated for a column that is not generalised",
            "a column under `mosaicrown:quasi-identifier`",
            "list the column there, or remove the parameter",
        )

    def _problem(self, where: Where, problem: str, expected: str, way_out: str) -> None:
        self._problems.append(PlanError(str(where), problem, expected, way_out))


def _region(lower: Decimal, upper: Decimal, column: Column, table: StagedTable) -> Region | None:
    """None where numbers are too long. Of integers, bounds are those that are whole."""
    if column.datatype is Datatype.INTEGER:
        lower, upper = Decimal(ceil(lower)), Decimal(floor(upper))
    low, high = (format(bound, "f") for bound in (lower, upper))
    decimals = max(
        unit_places(table.texts(column.name), column.datatype),
        *(len(text.partition(".")[2]) for text in (low, high)),
    )
    longest = max(len(text.partition(".")[0]) for text in (low, high))
    return Region(low, high, decimals) if max(decimals, longest) <= _MOST_DIGITS else None


def _lies_between(column: Column, region: Region, table: StagedTable) -> bool:
    numbers = keys(table.texts(column.name), column.datatype, None, region.decimals)
    low, high = (int(Fraction(text) * 10**region.decimals) for text in (region.low, region.high))
    return not len(numbers) or bool(low <= numbers.min() and numbers.max() <= high)
