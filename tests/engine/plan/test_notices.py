"""Warnings: every sentence for programs, few lines for people, and this data before what always holds."""

import pytest

from smalti.engine.plan.notices import (
    MOST_ALIKE,
    Notice,
    dropped_unnamed,
    names_shown,
    ordered,
    sentences,
    warning_lines,
)

NAMES = tuple(f"c{number}" for number in range(13, 201))
SHORT = "c13, c14, c15 and 185 more; `--verbose` lists them"


def test_many_dropped_columns_are_one_line_for_people_and_one_sentence_each_for_programs() -> None:
    (notice,) = dropped_unnamed(NAMES)
    told = "188 columns that the policy does not name will be dropped: c13, c14, c15 and 185 more"
    assert notice.shown(in_full=False) == (f"{told}; `--verbose` lists them",)
    each = tuple(f"column {name} will be dropped: the policy does not name it" for name in NAMES)
    assert notice.sentences == notice.shown(in_full=True) == sentences([notice, notice]) == each


@pytest.mark.parametrize("count", [1, MOST_ALIKE])
def test_few_dropped_columns_are_told_one_by_one(count: int) -> None:
    (notice,) = dropped_unnamed(NAMES[:count])
    assert notice.shown(in_full=False) == notice.sentences
    assert len(notice.sentences) == count
    assert dropped_unnamed([]) == ()


def test_a_column_with_braces_in_its_name() -> None:
    (notice,) = dropped_unnamed(["{0}", "{", "{}"])
    assert [text.split()[1] for text in notice.sentences] == ["{0}", "{", "{}"]


def test_a_long_list_is_shortened_for_people_only() -> None:
    notice = Notice("ends of ranges", NAMES)
    assert notice.shown(in_full=False) == (
        "ends of ranges: c13, c14, c15 and 185 more; `--verbose` lists them",
    )
    assert notice.sentences == notice.shown(in_full=True) == ("ends of ranges: " + ", ".join(NAMES),)
    assert Notice("plain").sentences == Notice("plain").shown(in_full=False) == ("plain",)


def test_what_concerns_this_data_comes_first_and_once() -> None:
    always, of_data = Notice("always"), Notice("in this data", is_of_data=True)
    assert ordered([always, of_data, always]) == (of_data, always)
    lines = list(warning_lines([always, of_data], in_full=False))
    assert lines == [("warning", "in this data"), ("warning", "always")]


def test_alike_names() -> None:
    assert names_shown(NAMES, in_full=False) == (
        "188 columns: c13, c14, c15 and 185 more; `--verbose` lists them",
    )
    assert names_shown(NAMES, in_full=True) == NAMES
    assert names_shown(NAMES[:2], in_full=False) == NAMES[:2]
