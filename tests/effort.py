"""How many random examples a test takes: its own number, and ten times that in `make test-full`."""

from hypothesis import settings

_DEFAULT = 100


def is_full() -> bool:
    """Whether this is `make test-full`."""
    return settings.default.max_examples > _DEFAULT


def examples(count: int, full: int | None = None) -> int:
    """The number of examples under the profile in force; `full`, where ten times is not enough."""
    times = max(1, settings.default.max_examples // _DEFAULT)
    return full if full is not None and times > 1 else count * times
