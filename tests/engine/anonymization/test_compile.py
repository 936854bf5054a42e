"""From a permission to a plan: bounds, roles, and what stands against it."""

from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import HEADER, HERE, TARGET, People, permission, write_csv

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.explain import explain
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Options
from smalti.engine.plan.plan import OutputFormat, Plan, RespondentColumn, Role
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.errors import PlanError, SmaltiError
from smalti.policy.model.model import (
    Anonymization,
    Bound,
    Comparison,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
)
from smalti.vocab.terms import COLUMN, IRI, ODRL, SMALTI

ROWS = [[f"p{n % 6}", "x", str(20 + n), "1990-01-31", "Rome", f"i{n % 3}", "1.5"] for n in range(12)]


def compiled(folder: Path, rows: list[list[str]] = ROWS, **changes: object) -> Plan:
    table = People(rows, k=2, l=2, cut_threshold=256, one_row_each=False)
    asked = permission(table)
    assert isinstance(asked.anonymization, Anonymization)
    asked = replace(asked, anonymization=replace(asked.anonymization, **changes))  # type: ignore[arg-type]
    data, workspace = folder / "people.csv", folder / "work"
    workspace.mkdir()
    write_csv(data, HEADER, rows)
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    with closing(LocalBackend().open(source, workspace)) as bound:
        return compile_plan(asked, source, bound, Options())


def bounds(k: tuple[Operator, int], least: tuple[Operator, int]) -> dict[str, Bound]:
    return {"k": Bound(*k, HERE), "l": Bound(*least, HERE)}


@pytest.mark.parametrize(
    ("k", "least", "taken"),
    [
        ((Operator.GTEQ, 2), (Operator.GTEQ, 2), (2, 2)),
        ((Operator.GTEQ, 2), (Operator.GTEQ, 5), (5, 5)),
        ((Operator.EQ, 5), (Operator.GTEQ, 5), (5, 5)),
        ((Operator.GTEQ, 10), (Operator.EQ, 3), (10, 3)),
    ],
)
def test_the_bound_itself_is_taken_and_k_rises_to_l(
    tmp_path: Path, k: tuple[Operator, int], least: tuple[Operator, int], taken: tuple[int, int]
) -> None:
    guarantee = compiled(tmp_path, **bounds(k, least)).apply.transform.guarantee
    assert (guarantee.k, guarantee.l) == taken


def test_each_column_has_its_role_and_what_is_not_named_is_dropped(tmp_path: Path) -> None:
    plan = compiled(tmp_path)
    assert {c.name: c.role for c in plan.read.columns} == {
        "who": Role.IDENTIFIER, "note": Role.UNLISTED, "age": Role.QUASI_IDENTIFIER,
        "born": Role.QUASI_IDENTIFIER, "city": Role.QUASI_IDENTIFIER, "illness": Role.SENSITIVE,
        "spend": Role.RELEASED,
    }  # fmt: skip
    assert plan.select.dropped == ("who", "note")
    assert plan.read.respondent == RespondentColumn("who")


def test_released_columns_and_sets_are_pointed_out(tmp_path: Path) -> None:
    told = explain(compiled(tmp_path))
    assert "released columns are published unchanged, without any guarantee: spend" in told.warnings
    assert "sets list every value of a class, exactly: city" in told.warnings
    assert any("treated as text" in warning and warning.endswith(": city") for warning in told.warnings)
    assert any(line.endswith("by themselves: spend") for line in told.not_protected)


def test_one_odd_date_makes_a_column_text_and_that_is_said(tmp_path: Path) -> None:
    rows = [*ROWS[:-1], [*ROWS[-1][:3], "NA", *ROWS[-1][4:]]]
    told = explain(compiled(tmp_path, rows))
    assert any("treated as text" in warning and "born" in warning for warning in told.warnings)


def test_a_released_respondent_is_refused(tmp_path: Path) -> None:
    who = permission(People(ROWS, 2, 2, 256, False)).anonymization
    assert who is not None
    with pytest.raises(PlanError, match="the respondent `who` would be published"):
        compiled(tmp_path, identifiers=(), released=who.identifiers)


def test_semicolons_between_fields_are_named_where_columns_are_missing(tmp_path: Path) -> None:
    data, workspace = tmp_path / "people.csv", tmp_path / "work"
    workspace.mkdir()
    data.write_text("who;age\np1;30\n")
    asked = permission(People(ROWS, 2, 2, 256, False))
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    with (
        closing(LocalBackend().open(source, workspace)) as bound,
        pytest.raises(SmaltiError, match="fields must be separated by commas"),
    ):
        compile_plan(asked, source, bound, Options())


def problem(folder: Path, header: tuple[str, ...], kind: OutputFormat, *described: str) -> str:
    """What is said of a table without the columns that the policy names."""
    data, workspace = folder / f"people.{kind}", folder / "work"
    workspace.mkdir()
    if kind is OutputFormat.PARQUET:
        pq.write_table(pa.Table.from_arrays([pa.array(["x"])] * len(header), header), data)
    else:
        write_csv(data, header, [])
    columns = tuple(ColumnDescription(name, None, None, None) for name in described)
    source = Source(TARGET, data, kind, Description(columns))
    with closing(LocalBackend().open(source, workspace)) as bound, pytest.raises(SmaltiError) as caught:
        compile_plan(permission(People(ROWS, 2, 2, 256, False)), source, bound, Options())
    return str(caught.value)


# Each like a column of the policy, so that it would be suggested.
FIRST_RECORD = ("whom", "notes", "agee", "borne", "citty", "ilness", "spent")


@pytest.mark.parametrize("described", [(), HEADER])
def test_a_first_record_in_place_of_the_header_is_never_repeated(
    tmp_path: Path, described: tuple[str, ...]
) -> None:
    told = problem(tmp_path, FIRST_RECORD, OutputFormat.CSV, *described)
    assert "The data has 7 columns: its first record must be the header" in told
    assert not any(word in told for word in FIRST_RECORD)


def test_what_the_description_names_is_suggested_and_listed(tmp_path: Path) -> None:
    told = problem(tmp_path, (*FIRST_RECORD[:6], "x"), OutputFormat.CSV, "agee", "x", "nothing")
    assert f"Did you mean `{TARGET}/agee`?" in told
    assert "The data has 7 columns; of those, policy and description name `agee`, `x`" in told
    assert not any(word in told for word in FIRST_RECORD if word != "agee")


def test_no_farther_column_is_suggested_than_the_nearest(tmp_path: Path) -> None:
    """The nearest one is named by nobody, and may be a value: it is told by its place."""
    told = problem(tmp_path, ("who", "note", "age", "agesss", "city"), OutputFormat.CSV, "agess")
    assert "the closest name is that of column 4" in told
    assert "agesss" not in told
    assert "did you mean `age`" not in told


def test_what_the_policy_names_is_suggested_to_the_description(tmp_path: Path) -> None:
    told = problem(tmp_path, ("city", "ilness"), OutputFormat.CSV, "ciity", "illness")
    assert (
        "the data has no column `ciity`; expected the columns of the file's header. Did you mean `city`?"
        in told
    )
    assert "ilness`" not in told


@pytest.mark.parametrize(
    ("cell", "spelled"), [("AGE", "AGE"), (" age", "%20age"), ("Age\u00a0", "Age%C2%A0")]
)
def test_a_name_that_differs_in_case_and_blanks_alone_is_shown(
    tmp_path: Path, cell: str, spelled: str
) -> None:
    told = problem(tmp_path, ("secret", cell), OutputFormat.CSV)
    first, meant = f"no column `{TARGET}/age`; expected ", f"Did you mean `{TARGET}/{spelled}`?"
    assert meant in told[told.index(first) :].splitlines()[0]
    assert "secret" not in told


def test_the_names_of_a_parquet_file_are_no_row_and_are_listed(tmp_path: Path) -> None:
    told = problem(tmp_path, (*FIRST_RECORD[:6], "x"), OutputFormat.PARQUET)
    assert f"Did you mean `{TARGET}/agee`?" in told
    assert "The columns of the data are `whom`, `notes`, `agee`, `borne`, `citty`, `ilness`, `x`" in told


def test_words_that_no_transform_heeds_are_refused_by_name_and_all_at_once(tmp_path: Path) -> None:
    share = Comparison(IRI(ODRL + "fileFormat"), Operator.EQ, (Text("90"),), where=HERE)
    scale = Comparison(IRI(ODRL + "language"), Operator.EQ, (Text("1"),), where=HERE)
    column = Comparison(COLUMN, Operator.EQ, (Named(IRI(f"{TARGET}/age")),), where=HERE)
    with pytest.raises(SmaltiError) as caught:
        compiled(
            tmp_path, parameters=(share, Logical(LogicalOperator.AND, (column, scale), HERE)),
        )  # fmt: skip
    for name in ("odrl:fileFormat", "odrl:language"):
        assert f"`{name}` is not implemented yet" in str(caught.value)


def test_a_budget_that_nobody_keeps_is_refused(tmp_path: Path) -> None:
    budget = Comparison(IRI(SMALTI + "budgetEpsilon"), Operator.LTEQ, (Number(Decimal(1)),), where=HERE)
    asked = replace(permission(People(ROWS, 2, 2, 256, False)), constraints=(budget,))
    data, workspace = tmp_path / "people.csv", tmp_path / "work"
    workspace.mkdir()
    write_csv(data, HEADER, ROWS)
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    with (
        closing(LocalBackend().open(source, workspace)) as bound,
        pytest.raises(PlanError, match="`smalti:budgetEpsilon` is not implemented yet"),
    ):
        compile_plan(asked, source, bound, Options())


def test_records_are_left_out_by_one_algorithm_alone(tmp_path: Path) -> None:
    limit = Comparison(
        IRI(SMALTI + "suppressionLimit"), Operator.LTEQ, (Number(Decimal("0.1")),), where=HERE
    )
    with pytest.raises(PlanError, match="not implemented yet for the algorithm `mondrian`"):
        compiled(tmp_path, parameters=(limit,))
