"""The verifier's own recount of modes and medoids of classes.

A label is `[~v]`, or `[~v|]` where values of the class are missing, with a backslash before each backslash,
bar and square bracket of v; a class of missing values has an empty field. The mode is the value with the
most weight. The medoid is the value of the class with the least sum of weighted distances to all: places in
a declared list, or how many levels two values are under different nodes on. Of equal ones the first counts,
in the list, or else in the order of the values. This shares no code with `smalti.transforms`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from smalti.engine.plan.hierarchies import DeclaredHierarchy, OrderedList
from smalti.engine.plan.plan import Column, OutputForm
from smalti.engine.verify.columns import TEXT
from smalti.engine.verify.entries import Keys
from smalti.engine.verify.figures import StandsForClass
from smalti.engine.verify.labels import canonical, canonical_order
from smalti.engine.verify.nodes import Nodes, nodes_of
from smalti.engine.verify.stage import StagedColumn
from smalti.errors import DataError

_LABEL: Final = re.compile(r"\[~(?P<value>(?:\\[\\|\[\]]|[^\\|\[\]])*)(?P<bar>\|?)\]", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Values:
    """The different values of some classes, by their canonical texts."""

    of_text: dict[str, str] = field(default_factory=dict)
    place: dict[str, int] = field(default_factory=dict)
    """In the order that decides between equal ones."""
    nodes: dict[str, Nodes] = field(default_factory=dict)
    """Where distances go along a hierarchy: the value, and all that it is under."""


class IsCategory(StandsForClass):
    """Each class shows the mode or the medoid of its original values."""

    def __init__(  # noqa: PLR0913, PLR0917 (what it compares)
        self,
        column: Column,
        keys: Keys,
        original: StagedColumn,
        published: StagedColumn,
        people: tuple[Column, StagedColumn] | None,
        place: Path,
        memory: str,
        hierarchy: DeclaredHierarchy | None,
    ) -> None:
        """As of `StandsForClass`.

        Args:
            column: with the form of a mode or a medoid.
            keys: as there.
            original: as there.
            published: as there.
            people: as there.
            place: as there.
            memory: as there.
            hierarchy: of the column, as it is declared.

        Raises:
            GuaranteeError: the hierarchy is not that of the plan.
            DataError: an original is not of its column's datatype.
        """
        super().__init__(column, keys, original, published, people, place, memory)
        self._nodes_of = None if column.hierarchy is None else nodes_of(column, hierarchy)
        stated = None if column.hierarchy is None or hierarchy is None else hierarchy.stated
        self._list = (
            {value: place for place, value in enumerate(stated.values)}
            if isinstance(stated, OrderedList)
            else None
        )
        self._values = _Values()

    def _read(self, labels: Sequence[str], texts: Sequence[str]) -> Sequence[tuple[str | None, bool]]:
        """The value, and whether others are missing."""
        self._values = self._valued([*dict.fromkeys(text for text in texts if text)])
        different = [*dict.fromkeys(labels)]
        matches = [_LABEL.fullmatch(label) for label in different]
        if any(match is None for label, match in zip(different, matches, strict=True) if label):
            raise self._refusal()
        inside = [_ESCAPED.sub(r"\1", match["value"]) if match else "" for match in matches]
        try:
            values = canonical(self._column, pa.array(inside, TEXT)).to_pylist()
        except DataError:
            raise self._refusal() from None
        said = {
            label: (value, match["bar"] == "|") if match else (None, True)
            for label, value, match in zip(different, values, matches, strict=True)
        }
        return [said[label] for label in labels]

    def _valued(self, texts: list[str]) -> _Values:
        values = canonical(self._column, pa.array(texts, TEXT)).to_pylist()
        different = [*dict.fromkeys(values)]
        if self._list is not None:
            places = [self._list[value] for value in different]
        else:
            places = canonical_order(self._column, pa.array(different, TEXT)).tolist()
        nodes = {}
        if self._nodes_of is not None:
            for text, value in zip(texts, values, strict=True):
                nodes[value] = (value, *self._nodes_of(text))
        return _Values(
            dict(zip(texts, values, strict=True)), dict(zip(different, places, strict=True)), nodes
        )

    def _expected(self, texts: Sequence[str], shares: Sequence[int]) -> tuple[str | None, bool]:
        held: Counter[str] = Counter()
        for text, share in zip(texts, shares, strict=True):
            if text:
                held[self._values.of_text[text]] += share
        return self._chosen(held) if held else None, "" in texts

    def _chosen(self, held: Counter[str]) -> str:
        place = self._values.place
        if self._column.form is OutputForm.MODE:
            return min(held, key=lambda value: (-held[value], place[value]))
        if self._column.has_places:
            return self._middle(held)
        below: Counter[tuple[int, str]] = Counter()
        for value, share in held.items():
            for level in enumerate(self._values.nodes[value]):
                below[level] += share

        def apart(value: str) -> int:
            return -sum(below[level] for level in enumerate(self._values.nodes[value]))

        return min(held, key=lambda value: (apart(value), place[value]))

    def _middle(self, held: Counter[str]) -> str:
        """The first value at which going on brings no smaller sum of differences of places."""
        ordered = sorted(held, key=self._values.place.__getitem__)
        behind = held.total()
        for value in ordered:
            behind -= held[value]
            if 2 * behind <= held.total():
                return value
        return ordered[-1]
