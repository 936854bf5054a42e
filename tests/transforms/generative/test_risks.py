"""The three risks of the Article 29 Working Party: found where a sampler copies, and only there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.generative.linking import (
    Inference,
    Linkability,
    Targets,
    divisions_of,
    right_guesses,
)
from smalti.transforms.generative.predicates import Operator, Predicates, filled
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.generative.singling_out import SinglingOut
from smalti.transforms.membership.gower import MixedColumns

NAMES = ("height", "weight", "town", "trade", "sex")
COLUMNS = MixedColumns(np.full(5, -3.0), np.full(5, 6.0), np.array([True, True, False, False, False]))
RECORDS = 200


def people(draw: np.random.Generator, count: int = RECORDS) -> np.ndarray:
    numbers = draw.normal(size=(count, 2))
    return np.concatenate([numbers, draw.integers(0, [9, 6, 2], (count, 3))], axis=1)


def attacked(
    members: np.ndarray, others: np.ndarray, synthetic: np.ndarray, seed: int = 0, block: int = 1 << 13
) -> dict[str, Attempts]:
    draw = np.random.default_rng(seed)
    targets = Targets(NAMES, COLUMNS, np.concatenate([members, others]), len(members))
    linking, guessing, singling = Linkability(targets), Inference(targets), SinglingOut(targets, draw, 200)
    for start in range(0, len(synthetic), block):
        for attack in (linking, guessing, singling):
            attack.add(synthetic[start : start + block])
    attempts = (*linking.attempts(draw), *guessing.attempts(draw), *singling.attempts())
    return {each.about: each for each in attempts}


ALL = [
    "height, weight, town | trade, sex", "height, town, sex | weight, trade", *NAMES, "univariate",
    "multivariate",
]  # fmt: skip


def test_a_sampler_that_memorised_is_found_by_each_attack_and_one_that_did_not_by_none() -> None:
    """Seeds are fixed. Without copies each lower limit may be above 0 in one of 20 worlds: see below."""
    draw = np.random.default_rng(5)
    members, others, elsewhere = (people(draw) for _ in range(3))
    copied = attacked(members, others, draw.permutation(np.tile(members, (3, 1))), block=150)
    assert list(copied) == ALL
    for name, attempts in list(copied.items())[1:]:  # twelve of the first side's half are equally near
        assert attempts.risk(0.95).lower > 0.2, name
        assert attempts.succeeds, name
    assert copied["univariate"].outcomes.true_positives == 200, "values that one member alone has"
    for name, attempts in attacked(members, others, elsewhere).items():
        assert attempts.risk(0.95).lower == 0, name


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_the_limits_say() -> None:
    """By each attack at most 15 of 100 worlds: with 5 of 100, that is exceeded once in 10^4 tries."""
    alarms = dict.fromkeys(ALL, 0)
    for seed in range(100):
        draw = np.random.default_rng(seed)
        for name, attempts in attacked(*(people(draw) for _ in range(3)), seed=seed).items():
            alarms[name] += attempts.risk(0.95).lower > 0
    assert stats.binom.sf(15, 100, 0.05) < 1e-4
    assert max(alarms.values()) <= 15, alarms


def test_where_nothing_singles_a_sample_out_there_is_no_guess() -> None:
    few = np.repeat([[0.0, 0, 0, 0, 0], [1.0, 1, 1, 1, 1], [0.0, 1, 0, 1, 0], [1.0, 0, 1, 0, 1]], 9, axis=0)
    attack = SinglingOut(Targets(NAMES, COLUMNS, few, 18), np.random.default_rng(0), 50, 1)
    attack.add(few)
    assert attack.attempts() == ()


def test_who_is_attacked_may_be_one_person_and_samples_may_be_all_the_same() -> None:
    draw = np.random.default_rng(2)
    one, others, constant = people(draw, 1), people(draw, 3), np.tile(people(draw, 1), (5, 1))
    for name, attempts in attacked(one, others, constant).items():
        risk = attempts.risk(0.95)
        assert (risk.lower, 0 <= risk.upper <= 1) == (0, True), name
    with pytest.raises(ValueError, match="members and others"):
        Targets(NAMES, COLUMNS, one, 1)
    assert divisions_of(("a",)) == ()


@pytest.mark.parametrize(
    ("outcomes", "value"), [((9, 10, 0, 10), 0.9), ((9, 10, 5, 10), 0.8), ((5, 10, 9, 10), 0.0),
                            ((10, 10, 10, 10), None)]
)  # fmt: skip
def test_a_risk_is_what_an_attack_adds_of_what_it_could(
    outcomes: tuple[int, int, int, int], value: float | None
) -> None:
    risk = Attempts("", Outcomes(*outcomes), (0, 1)).risk(0.95)
    assert risk.value == (None if value is None else pytest.approx(value))
    assert 0 <= risk.lower <= (risk.value or 0) <= risk.upper <= 1


def test_limits_of_a_risk_hold() -> None:
    """The probabilities that they fail, exactly: each pair of counts with its own."""
    trials, counts = 12, range(13)
    risks = {
        (own, other): Attempts("", Outcomes(own, trials, other, trials), (0, 1)).risk(0.9)
        for own in counts
        for other in counts
    }
    for attack, control in [(0.5, 0.5), (0.9, 0.2), (0.1, 0.05), (1.0, 0.7)]:
        truth = (attack - control) / (1 - control)
        shares = {
            (own, other): stats.binom.pmf(own, trials, attack) * stats.binom.pmf(other, trials, control)
            for own, other in risks
        }
        too_high = sum(shares[pair] for pair, risk in risks.items() if risk.lower > truth + 1e-12)
        too_low = sum(shares[pair] for pair, risk in risks.items() if risk.upper < truth - 1e-12)
        assert max(too_high, too_low) <= 0.1, (attack, control)


def test_a_guess_of_a_number_is_right_within_a_share_of_itself() -> None:
    guesses = np.array([100.0, 100.0, -100.0, np.nan, np.nan, 0.0])
    secrets = np.array([105.0, 106.0, -104.0, np.nan, 1.0, 0.0])
    assert right_guesses(guesses, secrets, is_ordered=True).tolist() == [1, 0, 1, 1, 0, 1]
    assert right_guesses(guesses, secrets, is_ordered=False).tolist() == [0, 0, 0, 1, 0, 1]


VALUES = st.tuples(
    st.sampled_from([-1.0, 0.0, 0.5, np.nan]), st.sampled_from([0.0, 2.0, np.nan]),
    *[st.sampled_from([0.0, 1.0])] * 3,
)  # fmt: skip
TABLES = st.lists(VALUES, min_size=1, max_size=12).map(np.array)


def satisfies(guesses: Predicates, number: int, record: np.ndarray) -> bool:
    met = []
    for place, operator, value in zip(
        guesses.places[number], guesses.operators[number], guesses.values[number], strict=True
    ):
        own = record[place]
        same = own == value or (np.isnan(own) and np.isinf(value))
        match Operator(operator):
            case Operator.EQUAL:
                met.append(same)
            case Operator.AT_MOST:
                met.append(own <= value)
            case Operator.AT_LEAST:
                met.append(own >= value)
            case _:
                raise AssertionError(operator)
    return all(met)


@settings(max_examples=15, deadline=None)
@given(synthetic=TABLES, block=st.integers(1, 12), seed=st.integers(0, 99))
def test_each_guess_is_satisfied_by_one_synthetic_record_alone(
    synthetic: np.ndarray, block: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    singling = SinglingOut(Targets(NAMES, COLUMNS, np.zeros((2, 5)), 1), draw, 8, 2)
    for start in range(0, len(synthetic), block):
        singling.add(synthetic[start : start + block])
    distinct = np.unique(filled(synthetic), axis=0)
    distinct[np.isinf(distinct)] = np.nan
    for guesses in singling.guesses().values():
        assert len(guesses) <= 8
        counts = [
            sum(satisfies(guesses, number, record) for record in distinct) for number in range(len(guesses))
        ]
        assert counts == [1] * len(guesses)
        assert (guesses.counts(filled(distinct)) == 1).all()
