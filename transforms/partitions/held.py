"""The respondents and values in classes, for judges: in whole classes, and on both sides of cuts."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from smalti.transforms.partitions.incidence import Diversity, Holdings, Members, sides
from smalti.transforms.partitions.layout import Batch, Line, Numbers
from smalti.transforms.partitions.weights import ColumnWeights, Distribution
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True)
class OneColumn:
    """The values of one sensitive column in one class: each (value, respondent) pair once."""

    values: Integers
    respondents: Integers | None
    """None where each row is another respondent; then each value stands once."""


@dataclass(frozen=True, slots=True)
class OneClass:
    """What one class holds."""

    respondents: int
    columns: tuple[OneColumn, ...]
    """Of each sensitive column."""
    distributions: tuple[Distribution, ...] = ()
    """Likewise, where a requirement weighs values."""


@dataclass(frozen=True, slots=True)
class Held:
    """What each partition of a batch holds."""

    people: Integers
    """By partition its respondents."""
    columns: tuple[Diversity, ...]
    """Of each sensitive column."""
    batch: Batch
    weights: tuple[ColumnWeights, ...] = ()
    """Of each sensitive column, where a requirement weighs values."""

    @property
    def everywhere(self) -> Flags:
        """By partition: yes."""
        return np.ones(len(self.people), np.bool_)


@dataclass(frozen=True)
class ColumnSides:
    """What lies of one sensitive column on both sides of the cuts along a line; figures are by group."""

    diversity: Diversity
    line: Line

    @cached_property
    def extent(self) -> tuple[Integers, Integers]:
        """By value, or by (value, respondent) pair: the first and the last group in which it occurs."""
        return self.diversity.members.extent(self.line)

    @cached_property
    def values(self) -> tuple[Integers, Integers]:
        """How many different values there are up to each group, and after it."""
        first, last = self.extent
        starts = self.diversity.values
        if starts is not None:
            first, last = np.minimum.reduceat(first, starts), np.maximum.reduceat(last, starts)
        return sides(first, last, self.line)


@dataclass(frozen=True, slots=True)
class HeldOnSides:
    """What is held on both sides of the cuts along a line; a cut comes after a group."""

    line: Line
    people: tuple[Integers, Integers]
    """By group the respondents up to it, and after it."""
    columns: tuple[ColumnSides, ...]
    fewest: int
    """A side with fewer respondents is refused anyway, and may be judged either way."""
    batch: Batch
    weights: tuple[ColumnWeights, ...] = ()
    """Of each sensitive column, where a requirement weighs values."""

    @property
    def everywhere(self) -> Flags:
        """By group: yes."""
        return np.ones(len(self.people[0]), np.bool_)


@dataclass(frozen=True, slots=True)
class SampledColumn:
    """The values that some tuples of each partition have in one sensitive column."""

    holdings: Holdings
    """Of the whole table."""
    of_values: Integers
    """By different (partition, value): the partition."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Some respondents and values of each partition."""

    size: int
    """How many partitions there are."""
    of_people: Integers
    """By different (partition, respondent): the partition."""
    people: Numbers
    """Likewise the respondent."""
    columns: tuple[SampledColumn, ...] = field(default=())


def people_of(members: Members | None, totals: Integers) -> Integers:
    """By partition its respondents: its rows, where each row is another."""
    return totals if members is None else np.bincount(members.node, minlength=len(totals))


def one_class(
    batch: Batch,
    node: int,
    weights: Integers,
    people: Numbers | None,
    sensitive: tuple[Holdings, ...],
    of_values: tuple[ColumnWeights, ...],
) -> OneClass:
    """What one partition of a batch holds.

    Args:
        batch: the partitions.
        node: the partition.
        weights: rows by tuple of the table.
        people: the respondents of its tuples, in any order; None where each row is another.
        sensitive: the sensitive columns of the table.
        of_values: the weights of their values, where a requirement asks for them.
    """
    tuples = batch.tuples[batch.starts[node] : batch.starts[node + 1]]
    count = int(weights[tuples].sum()) if people is None else len(np.unique(people))
    return OneClass(
        count,
        tuple(_one_column(holdings, tuples) for holdings in sensitive),
        tuple(column.of_tuples(tuples) for column in of_values),
    )


def _one_column(holdings: Holdings, tuples: Integers) -> OneColumn:
    _, items = holdings.links.take(tuples)
    items = np.unique(items.astype(np.int64))
    if holdings.pairs is None:
        return OneColumn(items, None)
    values, people = holdings.pairs.values[items], holdings.pairs.respondents[items]
    return OneColumn(values.astype(np.int64), people.astype(np.int64))
