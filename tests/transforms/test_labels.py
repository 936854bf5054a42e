"""Labels say what a class holds, in a grammar that can be read in one way only."""

import re

import numpy as np
import pyarrow as pa
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import coded, covers

from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING
from smalti.transforms.values.labels import class_labels, set_labels

TEXTS = st.text(alphabet="ab[]{}|\\.,é", min_size=1, max_size=5)


def labels(texts: list[str | None], classes: list[int], datatype: Datatype) -> list[str | None]:
    book, codes = coded(texts, datatype)
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
    texts = sorted(one | other)
    sets = pa.array(
        [[texts.index(text) for text in sorted(members)] for members in (one, other)],
        pa.large_list(pa.int64()),
    )
    given_texts = pa.array(texts, pa.large_string())
    first, second = set_labels(given_texts, sets, np.array([missing, False])).to_pylist()
    same = first == second
    assert same == (one == other and not missing)


def label_of(texts: list[str], has_missing: bool, datatype: Datatype) -> str | None:
    """The grammar once more, one class at a time; texts in the order of their values."""
    if not texts:
        return None
    if datatype is not Datatype.STRING:
        low, high = texts[0], texts[-1]
        return low if low == high and not has_missing else f"[{low}..{high}{'|' * has_missing}]"
    if len(texts) == 1 and not has_missing:
        return re.sub(r"\A([\[{\\])", r"\\\1", texts[0])
    items = [re.sub(r"([\\|{}])", r"\\\1", text) for text in texts]
    return "{" + "|".join(items + [""] * has_missing) + "}"


@settings(max_examples=examples(100, full=2000))
@given(
    st.sampled_from([Datatype.STRING, Datatype.INTEGER]),
    st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-9, 9)), st.integers(0, 4)), min_size=1, max_size=20
    ),
    st.lists(TEXTS, min_size=19, max_size=19, unique=True),
)
def test_labels_of_all_classes_are_those_of_each(
    datatype: Datatype, drawn: list[tuple[int | None, int]], words: list[str]
) -> None:
    """Class after class, also where all values of a class, or of a column, are missing."""
    word = str if datatype is Datatype.INTEGER else lambda number: words[number + 9]
    texts = [None if number is None else word(number) for number, _ in drawn]
    _, classes = np.unique(np.array([number for _, number in drawn]), return_inverse=True)
    book, codes = coded(texts, datatype)
    expected = []
    for number in range(classes.max() + 1):
        held = sorted(set(codes[classes == number].tolist()))
        of_class = [book.texts[code - 1].as_py() for code in held if code != MISSING]
        expected.append(label_of(of_class, MISSING in held, datatype))
    found = class_labels(book, codes, classes)
    assert found.type == pa.string()
    assert found.to_pylist() == expected


def test_a_line_end_at_the_beginning_of_a_string_is_not_its_beginning() -> None:
    assert labels(["\n[x", "\n{", "[y"], [0, 1, 2], Datatype.STRING) == ["\n[x", "\n{", "\\[y"]
