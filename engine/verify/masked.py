"""The verifier's own recount of what single techniques did: each published cell, from its original.

What is deterministic is worked out again from the original, and must be the published text exactly. Of
noise, the bounds and the grid can be checked, and of uniform noise how far it is from the original; of a
sample, that whole respondents are in it. How noise and samples were drawn is attested alone. This shares no
code with `smalti.transforms`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from smalti.engine.plan.any_plan import PlanOfColumns
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.masks import Averaged, Mask, MaskedColumn, Noisy, RareCells
from smalti.engine.plan.plan import Column, RespondentColumn, Write
from smalti.engine.verify.categories import IsCategory
from smalti.engine.verify.columns import Codes, broken, pc
from smalti.engine.verify.count import MEMORY
from smalti.engine.verify.csv import BLOCK
from smalti.engine.verify.entries import Keys
from smalti.engine.verify.figures import IsFigure
from smalti.engine.verify.groups import IsGrouping
from smalti.engine.verify.join import Check, Granted, IsFetched, IsKept, check_link, join, originals_at
from smalti.engine.verify.masked_cells import (
    Collected,
    IsFrequent,
    IsMasked,
    IsNoisy,
    canonical_texts,
    expected_texts,
    rare_values,
)
from smalti.engine.verify.read import Link, Original, Output
from smalti.engine.verify.rows import IsWithdrawn
from smalti.engine.verify.stage import StagedColumn, StagedTable
from smalti.engine.verify.verifier import NO_HIERARCHIES, Owned, private_place, staged_output

_SEEN: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class MaskedOutput:
    """What is verified: a plan's rows, its mask and what it writes."""

    rows: PlanOfColumns
    mask: Mask
    write: Write
    dropped: tuple[str, ...]
    """The columns that must not be there."""


@dataclass(frozen=True, slots=True)
class MaskedCount:
    """Everything was counted again and holds. For the owner."""

    rows: int
    """Published."""
    changed: tuple[tuple[str, int], ...]
    """For each masked column: the cells that show another text than they had."""
    output_digests: tuple[str, ...]
    """SHA-256 of the published bytes that were checked, file by file: commit these, or none."""
    input_digests: tuple[str, ...]
    """SHA-256 of the owner's files. Private."""
    rows_withdrawn: int
    rows_filtered: int
    rows_left_out: int
    """Of the others."""


def verify_masked(  # noqa: PLR0913 (what a run has)
    masked: MaskedOutput,
    original: Original,
    output: Output,
    link: Path,
    is_withdrawn: IsWithdrawn | None = None,
    *,
    folder: Path | None = None,
    hierarchies: Mapping[str, DeclaredHierarchy] = NO_HIERARCHIES,
    key: bytes = b"",
) -> MaskedCount:
    """Check what a run did on the bytes that it wrote.

    Contract:
        Checked   header, form and order; that each row that the plan keeps is published once, and no other;
                  that unchanged columns are unchanged; of deterministic techniques each cell exactly; that
                  rare values are suppressed, and no others; that groups of which a figure or a category is
                  published have k respondents, and, of numbers and listed categories, the least squared
                  error of all; of noise that results are multiples of
                  its unit between its bounds, and of uniform noise within its scale; of a sample that it
                  has all rows of a respondent, or none.
        Not       how noise and sample were drawn; that the key is the one that was meant; that groups of
                  categories without a list are those of MDAV.
        Cost      as `verify_run`; of suppressed and averaged columns, and of respondents of a sample, the
                  values of all rows are in memory.

    Args:
        masked: what was to be done.
        original: the owner's files.
        output: the staged files.
        link: a `.npy` file of int64: the record of the original of each published row.
        is_withdrawn: tells whose rows must not be published; None: nobody withdrew.
        folder: a private place for what does not fit into memory; None: one is made, and removed.
        hierarchies: by column, those that the plan has the digests of.
        key: of pseudonyms.

    Raises:
        GuaranteeError: it is not so.
        DataError: the original cannot be read as the plan says.
        BackendError: a file cannot be opened, or no memory or no disk is left.
    """
    with private_place(folder) as place:
        return _Run(masked, place, hierarchies, key).verified(original, output, link, is_withdrawn)


@dataclass(frozen=True, slots=True)
class _Run:
    masked: MaskedOutput
    place: Path
    hierarchies: Mapping[str, DeclaredHierarchy]
    key: bytes

    def verified(
        self, original: Original, output: Output, link: Path, is_withdrawn: IsWithdrawn | None
    ) -> MaskedCount:
        masked = self.masked
        columns = masked.write.columns
        published, digests = staged_output(columns, masked.dropped, output, self.place, BLOCK)
        names = dict.fromkeys((*columns, *(each.column for each in masked.mask.rare_records)))
        owned = Owned.read(masked.rows, tuple(names), original, is_withdrawn, self.place, BLOCK)
        rows, may_leave_out = Link(link), masked.mask.leaves_out_records
        left_out = check_link(owned.granted, rows, published.rows, _SEEN, may_leave_out=may_leave_out)
        checks, counting = self._checks(published, owned.granted)
        people = self._people(owned.granted)
        join(published, owned.granted, rows, [*checks, *people])
        self._check_left_out(owned.granted, left_out, people)
        return MaskedCount(
            published.rows,
            tuple((name, check.changed) for name, check in counting.items()),
            digests,
            owned.digests,
            owned.rows_withdrawn,
            owned.rows_filtered,
            len(left_out),
        )

    def _column(self, name: str) -> Column:
        return self.masked.rows.column(name)

    @property
    def _respondent(self) -> str | None:
        respondent = self.masked.rows.read.respondent
        return respondent.column if isinstance(respondent, RespondentColumn) else None

    # --- Cells

    def _checks(
        self, published: StagedTable, granted: Granted
    ) -> tuple[list[Check], dict[str, IsMasked | IsNoisy]]:
        """All checks of cells and records; and those that count changed cells."""
        mask, before = self.masked.mask, granted.table.columns
        nodes = {each.column: each for each in mask.columns}
        checks: list[Check] = []
        counting: dict[str, IsMasked | IsNoisy] = {}
        for name in self.masked.write.columns:
            node, after = nodes.get(name), published.columns[name]
            if node is None:
                checks.append(IsKept(name, before[name], after))
            elif isinstance(node, Averaged):
                checks += self._averaged(node, before, after, granted)
            else:
                counting[name] = self._cells(node, before[name], after, granted)
        for each in mask.rare_records:
            rare = rare_values(self._column(each.column), granted, self._respondent_column, each.minimum)
            checks.append(IsFrequent(self._column(each.column), before[each.column], rare))
        return [*checks, *counting.values()], counting

    @property
    def _respondent_column(self) -> Column | None:
        return None if self._respondent is None else self._column(self._respondent)

    def _cells(
        self, node: MaskedColumn, before: StagedColumn, after: StagedColumn, granted: Granted
    ) -> IsMasked | IsNoisy:
        if isinstance(node, Noisy):
            return IsNoisy(node, before, after)
        column = self._column(node.column)
        rare: frozenset[str] = frozenset()
        if isinstance(node, RareCells):
            rare = rare_values(column, granted, self._respondent_column, node.minimum)
        hierarchy = self.hierarchies.get(node.column)
        expected = partial(expected_texts, node, column, hierarchy, self.key, rare)
        return IsMasked(node.column, before, after, expected)

    def _averaged(
        self, node: Averaged, before: Mapping[str, StagedColumn], after: StagedColumn, granted: Granted
    ) -> Sequence[Check]:
        column, name = self._column(node.column), self._respondent
        people = None if name is None else (self._column(name), before[name])
        place = self.place / f"figures-{self.masked.write.columns.index(node.column)}"
        compared = column, Keys([after]), before[node.column], after, people, place, MEMORY
        hierarchy = self.hierarchies.get(node.column)
        shown = (
            IsCategory(*compared, hierarchy) if column.is_published_as_categories else IsFigure(*compared)
        )
        groups = IsGrouping(column, node.k, before[node.column], after, people, hierarchy)
        return shown, groups, *(() if name is None else (IsFetched(name),))

    # --- Records

    def _people(self, granted: Granted) -> list["Collected"]:
        """What collects the respondents of published rows, where only a sample is published."""
        if self.masked.mask.sampling_rate is None or self._respondent is None:
            return []
        return [Collected(self._column(self._respondent), granted.table.columns[self._respondent])]

    def _check_left_out(self, granted: Granted, left_out: Codes, people: Sequence["Collected"]) -> None:
        """Require a reason: a rare value, or a respondent outside of the sample."""
        mask = self.masked.mask
        if not len(left_out):
            return
        rare = {
            each.column: rare_values(
                self._column(each.column), granted, self._respondent_column, each.minimum
            )
            for each in mask.rare_records
        }
        sampled = pa.array(sorted(people[0].texts), pa.large_string()) if people else None
        names = [*rare, *([self._respondent] if sampled is not None and self._respondent else [])]
        if mask.sampling_rate is not None and sampled is None:
            return  # each row is another respondent, and any may be outside of the sample
        for _, originals in originals_at(granted, left_out, names):
            has_reason = pa.array([False]).take(pa.array([0] * len(next(iter(originals.values())))))
            for name, values in rare.items():
                texts = canonical_texts(self._column(name), granted.table.columns[name], originals[name])
                listed = pa.array(sorted(values), pa.large_string())
                has_reason = pc.or_(has_reason, pc.is_in(texts, value_set=listed))
            if sampled is not None and self._respondent is not None:
                staged = granted.table.columns[self._respondent]
                texts = canonical_texts(self._column(self._respondent), staged, originals[self._respondent])
                has_reason = pc.or_(has_reason, pc.invert(pc.is_in(texts, value_set=sampled)))
            if not pc.all(has_reason, min_count=0).as_py():
                raise broken(
                    "published output",
                    "a record is left out that is neither rare nor of a respondent outside of the sample",
                    "all other records",
                )
