"""What all tests share: the one Spark session, named skips, and the generators of example data."""

import gc
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# No deadlines: two cores are shared with Spark. The same examples in each run of `make test`.
hypothesis.settings.register_profile(
    "default", deadline=None, derandomize=True, print_blob=True, max_examples=50
)
hypothesis.settings.register_profile(
    "full",
    deadline=None,
    derandomize=False,
    print_blob=True,
    max_examples=1000,
    # How fast examples are drawn depends on what else the machine does.
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("default")


def load_script(path: str) -> ModuleType:
    """Import a script of the repository that is not part of the package."""
    name = f"smalti_script_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


jre = load_script(".ci/jre.py")
chromium = load_script(".ci/chromium.py")

# --- scratch folders -----------------------------------------------------------------------------

MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 << 30
"""What the quick suite's scratch folders may take at most, with room to spare."""


def _holds_scratch(folder: Path) -> bool:
    """Say whether a folder in memory is there, has room, and runs the scripts that tests write."""
    try:
        return (
            shutil.disk_usage(folder).free >= MEMORY_BYTES
            and os.access(folder, os.W_OK)
            and not os.statvfs(folder).f_flag & os.ST_NOEXEC
        )
    except OSError:
        return False


def pytest_configure(config: pytest.Config) -> None:
    """Keep the quick suite's scratch folders in memory, where `fsync` costs nothing.

    Each registry, journal and output is synced many times, and a test waits for the disk each time. No test
    can see what a loss of power leaves; those that kill a process see the same in memory. The slow tests'
    data is too large for it. `--basetemp`, or pytest's variable used here, names another place.
    """
    if config.option.markexpr != "not slow" or config.option.basetemp or not _holds_scratch(MEMORY):
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session")
def transactions() -> ModuleType:
    """The generator of customer transactions."""
    return load_script("examples/data/transactions.py")


@pytest.fixture(scope="session")
def adult_like() -> ModuleType:
    """The generator of Adult-like rows."""
    return load_script("benchmarks/adult_like.py")


# --- Spark ---------------------------------------------------------------------------------------


def _missing_for_spark() -> tuple[str, str] | None:
    """Return what Spark tests lack here, and the command that installs it."""
    if find_spec("pyspark") is None or find_spec("pandas") is None:
        return "the extra `spark` is not installed", "make test (or here: pip install '.[spark]')"
    if jre.find() is None:
        return f"no Java runtime, version {jre.OLDEST} or newer", jre.install_command()
    return None


def _missing_for_browser() -> tuple[str, str] | None:
    """Return what browser tests lack here, and the command that installs it."""
    if find_spec("playwright") is None:
        return "Playwright is not installed", "make test"
    if chromium.find() is None:
        return "no Chromium", chromium.install_command()
    return None


MISSING = pytest.StashKey[dict[str, tuple[str, str] | None]]()
"""By mark, what its tests lack here."""
NEEDED = {"spark": _missing_for_spark, "browser": _missing_for_browser}
"""By mark, what finds that out."""
SKIPPED_KEY = "test skipped for want of what it needs"


def _mark_of(item: pytest.Item) -> str | None:
    """Return the mark of a test that needs more than Python."""
    return next((mark for mark in NEEDED if item.get_closest_marker(mark)), None)


def _is_required(mark: str) -> bool:
    return os.environ.get(f"SMALTI_REQUIRE_{mark.upper()}", "") not in {"", "0"}


def _is_named_spark(nodeid: str) -> bool:
    """Say whether a test counts as a Spark test by its name: all that xdist's scheduler sees of it."""
    return "spark" in nodeid.lower()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all Spark tests to one worker process, so that a run starts one Spark session.

    Every other file goes to one worker as a whole: its tests share what takes long (a trained model, a
    registry, what JAX compiles), and xdist counts all scopes anew after each test.
    """
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 (only where xdist runs)

    class OneSparkWorker(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _is_named_spark(nodeid) else nodeid.partition("::")[0]

    return OneSparkWorker(config, log)


class FromTheEnd(pytest.Dir):
    """A folder whose last file is collected first."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed([*super().collect()])


WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""`gw0`, `gw1`, ...; empty where one process runs all tests."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Let every other worker begin at the end: in a fresh checkout, each rewrites half of the assertions.

    A worker reads what another one has rewritten. All must name the tests in one order (below).
    """
    return FromTheEnd.from_parent(parent, path=path) if WORKER[-1:] in set("13579") else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Keep modules and tests out of the sight of the collector of garbage.

    They stay to the end, and to walk through all of them took half a second each time: a third of the time
    that collecting tests takes, and a seventh of that of the tests. Few objects are in sight then, and the
    old ones among them are looked through as seldom as before.
    """
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    gc.disable()
    try:
        found = yield
        gc.collect()
        gc.freeze()
    finally:
        gc.enable()
    return found


def pytest_unconfigure() -> None:
    """Let the end of the process find what it looks for: libraries report what is left over."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that take the Spark session, and run them first: starting Spark takes longest."""
    if WORKER:
        items.sort(key=lambda item: str(item.path))
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("spark"):
            item.add_marker("spark")
    spark_items = [item for item in items if item.get_closest_marker("spark")]
    marks = {mark for item in items if (mark := _mark_of(item))}
    config.stash[MISSING] = {mark: NEEDED[mark]() for mark in marks}
    if not spark_items:
        return
    if unnamed := [item.nodeid for item in spark_items if not _is_named_spark(item.nodeid)]:
        raise pytest.UsageError(f"Spark tests need `spark` in their file, name or parameter: {unnamed}")
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that cannot run here."""
    if (mark := _mark_of(item)) and (missing := item.config.stash[MISSING][mark]):
        pytest.skip(missing[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None] | pytest.TestReport:
    """Note each such skipped test for the summary; where it is required, make it a failure."""
    report: pytest.TestReport = yield
    if report.skipped and not hasattr(report, "wasxfail") and (mark := _mark_of(item)):
        missing = item.config.stash[MISSING][mark]
        reason = str(call.excinfo.value) if call.excinfo else "skipped"
        report.user_properties.append((SKIPPED_KEY, (reason, missing[1] if missing else "")))
        if _is_required(mark):
            report.outcome = "failed"
            variable = f"SMALTI_REQUIRE_{mark.upper()}"
            report.longrepr = f"a {mark} test was skipped, and {variable} is set: {reason}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name such tests that did not run, and the command that makes them run, at the very end."""
    skipped = [
        (report.nodeid, *value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for key, value in getattr(report, "user_properties", ())
        if key == SKIPPED_KEY
    ]
    if not skipped:
        return
    terminalreporter.section("Tests that did not run for want of Java or a browser", yellow=True)
    for nodeid, reason, _ in skipped:
        terminalreporter.line(f"skipped: {nodeid} ({reason})")
    for command in sorted({command for _, _, command in skipped if command}):
        terminalreporter.line(f"to run them: {command}")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one Spark session of a test run: small, local and silent; it writes to a scratch folder only."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (absent without the extra)

    home = tmp_path_factory.mktemp("spark")
    java_home = jre.find()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(java_home))
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("smalti tests")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            # Tests are many small queries: Java's second compiler costs them more than it gains, and so do
            # several threads that collect garbage.
            .config(
                "spark.driver.extraJavaOptions",
                f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={home / 'derby'}",
            )
            .config("spark.jars.ivy", str(home / "ivy"))
            .config("spark.local.dir", str(home / "local"))
            .config("spark.sql.warehouse.dir", str(home / "warehouse"))
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
