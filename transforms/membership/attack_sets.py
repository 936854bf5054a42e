"""The data that attack models are trained and judged on, balanced class by class.

D5.1, section 3.2, equations 3.2 to 3.6: confidences on records of a class, labelled "in" where the model
was trained on the record and "out" where not, as many of one as of the other.
"""

from dataclasses import dataclass

import numpy as np

from smalti.transforms.membership.confidences import Floats
from smalti.transforms.membership.observation import ShadowAnswers
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True, eq=False)
class AttackSet:
    """Confidences with the truth, for one class; half of them "in"."""

    confidences: Floats
    """float[records, classes]."""
    is_member: Flags
    """bool[records]."""


@dataclass(frozen=True, slots=True, eq=False)
class AttackTrainSetGenerator:
    """Makes the training set of each attack model from what the shadow group says of its pool."""

    pool: ShadowAnswers
    seed: int
    """Chooses which of the records that are too many stay out."""

    def of_class(self, label: int) -> AttackSet:
        """The set of one class, joined over shadow models; each shadow's part is balanced."""
        draw = np.random.default_rng((self.seed, label))
        own = np.flatnonzero(self.pool.labels == label)
        confidences, memberships = [], []
        for answers, members in zip(self.pool.confidences, self.pool.members, strict=True):
            kept = own[balanced(members[own], draw)]
            confidences.append(answers[kept])
            memberships.append(members[kept])
        return AttackSet(np.concatenate(confidences), np.concatenate(memberships))


@dataclass(frozen=True, slots=True, eq=False)
class AttackTestSetGenerator:
    """Chooses the test set of each attack model among the audited records."""

    labels: Integers
    """int[records]: the true classes."""
    is_member: Flags
    """bool[records]: whether the target was trained on the record."""
    seed: int
    """Chooses which of the records that are too many stay out."""

    def of_class(self, label: int) -> Integers:
        """Positions of audited records of a true class, as many members as others; in order."""
        draw = np.random.default_rng((self.seed, label))
        own = np.flatnonzero(self.labels == label)
        return own[balanced(self.is_member[own], draw)]


def balanced(is_member: Flags, draw: np.random.Generator) -> Integers:
    """Positions of as many members as others: all of the rarer kind, and a draw of the other."""
    members, others = np.flatnonzero(is_member), np.flatnonzero(~is_member)
    size = min(len(members), len(others))
    kept = (draw.choice(kind, size, replace=False) for kind in (members, others))
    return np.sort(np.concatenate(tuple(kept)))
