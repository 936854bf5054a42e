"""Sessions of Spark: how they are started, which settings callers may choose, and error messages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.engine.backends.needs import INSTALL_JAVA, OLDEST_JAVA
from smalti.errors import BackendError, InternalError, SmaltiError, UsageError, install_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Without an appender Spark takes its own default instead, and logs.
_QUIET: Final = """appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
_QUOTING_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_OURS: Final = {
    "spark.master": "use --master",
    "spark.log.level": "Spark's log may quote rows",
    **{
        f"spark.{role}.{kind}JavaOptions": "they could turn on a log that quotes rows"
        for role in ("driver", "executor")
        for kind in ("extra", "default")
    },
    "spark.eventLog.enabled": "the event log may quote rows",
    "spark.sql.debug.maxToStringFields": "Spark's error pages may quote rows",
    "spark.pyspark.python": "the workers use this interpreter",
    "spark.pyspark.driver.python": "the workers use this interpreter",
    "spark.executorEnv.PYSPARK_PYTHON": "the workers use this interpreter",
}
"""Settings that callers cannot choose, and why."""
_LOCAL_IP: Final = "SPARK_LOCAL_IP"
_ANY_PYTHON: Final = "python3"
"""What PySpark takes where nothing is chosen."""


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings that could make Spark log rows, or its workers take another interpreter.

    Raises:
        UsageError: names the first of them.
    """
    for key in settings:
        if not key.startswith("spark."):
            raise UsageError(
                "--conf", f"`{key}` is not a Spark setting", "a name that begins with `spark.`"
            )
        if key in _OURS:
            raise UsageError("--conf", f"`{key}` cannot be set: {_OURS[key]}", "another setting")


def is_local(master: str) -> bool:
    """Whether all tasks run in the process of the session."""
    return master == "local" or master.startswith("local[")


@contextmanager
def session(
    existing: "SparkSession | None", master: str | None, settings: Mapping[str, str], workspace: Path
) -> Iterator[tuple["SparkSession", bool]]:
    """The session for a run, and whether it was made for it; such a one is stopped when the block fails.

    Args:
        existing: the caller's own; None: the active one, or one made here.
        master: of one made here; None: what `spark-submit` says, or this machine.
        settings: of one made here.
        workspace: a folder private to the run.

    Raises:
        UsageError: master or settings are asked for, and a session runs already.
        BackendError: PySpark, Java or the master is not there.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BackendError(
            "spark engine", "PySpark is not installed", "the extra `spark`", install_line("spark")
        ) from None
    running = existing or SparkSession.getActiveSession()
    if running is not None:
        if master is not None or settings:
            raise UsageError(
                "spark engine",
                "a session is already running and keeps its master and settings",
                "no --master and no --conf",
                "stop that session first",
            )
        _take_this_python(running)
        yield running, False
        return
    started = _start(master, settings, workspace)
    try:
        yield started, True
    except BaseException:
        started.stop()
        raise


def _start(master: str | None, settings: Mapping[str, str], workspace: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    chosen = _defaults(master, workspace) | dict(settings) | _fixed(workspace)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        with _environment(_asked_at_start(chosen)):
            _start_java(chosen)
            return builder.getOrCreate()
    except SmaltiError:
        raise
    except Exception:
        raise _not_started(master, settings) from None


def _start_java(settings: Mapping[str, str]) -> None:
    """Start the Java side as PySpark does, but without what it says on standard error.

    Its first lines are about Spark, and later ones may quote rows.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise BackendError(
            "spark engine",
            "Java was not found",
            f"a Java runtime {OLDEST_JAVA} or newer",
            f"{INSTALL_JAVA}, or use --engine local",
        )
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = launch_gateway(conf, {"stderr": subprocess.DEVNULL})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


def _defaults(master: str | None, workspace: Path) -> dict[str, str]:
    """What a caller may set otherwise."""
    settings = {
        "spark.app.name": "smalti",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(workspace / "warehouse"),
    }
    if master is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        return settings  # `spark-submit` has started the Java side, and knows the master
    settings["spark.master"] = master or "local[*]"
    if settings["spark.master"].startswith("local"):
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(workspace / "spark"),
        }
    return settings


def _fixed(workspace: Path) -> dict[str, str]:
    """What keeps rows out of logs, and the workers on this interpreter."""
    quiet = workspace / "log4j2.properties"
    quiet.write_text(_QUIET)
    silence = f"-Dlog4j2.configurationFile={quiet.as_uri()}"
    return {
        "spark.driver.extraJavaOptions": silence,
        "spark.executor.extraJavaOptions": silence,
        "spark.log.level": "OFF",
        "spark.eventLog.enabled": "false",
        "spark.sql.debug.maxToStringFields": "0",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }


def _asked_at_start(settings: Mapping[str, str]) -> dict[str, str]:
    """What Spark reads from the environment when a session begins, and from nowhere else."""
    variables = {"PYSPARK_PYTHON": sys.executable}
    shows_pages = settings["spark.ui.enabled"].lower() == "true"
    if shows_pages and settings.get("spark.master", "").startswith("local") and _LOCAL_IP not in os.environ:
        variables[_LOCAL_IP] = "127.0.0.1"  # else the pages are for the whole network
    return variables


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _take_this_python(running: "SparkSession") -> None:
    """Let the workers of a caller's session take this interpreter, where the caller chose none.

    Spark's own choice is the `python3` that is found first, which may lack smalti. It is not put back: a
    second run in the same session may still need it.
    """
    context = running.sparkContext
    if context.pythonExec == _ANY_PYTHON and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def _not_started(master: str | None, settings: Mapping[str, str]) -> BackendError:
    from pyspark import SparkContext

    # Names only: a setting's value may be a secret.
    options = [f"--conf {key}" for key in settings] + ([] if master is None else [f"--master {master}"])
    if SparkContext._gateway is None:
        # Java ends at once where it does not know the kind of master, or cannot take a setting.
        return BackendError(
            "spark engine",
            "Java was found, but Spark does not start" + (f" with {', '.join(options)}" if options else ""),
            f"a Java runtime {OLDEST_JAVA} or newer"
            + (", and a master and settings that Spark accepts" if options else ""),
            "run `smalti doctor` to see which Java is used, or use --engine local",
        )
    return BackendError(
        "spark engine",
        "no session could be started" + (f" with {', '.join(options)}" if options else ""),
        "a master that answers, and settings that Spark accepts",
        "try them with spark-submit, or use --engine local",
    )


# --- Errors


def without_values(error: BaseException) -> BaseException:
    """Spark's exceptions carry stack traces and sometimes rows; say only that a step failed."""
    if isinstance(error, SmaltiError | InternalError) or not isinstance(error, Exception):
        return error
    return BackendError(
        "spark engine",
        "a step failed",
        "a running Spark, with enough memory and disk",
        "check Spark's own log, or use --engine local",
    )


@contextmanager
def translated() -> Iterator[None]:
    """Replace Spark's exceptions, whose messages may quote rows."""
    from pyspark.logger import PySparkLogger

    # PySpark logs the message of some exceptions before anybody can catch them.
    loggers = [PySparkLogger.getLogger(name) for name in _QUOTING_LOGGERS]
    states = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    except Exception as error:
        raise without_values(error) from None
    finally:
        for logger, state in zip(loggers, states, strict=True):
            logger.disabled = state


@contextmanager
def described(running: "SparkSession", what: str) -> Iterator[None]:
    """Show the jobs of a block under a name, for example in Spark's user interface."""
    context, key = running.sparkContext, "spark.job.description"
    before = context.getLocalProperty(key)
    context.setJobDescription(f"smalti: {what}")
    try:
        yield
    finally:
        # A property is taken away by setting it to nothing.
        context.setLocalProperty(key, before)  # type: ignore[arg-type]
