"""Gaussian noise on numbers of records: shares of epsilon and delta, what runs show, and what is refused.

Comparisons of draws with distributions fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from effort import examples
from evidence import FALSE_ALARM, Whole, distance, furthest_allowed, mu_shown, share_within
from hypothesis import example, given, settings
from hypothesis import strategies as st
from perturbed_worlds import DESCRIPTION, HEADER, HERE, OUTPUT, described, permission, reported, row
from tables import TARGET

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.losses.allowed import AllowedLoss
from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.losses.public_tables import read_table
from smalti.engine.perturbation import draw as drawing
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.estimate import estimate_table
from smalti.engine.perturbation.guarantee import (
    LocalGuarantee,
    describe,
    from_object,
    guarantee_of,
    limits,
    to_object,
)
from smalti.engine.perturbation.mechanisms import keeps_to_its_share, loss_of
from smalti.engine.perturbation.plan import (
    GAUSSIAN,
    LAPLACE,
    PerturbationPlan,
    PerturbedColumn,
    PerturbedNumber,
    WriteReports,
)
from smalti.engine.perturbation.recheck import check_perturbation
from smalti.engine.perturbation.shares import gaussian_shares
from smalti.engine.perturbation.table import write_table
from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Select
from smalti.engine.plan.reads import Mechanism, ReadRows
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.run.explain import to_text
from smalti.engine.tables.reading import file_digest
from smalti.errors import GuaranteeError, ProblemsError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import Comparison, Number, Operator, Permission, Text
from smalti.transforms.identifiability import mu_for_epsilon, posterior_belief
from smalti.transforms.loss.belief import largest_loss
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise import discrete_gaussian
from smalti.transforms.noise.samplers import GaussianNoise
from smalti.vocab import terms
from smalti.vocab.terms import IRI

RUNS = 12_000
WIDTH = 100
EPSILON, DELTA = "4", "0.001"
"""Of tests that draw: a mu of 1.2."""


def allowed(word: str, bound: str, delta: str) -> AllowedLoss:
    return replace(
        AllowedLoss(None, None, None, Decimal(delta), frozenset({Mechanism.GAUSSIAN})),
        **{word: Decimal(bound)},
    )


def number(mu: float, epsilon: str = EPSILON, delta: str = DELTA, upper: int = WIDTH) -> PerturbedNumber:
    noise = GaussianNoise.calibrated(Fraction(upper) ** 2, mu)
    return PerturbedNumber(
        "age", Decimal(epsilon), Decimal(0), Decimal(upper), Decimal(1), float(noise.scale), GAUSSIAN,
        Decimal(delta),
    )  # fmt: skip


HONEST = number(gaussian_shares(allowed("epsilon", EPSILON, DELTA), 1, 1).gaussian.mu)


def plan_of(*columns: PerturbedColumn, loss: PlannedLoss | None = None) -> PerturbationPlan:
    names = tuple(one.column for one in columns)
    return PerturbationPlan(
        ReadRows(TARGET, (), OneRowEach(True)),
        Select(names, tuple(name for name in HEADER if name not in names)),
        columns,
        loss or PlannedLoss(Decimal(EPSILON), Decimal(DELTA), 0.999, 0.5, "0", "1"),
        WriteReports(OUTPUT, OutputFormat.CSV),
    )


def drawn(one: PerturbedNumber, code: int, runs: int = RUNS) -> Whole:
    reports = ExactReports((np.array([code], np.int64),), np.array([runs], np.int64))
    with patch.object(drawing, "_ordered", tuple):
        (noisy,) = draw(plan_of(one), reports)
    return noisy


# --- Shares


BOUNDS = st.one_of(
    st.tuples(st.just("epsilon"), st.floats(1e-3, 50)),
    st.tuples(st.just("belief"), st.floats(0.501, 0.9999)),
    st.tuples(st.just("advantage"), st.floats(1e-3, 0.999)),
)


@settings(max_examples=examples(25))
@given(BOUNDS, st.floats(-12, -0.1), st.integers(1, 12), st.integers(1, 12))
@example(("epsilon", 1.0), -6, 1, 1)
@example(("epsilon", 1.0), -6, 5, 2)
@example(("belief", 0.9), -0.05, 3, 2)
@example(("advantage", 0.05), -0.3, 3, 2)
def test_columns_keep_to_their_shares_and_all_of_them_to_what_is_allowed(
    bound: tuple[str, float], exponent: float, columns: int, gaussian: int
) -> None:
    """Pure columns lose all of their share here; Gaussian ones all that their mu lets them."""
    word, value = bound[0], Decimal(repr(bound[1]))
    delta, gaussian = Decimal(repr(10**exponent)), min(gaussian, columns)
    shares = gaussian_shares(allowed(word, str(value), str(delta)), columns, gaussian)
    share, others = shares.gaussian, columns - gaussian
    assert gaussian * share.delta <= delta < gaussian * share.delta * (1 + Decimal("1e-10"))
    one = PrivacyLoss.of_gaussian(share.mu)
    assert one.epsilon(float(share.delta)) <= float(share.stated(share.mu)) * (1 + 1e-12)
    loss = sum([one] * gaussian, PrivacyLoss.of_pure(shares.pure * others))
    if word == "epsilon":
        assert share.epsilon is not None
        assert gaussian * share.epsilon + others * shares.pure <= value
        assert loss.epsilon(float(delta)) <= float(value)
        assert one.epsilon(float(share.delta)) > float(share.epsilon) * (1 - 1e-6)
    if word == "belief":
        assert loss.belief(float(delta)) <= float(value)
    if word == "advantage":
        assert loss.advantage <= float(value)


@pytest.mark.parametrize(("word", "bound"), [("belief", "0.9"), ("advantage", "0.3")])
def test_one_column_takes_all_that_a_belief_or_an_advantage_allows(word: str, bound: str) -> None:
    one = PrivacyLoss.of_gaussian(gaussian_shares(allowed(word, bound, DELTA), 1, 1).gaussian.mu)
    reached = one.belief(float(DELTA)) if word == "belief" else one.advantage
    assert float(bound) - 1e-6 < reached <= float(bound)


def test_noise_for_epsilon_and_delta_would_break_a_belief() -> None:
    """(epsilon, delta)-privacy alone bounds no belief with probability 1 - delta."""
    of_epsilon = mu_for_epsilon(math.log(9), float(DELTA))
    assert posterior_belief(math.log(9)) == pytest.approx(0.9)
    assert posterior_belief(largest_loss(float(DELTA), of_epsilon)) > 0.93


def test_a_delta_that_is_not_split_is_caught() -> None:
    """Each of four columns with noise for the whole delta, and its share of epsilon."""
    whole = gaussian_shares(allowed("epsilon", "1", DELTA), 1, 1).gaussian.mu
    split = gaussian_shares(allowed("epsilon", "1", DELTA), 1, 1).gaussian
    assert keeps_to_its_share(number(split.mu, "1"))
    unsplit = number(whole, "1", delta="0.00025")
    assert not keeps_to_its_share(unsplit)
    columns = tuple(replace(number(whole, "1"), column=name) for name in "abcd")
    assert all(map(keeps_to_its_share, columns))
    stated = PlannedLoss(Decimal(4), Decimal(DELTA), 1.0, 1.0, "0", "1")
    with pytest.raises(GuaranteeError, match="loses more"):
        checked(guarantee_of(plan_of(*columns, loss=stated)))
    checked(guarantee_of(plan_of(*columns, loss=replace(stated, delta=4 * Decimal(DELTA)))))


# --- What runs show


def test_a_number_has_the_stated_noise() -> None:
    """The exact distribution, by its weights."""
    weights = discrete_gaussian.weights(HONEST.scale)
    table = np.cumsum(np.concatenate((weights[:0:-1], weights))) / discrete_gaussian.total(HONEST.scale)
    reach = len(weights) - 1

    def cumulative(values: Whole) -> Any:
        return table[np.clip(values - 70 + reach, 0, 2 * reach)]

    assert distance(drawn(HONEST, 70), cumulative) < furthest_allowed(RUNS)


def shown(one: PerturbedNumber) -> float:
    ends = [int((drawn(one, end) >= WIDTH // 2).sum()) for end in (WIDTH, 0)]
    return mu_shown(*ends, RUNS)


def test_a_record_shows_a_mu_just_below_what_is_promised() -> None:
    promised = loss_of(HONEST).mu
    assert promised == pytest.approx(mu_for_epsilon(4, 0.001), rel=1e-6)
    assert 0.8 * promised <= shown(HONEST) <= promised


def test_half_the_noise_is_caught() -> None:
    assert shown(replace(HONEST, scale=HONEST.scale / 2)) > loss_of(HONEST).mu
    assert not keeps_to_its_share(replace(HONEST, scale=HONEST.scale / 2))


def test_bounds_from_the_data_are_caught() -> None:
    """What somebody else reports would tell whether the largest value, which set the bound, is there."""
    mu = loss_of(HONEST).mu
    with_it, without_it = HONEST, number(mu, upper=10)
    hits = [int((drawn(one, 5) >= WIDTH // 2).sum()) for one in (with_it, without_it)]
    assert mu_shown(*hits, RUNS) > loss_of(HONEST).mu


def test_estimates_are_unbiased_and_intervals_hold_what_they_say(tmp_path: Path) -> None:
    """False alarms: one in ten million for the mean (5.33 standard deviations), 1e-9 for the coverage."""
    runs, people, confidence = 60, 400, 0.8
    reports = ExactReports(
        (np.array([0, 90], np.int64),), np.array([people // 4, 3 * people // 4], np.int64)
    )
    missed, found = 0, []
    for _ in range(runs):
        path = tmp_path / "noisy.csv"
        path.unlink(missing_ok=True)
        write_table(plan_of(HONEST), draw(plan_of(HONEST), reports), path)
        (column,) = estimate_table(read_table(path), (HONEST,), confidence, "here")
        (one,) = column.estimates
        missed += abs(one.estimate - 67.5) > one.margin
        found.append(one.estimate)
    deviation = HONEST.scale / math.sqrt(people * runs)
    assert abs(np.mean(found) - 67.5) < 5.33 * deviation
    low, high = share_within(missed, runs, FALSE_ALARM)
    assert low <= 1 - confidence <= high


# --- Plans


def delta(value: str) -> Comparison:
    return Comparison(terms.DELTA, Operator.LTEQ, (Number(Decimal(value)),), where=HERE)


def asked(
    *columns: str, mechanisms: tuple[str, ...] = (GAUSSIAN,), of: str = "0.000001", **others: Any
) -> Permission:
    return permission(*columns, mechanisms=mechanisms, more=(delta(of),) if of else (), **others)


def compiled(given: Permission, *asks: Fact) -> PerturbationPlan:
    return reported(LocalBackend(), [row(who="1")], given, circumstances=Circumstances(asks=asks))[0]


def test_delta_is_divided_over_the_columns_with_gaussian_noise_and_epsilon_over_all() -> None:
    plan = compiled(asked("sex", "age", "spend", mechanisms=("randomized-response", GAUSSIAN)))
    sex, age, spend = plan.perturbed
    assert isinstance(age, PerturbedNumber)
    assert isinstance(spend, PerturbedNumber)
    assert sex.mechanism == "randomized-response"
    assert {one.epsilon for one in plan.perturbed} == {Decimal("0.333333333333")}
    assert (age.mechanism, age.delta, spend.delta) == (GAUSSIAN, Decimal("5E-7"), Decimal("5E-7"))
    assert all(map(keeps_to_its_share, plan.perturbed))
    loss = sum(map(loss_of, plan.perturbed), PrivacyLoss())
    told = plan.loss
    assert (told.epsilon, told.delta) == (1, Decimal("0.000001"))
    assert (Fraction(told.pure), Fraction(told.mu_squared)) == (loss.pure, loss.mu_squared)
    assert loss.epsilon(1e-6) <= 1
    assert (told.belief, told.advantage) == (loss.belief(1e-6), pytest.approx(loss.advantage, rel=1e-12))
    text = " ".join(to_text(plan).split())
    assert "gaussian: noise of scale" in text
    assert "(epsilon 0.333333333333, delta 0.0000005)" in text
    assert "delta 0.000001" in text
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_delta_alone_lets_the_better_noise_be_taken() -> None:
    """A number by itself has less Laplace noise, until delta is large."""
    (age,) = compiled(asked("age", mechanisms=())).perturbed
    assert age.mechanism == LAPLACE
    plan = compiled(asked("age", mechanisms=(), of="0.3"))
    assert plan.perturbed[0].mechanism == GAUSSIAN
    assert plan.loss.delta == Decimal("0.3")


def test_without_gaussian_noise_nothing_of_delta_is_charged_nor_written() -> None:
    pure = compiled(asked("sex", "age", mechanisms=(), of=""))
    plan = compiled(asked("sex", "age", mechanisms=()))
    assert plan == pure
    assert plan_digest(plan) == plan_digest(pure)
    assert plan.loss.delta == 0
    (age,) = [one for one in json.loads(plan_to_json(plan))["steps"][2]["columns"] if "lower" in one]
    assert "delta" not in age


@pytest.mark.parametrize(("word", "bound"), [("posteriorBelief", "0.9"), ("membershipAdvantage", "0.3")])
def test_a_belief_or_an_advantage_bounds_the_whole_record(word: str, bound: str) -> None:
    given = asked("sex", "age", "spend", mechanisms=("randomized-response", GAUSSIAN), of="0.01")
    assert given.anonymization is not None
    bounded = Comparison(IRI(terms.SMALTI + word), Operator.LTEQ, (Number(Decimal(bound)),), where=HERE)
    parameters = tuple(
        bounded if isinstance(one, Comparison) and one.operand == terms.EPSILON else one
        for one in given.anonymization.parameters
    )
    plan = compiled(replace(given, anonymization=replace(given.anonymization, parameters=parameters)))
    loss = sum(map(loss_of, plan.perturbed), PrivacyLoss())
    assert (plan.loss.belief if word == "posteriorBelief" else plan.loss.advantage) <= float(bound)
    assert float(plan.loss.epsilon) * (1 - 1e-8) < loss.epsilon(0.01) <= float(plan.loss.epsilon)
    assert all(map(keeps_to_its_share, plan.perturbed))
    checked(guarantee_of(plan))


def problems(given: Permission, *asks: Fact, **others: Any) -> list[str]:
    with pytest.raises(SmaltiError) as caught:
        reported(LocalBackend(), [], given, circumstances=Circumstances(asks=asks), **others)
    found = caught.value.problems if isinstance(caught.value, ProblemsError) else (caught.value,)
    assert all(one.where and one.expected for one in found)
    return [one.problem for one in found]


def fact(operand: IRI, value: Any) -> Fact:
    return Fact(operand, (value,))


FAR = described("age", lower=Decimal(0), upper=Decimal(2**50), unit=Decimal(1))
WIDE = replace(DESCRIPTION, columns=(FAR, described("who")))
REFUSED: dict[str, tuple[Callable[[], list[str]], str]] = {
    "no delta": (lambda: problems(asked("age", of="")), "no delta is stated"),
    "no delta, another of statistics": (
        lambda: problems(asked("age", mechanisms=("exponential", GAUSSIAN), of="")),
        "no delta is stated",
    ),
    "delta of 0": (lambda: problems(asked("age", of="0")), "no delta is stated"),
    "delta too small": (lambda: problems(asked("age", of="1e-301")), "delta is out of range"),
    "asked without one in the policy": (
        lambda: problems(
            asked("age", mechanisms=(), of=""), fact(terms.DELTA, Number(Decimal("0.1")))
        ),
        "the run requests a delta, but the permission states none",
    ),
    "asked for a larger one": (
        lambda: problems(asked("age"), fact(terms.DELTA, Number(Decimal("0.1")))),
        "does not allow the requested `smalti:delta`",
    ),
    "asked for none": (
        lambda: problems(asked("age"), fact(terms.DELTA, Number(Decimal(0)))),
        "out of range",
    ),
    "asked for gaussian without delta": (
        lambda: problems(asked("age", mechanisms=(), of=""), fact(terms.MECHANISM, Text(GAUSSIAN))),
        "no delta is stated",
    ),
    "too much noise": (
        lambda: problems(asked("age"), description=WIDE),
        "the noise of the column `age` would be out of range",
    ),
    "no number": (lambda: problems(asked("sex")), "which the policy does not allow"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_its_reason(name: str) -> None:
    made, expected = REFUSED[name]
    found = made()
    assert [one for one in found if expected in one], found


def test_less_may_be_asked_for() -> None:
    plan = compiled(asked("age"), fact(terms.DELTA, Number(Decimal("1e-9"))))
    assert plan.loss.delta == Decimal("1e-9")
    plan = compiled(asked("age", mechanisms=(LAPLACE, GAUSSIAN)), fact(terms.MECHANISM, Text(GAUSSIAN)))
    assert plan.perturbed[0].mechanism == GAUSSIAN


# --- What is told, and looked at again


def checked(guarantee: LocalGuarantee) -> None:
    """Look again at a table of nobody that has these columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noisy.csv"
        path.write_text(",".join(one.column for one in guarantee.perturbed) + "\n")
        file = PublishedFile(path.name, file_digest(path), path.stat().st_size, "text/csv")
        check_perturbation(Path(folder), (file,), guarantee)


PLAN = plan_of(
    HONEST,
    loss=PlannedLoss(
        Decimal(EPSILON), Decimal(DELTA), loss_of(HONEST).belief(float(DELTA)), loss_of(HONEST).advantage,
        "0", str(loss_of(HONEST).mu_squared),
    ),
)  # fmt: skip


def test_a_certificate_tells_delta_and_is_read_again_as_it_was_meant() -> None:
    told = json.loads(json.dumps(to_object(HONEST)))
    assert (told["mechanism"], told["epsilon"], told["delta"]) == ("gaussian", EPSILON, DELTA)
    assert from_object(told) == HONEST
    sentence = describe(guarantee_of(PLAN))
    assert f"e^{EPSILON}, but for a probability of {DELTA}:" in sentence
    assert any(f"probability of at most {DELTA}" in one for one in limits(guarantee_of(PLAN)))
    checked(guarantee_of(PLAN))


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": HONEST.scale * 0.999},
        {"scale": 1e-300},
        {"epsilon": Decimal("3.99")},
        {"delta": Decimal("0.00099")},
        {"delta": Decimal("0.0011")},
        {"delta": None},
        {"mechanism": LAPLACE},
    ],
    ids=str,
)
def test_a_column_that_states_less_than_it_loses_is_found_out(changes: dict[str, Any]) -> None:
    guarantee = guarantee_of(plan_of(replace(HONEST, **changes), loss=PLAN.loss))
    with pytest.raises(GuaranteeError, match="noise"):
        checked(guarantee)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": Decimal("3.99")},
        {"delta": Decimal("0.00099")},
        {"delta": Decimal(0)},
        {"belief": PLAN.loss.belief - 1e-6},
        {"advantage": PLAN.loss.advantage - 1e-6},
    ],
    ids=str,
)
def test_a_record_that_states_less_than_it_loses_is_found_out(changes: dict[str, Any]) -> None:
    guarantee = guarantee_of(plan_of(HONEST, loss=replace(PLAN.loss, **changes)))
    with pytest.raises(GuaranteeError, match="noise"):
        checked(guarantee)
