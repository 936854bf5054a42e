"""Quotation marks that a parser overlooks can tell originals apart: the verifier does not overlook them."""

import csv
import io

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.verify.csv import _has_stray_quotes
from smalti.engine.verify.entries import Values


def is_stray(text: str) -> bool:
    return _has_stray_quotes(np.frombuffer(text.encode(), np.uint8))


@pytest.mark.parametrize(
    "text", ['"a,"b\n', 'a"b"\n', '"a" ,b\n', 'x,"a"b,y\n', '"a""\n', 'a""b\n', '"a"",b\n"c"\n', '"']
)
def test_marks_inside_or_behind_a_field_are_stray(text: str) -> None:
    assert is_stray(text)


@settings(max_examples=examples(200))
@given(
    st.lists(st.lists(st.text('a,"\n', max_size=4), min_size=2, max_size=2), max_size=5),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_a_writer_quotes_is_not_stray(rows: list[list[str]], quoting: int) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    assert not is_stray(text.getvalue())


def test_numbers_of_texts_have_one_type_in_all_parts() -> None:
    """Else a column whose texts become many in a later part does not fit what the first part made."""
    values = Values.__new__(Values)
    values._column, values._numbers = None, None
    few, many = np.array([1], np.uint8), np.array([300], np.uint16)
    assert {values.of(part).dtype for part in (few, many)} == {np.dtype(np.int32)}
