"""`dct:valid`: which instants an interval holds, and what is no interval."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.model.model import Interval
from smalti.policy.read.parse import parse
from tests.effort import examples

READ = json.loads((Path(__file__).parent / "good" / "read.jsonld").read_text())


def valid(text: object) -> Interval | None:
    parsed = parse(json.dumps(READ | {"dct:valid": text}).encode(), "p")
    assert {found.code for found in parsed.diagnostics} <= {"P325"}
    return parsed.policies[0].valid if parsed.policies else None


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-01-01/2026-12-31", at(2026, 1, 1), at(2027, 1, 1)),
        ("2026-01-01/2026-01-01", at(2026, 1, 1), at(2026, 1, 2)),
        ("2026-01-01/..", at(2026, 1, 1), None),
        ("2026-01-01/", at(2026, 1, 1), None),
        ("../2026-12-31", None, at(2027, 1, 1)),
        ("/2026-12-31T12:00:00Z", None, at(2026, 12, 31, 12)),
        ("2026-01-01T00:00+02:00/2026-01-01", at(2025, 12, 31, 22), at(2026, 1, 2)),
        ("2026-01-01T00:00:00.5Z/..", at(2026, 1, 1, 0, 0, 0, 500_000), None),
        ("0001-01-01/9999-12-31", at(1, 1, 1), None),
        ("start=2026-01-01; end=2026-12-31;", at(2026, 1, 1), at(2027, 1, 1)),
        ("name=the first half; end=2026-06-30; scheme=W3C-DTF", None, at(2026, 7, 1)),
        (" 2026-01-01 / 2026-12-31 ", at(2026, 1, 1), at(2027, 1, 1)),
        ({"@value": "2026-01-01/..", "@type": "dct:Period"}, at(2026, 1, 1), None),
    ],
)
def test_interval(text: object, start: datetime | None, end: datetime | None) -> None:
    assert valid(text) == Interval(start, end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "../..",
        "2026",
        "2026-01-01",
        "2026-1-1/..",
        "2026-01/..",
        "2026-02-29/..",
        "2026-01-01/2026-12-31/2027-01-01",
        "2026-01-01/12-31",
        "2026-01-01/P1Y",
        "2026-01-01/2025-12-31",
        "2026-01-01T12:00:00Z/2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00/..",
        "2026-01-01T12:00:00 Z/..",
        "2026-01-01T12:00:00+0200/..",
        "2026-01-01T12:00:00+25:00/..",
        "2026-01-01T25:00Z/..",
        "2026-01-01T12:00:60Z/..",
        "0001-01-01T00:00:00+14:00/..",
        "٢٠٢٦-01-01/..",
        "start=2026-01-01; start=2026-01-02",
        "start=2026-01-01; end",
        "start=; end=",
        "start=2026-01-01; scheme=Geological timescale",
        "x" * 300,
        {"@value": "2026-01-01/..", "@type": "xsd:dateTime"},
        {"@value": "2026-01-01/..", "@language": "en"},
        {"@id": "http://example.com/2026"},
        20260101,
        True,
    ],
)
def test_no_interval(text: object) -> None:
    """Naive: what cannot be read is taken for "always"."""
    assert valid(text) is None


DAYS = st.dates()


@settings(max_examples=examples(100))
@given(DAYS, DAYS)
def test_days_hold_their_first_and_last_instant(first: datetime, last: datetime) -> None:
    if first > last:
        first, last = last, first
    found = valid(f"{first.isoformat()}/{last.isoformat()}")
    assert found is not None
    begin = at(first.year, first.month, first.day)
    assert found.contains(begin)
    assert found.contains(at(last.year, last.month, last.day, 23, 59, 59, 999_999))
    if begin > at(1, 1, 1):
        assert not found.contains(begin - timedelta(microseconds=1))
    if found.end is not None:
        assert not found.contains(found.end)
