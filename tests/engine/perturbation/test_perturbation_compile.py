"""From a permission to a plan of a perturbation: shares of epsilon, domains, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from perturbed_worlds import (
    CITIES,
    DESCRIPTION,
    HERE,
    ONE_ROW_EACH,
    Row,
    column,
    described,
    permission,
    reported,
    row,
)

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.perturbation.mechanisms import loss_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedCategory, PerturbedNumber
from smalti.engine.perturbation.shares import shares_of
from smalti.engine.plan.losses import LOCAL_NEIGHBORS as NEIGHBORS
from smalti.engine.plan.plan import OneRowEach, RespondentColumn
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.run.explain import to_json, to_text
from smalti.engine.tables.description import Description
from smalti.errors import ProblemsError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Named,
    Number,
    Operator,
    Permission,
    Text,
)
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab import terms
from smalti.vocab.terms import IRI

ALL = ("sex", "city", "age", "spend")
CANARY = "wombat-918273645"
ROWS = [row(who="1", sex=CANARY, city=CANARY, age=CANARY, spend=CANARY, note=CANARY)]


def compiled(
    asked: Permission,
    description: Description = DESCRIPTION,
    rows: list[Row] | None = None,
    **circumstances: Any,
) -> PerturbationPlan:
    table = rows if rows is not None else ROWS
    return reported(LocalBackend(), table, asked, description, Circumstances(**circumstances))[0]


def problems(*arguments: Any, **others: Any) -> list[str]:
    """What stands against a plan; none of it holds a value."""
    with pytest.raises(SmaltiError) as caught:
        compiled(*arguments, **others)
    assert CANARY not in str(caught.value)
    found = caught.value.problems if isinstance(caught.value, ProblemsError) else (caught.value,)
    assert all(one.where and one.expected for one in found)
    return [one.problem for one in found]


# --- Epsilon


@settings(max_examples=examples(100))
@given(st.decimals("1e-6", 400, allow_nan=False, places=7).filter(bool), st.integers(1, 40))
@example(Decimal(1), 3)
@example(Decimal("0.1"), 1)
def test_shares_are_equal_and_add_up_to_epsilon_at_most(epsilon: Decimal, columns: int) -> None:
    shares = shares_of(epsilon, columns)
    assert len(set(shares)) == 1
    total = sum(map(Fraction, shares), Fraction(0))
    assert Fraction(epsilon) * (1 - Fraction(1, 10**11)) < total <= Fraction(epsilon)


@settings(max_examples=examples(8), deadline=None)
@given(
    st.decimals("0.00001", 60, allow_nan=False, places=5).filter(bool),
    st.sets(st.sampled_from(ALL), min_size=1),
)
@example(Decimal("0.3"), set(ALL))
@example(Decimal("1.0986122886681098"), {"sex"})
def test_no_column_loses_more_than_its_share_nor_all_of_them_more_than_epsilon(
    epsilon: Decimal, columns: set[str]
) -> None:
    plan = compiled(permission(*columns, epsilon=str(epsilon)))
    losses = [loss_of(one) for one in plan.perturbed]
    for one, loss in zip(plan.perturbed, losses, strict=True):
        assert Fraction(one.epsilon) * (1 - Fraction(1, 10**6)) < loss.pure <= Fraction(one.epsilon)
        assert not loss.mu_squared
    total = sum((loss.pure for loss in losses), Fraction(0))
    assert total <= sum(Fraction(one.epsilon) for one in plan.perturbed) <= Fraction(epsilon)
    assert Fraction(plan.loss.pure) == total
    assert plan.loss.epsilon == epsilon
    assert plan.loss.delta == 0
    belief = 1 / (1 + pow(2.718281828459045, -float(total)))
    assert plan.loss.belief == pytest.approx(belief, rel=1e-6)


def test_two_coins_are_the_binary_case_at_the_logarithm_of_three() -> None:
    (sex,) = compiled(permission("sex", epsilon="1.0986122886681098")).perturbed
    assert isinstance(sex, PerturbedCategory)
    assert float(Fraction(sex.changed)) == pytest.approx(1 / 4, rel=1e-9)


# --- Columns


def test_columns_are_in_the_order_of_the_file_and_all_others_are_dropped() -> None:
    plan = compiled(permission("spend", "sex", "age"))
    assert plan.select.kept == ("sex", "age", "spend")
    assert plan.select.dropped == ("who", "city", "note")
    assert [one.column for one in plan.perturbed] == ["sex", "age", "spend"]
    assert [one.name for one in plan.read.columns] == ["who", "sex", "age", "spend"]
    assert plan.read.respondent == RespondentColumn("who")


def test_a_missing_value_is_a_category_unless_a_value_is_required() -> None:
    sex, city = compiled(permission("sex", "city")).perturbed
    assert isinstance(sex, PerturbedCategory)
    assert isinstance(city, PerturbedCategory)
    assert sex.domain == ("f", "m")
    assert city.domain == (None, *CITIES)


def test_numbers_have_the_unit_of_the_description_and_whole_numbers_one() -> None:
    age, spend = compiled(permission("age", "spend", epsilon="2")).perturbed
    assert isinstance(age, PerturbedNumber)
    assert isinstance(spend, PerturbedNumber)
    assert (age.unit, age.scale) == (1, 100.0)
    assert (spend.unit, spend.scale) == (Decimal("0.1"), 35.0)


def test_a_column_with_both_has_the_mechanism_that_is_allowed() -> None:
    both = described("age", values=("1", "2"), lower=Decimal(0), upper=Decimal(4), unit=Decimal(1))
    description = replace(DESCRIPTION, columns=(both, *DESCRIPTION.columns[:1]))
    for mechanisms, kind in (
        ((), PerturbedCategory),
        (("laplace",), PerturbedNumber),
        (("randomized-response", "gaussian"), PerturbedCategory),
    ):
        (found,) = compiled(permission("age", mechanisms=mechanisms), description).perturbed
        assert isinstance(found, kind)


texts = st.sampled_from(("", "f", "1", "1.5", "NaN", "Rome", CANARY, "1e999", "2024-01-01"))


@settings(max_examples=examples(8), deadline=None)
@given(st.lists(st.tuples(*[texts] * 6), max_size=6))
def test_no_value_of_the_data_changes_the_plan(rows: list[Row]) -> None:
    expected = compiled(permission(*ALL))
    found = compiled(permission(*ALL), rows=rows)
    assert found == expected
    assert plan_digest(found) == plan_digest(expected)


# --- What a run asks for


def fact(operand: IRI, *values: Any) -> Fact:
    return Fact(operand, values)


def test_a_run_may_ask_for_less() -> None:
    asks = (
        fact(terms.EPSILON, Number(Decimal("0.5"))),
        fact(terms.MEASURE, Named(column("age").iri)),
    )
    plan = compiled(permission(*ALL), asks=asks)
    assert plan.loss.epsilon == Decimal("0.5")
    assert plan.select.kept == ("age",)


@pytest.mark.parametrize(
    "asks",
    [
        (fact(terms.EPSILON, Number(Decimal("1.1"))),),
        (fact(terms.MEASURE, Named(column("note").iri)),),
        (fact(terms.MECHANISM, Text("laplace")),),
        (fact(terms.DELTA, Number(Decimal("0.1"))),),
        (fact(terms.K, Number(Decimal(2))),),
        (fact(terms.MEASURE, Named(column("age").iri)), fact(terms.MEASURE, Named(column("sex").iri))),
    ],
    ids=["epsilon", "column", "mechanism", "delta", "k", "twice"],
)
def test_a_run_may_not_ask_for_more_or_for_something_else(asks: tuple[Fact, ...]) -> None:
    asked = permission("sex", "age", mechanisms=("randomized-response", "exponential"))
    assert problems(asked, asks=asks)


# --- What is refused


def derived(**others: Any) -> Description:
    return replace(
        DESCRIPTION, columns=tuple(replace(one, is_derived=True) for one in DESCRIPTION.columns), **others
    )


def without(name: str, **changes: Any) -> Description:
    return replace(
        DESCRIPTION,
        columns=tuple(replace(one, **changes) if one.name == name else one for one in DESCRIPTION.columns),
    )


REFUSED: dict[str, Callable[[], tuple[list[str], str]]] = {
    "no measure": lambda: (problems(permission()), "the policy names no column"),
    "unknown column": lambda: (problems(permission("shoe")), "has no column"),
    "no domain": lambda: (problems(permission("note")), "has no public description"),
    "no unit": lambda: (
        problems(permission("spend"), without("spend", unit=None)),
        "the unit of the column",
    ),
    "unit that does not divide": lambda: (
        problems(permission("spend"), without("spend", unit=Decimal("0.4"))),
        "not a whole number of units",
    ),
    "bounds too far apart": lambda: (
        problems(permission("age"), without("age", upper=Decimal(10) ** 30)),
        "not a whole number of units apart, or too many",
    ),
    "values of the data": lambda: (
        problems(permission("city"), derived()),
        "is marked as taken from the data",
    ),
    "bounds of the data": lambda: (
        problems(permission("age"), derived()),
        "is marked as taken from the data",
    ),
    "one value": lambda: (problems(permission("sex"), without("sex", values=("f",))), "one public value"),
    "respondent": lambda: (
        problems(permission("who"), without("who", values=("1", "2"))),
        "identifies respondents",
    ),
    "nobody declared": lambda: (
        problems(permission("sex"), replace(DESCRIPTION, respondent=None)),
        "no respondent is declared, and",
    ),
    "mechanism of statistics": lambda: (
        problems(permission("sex", mechanisms=("exponential",))),
        "`exponential` is not implemented for records",
    ),
    "pixelation without its words": lambda: (
        problems(permission("sex", mechanisms=("pixelation",))),
        "`smalti:pixelNeighborhood` is not stated",
    ),
    "mechanism without bounds": lambda: (
        problems(permission("note", mechanisms=("laplace",))),
        "`laplace` can use",
    ),
    "another mechanism than the policy's": lambda: (
        problems(permission("age", mechanisms=("randomized-response",))),
        "suits `gaussian` or `laplace`, which the policy does not allow",
    ),
    "images without pixelation": lambda: (
        problems(permission("note"), without("note", image_size=(2, 2))),
        "suits `pixelation`, which the policy does not allow",
    ),
    "released": lambda: (problems(permission("sex", released=(column("note"),))), "`smalti:released`"),
    "sensitive": lambda: (problems(permission("sex", sensitive=(column("note"),))), "mosaicrown:sensitive"),
    "quasi-identifier": lambda: (
        problems(permission("sex", quasi_identifiers=(column("note"),))),
        "mosaicrown:quasi-identifier",
    ),
    "dropped and published": lambda: (
        problems(permission("sex", identifiers=(column("sex"),))),
        "is dropped",
    ),
    "algorithm": lambda: (problems(permission("sex", algorithm="mondrian")), "an algorithm is named"),
    "statistic": lambda: (
        problems(
            permission(
                "sex", more=(Comparison(terms.STATISTIC, Operator.IS_ANY_OF, (Text("count"),), where=HERE),)
            )
        ),
        "`smalti:statistic` has no meaning",
    ),
    "limit to rows": lambda: (limited(), "limited to rows"),
    "epsilon too small": lambda: (problems(permission("sex", epsilon="1e-10")), "out of range"),
    "epsilon too large": lambda: (problems(permission("sex", epsilon="501")), "out of range"),
    "output without its respondents": lambda: (
        problems(permission("sex"), inherited=RespondentColumn("who")),
        "can no longer be counted",
    ),
}


def limited() -> list[str]:
    limit = ColumnComparison(column("note"), Operator.EQ, (Text("x"),), where=HERE)
    with pytest.raises(SmaltiError) as caught:
        reported(LocalBackend(), ROWS, permission("sex"), circumstances=Circumstances(rows=(limit,)))
    return [caught.value.problem]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_its_reason(name: str) -> None:
    found, expected = REFUSED[name]()
    assert [one for one in found if expected in one], found


def test_all_problems_are_told_at_once() -> None:
    found = problems(permission("note", "spend", "shoe"), without("spend", unit=None))
    assert len(found) == 3


def test_a_respondent_is_inherited() -> None:
    plan = compiled(permission("sex"), replace(DESCRIPTION, respondent=None), inherited=OneRowEach(True))
    assert plan.read.respondent == OneRowEach(True)


# --- As text


def test_a_plan_is_read_again_as_it_was_written() -> None:
    for description in (DESCRIPTION, ONE_ROW_EACH):
        plan = compiled(permission(*ALL, epsilon="0.7"), description)
        assert plan_from_json(plan_to_json(plan)) == plan
        assert plan_digest(plan) in to_text(plan)
        assert '"mechanism": "laplace"' in to_json(plan)


def test_the_explanation_names_what_is_dropped_and_what_is_public() -> None:
    text = to_text(compiled(permission("sex", "city", "age")))
    assert "column note will be dropped" in text
    assert "the number of rows is published" in text
    assert "missing and other values become `f`" in " ".join(text.split())


def test_neighbours_replace_each_other() -> None:
    assert NEIGHBORS is NeighboringRelation.CHANGE_ONE
