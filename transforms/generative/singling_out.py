"""Singling out by synthetic records (Giomi et al., PoPETs 2023(2)): what describes exactly one person?

A guess is a predicate that one synthetic record alone satisfies; equal records count once, so that a model
which repeats what it memorised is not missed. A guess succeeds where exactly one attacked record satisfies
it. That is isolation in the sense of Cohen and Nissim ("Towards Formalizing the GDPR's Notion of Singling
Out", PNAS 2020), whose chance without any leak depends on the size of the table: so members are held
against as many others.

*Univariate* guesses are values of one column that one record alone has, and the least and greatest numbers.
*Multivariate* ones take some columns of a record: its categories, and that numbers are at least (above the
median) or at most as large as its own. Naive guesses are random predicates.

Synthetic records pass once. Candidates are drawn from the first of them, and each later record strikes out
those that it satisfies, too; so nothing grows with their number.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.generative.linking import Targets
from smalti.transforms.generative.predicates import OF_CATEGORIES, Operator, Predicates, filled
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.problem import Flags, Integers

GUESSES: Final = 1000
"""Of each kind, at most."""
WIDTH: Final = 3
"""Columns of a multivariate guess, or as many as there are (the paper's default)."""
UNIVARIATE: Final = "univariate"
MULTIVARIATE: Final = "multivariate"
_TRIES: Final = 100
"""Candidates for each guess that is wanted."""


class SinglingOut:
    """Guesses that single out, for targets of which as many members as others are attacked."""

    def __init__(
        self, targets: Targets, generator: np.random.Generator, guesses: int = GUESSES, width: int = WIDTH
    ) -> None:
        """No record has passed.

        Args:
            targets: that are attacked.
            generator: draws guesses, and who is attacked of the larger group.
            guesses: of each kind, at most; at least 1.
            width: columns of a multivariate guess.
        """
        self._targets, self._generator, self._wanted = targets, generator, guesses
        self._source = _Source(np.empty((0, len(targets.names))), targets.columns.ordered)
        self._width = min(width, len(targets.names))
        self._univariate = self._multivariate = self._source.single_values()
        self._extremes = [
            _Extreme(place, sign)
            for place in np.flatnonzero(targets.columns.ordered).tolist()
            for sign in (1, -1)
        ]

    def add(self, synthetic: Doubles) -> None:
        """Let synthetic records pass; the first ones are those that guesses are made of."""
        if not len(synthetic):
            return
        records = filled(synthetic)
        if not len(self._source.records):
            self._begin(records)
        self._univariate, self._multivariate = (
            part.isolating(records) for part in (self._univariate, self._multivariate)
        )
        for extreme in self._extremes:
            extreme.add(records)

    def _begin(self, records: Doubles) -> None:
        most, draw = _TRIES * self._wanted, self._generator
        self._source = _Source(np.unique(records, axis=0), self._source.ordered)
        single = self._source.single_values()
        self._univariate = single.take(draw.permutation(len(single))[:most])
        self._multivariate = self._source.combinations(most, self._width, draw).distinct()

    def guesses(self) -> dict[str, Predicates]:
        """By kind, at most as many as wanted; no kind of which nothing isolates."""
        ends = [extreme.predicate for extreme in self._extremes if extreme.is_single]
        single = Predicates.joined([self._univariate, *ends])
        drawn = single.take(self._generator.permutation(len(single)))
        kinds = {UNIVARIATE: drawn, MULTIVARIATE: self._multivariate}
        return {
            name: predicates.take(slice(0, self._wanted))
            for name, predicates in kinds.items()
            if len(predicates)
        }

    def attempts(self) -> tuple[Attempts, ...]:
        """What univariate and multivariate guesses achieved; without those of which there is none."""
        members, others = self._attacked()
        return tuple(
            self._judged(name, predicates, members, others) for name, predicates in self.guesses().items()
        )

    def _judged(self, name: str, predicates: Predicates, members: Doubles, others: Doubles) -> Attempts:
        width = 1 if name == UNIVARIATE else self._width
        naive = self._source.random(len(predicates), width, self._generator)
        alone, elsewhere, guessed = (
            int((guesses.counts(records) == 1).sum())
            for guesses, records in ((predicates, members), (predicates, others), (naive, members))
        )
        outcomes = Outcomes(alone, len(predicates), elsewhere, len(predicates))
        return Attempts(name, outcomes, (guessed, len(predicates)))

    def _attacked(self) -> tuple[Doubles, Doubles]:
        """Members, and as many others."""
        records, members = filled(self._targets.records), self._targets.members
        count = min(members, len(records) - members)
        inside, outside = (
            part[self._generator.permutation(len(part))[:count]]
            for part in (records[:members], records[members:])
        )
        return inside, outside


@dataclass(slots=True, eq=False)
class _Extreme:
    """The least or greatest number of a column so far, and whether one record alone has it."""

    place: int
    sign: int
    """1: the least; -1: the greatest."""
    value: float = np.inf
    """Times the sign."""
    record: Doubles | None = None
    is_single: bool = False

    def add(self, records: Doubles) -> None:
        column = np.where(np.isfinite(records[:, self.place]), self.sign * records[:, self.place], np.inf)
        row = int(column.argmin())
        if column[row] < self.value:
            self.value, self.record, self.is_single = float(column[row]), records[row], True
        if self.record is not None:
            equal = records[column == self.value]
            self.is_single &= not (equal != self.record).any()

    @property
    def predicate(self) -> Predicates:
        operator = Operator.AT_MOST if self.sign == 1 else Operator.AT_LEAST
        if self.record is None:
            raise ValueError("no number has passed")
        return Predicates(
            np.array([[self.place]]), np.array([[operator]]), np.array([[self.sign * self.value]]),
            self.record[None],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """The synthetic records that guesses are made of."""

    records: Doubles
    """Shape (records, columns), each once, infinite where a value is missing."""
    ordered: Flags

    def single_values(self) -> Predicates:
        """That a column has a value which one record alone has."""
        places: list[int] = []
        rows: list[int] = []
        for place in range(len(self.ordered)):
            _, firsts, counts = np.unique(self.records[:, place], return_index=True, return_counts=True)
            own = firsts[counts == 1].tolist()
            rows += own
            places += [place] * len(own)
        columns, sources = np.array(places, np.int64), self.records[np.array(rows, np.int64)]
        values = sources[np.arange(len(rows)), columns]
        return Predicates(
            columns[:, None], np.full((len(rows), 1), Operator.EQUAL), values[:, None], sources
        )

    def combinations(self, number: int, width: int, draw: np.random.Generator) -> Predicates:
        """Some columns of records that are drawn, in the order of columns."""
        sources = self.records[draw.integers(0, len(self.records), number)]
        places = np.sort(self._columns(number, width, draw), axis=1)
        values = np.take_along_axis(sources, places, axis=1)
        medians = np.array([_median(column) for column in self.records.T])
        side = np.where(values > medians[places], Operator.AT_LEAST, Operator.AT_MOST)
        operators = np.where(self._are_numbers(places, values), side, Operator.EQUAL)
        return Predicates(places, operators, values, sources)

    def random(self, number: int, width: int, draw: np.random.Generator) -> Predicates:
        """Columns, comparisons, and values that some record has, each at random."""
        places = self._columns(number, width, draw)
        values = np.empty(places.shape)
        for place in range(len(self.ordered)):
            is_here = places == place
            values[is_here] = draw.choice(np.unique(self.records[:, place]), int(is_here.sum()))
        choices = np.where(self._are_numbers(places, values), len(Operator), OF_CATEGORIES)
        operators = (draw.random(places.shape) * choices).astype(np.int64)
        return Predicates(places, operators, values, np.empty((number, 0)))

    def _columns(self, number: int, width: int, draw: np.random.Generator) -> Integers:
        orders: Integers = draw.random((number, len(self.ordered))).argsort(axis=1)
        return orders[:, :width]

    def _are_numbers(self, places: Integers, values: Doubles) -> Flags:
        are_numbers: Flags = self.ordered[places] & np.isfinite(values)
        return are_numbers


def _median(column: Doubles) -> float:
    finite = column[np.isfinite(column)]
    return float(np.median(finite)) if len(finite) else 0.0
