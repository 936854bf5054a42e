"""One release alone is told by what it is known to lose, and not by the ledger's less exact account."""

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from smalti.cli import runs as cli_runs
from smalti.engine.plan.files import Composition
from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.show.losses import losses

OWN = PlannedLoss(Decimal("2.2"), Decimal("0.01"), 0.9, 0.25, "2.2", "0", Decimal("0.01"))


def together(releases: int) -> Composition:
    return Composition(StatedLoss(Decimal("2.2"), Decimal("0.01"), 0.9, 0.75), releases)


@pytest.mark.parametrize(("releases", "figures"), [(1, ["0.250", "0.250"]), (2, ["0.250", "0.750"])])
def test_a_table_of_losses(releases: int, figures: list[str]) -> None:
    outcome: Any = SimpleNamespace(composition=together(releases))
    shown = Console(width=200)
    with shown.capture() as text:
        shown.print(losses(OWN, outcome))
    rows = text.get().splitlines()[1:]
    assert [row.split()[-1] for row in rows] == figures
    assert f"all {releases} so far" in rows[1]


@pytest.mark.parametrize("releases", [1, 2])
def test_a_plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], releases: int) -> None:
    monkeypatch.setattr("smalti.engine.run.explain.to_text", lambda *_, **__: "the plan\n")
    planned = SimpleNamespace(plan=None, composition=together(releases), notices=())
    cli_runs._show_plan(planned, as_json=False, in_full=False)
    assert ("0.750" in capsys.readouterr().out) is (releases > 1)
