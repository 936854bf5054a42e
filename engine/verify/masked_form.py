"""What a masked table shows by itself: whether each value is one that its technique can produce."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Final

from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    Recoded,
)
from smalti.engine.verify.columns import broken
from smalti.engine.verify.csv import BLOCK
from smalti.engine.verify.read import Output
from smalti.engine.verify.stage import StagedColumn, StagedTable
from smalti.engine.verify.verifier import private_place, staged_output
from smalti.errors import InternalError

_PSEUDONYM: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_INTERVAL: Final = re.compile(rf"({_NUMBER.pattern})\.\.(<?)({_NUMBER.pattern})", re.ASCII)
_DAYS: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.\.[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LABEL: Final = re.compile(r"\[(?P<low>[^\[\]|]*?)\.\.(?P<high>[^\[\]|]*)\|?\]")
_FIGURE: Final = re.compile(rf"\[~(?:{_NUMBER.pattern}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})\]", re.ASCII)

_CATEGORY: Final = re.compile(r"\[~(?:\\[\\|\[\]]|[^\\|\[\]])+\]", re.DOTALL)


def check_masked_form(
    masked: Sequence[MaskedColumn],
    columns: tuple[str, ...],
    output: Output,
    folder: Path,
    *,
    is_sample: bool,
    labelled: Collection[str] = (),
) -> None:
    """Check order and form of a published table, without the owner's data.

    Args:
        masked: what was done to columns.
        columns: of the table.
        output: its files.
        folder: a private place.
        is_sample: whether rows are those of a sample: what is frequent in the table need not be in it.
        labelled: the columns that are published as ranges of coded values.

    Raises:
        GuaranteeError: a value is none that its technique produces, or rows are in another order.
    """
    with private_place(folder) as place:
        table, _ = staged_output(columns, (), output, place, BLOCK)
        for node in masked:
            if isinstance(node, Coded) and node.column in labelled:
                if not all(_is_open(node, text) for text in _counts(table, table.columns[node.column])):
                    raise _unfit(node)
            else:
                _check(node, table, is_sample=is_sample)


def _check(node: MaskedColumn, table: StagedTable, *, is_sample: bool) -> None:
    counts = _counts(table, table.columns[node.column])
    counts.pop("", None)
    if isinstance(node, Averaged | RareCells) and not is_sample:
        least = node.k if isinstance(node, Averaged) else node.minimum
        # Each respondent has a row at least, and so have those of a value or a figure.
        if any(count < least for count in counts.values()):
            raise _unfit(node)
    if not all(_fits(node, text) for text in counts):
        raise _unfit(node)


def _unfit(node: MaskedColumn) -> Exception:
    return broken(
        f"column `{node.column}`",
        "a published value is not one that the stated technique produces",
        f"values of {node.technique}",
    )


def _counts(table: StagedTable, column: StagedColumn) -> Counter[str]:
    counts: Counter[str] = Counter()
    for extent in table.extents:
        texts = column.texts(extent.number).to_pylist()
        for text, times in zip(texts, table.repeats(extent).tolist(), strict=True):
            counts[text] += times
    return counts


def _fits(node: MaskedColumn, text: str) -> bool:
    match node:
        case Pseudonymized():
            return _PSEUDONYM.fullmatch(text) is not None
        case Coded(top=top, bottom=bottom):
            return _is_between(text, bottom, top)
        case Recoded(width=width, start=start):
            return _is_interval(text, Fraction(width), Fraction(start))
        case Noisy():
            return _is_noisy(node, text)
        case Averaged(distance=distance):
            form = _FIGURE if distance is None else _CATEGORY
            return form.fullmatch(text) is not None
        case AtLevel() | RareCells():
            return True
    raise InternalError("a technique that nothing verifies")


def _is_between(text: str, bottom: str | None, top: str | None) -> bool:
    """Of numbers; times are not compared here, for zones are not stated."""
    if not all(_NUMBER.fullmatch(each) for each in (text, bottom, top) if each is not None):
        return True
    number = Fraction(text)
    return (bottom is None or number >= Fraction(bottom)) and (top is None or number <= Fraction(top))


def _is_open(node: Coded, text: str) -> bool:
    """Whether a label has no end beyond a threshold; of numbers, as `_is_between`."""
    label = _LABEL.fullmatch(text)
    low, high = (label["low"], label["high"]) if label is not None else (text, text)
    ends = [end for end in (low, high, node.top, node.bottom) if end]
    if not all(_NUMBER.fullmatch(end) for end in ends):
        return True
    is_below = node.top is None or (
        (not high or Fraction(high) < Fraction(node.top))
        and (not low or Fraction(low) <= Fraction(node.top))
    )
    is_above = node.bottom is None or (
        (not low or Fraction(low) > Fraction(node.bottom))
        and (not high or Fraction(high) >= Fraction(node.bottom))
    )
    return (
        is_below
        and is_above
        and (bool(low) or node.bottom is not None)
        and (bool(high) or node.top is not None)
    )


def _is_interval(text: str, width: Fraction, start: Fraction) -> bool:
    if _DAYS.fullmatch(text):
        return True
    interval = _INTERVAL.fullmatch(text)
    if interval is None:
        return False
    low, high = Fraction(interval[1]), Fraction(interval[3]) + (not interval[2])
    return high - low == width and (low - start) % width == 0


def _is_noisy(node: Noisy, text: str) -> bool:
    if not _NUMBER.fullmatch(text):
        return False
    units = Fraction(Decimal(text)) / Fraction(node.unit)
    if units.denominator != 1:
        return False
    unit = Fraction(node.unit)
    return (node.lower is None or units >= ceil(Fraction(node.lower) / unit)) and (
        node.upper is None or units <= floor(Fraction(node.upper) / unit)
    )
