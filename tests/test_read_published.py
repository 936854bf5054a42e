"""Published tables are read as what their labels say: bounds hold the original, whatever it was."""

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from published_folders import write_certificate, write_folder
from shell import CUSTOMER, OWNER, USER, small_policy, small_table

import smalti
from smalti.engine.plan.published_columns import DeclaredType, LabelForm
from smalti.errors import BackendError, DataError, GuaranteeError, SmaltiError, UsageError
from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.texts import LEXICAL_FORMS, ValueFormError, make_codebook

RANGES, SETS = LabelForm.RANGES, LabelForm.SETS
ROME = "Europe/Rome"


# --- For every value that the grammar allows


@dataclass(frozen=True)
class Column:
    """Originals of one datatype, and which of them share a label."""

    datatype: Datatype
    texts: list[str | None]
    classes: list[int]
    zone: str | None = None

    @property
    def labels(self) -> list[str | None]:
        """By row: what a run publishes."""
        distinct = list(dict.fromkeys(text for text in self.texts if text is not None))
        try:
            book = make_codebook(pa.array(distinct, pa.string()), self.datatype, self.zone, True)
        except ValueFormError:
            assume(False)
        code = dict(zip(distinct, book.codes.tolist(), strict=True))
        codes = np.array([MISSING if text is None else code[text] for text in self.texts], np.int64)
        _, classes = np.unique(np.array(self.classes), return_inverse=True)
        by_class = class_labels(book, codes, classes).to_pylist()
        return [by_class[number] for number in classes]

    def published(self, folder: Path, is_declared: bool) -> Path:
        form = RANGES if self.datatype.is_ordered else SETS
        declared = DeclaredType("x", self.datatype if is_declared else None, self.zone)
        stated = [declared] if self.datatype.is_ordered and (is_declared or self.zone) else []
        return write_folder(folder, {"x": self.labels}, {"x": form}, stated)


def of(
    datatype: Datatype, texts: st.SearchStrategy[str], zone: str | None = None
) -> st.SearchStrategy[Column]:
    rows = st.lists(st.tuples(st.one_of(st.none(), texts), st.integers(0, 3)), min_size=1, max_size=10)
    return rows.map(lambda drawn: Column(datatype, [t for t, _ in drawn], [c for _, c in drawn], zone))


def shaped(datatype: Datatype) -> st.SearchStrategy[str]:
    return st.from_regex(rf"\A(?:{LEXICAL_FORMS[datatype]})\Z")


def clocks(offsets: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fraction = st.text("0123456789", min_size=0, max_size=9).map(lambda digits: digits and f".{digits}")
    moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)).map(
        lambda moment: moment.replace(microsecond=0).isoformat()
    )
    return st.tuples(moments, fraction, offsets).map("".join)


INTEGERS = st.one_of(st.integers(-200, 200).map(str), shaped(Datatype.INTEGER))
DECIMALS = st.one_of(
    st.decimals("-9", "9", places=2).map(lambda n: format(n, "f")), shaped(Datatype.DECIMAL)
)
DOUBLES = st.one_of(shaped(Datatype.DOUBLE), st.floats(allow_nan=False, allow_infinity=False).map(repr))
ZONES = st.sampled_from(["Z", "+14:00", "-11:30"])
COLUMNS = st.one_of(
    of(Datatype.INTEGER, INTEGERS),
    of(Datatype.DECIMAL, DECIMALS),
    of(Datatype.DOUBLE, DOUBLES.filter(lambda text: abs(float(text)) < float("inf"))),
    of(Datatype.DATE, st.dates().map(date.isoformat)),
    of(Datatype.DATETIME, clocks(st.just(""))),
    of(Datatype.DATETIME, clocks(ZONES)),
    of(Datatype.DATETIME, clocks(st.one_of(st.just(""), ZONES)), ROME),
)
TEXTS = of(Datatype.STRING, st.text(alphabet='ab[]{}|\\.,é\n"', min_size=1, max_size=5))


def seconds(text: str, zone: str | None) -> Decimal:
    """Since 1970 in UTC, by Python's calendar and clocks."""
    head, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    moment = datetime.fromisoformat(head if not rest else head + rest.removeprefix(digits))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
    since = moment.replace(tzinfo=None) - datetime(1970, 1, 1) - (moment.utcoffset() or timedelta())
    return Decimal(since.days * 86_400 + since.seconds) + Decimal(f"0.{digits or 0}")


def numbers(column: Column, array: pa.ChunkedArray) -> list[Decimal | None]:
    """Typed values as exact numbers; times in seconds."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        unit = Decimal(10) ** (-9 if kind.unit == "ns" else -6)
        return [None if n is None else n * unit for n in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [None if n is None else Decimal(n) for n in array.cast(pa.int32()).to_pylist()]
    return [None if n is None else Decimal(n) for n in array.to_pylist()]


def number(column: Column, text: str, kind: pa.DataType) -> Decimal:
    """The original in the same units; as a double where the bounds are doubles."""
    if column.datatype is Datatype.DATE:
        return Decimal((date.fromisoformat(text) - date(1970, 1, 1)).days)
    if column.datatype is Datatype.DATETIME:
        return seconds(text, column.zone)
    return Decimal(float(text)) if pa.types.is_floating(kind) else Decimal(text)


@settings(max_examples=examples(150), deadline=None)
@example(Column(Datatype.DOUBLE, ["5e-324"], [0], None), True, "float")
@example(Column(Datatype.DOUBLE, ["1.7e308", "1.7976931348623157e308"], [0, 0], None), True, "float")
@given(column=COLUMNS, is_declared=st.booleans(), decimals=st.sampled_from(["float", "exact"]))
def test_bounds_hold_the_original(
    tmp_path_factory: pytest.TempPathFactory, column: Column, is_declared: bool, decimals: str
) -> None:
    is_declared = is_declared or column.datatype is Datatype.DOUBLE  # which is never inferred
    folder = column.published(tmp_path_factory.mktemp("published"), is_declared)
    try:
        table = smalti.read_published(folder, decimals=decimals)
    except DataError:
        with pytest.raises(DataError, match="a number has more than 76 digits"):
            smalti.read_published(folder, decimals=decimals)
        assert decimals == "exact"
        return
    low, high, mid = (numbers(column, table[f"x.{end}"]) for end in ("low", "high", "mid"))
    kind, missing = table.schema.field("x.low").type, table["x.missing"].to_pylist()
    for row, text in enumerate(column.texts):
        if text is None:
            assert missing[row]
            continue
        first, last, between = low[row], high[row], mid[row]
        assert first is not None
        assert last is not None
        assert between is not None
        assert first <= number(column, text, kind) <= last
        if not pa.types.is_integer(kind):
            assert first <= between <= last
    for label, first, is_missing in zip(column.labels, low, missing, strict=True):
        assert (first is None) == (label is None)
        assert is_missing == (label is None or label.endswith("|]"))


@settings(max_examples=examples(60), deadline=None)
@given(column=TEXTS)
def test_sets_hold_the_original_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, column: Column
) -> None:
    table = smalti.read_published(column.published(tmp_path_factory.mktemp("published"), False))
    values, missing = table["x.values"].to_pylist(), table["x.missing"].to_pylist()
    for row, held in enumerate(values):
        inside = {t for t, c in zip(column.texts, column.classes, strict=True) if c == column.classes[row]}
        assert set(held) == inside - {None}
        assert missing[row] == (None in inside)
    assert table.schema.field("x.values").type == pa.list_(pa.string())


def test_under_the_root_of_a_hierarchy_a_value_may_be_missing(tmp_path: Path) -> None:
    labels = ["1004*", "*", "{*|1004*}", "{1004*|1005*|}", None, "{a|b}"]
    write_folder(tmp_path, {"x": labels}, {"x": LabelForm.NODES})
    table = smalti.read_published(tmp_path)
    assert table["x.missing"].to_pylist() == [False, True, True, True, True, False]
    assert table["x.values"].to_pylist() == [
        ["1004*"], ["*"], ["*", "1004*"], ["1004*", "1005*"], [], ["a", "b"],
    ]  # fmt: skip
    write_folder(tmp_path, {"x": labels}, {"x": LabelForm.SETS})
    assert smalti.read_published(tmp_path)["x.missing"].to_pylist() == [False] * 3 + [True, True, False]


# --- Names and types


def read(folder: Path, texts: Sequence[str | None], datatype: str | None, **choices: Any) -> pa.Table:
    stated = DeclaredType("x", None if datatype is None else Datatype(datatype), choices.pop("zone", None))
    declared = [stated] if stated.datatype or stated.time_zone else []
    write_folder(folder, {"x": texts, "kept": ["1"] * len(texts)}, {"x": RANGES}, declared)
    return smalti.read_published(folder, columns=["x"], **choices)


@pytest.mark.parametrize(
    ("datatype", "labels", "decimals", "kind", "low", "high", "mid"),
    [
        ("integer", ["[17..34|]"], "float", pa.int64(), 17, 34, 25.5),
        ("integer", ["42"], "float", pa.int64(), 42, 42, 42.0),
        ("integer", ["[1..20000000000000000000]"], "float", pa.float64(), 1.0, 2e19, 1e19),
        ("decimal", ["[70.50..71.5]"], "float", pa.float64(), 70.5, 71.5, 71.0),
        ("decimal", ["[70.50..71.5]"], "exact", pa.decimal128(38, 2), Decimal("70.5"), Decimal("71.5"),
         Decimal(71)),
        ("double", ["[1e-3..2.5]"], "exact", pa.float64(), 0.001, 2.5, 1.2505),
        ("date", ["[1950-01-31..1950-02-03]"], "float", pa.date32(), date(1950, 1, 31), date(1950, 2, 3),
         date(1950, 2, 1)),
        ("dateTime", ["[2024-01-01T00:00..2024-01-01T00:00:01]"], "float", pa.timestamp("us"),
         datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1), datetime(2024, 1, 1, 0, 0, 0, 500_000)),
        (None, ["[17..34]"], "float", pa.int64(), 17, 34, 25.5),
        (None, ["[1.5..2]"], "float", pa.float64(), 1.5, 2.0, 1.75),
        (None, ["2024-01-01"], "float", pa.date32(), *[date(2024, 1, 1)] * 3),
    ],
)  # fmt: skip
def test_types_are_those_that_are_declared_or_the_labels_have(
    tmp_path: Path, datatype: str | None, labels: list[str], decimals: str, kind: pa.DataType,
    low: object, high: object, mid: object,
) -> None:  # fmt: skip
    table = read(tmp_path, labels, datatype, decimals=decimals)
    assert table.column_names == ["x.low", "x.high", "x.mid", "x.missing"]
    assert table.schema.field("x.low").type == table.schema.field("x.high").type == kind
    assert table.to_pylist() == [
        {"x.low": low, "x.high": high, "x.mid": mid, "x.missing": labels[0].endswith("|]")}
    ]


def test_a_declared_zone_is_that_of_the_column_and_mixed_notations_are_one_instant(tmp_path: Path) -> None:
    table = read(tmp_path, ["[2024-07-01T12:00..2024-07-01T12:00:00Z]"], "dateTime", zone=ROME)
    assert table.schema.field("x.low").type == pa.timestamp("us", ROME)
    noon = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo(ROME))
    assert table.to_pylist()[0] == {
        "x.low": noon, "x.high": noon + timedelta(hours=2), "x.mid": noon + timedelta(hours=1),
        "x.missing": False,
    }  # fmt: skip
    utc = read(tmp_path, ["2024-07-01T12:00+02:00"], None)
    assert utc.schema.field("x.low").type == pa.timestamp("us", "UTC")


def test_nanoseconds_stay_where_they_fit_and_are_rounded_outwards_where_not(tmp_path: Path) -> None:
    near = read(tmp_path, ["2024-01-01T00:00:00.123456789"], "dateTime")
    assert near.schema.field("x.low").type == pa.timestamp("ns")
    far = read(tmp_path, ["1000-01-01T00:00:00.123456789"], "dateTime")
    assert far["x.low"].to_pylist() == [datetime(1000, 1, 1, 0, 0, 0, 123456)]
    assert far["x.high"].to_pylist() == [datetime(1000, 1, 1, 0, 0, 0, 123457)]


def test_numbers_that_no_exact_type_has_room_for_are_doubles(tmp_path: Path) -> None:
    huge = "9" * 90
    write_folder(tmp_path, {"x": [f"[{huge}..{huge}.5]"]}, {"x": RANGES})
    table = smalti.read_published(tmp_path)
    assert table["x.low"].to_pylist() == [float(huge)]
    with pytest.raises(DataError, match="more than 76 digits"):
        smalti.read_published(tmp_path, decimals="exact")


def test_kept_columns_are_text_unless_they_are_declared_or_the_reader_says_so(tmp_path: Path) -> None:
    columns = {"x": ["1", "2"], "code": ["007", None], "amount": ["1.50", "2"], "since": ["2024-01-01"] * 2}
    write_folder(tmp_path, columns, {"x": RANGES}, [DeclaredType("amount", Datatype.DECIMAL)])
    table = smalti.read_published(tmp_path, datatypes={"since": "date"})
    assert table.schema.field("code").type == pa.string()
    assert table["code"].to_pylist() == ["007", None]
    assert table["amount"].to_pylist() == [1.5, 2.0]
    assert table["since"].to_pylist() == [date(2024, 1, 1)] * 2
    as_texts = smalti.read_published(tmp_path, columns=["amount"], datatypes={"amount": "string"})
    assert as_texts["amount"].to_pylist() == ["1.50", "2"]


def test_two_columns_never_have_one_name(tmp_path: Path) -> None:
    write_folder(tmp_path, {"x": ["1"], "x.low": ["a"]}, {"x": RANGES})
    with pytest.raises(UsageError, match=r"two columns would be called `x\.low`.*separator"):
        smalti.read_published(tmp_path)
    table = smalti.read_published(tmp_path, separator="__")
    assert table.column_names == ["x__low", "x__high", "x__mid", "x__missing", "x.low"]


def test_a_certificate_that_does_not_say_the_form_asks_for_the_datatype(tmp_path: Path) -> None:
    write_folder(tmp_path, {"x": ["[1..2]"]}, {"x": RANGES}, has_forms=False)
    with pytest.raises(UsageError, match=r'datatypes=\{"x": "integer"\}'):
        smalti.read_published(tmp_path)
    assert smalti.read_published(tmp_path, datatypes={"x": "integer"})["x.high"].to_pylist() == [2]
    write_folder(tmp_path, {"x": ["{a|b}"]}, {"x": SETS}, has_forms=False)
    table = smalti.read_published(tmp_path, datatypes={"x": "string"})
    assert table["x.values"].to_pylist() == [["a", "b"]]


# --- What runs publish


def ran(folder: Path, data: Path, **choices: Any) -> smalti.Outcome:
    return smalti.run(
        small_policy(folder), data={CUSTOMER: data}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / "out", registry=folder / "smalti.sqlite", **choices,
    )  # fmt: skip


@pytest.mark.parametrize("choices", [{}, {"output_format": "parquet"}, {"rows_per_part": 3}], ids=str)
def test_what_a_run_publishes_is_read_the_same_from_any_files(
    tmp_path: Path, choices: dict[str, Any]
) -> None:
    outcome = ran(tmp_path, small_table(tmp_path), **choices)
    table = smalti.read_published(tmp_path / "out")
    assert table.column_names == [
        "age.low", "age.high", "age.mid", "age.missing", "city.values", "city.missing", "illness",
    ]  # fmt: skip
    assert table.equals(outcome.to_arrow())
    assert outcome.version is not None
    first = outcome.version.files[0].name
    alone = smalti.read_published(tmp_path / "out" / first)
    assert alone.num_rows == (table.num_rows if len(outcome.version.files) == 1 else 3)


def test_outcomes_are_data_frames(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    outcome = ran(tmp_path, small_table(tmp_path))
    frame = outcome.to_pandas(columns=["age", "city"])
    assert frame["age.low"].dtype == pd.Int64Dtype()
    assert frame["age.mid"].dtype == np.float64
    assert frame["age.missing"].dtype == np.bool_
    assert list(frame["city.values"][0]) == outcome.to_arrow()["city.values"][0].as_py()
    pd.testing.assert_frame_equal(
        frame, smalti.read_published(tmp_path / "out", as_="pandas", columns=["age", "city"])
    )


def test_whole_numbers_keep_all_digits_beside_missing_ones_in_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    write_folder(
        tmp_path, {"x": ["9007199254740993", None], "d": ["2024-01-01"] * 2}, {"x": RANGES, "d": RANGES}
    )
    frame = smalti.read_published(tmp_path, as_="pandas")
    assert frame["x.low"][0] == 9007199254740993
    assert frame["x.low"].isna().tolist() == [False, True]
    assert str(frame["d.low"].dtype).startswith("datetime64")


def test_polars(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    outcome = ran(tmp_path, small_table(tmp_path))
    frame = smalti.read_published(tmp_path / "out", as_="polars")
    assert isinstance(frame, polars.DataFrame)
    assert frame.equals(outcome.to_polars())
    assert frame["city.values"].to_list() == outcome.to_arrow()["city.values"].to_pylist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BackendError, match=rf"{library.title()}|{library} is not installed") as error:
        smalti.read_published(tmp_path, as_=library)
    assert re.search(r"pip install '(pandas|\.\[frames\])", str(error.value))


def test_a_denial_is_no_table(tmp_path: Path) -> None:
    outcome = smalti.run(
        small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, party="http://example.com/stranger",
        owner=OWNER, purpose="marketing", out=tmp_path / "out", registry=tmp_path / "smalti.sqlite",
    )  # fmt: skip
    with pytest.raises(UsageError, match="nothing was published"):
        outcome.to_arrow()


FIXTURES = Path(__file__).parent / "fixtures" / "before-kinds"


def test_statistics_and_perturbed_records_are_plain_columns() -> None:
    table = smalti.read_published(FIXTURES / "statistics")
    assert table["value"].to_pylist() == [98.0, 103.0]
    assert table["group"].to_pylist() == ["a", "b"]
    assert smalti.read_published(FIXTURES / "noisy").column_names == ["group"]


def test_a_model_is_no_table() -> None:
    with pytest.raises(UsageError, match="holds no table"):
        smalti.read_published(FIXTURES / "model")


# --- Files of strangers


@pytest.mark.parametrize(
    ("form", "label"),
    [
        (RANGES, "[1..]"), (RANGES, "[1..2"), (RANGES, "[2..1]"), (RANGES, "{1|2}"), (RANGES, "wombat"),
        (RANGES, "[1..2]x"), (RANGES, "[1...2]"), (RANGES, "[1..2..3]"), (RANGES, "\n1"), (RANGES, "1\n"),
        (RANGES, "[1..wombat]"), (RANGES, "2023-02-30"), (RANGES, "[2024-01-01..7]"),
        (SETS, "{a"), (SETS, "{}"), (SETS, "{|}"), (SETS, "{a||b}"), (SETS, "{b|a}"), (SETS, "{a|a}"),
        (SETS, "[wombat"), (SETS, "\\"), (SETS, "\\a"), (SETS, "{a\\"), (SETS, "{a\\b}"), (SETS, "{a{b}"),
        (SETS, "{a}x"), (SETS, "{\\"), (SETS, "{a|b\\}"),
    ],
)  # fmt: skip
def test_nothing_but_the_grammar_is_read_and_no_value_is_repeated(
    tmp_path: Path, form: LabelForm, label: str
) -> None:
    write_folder(tmp_path, {"x": [label]}, {"x": form})
    with pytest.raises(DataError, match="no label of the documented grammar") as error:
        smalti.read_published(tmp_path)
    assert "wombat" not in str(error.value)


def test_kept_values_that_are_not_what_is_declared(tmp_path: Path) -> None:
    columns = {"x": ["1"], "y": ["wombat"], "z": ["2023-02-30"]}
    stated = [DeclaredType("y", Datatype.INTEGER), DeclaredType("z", Datatype.DATE)]
    write_folder(tmp_path, columns, {"x": RANGES}, stated)
    with pytest.raises(SmaltiError, match=r'datatypes=\{"y": "string"\}') as error:
        smalti.read_published(tmp_path)
    assert "valid date" in str(error.value), "all problems at once"
    assert "wombat" not in str(error.value)
    assert smalti.read_published(tmp_path, datatypes={"y": "string", "z": "string"}).num_rows == 1


def test_what_is_read_is_bounded(tmp_path: Path) -> None:
    write_folder(tmp_path, {"x": ["{a|b}"] * 100}, {"x": SETS})
    with pytest.raises(DataError, match="more than 500 bytes"):
        smalti.read_published(tmp_path, max_bytes=500)


def test_a_small_file_that_becomes_large_is_bounded(tmp_path: Path) -> None:
    """Parquet repeats a text for next to nothing."""
    columns = pa.table({"x": pa.array(["{" + "a" * 10_000 + "|b}"] * 20_000)})
    pq.write_table(columns, tmp_path / "table.parquet")
    assert (tmp_path / "table.parquet").stat().st_size < 100_000
    write_certificate(tmp_path, "table.parquet", ["x"], {"x": SETS})
    with pytest.raises(DataError, match="more than 1000000 bytes"):
        smalti.read_published(tmp_path, max_bytes=1_000_000)


def edited(folder: Path, **changes: object) -> None:
    place = folder / "certificate.jsonld"
    document = json.loads(place.read_text())
    for path, value in changes.items():
        *steps, last = path.split("__")
        part = document
        for step in steps:
            part = part[int(step) if step.isdigit() else step]
        part[last] = value
    place.write_text(json.dumps(document))


def test_broken_and_foreign_folders(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", {"x": ["1"]}, {"x": RANGES})
    with pytest.raises(UsageError, match="no such folder or file"):
        smalti.read_published(tmp_path / "nowhere")
    (folder / "other.csv").write_text("x\n1\n")
    with pytest.raises(UsageError, match="about other files"):
        smalti.read_published(folder / "other.csv")
    with pytest.raises(UsageError, match="it has no column `y`"):
        smalti.read_published(folder, columns=["y"])
    with pytest.raises(UsageError, match="none is named"):
        smalti.read_published(folder, columns=[])
    (folder / "table.csv").write_text("x\n1\n2\n")
    with pytest.raises(DataError, match="size is not what its certificate states"):
        smalti.read_published(folder)
    (folder / "table.csv").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        smalti.read_published(folder)
    (folder / "table.csv").symlink_to("/etc/hostname")
    with pytest.raises(DataError, match="symbolic link"):
        smalti.read_published(folder)
    (folder / "table.csv").unlink()
    os.mkfifo(folder / "table.csv")
    with pytest.raises(DataError, match="it is not a file"):
        smalti.read_published(folder)
    (folder / "certificate.jsonld").write_text("{}")
    with pytest.raises(GuaranteeError, match="not a smalti certificate"):
        smalti.read_published(folder)
    (folder / "certificate.jsonld").unlink()
    with pytest.raises(UsageError, match=r"no certificate\.jsonld"):
        smalti.read_published(folder)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"guarantee__quasiIdentifiers": ["x", "y"]}, "the column `y` of the certificate is missing"),
        ({"guarantee__datatypes__0__datatype": "date"}, "no label of the documented grammar for `date`"),
        ({"guarantee__datatypes__0__timeZone": "../../etc/passwd"}, "unknown time zone"),
        ({"guarantee__generalised__0__form": "sets of exact values"}, "stated to be `integer`"),
        ({"distribution__0__name": "../a/table.parquet"}, "cannot be read"),
        ({"distribution__0__name": ".."}, "holds no table"),
        ({"distribution__0__name": "certificate.jsonld"}, "holds no table"),
    ],
)
def test_certificates_that_do_not_fit(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    write_folder(tmp_path, {"x": ["[1..2]"]}, {"x": RANGES}, [DeclaredType("x", Datatype.INTEGER)])
    edited(tmp_path, **changes)
    with pytest.raises(SmaltiError, match=problem):
        smalti.read_published(tmp_path)


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"as_": "excel"}, "arrow, pandas or polars"),
        ({"decimals": "some"}, "float or exact"),
        ({"datatypes": {"x": "number"}}, "`number`, of the column `x`, is not known"),
        ({"max_bytes": 0}, "at least 1"),
        ({"colums": ["x"]}, "did you mean `columns`"),
        ({"columns": 3}, "its type is `int`"),
        ({"datatypes": {"x": "string"}}, "generalised to ranges"),
    ],
)
def test_choices_that_do_not_fit(tmp_path: Path, choices: dict[str, Any], problem: str) -> None:
    write_folder(tmp_path, {"x": ["1"]}, {"x": RANGES})
    with pytest.raises(UsageError, match=problem):
        smalti.read_published(tmp_path, **choices)


def test_the_certificate_says_what_is_declared_and_nothing_that_was_inferred(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    ran(tmp_path, data)
    document = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert "datatypes" not in document["guarantee"]
    assert "datatypes" not in document["@context"]
