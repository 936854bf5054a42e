"""The roles of a table's columns under a permission, its rows, and the respondents that they are about.

What every compiler of permissions to anonymize by columns needs; nothing here knows what becomes of values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smalti.engine.backends.faults import cell, first_fault
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import BoundColumns, column_iri
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.kept_rows import keep_satisfying
from smalti.engine.binding.rows import RowBinder
from smalti.engine.plan.plan import Column, Filter, OneRowEach, Respondent, RespondentColumn, Role
from smalti.engine.plan.respondents import ASSUMED, WAYS_TO_DECLARE
from smalti.engine.tables.description import Source
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.errors import raise_all
from smalti.policy.model.model import Anonymization, ColumnReference
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import (
    LEXICAL_FORMS,
    Codebook,
    ValueFormError,
    check_values,
    make_codebook,
)


class ColumnRoles(BoundColumns[Anonymization]):
    """Binds columns to roles, and rows to respondents; collects problems."""

    def __init__(
        self,
        wanted: Anonymization,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
        others: Iterable[ColumnReference] = (),
    ) -> None:
        """Take a table as its description says.

        Args:
            wanted: what a policy asks.
            source: the target's file and description.
            table: the same, bound.
            circumstances: what else the run must keep to.
            others: columns that the policy names outside of its lists.
        """
        listed = (*wanted.identifiers, *wanted.quasi_identifiers, *wanted.sensitive, *wanted.released)
        named = (*listed, *others)
        super().__init__(wanted, source, table, circumstances.respondents, named)

    def granted_rows(self, circumstances: Circumstances) -> Filter | None:
        """Leave out respondents who withdrew, then the rows that are not granted; return that filter.

        Raises:
            PlanError: these rows cannot be determined. Problems with values would then be unreliable, so
                only problems with the names of columns are reported as well.
        """
        others = len(self.problems)
        if circumstances.withdrawn:
            self._leave_out(circumstances.withdrawn)
        bound = RowBinder(self.facts, self.table, self.problems, self._cell).filter(circumstances.rows)
        if len(self.problems) > others:
            self.roles()
            raise_all(self.problems)
        if bound is not None:
            keep_satisfying(self.table, bound, self.time_zone)
        return bound

    def _leave_out(self, withdrawn: Withdrawn) -> None:
        self.leave_out_withdrawn(withdrawn)

    def columns(self, withheld: frozenset[str]) -> tuple[Column, ...]:
        """The columns of the table, in its order.

        Args:
            withheld: those whose use is prohibited, by name.
        """
        roles = self.roles()
        self.check_names()
        columns = (
            self._column(name, roles.get(name, Role.UNLISTED)) for name in self.table.contents.header
        )
        return tuple(
            replace(column, role=Role.WITHHELD)
            if column.name in withheld and not column.role.is_published
            else column
            for column in columns
        )

    def _column(self, name: str, role: Role) -> Column:
        """A column that is dropped, or published as it came."""
        said, declared = self.source.description.column(name), self.facts_of(name).datatype
        if declared and declared.is_ordered:
            self._check_values(name, declared, role, said.time_zone)
        self._check_required(name)
        iri = column_iri(self.source, name)
        datatype, is_undescribed = declared or Datatype.STRING, self.is_undescribed(name)
        return Column(name, iri, datatype, False, role, said.time_zone, is_undescribed=is_undescribed)

    def _check_required(self, name: str) -> None:
        is_required = self.source.description.column(name).is_required
        first = self.table.first_missing(name) if is_required else None
        if first is not None:
            self.problem(
                self._cell(name, first),
                "a row has no value",
                "a value in each row, because the description says `required`",
                "complete the column, or correct the description",
            )

    def roles(self) -> dict[str, Role]:
        """The role of each column that the policy names, by name; others have none."""
        roles: dict[str, Role] = {}
        for role, references in (
            (Role.IDENTIFIER, self.wanted.identifiers),
            (Role.QUASI_IDENTIFIER, self.wanted.quasi_identifiers),
            (Role.SENSITIVE, self.wanted.sensitive),
            (Role.RELEASED, self.wanted.released),
        ):
            for reference in references:
                name = self.name(reference)
                if name is None:
                    continue
                if roles.setdefault(name, role) is not role:
                    self.problem(
                        str(reference.where),
                        f"the column `{name}` has two roles: {roles[name]} and {role}",
                        "one role for each column",
                        "keep one of them",
                    )
        if not self.wanted.quasi_identifiers:
            self.problem(
                str(self.wanted.where), "no quasi-identifier is named", "at least one column to generalise"
            )
        return roles

    def _check_values(self, name: str, declared: Datatype, role: Role, zone: str | None) -> None:
        if role in (Role.UNLISTED, Role.RELEASED):
            first = self.table.first_unlike(name, LEXICAL_FORMS[declared])
            if first is not None:
                self._not_of_type(name, declared, first)
            return
        self._refuse_other_values(name, declared, zone)

    def _refuse_other_values(self, name: str, declared: Datatype, zone: str | None) -> None:
        try:
            check_values(self.table.texts(name), declared, zone)
        except ValueFormError:
            self._not_of_type(name, declared, first_fault(self.table, name, declared, zone))

    def _codebook(self, name: str, declared: Datatype, zone: str | None) -> Codebook | None:
        try:
            return make_codebook(self.table.texts(name), declared, zone, has_missing=False)
        except ValueFormError:
            return None  # reported when the values were checked

    def _not_of_type(self, name: str, datatype: Datatype, row: int) -> None:
        self.problem(
            self._cell(name, row),
            f"a value is not a valid {datatype}",
            f"texts that match {LEXICAL_FORMS[datatype]}, each a {datatype} that exists",
            "correct the data, or declare another datatype in the description",
        )

    def respondent(self, columns: tuple[Column, ...]) -> Respondent:
        """Who respondents are, as declared; what contradicts the data is a problem."""
        declared = self.declared or ASSUMED
        is_said_elsewhere = self.wanted.respondent is not None or self.inherited is not None
        if isinstance(declared, OneRowEach) and not is_said_elsewhere:
            self._refuse_repeated_identifiers(columns, declared)
        if self.inherited is not None:
            declared = self.inherit(self.inherited, declared)
        if isinstance(declared, RespondentColumn):
            self._refuse_published_respondent(columns, declared.column)
            self._refuse_missing_respondent(declared.column)
        return declared

    def _refuse_missing_respondent(self, name: str) -> None:
        first = self.table.first_missing(name)
        if first is not None:
            self.problem(
                self._cell(name, first),
                "a row has no respondent",
                "a value in each row, because it identifies respondents",
                "complete the column, or remove those rows",
            )

    def _refuse_published_respondent(self, columns: Iterable[Column], name: str) -> None:
        """Rows of one person could be put together across classes: k would say nothing."""
        roles = {column.name: column.role for column in columns}
        if roles.get(name) in (Role.RELEASED, Role.SENSITIVE, Role.MASKED):
            self.problem(
                str(self.wanted.where),
                f"the respondent `{name}` would be published, which links each person's rows",
                "a respondent that is an identifier, a quasi-identifier, or not named",
                f"list it as `mosaicrown:identifier`, not as {roles[name]}",
            )

    def _refuse_repeated_identifiers(self, columns: Iterable[Column], respondent: OneRowEach) -> None:
        """Refuse one row for each person if identifiers contradict it.

        Of several identifiers one may repeat, and not all together: two people have one first name
        (`warnings_of_rows`). A missing identifier repeats like a value; rows without any
        identifier identify nobody.
        """
        named = {self.find(reference.iri) for reference in self.wanted.identifiers}
        identifiers = [c for c in columns if c.name in named]
        repeated = [c.name for c in identifiers if self._repeats(c)]
        if not repeated:
            return
        listed = ", ".join(f"`{name}`" for name in repeated)
        if respondent.is_declared:
            if self._repeat_together(identifiers):
                self.problem(
                    self.source.path.name,
                    "each row is declared to be about another person, but values repeat in"
                    f" {_identifiers_in_words(repeated)}",
                    "identifiers that no two rows share, or the column that identifies respondents",
                    f"declare `{repeated[0]}` instead of `smalti:oneRowEach`, or correct the data",
                )
            return
        self.problem(
            self.source.path.name,
            f"values repeat in the identifier {listed}, and no respondent is declared",
            "a declared respondent, because k counts people",
            f"declare `{repeated[0]}`, or another respondent: {WAYS_TO_DECLARE}",
        )

    def _repeats(self, column: Column) -> bool:
        """Whether a value occurs twice, in whatever spellings."""
        return self.table.repeats(column.name) or self._is_spelled_otherwise(column)

    def _repeat_together(self, columns: Sequence[Column]) -> bool:
        """Whether some columns may repeat in the same rows, where at least one of them repeats.

        Rows are compared by their texts: where two texts are one value, the columns are taken to repeat
        together unless one of them has another value in each row.
        """
        if any(map(self._is_spelled_otherwise, columns)):
            return all(self._repeats(column) or self.table.misses(column.name) for column in columns)
        return self.table.rows_alike([column.name for column in columns], with_a_value=True) > 0

    def _is_spelled_otherwise(self, column: Column) -> bool:
        """Whether two texts of a column are one value."""
        if not column.datatype.is_ordered:
            return False
        book = self._codebook(column.name, column.datatype, column.time_zone)
        return book is not None and len(set(book.codes.tolist())) < len(book.codes)

    def _cell(self, name: str, row: int) -> str:
        return cell(self.source, self.table.contents, name, row)


def _identifiers_in_words(names: Sequence[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"the identifier {listed}" if len(names) == 1 else f"the identifiers {listed}, also together"
