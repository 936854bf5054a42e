"""The verifier's own recount of means and medians of classes.

A label is `[~x]`, or `[~x|]` where values of the class are missing; a class of missing values has an
empty field. Each respondent weighs 1, spread evenly over all its rows in the table. The figure is worked
out from the original values in fractions and rounded, half to even, to the decimals that the plan states.
Classes are the rows that are published alike. This shares no code with `smalti.transforms`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import lcm
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from smalti.engine.plan.plan import Column, OutputForm
from smalti.engine.verify.columns import broken
from smalti.engine.verify.count import ClassCount
from smalti.engine.verify.entries import Keys, Values
from smalti.engine.verify.join import Check, Joined
from smalti.engine.verify.labels import by_value, canonical
from smalti.engine.verify.stage import Part, StagedColumn
from smalti.errors import GuaranteeError, InternalError
from smalti.transforms.base import Datatype

_FIRST_ORDINAL: Final = date(1970, 1, 1).toordinal()
"""Days are even or odd as they are counted from there."""
_DIGITS: Final = 1000
"""More than a figure has."""


class StandsForClass(Check, ABC):
    """Each class shows something that is worked out from its original values."""

    def __init__(  # noqa: PLR0913, PLR0917 (what it compares)
        self,
        column: Column,
        keys: Keys,
        original: StagedColumn,
        published: StagedColumn,
        people: tuple[Column, StagedColumn] | None,
        place: Path,
        memory: str,
    ) -> None:
        """Read the distinct texts of the original, if they are few.

        Args:
            column: with the form of a figure.
            keys: tell apart what has a figure of its own.
            original: the column as it came.
            published: as it is published.
            people: the original column that tells respondents apart; None: each row is another one.
            place: a private folder of its own.
            memory: what it holds before it spills.

        Raises:
            DataError: an original is not of its column's datatype.
        """
        self.original = column.name
        self._column = column
        self._keys = keys
        self._before, self._after = original, published
        self._people = None if people is None else people[0].name
        self._respondents = None if people is None else Values(people[1], people[0])
        if not original.is_wide:
            by_value(column, original.coded)
        place.mkdir()
        self._count = ClassCount(place, memory=memory)

    def look(self, rows: Joined) -> None:
        number = rows.extent.number
        columns = {f"k{i}": rows.published(key) for i, key in enumerate(self._keys.of(rows.extent))}
        columns["f"] = rows.published(self._after.part(number))
        columns["x"] = self._texts(rows.originals[self.original])
        if self._respondents is not None and self._people is not None:
            columns["r"] = self._respondents.of(rows.originals[self._people])
        # Parts have the smallest type that their numbers fit, and are put together with others.
        wide = {
            name: each.astype(np.int64) if isinstance(each, np.ndarray) else each
            for name, each in columns.items()
        }
        self._count.add(pa.table({name: pa.array(each) for name, each in wide.items()}))

    def _texts(self, originals: Part) -> Part:
        """Numbers of texts that were read already; others are read here."""
        if not self._before.is_wide:
            return originals
        texts = self._before.as_texts(originals)
        canonical(self._column, texts)
        return texts

    def finish(self) -> None:
        with closing(self._count):
            for held in self._count.held_by_class():
                self._check(held)

    def _check(self, held: pa.Table) -> None:
        labels, texts = (
            self._as_texts(held, name, of) for name, of in (("f", self._after), ("x", self._before))
        )
        shown = self._read(labels, texts)
        classes, totals, rows = (held.column(name).to_pylist() for name in ("class", "t", "n"))
        starts = np.flatnonzero(np.diff(held.column("class").to_numpy(), prepend=-1)).tolist()
        for first, last in pairwise([*starts, len(classes)]):
            whole = lcm(*totals[first:last])
            shares = [n * whole // t for t, n in zip(totals[first:last], rows[first:last], strict=True)]
            expected = self._expected(texts[first:last], shares)
            if any(label != expected for label in shown[first:last]):
                raise self._refusal()

    def _refusal(self) -> GuaranteeError:
        return broken(
            f"column `{self._column.name}`",
            f"a published value is not the {self._column.form} of its class",
            f"the {self._column.form} of the values that are not missing, as the documented grammar"
            " writes it",
        )

    def _as_texts(self, held: pa.Table, name: str, staged: StagedColumn) -> list[str]:
        column = held.column(name).combine_chunks()
        texts: list[str] = (column if staged.is_wide else staged.as_texts(column.to_numpy())).to_pylist()
        return texts

    @abstractmethod
    def _read(self, labels: Sequence[str], texts: Sequence[str]) -> Sequence[object]:
        """What the labels of some rows of whole classes say, to be compared with what is expected.

        Args:
            labels: as they are published.
            texts: the original values beside them; missing ones are empty.

        Raises:
            GuaranteeError: one of them is no label.
        """

    @abstractmethod
    def _expected(self, texts: Sequence[str], shares: Sequence[int]) -> object:
        """What the labels of a class with these values say.

        Args:
            texts: of values; missing ones are empty.
            shares: how much each of them weighs, in parts of the same whole.
        """


class IsFigure(StandsForClass):
    """Each class shows the mean or the median of its original values."""

    def _read(self, labels: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
        del texts
        return labels

    def _expected(self, texts: Sequence[str], shares: Sequence[int]) -> str:
        datatype, decimals = self._column.datatype, self._column.decimals
        if decimals is None:
            raise InternalError("a column without figures was to be verified by them")
        held = [
            (_number(datatype, text, decimals), share)
            for text, share in zip(texts, shares, strict=True)
            if text
        ]
        if not held:
            return ""
        figure = _median(held) if self._column.form is OutputForm.MEDIAN else _mean(held)
        end = "|]" if len(held) < len(texts) else "]"
        return f"[~{_written(datatype, figure, decimals)}{end}"


_Number: TypeAlias = int | Fraction


def _number(datatype: Datatype, text: str, decimals: int) -> _Number:
    """A value in units of the last of so many decimals."""
    if datatype is Datatype.DATE:
        return date.fromisoformat(text).toordinal() - _FIRST_ORDINAL
    # A double is the number that its shortest spelling writes.
    written = repr(float(text)) if datatype is Datatype.DOUBLE else text
    whole, _, behind = written.partition(".")
    behind = behind.rstrip("0") if behind.isdigit() else behind
    if len(behind) <= decimals and "e" not in written.lower():
        return int(whole + behind.ljust(decimals, "0"))
    return Fraction(written) * Fraction(10) ** decimals


def _mean(held: Sequence[tuple[_Number, int]]) -> Fraction:
    return Fraction(sum(number * share for number, share in held)) / sum(share for _, share in held)


def _median(held: Sequence[tuple[_Number, int]]) -> Fraction:
    """Half way between the least and the greatest number with at most half of the weight on either side."""
    total = sum(share for _, share in held)
    ends = []
    for is_falling in (False, True):
        rest = total
        for number, share in sorted(held, reverse=is_falling):
            rest -= 2 * share
            if rest <= 0:
                ends.append(number)
                break
    return Fraction(sum(ends)) / 2


def _written(datatype: Datatype, figure: Fraction, decimals: int) -> str:
    whole, rest = divmod(figure.numerator, figure.denominator)
    twice = 2 * rest
    if twice > figure.denominator or (twice == figure.denominator and whole % 2):
        whole += 1
    if datatype is Datatype.DATE:
        return date.fromordinal(_FIRST_ORDINAL + whole).isoformat()
    with localcontext(prec=_DIGITS):
        return format(Decimal(whole).scaleb(-decimals), "f")
