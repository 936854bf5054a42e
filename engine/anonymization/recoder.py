"""The kernel on one fragment, wherever its facts are."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from smalti.engine.backends.keys import Packing
from smalti.errors import InternalError
from smalti.transforms.base import WHOLE, CutScore, GroupingTerms, Requirement
from smalti.transforms.mondrian.algorithm import Algorithm, Portions
from smalti.transforms.partitions.merging import distinct, held
from smalti.transforms.problem import Incidence, Integers, Problem, Reference, RowWeights
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.metrics import class_penalties
from smalti.transforms.values.texts import Codebook


@dataclass(frozen=True, slots=True)
class Atoms:
    """Rows as atoms: they agree in the quasi-identifiers, and in retained columns where these tell them."""

    problem: Problem
    kept: tuple[Integers, ...]
    """By retained column and atom: a number for each text."""
    weights: RowWeights | None
    """How much the rows of respondents weigh, where labels depend on it."""


@dataclass(frozen=True, slots=True)
class Recoder:
    """From the facts of one fragment to what becomes of each of its tuples; runs wherever the facts are."""

    books: tuple[Codebook, ...]
    packing: Packing
    has_respondents: bool
    sensitive: int
    requirements: tuple[Requirement, ...]
    cut_threshold: int
    cut_score: CutScore
    algorithm: Algorithm
    first_attribute: int | None
    kept: int
    """Retained columns by which rows of one tuple are told apart; 0 where they stay together."""
    references: tuple[Reference, ...] = ()
    """Of each sensitive column, where a requirement weighs values."""
    weighs_rows: bool = False
    """Whether labels depend on how much rows weigh by respondent; facts have `t`, then."""
    grouping_terms: GroupingTerms = WHOLE

    @property
    def schema(self) -> pa.Schema:
        """Of two kinds of rows.

        For each tuple its keys and its class; classes are numbered from 0 in each fragment. A tuple that is
        divided has several: of its rows, those after the first `before` and up to `upto`. For each class
        (`is_class`) its labels, the rows that it has, and what these are charged.
        """
        count = range(len(self.books))
        return pa.schema([
            ("node", pa.int64()),
            ("class", pa.int64()),
            ("is_class", pa.bool_()),
            *((k, pa.int64()) for k in self.packing.names),
            ("before", pa.int64()),
            ("upto", pa.int64()),
            *((f"l{i}", pa.string()) for i in count),
            *((f"z{i}", pa.int64()) for i in count),
            ("n", pa.int64()),
        ])  # fmt: skip

    def __call__(self, facts: pa.Table) -> pa.Table:
        """Run the kernel on a fragment; nothing comes out if not even the whole meets the promise."""
        columns = self._columns(facts)
        problem, first, tuples = self._problem(facts, columns)
        portions = self._portions(problem)
        if portions is None:
            return self.schema.empty_table()
        keys = self.packing.packed([column[first[portions.atoms]] for column in columns])
        upto = _running(portions.rows, portions.atoms)
        places = [pa.array(upto - portions.rows), pa.array(upto)]
        divided = replace(problem, codes=problem.codes[portions.atoms], weights=portions.rows)
        weights = self._weights(facts, tuples, portions) if self.weighs_rows else None
        node = facts.column("node")[0]
        return pa.concat_tables([
            self._rows(node, portions.classes, [*keys.columns, *places], []),
            self._classes(node, divided, portions.classes, weights),
        ])  # fmt: skip

    def atoms(self, facts: pa.Table) -> Atoms:
        """The frequency table of facts, before any class is made."""
        columns = self._columns(facts)
        problem, first, tuples = self._problem(facts, columns)
        kept = tuple(column[first] for column in columns[len(self.books) :])
        weights = None
        if self.weighs_rows and self.has_respondents:
            weights = RowWeights(tuples, _integers(facts, "n"), _integers(facts, "t"))
        return Atoms(problem, kept, weights)

    def _portions(self, problem: Problem) -> Portions | None:
        generalised = self.algorithm.generalised(problem)
        return None if generalised is None else generalised.portions

    def _weights(self, facts: pa.Table, tuples: Integers, portions: Portions) -> RowWeights:
        """How much the rows of portions weigh; `tuples` says of which each fact is."""
        if not self.has_respondents:
            return RowWeights.one_each(portions.rows)
        if not np.array_equal(portions.atoms, np.arange(int(tuples.max()) + 1)):
            raise InternalError("rows of respondents were divided between classes")
        return RowWeights(tuples, _integers(facts, "n"), _integers(facts, "t"))

    def _classes(
        self, node: pa.Scalar, problem: Problem, classes: Integers, weights: RowWeights | None
    ) -> pa.Table:
        rows = np.bincount(classes, problem.weights).astype(np.int64)
        labels = [
            class_labels(book, column, classes, weights)
            for book, column in zip(self.books, problem.codes.T, strict=True)
        ]
        charged = [pa.array(penalty * rows) for penalty in class_penalties(problem, classes)]
        return self._rows(node, np.arange(len(rows)), [], [*labels, *charged, pa.array(rows)])

    def _rows(
        self, node: pa.Scalar, classes: Integers, keys: list[pa.ChunkedArray], others: list[pa.Array]
    ) -> pa.Table:
        """Rows of one kind; what the other kind says is null."""
        count, schema = len(classes), self.schema
        columns = [pa.repeat(node, count), pa.array(classes), pa.repeat(not keys, count)]
        first = len(columns) + (0 if keys else len(self.packing.names) + len(("before", "upto")))
        filled = dict(enumerate(keys or others, first))
        more = [
            filled.get(i, pa.nulls(count, field.type))
            for i, field in enumerate(schema)
            if i >= len(columns)
        ]
        return pa.table([*columns, *more], schema=schema)

    def _columns(self, facts: pa.Table) -> list[Integers]:
        """What tells tuples apart, in their canonical order."""
        names = [f"q{i}" for i in range(len(self.books))] + [f"r{i}" for i in range(self.kept)]
        return [_integers(facts, name) for name in names]

    def _problem(self, facts: pa.Table, columns: list[Integers]) -> tuple[Problem, Integers, Integers]:
        """The frequency table, tuples in their canonical order; by tuple one fact; by fact its tuple."""
        keys = [column.to_numpy() for column in self.packing.packed(columns).columns]
        order = np.lexsort(keys[::-1])
        is_new = np.zeros(len(order), np.bool_)
        for key in keys:
            is_new[1:] |= np.diff(key[order]) != 0
        tuples = np.empty(len(order), np.int64)
        tuples[order] = np.cumsum(is_new)
        first = order[np.flatnonzero(np.concatenate(([True], is_new[1:])))]
        weights = np.zeros(len(first), np.int64)
        np.add.at(weights, tuples, _integers(facts, "n"))
        respondents = _integers(facts, "u") if self.has_respondents else None
        weighed: tuple[Integers | None, Integers | None] = (None, None)
        if self.references:
            totals = _integers(facts, "t") if self.has_respondents else None
            weighed = _integers(facts, "n"), totals
        codes = columns[: len(self.books)]
        problem = Problem(
            np.column_stack([column[first] for column in codes]),
            weights,
            tuple(book.attribute for book in self.books),
            None if respondents is None else Incidence(*distinct(tuples, respondents)),
            tuple(
                held(tuples, _integers(facts, f"v{i}"), respondents, *weighed)
                for i in range(self.sensitive)
            ),
            self.requirements,
            self.cut_threshold,
            self.cut_score,
            self.first_attribute,
            self.references,
            grouping_terms=self.grouping_terms,
        )
        return problem, first, tuples


def _running(rows: Integers, atoms: Integers) -> Integers:
    """The rows of each atom up to each of its portions, which stand together."""
    upto = np.cumsum(rows)
    starts = np.flatnonzero(np.diff(atoms, prepend=-1))
    before = (upto - rows)[starts]
    return upto - np.repeat(before, np.diff(starts, append=len(atoms)))


def _integers(table: pa.Table, name: str) -> Integers:
    numbers: Integers = table.column(name).to_numpy().astype(np.int64)
    return numbers
