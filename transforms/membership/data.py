"""The records of an audit: features and labels, from any source that gives arrays."""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from smalti.errors import DataError
from smalti.transforms.membership.confidences import Floats, checked_labels
from smalti.transforms.problem import Flags, Integers

_DIGEST_SIZE = 16


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Records that a model was trained on, or may be asked about (`DataSet` of D5.1, section 3.3)."""

    name: str
    """For messages, such as `the target's training set`."""
    features: Floats
    """float[records, features]; finite."""
    labels: Integers
    """int[records]: classes numbered from 0."""
    classes: int
    """At least 2."""

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.features.dtype.kind != "f" or not self.features.shape[1]:
            raise DataError(self.name, "features are not a table of floats", "records x features")
        if self.classes < 2:
            raise DataError(self.name, f"{self.classes} classes", "at least two")
        if len(self.features) != len(self.labels):
            raise DataError(
                self.name,
                f"{len(self.features)} records have {len(self.labels)} labels",
                "one label for each record",
            )
        wrong = int((~np.isfinite(self.features).all(axis=1)).sum())
        if wrong:
            raise DataError(self.name, f"{wrong} records have features that are not finite", "numbers")
        checked_labels(self.name, self.labels, self.classes)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def class_counts(self) -> Integers:
        """int[classes]: how many records each class has."""
        return np.bincount(self.labels, minlength=self.classes)

    def digests(self) -> tuple[bytes, ...]:
        """One digest for each record, equal where features (as doubles) and label are equal.

        They stay in memory: whoever reads the digest of a record can test guesses of it.
        """
        return digests_of(np.hstack([self.features, self.labels[:, None]]))

    def take(self, records: Integers) -> Self:
        """Some of the records, by their positions."""
        return type(self)(self.name, self.features[records], self.labels[records], self.classes)

    def without(self, others: "DataSet") -> Self:
        """The records whose content is in none of the others."""
        return self.take(np.flatnonzero(~self.occurs_in(others)))

    def occurs_in(self, others: "DataSet") -> Flags:
        """bool[records]: whether the content of a record is that of one of the others."""
        digests = frozenset(others.digests())
        return np.fromiter((digest in digests for digest in self.digests()), np.bool_, len(self))

    def joined(self, name: str, others: "DataSet") -> Self:
        """These records, then the others."""
        return type(self)(
            name,
            np.concatenate([self.features, others.features]),
            np.concatenate([self.labels, others.labels]),
            self.classes,
        )


def digests_of(rows: Floats) -> tuple[bytes, ...]:
    """One digest for each row of a table, equal where the rows are equal as doubles."""
    exact = np.ascontiguousarray(rows, np.float64) + 0.0  # minus zero equals zero
    return tuple(hashlib.blake2b(row.tobytes(), digest_size=_DIGEST_SIZE).digest() for row in exact)
