"""What an audit may conclude of each kind of attack; and private training never fails because of its data.

Statistical tests draw from fixed seeds, and would fail for one seed in a million. About 4 s of CPU, most of
it to compile one training.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from model_worlds import AUDIT, most, permission, planned, private, training, untrained
from scipy import stats

from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training import examine
from smalti.engine.training.canaries import Canaries
from smalti.engine.training.examine import Examination, prepare
from smalti.engine.training.figures import AttackResult, Detail, Figure, verdict
from smalti.engine.training.identifiability import Identifiability
from smalti.engine.training.inversion import Inversion
from smalti.engine.training.judge import Judge
from smalti.engine.training.plan import Audit, FigureBound, TrainingPlan
from smalti.engine.training.records import TrainingRecords
from smalti.engine.training.training import Parts, target, trainer_of
from smalti.errors import DataError
from smalti.policy.model.model import Training
from smalti.transforms.attacks.model_inversion import Attribute
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.likelihood_ratio import OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import Classifier, TargetModel
from smalti.transforms.membership.planted_leak import MemorisingTrainer
from smalti.transforms.sensitivity import NeighboringRelation

BOUND = FigureBound("epsilonLowerBound", Decimal(2))
MILLIONTH = Fraction(1, 1_000_000)
HALVES = np.array([0.5, 0.5])
REPEATED = ("set-membership", "single-membership")
IDENTIFIABILITY = ("differential-identifiability",)


def test_equal_scores_hide_nothing() -> None:
    """No threshold parts what a model is entirely sure of; coins do."""
    members, others = (np.repeat([1.0, 0.0], [sure, 1000 - sure]) for sure in (900, 510))
    judge = Judge(Audit(("loss",), (BOUND,), Decimal("0.95"), 0), 1e-5, 0.975, 7)
    scores = Scores(members, others)
    assert judge.lower_bound(judge._bounds(scores, None)).value > 1  # the truth is 1.6
    (rate,) = [one for one in judge._rates(scores) if one.false_positive_rate == Decimal("0.01")]
    assert rate.value == pytest.approx(0.9 * 0.01 / 0.51)
    assert rate.limit is not None
    assert rate.limit > rate.value


def lower_bound(records: int, *bounds: FigureBound, is_perfect: bool) -> Figure:
    """Of so many members and as many others, all found or none."""
    other = np.zeros(records)
    scores = Scores(np.ones(records) if is_perfect else other.copy(), other)
    judge = Judge(Audit(("loss",), bounds, Decimal("0.95"), 16), 1e-5, 0.975, 7)
    return judge.lower_bound(judge._bounds(scores, None))


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


# --- Attacks on a model that knows nothing, and on one that memorises


def respondents(plan: TrainingPlan, count: int) -> TrainingRecords:
    """People of whom nothing follows: every category is as frequent, and no two are alike."""
    draw = np.random.default_rng(count)
    parts = [
        np.eye(one.size)[draw.integers(0, one.size, count)] if one.size > 1 else draw.random((count, 1))
        for one in plan.train.features
    ]
    return TrainingRecords(np.hstack(parts).astype(np.float32), draw.integers(0, plan.train.classes, count))


def prepared(
    attacks: Sequence[str],
    count: int,
    wanted: Training | None = None,
    bound: str = "0.95",
    error: Fraction = MILLIONTH,
) -> tuple[TrainingPlan, Examination]:
    duty = replace(AUDIT, attacks=tuple(attacks), attack_advantage=Decimal(bound))
    plan = planned(permission(wanted or training(), duty))
    return plan, prepare(plan, respondents(plan, count), error, trainer_of(plan), 5)


def judged(examined: Examination, model: Classifier) -> tuple[AttemptState, tuple[AttackResult, ...]]:
    found = examined.figures(model, 1, lambda phase: None)
    return verdict(found, examined.audit.bounds).state, found.results


def memorising(examined: Examination, share: float) -> Classifier:
    trainer = MemorisingTrainer(examined.training.classes, share)
    return TargetModel.trained(trainer, examined.training, examined.test).classifier


def value(result: AttackResult, figure: str) -> Figure:
    return next(one for one in result.figures if one.figure == figure)


def detail(result: AttackResult, name: str) -> Detail:
    return next(one for one in result.details if one.name.startswith(name))


def test_attacks_on_many_records_are_judged_as_their_types_are() -> None:
    """2,300 of 4,600 people: 22 attacks of each type on a hundred and a hundred."""
    plan, examined = prepared(REPEATED, 4600)
    examined.check()
    state, results = judged(examined, untrained(plan))
    assert state is AttemptState.MET
    for result in results:
        advantage, precision = (value(result, one) for one in ("attackAdvantage", "attackPrecision"))
        assert result.finds_leak
        assert result.leak_advantage > 0
        assert (result.area, result.curve, len(result.figures)) == (None, (), 2)
        assert result.members == result.non_members == 100 * detail(result, "attacks, each on").value
        assert advantage.value == pytest.approx(2 * precision.value - 1)
        assert advantage.limit == pytest.approx(2 * precision.limit - 1)
        assert advantage.value < advantage.limit < 1
        assert detail(result, "accuracy by the protocol of D5.2, over 10").value == pytest.approx(
            0.5, abs=0.2
        )
    sets, single = results
    assert detail(single, "its standard deviation").value < detail(sets, "its standard deviation").value
    state, (sets, single) = judged(examined, memorising(examined, 0.9))
    assert state is AttemptState.NOT_MET
    assert value(sets, "attackAdvantage").value == 1
    assert value(single, "attackAdvantage").value == pytest.approx(
        0.9 + 0.1 * 0.1 / 1.1 - 0.1 / 1.1, abs=0.1
    )


@pytest.mark.parametrize(("attack", "enough"), [("set-membership", 1300), ("single-membership", 460)])
def test_too_few_records_for_attacks_on_many_are_refused_before_any_model(attack: str, enough: int) -> None:
    for count, is_enough in ((enough, True), (enough - 300, False)):
        _, examined = prepared([attack], count, error=Fraction(1, 40))
        if is_enough:
            examined.check()
            continue
        with pytest.raises(DataError, match="the data is too little") as caught:
            examined.check()
        assert not any(digit in str(caught.value) for digit in "0123456789")


def test_an_attribute_is_guessed_of_members_alone_where_a_model_memorises() -> None:
    plan, examined = prepared(["model-inversion"], 1500)
    examined.check()
    state, (result,) = judged(examined, untrained(plan))
    assert (state, result.finds_leak) == (AttemptState.MET, True)
    assert abs(value(result, "attackAdvantage").value) < 0.1
    assert detail(result, "city: guessed rightly of others").value == pytest.approx(1 / 6, abs=0.05)
    assert detail(result, "city: its most frequent value").value == pytest.approx(1 / 6, abs=0.05)
    assert {one.name.split(":")[0] for one in result.details} == {"city"}
    _, strict = prepared(["model-inversion"], 1500, bound="0.3")
    state, (result,) = judged(strict, memorising(strict, 1.0))
    assert state is AttemptState.NOT_MET
    assert detail(result, "city: guessed rightly of members").value == 1
    assert value(result, "attackAdvantage").limit > value(result, "attackAdvantage").value > 0.75


def test_an_attribute_that_is_the_same_for_all_shows_nothing() -> None:
    """Then not even the planted leak is found, so nothing can be concluded."""
    plan, examined = prepared(["model-inversion"], 800)
    inversion = examined.inversion
    assert inversion is not None
    same = np.eye(6)[0]

    def alike(records: DataSet) -> DataSet:
        return replace(
            records, features=np.hstack([np.tile(same, (len(records), 1)), records.features[:, 6:]])
        )

    training_set, test = alike(examined.training), alike(examined.test)
    changed = replace(
        examined,
        training=training_set,
        test=test,
        inversion=replace(inversion, training=training_set, others=test),
    )
    state, (result,) = judged(changed, untrained(plan))
    assert (state, result.finds_leak) == (AttemptState.INCONCLUSIVE, False)


def test_the_attribute_that_is_told_most_of_counts_and_each_must_find_its_leak() -> None:
    """Of two attributes one is the same for all: nothing of it can be told, and nothing concluded."""
    _, examined = prepared(["model-inversion"], 800)
    inversion = examined.inversion
    assert inversion is not None
    sets = [
        replace(one, features=np.hstack([one.features, np.tile([1.0, 0.0], (len(one), 1))]))
        for one in (examined.training, examined.test)
    ]
    constant = Attribute.of_categories(
        (sets[0].features.shape[1] - 2, sets[0].features.shape[1] - 1), HALVES
    )
    both = Inversion((*inversion.attributes, ("constant", constant)), *sets)
    model = TargetModel.trained(MemorisingTrainer(2, 1.0), *sets).classifier
    found = both.result(model, model, 0.99)
    alone = replace(both, attributes=both.attributes[:1]).result(model, model, 0.99)
    assert alone.finds_leak
    assert not found.finds_leak
    assert found.figures == alone.figures
    assert found.leak_advantage < 0 < alone.leak_advantage
    assert detail(found, "constant: guessed rightly of members").value == 1


# --- One-run auditing


def test_the_power_of_an_attack_is_shown_on_a_network_that_is_overfitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nothing is found on the model, and decides nothing; where an attack reads only that."""
    plan, examined = prepared(["lira-online", "loss"], 400, error=Fraction(1, 40))
    monkeypatch.setattr(examine, "overfitted", lambda trainer, training: memorising(examined, 1.0))
    monkeypatch.setattr(examine, "has_diverged", lambda model: False)
    state, (compared, loss) = judged(examined, untrained(plan))
    rates = [one.false_positive_rate for one in loss.figures if one.figure == "truePositiveRate"]
    assert rates == [Decimal(one) for one in ("0.1", "0.01", "0.001", "0.0001")]
    control = detail(loss, "advantage on a network of this form")
    assert state is AttemptState.MET
    assert control.value == 1.0, "which recalls all"
    assert control.lower is not None
    assert control.upper is not None
    assert 0.7 < control.lower < control.upper == 1.0
    assert not [one for one in compared.details if "overfitted" in one.name]
    monkeypatch.setattr(examine, "has_diverged", lambda model: True)
    _, (_, loss) = judged(examined, untrained(plan))
    assert not [one for one in loss.details if "overfitted" in one.name]


def test_coins_give_the_bound_only_where_all_are_fair_and_all_are_asked() -> None:
    _, fair = prepared(["loss"], 400)
    _, unfair = prepared(["loss", "shokri"], 400)
    assert fair.canaries is not None
    assert unfair.canaries is None, "a fifth is trained on there"
    assert fair.canaries.suit(LossThreshold())
    assert not fair.canaries.suit(OnlineLikelihoodRatio()), "its shadow models know who is a member"
    assert len(fair.canaries.records) == 400


def test_both_bounds_of_the_loss_are_shown_and_the_greater_one_counts() -> None:
    plan, examined = prepared(["loss"], 400, error=Fraction(1, 40))
    _, (innocent,) = judged(examined, untrained(plan))
    _, (guilty,) = judged(examined, memorising(examined, 1.0))
    assert value(innocent, "epsilonLowerBound").value == 0
    ranks, run = (detail(guilty, f"epsilon is at least, {name}") for name in ("if scores", "whatever"))
    assert 2 < ranks.value < 3.5, "a perfect attack among 200 members and as many others"
    assert 2 < run.value < 3.5
    counted = value(guilty, "epsilonLowerBound")
    assert counted.value == counted.limit == max(ranks.value, run.value)
    assert counted.method == ("one-run" if run.value > ranks.value else "clopper-pearson")


@pytest.mark.slow
def test_the_bound_by_coins_keeps_its_confidence() -> None:
    """Of a training that says who took part with the odds e to 1; 200 of them, at a confidence of 0.9."""
    epsilon, count, wrong, draw = 1.0, 300, 0, np.random.default_rng(8)
    keeps = np.exp(epsilon) / (1 + np.exp(epsilon))
    for _ in range(200):
        included = draw.random(count) < 0.5
        told = np.where(draw.random(count) < keeps, included, ~included)
        records = DataSet("data", told[:, None].astype(float), np.ones(count, np.int64), 2)
        shown = Canaries(records, included).bound(LossThreshold(), Teller(), 0.0, 0.9).shown
        wrong += shown.epsilon > epsilon
    assert wrong <= stats.binom.ppf(1 - 1e-6, 200, 0.1)
    assert shown.epsilon > 0.3


class Teller:
    """A model that gives away the one feature that it sees."""

    def confidences(self, features: np.ndarray) -> np.ndarray:
        of_one = 0.5 + 0.4 * features[:, 0]
        return np.column_stack([1 - of_one, of_one])


def test_scores_of_respondents_with_equal_records_are_all_asked_for() -> None:
    """Leaving out a record because it is trained on, too, would look at the coins."""
    records = DataSet("data", np.ones((10, 1)), np.zeros(10, np.int64), 2)
    canaries = Canaries(records, np.arange(10) % 2 == 0)
    known = DataSet("others", np.zeros((1, 1)), np.zeros(1, np.int64), 2)
    model = TargetModel.trained(MemorisingTrainer(2), known, records).classifier
    found = canaries.bound(LossThreshold(), model, 0.0, 0.9)
    assert (found.shown.epsilon, str(found.shown.method)) == (0, "one-run")
    assert found.reach > 0


# --- The noise of training


def noisy(**others: str) -> Training:
    return private(**{word: most(value) for word, value in others.items()})


def test_the_noise_of_training_is_examined_and_a_training_with_hardly_any_is_found() -> None:
    """Two steps at a noise multiplier of 2, all records in each: mu is at most the root of one half."""
    plan, examined = prepared(IDENTIFIABILITY, 300, noisy(sampling_rate="1"), error=Fraction(1, 40))
    examined.check()
    state, (result,) = judged(examined, untrained(plan))
    assert state is AttemptState.MET
    assert result.finds_leak
    assert result.leak_advantage > 0.8
    assert result.members + result.non_members == 400
    advantage, epsilon = result.figures
    assert advantage.value < 0.6
    assert advantage.limit < 0.7
    assert epsilon.method in ("gaussian", "clopper-pearson")
    assert plan.train.loss is not None
    assert epsilon.limit <= float(plan.train.loss.epsilon)
    above = detail(result, "share of beliefs above")
    assert above.lower <= float(plan.train.loss.delta)
    largest, quantile, distance, of_advantage = (
        detail(result, f"empirical epsilon, {name}")
        for name in ("of the largest", "exceeded", "of the d", "of the a")
    )
    assert "no lower bound" in largest.name
    assert (largest.lower, largest.upper, distance.lower) == (None, None, None)
    assert quantile.upper is None, "400 trainings are too few for a delta of .001"
    assert distance.value <= float(plan.train.loss.epsilon)
    assert of_advantage.lower <= of_advantage.value <= of_advantage.upper


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", list(NeighboringRelation))
def test_with_sampling_no_bound_takes_the_noise_for_gaussian(neighbors: NeighboringRelation) -> None:
    wanted = replace(noisy(), neighbors=str(neighbors))
    _, examined = prepared(IDENTIFIABILITY, 300, wanted, error=Fraction(1, 40))
    _, (result,) = judged(examined, untrained(planned(permission(wanted))))
    assert value(result, "epsilonLowerBound").method == "clopper-pearson"
    assert result.finds_leak
    assert not [one for one in result.details if "of the advantage" in one.name]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_nobody_has_no_neighbours(count: int) -> None:
    """Whoever asks for a private model is not told: its run ends as one that did not pass."""
    _, examined = prepared(IDENTIFIABILITY, count, noisy())
    with pytest.raises(DataError, match="the data is too little"):
        examined.check()


def test_the_record_in_question_is_the_one_that_is_most_unlike_the_others() -> None:
    plan, examined = prepared(IDENTIFIABILITY, 60, noisy())
    found = examined.identifiability
    assert isinstance(found, Identifiability)
    odd = replace(found.training, features=found.training.features.copy())
    odd.features[3, -1] = 7
    pair = replace(found, training=odd)._pair()
    assert pair.first_only.features[0, -1] == 7
    assert pair.second_only is None
    assert len(pair.shared.labels) == len(odd) - 1
    assert not (pair.shared.features[:, -1] == 7).any()
    changed = replace(found, training=odd, relation=NeighboringRelation.CHANGE_ONE)._pair()
    assert changed.second_only is not None
    assert changed.first_only.features[0, -1] == 7
    assert any((changed.second_only.features[0] == one).all() for one in found.others.features)
    assert plan.train.private is not None
