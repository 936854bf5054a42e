"""A plan of two tables on a bound table: from rows to staged files, the same for every engine.

Which records are in one group is decided by keyed digests of them, under a secret of the registry: whoever
repeats the run there gets the same tables, and nobody else can tell a group's records apart by the rule.
"""

import hashlib
import hmac
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.engine.backends.publication import ranked
from smalti.engine.backends.relations import link_bytes, open_link
from smalti.engine.backends.staged import Coded, StagedTable
from smalti.engine.plan.bucketization import BucketizationPlan, WriteTable
from smalti.engine.plan.phase import Phase
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.writing import open_writer
from smalti.errors import GuaranteeError
from smalti.policy.model.iris import file_stem
from smalti.transforms.bucketization.anatomy import LEFT_OUT, Buckets, groups_of
from smalti.transforms.problem import MISSING, Integers
from smalti.transforms.values.texts import make_codebook

_PURPOSE: Final = b"order of records in buckets"
"""What separates this use of a registry's secret from others."""
_TEXT: Final = pa.large_string()
_ROWS: Final = 1 << 17
"""That are written at a time."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files that are written."""

    records: Path
    values: Path
    link: Path
    """A `.npy` file of int64: the input row of each published record, from 0."""

    @classmethod
    def in_folder(cls, plan: BucketizationPlan, folder: Path, link: Path) -> "Places":
        """The files of a plan in a folder, each with the name of its table."""
        records, values = (
            folder / f"{file_stem(table.output)}.{plan.write.format}"
            for table in (plan.write.records, plan.write.values)
        )
        return cls(records, values, link)

    @property
    def tables(self) -> tuple[Path, Path]:
        return self.records, self.values


@dataclass(frozen=True, slots=True)
class Records:
    """The rows that take part, in any order."""

    rows: Integers
    """The number of each in the input."""
    shown: pa.Table
    """The texts that are published of each, but for the sensitive one; null is missing."""
    sensitive: pa.Array
    """The text of each in the sensitive column."""
    values: Integers
    """A number of its value, from 0 and without gaps, in the order of values."""

    @classmethod
    def of(cls, plan: BucketizationPlan, table: StagedTable) -> "Records":
        rows, columns = table.records((*plan.published, plan.group.sensitive))
        *published, sensitive = columns
        shown = pa.table([_texts(column) for column in published], names=list(plan.published))
        return cls(rows, shown, _texts(sensitive), _value_codes(plan, sensitive))

    def of_groups(self, kept: Integers) -> "Records":
        """Some of them."""
        places = pa.array(kept)
        return Records(
            self.rows[kept], self.shown.take(places), self.sensitive.take(places), self.values[kept]
        )


def execute(
    plan: BucketizationPlan,
    table: StagedTable,
    places: Places,
    secret: bytes,
    phase: Phase = lambda _: None,
) -> None:
    """Write both tables, and the private link from published to input rows.

    All records are held in memory: eight bytes for each column, some forty more, and their texts.

    Args:
        plan: what to do.
        table: the rows that take part.
        places: the files that are written.
        secret: of the registry.
        phase: called at the start of each phase.

    Raises:
        GuaranteeError: a value is held by more than one in l respondents, and the policy does not let so
            many records be left out; or there are no l different values.
    """
    phase("group")
    records = Records.of(plan, table)
    groups = _grouped(plan, records.values, _precedence(records, secret))
    phase("write")
    write_groups(plan, records, groups, places)


def write_groups(plan: BucketizationPlan, records: Records, groups: Integers, places: Places) -> None:
    """Write records in groups.

    Args:
        plan: says columns and format.
        records: the rows that take part.
        groups: by record its group, from 0 and without gaps, or `LEFT_OUT`; renumbered here.
        places: the files that are written.
    """
    kept = np.flatnonzero(groups != LEFT_OUT)
    published = records.of_groups(kept)
    ranks, _ = ranked(published.shown)
    value_ranks, _ = ranked(pa.table([published.sensitive], names=[plan.group.sensitive]))
    numbers = _numbered(groups[kept], ranks, value_ranks)
    order = np.lexsort((numbers, ranks))
    count = int(numbers.max(initial=0))
    columns = [*published.shown.take(pa.array(order)).columns, _group_texts(numbers[order], count)]
    _write(plan.write.records, plan.write.format, columns, places.records)
    with open_link(places.link) as file:
        file.write(link_bytes(pa.array(published.rows[order])))
    _write_values(plan, numbers, value_ranks, published.sensitive, places.values)


def _grouped(plan: BucketizationPlan, codes: Integers, precedence: NDArray[np.uint64]) -> Integers:
    """By record its group; refuses where too many would be left out."""
    groups = groups_of(codes, precedence, plan.group.l)
    left_out = int((groups == LEFT_OUT).sum())
    if len(groups) == left_out or left_out > int(plan.group.suppression_limit * len(groups)):
        refused = GuaranteeError(
            f"column `{plan.group.sensitive}`",
            f"{plan.group.algorithm} cannot make groups of {plan.group.l} different values of it",
            f"no value that more than one in {plan.group.l} respondents have"
            + (", beyond those that may be left out" if plan.group.suppression_limit else ""),
            "lower l, or let `smalti:suppressionLimit` leave records out",
        )
        refused.attainable = _attainable(plan, codes)
        raise refused
    return groups


def _attainable(plan: BucketizationPlan, codes: Integers) -> tuple[str, ...]:
    """For the owner: the best l without leaving out, and what this l would leave out."""
    buckets = Buckets.of(codes, np.zeros(len(codes), np.uint64))
    largest = int(buckets.sizes.max(initial=0))
    least = len(codes) // largest if largest else 0
    most = buckets.most_kept(plan.group.l)
    left_out = len(codes) - int(np.minimum(buckets.sizes, most).sum()) if most else len(codes)
    return (
        f"{len(codes)} respondents",
        f"{plan.group.sensitive}: l = {least} with all of them",
        f"{left_out} of them left out at l = {plan.group.l}",
    )


def _value_codes(plan: BucketizationPlan, sensitive: Coded) -> Integers:
    """By record a number of its value, from 0 and without gaps; missing values are one, the first."""
    column = plan.column(plan.group.sensitive)
    book = make_codebook(sensitive.texts, column.datatype, column.time_zone, has_missing=True)
    by_text = np.concatenate([[-1], np.asarray(book.codes, np.int64)])
    codes: Integers = np.unique(by_text[sensitive.codes], return_inverse=True)[1].astype(np.int64)
    return codes


def _texts(column: Coded) -> pa.Array:
    places = pa.array(column.codes - 1, pa.int64(), mask=column.codes == MISSING)
    return column.texts.cast(_TEXT).take(places)


def _precedence(records: Records, secret: bytes) -> NDArray[np.uint64]:
    """By record a number that nobody can tell without the secret; the same for equal records."""
    key = hmac.digest(secret, _PURPOSE, hashlib.sha256)
    columns = (*(column.combine_chunks() for column in records.shown.columns), records.sensitive)
    fields = [_framed(column) for column in columns]
    distinct = pc.binary_join_element_wise(*fields, pa.scalar("", _TEXT)).dictionary_encode()
    digests = b"".join(
        hashlib.blake2b(record.encode(), digest_size=8, key=key).digest()
        for record in distinct.dictionary.to_pylist()
    )
    numbers = np.frombuffer(digests, ">u8").astype(np.uint64)
    of_records: NDArray[np.uint64] = numbers[distinct.indices.to_numpy()]
    return of_records


def _framed(texts: pa.Array) -> pa.Array:
    """Texts with their lengths before them, so that records differ exactly where a field does."""
    lengths = pc.cast(pc.binary_length(texts), _TEXT)
    framed = pc.binary_join_element_wise(lengths, texts, pa.scalar(":", _TEXT))
    return pc.fill_null(framed, pa.scalar("-", _TEXT))


def _numbered(groups: Integers, ranks: Integers, value_ranks: Integers) -> Integers:
    """By record the number of its group, from 1: in the order of what is published of it."""
    count = int(groups.max(initial=-1)) + 1
    ends = np.cumsum(np.bincount(groups, minlength=count))[:-1]
    contents = [
        [tuple(part.tolist()) for part in np.split(of_record[np.lexsort((of_record, groups))], ends)]
        for of_record in (ranks, value_ranks)
    ]
    keys = list(zip(*contents, strict=True)) if count else []
    numbers = np.zeros(count, np.int64)
    numbers[sorted(range(count), key=keys.__getitem__)] = np.arange(1, count + 1)
    return numbers[groups] if count else groups


def _group_texts(numbers: Integers, count: int) -> pa.Array:
    """Numbers of groups, all with as many digits, so that they are in order as texts, too."""
    width = len(str(count))
    texts = pa.array([str(number).rjust(width, "0") for number in range(1, count + 1)], _TEXT)
    return pa.DictionaryArray.from_arrays(pa.array(numbers - 1), texts)


def _write_values(
    plan: BucketizationPlan, numbers: Integers, ranks: Integers, texts: pa.Array, path: Path
) -> None:
    """Write each value of each group, with the number of records that have it."""
    width = int(ranks.max(initial=0)) + 1
    pairs, first, counts = np.unique(numbers * width + ranks, return_index=True, return_counts=True)
    columns = [
        _group_texts(pairs // width, int(numbers.max(initial=0))),
        texts.take(pa.array(first)),
        pa.array(list(map(str, counts.tolist())), _TEXT),
    ]
    _write(plan.write.values, plan.write.format, columns, path)


def _write(table: WriteTable, output_format: OutputFormat, columns: Sequence[pa.Array], path: Path) -> None:
    whole = pa.table(list(columns), names=list(table.columns)).combine_chunks()
    with closing(open_writer(path, table.columns, output_format)) as writer:
        for batch in whole.to_batches(max_chunksize=_ROWS):
            writer.write(batch)
