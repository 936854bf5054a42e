"""Labels say what a class holds, in a grammar that can be read in one way only."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tables import covers

from smalti.transforms.base import Datatype
from smalti.transforms.labels import class_labels, set_label
from smalti.transforms.values import encode

TEXTS = st.text(alphabet="ab[]{}|\\.,é", min_size=1, max_size=5)


def labels(texts: list[str | None], classes: list[int], datatype: Datatype) -> list[str | None]:
    book, codes = encode(pa.chunked_array([pa.array(texts, pa.string())]), datatype, None)
    found: list[str | None] = class_labels(book, codes, np.array(classes)).to_pylist()
    return found


def test_ranges_sets_and_missing_values() -> None:
    assert labels(["3", "1", None, None, "2", None], [0, 0, 1, 2, 2, 2], Datatype.INTEGER) == [
        "[1..3]", None, "[2..2|]",
    ]  # fmt: skip
    assert labels(["b", "a", None, None, "c"], [0, 0, 1, 2, 2], Datatype.STRING) == ["{a|b}", None, "{c|}"]


def test_bounds_keep_their_written_precision() -> None:
    assert labels(["1.50", "2.0", "1.5"], [0, 0, 1], Datatype.DECIMAL) == ["[1.5..2.0]", "1.5"]


def test_negative_numbers_are_not_mistaken() -> None:
    assert labels(["-5", "-1"], [0, 0], Datatype.INTEGER) == ["[-5..-1]"]


@given(st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=12), st.data())
def test_a_label_covers_its_class_and_no_other_text(texts: list[str | None], data: st.DataObject) -> None:
    last = len(texts) - 1
    drawn = data.draw(st.lists(st.integers(0, last), min_size=len(texts), max_size=len(texts)))
    _, classes = np.unique(np.array(drawn), return_inverse=True)
    made = labels(texts, classes.tolist(), Datatype.STRING)
    for number, label in enumerate(made):
        inside = {texts[i] or "" for i in range(len(texts)) if classes[i] == number}
        for text in {text or "" for text in texts} | {"", "a", "|", "\\"}:
            assert covers(label or "", text) == (text in inside)


@given(st.sets(TEXTS, min_size=1, max_size=4), st.booleans(), st.sets(TEXTS, min_size=1, max_size=4))
def test_different_sets_have_different_labels(one: set[str], missing: bool, other: set[str]) -> None:
    same = set_label(sorted(one), missing) == set_label(sorted(other), False)
    assert same == (one == other and not missing)
