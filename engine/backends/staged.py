"""One staged input: its columns as small numbers, and the relational steps over them, for every engine.

A column is staged as numbers of its distinct texts, with the texts themselves kept here, or as text
where there are too many different ones. Texts become numbers once they are needed as such. Steps are
queries over these numbers, so the engines agree on them whatever they make of texts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.engine.backends.keys import Keys, Packing
from smalti.engine.backends.publication import Piece, Publication, ranked
from smalti.engine.backends.relations import Relations
from smalti.engine.plan.plan import Plan, RespondentColumn, Write
from smalti.engine.tables.reading import Contents
from smalti.policy.model.model import LogicalOperator
from smalti.transforms.mondrian.algorithm import LEFT_OUT
from smalti.transforms.problem import MISSING

STAGED: Final = "staged"
"""The relation of all rows: `row`, and of each column its numbers (`c0`, ...) or texts (`t0`, ...)."""

_MOST_JOINS: Final = 32
"""In one query: engines take more than linear time to plan joins, and memory for each of them."""
MOST_FACTS: Final = 1 << 23
"""Tuples, or pairs of them with respondents, that one kernel takes by default."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as numbers of its distinct texts."""

    codes: Integers
    """From 1; `MISSING` where there is no text."""
    texts: pa.Array
    """By code, from 1; some may not occur."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Which tuples hold which values of a column, each pair once; with respondents, each triple."""

    tuples: Integers
    values: Coded
    respondents: Coded | None
    rows: Integers | None
    """How many rows say so; None where nobody asks."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """What the kernel needs to know of the rows.

    The order of tuples is the engine's own; results never depend on it.
    """

    tuples: tuple[Coded, ...]
    """Each distinct combination of quasi-identifiers once: one column for each, in the plan's order."""
    rows: Integers
    """By tuple: its rows."""
    respondents: tuple[Integers, Coded] | None
    """Distinct pairs of tuple and respondent; None where each row is another respondent."""
    respondent_rows: Integers | None
    """How many rows are of each of these pairs; None where nobody asks."""
    sensitive: tuple[Holders, ...]
    """In the plan's order; then of columns that are counted beside them."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """The class of each tuple, and the published labels of each class."""

    classes: Integers
    """By tuple: its class, or `LEFT_OUT`."""
    labels: pa.Table
    """By class: the published text of each quasi-identifier, by name; null is missing."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Satisfied by rows whose text in a column is among these; never by one without a text."""

    column: str
    texts: pa.Array
    """Each once, none of them missing."""


@dataclass(frozen=True, slots=True)
class Together:
    """Tests taken together."""

    operator: LogicalOperator
    tests: "tuple[RowTest, ...]"
    """At least one."""


RowTest = Listed | Together


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """How one column stands in the staged relation."""

    texts: pa.Array | None
    """By number, from 1, in the column `c...`; None where it is staged as texts, in `t...`."""
    has_text: bool = False
    """Whether its texts stand in `t...`, beside numbers or alone."""
    is_ordered: bool = False
    """Whether its numbers are in the bytewise order of its texts."""


class StagedTable:
    """One input, staged privately for one run; to be used in `contextlib.closing`.

    What is said of rows is said of those that `keep` and `leave_out` have not removed.
    """

    def __init__(
        self,
        contents: Contents,
        relations: Relations,
        columns: Sequence[StagedColumn | None],
        fragments: int | None = 1,
    ) -> None:
        """Begin with a relation `staged` that holds `row` and the columns as they are described.

        Those that are described by None are not there: asking for one raises a KeyError.
        """
        self._fragments = fragments
        self.contents = contents
        """Of the source as a whole."""
        self.relations = relations
        """Where the rows are; `staged` holds them."""
        self._columns = {place: column for place, column in enumerate(columns) if column is not None}
        self._places = {contents.header[place]: place for place in self._columns}
        self._tests = 0
        self._is_whole = True
        self._packing: Packing | None = None
        self._texts: dict[int, pa.Array] = {}
        self._missing: dict[str, int | None] | None = None

    # --- Rows

    def keep(self, test: RowTest) -> None:
        """Remove each row that does not satisfy a test."""
        self._restrict(self._condition(test))

    def leave_out(self, test: RowTest) -> None:
        """Remove each row that satisfies a test."""
        self._restrict(f"NOT {self._condition(test)}")

    def _restrict(self, condition: str) -> None:
        self.relations.make(STAGED, f"SELECT * FROM {STAGED} WHERE {condition}")
        self._is_whole = False
        self._forget()

    def _condition(self, test: RowTest) -> str:
        """A test in SQL, true or false for each row; its texts go into relations of their own."""
        if isinstance(test, Listed):
            return self._is_listed(test)
        parts = [self._condition(inner) for inner in test.tests]
        if test.operator is LogicalOperator.XONE:
            return f"({' + '.join(f'CAST({part} AS INTEGER)' for part in parts)} = 1)"
        joint = " OR " if test.operator is LogicalOperator.OR else " AND "
        return f"({joint.join(parts)})"

    def _is_listed(self, test: Listed) -> str:
        self._tests += 1
        name, index = f"test{self._tests}", self._index(test.column)
        texts = self._columns[index].texts
        if texts is None:
            self.relations.give(name, pa.table({"x": test.texts}))
            return f"coalesce(t{index} IN (SELECT x FROM {name}), false)"
        numbers = pc.add(pc.drop_null(pc.index_in(test.texts, texts)), 1)
        self.relations.give(name, pa.table({"x": numbers.cast(pa.int64())}))
        return f"(c{index} IN (SELECT x FROM {name}))"

    # --- Columns

    def texts(self, column: str) -> pa.Array:
        """The distinct present texts of a column, in any order."""
        index = self._index(column)
        texts = self._columns[index].texts
        if texts is not None and self._is_whole:
            return texts
        if index not in self._texts:
            self._texts[index] = self._distinct(index, texts)
        return self._texts[index]

    def _distinct(self, index: int, texts: pa.Array | None) -> pa.Array:
        if texts is None:
            query = f"SELECT DISTINCT t{index} AS x FROM {STAGED} WHERE t{index} IS NOT NULL"
            return self.relations.take(query).column("x").combine_chunks()
        query = f"SELECT DISTINCT c{index} AS x FROM {STAGED} WHERE c{index} > 0"
        return texts.take(pc.subtract(self.relations.take(query).column("x").combine_chunks(), 1))

    def repeats(self, column: str) -> bool:
        """Whether a present value occurs in two rows."""
        x, present = self.present(column)
        return self._holds(f"SELECT count({x}) > count(DISTINCT {x}) AS x FROM {STAGED} WHERE {present}")

    def rows_alike(self, columns: Sequence[str], *, with_a_value: bool = False) -> int:
        """The number of rows that another one equals in all of some columns.

        Args:
            columns: at least one.
            with_a_value: count only rows that have a value in one of the columns.
        """
        values, present = zip(*map(self.present, columns), strict=True)
        where = f"WHERE {' OR '.join(present)}" if with_a_value else ""
        groups = f"SELECT count(*) AS n FROM {STAGED} {where} GROUP BY {', '.join(values)}"
        sums = self.relations.take(
            f"SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS x FROM ({groups}) AS g WHERE n > 1"
        )
        return int(sums.column("x")[0].as_py())

    def values_in(self, column: str, rows: int) -> tuple[int, int]:
        """The number of distinct present texts of a column, and of those in fewer rows than so many."""
        x, present = self.present(column)
        held = f"SELECT count(*) AS n FROM {STAGED} WHERE {present} GROUP BY {x}"
        counts = self.relations.take(
            f"SELECT count(*) AS v, count(CASE WHEN n < {rows} THEN 1 END) AS r FROM ({held}) AS g"
        )
        return int(counts.column("v")[0].as_py()), int(counts.column("r")[0].as_py())

    def first_missing(self, column: str) -> int | None:
        """The first row that has no value there; None where each has one."""
        if self._missing is None:
            # Of all columns at once: it takes as long as of one.
            looks = [
                f"min(CASE WHEN {self.present(name)[1]} THEN NULL ELSE row END) AS x{place}"
                for name, place in self._places.items()
            ]
            firsts = self.relations.take(f"SELECT {', '.join(looks)} FROM {STAGED}")
            self._missing = {
                name: x[0].as_py() for name, x in zip(self._places, firsts.columns, strict=True)
            }
        return self._missing[column]

    def misses(self, column: str) -> bool:
        """Whether a row has no value there."""
        return self.first_missing(column) is not None

    def first_unlike(self, column: str, pattern: str) -> int | None:
        """The first row whose text does not match a regular expression as a whole; None where all do."""
        index = self._index(column)
        if self._columns[index].texts is None:
            fits = self.relations.matching(f"t{index}", pattern)
            # A condition on a missing text is null, and so no row is found that lacks one.
            return self._first(f"NOT ({fits})")
        texts = self.texts(column)
        # `$` of RE2 matches at the very end only.
        unlike = texts.filter(pc.invert(pc.match_substring_regex(texts, f"^(?:{pattern})$")))
        return self._first(self._is_listed(Listed(column, unlike))) if len(unlike) else None

    def first_rows(self, column: str) -> tuple[pa.Array, Integers]:
        """The distinct present texts of a column with the first row of each, in the order of these rows."""
        x, present = self.present(column)
        firsts = self.relations.take(
            f"SELECT {x} AS x, min(row) AS r FROM {STAGED} WHERE {present} GROUP BY {x}"
        ).sort_by("r")
        return self.written(column, firsts.column("x").combine_chunks()), _integers(firsts.column("r"))

    def _first(self, condition: str) -> int | None:
        least = self.relations.take(f"SELECT min(row) AS x FROM {STAGED} WHERE {condition}")
        row: int | None = least.column("x")[0].as_py()
        return row

    def present(self, column: str) -> tuple[str, str]:
        """A column in SQL, equal where its texts are equal, and a condition: whether it has a value."""
        index = self._index(column)
        if self._columns[index].texts is None:
            return f"t{index}", f"t{index} IS NOT NULL"
        return f"c{index}", f"c{index} > 0"

    def written(self, column: str, selected: pa.Array) -> pa.Array:
        """The texts behind what `present` selected, where it has a value."""
        texts = self._columns[self._index(column)].texts
        return selected if texts is None else texts.take(pc.subtract(selected, 1))

    def beside(self, name: str, column: str, texts: pa.Array, values: Mapping[str, pa.Array]) -> str:
        """Keep under a name what belongs to some texts of a column.

        Args:
            name: of a new relation.
            column: of the staged rows.
            texts: each once, none of them missing; they need not occur.
            values: the columns of the relation, with a value for each text.

        Returns:
            A join of the staged rows with that relation. Rows with another text, or none, are not in it.
        """
        index = self._index(column)
        numbered = self._columns[index].texts
        if numbered is None:
            self.relations.give(name, pa.table({"x": texts.cast(pa.string()), **values}))
            return f"JOIN {name} ON {STAGED}.t{index} = {name}.x"
        numbers = pc.add(pc.index_in(texts.cast(numbered.type), numbered), 1).cast(pa.int64())
        self.relations.give(name, pa.table({"x": numbers, **values}).filter(numbers.is_valid()))
        return f"JOIN {name} ON {STAGED}.c{index} = {name}.x"

    def _holds(self, query: str) -> bool:
        return bool(self.relations.take(query).column("x")[0].as_py())

    def _index(self, column: str) -> int:
        return self._places[column]

    def number(self, columns: Collection[str], *, ordered: Collection[str] = ()) -> None:
        """Give columns that are staged as text numbers too: `c...` says the number of its text.

        Args:
            columns: those that need numbers.
            ordered: those that need numbers in the bytewise order of their texts.
        """
        in_order = {*map(self._index, ordered)}
        waiting = (
            i for i in dict.fromkeys(map(self._index, (*columns, *ordered))) if not self._is_numbered(i)
        )
        while columns_joined := list(islice(waiting, _MOST_JOINS)):
            self._number(columns_joined, in_order)
        if unordered := sorted(i for i in in_order if not self._columns[i].is_ordered):
            self.relations.renumber(STAGED, {f"c{i}": self._order(i) for i in unordered})

    def _is_numbered(self, index: int) -> bool:
        return self._columns[index].texts is not None

    def _number(self, places: Sequence[int], in_order: Collection[int]) -> None:
        joins = []
        for index in places:
            texts = self.texts(self.contents.header[index])
            if index in in_order:
                texts = texts.take(pc.sort_indices(texts))
            numbers = pa.array(np.arange(1, len(texts) + 1))
            self.relations.give(f"numbers{index}", pa.table({"x": texts, "n": numbers}))
            joins.append(f"LEFT JOIN numbers{index} ON t{index} = numbers{index}.x")
            self._columns[index] = replace(self._columns[index], texts=texts, is_ordered=index in in_order)
        numbered = ", ".join(f"coalesce(numbers{i}.n, {MISSING}) AS c{i}" for i in places)
        self.relations.make(STAGED, f"SELECT {STAGED}.*, {numbered} FROM {STAGED} {' '.join(joins)}")
        for index in places:
            self.relations.drop(f"numbers{index}")

    def _order(self, index: int) -> Integers:
        """Put the texts of a column in order; by number, the one that it has from now on."""
        texts = self._texts_at(index)
        order = pc.sort_indices(texts)  # Arrow compares texts by their bytes
        numbers = np.full(len(texts) + 1, MISSING, np.int64)
        numbers[order.to_numpy() + 1] = np.arange(1, len(texts) + 1)
        self._columns[index] = replace(self._columns[index], texts=texts.take(order), is_ordered=True)
        return numbers

    def numbered(self, column: str) -> tuple[str, pa.Array]:
        """A column that has numbers: its name in the staged relation, and its texts by number, from 1.

        Some of the texts may not occur.
        """
        index = self._index(column)
        return f"c{index}", self._texts_at(index)

    def text_bytes(self, column: str) -> int:
        """The bytes of a column's texts in all rows; it has numbers."""
        number, texts = self.numbered(column)
        counts = self.relations.take(
            f"SELECT {number} AS c, count(*) AS n FROM {STAGED} WHERE {number} > 0 GROUP BY {number}"
        )
        lengths = pc.binary_length(texts).to_numpy().astype(np.int64)
        return int(lengths[_integers(counts.column("c")) - 1] @ _integers(counts.column("n")))

    # --- Values that are published in place of others

    def recode(self, column: str, published: Callable[[pa.Array], pa.Array]) -> None:
        """Put other texts in the place of those of a column.

        Args:
            column: from here on, whatever is asked of it is about the other texts.
            published: from the distinct present texts that occur to those in their place; null is missing.
        """
        self.number((column,))
        index = self._index(column)
        occurring, texts = self.texts(column), self._texts_at(index)
        renewed = published(occurring).cast(pa.string())
        distinct = pc.drop_null(pc.unique(renewed))
        distinct = distinct.take(pc.sort_indices(distinct))
        numbers = np.full(len(texts) + 1, MISSING, np.int64)
        places = pc.index_in(occurring.cast(texts.type), texts).to_numpy(zero_copy_only=False) + 1
        numbers[places.astype(np.int64)] = _numbers_in(renewed, distinct)
        self.relations.renumber(STAGED, {f"c{index}": numbers})
        self._columns[index] = StagedColumn(distinct, is_ordered=True)
        self._forget()

    def numbers_by_row(self, column: str) -> tuple[Integers, Integers, pa.Array]:
        """All rows, the number of the text that each has in a column, and the texts by number, from 1."""
        self.number((column,))
        index = self._index(column)
        rows = self.relations.take(f"SELECT row, c{index} AS c FROM {STAGED}")
        return _integers(rows.column("row")), _integers(rows.column("c")), self._texts_at(index)

    def renew(self, column: str, rows: Integers, published: pa.Array) -> None:
        """Put a text of its own for each row in the place of those of a column; null is missing.

        Args:
            column: as for `recode`.
            rows: all of them, each once.
            published: by entry of `rows`.
        """
        distinct = pc.drop_null(pc.unique(published)).cast(pa.string())
        distinct = distinct.take(pc.sort_indices(distinct))
        numbers = _numbers_in(published.cast(pa.string()), distinct)
        place = max(self._columns) + 1  # no column of the file has it
        self.relations.give(f"renewed{place}", pa.table({"x": rows, f"c{place}": numbers}))
        selected = f"SELECT {STAGED}.*, renewed{place}.c{place} FROM {STAGED}"
        self.relations.make(STAGED, f"{selected} JOIN renewed{place} ON {STAGED}.row = renewed{place}.x")
        self._columns[place] = StagedColumn(distinct, is_ordered=True)
        self._places[column] = place
        self._forget()

    def keep_rows(self, rows: Integers) -> None:
        """Remove all other rows."""
        self._tests += 1
        name = f"test{self._tests}"
        self.relations.give(name, pa.table({"x": rows}))
        self._restrict(f"row IN (SELECT x FROM {name})")

    def rows(self) -> Integers:
        """The rows that are there, ascending."""
        return np.sort(_integers(self.relations.take(f"SELECT row FROM {STAGED}").column("row")))

    def pairs(self, column: str, other: str | None) -> tuple[Coded, Coded | None, Integers]:
        """Which values of a column occur with which of another, each pair once, and in how many rows.

        Args:
            column: a missing value of it is one, too.
            other: None: there is none, and each value is there once.
        """
        names = (column,) if other is None else (column, other)
        self.number(names)
        selected = ", ".join(f"c{self._index(name)} AS c{place}" for place, name in enumerate(names))
        grouped = ", ".join(f"c{self._index(name)}" for name in names)
        counted = self.relations.take(f"SELECT {selected}, count(*) AS n FROM {STAGED} GROUP BY {grouped}")
        values, *others = (
            Coded(_integers(counted.column(f"c{place}")), self._texts_at(self._index(name)))
            for place, name in enumerate(names)
        )
        return values, others[0] if others else None, _integers(counted.column("n"))

    def _forget(self) -> None:
        """What was seen of texts holds no more."""
        self._texts.clear()
        self._missing = None

    # --- Steps of a run

    def most_fragments(self, plan: Plan) -> int:
        """The most kernels among which tuples are divided; by the number of tuples unless it is set."""
        if self._fragments is not None:
            return self._fragments
        facts = self.contents.rows
        if facts > MOST_FACTS and not isinstance(plan.read.respondent, RespondentColumn):
            self.number(plan.apply.transform.quasi_identifiers)
            packing = self._packing_of(plan)
            distinct = f"SELECT DISTINCT {packing.select} FROM {STAGED}"
            counts = self.relations.take(f"SELECT count(*) AS n FROM ({distinct}) AS d")
            facts = counts.column("n")[0].as_py()
        return max(-(-facts // MOST_FACTS), 1)

    def frequencies(
        self,
        plan: Plan,
        *,
        counts_values: bool = False,
        counts_respondents: bool = False,
        beside: Sequence[str] = (),
    ) -> Frequencies:
        """Count the combinations of quasi-identifiers, and who and what occurs with them.

        Args:
            plan: says which columns.
            counts_values: rows of sensitive values are counted, too.
            counts_respondents: rows of respondents are counted, too.
            beside: columns that are counted as sensitive ones are, behind them.
        """
        transform, respondent = plan.apply.transform, plan.read.respondent
        who = (respondent.column,) if isinstance(respondent, RespondentColumn) else ()
        counted_columns = (*transform.sensitive, *beside)
        self.number((*transform.quasi_identifiers, *counted_columns, *who))
        places = [self._index(name) for name in transform.quasi_identifiers]
        packing = self._packing = self._packing_of(plan)
        counted = self.relations.take(
            f"SELECT {packing.select}, count(*) AS n FROM {STAGED} GROUP BY {packing.expressions}"
        )
        keys = Keys.of(packing, counted)
        codes = keys.unpacked()
        tuples = tuple(Coded(c, self._texts_at(i)) for c, i in zip(codes, places, strict=True))
        rows = _integers(counted.column("n"))
        pairs = respondent_rows = None
        if who:
            places_held, (people,), respondent_rows = self._held(
                packing, keys, who, counts_rows=counts_respondents
            )
            pairs = places_held, people
        return Frequencies(
            tuples,
            rows,
            pairs,
            respondent_rows,
            tuple(self._holders(packing, keys, (name, *who), counts_values) for name in counted_columns),
        )

    def _packing_of(self, plan: Plan) -> Packing:
        places = [self._index(name) for name in plan.apply.transform.quasi_identifiers]
        return Packing.of([(f"c{i}", len(self._texts_at(i)) + 1) for i in places])

    def _holders(
        self, packing: Packing, keys: Keys, columns: tuple[str, ...], counts_values: bool
    ) -> Holders:
        tuple_places, (values, *respondents), rows = self._held(
            packing, keys, columns, counts_rows=counts_values
        )
        return Holders(tuple_places, values, respondents[0] if respondents else None, rows)

    def _held(
        self, packing: Packing, keys: Keys, columns: tuple[str, ...], *, counts_rows: bool = False
    ) -> tuple[Integers, list[Coded], Integers | None]:
        """The distinct combinations of tuples with values of some columns, and their rows if wanted."""
        places = [self._index(name) for name in columns]
        listed = ", ".join(f"c{i}" for i in places)
        query = f"SELECT DISTINCT {packing.select}, {listed} FROM {STAGED}"
        if counts_rows:
            grouped = f"GROUP BY {packing.expressions}, {listed}"
            query = f"SELECT {packing.select}, {listed}, count(*) AS n FROM {STAGED} {grouped}"
        combinations = self.relations.take(query)
        coded = [Coded(_integers(combinations.column(f"c{i}")), self._texts_at(i)) for i in places]
        rows = _integers(combinations.column("n")) if counts_rows else None
        return keys.places_of(combinations), coded, rows

    def _texts_at(self, index: int) -> pa.Array:
        texts = self._columns[index].texts
        if texts is None:
            raise KeyError(index)
        return texts

    def write(
        self, plan: Plan, recoding: Recoding, frequencies: Frequencies, output: Path, link: Path
    ) -> None:
        """Write the published file or its parts, and the private link.

        Args:
            plan: says which columns, and the format.
            recoding: by tuple, in the order of `frequencies`.
            frequencies: of this table.
            output: where the one file will be; parts stand beside it.
            link: a `.npy` file of int64: the input row of each published row, from 0.
        """
        query, publication = self._ordered(plan, recoding, frequencies)
        self.relations.publish(query, publication, output, link)

    def write_columns(self, write: Write, output: Path, link: Path) -> None:
        """Write the columns as they stand now; else as `write`."""
        query, publication = self.ordered(write, "", ())
        self.relations.publish(query, publication, output, link)

    def _ordered(self, plan: Plan, recoding: Recoding, frequencies: Frequencies) -> tuple[str, Publication]:
        """The published rows in their order, as ranks of what each piece of them says."""
        packing = self._packing
        if packing is None:
            raise KeyError("frequencies")
        # What is joined with no tuple here is not published.
        kept = recoding.classes != LEFT_OUT
        classes = recoding.classes[kept]
        recoded = packing.packed([column.codes[kept] for column in frequencies.tuples])
        generalised: list[tuple[str, Piece]] = []
        for place, names in enumerate(generalised_runs(plan)):
            ranks, values = ranked(recoding.labels.select(list(names)))
            recoded = recoded.append_column(f"r{place}", pa.array(ranks[classes]))
            generalised.append((f"recoded.r{place}", Piece(names, values)))
        self.relations.give("recoded", recoded)
        return self.ordered(plan.write, f"JOIN recoded ON {packing.joined('recoded')}", generalised)

    def ordered(
        self, write: Write, join: str, generalised: Sequence[tuple[str, Piece]]
    ) -> tuple[str, Publication]:
        """A query for the published rows in their order, and what to make of its batches.

        Args:
            write: says which columns, and the format.
            join: brings what was generalised to the staged rows.
            generalised: for each run of generalised columns what to select and order by.
        """
        by_name = {piece.columns[0]: (column, piece) for column, piece in generalised}
        covered = {name for _, piece in generalised for name in piece.columns[1:]}
        published = [name for name in write.columns if name not in covered]
        kept = [name for name in published if name not in by_name]
        self.number((), ordered=[name for name in kept if not self._columns[self._index(name)].has_text])
        selections = [by_name[name] if name in by_name else self._kept(name) for name in published]
        pieces = [piece for _, piece in selections]
        publication = Publication.of(pieces, write.format, write.rows_per_part)
        selected, order = publication.ordering([column for column, _ in selections])
        query = f"SELECT {selected}, {STAGED}.row AS row FROM {STAGED} {join} ORDER BY {order}"
        return query, publication

    def _kept(self, name: str) -> tuple[str, Piece]:
        """A column that is published as it came: as its text, or as its ordered number."""
        index = self._index(name)
        if self._columns[index].has_text:
            return f"{STAGED}.t{index}", Piece((name,), None)
        values = pa.concat_arrays([pa.array([None], pa.string()), self._texts_at(index)])
        return f"{STAGED}.c{index}", Piece((name,), pa.table([values], names=[name]))

    def records(self, columns: Sequence[str]) -> tuple[Integers, tuple[Coded, ...]]:
        """All rows here: the number of each in the input, and some columns of them, in the same order."""
        self.number(columns)
        places = [self._index(name) for name in columns]
        selected = ", ".join(dict.fromkeys(f"c{i}" for i in places))
        rows = self.relations.take(f"SELECT row, {selected} FROM {STAGED}")
        coded = (Coded(_integers(rows.column(f"c{i}")), self._texts_at(i)) for i in places)
        return _integers(rows.column("row")), tuple(coded)

    def close(self) -> None:
        """Release everything; the workspace is removed by its owner."""
        self.relations.close()


def staged_places(contents: Contents, columns: Collection[str] | None) -> tuple[int, ...]:
    """The places of columns to stage, as `Backend.open` says; one where none is wanted, for its rows."""
    wanted = (i for i, name in enumerate(contents.header) if columns is None or name in columns)
    return tuple(wanted) or (0,)


def generalised_runs(plan: Plan) -> list[tuple[str, ...]]:
    """The generalised columns, in the published order: neighbours together."""
    generalised = set(plan.apply.transform.quasi_identifiers)
    runs: list[tuple[str, ...]] = []
    for before, name in pairwise((None, *plan.write.columns)):
        if name in generalised and before in generalised:
            runs[-1] = (*runs[-1], name)
        elif name in generalised:
            runs.append((name,))
    return runs


def _numbers_in(texts: pa.Array, distinct: pa.Array) -> Integers:
    """The place of each text among distinct ones, from 1; `MISSING` where it is null."""
    places = pc.fill_null(pc.add(pc.index_in(texts, distinct, skip_nulls=True), 1), MISSING)
    numbers: Integers = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _integers(column: pa.ChunkedArray) -> Integers:
    numbers: Integers = column.to_numpy().astype(np.int64)
    return numbers
