"""Single and set membership by D5.2's protocol, for attacks that score the records of one attack together.

An attack by the median heuristic chooses its epsilon by the 2 M records that are in question, so scores
belong to an attack, and not to a record alone. Groups are drawn before anything is scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.errors import DataError
from smalti.transforms.auditing.limits import Figure, share
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.set_membership import (
    ATTACKS,
    SIZE,
    AttackType,
    DisjointAttacks,
    RepeatedAttacks,
    judged,
)
from smalti.transforms.problem import Flags, Integers

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The records of each attack: M members and M others, as places among the audited records."""

    size: int
    """M."""
    disjoint: tuple[Integers, ...]
    """Each with its M members in front; no record is in two of them."""
    repeated: tuple[Integers, ...]
    """The document's: each drawn from all audited records anew."""

    @property
    def all(self) -> tuple[Integers, ...]:
        return (*self.disjoint, *self.repeated)

    @classmethod
    def drawn(
        cls, is_member: Flags, draw: np.random.Generator, size: int = SIZE, attacks: int = ATTACKS
    ) -> "Groups":
        """Draw the groups of one target model.

        Args:
            is_member: of the audited records.
            draw: draws them.
            size: M, at least 1.
            attacks: of the document's protocol.

        Raises:
            DataError: there are fewer than M members or others.
        """
        members, others = (draw.permutation(np.flatnonzero(kind)) for kind in (is_member, ~is_member))
        count = min(len(members), len(others)) // size
        if not count:
            raise DataError(
                "the attack",
                "too few members or others",
                f"{size} of each",
                "audit more records, or smaller sets",
            )
        parts = (
            np.concatenate([group[number * size : (number + 1) * size] for group in (members, others)])
            for number in range(count)
        )
        again = (
            np.concatenate([draw.choice(group, size, replace=False) for group in (members, others)])
            for _ in range(attacks)
        )
        return cls(size, tuple(parts), tuple(again))


@dataclass(frozen=True, slots=True, eq=False)
class Achieved:
    """What one attack achieved on one model, or on several that were trained alike."""

    size: int
    """M."""
    single: Doubles
    """Accuracies of attack type 1 on disjoint records."""
    sets: Doubles
    """Of attack type 2: 0 or 1 each."""
    repeated_single: Doubles
    """float[models]: the mean accuracy of the document's attacks on each model."""
    repeated_sets: Doubles

    def single_accuracy(self, confidence: float = CONFIDENCE) -> Figure:
        """With limits that hold for disjoint records (`DisjointAttacks.accuracy`).

        They hold for the median heuristic, too: it calls those members whose nearest sample is nearer than
        the median one, so that another record exchanges at most one of those that are called so.
        """
        return DisjointAttacks(AttackType.SINGLE, self.size, self.single).accuracy(confidence)

    def set_accuracy(self, confidence: float = CONFIDENCE) -> Figure:
        """With the limits of Clopper and Pearson: attacks on disjoint records are independent."""
        return share(int(self.sets.sum()), self.sets.size, confidence)

    @property
    def document_single(self) -> RepeatedAttacks:
        """The document's bare average, with its standard deviation over models."""
        return RepeatedAttacks(self.repeated_single)

    @property
    def document_sets(self) -> RepeatedAttacks:
        return RepeatedAttacks(self.repeated_sets)

    @staticmethod
    def joined(several: Sequence["Achieved"]) -> "Achieved":
        """Those of several models, each trained on other records: the document's subsets.

        The limits hold as far as no record is audited for two of the models.
        """
        return Achieved(
            several[0].size,
            np.concatenate([part.single for part in several]),
            np.concatenate([part.sets for part in several]),
            np.concatenate([part.repeated_single for part in several]),
            np.concatenate([part.repeated_sets for part in several]),
        )


def achieved(groups: Groups, scores: Sequence[Doubles], draw: np.random.Generator) -> Achieved:
    """Judge the scores of all groups.

    Args:
        groups: of one model.
        scores: by group, in the order of `Groups.all`: those of its records.
        draw: orders equal scores, and is the coin.
    """
    single, sets = (
        np.array([judged(kind, group[: groups.size], group[groups.size :], draw) for group in scores])
        for kind in (AttackType.SINGLE, AttackType.SET)
    )
    first = len(groups.disjoint)
    means = (np.array([part[first:].mean()]) for part in (single, sets))
    return Achieved(groups.size, single[:first], sets[:first], *means)
