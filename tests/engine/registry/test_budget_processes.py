"""Several processes charge one budget: races, crashes, and a soak."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import budget_world


def test_of_several_processes_exactly_one_gets_the_last(tmp_path: Path) -> None:
    budget_world.race(str(tmp_path / "r.sqlite"), 4)


def test_a_crash_after_the_charge_leaves_it_charged(tmp_path: Path) -> None:
    budget_world.crash(str(tmp_path / "r.sqlite"))


@pytest.mark.slow
def test_no_budget_is_overspent_by_processes_that_are_killed(tmp_path: Path) -> None:
    budget_world.soak(str(tmp_path / "r.sqlite"), tmp_path, 10_000)
