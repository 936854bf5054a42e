"""How many random examples a test takes: its own number, and ten times that in `make test-full`."""

from hypothesis import settings

_DEFAULT = 100


def examples(count: int) -> int:
    """The number of examples under the profile in force."""
    return count * max(1, settings.default.max_examples // _DEFAULT)
