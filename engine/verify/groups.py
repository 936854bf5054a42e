"""The verifier's own recount of the groups of one microaggregated column."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from smalti.engine.plan.hierarchies import DeclaredHierarchy, OrderedList
from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import TEXT, Codes, broken, pc
from smalti.engine.verify.join import Check, Joined
from smalti.engine.verify.labels import places_beside
from smalti.engine.verify.masked_cells import canonical_texts
from smalti.engine.verify.stage import StagedColumn
from smalti.transforms.base import Datatype


class IsGrouping(Check):
    """Equal values have one label, and values with one label have k respondents.

    Of numbers, and of categories that are as far apart as their places in a list, values with one label are
    side by side, and the groups have the least squared error of all. Which groups other categories are in
    is not judged: no partition of them is the one that must be.
    """

    def __init__(
        self,
        column: Column,
        k: int,
        original: StagedColumn,
        published: StagedColumn,
        people: tuple[Column, StagedColumn] | None,
        hierarchy: DeclaredHierarchy | None,
    ) -> None:
        self.original = column.name
        self._column, self._k, self._people = column, k, people
        self._list = (
            hierarchy.stated.values
            if hierarchy is not None and column.has_places and isinstance(hierarchy.stated, OrderedList)
            else None
        )
        self._before, self._after = original, published
        self._labels: dict[str, str] = {}
        self._parts: list[pa.Table] = []

    def look(self, rows: Joined) -> None:
        values = canonical_texts(self._column, self._before, rows.originals[self.original])
        labels = rows.published(self._after.texts(rows.extent.number))
        columns = {
            "v": values,
            "label": labels,
            "text": self._before.as_texts(rows.originals[self.original]),
        }
        if self._people is not None:
            column, staged = self._people
            columns["r"] = canonical_texts(column, staged, rows.originals[column.name])
        self._parts.append(pa.table(columns))

    def finish(self) -> None:
        if not self._parts:
            return
        table = pa.concat_tables(self._parts)
        table = table.filter(pc.not_equal(table.column("v"), ""))
        if not table.num_rows:
            return
        of_value = table.group_by("v").aggregate(
            [("label", "min"), ("label", "max"), ("text", "min"), ("v", "count")]
        )
        if not pc.all(pc.equal(of_value.column("label_min"), of_value.column("label_max"))).as_py():
            raise self._broken("equal values have two figures")
        order, values = self._line(of_value)
        weights = of_value.column("v_count").to_numpy()[order].tolist()
        labels = of_value.column("label_min").take(pa.array(order)).to_pylist()
        names = of_value.column("v").take(pa.array(order)).to_pylist()
        holders = self._holders(table, names)
        groups = _runs(labels)
        if len(set(labels)) != len(groups):
            raise self._broken("values with one figure are not side by side")
        if any(len(set().union(*holders[begin:end])) < self._k for begin, end in groups):
            raise self._broken("a group has fewer respondents than k")
        if values is None:
            return
        gained = sum(_gain(values, weights, begin, end) for begin, end in groups)
        if gained != _best(values, weights, holders, self._k):
            raise self._broken("the groups do not have the least squared error")

    def _line(self, of_value: pa.Table) -> tuple[Codes, list[Fraction] | None]:
        """An order of the values, and where each is on a line; None: they are on none, and in groups."""
        if self._list is not None:
            place_of = {value: place for place, value in enumerate(self._list)}
            places = np.array([place_of[value] for value in of_value.column("v").to_pylist()])
            order = np.argsort(places)
            return order, [Fraction(int(places[number])) for number in order]
        if self._column.distance is not None:
            return np.argsort(np.array(of_value.column("label_min").to_pylist(), object)), None
        texts = of_value.column("text_min").combine_chunks().cast(TEXT)
        places, _ = places_beside(self._column, texts, texts.slice(0, 0))
        order = np.argsort(places)
        return order, [_number(self._column.datatype, texts[int(place)].as_py()) for place in order]

    def _holders(self, table: pa.Table, names: list[str]) -> list[set[object]]:
        """By value who has it; without respondents, its rows."""
        if self._people is None:
            table = table.append_column("r", pa.array(np.arange(table.num_rows)))
        pairs = table.group_by(["v", "r"]).aggregate([])
        held: Mapping[str, set[object]] = {name: set() for name in names}
        for value, person in zip(pairs.column("v").to_pylist(), pairs.column("r").to_pylist(), strict=True):
            held[value].add(person)
        return [held[name] for name in names]

    def _broken(self, problem: str) -> Exception:
        return broken(
            f"column `{self.original}`",
            problem,
            "figures of groups of near values, each of at least k respondents",
        )


def _number(datatype: Datatype, text: str) -> Fraction:
    if datatype is Datatype.DATE:
        return Fraction(int(np.datetime64(text, "D").astype(np.int64)))
    # A double is the number that its shortest spelling writes.
    return Fraction(repr(float(text)) if datatype is Datatype.DOUBLE else text)


def _runs(labels: list[str]) -> list[tuple[int, int]]:
    starts = [place for place, label in enumerate(labels) if place == 0 or labels[place - 1] != label]
    return list(zip(starts, [*starts[1:], len(labels)], strict=True))


def _gain(values: list[Fraction], weights: list[int], begin: int, end: int) -> Fraction:
    """The square of the group's sum by its size: the more of it, the less squared error."""
    total = sum(value * weight for value, weight in zip(values[begin:end], weights[begin:end], strict=True))
    return Fraction(total) ** 2 / sum(weights[begin:end])


def _best(values: list[Fraction], weights: list[int], holders: list[set[object]], k: int) -> Fraction:
    """The greatest gain of all partitions into runs of at least k respondents."""
    sums, sizes = [Fraction(0)], [0]
    for value, weight in zip(values, weights, strict=True):
        sums.append(sums[-1] + value * weight)
        sizes.append(sizes[-1] + weight)
    best: list[Fraction | None] = [Fraction(0)]
    for end in range(1, len(values) + 1):
        most: Fraction | None = None
        people: set[object] = set()
        inner: set[object] = set()
        least: int | None = None
        for begin in range(end - 1, -1, -1):
            people |= holders[begin]
            if least is None and len(people) >= k:
                least = begin
            elif least is not None:
                inner |= holders[begin]
            before = best[begin]
            if least is not None and before is not None:
                gain = before + (sums[end] - sums[begin]) ** 2 / (sizes[end] - sizes[begin])
                most = gain if most is None else max(most, gain)
            if len(inner) >= k:
                break  # such a group can be cut in two, which never adds to the error
        best.append(most)
    return best[-1] or Fraction(0)
