"""Larger tables than `make test` has time for."""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import smalti
from smalti.engine.backends.spark import SparkBackend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_a_hundred_thousand_transactions_on_spark_and_locally(
    spark: "SparkSession", transactions: ModuleType, tmp_path: Path
) -> None:
    data = tmp_path / "customers.csv"
    transactions.write(data, customers=25_000, seed=5)
    digests = set()
    for name, engine in (("local", "local"), ("spark", SparkBackend(spark))):
        outcome = smalti.run(
            ROOT / "examples" / "policies" / "fig-2.6.jsonld",
            data={"http://example.com/Customer": data},
            party="http://org/user",
            purpose="marketing",
            out=tmp_path / name,
            registry=tmp_path / "registry.sqlite",
            engine=engine,
        )
        assert outcome.report is not None
        assert outcome.version is not None
        assert outcome.report.k >= 10
        assert outcome.report.respondents == 25_000
        digests.add(outcome.version.output_digest)
    assert len(digests) == 1


@pytest.mark.slow
def test_three_hundred_thousand_rows_with_eight_quasi_identifiers(
    adult_like: ModuleType, tmp_path: Path
) -> None:
    data = tmp_path / "adult.csv"
    adult_like.write(data, 300_000, seed=7)
    outcome = smalti.run(
        ROOT / "benchmarks" / "adult-like.jsonld",
        data={"http://example.com/adult-like": data},
        party="http://example.com/party/researcher",
        purpose="statistical",
        out=tmp_path / "out",
        registry=tmp_path / "registry.sqlite",
    )
    assert outcome.report is not None
    assert outcome.report.k >= 10
    assert outcome.report.rows_out == 300_000
