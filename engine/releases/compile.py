"""Compile a permission, a query and a description to a release plan, independently of the data's values."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import Final, assert_never
from urllib.parse import unquote

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import BoundColumns, column_iri, refuse_unimplemented
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.binding.rows import RowBinder
from smalti.engine.plan.plan import (
    Filter,
    OneRowEach,
    OutputFormat,
    Respondent,
    RespondentColumn,
    RowComparison,
    RowCondition,
    RowLogical,
)
from smalti.engine.plan.reads import BoundContributions, ReadColumn, ReadRows
from smalti.engine.plan.respondents import WAYS_TO_DECLARE
from smalti.engine.releases.bound_statistics import BoundStatistic
from smalti.engine.releases.calibrate import Wish, calibrate
from smalti.engine.releases.granted_rows import keep_granted, without_rows
from smalti.engine.releases.plan import ReleasePlan, Statistic, WriteTable
from smalti.engine.releases.query import (
    LEAST_CONFIDENCE,
    MOST_CONFIDENCE,
    Query,
    asked_column,
    facts,
    faults,
    stands_for,
)
from smalti.engine.releases.terms import ReleaseTerms, read_terms
from smalti.engine.releases.words_of_loss import words_of_loss
from smalti.engine.tables.description import Source
from smalti.errors import InternalError, PlanError, SmaltiError, raise_all
from smalti.policy.decide.decision import Finding
from smalti.policy.decide.facts import in_words
from smalti.policy.decide.transformations import judged_parameters, transformation
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    Named,
    Permission,
)
from smalti.transforms.base import Datatype
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY, IRI, METHOD, SMALTI

MOST_CELLS: Final = 1_000_000
"""Public combinations of keys, and candidates, of all statistics of a release."""


def compile_release(
    permission: Permission,
    query: Query,
    source: Source,
    table: StagedTable,
    circumstances: Circumstances = NO_MORE,
    output_format: OutputFormat = OutputFormat.CSV,
) -> ReleasePlan:
    """Bind a query to the columns of a table, within a permission, and give each statistic its noise.

    The plan depends on policy, query, description and header, never on a value. Rows that are not granted,
    or whose respondents withdrew, are not in the table any more when it is made; a row whose value is none
    of its column's datatype satisfies no condition on that column.

    Args:
        permission: to anonymize, of method differential-privacy.
        query: what is asked for.
        source: the target's file and description.
        table: the same, bound.
        circumstances: what else the release must keep to; what is asked for stands in the query.
        output_format: of the table that is published.

    Raises:
        PlanError: there is no such release; all problems at once (`ProblemsError`), none from a value.
    """
    wanted = permission.anonymization
    if wanted is None or permission.output is None or wanted.method != DIFFERENTIAL_PRIVACY:
        raise InternalError("a permission without differential privacy reached the compiler of releases")
    refuse_unimplemented(wanted, permission)
    raise_all([*_unfit(query)])
    raise_all([*_outside(wanted, query, source.target), *_beside(circumstances, query)])
    compiler = _Compiler(wanted, source, table, circumstances, read_terms(wanted, query))
    granted = compiler.granted_rows()
    wishes = compiler.wishes(query)
    bound = compiler.bound(wishes)
    raise_all(compiler.problems)
    statistics, loss = calibrate(wishes, bound, compiler.terms.allowed, str(wanted.where))
    if granted is not None:
        keep_granted(table, granted, compiler.time_zone)
    return ReleasePlan(
        ReadRows(source.target, compiler.columns(statistics, granted), compiler.respondent),
        bound,
        statistics,
        loss,
        WriteTable(permission.output, output_format, query.confidence),
        granted,
    )


def columns_to_stage(
    permission: Permission, query: Query, source: Source, rows: tuple[Condition, ...] = ()
) -> frozenset[str]:
    """The names of the columns that a release reads, before the file is opened.

    Args:
        permission: says who respondents are, if the description does not.
        query: what is asked for.
        source: the target's file and description.
        rows: which are granted.
    """
    wanted, description = permission.anonymization, source.description
    references = [] if wanted is None or wanted.respondent is None else [wanted.respondent]
    iris = {column.iri for column in (*references, *_limited(rows))}
    for statistic in query.statistics:
        iris |= {
            asked_column(key.column, source.target) for key in (*statistic.measures, *statistic.group_by)
        }
    iris = {normalised_column(iri) for iri in iris}
    stem = normalised_column(f"{source.target}/")
    named = {unquote(iri.removeprefix(stem)) for iri in iris if iri.startswith(stem)}
    described = {
        column.name
        for column in description.columns
        if normalised_column(column_iri(source, column.name)) in iris
    }
    return frozenset(
        named | described | ({description.respondent} if description.respondent is not None else set())
    )


def _limited(conditions: tuple[Condition, ...]) -> Iterator[ColumnReference]:
    for condition in conditions:
        if isinstance(condition, ColumnComparison):
            yield condition.column
        elif isinstance(condition, Logical):
            yield from _limited(condition.operands)


# --- The query, by itself and within the permission


def _unfit(query: Query) -> Iterator[SmaltiError]:
    """The problems of a query by itself; the schema has already checked query files."""
    numbers = (query.confidence, query.epsilon, query.delta, query.belief, query.advantage)
    if not all(number is None or number.is_finite() for number in numbers):
        yield PlanError(place_of(query), "a number is not finite", "finite numbers")
    elif not query.statistics or not LEAST_CONFIDENCE <= query.confidence <= MOST_CONFIDENCE:
        yield PlanError(
            place_of(query),
            "the query has no statistic, or its confidence is out of range",
            f"at least one statistic, and a confidence from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE}",
        )
    for fault in faults(tuple(enumerate(query.statistics))):
        of = f"{place_of(query)}: statistic `{query.statistics[fault.statistic].name}`"
        yield PlanError(of, fault.problem, fault.expected, fault.way_out)


def _outside(wanted: Anonymization, query: Query, target: IRI) -> Iterator[SmaltiError]:
    """The parts of a query that the refinements do not permit, as the decision evaluates them."""
    words, allowed = words_of_loss(wanted), transformation(wanted)
    findings = judged_parameters(allowed, in_words(facts(query, target), allowed.operands))
    outside = {what for what, finding in findings if finding is not Finding.SATISFIED}
    for operand in sorted(
        {
            refinement.operand if isinstance(refinement, Comparison) else str(refinement)
            for refinement in outside
        }
    ):
        hints = stands_for(query, words) if operand in words else ()
        word = f"smalti:{operand.removeprefix(SMALTI)}"
        yield PlanError(
            place_of(query),
            "; ".join((f"the permission does not allow the requested `{word}`", *hints)),
            "a value that its refinements allow",
            f"`smalti check` shows what {wanted.where.document or 'the policy'} says",
        )


def _beside(circumstances: Circumstances, query: Query) -> Iterator[SmaltiError]:
    """Requests outside the query, which a release would ignore."""
    for operand in sorted({fact.operand for fact in circumstances.asks if fact.operand != METHOD}):
        yield PlanError(
            place_of(query),
            f"`{operand}` is requested outside the query",
            "all requests of a release in its query",
            "move it into the query, or leave it out",
        )


def place_of(query: Query) -> str:
    """The name of a query in messages."""
    return query.name or "query"


# --- Columns


class _Compiler(BoundColumns[Anonymization]):
    """Binds the names of a query to columns, and collects problems."""

    def __init__(
        self,
        wanted: Anonymization,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
        terms: ReleaseTerms,
    ) -> None:
        super().__init__(wanted, source, table, circumstances.respondents, _named(wanted))
        self.terms, self._circumstances = terms, circumstances
        self.check_names()
        self.respondent: Respondent = self._respondent()
        """One row each after a problem."""

    # --- Respondents and rows

    def _respondent(self) -> Respondent:
        inherited, description = self.inherited, self.source.description
        if inherited == OneRowEach(is_declared=False):
            self.problem(
                str(self.source.target),
                "its respondents were assumed when it was created, and a release requires a declaration",
                "a declaration for the original data",
                "declare them there (`smalti:respondent`), and create the output again",
            )
        elif inherited is not None:
            return self.inherit(inherited, self.declared or inherited)
        elif self.declared is not None:
            return self.declared
        elif not (self._circumstances.requested or self.wanted.respondent or description.respondent):
            self.problem(
                str(self.wanted.where),
                "the respondents are not declared, and a release requires a declaration",
                "a column that identifies them, or `smalti:oneRowEach`",
                WAYS_TO_DECLARE,
            )
        return OneRowEach(is_declared=True)

    def granted_rows(self) -> Filter | None:
        """Leave out the rows of people who withdrew, and bind the filter of granted rows."""
        if self._circumstances.withdrawn:
            self.leave_out_withdrawn(self._circumstances.withdrawn)
        binder = RowBinder(self.facts, without_rows(self.table), self.problems, lambda name, _: name)
        return binder.filter(self._circumstances.rows)

    def bound(self, wishes: tuple[Wish, ...]) -> BoundContributions:
        """The contribution bounds of a respondent: those of the policy, else those of the description."""
        rows = self.terms.rows or self.source.description.most_contributions
        if rows is None and isinstance(self.respondent, RespondentColumn):
            self.problem(
                str(self.wanted.where),
                "the number of rows of each respondent that take part is not stated",
                "a whole number, known without the data; further rows are dropped",
                "state `smalti:rowsPerRespondent` in the policy, or `csvw-eo:bounds.maxContributions` in"
                " the description",
            )
        rows = rows or 1
        return BoundContributions(self.terms.neighbors, rows, min(self._groups(wishes) or rows, rows))

    def _groups(self, wishes: tuple[Wish, ...]) -> int | None:
        """In how many groups a respondent is at most; None: nothing says so, so in as many as rows."""
        if self.terms.groups is not None:
            return self.terms.groups
        most = [
            [self.source.description.column(key.column).most_groups for key in wish.statistic.keys]
            for wish in wishes
            if wish.statistic.keys
        ]
        products = [prod(groups for groups in of_keys if groups is not None) for of_keys in most]
        return max(products, default=None) if all(None not in of_keys for of_keys in most) else None

    def columns(self, statistics: Iterable[Statistic], granted: Filter | None) -> tuple[ReadColumn, ...]:
        """The columns that the release reads, in the order of the file."""
        names = {self.respondent.column} if isinstance(self.respondent, RespondentColumn) else set[str]()
        for statistic in statistics:
            names |= {key.column for key in statistic.keys}
            names |= {statistic.measure.column} if statistic.measure is not None else set()
            names |= {statistic.counted} if statistic.counted is not None else set()
        names |= (
            set()
            if granted is None
            else {name for condition in granted.conditions for name in _looked_at(condition)}
        )
        return tuple(
            ReadColumn(
                name,
                column_iri(self.source, name),
                self.facts_of(name).datatype or Datatype.STRING,
                self.time_zone(name),
            )
            for name in self.table.contents.header
            if name in names
        )

    # --- Statistics

    def wishes(self, query: Query) -> tuple[Wish, ...]:
        """The statistics, bound; those without a problem."""
        is_filtered = bool(self._circumstances.rows or self._circumstances.withdrawn)
        bound = [
            BoundStatistic(self, self.terms, statistic, place_of(query), is_filtered)
            for statistic in query.statistics
        ]
        total = sum(statistic.cells for statistic in bound)
        if total > MOST_CELLS:
            self.problem(
                max(bound, key=lambda statistic: statistic.cells).place,
                f"the release would have {total} cells, most of them for this statistic",
                f"at most {MOST_CELLS} combinations of public values, bins and candidates in all",
                "name fewer values, or use several queries",
            )
        return tuple(statistic.wish for statistic in bound if statistic.wish is not None)


def _named(wanted: Anonymization) -> tuple[ColumnReference, ...]:
    """The columns that a policy names for statistics, and those that it drops."""
    listed = [parameter for parameter in wanted.parameters if isinstance(parameter, Comparison)]
    iris = [value.iri for parameter in listed for value in parameter.values if isinstance(value, Named)]
    return (*wanted.identifiers, *map(ColumnReference, iris))


def _looked_at(condition: RowCondition) -> Iterator[str]:
    match condition:
        case RowComparison(column=column):
            yield column
        case RowLogical(operands=operands):
            for operand in operands:
                yield from _looked_at(operand)
        case _:
            assert_never(condition)
