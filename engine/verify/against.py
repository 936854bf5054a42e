"""Verification with the owner's data, without the link between the rows.

Both files are held in memory, for each original row is compared with each class: about 400 bytes for each
row of nine columns (a million rows: 400 MB), where `verify_run` needs the same for any number of rows. No
command does so: `smalti verify --data` runs the plan again, and verifies it through the link.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Column, OneRowEach, Plan, RespondentColumn
from smalti.engine.verify.classes import Diversity, Groups, diversity, group, least_respondents
from smalti.engine.verify.columns import MISSING, Batch, Coded, Codes, Table, broken, gathered, miscounted
from smalti.engine.verify.distributions import DistributionRecount, Held, Judged
from smalti.engine.verify.form import Order
from smalti.engine.verify.labels import Coverage, by_value
from smalti.engine.verify.nodes import coverage, tree_of
from smalti.engine.verify.promise import (
    Counted,
    Promise,
    Property,
    PublishedCheck,
    Verification,
    check_counted,
    shown,
)
from smalti.engine.verify.read import Original, Output, read_original, read_output
from smalti.engine.verify.recount import Edges, Recount
from smalti.engine.verify.rows import (
    IsWithdrawn,
    columns_to_read,
    restricted,
    satisfying,
    still_participating,
)
from smalti.errors import InternalError
from smalti.transforms.base import Requirement

_LARGEST_SEARCH: Final = 2_000_000_000
_CHUNK: Final = 4_000_000
_COVERING: Final = "for each original row one whose labels cover it"
NO_TREES: Final[Mapping[str, Codes]] = {}


def verify_against(
    plan: Plan,
    original: Original,
    output: Output,
    is_withdrawn: IsWithdrawn | None = None,
    hierarchies: Mapping[str, DeclaredHierarchy] | None = None,
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
    if plan.apply.transform.lattice_terms.suppression_limit:
        raise InternalError("records that may be suppressed are verified through the link")
    if plan.read.population is not None:
        raise InternalError("classes of a population are verified with its table")
    if plan.has_figures:
        raise InternalError("figures of classes are verified through the link")
    if plan.pseudonymized or plan.mask is not None:
        raise InternalError("pseudonyms and masked columns are verified through the link")
    promise = Promise.of(plan)
    published = _in_memory(promise, output)
    names = columns_to_read(plan, promise.columns)
    whole = read_original(original, [column.name for column in plan.read.columns], names)
    granted = _Granted.of(plan, whole, is_withdrawn)
    owned = granted.table
    if published.rows != owned.rows:
        raise miscounted(output.path.name, published.rows, owned.rows)
    classes = _classes(promise, published)
    labels = [
        coverage(
            plan.column(name), owned.columns[name], published.columns[name], (hierarchies or {}).get(name)
        )
        for name in promise.quasi_identifiers
    ]
    belongs = _only_classes(promise, owned, published, classes, labels)
    _check_same_rows(promise, owned, published, belongs, classes)
    if belongs is None:
        values = {name: published.columns[name].codes for name in promise.sensitive}
        unseen = (Property.ROWS, Property.COVERAGE, Property.RESPONDENTS, Property.DIGEST)
        recounts = promise.recounts(by_rows=True)
        counted = _counted(classes, np.arange(published.rows), values, recounts)
        return shown(published.rows, published.digests, counted, promise, unseen, recounts)
    of_originals = Groups(belongs, classes.count)
    return granted.with_rows(_recounted(plan, promise, owned, published, of_originals, hierarchies or {}))


def _in_memory(promise: Promise, output: Output) -> Table:
    reading, order = read_output(output, promise.columns, promise.dropped), Order(promise.columns)

    def checked() -> Iterator[Batch]:
        for batch in reading.batches(promise.columns, None):
            order.check(batch)
            yield batch

    columns, rows = gathered(checked())
    return Table(columns, rows, reading.digests)


@dataclass(frozen=True, slots=True)
class _Granted:
    """The rows of the original that may be published."""

    table: Table
    """With these rows alone, in the order of the file."""
    rows_withdrawn: int
    rows_filtered: int

    @classmethod
    def of(cls, plan: Plan, owned: Table, is_withdrawn: IsWithdrawn | None) -> "_Granted":
        if plan.filter is None and is_withdrawn is None:
            return cls(owned, 0, 0)
        here = still_participating(plan, owned, is_withdrawn)
        there = restricted(owned, here)
        kept = satisfying(plan, there)
        return cls(restricted(there, kept), owned.rows - there.rows, there.rows - len(kept))

    def with_rows(self, verification: Verification) -> Verification:
        return replace(verification, rows_withdrawn=self.rows_withdrawn, rows_filtered=self.rows_filtered)


def _classes(promise: Promise, published: Table) -> Groups:
    codes = [published.columns[name].codes for name in promise.quasi_identifiers]
    return group(codes or [np.zeros(published.rows, np.int64)])


def _respondents(plan: Plan, owned: Table) -> Codes:
    match plan.read.respondent:
        case RespondentColumn(column):
            codes = by_value(plan.column(column), owned.columns[column])
            if (codes == MISSING).any():
                raise broken(f"column `{column}`", "a row has no respondent", "a respondent for each row")
            return codes
        case OneRowEach():
            return np.arange(owned.rows)


def _recounted(
    plan: Plan,
    promise: Promise,
    owned: Table,
    published: Table,
    classes: Groups,
    hierarchies: Mapping[str, DeclaredHierarchy],
) -> Verification:
    """Count the classes of the original rows by respondents.

    `owned` and `classes` have one entry for each original row, in the same order.
    """
    respondents = _respondents(plan, owned)
    values = {name: by_value(plan.column(name), owned.columns[name]) for name in promise.sensitive}
    trees = {
        name: _tree(plan.column(name), owned.columns[name], codes, hierarchies.get(name))
        for name, codes in values.items()
        if plan.column(name).hierarchy is not None
    }
    counted = _counted(classes, respondents, values, promise.recounts(), trees)
    check_counted(promise, counted, promise.recounts())
    return Verification(
        published.rows,
        counted.classes,
        counted.respondents,
        counted.k,
        counted.diversity_of(promise),
        published.digests,
        owned.digests,
        reached=counted.reached_of(promise),
    )


def _tree(column: Column, owned: Coded, values: Codes, hierarchy: DeclaredHierarchy | None) -> Codes:
    """The nodes of the different values, in the order of their codes."""
    _, first = np.unique(values, return_index=True)
    texts = [
        None if code == MISSING else owned.values[code].as_py() for code in owned.codes[first].tolist()
    ]
    return tree_of(column, texts, hierarchy)


def _counted(
    classes: Groups,
    respondents: Codes,
    sensitive: Mapping[str, Codes],
    recounts: Sequence[Recount],
    trees: Mapping[str, Codes] = NO_TREES,
) -> Counted:
    return Counted(
        classes.count,
        group([respondents]).count,
        least_respondents(classes, respondents),
        tuple(
            _judged(classes, respondents, values, name, recounts, trees.get(name))
            for name, values in sensitive.items()
        ),
    )


def _judged(
    classes: Groups,
    respondents: Codes,
    values: Codes,
    column: str,
    recounts: Sequence[Recount],
    tree: Codes | None,
) -> Diversity:
    counted = diversity(classes, respondents, values)
    weighing = [
        recount
        for recount in recounts
        if isinstance(recount, DistributionRecount) and recount.is_about(column)
    ]
    judged = _judged_by_weights(classes, respondents, values, weighing, tree) if weighing else {}
    unmet = frozenset(requirement for requirement, each in judged.items() if not each.is_met)
    reached = tuple((requirement, each.reached) for requirement, each in judged.items())
    counted = replace(counted, unmet=unmet, reached=reached)
    looking = [recount for recount in recounts if recount.looks_at_classes]
    if not looking:
        return counted
    groups = group([classes.ids, respondents, values])
    first = groups.first_rows()
    edges = Edges(classes.ids[first], values[first], respondents[first], np.bincount(groups.ids))
    return replace(counted, unmet=unmet | {each.requirement for each in looking if not each.meets(edges)})


def _judged_by_weights(
    classes: Groups,
    respondents: Codes,
    values: Codes,
    weighing: Sequence[DistributionRecount],
    tree: Codes | None,
) -> Mapping[Requirement, Judged]:
    people = group([respondents])
    totals = np.bincount(people.ids)[people.ids]
    _, places = np.unique(values, return_inverse=True)
    places = places.reshape(-1)
    order = np.argsort(classes.ids, kind="stable")
    rows = np.ones(len(values), np.int64)
    held = Held(classes.ids[order], places[order], totals[order], rows)
    table = Held(np.zeros(len(values), np.int64), places, totals, rows)
    return {each.requirement: each.judged(held, table, tree) for each in weighing}


def _only_classes(
    promise: Promise, owned: Table, published: Table, classes: Groups, labels: list[Coverage]
) -> Codes | None:
    """The class of each original row, or None if some row fits several or the search is too long."""
    names = promise.quasi_identifiers
    if not names:
        return np.zeros(owned.rows, np.int64)
    tuples = group([owned.columns[name].codes for name in names])
    if tuples.count * classes.count > _LARGEST_SEARCH:
        return None
    ours = [owned.columns[name].codes[tuples.first_rows()] for name in names]
    theirs = [published.columns[name].codes[classes.first_rows()] for name in names]
    search = _Search.over(list(zip(labels, ours, theirs, strict=True)))
    class_of = np.empty(tuples.count, np.int64)
    step = max(1, _CHUNK // max(classes.count, 1))
    for start in range(0, tuples.count, step):
        numbers = np.arange(start, min(start + step, tuples.count))
        of_tuple, of_class = search.fits(numbers)
        fitting = np.bincount(of_tuple - start, minlength=len(numbers))
        if (fitting == 0).any():
            raise broken("published output", "an original row is covered by no published row", _COVERING)
        if (fitting > 1).any():
            return None
        class_of[of_tuple] = of_class
    return class_of[tuples.ids]


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
        raise broken("published output", "a kept value is not in the original", "kept values unchanged")
    if belongs is not None:
        before.append(belongs)
        after.append(classes.ids)
    if not before:
        return
    both = group([np.concatenate(pair) for pair in zip(before, after, strict=True)])
    first, second = both.ids[: owned.rows], both.ids[owned.rows :]
    expected, actual = (np.bincount(side, minlength=both.count) for side in (first, second))
    if not np.array_equal(expected, actual):
        raise broken(
            "published output", "its rows are not generalised original rows", "kept columns unchanged"
        )
