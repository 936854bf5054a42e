"""The verifier: reads what was written again, and counts every promise again.

It shares no code with the transforms: its reader, its label grammar and its count of classes are
its own, so that a fault in a transform is not repeated here. It believes nothing but the plan, the
owner's file, the published bytes and the link between their rows, and shows the last to be a
permutation. Messages name columns and promises, never a value or a count.

    verify_run          before the commit: everything, through the link
    verify_published    later, without the owner's data: what the published bytes can show
    verify_against      later, with the owner's data but no link: everything, where it is determined
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.plan.any_plan import PlanOfColumns
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.masks import MaskedColumn, Noisy, Pseudonymized, RareCells
from smalti.engine.plan.plan import Column, OneRowEach, Plan, RespondentColumn
from smalti.engine.verify.against import verify_against
from smalti.engine.verify.categories import IsCategory
from smalti.engine.verify.columns import TEXT, Batch, Codes, Numbered, Table, broken, numbered
from smalti.engine.verify.count import MEMORY, ClassCount, Tree
from smalti.engine.verify.csv import BLOCK
from smalti.engine.verify.entries import IsCounted, IsCountedWithOthers, Keys, Values, count_rows
from smalti.engine.verify.figures import IsFigure
from smalti.engine.verify.form import Order
from smalti.engine.verify.join import (
    WINDOW,
    Check,
    Granted,
    IsCovered,
    IsFetched,
    IsKept,
    check_link,
    join,
    originals_at,
)
from smalti.engine.verify.masked_cells import (
    Collected,
    IsMasked,
    IsNoisy,
    check_sample,
    expected_texts,
    rare_values,
)
from smalti.engine.verify.nodes import root_label
from smalti.engine.verify.population import OriginalPopulation, check_population
from smalti.engine.verify.promise import (
    Counted,
    PopulationCount,
    Promise,
    Property,
    PublishedCheck,
    Verification,
    check_counted,
    shown,
)
from smalti.engine.verify.read import Link, Original, Output, open_original, read_output
from smalti.engine.verify.regions import check_regions
from smalti.engine.verify.rows import (
    IsWithdrawn,
    columns_to_read,
    restricted,
    satisfying,
    still_participating,
)
from smalti.engine.verify.stage import Arrays, StagedColumn, StagedTable
from smalti.engine.verify.suppressed import AtRoot
from smalti.errors import BackendError
from smalti.transforms.base import SINGLE_DIMENSIONAL_MONDRIAN

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

NO_HIERARCHIES: Final[Mapping[str, DeclaredHierarchy]] = {}
_KNOWN_FORMS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is held in memory at a time."""

    block: int = BLOCK
    """Bytes of a file that are parsed together."""
    window: int = WINDOW
    """Bytes of columns of the original."""
    seen: int = 1 << 26
    """Rows of the original that are ticked off together."""
    count: str = MEMORY
    """What the count of classes holds before it spills, as DuckDB writes sizes."""


def verify_run(  # noqa: PLR0913 (what a run has)
    plan: Plan,
    original: Original,
    output: Output,
    link: Path,
    is_withdrawn: IsWithdrawn | None = None,
    *,
    folder: Path | None = None,
    hierarchies: Mapping[str, DeclaredHierarchy] = NO_HIERARCHIES,
    population: OriginalPopulation | None = None,
    key: bytes = b"",
) -> Verification:
    """Check every promise of a run on the bytes that it wrote.

    Contract:
        Checked   header and form; each input row that satisfies the filter, and is about nobody who
                  withdrew, published exactly once (of a sample: all rows of a respondent, or none), and no
                  other; kept columns unchanged, or masked as the plan says; each label covers its
                  original, or is the figure or category of its class; of a coded column none has an end
                  beyond the threshold; k by respondents;
                  for each sensitive column by itself, no value held by all respondents of a class and,
                  for l-diversity, l values matched to l respondents; rows ordered by published values.
        Not       that the plan is what the policy asks; how samples and noise were drawn; file metadata of
                  Parquet.
        Cost      memory does not grow with the rows: some blocks of a file, a window of the original's
                  columns (`verify_join.WINDOW`), and the count of classes (`verify_count.MEMORY`). A
                  class in which several respondents hold several values each, and rare ones, is looked
                  at in memory. On the disk: columns of numbers and texts, smaller than the files.

    Args:
        plan: what was promised.
        original: the owner's files.
        output: the staged files.
        link: a `.npy` file of int64; entry i is the 0-based record of the original of published row i.
        is_withdrawn: tells whose rows must not be published; None: nobody withdrew.
        folder: a private place for what does not fit into memory, to be removed by the caller; None: one
            is made, and removed.
        hierarchies: by column, those that the plan has the digests of.
        population: the table of all persons, where the plan names one; it is held in memory.
        key: of pseudonyms, where the plan has some.

    Raises:
        GuaranteeError: a promise is broken.
        DataError: the original cannot be read as the plan says.
        BackendError: a file cannot be opened, or no memory or no disk is left.
    """
    with private_place(folder) as place:
        return verify_in(
            place, plan, original, output, link, is_withdrawn, Sizes(), hierarchies, population, key
        )


def verify_in(  # noqa: PLR0913, PLR0917 (`verify_run` with two more)
    place: Path,
    plan: Plan,
    original: Original,
    output: Output,
    link: Path,
    is_withdrawn: IsWithdrawn | None,
    sizes: Sizes,
    hierarchies: Mapping[str, DeclaredHierarchy] = NO_HIERARCHIES,
    population: OriginalPopulation | None = None,
    key: bytes = b"",
) -> Verification:
    """As `verify_run`, in an empty private folder, with so much in memory at a time."""
    return _Run(plan, place, sizes, hierarchies, population, key).verified(
        original, output, link, is_withdrawn
    )


def verify_published(
    promise: Promise, output: Output, digests: tuple[str, ...] | None = None, *, folder: Path | None = None
) -> PublishedCheck:
    """Check what the published bytes can show, without the owner's data.

    Rows are counted in place of respondents, so this can refute a promise and cannot prove it where
    respondents have several rows; the result says what stays attested.

    Args:
        promise: from the plan or the certificate.
        output: the published files.
        digests: the recorded SHA-256 of each file, in their order; None leaves them unchecked.
        folder: as for `verify_run`.

    Raises:
        GuaranteeError: a promise is broken, or the bytes are not the recorded ones.
        BackendError: the file cannot be opened, or no memory or no disk is left.
    """
    with private_place(folder) as place:
        published = _Published.read(promise, output, place, BLOCK)
        if digests is not None:
            _check_digests(output, published.digests, digests)
        unseen = [Property.ROWS, Property.KEPT, Property.COVERAGE]
        unseen += [Property.POPULATION if promise.guarantee.is_of_population else Property.RESPONDENTS]
        attested = tuple(unseen) if digests is not None else (*unseen, Property.DIGEST)
        with closing(ClassCount(place)) as count:
            values = {name: Values(published.table.columns[name], None) for name in promise.sensitive}
            count_rows(count, published.table, published.keys(promise), values)
            recounts = promise.recounts(by_rows=True)
            counted = count.counted(recounts, sensitive=promise.sensitive)
        return shown(published.table.rows, published.digests, counted, promise, attested, recounts)


def _check_digests(output: Output, actual: tuple[str, ...], recorded: tuple[str, ...]) -> None:
    for path, here, there in zip_longest(output.paths, actual, recorded):
        if here != there:
            where = output.path if path is None else path
            raise broken(where.name, "its bytes are not those that were recorded", "the recorded digest")


@contextmanager
def private_place(folder: Path | None) -> Iterator[Path]:
    """A new folder inside `folder`, or a temporary one that is removed at the end."""
    try:
        if folder is not None:
            yield Path(tempfile.mkdtemp(prefix="verify-", dir=folder))
            return
        with tempfile.TemporaryDirectory(prefix="verify-") as place:
            yield Path(place)
    except (OSError, MemoryError):
        raise BackendError(
            "verifier",
            "a step failed",
            "enough free memory and disk in the folder of the output",
            "free some space",
        ) from None


def staged_output(
    columns: tuple[str, ...], dropped: tuple[str, ...], output: Output, place: Path, block: int
) -> tuple[StagedTable, tuple[str, ...]]:
    """Stage a published table, whose form and order are as promised; and the digests of its files.

    Args:
        columns: that it must have.
        dropped: that it must not have.
        output: the files.
        place: a private folder.
        block: bytes of a file that are parsed together.

    Raises:
        GuaranteeError: form or order is another.
    """
    reading, order = read_output(output, columns, dropped), Order(columns)
    table = StagedTable(place, "published", columns)
    for batch in reading.batches(columns, place, block):
        order.check(batch)
        table.append(batch)
    return table, reading.digests


@dataclass(frozen=True, slots=True)
class _Published:
    """The published file, staged; its form and its order are as promised."""

    table: StagedTable
    digests: tuple[str, ...]

    @classmethod
    def read(cls, promise: Promise, output: Output, place: Path, block: int) -> "_Published":
        return cls(*staged_output(promise.columns, promise.dropped, output, place, block))

    def keys(self, promise: Promise) -> Keys:
        return Keys([self.table.columns[name] for name in promise.quasi_identifiers])


@dataclass(frozen=True, slots=True)
class Owned:
    """The original, staged."""

    granted: Granted
    digests: tuple[str, ...]
    rows_withdrawn: int
    rows_filtered: int

    @classmethod
    def read(
        cls,
        plan: PlanOfColumns,
        names: Sequence[str],
        original: Original,
        is_withdrawn: IsWithdrawn | None,
        place: Path,
        block: int,
    ) -> "Owned":
        """Stage some columns of the owner's files, and the respondent's; leave out what is not granted.

        Args:
            plan: says which rows take part.
            names: of the columns.
            original: the files.
            is_withdrawn: tells who withdrew.
            place: a private folder.
            block: bytes of a file that are parsed together.

        Raises:
            DataError: the files cannot be read as the plan says.
        """
        reading = open_original(original, [column.name for column in plan.read.columns])
        kept = [*names]
        match plan.read.respondent:
            case RespondentColumn(column) if column not in kept:
                kept.append(column)
        table = StagedTable(place, "original", kept)
        limits = Limits(plan, is_withdrawn, place)
        for batch in reading.batches(columns_to_read(plan, tuple(names)), place, block):
            table.append(limits.applied(batch) if limits.are_there else batch)
        return limits.owned(table, reading.digests)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that is verified in a place of its own."""

    plan: Plan
    place: Path
    sizes: Sizes
    hierarchies: Mapping[str, DeclaredHierarchy]
    population: OriginalPopulation | None = None
    key: bytes = field(default=b"", repr=False)

    def verified(
        self, original: Original, output: Output, link: Path, is_withdrawn: IsWithdrawn | None
    ) -> Verification:
        promise = Promise.of(self.plan)
        published = _Published.read(promise, output, self.place, self.sizes.block)
        owned = self._owned(promise, original, is_withdrawn)
        rows = Link(link)
        chosen = self.plan.apply.transform.lattice_terms
        is_sample = self.plan.sampling_rate is not None
        left_out = check_link(
            owned.granted,
            rows,
            published.table.rows,
            self.sizes.seen,
            may_leave_out=chosen.leaves_out or is_sample,
        )
        counted = self._joined(promise, published, owned.granted, rows, left_out)
        check_counted(promise, counted, promise.recounts())
        for column in self.plan.read.columns:
            if column.region is not None:
                check_regions(column, column.region, published.table)
        of_population = self._population(promise, published, owned.granted, rows)
        return Verification(
            published.table.rows,
            counted.classes,
            counted.respondents,
            counted.k,
            counted.diversity_of(promise),
            published.digests,
            owned.digests,
            owned.rows_withdrawn,
            owned.rows_filtered,
            counted.reached_of(promise),
            0 if is_sample else len(left_out),
            counted.people_left_out,
            of_population,
            len(left_out) if is_sample else 0,
        )

    def _population(
        self, promise: Promise, published: _Published, granted: Granted, link: Link
    ) -> PopulationCount | None:
        """The count of a population's persons; None where the plan names no population.

        Raises:
            GuaranteeError: a promise about them is broken, or there is no table of them.
        """
        plan = self.plan
        if plan.read.population is None and not promise.guarantee.is_of_population:
            return None
        if plan.read.population is None or self.population is None:
            raise broken("plan", "it promises something of a population that is not there", "its table")
        people = None
        if isinstance(plan.read.respondent, RespondentColumn):
            column = granted.table.columns[plan.read.respondent.column]
            texts = pa.chunked_array(
                [column.texts(extent.number) for extent in granted.table.extents], TEXT
            )
            people = numbered(texts.take(pa.array(link.part(0, link.rows)))).coded
        return check_population(plan, promise, published.table, people, self.population, self.hierarchies)

    def _joined(
        self, promise: Promise, published: _Published, granted: Granted, link: Link, left_out: Codes
    ) -> Counted:
        plan, before, after = self.plan, granted.table.columns, published.table.columns
        checks: list[Check] = [
            self._unchanged(name, before[name], after[name], granted) for name in promise.kept
        ]
        checks += [
            IsCovered(
                plan.column(name),
                before[name],
                after[name],
                self.hierarchies.get(name),
                plan.codes_of(name),
            )
            for name in promise.quasi_identifiers
            if not plan.column(name).is_published_as_figures
        ]
        keys = published.keys(promise)
        checks += self._figures(promise, before, after, keys)
        chosen = plan.apply.transform.lattice_terms
        at_root = self._at_root(promise, before, after) if chosen.keeps_suppressed else None
        checks += [at_root] if at_root is not None else []
        if chosen.leaves_out:
            if plan.mask is not None and (plan.sampling_rate is not None or plan.masks(promise.sensitive)):
                raise broken(
                    "plan", "nothing tells why a record is left out of a masked table", "all records"
                )
            return self._joined_with_others(promise, granted, link, left_out, checks, published)
        with closing(ClassCount(self.place, memory=self.sizes.count)) as count:
            as_published = plan.once_masked
            values = {name: Values(after[name], as_published.column(name)) for name in promise.sensitive}
            match plan.read.respondent:
                case RespondentColumn(column):
                    people = plan.column(column)
                    counting = IsCounted(count, published.table, keys, values, people, before[column])
                    sampled = [] if plan.sampling_rate is None else [Collected(people, before[column])]
                    join(published.table, granted, link, [*checks, counting, *sampled], self.sizes.window)
                    for each in sampled:
                        check_sample(people, granted, left_out, each)
                case OneRowEach():
                    join(published.table, granted, link, checks, self.sizes.window)
                    count_rows(count, published.table, keys, values)
            orders = [each.order for each in values.values()]
            trees = [self._tree_of(as_published.column(name), each) for name, each in values.items()]
            counted = count.counted(promise.recounts(), orders, promise.sensitive, trees)
        if at_root is None:
            return counted
        return replace(counted, people_left_out=at_root.people_within(chosen.suppression_limit, counted))

    def _unchanged(self, name: str, before: StagedColumn, after: StagedColumn, granted: Granted) -> Check:
        """That a column is published as it came, as its pseudonyms, or as a single technique leaves it."""
        column = self.plan.column(name)
        node: MaskedColumn | None = next((each for each in self.plan.masked if each.column == name), None)
        if column.pseudonym_key is not None:
            node = Pseudonymized(name, column.pseudonym_key)
        if node is None:
            return IsKept(name, before, after)
        if isinstance(node, Noisy):
            return IsNoisy(node, before, after)
        rare: frozenset[str] = frozenset()
        if isinstance(node, RareCells):
            who = self.plan.read.respondent
            people = self.plan.column(who.column) if isinstance(who, RespondentColumn) else None
            rare = rare_values(column, granted, people, node.minimum)
        expected = partial(expected_texts, node, column, self.hierarchies.get(name), self.key, rare)
        return IsMasked(name, before, after, expected)

    def _figures(
        self,
        promise: Promise,
        before: Mapping[str, StagedColumn],
        after: Mapping[str, StagedColumn],
        keys: Keys,
    ) -> Iterator[Check]:
        """What recounts figures: of classes, or where whole domains are cut, of all rows with a label."""
        people, respondent = None, self.plan.read.respondent
        if not self.plan.has_figures:
            return
        if isinstance(respondent, RespondentColumn):
            people = self.plan.column(respondent.column), before[respondent.column]
        for number, name in enumerate(promise.quasi_identifiers):
            column = self.plan.column(name)
            if column.is_published_as_figures:
                alone = self.plan.apply.transform.class_maker == SINGLE_DIMENSIONAL_MONDRIAN
                of_column = Keys([after[name]]) if alone else keys
                place = self.place / f"figures-{number}"
                compared = column, of_column, before[name], after[name], people, place, self.sizes.count
                if column.is_published_as_categories:
                    yield IsCategory(*compared, self.hierarchies.get(name))
                else:
                    yield IsFigure(*compared)

    def _at_root(
        self, promise: Promise, before: Mapping[str, StagedColumn], after: Mapping[str, StagedColumn]
    ) -> AtRoot:
        """What counts the respondents whose records show the root of each hierarchy."""
        plan = self.plan
        roots = [
            (after[name], root_label(plan.column(name), self.hierarchies.get(name)))
            for name in promise.quasi_identifiers
        ]
        respondent = plan.read.respondent
        people = plan.column(respondent.column) if isinstance(respondent, RespondentColumn) else None
        place = promise.quasi_identifiers[0] if people is None else people.name
        who = None if people is None else Values(before[people.name], people)
        return AtRoot(roots, place, who)

    def _joined_with_others(
        self,
        promise: Promise,
        granted: Granted,
        link: Link,
        left_out: Codes,
        checks: list[Check],
        published: _Published,
    ) -> Counted:
        """The same where records may be left out: they are part of the table that classes are held against.

        Raises:
            GuaranteeError: records of more respondents are left out than may be.
        """
        plan, limit = self.plan, self.plan.apply.transform.lattice_terms.suppression_limit
        respondent = plan.read.respondent
        people = plan.column(respondent.column) if isinstance(respondent, RespondentColumn) else None
        sensitive = [plan.column(name) for name in promise.sensitive]
        with closing(ClassCount(self.place, memory=self.sizes.count)) as count:
            counting = IsCountedWithOthers(
                count, published.keys(promise), granted.table.columns, sensitive, people
            )
            joined = (*checks, counting, *(IsFetched(name) for name in counting.names))
            join(published.table, granted, link, joined, self.sizes.window)
            for rows, originals in originals_at(granted, left_out, counting.names, self.sizes.window):
                counting.leave_out(originals, rows)
            lacking, everybody = count.people_left_out()
            if lacking * limit.denominator > everybody * limit.numerator:
                raise broken(
                    "published output",
                    "records of more respondents are left out than the plan allows",
                    "no more than its limit of suppression",
                )
            orders = [each.order for each in counting.values.values()]
            trees = [self._tree_of(column, counting.values[column.name]) for column in sensitive]
            counted = count.counted(promise.recounts(), orders, promise.sensitive, trees)
            return replace(counted, people_left_out=lacking)

    def _tree_of(self, column: Column, values: Values) -> Tree | None:
        """What finds the nodes of a sensitive column's values, where it has a hierarchy."""
        hierarchy = self.hierarchies.get(column.name)
        if column.hierarchy is None or hierarchy is None:
            return None
        return lambda counted: values.tree(counted, hierarchy)

    def _owned(self, promise: Promise, original: Original, is_withdrawn: IsWithdrawn | None) -> Owned:
        return Owned.read(self.plan, promise.columns, original, is_withdrawn, self.place, self.sizes.block)


class Limits:
    """Leaves out the rows that must not be published."""

    def __init__(self, plan: PlanOfColumns, is_withdrawn: IsWithdrawn | None, place: Path) -> None:
        self.are_there = plan.filter is not None or is_withdrawn is not None
        self._plan = plan
        self._is_withdrawn = lru_cache(_KNOWN_FORMS)(is_withdrawn) if is_withdrawn else None
        self._flags = Arrays(place / "original.flags")
        self._withdrawn = 0
        self._filtered = 0

    def applied(self, batch: Batch) -> Batch:
        """The batch without texts of rows that are left out; which these are is noted."""
        columns = {name: column.coded for name, column in batch.columns.items()}
        whole = Table(columns, batch.rows, ())
        here = still_participating(self._plan, whole, self._is_withdrawn)
        there = restricted(whole, here)
        kept = satisfying(self._plan, there)
        self._withdrawn += whole.rows - there.rows
        self._filtered += there.rows - len(kept)
        rows = here[kept]
        flags = np.zeros(batch.rows, np.uint8)
        flags[rows] = 1
        self._flags.append(flags)
        return Batch(
            {name: _blanked(column, rows) for name, column in batch.columns.items()}, batch.repeats
        )

    def owned(self, table: StagedTable, digests: tuple[str, ...]) -> Owned:
        granted = Granted(
            table,
            self._flags if self.are_there else None,
            table.rows - self._withdrawn - self._filtered,
        )
        return Owned(granted, digests, self._withdrawn, self._filtered)


def _blanked(column: Numbered, rows: Codes) -> Numbered:
    """The column with a missing value in all other rows, and without their texts."""
    used, numbers = np.unique(column.numbers[rows], return_inverse=True)
    blanked = np.full(len(column.numbers), len(used), np.int32)
    blanked[rows] = numbers
    texts = pa.chunked_array([column.texts.take(pa.array(used)), pa.array([""], TEXT)]).combine_chunks()
    return Numbered(blanked, texts)
