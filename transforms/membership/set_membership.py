"""Single and set membership inference: what an adversary and what a regulator achieve with scores.

D5.2, section 4.2, attack types 1 and 2; the protocol of repetitions is that of section 4.4. Scores may come
from any attack. Equal scores are ordered by chance, from the caller's generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

import numpy as np

from smalti.errors import DataError
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.scored import Scored

SIZE: Final = 100
"""M, records of each kind in one attack."""
SUBSETS: Final = 10
ATTACKS: Final = 10
"""On each subset."""


class AttackType(StrEnum):
    """What is to be told."""

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
            f"{size} of each at least",
            "audit more records, or take smaller or fewer subsets",
        )
    means = [np.mean([_attacked(kind, part, size, draw) for _ in range(attacks)]) for part in subsets]
    return RepeatedAttacks(np.asarray(means))


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
    match kind:
        case AttackType.SINGLE:
            return single_accuracy(members, others, draw)
        case AttackType.SET:
            return float(set_success(members, others, draw))
    assert_never(kind)


def _members_on_top(members: Doubles, others: Doubles, draw: np.random.Generator) -> int:
    """How many of the M highest of 2 M scores are members'."""
    size = len(members)
    if not size or len(others) != size:
        raise ValueError("an attack takes as many training as test records")
    shuffled = draw.permutation(2 * size)
    order = np.argsort(-np.concatenate([members, others])[shuffled], kind="stable")
    return int((shuffled[order[:size]] < size).sum())
