"""What becomes of each cell by a single technique, worked out anew from the original."""

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.masks import AtLevel, Coded, MaskedColumn, Noisy, Pseudonymized, RareCells, Recoded
from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import TEXT, ArrowArray, Codes, broken, numbered, pc
from smalti.engine.verify.join import Check, Granted, Joined, originals_at
from smalti.engine.verify.labels import UnreadableError, canonical, places_beside
from smalti.engine.verify.nodes import interval_of, node_at
from smalti.engine.verify.stage import Part, StagedColumn
from smalti.errors import DataError, InternalError
from smalti.transforms.base import Datatype

Expected: TypeAlias = Callable[[Sequence[str]], Sequence[str | None]]
"""From present texts to those that must be published in their place; None is missing."""

_LARGEST: Final = 1 << 60
"""Units that noise is added to at most, and that results have, where no bounds are stated."""
_MISSING: Final = -(1 << 63)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)


def expected_texts(
    node: MaskedColumn,
    column: Column,
    hierarchy: DeclaredHierarchy | None,
    key: bytes,
    rare: frozenset[str],
    texts: Sequence[str],
) -> Sequence[str | None]:
    """What must be published in the place of texts.

    Args:
        node: the technique; not of noise or figures.
        column: as the plan reads it.
        hierarchy: of the column.
        key: of pseudonyms.
        rare: of cell suppression, the rare values as canonical texts.
        texts: present ones.

    Raises:
        DataError: a text is no value of the column's datatype.
    """
    match node:
        case Coded():
            return _coded(node, column, texts)
        case AtLevel(level=level):
            return [node_at(column, text, hierarchy, level) for text in texts]
        case Recoded(width=width, start=start):
            wide, first = Fraction(width), Fraction(start)
            return [interval_of(column.datatype, wide, first, text) for text in texts]
        case Pseudonymized():
            return [
                hmac.new(key, _signed(column.datatype, text), hashlib.sha256).hexdigest() for text in texts
            ]
        case RareCells():
            keys = canonical(column, pa.array(texts, TEXT)).to_pylist()
            return [None if key in rare else text for key, text in zip(keys, texts, strict=True)]
    raise InternalError("no text is expected of what depends on rows")


def _coded(node: Coded, column: Column, texts: Sequence[str]) -> Sequence[str]:
    ends = [end for end in (node.top, node.bottom) if end is not None]
    try:
        values, places = places_beside(column, pa.array(texts, TEXT), pa.array(ends, TEXT))
    except UnreadableError:
        raise DataError(
            f"column `{column.name}`", "an original value cannot be read", f"{column.datatype} values"
        ) from None
    place_of = dict(zip(ends, places.tolist(), strict=True))

    def published(text: str, place: int) -> str:
        if node.top is not None and place >= place_of[node.top]:
            return node.top
        if node.bottom is not None and place <= place_of[node.bottom]:
            return node.bottom
        return text

    return [published(text, place) for text, place in zip(texts, values.tolist(), strict=True)]


def _signed(datatype: Datatype, text: str) -> bytes:
    """What of a value is signed: digits without needless zeros of a number, else its text."""
    if datatype is Datatype.DOUBLE:
        text = np.format_float_positional(np.float64(text) + 0.0, unique=True, trim="-")
    if datatype in (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE):
        whole, point, behind = text.partition(".")
        behind = behind.rstrip("0")
        text = f"{whole}{point}{behind}" if behind else whole
        text = "0" if text == "-0" else text
    return text.encode()


class IsMasked(Check):
    """Each cell is what its technique makes of its original; counts those that changed."""

    def __init__(
        self, name: str, original: StagedColumn, published: StagedColumn, expected: Expected
    ) -> None:
        """Work out the texts that occur, if they are few."""
        self.original = name
        self.changed = 0
        self._before, self._after, self._expected = original, published, expected
        self._is_wide = original.is_wide or published.is_wide
        self._numbers = np.zeros(0, np.int64)
        self._changes = np.zeros(0, bool)
        if not self._is_wide:
            texts = original.values.to_pylist()
            wanted = pa.array([None, *expected(texts)], TEXT)
            places = pc.fill_null(pc.index_in(wanted, published.values), -2)
            numbers = places.to_numpy(zero_copy_only=False).astype(np.int64) + 1
            self._numbers = np.where(pc.is_null(wanted).to_numpy(zero_copy_only=False), 0, numbers)
            self._changes = np.array(
                [False, *(a != b for a, b in zip(texts, wanted[1:].to_pylist(), strict=True))]
            )

    def look(self, rows: Joined) -> None:
        originals = rows.originals[self.original]
        if not self._is_wide:
            numbers = rows.published(self._after.part(rows.extent.number)).astype(np.int64)
            is_same = np.array_equal(self._numbers[originals], numbers)
            self.changed += int(self._changes[originals].sum())
        else:
            before = numbered(self._before.as_texts(originals))
            distinct = before.texts.to_pylist()
            present = [text for text in distinct if text]
            of_text = dict(zip(present, self._expected(present), strict=True))
            wanted = pa.array([of_text.get(text) or "" for text in distinct], TEXT)
            after = rows.published(self._after.texts(rows.extent.number))
            is_same = pc.all(pc.equal(wanted.take(pa.array(before.numbers)), after), min_count=0).as_py()
            changes = np.array([of_text.get(text, "") != text for text in distinct])
            self.changed += int(changes[before.numbers].sum())
        if not is_same:
            raise broken(
                f"column `{self.original}`",
                "a published value is not what the technique makes of its original",
                "what the plan states of the column",
            )

    def finish(self) -> None:
        """All was said."""


class IsNoisy(Check):
    """Each number is one that the noise can make of its original."""

    def __init__(self, node: Noisy, original: StagedColumn, published: StagedColumn) -> None:
        self.original = node.column
        self.changed = 0
        self._before, self._after = original, published
        self._unit, scale = Fraction(node.unit), Fraction(node.scale)
        self._least = -_LARGEST if node.lower is None else ceil(Fraction(node.lower) / self._unit)
        self._most = _LARGEST if node.upper is None else floor(Fraction(node.upper) / self._unit)
        self._width = ceil(scale / self._unit) if node.distribution == "uniform" else None

    def look(self, rows: Joined) -> None:
        before = self._before.as_texts(rows.originals[self.original])
        after = rows.published(self._after.texts(rows.extent.number))
        originals, results = numbered(before), numbered(after)
        nearest = np.array([self._nearest(text) for text in originals.texts.to_pylist()], np.int64)
        noisy = np.array([self._units(text) for text in results.texts.to_pylist()], np.int64)
        from_units, to_units = nearest[originals.numbers], noisy[results.numbers]
        if ((from_units == _MISSING) != (to_units == _MISSING)).any():
            raise self._impossible()
        is_there = from_units != _MISSING
        if self._width is not None and (np.abs(to_units - from_units)[is_there] > self._width).any():
            raise self._impossible()
        self.changed += pc.sum(pc.not_equal(before, after)).as_py() or 0

    def _nearest(self, text: str) -> int:
        """The units that noise was added to."""
        if not text:
            return _MISSING
        low, high = max(self._least, -_LARGEST), min(self._most, _LARGEST)
        return min(max(round(Fraction(Decimal(text)) / self._unit), low), high)

    def _units(self, text: str) -> int:
        if not text:
            return _MISSING
        if not _NUMBER.fullmatch(text):
            raise self._impossible()
        units = Fraction(text) / self._unit
        if units.denominator != 1 or not self._least <= units <= self._most:
            raise self._impossible()
        return int(units)

    def _impossible(self) -> Exception:
        return broken(
            f"column `{self.original}`",
            "a published value is not one that the stated noise can produce",
            "a multiple of the unit between the bounds, for each value that is not missing",
        )

    def finish(self) -> None:
        """All was said."""


# --- Rare values


def canonical_texts(column: Column, staged: StagedColumn, part: Part) -> ArrowArray:
    """For each record a text that is the same for equal values; the empty one is missing.

    Raises:
        DataError: a text is no value of the column's datatype.
    """
    if staged.is_wide:
        return canonical(column, staged.as_texts(part))
    values = canonical(column, pa.concat_arrays([pa.array([""], TEXT), staged.values.cast(TEXT)]))
    return values.take(pa.array(np.asarray(part).astype(np.int64)))


def rare_values(
    column: Column, granted: Granted, respondent: Column | None, minimum: int
) -> frozenset[str]:
    """The values of a column, as canonical texts, that fewer respondents have than a minimum."""
    parts = []
    for extent in granted.table.extents:
        names = {"v": column} | ({} if respondent is None else {"r": respondent})
        table = pa.table({
            key: canonical_texts(each, granted.table.columns[each.name],
                                 granted.table.columns[each.name].part(extent.number))
            for key, each in names.items()
        })  # fmt: skip
        if granted.flags is not None:
            table = table.filter(pa.array(granted.flags[extent.number].astype(bool)))
        parts.append(table)
    whole = pa.concat_tables(parts) if parts else pa.table({"v": pa.array([], TEXT)})
    counting = ("r", "count_distinct") if respondent is not None and parts else ("v", "count")
    counted = whole.group_by("v").aggregate([counting])
    few = counted.filter(pc.less(counted.column("_".join(counting)), minimum)).column("v").to_pylist()
    return frozenset(few) - {""}


class IsFrequent(Check):
    """No published record has a rare value."""

    def __init__(self, column: Column, original: StagedColumn, rare: frozenset[str]) -> None:
        self.original = column.name
        self._column, self._before = column, original
        self._rare = pa.array(sorted(rare), TEXT)

    def look(self, rows: Joined) -> None:
        texts = canonical_texts(self._column, self._before, rows.originals[self.original])
        if pc.any(pc.is_in(texts, value_set=self._rare), min_count=0).as_py():
            raise broken(
                f"column `{self.original}`",
                "a record is published whose value is rare",
                "records whose values have at least the stated number of respondents",
            )

    def finish(self) -> None:
        """All was said."""


class Collected(Check):
    """Says of nothing anything: collects the values of a column in published rows."""

    def __init__(self, column: Column, original: StagedColumn) -> None:
        self.original = column.name
        self.texts: set[str] = set()
        self._column, self._before = column, original

    def look(self, rows: Joined) -> None:
        texts = canonical_texts(self._column, self._before, rows.originals[self.original])
        self.texts.update(pc.unique(texts).to_pylist())

    def finish(self) -> None:
        """All is well."""


def check_sample(column: Column, granted: Granted, left_out: Codes, people: Collected) -> None:
    """Check that each record that is left out is of a respondent without any published one.

    Args:
        column: of the respondents.
        granted: the original.
        left_out: the records, ascending.
        people: the respondents of published records.

    Raises:
        GuaranteeError: a respondent is in the sample with some records only.
    """
    sampled, staged = pa.array(sorted(people.texts), TEXT), granted.table.columns[column.name]
    for _, originals in originals_at(granted, left_out, [column.name]):
        texts = canonical_texts(column, staged, originals[column.name])
        if pc.any(pc.is_in(texts, value_set=sampled), min_count=0).as_py():
            raise broken(
                "published output",
                "a record is left out whose respondent is in the sample",
                "all records of a respondent, or none",
            )
