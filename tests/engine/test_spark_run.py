"""Whole runs on Spark: the same output as the local engine, on the session of the tests."""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import smalti
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.entries import TargetVersion
from smalti.errors import BackendError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICIES = Path(__file__).parents[2] / "examples" / "policies"
CUSTOMER = "http://example.com/Customer"


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory, transactions: ModuleType) -> Path:
    path: Path = tmp_path_factory.mktemp("customers") / "customers.csv"
    transactions.write(path, customers=120, seed=11)
    return path


def run(engine: Any, customers: Path, folder: Path, name: str, output_format: str) -> TargetVersion:
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
    from smalti.engine.recheck import repeat  # noqa: PLC0415

    made = run("local", customers, tmp_path, "here", "csv")
    registry = smalti.Registry.open(tmp_path / "registry.sqlite")
    seen = repeat(registry, made.path, customers, SparkBackend(spark))
    assert seen.is_repeated


def test_a_session_on_a_cluster_is_refused_for_spark(customers: Path, tmp_path: Path) -> None:
    class Remote:
        class sparkContext:  # noqa: N801
            master = "spark://elsewhere:7077"

    with pytest.raises(BackendError, match="cluster is not implemented yet"):
        run(SparkBackend(Remote()), customers, tmp_path, "there", "csv")  # type: ignore[arg-type]
    assert not (tmp_path / "there").exists()
    assert not (tmp_path / "registry.sqlite").exists()
