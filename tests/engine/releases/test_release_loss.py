"""The loss that runs of whole releases show, beside the one that they state; and broken releases, caught.

Each comparison fails by chance with probability 1e-9 (`evidence.FALSE_ALARM`): an event is chosen before
the runs, and the shares of runs in which it happens on two neighbouring data sets show a loss at least.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from evidence import FALSE_ALARM, loss_shown, mu_shown, share_within
from release_data import (
    ADD,
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
    plan,
    planned,
    repeated,
    statistic,
    with_scales,
)

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.reads import BoundContributions, Measure, Mechanism
from smalti.engine.releases.aggregate import Aggregates
from smalti.engine.releases.calibrate import Wish
from smalti.engine.releases.draw import draw
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Selection, Statistic, StatisticKind
from smalti.transforms.noise.partition_selection import threshold_for
from smalti.transforms.noise.samplers import LaplaceNoise

Kind = StatisticKind
Event = Callable[[dict[tuple[str, ...], str]], bool]
"""Of the values of a release, by the labels of their groups."""

CHANGE_ONE_ROW = BoundContributions(CHANGE, 1, 1)
SMALL = Measure("age", Decimal(0), Decimal(4), Decimal(1), Decimal(2))


def people(*rows: Row) -> Data:
    return {str(number): [row] for number, row in enumerate(rows)}


def hits(plan_: ReleasePlan, one: Statistic, exact: Aggregates, event: Event, runs: int) -> int:
    """In how many of some runs an event happens."""
    released: dict[str, dict[tuple[str, ...], str]] = {str(run): {} for run in range(runs)}
    for row in draw(plan_, *repeated(one, exact, runs)):
        run, *labels = row.keys.values()
        released[run][tuple(labels)] = row.value
    return sum(map(event, released.values()))


def is_at_least(number: float, *labels: str) -> Event:
    return lambda values: float(values[labels]) >= number


def pair_of(
    one: Statistic, bound: BoundContributions, more: Data, less: Data
) -> tuple[Aggregates, Aggregates]:
    return aggregates(one, more, bound), aggregates(one, less, bound)


def released(
    one: Statistic, bound: BoundContributions, epsilon: str, mechanisms: frozenset[Mechanism]
) -> ReleasePlan:
    levels = (Decimal("0.5"),) if one.kind is Kind.QUANTILE else ()
    may = allowed(epsilon, "0.01" if mechanisms is NORMAL else "0", mechanisms=mechanisms)
    return planned([Wish(one, Fraction(1), levels)], bound, may)


def shown(
    plan_: ReleasePlan, one: Statistic, pair: tuple[Aggregates, Aggregates], event: Event, runs: int
) -> float:
    """The part of what is stated that runs show: of epsilon, or of the mu of Gaussian noise."""
    happened = [hits(plan_, one, exact, event, runs) for exact in pair]
    if Fraction(plan_.loss.mu_squared):
        return mu_shown(*happened, runs) / float(Fraction(plan_.loss.mu_squared)) ** 0.5
    return loss_shown(*happened, runs) / float(Fraction(plan_.loss.pure))


# --- What each statistic shows --------------------------------------------------------------------

A, OTHER = Row("a", "x", 2), Row("b", "y", -2)
THREE = people(A, A, OTHER)
MORE = {**THREE, "more": [A]}
MOST = {**THREE, "more": [Row("a", "x", 4)]}
DIFFERENT = {**THREE, "more": [Row("a", "y", 1)]}
CHANGED = {**THREE, "0": [OTHER]}


def has_moved(values: dict[tuple[str, ...], str]) -> bool:
    return float(values["x",]) <= 1 and float(values["y",]) >= 2


@pytest.mark.parametrize(
    ("one", "bound", "neighbour", "event"),
    [
        (statistic(Kind.COUNT, measure=None), ONE_ROW, MORE, is_at_least(4)),
        (statistic(Kind.DISTINCT_COUNT, measure=None), ONE_ROW, DIFFERENT, is_at_least(3)),
        (statistic(Kind.SUM, measure=replace(SMALL, origin=Decimal(0))), ONE_ROW, MOST, is_at_least(6)),
        (statistic(Kind.MEAN, measure=SMALL), ONE_ROW, MORE, is_at_least(4)),
        (statistic(Kind.VARIANCE, measure=SMALL), ONE_ROW, MORE, is_at_least(2)),
        (statistic(Kind.HISTOGRAM, CATEGORIES, measure=None), ONE_ROW, MORE, is_at_least(3, "x")),
        (statistic(Kind.HISTOGRAM, CATEGORIES, measure=None), CHANGE_ONE_ROW, CHANGED, has_moved),
        (
            statistic(Kind.CONTINGENCY, GROUPS, CATEGORIES, measure=None),
            ONE_ROW,
            MORE,
            is_at_least(3, "a", "x"),
        ),
        (statistic(Kind.MEAN, GROUPS, measure=SMALL), ONE_ROW, MORE, is_at_least(4, "a")),
    ],
    ids=[
        "count",
        "distinct count",
        "sum",
        "mean",
        "variance",
        "histogram",
        "histogram of changed",
        "contingency",
        "grouped mean",
    ],
)
@pytest.mark.parametrize("mechanisms", [PURE, NORMAL], ids=["laplace", "gaussian"])
def test_numbers_show_no_more_than_they_state(
    one: Statistic,
    bound: BoundContributions,
    neighbour: Data,
    event: Event,
    mechanisms: frozenset[Mechanism],
) -> None:
    plan_ = released(one, bound, "2", mechanisms)
    one = plan_.statistics[0]
    assert shown(plan_, one, pair_of(one, bound, neighbour, THREE), event, 1500) <= 1


def test_laplace_counts_show_nearly_their_epsilon() -> None:
    plan_ = released(statistic(Kind.COUNT, measure=None), ONE_ROW, "1", PURE)
    one = plan_.statistics[0]
    assert 0.8 <= shown(plan_, one, pair_of(one, ONE_ROW, MORE, THREE), is_at_least(4), 20_000) <= 1


def test_gaussian_sums_show_nearly_their_mu() -> None:
    """In fine units, where whole numbers hardly matter."""
    one = statistic(Kind.SUM, measure=Measure("age", Decimal(0), Decimal(100), Decimal(1), Decimal(0)))
    plan_ = released(one, ONE_ROW, "4", NORMAL)
    one = plan_.statistics[0]
    pair = pair_of(one, ONE_ROW, people(Row("a", "x", 100)), {})
    assert 0.8 <= shown(plan_, one, pair, is_at_least(50), 15_000) <= 1


MEDIAN = replace(statistic(Kind.QUANTILE, measure=SMALL), candidates=("0", "2", "4"))
LOW, HIGH = Row("a", "x", -2), Row("a", "x", 2)


def chosen(value: str, *labels: str) -> Event:
    return lambda values: values[labels] == value


def choice_shown(
    one: Statistic,
    bound: BoundContributions,
    pair: tuple[Data, Data],
    value: str,
    runs: int,
    epsilon: str = "4",
) -> float:
    plan_ = released(one, bound, epsilon, PURE)
    one = plan_.statistics[0]
    return shown(plan_, one, pair_of(one, bound, *pair), chosen(value), runs)


MODE = statistic(Kind.MODE, CATEGORIES, measure=None, choices=1)


def swapped(number: int) -> tuple[Data, Data]:
    """A respondent changes from the category x, which most are in, to y."""
    before = people(*[Row("a", "x", 0)] * number, Row("a", "y", 0))
    return {**before, "0": [Row("a", "y", 0)]}, before


def test_choices_show_no_more_than_they_state() -> None:
    pair = people(LOW, LOW, HIGH, HIGH, HIGH), people(LOW, LOW, LOW, HIGH, HIGH)
    assert choice_shown(MEDIAN, CHANGE_ONE_ROW, pair, "4", 1500) <= 1
    assert choice_shown(MODE, CHANGE_ONE_ROW, swapped(3), "y", 1500) <= 1
    assert choice_shown(MODE, ONE_ROW, ({"1": [Row("a", "y", 0)]}, {}), "y", 1500) <= 1


@pytest.mark.slow
def test_a_choice_shows_nearly_what_it_states() -> None:
    """Where the other category stays ahead: the ratio is exp(epsilon) but for what is left of certainty."""
    assert 0.8 <= choice_shown(MODE, CHANGE_ONE_ROW, swapped(5), "y", 150_000, "2") <= 1


def test_private_groups_show_no_more_than_their_delta() -> None:
    """A group that only one respondent is in is seen with a probability of delta at most."""
    plan_ = planned(
        [Wish(statistic(Kind.COUNT, PRIVATE, measure=None), Fraction(1))],
        ONE_ROW,
        allowed("1", "0.05", mechanisms=PURE),
    )
    one, runs = plan_.statistics[0], 8000
    alone = aggregates(one, people(A), ONE_ROW)
    low, _ = share_within(hits(plan_, one, alone, bool, runs), runs)
    assert 0.005 <= low <= 0.05
    # Those that several are in lose what their noise does.
    pair = pair_of(one, ONE_ROW, people(*[A] * 7), people(*[A] * 6))
    happened = [
        hits(plan_, one, exact, lambda values: float(values.get(("a",), 0)) >= 7, 4000) for exact in pair
    ]
    assert loss_shown(*happened, 4000) <= 1


# --- Broken releases ------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanisms", [PURE, NORMAL], ids=["laplace", "gaussian"])
def test_half_of_the_noise_is_caught(mechanisms: frozenset[Mechanism]) -> None:
    plan_ = released(statistic(Kind.COUNT, measure=None), ONE_ROW, "1", mechanisms)
    broken = with_scales(plan_.statistics[0], 0.5)
    pair = pair_of(broken, ONE_ROW, MORE, THREE)
    assert shown(plan_, broken, pair, is_at_least(4), 4000) > 1


def test_half_of_the_noise_of_a_choice_is_caught() -> None:
    plan_ = released(MODE, CHANGE_ONE_ROW, "2", PURE)
    broken = with_scales(plan_.statistics[0], 0.5)
    pair = pair_of(broken, CHANGE_ONE_ROW, *swapped(3))
    assert shown(plan_, broken, pair, chosen("y"), 6000) > 1


def test_unbounded_contributions_are_caught() -> None:
    """The noise is for one row, and all three of a respondent take part."""
    plan_ = released(statistic(Kind.COUNT, measure=None), ONE_ROW, "1", PURE)
    one, three = plan_.statistics[0], {**THREE, "more": [A, A, A]}
    pair = pair_of(one, BoundContributions(ADD, 3, 1), three, THREE)
    assert shown(plan_, one, pair, is_at_least(6), 4000) > 1
    assert shown(plan_, one, pair_of(one, ONE_ROW, three, THREE), is_at_least(4), 4000) <= 1


def test_the_sensitivity_of_a_mean_of_a_private_number_is_caught() -> None:
    """Noise of (upper - lower) / n for the n of each data set: the noise itself tells them apart."""
    measure, hits_of = Measure("age", Decimal(0), Decimal(1), Decimal("0.001"), Decimal(0)), []
    for values in ([0], [0, 1000]):
        scale = float(Fraction(1000, len(values)))  # epsilon 1
        broken = Statistic("mean", Kind.SUM, (), (Part(Quantity.SUM, Mechanism.LAPLACE, scale),), measure)
        plan_ = plan([broken], PlannedLoss(Decimal(1), Decimal(0), 0.7, 0.5, "1", "0"), ONE_ROW)
        exact = Aggregates(((),), (((sum(values) // len(values),),),))
        hits_of.append(hits(plan_, broken, exact, lambda values: float(values[()]) <= -1.5, 12_000))
    assert loss_shown(*hits_of, 12_000) > 1


def test_clipping_bounds_from_the_data_are_caught() -> None:
    """The noise is for the largest value that is there, and a neighbour has a much larger one."""
    few, hits_of = [1, 2, 2], []
    for values in ([*few, 50], few):
        measure = Measure("age", Decimal(0), Decimal(max(values)), Decimal(1), Decimal(0))
        plan_ = released(statistic(Kind.SUM, measure=measure), ONE_ROW, "1", PURE)
        one = plan_.statistics[0]
        data = people(*[Row("a", "x", value) for value in values])
        hits_of.append(hits(plan_, one, aggregates(one, data, ONE_ROW), is_at_least(30), 4000))
    assert loss_shown(*hits_of, 4000) > 1


def test_a_group_in_only_one_neighbour_is_caught() -> None:
    """Without a threshold, the label of a group betrays its only respondent."""
    wish = Wish(statistic(Kind.COUNT, PRIVATE, measure=None), Fraction(1))
    plan_ = planned([wish], ONE_ROW, allowed("1", "0.000001"))
    one, runs = plan_.statistics[0], 500
    assert one.selection is not None
    data, neighbour = people(*[A] * 5), {**people(*[A] * 5), "more": [OTHER]}
    for selection, is_caught in ((one.selection, False), (Selection(one.selection.scale, -(10**6)), True)):
        tried = replace(one, selection=selection)
        pair = pair_of(tried, ONE_ROW, neighbour, data)
        happened = [hits(plan_, tried, exact, lambda values: ("b",) in values, runs) for exact in pair]
        assert (loss_shown(*happened, runs) > 1) is is_caught


def test_a_threshold_for_one_group_is_caught_where_a_respondent_is_in_several() -> None:
    bound = BoundContributions(ADD, 10, 10)
    wish = Wish(statistic(Kind.COUNT, PRIVATE, measure=None), Fraction(1))
    plan_ = planned([wish], bound, allowed("10", "0.05"))
    one, runs = plan_.statistics[0], 2000
    assert one.selection is not None
    noise = LaplaceNoise(Fraction(one.selection.scale))
    too_low = Selection(one.selection.scale, threshold_for(noise, 1, Fraction(1, 20)))
    data = {"1": [Row(label, "x", None) for label in "abcdefghij"]}
    for selection, is_caught in ((one.selection, False), (too_low, True)):
        tried = replace(one, selection=selection)
        seen = hits(plan_, tried, aggregates(tried, data, bound), bool, runs)
        assert (share_within(seen, runs, FALSE_ALARM)[0] > 0.05) is is_caught
