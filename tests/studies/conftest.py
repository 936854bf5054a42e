"""What the tests of studies share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of linear algebra wait for one another where others use the machine."""
    with threadpool_limits(1):
        yield
