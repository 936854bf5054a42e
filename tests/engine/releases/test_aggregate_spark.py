"""The engines agree on exact aggregates, of every statistic at once."""

from typing import TYPE_CHECKING

import pytest
from release_plans import STATISTICS, aggregates, release, rich

from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.plan.plan import OneRowEach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_spark_finds_the_same_aggregates(spark: "SparkSession") -> None:
    rows = rich(400, seed=7)
    plan = release(rows=7, groups=3)
    here, there = (aggregates(backend, plan, rows) for backend in (LocalBackend(), SparkBackend(spark)))
    for statistic, ours, theirs in zip(plan.statistics, here, there, strict=True):
        assert theirs == ours, statistic
        assert ours.groups, statistic


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 60])
def test_spark_finds_the_same_aggregates_of_rows_that_are_one_person_each(
    spark: "SparkSession", rows: int
) -> None:
    plan = release(STATISTICS[::4], OneRowEach(is_declared=True))
    names = [column.name for column in plan.read.columns if column.name != "who"]
    table = rich(rows, seed=8)
    assert aggregates(SparkBackend(spark), plan, table, names) == aggregates(LocalBackend(), plan, table)
