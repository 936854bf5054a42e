"""How many random examples a test takes: its own number, and ten times that in `make test-full`."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

_DEFAULT = 100


def is_full() -> bool:
    """Whether this is `make test-full`."""
    return settings.default.max_examples > _DEFAULT


def examples(count: int, full: int | None = None) -> int:
    """The number of examples under the profile in force; `full`, where ten times is not enough."""
    times = max(1, settings.default.max_examples // _DEFAULT)
    return full if full is not None and times > 1 else count * times


def every(nth: int, values: Iterable[T]) -> list[Any]:
    """Parameters of a test whose members show much the same: each nth is quick, the others are slow."""
    return [
        value if place % nth == 0 else pytest.param(value, marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
