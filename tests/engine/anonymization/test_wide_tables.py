"""Tables of 200 columns: what a plan and a run say of them fits on a screen, and programs get all of it."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from shell import CUSTOMER, OWNER, USER, small_policy

import smalti as api
from smalti.engine.run.explain import to_text
from smalti.json.runs import outcome_json
from smalti.show.runs import show_outcome

SCREEN = 50
ROWS = 12
NAMES = [f"c{number}" for number in range(200)]
Roles = dict[str, Any]


def columns(names: Sequence[str]) -> list[dict[str, str]]:
    return [{"@id": f"{CUSTOMER}/{name}"} for name in names]


def wide_data(folder: Path) -> Path:
    place = folder / "wide.csv"
    with place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [NAMES, *([row, *((row * 7 + at) % 5 for at in range(1, len(NAMES)))] for row in range(ROWS))]
        )
    return place


def roles(identifiers: slice, quasi: slice, sensitive: slice) -> Roles:
    named = {"identifier": identifiers, "quasi-identifier": quasi, "sensitive": sensitive}
    return {word: ("isAllOf", columns(NAMES[part])) for word, part in named.items()}


FEW = roles(slice(0, 1), slice(1, 9), slice(9, 12))
MANY = roles(slice(0, 60), slice(60, 120), slice(120, 121))


@pytest.mark.parametrize("said", [FEW, MANY])
def test_a_plan_of_200_columns_fits_on_a_screen(tmp_path: Path, said: Roles) -> None:
    planned = api.plan(small_policy(tmp_path, **said), data={CUSTOMER: wide_data(tmp_path)})
    assert planned.plan is not None
    text = to_text(planned.plan, planned.notices)
    assert len(text.splitlines()) <= SCREEN
    assert "`--verbose` lists them" in text
    in_full = to_text(planned.plan, planned.notices, in_full=True)
    assert all(f"  {name} " in in_full for name in NAMES)
    assert api.explain(planned.plan, verbose=True).count("\n") > len(NAMES)
    dropped = [
        one for one in planned.warnings if one.endswith("will be dropped: the policy does not name it")
    ]
    unnamed = len(NAMES) - sum(len(columns_of) for _, columns_of in said.values())
    assert len(dropped) == unnamed, "programs get each of them"


def test_a_run_on_200_columns_says_it_in_few_lines(tmp_path: Path) -> None:
    outcome = api.run(
        small_policy(tmp_path, **FEW), data={CUSTOMER: wide_data(tmp_path)}, party=USER, owner=OWNER,
        purpose="marketing", out=tmp_path / "out", registry=tmp_path / "smalti.sqlite",
    )  # fmt: skip
    assert outcome.version is not None
    screen = Console(width=110)
    with screen.capture() as shown:
        show_outcome(screen, outcome, "smalti.sqlite")
    text = shown.get()
    assert len(text.splitlines()) <= SCREEN
    assert "188 columns that the policy does not name will be dropped: c12, c13, c14" in text
    with screen.capture() as in_full:
        show_outcome(screen, outcome, "smalti.sqlite", in_full=True)
    assert in_full.get().count("will be dropped") == 188
    document = outcome_json(outcome)
    assert len(document["warnings"]) >= 188
    (dropped,) = (one for one in document["notices"] if "will be dropped" in one["text"])
    assert dropped["listed"] == NAMES[12:]
