"""Model inversion: guessing a hidden attribute from a model and the rest of a record.

Fredrikson, Jha, Ristenpart, "Model Inversion Attacks that Exploit Confidence Information and Basic
Countermeasures", CCS 2015. It shows what a model tells about an attribute to whoever knows the rest of a
record. It does not show a leak of training data by itself: the attack works on correlations, so it guesses
as well about people whom the model never saw. What only those lose who took part is the difference between
the two (the attribute advantage of Yeom, Giacomelli, Fredrikson, Jha, CSF 2018, Definition 5), and a model
without any such difference can still reveal an attribute; so could one that was trained without the person.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.auditing.limits import Figure, lower_limit, upper_limit
from smalti.transforms.problem import Integers

Floats = NDArray[np.floating]

_BATCH: Final = 4096
_LEAST: Final = float(np.finfo(np.float32).tiny)


class Classifier(Protocol):
    """A model that gives a confidence for each class."""

    def confidences(self, features: Floats) -> Floats:
        """Shape (records, classes) for features of shape (records, features)."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """What is hidden of a record: some of its features, which have one of a few known values."""

    columns: tuple[int, ...]
    """The positions of the features."""
    candidates: Floats
    """Shape (values, columns): what the features are for each value; two values at least."""
    shares: NDArray[np.float64]
    """Shape (values,): how frequent each value is thought to be; above 0, with the sum 1. Public, or from
    records that are not attacked."""

    def __post_init__(self) -> None:
        values = len(self.candidates)
        if self.candidates.shape != (values, len(self.columns)) or values < 2 or not self.columns:
            raise ValueError("the features of two values at least are expected")
        if self.shares.shape != (values,) or (self.shares <= 0).any() or abs(self.shares.sum() - 1) > 1e-9:
            raise ValueError("a share above 0 is expected for each value, and a sum of 1")

    @classmethod
    def of_categories(cls, columns: tuple[int, ...], shares: NDArray[np.float64]) -> "Attribute":
        """A category with a feature for each of its values, which is 1 for the record's own."""
        return cls(columns, np.eye(len(columns)), shares)

    def values_of(self, features: Floats) -> Integers:
        """Shape (records,): which value each record has; ValueError where one has none of them."""
        hidden = features[:, list(self.columns)]
        equal = (hidden[:, None, :] == self.candidates[None].astype(hidden.dtype)).all(axis=2)
        if not equal.any(axis=1).all():
            raise ValueError("a record has none of the values")
        return np.asarray(equal.argmax(axis=1), np.int64)


@dataclass(frozen=True, slots=True)
class Inverted:
    """How often a hidden attribute was guessed; each figure with limits at one confidence."""

    members: Figure
    """The share of guesses that are right about records that the model was trained on."""
    others: Figure
    """The same, about records that it was not trained on: what follows from correlations alone."""
    without_model: float
    """The share that is right, of both together, if the most frequent value is guessed for everybody."""
    advantage: Figure
    """The first minus the second: what only those lose who took part."""


def guessed(model: Classifier, features: Floats, labels: Integers, attribute: Attribute) -> Integers:
    """The likeliest value of a hidden attribute for each record.

    Each value is tried: it is as likely as it is frequent, times the model's confidence in the record's
    known class if it were so (the black-box attack with known marginals, CCS 2015, section 4).

    Args:
        model: gives confidences.
        features: shape (records, features); those of the attribute are not looked at.
        labels: shape (records,): the known classes.
        attribute: that is hidden.

    Returns:
        Shape (records,): values by number, the first of equally likely ones.
    """
    values = np.empty(len(features), np.int64)
    for start in range(0, len(features), _BATCH):
        part = slice(start, start + _BATCH)
        values[part] = _scores(model, features[part], labels[part], attribute).argmax(axis=0)
    return values


def inverted(
    model: Classifier,
    members: tuple[Floats, Integers],
    others: tuple[Floats, Integers],
    attribute: Attribute,
    confidence: float,
) -> Inverted:
    """Attack an attribute of records that a model was and was not trained on.

    Args:
        model: gives confidences.
        members: features and classes of records that it was trained on; at least one.
        others: the same of records that it was not trained on, of the same distribution; at least one.
        attribute: that is hidden.
        confidence: of each limit alone, in (0, 1).

    Raises:
        ValueError: a record has none of the attribute's values.
    """
    counts = [_hits(model, group, attribute) for group in (members, others)]
    (hits, total), (other_hits, other_total) = counts
    truth = np.concatenate([attribute.values_of(group[0]) for group in (members, others)])
    plain = int(np.argmax(attribute.shares))
    sides = [_share(*count, (1 + confidence) / 2) for count in counts]
    difference = Figure(
        hits / total - other_hits / other_total,
        sides[0].lower - sides[1].upper,
        sides[0].upper - sides[1].lower,
        confidence,
    )
    return Inverted(
        _share(hits, total, confidence),
        _share(other_hits, other_total, confidence),
        float((truth == plain).mean()),
        difference,
    )


def _scores(
    model: Classifier, features: Floats, labels: Integers, attribute: Attribute
) -> NDArray[np.float64]:
    """Shape (values, records): how likely each value is, up to a factor of each record's own, as a log."""
    tried = np.array(features)
    scores = np.empty((len(attribute.candidates), len(features)))
    for value, candidate in enumerate(attribute.candidates):
        tried[:, list(attribute.columns)] = candidate
        confidences = model.confidences(tried)[np.arange(len(labels)), labels]
        scores[value] = np.log(attribute.shares[value]) + np.log(np.maximum(confidences, _LEAST))
    return scores


def _hits(model: Classifier, group: tuple[Floats, Integers], attribute: Attribute) -> tuple[int, int]:
    features, labels = group
    right = guessed(model, features, labels, attribute) == attribute.values_of(features)
    return int(right.sum()), len(features)


def _share(hits: int, total: int, confidence: float) -> Figure:
    lower, upper = (float(limit(hits, total, confidence)) for limit in (lower_limit, upper_limit))
    return Figure(hits / total, lower, upper, confidence)
