"""A plan: what is done to each column, in which steps; everything that a result depends on but the data.

Nodes are a closed set (dispatch with `match` and `assert_never`); transforms are an open one. A plan
holds no data value, no path, no party and no purpose, so two spellings of one policy have one plan. The
values of a filter are the policy's words, not the data's.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, Self

from smalti.engine.plan.hierarchies import ColumnHierarchy
from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.input_facts import InputColumn, InputFacts, UndescribedColumn
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.masks import AtLevel, Coded, Mask, MaskedColumn, Recoded
from smalti.engine.plan.nodes import Steps, fields_of, node_of
from smalti.policy.model.model import LogicalOperator, Operator, Permission
from smalti.transforms.base import Datatype, Transform
from smalti.transforms.class_models import Distance
from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT
from smalti.vocab.terms import IRI


class Role(StrEnum):
    """The role of a column under a policy."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    RELEASED = "released"
    MASKED = "masked"
    """Published as a single technique leaves it."""
    UNLISTED = "unlisted"
    """Not named in the policy: dropped."""
    WITHHELD = "withheld"
    """Prohibited by a policy: dropped, whatever its role."""

    @property
    def is_published(self) -> bool:
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.RELEASED, Role.MASKED)


class OutputFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


class ModelFormat(StrEnum):
    SAFETENSORS = "safetensors"
    """The weights of a network, and a description of it; numbers and text only."""


class OutputForm(StrEnum):
    """How a generalised value is written where the policy asks for another form than its datatype's."""

    PREFIX = "prefix"
    """Texts as the prefix that those of a class share."""
    MEAN = "mean"
    """Numbers and days as the mean of a class."""
    MEDIAN = "median"
    """Numbers and days as the median of a class."""
    MODE = "mode"
    """Categories as the most frequent one of a class."""
    MEDOID = "medoid"
    """Categories as the one that all others of a class are nearest to."""

    @property
    def is_of_categories(self) -> bool:
        """Whether it is one value of a class, of any datatype, that stands for the others."""
        return self in (OutputForm.MODE, OutputForm.MEDOID)


@dataclass(frozen=True, slots=True)
class Region:
    """Public bounds of a column's numbers; cuts divide what lies between them into the ends of ranges."""

    low: str
    """An exact decimal, as the description states it; no value of the column lies below it."""
    high: str
    """The same; no value lies above it."""
    decimals: int
    """Ends of ranges have so many at most: as the value, or the bound, that is written with most."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the input."""

    name: str
    """As the header writes it."""
    iri: IRI
    datatype: Datatype
    """Declared, or inferred once when the plan was made."""
    is_inferred: bool
    """True when the datatype was inferred from the values."""
    role: Role
    time_zone: str | None = None
    """IANA name: the zone of date-times that state none."""
    hierarchy: ColumnHierarchy | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of a quasi-identifier that is generalised along one; None: as its datatype says."""
    form: OutputForm | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of a quasi-identifier; None: nodes along a hierarchy, ranges of ordered values, sets of texts."""
    decimals: int | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of a figure: to how many it is rounded, which is how many values of the column have at most."""
    region: Region | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Where ends of ranges come from public bounds and cuts; None: they are values of the class."""
    distance: Distance | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of categories that are microaggregated; ordered ones are as far apart as their places in a list."""
    pseudonym_key: str | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of a masked column beside classes: the name of the key of its pseudonyms."""
    is_undescribed: bool = field(default=False, compare=False, metadata=LEFT_OUT_AT_DEFAULT)
    """Whether nothing but its values says what it is; where none were looked at, it is taken for text."""

    @property
    def has_ordered_labels(self) -> bool:
        """Whether its labels tell values of its datatype, if it is generalised."""
        return self.datatype.is_ordered and self.hierarchy is None

    @property
    def is_published_as_ranges(self) -> bool:
        """Whether its labels are ranges, if it is generalised."""
        return self.has_ordered_labels and self.form is None

    @property
    def is_published_as_figures(self) -> bool:
        """Whether its labels are figures of classes, or categories for them, which cover no value."""
        return self.form in (OutputForm.MEAN, OutputForm.MEDIAN) or self.is_published_as_categories

    @property
    def is_published_as_categories(self) -> bool:
        """Whether each class shows one category for all of its rows."""
        return self.form is not None and self.form.is_of_categories

    @property
    def has_places(self) -> bool:
        """Whether its categories are as far apart as their places in the list that declares their order."""
        return self.distance is Distance.ORDERED

    @property
    def is_published_as_nodes(self) -> bool:
        """Whether its labels are nodes of its hierarchy, if it is generalised."""
        return self.hierarchy is not None and not self.is_published_as_categories

    @property
    def is_published_as_sets(self) -> bool:
        """Whether its labels are sets of exact texts, if it is generalised."""
        return not self.datatype.is_ordered and self.hierarchy is None and self.form is None


def facts_of_columns(kind: Kind, columns: tuple[Column, ...]) -> InputFacts:
    """What a plan that lists all columns of a table takes its input for.

    The hierarchy of a masked column is among it: no promise bounds what a stranger's would publish.
    """
    taken = (InputColumn(c.name, c.iri, c.datatype, c.is_inferred, c.time_zone) for c in columns)
    undescribed = (UndescribedColumn(column.name) for column in columns if column.is_undescribed)
    hierarchies = (
        (column.name, column.hierarchy.digest)
        for column in columns
        if column.role is Role.MASKED and column.hierarchy is not None
    )
    return frozenset({kind, *taken, *undescribed, *hierarchies})


@dataclass(frozen=True, slots=True)
class RespondentColumn:
    """Rows with the same value here are about the same person."""

    column: str
    is_pseudonymized: bool = field(default=False, compare=False, metadata=LEFT_OUT_AT_DEFAULT)
    """Whether the output has it as pseudonyms, by which those of what is made from it are counted."""


@dataclass(frozen=True, slots=True)
class OneRowEach:
    """Each row is about another person."""

    is_declared: bool
    """False: assumed, because nothing was declared and no identifier repeats."""


Respondent = RespondentColumn | OneRowEach


def columns_of_respondent(respondent: Respondent) -> frozenset[str]:
    """The column that tells people apart, where there is one."""
    return frozenset({respondent.column} if isinstance(respondent, RespondentColumn) else ())


@dataclass(frozen=True, slots=True)
class Read:
    """Read the target's data, by the one dialect."""

    target: IRI
    columns: tuple[Column, ...]
    """In the order of the file."""
    respondent: Respondent
    population: IRI | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The table of all persons that respondents come from, by which classes are held; None: none is."""


@dataclass(frozen=True, slots=True)
class RowComparison:
    """A row satisfies it when its value in a column compares so; a row without a value never does."""

    column: str
    operator: Operator
    """`eq`, `neq`, `isAnyOf`, `isNoneOf`; for ordered datatypes `gt`, `gteq`, `lt`, `lteq` too."""
    values: tuple[str, ...]
    """The policy's, as texts of the column's datatype; one, but for `isAnyOf` and `isNoneOf`.

    `isNoneOf` without any is satisfied by each row that has a value.
    """
    datatype: Datatype
    """What both sides are compared as: exact numbers, days, instants in UTC, or texts by code points.

    Declared, or told by the policy's values; never inferred from the data's.
    """


@dataclass(frozen=True, slots=True)
class RowLogical:
    """Conditions taken together, each of them either satisfied by a row or not."""

    operator: LogicalOperator
    """`and`, `or` or `xone`: exactly one of them is satisfied (and each of their columns has a value: see
    `rows`)."""
    operands: "tuple[RowCondition, ...]"


RowCondition = RowComparison | RowLogical


@dataclass(frozen=True, slots=True)
class Filter:
    """Leave out each row that does not satisfy all conditions, before anything is counted."""

    conditions: tuple[RowCondition, ...]
    """At least one, in an order that two spellings of one policy share."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns that decide which rows take part, by name."""
        return _columns(self.conditions)


def _columns(conditions: tuple[RowCondition, ...]) -> frozenset[str]:
    columns = (
        frozenset({condition.column})
        if isinstance(condition, RowComparison)
        else _columns(condition.operands)
        for condition in conditions
    )
    return frozenset[str]().union(*columns)


@dataclass(frozen=True, slots=True)
class Select:
    """Keep these columns, drop all others."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """Change the kept columns."""

    transform: Transform


@dataclass(frozen=True, slots=True)
class Write:
    """Write rows ordered by all published columns, bytewise, missing first."""

    output: IRI
    columns: tuple[str, ...]
    format: OutputFormat
    rows_per_part: int | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """At most so many rows in each file; None: one file. The content is the same."""


Node = Read | Filter | Select | Mask | Apply | Write


@dataclass(frozen=True, slots=True)
class Plan(ShownInNotebooks):
    """Read, filter, select, apply, write: the steps of one run, in this order."""

    kind: ClassVar[Kind] = Kind.ANONYMIZATION

    read: Read
    select: Select
    apply: Apply
    write: Write
    filter: Filter | None = None
    """None where all rows are granted."""
    mask: Mask | None = None
    """What single techniques do before classes are made; None: nothing."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        filters = () if self.filter is None else (self.filter,)
        masks = () if self.mask is None else (self.mask,)
        return (self.read, *filters, self.select, *masks, self.apply, self.write)

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of these steps; ValueError or KeyError where they are none."""
        return cls(
            node_of(Read, steps["read"]),
            node_of(Select, steps["select"]),
            Apply(_transform(steps["apply"])),
            node_of(Write, steps["write"]),
            node_of(Filter, steps["filter"]) if "filter" in steps else None,
            node_of(Mask, steps["mask"]) if "mask" in steps else None,
        )

    @staticmethod
    def neighbors_charged(permission: Permission) -> None:
        """Nothing is charged."""
        del permission

    @property
    def steps(self) -> tuple[tuple[str, object], ...]:
        transform = self.apply.transform
        applied = {"method": transform.method, "algorithm": transform.algorithm}
        masks = () if self.mask is None else (("mask", self.mask),)
        return ("select", self.select), *masks, ("apply", applied | fields_of(transform))

    @property
    def used_columns(self) -> frozenset[str]:
        of_rows = frozenset[str]() if self.filter is None else self.filter.columns
        return columns_of_respondent(self.read.respondent) | frozenset(self.write.columns) | of_rows

    @property
    def input_facts(self) -> InputFacts:
        return facts_of_columns(self.kind, self.read.columns)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that are published unchanged on the policy author's word, by name."""
        return tuple(column.name for column in self.read.columns if column.role is Role.RELEASED)

    @property
    def pseudonymized(self) -> tuple[str, ...]:
        """The columns that are published as pseudonyms, by name."""
        return tuple(column.name for column in self.read.columns if column.pseudonym_key is not None)

    @property
    def pseudonym_key(self) -> str | None:
        """The name of the key of pseudonyms; None where there are none."""
        names = (column.pseudonym_key for column in self.read.columns)
        return next((name for name in names if name is not None), None)

    @property
    def masked(self) -> tuple[MaskedColumn, ...]:
        """The columns that single techniques change, pseudonyms apart, in the order of the file."""
        return () if self.mask is None else self.mask.columns

    def masks(self, names: Collection[str]) -> bool:
        """Whether one of some columns is masked."""
        return any(each.column in names for each in self.masked)

    @property
    def draws_at_random(self) -> bool:
        """Whether another run on the same data gives another content."""
        return self.mask is not None and self.mask.draws_at_random

    @property
    def sampling_rate(self) -> Decimal | None:
        """The probability with which each respondent takes part; None: all do."""
        return None if self.mask is None else self.mask.sampling_rate

    @property
    def once_masked(self) -> Self:
        """The plan for a table whose columns have been masked: those that are labels by then hold texts."""
        if self.mask is None:
            return self
        labelled = {each.column for each in self.masked if isinstance(each, AtLevel | Recoded)}
        columns = tuple(
            replace(column, datatype=Datatype.STRING, is_inferred=False, time_zone=None, hierarchy=None)
            if column.name in labelled
            else column
            for column in self.read.columns
        )
        return replace(self, read=replace(self.read, columns=columns))

    def codes_of(self, name: str) -> Coded | None:
        """The thresholds of a column; None where it has none."""
        coded = (each for each in self.masked if isinstance(each, Coded) and each.column == name)
        return next(coded, None)

    @property
    def has_figures(self) -> bool:
        """Whether a column is published as figures of classes."""
        return any(column.is_published_as_figures for column in self.read.columns)

    @property
    def most_combinations(self) -> int | None:
        """How many different combinations of quasi-identifiers the table may have; None: any number."""
        names = self.apply.transform.quasi_identifiers
        if len(names) == 1 and self.column(names[0]).distance in (None, Distance.ORDERED):
            return None  # on a line the effort grows with the rows alone
        return self.apply.transform.most_combinations

    @property
    def has_regions(self) -> bool:
        """Whether ends of ranges of a column come from public bounds and cuts."""
        return any(column.region is not None for column in self.read.columns)

    def column(self, name: str) -> Column:
        """The input column of that name; KeyError if there is none."""
        for column in self.read.columns:
            if column.name == name:
                return column
        raise KeyError(name)


def _transform(fields: dict[str, Any]) -> Transform:
    from smalti.transforms import transform_class  # noqa: PLC0415 (it brings NumPy)

    return node_of(transform_class(fields.pop("method"), fields.pop("algorithm")), fields)
