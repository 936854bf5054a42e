"""Tables whose columns are numbers or categories, for attacks that compare their records as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.errors import DataError
from smalti.transforms.generative.sampler import VALUES, Form
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.gower import MixedColumns
from smalti.transforms.problem import Flags


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """What the columns of a table hold. A missing value is a category of its own, or no number.

    Categories are numbered as they are met, so memory grows with how many there are.
    """

    names: tuple[str, ...]
    ordered: Flags
    """bool[columns]: whether they are numbers."""
    _categories: dict[tuple[str, str | None], int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, form: Form, blocks: Iterable[pa.RecordBatch], declared: Mapping[str, bool] | None = None
    ) -> "TableColumns":
        """The columns of records: numbers where all that is not missing is one.

        Args:
            form: of the records, with their label: text, or arrays with one axis.
            blocks: members and others.
            declared: whether a column holds numbers, where that is said.

        Raises:
            DataError: records are arrays of several axes, or a column that is said to hold numbers has
                others.
        """
        said = declared or {}
        if form.shape is not None:
            if len(form.shape) > 1:
                raise DataError("a table", "records are images or the like", "records with one axis")
            labels = () if form.label is None else (form.label,)
            names = (*(str(number) for number in range(1, form.shape[0] + 1)), *labels)
            return cls(names, np.array([name != form.label for name in names]))
        parts = list(blocks)
        is_number = [
            said.get(
                name, name != form.label and all(_numbers(part.column(name)) is not None for part in parts)
            )
            for name in form.columns
        ]
        return cls(form.columns, np.array(is_number))

    def encoded(self, where: str, block: pa.RecordBatch) -> Doubles:
        """Records as `MixedColumns.encoded` takes them.

        Args:
            where: for messages.
            block: of records of the form.

        Raises:
            DataError: a column of numbers holds others.
        """
        if VALUES in block.schema.names and VALUES not in self.names:
            width = block.schema.field(VALUES).type.list_size
            flat = block.column(VALUES).flatten().to_numpy(zero_copy_only=False)
            columns = [*flat.reshape(-1, width).astype(np.float64).T]
            texts = [block.column(name) for name in self.names[width:]]
            names = self.names[width:]
        else:
            columns, names = [], self.names
            texts = [block.column(name) for name in names]
        start = len(columns)
        for place, (name, text) in enumerate(zip(names, texts, strict=True), start):
            numbers = _numbers(text) if self.ordered[place] else self._coded(name, text)
            if numbers is None:
                raise DataError(
                    f"{where}, column `{name}`",
                    "some values are not numbers",
                    "numbers, as in the other records",
                    "describe the column as text, or write samples as the training records are written",
                )
            columns.append(numbers)
        return np.stack(columns, axis=1)

    def _coded(self, name: str, texts: pa.Array) -> Doubles:
        encoded = pc.dictionary_encode(texts, null_encoding="encode")
        own = [self._number(name, text) for text in encoded.dictionary.to_pylist()]
        codes: Doubles = np.array(own, np.float64)[encoded.indices.to_numpy(zero_copy_only=False)]
        return codes

    def _number(self, name: str, text: str | None) -> float:
        return float(self._categories.setdefault((name, text), len(self._categories)))

    def is_bounded(self, bounds: Mapping[str, tuple[float, float]]) -> bool:
        """Whether the ranges of all numbers are public."""
        return all(
            name in bounds for name, is_number in zip(self.names, self.ordered, strict=True) if is_number
        )

    def measured(self, reference: Doubles, bounds: Mapping[str, tuple[float, float]]) -> MixedColumns:
        """What distances are measured by.

        Args:
            reference: records that are not attacked, whose ranges are taken where none is public.
            bounds: the public ones of columns.

        Raises:
            DataError: a column of numbers has neither.
        """
        lowest, ranges = np.zeros(len(self.names)), np.zeros(len(self.names))
        for place in np.flatnonzero(self.ordered).tolist():
            name, own = self.names[place], reference[:, place][np.isfinite(reference[:, place])]
            if name not in bounds and not len(own):
                raise DataError(
                    f"column `{name}`",
                    "there is no range to measure distances by",
                    "public bounds, or other records than those that are attacked",
                    "describe it with `minimum` and `maximum`, or give more others",
                )
            low, high = bounds.get(name) or (float(own.min()), float(own.max()))
            lowest[place], ranges[place] = low, high - low
        return MixedColumns(lowest, ranges, self.ordered)


def _numbers(texts: pa.Array) -> Doubles | None:
    """The numbers of a column, NaN where one is missing; None where a text is no finite number."""
    try:
        column = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    numbers: Doubles = column.to_numpy(zero_copy_only=False)
    is_wrong = ~np.isfinite(numbers) & column.is_valid().to_numpy(zero_copy_only=False)
    return None if is_wrong.any() else numbers
