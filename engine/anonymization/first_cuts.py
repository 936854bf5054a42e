"""The first cuts of a table that one kernel should not take whole: medians from exact frequency sets.

MOSAICrOWN D5.1, Figure 2.4 (chooseDimension, frequencySet, findMedian), as queries that any engine can
carry out. Only partitions above the cut threshold are cut here, each exactly as the kernel would cut it
(`transforms.mondrian.cuts.median`): so the number of fragments is an upper bound, and never changes a
result. No query brings more here than counts: a column of many values is looked at through a window of
places around the median, which widens until no cut outside of it can be nearer.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.anonymization import cut_queries as queries
from smalti.engine.anonymization.cut_queries import FACTS, Division, Layout, Line
from smalti.engine.anonymization.side_judge import Cuts, SideJudge, columns_of
from smalti.engine.anonymization.sides import (
    Columns,
    Extents,
    LineCounts,
    Sides,
    SideWeights,
    Window,
    counts_of,
)
from smalti.engine.backends.relations import Relations
from smalti.errors import InternalError
from smalti.transforms.base import CutScore
from smalti.transforms.partitions.entropy import concentration
from smalti.transforms.partitions.weights import ValueScale
from smalti.transforms.problem import SCALE, Attribute, Integers, OrderedAttribute, UnorderedAttribute

WINDOW: Final = 4096
"""Places of one partition that are looked at one by one, to begin with; 8 or more."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a cut must keep to, and what it is chosen by."""

    attributes: tuple[Attribute, ...]
    has_respondents: bool
    sensitive: int
    """Sensitive columns."""
    judges: tuple[SideJudge, ...]
    """Of what both sides must meet."""
    cut_threshold: int
    cut_score: CutScore
    first_attribute: int | None
    """The first cut is tried on it first."""
    kept: int
    """Retained columns in the facts; cuts take no notice of them."""
    scales: tuple[ValueScale, ...] = ()
    """Of each sensitive column, where a requirement weighs values."""
    weighs_rows: bool = False
    """Whether rows are weighed by respondent, whatever their values."""

    @property
    def has_totals(self) -> bool:
        """Whether the facts have the number of all rows of their respondent."""
        return (bool(self.scales) or self.weighs_rows) and self.has_respondents

    @property
    def fewest_respondents(self) -> int:
        """No class with fewer respondents is allowed."""
        return max((each.judge.fewest_respondents for each in self.judges), default=1)

    @property
    def undecided(self) -> tuple[SideJudge, ...]:
        """The judges that counts may not decide for."""
        return tuple(
            each
            for each in self.judges
            if not each.is_decided_by_counts(has_respondents=self.has_respondents)
        )

    @property
    def fact_columns(self) -> list[str]:
        """The columns of the facts, but `node`."""
        codes = [f"q{i}" for i in range(len(self.attributes))]
        people = ["u"] * self.has_respondents
        values = [f"v{i}" for i in range(self.sensitive)]
        return [
            *codes,
            *people,
            *values,
            *(f"r{i}" for i in range(self.kept)),
            *["t"] * self.has_totals,
            "n",
        ]


def whole_is_allowed(relations: Relations, terms: Terms) -> bool:
    """Whether the whole table meets what may hold on both sides of a cut and not for the whole."""
    return all(
        judge.whole_meets(relations, has_respondents=terms.has_respondents, sensitive=terms.sensitive)
        for judge in terms.judges
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """A partition as a whole."""

    tuples: int
    """Distinct ones."""
    spans: Integers
    """By attribute its penalty, from 0 to SCALE."""
    windows: tuple[Window, ...]
    """By attribute all places along it."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A cut of one partition: what stands at most at a place goes to the left."""

    line: int
    attribute: int
    place: int


class FirstCuts:
    """Cuts the relation `facts` until it is in enough pieces, or nothing above the threshold can be cut."""

    def __init__(
        self,
        relations: Relations,
        terms: Terms,
        nodes: Collection[int] = (0,),
        closed: Collection[int] = (),
    ) -> None:
        """Begin with `facts` in some nodes, of which those that are closed are not cut any more."""
        self._relations = relations
        self._terms = terms
        self._size = WINDOW
        self._nodes = set(nodes)
        self._closed = set(closed)
        self.divisions: list[Division] = []
        """What was cut, each after that of the partition that it cuts."""
        self._ordered = [isinstance(attribute, OrderedAttribute) for attribute in terms.attributes]
        self._columns = [f"q{i}" for i in range(len(terms.attributes))]
        self._values = [f"v{i}" for i in range(terms.sensitive)]
        self._others = ["u"] * terms.has_respondents + self._values
        self._kept = [f"r{i}" for i in range(terms.kept)]

    def cut(self, fragments: int) -> int:
        """Cut until there are `fragments` partitions, if so many come from cuts above the threshold.

        Returns:
            The number of partitions; they are told apart by the column `node`.
        """
        if len(self._nodes) == 1 and not whole_is_allowed(self._relations, self._terms):
            return 1
        for level in itertools.count(1):
            if len(self._nodes) >= fragments:
                break
            with self._relations.step(f"first cuts, level {level}"):
                shapes = self._shapes()
                waiting = [
                    node
                    for node, shape in sorted(shapes.items(), key=lambda item: (-item[1].tuples, item[0]))
                    if shape.tuples > self._terms.cut_threshold and node not in self._closed
                ]
                if not waiting:
                    break
                self._cut({node: shapes[node] for node in waiting[: fragments - len(self._nodes)]})
        return len(self._nodes)

    def _shapes(self) -> dict[int, _Shape]:
        """What all partitions are like."""
        shapes = self._take(queries.shapes(self._columns, self._ordered, [*self._others, *self._kept]))
        node, tuples, *ends = (column.tolist() for column in shapes.values())
        lows, highs = zip(*ends[::2], strict=True), zip(*ends[1::2], strict=True)
        return {
            number: self._shape(count, tuple(map(Window, low, high)))
            for number, count, low, high in zip(node, tuples, lows, highs, strict=True)
        }

    def _shape(self, tuples: int, windows: tuple[Window, ...]) -> _Shape:
        spans = [
            _span(attribute, window)
            for attribute, window in zip(self._terms.attributes, windows, strict=True)
        ]
        return _Shape(tuples, np.array(spans, np.int64), windows)

    def _cut(self, shapes: Mapping[int, _Shape]) -> None:
        """Cut partitions; one without an allowed cut is closed."""
        ranking = self._rankings(shapes, is_first=len(self._nodes) == 1)
        cuts: dict[int, _Cut] = {}
        left: list[pa.Table] = []
        begin = 0
        # Few partitions cannot be cut along their widest attribute; these try all the others at once.
        for turn in (slice(0, 1), slice(1, None)):
            lines = [Line(node, a) for node in shapes if node not in cuts for a in ranking[node][turn]]
            if not lines:
                break
            new_cuts, codes = self._cuts(dict(enumerate(lines, begin)), shapes)
            cuts |= new_cuts
            left += codes
            begin += len(lines)
        self._closed |= set(shapes) - set(cuts)
        if cuts:
            self._divide(cuts, left)

    def _rankings(self, shapes: Mapping[int, _Shape], *, is_first: bool) -> dict[int, list[int]]:
        """For each partition the attributes, in the order in which their medians are tried."""
        charged = {node: -shape.spans for node, shape in shapes.items()}
        if self._terms.cut_score is CutScore.ENTROPY:
            charged = self._concentrations(list(shapes))
        if is_first and self._terms.first_attribute is not None:
            charged[0][self._terms.first_attribute] = np.iinfo(np.int64).min
        return {node: np.argsort(charges, kind="stable").tolist() for node, charges in charged.items()}

    def _concentrations(self, nodes: list[int]) -> dict[int, Integers]:
        """For each partition, by attribute: the smaller, the larger is the entropy of its values."""
        weights = self._take(queries.weights(self._columns, nodes))
        totals = np.zeros((max(nodes) + 1, len(self._columns)), np.int64)
        np.add.at(totals, (weights["node"], weights["a"]), concentration(weights["w"]) * weights["n"])
        return {node: totals[node] for node in nodes}

    # --- Lines: one attribute of a partition each

    def _cuts(
        self, lines: Mapping[int, Line], shapes: Mapping[int, _Shape]
    ) -> tuple[dict[int, _Cut], list[pa.Table]]:
        """The cut of each partition along the first of its lines that has one, and the codes left of it."""
        layout = Layout(lines, self._ordered, self._others, has_totals=self._terms.has_totals)
        if layout.places is not None:
            self._relations.make(queries.PLACES, layout.places, is_lasting=False)
        whole = {i: shapes[line.node].windows[line.attribute] for i, line in lines.items()}
        cuts: dict[int, _Cut] = {}
        for i, place in sorted(self._places(layout, whole).items()):
            cuts.setdefault(lines[i].node, _Cut(i, lines[i].attribute, place))
        wanted = {cut.line: cut.place for cut in cuts.values() if not self._ordered[cut.attribute]}
        return cuts, [self._relations.take(layout.codes_upto(wanted))] if wanted else []

    def _places(self, layout: Layout, whole: Mapping[int, Window]) -> dict[int, int]:
        """The place of the allowed cut nearest to the median of each line that has one."""
        windows = self._windows(layout, whole)
        cuts: dict[int, int] = {}
        while windows:
            sides = self._sides(layout, windows)
            nearest = self._met(layout, sides)
            windows = {
                line: sides[line].window.widened()
                for line, place in nearest.items()
                if not sides[line].is_decided(place)
            }
            cuts |= {i: place for i, place in nearest.items() if place is not None and i not in windows}
        return cuts

    def _windows(self, layout: Layout, whole: Mapping[int, Window]) -> dict[int, Window]:
        """For each line the places around its median, few enough to look at one by one."""
        windows = dict(whole)
        while (widest := max(w.high - w.low + 1 for w in windows.values())) > self._size:
            shift = (widest // self._size).bit_length()
            steps = self._take(layout.steps(windows, shift), "line", "p")
            mine = {line: steps["line"] == line for line in windows}
            windows = {
                line: window.narrowed(steps["p"][mine[line]] << shift, steps["n"][mine[line]], 1 << shift)
                for line, window in windows.items()
            }
        return windows

    def _sides(self, layout: Layout, windows: Mapping[int, Window]) -> dict[int, Sides]:
        """What is left and right of each cut in the windows."""
        counts = self._take(layout.counts(windows, self._terms.fewest_respondents), "kind", "line", "p")
        weights = [
            (scale, self._take(layout.weights(windows, v), "line"))
            for scale, v in zip(self._terms.scales, self._values, strict=False)
        ]
        return {
            line: self._sides_of(layout, line, window, counts, weights) for line, window in windows.items()
        }

    def _sides_of(
        self,
        layout: Layout,
        line: int,
        window: Window,
        columns: Columns,
        weights: Sequence[tuple[ValueScale, Columns]],
    ) -> Sides:
        def extents(*things: str) -> Extents:
            kind = layout.kind(*things)
            return Extents(counts_of(columns, kind, line), counts_of(columns, kind + 1, line))

        has_people = self._terms.has_respondents
        rows = counts_of(columns, layout.kind("p"), line)
        counts = LineCounts.of(
            rows,
            extents("u") if has_people else None,
            [extents(v) for v in self._values],
            [extents(v, "u") for v in self._values] if has_people else [],
            self._terms.fewest_respondents,
            [SideWeights.of(scale, each, line, rows.places) for scale, each in weights],
        )
        allowed = np.all([judge.allowed(counts) for judge in self._terms.judges], axis=0)
        allowed[-1] = False
        return Sides(rows.places, np.cumsum(rows.numbers), allowed, window, counts.holders)

    # --- What counts do not decide

    def _met(self, layout: Layout, sides: Mapping[int, Sides]) -> dict[int, int | None]:
        """The nearest allowed cut of each line both of whose sides meet all requirements."""
        nearest = {line: side.nearest() for line, side in sides.items()}
        undecided = self._terms.undecided
        unchecked = {line: place for line, place in nearest.items() if undecided and place is not None}
        while unchecked:
            failed = set().union(*(self._failing(judge, layout, sides, unchecked) for judge in undecided))
            for line in failed:
                sides[line].struck.add(unchecked[line])
                nearest[line] = sides[line].nearest()
            unchecked = {i: place for i in failed if (place := nearest[i]) is not None}
        return nearest

    def _failing(
        self, judge: SideJudge, layout: Layout, sides: Mapping[int, Sides], cuts: Mapping[int, int]
    ) -> set[int]:
        """The lines whose cut has a side that misses a requirement."""
        unsure = {
            line: place for line, place in cuts.items() if not judge.surely_met(sides[line].holders, place)
        }
        return (
            judge.failing(Cuts(self._relations, layout, unsure, self._values, self._terms.scales))
            if unsure
            else set()
        )

    # --- New partitions

    def _divide(self, cuts: Mapping[int, _Cut], left: list[pa.Table]) -> None:
        """Give the right side of each cut a node of its own."""
        first = max(self._nodes) + 1
        divisions = [
            Division(
                node, cut.attribute, -1 if self._ordered[cut.attribute] else cut.line, cut.place, first + i
            )
            for i, (node, cut) in enumerate(cuts.items())
        ]
        if left:
            self._relations.give("lefts", pa.concat_tables(left))
        query = queries.divided(
            self._terms.fact_columns, len(self._columns), divisions, "lefts" if left else None
        )
        self._relations.make(FACTS, query)
        self._nodes.update(division.new for division in divisions)
        self.divisions += divisions

    def _take(self, query: str, *order: str) -> Columns:
        return columns_of(self._relations, query, *order)


def _span(attribute: Attribute, window: Window) -> int:
    """The penalty of an attribute, from 0 to SCALE."""
    match attribute:
        case OrderedAttribute():
            return min(int(attribute.positions[window.high] - attribute.positions[window.low]), SCALE)
        case UnorderedAttribute():
            return int(attribute.penalty(np.array(window.high)))
    raise InternalError("a table was to be cut along a hierarchy in SQL")
