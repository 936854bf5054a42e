"""A population table as a plan reads it: its columns and respondents, and what does not fit the target."""

from collections.abc import Sequence
from fractions import Fraction

from smalti.engine.backends.faults import cell, first_fault
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.kept_rows import leave_out_withdrawn
from smalti.engine.binding.ladders import column_ladders
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Column, OneRowEach, Respondent, RespondentColumn, Role
from smalti.engine.tables.description import Source
from smalti.errors import DataError, PlanError, SmaltiError
from smalti.policy.model.model import Anonymization, Comparison, Condition, Logical, Number, Operator
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import LEXICAL_FORMS, ValueFormError, check_values, make_codebook
from smalti.vocab.terms import (
    COLUMN,
    DELTA_PRESENCE,
    K_MAP,
    OUTPUT_FORM,
    PARTITIONING,
    PRESENCE,
    PSEUDONYM,
    SUPPRESSION_LIMIT,
)

OF_POPULATION = (K_MAP, DELTA_PRESENCE)
"""The methods that hold classes against a population table."""


def stated_presence(wanted: Anonymization) -> tuple[Fraction, Fraction]:
    """The bounds of delta-presence; what is not bounded is from 0, or to 1."""
    low, high = Fraction(0), Fraction(1)
    for parameter in wanted.parameters:
        match parameter:
            case Comparison(operand=operand, operator=operator, values=(Number(number),)) if (
                operand == PRESENCE
            ):
                if operator is Operator.GTEQ:
                    low = Fraction(number)
                else:
                    high = Fraction(number)
    return low, high


def refused_beside_population(wanted: Anonymization) -> list[SmaltiError]:
    """What a policy states that is not implemented for the methods of a population table."""
    stated = {
        str(comparison.operand): comparison
        for comparison in wanted.parameters
        if isinstance(comparison, Comparison)
    }
    refused = [
        (str(reference.where), "`mosaicrown:sensitive`", "columns under `smalti:released`")
        for reference in wanted.sensitive[:1]
    ]
    if (limit := stated.get(SUPPRESSION_LIMIT)) is not None:
        refused.append((str(limit.where), "`smalti:suppressionLimit`", "no suppression"))
    if (named := stated.get(PSEUDONYM)) is not None:
        refused.append((str(named.where), "`smalti:pseudonym`", "columns under `smalti:released`"))
    if (way := stated.get(PARTITIONING)) is not None and "strict" not in {str(v) for v in _texts(way)}:
        refused.append((str(way.where), "this `smalti:partitioning`", "`strict`"))
    refused += [
        # A prefix also covers persons of other classes, and a figure covers nobody.
        (str(comparison.where), "a prefix, mean or median as `smalti:outputForm`", "another form")
        for comparison in map(_without_column, wanted.parameters)
        if comparison.operand == OUTPUT_FORM
        and {"prefix", "mean", "median"}.intersection(_texts(comparison))
    ]
    return [
        PlanError(
            where,
            f"{what} is not implemented yet for the method `{wanted.method}`",
            expected,
            "leave it out, or state another method",
        )
        for where, what, expected in refused
    ]


def _without_column(parameter: Condition) -> Comparison:
    """A parameter, without the column that it is for."""
    parts = parameter.operands if isinstance(parameter, Logical) else (parameter,)
    return next(part for part in parts if isinstance(part, Comparison) and part.operand != COLUMN)


def _texts(comparison: Comparison) -> Sequence[str]:
    return [getattr(value, "text", "") for value in comparison.values]


class PopulationBinder:
    """Binds the columns of a population table to those of a plan, and collects problems."""

    def __init__(
        self,
        wanted: Anonymization,
        source: Source,
        population: BoundPopulation,
        problems: list[SmaltiError],
    ) -> None:
        """Take a population table.

        Args:
            wanted: by the policy.
            source: the target, whose description has the hierarchies.
            population: the table, bound.
            problems: takes a `PlanError` for each problem.
        """
        self._wanted, self._target = wanted, source
        self._population, self._problems = population, problems

    def bind(self, columns: Sequence[Column], respondent: Respondent) -> None:
        """Leave out who withdrew; check columns and respondents against those of the plan."""
        table = self._population.table
        header = table.contents.header
        self._bind_respondent(columns, respondent)
        for column in columns:
            if column.role is Role.QUASI_IDENTIFIER:
                if column.name in header:
                    self._bind_column(column)
                else:
                    self._problem(
                        f"it has no column `{column.name}`, which the plan generalises",
                        "each quasi-identifier, under the name that the target has for it",
                        "rename its column, or leave that quasi-identifier out of the policy",
                    )

    # --- Respondents

    def _bind_respondent(self, columns: Sequence[Column], respondent: Respondent) -> None:
        described = self._population.source.description
        if isinstance(respondent, OneRowEach):
            if described.respondent is not None:
                self._problem(
                    "its respondents are told apart by a column, and the target has one row for each",
                    "the same declaration for both",
                    "declare the respondent's column for the target, too",
                )
            elif respondent.is_declared and not (described.one_row_each or self._wanted.one_row_each):
                self._problem(
                    "nothing says that each of its rows is about another person",
                    "`smalti:oneRowEach` as the respondent in its description, or in the policy",
                    "declare it, or the respondent's column for both tables",
                )
            elif self._population.withdrawn:
                self._problem(
                    "people withdrew from it, but no column identifies their rows",
                    "a respondent column",
                    "declare the respondent's column for both tables",
                )
            return
        self._bind_respondent_column(next(c for c in columns if c.name == respondent.column), respondent)

    def _bind_respondent_column(self, column: Column, respondent: RespondentColumn) -> None:
        table, described = self._population.table, self._population.source.description
        if described.respondent not in (None, column.name):
            self._problem(
                "its description declares another respondent than the target has",
                f"`{column.name}`",
                "declare the same column for both tables",
            )
        if column.name not in table.contents.header:
            self._problem(
                f"it has no column `{column.name}`, which identifies respondents",
                "the respondent's column, under the name that the target has for it",
                "add it",
            )
            return
        if self._population.withdrawn:
            self._leave_out_withdrawn(column)
        first = table.first_missing(column.name)
        if first is not None:
            self._problem(
                "a row has no respondent",
                "a value in each row, because it identifies respondents",
                "complete the column, or remove those rows",
                where=cell(self._population.source, table.contents, column.name, first),
            )
        if column.role is not Role.QUASI_IDENTIFIER:
            self._check_values(column)

    def _leave_out_withdrawn(self, column: Column) -> None:
        withdrawn = self._population.withdrawn
        if withdrawn.columns - {column.name} or self._population.source.has_format(column.name):
            self._problem(
                f"people who withdrew from it cannot be told by `{column.name}` as it is described",
                "the respondent column that they were listed by, without a format",
                "declare the column that they were listed by",
            )
            return
        leave_out_withdrawn(
            self._population.table, column.name, column.datatype, column.time_zone, withdrawn
        )

    # --- Columns

    def _bind_column(self, column: Column) -> None:
        described = self._population.source.description.column(column.name)
        index = self._population.table.contents.header.index(column.name)
        declared = described.datatype or self._population.table.contents.datatypes[index]
        if declared not in (None, column.datatype):
            self._problem(
                f"its column `{column.name}` is declared as {declared}, and that of the target is"
                f" {column.datatype} ({'inferred' if column.is_inferred else 'declared'})",
                "the same datatype",
                f"declare it as {declared} in the target's description, too"
                if column.is_inferred
                else "correct one of the descriptions",
            )
            return
        if described.time_zone not in (None, column.time_zone):
            self._problem(
                f"its column `{column.name}` has another time zone than that of the target",
                "the same time zone",
                "correct one of the descriptions",
            )
            return
        if self._check_values(column) and column.hierarchy is not None:
            self._check_hierarchy(column, self._hierarchy(column))

    def _hierarchy(self, column: Column) -> DeclaredHierarchy | None:
        return self._target.description.column(column.name).hierarchy

    def _check_hierarchy(self, column: Column, hierarchy: DeclaredHierarchy | None) -> None:
        if hierarchy is None:
            return  # each value by itself, or all together
        book = make_codebook(
            self._population.table.texts(column.name), column.datatype, column.time_zone, has_missing=False
        )
        try:
            column_ladders(column, book.texts, hierarchy.stated)
        except DataError as error:
            where = f"{self._population.source.path.name}, column `{column.name}`"
            self._problems.append(PlanError(where, error.problem, error.expected, error.way_out))

    def _check_values(self, column: Column) -> bool:
        table = self._population.table
        if column.datatype is Datatype.STRING:
            return True
        try:
            check_values(table.texts(column.name), column.datatype, column.time_zone)
        except ValueFormError:
            row = first_fault(table, column.name, column.datatype, column.time_zone)
            self._problem(
                f"a value is not a valid {column.datatype}, as those of the target are",
                f"texts that match {LEXICAL_FORMS[column.datatype]}",
                "correct the data, or declare the datatype of the target's column",
                where=cell(self._population.source, table.contents, column.name, row),
            )
            return False
        return True

    def _problem(self, problem: str, expected: str, way_out: str, where: str | None = None) -> None:
        where = where or f"population {self._population.source.path.name}"
        self._problems.append(PlanError(where, problem, expected, way_out))
