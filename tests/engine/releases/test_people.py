"""What respondents contribute adds up to the exact aggregates, and to the figures without noise."""

import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from release_plans import HEADER, STATISTICS, TARGET, release, rich
from tables import write_csv

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Respondent, RespondentColumn
from smalti.engine.releases.aggregate import aggregate
from smalti.engine.releases.coordinates import Linear, is_sum, matrix
from smalti.engine.releases.people import People
from smalti.engine.releases.plan import Quantity, StatisticKind
from smalti.engine.tables.description import Description, Source


@pytest.mark.parametrize("respondent", [RespondentColumn("who"), OneRowEach(is_declared=True)], ids=str)
def test_contributions_add_up_to_the_aggregates(respondent: Respondent) -> None:
    """For keys of every kind, people with several rows, and values of every trap."""
    plan = release(STATISTICS, respondent, rows=2 if isinstance(respondent, RespondentColumn) else 1)
    sums = [each for each in STATISTICS if is_sum(each) and each.kind is not StatisticKind.HISTOGRAM]
    assert {each.kind for each in sums} >= {StatisticKind.MEAN, StatisticKind.VARIANCE, StatisticKind.SUM}
    with tempfile.TemporaryDirectory() as folder:
        data, work = Path(folder) / "people.csv", Path(folder) / "work"
        work.mkdir()
        write_csv(data, HEADER, rich(60, 5))
        source = Source(TARGET, data, OutputFormat.CSV, Description())
        with closing(LocalBackend().open(source, work)) as table:
            people = People(plan, table)
            for statistic in sums:
                exact = aggregate(plan, statistic, table)
                contributions = people.contributions(statistic, exact.groups)
                totals = {
                    Quantity.ROWS: contributions.totals(contributions.rows),
                    Quantity.SUM: contributions.totals(contributions.sums),
                    Quantity.SQUARES: contributions.totals(contributions.squares),
                }
                for part, amounts in zip(statistic.parts, exact.amounts, strict=True):
                    expected = [float(amount) for (amount,) in amounts]
                    assert totals[part.quantity] == pytest.approx(expected), statistic
                check_sums(Linear.of(statistic, contributions, len(people)), contributions, len(people))


def check_sums(linear: Linear, contributions: object, people: int) -> None:
    """Around the people's own means the sums are those of the matrix: counts and sums, else 0."""
    figures = linear.exact(contributions)  # type: ignore[arg-type]
    by_person = matrix([(linear, contributions)], np.arange(people))  # type: ignore[list-item]
    sums = linear.sums(figures, people)
    scale = max(1.0, float(np.abs(by_person).sum()))
    has_rows = contributions.totals(contributions.rows) > 0  # type: ignore[attr-defined]
    assert np.abs(by_person.sum(axis=0) - sums)[has_rows].max(initial=0) < 1e-9 * scale
    if linear.statistic.kind in {StatisticKind.MEAN, StatisticKind.VARIANCE}:
        assert np.abs(sums[has_rows]).max(initial=0) < 1e-9 * scale
