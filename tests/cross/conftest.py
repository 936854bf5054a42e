"""Comparisons with libraries that nobody here wrote. None of them may be skipped.

`make test-cross` runs them in an environment of their own. The normal run does not collect them.
"""

from collections.abc import Iterator
from typing import TypeVar

import pytest

_Report = TypeVar("_Report", pytest.CollectReport, pytest.TestReport)
_SKIPPED = "skipped, and nothing here may be: make test-cross installs what is missing"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None] | pytest.CollectReport:
    report: pytest.CollectReport = yield
    return _refused(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None] | pytest.TestReport:
    report: pytest.TestReport = yield
    return _refused(report)


def _refused(report: _Report) -> _Report:
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{_SKIPPED}; {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _one_thread_of_doubles() -> Iterator[None]:
    import jax  # noqa: PLC0415 (the normal run reads this file, too)
    import torch  # noqa: PLC0415

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    yield
    jax.config.update("jax_enable_x64", before)
