"""From permission, query and description to a release plan: what is refused, and that no value tells."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from release_policies import (
    AGE,
    HEADER,
    OUTPUT,
    ROWS,
    SEX,
    STATISTICS,
    TARGET,
    described,
    permission,
    planned,
    problems,
    query,
)

from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.plan.plan import OneRowEach, OutputFormat, RespondentColumn, RowComparison
from smalti.engine.plan.reads import BoundContributions, Key, Measure, Mechanism
from smalti.engine.releases.compile import columns_to_stage
from smalti.engine.releases.plan import ReleasePlan, StatisticKind
from smalti.engine.releases.public_domains import MOST_CANDIDATES
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.tables.withdrawn import Withdrawn, stored_digests
from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Day,
    Logical,
    LogicalOperator,
    Number,
    Operator,
    Text,
    Value,
)
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import EPSILON, IRI, K_ANONYMITY

DELTA = {"delta": ("lteq", 0.0001)}
COUNT = {"statistic": "count"}


def column(name: str, datatype: Datatype | None = None, **more: Any) -> ColumnDescription:
    return ColumnDescription(name, None, datatype, None, **more)


def only(plan: ReleasePlan) -> Any:
    (one,) = plan.statistics
    return one


def refused(folder: Path, *statistics: dict[str, Any], changes: Any = None, **more: Any) -> list[str]:
    """What is told of a query that is refused, each problem by itself."""
    loss = {key: more.pop(key) for key in ("epsilon", "delta", "posteriorBelief") if key in more}
    with pytest.raises(SmaltiError) as caught:
        planned(folder, query(*statistics, **loss), allowed=permission(changes), **more)
    found = problems(caught.value)
    assert all(isinstance(one, PlanError) for one in found), found
    assert all(one.expected for one in found)
    return [str(one) for one in found]


# --- What a plan says


def test_a_plan_has_everything_that_a_result_depends_on(tmp_path: Path) -> None:
    asked = query(
        {**COUNT, "groupBy": [SEX]},
        {"statistic": "mean", **AGE, "share": 2},
        {"statistic": "sum", **AGE},
        {"statistic": "variance", "measure": "age", "lower": -1.5, "upper": 2, "unit": 0.5},
        {"statistic": "histogram", "measure": {"column": "age", "edges": [0, 20.5, 40]}},
        {"statistic": "contingency", "measure": [SEX, {"column": "region", "values": ["north"]}]},
        {"statistic": "quantile", **AGE, "levels": [0.5, 0.9], "candidates": [30, 20]},
        {"statistic": "mode", "groupBy": [SEX],
         "measure": {"column": "region", "values": ["north", "south"]}},
        {"statistic": "distinct-count", "measure": "note"},
        epsilon=0.5, confidence=0.9,
    )  # fmt: skip
    plan = planned(tmp_path, asked, description=described(column("seen", Datatype.DATE)))
    sex = Key("sex", ("f", "m"))
    assert [one.keys for one in plan.statistics] == [
        (sex,), (), (), (), (Key("age", edges=("0", "20.5", "40")),), (sex, Key("region", ("north",))), (),
        (sex, Key("region", ("north", "south"))), (),
    ]  # fmt: skip
    count, mean, total, variance, histogram, table, quantile, mode, distinct = plan.statistics
    assert mean.measure == Measure("age", Decimal(0), Decimal(120), Decimal(1), Decimal(60))
    assert (mean.measure.least, mean.measure.most) == (-60, 60)
    assert total.measure is not None
    assert total.measure.origin == 0
    assert variance.measure == Measure("age", Decimal("-1.5"), Decimal(2), Decimal("0.5"), Decimal(0))
    assert quantile.candidates == ("20", "30")
    assert [part.level for part in quantile.parts] == [Decimal("0.5"), Decimal("0.9")]
    assert (mode.choices, distinct.counted) == (1, "note")
    assert {one.kind for one in (count, histogram, table)} == {
        StatisticKind.COUNT, StatisticKind.HISTOGRAM, StatisticKind.CONTINGENCY,
    }  # fmt: skip
    assert [one.name for one in plan.read.columns] == ["patient", "sex", "age", "region", "note"]
    assert {one.datatype for one in plan.read.columns} == {Datatype.STRING}
    assert plan.read.column("age").iri == f"{TARGET}/age"
    assert plan.read.respondent == RespondentColumn("patient")
    assert plan.bound == BoundContributions(NeighboringRelation.ADD_OR_REMOVE_ONE, 3, 3)
    assert (plan.loss.epsilon, plan.loss.delta) == (Decimal("0.5"), Decimal(0))
    assert Fraction(plan.loss.pure) <= Fraction(1, 2)
    assert (plan.write.output, plan.write.confidence, plan.filter) == (OUTPUT, Decimal("0.9"), None)


def test_the_bound_of_the_policy_is_taken_where_the_query_asks_for_nothing(tmp_path: Path) -> None:
    assert planned(tmp_path, query(COUNT)).loss.epsilon == 1
    by_belief = permission({"epsilon": None, "posteriorBelief": ("lteq", 0.75)})
    believed = planned(tmp_path, query(COUNT), allowed=by_belief)
    assert believed.loss.belief <= 0.75
    less = planned(tmp_path, query(COUNT, posteriorBelief=0.6), allowed=by_belief)
    assert less.loss.belief <= 0.6 < believed.loss.belief


def test_a_description_says_what_the_query_leaves_out(tmp_path: Path) -> None:
    said = described(
        column("age", Datatype.INTEGER, lower=Decimal(0), upper=Decimal(100)),
        column("sex", values=("f", "m", "x"), most_groups=1),
        column("region", values=("n", "s"), most_groups=2),
        most_contributions=5,
    )
    asked = query(
        {"statistic": "mean", "measure": "age", "upper": 50, "groupBy": ["sex", "region"]},
        {**COUNT, "groupBy": [SEX]},
    )
    plan = planned(tmp_path, asked, allowed=permission({"rowsPerRespondent": None}), description=said)
    mean, count = plan.statistics
    assert mean.measure == Measure("age", Decimal(0), Decimal(50), Decimal(1), Decimal(25))
    assert mean.keys == (Key("sex", ("f", "m", "x")), Key("region", ("n", "s")))
    assert count.keys == (Key("sex", ("f", "m")),)
    assert plan.bound == BoundContributions(NeighboringRelation.ADD_OR_REMOVE_ONE, 5, 2)
    assert plan.read.column("age").datatype is Datatype.INTEGER


@pytest.mark.parametrize(
    ("changes", "more", "rows", "groups"),
    [
        ({}, {"most_contributions": 2}, 3, 3),
        ({"groupsPerRespondent": ("lteq", 2)}, {}, 3, 2),
        ({"groupsPerRespondent": ("eq", 9)}, {}, 3, 3),
        ({"respondent": ("eq", {"@id": "smalti:oneRowEach"}), "rowsPerRespondent": None}, {}, 1, 1),
        ({"respondent": ("eq", {"@id": "smalti:oneRowEach"})}, {}, 3, 3),
        ({"respondent": None}, {"one_row_each": True}, 3, 3),
    ],
)
def test_contribution_bounds(tmp_path: Path, changes: Any, more: Any, rows: int, groups: int) -> None:
    plan = planned(
        tmp_path,
        query({**COUNT, "groupBy": [SEX]}),
        allowed=permission(changes),
        description=described(**more),
    )
    assert (plan.bound.rows, plan.bound.groups) == (rows, groups)


def test_neighbors_are_those_of_the_policy(tmp_path: Path) -> None:
    allowed = permission({"neighbors": ("eq", "change-one"), **DELTA})
    asked = query({**COUNT, "groupBy": ["sex"]})
    plan = planned(tmp_path, asked, allowed=allowed)
    assert plan.bound.neighbors is NeighboringRelation.CHANGE_ONE
    assert only(plan).keys == (Key("sex", is_private=True),)


def test_units_and_grids_that_nobody_states(tmp_path: Path) -> None:
    asked = query({"statistic": "quantile", "measure": "age", "lower": 0, "upper": 1, "levels": [0.5]})
    found = only(planned(tmp_path, asked))
    assert found.measure.unit == Decimal("0.0001")
    assert len(found.candidates) == MOST_CANDIDATES
    assert (found.candidates[0], found.candidates[1], found.candidates[-1]) == ("0", "0.001", "1")
    assert [Decimal(text) for text in found.candidates] == sorted({Decimal(t) for t in found.candidates})
    whole = described(column("age", Datatype.INTEGER))
    assert only(planned(tmp_path, asked, description=whole)).candidates == ("0", "1")


# --- Keys that are public, and keys that only the data has


def test_groups_of_the_data_are_selected_within_a_delta(tmp_path: Path) -> None:
    asked = query({**COUNT, "groupBy": ["sex"]}, {"statistic": "histogram", "measure": "region"})
    plan = planned(tmp_path, asked, allowed=permission(DELTA))
    assert all(one.keys[0].is_private and one.selection is not None for one in plan.statistics)
    assert 0 < plan.loss.delta <= Decimal("0.0001")


@pytest.mark.parametrize(
    "statistic",
    [
        {**COUNT, "groupBy": ["sex"]},
        {"statistic": "histogram", "measure": "sex"},
        {"statistic": "contingency", "measure": [SEX, "region"]},
        {"statistic": "mode", "measure": "region"},
    ],
)
def test_without_a_delta_they_are_refused(tmp_path: Path, statistic: dict[str, Any]) -> None:
    (told,) = refused(tmp_path, statistic)
    assert "without a delta groups require them" in told
    assert "name them in the query" in told.lower()
    (told,) = refused(tmp_path, statistic, changes=DELTA, delta=0)
    assert "without a delta groups require them" in told


def test_candidates_of_a_mode_are_public_whatever_the_delta(tmp_path: Path) -> None:
    """A candidate that only one person has would tell that this person is there, with any noise."""
    (told,) = refused(tmp_path, {"statistic": "mode", "measure": "region"}, changes=DELTA)
    assert "`region` has no public values" in told
    asked = query({"statistic": "mode", "measure": SEX, "groupBy": ["region"]})
    plan = planned(tmp_path, asked, allowed=permission(DELTA))
    assert [key.is_private for key in only(plan).keys] == [True, False]


# --- What is refused


@pytest.mark.parametrize(
    ("statistic", "told"),
    [
        ({"statistic": "mean", "measure": "age"}, "of `age` are missing: `lower` and `upper`"),
        ({"statistic": "sum", "measure": "age", "lower": 0}, "bounds of `age` are missing: `upper`"),
        ({"statistic": "quantile", "measure": "age", "upper": 9, "levels": [0.5]}, "are missing: `lower`"),
        ({"statistic": "sum", **AGE, "unit": 7}, "the unit of `age` does not divide the distance"),
        ({"statistic": "sum", **AGE, "unit": 1e-12}, "the unit of `age` is too small"),
        ({"statistic": "quantile", **AGE, "levels": [0.5], "candidates": [1, 121]}, "beyond the bounds"),
        ({"statistic": "quantile", **AGE, "levels": [0.5], "candidates": [1.5]}, "not a whole number"),
        ({"statistic": "histogram", "measure": {"column": "age", "edges": [0, 20, 20]}}, "do not ascend"),
        ({"statistic": "histogram", "measure": {"column": "age", "edges": [9, "x"]}}, "do not ascend"),
        ({"statistic": "histogram", "measure": {"column": "seen", "edges": [1, 2]}}, "datatype date"),
        ({"statistic": "histogram", "measure": {"column": "seen", "edges": ["2024-02-30", "2024-03-01"]}},
         "of the datatype date"),
        ({"statistic": "mean", "measure": "seen", "lower": 0, "upper": 1}, "`seen` is declared date"),
        ({"statistic": "contingency", "measure": [SEX, f"{TARGET}/sex"]}, "`sex` is used as a key twice"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned(tmp_path: Path, statistic: dict[str, Any], told: str) -> None:
    said = described(column("seen", Datatype.DATE))
    assert any(told in one for one in refused(tmp_path, statistic, description=said))


def test_bounds_that_cannot_be_counted_exactly_are_refused(tmp_path: Path) -> None:
    lower = Decimal("0.12345678901234567890123456789")
    said = described(column("age", lower=lower, upper=lower + 9, unit=Decimal(1)))
    found = refused(tmp_path, {"statistic": "mean", "measure": "age"}, description=said)
    assert "bounds and unit of `age`" in found[0] or "the unit of `age`" in found[0]


def test_everything_that_stands_against_it_is_told_at_once(tmp_path: Path) -> None:
    found = refused(
        tmp_path,
        {"statistic": "mean", "measure": "age"},
        {**COUNT, "groupBy": ["region"]},
        {"statistic": "sum", **AGE, "unit": 7, "groupBy": ["sex"]},
        changes={"respondent": None, "rowsPerRespondent": None},
    )
    starts = ["policy.jsonld:", *["q.json: statistic `mean of age`", "q.json: statistic `count by region`"],
              *["q.json: statistic `sum of age by sex`"] * 2]  # fmt: skip
    assert len(found) == len(starts)
    assert all(one.startswith(start) for one, start in zip(found, starts, strict=True)), found


@pytest.mark.parametrize(
    ("said", "asked", "is_refused"),
    [
        ({"lower": Decimal(0), "upper": Decimal(9)}, {}, True),
        ({"lower": Decimal(0), "upper": Decimal(9)}, {"lower": 0}, True),
        ({"unit": Decimal(1)}, {"lower": 0, "upper": 9}, True),
        ({"lower": Decimal(0), "upper": Decimal(9)}, {"lower": 0, "upper": 9}, False),
        ({"lower": Decimal(0), "unit": Decimal(1)}, {"lower": 0, "upper": 9, "unit": 3}, False),
    ],
)
def test_bounds_of_the_data_are_refused_by_name(
    tmp_path: Path, said: dict[str, Decimal], asked: dict[str, float], is_refused: bool
) -> None:
    statistic = {"statistic": "sum", "measure": "age", **asked}
    derived = described(column("age", Datatype.INTEGER, is_derived=True, **said))
    if is_refused:
        (told,) = refused(tmp_path, statistic, description=derived)
        assert "of `age` are marked as taken from the data (`smalti:derivedFromData`)" in told
    else:
        assert planned(tmp_path, query(statistic), description=derived)


def test_values_of_the_data_are_refused_by_name(tmp_path: Path) -> None:
    derived = described(column("sex", values=("f", "m"), is_derived=True))
    for changes in ({}, DELTA):
        (told,) = refused(tmp_path, {**COUNT, "groupBy": ["sex"]}, description=derived, changes=changes)
        assert "the values of `sex` are marked as taken from the data" in told
    assert planned(tmp_path, query({**COUNT, "groupBy": [SEX]}), description=derived)


def test_rows_of_a_respondent_are_stated(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, COUNT, changes={"rowsPerRespondent": None})
    assert "the number of rows of each respondent that take part is not stated" in told
    assert "`smalti:rowsPerRespondent`" in told
    assert "`csvw-eo:bounds.maxContributions`" in told


def test_nothing_is_assumed_of_respondents(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, COUNT, changes={"respondent": None})
    assert "the respondents are not declared, and a release requires a declaration" in told
    assert "declare it in the policy" in told.lower()
    assumed = Circumstances(inherited=OneRowEach(is_declared=False))
    (told,) = refused(tmp_path, COUNT, changes={"respondent": None}, circumstances=assumed)
    assert "its respondents were assumed" in told
    known = Circumstances(inherited=OneRowEach(is_declared=True))
    plan = planned(tmp_path, query(COUNT), allowed=permission({"respondent": None}), circumstances=known)
    assert plan.read.respondent == OneRowEach(is_declared=True)


def test_a_respondent_of_an_input_is_gone(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, COUNT, circumstances=Circumstances(inherited=RespondentColumn("patient")))
    assert "its respondents can no longer be counted" in told


@pytest.mark.parametrize(
    ("mechanisms", "statistic", "told"),
    [
        (["laplace"], {"statistic": "quantile", **AGE, "levels": [0.5]}, "it is chosen from candidates"),
        (["laplace"], {"statistic": "mode", "measure": SEX}, "it is chosen from candidates"),
        (["exponential"], COUNT, "it is a number"),
        (["gaussian"], COUNT, "only the mechanism `gaussian` is permitted, and delta is 0"),
    ],
)
def test_a_mechanism_must_serve_the_statistic(
    tmp_path: Path, mechanisms: list[str], statistic: dict[str, Any], told: str
) -> None:
    changes = {"mechanism": ("isAnyOf", mechanisms)}
    more: dict[str, Any] = {}
    if mechanisms == ["gaussian"]:
        changes |= DELTA
        more["delta"] = 0
    (found,) = refused(tmp_path, statistic, changes=changes, **more)
    assert told in found


def test_mechanisms_are_those_of_the_policy(tmp_path: Path) -> None:
    changes = {**DELTA, "mechanism": ("eq", "gaussian")}
    plan = planned(tmp_path, query({"statistic": "sum", **AGE}), allowed=permission(changes))
    assert {part.mechanism for part in only(plan).parts} == {Mechanism.GAUSSIAN}
    pure = planned(tmp_path, query({"statistic": "sum", **AGE}, delta=0), allowed=permission(DELTA))
    assert {part.mechanism for part in only(pure).parts} == {Mechanism.LAPLACE}
    assert pure.loss.delta == 0


def test_too_many_cells_are_refused(tmp_path: Path) -> None:
    many = [str(number) for number in range(1001)]
    table = {"statistic": "contingency", "measure": [
        {"column": "age", "values": many}, {"column": "region", "values": many[:999]}]}  # fmt: skip
    asked = query(table)
    assert only(planned(tmp_path, asked)).kind is StatisticKind.CONTINGENCY  # 999,999
    (told,) = refused(tmp_path, table, {**COUNT, "groupBy": [SEX]})
    assert "the release would have 1000001 cells" in told
    assert "statistic `contingency of age and region`" in told


@pytest.mark.parametrize(
    ("changes", "asked", "told"),
    [
        (
            {"statistic": ("isAnyOf", ["count"]), "measure": None},
            {"statistic": "sum", **AGE},
            "smalti:statistic",
        ),
        ({"measure": ("isAnyOf", ["region"])}, {"statistic": "sum", **AGE}, "smalti:measure"),
        ({"groupBy": None}, {**COUNT, "groupBy": [SEX]}, "smalti:groupBy"),
        ({"groupBy": ("isAnyOf", ["region"])}, {**COUNT, "groupBy": [SEX]}, "smalti:groupBy"),
    ],
)
def test_what_is_not_permitted_is_refused_here_as_well(
    tmp_path: Path, changes: Any, asked: dict[str, Any], told: str
) -> None:
    found = refused(tmp_path, asked, changes=changes)
    assert any(f"the permission does not allow the requested `{told}`" in one for one in found)


@pytest.mark.parametrize("loss", [{"epsilon": 1.1}, {"delta": 0.01}, {"posteriorBelief": 0.74}])
def test_more_than_what_may_be_lost_is_refused_here_as_well(tmp_path: Path, loss: dict[str, float]) -> None:
    (told,) = refused(tmp_path, COUNT, **loss)
    assert "the permission does not allow the requested" in told


@pytest.mark.parametrize(
    "changes",
    [
        {"statistics": ()}, {"confidence": Decimal(1)}, {"confidence": Decimal("1e-9")},
        {"confidence": Decimal("NaN")}, {"epsilon": Decimal("Infinity")},
    ],
)  # fmt: skip
def test_a_query_that_no_file_can_be_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """What fails behind the charge would have been charged for nothing."""
    with pytest.raises(PlanError):
        planned(tmp_path, replace(query(COUNT), **changes))


def test_what_is_asked_beside_the_query_is_not_ignored(tmp_path: Path) -> None:
    beside = Circumstances(asks=(Fact(EPSILON, (Number(Decimal("0.1")),)),))
    (told,) = refused(tmp_path, COUNT, circumstances=beside)
    assert "is requested outside the query" in told


def test_words_about_published_rows_are_not_ignored(tmp_path: Path) -> None:
    allowed = permission()
    assert allowed.anonymization is not None
    released = replace(allowed.anonymization, released=(ColumnReference(IRI(f"{TARGET}/note")),))
    with pytest.raises(PlanError, match="`smalti:released` is about published rows"):
        planned(tmp_path, query(COUNT), allowed=replace(allowed, anonymization=released))


def test_columns_that_are_not_there_are_told_without_the_header(tmp_path: Path) -> None:
    """A header may be a row: its cells are shown where policy or description name them."""
    found = refused(
        tmp_path, {"statistic": "sum", **AGE}, header=("patient", "sexx", "ag", "secret", "b", "c")
    )
    assert any(f"has no column `{TARGET}/age`" in one for one in found)
    assert "secret" not in " ".join(found)


def test_columns_are_found_by_their_iris_alone(tmp_path: Path) -> None:
    """A column that the description calls otherwise is not what a bare name permits."""
    said = Description((ColumnDescription("age", IRI("http://example.com/terms/age"), None, None),))
    found = refused(tmp_path, {"statistic": "sum", **AGE}, description=said)
    assert any(f"has no column `{TARGET}/age`" in one for one in found)


def test_another_method_is_a_fault_of_ours(tmp_path: Path) -> None:
    allowed = permission()
    assert allowed.anonymization is not None
    other = replace(allowed, anonymization=replace(allowed.anonymization, method=K_ANONYMITY))
    with pytest.raises(InternalError):
        planned(tmp_path, query(COUNT), allowed=other)


# --- No value has a say


def limit(name: str, operator: Operator, *values: Value) -> ColumnComparison:
    return ColumnComparison(ColumnReference(IRI(f"{TARGET}/{name}")), operator, values)


LIMITS = (
    limit("seen", Operator.GTEQ, Day(date(2024, 1, 1))),
    limit("age", Operator.LT, Number(Decimal(60))),
    limit("region", Operator.NEQ, Text("east")),
)
SAID = described(
    column("age", Datatype.INTEGER, is_required=True), column("seen", Datatype.DATETIME),
    column("patient", Datatype.INTEGER, is_required=True),
)  # fmt: skip
YEAR = ["2024-01-01T00:00", "2025-01-01T00:00"]
TEXTS = st.sampled_from(
    ["", "a", "1", "1.0", "-7", "NaN", "INF", "1e999", "9" * 200, "2024-01-31", "2024-02-30",
     "2024-01-31T09:00", "2024-01-31T09:00Z", "2024-03-31T02:30", "\U0001f600", '"', "\n"],
)  # fmt: skip


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(*[TEXTS] * len(HEADER)), max_size=8), st.booleans(), st.booleans())
def test_plans_on_any_two_tables_are_the_same_and_nothing_is_raised(
    rows: list[tuple[str, ...]], is_described: bool, is_filtered: bool
) -> None:
    asked = query(
        {"statistic": "mean", **AGE, "groupBy": ["sex"]},
        {"statistic": "quantile", **AGE, "levels": [0.5]},
        {"statistic": "histogram", "measure": {"column": "seen", "edges": YEAR}}
        if is_described
        else {"statistic": "distinct-count", "measure": "note"},
    )
    withdrawn = Withdrawn(stored_digests(["1", "a"], str), frozenset({"patient"}), str, 2)
    more = Circumstances(rows=LIMITS if is_filtered and not is_described else (), withdrawn=withdrawn)
    said = SAID if is_described else Description()
    with tempfile.TemporaryDirectory() as folder:
        allowed = permission(DELTA)
        one, other = (
            planned(Path(folder), asked, allowed=allowed, description=said, rows=some, circumstances=more)
            for some in (rows, ROWS)
        )
    assert one == other
    assert (one.filter is not None) is bool(more.rows)


def conditions(plan: ReleasePlan) -> Iterator[RowComparison]:
    assert plan.filter is not None
    for one in plan.filter.conditions:
        assert isinstance(one, RowComparison)
        yield one


def test_rows_are_limited_by_what_policy_and_description_say(tmp_path: Path) -> None:
    plan = planned(tmp_path, query(COUNT), circumstances=Circumstances(rows=LIMITS))
    assert {one.column: one.datatype for one in conditions(plan)} == {
        "seen": Datatype.DATE, "age": Datatype.DOUBLE, "region": Datatype.STRING,
    }  # fmt: skip
    assert [one.name for one in plan.read.columns] == ["patient", "age", "region", "seen"]


def test_a_limit_that_no_value_can_meet_is_the_policys_fault(tmp_path: Path) -> None:
    late = Circumstances(rows=(limit("seen", Operator.GT, Text("x")),))
    (told,) = refused(tmp_path, COUNT, description=SAID, circumstances=late)
    assert "the column `seen` is compared as date-times, here with a text" in told


def test_statistics_are_all_those_of_the_vocabulary() -> None:
    assert set(STATISTICS) == set(StatisticKind)


def test_the_columns_to_stage_are_those_that_are_read(tmp_path: Path) -> None:
    """All plans here are made of a table with these columns alone."""
    age, born = IRI("http://example.com/terms/age"), IRI("http://example.com/terms/born")
    said = Description(
        (ColumnDescription("years", age, None, None), ColumnDescription("b", born, None, None)),
        respondent="who is it?",
    )
    source = Source(TARGET, tmp_path / "visits.csv", OutputFormat.CSV, said)
    asked = query({"statistic": "sum", **AGE, "measure": age}, {**COUNT, "groupBy": ["sex", "Größe %"]})
    rows = (Logical(LogicalOperator.OR, (limit("note", Operator.EQ, Text("x")),)),)
    assert columns_to_stage(permission({"respondent": None}), asked, source, rows) == {
        "years", "sex", "Größe %", "note", "who is it?",
    }  # fmt: skip
    assert "patient" in columns_to_stage(permission(), query(COUNT), source)
