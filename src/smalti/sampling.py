"""Samples of foreign generative models: files of them, and commands that write such a file.

A file is CSV or Parquet, whose columns are read as text, or `.npy`: an array of numbers with an axis of
records in front. The labels of `samples.npy` stand in `samples.labels.npy` beside it, if there are any.
A file is read in blocks. Pickled arrays are never loaded, because that can run code.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.tables.description import ColumnDescription
from smalti.engine.tables.reading import ROW, inspect, text_batches
from smalti.engine.tables.sources import bind
from smalti.errors import DataError, UsageError
from smalti.transforms.base import Datatype
from smalti.transforms.generative.sampler import BLOCK, Form
from smalti.vocab.terms import IRI

FILE: Final = "{file}"
"""In a command, where it writes its samples to."""
_NUMBERS: Final = frozenset({Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE})
NUMBER: Final = "{number}"
"""In a command, how many samples it writes."""


@dataclass(frozen=True, slots=True)
class FromFile:
    """The samples, or other records, in a file."""

    path: Path
    label: str | None = None
    """The column of labels, of a table; an array has them in the file beside it."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def form(self) -> Form:
        """What its records are.

        Raises:
            UsageError: there is no such file or column.
            DataError: it cannot be read.
        """
        if _is_array(self.path):
            values, labels = _arrays(self.path)
            return Form.of_arrays(values.shape[1:], has_labels=labels is not None)
        header = inspect(bind(IRI(self.path.name), self.path)).header
        if self.label is not None and self.label not in header:
            raise UsageError(str(self.path), f"there is no column `{self.label}`", "a column of the file")
        if len(header) < 2 and self.label is not None:
            raise DataError(str(self.path), "there is no column beside the label", "columns of records")
        return Form(header, None, self.label)

    def described(self) -> tuple[ColumnDescription, ...]:
        """What CSVW metadata beside a table says of its columns; nothing of an array."""
        return () if _is_array(self.path) else bind(IRI(self.path.name), self.path).description.columns

    def declared_numbers(self) -> dict[str, bool]:
        """Whether a column holds numbers, of those whose datatype is described."""
        return {
            column.name: column.datatype in _NUMBERS
            for column in self.described()
            if column.datatype is not None
        }

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        """The first records of the file; all of them where it has fewer."""
        return _array_blocks(self.path, number) if _is_array(self.path) else _text_blocks(self.path)

    def count(self) -> int:
        """How many records the file has."""
        if _is_array(self.path):
            return len(_arrays(self.path)[0])
        return sum(block.num_rows for block in _text_blocks(self.path))

    def read(self) -> pa.RecordBatch:
        """All records of the file."""
        table = pa.Table.from_batches(self.blocks(1 << 62), schema=self.form.schema).combine_chunks()
        (batch,) = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=self.form.schema)]
        return batch


@dataclass(frozen=True, slots=True)
class FromCommand:
    """A program that writes samples to a file; it runs as the caller, without a shell."""

    command: str
    """Words as in a shell. `{file}` is the path to write to, `{number}` the number of samples."""
    suffix: str = ".csv"
    """Of the file that it writes: `.csv`, `.parquet` or `.npy`."""
    label: str | None = None

    @property
    def name(self) -> str:
        return "the sampling command"

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        """Run it, and read what it wrote; the file is private to the caller, and removed afterwards.

        Raises:
            UsageError: the command cannot be started, or has no place for the file.
            DataError: it fails, or writes no file.
        """
        with tempfile.TemporaryDirectory(prefix="smalti-samples-") as folder:
            path = Path(folder) / f"samples{self.suffix}"
            self._run(path, number)
            yield from FromFile(path, self.label).blocks(number)

    def _run(self, path: Path, number: int) -> None:
        words = shlex.split(self.command)
        if not any(FILE in word for word in words):
            raise UsageError(self.name, f"it has no {FILE}", f"{FILE} where it writes samples to")
        places = {FILE: str(path), NUMBER: str(number)}
        for place, text in places.items():
            words = [word.replace(place, text) for word in words]
        try:
            ended = subprocess.run(  # noqa: S603 (the caller's own words, without a shell)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise UsageError(self.name, f"it cannot be started ({error.strerror})", "a program") from None
        if ended.returncode or not path.exists():
            problem = f"exit code {ended.returncode}" if ended.returncode else f"it wrote no {FILE}"
            raise DataError(
                self.name, problem, f"exit code 0, and a file of samples at {FILE}", "try it on a terminal"
            )


def sampler_from(text: str, label: str | None) -> FromFile | FromCommand:
    """The sampler of an argument: a file by its path, or a command by a text with `{file}`.

    The suffix after `{file}` is that of the file which the command writes, such as `{file}.npy`.
    """
    if FILE not in text:
        return FromFile(Path(text), label)
    for suffix in (".npy", ".parquet", ".csv"):
        if FILE + suffix in text:
            return FromCommand(text.replace(FILE + suffix, FILE), suffix, label)
    return FromCommand(text, label=label)


def _is_array(path: Path) -> bool:
    return path.suffix == ".npy"


def _text_blocks(path: Path) -> Iterator[pa.RecordBatch]:
    source = bind(IRI(path.name), path)
    contents = inspect(source)
    for batch in text_batches(source, contents):
        places = [place for place, name in enumerate(batch.schema.names) if name != ROW]
        columns = [batch.column(place) for place in places]
        yield pa.RecordBatch.from_arrays(columns, names=list(contents.header))


def _array_blocks(path: Path, number: int) -> Iterator[pa.RecordBatch]:
    values, labels = _arrays(path)
    form = Form.of_arrays(values.shape[1:], has_labels=labels is not None)
    for start in range(0, min(number, len(values)), BLOCK):
        stop = min(start + BLOCK, number)
        texts = None if labels is None else [str(label) for label in labels[start:stop].tolist()]
        yield form.block(np.asarray(values[start:stop]), texts)


def _arrays(path: Path) -> tuple[NDArray[np.floating], NDArray[Any] | None]:
    """The array of a file, mapped and not read, and that of its labels."""
    values = _array(path)
    beside = path.with_suffix(".labels.npy")
    labels = _array(beside) if beside.exists() else None
    if values.dtype.kind not in "fiu" or values.ndim < 2 or 0 in values.shape[1:]:
        raise DataError(
            str(path), "it is no array of numbers of records", "an axis of records, and numbers of each"
        )
    if labels is not None and (labels.shape != values.shape[:1] or labels.dtype.kind not in "iuU"):
        raise DataError(str(beside), "it is no list of labels", "a whole number or a name for each record")
    return values, labels


def _array(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise UsageError(str(path), "there is no such file", "a file of records") from None
    except (OSError, ValueError, EOFError):
        raise DataError(
            str(path), "it cannot be read", "an array as NumPy's `save` writes it, without Python objects"
        ) from None
    return array
