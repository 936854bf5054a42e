"""How many random examples a test takes: half of its number; ten times it in `make test-full`."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

_DEFAULT = 100
_LEAST = 3


def is_full() -> bool:
    """Whether this is `make test-full`."""
    return settings.default.max_examples > _DEFAULT


def examples(count: int, full: int | None = None) -> int:
    """The number of examples under the profile in force.

    Args:
        count: `make test` takes half of them, and three at least; `make test-full` ten times as many.
        full: what `make test-full` takes instead.
    """
    if not is_full():
        return min(count, max(_LEAST, count // 2))
    return count * (settings.default.max_examples // _DEFAULT) if full is None else full


def every(nth: int, values: Iterable[T]) -> list[Any]:
    """Parameters of a test whose members show much the same: each nth is quick, the others are slow."""
    return [
        value if place % nth == 0 else pytest.param(value, marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
