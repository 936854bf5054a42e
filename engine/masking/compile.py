"""Compile a permission to mask to a plan: which columns are published, and what is done to each."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from smalti.engine.backends.faults import cell
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import (
    BoundColumns,
    column_iri,
    refuse_budgets,
    refuse_unimplemented,
)
from smalti.engine.binding.circumstances import NO_MORE, Circumstances, Options
from smalti.engine.binding.kept_rows import keep_satisfying
from smalti.engine.binding.rows import RowBinder
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.masking.terms import read_terms
from smalti.engine.plan.masks import Mask, MaskedColumn, Pseudonymized, RareRecords
from smalti.engine.plan.plan import (
    Column,
    Filter,
    Read,
    Respondent,
    RespondentColumn,
    Role,
    Select,
    Write,
)
from smalti.engine.plan.respondents import ASSUMED
from smalti.engine.tables.description import Source
from smalti.engine.techniques.binder import (
    BoundTechnique,
    TechniqueBinder,
    normal,
    not_of_type,
)
from smalti.engine.techniques.terms import Said, columns_named, short_word
from smalti.errors import InternalError, SmaltiError, raise_all
from smalti.policy.model.model import Anonymization, Permission, Where
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import LEXICAL_FORMS
from smalti.vocab import terms
from smalti.vocab.techniques import TECHNIQUE_OF
from smalti.vocab.terms import IRI


def compile_masking(
    permission: Permission,
    source: Source,
    table: StagedTable,
    options: Options,
    circumstances: Circumstances = NO_MORE,
) -> MaskingPlan:
    """Bind a permission to the columns of a table, and leave out the rows that it does not grant.

    Args:
        permission: to anonymize by masking.
        source: the target's file and description.
        table: the same, bound.
        options: of the run.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: the data cannot be masked as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.anonymization
    if wanted is None or permission.output is None:
        raise InternalError("a permission without refinements reached the compiler")
    refuse_unimplemented(wanted, permission)
    refuse_budgets(wanted, permission.constraints)
    compiler = _Compiler(wanted, source, table, circumstances)
    granted = compiler.granted_rows(circumstances)
    columns, mask = compiler.masked(circumstances.withheld)
    respondent = compiler.respondent(columns, mask)
    raise_all(compiler.problems)
    kept = tuple(column.name for column in columns if column.role.is_published)
    dropped = tuple(column.name for column in columns if not column.role.is_published)
    return MaskingPlan(
        Read(source.target, columns, respondent),
        Select(kept, dropped),
        mask,
        Write(permission.output, kept, options.output_format, options.rows_per_part),
        granted,
    )


class _Compiler(BoundColumns[Anonymization]):
    """Binds columns to techniques, and collects problems."""

    def __init__(
        self, wanted: Anonymization, source: Source, table: StagedTable, circumstances: Circumstances
    ) -> None:
        problems: list[SmaltiError] = []
        self._allowed = read_terms(wanted, circumstances.asks, problems)
        named = (*wanted.identifiers, *wanted.released, *columns_named(self._allowed))
        super().__init__(wanted, source, table, circumstances.respondents, named)
        self.problems += problems
        self._binder = TechniqueBinder(source, table, self._allowed, self.problems)

    # --- Rows

    def granted_rows(self, circumstances: Circumstances) -> Filter | None:
        """Leave out respondents who withdrew, then the rows that are not granted; return that filter.

        Raises:
            PlanError: these rows cannot be determined.
        """
        others = len(self.problems)
        if circumstances.withdrawn:
            self.leave_out_withdrawn(circumstances.withdrawn)
        bound = RowBinder(self.facts, self.table, self.problems, self._cell).filter(circumstances.rows)
        if len(self.problems) > others:
            raise_all(self.problems)
        if bound is not None:
            keep_satisfying(self.table, bound, self.time_zone)
        return bound

    # --- Columns

    def masked(self, withheld: frozenset[str]) -> tuple[tuple[Column, ...], Mask]:
        """All columns of the table with their roles, and what is done to them."""
        self.check_names()
        identifiers, released = (
            {name for each in columns if (name := self.name(each)) is not None}
            for columns in (self.wanted.identifiers, self.wanted.released)
        )
        said = self._said()
        pseudonyms = {
            name: each.where for each in self._allowed.pseudonyms if (name := self.name(each)) is not None
        }
        columns: list[Column] = []
        masks: list[MaskedColumn] = []
        rare: list[RareRecords] = []
        for name in self.table.contents.header:
            column = self._column(name)
            parameters = said.get(name, {})
            if minimum := self._minimum_of_records(parameters):
                rare.append(RareRecords(name, minimum))
            mask = self._technique(column, parameters, pseudonyms.get(name), is_kept=name in released)
            role = Role.RELEASED if name in released or minimum else Role.UNLISTED
            if name in identifiers:
                role = Role.IDENTIFIER
                self._refuse_dropped(name, parameters)
            elif mask is not None:
                role, column = Role.MASKED, mask.column
                masks += [mask.node] if mask.node is not None else []
            if name in withheld and not role.is_published:
                role = Role.WITHHELD
            columns.append(self._checked(replace(column, role=role)))
        suppressed: tuple[str, ...] = ()
        if self._allowed.has(terms.ATTRIBUTE_SUPPRESSION):
            suppressed = tuple(name for name in self.table.contents.header if name in identifiers)
            if not suppressed:
                self.problem(
                    str(self.wanted.where),
                    f"the algorithm `{terms.ATTRIBUTE_SUPPRESSION}` names no column",
                    "the columns to leave out, under `mosaicrown:identifier`",
                    "name them, or leave out the algorithm",
                )
        rate = self._allowed.sampling_rate if self._allowed.has(terms.SAMPLING) else None
        if not any(column.role.is_published for column in columns):
            self.problem(
                str(self.wanted.where),
                "no column would be published",
                "columns in `smalti:released` or `smalti:pseudonym`, or with a parameter of a technique",
                "name them: all others are dropped",
            )
        return tuple(columns), Mask(
            tuple(masks), None if rate is None else normal(rate), tuple(rare), suppressed
        )

    def _said(self) -> dict[str, dict[IRI, Said]]:
        """The parameters of each column, by its name."""
        by_name: dict[str, dict[IRI, Said]] = {}
        for reference, parameters in self._allowed.of_columns.items():
            name = self.name(reference)
            if name is not None:
                by_name.setdefault(name, {}).update(parameters)
        return by_name

    def _column(self, name: str) -> Column:
        said = self.source.description.column(name)
        return Column(
            name,
            column_iri(self.source, name),
            self.facts_of(name).datatype or Datatype.STRING,
            False,
            Role.UNLISTED,
            said.time_zone,
            is_undescribed=self.is_undescribed(name),
        )

    def _checked(self, column: Column) -> Column:
        """The column, after a look at its values where they are published as they are."""
        said = self.source.description.column(column.name)
        first = self.table.first_missing(column.name) if said.is_required else None
        if first is not None:
            self.problem(
                self._cell(column.name, first),
                "a row has no value",
                "a value in each row, because the description says `required`",
                "complete the column, or correct the description",
            )
        if column.role is Role.RELEASED and column.datatype.is_ordered:
            first = self.table.first_unlike(column.name, LEXICAL_FORMS[column.datatype])
            if first is not None:
                self._not_of_type(column.name, column.datatype, first)
        return column

    def _refuse_dropped(self, name: str, parameters: Mapping[IRI, Said]) -> None:
        """Parameters of a column that is dropped; its pseudonyms were refused with the policy."""
        for operand, said in parameters.items():
            self._contradictory(said.where, name, "mosaicrown:identifier", short_word(operand))

    def _minimum_of_records(self, parameters: Mapping[IRI, Said]) -> int:
        said = parameters.get(terms.MINIMUM_FREQUENCY)
        return said.whole if said is not None and self._allowed.has(terms.RECORD_SUPPRESSION) else 0

    def _technique(
        self, column: Column, parameters: Mapping[IRI, Said], pseudonym: Where | None, *, is_kept: bool
    ) -> BoundTechnique | None:
        """What is done to a column; None: nothing."""
        of_records = self._minimum_of_records(parameters) > 0
        ours = {
            operand: said
            for operand, said in parameters.items()
            if not (of_records and operand == terms.MINIMUM_FREQUENCY)
        }
        kinds = {TECHNIQUE_OF[operand] for operand in ours if operand in TECHNIQUE_OF}
        kinds |= {terms.PSEUDONYMIZATION} if pseudonym is not None else set()
        if not kinds:
            return None
        where = next((said.where for said in ours.values()), pseudonym or self.wanted.where)
        if len(kinds) > 1 or is_kept:
            first, second, *_ = sorted(kinds | ({"smalti:released"} if is_kept else set()))
            self._contradictory(where, column.name, first, second)
            return BoundTechnique(column, None)
        return self._binder.bound(min(kinds), column, ours)

    def _contradictory(self, where: Where, name: str, first: str, second: str) -> None:
        self.problem(
            str(where),
            f"two things contradict each other for the column `{name}`: `{first}` and `{second}`",
            "one technique for each column; top- and bottom-coding are one",
            "keep one of them",
        )

    def _not_of_type(self, name: str, datatype: Datatype, row: int) -> None:
        self.problem(*not_of_type(self._cell(name, row), datatype))

    def _cell(self, name: str, row: int) -> str:
        return cell(self.source, self.table.contents, name, row)

    # --- Respondents

    def respondent(self, columns: Iterable[Column], mask: Mask) -> Respondent:
        """Who the respondents are; published only as pseudonyms."""
        declared = self.declared or ASSUMED
        if self.inherited is not None:
            declared = self.inherit(self.inherited, declared)
        if not isinstance(declared, RespondentColumn):
            return declared
        first = self.table.first_missing(declared.column)
        if first is not None:
            self.problem(
                self._cell(declared.column, first),
                "a row has no respondent",
                "a value in each row, because it identifies respondents",
                "complete the column, or remove those rows",
            )
        pseudonyms = {each.column for each in mask.columns if isinstance(each, Pseudonymized)}
        is_published = any(each.name == declared.column and each.role.is_published for each in columns)
        if is_published and declared.column not in pseudonyms:
            self.problem(
                str(self.wanted.where),
                f"the respondent `{declared.column}` would be published",
                "a respondent that is an identifier, or has pseudonyms",
                "list it in `smalti:pseudonym` or as `mosaicrown:identifier`",
            )
        return RespondentColumn(declared.column, declared.column in pseudonyms)
