"""What is counted of each published row: labels, sensitive values and, where declared, the respondent.

Small numbers of labels are packed into few integers, as digits of a number.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import MISSING, ArrowArray, Codes, broken, pc
from smalti.engine.verify.count import ClassCount
from smalti.engine.verify.join import Check, Joined
from smalti.engine.verify.labels import by_value, canonical, canonical_order
from smalti.engine.verify.nodes import tree_of
from smalti.engine.verify.stage import Extent, Part, StagedColumn, StagedTable
from smalti.errors import InternalError

_LARGEST_KEY: Final = 1 << 62


class Keys:
    """Tells classes of a published file apart."""

    def __init__(self, labels: Sequence[StagedColumn]) -> None:
        self._wide = [column for column in labels if column.is_wide]
        self._packed: list[list[StagedColumn]] = []
        size = 1
        for column in labels:
            if not column.is_wide:
                radix = len(column.values) + 1
                if not self._packed or size * radix > _LARGEST_KEY:
                    self._packed.append([])
                    size = 1
                self._packed[-1].append(column)
                size *= radix

    def of(self, extent: Extent) -> list[Part]:
        """Columns that agree for records of one class, and for no others."""
        keys: list[Part] = [column.texts(extent.number) for column in self._wide]
        for group in self._packed:
            key = np.zeros(extent.records, np.int64)
            for column in group:
                key = key * (len(column.values) + 1) + column.part(extent.number)
            keys.append(key)
        return keys or [np.zeros(extent.records, np.int64)]


class Values:
    """A column by value: `1` and `1.0` are one number, where that is declared."""

    def __init__(self, staged: StagedColumn, column: Column | None) -> None:
        """Read the distinct texts, if they are few; without `column`, texts are their own values.

        Raises:
            DataError: a text is no value of the column's datatype.
        """
        self._column = column
        self._numbers: NDArray[Any] | None = None
        if not staged.is_wide and column is not None:
            self._texts = staged.coded.values
            self._numbers = np.append(MISSING, by_value(column, staged.coded)).astype(np.int32)

    def order(self, texts: ArrowArray) -> Codes:
        """The places of canonical texts in the order of the values."""
        if self._column is None:
            return np.argsort(np.argsort(np.array(texts.to_pylist(), object)))
        return canonical_order(self._column, texts)

    def tree(self, counted: ArrowArray, hierarchy: DeclaredHierarchy) -> Codes:
        """The nodes of values, as they were counted (`of`).

        Raises:
            DataError: one of them has no place in the hierarchy.
        """
        if self._column is None:
            raise InternalError("the nodes of values of no column were asked for")
        texts: list[str | None] = [text or None for text in map(self._text, counted.to_pylist())]
        return tree_of(self._column, texts, hierarchy)

    def _text(self, counted: str | int) -> str | None:
        if isinstance(counted, str):
            return counted
        if counted == MISSING or self._numbers is None:
            return None
        return str(self._texts[int(np.argmax(self._numbers[1:] == counted))].as_py())

    def of(self, part: Part) -> Part:
        """For each record something that is the same for equal values; a missing value is one, too.

        Raises:
            DataError: a text is no value of the column's datatype.
        """
        if not isinstance(part, np.ndarray):
            return part if self._column is None else canonical(self._column, part)
        # Parts have the smallest type that their numbers fit, and are put together with others.
        return part.astype(np.int32) if self._numbers is None else self._numbers[part]


def count_rows(count: ClassCount, table: StagedTable, keys: Keys, sensitive: dict[str, Values]) -> None:
    """Count published rows, each about another person.

    Raises:
        DataError: a sensitive value is none of its column's datatype.
        BackendError: no memory or no disk is left.
    """
    for extent in table.extents:
        values = [each.of(table.columns[name].part(extent.number)) for name, each in sensitive.items()]
        columns = _named(keys.of(extent), values)
        count.add(pa.table({**columns, "n": pa.array(table.repeats(extent).astype(np.int64))}))


class IsCounted(Check):
    """Counts published rows by the respondents of their original rows."""

    def __init__(
        self, count: ClassCount, table: StagedTable, keys: Keys, sensitive: dict[str, Values],
        column: Column, respondents: StagedColumn,
    ) -> None:  # fmt: skip
        self.original = column.name
        self._count = count
        self._table = table
        self._keys = keys
        self._sensitive = sensitive
        self._column = column
        self._respondents = Values(respondents, column)
        self._has_missing = False

    def look(self, rows: Joined) -> None:
        number = rows.extent.number
        keys = [rows.published(key) for key in self._keys.of(rows.extent)]
        values = [
            rows.published(each.of(self._table.columns[name].part(number)))
            for name, each in self._sensitive.items()
        ]
        people = self._respondents.of(rows.originals[self.original])
        if isinstance(people, np.ndarray):
            self._has_missing |= bool((people == MISSING).any())
        else:
            self._has_missing |= bool(pc.any(pc.equal(people, ""), min_count=0).as_py())
        self._count.add(pa.table({**_named(keys, values), "r": pa.array(people)}))

    def finish(self) -> None:
        if self._has_missing:
            raise broken(
                f"column `{self._column.name}`", "a row has no respondent", "a respondent for each row"
            )


class IsCountedWithOthers(Check):
    """Counts published rows by what their original rows say, so that rows which lack can be added.

    That kept columns are published as they came, another check says.
    """

    def __init__(
        self, count: ClassCount, keys: Keys, original: Mapping[str, StagedColumn],
        sensitive: Sequence[Column], respondents: Column | None,
    ) -> None:  # fmt: skip
        """Read the distinct texts of the original.

        Args:
            count: takes the rows.
            keys: of the classes.
            original: the columns of the original, by name.
            sensitive: these columns.
            respondents: tells people apart; None: each row is about another person.
        """
        named = [*sensitive, *([] if respondents is None else [respondents])]
        self.original = named[0].name if named else next(iter(original))
        self.values = {column.name: Values(original[column.name], column) for column in sensitive}
        self._count, self._keys = count, keys
        self._people = None if respondents is None else respondents.name
        self._respondents = None if respondents is None else Values(original[respondents.name], respondents)
        self.names = tuple(column.name for column in named)

    def look(self, rows: Joined) -> None:
        keys = [rows.published(key) for key in self._keys.of(rows.extent)]
        said = self._said(rows.originals, len(rows.record))
        named = {f"k{number}": pa.array(key) for number, key in enumerate(keys)}
        self._count.add(pa.table({**named, **said}))

    def leave_out(self, originals: Mapping[str, Part], rows: int) -> None:
        """Count rows that are not published."""
        self._count.leave_out(pa.table(self._said(originals, rows)))

    def _said(self, originals: Mapping[str, Part], rows: int) -> dict[str, ArrowArray]:
        values = [each.of(originals[name]) for name, each in self.values.items()]
        said = {f"v{number}": pa.array(value) for number, value in enumerate(values)}
        if self._respondents is None or self._people is None:
            return said | {"n": pa.array(np.ones(rows, np.int64))}
        people = self._respondents.of(originals[self._people])
        if isinstance(people, np.ndarray):
            lacks = bool((people == MISSING).any())
        else:
            lacks = bool(pc.any(pc.equal(people, ""), min_count=0).as_py())
        if lacks:
            raise broken(f"column `{self._people}`", "a row has no respondent", "a respondent for each row")
        return said | {"r": pa.array(people)}

    def finish(self) -> None:
        """All was said."""


def _named(keys: Sequence[Part], values: Sequence[Part]) -> dict[str, ArrowArray]:
    named = {f"k{number}": pa.array(key) for number, key in enumerate(keys)}
    return named | {f"v{number}": pa.array(value) for number, value in enumerate(values)}
