"""Noise of whole releases: no pair of neighbours loses more than is stated, nor than is allowed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from release_data import (
    ADD,
    AGE,
    ALL,
    CATEGORIES,
    CHANGE,
    GROUPS,
    NORMAL,
    ONE_ROW,
    PRIVATE,
    PURE,
    Data,
    Row,
    aggregates,
    allowed,
    planned,
    statistic,
    with_scales,
)

from smalti.engine.binding.stated import Stated
from smalti.engine.losses.allowed import LOSSES, equivalent_bound, is_in_range
from smalti.engine.plan.files import Composition
from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.engine.plan.reads import BoundContributions, Key, Measure, Mechanism
from smalti.engine.registry.budget import EpsilonDelta, compose
from smalti.engine.registry.certificate import describe_respondents
from smalti.engine.releases.aggregate import Aggregates
from smalti.engine.releases.calibrate import AllowedLoss, Wish, calibrate
from smalti.engine.releases.guarantee import describe, guarantee_of, limits
from smalti.engine.releases.losses import least_loss, lost_by
from smalti.engine.releases.plan import Quantity, ReleasePlan, Statistic, StatisticKind
from smalti.engine.releases.recheck import check_sentences
from smalti.errors import InternalError, PlanError, ProblemsError, SmaltiError
from smalti.transforms.identifiability import gaussian_epsilon
from smalti.transforms.loss.belief import belief_after
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.discrete_gaussian import largest_step
from smalti.transforms.noise.partition_selection import chance_of_reaching
from smalti.transforms.noise.samplers import LaplaceNoise
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import EPSILON, IRI, MEMBERSHIP_ADVANTAGE, POSTERIOR_BELIEF

Kind = StatisticKind
WHERE = "https://a.example/policy"
SMALL = Measure("age", Decimal(-2), Decimal(3), Decimal(1), Decimal(0))
ASIDE = Measure("age", Decimal("0.5"), Decimal("3.5"), Decimal(1), Decimal("0.5"))
LEVELS = (Decimal("0.25"), Decimal("0.5"))

# --- Random releases ------------------------------------------------------------------------------


@st.composite
def wishes(draw: st.DrawFn, kinds: list[StatisticKind], keys: list[tuple[Key, ...]]) -> Wish:
    kind, grouping = draw(st.sampled_from(kinds)), draw(st.sampled_from(keys))
    measure = {
        Kind.SUM: draw(st.sampled_from([SMALL, ASIDE])),
        Kind.MEAN: SMALL,
        Kind.VARIANCE: SMALL,
        Kind.QUANTILE: SMALL,
    }.get(kind)
    if kind in {Kind.HISTOGRAM, Kind.MODE}:
        grouping = (*grouping, CATEGORIES)
    one = statistic(kind, *grouping, measure=measure, choices=int(kind is Kind.MODE))
    if kind is Kind.QUANTILE:
        one = replace(one, candidates=("-2", "0", "1", "3"))
    share = draw(st.fractions(Fraction(1, 10), 10, max_denominator=10))
    return Wish(one, share, LEVELS if kind is Kind.QUANTILE else (), is_filtered=True)


def mixtures(keys: list[tuple[Key, ...]]) -> st.SearchStrategy[list[Wish]]:
    return st.lists(wishes(list(Kind), keys), min_size=1, max_size=4)


bounds = st.builds(BoundContributions, st.sampled_from([ADD, CHANGE]), st.integers(1, 3), st.integers(1, 3))
respondents = st.lists(
    st.builds(
        Row,
        st.sampled_from("abcd"),
        st.sampled_from("xyz"),
        st.one_of(st.none(), st.integers(-2, 3)),
    ),
    max_size=4,
)


def as_measured(one: Statistic, rows: list[Row]) -> list[Row]:
    """The rows with units between the bounds of the statistic's measure."""
    if one.measure is None:
        return rows
    least, most = one.measure.least, one.measure.most
    return [
        row if row.units is None else replace(row, units=min(max(row.units, least), most)) for row in rows
    ]


def common(one: Aggregates, other: Aggregates) -> list[tuple[int, int]]:
    return [
        (one.groups.index(group), other.groups.index(group))
        for group in one.groups
        if group in other.groups
    ]


def lost_between(plan: ReleasePlan, data: Data, neighbour: Data) -> tuple[Fraction, float]:
    """The exact pure loss of a pair, and its squared mu, where groups of one of them only stay hidden."""
    pure, mu_squared = Fraction(0), 0.0
    for one in plan.statistics:
        pair = [
            aggregates(one, {who: as_measured(one, list(rows)) for who, rows in each.items()}, plan.bound)
            for each in (data, neighbour)
        ]
        places = common(*pair)
        if one.selection is not None:
            changes = sum(abs(pair[0].respondents[i] - pair[1].respondents[j]) for i, j in places)
            pure += changes / Fraction(one.selection.scale)
        for part, before, after in zip(one.parts, pair[0].amounts, pair[1].amounts, strict=True):
            changes_by_group = [
                [abs(a - b) for a, b in zip(before[i], after[j], strict=True)] for i, j in places
            ]
            worst = [max(changes) for changes in changes_by_group]
            if part.mechanism is Mechanism.EXPONENTIAL:
                pure += 2 * sum(worst) / Fraction(part.scale)
            elif part.mechanism is Mechanism.LAPLACE:
                pure += sum(worst) / Fraction(part.scale)
            else:
                mu_squared += sum(change**2 for change in worst) * largest_step(part.scale) ** 2
    return pure, mu_squared


def check_stated(loss: PlannedLoss, may: AllowedLoss) -> None:
    """What is stated is within what is allowed, by its own figures."""
    pure, mu = Fraction(loss.pure), math.sqrt(Fraction(loss.mu_squared))
    assert 0 <= loss.selection_delta <= loss.delta <= may.delta
    rest = float(loss.delta - loss.selection_delta)
    epsilon = pure + (Fraction(gaussian_epsilon(rest, mu)) if mu else 0)
    assert epsilon <= Fraction(loss.epsilon) * Fraction(1 + 1e-15 if mu else 1)
    if may.epsilon is not None and may.belief is None and may.advantage is None:
        assert loss.epsilon == may.epsilon
    elif may.epsilon is not None:
        assert loss.epsilon <= may.epsilon
    if may.belief is not None:
        assert loss.belief <= float(may.belief) + 1e-15
    if may.advantage is not None:
        assert loss.advantage <= float(may.advantage) + 1e-15


def check_recomputed(made: ReleasePlan) -> None:
    """The same loss comes back from the noise alone, and a certificate of it contradicts itself nowhere."""
    said, noise = made.loss, lost_by(made)
    exact = PrivacyLoss(Fraction(said.pure), Fraction(said.mu_squared))
    assert noise.loss == exact
    assert noise.selection_delta <= Fraction(said.selection_delta)
    promised = guarantee_of(made)
    least = least_loss(promised)
    assert least.pure <= exact.pure
    assert least.mu_squared <= exact.mu_squared
    account = compose(EpsilonDelta(said.epsilon, said.delta), exact, Fraction(said.selection_delta))
    together = Composition(StatedLoss(said.epsilon, said.delta, account.belief, account.advantage), 1)
    who = describe_respondents(made.read.respondent)
    check_sentences(
        Path("certificate"), Stated(promised, together, describe(promised), who, limits(promised))
    )


PUBLIC: list[tuple[Key, ...]] = [(), (GROUPS,)]
ways = st.sampled_from(
    [
        {"epsilon": "1.1"},
        {"epsilon": "0.01"},
        {"belief": "0.75"},
        {"belief": "0.501"},
        {"advantage": "0.3"},
        {"advantage": "0.9"},
        {"epsilon": "1.1", "belief": "0.7"},
        {"epsilon": "1.1", "advantage": "0.2"},
        {"belief": "0.6", "advantage": "0.25"},
    ]
)
deltas = st.sampled_from(["0.000001", "0.01"])


@settings(max_examples=examples(60), deadline=None)
@given(mixtures(PUBLIC), bounds, ways, deltas, st.sampled_from([ALL, PURE, NORMAL]), st.data())
def test_no_neighbours_lose_more_than_is_stated(
    some: list[Wish],
    bound: BoundContributions,
    way: Mapping[str, str],
    delta: str,
    mechanisms: frozenset[Mechanism],
    data: st.DataObject,
) -> None:
    may = allowed(**way, delta=delta, mechanisms=mechanisms)
    made = planned(some, bound, may)
    check_stated(made.loss, may)
    check_recomputed(made)
    for _ in range(3):
        before, after = neighbours(data, bound)
        pure, mu_squared = lost_between(made, before, after)
        assert pure <= Fraction(made.loss.pure)
        assert mu_squared <= float(Fraction(made.loss.mu_squared)) * (1 + 1e-12)


def neighbours(data: st.DataObject, bound: BoundContributions) -> tuple[Data, Data]:
    others = data.draw(st.dictionaries(st.sampled_from("123"), respondents, max_size=3))
    one = data.draw(respondents)
    return {**others, "?": one}, {
        **others,
        "?": data.draw(respondents),
    } if bound.neighbors is CHANGE else others


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        wishes([Kind.COUNT, Kind.MEAN, Kind.QUANTILE], [(PRIVATE,), (PRIVATE, CATEGORIES)]),
        min_size=1,
        max_size=3,
    ),
    mixtures(PUBLIC),
    bounds,
    ways,
    deltas,
    st.sampled_from([ALL, PURE]),
    st.data(),
)
def test_private_groups_take_their_part(
    private: list[Wish],
    public: list[Wish],
    bound: BoundContributions,
    way: Mapping[str, str],
    delta: str,
    mechanisms: frozenset[Mechanism],
    data: st.DataObject,
) -> None:
    may = allowed(**way, delta=delta, mechanisms=mechanisms)
    made = planned([*private, *public], bound, may)
    check_stated(made.loss, may)
    check_recomputed(made)
    chance = Fraction(0)
    for one in made.statistics:
        if one.selection is not None:
            noise = LaplaceNoise(Fraction(one.selection.scale))
            reached = chance_of_reaching(noise, one.selection.threshold - 1)
            chance += min(bound.rows, bound.groups) * Fraction(reached)
    assert 0 < chance <= Fraction(made.loss.selection_delta)
    before, after = neighbours(data, bound)
    pure, mu_squared = lost_between(made, before, after)
    assert pure <= Fraction(made.loss.pure)
    assert mu_squared <= float(Fraction(made.loss.mu_squared)) * (1 + 1e-12)


# --- All small neighbours -------------------------------------------------------------------------

UNIVERSE = [Row(group, category, units) for group in "ab" for category in "xy" for units in (-2, 3, None)]
EVERYONE = [list(rows) for size in range(3) for rows in product(UNIVERSE, repeat=size)]
REACHED = {Kind.COUNT, Kind.DISTINCT_COUNT, Kind.SUM, Kind.HISTOGRAM, Kind.MODE}
"""Whose stated loss some pair of these neighbours reaches."""


def changes_of(one: Statistic, part: int, bound: BoundContributions, others: Data) -> NDArray[np.int64]:
    """By pair of neighbours and group, the greatest change of an amount."""
    everyone = np.array(
        [aggregates(one, {**others, "?": rows}, bound).amounts[part] for rows in EVERYONE], np.int64
    )
    without = everyone[:1] if bound.neighbors is ADD else everyone
    return np.abs(everyone[:, None] - without[None]).max(axis=-1).reshape(-1, everyone.shape[1])


@pytest.mark.parametrize("neighbors", [ADD, CHANGE])
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("keys", [(), (GROUPS,)], ids=["whole", "grouped"])
@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CONTINGENCY])
def test_no_small_neighbours_lose_more_than_is_stated(
    kind: StatisticKind, keys: tuple[Key, ...], rows: int, groups: int, neighbors: NeighboringRelation
) -> None:
    if kind in {Kind.HISTOGRAM, Kind.MODE}:
        keys = (*keys, CATEGORIES)
    needs_measure = kind in {Kind.SUM, Kind.MEAN, Kind.VARIANCE, Kind.QUANTILE}
    one = statistic(kind, *keys, measure=SMALL if needs_measure else None, choices=int(kind is Kind.MODE))
    one = replace(one, candidates=("-2", "0", "3")) if kind is Kind.QUANTILE else one
    bound = BoundContributions(neighbors, rows, groups)
    wish = Wish(one, Fraction(1), LEVELS[1:] if kind is Kind.QUANTILE else ())
    (one,), stated = calibrate((wish,), bound, allowed("1", "0.01", mechanisms=PURE), WHERE)
    (normal,), of_normal = calibrate((wish,), bound, allowed("1", "0.01", mechanisms=NORMAL), WHERE)
    others = {} if kind is not Kind.QUANTILE else {"1": [Row("a", "x", -2)], "2": [Row("a", "x", 3)]}
    pure, mu_squared = np.zeros(1), np.zeros(1)
    for place, (part, beside) in enumerate(zip(one.parts, normal.parts, strict=True)):
        changes = changes_of(one, place, bound, others)
        twice = 2 if part.mechanism is Mechanism.EXPONENTIAL else 1
        pure = pure + twice * changes.sum(axis=1) / part.scale
        if beside.mechanism is Mechanism.GAUSSIAN:
            mu_squared = mu_squared + (changes**2).sum(axis=1) * largest_step(beside.scale) ** 2
    assert pure.max() <= float(Fraction(stated.pure)) * (1 + 1e-12)
    assert mu_squared.max() <= float(Fraction(of_normal.mu_squared)) * (1 + 1e-12)
    if kind in REACHED:
        assert pure.max() >= float(Fraction(stated.pure)) * (1 - 1e-12)
        assert mu_squared.max() >= float(Fraction(of_normal.mu_squared)) * (1 - 1e-9)


def test_less_noise_is_caught() -> None:
    """What the tests above compare can fail."""
    for mechanisms in (PURE, NORMAL):
        bound = BoundContributions(ADD, 2, 2)
        made = planned(
            [Wish(statistic(Kind.COUNT, measure=None), Fraction(1))],
            bound,
            allowed("1", "0.01", mechanisms=mechanisms),
        )
        broken = replace(made, statistics=tuple(with_scales(one, 0.9) for one in made.statistics))
        row = Row("a", "x", None)
        for plan, is_kept in ((made, True), (broken, False)):
            pure, mu_squared = lost_between(plan, {}, {"1": [row, row, row]})
            kept = pure <= Fraction(made.loss.pure) and mu_squared <= Fraction(made.loss.mu_squared)
            assert kept is is_kept


# --- What is stated -------------------------------------------------------------------------------


def count_of(bound: BoundContributions = ONE_ROW, **loss: str) -> tuple[Statistic, PlannedLoss]:
    wish = Wish(statistic(Kind.COUNT, measure=None), Fraction(1))
    statistics, stated = calibrate((wish,), bound, allowed(**loss), WHERE)
    return statistics[0], stated


def test_a_laplace_release_states_its_own_advantage() -> None:
    """.50 at epsilon 1.1, and not the .14 of classic Gaussian noise of the same epsilon."""
    _, stated = count_of(epsilon="1.1")
    assert f"{stated.advantage:.2f}" == "0.50"
    assert stated.epsilon == Decimal("1.1")
    assert stated.delta == 0
    assert f"{stated.belief:.4f}" == "0.7503"


def test_a_belief_is_a_logarithm() -> None:
    """ln 3, rounded down: arXiv 2103.02913, equation 10."""
    _, stated = count_of(belief="0.75")
    assert stated.epsilon == Decimal("1.09861228")
    assert 0.75 - 1e-8 < stated.belief <= 0.75
    assert f"{stated.advantage:.2f}" == "0.50"


def test_an_advantage_is_that_of_the_noise() -> None:
    _, stated = count_of(advantage="0.5")
    assert math.isclose(float(stated.epsilon), math.log(3), rel_tol=1e-8)
    assert 0.5 - 1e-8 < stated.advantage <= 0.5


def test_a_gaussian_release_states_what_holds_for_whatever_is_made_from_it() -> None:
    """With mu from arXiv 2103.02913 alone, whole numbers and rounded quotients would exceed the belief."""
    wish = Wish(statistic(Kind.COUNT, measure=None), Fraction(1))
    for loss in (
        allowed(belief="0.75", delta="0.001"),
        allowed("1", "0.001"),
        allowed(advantage="0.3", delta="0.001"),
    ):
        _, stated = calibrate((wish,), ONE_ROW, replace(loss, mechanisms=NORMAL), WHERE)
        noise = PrivacyLoss(Fraction(stated.pure), Fraction(stated.mu_squared))
        assert stated.belief == belief_after(0.0, noise.mu, 0.001) == noise.belief(0.001)
        assert stated.advantage == noise.advantage
        assert noise.epsilon(0.001) <= float(stated.epsilon) <= noise.epsilon(0.001) * 1.02


def test_a_private_selection_adds_its_chance_to_the_advantage() -> None:
    wish = Wish(statistic(Kind.COUNT, PRIVATE, measure=None), Fraction(1))
    _, stated = calibrate((wish,), ONE_ROW, allowed("1", "0.1", mechanisms=PURE), WHERE)
    assert stated.selection_delta == stated.delta == Decimal("0.1")
    assert stated.advantage == pytest.approx(1 - 0.9 * (1 - math.tanh(0.5)))


@pytest.mark.parametrize("mechanisms", [PURE, NORMAL | {Mechanism.LAPLACE}])
@pytest.mark.parametrize("way", [{"epsilon": "0.5"}, {"belief": "0.6"}, {"advantage": "0.2"}])
def test_nearly_all_that_is_allowed_is_used(
    way: Mapping[str, str], mechanisms: frozenset[Mechanism]
) -> None:
    some = [
        *(statistic(Kind.SUM, GROUPS) for _ in range(40)),
        statistic(Kind.MODE, CATEGORIES, choices=1),
        statistic(Kind.SUM, PRIVATE),
    ]
    may = allowed(**way, delta="0.001", mechanisms=mechanisms)
    statistics, stated = calibrate(tuple(Wish(one, Fraction(1)) for one in some), ONE_ROW, may, WHERE)
    assert {one.parts[0].mechanism for one in statistics[:-2]} == {
        Mechanism.LAPLACE if mechanisms == PURE else Mechanism.GAUSSIAN
    }
    rest = float(stated.delta - stated.selection_delta)
    epsilon = float(Fraction(stated.pure))
    if mechanisms != PURE:
        epsilon += gaussian_epsilon(rest, math.sqrt(Fraction(stated.mu_squared)))
    told = {"epsilon": epsilon, "belief": stated.belief, "advantage": stated.advantage}
    for name, bound in way.items():
        # Pure and Gaussian advantages together are stated as a bound, which is not that of both.
        assert told[name] >= float(bound) * (0.97 if name == "advantage" else 1 - 1e-6)


def test_a_pure_release_is_charged_no_delta() -> None:
    one, stated = count_of(epsilon="1", delta="0.000001")
    assert one.parts[0].mechanism is Mechanism.LAPLACE
    assert stated.delta == stated.selection_delta == 0


def test_the_salaries_of_the_documents() -> None:
    """D5.2, 3.2.4: epsilon 2 for a mean, scales of ten millions and 1."""
    measure = Measure("salary", Decimal(0), Decimal(10_000_000), Decimal(1), Decimal(0))
    wish = Wish(statistic(Kind.MEAN, measure=measure), Fraction(1))
    ((one,), _) = calibrate((wish,), ONE_ROW, allowed("2", mechanisms=PURE), WHERE)
    assert [(part.quantity, part.scale) for part in one.parts] == [
        (Quantity.SUM, 1e7),
        (Quantity.ROWS, 1.0),
    ]


def test_shares_divide_the_noise() -> None:
    some = [replace(statistic(Kind.COUNT, measure=None), name=name) for name in "ab"]
    asked = tuple(Wish(one, Fraction(share)) for one, share in zip(some, (1, 3), strict=True))
    (one, other), _ = calibrate(asked, ONE_ROW, allowed("1"), WHERE)
    assert (one.parts[0].scale, other.parts[0].scale) == (4, pytest.approx(4 / 3))
    (one, other), stated = calibrate(asked, ONE_ROW, allowed("1", "0.01", mechanisms=NORMAL), WHERE)
    assert one.parts[0].scale == pytest.approx(other.parts[0].scale * math.sqrt(3), rel=1e-2)
    assert stated.delta == Decimal("0.01")


def test_the_smaller_noise_is_taken() -> None:
    """Many statistics are better off with Gaussian noise, whose mus add up as squares."""
    some = tuple(
        Wish(replace(statistic(Kind.COUNT, measure=None), name=str(number)), Fraction(1))
        for number in range(100)
    )
    for asked, mechanism in ((some[:1], Mechanism.LAPLACE), (some, Mechanism.GAUSSIAN)):
        statistics, _ = calibrate(asked, ONE_ROW, allowed("1", "0.000001"), WHERE)
        assert {one.parts[0].mechanism for one in statistics} == {mechanism}
        pure, _ = calibrate(asked, ONE_ROW, allowed("1", "0.000001", mechanisms=PURE), WHERE)
        assert statistics[0].parts[0].scale <= pure[0].parts[0].scale


def test_a_number_that_nobody_declared_public_gets_noise() -> None:
    """Under change-one with one row each, an unfiltered count does not change at all."""
    wish = Wish(statistic(Kind.COUNT, measure=None), Fraction(1), is_filtered=False)
    ((one,), _) = calibrate((wish,), BoundContributions(CHANGE, 1, 1), allowed("1"), WHERE)
    assert one.parts[0].scale == 1


def test_sums_are_counted_from_zero_where_units_allow_it() -> None:
    far = Measure("age", Decimal(20), Decimal(120), Decimal(5), Decimal(20))
    for measure, quantities, origin in (
        (far, [Quantity.SUM], 0),
        (ASIDE, [Quantity.SUM, Quantity.ROWS], Decimal("0.5")),
    ):
        wish = Wish(statistic(Kind.SUM, measure=measure), Fraction(1))
        ((one,), _) = calibrate((wish,), ONE_ROW, allowed("1"), WHERE)
        assert [part.quantity for part in one.parts] == quantities
        assert one.measure is not None
        assert one.measure.origin == origin
    ((one,), _) = calibrate(
        (Wish(statistic(Kind.SUM, measure=far), Fraction(1)),), ONE_ROW, allowed("1"), WHERE
    )
    assert one.parts[0].scale == 24  # 120 / 5


def test_choices_of_a_respondent_in_several_groups_add_up() -> None:
    for bound, scale in ((BoundContributions(ADD, 3, 2), 6), (BoundContributions(CHANGE, 3, 2), 12)):
        wish = Wish(statistic(Kind.MODE, GROUPS, CATEGORIES, measure=None, choices=1), Fraction(1))
        ((one,), _) = calibrate((wish,), bound, allowed("1"), WHERE)
        assert one.parts[0].scale == scale
    wish = Wish(statistic(Kind.MODE, CATEGORIES, measure=None, choices=1), Fraction(1))
    ((one,), _) = calibrate((wish,), BoundContributions(CHANGE, 3, 2), allowed("1"), WHERE)
    assert one.parts[0].scale == 6


# --- What cannot be met ---------------------------------------------------------------------------

COUNT = statistic(Kind.COUNT, measure=None)


@pytest.mark.parametrize(
    ("one", "loss", "says"),
    [
        (COUNT, allowed("1", mechanisms=frozenset({Mechanism.EXPONENTIAL})), "laplace or gaussian"),
        (COUNT, allowed("1", mechanisms=NORMAL), "delta above 0"),
        (
            statistic(Kind.MODE, CATEGORIES, choices=1),
            allowed("1", mechanisms=frozenset({Mechanism.LAPLACE})),
            "exponential",
        ),
        (replace(COUNT, keys=(PRIVATE,)), allowed("1"), "delta above 0"),
        (replace(COUNT, keys=(PRIVATE,)), allowed("1", "0.1", mechanisms=NORMAL), "mechanism laplace"),
        (
            replace(COUNT, keys=(PRIVATE,)),
            allowed(advantage="0.1", delta="0.1"),
            "below the allowed advantage",
        ),
        (statistic(Kind.MODE, PRIVATE, choices=1), allowed("1", "0.1"), "public candidates"),
        (
            statistic(Kind.VARIANCE, measure=replace(AGE, unit=Decimal("0.0001"))),
            allowed("1"),
            "larger unit",
        ),
        (
            statistic(Kind.SUM, measure=replace(AGE, unit=Decimal("0.01"))),
            allowed("0.000000000002"),
            "2^50",
        ),
        (COUNT, allowed("0"), "epsilon is out of range"),
        (COUNT, allowed("-1"), "epsilon is out of range"),
        (COUNT, allowed("NaN"), "epsilon is out of range"),
        (COUNT, allowed("1", "1"), "delta is out of range"),
        (COUNT, allowed("1", "-0.1"), "delta is out of range"),
        (COUNT, allowed(belief="0.5"), "belief is out of range"),
        (COUNT, allowed(advantage="1"), "advantage is out of range"),
    ],
)
def test_what_no_noise_meets_is_refused(one: Statistic, loss: AllowedLoss, says: str) -> None:
    with pytest.raises(PlanError) as caught:
        calibrate((Wish(one, Fraction(1)),), ONE_ROW, loss, WHERE)
    assert str(caught.value).startswith(WHERE)
    assert says in str(caught.value)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ProblemsError) as caught:
        calibrate(
            (Wish(replace(COUNT, keys=(PRIVATE,)), Fraction(1)), Wish(COUNT, Fraction(1))),
            ONE_ROW,
            allowed("1", mechanisms=NORMAL),
            WHERE,
        )
    assert len(caught.value.problems) == 4


def test_a_loss_is_allowed_in_some_way() -> None:
    with pytest.raises(InternalError, match="some way"):
        calibrate((Wish(COUNT, Fraction(1)),), ONE_ROW, allowed(), WHERE)


@pytest.mark.parametrize("mechanisms", [PURE, NORMAL])
def test_of_several_words_all_are_kept(mechanisms: frozenset[Mechanism]) -> None:
    """Gaussian noise that keeps to one of them may not keep to another: the least of all is taken."""
    limits = {"epsilon": "0.5", "belief": "0.6", "advantage": "0.1"}
    delta = "0" if mechanisms is PURE else "0.0001"

    def noise(**loss: str) -> tuple[float, PlannedLoss]:
        may = allowed(loss.pop("epsilon", None), **loss, delta=delta, mechanisms=mechanisms)
        (one,), lost = calibrate((Wish(COUNT, Fraction(1)),), ONE_ROW, may, WHERE)
        check_stated(lost, replace(may, epsilon=None))
        return one.parts[0].scale, lost

    alone = {word: noise(**{word: limit})[0] for word, limit in limits.items()}
    together, lost = noise(**limits)
    assert together == max(alone.values())
    assert lost.epsilon <= Decimal("0.5")
    loose = noise(epsilon="0.5", belief="0.99999")[1].epsilon
    assert Decimal("0.4999") < loose <= Decimal("0.5")


ASKED = st.one_of(
    st.tuples(st.just(EPSILON), st.decimals("1e-11", "30", places=11)),
    st.tuples(st.just(POSTERIOR_BELIEF), st.decimals("0.500000001", "0.999999999", places=9)),
    st.tuples(st.just(MEMBERSHIP_ADVANTAGE), st.decimals("1e-9", "0.999999999", places=9)),
)


@settings(max_examples=examples(60), deadline=None)
@given(ASKED, st.sampled_from(LOSSES))
def test_a_word_stands_for_the_others_and_never_for_more(asked: tuple[IRI, Decimal], word: IRI) -> None:
    said, value = asked
    there = equivalent_bound(word, said, value)
    assume(is_in_range(word, there))
    back = equivalent_bound(said, word, there)
    assert back <= value
    # Nine digits: of an epsilon of 30 they leave an advantage of 1 - 1e-9, which is one of 21.4.
    assert advantage_of(said, back) == pytest.approx(advantage_of(said, value), rel=1e-7, abs=2e-9)


def advantage_of(word: IRI, value: Decimal) -> float:
    number = float(value)
    if word == EPSILON:
        return math.tanh(number / 2)
    return 2 * number - 1 if word == POSTERIOR_BELIEF else number


@settings(max_examples=examples(100), deadline=None)
@given(
    st.decimals("1e-12", "1e6", places=12),
    st.decimals("1e-290", "0.999").map(lambda d: d.normalize()),
    st.sampled_from([PURE, NORMAL]),
    st.sampled_from([COUNT, statistic(Kind.VARIANCE), replace(COUNT, keys=(PRIVATE,))]),
)
def test_extreme_losses_are_met_or_refused(
    epsilon: Decimal, delta: Decimal, mechanisms: frozenset[Mechanism], one: Statistic
) -> None:
    may = AllowedLoss(epsilon, None, None, delta, mechanisms)
    try:
        _, stated = calibrate((Wish(one, Fraction(1)),), ONE_ROW, may, WHERE)
    except SmaltiError:
        assume(False)
    check_stated(stated, may)
