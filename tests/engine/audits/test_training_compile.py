"""From a permission to a plan of a training: features, classes, the audit, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from model_worlds import AUDIT, MODEL, most, permission, planned, private, recorded, training
from perturbed_worlds import CITIES, DESCRIPTION, HERE, ONE_ROW_EACH, column, described, row
from tables import TARGET

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.plan.plan import OneRowEach, RespondentColumn
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.run.explain import to_json, to_text
from smalti.engine.tables.description import Description
from smalti.engine.training.attacks import FAMILIES, WITH_SHADOWS
from smalti.engine.training.explain import to_lines
from smalti.engine.training.guarantee import describe, guarantee_of
from smalti.engine.training.plan import CategoryFeature, FigureBound, NumberFeature, TrainingPlan
from smalti.errors import ProblemsError, SmaltiError
from smalti.policy.model.model import Audit, Bound, ColumnComparison, Number, Operator, Permission, Training
from smalti.transforms.base import Datatype
from smalti.transforms.membership import registry
from smalti.vocab.words import ATTACKS

CANARY = "wombat-918273645"
ROWS = [row(who="1", sex=CANARY, city=CANARY, age=CANARY, spend=CANARY, note=CANARY)]


def with_column(name: str, **others: Any) -> Description:
    """The description, with something else about one column."""
    columns = tuple(replace(one, **others) if one.name == name else one for one in DESCRIPTION.columns)
    return replace(DESCRIPTION, columns=columns)


def problems(
    given: Permission, description: Description = DESCRIPTION, circumstances: Circumstances | None = None
) -> list[str]:
    """What stands against a plan; none of it holds a value."""
    with pytest.raises(SmaltiError) as caught:
        recorded(LocalBackend(), ROWS, given, description, circumstances)
    assert CANARY not in str(caught.value)
    found = caught.value.problems if isinstance(caught.value, ProblemsError) else (caught.value,)
    assert all(one.where and one.expected for one in found)
    return [one.problem for one in found]


# --- What the model sees


def test_columns_become_categories_and_numbers_in_the_order_of_the_file() -> None:
    plan = planned(permission(training(), AUDIT))
    assert plan.train.features == (
        CategoryFeature("city", CITIES, has_missing=True),
        NumberFeature("age", Decimal(0), Decimal(100), Decimal(1)),
        NumberFeature("spend", Decimal(-1), Decimal("2.5"), Decimal("0.1")),
    )
    assert plan.train.label == CategoryFeature("sex", ("f", "m"), has_missing=False)
    assert (plan.train.width, plan.train.classes) == (8, 2)
    assert plan.read.respondent == RespondentColumn("who")
    assert plan.select.dropped == ("who", "note")
    assert (plan.train.private, plan.train.loss) == (None, None)
    assert plan.train.epochs == 2
    assert plan.write.output == MODEL


def test_the_recipe_says_what_the_policy_leaves_open() -> None:
    plan = planned(permission(training(epochs=None), AUDIT))
    assert plan.train.epochs == 10


def test_each_row_may_be_a_respondent() -> None:
    plan = planned(permission(training(identifiers=(column("who"), column("note"))), AUDIT), ONE_ROW_EACH)
    assert plan.read.respondent == OneRowEach(is_declared=True)


def test_the_strictest_of_several_duties_counts() -> None:
    one = Audit(attacks=("rmia", "loss"), attack_advantage=Decimal("0.3"), where=HERE)
    other = Audit(
        attacks=("loss", "lira-online"),
        attack_advantage=Decimal("0.2"),
        true_positive_rate=Decimal("0.1"),
        false_positive_rate=Decimal("0.01"),
        confidence=Decimal("0.99"),
        where=HERE,
    )
    for order in ((one, other), (other, one)):
        audit = planned(permission(training(), *order)).audit
        assert audit is not None
        assert audit.attacks == ("lira-online", "loss", "rmia")
        assert audit.confidence == Decimal("0.99")
        assert audit.bounds == (
            FigureBound("attackAdvantage", Decimal("0.2")),
            FigureBound("truePositiveRate", Decimal("0.1"), Decimal("0.01")),
        )


@pytest.mark.parametrize(("attacks", "part"), [(("loss", "rmia"), "1/2"), (("loss", "shokri"), "1/5")])
def test_an_attack_with_disjoint_shadow_models_leaves_room_for_their_data(
    attacks: tuple[str, ...], part: str
) -> None:
    assert planned(permission(training(), replace(AUDIT, attacks=attacks))).train.part == part


@pytest.mark.parametrize("attack", ["loss", "set-membership", "model-inversion", "lira-offline", "shokri"])
def test_shadow_models_are_told_of_only_where_an_attack_asks_them(attack: str) -> None:
    plan = planned(permission(training(), replace(AUDIT, attacks=(attack,))))
    asks = attack in registry.ATTACKS and bool(registry.ATTACKS[attack].attack.needs)
    assert asks == (attack in WITH_SHADOWS)
    assert plan.audit is not None
    assert plan.audit.shadows == (16 if asks else 0)
    assert ("shadow model" in describe(guarantee_of(plan))) == asks
    assert ("shadow model" in to_text(plan)) == asks


def test_private_training_is_charged_and_needs_no_audit() -> None:
    plan = planned(permission(private()))
    assert plan.audit is None
    assert plan.train.private is not None
    assert plan.train.private.steps == 4
    assert plan.train.loss is not None
    assert plan.train.loss.delta == Decimal("0.001")


# --- What is refused


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (training(recipe="wombat"), "no recipe `wombat` is installed"),
        (training(label_column=column("nothing")), "nothing"),
        (training(identifiers=(column("nothing"),)), "nothing"),
        (training(label_column=column("note"), identifiers=()), "the column `note` has no public classes"),
        (training(label_column=column("age")), "the column `age` has no public classes"),
        (training(identifiers=()), "the column `note` has no public values"),
        (
            training(identifiers=tuple(column(name) for name in ("city", "age", "spend", "note"))),
            "no column is left to learn from",
        ),
        (private(rows_per_respondent=Bound(Operator.LTEQ, 2, HERE)), "training uses one"),
        (private(delta=most("2")), "delta is out of range"),
        (private(noise_multiplier=most("0.1")), "no noise that can be accounted for"),
    ],
)
def test_what_cannot_be_trained_is_refused(wanted: Any, said: str) -> None:
    assert any(said in one for one in problems(permission(wanted, AUDIT)))


def test_without_noise_and_audit_nothing_would_be_promised() -> None:
    assert any("nothing is promised" in one for one in problems(permission(training())))


def test_every_attack_of_the_vocabulary_can_be_tried() -> None:
    assert set(FAMILIES) == set(ATTACKS)
    plan = planned(permission(private(), replace(AUDIT, attacks=tuple(ATTACKS))))
    assert plan.audit is not None
    assert set(plan.audit.attacks) == set(ATTACKS)
    assert plan.train.part == "1/5"


@pytest.mark.parametrize("trained", [training, private])
@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"confidence": Decimal("0.9999999999999999")}, "no limit can be computed for the confidence"),
        ({"confidence": Decimal("0.9999991")}, "no limit can be computed for the confidence"),
        ({"attack_advantage": Decimal(0)}, "a guess exceeds `smalti:attackAdvantage` at most 0"),
        ({"attack_precision": Decimal("0.4")}, "a guess exceeds `smalti:attackPrecision` at most 0.4"),
        (
            {"true_positive_rate": Decimal("1e-30"), "false_positive_rate": Decimal("0.1")},
            "a guess exceeds `smalti:truePositiveRate` at most 1E-30 at a false positive rate of 0.1",
        ),
    ],
)
def test_a_duty_that_no_model_could_meet_is_refused(
    trained: Callable[[], Training], bounds: dict[str, Decimal], said: str
) -> None:
    found = problems(permission(trained(), AUDIT, replace(AUDIT, **bounds)))
    assert [said in one for one in found] == [True]


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"epsilon_lower_bound": Decimal(5)}, "no attack could exceed it"),
        ({"epsilon_lower_bound": Decimal(3)}, None),
        ({"attack_advantage": Decimal("0.1")}, "half of all guesses exceed it"),
        ({"attack_advantage": Decimal("0.2")}, None),
    ],
)
def test_what_repeated_trainings_cannot_decide_is_refused(
    bounds: dict[str, Decimal], said: str | None
) -> None:
    attacks = ("differential-identifiability",)
    duty = replace(AUDIT, attacks=attacks, **{"attack_advantage": Decimal("0.3"), **bounds})
    if said is None:
        assert planned(permission(private(), duty)).audit is not None
    else:
        (found,) = problems(permission(private(), duty))
        assert said in found


def test_the_highest_confidence_is_planned() -> None:
    plan = planned(permission(training(), replace(AUDIT, confidence=Decimal("0.999999"))))
    assert to_lines(plan)


@pytest.mark.parametrize(
    ("attacks", "bounds", "said"),
    [
        (
            ("loss", "model-inversion"),
            {"attack_precision": Decimal("0.6")},
            "the attack `model-inversion` has none of the figures that the duty bounds",
        ),
        (
            ("set-membership",),
            {"epsilon_lower_bound": Decimal(2)},
            "the attack `set-membership` has none of the figures that the duty bounds",
        ),
        (
            ("set-membership", "single-membership"),
            {"attack_advantage": Decimal("0.5"), "epsilon_lower_bound": Decimal(2)},
            "no attack of the duty has the figure `smalti:epsilonLowerBound`",
        ),
    ],
)
def test_a_duty_that_decides_nothing_by_an_attack_is_refused(
    attacks: tuple[str, ...], bounds: dict[str, Decimal], said: str
) -> None:
    duty = Audit(attacks=attacks, **bounds, where=HERE)
    assert any(said in one for one in problems(permission(private(), duty)))


def test_the_noise_of_training_is_examined_only_where_there_is_some() -> None:
    duty = replace(AUDIT, attacks=("differential-identifiability",))
    assert any("tests the noise of training" in one for one in problems(permission(training(), duty)))
    assert planned(permission(private(), duty)).audit is not None


@pytest.mark.parametrize("rate", ["0.005", pytest.param("0.0005", marks=pytest.mark.slow)])
def test_trainings_that_take_too_long_are_not_repeated(rate: str) -> None:
    wanted = private(sampling_rate=most(rate), recipe="mlp-256-256" if rate == "0.005" else "mlp-128")
    duty = replace(AUDIT, attacks=("differential-identifiability", "loss"))
    assert any("which takes too many steps for that" in one for one in problems(permission(wanted, duty)))
    assert planned(permission(wanted, AUDIT)).audit is not None


def test_guessing_categories_takes_some() -> None:
    duty = replace(AUDIT, attacks=("model-inversion",))
    wanted = training(identifiers=(column("note"), column("city")))
    assert any("the model has none as a feature" in one for one in problems(permission(wanted, duty)))


def test_a_plan_says_what_is_repeated() -> None:
    told = " ".join(
        text
        for label, text in to_lines(planned(permission(private(), replace(AUDIT, attacks=tuple(ATTACKS)))))
        if label in ("audit", "promise", "not covered")
    )
    for text in (
        "set-membership: by attacks on 100 members and 100 others each, from about 3000 respondents on",
        "single-membership: by attacks on 100 members and 100 others each, from about 1000 respondents on",
        "model-inversion: each of city, guessed from the rest of a record and its class",
        "400 trainings of 4 steps on up to 100 records, with and without one more",
        "for differential-identifiability, trainings with hardly any noise",
        "sets of other sizes",
        "other neighbouring data sets",
        "what the model tells about an attribute of anybody",
    ):
        assert text in told, text


@pytest.mark.parametrize(
    ("description", "said"),
    [
        (with_column("sex", values=("f",)), "the column `sex` has no public classes"),
        (with_column("sex", is_derived=True), "taken from the data"),
        (with_column("city", is_derived=True), "taken from the data"),
        (with_column("city", values=()), "the column `city` has no public values"),
        (with_column("age", upper=None), "the column `age` has no public values"),
        (with_column("age", datatype=Datatype.DATE), "the column `age` has no public values"),
        (with_column("spend", unit=Decimal("0.3")), "not a whole number of units apart"),
        (with_column("spend", unit=Decimal(0)), "not a whole number of units apart"),
        (with_column("city", values=tuple(map(str, range(70_000)))), "too many public values together"),
        (replace(DESCRIPTION, respondent=None), "no respondent is declared, and"),
    ],
)
def test_what_is_not_public_is_refused(description: Description, said: str) -> None:
    assert any(said in one for one in problems(permission(training(), AUDIT), description))


@pytest.mark.parametrize(
    ("bounds", "unit"),
    [
        ({"datatype": Datatype.DECIMAL}, "0.00035"),
        ({"datatype": None}, "0.00035"),
        ({"datatype": Datatype.INTEGER, "upper": Decimal(3)}, "1"),
        ({"datatype": Datatype.INTEGER}, "0.00035"),
    ],
)
def test_numbers_within_bounds_are_counted_as_in_a_release(bounds: dict[str, Any], unit: str) -> None:
    plan = planned(permission(training(), AUDIT), with_column("spend", unit=None, **bounds))
    (spend,) = [one for one in plan.train.features if one.column == "spend"]
    assert isinstance(spend, NumberFeature)
    assert spend.unit == Decimal(unit)


LIMITED = Circumstances(rows=(ColumnComparison(column("age"), Operator.GT, (Number(Decimal(3)),)),))
CHAINED = Circumstances(inherited=RespondentColumn("who"))


@pytest.mark.parametrize(
    ("circumstances", "said"), [(LIMITED, "limited to rows"), (CHAINED, "it is itself an output")]
)
def test_circumstances_that_training_has_no_answer_to_are_refused(
    circumstances: Circumstances, said: str
) -> None:
    found = problems(permission(training(), AUDIT), DESCRIPTION, circumstances)
    assert any(said in one for one in found)


def test_of_an_output_nothing_else_is_asked() -> None:
    """Least of all what is public of its columns: no description would help."""
    (found,) = problems(permission(training(), AUDIT), with_column("sex", values=()), CHAINED)
    assert "trains on original data only" in found


def test_all_problems_are_told_at_once() -> None:
    asked = training(recipe="wombat", identifiers=())
    assert len(problems(permission(asked), with_column("sex", values=()))) == 4


# --- The plan itself


PLANS: list[Callable[[], TrainingPlan]] = [
    lambda: planned(permission(training(), AUDIT)),
    lambda: planned(permission(private())),
    lambda: planned(permission(private(sampling_rate=most("1")), AUDIT), ONE_ROW_EACH_WITHOUT),
    lambda: planned(
        permission(
            training(),
            replace(AUDIT, true_positive_rate=Decimal("0.1"), false_positive_rate=Decimal("0.010")),
        )
    ),
]
ONE_ROW_EACH_WITHOUT = replace(
    ONE_ROW_EACH,
    columns=tuple(
        described("who", Datatype.INTEGER, lower=Decimal(0), upper=Decimal(9)) if one.name == "who" else one
        for one in ONE_ROW_EACH.columns
    ),
)


@pytest.mark.parametrize("made", PLANS)
def test_a_plan_is_read_back_as_it_was(made: Callable[[], TrainingPlan]) -> None:
    plan = made()
    again = plan_from_json(plan_to_json(plan))
    assert again == plan
    assert plan_digest(again) == plan_digest(plan)
    assert to_text(again) == to_text(plan)
    assert to_json(again) == to_json(plan)


def test_plans_that_differ_have_other_digests() -> None:
    assert len({plan_digest(made()) for made in PLANS}) == len(PLANS)


def test_a_plan_depends_on_no_value() -> None:
    asked = permission(private(), AUDIT)
    plan, records = recorded(LocalBackend(), ROWS, asked)
    assert len(records) == 1
    assert plan == planned(asked)
    assert CANARY not in plan_to_json(plan)
    assert CANARY not in to_text(plan)


EXPLAINED = [
    "read http://example.com/people",
    "respondent rows with the same who are about one person, of whom the first row in the file takes part;"
    " rows without one, and of those who withdrew, are left out",
    "column city: one of 5 public values, or missing; other values count as missing",
    "column age: clamped to 0..100, and scaled to 0..1; missing values and non-numbers become the middle",
    "column spend: clamped to -1..2.5, and scaled to 0..1; missing values and non-numbers become the"
    " middle",
    "column sex: predicted: one of 2 public classes",
    "train the recipe softmax-regression (no layer before the softmax; adam with a learning rate of 0.01"
    " and batches of 100), 2 epochs, on a random part of the respondents (each with probability 1/2); the"
    " others are held out",
    "audit loss on this model and on one that memorises",
    "audit attackAdvantage at most 0.3 requires at least about 196 respondents; with about 446, a guess"
    " stays within it in nine of ten trainings or more, at the first attempt",
    "audit attackAdvantage at most 0.3, at a confidence of 0.95 over all attempts",
    "promise audited: the attack loss was tried; it found a leak that was planted in another model (half of"
    " its records memorised), and on this one stayed within attackAdvantage 0.3, with a confidence of 0.95"
    " over all attempts",
    "write http://example.com/model, safetensors",
    "warning column note will be dropped: the policy says so",
    "warning the model is trained without noise, and may reveal its training data",
    "not covered learning what holds for the respondents as a whole, and what follows from it for each of"
    " them",
    "not covered attacks on the model that were not tried, stronger ones among them",
    "not covered the average over records hides some: single records may be found more easily than most",
    "not covered whether an audit was passed depends on the data, and is outside of every epsilon",
    "not covered scores of records that depend on one another, which the limits take for independent",
    "not covered anything by a proof: the model was trained without noise",
]


def test_a_plan_in_words() -> None:
    plan = planned(permission(training(), AUDIT))
    assert plan.read.target == TARGET
    digest, *lines = to_lines(plan)
    assert digest == ("plan", plan_digest(plan))
    assert [" ".join(line) for line in lines] == EXPLAINED


def test_a_private_plan_in_words() -> None:
    plan = planned(permission(private(), AUDIT))
    lines = to_lines(plan)
    told = dict(lines)
    assert told["train"].endswith(
        "; gradients clipped to 1, with noise of 2 times that on their sum, in 4 steps that sample each"
        " record with probability 0.5 (add-or-remove-one)"
    )
    assert plan.train.loss is not None
    assert told["  epsilon"] == format(plan.train.loss.epsilon, "f")
    assert not any("without noise" in text for _, text in lines)
