"""The verifier of two tables: records in groups, and the sensitive values of each group apart from them.

It shares no code with what makes the groups, and takes no group for another one than the bytes say. Both
tables are read again from the disk, and held in memory with what of the original they are compared with.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.plan import Column, OutputFormat, RespondentColumn
from smalti.engine.verify.columns import Coded, Codes, Table, broken, gathered, miscounted, pc
from smalti.engine.verify.form import Order
from smalti.engine.verify.labels import canonical
from smalti.engine.verify.promise import Property, PublishedCheck
from smalti.engine.verify.read import Link, Original, Output, read_original, read_output
from smalti.engine.verify.rows import (
    IsWithdrawn,
    columns_to_read,
    restricted,
    satisfying,
    still_participating,
)

_RECORDS: Final = "table of the records"
_VALUES: Final = "table of the sensitive values"
_RECOUNTED: Final = (Property.DIGEST, Property.GROUPS)
_NUMBER: Final = "[0-9]{1,18}"
"""Of a group: all have as many digits."""
_COUNT: Final = "[1-9][0-9]{0,17}"
_ATTESTED: Final = (Property.ROWS, Property.KEPT, Property.VALUES, Property.ONE_ROW)


@dataclass(frozen=True, slots=True)
class GroupsPromise:
    """What both tables must show: part of a plan, or of a certificate."""

    records: tuple[str, ...]
    """The header of the records; the last column is the number of the group."""
    values: tuple[str, ...]
    """The header of the values: group, value, count."""
    l: int  # noqa: E741 (the literature's name)
    sensitive: Column | None = None
    """How values are compared; None: as texts, of which equal values may have several."""
    dropped: tuple[str, ...] = ()
    """Columns that neither table may have."""

    @classmethod
    def of(cls, plan: BucketizationPlan) -> "GroupsPromise":
        """The promise of a plan."""
        dropped = (column.name for column in plan.read.columns if not column.role.is_published)
        write, sensitive = plan.write, plan.column(plan.group.sensitive)
        return cls(write.records.columns, write.values.columns, plan.group.l, sensitive, tuple(dropped))


@dataclass(frozen=True, slots=True)
class GroupsVerification:
    """Every promise was counted again and holds; for the owner."""

    rows: int
    """Published records: each is about another respondent."""
    groups: int
    least_rows: int
    """Records of the smallest group."""
    least_values: int
    """The least number of different values of a group."""
    most_alike: int
    """The most records of one group that have the same value."""
    output_digests: tuple[str, ...]
    """SHA-256 of the records' file, and of the values'."""
    input_digests: tuple[str, ...]
    rows_withdrawn: int
    rows_filtered: int
    rows_suppressed: int


@dataclass(frozen=True, slots=True)
class _Read:
    """Both tables, with the form that is promised."""

    records: Table
    values: Table
    groups: Codes
    """By record its group, from 0."""
    groups_of_values: Codes
    """By row of the values likewise."""
    counts: Codes
    digests: tuple[str, ...]

    @property
    def count(self) -> int:
        return int(self.groups.max(initial=-1)) + 1


def verify_groups(
    plan: BucketizationPlan,
    original: Original,
    files: tuple[Path, Path],
    link: Path,
    is_withdrawn: IsWithdrawn | None = None,
) -> GroupsVerification:
    """Check every promise of a run on the bytes that it wrote.

    Contract:
        Checked   headers and form; each input row that satisfies the filter, and is about nobody who
                  withdrew, published exactly once, but for those that the plan lets be left out; all
                  columns of records unchanged; the values of each group those of its records in the
                  original; in each group at least l of them different, as values of their datatype; counts;
                  no respondent with two records; the order of rows, and of the numbers of groups.
        Not       that the plan is what the policy asks; file metadata of Parquet.

    Args:
        plan: what was promised.
        original: the owner's files.
        files: the staged records, and the staged values.
        link: a `.npy` file of int64; entry i is the 0-based record of the original of published record i.
        is_withdrawn: tells whose rows must not be published; None: nobody withdrew.

    Raises:
        GuaranteeError: a promise is broken.
        DataError: the original cannot be read as the plan says.
        BackendError: a file cannot be opened.
    """
    promise = GroupsPromise.of(plan)
    read = _read(promise, files, plan.write.format)
    header = tuple(column.name for column in plan.read.columns)
    wanted = columns_to_read(plan, (*promise.records[:-1], plan.group.sensitive))
    owned = read_original(original, header, wanted)
    staying = still_participating(plan, owned, is_withdrawn)
    granted = staying[satisfying(plan, restricted(owned, staying))]
    linked = _linked(read, link, granted)
    left_out = len(granted) - len(linked)
    if left_out > int(plan.group.suppression_limit * len(granted)):
        raise broken(_RECORDS, "more are left out than the plan allows", "the limit of suppression")
    for name in promise.records[:-1]:
        _check_kept(name, owned.columns[name].rows(linked), read.records.columns[name])
    _check_respondents(plan, owned, linked)
    originals = owned.columns[plan.group.sensitive].rows(linked)
    _check_values(read, originals, read.values.columns[promise.values[1]])
    least_values = _check_groups(promise, read)
    return GroupsVerification(
        read.records.rows,
        read.count,
        int(np.bincount(read.groups).min(initial=read.records.rows)),
        least_values,
        int(read.counts.max(initial=0)),
        read.digests,
        owned.digests,
        owned.rows - len(staying),
        len(staying) - len(granted),
        left_out,
    )


def verify_published_groups(
    promise: GroupsPromise,
    files: tuple[Path, Path],
    file_format: OutputFormat,
    digests: tuple[str, str] | None = None,
) -> PublishedCheck:
    """Check what the published bytes can show, without the owner's data.

    Args:
        promise: from the certificate.
        files: the records, and the values.
        file_format: of both.
        digests: the recorded SHA-256 of each file; None leaves them unchecked.

    Raises:
        GuaranteeError: a promise is broken, or the bytes are not the recorded ones.
        BackendError: a file cannot be opened.
    """
    read = _read(promise, files, file_format)
    if digests is not None:
        for path, here, there in zip(files, read.digests, digests, strict=True):
            if here != there:
                raise broken(path.name, "its bytes are not those that were recorded", "the recorded digest")
    least_values = _check_groups(promise, read)
    return PublishedCheck(
        read.records.rows,
        read.count,
        int(np.bincount(read.groups).min(initial=read.records.rows)),
        ((promise.values[1], least_values),),
        read.digests,
        _RECOUNTED if digests is not None else (Property.GROUPS,),
        _ATTESTED if digests is not None else (*_ATTESTED, Property.DIGEST),
    )


# --- Reading


def _read(promise: GroupsPromise, files: tuple[Path, Path], file_format: OutputFormat) -> _Read:
    records, values = (
        _table(path, file_format, header, promise.dropped)
        for path, header in zip(files, (promise.records, promise.values), strict=True)
    )
    group, _, count = promise.values
    numbers = _numbers(records.columns[promise.records[-1]])
    numbers_of_values = _numbers(values.columns[group])
    _check_numbers(records.columns[promise.records[-1]], values.columns[group], numbers, numbers_of_values)
    counts = _numbers(values.columns[count], _COUNT)
    if (counts < 1).any():
        raise broken(_VALUES, "a count is none", "whole numbers above 0")
    digests = (*records.digests, *values.digests)
    return _Read(records, values, numbers - 1, numbers_of_values - 1, counts, digests)


def _table(
    path: Path, file_format: OutputFormat, header: tuple[str, ...], dropped: tuple[str, ...]
) -> Table:
    output, order = Output(path, file_format), Order(header)
    forbidden = tuple(name for name in dropped if name not in header)
    reading = read_output(output, header, forbidden)
    batches = []
    for batch in reading.batches(header, None):
        order.check(batch)
        batches.append(batch)
    columns, rows = gathered(batches)
    if not rows:
        raise broken(path.name, "it has no rows", "at least one group")
    return Table(columns, rows, reading.digests)


def _numbers(column: Coded, form: str = _NUMBER) -> Codes:
    """Whole numbers in a form; those of anything else are 0, which none is."""
    texts = column.values
    is_number = pc.match_substring_regex(texts, f"^{form}$").to_numpy(zero_copy_only=False)
    numbers = np.zeros(len(texts) + 1, np.int64)
    plain = texts.filter(pa.array(is_number))
    numbers[:-1][is_number] = [int(text) for text in plain.to_pylist()]
    read: Codes = numbers[column.codes]
    return read


def _check_numbers(records: Coded, values: Coded, of_records: Codes, of_values: Codes) -> None:
    """Check that groups are numbered from 1 without gaps, with as many digits each, in both tables."""
    count = min(int(of_records.max(initial=0)), len(of_records))
    expected = np.arange(1, count + 1)
    written = {str(number).rjust(len(str(count)), "0") for number in expected.tolist()}
    both = (set(records.values.to_pylist()), set(values.values.to_pylist()))
    has_gaps = any(not np.array_equal(np.unique(some), expected) for some in (of_records, of_values))
    if has_gaps or any(texts != written for texts in both):
        raise broken(
            "numbers of groups",
            "the two tables do not number the same groups from 1 on",
            "each group's number in both tables, all with as many digits",
        )


# --- Promises


def _linked(read: _Read, link: Path, granted: Codes) -> Codes:
    """The original row of each published record: each granted row at most once, and no other."""
    rows = Link(link)
    linked = rows.part(0, rows.rows)
    kept = len(np.unique(linked))
    if not len(linked) == read.records.rows == kept:
        raise miscounted(_RECORDS, read.records.rows, kept)
    if not np.isin(linked, granted).all():
        raise broken(
            _RECORDS,
            "it contains a row that the policy excludes or whose respondent withdrew",
            "rows that satisfy the plan's filter, of respondents who did not withdraw",
        )
    return linked


def _check_kept(name: str, before: Coded, after: Coded) -> None:
    if not np.array_equal(after.in_terms_of(before), before.codes):
        raise broken(f"column `{name}`", "a value differs from its original", "the original values")


def _check_respondents(plan: BucketizationPlan, owned: Table, linked: Codes) -> None:
    respondent = plan.read.respondent
    if isinstance(respondent, RespondentColumn):
        of_rows = owned.columns[respondent.column].rows(linked)
        people = _canonical_codes(plan.column(respondent.column), of_rows)
        if (of_rows.codes < 0).any() or len(np.unique(people)) != len(people):
            raise broken(_RECORDS, "a respondent has several records, or none is stated", "one of each")


def _check_values(read: _Read, originals: Coded, published: Coded) -> None:
    """Check that each group has the values of its records, each as often as it is said."""
    original_codes = published.in_terms_of(originals)
    width = len(originals.values) + 2
    pairs, times = np.unique(read.groups * width + originals.codes + 1, return_counts=True)
    said = read.groups_of_values * width + original_codes + 1
    order = np.argsort(said, kind="stable")
    is_same = (original_codes > -2).all() and np.array_equal(said[order], pairs)
    if not is_same or not np.array_equal(read.counts[order], times):
        raise broken(_VALUES, "a group has other values than its records have", "those of its records")


def _check_groups(promise: GroupsPromise, read: _Read) -> int:
    """Check sizes, different values and the order of numbers; return the least number of such values."""
    sizes = np.bincount(read.groups, minlength=read.count)
    counted = np.zeros(read.count, np.int64)
    np.add.at(counted, read.groups_of_values, read.counts)
    if not np.array_equal(sizes, counted):
        raise broken(_VALUES, "the counts of a group are not the number of its records", "equal numbers")
    values = read.values.columns[promise.values[1]]
    if len(_pairs(read.groups_of_values, values.codes)) != read.values.rows:
        raise broken(_VALUES, "a value of a group stands there twice", "each value of a group once")
    codes = values.codes if promise.sensitive is None else _canonical_codes(promise.sensitive, values)
    different = _pairs(read.groups_of_values, codes) // (int(codes.max(initial=0)) + 2)
    least = int(np.bincount(different, minlength=read.count).min())
    if least < promise.l:
        raise broken(_VALUES, "a group has too few different values", f"l = {promise.l}")
    _check_order(promise, read)
    return least


def _pairs(groups: Codes, codes: Codes) -> Codes:
    """Each pair of a group and a value once, as the number of the group times that of values, and more."""
    pairs: Codes = np.unique(groups * (int(codes.max(initial=0)) + 2) + codes + 1)
    return pairs


def _canonical_codes(column: Column, values: Coded) -> Codes:
    """By row a number of its value, the same for equal values; -1 is a missing one."""
    texts = canonical(column, values.values)
    numbers: dict[str, int] = {}
    of_text = [numbers.setdefault(text, len(numbers)) for text in texts.to_pylist()]
    codes: Codes = np.array([*of_text, -1], np.int64)[values.codes]
    return codes


def _check_order(promise: GroupsPromise, read: _Read) -> None:
    """Check that groups are numbered in the order of what is published of them."""
    of_records = _places([read.records.columns[name] for name in promise.records[:-1]])
    of_values = np.repeat(_places([read.values.columns[promise.values[1]]]), read.counts)
    contents = zip(
        _sorted_within(read.groups, of_records),
        _sorted_within(np.repeat(read.groups_of_values, read.counts), of_values),
        strict=True,
    )
    for group, following in pairwise(contents):
        if group > following:
            raise broken(
                "numbers of groups",
                "they are not in the order of what is published of the groups, so they can reveal others",
                "groups numbered in the order of their records, then of their values",
            )


def _sorted_within(groups: Codes, places: Codes) -> list[list[int]]:
    order = np.lexsort((places, groups))
    cuts = np.cumsum(np.bincount(groups))[:-1]
    return [part.tolist() for part in np.split(places[order], cuts)]


def _places(columns: list[Coded]) -> NDArray[np.int64]:
    """By row its place among all, by these columns: bytewise, missing first; equal rows share one."""
    ranks = []
    for column in columns:
        order = np.argsort(np.array([text.encode() for text in column.values.to_pylist()], object))
        rank = np.empty(len(order) + 1, np.int64)
        rank[order], rank[-1] = np.arange(1, len(order) + 1), 0
        ranks.append(rank[column.codes])
    order = np.lexsort(ranks[::-1])
    differs = np.logical_or.reduce([np.diff(rank[order]) != 0 for rank in ranks])
    places = np.empty(len(order), np.int64)
    places[order] = np.concatenate([np.zeros(min(1, len(order)), np.int64), np.cumsum(differs)])
    return places
