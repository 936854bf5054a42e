"""Compile a permission with Anatomy and a bound table to a plan of two tables."""

from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.asked_bounds import AskedBounds
from smalti.engine.binding.bound_columns import refuse_unimplemented
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.binding.column_roles import ColumnRoles
from smalti.engine.plan.bucketization import BucketizationPlan, Group, WriteTable, WriteTables
from smalti.engine.plan.plan import (
    Column,
    OutputFormat,
    Read,
    Respondent,
    RespondentColumn,
    Role,
    Select,
)
from smalti.engine.tables.description import Source
from smalti.errors import InternalError, PlanError, SmaltiError, raise_all
from smalti.policy.decide.decision import Fact
from smalti.policy.model.column_iris import column_iri
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Condition,
    Logical,
    Number,
    Permission,
    Text,
)
from smalti.policy.read.anonymization import shortened
from smalti.transforms.class_models import Diversity
from smalti.vocab.terms import ANATOMY, DIVERSITY, IRI, SUPPRESSION_LIMIT, L

RECORDS: Final = "quasi-identifiers"
VALUES: Final = "sensitive"
"""What the IRIs of the two tables end with."""
_GROUP: Final = "group"
_COUNT: Final = "count"


def table_iris(output: IRI) -> tuple[IRI, IRI]:
    """The IRIs of the records and of the values of an output."""
    return column_iri(output, RECORDS), column_iri(output, VALUES)


def compile_bucketization(
    permission: Permission,
    source: Source,
    table: StagedTable,
    output_format: OutputFormat,
    circumstances: Circumstances = NO_MORE,
) -> BucketizationPlan:
    """Bind what a permission asks to the columns of a table, and leave out the rows that it does not grant.

    The plan depends on the policy's words, the description and the header. Values of quasi-identifiers are
    not looked at: they are published as they came.

    Args:
        permission: to anonymize by Anatomy.
        source: the target's file and description.
        table: the same, bound.
        output_format: of both tables.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: the data cannot be treated as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.anonymization
    if wanted is None or wanted.l is None or permission.output is None:
        raise InternalError("a permission without l or without an output reached the compiler")
    refuse_unimplemented(wanted, permission)
    raise_all(_other_parameters(wanted))
    compiler = _Compiler(wanted, source, table, circumstances)
    granted = compiler.granted_rows(circumstances)
    columns = compiler.columns(circumstances.withheld)
    respondent = compiler.respondent(columns)
    least = _least(wanted, circumstances.asks, compiler.problems)
    sensitive = compiler.sensitive(columns)
    raise_all(compiler.problems)
    kept = tuple(column.name for column in columns if column.role.is_published)
    group = Group(wanted.method, ANATOMY, least, sensitive, _limit(wanted))
    return BucketizationPlan(
        Read(source.target, columns, respondent),
        Select(kept, tuple(column.name for column in columns if not column.role.is_published)),
        group,
        _write(permission.output, output_format, kept, sensitive),
        granted,
    )


def _write(output: IRI, output_format: OutputFormat, kept: tuple[str, ...], sensitive: str) -> WriteTables:
    published = tuple(name for name in kept if name != sensitive)
    group = _free(_GROUP, kept)
    records, values = table_iris(output)
    return WriteTables(
        output,
        output_format,
        WriteTable(records, (*published, group)),
        WriteTable(values, (group, sensitive, _free(_COUNT, (*kept, group)))),
    )


def _free(name: str, taken: Collection[str]) -> str:
    """A name that no published column has: underscores are added."""
    while name in taken:
        name += "_"
    return name


def _least(wanted: Anonymization, asks: Iterable[Fact], problems: list[SmaltiError]) -> int:
    """The l that is taken: the policy's, or a larger one that the run asks for."""
    bounds, asked = AskedBounds(wanted, problems), {fact.operand: fact for fact in asks}
    if wanted.l is None:
        raise InternalError("Anatomy without l reached the compiler")
    least = bounds.asked("l", wanted.l, asked.pop(L, None))
    for operand in sorted(asked):
        bounds.problem(f"a run cannot request `{operand}`", f"the bound of the policy, `{L}`")
    return max(wanted.l.value, least or 1)


def _limit(wanted: Anonymization) -> Fraction:
    for parameter in wanted.parameters:
        match parameter:
            case Comparison(operand=operand, values=(Number(limit),)) if operand == SUPPRESSION_LIMIT:
                return Fraction(limit)
    return Fraction(0)


def _other_parameters(wanted: Anonymization) -> list[SmaltiError]:
    """Refuse each parameter that would promise or do more than two tables with distinct l."""
    return [
        PlanError(
            str(stated.where),
            f"`{shortened(stated.operand)}` is not implemented yet for the algorithm `{ANATOMY}`, which"
            " promises distinct l-diversity alone",
            f"no other parameter than `{shortened(SUPPRESSION_LIMIT)}`",
            "leave it out, or name another algorithm",
        )
        for stated in _comparisons(wanted.parameters)
        if stated.operand != SUPPRESSION_LIMIT and not _is_distinct(stated)
    ]


def _is_distinct(stated: Comparison) -> bool:
    return stated.operand == DIVERSITY and stated.values == (Text(Diversity.DISTINCT),)


def _comparisons(conditions: Iterable[Condition]) -> Iterator[Comparison]:
    """The comparisons of parameters, each without the column that it may be for."""
    for condition in conditions:
        if isinstance(condition, Comparison):
            yield condition
        elif isinstance(condition, Logical):
            yield next(part for part in condition.operands[1:] if isinstance(part, Comparison))


class _Compiler(ColumnRoles):
    """Binds columns to roles, and refuses what Anatomy does not do."""

    def sensitive(self, columns: tuple[Column, ...]) -> str:
        """The one sensitive column, by name; empty after having said that there is not one."""
        names = [column.name for column in columns if column.role is Role.SENSITIVE]
        if len(names) > 1:
            self.problem(
                str(self.wanted.where),
                f"several sensitive columns ({', '.join(names)}) are not implemented yet for the algorithm"
                f" `{ANATOMY}`",
                "one sensitive column",
                "leave out all but one, which drops them",
            )
        return names[0] if len(names) == 1 else ""

    def respondent(self, columns: tuple[Column, ...]) -> Respondent:
        declared = super().respondent(columns)
        if isinstance(declared, RespondentColumn):
            self._refuse_published(columns, declared.column)
            self._refuse_several_rows(columns, declared.column)
        return declared

    def _refuse_published(self, columns: Iterable[Column], name: str) -> None:
        if any(column.name == name and column.role is Role.QUASI_IDENTIFIER for column in columns):
            self.problem(
                str(self.wanted.where),
                f"the respondent `{name}` would be published exactly, as the quasi-identifiers are",
                "a respondent that is an identifier, or not named",
                "list it as `mosaicrown:identifier`, which is dropped",
            )

    def _refuse_several_rows(self, columns: Iterable[Column], name: str) -> None:
        column = next(column for column in columns if column.name == name)
        if self._repeats(column):
            self.problem(
                self.source.path.name,
                f"respondents with several rows are not implemented yet for the algorithm `{ANATOMY}`, and"
                f" values of `{name}` repeat",
                "one row for each respondent",
                "keep one row of each respondent, or name another algorithm",
            )
