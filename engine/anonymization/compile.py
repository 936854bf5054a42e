"""Compile a permission and a bound table to a plan; the only place where a duty becomes a transform."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.anonymization.beside import TechniquesBeside
from smalti.engine.anonymization.bounds import ChosenBounds, chosen_bounds
from smalti.engine.anonymization.label_bounds import RegionBinder
from smalti.engine.anonymization.output_forms import stated_forms, with_decimals
from smalti.engine.anonymization.population import (
    OF_POPULATION,
    PopulationBinder,
    refused_beside_population,
)
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import (
    column_iri,
    comparisons_in,
    refuse_budgets,
    refuse_unimplemented,
)
from smalti.engine.binding.circumstances import NO_MORE, Circumstances, Options
from smalti.engine.binding.column_roles import ColumnRoles
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.binding.kept_rows import leave_out_withdrawn
from smalti.engine.binding.ladders import column_ladders, values_without_place
from smalti.engine.plan.hierarchies import UNDECLARED, DeclaredHierarchy, Masking, OrderedList, Prefixes
from smalti.engine.plan.kinds import Kind, granted_kind
from smalti.engine.plan.plan import (
    Apply,
    Column,
    Plan,
    Read,
    Role,
    Select,
    Write,
)
from smalti.engine.tables.description import Source
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.errors import DataError, InternalError, PlanError, SmaltiError, raise_all
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    ColumnReference,
    Comparison,
    Named,
    Number,
    Permission,
    Text,
)
from smalti.transforms import transform_class
from smalti.transforms.base import Asked, CutScore, Datatype, Standardization, Transform
from smalti.transforms.class_models import ClassModels, Distance
from smalti.transforms.mondrian.transform import Dimensionality, Partitioning
from smalti.transforms.values.texts import (
    infer_datatype,
    make_codebook,
)
from smalti.vocab.terms import (
    BLOCKS,
    CUT_SCORE,
    DIMENSIONALITY,
    FRAGMENT_COLUMN,
    INCOGNITO,
    IRI,
    LOSS_MEASURE,
    MDAV,
    MONDRIAN,
    PARTITIONING,
    PSEUDONYM,
    PSEUDONYM_KEY,
    STANDARDIZATION,
    SUPPRESSED_RECORDS,
    SUPPRESSION_LIMIT,
)

__all__ = ["NO_MORE", "Circumstances", "Options", "column_iri", "compile_plan"]

_CHOICES: Final[Mapping[IRI, tuple[str, type[StrEnum]]]] = {
    PARTITIONING: ("partitioning", Partitioning),
    DIMENSIONALITY: ("dimensionality", Dimensionality),
    CUT_SCORE: ("cut_score", CutScore),
    STANDARDIZATION: ("standardization", Standardization),
}
"""Words with a choice of names about how classes are made, each with the field of the transform."""
_MOST_SHOWN: Final = 20
"""Values that have no place in a hierarchy, on the owner's terminal."""


def compile_plan(
    permission: Permission,
    source: Source,
    table: StagedTable,
    options: Options,
    circumstances: Circumstances = NO_MORE,
) -> Plan:
    """Bind what a permission asks to the columns of a table, and leave out the rows that it does not grant.

    The plan depends on the policy's words, the description, the header and, where the description
    is silent, on datatypes inferred from the values; never on the policy's spelling or uid. Rows that
    are not granted, or whose respondents withdrew, are not in the table any more when it is made: no
    datatype, no count and no problem comes from them.

    Args:
        permission: to anonymize.
        source: the target's file and description.
        table: the same, bound.
        options: of the run.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: the data cannot be treated as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.anonymization
    if wanted is None or permission.output is None:
        raise InternalError("a permission without refinements reached the compiler")
    if granted_kind(permission) is not Kind.ANONYMIZATION:
        raise InternalError("a permission of releases reached the compiler of published rows")
    refuse_unimplemented(wanted, permission)
    refuse_budgets(wanted, permission.constraints)
    _refuse_suppression(wanted)
    if wanted.method in OF_POPULATION:
        raise_all(refused_beside_population(wanted))
    compiler = _Compiler(wanted, source, table, circumstances)
    granted = compiler.granted_rows(circumstances)
    beside = compiler.beside
    columns, mask = beside.bound(compiler.columns(circumstances.withheld), source, table)
    columns = stated_forms(wanted, columns, compiler.problems)
    respondent = compiler.respondent(columns)
    sensitive = tuple(column for column in columns if column.role is Role.SENSITIVE)
    bounds = chosen_bounds(wanted, sensitive, beside.other_asks, compiler.problems)
    beside.check_distances(mask, sensitive, bounds.models)
    compiler.take(beside.problems)
    columns = compiler.with_trees(columns, bounds.models)
    population = circumstances.population
    if population is not None:
        PopulationBinder(wanted, source, population, compiler.problems).bind(columns, respondent)
    raise_all(compiler.problems)
    columns = with_decimals(columns, table, compiler.problems)
    regions = RegionBinder(wanted, source.description, compiler.problems)
    columns = regions.bound(columns, table)
    beside.check_columns(mask, columns, respondent)
    raise_all([*compiler.problems, *beside.problems])
    transform = _transform(wanted, bounds, columns, options, circumstances.recoding)
    regions.check_transform(transform, columns, is_sampled=options.sampled_fragments is not None)
    beside.check_transform(mask, transform, (column.name for column in sensitive))
    raise_all([*compiler.problems, *beside.problems])
    kept = tuple(column.name for column in columns if column.role.is_published)
    dropped = tuple(column.name for column in columns if not column.role.is_published)
    return Plan(
        Read(source.target, columns, respondent, None if population is None else population.source.target),
        Select(kept, dropped),
        Apply(transform),
        Write(permission.output, kept, options.output_format, options.rows_per_part),
        granted,
        mask,
    )


def _refuse_suppression(wanted: Anonymization) -> None:
    """Refuse to leave records out where the algorithm does not."""
    if wanted.algorithm == INCOGNITO:
        return
    raise_all([
        PlanError(
            str(comparison.where),
            "`smalti:suppressionLimit` is not implemented yet for the algorithm"
            f" `{wanted.algorithm or MONDRIAN}`",
            f"the algorithm `{INCOGNITO}`",
            "leave it out, or name that algorithm",
        )
        for comparison in comparisons_in(wanted.parameters)
        if comparison.operand == SUPPRESSION_LIMIT
    ])  # fmt: skip


def _transform(
    wanted: Anonymization,
    bounds: ChosenBounds,
    columns: tuple[Column, ...],
    options: Options,
    recoding: KeptRecoding | None,
) -> Transform:
    names = {role: tuple(c.name for c in columns if c.role is role) for role in Role}
    variant = _variant(wanted, columns)
    if options.sampled_fragments is not None and variant.get("dimensionality") == Dimensionality.SINGLE:
        raise PlanError(
            str(wanted.where),
            "requested first cuts from a sample, but the policy requires `single` dimensionality",
            "exact first cuts, because whole domains are cut",
            "leave out --first-cuts",
        )
    if options.sampled_fragments is not None and wanted.method in OF_POPULATION:
        raise PlanError(
            str(wanted.where),
            "requested first cuts from a sample, but the policy names a population table",
            "no first cuts, because both tables are cut together",
            "leave out --first-cuts",
        )
    if options.sampled_fragments is not None and wanted.algorithm == INCOGNITO:
        raise PlanError(
            str(wanted.where),
            "requested first cuts from a sample, but the policy requires full-domain generalisation",
            "no first cuts, because whole domains are generalised",
            "leave out --first-cuts",
        )
    if options.sampled_fragments is not None and wanted.algorithm == MDAV:
        raise PlanError(
            str(wanted.where),
            "requested first cuts from a sample, but the policy requires microaggregation",
            "no first cuts, because distances are measured over the whole table",
            "leave out --first-cuts; `smalti:blocks` divides large tables",
        )
    if options.sampled_fragments is not None and any(
        column.hierarchy and column.role is Role.QUASI_IDENTIFIER for column in columns
    ):
        raise PlanError(
            str(wanted.where),
            "requested first cuts from a sample, but a quasi-identifier has a hierarchy",
            "exact first cuts, because cuts along a hierarchy are not made in SQL",
            "leave out --first-cuts",
        )
    try:
        kind = transform_class(wanted.method, wanted.algorithm or MONDRIAN)
    except KeyError:
        raise InternalError("a method that no transform implements reached the compiler") from None
    return kind.of(
        Asked(
            bounds.k,
            bounds.l,
            names[Role.QUASI_IDENTIFIER],
            names[Role.SENSITIVE],
            options.cut_threshold,
            options.sampled_fragments,
            variant,
            bounds.models,
            bounds.presence,
            _node(wanted, columns, recoding),
        )
    )


def _node(
    wanted: Anonymization, columns: tuple[Column, ...], recoding: KeptRecoding | None
) -> tuple[int, ...]:
    """The levels of an earlier release, where the data is published at these."""
    if recoding is None:
        return ()
    if wanted.algorithm != INCOGNITO:
        raise PlanError(
            str(wanted.where),
            f"requested the levels of {recoding.name}, but the policy requires"
            f" `{wanted.algorithm or MONDRIAN}`",
            f"the algorithm `{INCOGNITO}`, which has one level of each column",
            "leave out --recoding-of",
        )
    return recoding.node(tuple(column for column in columns if column.role is Role.QUASI_IDENTIFIER))


def _variant(wanted: Anonymization, columns: tuple[Column, ...]) -> dict[str, str]:
    """The policy's choices, by the field of the transform."""
    by_iri = {normalised_column(column.iri): column.name for column in columns}
    choices: dict[str, str] = {}
    for parameter in wanted.parameters:
        match parameter:
            case Comparison(operand=operand, values=(Text(name),)) if operand in _CHOICES:
                field, kind = _CHOICES[operand]
                choices[field] = kind(name)
            case Comparison(operand=operand, values=(Number(limit),)) if operand == SUPPRESSION_LIMIT:
                choices["suppression_limit"] = str(limit)
            case Comparison(operand=operand, values=(Text(name),)) if operand == SUPPRESSED_RECORDS:
                choices["suppressed_records"] = name
            case Comparison(operand=operand, values=(Number(count),)) if operand == BLOCKS:
                choices["blocks"] = str(int(count))
            case Comparison(operand=operand, values=(Text(name),)) if operand == LOSS_MEASURE:
                choices["measure"] = name
            case Comparison(operand=operand, values=(Named(iri),)) if operand == FRAGMENT_COLUMN:
                choices["fragment_column"] = by_iri[normalised_column(iri)]
    if not Decimal(choices.get("suppression_limit", 0)):
        choices.pop("suppressed_records", None)  # no record is suppressed, so none is kept
    return choices


class _Compiler(ColumnRoles):
    """Binds columns to roles, and collects problems."""

    def __init__(
        self, wanted: Anonymization, source: Source, table: StagedTable, circumstances: Circumstances
    ) -> None:
        self._population = circumstances.population
        self._show_values = circumstances.show_values
        self.beside = TechniquesBeside(wanted, circumstances.asks)
        super().__init__(wanted, source, table, circumstances, self.beside.columns)

    def _leave_out(self, withdrawn: Withdrawn) -> None:
        name = self.leave_out_withdrawn(withdrawn)
        if name is None or self.facts_of(name).datatype is not None:
            return
        if name in self._quasi_identifiers():
            # The kernel will tell respondents apart by the values of the datatype that is inferred.
            zone = self.time_zone(name)
            inferred = infer_datatype(self.table.texts(name), zone)
            leave_out_withdrawn(self.table, name, inferred, zone, withdrawn)

    def take(self, others: Iterable[SmaltiError]) -> None:
        """Take problems of others, each that is not among these."""
        texts = set(map(str, self.problems))
        self.problems += [problem for problem in others if str(problem) not in texts]

    def _quasi_identifiers(self) -> set[str | None]:
        return {self.find(column.iri) for column in self.wanted.quasi_identifiers}

    def roles(self) -> dict[str, Role]:
        roles = super().roles()
        for reference in self.beside.columns:
            if (name := self.name(reference)) is not None:
                roles.setdefault(name, Role.MASKED)
        for reference in self._pseudonyms():
            name = self.name(reference)
            if name is not None and roles.setdefault(name, Role.MASKED) is not Role.MASKED:
                self.problem(
                    str(reference.where),
                    f"the column `{name}` has two roles: {roles[name]} and {Role.MASKED}",
                    "one role for each column",
                    "keep one of them",
                )
        return roles

    def _pseudonyms(self) -> tuple[ColumnReference, ...]:
        """The columns that are published as pseudonyms."""
        stated = self._stated(PSEUDONYM)
        iris = () if stated is None else (value.iri for value in stated.values if isinstance(value, Named))
        return () if stated is None else tuple(ColumnReference(iri, stated.where) for iri in iris)

    def _stated(self, operand: IRI) -> Comparison | None:
        return next(
            (each for each in comparisons_in(self.wanted.parameters) if each.operand == operand), None
        )

    def _with_pseudonyms(self, column: Column) -> Column:
        stated = self._stated(PSEUDONYM_KEY)
        if stated is None or not isinstance(stated.values[0], Text):
            raise InternalError("pseudonyms without the name of a key reached the compiler")
        if column.datatype is Datatype.DATETIME:
            self.problem(
                str(stated.where),
                f"the column `{column.name}` has date-times, which have no pseudonyms",
                "texts, numbers or dates",
                "declare it as a string: then each spelling has a pseudonym of its own",
            )
        return replace(column, pseudonym_key=stated.values[0].text)

    def _column(self, name: str, role: Role) -> Column:
        if role is Role.MASKED:
            column = super()._column(name, role)
            has_pseudonyms = name in {self.find(each.iri) for each in self._pseudonyms()}
            return self._with_pseudonyms(column) if has_pseudonyms else column
        if role is not Role.QUASI_IDENTIFIER:
            return super()._column(name, role)
        said = self.source.description.column(name)
        declared = self.facts_of(name).datatype
        hierarchy = said.hierarchy
        if hierarchy is not None:
            datatype = declared or Datatype.STRING
            return self._along_hierarchy(
                Column(
                    name,
                    column_iri(self.source, name),
                    datatype,
                    False,
                    role,
                    said.time_zone,
                    hierarchy.in_plan,
                ),
                hierarchy,
            )
        datatype = self._quasi_identifier_type(name, declared, said.time_zone)
        self._check_required(name)
        column = Column(
            name,
            column_iri(self.source, name),
            datatype,
            declared is None,
            role,
            said.time_zone,
            is_undescribed=self.is_undescribed(name) and self._population is None,
        )
        if self.wanted.algorithm == INCOGNITO:
            return self._along_hierarchy(replace(column, hierarchy=UNDECLARED.in_plan), UNDECLARED)
        return column

    def with_trees(self, columns: tuple[Column, ...], models: ClassModels) -> tuple[Column, ...]:
        """The same columns; sensitive ones with their hierarchies where distances go along these."""
        return tuple(
            self._with_tree(column)
            if column.role is Role.SENSITIVE
            and models.of_column(column.name).distance is Distance.HIERARCHICAL
            else column
            for column in columns
        )

    def _with_tree(self, column: Column) -> Column:
        hierarchy = self.source.description.column(column.name).hierarchy
        if hierarchy is None:
            self.problem(
                str(self.wanted.where),
                f"the distance is `hierarchical`, and the sensitive column `{column.name}` has no"
                " hierarchy",
                "`smalti:hierarchy` of the column in the description",
                "declare one, or state another distance for this column",
            )
            return column
        return self._along_hierarchy(replace(column, hierarchy=hierarchy.in_plan), hierarchy)

    def _along_hierarchy(self, column: Column, hierarchy: DeclaredHierarchy) -> Column:
        """The column, once each of its values has a place in its hierarchy."""
        problems = len(self.problems)
        self._refuse_other_values(column.name, column.datatype, column.time_zone)
        if len(self.problems) > problems:
            return column
        where = f"{self.source.description.source}, column `{column.name}`, hierarchy"
        is_of_texts = isinstance(hierarchy.stated, Prefixes | Masking | OrderedList)
        if is_of_texts and column.datatype.is_ordered:
            self.problem(
                where,
                f"`{hierarchy.stated.kind}` is for texts, and the file's type is {column.datatype}",
                "a column of texts",
                "declare the datatype `string`, or another hierarchy",
            )
            return column
        try:
            book = make_codebook(
                self.table.texts(column.name), column.datatype, column.time_zone, has_missing=False
            )
            column_ladders(column, book.texts, hierarchy.stated)
        except DataError as error:
            self.problem(where, error.problem, error.expected, error.way_out)
            if self._show_values is not None:
                without = values_without_place(column, book.texts, hierarchy.stated, _MOST_SHOWN)
                self._show_values(column.name, without)
        return column

    def _quasi_identifier_type(self, name: str, declared: Datatype | None, zone: str | None) -> Datatype:
        if declared is None:
            return infer_datatype(self._all_texts(name), zone)
        self._refuse_other_values(name, declared, zone)
        return declared

    def _all_texts(self, name: str) -> pa.Array:
        """The texts of a column in the target, and in the population table where there is one."""
        texts = self.table.texts(name)
        if self._population is None or name not in self._population.table.contents.header:
            return texts
        others = self._population.table.texts(name)
        return pc.unique(pa.concat_arrays([texts.cast(pa.large_string()), others.cast(pa.large_string())]))
