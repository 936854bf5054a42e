"""Query files: what is read of them, what is refused and how, and the facts that a decision is made on."""

import json
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.query import (
    Query,
    WantedKey,
    WantedStatistic,
    asked_column,
    facts,
    faults,
)
from smalti.engine.releases.query_form import read_query
from smalti.errors import ProblemsError, SmaltiError, UsageError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import Named, Number, Text
from smalti.vocab import terms
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/visits")
SCHEMA = json.loads(files("smalti.vocab").joinpath("query.schema.json").read_text(encoding="utf-8"))
EXAMPLE = b"""{"epsilon": 0.5, "delta": 1e-6, "confidence": 0.95,
 "statistics": [
  {"statistic": "count"},
  {"name": "mean age", "statistic": "mean", "measure": "age", "lower": 0, "upper": 120, "unit": 1,
   "groupBy": ["sex"], "share": 2},
  {"statistic": "histogram", "measure": {"column": "age", "edges": [0, 20, 40, 60]}},
  {"statistic": "contingency", "measure": ["sex", {"column": "region", "values": ["north", "south"]}]},
  {"statistic": "quantile", "measure": "age", "levels": [0.25, 0.5], "candidates": [10, 20, 30]},
  {"statistic": "mode", "measure": "diagnosis", "groupBy": ["region"]},
  {"statistic": "distinct-count", "measure": "diagnosis"}]}"""


def query(*statistics: dict[str, Any], **more: Any) -> Query:
    return read_query(json.dumps({"statistics": list(statistics), **more}).encode(), "q.json")


def refused(text: bytes | dict[str, Any]) -> list[str]:
    """All problems of a query, each as it is told."""
    if isinstance(text, dict):
        text = json.dumps(text).encode()
    with pytest.raises(SmaltiError) as caught:
        read_query(text, "q.json")
    found = caught.value.problems if isinstance(caught.value, ProblemsError) else (caught.value,)
    assert all(isinstance(one, UsageError) for one in found)
    assert all(str(one).startswith("q.json") for one in found)
    return [str(one) for one in found]


def of(*statistics: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"statistics": list(statistics), **more}


# --- What is read


def test_the_whole_form_is_read() -> None:
    found = read_query(EXAMPLE, "q.json")
    assert (found.epsilon, found.delta, found.confidence, found.name) == (
        Decimal("0.5"), Decimal("0.000001"), Decimal("0.95"), "q.json",
    )  # fmt: skip
    age = (WantedKey("age"),)
    assert found.statistics == (
        WantedStatistic("count", StatisticKind.COUNT, (), (), Decimal(1)),
        WantedStatistic("mean age", StatisticKind.MEAN, age, (WantedKey("sex"),), Decimal(2),
                        Decimal(0), Decimal(120), Decimal(1)),
        WantedStatistic("histogram of age", StatisticKind.HISTOGRAM,
                        (WantedKey("age", edges=("0", "20", "40", "60")),), (), Decimal(1)),
        WantedStatistic("contingency of sex and region", StatisticKind.CONTINGENCY,
                        (WantedKey("sex"), WantedKey("region", ("north", "south"))), (), Decimal(1)),
        WantedStatistic("quantile of age", StatisticKind.QUANTILE, age, (), Decimal(1),
                        levels=(Decimal("0.25"), Decimal("0.5")),
                        candidates=(Decimal(10), Decimal(20), Decimal(30))),
        WantedStatistic("mode of diagnosis by region", StatisticKind.MODE, (WantedKey("diagnosis"),),
                        (WantedKey("region"),), Decimal(1)),
        WantedStatistic("distinct-count of diagnosis", StatisticKind.DISTINCT_COUNT,
                        (WantedKey("diagnosis"),), (), Decimal(1)),
    )  # fmt: skip


def test_defaults() -> None:
    found = query({"statistic": "count"})
    assert found.confidence == Decimal("0.95")
    assert (found.epsilon, found.delta, found.belief, found.advantage) == (None, None, None, None)


def test_numbers_are_exact_and_texts_are_as_they_are_written() -> None:
    text = b"""{"epsilon": 0.1000000000000000055511151231257827, "statistics": [
      {"statistic": "histogram", "measure": {"column": "a", "values": [1.50, "1.5", 2e3]}}]}"""
    found = read_query(text, "q.json")
    assert str(found.epsilon) == "0.1000000000000000055511151231257827"
    assert found.statistics[0].measures[0].values == ("1.50", "1.5", "2e3")


@pytest.mark.parametrize(
    ("word", "field"), [("posteriorBelief", "belief"), ("membershipAdvantage", "advantage")]
)
def test_another_bound_may_stand_in_place_of_epsilon(word: str, field: str) -> None:
    assert getattr(query({"statistic": "count"}, **{word: 0.75}), field) == Decimal("0.75")


def test_names_that_are_made_are_free() -> None:
    found = query({"statistic": "count"}, {"statistic": "count", "name": "count 2"}, {"statistic": "count"})
    assert [one.name for one in found.statistics] == ["count", "count 2", "count 3"]
    (named,) = query({"statistic": "sum", "measure": "http://example.com/t#spend", "lower": 0}).statistics
    assert named.name == "sum of spend"


def test_the_schema_is_one_and_the_example_fits() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(EXAMPLE))
    kinds = SCHEMA["$defs"]["statistic"]["properties"]["statistic"]["enum"]
    assert set(kinds) == set(StatisticKind)


# --- What is refused


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "q.json:1:1: the document ends where a value is expected"),
        (b"\xff", "the query is not UTF-8 text"),
        (b" " * (1 << 20) + b"{}", "the query is too large; expected at most 1048576 bytes"),
        (b"[]", "q.json:1:1: the query has the wrong type; expected an object"),
        (b"{}", "q.json:1:1: `statistics` is missing"),
        (b'{"statistics": [{"statistic": "count"}], "epsilon": NaN}', "q.json:1:53: `NaN` is not a JSON"),
        (b'{"statistics": [{"statistic": "count"}], "epsilon": 1e999}', "too large to be read exactly"),
        (
            b'{"statistics": [{"statistic": "count"}],\n "delta": 0, "delta": 0}',
            "q.json:2:14: a key occurs twice",
        ),
    ],
)
def test_what_is_no_json_or_no_query(text: bytes, told: str) -> None:
    (found,) = refused(text)
    assert told in found


MEAN = {"statistic": "mean", "measure": "age", "lower": 0, "upper": 9}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (of({"statistic": "count"}, epsilom=1), "`epsilom` is unknown here; expected one of `epsilon`"),
        (of({"statistic": "count"}, epsilom=1), "Did you mean `epsilon`?"),
        (of({"statistic": "medain", "measure": "a"}), "`statistic` is unknown"),
        (of({"statistic": "median", "measure": "a"}), "The median is `quantile` with `levels` [0.5]"),
        (of({"statistic": "varaince", "measure": "a"}), "Did you mean `variance`?"),
        (of({"statistic": "count"}, epsilon=0), "`epsilon` is out of range; expected a number above 0"),
        (of({"statistic": "count"}, epsilon=-1), "`epsilon` is out of range"),
        (of({"statistic": "count"}, epsilon="1"), "`epsilon` has the wrong type; expected a number"),
        (of({"statistic": "count"}, epsilon=True), "`epsilon` has the wrong type"),
        (of({"statistic": "count"}, delta=1), "expected a number at least 0 and below 1"),
        (of({"statistic": "count"}, delta=-0.1), "`delta` is out of range"),
        (of({"statistic": "count"}, posteriorBelief=0.5), "expected a number above 0.5 and below 1"),
        (of({"statistic": "count"}, membershipAdvantage=1), "expected a number above 0 and below 1"),
        (of({"statistic": "count"}, confidence=1), "`confidence` is out of range"),
        (of({"statistic": "count"}, confidence=0.9999999), "a number at least 0.01 and at most 0.999999"),
        (of({"statistic": "count"}, epsilon=1, posteriorBelief=0.6),
         "`epsilon` and `posteriorBelief` determine each other"),
        (of(), "`statistics` has the wrong length; expected 1 or more entries"),
        (of({"statistic": "count", "measure": "age"}), "`measure` is not allowed here"),
        (of({"statistic": "count", "lower": 3}), "`lower` is not allowed here"),
        (of({"statistic": "histogram", "measure": "age", "levels": [0.5]}), "`levels` is not allowed here"),
        (of({"statistic": "sum"}), "`measure` is missing for the statistic `sum`"),
        (of({"statistic": "quantile", "measure": "age"}), "`levels` is missing"),
        (of({"statistic": "quantile", "measure": "age", "levels": [1]}), "out of range"),
        (of({**MEAN, "measure": {"column": "age", "values": ["1"]}}), "`measure` has the wrong type"),
        (of({"statistic": "contingency", "measure": "sex"}), "type; expected a list"),
        (of({"statistic": "contingency", "measure": ["sex"]}), "expected 2 or more entries"),
        (of({"statistic": "mode", "measure": ["sex", "age"]}), "expected a text or an object"),
        (of({"statistic": "count", "groupBy": [["a", "b"]]}), "an entry has the wrong type"),
        (of({"statistic": "histogram", "measure": {"column": "a", "edges": [1]}}), "has the wrong length"),
        (of({"statistic": "histogram", "measure": {"column": "a", "values": ["x"], "edges": [1, 2]}}),
         "`values` and `edges` are both given"),
        (of({"statistic": "histogram", "measure": {"colum": "a"}}), "Did you mean `column`?"),
        (of({"statistic": "histogram", "measure": {"column": "a", "values": ["x", "x"]}}), "listed twice"),
        (of({**MEAN, "lower": 9}), "`lower` is not below `upper`"),
        (of({**MEAN, "share": 0}), "`share` is out of range; expected a number above 0"),
        (of({**MEAN, "unit": 0}), "`unit` is out of range"),
        (of({**MEAN, "groupBy": ["sex", "sex"]}), "the column `sex` is listed twice"),
        (of({**MEAN, "measure": "ex:age"}), "the column `ex:age` has a prefix or scheme"),
        (of({**MEAN, "measure": " "}), "is blank"),
        (of({**MEAN, "name": "a"}, {**MEAN, "name": "a"}), "the name `a` is used twice"),
        (of({**MEAN, "name": "a\u0007"}), "has non-printable characters"),
        (of({**MEAN, "name": ""}), "`name` has the wrong length"),
        (of({"statistic": "quantile", "measure": "age", "levels": [0.5, 0.5]}), "entry of the levels is"),
    ],
)  # fmt: skip
def test_what_stands_against_a_query_is_told(content: dict[str, Any], told: str) -> None:
    assert any(told in one for one in refused(content)), refused(content)


def test_all_problems_are_told_at_once_in_their_order() -> None:
    text = b"""{"epsilom": 1,
 "statistics": [
  {"statistic": "cuont"},
  {"statistic": "mean", "measure": "age", "lower": 2, "upper": 1},
  {"statistic": "sum"}]}"""
    assert [one.partition(": ")[0] for one in refused(text)] == [
        "q.json:1:2", "q.json:3:17", "q.json:4:3", "q.json:5:3",
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["count", "mean", "age", "", "x:y"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([*SCHEMA["properties"], *SCHEMA["$defs"]["statistic"]["properties"], "column",
                         "values", "edges", "zzz"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(JSON)
def test_whatever_is_written_is_a_query_or_refused(value: object) -> None:
    text = json.dumps(value).encode()
    try:
        found = read_query(text, "q.json")
    except SmaltiError:
        assert refused(text)
    else:
        assert jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
        assert list(faults(tuple(enumerate(found.statistics)))) == []


@pytest.mark.parametrize(
    "bad",
    [
        WantedStatistic("x", StatisticKind.COUNT, (WantedKey("a"),), (), Decimal(1)),
        WantedStatistic("x", StatisticKind.MEAN, (), (), Decimal(1)),
        WantedStatistic("x", StatisticKind.MODE, (WantedKey("a"), WantedKey("b")), (), Decimal(1)),
        WantedStatistic("x", StatisticKind.QUANTILE, (WantedKey("a"),), (), Decimal(1)),
        WantedStatistic(
            "x", StatisticKind.QUANTILE, (WantedKey("a"),), (), Decimal(1), levels=(Decimal(1),)
        ),
        WantedStatistic(
            "x", StatisticKind.SUM, (WantedKey("a"),), (), Decimal(1), levels=(Decimal("0.5"),)
        ),
        WantedStatistic("x", StatisticKind.COUNT, (), (), Decimal(0)),
        WantedStatistic("x", StatisticKind.COUNT, (), (), Decimal("NaN")),
        WantedStatistic("x", StatisticKind.SUM, (WantedKey("a"),), (), Decimal(1), unit=Decimal(-1)),
        WantedStatistic("x", StatisticKind.SUM, (WantedKey("a", ("1",)),), (), Decimal(1)),
    ],
)
def test_what_no_file_can_say_is_refused_of_python_as_well(bad: WantedStatistic) -> None:
    assert list(faults(((0, bad),)))


# --- What a decision is made on


def test_facts_are_what_is_asked_and_nothing_else() -> None:
    found = facts(read_query(EXAMPLE, "q.json"), TARGET)
    columns = [Named(IRI(f"{TARGET}/{name}")) for name in ("age", "diagnosis", "region", "sex")]
    kinds = ["contingency", "count", "distinct-count", "histogram", "mean", "mode", "quantile"]
    assert replace(found[0], same=()) == Fact(terms.EPSILON, (Number(Decimal("0.5")),))
    assert [one.operand for one in found[0].same] == [terms.POSTERIOR_BELIEF, terms.MEMBERSHIP_ADVANTAGE]
    assert found[1:] == (
        Fact(terms.DELTA, (Number(Decimal("0.000001")),)),
        Fact(terms.STATISTIC, tuple(map(Text, kinds))),
        Fact(terms.MEASURE, tuple(columns)),
        Fact(terms.GROUP_BY, tuple(columns[2:])),
    )
    assert facts(query({"statistic": "count"}), TARGET) == (Fact(terms.STATISTIC, (Text("count"),)),)
    asked = facts(query({"statistic": "count"}, posteriorBelief=0.6), TARGET)
    assert (asked[0].operand, asked[0].values) == (terms.POSTERIOR_BELIEF, (Number(Decimal("0.6")),))


def test_a_column_is_named_as_in_policies() -> None:
    assert asked_column("ZIP code", TARGET) == f"{TARGET}/ZIP%20code"
    assert asked_column("Größe", TARGET) == f"{TARGET}/Gr%C3%B6%C3%9Fe"
    assert asked_column("http://example.com/t/%41ge", TARGET) == "http://example.com/t/Age"
