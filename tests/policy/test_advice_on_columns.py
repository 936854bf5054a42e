"""What is said of a column that a policy names wrongly: the bare name, and the nearest word."""

from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, small_policy

from smalti.policy.model.suggest import did_you_mean, nearest
from smalti.policy.read.parse import load


def errors(folder: Path, column: Any, **changes: Any) -> list[tuple[str, str, str]]:
    policy = small_policy(folder, **{"sensitive": ("isAllOf", [column])}, **changes)
    return [(finding.code, finding.message, finding.help) for finding in load(str(policy)).errors]


@pytest.mark.parametrize(
    ("column", "code", "bare"),
    [
        (f"{CUSTOMER}/Main Illness", "P212", "Main Illness"),
        ({"@id": f"{CUSTOMER}/Main Illness"}, "P212", "Main Illness"),
        ({"@id": f"{CUSTOMER}/<illness>"}, "P212", "<illness>"),
        ({"@id": "illness"}, "P209", "illness"),
    ],
)
def test_the_bare_name_is_the_way_out(tmp_path: Path, column: Any, code: str, bare: str) -> None:
    ((found, message, help_),) = errors(tmp_path, column)
    assert found == code
    assert message.startswith("the column ")
    assert help_ == f"write the bare name as a text, `{bare}`: its IRI is made of that"
    assert errors(tmp_path, bare) == []


def test_another_spelling_is_still_told(tmp_path: Path) -> None:
    ((code, message, help_),) = errors(tmp_path, {"@id": "http://example.com:80/illness"})
    assert (code, help_) == ("P212", "")
    assert "leave it out" in message


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("brith_date", ["death_date", "birth_rate", "birth_date"], "birth_date"),
        ("AGE", ["page", "Age"], "Age"),
        ("weigth", ["weight", "height", "length"], "weight"),
        ("assignee", ["assigner", "assigneeOf"], "assigneeOf"),
        ("visit_day", ["visitor_day", "visit_days", "day_of_visit"], "visit_days"),
        ("canary", ["x", "completely different"], None),
        ("", ["a"], None),
    ],
)
def test_the_nearest_word_takes_the_fewest_changes(
    word: str, candidates: list[str], expected: str | None
) -> None:
    assert nearest(word, candidates) == expected
    assert did_you_mean(word, reversed(candidates)) == (
        "" if expected is None else f"did you mean `{expected}`?"
    )
