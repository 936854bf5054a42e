"""What a permission allows of releases, and what a query takes of it."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from release_policies import STATISTICS, TARGET, permission, problems, query

from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.calibrate import AllowedLoss
from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.terms import ReleaseTerms, read_terms
from smalti.errors import PlanError, SmaltiError
from smalti.policy.model.model import Anonymization, Comparison, Logical, LogicalOperator, Number
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import EPSILON

PURE = frozenset({Mechanism.LAPLACE, Mechanism.EXPONENTIAL})
COUNT = {"statistic": "count"}


def wanted(changes: Any = None) -> Anonymization:
    found = permission(changes).anonymization
    assert found is not None
    return found


def terms(changes: Any = None, **asked: Any) -> ReleaseTerms:
    return read_terms(wanted(changes), query(COUNT, **asked))


def test_the_terms_of_a_policy() -> None:
    found = terms()
    assert found.allowed == AllowedLoss(Decimal(1), None, None, Decimal(0), PURE)
    assert (found.neighbors, found.rows, found.groups) == (NeighboringRelation.ADD_OR_REMOVE_ONE, 3, None)
    assert found.statistics == frozenset(map(StatisticKind, STATISTICS))
    assert found.group_by == {f"{TARGET}/{name}" for name in ("sex", "region", "seen")}
    assert f"{TARGET}/age" in found.measures


def test_words_that_are_stated() -> None:
    found = terms({
        "neighbors": ("eq", "change-one"), "rowsPerRespondent": ("eq", 7),
        "groupsPerRespondent": ("lteq", 2), "delta": ("lteq", 0.0001),
        "mechanism": ("isAnyOf", ["gaussian", "pixelation"]),
    })  # fmt: skip
    assert (found.neighbors, found.rows, found.groups) == (NeighboringRelation.CHANGE_ONE, 7, 2)
    assert found.allowed.mechanisms == {Mechanism.GAUSSIAN}
    assert found.allowed.delta == Decimal("0.0001")


@pytest.mark.parametrize(
    ("changes", "asked", "expected"),
    [
        ({}, {"epsilon": 0.25}, (Decimal("0.25"), None, None, Decimal(0))),
        ({"delta": ("lteq", 0.001)}, {}, (Decimal(1), None, None, Decimal("0.001"))),
        ({"delta": ("lteq", 0.001)}, {"delta": 0.0001}, (Decimal(1), None, None, Decimal("0.0001"))),
        ({"delta": ("lteq", 0.001)}, {"delta": 0}, (Decimal(1), None, None, Decimal(0))),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.7)}, {}, (None, Decimal("0.7"), None, Decimal(0))),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.7)}, {"posteriorBelief": 0.6},
         (None, Decimal("0.6"), None, Decimal(0))),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.2)}, {},
         (None, None, Decimal("0.2"), Decimal(0))),
        # In another word than the policy's, both are kept.
        ({}, {"posteriorBelief": 0.6}, (Decimal("0.405465108"), Decimal("0.6"), None, Decimal(0))),
        ({}, {"membershipAdvantage": 0.2}, (Decimal("0.405465108"), None, Decimal("0.2"), Decimal(0))),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.7)}, {"epsilon": 0.4},
         (Decimal("0.4"), Decimal("0.59868766"), None, Decimal(0))),
        ({"epsilon": None, "posteriorBelief": ("lteq", 0.7)}, {"membershipAdvantage": 0.2},
         (None, Decimal("0.6"), Decimal("0.2"), Decimal(0))),
        ({"epsilon": None, "membershipAdvantage": ("lteq", 0.3)}, {"posteriorBelief": 0.6},
         (None, Decimal("0.6"), Decimal("0.2"), Decimal(0))),
    ],
)  # fmt: skip
def test_the_loss_that_is_asked_for_stands_in_place_of_the_bound(
    changes: Any, asked: Any, expected: tuple[Decimal | None, ...]
) -> None:
    allowed = terms(changes, **asked).allowed
    assert (allowed.epsilon, allowed.belief, allowed.advantage, allowed.delta) == expected


@pytest.mark.parametrize(
    ("delta", "mechanisms", "expected"),
    [
        (None, None, PURE),
        (0.001, None, frozenset(Mechanism)),
        (0.001, ["laplace", "gaussian"], {Mechanism.LAPLACE, Mechanism.GAUSSIAN}),
        (None, ["laplace", "gaussian"], {Mechanism.LAPLACE}),
    ],
)
def test_gaussian_noise_needs_a_delta(
    delta: float | None, mechanisms: Any, expected: set[Mechanism]
) -> None:
    changes = {"delta": None if delta is None else ("lteq", delta)}
    changes["mechanism"] = None if mechanisms is None else ("isAnyOf", mechanisms)
    assert terms(changes).allowed.mechanisms == expected


def test_no_refinement_is_passed_over() -> None:
    """A document cannot say so; whatever makes a permission otherwise must not loosen it."""
    found = wanted()
    first = next(one for one in found.parameters if isinstance(one, Comparison) and one.operand == EPSILON)
    looser = replace(first, values=(Number(Decimal(9)),))
    of_column = Logical(LogicalOperator.AND, (replace(first, values=(Number(Decimal("0.1")),)),))
    for more in (looser, of_column):
        with pytest.raises(PlanError, match="a refinement is repeated or limited to one column"):
            read_terms(replace(found, parameters=(*found.parameters, more)), query(COUNT))


def test_a_loss_is_asked_for_in_one_way() -> None:
    asked = replace(query(COUNT, epsilon=0.5), belief=Decimal("0.6"))
    with pytest.raises(PlanError, match="requests several of epsilon, belief and advantage"):
        read_terms(wanted(), asked)
    unbounded = replace(wanted(), parameters=())
    with pytest.raises(SmaltiError) as caught:
        read_terms(unbounded, query(COUNT))
    assert "bounds the privacy loss by none or by several" in str(problems(caught.value)[0])
