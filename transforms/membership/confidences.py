"""Class confidences of models, and the figures that attacks compute from them.

A model maps a record to a vector of confidences, one for each class, that sum to one (D5.1, section 3.2).
Classes are numbered from 0. No message here holds a confidence or a label: only how many are wrong.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.errors import DataError
from smalti.transforms.problem import Flags, Integers

Floats = NDArray[np.floating]
"""Float arrays: 32 bits as networks give them, or 64."""
Doubles = NDArray[np.float64]

SUM_TOLERANCE: Final = 1e-3
"""How far a sum of confidences may be from one: float16 outputs of a thousand classes come so far."""
LEAST_CONFIDENCE: Final = float(np.finfo(np.float32).tiny)
"""Smaller confidences are taken for this one before a logarithm: float32 has no smaller normal number."""


def checked_confidences(where: str, answers: object, records: int, classes: int) -> Floats:
    """Confidences of models, as an array of floats, or a `DataError` that says what is wrong with them.

    Args:
        where: which model, for the message.
        answers: float[..., records, classes].
        records: how many records were asked about.
        classes: how many classes there are.
    """
    confidences = np.asarray(answers)
    if confidences.dtype.kind != "f":
        raise DataError(where, f"confidences are of type {confidences.dtype}", "floats")
    if confidences.ndim < 2 or confidences.shape[-2:] != (records, classes):
        shape = " x ".join(map(str, confidences.shape))
        raise DataError(
            where,
            f"confidences have the shape {shape}",
            f"{records} records x {classes} classes",
            "give one confidence for each class, also for classes that the model was not trained on",
        )
    _refuse(where, ~np.isfinite(confidences).all(axis=-1), "are not finite", "numbers from 0 to 1")
    _refuse(
        where,
        np.asarray(((confidences < -SUM_TOLERANCE) | (confidences > 1 + SUM_TOLERANCE)).any(axis=-1)),
        "are not probabilities",
        "numbers from 0 to 1; say so if the model gives logits (`gives_logits`; of an ONNX file --logits)",
    )
    _refuse(
        where,
        np.asarray(np.abs(confidences.sum(axis=-1, dtype=np.float64) - 1) > SUM_TOLERANCE),
        "do not sum to one",
        f"a sum of one for each record, within {SUM_TOLERANCE:g}",
    )
    return confidences


def checked_labels(where: str, values: object, classes: int) -> Integers:
    """Labels, as classes numbered from 0, or a `DataError`.

    Args:
        where: which records, for the message.
        values: int[records].
        classes: how many classes there are.
    """
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(where, "labels are not one whole number for each record", "classes numbered from 0")
    wrong = int(((labels < 0) | (labels >= classes)).sum())
    if wrong:
        raise DataError(
            where, f"{wrong} labels are none of the {classes} classes", "classes numbered from 0"
        )
    return labels.astype(np.int64)


def softmax(logits: Floats) -> Floats:
    """The confidences of a model that gives logits; none of them overflows.

    Args:
        logits: float[..., classes].
    """
    growth = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Floats = growth / growth.sum(axis=-1, keepdims=True)
    return shares


def of_true_class(confidences: Floats, labels: Integers) -> Doubles:
    """The confidence in each record's true class.

    Args:
        confidences: float[..., records, classes].
        labels: int[records].

    Returns:
        float[..., records].
    """
    index = labels.reshape((1,) * (confidences.ndim - 2) + (-1, 1))
    return np.take_along_axis(confidences, index, axis=-1)[..., 0].astype(np.float64)


def cross_entropy(confidences: Floats, labels: Integers) -> Doubles:
    """The loss of each record in nats: minus the logarithm of the confidence in the true class."""
    return -_log(of_true_class(confidences, labels))


def logit_scaled(confidences: Floats, labels: Integers) -> Doubles:
    """log(p / (1 - p)) of the confidence in the true class: Carlini et al. 2022, section VI.A.

    1 - p is the sum of the other confidences, which keeps its digits where p is near one.

    Args:
        confidences: float[..., records, classes].
        labels: int[records].

    Returns:
        float[..., records], within 88 of 0.
    """
    if confidences.ndim > 2:  # one model at a time, for the copies
        return np.stack([logit_scaled(of_model, labels) for of_model in confidences])
    others = confidences.astype(np.float64)
    np.put_along_axis(others, labels[:, None], 0.0, axis=-1)
    scaled: Doubles = _log(of_true_class(confidences, labels)) - _log(others.sum(axis=-1))
    return scaled


def _log(value: Doubles) -> Doubles:
    logarithm: Doubles = np.log(np.maximum(value, LEAST_CONFIDENCE))
    return logarithm


def _refuse(where: str, wrong: Flags, problem: str, expected: str) -> None:
    if wrong.any():
        count = int(wrong.sum())
        message = f"the confidences of {count} record{'' if count == 1 else 's'} {problem}"
        raise DataError(where, message, expected)
