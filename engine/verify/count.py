"""The verifier's count of classes that need not fit into memory: groups of groups, in SQL, spilled to disk.

What `verify_classes` counts in memory, this counts for any number of rows. Only where it is not clear at
once how many values can be matched to different respondents of a class is that class looked at there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from smalti.engine.verify.classes import Diversity, Groups, diversity
from smalti.engine.verify.columns import TEXT, ArrowArray, Codes
from smalti.engine.verify.distributions import DistributionRecount, Held
from smalti.engine.verify.promise import Counted
from smalti.engine.verify.recount import Edges, Recount
from smalti.errors import BackendError
from smalti.transforms.base import Requirement

MEMORY: Final = "384MiB"
"""What the count holds before it spills."""
_THREADS: Final = 2
_EDGES: Final = 1 << 20

Order = Callable[[ArrowArray], Codes]
Tree = Callable[[ArrowArray], Codes]
"""From the different values as they were counted to their nodes (`nodes.tree_of`)."""


class ClassCount:
    """Takes rows of labels, sensitive values and respondents; counts them together.

    Columns of the rows: `k0`, `k1`, ... tell classes apart, `v0`, `v1`, ... are sensitive values, `r` is
    the respondent; without `r`, each row is about another person, and `n` says for how many rows this
    one stands. None of them holds nulls.
    """

    def __init__(self, folder: Path, *, memory: str = MEMORY) -> None:
        try:
            self._database = duckdb.connect(
                config={
                    "temp_directory": str(folder / "counted"),
                    "memory_limit": memory,
                    "threads": _THREADS,
                    "preserve_insertion_order": False,
                    "autoinstall_known_extensions": False,
                }
            )
            self._database.execute("SET enable_progress_bar = false")  # it would go to standard output
        except duckdb.Error:
            raise self._failed() from None
        self._columns: list[str] = []
        self._has_left_out = False
        self._has_whole = False

    def add(self, rows: pa.Table) -> None:
        """Take rows; columns are the same each time.

        Raises:
            BackendError: no memory or no disk is left.
        """
        self._database.register("added", rows)
        if self._columns:
            self._run("INSERT INTO entries SELECT * FROM added")
        else:
            self._columns = rows.column_names
            self._run("CREATE TABLE entries AS SELECT * FROM added")
        self._database.unregister("added")

    def leave_out(self, rows: pa.Table) -> None:
        """Take rows that are in no class, without labels: they belong to the table all the same.

        Raises:
            BackendError: no memory or no disk is left.
        """
        self._database.register("added", rows)
        if self._has_left_out:
            self._run("INSERT INTO left_out SELECT * FROM added")
        else:
            self._has_left_out = True
            self._run("CREATE TABLE left_out AS SELECT * FROM added")
        self._database.unregister("added")

    def hold_against(self, rows: pa.Table) -> None:
        """Take the rows of the whole table, without labels, where rows of classes stand in several of them.

        Weights of respondents and shares of the table are those of these rows then.

        Raises:
            BackendError: no memory or no disk is left.
        """
        self._has_whole = True
        self._database.register("added", rows)
        self._run("CREATE TABLE whole AS SELECT * FROM added")
        self._database.unregister("added")

    def people_left_out(self) -> tuple[int, int]:
        """How many respondents have a row that is in no class, and how many there are in the table."""
        if not self._has_left_out:
            return 0, 0
        everybody = self._everything if self._columns else "SELECT * FROM left_out"
        number = "count(DISTINCT r)" if "r" in self._names_left_out() else "sum(n)::BIGINT"
        (lacking,) = self._row(f"SELECT {number} FROM left_out")  # noqa: S608
        (total,) = self._row(f"SELECT {number} FROM ({everybody})")  # noqa: S608
        return int(lacking), int(total)

    def _names_left_out(self) -> list[str]:
        return list(self._table("SELECT * FROM left_out LIMIT 0").column_names)

    def close(self) -> None:
        self._database.close()

    def counted(
        self,
        recounts: Sequence[Recount] = (),
        orders: Sequence[Order] = (),
        sensitive: Sequence[str] = (),
        trees: Sequence[Tree | None] = (),
    ) -> Counted:
        """Count all rows; once.

        Args:
            recounts: those of them that look at classes, or at weights, are asked.
            orders: of each sensitive column, the places of its texts in the order of the values; without
                them, texts stand in bytewise order.
            sensitive: the names of these columns, where a recount is about one of them.
            trees: of each of these columns with a hierarchy, what finds the nodes of its different values.

        Raises:
            BackendError: no memory or no disk is left.
        """
        values = [name for name in self._columns if name.startswith("v")]
        keys = ", ".join(name for name in self._columns if name.startswith("k"))
        has_respondents = "r" in self._columns
        one_each = f"(SELECT DISTINCT {keys}, r FROM entries)"  # noqa: S608
        people, number = (one_each, "count(*)") if has_respondents else ("entries", "sum(n)")
        self._run(
            "CREATE TABLE classes AS SELECT row_number() OVER () AS class, * FROM "  # noqa: S608
            f"(SELECT {keys}, {number}::BIGINT AS people FROM {people} GROUP BY {keys})"
        )
        classes, k, total = self._row("SELECT count(*), coalesce(min(people), 0), sum(people) FROM classes")
        if has_respondents:
            (total,) = self._row("SELECT count(*) FROM (SELECT DISTINCT r FROM entries)")
        judge = self._judged if has_respondents else self._judged_by_rows
        looking = [recount for recount in recounts if recount.looks_at_classes]
        diversities = tuple(
            replace(judge(keys, value), unmet=self._unmet(keys, value, looking)) for value in values
        )
        weighing = [recount for recount in recounts if isinstance(recount, DistributionRecount)]
        if weighing:
            self._weigh(has_respondents)
            ordering = dict(zip(values, orders, strict=False))
            names = dict(zip(values, sensitive, strict=False))
            nodes = dict(zip(values, trees, strict=False))
            diversities = tuple(
                self._weighed(
                    each,
                    keys,
                    value,
                    [recount for recount in weighing if recount.is_about(names.get(value))],
                    ordering.get(value),
                    nodes.get(value),
                )
                for each, value in zip(diversities, values, strict=True)
            )
        return Counted(classes, int(total or 0), k, diversities)

    @property
    def _everything(self) -> str:
        """All rows of the table; those that are left out have no labels."""
        left_out = " UNION ALL BY NAME SELECT * FROM left_out" if self._has_left_out else ""
        return f"SELECT * FROM entries{left_out}"  # noqa: S608

    def _weigh(self, has_respondents: bool) -> None:
        """Make relations of the table and of all entries with `t`, the rows of their respondent."""
        total = "count(*) OVER (PARTITION BY r)" if has_respondents else "1"
        rows = "1" if has_respondents else "n"
        table = "SELECT * FROM whole" if self._has_whole else self._everything
        self._run(
            f"CREATE TABLE reference AS SELECT *, ({total})::BIGINT AS t, ({rows})::BIGINT AS w "  # noqa: S608
            f"FROM ({table})"
        )
        if not self._has_whole:
            self._run("CREATE VIEW weighed AS SELECT * FROM reference")
            return
        joined = "JOIN (SELECT DISTINCT r, t FROM reference) USING (r)" if has_respondents else ""
        total = "t" if has_respondents else "1::BIGINT AS t"
        self._run(
            f"CREATE TABLE weighed AS SELECT entries.*, {total}, ({rows})::BIGINT AS w "  # noqa: S608
            f"FROM entries {joined}"
        )

    def _weighed(
        self,
        counted: Diversity,
        keys: str,
        value: str,
        weighing: Sequence[DistributionRecount],
        order: Order | None,
        tree: Tree | None,
    ) -> Diversity:
        """The same, with the requirements about weights that some class does not meet."""
        if not weighing:
            return counted
        distinct = self._table(
            f"SELECT DISTINCT {value} AS v FROM reference ORDER BY v"  # noqa: S608
        ).column("v")
        places = np.arange(len(distinct))
        if order is not None and not pa.types.is_integer(distinct.type):
            places = np.unique(order(distinct.cast(TEXT).combine_chunks()), return_inverse=True)[1]
        nodes = None if tree is None else tree(distinct.combine_chunks())[:, np.argsort(places.reshape(-1))]
        self._database.register("ranks", pa.table({"v": distinct, "place": places.reshape(-1)}))
        ranked = f"JOIN ranks ON {value} = v"
        table = _held(
            self._table(
                "SELECT 0::BIGINT AS class, place, t, sum(w)::BIGINT AS w "  # noqa: S608
                f"FROM reference {ranked} GROUP BY place, t"
            )
        )
        query = (
            "SELECT class, place, t, sum(w)::BIGINT AS w "  # noqa: S608
            f"FROM weighed {ranked} JOIN classes USING ({keys}) "
            "GROUP BY class, place, t ORDER BY class"
        )
        unmet: set[Requirement] = set()
        reached = {each: each.best for each in weighing}
        for part in self._whole_classes(query):
            held = _held(part)
            for each in weighing:
                judged = each.judged(held, table, nodes)
                reached[each] = each.worse(reached[each], judged.reached)
                if not judged.is_met:
                    unmet.add(each.requirement)
        self._database.unregister("ranks")
        figures = tuple((each.requirement, figure) for each, figure in reached.items())
        return replace(counted, unmet=counted.unmet | unmet, reached=figures)

    def _table(self, query: str) -> pa.Table:
        try:
            return self._database.sql(query).to_arrow_table()
        except duckdb.Error:
            raise self._failed() from None

    def _unmet(self, keys: str, value: str, looking: Sequence[Recount]) -> frozenset[Requirement]:
        """The requirements that some class does not meet."""
        if not looking:
            return frozenset()
        r, n = ("r, ", "count(*)") if "r" in self._columns else ("", "sum(n)")
        query = (
            f"SELECT class, {r}{value} AS v, {n}::BIGINT AS n FROM entries JOIN classes USING ({keys}) "  # noqa: S608
            f"GROUP BY class, {r}{value} ORDER BY class"
        )
        unmet: set[Requirement] = set()
        for part in self._whole_classes(query):
            edges = Edges(
                _codes(part.column("class")),
                _codes(part.column("v")),
                _codes(part.column("r")) if r else None,
                part.column("n").to_numpy(),
            )
            unmet.update(recount.requirement for recount in looking if not recount.meets(edges))
        return frozenset(unmet)

    def _judged_by_rows(self, keys: str, value: str) -> Diversity:
        """Where each row is about another person, any different values can be matched."""
        least, same = self._row(
            "SELECT min(distinct_values), bool_or(distinct_values = 1) FROM "  # noqa: S608
            f"(SELECT count(DISTINCT {value}) AS distinct_values FROM entries GROUP BY {keys})"
        )
        return Diversity(least or 0, bool(same))

    def _judged(self, keys: str, value: str) -> Diversity:
        """Bounds for each class decide most of them; the largest matching is sought in the others.

        If each respondent is matched to any one of its values, as many are matched as were chosen. A
        value that is held by as many respondents as there are values can be matched last, whatever the
        others took. And there are never more matched values than values, or than respondents.
        """
        self._run(
            f"CREATE OR REPLACE TABLE edges AS SELECT DISTINCT class, r, {value} AS v "  # noqa: S608
            f"FROM entries JOIN classes USING ({keys})"
        )
        self._run(
            "CREATE OR REPLACE TABLE judged AS WITH "
            "held AS (SELECT class, v, count(*) AS holders FROM edges GROUP BY class, v), "
            "spread AS (SELECT class, count(*) AS distinct_values, min(holders) AS fewest, "
            "max(holders) AS most FROM held GROUP BY class), "
            "chosen AS (SELECT class, any_value(v) AS v FROM edges GROUP BY class, r), "
            "paired AS (SELECT class, count(DISTINCT v) AS matched FROM chosen GROUP BY class) "
            "SELECT class, most = people AS same, least(people, distinct_values) AS upper, "
            "CASE WHEN fewest >= distinct_values THEN distinct_values "
            "ELSE matched END AS lower "
            "FROM spread JOIN classes USING (class) JOIN paired USING (class)"
        )
        same, best = self._row("SELECT bool_or(same), min(upper) FILTER (lower = upper) FROM judged")
        for bound, edges in self._undecided():
            if best is not None and bound >= best:
                break
            matched = _least_matching(edges)
            best = matched if best is None else min(best, matched)
        return Diversity(best or 0, bool(same))

    def _undecided(self) -> Iterator[tuple[int, pa.Table]]:
        """The edges of whole classes, with the least lower bound among them; the lowest bounds first."""
        query = (
            "SELECT lower, class, r, v FROM edges JOIN judged USING (class) "
            "WHERE lower < upper ORDER BY lower, class"
        )
        for edges in self._whole_classes(query):
            yield edges.column("lower")[0].as_py(), edges

    def _whole_classes(self, query: str) -> Iterator[pa.Table]:
        """The rows of a query, in parts; those of each class stand together, and are in one part."""
        try:
            rest = None
            for batch in self._database.sql(query).to_arrow_reader(_EDGES):
                edges = pa.Table.from_batches([batch])
                if rest is not None:
                    edges = pa.concat_tables([rest, edges]).combine_chunks()
                end = _last_start(edges.column("class").to_numpy())
                if end:
                    yield edges.slice(0, end)
                rest = edges.slice(end)
            if rest is not None:
                yield rest
        except (duckdb.Error, pa.ArrowException):
            raise self._failed() from None

    def held_by_class(self) -> Iterator[pa.Table]:
        """What whole classes hold, once all rows were taken: their columns `f` and `x`, as these are.

        Returns:
            Parts with `class`, ascending, `f`, `x`, `t`: all rows of the respondents of these rows, and
            `n`: how many rows they are.

        Raises:
            BackendError: no memory or no disk is left.
        """
        if not self._columns:
            return
        keys = ", ".join(name for name in self._columns if name.startswith("k"))
        total = "count(*) OVER (PARTITION BY r)" if "r" in self._columns else "1"
        self._run(
            "CREATE TABLE classes AS SELECT row_number() OVER () - 1 AS class, * FROM "  # noqa: S608
            f"(SELECT DISTINCT {keys} FROM entries)"
        )
        yield from self._whole_classes(
            "SELECT class, f, x, t, count(*)::BIGINT AS n FROM "  # noqa: S608
            f"(SELECT *, ({total})::BIGINT AS t FROM entries) JOIN classes USING ({keys}) "
            "GROUP BY class, f, x, t ORDER BY class"
        )

    def _row(self, query: str) -> tuple[Any, ...]:
        try:
            (row,) = self._database.execute(query).fetchall()
        except duckdb.Error:
            raise self._failed() from None
        return tuple(row)

    def _run(self, query: str) -> None:
        try:
            self._database.execute(query)
        except duckdb.Error:
            raise self._failed() from None

    def _failed(self) -> BackendError:
        # DuckDB's own message may quote data.
        return BackendError(
            "verifier",
            "the classes could not be counted",
            "enough free memory and disk in the folder of the output",
            "free some space",
        )


def _held(table: pa.Table) -> Held:
    return Held(*(table.column(name).to_numpy().astype(np.int64) for name in ("class", "place", "t", "w")))


def _last_start(classes: Codes) -> int:
    """Where the last class begins, of rows that are ordered by class."""
    return int(np.searchsorted(classes == classes[-1], True))


def _least_matching(edges: pa.Table) -> int:
    codes = [_codes(edges.column(name)) for name in ("class", "r", "v")]
    classes = Groups(codes[0], int(codes[0].max()) + 1)
    return diversity(classes, codes[1], codes[2]).least_values


def _codes(column: pa.ChunkedArray) -> Codes:
    encoded = column.combine_chunks().dictionary_encode()
    codes: Codes = encoded.indices.to_numpy().astype(np.int64)
    return codes
