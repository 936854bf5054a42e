"""Whole runs on Spark: the same output as the local engine, on the session of the tests."""

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import smalti
from smalti.engine.backends import spark_reading
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.backends.spark_session import _asked_at_start, session
from smalti.engine.registry.entries import TargetVersion
from smalti.errors import BackendError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
CUSTOMER = "http://example.com/Customer"


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory, transactions: ModuleType) -> Path:
    path: Path = tmp_path_factory.mktemp("customers") / "customers.csv"
    transactions.write(path, customers=120, seed=11)
    return path


def run(
    engine: Any, customers: Path, folder: Path, name: str, output_format: str, **more: Any
) -> TargetVersion:
    outcome = smalti.run(
        POLICIES / "fig-2.6-canonical.jsonld",
        data={CUSTOMER: customers},
        party="http://org/user",
        owner="http://example.com/owner",
        purpose="marketing",
        out=folder / name,
        registry=folder / "registry.sqlite",
        engine=engine,
        output_format=output_format,
        **more,
    )
    assert outcome.version is not None
    return outcome.version


@pytest.mark.parametrize("output_format", ["csv", "parquet"])
def test_spark_and_local_register_the_same_output(
    spark: "SparkSession", customers: Path, tmp_path: Path, output_format: str
) -> None:
    here = run("local", customers, tmp_path, "here", output_format)
    there = run(SparkBackend(spark), customers, tmp_path, "there", output_format)
    assert (here.number, there.number) == (1, 2)
    assert there.output_digest == here.output_digest
    assert there.plan_digest == here.plan_digest
    assert (here.report.engine, there.report.engine) == ("local", "spark")
    assert there.report.loss == here.report.loss
    if output_format == "csv":
        name = here.files[0].name
        assert (here.path / name).read_bytes() == (there.path / name).read_bytes()
    assert not list(tmp_path.glob(".smalti-*"))


def test_a_registered_output_is_repeated_on_spark(
    spark: "SparkSession", customers: Path, tmp_path: Path
) -> None:
    from smalti.engine.run.recheck import repeat  # noqa: PLC0415

    made = run("local", customers, tmp_path, "here", "csv")
    registry = smalti.Registry.open(tmp_path / "registry.sqlite")
    seen = repeat(registry, made.path, customers, SparkBackend(spark))
    assert seen.is_repeated


class Elsewhere:
    """A session on a cluster, and what its workers say of the files."""

    def __init__(self, *answers: bool) -> None:
        self.sparkContext, self.master, self.defaultParallelism = self, "spark://elsewhere:7077", 2
        self.pythonExec = "python3.11"
        self._answers = answers

    def getLocalProperty(self, _: str) -> None:  # noqa: N802
        return None

    def setLocalProperty(self, *_: object) -> None:  # noqa: N802
        return None

    def setJobDescription(self, _: str) -> None:  # noqa: N802
        return None

    def parallelize(self, *_: object) -> "Elsewhere":
        return self

    def mapPartitions(self, _: object) -> "Elsewhere":  # noqa: N802
        return self

    def collect(self) -> list[bool]:
        if not self._answers:
            raise ModuleNotFoundError("wombat")
        return list(self._answers)


@pytest.mark.parametrize("answers", [(), (True, False), (True, True)])
def test_workers_that_do_not_see_the_files_are_refused_for_spark(
    answers: tuple[bool, ...], customers: Path, tmp_path: Path
) -> None:
    """Also where all of them answer well, but nothing that they write can be seen here."""
    with pytest.raises(BackendError, match="do not see the input and the folder of the output") as caught:
        run(SparkBackend(Elsewhere(*answers)), customers, tmp_path, "there", "csv")  # type: ignore[arg-type]
    assert "wombat" not in str(caught.value)
    assert not (tmp_path / "there").exists()
    assert not (tmp_path / "registry.sqlite").exists()


def test_workers_of_spark_see_a_plan_in_its_workspace(
    customers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they do not, the message says how to name a folder that they do see."""
    shared, used = tmp_path / "shared", list[Path]()
    shared.mkdir()
    real = spark_reading.check_shared

    def check(session: Any, source: Any, workspace: Path) -> None:
        used.append(workspace)
        real(session, source, workspace)

    monkeypatch.setattr(spark_reading, "check_shared", check)
    with pytest.raises(BackendError, match="name a folder there with --workspace"):
        smalti.plan(
            POLICIES / "fig-2.6-canonical.jsonld",
            data={CUSTOMER: customers},
            registry=tmp_path / "registry.sqlite",
            engine=SparkBackend(Elsewhere(True, False)),  # type: ignore[arg-type]
            workspace=shared,
        )
    assert [place.is_relative_to(shared) for place in used] == [True]
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize(
    "key",
    [
        "spark.log.level",
        "spark.eventLog.enabled",
        "spark.executor.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        "spark.executor.defaultJavaOptions",
        "spark.pyspark.python",
    ],
)
def test_settings_that_could_show_rows_or_take_another_python_are_refused_for_spark(key: str) -> None:
    with pytest.raises(UsageError, match=f"`{key}` cannot be set") as caught:
        SparkBackend(settings={key: "wombat"})
    assert "wombat" not in str(caught.value)


def test_workers_of_a_given_spark_session_take_this_python_where_none_was_chosen(
    spark: "SparkSession", customers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else they take the `python3` that is found first, which may lack smalti."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")
    run(SparkBackend(spark), customers, tmp_path, "mine", "csv")
    assert spark.sparkContext.pythonExec == sys.executable
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "chosen")
    with session(spark, None, {}, tmp_path):
        assert spark.sparkContext.pythonExec == "chosen"


@pytest.mark.parametrize(
    ("master", "pages", "address"),
    [
        ("local[2]", "true", "127.0.0.1"),
        ("local[2]", "false", None),
        ("spark://host:7077", "true", None),
    ],
)
def test_pages_of_a_local_spark_session_are_for_this_machine(
    master: str, pages: str, address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    asked = _asked_at_start({"spark.master": master, "spark.ui.enabled": pages})
    assert asked.get("SPARK_LOCAL_IP") == address
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.0.0.1")
    assert "SPARK_LOCAL_IP" not in _asked_at_start({"spark.master": master, "spark.ui.enabled": pages})


def test_a_running_session_keeps_its_settings_for_spark(
    spark: "SparkSession", customers: Path, tmp_path: Path
) -> None:
    backend = SparkBackend(spark, settings={"spark.app.name": "mine"})
    with pytest.raises(UsageError, match="a session is already running"):
        run(backend, customers, tmp_path, "there", "csv")


def test_fragments_change_nothing_for_spark_or_the_local_engine(
    spark: "SparkSession", customers: Path, tmp_path: Path
) -> None:
    """The active session is taken; what it does is told under names."""
    whole = run("local", customers, tmp_path, "whole", "csv")
    for engine in ("local", "spark"):
        some = run(engine, customers, tmp_path, f"{engine}-3", "csv", fragments=3)
        assert some.output_digest == whole.output_digest
        assert some.report.loss == whole.report.loss
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)  # type: ignore[union-attr]
    told = [jobs.apply(i).description() for i in range(jobs.size())]
    names = {one.get() for one in told if one.isDefined()}
    assert {
        "smalti: facts",
        "smalti: first cuts, level 1: look",
        "smalti: recoded",
        "smalti: publish",
    } <= names
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
