"""The verifier on files that do not fit into one piece: the same answers, with bounded memory."""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import Column, OutputFormat, Role
from smalti.engine.verify import count as verify_count
from smalti.engine.verify import stage as verify_stage
from smalti.engine.verify.classes import diversity, group, least_respondents
from smalti.engine.verify.columns import Batch, Coded, gathered, numbered
from smalti.engine.verify.count import ClassCount
from smalti.engine.verify.csv import CsvStream, parse_distinct_records, parse_records
from smalti.engine.verify.entries import Keys
from smalti.engine.verify.join import IsCovered, Joined
from smalti.engine.verify.labels import by_value, canonical
from smalti.engine.verify.promise import Counted
from smalti.engine.verify.read import Link, Original, read_original
from smalti.engine.verify.stage import StagedTable
from smalti.errors import BackendError, DataError, GuaranteeError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


# --- reading ---------------------------------------------------------------------------------------

FIELDS = st.one_of(st.sampled_from(["", "a", "b", "x" * 30]), st.text('a",\n\r\té\ufeff', max_size=4))
ROWS = st.lists(st.tuples(FIELDS, FIELDS, st.integers(1, 3)), max_size=12)


def field(text: str, is_quoted: bool) -> str:
    needs_quotes = is_quoted or any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def to_csv(rows: list[tuple[str, ...]], is_quoted: bool) -> bytes:
    lines = (",".join(field(text, is_quoted) for text in row) + "\n" for row in rows)
    return "".join(lines).encode()


@settings(max_examples=examples(75, full=1500))
@given(ROWS, st.integers(1, 60), st.booleans(), st.booleans())
def test_any_block_size_reads_the_same(
    place: Path, rows: list[tuple[str, str, int]], block: int, is_quoted: bool, has_mark: bool
) -> None:
    """Quoted line ends, equal records next to each other, records longer than a block."""
    whole = [(first, second) for first, second, times in rows for _ in range(times)]
    data = b"\xef\xbb\xbf" * has_mark + to_csv([("a", "b,c"), *whole], is_quoted)
    path = place / "some.csv"
    path.write_bytes(data)
    for is_distinct in (False, True):
        stream = CsvStream(path, block)
        if is_distinct:
            parse = partial(parse_distinct_records, wanted=["b,c", "a"])
            found = list(stream.batches(("a", "b,c"), parse))
            marks = [part for _, part in found]
            body = data.removeprefix(b"\xef\xbb\xbf")[len(stream.header) :]
            assert sum(each.commas for each in marks) == body.count(b",")
            assert sum(each.quotes for each in marks) == body.count(b'"')
            assert sum(each.returns for each in marks) == body.count(b"\r")
            batches = [batch for batch, _ in found]
        else:
            batches = list(stream.batches(("a", "b,c"), partial(parse_records, wanted=["b,c", "a"])))
        columns, number = gathered(batches)
        assert number == len(whole)
        for name, expected in zip(("a", "b,c"), zip(*whole, strict=True), strict=False):
            texts = [*columns[name].values.to_pylist(), ""]
            assert tuple(texts[code] for code in columns[name].codes) == expected
        assert stream.digest == hashlib.sha256(data).hexdigest()


def test_equal_lines_are_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 1000 + b'2,"y"\n' * 500 + b"1,x\n")
    stream = CsvStream(path)
    ((batch, marks),) = stream.batches(("a", "b"), partial(parse_distinct_records, wanted=["a", "b"]))
    assert batch.repeats.tolist() == [1000, 500, 1]
    assert (batch.records, batch.rows, marks.quotes, marks.commas) == (3, 1501, 1000, 1501)


def test_equal_lines_inside_of_a_record_are_not_one_line(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(b'a\n"x\nx\nx"\nx\nx\n')
    columns, _ = gathered(
        batch for batch, _ in CsvStream(path).batches(("a",), partial(parse_distinct_records, wanted=["a"]))
    )
    assert [columns["a"].values[code].as_py() for code in columns["a"].codes] == ["x\nx\nx", "x", "x"]


@pytest.mark.parametrize("data", [b"a,b\n1,2\n3\n", b"a,b\n1,\xff\n", b"a\n", b"", b"a,b\r1,2\n", b"\xff"])
def test_an_original_that_cannot_be_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        read_original(Original(path, OutputFormat.CSV), ("a", "b"), ("a", "b"))
    assert caught.value.__suppress_context__


def test_a_link_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "link.npy"
    np.save(path, np.arange(9))
    assert Link(path).part(3, 4).tolist() == [3, 4, 5, 6]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(GuaranteeError, match="link"):
        Link(path)


# --- values ----------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.decimals(-100, 100, places=2).map(str),
    st.decimals(-100, 100, places=2).map(lambda number: f"{number:.4f}"),
    st.tuples(st.integers(-200, 200), st.integers(-60, 60)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
    st.tuples(st.integers(-200, 200), st.integers(30, 60)).map(lambda pair: str(pair[0] * 10 ** pair[1])),
    st.sampled_from(["0", "-0", "-0.0", "0e5", "0.0", "1e0", "10e-1", "0." + "0" * 45 + "10", "1E-46"]),
)
MOMENTS = st.sampled_from(
    ["2020-01-01T10:00Z", "2020-01-01 11:00:00.000+01:00", "2020-01-01T10:00:00.5Z", "2020-01-01T11:00"]
)


@settings(max_examples=examples(100, full=2000))
@given(st.one_of(st.lists(NUMBERS, max_size=8), st.lists(MOMENTS, max_size=8)))
def test_canonical_texts_are_the_same_for_equal_values(texts: list[str]) -> None:
    """One at a time, for what is in a batch must not decide what a text becomes."""
    is_time = bool(texts) and ":" in texts[0]
    datatype = Datatype.DATETIME if is_time else Datatype.DOUBLE
    column = Column("c", IRI("urn:c"), datatype, False, Role.SENSITIVE, "Europe/Rome")
    distinct = list(dict.fromkeys(texts))
    coded = Coded(np.arange(len(distinct)), pa.array(distinct, pa.large_string()))
    numbers = by_value(column, coded).tolist()
    together = canonical(column, pa.array(["", *distinct], pa.large_string())).to_pylist()
    alone = [canonical(column, pa.array([text], pa.large_string()))[0].as_py() for text in distinct]
    assert together == ["", *alone]
    for one, other in ((i, j) for i in range(len(distinct)) for j in range(i)):
        assert (alone[one] == alone[other]) == (numbers[one] == numbers[other])
        if not is_time:
            assert (alone[one] == alone[other]) == (Decimal(distinct[one]) == Decimal(distinct[other]))


def test_what_is_no_value_has_no_canonical_text() -> None:
    column = Column("c", IRI("urn:c"), Datatype.INTEGER, False, Role.SENSITIVE)
    with pytest.raises(DataError) as caught:
        canonical(column, pa.array(["1", "7_310_048"], pa.large_string()))
    assert "310" not in str(caught.value)


@pytest.mark.parametrize("length", range(36, 44))
def test_long_numbers_are_the_same_with_and_without_zeros(length: int) -> None:
    column = Column("c", IRI("urn:c"), Datatype.DOUBLE, False, Role.SENSITIVE)
    digits = "1" * length
    same = [digits, f"{digits}.0", f"{digits}.000", f"{digits}e0", f"{digits}0e-1", f"{digits}.0000e0"]
    assert len(set(canonical(column, pa.array(same, pa.large_string())).to_pylist())) == 1


# --- staging ---------------------------------------------------------------------------------------

TEXTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])), min_size=1, max_size=12
)


def staged(folder: Path, parts: list[list[tuple[str, ...]]]) -> StagedTable:
    names = [f"c{number}" for number in range(len(parts[0][0]))]
    table = StagedTable(Path(tempfile.mkdtemp(dir=folder)), "some", names)
    for rows in parts:
        columns = (pa.array(column, pa.large_string()) for column in zip(*rows, strict=True))
        table.append(
            Batch(
                {name: numbered(column) for name, column in zip(names, columns, strict=True)},
                np.ones(len(rows), np.int64),
            )
        )
    return table


@pytest.mark.parametrize("most", [2, 1 << 16])
def test_keys_tell_all_combinations_apart(place: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(verify_stage, "MOST_TEXTS", most)

    @settings(max_examples=examples(40))
    @given(st.lists(TEXTS, min_size=1, max_size=3))
    def law(parts: list[list[tuple[str, ...]]]) -> None:
        table = staged(place, parts)
        keys = Keys(list(table.columns.values()))
        found = [
            zip(*(pa.array(key).to_pylist() for key in keys.of(e)), strict=True) for e in table.extents
        ]
        seen = {
            (key, row)
            for part, rows in zip(found, parts, strict=True)
            for key, row in zip(part, rows, strict=True)
        }
        assert len(seen) == len({key for key, _ in seen}) == len({row for _, row in seen})

    law()


@pytest.mark.parametrize("count", [255, 256, 257, 65_535, 65_536, 65_537])
def test_columns_are_read_as_they_were_staged(place: Path, count: int) -> None:
    """About the numbers where one byte, and two, are not enough any more."""
    texts = [(f"t{number}",) for number in range(count)]
    parts = [texts[: count - 1], [("",), texts[-1], texts[0]], texts]
    table = staged(place, parts)
    column = table.columns["c0"]
    assert column.is_wide == (count > 65_535)
    assert [column.texts(number).to_pylist() for number in range(3)] == [
        [t for (t,) in part] for part in parts
    ]


# --- columns with many texts -------------------------------------------------------------------------


def covered_in_pieces(
    folder: Path, datatype: Datatype, pairs: list[tuple[str, str]], step: int
) -> IsCovered:
    """Each label beside its original, in parts, as texts."""
    parts = [pairs[start : start + step] for start in range(0, len(pairs), step)]
    published = staged(folder, [[(label,) for label, _ in part] for part in parts])
    original = staged(folder, [[(text,) for _, text in part] for part in parts])
    column = Column("c0", IRI("urn:c"), datatype, False, Role.QUASI_IDENTIFIER)
    check = IsCovered(column, original.columns["c0"], published.columns["c0"])
    for extent in published.extents:
        place = np.arange(extent.records)
        check.look(Joined(extent, place, {"c0": original.columns["c0"].part(extent.number)}))
    check.finish()
    return check


COVERED = {
    Datatype.INTEGER: [("[1..9]", "1")] * 2 + [("", ""), ("7", "7"), ("[2..3|]", ""), ("[1..9]", "9")],
    Datatype.DATE: [("2020-01-31", "2020-01-31"), ("[2020-01-01..2020-02-29]", "2020-02-29"), ("", "")],
    Datatype.STRING: [("{a|b}", "a"), ("{a|b}", "b"), ("{a|b}", "a"), ("", ""), ("{c|}", ""), ("x", "x")],
}  # fmt: skip


@pytest.mark.parametrize("step", [1, 2, 100])
@pytest.mark.parametrize("datatype", COVERED)
def test_columns_of_texts_are_covered(
    place: Path, monkeypatch: pytest.MonkeyPatch, datatype: Datatype, step: int
) -> None:
    """Repeated and missing values stand at each place, also at the beginning and the end of a part."""
    monkeypatch.setattr(verify_stage, "MOST_TEXTS", 0)
    pairs = COVERED[datatype]
    for turn in range(len(pairs)):
        turned = pairs[turn:] + pairs[:turn]
        check = covered_in_pieces(place, datatype, turned, step)
        assert check._claims is None, "it is about columns that are kept as texts"


@pytest.mark.parametrize("step", [1, 2, 100])
@pytest.mark.parametrize(
    ("datatype", "label", "original"),
    [
        (Datatype.INTEGER, "[1..9]", "10"),
        (Datatype.INTEGER, "[1..9]", ""),
        (Datatype.INTEGER, "", "5"),
        (Datatype.DATE, "2020-01-31", "2020-02-01"),
        (Datatype.STRING, "{a|b}", "c"),
        (Datatype.STRING, "{a|b}", ""),
        (Datatype.STRING, "", "a"),
    ],
)
def test_one_value_that_is_not_covered_is_found(
    place: Path, monkeypatch: pytest.MonkeyPatch, datatype: Datatype, label: str, original: str, step: int
) -> None:
    monkeypatch.setattr(verify_stage, "MOST_TEXTS", 0)
    pairs = COVERED[datatype]
    for at in range(len(pairs) + 1):
        wrong = [*pairs[:at], (label, original), *pairs[at:]]
        with pytest.raises(GuaranteeError, match="does not cover its original"):
            covered_in_pieces(place, datatype, wrong, step)


# --- counting --------------------------------------------------------------------------------------

ENTRIES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(-1, 4), st.integers(-1, 2)),
    min_size=1,
    max_size=40,
)


def in_memory(classes: list[int], respondents: list[int], *values: list[int]) -> Counted:
    groups, people = group([np.array(classes)]), np.array(respondents)
    return Counted(
        groups.count,
        group([people]).count,
        least_respondents(groups, people),
        tuple(diversity(groups, people, np.array(each)) for each in values),
    )


@pytest.mark.parametrize("edges", [1, 1 << 20])
def test_counts_are_those_in_memory(place: Path, monkeypatch: pytest.MonkeyPatch, edges: int) -> None:
    monkeypatch.setattr(verify_count, "_EDGES", edges)

    @settings(max_examples=examples(40))
    @given(ENTRIES, st.integers(1, 40), st.booleans())
    def law(rows: list[tuple[int, int, int, int]], step: int, are_texts: bool) -> None:
        classes, respondents, first, second = (list(column) for column in zip(*rows, strict=True))
        form = str if are_texts else int
        table = pa.table(
            {
                "k0": [form(number) for number in classes],
                "k1": [7] * len(rows),
                "v0": [form(number) for number in first],
                "v1": second,
                "r": [form(number) for number in respondents],
            }
        )
        with closing(ClassCount(place)) as count:
            for start in range(0, len(rows), step):
                count.add(table.slice(start, step))
            assert count.counted() == in_memory(classes, respondents, first, second)

    law()


@settings(max_examples=examples(20))
@given(ENTRIES)
def test_counts_of_rows_are_those_in_memory(place: Path, rows: list[tuple[int, int, int, int]]) -> None:
    """`n` rows in one, each about another person."""
    whole = [(c, v, w) for c, n, v, w in rows for _ in range(n + 1)]
    classes, first, second = (list(column) for column in zip(*whole, strict=True))
    c, n, v, w = zip(*rows, strict=True)
    table = pa.table({"k0": c, "v0": v, "v1": w, "n": np.array(n) + 1})
    with closing(ClassCount(place)) as count:
        count.add(table)
        assert count.counted() == in_memory(classes, list(range(len(whole))), first, second)


def test_nothing_is_counted(place: Path) -> None:
    none = pa.array([], pa.int64())
    with closing(ClassCount(place)) as count:
        count.add(pa.table({"k0": none, "v0": none, "r": none}))
        found = count.counted()
    assert (found.classes, found.respondents, found.k) == (0, 0, 0)


def test_a_count_without_memory_says_so(place: Path) -> None:
    rows = pa.table({"k0": np.arange(100_000), "r": [f"wombat{i}" for i in range(100_000)]})
    with closing(ClassCount(place, memory="1KB")) as count, pytest.raises(BackendError) as caught:
        count.add(rows)
    assert "wombat" not in str(caught.value)
    assert caught.value.__suppress_context__


# --- memory ----------------------------------------------------------------------------------------

CHILD = """
import resource, sys, tempfile
from pathlib import Path
import numpy as np
from smalti.engine.plan.plan import (
    Apply, Column, OneRowEach, OutputFormat, Plan, Read, RespondentColumn, Role, Select, Write,
)
from smalti.engine.verify.verifier import Original, Output, Sizes, verify_in
from smalti.transforms.base import Datatype
from smalti.transforms.mondrian.transform import MondrianKAnonymity
from smalti.vocab.terms import IRI

folder, rows, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
T = IRI("urn:t")
roles = {"who": Role.IDENTIFIER, "age": Role.QUASI_IDENTIFIER, "zone": Role.QUASI_IDENTIFIER,
         "disease": Role.SENSITIVE}
types = {"age": Datatype.INTEGER}
columns = [Column(n, IRI(f"urn:t/{n}"), types.get(n, Datatype.STRING), False, r) for n, r in roles.items()]
who = RespondentColumn("who") if kind == "people" else OneRowEach(True)
transform = MondrianKAnonymity(10, 1, ("age", "zone"), ("disease",))
plan = Plan(Read(T, tuple(columns), who), Select(("age", "zone", "disease"), ("who",)), Apply(transform),
            Write(IRI("urn:o"), ("age", "zone", "disease"), OutputFormat.CSV))
original, output = folder / "original.csv", folder / "published.csv"
per_class = 20
number = np.arange(rows)
link = np.random.default_rng(1).permutation(rows)
label, value = number // per_class % 50, number % per_class
order = np.lexsort((value, number // per_class // 50, label))
label, value = label[order], value[order]
zones = number[order] // per_class // 50
with output.open("w") as file:
    file.write("age,zone,disease\\n")
    for start in range(0, rows, 100_000):
        part = slice(start, start + 100_000)
        file.writelines(
            f"[{a + 100}..{a + 101}],z{z:06},d{v:02}\\n"
            for a, z, v in zip(label[part].tolist(), zones[part].tolist(), value[part].tolist())
        )
place = np.empty(rows, np.int64)
place[link] = number
with original.open("w") as file:
    file.write("who,age,zone,disease\\n")
    for start in range(0, rows, 100_000):
        at = place[start:start + 100_000]
        file.writelines(
            f"p{i // 2},{a + 100},z{z:06},d{v:02}\\n"
            for i, a, z, v in zip(at.tolist(), label[at].tolist(), zones[at].tolist(), value[at].tolist())
        )
np.save(folder / "link.npy", link)
"""
MEASURED = """
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with tempfile.TemporaryDirectory(dir=folder) as place:
    found = verify_in(
        Path(place), plan, Original(original, OutputFormat.CSV), Output(output, OutputFormat.CSV),
        folder / "link.npy", None, Sizes(block=1 << 20, window=1 << 23, seen=1 << 20, count=sys.argv[4]),
    )
print(found.k, found.classes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
LOADED = CHILD.replace("original, output =", "rows = int(rows)\noriginal, output =").partition("per_class")[
    0
]


def peak(folder: Path, rows: int, kind: str) -> tuple[int, int, int]:
    """k, the classes, and the peak memory of a process that only verifies."""
    arguments = [str(folder), str(rows), kind, "48MiB" if kind == "rows" else "96MiB"]
    subprocess.run([sys.executable, "-P", "-c", CHILD, *arguments], check=True)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", LOADED + MEASURED, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    k, classes, size = map(int, ran.stdout.split())
    print(rows, kind, k, classes, size, "MiB")
    return k, classes, size


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "people"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, kind: str) -> None:
    """Ten times the rows, classes and respondents, with sizes so small that all are reached."""
    k, classes, small = peak(tmp_path, 300_000, kind)
    assert (k, classes) == (20 if kind == "rows" else 10, 15_000)
    _, classes, large = peak(tmp_path, 3_000_000, kind)
    assert classes == 150_000
    assert large < 1.3 * small, (small, large)
