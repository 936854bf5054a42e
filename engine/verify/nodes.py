"""The verifier's own reading of labels along a hierarchy: which originals does each node cover?

A label is a node, or a set of nodes as those of texts are written, with an empty last item for the missing
value. A node covers the values that the declared hierarchy puts under it; a value covers itself; the root
covers missing values, too. The nodes of a rule are worked out here anew.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.hierarchies import (
    AllOrNothing,
    Calendar,
    DeclaredHierarchy,
    HierarchyFile,
    Intervals,
    Masking,
    OrderedList,
    Prefixes,
    Stated,
    hierarchy_of,
)
from smalti.engine.plan.masks import Coded as Thresholds
from smalti.engine.plan.plan import Column, OutputForm
from smalti.engine.verify.columns import MISSING, TEXT, Coded, Codes, broken
from smalti.engine.verify.labels import (
    Claims,
    Coverage,
    UnreadableError,
    canonical,
    read_text_label,
)
from smalti.engine.verify.labels import coverage as coverage_by_value
from smalti.engine.verify.prefixes import prefix_coverage
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_ROOT: Final = "*"
_DIGITS: Final = 400

Nodes = tuple[str, ...]
"""Those that a value is under, from the first level to the root."""


@dataclass(frozen=True, slots=True)
class NodeCoverage(Coverage):
    """Labels of a column with a hierarchy. Item 0 is the missing value."""

    pairs: NDArray[np.int64]
    """Sorted: label * width + item for each item that a label lists."""
    items: NDArray[np.int64]
    """Shape (levels, originals + 1): the item that each original is under, at last the missing value."""
    width: int

    def claims(self, labels: Codes, originals: Codes) -> Claims:
        claims = np.zeros(np.broadcast_shapes(labels.shape, originals.shape), np.bool_)
        for items in self.items:
            wanted = labels * self.width + items[originals]
            places = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
            claims |= self.pairs[places] == wanted
        return claims


def coverage(
    column: Column,
    original: Coded,
    published: Coded,
    hierarchy: DeclaredHierarchy | None = None,
    codes: Thresholds | None = None,
) -> Coverage:
    """Read all labels of a column, in the form that the plan has for it.

    Args:
        column: as the plan reads it.
        original: its values.
        published: its labels.
        hierarchy: of the column.
        codes: thresholds of a column that is published as ranges.

    Raises:
        GuaranteeError: a label is not of the grammar, or the hierarchy is not that of the plan.
        DataError: an original is not of its column's datatype, or has no place in the hierarchy.
    """
    if column.form is OutputForm.PREFIX:
        return prefix_coverage(column, original, published)
    if column.hierarchy is None:
        return coverage_by_value(column, original, published, codes)
    hierarchy = _of_plan(column, hierarchy)
    nodes_of, root = _reader(column, hierarchy.stated)
    texts = original.values.to_pylist()
    names = canonical(column, original.values).to_pylist()
    ladders = [(name, *nodes) for name, nodes in zip(names, map(nodes_of, texts), strict=True)]
    try:
        listed = [read_text_label(label) for label in published.values.to_pylist()]
    except UnreadableError:
        raise broken(
            f"column `{column.name}`",
            "a published value is not a label",
            "nodes of its hierarchy, as the documented grammar writes them",
        ) from None
    return _coverage(column, ladders, listed, root)


def root_label(column: Column, hierarchy: DeclaredHierarchy | None) -> str:
    """How the root of a column's hierarchy is published.

    Raises:
        GuaranteeError: the hierarchy is not that of the plan.
    """
    _, root = _reader(column, _of_plan(column, hierarchy).stated)
    return f"\\{root}" if root[:1] in ("[", "{", "\\") else root


def nodes_of(column: Column, hierarchy: DeclaredHierarchy | None) -> Callable[[str], Nodes]:
    """What says which nodes a value of a column is under.

    It raises DataError for a text that has no place in the hierarchy.

    Raises:
        GuaranteeError: the hierarchy is not that of the plan.
    """
    reader, _ = _reader(column, _of_plan(column, hierarchy).stated)
    return reader


def tree_of(column: Column, texts: Sequence[str | None], hierarchy: DeclaredHierarchy | None) -> Codes:
    """The nodes of some values: shape (levels, values), each by itself at first, one root at last.

    Args:
        column: as the plan has it, with a hierarchy.
        texts: the values; None is the missing value, which is below the root.
        hierarchy: of the column.

    Raises:
        GuaranteeError: the hierarchy is not that of the plan.
        DataError: a value has no place in it.
    """
    nodes_of, _ = _reader(column, _of_plan(column, hierarchy).stated)
    ladders = [None if text is None else nodes_of(text) for text in texts]
    height = max((len(nodes) for nodes in ladders if nodes is not None), default=1)
    tree = np.zeros((height + 1, len(texts)), np.int64)
    tree[0] = np.arange(len(texts))
    for level in range(height - 1):
        names = [None if nodes is None else nodes[min(level, len(nodes) - 1)] for nodes in ladders]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        tree[level + 1] = [numbers[name] for name in names]
    return tree


def node_at(column: Column, text: str, hierarchy: DeclaredHierarchy | None, level: int) -> str:
    """How the node of a value at a level of the column's hierarchy is published.

    Raises:
        GuaranteeError: the hierarchy is not that of the plan.
        DataError: the value has no place in it.
    """
    nodes_of, _ = _reader(column, _of_plan(column, hierarchy).stated)
    nodes = nodes_of(text)
    node = nodes[min(level, len(nodes)) - 1]
    return f"\\{node}" if node[:1] in ("[", "{", "\\") else node


def interval_of(datatype: Datatype, width: Fraction, start: Fraction, text: str) -> str:
    """How the interval that a value is in is published; intervals of one width meet at `start`."""
    low = start + floor((_point(datatype, text) - start) / width) * width
    return _named(datatype, low, low + width)


def _of_plan(column: Column, hierarchy: DeclaredHierarchy | None) -> DeclaredHierarchy:
    of_plan = None if column.hierarchy is None else hierarchy_of(column.hierarchy, hierarchy)
    if of_plan is None:
        raise broken(
            f"column `{column.name}`", "its hierarchy is not that of the plan", "the same hierarchy"
        )
    return of_plan


def _coverage(
    column: Column, ladders: list[Nodes], listed: list[tuple[tuple[str, ...], bool]], root: str
) -> NodeCoverage:
    numbers: dict[str, int] = {}
    for nodes in ladders:
        for node in nodes:
            numbers.setdefault(node, len(numbers) + 1)
    numbers.setdefault(root, len(numbers) + 1)
    width = len(numbers) + 1
    pairs = [MISSING * width]
    for label, (items, with_missing) in enumerate(listed):
        for item in items:
            for number in {numbers.get(item), numbers.get(_as_value(column, item))} - {None}:
                pairs.append(label * width + (number or 0))
        if with_missing or root in items:
            pairs.append(label * width)
    height = max(map(len, ladders), default=1)
    places = np.zeros((height, len(ladders) + 1), np.int64)
    for original, nodes in enumerate(ladders):
        # A shorter ladder is filled up with its root.
        filled = [numbers[node] for node in nodes]
        places[:, original] = filled + filled[-1:] * (height - len(filled))
    return NodeCoverage(np.unique(np.array(pairs, np.int64)), places, width)


def _as_value(column: Column, item: str) -> str:
    """An item as originals are compared, if it is a value; else itself."""
    try:
        text: str = canonical(column, pa.array([item], TEXT))[0].as_py()
    except DataError:
        return item
    return text


def _reader(  # noqa: PLR0911 (one for each kind)
    column: Column, stated: Stated
) -> tuple[Callable[[str], Nodes], str]:
    """What says the nodes of a value, and the root."""
    match stated:
        case HierarchyFile():
            return _from_rows(column, stated.rows), stated.rows[0][-1]
        case OrderedList():
            return _from_rows(column, list(_listed(stated))), _ROOT
        case Intervals():
            return lambda text: _intervals(column.datatype, stated, text), _ROOT
        case Calendar():
            return lambda text: (*(_unit(text, unit) for unit in stated.units), _ROOT), _ROOT
        case Prefixes():
            return lambda text: (*(text[:length] for length in stated.lengths), _ROOT), _ROOT
        case Masking():
            return lambda text: _masked(stated, text), _ROOT
        case AllOrNothing():
            return lambda _: (_ROOT,), _ROOT


def _from_rows(column: Column, rows: Iterable[Nodes]) -> Callable[[str], Nodes]:
    nodes = {_as_value(column, value): labels for value, *labels in rows}

    def nodes_of(text: str) -> Nodes:
        labels = nodes.get(_as_value(column, text))
        if labels is None:
            raise DataError(
                f"column `{column.name}`",
                "an original has no place in the hierarchy",
                "a place for each value",
            )
        return tuple(labels)

    return nodes_of


def _listed(stated: OrderedList) -> Iterable[Nodes]:
    for place, value in enumerate(stated.values):
        nodes, size = [], 1
        for times in stated.fan_out:
            size *= times
            first = place - place % size
            last = min(first + size, len(stated.values)) - 1
            ends = [stated.values[first], stated.values[last]]
            nodes.append(ends[0] if first == last else "..".join(ends))
        yield (value, *nodes, _ROOT)


def _masked(stated: Masking, text: str) -> Nodes:
    nodes = []
    for stars in range(1, stated.width):
        left = max(len(text) - stars, 0)
        kept = text[:left] if stated.from_right else text[len(text) - left :]
        nodes.append(kept.ljust(len(text), "*") if stated.from_right else kept.rjust(len(text), "*"))
    return (*nodes, _ROOT)


def _unit(text: str, unit: str) -> str:
    day = date.fromisoformat(text)
    match unit:
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{1 + (day.month - 1) // 3}"
        case "year":
            return f"{day.year:04}"
    return f"{day.year // 10 * 10:04}s"


def _intervals(datatype: Datatype, stated: Intervals, text: str) -> Nodes:
    nodes, size = [], Fraction(stated.width)
    start = Fraction(0) if stated.start == "0" else _point(datatype, stated.start)
    point = _point(datatype, text)
    for times in (1, *stated.fan_out):
        size *= times
        low = start + floor((point - start) / size) * size
        nodes.append(_named(datatype, low, low + size))
    return (*nodes, _ROOT)


def _point(datatype: Datatype, text: str) -> Fraction:
    if datatype is Datatype.DATE:
        return Fraction(date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal())
    return Fraction(*float(text).as_integer_ratio()) if datatype is Datatype.DOUBLE else Fraction(text)


def _named(datatype: Datatype, low: Fraction, high: Fraction) -> str:
    if datatype is Datatype.DATE:
        return f"{_day(low)}..{_day(high - 1)}"
    if datatype is Datatype.INTEGER:
        return f"{int(low)}..{int(high) - 1}"
    return f"{_decimal(low)}..<{_decimal(high)}"


def _day(number: Fraction) -> date:
    ordinal = int(number) + date(1970, 1, 1).toordinal()
    return date.fromordinal(min(max(ordinal, date.min.toordinal()), date.max.toordinal()))


def _decimal(number: Fraction) -> str:
    with localcontext(prec=_DIGITS):
        return format((Decimal(number.numerator) / number.denominator).normalize(), "f")
