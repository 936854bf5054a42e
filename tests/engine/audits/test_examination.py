"""What an audit may conclude; and private training never fails because of who is in the data."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from model_worlds import most, permission, planned, private

from smalti.engine.audits.examine import Examination
from smalti.engine.audits.figures import Figure
from smalti.engine.audits.plan import Audit, FigureBound
from smalti.engine.audits.records import TrainingRecords
from smalti.engine.audits.training import Parts, target, trainer_of
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.data import DataSet

BOUND = FigureBound("epsilonLowerBound", Decimal(2))


def examination(*bounds: FigureBound) -> Examination:
    audit = Audit(("loss",), bounds, Decimal("0.95"), 16)
    records = DataSet("records", np.zeros((2, 1)), np.array([0, 1]), 2)
    plan = planned(permission(private()))
    return Examination(audit, 1e-5, records, records, None, trainer_of(plan), Fraction(1, 40), 7)


def lower_bound(records: int, *bounds: FigureBound, is_perfect: bool) -> Figure:
    """Of so many members and as many others, all found or none."""
    other = np.zeros(records)
    members = np.ones(records) if is_perfect else other.copy()
    figures = examination(*bounds)._measured(Scores(members, other))
    return next(one for one in figures if one.figure == "epsilonLowerBound")


@pytest.mark.parametrize(("records", "is_enough"), [(20, False), (50, False), (736, True)])
def test_a_lower_bound_tells_nothing_where_a_perfect_attack_would_stay_below(
    records: int, is_enough: bool
) -> None:
    """It is no upper limit: with few records it is low whatever the model gives away."""
    for is_perfect in (False, True):
        found = lower_bound(records, BOUND, is_perfect=is_perfect)
        assert (found.limit is not None) == is_enough
    assert not is_enough or lower_bound(records, BOUND, is_perfect=True).limit > 2
    assert lower_bound(records, is_perfect=True).limit is not None, "where no duty bounds it, it is shown"


@pytest.mark.parametrize("count", [0, 1])
def test_a_private_training_of_nobody_gives_a_model_as_of_anybody(count: int) -> None:
    plan = planned(permission(private(sampling_rate=most("1"))))
    records = TrainingRecords(np.zeros((count, plan.train.width), np.float32), np.zeros(count, np.int64))
    made = target(plan, records, Parts(np.zeros(count, np.bool_)))
    assert made.confidences(np.zeros((1, plan.train.width), np.float32)).sum() == pytest.approx(1, abs=1e-5)
