"""A check that the libraries of the extra `audit` are installed, for a training and its audit."""

from importlib.util import find_spec
from typing import Final

from smalti.errors import not_installed

_LIBRARIES: Final = (
    ("jax", "the library that trains networks", "jax"),
    ("dp_accounting", "the accountant of private training", "dp-accounting"),
    ("scipy", "the library of statistics", "scipy"),
    ("sklearn", "the library of attack models", "scikit-learn"),
    ("safetensors", "the format of networks", "safetensors"),
)
"""The module, what it does, and its package."""


def check_installed() -> None:
    """Refuse a run if one is missing, before anything is permitted or charged; imports none of them.

    Raises:
        BackendError: which one is missing, and how to install it.
    """
    for module, what, package in _LIBRARIES:
        if find_spec(module) is None:
            raise not_installed("training and audits", what, package, "audit")
