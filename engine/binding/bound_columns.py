"""From the columns that a policy names to those of a table; what every compiler of permissions needs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import unquote

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.kept_rows import leave_out_withdrawn
from smalti.engine.binding.rows import ColumnFacts
from smalti.engine.plan.plan import OneRowEach, Respondent, RespondentColumn
from smalti.engine.plan.respondents import WAYS_TO_DECLARE
from smalti.engine.tables.description import ColumnDescription, Source
from smalti.engine.tables.named_columns import NamedColumns
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.errors import PlanError, SmaltiError, raise_all
from smalti.policy.model.column_iris import column_iri as default_column_iri
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    Named,
    Permission,
    Where,
)
from smalti.policy.read.anonymization import unimplemented_limits, unimplemented_words
from smalti.transforms.base import Datatype
from smalti.vocab.terms import BUDGET_DELTA, BUDGET_EPSILON, COLUMN, IRI, SMALTI


def column_iri(source: Source, name: str) -> IRI:
    """A column's `propertyUrl`, by default the target's IRI, a slash and the column's name."""
    return source.description.column(name).iri or default_column_iri(source.target, name)


def refuse_unimplemented(wanted: Anonymization, permission: Permission) -> None:
    """Refuse every word that is not implemented yet, all at once: no requirement of a policy is ignored.

    Raises:
        PlanError: for each such word.
    """
    words = (*unimplemented_words(wanted), *unimplemented_limits(permission.constraints))
    raise_all([
        PlanError(str(where), f"{what} is not implemented yet", "words that this version can run")
        for what, where in words
    ])  # fmt: skip


def refuse_budgets(wanted: Anonymization, conditions: Iterable[Condition]) -> None:
    """Refuse a budget: only differential privacy charges one."""
    raise_all([
        PlanError(
            str(comparison.where),
            f"`smalti:{comparison.operand.removeprefix(SMALTI)}` is not implemented yet for the method"
            f" `{wanted.method}`",
            "a budget beside a method of differential privacy",
            "leave it out",
        )
        for comparison in comparisons_in(conditions)
        if comparison.operand in (BUDGET_EPSILON, BUDGET_DELTA)
    ])  # fmt: skip


def comparisons_in(conditions: Iterable[Condition]) -> Iterator[Comparison]:
    """All comparisons in some conditions, those of single columns too."""
    for condition in conditions:
        if isinstance(condition, Comparison):
            yield condition
        elif isinstance(condition, Logical):
            yield from comparisons_in(condition.operands)


def parameter_parts(parameter: Condition) -> tuple[IRI | None, Comparison | None]:
    """The column that a parameter is for, and the parameter without it."""
    if isinstance(parameter, Comparison):
        return None, parameter
    column: IRI | None = None
    stated: Comparison | None = None
    for part in parameter.operands if isinstance(parameter, Logical) else ():
        match part:
            case Comparison(operand=operand, values=(Named(iri),)) if operand == COLUMN:
                column = iri
            case Comparison():
                stated = part
    return column, stated


class Declares(Protocol):
    """The part of a policy or a request that declares respondents."""

    @property
    def respondent(self) -> ColumnReference | None: ...
    @property
    def one_row_each(self) -> bool: ...
    @property
    def where(self) -> Where: ...


@dataclass(frozen=True, slots=True)
class SaidOfRespondents:
    """What is said of respondents beside the policy and the description."""

    requested: Respondent | None = None
    """By the request, on the word of a party that fully owns the data; a column by its name."""
    recorded: Respondent | None = None
    """By an owner in an earlier run on the same data: what holds for others, who may not say it."""
    inherited: Respondent | None = None
    """Where the target is itself an output, how respondents were counted for it."""


NOTHING_SAID: Final = SaidOfRespondents()

W = TypeVar("W", bound=Declares)


class BoundColumns(Generic[W]):
    """The columns of a table by their IRIs, and its respondents; collects problems.

    Apart from rows of those who withdrew, nothing here looks at a value.
    """

    def __init__(
        self,
        wanted: W,
        source: Source,
        table: StagedTable,
        said: SaidOfRespondents,
        named: Iterable[ColumnReference],
    ) -> None:
        """Take a table as its description says.

        Args:
            wanted: what a policy asks; says who respondents are, if the description does not.
            source: the target's file and description.
            table: the same, bound.
            said: of respondents, beside policy and description.
            named: the columns that the policy names, beside the respondent; messages may repeat them.
        """
        self.wanted, self.source, self.table = wanted, source, table
        self.inherited = said.inherited
        self.problems: list[SmaltiError] = []
        self._names = {normalised_column(column_iri(source, name)): name for name in table.contents.header}
        references = (*named, *(() if wanted.respondent is None else (wanted.respondent,)))
        in_policy = {name for reference in references if (name := self.find(reference.iri)) is not None}
        described = {column.name for column in source.description.columns}
        self._known = NamedColumns(table.contents.header, source.format, in_policy | described)
        self.declared: Respondent | None = self._declaration(said)
        """As policy, description, request or an owner's earlier run declares; None: undeclared."""

    # --- Names

    def find(self, iri: IRI) -> str | None:
        """The name of the column with an IRI; None where there is none."""
        return self._names.get(normalised_column(iri))

    def name(self, reference: ColumnReference) -> str | None:
        """The name of the column that is meant; None after having said that there is none."""
        name = self.find(reference.iri)
        if name is None:
            self.problem(
                str(reference.where),
                f"`{self.source.path.name}` has no column `{reference.iri}`",
                "a column of the data, by its bare name or its IRI",
                self._suggestion_for(reference.iri),
            )
        return name

    def check_names(self) -> None:
        """Report columns that share an IRI, and described columns that the data lacks."""
        self._refuse_shared_iris()
        described = {column.name for column in self.source.description.columns}
        for name in sorted(described - set(self.table.contents.header)):
            self.problem(
                self.source.description.source,
                f"the data has no column `{name}`",
                "the columns of the file's header",
                self._suggestion(name),
            )

    def _refuse_shared_iris(self) -> None:
        first: dict[str, str] = {}
        for name in self.table.contents.header:
            iri = normalised_column(column_iri(self.source, name))
            if first.setdefault(iri, name) != name:
                self.problem(
                    self.source.description.source or self.source.path.name,
                    f"the columns `{first[iri]}` and `{name}` have the same IRI, `{iri}`",
                    "a different IRI for each column",
                    "correct `propertyUrl`",
                )

    def _suggestion_for(self, column: IRI) -> str:
        """The column that an unknown IRI may mean."""
        # All columns begin with the target's IRI: only what follows can be close to something.
        stem = f"{self.source.target}/"
        spellings = {name: unquote(iri.removeprefix(stem)) for iri, name in self._names.items()}
        word = unquote(column.removeprefix(stem))
        suggestion = self._known.closest(word, spellings)
        if suggestion is None:
            return self._known.listed(word, spellings)
        return f"did you mean `{normalised_column(column_iri(self.source, suggestion))}`?"

    def _suggestion(self, name: str) -> str:
        """The column that an unknown name may mean."""
        spellings = {column: column for column in self.table.contents.header}
        suggestion = self._known.closest(name, spellings)
        if suggestion is None:
            return self._known.listed(name, spellings)
        return f"did you mean `{suggestion}`?"

    # --- What is known of a column

    def facts(self, reference: ColumnReference) -> ColumnFacts | None:
        """What is known of the column that is meant; None after having said that there is none."""
        name = self.name(reference)
        return None if name is None else self.facts_of(name)

    def facts_of(self, name: str) -> ColumnFacts:
        """What description and file say of a column, by its name."""
        index = self.table.contents.header.index(name)
        declared = self.source.description.column(name).datatype or self.table.contents.datatypes[index]
        return ColumnFacts(name, declared, self.time_zone(name))

    def is_undescribed(self, name: str) -> bool:
        """Whether neither description nor file says what a column is; its IRI and time zone apart."""
        index, description = self.table.contents.header.index(name), self.source.description
        said = replace(description.column(name), iri=None, time_zone=None)
        says_nothing = said == ColumnDescription(name, None, None, None) and description.dialect is None
        return says_nothing and self.table.contents.datatypes[index] is None

    def time_zone(self, name: str) -> str | None:
        """The zone of a column's date-times that state none."""
        return self.source.description.column(name).time_zone

    # --- Respondents

    def _declaration(self, said: SaidOfRespondents) -> Respondent | None:
        in_policy, in_description = self._in_policy(), self._in_description()
        requested = self._requested(said.requested)
        if in_policy and in_description and in_policy != in_description:
            self.problem(
                str(self.wanted.where),
                "policy and description declare different respondents",
                "the same in both, or one declaration",
                "correct one of the two",
            )
        declared = in_policy or in_description
        if declared and requested and declared != requested:
            self.problem(
                "respondent (--respondent, --one-row-each)",
                "the request declares other respondents than the policy or the description",
                "the same, or one declaration",
                "leave it out of the request, or correct the policy or the description",
            )
        declared = declared or requested or said.recorded
        header = self.table.contents.header
        return (
            None if isinstance(declared, RespondentColumn) and declared.column not in header else declared
        )

    def _in_policy(self) -> Respondent | None:
        if self.wanted.one_row_each:
            return OneRowEach(is_declared=True)
        if self.wanted.respondent is None:
            return None
        name = self.name(self.wanted.respondent)
        return RespondentColumn(name) if name else None

    def _in_description(self) -> Respondent | None:
        said = self.source.description
        if said.respondent is not None:
            return RespondentColumn(said.respondent)
        return OneRowEach(is_declared=True) if said.one_row_each else None

    def _requested(self, requested: Respondent | None) -> Respondent | None:
        if not isinstance(requested, RespondentColumn):
            return requested
        if requested.column in self.table.contents.header:
            return requested
        self.problem(
            "respondent (--respondent)",
            f"`{self.source.path.name}` has no column `{requested.column}`",
            "a column of the data, by its name",
            self._suggestion(requested.column),
        )
        return None

    def inherit(self, inherited: Respondent, declared: Respondent) -> Respondent:
        """The respondents of an output: those of its input, if they can still be identified."""
        if isinstance(inherited, RespondentColumn) and inherited.is_pseudonymized:
            inherited = RespondentColumn(inherited.column)
        elif isinstance(inherited, RespondentColumn):
            # INVARIANT: a respondent column is never published as it was, so an output cannot have it.
            self.problem(
                str(self.source.target),
                "its respondents can no longer be counted: the run that made it dropped or generalised the"
                " column that identifies them",
                "a target with a respondent column, or with one row for each respondent",
                "make the output from the original data",
            )
            return declared
        if _is_declared(declared) and not _is_declared(inherited):
            self.problem(
                str(self.source.target),
                "its respondents were not declared when it was made, so it counted rows",
                "an output of data whose respondents are declared",
                "declare them for the data that it was made from, and make it again",
            )
        elif declared != inherited and _is_declared(declared):
            self.problem(
                str(self.source.target),
                "its respondents were declared differently when it was made",
                "the same declaration",
                "remove the declaration: an output inherits that of its input",
            )
        return inherited

    def leave_out_withdrawn(self, withdrawn: Withdrawn) -> str | None:
        """Leave out, from here on, the rows of those who withdrew, by what the description says of values.

        Returns:
            The respondent's column; None after having said why nothing tells which rows these are.
        """
        if not isinstance(self.declared, RespondentColumn) or self.inherited is not None:
            self.problem(
                str(self.source.target),
                "people withdrew from it, but no column identifies their rows",
                "the respondent column by which they were listed",
                f"make outputs from the original data, and {WAYS_TO_DECLARE}",
            )
            return None
        name = self.declared.column
        if withdrawn.columns - {name}:
            listed = ", ".join(f"`{column}`" for column in sorted(withdrawn.columns))
            self.problem(
                str(self.source.target),
                f"people who withdrew were listed by {listed}, but respondents are counted by `{name}`",
                "the same respondent column",
                "declare the column that they were listed by",
            )
            return None
        if self.source.has_format(name):
            # They are known by keyed digests of texts, which a format would have to be applied to.
            self.problem(
                str(self.source.target),
                "people who withdrew were listed as the data writes them, and the description of"
                f" `{name}` has a format, by which it is read in another form",
                "a respondent column that is read as it is written",
                f"declare `{name}` without a format, as a text",
            )
            return None
        datatype = self.facts_of(name).datatype or Datatype.STRING
        leave_out_withdrawn(self.table, name, datatype, self.time_zone(name), withdrawn)
        return name

    def problem(self, where: str, problem: str, expected: str = "", way_out: str = "") -> None:
        """Record a problem as a `PlanError`."""
        self.problems.append(PlanError(where, problem, expected, way_out))


def _is_declared(respondent: Respondent) -> bool:
    return isinstance(respondent, RespondentColumn) or respondent.is_declared
