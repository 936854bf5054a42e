"""A CSV file in ranges: wherever it is cut, the same records, or the same error, as for the whole file."""

import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables import dialect, reading
from smalti.engine.tables import records as _records
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.dialect import Part, RangeFacts, check_csv, join_ranges, read_header, scan_range
from smalti.engine.tables.reading import csv_text_batches, inspect, text_batches
from smalti.errors import DataError, InternalError
from smalti.vocab.terms import IRI

Cuts = list[int]
Problem = tuple[str, str]
BOM = b"\xef\xbb\xbf"

LONG = b'1,"' + b"x\n" * 70 + b'"\n'
GOOD_RECORDS = [
    b"1,2\n", b"1,2\r\n", b'"a\nb",2\n', b'"a\r\nb",2\r\n', b'1,"x""y"\n', b'"""",\n', b",\n",
    b'"",""\n', "é,🜁\n".encode(), b"\xef\xbb\xbf1,2\n", b'1,"\r"\n', LONG,
]  # fmt: skip
PIECES = [
    b",", b"\n", b'"', b"\r\n", b"\r", b"x", b'"",', b'","', b'""', b"\0", b"12", "é".encode(),
    "🜁".encode(), b"\x80", b"\xe2\x82", BOM,
]  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A header of two columns, then records of which some may be broken."""
    good = st.sampled_from(GOOD_RECORDS)
    body = draw(st.lists(st.one_of(good, good, good, st.sampled_from(PIECES)), max_size=8))
    # So that all of it comes to stand everywhere in a word of 64 bytes, and in words behind the first.
    name = b"a" * draw(st.integers(1, 140))
    header = draw(st.sampled_from([b"%s,b\n", b"%s,b\r\n", b'"%s\n",b\n', BOM + b"%s,b\n"])) % name
    last = draw(st.sampled_from([b"", b"1,2", b'1,"2"', b"1,"]))
    return header + b"".join(body) + last


CUTS = st.lists(st.integers(0, 200), max_size=5)
CHUNKS = st.sampled_from([1, 3, 64, 65, 100, 1 << 20, 1 << 20])


@contextmanager
def stored(content: bytes, chunk: int = 1 << 20) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "_CHUNK", chunk)
        place = Path(folder) / "t.csv"
        place.write_bytes(content)
        yield place


def scanned(place: Path, cuts: Cuts, fields: int) -> list[RangeFacts]:
    size = place.stat().st_size
    ends = sorted({0, size, *(cut for cut in cuts if cut < size)})
    with place.open("rb") as file:
        return [scan_range(file, begin, end, fields) for begin, end in pairwise(ends)]


def whole(place: Path) -> list[Part] | Problem:
    try:
        return list(check_csv(place).parts)
    except DataError as error:
        return error.where, error.problem


def in_ranges(place: Path, cuts: Cuts) -> list[Part] | Problem:
    fields = len(read_header(place))
    facts = [pickle.loads(pickle.dumps(one)) for one in scanned(place, cuts, fields)]
    try:
        return join_ranges("t.csv", reversed(facts), fields)
    except DataError as error:
        return error.where, error.problem


TOO_LONG = "a record is longer than 8 MiB"


def byte_problem(text: bytes, at: int, is_inside: bool) -> str | None:
    byte, before, after = text[at : at + 1], text[at - 1 : at] if at else b"\n", text[at + 1 : at + 2]
    if byte == b"\0":
        return "a NUL byte"
    if byte == b'"' and (after not in b',\n\r"' if is_inside else before not in b',\n"'):
        return "a quote inside a field"
    if byte == b"\r" and not is_inside and after != b"\n":
        return "a carriage return without a line feed"
    return None


def record_problem(record: bytes, commas: int, fields: int, longest: int) -> str | None:
    length = len(record.removesuffix(b"\r"))
    if length > longest:
        return TOO_LONG
    if length == 0:
        return "a blank line"
    return None if commas == fields - 1 else f"{commas + 1} fields"


def first_not_utf8(text: bytes) -> int | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def reference(content: bytes, fields: int, longest: int) -> int | Problem:
    """The dialect, byte by byte: the number of records, or the first broken one and what it breaks."""
    text = content.removeprefix(BOM)
    records, begin, commas, is_inside = 0, 0, 0, False
    for at in range(len(text) + 1):
        byte, problem = text[at : at + 1], byte_problem(text, at, is_inside)
        is_record_end = not is_inside and (byte == b"\n" or begin < at == len(text))
        if at == first_not_utf8(text):
            problem = "bytes that are not UTF-8"
        if at == len(text) and is_inside:
            problem = "a quoted field is not closed"
        if problem and at - begin > longest:
            problem = TOO_LONG
        if is_record_end:
            problem = record_problem(text[begin:at], commas, fields, longest)
        if problem:
            return ("t.csv, the header" if records == 0 else f"t.csv, record {records}"), problem
        is_inside = is_inside != (byte == b'"')
        commas += not is_inside and byte == b","
        if is_record_end:
            records, begin, commas = records + 1, at + 1, 0
    return records - 1


@settings(max_examples=examples(125, full=2500))
@given(contents(), CHUNKS, st.sampled_from([143, 146, 1 << 23]))
def test_the_check_agrees_with_one_that_goes_byte_by_byte(content: bytes, chunk: int, longest: int) -> None:
    with stored(content, chunk) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_records, "LONGEST_RECORD", longest)
        found = whole(place)
        count = sum(part.records for part in found) if isinstance(found, list) else found
        assert count == reference(content, 2, longest)


@settings(max_examples=examples(80, full=2500))
@given(contents(), CUTS, CHUNKS, st.sampled_from([143, 146, 1 << 23]))
def test_cuts_make_no_difference(content: bytes, cuts: Cuts, chunk: int, longest: int) -> None:
    with stored(content, chunk) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_records, "LONGEST_RECORD", longest)
        expected, found = whole(place), in_ranges(place, cuts)
    if not isinstance(expected, list) or not isinstance(found, list):
        assert found == expected
        return
    assert sum(part.records for part in found) == sum(part.records for part in expected)
    assert [part.first for part in found[1:]] == [part.first + part.records for part in found[:-1]]
    assert [part.begin for part in found[1:]] == [part.end for part in found[:-1]]
    if expected:
        (one,) = expected
        assert (found[0].begin, found[0].first, found[-1].end) == (one.begin, 0, len(content))
        forms = {(p.size, p.longest, p.has_quotes, p.has_inner_lines) for p in found}
        assert forms == {(one.size, one.longest, one.has_quotes, one.has_inner_lines)}


@settings(max_examples=examples(75, full=1500))
@given(st.lists(st.sampled_from(GOOD_RECORDS), max_size=8), CUTS, st.sampled_from([1, 8, 1 << 21]))
def test_the_parts_read_one_by_one_are_the_whole(records: list[bytes], cuts: Cuts, block: int) -> None:
    with stored(b"a,b\n" + b"".join(records)) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BLOCK", block)
        source = Source(IRI("http://example.com/t"), place, OutputFormat.CSV, Description())
        one = inspect(source)
        parts = join_ranges("t.csv", scanned(place, cuts, 2), 2)
        found = [
            row
            for part in parts
            for row in text_batches(source, replace(one, parts=(part,))).read_all().to_pylist()
        ]
        assert found == text_batches(source, one).read_all().to_pylist()
        assert [row["row"] for row in found] == list(range(len(records)))
        texts = b"".join(records).decode()
        assert sum(str(row["c0"]).count("\ufeff") for row in found) == texts.count("\ufeff")
        assert sum(str(row["c0"]).count("\r\n") for row in found) == texts.count("a\r\nb")


@pytest.mark.parametrize("cut", range(1, 13))
def test_a_range_that_begins_in_a_mark_or_in_the_header(cut: int) -> None:
    with stored(BOM + b"a,b\r\n1,2\n3,4\n") as place:
        found = in_ranges(place, [cut])
        assert isinstance(found, list)
        assert [(p.begin, p.first, p.records) for p in found] == (
            [(8, 0, 2)] if cut <= 8 else [(8, 0, 1), (12, 1, 1)]
        )


def test_ranges_in_which_no_record_begins_are_left_out() -> None:
    with stored(b'a,b\n1,"' + b"x\n" * 50 + b'"\n3,4\n') as place:
        found = in_ranges(place, list(range(0, 100, 9)))
        assert isinstance(found, list)
        assert [(part.first, part.records) for part in found] == [(0, 1), (1, 1)]


def test_a_file_that_changes_between_the_reads_is_refused() -> None:
    with stored(b"a,b\n1,2\n3,4\n") as place:
        first, _ = scanned(place, [6], 2)
        with place.open("ab") as file:
            file.write(b"5,6\n")
        _, second = scanned(place, [6], 2)
        with pytest.raises(DataError, match="the file changed while it was read"):
            join_ranges("t.csv", [first, second], 2)
        with place.open("rb") as file, pytest.raises(DataError, match="the file changed while it was read"):
            join_ranges("t.csv", [scan_range(file, 0, 17, 2)], 2)


def test_ranges_must_cover_the_file() -> None:
    with stored(b"a,b\n1,2\n3,4\n5,6\n") as place:
        one, two, three = scanned(place, [6, 9], 2)
    for ranges in ([one, three], [one, two], [two, three], [one, two, two, three]):
        with pytest.raises(InternalError, match="do not cover"):
            join_ranges("t.csv", ranges, 2)


@pytest.mark.parametrize(
    "change", [b"a,b\n1,2\n", b"a,b\n1,23456\n", b"a,b\n1,\xff\n3,4\n", b"a,b\n11,2\n34\n"]
)
def test_what_changes_after_the_check_is_an_error(change: bytes) -> None:
    with stored(b"a,b\n1,2\n3,4\n") as place:
        source = Source(IRI("http://example.com/t"), place, OutputFormat.CSV, Description())
        seen = inspect(source)
        place.write_bytes(change)
        with pytest.raises(
            DataError, match=r"changed while it was read|cannot be read as its format"
        ) as caught:
            text_batches(source, seen).read_all()
    assert caught.value.__cause__ is None


def test_what_is_no_longer_utf8_is_an_error_wherever_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 10)
    content = b"a,b\n" + b"1,xx\n" * 8
    with stored(content) as place:
        source = Source(IRI("http://example.com/t"), place, OutputFormat.CSV, Description())
        seen = inspect(source)
        for at in [at for at, byte in enumerate(content) if byte == ord("x")]:
            place.write_bytes(content[:at] + b"\xc3" + content[at + 1 :])
            with pytest.raises(DataError, match="cannot be read as its format"):
                text_batches(source, seen).read_all()


@pytest.mark.parametrize("is_part", [True, False])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_line_end_inside_quotes_stays_whole_wherever_a_block_ends(
    monkeypatch: pytest.MonkeyPatch, is_part: bool, line_end: str
) -> None:
    # Arrow alone loses the LF where a block ends between it and the CR.
    monkeypatch.setattr(reading, "_BLOCK", 40)
    monkeypatch.setattr(reading, "LONGEST_RECORD", 20)
    text = f"z{line_end}w"
    for pad in range(20):
        with stored(b"a,b\n1," + b"x" * pad + b"\n" + f'2,"{text}"\n'.encode() * 30) as place:
            part = check_csv(place).parts[0] if is_part else None
            batches = csv_text_batches(place, ("a", "b"), part)
            found = [text for batch in batches for text in batch.column(1).to_pylist()]
        assert found == ["x" * pad or None] + [text] * 30


def test_bits_are_counted_without_numpys_own_function() -> None:
    words = np.random.default_rng(1).integers(0, 1 << 64, 1000, np.uint64)
    words[:3] = 0, (1 << 64) - 1, 1 << 63
    assert _records._add_bits(words).tolist() == [int(word).bit_count() for word in words]
