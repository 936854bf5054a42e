"""Limits to rows: their meaning by brute force, the plan's step, both engines, and the verifier."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, HERE, TARGET, People, permission, read_csv, write_csv

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import execute
from smalti.engine.anonymization.explain import explain
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.circumstances import Circumstances, Options
from smalti.engine.binding.kept_rows import leave_out_rows
from smalti.engine.plan.plan import Filter, OutputFormat, Plan, RowComparison, RowLogical
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.run.explain import to_json, to_text
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.tables.withdrawn import NOBODY
from smalti.engine.verify.verifier import (
    Original,
    Output,
    Verification,
    verify_against,
    verify_run,
)
from smalti.errors import DataError, GuaranteeError, PlanError, ProblemsError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Condition,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
    Value,
)
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI, K, L

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
ORDERINGS = {
    Operator.GT: lambda a, b: a > b,
    Operator.GTEQ: lambda a, b: a >= b,
    Operator.LT: lambda a, b: a < b,
    Operator.LTEQ: lambda a, b: a <= b,
}
READERS: dict[str, Callable[[str], object]] = {
    "age": Decimal, "born": date.fromisoformat, "spend": Decimal, "who": str, "note": str, "city": str,
    "illness": str,
}  # fmt: skip
TYPES = {"age": Datatype.INTEGER, "born": Datatype.DATE, "spend": Datatype.DECIMAL}


def limit(column: str, operator: str, *values: Value) -> ColumnComparison:
    return ColumnComparison(
        ColumnReference(IRI(f"{TARGET}/{column}"), HERE), Operator(operator), values, HERE
    )


def together(operator: str, *operands: Condition) -> Logical:
    return Logical(LogicalOperator(operator), operands, HERE)


def number(text: str) -> Number:
    return Number(Decimal(text))


# --- What a condition means, told without the engine -----------------------------------------------


def plain(value: Value) -> object:
    match value:
        case Number(value=found):
            return found
        case Day(day=day):
            return day
        case Text(text=text):
            return text
    raise AssertionError(value)


def compares(value: object, condition: ColumnComparison) -> bool:
    wanted = [plain(one) for one in condition.values]
    match condition.operator:
        case Operator.EQ | Operator.IS_ANY_OF:
            return value in wanted
        case Operator.NEQ | Operator.IS_NONE_OF:
            return value not in wanted
        case ordering:
            return bool(ORDERINGS[ordering](value, wanted[0]))


def names(condition: Condition) -> set[str]:
    """The columns that a condition is about."""
    if isinstance(condition, ColumnComparison):
        return {condition.column.iri.rpartition("/")[2]}
    assert isinstance(condition, Logical)
    return set().union(*map(names, condition.operands))


def satisfies(row: Sequence[str], condition: Condition) -> bool:
    """One row, by one condition; '' is a missing value."""
    if isinstance(condition, ColumnComparison):
        name = condition.column.iri.rpartition("/")[2]
        text = row[HEADER.index(name)]
        return text != "" and compares(READERS[name](text), condition)
    assert isinstance(condition, Logical)
    found = [satisfies(row, operand) for operand in condition.operands]
    match condition.operator:
        case LogicalOperator.OR:
            return any(found)
        case LogicalOperator.XONE if len(found) > 1:
            return found.count(True) == 1 and all(row[HEADER.index(name)] for name in names(condition))
        case _:
            return all(found)


def comparisons() -> st.SearchStrategy[Condition]:
    values: dict[str, st.SearchStrategy[Value]] = {
        "age": st.sampled_from(["7", "41", "-3", "40.5", "1E+3", "7.0"]).map(number),
        "spend": st.sampled_from(["1.5", "1.50", "99.95", "0"]).map(number),
        "born": st.sampled_from(["1990-01-31", "1991-01-01"]).map(lambda t: Day(date.fromisoformat(t))),
        "city": st.sampled_from(["Rome", "Oslo\nNord", "", "nowhere", '"']).map(Text),
        "illness": st.sampled_from(["flu", "1", "Flu"]).map(Text),
        "who": st.sampled_from(["a", "b", "7"]).map(Text),
    }

    @st.composite
    def one(draw: st.DrawFn) -> Condition:
        name = draw(st.sampled_from(sorted(values)))
        ordered = list(ORDERINGS) if name in TYPES else []
        operator = draw(st.sampled_from([Operator.EQ, Operator.NEQ, Operator.IS_ANY_OF, Operator.IS_NONE_OF,
                                         *ordered]))  # fmt: skip
        most = 3 if operator in (Operator.IS_ANY_OF, Operator.IS_NONE_OF) else 1
        return limit(name, operator, *draw(st.lists(values[name], min_size=1, max_size=most)))

    return one()


def conditions() -> st.SearchStrategy[Condition]:
    return st.recursive(
        comparisons(),
        lambda inner: st.builds(
            lambda operator, operands: together(operator, *operands),
            st.sampled_from(list(LogicalOperator)),
            st.lists(inner, min_size=1, max_size=3),
        ),
        max_leaves=5,
    )


@st.composite
def tables(draw: st.DrawFn) -> People:
    row = st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from(["x", ""]),
        st.sampled_from(["", "7", "41", "-3", "1000"]),
        st.sampled_from(["", "1990-01-31", "2001-12-01"]),
        st.sampled_from(["", "Rome", "Oslo\nNord", '"']),
        st.sampled_from(["", "flu", "gout", "1"]),
        st.sampled_from(["1.50", "1.5", "", "99.95"]),
    )
    rows = [list(found) for found in draw(st.lists(row, min_size=1, max_size=40))]
    return People(rows, 2, 1, draw(st.sampled_from([0, 256])), one_row_each=False)


# --- Making outputs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    plan: Plan
    bytes: bytes
    link: list[int]
    checked: Verification
    again: object


def source(data: Path, types: dict[str, Datatype] = TYPES, zone: str | None = None) -> Source:
    described = Description(tuple(ColumnDescription(name, None, types.get(name), zone) for name in HEADER))
    return Source(TARGET, data, OutputFormat.CSV, described)


def make(
    backend: Backend, table: People, rows: tuple[Condition, ...], folder: Path, **types: Datatype
) -> Made | None:
    """Compile, execute and verify; None where the guarantee cannot be met."""
    folder.mkdir(parents=True)
    (folder / "work").mkdir()
    data, output, link = folder / "people.csv", folder / "out.csv", folder / "link.npy"
    write_csv(data, HEADER, table.rows)
    with closing(backend.open(source(data, types or TYPES), folder / "work")) as bound:
        plan = compile_plan(
            permission(table), source(data, types or TYPES), bound, Options(table.cut_threshold),
            Circumstances(rows),
        )  # fmt: skip
        try:
            execute(plan, bound, output, link, lambda _: None)
        except GuaranteeError:
            assert not output.exists()
            return None
    original, published = Original(data, OutputFormat.CSV), Output(output, OutputFormat.CSV)
    return Made(
        plan,
        output.read_bytes(),
        np.load(link).tolist(),
        verify_run(plan, original, published, link),
        verify_against(plan, original, published),
    )


@settings(max_examples=examples(15, full=400), suppress_health_check=SLOW)
@given(tables(), st.lists(conditions(), min_size=1, max_size=2).map(tuple))
def test_the_output_is_that_of_the_remaining_rows(table: People, rows: tuple[Condition, ...]) -> None:
    """The oracle: an unlimited run on a file with those rows alone gives the same bytes."""
    kept = [all(satisfies(row, one) for one in rows) for row in table.rows]
    rest = replace(table, rows=[row for row, keep in zip(table.rows, kept, strict=True) if keep])
    with scratch() as folder:
        limited = make(LOCAL, table, rows, folder / "limited")
        alone = make(LOCAL, rest, (), folder / "alone")
    assert (limited is None) == (alone is None)
    if limited is None or alone is None:
        return
    assert limited.bytes == alone.bytes
    assert sorted(limited.link) == list(np.flatnonzero(kept))
    assert limited.checked.rows_filtered == kept.count(False)
    assert (limited.checked.rows, limited.checked.k) == (alone.checked.rows, alone.checked.k)
    assert type(limited.again) is type(alone.again)


@contextmanager
def scratch() -> Iterator[Path]:
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_leaves_out_the_same_rows(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    for number_of_case, rows in enumerate(SPARK_CASES):
        here = make(LOCAL, SOME, rows, tmp_path / f"local{number_of_case}")
        there = make(SparkBackend(spark), SOME, rows, tmp_path / f"spark{number_of_case}")  # type: ignore[arg-type]
        assert (here and here.bytes) == (there and there.bytes)
        assert (here is None) == (number_of_case == len(SPARK_CASES) - 1)
        if here is not None and there is not None:
            assert (here.plan, sorted(here.link)) == (there.plan, sorted(there.link))


def some_rows() -> list[list[str]]:
    chosen = random.Random(5)
    choices = (["7", "41", "-3", "1000", ""], ["1990-01-31", "2001-12-01", ""], ["Rome", "Oslo", '"', ""],
               ["flu", "gout", "1"], ["1.50", "1.5", "", "99.95"])  # fmt: skip
    return [[f"p{i % 40}", "", *(chosen.choice(texts) for texts in choices)] for i in range(120)]


SOME = People(some_rows(), 3, 1, 256, one_row_each=False)
SPARK_CASES: list[tuple[Condition, ...]] = [
    (
        together(
            "xone",
            limit("age", "gteq", number("7")),
            together("or", limit("city", "neq", Text("Rome")), limit("spend", "eq", number("1.5"))),
            limit("born", "lt", Day(date(2000, 1, 1))),
        ),
        limit("illness", "isNoneOf", Text("1"), Text("x")),
    ),
    (limit("city", "neq", Text("nowhere")),),
    (limit("city", "eq", Text("nowhere")),),
]


# --- Missing values, and values that are written in several ways ------------------------------------


@contextmanager
def bound_table(
    folder: Path, rows: list[list[str]], types: dict[str, Datatype], zone: str | None = None
) -> Iterator[tuple[Source, StagedTable]]:
    (folder / "work").mkdir()
    data = folder / "people.csv"
    write_csv(data, HEADER, rows)
    described = source(data, types, zone)
    with closing(LOCAL.open(described, folder / "work")) as table:
        yield described, table


def compiled(
    folder: Path,
    rows: list[list[str]],
    limits: tuple[Condition, ...],
    types: dict[str, Datatype] = TYPES,
    zone: str | None = None,
    **more: object,
) -> Plan:
    circumstances = Circumstances(limits, **more)  # type: ignore[arg-type]
    asked = permission(People(rows, 2, 1, 256, one_row_each=False))
    with bound_table(folder, rows, types, zone) as (described, table):
        return compile_plan(asked, described, table, Options(), circumstances)


def kept_rows(
    folder: Path, column: str, texts: list[str], said: ColumnComparison, datatype: Datatype | None,
    zone: str | None = None,
) -> list[str]:  # fmt: skip
    """The texts of a column whose rows are kept."""
    place = HEADER.index(column)
    rows = [[f"p{i}", "", "1", "1990-01-31", "Rome", f"i{i % 2}", ""] for i in range(len(texts))]
    for row, text in zip(rows, texts, strict=True):
        row[place] = text
    asked = permission(People(rows, 2, 1, 256, one_row_each=False))
    types = {} if datatype is None else {column: datatype}
    with bound_table(folder, rows, types, zone) as (described, table):
        compile_plan(asked, described, table, Options(), Circumstances((said,)))
        return sorted(table.texts(column).to_pylist())


@pytest.mark.parametrize("operator", ["eq", "neq", "isAnyOf", "isNoneOf", "gt", "gteq", "lt", "lteq"])
def test_a_row_without_a_value_satisfies_nothing(tmp_path: Path, operator: str) -> None:
    rows = [row[:] for row in SOME.rows]
    made = make(LOCAL, SOME, (limit("age", operator, number("41")),), tmp_path / "run")
    assert made is not None
    assert all(rows[i][HEADER.index("age")] != "" for i in made.link)


@pytest.mark.parametrize(("operator", "kept"), [("isNoneOf", ["c"]), ("isAnyOf", ["a", "b"])])
def test_several_values(tmp_path: Path, operator: str, kept: list[str]) -> None:
    said = limit("note", operator, Text("a"), Text("b"), Text("x"))
    assert kept_rows(tmp_path, "note", ["a", "b", "c", ""], said, Datatype.STRING) == kept


DOUBLES = ["1e2", "100", "100.0", "99.9999999999999", "-0", "0.1", "1E-1"]
MOMENTS = ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "2026-03-01 12:00", "2026-03-01T13:00"]


@pytest.mark.parametrize(
    ("datatype", "texts", "operator", "value", "kept"),
    [
        (Datatype.DOUBLE, DOUBLES, "eq", number("100"), ["1e2", "100", "100.0"]),
        (Datatype.DOUBLE, DOUBLES, "neq", number("0.10"), [*DOUBLES[:5]]),
        (Datatype.DOUBLE, DOUBLES, "lt", number("100"), DOUBLES[3:]),
        (Datatype.DOUBLE, DOUBLES, "eq", number("0"), ["-0"]),
        (Datatype.DOUBLE, ["0.1", "0.10000000000000001", "0.2"], "eq", number("0.1"),
         ["0.1", "0.10000000000000001"]),
        (Datatype.DECIMAL, ["0.1", "0.10000000000000001", "0.2"], "eq", number("0.1"), ["0.1"]),
        (Datatype.INTEGER, ["17", "18", "19"], "gt", number("17.5"), ["18", "19"]),
        (Datatype.INTEGER, ["17", "18", "19"], "gteq", Text("18"), ["18", "19"]),
        (Datatype.INTEGER, ["9007199254740993", "9007199254740992"], "eq", number("9007199254740993"),
         ["9007199254740993"]),
        (Datatype.DATE, ["2020-01-31", "2020-02-01"], "gteq", Day(date(2020, 2, 1)), ["2020-02-01"]),
        (Datatype.DATE, ["2020-01-31", "2020-02-01"], "lt", Text("2020-02-01"), ["2020-01-31"]),
        (Datatype.DATETIME, MOMENTS, "eq", Instant(datetime(2026, 3, 1, 12, tzinfo=UTC)),
         [MOMENTS[0], MOMENTS[1], MOMENTS[3]]),
        (Datatype.DATETIME, MOMENTS, "eq",
         Instant(datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
         [MOMENTS[0], MOMENTS[1], MOMENTS[3]]),
        (Datatype.DATETIME, MOMENTS, "lt", Instant(datetime(2026, 3, 1, 12, 30)), [MOMENTS[2]]),
        (Datatype.STRING, ["18", "18.0", "é", "e\u0301"], "eq", Text("18"), ["18"]),
        (Datatype.STRING, ["18", "18.0", "é", "e\u0301"], "isAnyOf", Text("é"), ["é"]),
        (None, ["18", "18.0", "17"], "gteq", number("18"), ["18", "18.0"]),
        (None, ["18", "18.0", "17"], "eq", number("18"), ["18", "18.0"]),
        (None, ["18", "18.0", "17"], "eq", Text("18"), ["18"]),
        (None, ["18", "18.0", "9"], "gteq", Text("18"), ["18", "18.0"]),
        (None, ["2020-01-31", "2020-02-01"], "gt", Text("2020-01-31"), ["2020-02-01"]),
        (None, ["x", "18.0", "17"], "neq", Text("17"), ["x", "18.0"]),
    ],
)  # fmt: skip
def test_values_are_compared_by_the_datatype(
    tmp_path: Path,
    datatype: Datatype | None,
    texts: list[str],
    operator: str,
    value: Value,
    kept: list[str],
) -> None:
    zone = "Europe/Rome" if datatype is Datatype.DATETIME else None
    found = kept_rows(tmp_path, "note", texts, limit("note", operator, value), datatype, zone)
    assert found == sorted(kept)


@pytest.mark.parametrize(
    ("column", "operator", "values", "message"),
    [
        ("agee", "eq", [number("1")], "has no column.*Did you mean"),
        ("city", "gt", [Text("Rome")], "text, which `gt` does not order"),
        ("city", "eq", [number("1")], "cannot be compared as numbers"),
        ("city", "isAnyOf", [Text("Rome"), number("1")], "compared as texts, here with a number"),
        ("city", "eq", [Named(IRI("http://example.com/Rome"))], "here with an IRI"),
        ("city", "eq", [Truth(True)], "here with a truth value"),
        ("age", "eq", [Text("old")], "compared as numbers, here with a text"),
        ("age", "eq", [Day(date(2020, 1, 1))], "here with a date"),
        ("age", "eq", [number("1E+200")], "at most 100 digits"),
        ("born", "lt", [Instant(datetime(2020, 1, 1, tzinfo=UTC))], "here with a date-time"),
        ("born", "lt", [Text("2020-02-30")], "cannot be compared as dates"),
        ("age", "isAllOf", [number("1")], "rows cannot be limited with `isAllOf`"),
        ("age", "isA", [number("1")], "rows cannot be limited with `isA`"),
        ("age", "gt", [number("1"), number("2")], "`gt` has 2 values"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, column: str, operator: str, values: list[Value], message: str
) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        compiled(tmp_path, SOME.rows, (limit(column, operator, *values),))
    assert str(HERE) in str(caught.value)


def test_all_that_is_wrong_with_limits_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as caught:
        compiled(
            tmp_path,
            SOME.rows,
            (together("or", limit("agee", "eq", number("1")), limit("city", "gt", Text("x"))),
             limit("born", "eq", number("1"))),
        )  # fmt: skip
    assert len(caught.value.problems) == 3


def test_zoned_and_unzoned_times_need_a_zone(tmp_path: Path) -> None:
    said = limit("note", "lt", Instant(datetime(2026, 3, 1, tzinfo=UTC)))
    # Each value alone is one of the datatype, and so no record is told.
    with pytest.raises(PlanError, match=r"as date-times; .*time zone in the description"):
        kept_rows(tmp_path, "note", ["2026-03-01T12:00:00"], said, Datatype.DATETIME)


def test_a_value_that_is_none_of_the_datatype_is_refused(tmp_path: Path) -> None:
    rows = [*SOME.rows, ["p9", "", "x1", "", "", "flu", ""]]
    told = rf"`age` cannot be compared as numbers \(\w+.csv, column `age`, record {len(rows)}\)"
    with pytest.raises(PlanError, match=told):
        compiled(tmp_path, rows, (limit("age", "gt", number("1")),))


def test_an_odd_value_in_a_row_that_is_left_out_changes_nothing(tmp_path: Path) -> None:
    """Datatypes, missing respondents and repeated identifiers are about the rows that are left."""
    odd = [["", "gone", "abc", "not a date", "x", "flu", "1.5.5"]] * 2
    rows = [[*row[:1], "here", *row[2:]] for row in SOME.rows]
    limits = (limit("note", "eq", Text("here")),)
    with_odd = make(LOCAL, replace(SOME, rows=[*rows, *odd]), limits, tmp_path / "with")
    without = make(LOCAL, replace(SOME, rows=rows), limits, tmp_path / "without")
    assert with_odd is not None
    assert without is not None
    assert with_odd.bytes == without.bytes
    assert with_odd.plan == without.plan


def test_where_no_row_is_left_the_run_refuses(tmp_path: Path) -> None:
    assert make(LOCAL, SOME, (limit("city", "eq", Text("nowhere")),), tmp_path / "run") is None


# --- The plan --------------------------------------------------------------------------------------


def plans(folder: Path, *limits: tuple[Condition, ...], **types: Datatype) -> list[Plan]:
    found = []
    for n, one in enumerate(limits):
        place = folder / str(n)
        place.mkdir()
        found.append(compiled(place, SOME.rows, one, types or TYPES))
    return found


AGE, ROME = limit("age", "gteq", number("18")), limit("city", "eq", Text("Rome"))
BORN = limit("born", "lt", Day(date(2000, 1, 1)))


def test_two_spellings_of_one_limit_have_one_plan(tmp_path: Path) -> None:
    spellings: list[tuple[Condition, ...]] = [
        (AGE, together("or", ROME, BORN)),
        (together("or", BORN, together("or", ROME, BORN)), AGE, AGE),
        (together("and", AGE, together("or", BORN, ROME)),),
        (together("andSequence", limit("age", "gteq", Text("18.0")),
                  together("or", limit("city", "isAnyOf", Text("Rome")), BORN)),),
    ]  # fmt: skip
    found = plans(tmp_path, *spellings)
    assert len(set(found)) == 1
    assert len({plan_digest(plan) for plan in found}) == 1


def test_each_part_of_a_limit_is_in_the_digest(tmp_path: Path) -> None:
    found = plans(
        tmp_path, (), (AGE,), (limit("age", "gt", number("18")),), (limit("age", "gteq", number("19")),),
        (AGE, ROME), (together("or", AGE, ROME),), (together("xone", AGE, ROME),),
        (limit("spend", "gteq", number("18")),),
    )  # fmt: skip
    assert len({plan_digest(plan) for plan in found}) == len(found)


def test_no_limit_is_no_step(tmp_path: Path) -> None:
    (plan,) = plans(tmp_path, ())
    assert plan.filter is None
    assert '"filter"' not in plan_to_json(plan)
    assert explain(plan).rows is None


def test_a_plan_with_limits_survives_json_and_is_explained(tmp_path: Path) -> None:
    (plan,) = plans(tmp_path, (AGE, together("xone", ROME, together("and", BORN, AGE))))
    assert plan_from_json(plan_to_json(plan)) == plan
    assert plan.nodes[1] == plan.filter
    told = (
        "rows only those where age is at least 18; and age has a value; and born has a value; and city has"
        ' a value; and exactly one of (city is "Rome"; (age is at least 18 and born is below 2000-01-01))'
    )
    assert told in " ".join(to_text(plan).split())
    assert "exactly one of" in to_json(plan)


def test_no_value_of_the_data_tells_on_the_digest(tmp_path: Path) -> None:
    """Otherwise a reader of the digest could test guesses about values, those left out included."""
    said = (limit("note", "eq", Text("18")),)
    as_numbers = [[*row[:1], "18", *row[2:]] for row in SOME.rows]
    as_texts = [[*row[:1], "x", *row[2:]] for row in SOME.rows[:2]] + as_numbers[2:]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = compiled(tmp_path / "a", as_numbers, said), compiled(tmp_path / "b", as_texts, said)
    assert first.filter == second.filter
    assert plan_digest(first) == plan_digest(second)


def test_a_recorded_plan_leaves_out_the_same_rows(tmp_path: Path) -> None:
    made = make(LOCAL, SOME, SPARK_CASES[0], tmp_path / "run")
    assert made is not None
    read = plan_from_json(plan_to_json(made.plan))
    (tmp_path / "again").mkdir()
    with bound_table(tmp_path / "again", SOME.rows, TYPES) as (_, table):
        leave_out_rows(read, table, NOBODY)
        output, link = tmp_path / "out.csv", tmp_path / "link.npy"
        execute(read, table, output, link, lambda _: None)
    assert output.read_bytes() == made.bytes


def test_a_recorded_plan_refuses_values_of_another_datatype(tmp_path: Path) -> None:
    (plan,) = plans(tmp_path, (AGE,))
    (tmp_path / "again").mkdir()
    rows = [[*SOME.rows[0][:2], "old", *SOME.rows[0][3:]]]
    with bound_table(tmp_path / "again", rows, TYPES) as (_, table), pytest.raises(DataError) as caught:
        leave_out_rows(plan, table, NOBODY)
    assert "old" not in str(caught.value)


# --- The verifier ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An honest limited run, of which the plan can be falsified afterwards."""

    plan: Plan
    original: Original
    output: Output
    link: Path

    def verify(self, wanted: Filter | None) -> Verification:
        return verify_run(replace(self.plan, filter=wanted), self.original, self.output, self.link)

    def verify_against(self, wanted: Filter | None) -> object:
        return verify_against(replace(self.plan, filter=wanted), self.original, self.output)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    made = make(LOCAL, SOME, (AGE,), tmp_path / "run")
    assert made is not None
    folder = tmp_path / "run"
    return Case(
        made.plan,
        Original(folder / "people.csv", OutputFormat.CSV),
        Output(folder / "out.csv", OutputFormat.CSV),
        folder / "link.npy",
    )


def joint(operator: LogicalOperator, *parts: Filter) -> Filter:
    return Filter((RowLogical(operator, tuple(one for part in parts for one in part.conditions)),))


def age(operator: str, *values: str) -> Filter:
    return Filter((RowComparison("age", Operator(operator), values, Datatype.INTEGER),))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (None, "the plan keeps|others were lost"),
        (age("gteq", "42"), "the policy excludes"),
        (age("gteq", "7"), "the plan keeps|others were lost"),
        (age("neq", "41"), "the policy excludes"),
        (age("isAnyOf", "41", "7", "1000"), "the plan keeps|others were lost"),
    ],
)
def test_an_output_of_other_rows_is_refused(case: Case, wanted: Filter | None, message: str) -> None:
    with pytest.raises(GuaranteeError, match=message):
        case.verify(wanted)
    with pytest.raises(GuaranteeError):
        case.verify_against(wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        age("gteq", "41"),
        age("gt", "7"),
        age("gt", "17.5"),
        age("isAnyOf", "41", "1000.0", "5"),
        age("isNoneOf", "-3", "7"),
        joint(LogicalOperator.XONE, age("gt", "7"), age("gt", "5000")),
        joint(LogicalOperator.OR, age("eq", "41"), age("eq", "1000")),
        joint(LogicalOperator.AND, age("gt", "7"), age("neq", "0")),
    ],
)  # fmt: skip
def test_other_limits_to_the_same_rows_are_met(case: Case, wanted: Filter) -> None:
    found = case.verify(wanted)
    assert found.rows_filtered == sum(row[2] not in ("41", "1000") for row in SOME.rows)
    assert case.verify_against(wanted) is not None


@pytest.mark.parametrize("number_of_row", [0, 3])
def test_a_link_to_a_row_that_is_left_out_is_refused(case: Case, number_of_row: int) -> None:
    left_out = [i for i, row in enumerate(SOME.rows) if row[2] not in ("41", "1000")]
    link = np.load(case.link)
    link[number_of_row] = left_out[number_of_row]
    np.save(case.link, link)
    with pytest.raises(GuaranteeError, match="the policy excludes"):
        case.verify(case.plan.filter)


def test_a_row_too_few_is_refused(case: Case) -> None:
    header, rows = read_csv(case.output.path)
    write_csv(case.output.path, header, rows[1:])
    np.save(case.link, np.load(case.link)[1:])
    with pytest.raises(GuaranteeError, match=r"the plan keeps|others were lost"):
        case.verify(case.plan.filter)
    with pytest.raises(GuaranteeError, match="than the plan keeps"):
        case.verify_against(case.plan.filter)


# --- Bounds that a run asks for --------------------------------------------------------------------


def asked(word: IRI, *values: str) -> Fact:
    return Fact(word, tuple(map(number, values)))


def plan_asked(folder: Path, least: int, *asks: Fact, eq: bool = False) -> Plan:
    wanted = permission(People(SOME.rows, 3, least, 256, one_row_each=False))
    if eq:
        assert wanted.anonymization is not None
        bound = replace(wanted.anonymization.k, operator=Operator.EQ)  # type: ignore[type-var]
        wanted = replace(wanted, anonymization=replace(wanted.anonymization, k=bound))
    with bound_table(folder, SOME.rows, TYPES) as (described, table):
        return compile_plan(wanted, described, table, Options(), Circumstances(asks=asks))


@pytest.mark.parametrize(
    ("asks", "taken"),
    [
        ((), (3, 2)),
        ((asked(K, "20"),), (20, 2)),
        ((asked(K, "2"),), (3, 2)),
        ((asked(L, "3"),), (3, 3)),
        ((asked(L, "5"), asked(K, "5")), (5, 5)),
        ((asked(L, "1"),), (3, 2)),
        ((asked(K, "7"), asked(L, "4")), (7, 4)),
    ],
)
def test_a_stronger_guarantee_can_be_asked_for(
    tmp_path: Path, asks: tuple[Fact, ...], taken: tuple[int, int]
) -> None:
    guarantee = plan_asked(tmp_path, 2, *asks).apply.transform.guarantee
    assert (guarantee.k, guarantee.l) == taken


@pytest.mark.parametrize(
    ("least", "asks", "eq", "message"),
    [
        (1, [asked(L, "2")], False, "does not promise l-diversity"),
        (2, [asked(K, "4")], True, "requested k = 4, but the policy requires exactly 3"),
        (2, [asked(L, "4")], True, "requested l = 4 with k = 3"),
        (2, [asked(L, "4")], False, "requested l = 4 with k = 3"),
        (2, [asked(K, "4.5")], False, "the requested k is not a valid bound"),
        (2, [asked(K, "4", "5")], False, "the requested k is not a valid bound"),
        (2, [Fact(K, (Text("4"),))], False, "the requested k is not a valid bound"),
        (2, [asked(IRI("https://w3id.org/smalti#t"), "4")], False, "a run cannot request"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(
    tmp_path: Path, least: int, asks: list[Fact], eq: bool, message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        plan_asked(tmp_path, least, *asks, eq=eq)


def test_the_brute_force_reading_tells_conditions_apart() -> None:
    """The oracle of this file is no constant."""
    found = {
        tuple(satisfies(row, one) for row in SOME.rows)
        for one in itertools.chain(*SPARK_CASES, (AGE, ROME, BORN))
    }
    assert len(found) == 7
