"""Distinct l-diversity (Machanavajjhala et al., TKDD 2007), by respondents."""

from typing import ClassVar

import numpy as np

from smalti.transforms.base import DISTINCT_VALUES
from smalti.transforms.partitions.held import Held, HeldOnSides, OneClass, OneColumn, Sampled
from smalti.transforms.partitions.incidence import Holdings
from smalti.transforms.partitions.layout import Batch, order_by, ranges, ranks
from smalti.transforms.partitions.matching import can_match
from smalti.transforms.partitions.weights import ColumnWeights
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.requirements.judge import ClassJudge

_TUPLES_FOR_EACH = 4
"""Tuples looked at for each value that is needed."""
_PAIRS_FOR_EACH = 16


class DistinctValues(ClassJudge):
    """For each sensitive column by itself, l different values can be matched to l different respondents."""

    __slots__ = ()

    name: ClassVar[str] = DISTINCT_VALUES
    examples: ClassVar[tuple[tuple[int, ...], ...]] = ((2,), (3,))
    limits: ClassVar[tuple[str, ...]] = (
        "sensitive values that differ but mean nearly the same, or are very unevenly frequent",
        "somebody who can rule out some of a person's sensitive values",
    )

    @property
    def l(self) -> int:  # noqa: E743 (the literature's name)
        """The least number of values, and of respondents."""
        return int(self.requirement.parameters[0])

    def statement(self, counted: str) -> str:
        return (
            f"each sensitive column by itself has at least {self.l} different values"
            f" that can be matched to {self.l} different {counted}"
        )

    @property
    def parameters(self) -> str:
        return f"l = {self.l}"

    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        return True

    def is_kept_by_adding(self, *, has_respondents: bool, sensitive: int) -> bool:
        return True

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        # With two values and two respondents a matching of two exists: neither one value nor one respondent
        # is in each of the pairs (König 1931).
        return not has_respondents or self.l <= 2

    def meets(self, held: OneClass) -> bool:
        return all(self._matches(column, held.respondents) for column in held.columns)

    def _matches(self, column: OneColumn, respondents: int) -> bool:
        if column.respondents is None:
            return min(len(column.values), respondents) >= self.l
        return _greedily(column.values, column.respondents, self.l) or can_match(
            column.values, column.respondents, self.l
        )

    def may_meet(self, held: Held) -> Flags:
        allowed = held.everywhere
        for diversity in held.columns:
            allowed &= np.bincount(diversity.node_of_values, minlength=len(held.people)) >= self.l
            allowed &= held.people >= self.l
        return allowed

    def may_meet_on_both_sides(self, held: HeldOnSides) -> Flags:
        allowed = held.everywhere
        for column in held.columns:
            for number in (*column.values, *held.people):
                allowed &= number >= self.l
        return allowed

    def surely_may_meet(self, sampled: Sampled) -> Flags:
        surely = np.bincount(sampled.of_people, minlength=sampled.size) >= self.l
        for column in sampled.columns:
            surely &= np.bincount(column.of_values, minlength=sampled.size) >= self.l
        return surely

    def surely_meets(
        self, batch: Batch, sensitive: tuple[Holdings, ...], weights: tuple[ColumnWeights, ...]
    ) -> Flags:
        surely = np.ones(batch.size, np.bool_)
        for holdings in sensitive:
            surely &= surely_match(holdings, batch, self.l)
        return surely


def _greedily(values: Integers, respondents: Integers, wanted: int) -> bool:
    """Whether the first pairs that do not meet already make a matching; a no decides nothing."""
    taken: set[int] = set()
    used: set[int] = set()
    few = slice(_PAIRS_FOR_EACH * wanted)
    for value, respondent in zip(values[few].tolist(), respondents[few].tolist(), strict=True):
        if value not in taken and respondent not in used:
            taken.add(value)
            used.add(respondent)
            if len(taken) == wanted:
                return True
    return False


def surely_match(holdings: Holdings, batch: Batch, wanted: int) -> Flags:
    """By partition: yes if `wanted` values can surely be matched to different respondents.

    More than l (l - 1) pairs are enough when no value and no respondent occurs in more than l of them.

    Proof:
        Take the pairs as edges of a bipartite graph. By König's theorem (1931) a graph without a
        matching of size l has a vertex cover of at most l - 1 vertices. Each of them covers at most
        l edges, so the graph has at most l (l - 1). Pairs are left out until no value or respondent
        occurs more often; that takes matchings away and adds none, so a yes holds for all pairs.

    Args:
        holdings: the values of one sensitive column, with their respondents.
        batch: the partitions.
        wanted: the size of the matching, l.
    """
    few = np.minimum(np.diff(batch.starts), _TUPLES_FOR_EACH * wanted)
    slots = ranges(batch.starts[:-1], few)
    surely = _have_enough_pairs(holdings, batch.tuples[slots], batch.node[slots], batch.size, wanted)
    if not surely.all():
        part, _ = batch.subset(np.flatnonzero(~surely))
        surely[~surely] = _have_enough_pairs(holdings, part.tuples, part.node, part.size, wanted)
    return surely


def _have_enough_pairs(
    holdings: Holdings, tuples: Integers, node: Integers, count: int, wanted: int
) -> Flags:
    """By partition: whether these of its tuples have more than l (l - 1) pairs, at most l with each end."""
    if holdings.pairs is None:
        return np.zeros(count, np.bool_)
    slots, pairs = holdings.links.take(tuples)
    node = node[slots]
    order, new = order_by(node, pairs)
    distinct = order[new]
    node, pairs = node[distinct], pairs[distinct]
    for ends in (holdings.pairs.values, holdings.pairs.respondents):
        order, new = order_by(node, ends[pairs])
        kept = order[ranks(new) < wanted]
        node, pairs = node[kept], pairs[kept]
    return np.bincount(node, minlength=count) > wanted * (wanted - 1)
