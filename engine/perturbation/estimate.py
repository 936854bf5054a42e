"""Unbiased estimates from a published noisy table, by what its certificate or plan states of the noise.

Only published bytes are read, so estimates cost no privacy: whoever has the table can make them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from smalti.engine.perturbation.mechanisms import loss_of, perturbation_of, response_of
from smalti.engine.perturbation.plan import (
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.engine.perturbation.table import codes_of
from smalti.errors import GuaranteeError
from smalti.transforms.problem import Integers


@dataclass(frozen=True, slots=True)
class Estimated:
    """One estimate with its interval, which comes from the noise alone."""

    value: str | None
    """The category whose share this is, None for the missing value; of a mean None, too."""
    estimate: float
    """Of a share, between 0 and 1 but for the noise; of a mean, in the column's unit of measurement."""
    margin: float
    """Half the width of the confidence interval; infinite without rows."""


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """The estimates from one column."""

    column: str
    what: Literal["shares", "mean"]
    rows: int
    """Respondents who reported."""
    estimates: tuple[Estimated, ...]
    """One for each category of the domain, in its order; of numbers, one."""


def estimate_table(
    table: pa.Table, columns: Sequence[PerturbedColumn], confidence: float, where: str
) -> tuple[ColumnEstimate, ...]:
    """Shares of the categories, and means of the clamped numbers, of what was reported.

    Of images nothing is estimated: their shades are pulled back to what a pixel can be, which biases means.

    A value that was missing or unknown counts as what the plan makes of it: as missing, or as the first
    public value; what was no number as the middle of the bounds.

    Args:
        table: noisy rows as text, with these columns at least.
        columns: as certificate or plan state them.
        confidence: of each interval by itself, in (0, 1).
        where: the table, for messages.

    Raises:
        GuaranteeError: it is not a table of these columns, or nothing could have drawn so.
    """
    return tuple(
        _estimated(table, column, confidence, where)
        for column in columns
        if not isinstance(column, PerturbedImage)
    )


_Estimable: TypeAlias = PerturbedCategory | PerturbedNumber


def _estimated(table: pa.Table, column: _Estimable, confidence: float, where: str) -> ColumnEstimate:
    if table.column_names.count(column.column) != 1:
        raise _other(where, f"it has no column `{column.column}`, or several of this name")
    try:
        loss_of(column)
    except (ValueError, ArithmeticError):
        raise _other(where, f"the stated noise of the column `{column.column}` is impossible") from None
    codes = codes_of(column, table.column(column.column))
    if codes is None:
        raise _other(where, f"the column `{column.column}` holds a value that its noise cannot produce")
    return _read(column, codes, confidence)


def _read(column: _Estimable, codes: Integers, confidence: float) -> ColumnEstimate:
    rows = len(codes)
    if isinstance(column, PerturbedCategory):
        response = response_of(column)
        reported = np.bincount(codes, minlength=len(column.domain))
        shares = zip(column.domain, response.shares(reported, confidence), strict=True)
        estimates = tuple(Estimated(text, share.value, share.margin) for text, share in shares)
        return ColumnEstimate(column.column, "shares", rows, estimates)
    mean = perturbation_of(column).mean(codes, confidence)
    return ColumnEstimate(column.column, "mean", rows, (Estimated(None, mean.value, mean.margin),))


def _other(where: str, problem: str) -> GuaranteeError:
    return GuaranteeError(
        where,
        problem,
        "the table that the certificate or plan describes",
        "get both again from the registered place of the output",
    )
