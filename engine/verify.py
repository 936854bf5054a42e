"""The verifier: reads what was written again, and counts every promise again.

It shares no code with the transforms: its reader, its label grammar and its count of classes are
its own, so that a fault in a transform is not repeated here. It believes nothing but the plan, the
owner's file, the published bytes and the link between their rows, and shows the last to be a
permutation. Messages name columns and promises, never a value or a count.

    verify_run          before the commit: everything, through the link
    verify_published    later, without the owner's data: what the published bytes can show
    verify_against      later, with the owner's data but no link: everything, where it is determined
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import pyarrow as pa

from smalti.engine.plan import OneRowEach, Plan, RespondentColumn, Role
from smalti.engine.verify_classes import Groups, diversity, group, least_respondents
from smalti.engine.verify_labels import Coverage, by_value, coverage
from smalti.engine.verify_read import (
    MISSING,
    Coded,
    Codes,
    Original,
    Output,
    Table,
    broken,
    pc,
    read_link,
    read_original,
    read_output,
)
from smalti.engine.verify_rows import (
    IsWithdrawn,
    columns_of_filter,
    restricted,
    satisfying,
    still_participating,
)
from smalti.errors import GuaranteeError
from smalti.transforms.base import Guarantee

__all__ = [
    "Original",
    "Output",
    "Promise",
    "Property",
    "PublishedCheck",
    "Verification",
    "verify_against",
    "verify_published",
    "verify_run",
]

_LARGEST_SEARCH = 2_000_000_000
_CHUNK = 4_000_000


class Property(StrEnum):
    """What a run promises of its output; the text says it to people."""

    FORM = "the header is the promised one, no dropped column is present"
    ORDER = "rows are ordered by published values only"
    DIGEST = "the bytes are those that were recorded"
    ROWS = "each input row that the plan keeps is published exactly once, and no other"
    KEPT = "sensitive and released values are unchanged"
    COVERAGE = "each published quasi-identifier covers its original"
    CLASS_ROWS = "each equivalence class has enough rows, with enough sensitive values"
    RESPONDENTS = "each equivalence class has enough respondents, told apart by sensitive values"


@dataclass(frozen=True, slots=True)
class Promise:
    """What the published bytes must show: part of a plan, or of a certificate."""

    columns: tuple[str, ...]
    """The header."""
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    dropped: tuple[str, ...]
    guarantee: Guarantee

    @classmethod
    def of(cls, plan: Plan) -> "Promise":
        """The promise of a plan.

        A column is taken as generalised, or as sensitive, when either its role or the transform
        says so.
        """
        transform, columns = plan.apply.transform, plan.write.columns
        roles = {column.name: column.role for column in plan.read.columns}

        def having(role: Role, named: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in columns if roles.get(name) is role or name in named)

        return cls(
            columns,
            having(Role.QUASI_IDENTIFIER, transform.quasi_identifiers),
            having(Role.SENSITIVE, transform.sensitive),
            tuple(name for name, role in roles.items() if not role.is_published),
            transform.guarantee,
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are published as they came."""
        return tuple(name for name in self.columns if name not in self.quasi_identifiers)


@dataclass(frozen=True, slots=True)
class Verification:
    """Every promise was counted again and holds. For the owner: k and values can exceed the promise."""

    rows: int
    """Published."""
    classes: int
    respondents: int
    k: int
    """Least number of respondents in a class; 0 if there is no row."""
    diversity: tuple[tuple[str, int], ...]
    """For each sensitive column: the least number of values, over the classes, that can be matched to
    different respondents (with one row each: of different values)."""
    output_digest: str
    """SHA-256 of the published bytes that were checked: commit these, or none."""
    input_digest: str
    """SHA-256 of the owner's file. Private: it lets a reader test guesses of a small table."""
    rows_withdrawn: int = 0
    """Left out, for they are about people who withdrew."""
    rows_filtered: int = 0
    """Left out of the others, for they do not satisfy the plan's filter."""


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """What published bytes show by themselves; rows are counted, not respondents."""

    rows: int
    classes: int
    least_rows: int
    """Rows in the smallest class: at least as many as its respondents."""
    distinct: tuple[tuple[str, int], ...]
    """For each sensitive column: the least number of different values in a class."""
    output_digest: str
    recounted: tuple[Property, ...]
    attested: tuple[Property, ...]
    """Shown when the run was verified, and taken on trust here."""


def verify_run(
    plan: Plan, original: Original, output: Output, link: Path, is_withdrawn: IsWithdrawn | None = None
) -> Verification:
    """Check every promise of a run on the bytes that it wrote.

    Contract:
        Checked   header and form; each input row that satisfies the filter, and is about nobody who
                  withdrew, published exactly once, and no other; kept columns unchanged; each
                  label covers its original; k by respondents; for each sensitive column by itself,
                  no value held by all respondents of a class and, for l-diversity, l values matched
                  to l respondents; rows ordered by published values.
        Not       that the plan is what the policy asks; file metadata of Parquet.
        Cost      the coded columns of both files in memory, and a published Parquet file as a whole.

    Args:
        plan: what was promised.
        original: the owner's file.
        output: the staged file.
        link: a `.npy` file of int64; entry i is the 0-based record of the original of published row i.
        is_withdrawn: tells whose rows must not be published; None: nobody withdrew.

    Raises:
        GuaranteeError: a promise is broken.
        DataError: the original cannot be read as the plan says.
        BackendError: a file cannot be opened.
    """
    promise = Promise.of(plan)
    published = read_output(output, promise.columns, promise.dropped)
    granted = _Granted.of(plan, _read_owned(plan, promise, original), is_withdrawn)
    owned = granted.table
    rows = granted.numbers_within(read_link(link))
    _check_permutation(rows, owned.rows, published.rows)
    linked = Table(
        {name: column.rows(rows) for name, column in owned.columns.items()}, owned.rows, owned.digest
    )
    _check_order(promise, published)
    for name in promise.kept:
        if not np.array_equal(
            published.columns[name].in_terms_of(linked.columns[name]), linked.columns[name].codes
        ):
            raise broken(f"column `{name}`", "published values differ from the original ones", "no change")
    for name in promise.quasi_identifiers:
        _check_coverage(plan, name, linked.columns[name], published.columns[name])
    return granted.told(_recounted(plan, promise, linked, published, _classes(promise, published)))


def verify_published(promise: Promise, output: Output, digest: str | None = None) -> PublishedCheck:
    """Check what the published bytes can show, without the owner's data.

    Rows are counted in place of respondents, so this can refute a promise and cannot prove it where
    respondents have several rows; the result says what stays attested.

    Args:
        promise: from the plan or the certificate.
        output: the published file.
        digest: the recorded SHA-256 of the file; None leaves it unchecked.

    Raises:
        GuaranteeError: a promise is broken, or the bytes are not the recorded ones.
        BackendError: the file cannot be opened.
    """
    published = read_output(output, promise.columns, promise.dropped)
    if digest is not None and published.digest != digest:
        raise broken(output.path.name, "its bytes are not those that were recorded", "the recorded digest")
    _check_order(promise, published)
    unseen = (Property.ROWS, Property.KEPT, Property.COVERAGE, Property.RESPONDENTS)
    return _shown(promise, published, unseen, is_digest_known=digest is not None)


def verify_against(
    plan: Plan, original: Original, output: Output, is_withdrawn: IsWithdrawn | None = None
) -> Verification | PublishedCheck:
    """Repeat the checks of a run with the owner's data, without the link.

    Where the labels of a published row cover an original row, the row can belong to its class. If each
    original row can belong to one class only, which is so when the cuts do not overlap, then a link
    exists exactly when each class has the same kept rows on both sides, and every promise is counted
    again. Otherwise, or when the search would be too long, kept columns and row numbers are compared
    for the table as a whole, and the rest as `verify_published` does. (A rerun of the plan, and a
    comparison of bytes, shows everything for deterministic transforms.)

    Raises:
        GuaranteeError: a promise is broken.
        DataError: the original cannot be read as the plan says.
        BackendError: a file cannot be opened.
    """
    promise = Promise.of(plan)
    published = read_output(output, promise.columns, promise.dropped)
    granted = _Granted.of(plan, _read_owned(plan, promise, original), is_withdrawn)
    owned = granted.table
    if published.rows != owned.rows:
        raise broken(
            output.path.name, "rows were lost or added", "as many rows as the plan keeps of the original"
        )
    _check_order(promise, published)
    classes = _classes(promise, published)
    belongs = _only_classes(plan, promise, owned, published, classes)
    _check_same_rows(promise, owned, published, belongs, classes)
    if belongs is None:
        unseen = (Property.ROWS, Property.COVERAGE, Property.RESPONDENTS)
        return _shown(promise, published, unseen, is_digest_known=False)
    return granted.told(_recounted(plan, promise, owned, published, Groups(belongs, classes.count)))


@dataclass(frozen=True, slots=True)
class _Granted:
    """The rows of the original that may be published."""

    table: Table
    """With these rows alone, in the order of the file."""
    numbers: Codes | None
    """Their places in the file; None where they are all rows."""
    rows_withdrawn: int
    rows_filtered: int

    @classmethod
    def of(cls, plan: Plan, owned: Table, is_withdrawn: IsWithdrawn | None) -> "_Granted":
        if plan.filter is None and is_withdrawn is None:
            return cls(owned, None, 0, 0)
        here = still_participating(plan, owned, is_withdrawn)
        there = restricted(owned, here)
        kept = satisfying(plan, there)
        return cls(restricted(there, kept), here[kept], owned.rows - there.rows, there.rows - len(kept))

    def numbers_within(self, link: Codes) -> Codes:
        """A link to rows of the file as one to rows of `table`.

        Raises:
            GuaranteeError: it leads to a row that must not be published.
        """
        if self.numbers is None:
            return link
        places = np.searchsorted(self.numbers, link)
        found = np.append(self.numbers, -1)[np.minimum(places, len(self.numbers))]
        if (found != link).any():
            raise broken(
                "published output",
                "it holds a row that the policy leaves out, or whose respondent withdrew",
                "rows that satisfy the plan's filter, of respondents who did not withdraw",
            )
        return places.astype(np.int64)

    def told(self, verification: Verification) -> Verification:
        return replace(verification, rows_withdrawn=self.rows_withdrawn, rows_filtered=self.rows_filtered)


def _read_owned(plan: Plan, promise: Promise, original: Original) -> Table:
    wanted = list(promise.columns)
    match plan.read.respondent:
        case RespondentColumn(column) if column not in wanted:
            wanted.append(column)
    wanted += sorted(columns_of_filter(plan) - set(wanted))
    if not set(wanted) <= {column.name for column in plan.read.columns}:
        raise broken("plan", "it publishes a column that it does not read", "columns of the input")
    return read_original(original, [column.name for column in plan.read.columns], wanted)


def _check_permutation(link: Codes, rows_in: int, rows_out: int) -> None:
    is_whole = len(link) == rows_in == rows_out
    if is_whole and rows_in:
        is_whole = link.min() >= 0 and link.max() < rows_in and bool((np.bincount(link) == 1).all())
    if not is_whole:
        raise broken("published output", "rows were lost or doubled", "each input row exactly once")


def _check_order(promise: Promise, published: Table) -> None:
    """Adjacent rows, by all published columns: bytewise, missing first."""
    undecided = np.arange(max(published.rows - 1, 0))
    for name in promise.columns:
        column = published.columns[name]
        left, right = column.codes[undecided], column.codes[undecided + 1]
        differ = np.flatnonzero(left != right)
        if not _is_ascending(column, left[differ], right[differ]):
            raise broken(
                f"column `{name}`",
                "rows are not in the order of the published values, so their order can tell originals",
                "rows ordered by all published columns, bytewise, missing first",
            )
        undecided = undecided[left == right]


def _is_ascending(column: Coded, left: Codes, right: Codes) -> bool:
    if (right == MISSING).any():
        return False
    texts = left != MISSING
    lesser, greater = (column.values.take(pa.array(side[texts])) for side in (left, right))
    return bool(pc.all(pc.less(lesser, greater), min_count=0).as_py())


def _check_coverage(plan: Plan, name: str, original: Coded, published: Coded) -> None:
    labels = coverage(plan.column(name), original, published)
    pairs = group([published.codes, original.codes]).first_rows()
    if not labels.claims(published.codes[pairs], original.codes[pairs]).all():
        raise broken(
            f"column `{name}`", "a published value does not cover its original", "generalised values"
        )


def _classes(promise: Promise, published: Table) -> Groups:
    codes = [published.columns[name].codes for name in promise.quasi_identifiers]
    return group(codes or [np.zeros(published.rows, np.int64)])


def _respondents(plan: Plan, owned: Table) -> Codes:
    match plan.read.respondent:
        case RespondentColumn(column):
            codes = by_value(plan.column(column), owned.columns[column])
            if (codes == MISSING).any():
                raise broken(
                    f"column `{column}`", "a row states no respondent", "a respondent for each row"
                )
            return codes
        case OneRowEach():
            return np.arange(owned.rows)


def _recounted(
    plan: Plan, promise: Promise, owned: Table, published: Table, classes: Groups
) -> Verification:
    """Count the classes of the original rows by respondents.

    `owned` and `classes` have one entry for each original row, in the same order.
    """
    respondents = _respondents(plan, owned)
    values = [by_value(plan.column(name), owned.columns[name]) for name in promise.sensitive]
    k, found = _counted(promise, classes, respondents, values)
    return Verification(
        published.rows,
        classes.count,
        group([respondents]).count,
        k,
        found,
        published.digest,
        owned.digest,
    )


def _counted(
    promise: Promise, classes: Groups, respondents: Codes, sensitive: Sequence[Codes]
) -> tuple[int, tuple[tuple[str, int], ...]]:
    guarantee = promise.guarantee
    k = least_respondents(classes, respondents)
    if classes.count and k < guarantee.k:
        raise _unmet(f"{guarantee.model}: an equivalence class has too few respondents")
    found = []
    for name, codes in zip(promise.sensitive, sensitive, strict=True):
        result = diversity(classes, respondents, codes)
        if result.is_homogeneous:
            raise _unmet(f"{guarantee.model}: one value of `{name}` is certain for all of a class")
        if classes.count and guarantee.l is not None and result.least_values < guarantee.l:
            raise _unmet(f"{guarantee.model}: a class has too few values of `{name}` for its respondents")
        found.append((name, result.least_values))
    return k, tuple(found)


def _unmet(problem: str) -> GuaranteeError:
    return broken("published output", problem, "what the plan guarantees")


def _shown(
    promise: Promise, published: Table, unseen: tuple[Property, ...], *, is_digest_known: bool
) -> PublishedCheck:
    classes = _classes(promise, published)
    values = [published.columns[name].codes for name in promise.sensitive]
    least, distinct = _counted(promise, classes, np.arange(published.rows), values)
    attested = unseen if is_digest_known else (*unseen, Property.DIGEST)
    recounted = tuple(each for each in Property if each not in attested)
    return PublishedCheck(
        published.rows, classes.count, least, distinct, published.digest, recounted, attested
    )


def _only_classes(
    plan: Plan, promise: Promise, owned: Table, published: Table, classes: Groups
) -> Codes | None:
    """The class of each original row, or None if some row fits several or the search is too long."""
    names = promise.quasi_identifiers
    labels = [coverage(plan.column(name), owned.columns[name], published.columns[name]) for name in names]
    if not names:
        return np.zeros(owned.rows, np.int64)
    tuples = group([owned.columns[name].codes for name in names])
    if tuples.count * classes.count > _LARGEST_SEARCH:
        return None
    ours = [owned.columns[name].codes[tuples.first_rows()] for name in names]
    theirs = [published.columns[name].codes[classes.first_rows()] for name in names]
    search = _Search.over(list(zip(labels, ours, theirs, strict=True)))
    found = np.empty(tuples.count, np.int64)
    step = max(1, _CHUNK // max(classes.count, 1))
    for start in range(0, tuples.count, step):
        numbers = np.arange(start, min(start + step, tuples.count))
        of_tuple, of_class = search.fits(numbers)
        fitting = np.bincount(of_tuple - start, minlength=len(numbers))
        if (fitting == 0).any():
            raise broken("published output", "an original row is covered by no published row", "coverage")
        if (fitting > 1).any():
            return None
        found[of_tuple] = of_class
    return found[tuples.ids]


@dataclass(frozen=True, slots=True)
class _Search:
    """For each column, the most telling first: its labels, codes of original tuples and of classes."""

    columns: tuple[tuple[Coverage, Codes, Codes], ...]

    @classmethod
    def over(cls, columns: list[tuple[Coverage, Codes, Codes]]) -> "_Search":
        def share(column: tuple[Coverage, Codes, Codes]) -> float:
            labels, ours, theirs = column
            sample = ours[:: max(1, len(ours) // 64)]
            return float(labels.claims(theirs[None, :], sample[:, None]).mean())

        return cls(tuple(sorted(columns, key=share)) if len(columns[0][1]) else tuple(columns))

    def fits(self, tuples: Codes) -> tuple[Codes, Codes]:
        """The pairs of these original tuples and of classes whose labels cover them."""
        labels, ours, theirs = self.columns[0]
        rows, of_class = np.nonzero(labels.claims(theirs[None, :], ours[tuples][:, None]))
        of_tuple = tuples[rows]
        for labels, ours, theirs in self.columns[1:]:
            covered = labels.claims(theirs[of_class], ours[of_tuple])
            of_tuple, of_class = of_tuple[covered], of_class[covered]
        return of_tuple, of_class


def _check_same_rows(
    promise: Promise, owned: Table, published: Table, belongs: Codes | None, classes: Groups
) -> None:
    """Compare kept rows as multisets: in each class where it is known, otherwise in the table."""
    before = [owned.columns[name].codes for name in promise.kept]
    after = [published.columns[name].in_terms_of(owned.columns[name]) for name in promise.kept]
    if any((codes < MISSING).any() for codes in after):
        raise broken("published output", "a kept value is not in the original", "no change")
    if belongs is not None:
        before.append(belongs)
        after.append(classes.ids)
    if not before:
        return
    both = group([np.concatenate(pair) for pair in zip(before, after, strict=True)])
    first, second = both.ids[: owned.rows], both.ids[owned.rows :]
    expected, found = (np.bincount(side, minlength=both.count) for side in (first, second))
    if not np.array_equal(expected, found):
        raise broken(
            "published output", "its rows are not the original ones, generalised", "kept columns unchanged"
        )
