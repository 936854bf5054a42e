"""Each check of the verifier, and for each a broken promise that it must catch."""

import ast
import csv
import hashlib
import io
import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import (
    Apply,
    Column,
    Filter,
    OneRowEach,
    OutputFormat,
    Plan,
    Read,
    Respondent,
    RespondentColumn,
    Role,
    RowComparison,
    Select,
    Write,
)
from smalti.engine.verify import stage as verify_stage
from smalti.engine.verify import verifier as verify
from smalti.engine.verify.verifier import (
    Original,
    Output,
    Promise,
    Property,
    PublishedCheck,
    Sizes,
    Verification,
    verify_against,
    verify_in,
    verify_published,
    verify_run,
)
from smalti.errors import BackendError, DataError, GuaranteeError
from smalti.policy.model.model import Operator
from smalti.transforms.base import Asked, Datatype, Guarantee, Requirement, Transform
from smalti.vocab.terms import IRI

Row = tuple[str | None, ...]
T = IRI("https://example.org/t")
CSV, PARQUET = OutputFormat.CSV, OutputFormat.PARQUET


@dataclass(frozen=True)
class Claimed(Transform):
    """A transform that only says what it did."""

    claim: Guarantee
    generalised: tuple[str, ...]
    told_apart: tuple[str, ...]

    @property
    def guarantee(self) -> Guarantee:
        return self.claim

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.generalised

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.told_apart

    @property
    def class_maker(self) -> str:
        raise NotImplementedError

    @classmethod
    def of(cls, asked: Asked) -> "Claimed":
        raise NotImplementedError


COLUMNS = {
    "name": (Datatype.STRING, Role.IDENTIFIER),
    "age": (Datatype.INTEGER, Role.QUASI_IDENTIFIER),
    "city": (Datatype.STRING, Role.QUASI_IDENTIFIER),
    "disease": (Datatype.STRING, Role.SENSITIVE),
    "note": (Datatype.STRING, Role.RELEASED),
    "visit": (Datatype.STRING, Role.UNLISTED),
}
PUBLISHED = ("age", "city", "disease", "note")
INPUT: tuple[Row, ...] = (
    ("ann", "31", "Oslo", "flu", "n1", "v1"),
    ("bob", "35", "Bern", "gout", "n2", "v2"),
    ("cid", None, "Oslo", "flu", 'n "3"', "v3"),
    ("dan", "52", "Oslo", "angina", None, "v4"),
    ("eve", "58", "Oslo", None, "n5", "v5"),
    ("fay", "-4", None, "flu", "n,6", "v6"),
    ("gus", "-1", "[x", "gout", "n\n7", "v7"),
)
OUTPUT: tuple[tuple[Row, int], ...] = (
    (("[-4..-1]", "{[x|}", "flu", "n,6"), 5),
    (("[-4..-1]", "{[x|}", "gout", "n\n7"), 6),
    (("[31..35|]", "{Bern|Oslo}", "flu", 'n "3"'), 2),
    (("[31..35|]", "{Bern|Oslo}", "flu", "n1"), 0),
    (("[31..35|]", "{Bern|Oslo}", "gout", "n2"), 1),
    (("[52..58]", "Oslo", None, "n5"), 4),
    (("[52..58]", "Oslo", "angina", None), 3),
)


TWO = Guarantee("k-anonymity", 2)
ONE_ROW_EACH = OneRowEach(True)


def plan_of(
    columns: dict[str, tuple[Datatype, Role]] = COLUMNS,
    guarantee: Guarantee = TWO,
    respondent: Respondent = ONE_ROW_EACH,
    form: OutputFormat = CSV,
) -> Plan:
    def having(role: Role) -> tuple[str, ...]:
        return tuple(name for name, (_, given_role) in columns.items() if given_role is role)

    read = [
        Column(name, IRI(f"{T}/{name}"), datatype, False, role)
        for name, (datatype, role) in columns.items()
    ]
    kept = tuple(name for name, (_, role) in columns.items() if role.is_published)
    dropped = tuple(name for name in columns if name not in kept)
    return Plan(
        Read(T, tuple(read), respondent),
        Select(kept, dropped),
        Apply(Claimed(guarantee, having(Role.QUASI_IDENTIFIER), having(Role.SENSITIVE))),
        Write(IRI("https://example.org/o"), kept, form),
    )


def to_csv(header: Sequence[str], rows: Sequence[Row], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=quoting)
    writer.writerow(header)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue().encode()


def to_parquet(header: Sequence[str], rows: Sequence[Row]) -> bytes:
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(header)}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@dataclass
class Run:
    """A run to be verified; each part can be falsified."""

    folder: Path
    plan: Plan = field(default_factory=plan_of)
    input: Sequence[Row] = INPUT
    output: Sequence[Row] = tuple(row for row, _ in OUTPUT)
    link: Sequence[int] = tuple(number for _, number in OUTPUT)
    header: Sequence[str] | None = None
    forms: tuple[OutputFormat, OutputFormat] = (CSV, CSV)
    tamper: Callable[[bytes], bytes] = bytes

    def _write(self) -> tuple[Original, Output]:
        writers = {CSV: to_csv, PARQUET: to_parquet}
        before, after = self.folder / "original", self.folder / "published"
        names = [column.name for column in self.plan.read.columns]
        before.write_bytes(writers[self.forms[0]](names, self.input))
        published = writers[self.forms[1]](self.header or self.plan.write.columns, self.output)
        after.write_bytes(self.tamper(published))
        return Original(before, self.forms[0]), Output(after, self.forms[1])

    def verify(self) -> Verification:
        original, output = self._write()
        link = self.folder / "link.npy"
        np.save(link, np.array(self.link, np.int64))
        return verify_run(self.plan, original, output, link)

    def verify_in_pieces(self, sizes: Sizes) -> Verification:
        """As `verify`, with as little in memory at a time."""
        original, output = self._write()
        link, place = self.folder / "link.npy", self.folder / f"place-{uuid4()}"
        np.save(link, np.array(self.link, np.int64))
        place.mkdir()
        return verify_in(place, self.plan, original, output, link, None, sizes)

    def verify_published(self, digests: tuple[str, ...] | None = None) -> PublishedCheck:
        return verify_published(Promise.of(self.plan), self._write()[1], digests)

    def verify_against(self) -> Verification | PublishedCheck:
        return verify_against(self.plan, *self._write())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def edited(row: int, column: str, value: str | None) -> list[Row]:
    """The honest output with one cell changed."""
    rows = [list(each) for each, _ in OUTPUT]
    rows[row][PUBLISHED.index(column)] = value
    return [tuple(each) for each in rows]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- an honest run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("forms", [(CSV, CSV), (CSV, PARQUET), (PARQUET, CSV), (PARQUET, PARQUET)])
def test_an_honest_run_is_verified(run: Run, forms: tuple[OutputFormat, OutputFormat]) -> None:
    found = replace(run, forms=forms).verify()
    assert found == Verification(
        rows=7,
        classes=3,
        respondents=7,
        k=2,
        diversity=(("disease", 2),),
        output_digests=(sha256(run.folder / "published"),),
        input_digests=(sha256(run.folder / "original"),),
    )


def test_quoting_every_field_is_uniform_too(run: Run) -> None:
    quoted = to_csv(PUBLISHED, run.output, csv.QUOTE_ALL)
    assert replace(run, tamper=lambda _: quoted).verify().k == 2


def test_a_quotation_mark_elsewhere_is_a_sign(run: Run) -> None:
    moved = replace(run, tamper=lambda content: content.replace(b'"n,6"', b'"n,"6'))
    with pytest.raises(GuaranteeError, match="quoted in more than one way"):
        moved.verify()
    with pytest.raises(GuaranteeError, match="quoted in more than one way"):
        moved.verify_published()


def test_an_empty_table_breaks_no_promise(run: Run) -> None:
    empty = replace(run, input=(), output=(), link=())
    assert (empty.verify().rows, empty.verify().k) == (0, 0)
    assert isinstance(empty.verify_against(), Verification)


def test_an_input_with_a_bom_and_typed_parquet_columns(run: Run) -> None:
    original, output = run._write()
    original.path.write_bytes(b"\xef\xbb\xbf" + original.path.read_bytes())
    np.save(run.folder / "link.npy", np.array(run.link, np.int64))
    assert verify_run(run.plan, original, output, run.folder / "link.npy").rows == 7
    table = pa.table({name: [row[i] for row in INPUT] for i, name in enumerate(COLUMNS)})
    ages = pa.array([None if row[1] is None else int(row[1]) for row in INPUT])
    pq.write_table(table.set_column(1, "age", ages), original.path)
    typed = Original(original.path, PARQUET)
    assert verify_run(run.plan, typed, output, run.folder / "link.npy").rows == 7


def test_empty_texts_of_a_parquet_original_are_missing(run: Run) -> None:
    rows = [tuple(value or "" for value in row) if i % 2 else row for i, row in enumerate(INPUT)]
    assert replace(
        run, input=[*rows[:2], ("cid", "", *INPUT[2][2:]), *rows[3:]], forms=(PARQUET, CSV)
    ).verify()


def test_a_record_longer_than_a_block(run: Run) -> None:
    long = "x" * 17_000_000
    rows = [(*row[:4], long, row[5]) if row[0] == "bob" else row for row in INPUT]
    assert replace(run, input=rows, output=edited(4, "note", long)).verify().rows == 7


# --- broken promises -------------------------------------------------------------------------------

OUT = tuple(row for row, _ in OUTPUT)
LINK = tuple(number for _, number in OUTPUT)
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a row lost": ({"output": OUT[:2] + OUT[3:], "link": LINK[:2] + LINK[3:]}, "fewer rows"),
    "a row lost, its link kept": ({"output": OUT[:2] + OUT[3:]}, "fewer rows"),
    "a row doubled": ({"output": (*OUT[:1], *OUT), "link": (*LINK[:1], *LINK)}, "more rows"),
    "a row doubled for another": ({"link": (*LINK[:-1], LINK[0])}, "others were lost"),
    "a link out of bounds": ({"link": (*LINK[:-1], 7)}, "others were lost"),
    "a negative link": ({"link": (*LINK[:-1], -4)}, "others were lost"),
    "a sensitive value changed": ({"output": edited(4, "disease", "mumps")}, "`disease`.*differ"),
    "a sensitive value of another row": ({"output": edited(4, "disease", "flu")}, "`disease`"),
    "a released value changed": ({"output": edited(0, "note", "n,7")}, "`note`.*differ"),
    "a label that does not cover": (
        {"output": [("[-4..-2]", *row[1:]) if row[0] == "[-4..-1]" else row for row in OUT]},
        "`age`.*cover",
    ),
    "a set that does not cover": (
        {"output": [(row[0], "{Bern|Rome}", *row[2:]) if row[1] == "{Bern|Oslo}" else row for row in OUT]},
        "`city`.*cover",
    ),
    "a range without its missing value": (
        {"output": [("[31..35]", *row[1:]) if row[0] == "[31..35|]" else row for row in OUT]},
        "`age`.*cover",
    ),
    "a missing value published raw": (
        {
            "output": [(None, "Oslo", *OUT[2][2:]), *OUT[:2], *OUT[3:]],
            "link": (LINK[2], *LINK[:2], *LINK[3:]),
        },
        "too few respondents",
    ),
    "a class too small": ({"output": edited(2, "city", "{Bern|Oslo|}")}, "too few respondents"),
    "k larger than the classes": (
        {"plan": plan_of(guarantee=Guarantee("k-anonymity", 3))},
        r"too few respondents \(k = 3\)",
    ),
    "k larger than the table": ({"plan": plan_of(guarantee=Guarantee("k-anonymity", 8))}, "too few resp"),
    "l larger than the values": (
        {"plan": plan_of(guarantee=Guarantee("l-diversity", 2, 3))},
        r"too few values of `disease` for its respondents \(l = 3\)",
    ),
    "rows in the order of the input": (
        {"output": sorted(OUT, key=lambda r: LINK[OUT.index(r)]), "link": sorted(LINK)},
        "order",
    ),
    "missing values last": (
        {
            "output": (*OUT[:5], OUT[6], OUT[5]),
            "link": (*LINK[:5], LINK[6], LINK[5]),
        },
        "`disease`.*order",
    ),
    "an identifier published": (
        {
            "header": (*PUBLISHED, "name"),
            "output": [(*row, INPUT[i][0]) for row, i in OUTPUT],
        },
        "`name`",
    ),
    "an unlisted column published": (
        {"header": ("age", "city", "disease", "visit")},
        "`visit`",
    ),
    "columns in another order": ({"header": ("city", "age", "disease", "note")}, "columns are not"),
    "a column twice": ({"header": ("age", "age", "disease", "note")}, "columns are not"),
    "CRLF": ({"tamper": lambda data: data.replace(b"\n", b"\r\n")}, "line ends"),
    "no last line end": ({"tamper": lambda data: data[:-1]}, "line ends"),
    "quotes that tell rows apart": ({"tamper": lambda data: data.replace(b"flu", b'"flu"', 1)}, "quoted"),
    "quoted-empty beside empty": ({"tamper": lambda data: data[:-1] + b'""\n'}, "quoted"),
    "a blank line": ({"tamper": lambda data: data + b"\n"}, "too few fields"),
    "too many fields": ({"tamper": lambda data: data + b"a,b,c,d,e\n"}, "cannot be read"),
    "a byte order mark": ({"tamper": lambda data: b"\xef\xbb\xbf" + data}, "byte order mark"),
    "no UTF-8": ({"tamper": lambda data: data.replace(b"Oslo", b"Osl\xff")}, "cannot be read"),
    "no bytes": ({"tamper": lambda data: b""}, "cannot be read"),
    "no Parquet": ({"forms": (CSV, PARQUET), "tamper": lambda data: data[:-9]}, "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_caught(run: Run, name: str) -> None:
    changes, message = BROKEN[name]
    with pytest.raises(GuaranteeError, match=message) as caught:
        replace(run, **changes).verify()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_empty_texts_and_other_types_in_parquet(run: Run) -> None:
    texts = [tuple("" if value is None else value for value in row) for row in run.output]
    with pytest.raises(GuaranteeError, match="empty texts"):
        replace(run, output=texts, forms=(CSV, PARQUET)).verify()


@pytest.mark.parametrize("link", [np.zeros(7), np.zeros((7, 1), np.int64), np.array([None] * 7)])
def test_a_link_of_another_kind(run: Run, link: np.ndarray) -> None:
    original, output = run._write()
    np.save(run.folder / "link.npy", link, allow_pickle=True)
    with pytest.raises(GuaranteeError, match="link"):
        verify_run(run.plan, original, output, run.folder / "link.npy")


def test_files_that_are_not_there(run: Run) -> None:
    original, output = run._write()
    with pytest.raises(BackendError):
        verify_run(run.plan, original, output, run.folder / "none.npy")
    with pytest.raises(BackendError):
        verify_published(Promise.of(run.plan), Output(run.folder / "none", CSV))


def test_an_original_with_another_header_is_the_datas_fault(run: Run) -> None:
    original, output = run._write()
    original.path.write_bytes(original.path.read_bytes().replace(b"age", b"aeg", 1))
    np.save(run.folder / "link.npy", np.array(run.link, np.int64))
    with pytest.raises(DataError):
        verify_run(run.plan, original, output, run.folder / "link.npy")


# --- in pieces --------------------------------------------------------------------------------------

PIECES = [Sizes(block, window, seen) for block, window, seen in ((40, 1, 1), (90, 40, 3), (1, 1 << 20, 4))]


@pytest.fixture(params=["numbers", "texts"])
def wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns as small numbers as far as that goes, or as texts from the third different one on."""
    if request.param == "texts":
        monkeypatch.setattr(verify_stage, "MOST_TEXTS", 2)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("sizes", PIECES)
@pytest.mark.parametrize("forms", [(CSV, CSV), (PARQUET, PARQUET)])
def test_an_honest_run_in_pieces(run: Run, forms: tuple[OutputFormat, OutputFormat], sizes: Sizes) -> None:
    honest_run = replace(run, forms=forms)
    assert honest_run.verify_in_pieces(sizes) == honest_run.verify()


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_caught_in_pieces(run: Run, name: str) -> None:
    changes, message = BROKEN[name]
    for sizes in PIECES:
        with pytest.raises(GuaranteeError, match=message):
            replace(run, **changes).verify_in_pieces(sizes)


# --- respondents -----------------------------------------------------------------------------------

VISITS = {
    "who": (Datatype.STRING, Role.IDENTIFIER),
    "age": (Datatype.INTEGER, Role.QUASI_IDENTIFIER),
    "disease": (Datatype.STRING, Role.SENSITIVE),
}


def visits(folder: Path, rows: Sequence[tuple[str | None, str | None]], guarantee: Guarantee) -> Run:
    """One class of (respondent, disease) rows."""
    plan = plan_of(VISITS, guarantee, RespondentColumn("who"))
    numbers = sorted(range(len(rows)), key=lambda i: (rows[i][1] or "").encode())
    return Run(
        folder,
        plan,
        [(who, "40", disease) for who, disease in rows],
        [("40", rows[i][1]) for i in numbers],
        numbers,
    )


def test_ten_rows_of_one_person_are_one_respondent(tmp_path: Path) -> None:
    rows = [("ann", f"d{i}") for i in range(10)]
    with pytest.raises(GuaranteeError, match="too few respondents"):
        visits(tmp_path, rows, Guarantee("k-anonymity", 2)).verify()


def test_a_row_without_a_respondent(tmp_path: Path) -> None:
    rows = [("ann", "a"), ("bob", "b"), (None, "c")]
    with pytest.raises(GuaranteeError, match=r"`who`.*no respondent"):
        visits(tmp_path, rows, Guarantee("k-anonymity", 2)).verify()


TEN = [(f"p{i}", d) for i in range(10) for d in ("oncology", f"other{i % 5}")]
HEAVY = [("heavy", f"d{i}") for i in range(6)] + [(f"p{i}", "shared") for i in range(9)]


def test_a_value_that_all_respondents_hold_is_certain(tmp_path: Path) -> None:
    """Ten customers, six distinct values: oncology is certain for each of them."""
    for guarantee in (Guarantee("l-diversity", 10, 3), Guarantee("k-anonymity", 10)):
        with pytest.raises(GuaranteeError, match="all respondents of a class have a value"):
            visits(tmp_path, TEN, guarantee).verify()
    assert visits(tmp_path, TEN[1:], Guarantee("l-diversity", 10, 3)).verify().diversity == (
        ("disease", 6),
    )


def test_one_heavy_respondent_supplies_one_value(tmp_path: Path) -> None:
    """Seven distinct values among ten respondents, two of which can be matched at once."""
    with pytest.raises(GuaranteeError, match="too few values"):
        visits(tmp_path, HEAVY, Guarantee("l-diversity", 10, 3)).verify()
    found = visits(tmp_path, HEAVY, Guarantee("l-diversity", 10, 2)).verify()
    assert (found.k, found.respondents, found.rows) == (10, 10, 15)
    assert found.diversity == (("disease", 2),)


def test_a_missing_sensitive_value_is_a_value(tmp_path: Path) -> None:
    rows = [("a", None), ("b", "x"), ("c", None)]
    assert visits(tmp_path, rows, Guarantee("l-diversity", 3, 2)).verify().diversity == (("disease", 2),)
    with pytest.raises(GuaranteeError, match="all respondents of a class have a value"):
        visits(tmp_path, [("a", None), ("b", None)], Guarantee("k-anonymity", 2)).verify()


def test_two_sensitive_columns_are_judged_separately(tmp_path: Path) -> None:
    columns = {**VISITS, "drug": (Datatype.STRING, Role.SENSITIVE)}
    plan = plan_of(columns, Guarantee("l-diversity", 2, 2))
    rows = [("a", "40", "x", "same"), ("b", "40", "y", "same")]
    with pytest.raises(GuaranteeError, match="`drug`"):
        Run(tmp_path, plan, rows, [row[1:] for row in rows], (0, 1)).verify()


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("sizes", PIECES)
def test_respondents_are_counted_in_pieces(tmp_path: Path, sizes: Sizes) -> None:
    honest_run = visits(tmp_path, TEN[1:], Guarantee("l-diversity", 10, 3))
    assert honest_run.verify_in_pieces(sizes) == honest_run.verify()
    with pytest.raises(GuaranteeError, match="too few values"):
        visits(tmp_path, HEAVY, Guarantee("l-diversity", 10, 3)).verify_in_pieces(sizes)
    with pytest.raises(GuaranteeError, match="all respondents of a class have a value"):
        visits(tmp_path, TEN, Guarantee("k-anonymity", 10)).verify_in_pieces(sizes)
    with pytest.raises(GuaranteeError, match="too few respondents"):
        visits(tmp_path, [("ann", f"d{i}") for i in range(10)], TWO).verify_in_pieces(sizes)
    with pytest.raises(GuaranteeError, match=r"`who`.*no respondent"):
        visits(tmp_path, [("ann", "a"), ("bob", "b"), (None, "c")], TWO).verify_in_pieces(sizes)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("sizes", PIECES)
def test_numbers_are_counted_by_value_in_pieces(tmp_path: Path, sizes: Sizes) -> None:
    """Three spellings of one person and of one value; a fourth person has another value."""
    columns = {
        "who": (Datatype.DECIMAL, Role.IDENTIFIER),
        "age": (Datatype.INTEGER, Role.QUASI_IDENTIFIER),
        "score": (Datatype.DOUBLE, Role.SENSITIVE),
    }
    rows = [("1", "40", "2.0"), ("1.0", "40", "2"), ("1.00", "40", "2e0"), ("2", "40", "3")]
    order = sorted(range(4), key=lambda i: rows[i][2])
    for k, is_met in ((2, True), (3, False)):
        plan = plan_of(columns, Guarantee("k-anonymity", k), RespondentColumn("who"))
        case = Run(tmp_path, plan, rows, [rows[i][1:] for i in order], order)
        if is_met:
            found = case.verify_in_pieces(sizes)
            assert (found.respondents, found.k, found.diversity) == (2, 2, (("score", 2),))
        else:
            with pytest.raises(GuaranteeError, match="too few respondents"):
                case.verify_in_pieces(sizes)


def limited(run: Run) -> Run:
    """Rows without an age, and with one below 0, are left out."""
    comparison = RowComparison("age", Operator.GTEQ, ("0",), Datatype.INTEGER)
    kept = [(row, i) for row, i in OUTPUT if i not in (2, 5, 6)]
    labels = {"[31..35|]": "[31..35]"}
    return replace(
        run,
        plan=replace(run.plan, filter=Filter((comparison,))),
        output=[(labels.get(str(row[0]), row[0]), *row[1:]) for row, _ in kept],
        link=[i for _, i in kept],
    )


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("sizes", PIECES)
def test_rows_that_are_left_out_in_pieces(run: Run, sizes: Sizes) -> None:
    """Rows of the original that nobody may publish stand between the others."""
    case = limited(run)
    found = case.verify_in_pieces(sizes)
    assert found == case.verify()
    assert (found.rows, found.rows_filtered, found.rows_withdrawn, found.k) == (4, 3, 0, 2)
    with pytest.raises(GuaranteeError, match="the policy excludes"):
        replace(case, link=[*case.link[:-1], 5]).verify_in_pieces(sizes)
    with pytest.raises(GuaranteeError, match=r"the plan keeps|others were lost"):
        replace(case, link=[*case.link[:-1], case.link[0]]).verify_in_pieces(sizes)
    with pytest.raises(GuaranteeError, match=r"the plan keeps|others were lost"):
        replace(case, link=case.link[1:], output=case.output[1:]).verify_in_pieces(sizes)


@pytest.mark.parametrize("sizes", [*PIECES, Sizes()])
def test_equal_rows_are_each_compared(tmp_path: Path, sizes: Sizes) -> None:
    """Sixty published lines, of which two are different: a wrong original of any of them is found."""
    rows = [(f"p{i}", str(30 + i % 4), "flu" if i % 3 else "gout") for i in range(60)]
    order = sorted(range(60), key=lambda i: rows[i][2])
    case = Run(tmp_path, plan_of(VISITS), rows, [("[30..33]", rows[i][2]) for i in order], order)
    assert case.verify_in_pieces(sizes).k == 60
    swapped = [*order[1:-1], order[0], order[-1]]
    assert swapped != order
    with pytest.raises(GuaranteeError, match=r"`disease`.*differ"):
        replace(case, link=swapped).verify_in_pieces(sizes)
    older = [*rows[:17], ("p17", "34", rows[17][2]), *rows[18:]]
    with pytest.raises(GuaranteeError, match=r"`age`.*cover"):
        replace(case, input=older).verify_in_pieces(sizes)


# --- later checks ----------------------------------------------------------------------------------


def test_published_bytes_alone(run: Run) -> None:
    digests = run.verify().output_digests
    found = run.verify_published(digests)
    assert (found.rows, found.classes, found.least_rows, found.distinct) == (7, 3, 2, (("disease", 2),))
    assert Property.RESPONDENTS in found.attested
    assert Property.DIGEST in found.recounted
    assert Property.DIGEST in run.verify_published().attested
    with pytest.raises(GuaranteeError, match="recorded"):
        run.verify_published(("0" * 64,))


def test_what_rows_cannot_show_of_shares_is_attested(tmp_path: Path) -> None:
    rows = [("ann", "a"), ("bob", "b")]
    at_most_half = Requirement("alpha", (Fraction(1, 2),))
    found = visits(tmp_path, rows, Guarantee("k-anonymity", 2, None, (at_most_half,))).verify_published()
    assert Property.SHARES in found.attested
    assert Property.SHARES not in found.recounted
    plain = visits(tmp_path, rows, Guarantee("k-anonymity", 2)).verify_published()
    assert Property.SHARES not in {*plain.recounted, *plain.attested}


def test_published_bytes_show_rows_not_respondents(tmp_path: Path) -> None:
    rows = [("ann", f"d{i}") for i in range(10)]
    assert visits(tmp_path, rows, Guarantee("k-anonymity", 2)).verify_published().least_rows == 10
    with pytest.raises(GuaranteeError, match="too few"):
        visits(tmp_path, rows, Guarantee("k-anonymity", 11)).verify_published()


def test_with_the_original_but_no_link_everything_is_counted_again(run: Run, tmp_path: Path) -> None:
    assert run.verify_against() == run.verify()
    with pytest.raises(GuaranteeError, match="too few respondents"):
        visits(tmp_path, [("ann", "a"), ("ann", "b")], Guarantee("k-anonymity", 2)).verify_against()


@pytest.mark.parametrize(
    "name",
    [
        "a row lost",
        "a row doubled",
        "a sensitive value changed",
        "a released value changed",
        "a label that does not cover",
        "a range without its missing value",
        "a missing value published raw",
        "l larger than the values",
        "rows in the order of the input",
    ],
)
def test_without_a_link_broken_promises_are_caught(run: Run, name: str) -> None:
    with pytest.raises(GuaranteeError):
        replace(run, **BROKEN[name][0]).verify_against()


def test_an_original_that_no_class_covers(run: Run) -> None:
    with pytest.raises(GuaranteeError, match="covered by no"):
        replace(run, **BROKEN["a label that does not cover"][0]).verify_against()


def test_kept_rows_of_another_class(run: Run) -> None:
    rows = sorted(((*OUT[0][:2], *OUT[2][2:]), OUT[1], (*OUT[2][:2], *OUT[0][2:]), *OUT[3:]), key=str)
    rows[:3] = sorted(rows[:3], key=lambda row: (row[0] or "", row[2] or "", row[3] or ""))
    swapped = replace(run, output=sorted(rows, key=lambda row: tuple((v or "").encode() for v in row)))
    with pytest.raises(GuaranteeError, match="generalised"):
        swapped.verify_against()


def test_overlapping_classes_are_not_decided_without_a_link(tmp_path: Path) -> None:
    plan = plan_of(VISITS, Guarantee("k-anonymity", 2), RespondentColumn("who"))
    rows = [("a", "1", "x"), ("b", "3", "y"), ("c", "2", "x"), ("d", "4", "y")]
    output = [("[1..3]", "x"), ("[1..3]", "y"), ("[2..4]", "x"), ("[2..4]", "y")]
    found = Run(tmp_path, plan, rows, output, (0, 1, 2, 3)).verify_against()
    assert isinstance(found, PublishedCheck)
    assert Property.KEPT in found.recounted
    assert {Property.COVERAGE, Property.RESPONDENTS} <= set(found.attested)


# --- laws ------------------------------------------------------------------------------------------

CANARY = "7310048"


@pytest.mark.parametrize("name", BROKEN)
def test_no_message_holds_a_value(run: Run, name: str) -> None:
    broken = replace(run, **BROKEN[name][0])
    mark = {"31": CANARY, "Oslo": "Qanary", "flu": "Fqanary"}
    tamper = broken.tamper
    broken.tamper = lambda data: _marked(tamper(data), mark)
    broken.input = [tuple(mark.get(value or "", value) for value in row) for row in broken.input]
    with pytest.raises((GuaranteeError, DataError)) as caught:
        broken.verify()
    for value in (CANARY, "anary", "gout", "n1", "Bern"):
        assert value not in str(caught.value)
        assert value not in repr(caught.value.args)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def _marked(data: bytes, mark: dict[str, str]) -> bytes:
    for old, new in mark.items():
        data = data.replace(old.encode(), new.encode())
    return data


AGES = st.one_of(st.none(), st.integers(-20, 20))
CITIES = st.sampled_from([None, "a", "b", "[c", "{d|e}", "\\f", "g|h"])


def label_numbers(values: list[int | None]) -> str | None:
    present = sorted(value for value in values if value is not None)
    if not present:
        return None
    is_single = present[0] == present[-1] and len(present) == len(values)
    end = "|" if None in values else ""
    return str(present[0]) if is_single else f"[{present[0]}..{present[-1]}{end}]"


def label_texts(values: list[str | None]) -> str | None:
    present = sorted({value for value in values if value is not None}, key=str.encode)
    if not present:
        return None
    if len(present) == 1 and None not in values:
        return "\\" + present[0] if present[0][0] in "[{\\" else present[0]
    escaped = ["".join("\\" + c if c in "\\|{}" else c for c in item) for item in present]
    return "{" + "|".join(escaped + [""] * (None in values)) + "}"


def honest(folder: Path, rows: list[tuple[int | None, str | None, str]], size: int) -> Run:
    """A run with the rows, as they come, in classes of `size` or more; diseases differ by row."""
    cuts = [range(start, start + size) for start in range(0, len(rows) - 2 * size + 1, size)]
    last = cuts[-1].stop if cuts else 0
    published: list[tuple[Row, int]] = []
    for part in [*cuts, range(last, len(rows))]:
        age = label_numbers([rows[i][0] for i in part])
        city = label_texts([rows[i][1] for i in part])
        published += [((age, city, f"d{i}"), i) for i in part]
    published.sort(key=lambda each: [(value or "").encode() for value in each[0]])
    columns = {name: COLUMNS[name] for name in ("age", "city", "disease")}
    before = [(None if a is None else str(a), c, f"d{i}") for i, (a, c, _) in enumerate(rows)]
    plan = plan_of(columns, Guarantee("l-diversity", size, 2))
    return Run(folder, plan, before, [row for row, _ in published], [i for _, i in published])


TABLES = st.lists(st.tuples(AGES, CITIES, st.just("")), min_size=4, max_size=30)
FEW = settings(
    max_examples=examples(30, full=600), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FEW
@given(TABLES, st.integers(2, 4))
def test_honest_outputs_pass(
    tmp_path: Path, rows: list[tuple[int | None, str | None, str]], k: int
) -> None:
    run = honest(tmp_path, rows, k)
    found = run.verify()
    assert found.k >= k
    again = run.verify_against()
    if isinstance(again, Verification):
        assert again == found


@FEW
@given(TABLES, st.data())
def test_one_corrupted_label_is_caught(
    tmp_path: Path, rows: list[tuple[int | None, str | None, str]], data: st.DataObject
) -> None:
    run = honest(tmp_path, rows, 2)
    place = data.draw(st.integers(0, len(rows) - 1))
    age, city, disease = run.output[place]
    wrong = data.draw(
        st.sampled_from([("[90..99|]", city), ("-99", city), ("*", city), (age, "zz"), (age, "{y|z}")])
    )
    if wrong[0] == "[90..99|]" and run.input[run.link[place]][0] is None:
        wrong = ("99", city)
    output = [*run.output[:place], (*wrong, disease), *run.output[place + 1 :]]
    together = sorted(zip(output, run.link, strict=True), key=lambda e: [(v or "").encode() for v in e[0]])
    bad = replace(run, output=[row for row, _ in together], link=[i for _, i in together])
    with pytest.raises(GuaranteeError, match=r"cover|not a label"):
        bad.verify()


@FEW
@given(TABLES, st.randoms(use_true_random=False))
def test_a_shuffled_output_is_caught(
    tmp_path: Path, rows: list[tuple[int | None, str | None, str]], randomness: random.Random
) -> None:
    run = honest(tmp_path, rows, 2)
    together = list(zip(run.output, run.link, strict=True))
    randomness.shuffle(together)
    shuffled = replace(run, output=[row for row, _ in together], link=[i for _, i in together])
    if list(shuffled.output) == list(run.output):
        assert shuffled.verify() == run.verify()
    else:
        with pytest.raises(GuaranteeError, match="order"):
            shuffled.verify()


def test_the_verifier_shares_no_code_with_what_it_checks() -> None:
    folder = Path(verify.__file__).parent
    imported = {
        node.module
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smalti")
    }
    own = {f"smalti.engine.verify.{path.stem}" for path in folder.glob("*.py")}
    types = {
        "smalti.engine.plan.any_plan", "smalti.engine.plan.bucketization", "smalti.engine.plan.hierarchies",
        "smalti.engine.plan.masks", "smalti.engine.plan.plan", "smalti.policy.model.model",
        "smalti.transforms.base",
    }  # fmt: skip
    # How many rows of a Parquet file fit into memory; nothing of what they say.
    sizes = {"smalti.engine.tables.parquet_pages"}
    assert imported - own == {"smalti.errors", *types, *sizes}
