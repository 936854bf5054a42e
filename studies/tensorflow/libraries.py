"""The only import of TensorFlow and tensorflow-privacy, with the message if one is missing or does not fit.

They fit one another on Python 3.11 only: tensorflow-privacy 0.9.0 (February 2024, the last one) refuses
Python 3.12, and needs what TensorFlow 2.16 took away; it declares TensorFlow 2 without an upper limit.
"""

import sys
from typing import Any, Final, NamedTuple

from smalti.errors import BackendError, checkout_line

_WHERE: Final = "training with tensorflow-privacy"
_EXTRA: Final = "audit-tf"
_FIRST_THAT_DOES_NOT_FIT: Final = (2, 16)


class Libraries(NamedTuple):
    """Both modules; neither has types."""

    tensorflow: Any
    privacy: Any


def libraries() -> Libraries:
    """Import both, which takes some 10 seconds once.

    Raises:
        BackendError: this Python, or the TensorFlow that is installed, is too new; or a library is missing.
    """
    if sys.version_info >= (3, 12):
        raise BackendError(
            _WHERE,
            "it does not run on this version of Python",
            "Python 3.11",
            f"make an environment with it (python3.11 -m venv); {checkout_line(_EXTRA)}",
        )
    try:
        import tensorflow  # noqa: PLC0415 (an extra, and many seconds)
    except ImportError:
        raise _missing("TensorFlow", "tensorflow") from None
    major, minor = tensorflow.__version__.split(".")[:2]
    if (int(major), int(minor)) >= _FIRST_THAT_DOES_NOT_FIT:
        raise BackendError(
            _WHERE,
            f"TensorFlow {major}.{minor} is installed, but tensorflow-privacy does not run in it",
            "TensorFlow 2.15",
            f"make a separate environment; {checkout_line(_EXTRA)}",
        )
    try:
        import tensorflow_privacy  # noqa: PLC0415
    except ImportError:
        raise _missing("the library of private optimizers", "tensorflow-privacy") from None
    return Libraries(tensorflow, tensorflow_privacy)


def _missing(what: str, package: str) -> BackendError:
    way_out = f"make a separate environment; {checkout_line(_EXTRA)}"
    return BackendError(_WHERE, f"{what} is not installed", f"the package {package}", way_out)
