"""The Monte Carlo attacks (D5.2, 4.4.2): a record that many samples are near to was probably trained on.

Equation 4.3 counts the samples within epsilon of a record (`MC-epsilon`), Equation 4.4 weighs each by its
distance (`MC-d`). Epsilon is the median of the records' distances to their nearest samples (4.6), or a
percentile of distances. A sample is compared with the records of its label alone, where there are labels.

Samples are passed once. The least distances only fall, so a sample outside of epsilon as it is now is
outside of the last one, too: what has to be kept are the distances within it, a few bytes for each sample
that is near a record, and nothing of the others.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, Protocol

import numpy as np

from smalti.errors import DataError
from smalti.transforms.generative.distances import Distance
from smalti.transforms.generative.sampler import Numbers
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.problem import Integers

PERCENTILE: Final = 0.001
"""Of D5.2: 0.1 %."""
_NEAREST: Final = 1e-6
"""In units of epsilon: what is nearer counts as that near (delta of 4.4, which avoids log 0)."""
_ROUNDED: Final = 1 + 2.0**-40
"""So that a distance that is epsilon is within it, whatever a root and a square have rounded."""
_KEPT: Final = 1 << 20
"""Distances that are kept before those outside of epsilon are removed."""


class Weighing(StrEnum):
    """What a sample within epsilon counts."""

    COUNT = "mc-epsilon"
    """One (4.3)."""
    DISTANCE = "mc-distance"
    """Minus the logarithm of its distance (4.4), in units of epsilon.

    The document leaves the unit open. In one in which epsilon is above 1, near samples would lower the
    score; in this one each of them raises it, as the text says of the median heuristic.
    """


class Accumulator(Protocol):
    """An attack that is given all samples, block by block."""

    @property
    def name(self) -> str:
        """As options and reports name it."""

    def add(self, samples: Numbers) -> None:
        """Take a block."""

    def scores(self) -> tuple[Doubles, ...]:
        """By group: the scores of its records."""


class _Pairs:
    """Distances of samples and records, label by label."""

    def __init__(self, distance: Distance, audited: Numbers) -> None:
        self.distance = distance
        self.features = distance.features(audited.features).astype(np.float64)
        self.places = {
            int(label): np.flatnonzero(audited.labels == label) for label in np.unique(audited.labels)
        }

    def squares(self, samples: Numbers) -> Iterable[tuple[Integers, Doubles]]:
        """For each label the places of its records, and the squared distances (records, samples)."""
        features = self.distance.features(samples.features).astype(np.float64)
        for label, places in self.places.items():
            own = features if len(self.places) == 1 and (samples.labels == label).all() else (
                features[samples.labels == label]
            )  # fmt: skip
            if len(own):
                yield places, self.distance.squares(self.features[places], own)


class MonteCarlo:
    """The attacks of one distance with the median heuristic, and all of their groups."""

    def __init__(self, distance: Distance, audited: Numbers, groups: Sequence[Integers]) -> None:
        """Nothing is drawn.

        Args:
            distance: of records.
            audited: the records.
            groups: the records of each attack.
        """
        self._pairs, self._groups = _Pairs(distance, audited), tuple(groups)
        self._nearest = np.full(len(audited), np.inf)
        self._within = np.full(len(audited), np.inf)
        self._places: list[Integers] = []
        self._squares: list[Doubles] = []
        self._kept = 0
        self._count = 0

    def add(self, samples: Numbers) -> None:
        """Take a block of samples."""
        self._count += len(samples)
        blocks = list(self._pairs.squares(samples))
        for places, squares in blocks:
            self._nearest[places] = np.minimum(self._nearest[places], squares.min(axis=1))
        self._bound()
        for places, squares in blocks:
            rows, columns = np.nonzero(squares <= self._within[places][:, None])
            self._places.append(places[rows].astype(np.int32))
            self._squares.append(squares[rows, columns])
            self._kept += len(rows)
        if self._kept > _KEPT:
            self._prune()

    def _bound(self) -> None:
        """The square of the largest epsilon of each record's groups, as it is now."""
        self._within.fill(0)
        for group, square in zip(self._groups, self._epsilons(), strict=True):
            self._within[group] = np.maximum(self._within[group], square)

    def _epsilons(self) -> list[float]:
        """By group: the square of epsilon (4.6); of the two middle distances the mean, as medians are."""
        nearest = np.sqrt(self._nearest)
        return [float(np.median(nearest[group])) ** 2 * _ROUNDED for group in self._groups]

    def _prune(self) -> None:
        places, squares = np.concatenate(self._places), np.concatenate(self._squares)
        is_within = squares <= self._within[places]
        self._places, self._squares = [places[is_within]], [squares[is_within]]
        self._kept = int(is_within.sum())

    def scores(self, weighing: Weighing) -> tuple[Doubles, ...]:
        """By group: the scores of its records.

        Raises:
            DataError: half of the records of a group, or more, have no sample of their label.
        """
        self._bound()
        self._prune()
        return tuple(
            self._scored(weighing, group, square)
            for group, square in zip(self._groups, self._epsilons(), strict=True)
        )

    def _scored(self, weighing: Weighing, group: Integers, square: float) -> Doubles:
        if not np.isfinite(square):
            raise DataError(
                weighing,
                "most audited records have no sample of their label",
                "samples of each label of the training records",
                "draw more samples, or check how their labels are written",
            )
        is_within = self._squares[0] <= square
        places, squares = self._places[0][is_within], self._squares[0][is_within]
        weights = weighed(weighing, squares, square)
        return np.bincount(places, weights, len(self._nearest))[group] / max(self._count, 1)


def weighed(weighing: Weighing, squares: Doubles, square: float) -> Doubles:
    """What samples within epsilon count.

    Args:
        weighing: of 4.3 or of 4.4.
        squares: of their distances.
        square: of epsilon.
    """
    if weighing is Weighing.COUNT:
        return np.ones(len(squares))
    ratios = squares / square if square > 0 else np.zeros(len(squares))
    weights: Doubles = -np.log(np.maximum(ratios, _NEAREST**2)) / 2
    return weights


class FixedEpsilon:
    """The attacks of one distance with an epsilon that is a percentile of distances.

    It is that of the distances of the first block of samples to reference records, which are not audited:
    then scores of records do not depend on one another, and no later sample changes it. D5.2 takes all
    distances of samples to the audited records, which are alike.
    """

    def __init__(
        self, distance: Distance, audited: Numbers, reference: Numbers, percentile: float = PERCENTILE
    ) -> None:
        """Nothing is drawn.

        Args:
            distance: of records.
            audited: the records.
            reference: others, that are not audited.
            percentile: a share, in (0, 1).
        """
        self._pairs, self._reference = _Pairs(distance, audited), _Pairs(distance, reference)
        self._percentile = percentile
        self._square: float | None = None
        self._sums = {weighing: np.zeros(len(audited)) for weighing in Weighing}
        self._count = 0

    def add(self, samples: Numbers) -> None:
        """Take a block of samples."""
        if self._square is None:
            blocks = [squares.ravel() for _, squares in self._reference.squares(samples)]
            if not blocks:
                raise DataError(
                    "the percentile heuristic",
                    "no reference record has the label of a sample",
                    "other records of each label",
                    "use the median heuristic, or more records as others",
                )
            self._square = float(np.quantile(np.concatenate(blocks), self._percentile))
        self._count += len(samples)
        for places, squares in self._pairs.squares(samples):
            rows, columns = np.nonzero(squares <= self._square)
            for weighing, sums in self._sums.items():
                weights = weighed(weighing, squares[rows, columns], self._square)
                sums[places] += np.bincount(rows, weights, len(places))

    def scores(self, weighing: Weighing) -> Doubles:
        """The scores of all audited records."""
        return self._sums[weighing] / max(self._count, 1)


class NearestRecord:
    """Minus the distance of each record to the nearest sample: the distance to the closest record."""

    def __init__(self, distance: Distance, audited: Numbers) -> None:
        """Nothing is drawn.

        Args:
            distance: of records.
            audited: the records.
        """
        self._pairs = _Pairs(distance, audited)
        self._nearest = np.full(len(audited), np.inf)

    def add(self, samples: Numbers) -> None:
        """Take a block of samples."""
        for places, squares in self._pairs.squares(samples):
            self._nearest[places] = np.minimum(self._nearest[places], squares.min(axis=1))

    def scores(self) -> Doubles:
        """The scores of all audited records: finite, also where no sample has a record's label."""
        finite: Doubles = np.maximum(-np.sqrt(self._nearest), np.finfo(np.float64).min)
        return finite


class KernelDensity:
    """The logarithm of a density that samples show, with a Gaussian kernel (4.5).

    The bandwidth is Scott's rule for the first block, in the features of the distance. D5.2 reports that
    this attack is no better than a guess on MNIST; it is here for comparison.
    """

    def __init__(self, distance: Distance, audited: Numbers) -> None:
        """Nothing is drawn.

        Args:
            distance: of records.
            audited: the records.
        """
        self._pairs = _Pairs(distance, audited)
        self._bandwidth: float | None = None
        self._logs = np.full(len(audited), -np.inf)

    def add(self, samples: Numbers) -> None:
        """Take a block of samples."""
        if self._bandwidth is None:
            features = self._pairs.distance.features(samples.features)
            wide = float(features.std(axis=0).mean())
            self._bandwidth = max(wide, 1e-12) * len(features) ** (-1 / (features.shape[1] + 4))
        for places, squares in self._pairs.squares(samples):
            exponents = squares / (-2 * self._bandwidth**2)
            highest = exponents.max(axis=1)
            logs = highest + np.log(np.exp(exponents - highest[:, None]).sum(axis=1))
            self._logs[places] = np.logaddexp(self._logs[places], logs)

    def scores(self) -> Doubles:
        """The scores of all audited records: finite, also where no sample has a record's label."""
        finite: Doubles = np.maximum(self._logs, np.finfo(np.float64).min)
        return finite
