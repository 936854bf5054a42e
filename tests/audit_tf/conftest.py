"""Tests with tensorflow-privacy, which only `make test-tf` collects: its environment has the library.

None may be skipped, for a skip would say that something was compared which was not.
"""

import os
import warnings

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

from smalti.studies.tensorflow.libraries import Libraries, libraries

with warnings.catch_warnings():  # of TensorFlow Probability, about distutils
    warnings.simplefilter("ignore")
    BOTH = libraries()


@pytest.fixture(scope="session")
def both() -> Libraries:
    return BOTH


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        reporter.line("\na test was skipped: nothing was compared there")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
