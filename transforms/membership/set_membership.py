"""Single and set membership inference: what an adversary and what a regulator achieve with scores.

D5.2, section 4.2, attack types 1 and 2; the protocol of repetitions is that of section 4.4. Scores may come
from any attack. Equal scores are ordered by chance, from the caller's generator.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

import numpy as np

from smalti.errors import DataError
from smalti.transforms.auditing.limits import Figure, checked, share
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.scored import Scored

SIZE: Final = 100
"""M, records of each kind in one attack."""
SUBSETS: Final = 10
ATTACKS: Final = 10
"""On each subset."""


class AttackType(StrEnum):
    """What an attack has to decide."""

    SINGLE = "single-membership"
    """Which M of 2 M records are the members: attack type 1, of an adversary."""
    SET = "set-membership"
    """Which of two sets of M records is the members': attack type 2, of a regulator."""


@dataclass(frozen=True, slots=True)
class RepeatedAttacks:
    """Accuracies of one attack type over subsets of the data."""

    accuracies: Doubles
    """float[subsets]: the mean accuracy of the attacks on each subset."""

    @property
    def accuracy(self) -> float:
        return float(self.accuracies.mean())

    @property
    def standard_deviation(self) -> float:
        """Over subsets, with one degree of freedom less than subsets; NaN for a single one.

        It describes how results vary, and is not a confidence limit.
        """
        return float(self.accuracies.std(ddof=1)) if len(self.accuracies) > 1 else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class DisjointAttacks:
    """Accuracies of one attack type on disjoint records of one target model, with limits that hold.

    The true accuracy is that expected of an attack on M further members and M further others, drawn as
    these were. No limit says anything about another M: sets are told apart the better, the larger they are.
    """

    kind: AttackType
    size: int
    """M."""
    accuracies: Doubles
    """float[attacks]; of sets each is 0 or 1."""

    def accuracy(self, confidence: float) -> Figure:
        """The mean accuracy, with limits.

        Proof:
            Of sets: no record is in two attacks, so attacks are independent, each right with the same
            probability, and Clopper and Pearson's limits hold. Of single records: a record is its score and
            the number that orders it among equal ones. Changing one record exchanges at most one of the M
            highest, and so changes the mean of A attacks by 1 / (A M) at most. The 2 A M records are
            independent, so by McDiarmid ("On the Method of Bounded Differences", 1989, Lemma 1.2) the mean
            is above what is expected by t with probability exp(-t^2 A M) at most, and below by as much
            likewise: t = sqrt(ln(1 / (1 - confidence)) / (A M)).

        Args:
            confidence: of each limit alone, in (0, 1).
        """
        attacks, value = self.accuracies.size, float(self.accuracies.mean())
        match self.kind:
            case AttackType.SET:
                return share(int(self.accuracies.sum()), attacks, confidence)
            case AttackType.SINGLE:
                width = _width(attacks * self.size, confidence)
                return Figure(value, max(0.0, value - width), min(1.0, value + width), confidence)
        assert_never(self.kind)

    def advantage(self, confidence: float) -> Figure:
        """Twice the accuracy minus one: 0 is a guess. It has the limits of the accuracy.

        Of single records it is the true minus the false positive rate, as M of 2 M are called members.
        """
        limits = self.accuracy(confidence)
        value = 2 * float(self.accuracies.mean()) - 1
        return Figure(value, 2 * limits.lower - 1, 2 * limits.upper - 1, confidence)


def single_accuracy(members: Doubles, others: Doubles, draw: np.random.Generator) -> float:
    """The share of members among the M records with the highest scores (attack type 1).

    Args:
        members: float[M]: scores of training records.
        others: float[M]: scores of test records.
        draw: orders equal scores.
    """
    return _members_on_top(members, others, draw) / len(members)


def set_success(members: Doubles, others: Doubles, draw: np.random.Generator) -> bool:
    """Whether most of the M records with the highest scores are members (attack type 2).

    Where both sets have equally many, a coin decides.

    Args:
        members: float[M]: scores of the set of training records.
        others: float[M]: scores of the set of test records.
        draw: orders equal scores, and is the coin.
    """
    on_top = _members_on_top(members, others, draw)
    if 2 * on_top == len(members):
        return bool(draw.integers(2))
    return 2 * on_top > len(members)


def repeated(
    kind: AttackType,
    subsets: Sequence[Scored],
    draw: np.random.Generator,
    size: int = SIZE,
    attacks: int = ATTACKS,
) -> RepeatedAttacks:
    """The protocol: on each subset several attacks, each on M training and M test records drawn from it.

    Args:
        kind: attack type 1 or 2.
        subsets: scores of audited records; in D5.2 each of ten is of another target model, trained on
            another tenth of the data. For a single target model take `divided`.
        draw: draws records, orders equal scores, and is the coin.
        size: M.
        attacks: on each subset.

    Raises:
        DataError: a subset has fewer than M training or test records.
    """
    if not subsets or size < 1 or attacks < 1:
        raise ValueError("there is a subset, a record and an attack at least")
    least = min(min(int(part.is_member.sum()), int((~part.is_member).sum())) for part in subsets)
    if least < size:
        raise DataError(
            kind,
            f"a subset has {least} training or test records",
            f"at least {size} of each",
            "audit more records, or take smaller or fewer subsets",
        )
    means = [np.mean([_attacked(kind, part, size, draw) for _ in range(attacks)]) for part in subsets]
    return RepeatedAttacks(np.asarray(means))


def disjoint(
    kind: AttackType, scored: Scored, draw: np.random.Generator, size: int = SIZE
) -> DisjointAttacks:
    """As many attacks on one target model as there are records for; no record is in two of them.

    It is the protocol of `repeated` where this takes each record once, as with 10 times 10 times M records.

    Args:
        kind: attack type 1 or 2.
        scored: scores of audited records.
        draw: orders the records and equal scores, and is the coin.
        size: M, at least 1.

    Raises:
        DataError: there are fewer than M training or test records.
    """
    members, others = (
        draw.permutation(scored.scores[results]) for results in (scored.is_member, ~scored.is_member)
    )
    attacks = min(len(members), len(others)) // size
    if not attacks:
        raise DataError(
            kind, "too few training or test records", f"at least {size} of each", "audit more records"
        )
    first, second = (group[: attacks * size].reshape(attacks, size) for group in (members, others))
    results = [
        judged(kind, some_members, some_others, draw)
        for some_members, some_others in zip(first, second, strict=True)
    ]
    return DisjointAttacks(kind, size, np.asarray(results, np.float64))


def limit_of_guess(kind: AttackType, attacks: int, confidence: float, size: int = SIZE) -> float:
    """The upper limit of the accuracy of so many disjoint attacks of which half are right, or half of each.

    Of an even number of sets one less is right than half, so that the limit falls from two to two.

    Args:
        kind: attack type 1 or 2.
        attacks: how many, at least 1.
        confidence: of the limit, in (0, 1).
        size: M.
    """
    match kind:
        case AttackType.SET:
            return share((attacks - 1) // 2, attacks, confidence).upper
        case AttackType.SINGLE:
            return 0.5 + _width(attacks * size, confidence)
    assert_never(kind)


def least_records(kind: AttackType, confidence: float, size: int = SIZE) -> int:
    """How many members, and as many others, it takes to find that half of the members are memorised.

    Of sets: the lower limit of A right attacks of A is above one half from A > log2(1 / (1 - confidence))
    on. Of single records: memorised ones stand above all others, which are alike, so the expected accuracy
    is 1/2 + 1/2 1/3; and that is above one half by more than the width of the limit.

    Args:
        kind: attack type 1 or 2.
        confidence: of each limit alone, in (0, 1).
        size: M.

    >>> least_records(AttackType.SET, 0.95), least_records(AttackType.SINGLE, 0.95)
    (500, 200)
    """
    error = 1 - checked(confidence)
    match kind:
        case AttackType.SET:
            return size * (math.floor(-math.log2(error)) + 1)
        case AttackType.SINGLE:
            return size * (math.floor(-36 * math.log(error) / size) + 1)
    assert_never(kind)


def divided(scored: Scored, draw: np.random.Generator, subsets: int = SUBSETS) -> tuple[Scored, ...]:
    """Disjoint random subsets of the audited records of one target model, alike in size and membership."""
    parts: list[list[int]] = [[] for _ in range(subsets)]
    for kind in (scored.is_member, ~scored.is_member):
        shuffled = draw.permutation(np.flatnonzero(kind))
        for part, records in zip(parts, np.array_split(shuffled, subsets), strict=True):
            part.extend(records.tolist())
    return tuple(scored.take(np.asarray(part, np.int64)) for part in parts)


def _attacked(kind: AttackType, part: Scored, size: int, draw: np.random.Generator) -> float:
    members = draw.choice(part.scores[part.is_member], size, replace=False)
    others = draw.choice(part.scores[~part.is_member], size, replace=False)
    return judged(kind, members, others, draw)


def judged(kind: AttackType, members: Doubles, others: Doubles, draw: np.random.Generator) -> float:
    """The accuracy of one attack."""
    match kind:
        case AttackType.SINGLE:
            return single_accuracy(members, others, draw)
        case AttackType.SET:
            return float(set_success(members, others, draw))
    assert_never(kind)


def _width(records: int, confidence: float) -> float:
    """See `DisjointAttacks.accuracy`."""
    return math.sqrt(-math.log(1 - checked(confidence)) / records)


def _members_on_top(members: Doubles, others: Doubles, draw: np.random.Generator) -> int:
    """How many of the M highest of 2 M scores are members'."""
    size = len(members)
    if not size or len(others) != size:
        raise ValueError("an attack takes as many training as test records")
    shuffled = draw.permutation(2 * size)
    order = np.argsort(-np.concatenate([members, others])[shuffled], kind="stable")
    return int((shuffled[order[:size]] < size).sum())
