"""What a run shows while it lasts."""

import io

import pytest
from rich.console import Console

from smalti.cli import progress


def shown(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> str:
    out = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda **_: Console(file=out, force_terminal=is_terminal, width=80)
    )
    with progress.showing_phases() as watch:
        watch.phase("read")
        watch.rows(1000)
        watch.phase("write")
    return out.getvalue()


def test_phases_are_shown_with_their_rows_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, is_terminal=True)
    assert "read" in text
    assert "write" in text
    assert "rows/s" in text


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shown(monkeypatch, is_terminal=False)


def test_what_is_counted_are_a_few_phases_of_a_job() -> None:
    watch = progress.CommandWatch()
    with progress.watching(watch), progress.counting("train models", 640) as trained:
        for _ in range(80):
            trained(8)
    phases = [timing.phase for timing in watch.timings]
    assert len(phases) == 21
    assert [phases[0], phases[-1]] == ["train models, 0 of 640", "train models, 640 of 640"]


def test_what_is_counted_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=out, force_terminal=True, width=80))
    with progress.counting("train models", 2) as trained:
        trained(2)
    assert "train models" in out.getvalue()
