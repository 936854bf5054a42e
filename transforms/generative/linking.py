"""Linkability and inference by the nearest synthetic record (Giomi et al., PoPETs 2023(2)).

*Linkability*: somebody has two tables with different columns of the same people, and wants to know which
rows belong together. Those do, they say, whose nearest synthetic record is the same by the columns of each
table. *Inference*: somebody knows all columns of a person but one, and takes it from the nearest synthetic
record. Near is by Gower's distance. Naive attacks take synthetic records at random.

Neither attack says how sure it is, and both take the first of equally near records: where columns have few
values, much of what they could say is lost, for trained records and for the control alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.gower import MixedColumns, Nearest
from smalti.transforms.problem import Flags

TOLERANCE: Final = 0.05
"""A guess of a number is right within this share of itself (as in Anonymeter 1.1)."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The records that are attacked, and what is public of them. Private."""

    names: tuple[str, ...]
    """Of the columns."""
    columns: MixedColumns
    records: Doubles
    """Shape (records, columns): members in front; as of `MixedColumns.encoded`."""
    members: int
    """At least 1, and at least one record is no member."""

    def __post_init__(self) -> None:
        if not 0 < self.members < len(self.records) or self.records.shape[1] != len(self.names):
            raise ValueError("members and others, with all columns, are expected")

    def outcomes(self, is_right: Flags) -> Outcomes:
        """How often attacks on the records succeeded."""
        hits = [int(part.sum()) for part in (is_right[: self.members], is_right[self.members :])]
        return Outcomes(hits[0], self.members, hits[1], len(self.records) - self.members)


class Linkability:
    """Whether two parts of a record can be linked by synthetic records, for some ways to divide columns."""

    def __init__(
        self, targets: Targets, divisions: Sequence[tuple[tuple[str, ...], tuple[str, ...]]] | None = None
    ) -> None:
        """No record has passed.

        Args:
            targets: that are attacked.
            divisions: the columns of one table, and those of the other one, which share none; None: the
                first half of all columns and the other one, and every second column and the others.
        """
        self._targets = targets
        self._divisions = divisions_of(targets.names) if divisions is None else tuple(divisions)
        views = [[name in side for name in targets.names] for pair in self._divisions for side in pair]
        self._search = Nearest(targets.columns, targets.records, np.array(views, np.bool_))
        self._passed = 0

    def add(self, synthetic: Doubles) -> None:
        """Let synthetic records pass, in any order that does not depend on the targets."""
        self._search.add(synthetic)
        self._passed += len(synthetic)

    def attempts(self, generator: np.random.Generator) -> tuple[Attempts, ...]:
        """By division: what the attack achieved.

        Args:
            generator: draws what a naive attack takes.
        """
        left, right = self._search.places[::2], self._search.places[1::2]
        return tuple(
            Attempts(
                f"{', '.join(pair[0])} | {', '.join(pair[1])}",
                self._targets.outcomes(own == other),
                (self._guessed(generator), self._targets.members),
            )
            for pair, own, other in zip(self._divisions, left, right, strict=True)
        )

    def _guessed(self, generator: np.random.Generator) -> int:
        pairs = generator.integers(0, self._passed, (2, self._targets.members))
        return int((pairs[0] == pairs[1]).sum())


def divisions_of(names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Ways to divide columns between two tables; none where there is a single one.

    >>> divisions_of(("a", "b", "c", "d"))
    ((('a', 'b'), ('c', 'd')), (('a', 'c'), ('b', 'd')))
    """
    if len(names) < 2:
        return ()
    half = (len(names) + 1) // 2
    return tuple(dict.fromkeys([(names[:half], names[half:]), (names[::2], names[1::2])]))


class Inference:
    """Whether a column of a record can be guessed by synthetic records from its other columns."""

    def __init__(self, targets: Targets, secrets: Sequence[str] | None = None) -> None:
        """No record has passed.

        Args:
            targets: that are attacked; with two columns at least.
            secrets: the columns that are guessed, each from all others; None: each.
        """
        self._targets = targets
        self._secrets = [
            place for place, name in enumerate(targets.names) if secrets is None or name in secrets
        ]
        views = ~np.eye(len(targets.names), dtype=np.bool_)[self._secrets]
        self._search = Nearest(targets.columns, targets.records, views)
        self._first: Doubles | None = None
        """The records that passed first, of which naive attacks draw theirs."""

    def add(self, synthetic: Doubles) -> None:
        """Let synthetic records pass, in any order that does not depend on the targets."""
        if self._first is None:
            self._first = synthetic.copy()
        self._search.add(synthetic)

    def attempts(self, generator: np.random.Generator) -> tuple[Attempts, ...]:
        """By secret column: what the attack achieved.

        Args:
            generator: draws what a naive attack takes.
        """
        if self._first is None:
            raise ValueError("no synthetic record has passed")
        drawn = self._first[generator.integers(0, len(self._first), self._targets.members)]
        return tuple(self._attempts(view, place, drawn) for view, place in enumerate(self._secrets))

    def _attempts(self, view: int, place: int, drawn: Doubles) -> Attempts:
        targets = self._targets
        secrets, is_ordered = targets.records[:, place], bool(targets.columns.ordered[place])
        is_right = right_guesses(self._search.values[view, :, place], secrets, is_ordered)
        guessed = int(right_guesses(drawn[:, place], secrets[: targets.members], is_ordered).sum())
        return Attempts(targets.names[place], targets.outcomes(is_right), (guessed, targets.members))


def right_guesses(guesses: NDArray[np.float64], secrets: NDArray[np.float64], is_ordered: bool) -> Flags:
    """Whether guesses are right: equal, both missing, or a number within `TOLERANCE`."""
    is_equal: Flags = (guesses == secrets) | (np.isnan(guesses) & np.isnan(secrets))
    if not is_ordered:
        return is_equal
    is_near: Flags = is_equal | (np.abs(guesses - secrets) <= TOLERANCE * np.abs(guesses))
    return is_near
