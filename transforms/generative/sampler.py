"""Samplers: the one interface to a generative model, from which samples can be had and nothing else.

All samples that an attack sees pass through `samples`, which checks them. They come in blocks, so that no
attack needs memory for all of them.

Records are Arrow columns. A record of a table has columns of text, as all tables here are read; a missing
value is null. A record that is an array, such as an image, has one column `values` of 32-bit floats, and
may have a column `label` of text. Members, others and samples of one audit share one `Form`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.errors import DataError
from smalti.transforms.problem import Integers

VALUES: Final = "values"
"""The column of records that are arrays."""
LABEL: Final = "label"
"""The column of their labels."""
BLOCK: Final = 1 << 13
"""Samples of a block, where a sampler can choose."""

_SHAPE: Final = b"shape"
"""The entry of a field of arrays that holds their shape, since columns are flat."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Form:
    """What a record is."""

    columns: tuple[str, ...]
    """Names in their order, with that of the label; at least one beside it."""
    shape: tuple[int, ...] | None = None
    """Of the numbers of a record, such as (28, 28) or (32, 32, 3), where records are arrays; None: records
    have columns of text."""
    label: str | None = None
    """The column of the condition (a class) that a conditional model is asked for; None: there is none."""

    def __post_init__(self) -> None:
        if not {*self.columns} - {self.label} or (
            self.label is not None and self.label not in self.columns
        ):
            raise ValueError("a record has a column beside its label")
        if self.shape is not None and (not self.shape or min(self.shape) < 1):
            raise ValueError("an array of a record has an axis, and no axis is empty")

    @classmethod
    def of_arrays(cls, shape: tuple[int, ...], *, has_labels: bool = False) -> "Form":
        """The form of arrays of numbers."""
        return cls((VALUES, LABEL) if has_labels else (VALUES,), shape, LABEL if has_labels else None)

    @property
    def schema(self) -> pa.Schema:
        """Of all blocks."""
        return pa.schema([self._field(name) for name in self.columns])

    def _field(self, name: str) -> pa.Field:
        if self.shape is None or name == self.label:
            return pa.field(name, pa.string())
        return pa.field(
            name,
            pa.list_(pa.float32(), prod(self.shape)),
            metadata={_SHAPE: " x ".join(map(str, self.shape))},
        )

    @property
    def width(self) -> int:
        """Numbers of a record, where all of its columns but the label are numbers."""
        return len(self.columns) - (self.label is not None) if self.shape is None else prod(self.shape)

    def block(self, values: NDArray[np.floating], labels: list[str] | None = None) -> pa.RecordBatch:
        """Arrays as a block.

        Args:
            values: shape (records, *shape).
            labels: of the records, where the form has any.
        """
        if self.shape is None or values.shape[1:] != self.shape or (labels is None) != (self.label is None):
            raise ValueError("arrays of the form, with its labels, are expected")
        flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
        columns = [pa.FixedSizeListArray.from_arrays(flat, prod(self.shape))]
        if labels is not None:
            columns.append(pa.array(labels, pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


@runtime_checkable
class Sampler(Protocol):
    """A generative model as an adversary sees it who has nothing but its samples."""

    @property
    def name(self) -> str:
        """For messages; nothing of the data."""

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        """Samples, in blocks of any size.

        Each call gives other samples, or the same again, as the sampler can: no attack asks twice.

        Args:
            number: how many are wanted, at least 1; more may come, and are left out.
        """


@dataclass(frozen=True, slots=True)
class FromCallable:
    """A sampler around a function, such as a model of any library in the caller's process."""

    form: Form
    """Of arrays."""
    draw: Callable[[int], tuple[NDArray[np.floating], list[str] | None]]
    """Called with a number of samples: arrays of shape (samples, *shape), and their labels if any."""
    name: str = "the sampler"

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, number, BLOCK):
            values, labels = self.draw(min(BLOCK, number - start))
            shape = np.shape(values)[1:]
            numbers = np.asarray(values, np.float32)
            yield Form.of_arrays(shape, has_labels=labels is not None).block(numbers, labels)


def samples(sampler: Sampler, form: Form, number: int) -> Iterator[pa.RecordBatch]:
    """So many samples, each checked to be of the form of the training records.

    Args:
        sampler: the model.
        form: of the training records.
        number: how many, at least 1.

    Raises:
        DataError: samples have other columns or another shape, are not finite, are fewer, or are all the
            same. What can be seen in the first block is raised before a second one is drawn.
    """
    if number < 1:
        raise ValueError("at least one sample is expected")
    left, first, differ = number, None, False
    for block in sampler.blocks(number):
        _check(sampler.name, form, block)
        part = block.select(list(form.columns)).slice(0, left)
        if not part.num_rows:
            continue
        first = part.slice(0, 1) if first is None else first
        differ = differ or _differ(form, first, part)
        left -= part.num_rows
        yield part
        if not left:
            break
    if left:
        raise DataError(
            sampler.name,
            f"{number - left} samples",
            f"{number}",
            "have the model write more samples, or ask for fewer",
        )
    if number > 1 and not differ:
        raise DataError(
            sampler.name,
            "all samples are the same",
            "samples that differ, as those of a generative model do",
            "check how samples are drawn: an attack on a constant shows nothing",
        )


def _check(where: str, form: Form, block: pa.RecordBatch) -> None:
    """Refuse a block of another form."""
    if {*form.columns} - {*block.schema.names}:
        missing = next(name for name in form.columns if name not in block.schema.names)
        raise DataError(
            where,
            f"samples have no column `{missing}`",
            "the columns of the training records",
            "write samples with the same header",
        )
    for field in form.schema:
        own = block.schema.field(field.name)
        if not own.equals(field.with_nullable(own.nullable), check_metadata=_SHAPE in (own.metadata or {})):
            raise DataError(
                where,
                f"`{field.name}` of the samples is {_named(own)}",
                f"{_named(field)}, as of the training records",
                "write samples in the shape and type of the training records",
            )
        column = block.column(field.name)
        if field.name == form.label and column.null_count:
            raise DataError(where, "samples without a label", "a label of each sample")
        if pa.types.is_fixed_size_list(field.type) and not np.isfinite(_flat(column)).all():
            raise DataError(
                where,
                "samples hold what is no finite number",
                "numbers",
                "check the model: its training may have diverged",
            )


def _named(field: pa.Field) -> str:
    if pa.types.is_fixed_size_list(field.type):
        shape = (field.metadata or {}).get(_SHAPE)
        return f"{field.type.list_size if shape is None else shape.decode()} numbers"
    return "text" if pa.types.is_string(field.type) else str(field.type)


def _differ(form: Form, first: pa.RecordBatch, part: pa.RecordBatch) -> bool:
    """Whether a record of the part differs from the first sample, apart from its label."""
    for name in form.columns:
        if name == form.label:
            continue
        before, column = first.column(name), part.column(name)
        if form.shape is not None:
            if (_flat(column).reshape(len(column), -1) != _flat(before)).any():
                return True
        elif not pc.all(_same(column, before[0])).as_py():
            return True
    return False


def _same(column: pa.Array, value: pa.Scalar) -> pa.Array:
    return pc.is_null(column) if not value.is_valid else pc.fill_null(pc.equal(column, value), False)


def _flat(column: pa.FixedSizeListArray) -> Floats:
    numbers: Floats = column.flatten().to_numpy(zero_copy_only=False)
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Records as numbers, for attacks that compute with them."""

    features: Floats
    """Shape (records, width); finite."""
    labels: Integers
    """Shape (records,): places of labels in the list of classes, -1 for others; all 0 without labels."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, records: Integers) -> "Numbers":
        """Some of the records, by their positions."""
        return Numbers(self.features[records], self.labels[records])


def numbers(where: str, form: Form, block: pa.RecordBatch, classes: tuple[str, ...]) -> Numbers:
    """Records as numbers.

    Args:
        where: for messages.
        form: of the records.
        block: some of them.
        classes: the labels of the training records; empty where the form has no label.

    Raises:
        DataError: a column of text holds what is no finite number.
    """
    if form.shape is not None:
        features = _flat(block.column(VALUES)).reshape(block.num_rows, -1)
    else:
        names = [name for name in form.columns if name != form.label]
        features = np.stack([_column(where, name, block.column(name)) for name in names], axis=1)
    return Numbers(features, labels_of(block, form.label, classes))


def labels_of(block: pa.RecordBatch, label: str | None, classes: tuple[str, ...]) -> Integers:
    """Places of labels in the list of classes, -1 for others; all 0 without labels.

    Args:
        block: of records.
        label: the column of labels, if there is one.
        classes: the labels of the training records.
    """
    if label is None:
        return np.zeros(block.num_rows, np.int64)
    places = pc.index_in(block.column(label), pa.array(classes, pa.string()))
    labels: Integers = pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return labels


def _column(where: str, name: str, texts: pa.Array) -> Floats:
    try:
        column = pc.cast(texts, pa.float32())
    except pa.ArrowInvalid:
        column = None
    if column is None or column.null_count or not np.isfinite(column.to_numpy(zero_copy_only=False)).all():
        raise DataError(
            f"{where}, column `{name}`",
            "some values are missing or not numbers",
            "a finite number in every record",
            "encode the columns as for training",
        )
    values: Floats = column.to_numpy(zero_copy_only=False)
    return values
