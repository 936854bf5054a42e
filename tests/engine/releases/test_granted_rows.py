"""Limits to rows of releases: as those of other runs, but that no value is a failure."""

from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from release_policies import HEADER, ROWS, TARGET
from tables import write_csv

from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import STAGED
from smalti.engine.binding.kept_rows import keep_satisfying
from smalti.engine.plan.plan import Filter, OutputFormat, RowComparison, RowLogical
from smalti.engine.releases.granted_rows import keep_granted, satisfying, without_rows
from smalti.engine.tables.description import Description, Source
from smalti.errors import DataError
from smalti.policy.model.model import LogicalOperator, Operator
from smalti.transforms.base import Datatype

ORDERINGS = (Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ)
ANY = (*ORDERINGS, Operator.EQ, Operator.NEQ)
ROME = "Europe/Rome"
GOOD = {
    Datatype.STRING: ["a", "b", "", "é", "1", "1.0", "\U0001f600"],
    Datatype.INTEGER: ["0", "-0", "7", "-12", "9" * 90],
    Datatype.DECIMAL: ["0", "7", "7.0", "7.00001", "-1.5", "1" * 60 + ".5"],
    Datatype.DOUBLE: ["0", "7", "7.0e0", "70e-1", "1e300", "-1E-300", "0.1", "0.10"],
    Datatype.DATE: ["2024-01-31", "2024-02-29", "0001-01-01", "9999-12-31"],
    Datatype.DATETIME: ["2024-01-31T09:00", "2024-01-31 09:00:00", "2024-10-27T02:30",
                        "2024-01-31T09:00:00.5"],
}  # fmt: skip
BAD = {
    Datatype.INTEGER: ["x", "1.0", "007", "NaN", "", "1" * 101],
    Datatype.DECIMAL: ["x", "1e3", ".5", "INF"],
    Datatype.DOUBLE: ["x", "NaN", "INF", "1e9999", "0x10"],
    Datatype.DATE: ["x", "2024-02-30", "2023-02-29", "0000-01-01", "2024-1-31", "2024-13-01"],
    Datatype.DATETIME: ["x", "2024-02-30T00:00", "2024-01-31T25:00", "2024-01-31T09:00:61",
                        "2024-03-31T02:30", "2024-01-31T09:00+25:00"],
}  # fmt: skip
"""`2024-03-31T02:30` is no time in Rome, where clocks go forward."""
TYPES = tuple(GOOD)


@st.composite
def comparisons(draw: st.DrawFn) -> RowComparison:
    datatype = draw(st.sampled_from(TYPES))
    operators = ANY if datatype.is_ordered else ANY[4:]
    values = draw(st.sampled_from([text for text in GOOD[datatype] if text]))
    if draw(st.booleans()):
        operator = draw(st.sampled_from([Operator.IS_ANY_OF, Operator.IS_NONE_OF]))
        some = draw(st.lists(st.sampled_from([text for text in GOOD[datatype] if text]), unique=True))
        if len(some) > 1 or (not some and operator is Operator.IS_NONE_OF):
            return RowComparison("note", operator, tuple(sorted(some)), datatype)
    return RowComparison("note", draw(st.sampled_from(operators)), (values,), datatype)


def kept(
    folder: Path,
    texts: list[str],
    wanted: Filter,
    zone: str | None,
    *,
    is_strict: bool,
    backend: Backend = LocalBackend(),  # noqa: B008
) -> list[int]:
    """The numbers of the rows that are left, by either way."""
    data, workspace = folder / "visits.csv", folder / f"work-{backend.name}-{is_strict}"
    workspace.mkdir()
    write_csv(data, HEADER, [["a", "f", "1", "north", "", text] for text in texts])
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    keep = keep_satisfying if is_strict else keep_granted
    with closing(backend.open(source, workspace)) as table:
        keep(table, wanted, lambda _: zone)
        found = table.relations.take(f"SELECT row FROM {STAGED} ORDER BY row")
        numbers: list[int] = found.column("row").to_pylist()
        return numbers


@settings(max_examples=examples(40), deadline=None)
@given(comparisons(), comparisons(), st.data())
def test_on_values_of_the_datatype_the_two_agree(
    tmp_path_factory: pytest.TempPathFactory, one: RowComparison, other: RowComparison, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(st.sampled_from(GOOD[one.datatype]), max_size=12))
    both: Filter = Filter((one,))
    if other.datatype is one.datatype:
        operator = data.draw(st.sampled_from([LogicalOperator.OR, LogicalOperator.XONE]))
        both = Filter((RowLogical(operator, (one, other)),))
    folder = tmp_path_factory.mktemp("rows")
    strict = kept(folder, texts, both, ROME, is_strict=True)
    assert kept(folder, texts, both, ROME, is_strict=False) == strict


@settings(max_examples=examples(300), deadline=None)
@given(comparisons(), st.data())
def test_each_text_is_judged_by_itself_and_what_is_no_value_satisfies_nothing(
    one: RowComparison, data: st.DataObject
) -> None:
    zone = data.draw(st.sampled_from([None, ROME]))
    bad = BAD.get(one.datatype, [])
    if zone is None:
        bad = [text for text in bad if text != "2024-03-31T02:30"]
    pool = [*filter(None, GOOD[one.datatype]), *filter(None, bad)]
    texts = data.draw(st.lists(st.sampled_from(pool), unique=True))
    together = satisfying(one, pa.array(texts, pa.string()), zone).tolist()
    alone = [bool(satisfying(one, pa.array([text], pa.string()), zone)[0]) for text in texts]
    assert together == alone
    assert not any(found for text, found in zip(texts, together, strict=True) if text in bad)


def test_a_run_of_published_rows_ends_where_a_release_goes_on(tmp_path: Path) -> None:
    """The difference that this module is for: the strict way raises because of one value."""
    wanted = Filter((RowComparison("note", Operator.LT, ("10",), Datatype.INTEGER),))
    texts = ["9", "x", "11", "", "9.5"]
    assert kept(tmp_path, texts, wanted, None, is_strict=False) == [0]
    with pytest.raises(DataError):
        kept(tmp_path, texts, wanted, None, is_strict=True)


@pytest.mark.spark
def test_spark_leaves_out_the_same_rows(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (it needs the extra)

    both = (RowComparison("note", Operator.LT, ("10",), Datatype.DECIMAL),
            RowComparison("note", Operator.IS_NONE_OF, ("9", "7"), Datatype.INTEGER))  # fmt: skip
    wanted = Filter((RowLogical(LogicalOperator.OR, both),))
    texts = ["9", "x", "11", "", "9.5", "NaN", "7", "1e1", "\U0001f600"]
    there = SparkBackend(spark)  # type: ignore[arg-type]
    found = kept(tmp_path, texts, wanted, None, is_strict=False, backend=there)
    assert found == kept(tmp_path, texts, wanted, None, is_strict=False) == [0, 2, 4, 6]


@pytest.mark.parametrize(("wanted", "found"), [("2024-01-01T00:00", [0]), ("2024-01-01T00:00Z", [1])])
def test_without_a_zone_times_are_compared_with_their_like(wanted: str, found: list[int]) -> None:
    """Else what one row says of zones would decide over the rows of others."""
    later = RowComparison("seen", Operator.GT, (wanted,), Datatype.DATETIME)
    texts = pa.array(["2024-01-31T09:00", "2024-01-31T09:00Z"])
    assert satisfying(later, texts, None).nonzero()[0].tolist() == found
    assert satisfying(later, texts, ROME).all()


def test_a_table_without_rows_looks_at_none(tmp_path: Path) -> None:
    data, workspace = tmp_path / "visits.csv", tmp_path / "work"
    workspace.mkdir()
    write_csv(data, HEADER, ROWS)
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    with closing(LocalBackend().open(source, workspace)) as table:
        empty = without_rows(table)
        assert [len(empty.texts(name)) for name in HEADER] == [0] * len(HEADER)
        assert len(table.texts("age")) == 3
