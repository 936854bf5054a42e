"""A plan on a table whose frequency table is too large for one kernel: first cuts, then a kernel for each.

What comes out is the same to the byte as from one kernel over the whole table (see `first_cuts`), unless
the plan says that first cuts come from a sample (see `sampled_cuts`).
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.anonymization import cut_queries as queries
from smalti.engine.anonymization.codebooks import codebook_of, tree_of
from smalti.engine.anonymization.cut_queries import FACTS, Division
from smalti.engine.anonymization.first_cuts import FirstCuts, Terms
from smalti.engine.anonymization.recoder import Atoms, Recoder
from smalti.engine.anonymization.sampled_cuts import SampledCuts, taken_back
from smalti.engine.anonymization.side_judges import side_judges_of
from smalti.engine.backends.keys import Packing
from smalti.engine.backends.publication import Piece
from smalti.engine.backends.staged import STAGED, StagedTable, generalised_runs
from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.plan import Plan, RespondentColumn
from smalti.errors import InternalError
from smalti.transforms.mondrian.algorithm import Algorithm
from smalti.transforms.partitions.weights import ValueScale
from smalti.transforms.problem import SCALE, Integers, Reference
from smalti.transforms.requirements.registry import weighs_values
from smalti.transforms.values.texts import Codebook

MOST_CLASSES: Final = 1 << 22
"""Whose labels are looked up here while rows are written."""
_RECODED: Final = "recoded"
_AGAIN: Final = "again"
_WAITING: Final = "waiting"
_CLASSES: Final = "classes"
_TURNS: Final = "turns"


class Fragments:
    """The rows of a table as facts about tuples, in fragments that one kernel each can take."""

    def __init__(
        self, plan: Plan, algorithm: Algorithm, table: StagedTable, hierarchies: Hierarchies
    ) -> None:
        transform = plan.apply.transform
        self._plan, self._table, self._transform = plan, table, transform
        self.hierarchies = hierarchies
        self._algorithm, self._cut_terms = algorithm, transform.cut_terms
        self._names = transform.quasi_identifiers
        self._who = (
            plan.read.respondent.column if isinstance(plan.read.respondent, RespondentColumn) else None
        )
        self._kept = tuple(name for name in plan.write.columns if name not in self._names)
        """Retained columns that tell rows of one tuple apart, where these may be divided."""
        if not algorithm.divides_tuples:
            self._kept = ()
        self._weighs = weighs_values(transform.guarantee.requirements)
        self._references: tuple[Reference, ...] = ()
        self._most = self._count = 1
        self.label_bytes = 0
        """Of all labels in all rows, once `generalise` has made them."""
        self._divisions: tuple[Division, ...] = ()
        """First cuts, where they come from a sample and may be taken back."""

    @cached_property
    def books(self) -> tuple[Codebook, ...]:
        """The values of each quasi-identifier, in the plan's order."""
        who = () if self._who is None else (self._who,)
        # Numbers of retained columns stand for the ranks of their texts.
        self._table.number((*self._names, *self._transform.sensitive, *who), ordered=self._kept)
        return tuple(
            self._book(name, self._table.texts(name), has_missing=self._table.misses(name))
            for name in self._names
        )

    def cut(self, fragments: int) -> int:
        """Make the facts, and cut them into at most so many fragments.

        Returns:
            The number of fragments that there are.
        """
        self._make_facts()
        judges = side_judges_of(self._transform.guarantee.requirements)
        if judges is None or any(book.hierarchy is not None for book in self.books):
            return self._count  # SQL cuts along no hierarchy: one kernel takes the whole table
        relations, terms = self._table.relations, self._terms
        if self._cut_terms.sampled_fragments is None:
            self._count = FirstCuts(relations, terms).cut(fragments)
        else:
            self._most, self._divisions = fragments, SampledCuts(relations, terms).cut(fragments)
            self._count = 1 + len(self._divisions)
        return self._count

    def atoms(self) -> Atoms:
        """All rows as one kernel takes them, without cuts before."""
        self._make_facts()
        return self._recoder.atoms(self._table.relations.take(f"SELECT * FROM {FACTS}"))

    def combinations(self) -> int:
        """How many different combinations of quasi-identifiers the facts have."""
        codes = ", ".join(f"q{i}" for i in range(len(self._names)))
        query = f"SELECT count(*) AS n FROM (SELECT DISTINCT {codes} FROM {FACTS}) AS combinations"
        count: int = self._table.relations.take(query).column("n")[0].as_py()
        return count

    @cached_property
    def _terms(self) -> Terms:
        return Terms(
            tuple(book.attribute for book in self.books),
            self._who is not None,
            len(self._transform.sensitive),
            side_judges_of(self._transform.guarantee.requirements) or (),
            self._cut_terms.threshold,
            self._cut_terms.score,
            self._cut_terms.first_attribute,
            len(self._kept),
            tuple(map(ValueScale, self._references)),
            self._plan.has_figures,
        )

    def _make_facts(self) -> None:
        joins: list[str] = []
        columns: list[tuple[str, str]] = []
        for i, (name, book) in enumerate(zip(self._names, self.books, strict=True)):
            joins.append(self._give_numbers(f"codes{i}", name, book))
            columns.append((f"codes{i}.q", f"q{i}"))
        trees: dict[str, Integers | None] = {}
        others = [] if self._who is None else [("u", self._who)]
        others += [(f"v{i}", name) for i, name in enumerate(self._transform.sensitive)]
        for place, name in others:
            column = self._plan.column(name)
            if column.datatype.is_ordered or column.hierarchy is not None:
                # `1` and `1.0` are one.
                book = self._book(name, self._table.texts(name), has_missing=False)
                joins.append(self._give_numbers(f"numbers_{place}", name, book))
                columns.append((f"numbers_{place}.q", place))
                trees[place] = tree_of(book)
            else:
                columns.append((f"CAST({self._table.numbered(name)[0]} AS BIGINT)", place))
        columns += [
            (f"CAST({self._table.numbered(name)[0]} AS BIGINT)", f"r{i}")
            for i, name in enumerate(self._kept)
        ]
        selected = ", ".join(f"{expression} AS {place}" for expression, place in columns)
        facts = (
            f"SELECT CAST(0 AS BIGINT) AS node, {selected}, count(*) AS n FROM {STAGED} "
            f"{' '.join(joins)} GROUP BY {', '.join(expression for expression, _ in columns)}"
        )
        if (self._weighs or self._plan.has_figures) and self._who is not None:
            facts = f"SELECT *, CAST(sum(n) OVER (PARTITION BY u) AS BIGINT) AS t FROM ({facts}) AS counted"
        self._table.relations.make(FACTS, facts)
        if self._weighs:
            self._references = tuple(
                self._reference(v, trees.get(v))
                for v in (f"v{i}" for i in range(len(self._transform.sensitive)))
            )

    def _reference(self, v: str, tree: Integers | None) -> Reference:
        """What the whole table holds of the values of a sensitive column."""
        by = v if self._who is None else f"{v}, t"
        table = self._table.relations.take(
            f"SELECT {by}, CAST(sum(n) AS BIGINT) AS n FROM {FACTS} GROUP BY {by}"
        )
        columns = [table.column(name).to_numpy().astype(np.int64) for name in table.column_names]
        return Reference.of(columns[0], None if self._who is None else columns[1], columns[-1], tree)

    def _give_numbers(self, relation: str, name: str, book: Codebook) -> str:
        """Make a relation from a column's numbers to its codes; says how to join it."""
        column, texts = self._table.numbered(name)
        present = self._table.texts(name)
        codes = np.zeros(len(texts) + 1, np.int64)
        places = pc.index_in(present, texts).to_numpy() + 1
        codes[places] = book.codes
        self._table.relations.give(relation, pa.table({"c": np.arange(len(codes)), "q": codes}))
        return f"JOIN {relation} ON {STAGED}.{column} = {relation}.c"

    def _book(self, name: str, texts: pa.Array, *, has_missing: bool) -> Codebook:
        return codebook_of(self._plan, name, texts, self.hierarchies, has_missing=has_missing)

    def generalise(self) -> tuple[Fraction, ...] | None:
        """Run the kernel on each fragment.

        Returns:
            The normalised certainty penalty of each quasi-identifier; None if there is one fragment only,
            and it does not meet the promise.
        """
        self._run_kernels(_RECODED, FACTS)
        left = len(self._divisions)
        while (penalties := self._penalties()) is None:
            if self._count == 1:
                return None
            if not left:
                raise InternalError("a fragment is not allowed by itself")
            self._take_cuts_back()  # one from a sample at least
            left -= 1
        return penalties

    def _run_kernels(self, name: str, source: str) -> None:
        recoder = self._recoder
        self._table.relations.map_nodes(name, source, recoder, recoder.schema)

    def _penalties(self) -> tuple[Fraction, ...] | None:
        """The normalised certainty penalties; None where a fragment is not allowed."""
        count = range(len(self._names))
        charged = ", ".join(f"CAST(sum(z{i}) AS BIGINT) AS z{i}" for i in count)
        bits = " + ".join(f"CAST(coalesce(bit_length(l{i}), 0) AS BIGINT)" for i in count)
        totals = self._table.relations.take(
            f"SELECT {charged}, CAST(sum(n) AS BIGINT) AS n, CAST(sum(n * ({bits})) AS BIGINT) AS bits"
            f" FROM {_RECODED}"
        )
        expected = self._table.relations.take(f"SELECT CAST(sum(n) AS BIGINT) AS n FROM {FACTS}")
        if totals.column("n") != expected.column("n"):
            return None
        self.label_bytes = (totals.column("bits")[0].as_py() or 0) // 8
        total = totals.column("n")[0].as_py() * SCALE
        return tuple(Fraction(totals.column(f"z{i}")[0].as_py(), total) for i in range(len(self._names)))

    def _take_cuts_back(self) -> None:
        """Undo the cuts above fragments that are not allowed, and cut exactly what is whole again."""
        relations = self._table.relations
        allowed = relations.take(f"SELECT DISTINCT node FROM {_RECODED}").column("node").to_pylist()
        left, into = taken_back(self._divisions, _nodes(self._divisions) - set(allowed))
        relations.make(FACTS, queries.renamed(self._terms.fact_columns, into))
        done = _nodes(left) - set(into.values())
        exact = FirstCuts(relations, self._terms, _nodes(left), done)
        self._count = exact.cut(self._most)
        self._divisions = (*left, *exact.divisions)
        relations.make(_WAITING, queries.of_nodes(FACTS, _nodes(self._divisions) - done))
        self._run_kernels(_AGAIN, _WAITING)
        kept = f"SELECT * FROM {_RECODED} WHERE node NOT IN ({', '.join(map(str, into))})"
        relations.make(_RECODED, f"{kept} UNION ALL SELECT * FROM {_AGAIN}")

    @property
    def _recoder(self) -> Recoder:
        sizes = [(f"codes{i}.q", len(book.texts) + 1) for i, book in enumerate(self.books)]
        kept = (self._table.numbered(name) for name in self._kept)
        sizes += [(f"{STAGED}.{column}", len(texts) + 1) for column, texts in kept]
        transform, terms = self._transform, self._cut_terms
        return Recoder(
            self.books, Packing.of(sizes), self._who is not None, len(transform.sensitive),
            transform.guarantee.requirements, terms.threshold, terms.score, self._algorithm,
            terms.first_attribute if self._count == 1 else None, len(self._kept), self._references,
            self._plan.has_figures, transform.grouping_terms,
        )  # fmt: skip

    def write(self, output: Path, link: Path) -> None:
        """Write the published file, and the private link beside it."""
        joins = [
            f"JOIN codes{i} ON {STAGED}.{self._table.numbered(name)[0]} = codes{i}.c"
            for i, name in enumerate(self._names)
        ]
        packing = self._recoder.packing
        keys = ", ".join(packing.names)
        members = f"SELECT node, class, before, upto, {keys} FROM {_RECODED} WHERE NOT is_class"
        portion = ""
        if self._algorithm.divides_tuples and self._who is None:
            self._number_rows(joins)
            joins.append(f"JOIN {_TURNS} ON {STAGED}.row = placed")
            portion = "AND turn > before AND turn <= upto"
        joins.append(f"JOIN ({members}) AS members ON {packing.joined('members')} {portion}")
        joins.append(f"JOIN {_CLASSES} ON members.node = home AND members.class = of_class")
        query, publication = self._table.ordered(self._plan.write, " ".join(joins), self._labels())
        self._table.relations.publish(query, publication, output, link)

    def _number_rows(self, joins: list[str]) -> None:
        """Make a relation that numbers the rows of each atom, from 1; which is which does not matter."""
        keys = self._recoder.packing.expressions
        turn = f"row_number() OVER (PARTITION BY {keys} ORDER BY {STAGED}.row)"
        self._table.relations.make(
            _TURNS, f"SELECT {STAGED}.row AS placed, {turn} AS turn FROM {STAGED} {' '.join(joins)}"
        )

    def _labels(self) -> list[tuple[str, Piece]]:
        """Make the relation of classes, with the rank of what each says; for each run of columns its piece.

        The texts stay where they are if there are too many of them.
        """
        runs = generalised_runs(self._plan)
        labels = [[f"l{self._names.index(name)}" for name in names] for names in runs]
        ranks = ", ".join(
            f"dense_rank() OVER (ORDER BY {', '.join(f'{x} ASC NULLS FIRST' for x in run)}) - 1 AS r{i}"
            for i, run in enumerate(labels)
        )
        every = ", ".join(f"l{i}" for i in range(len(self._names)))
        relations = self._table.relations
        relations.make(
            _CLASSES,
            f"SELECT node AS home, class AS of_class, {every}, {ranks} FROM {_RECODED} WHERE is_class",
        )
        count = relations.take(f"SELECT count(*) AS n FROM {_CLASSES}").column("n")[0].as_py()
        if count > MOST_CLASSES:
            return [
                (f"{_CLASSES}.{label}", Piece((name,), None))
                for names, run in zip(runs, labels, strict=True)
                for name, label in zip(names, run, strict=True)
            ]
        tables = [
            relations.take(f"SELECT DISTINCT r{i} AS r, {', '.join(run)} FROM {_CLASSES} ORDER BY r")
            for i, run in enumerate(labels)
        ]
        return [
            (f"{_CLASSES}.r{i}", Piece(names, texts.drop_columns("r").rename_columns(list(names))))
            for i, (names, texts) in enumerate(zip(runs, tables, strict=True))
        ]


def _nodes(divisions: Iterable[Division]) -> set[int]:
    """The partitions that cuts of the whole make."""
    return {0, *(division.new for division in divisions)}
