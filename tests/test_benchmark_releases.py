"""The benchmark of releases: its answers are those without privacy, and it is measured beside them."""

from collections.abc import Iterator
from pathlib import Path

import generated
import pytest
import release_job
import releases
import run as command_line
from measuring import CommandError, Usage
from results import KINDS, Measured, ReleaseRow, Setting, from_json, to_json
from suites import Bench

ROWS = 700
HERE = Setting(date="2026-11-22", commit="0", machine="m", software="s", base="b")


@pytest.fixture(scope="module")
def base() -> generated.Base:
    return generated.read_base(None)


def written(kind: str, folder: Path, base: generated.Base) -> Path:
    path = folder / f"{kind}-{ROWS}.csv"
    if kind == "redrawn":
        generated.write_redrawn(path, ROWS, 7, base)
    else:
        generated.write_transactions(path, ROWS, 7)
    return path


@pytest.mark.parametrize("kind", release_job.QUESTIONS)
def test_exact_answers_are_those_without_privacy(kind: str, base: generated.Base, tmp_path: Path) -> None:
    data, question = written(kind, tmp_path, base), release_job.QUESTIONS[kind]
    ours, phases = release_job.with_smalti("local", question, data)
    theirs, _ = release_job.with_plain("local", question, data)
    assert ours == theirs
    assert sum(ours["histogram"].values()) == ROWS
    assert list(phases) == ["read", "aggregate", "draw"]


def usages(*seconds: float) -> Iterator[Usage]:
    return iter([Usage(one, 2 * one, 100.0) for one in seconds])


def test_the_fastest_later_run_stands_beside_the_plain_one(
    base: generated.Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"plain": usages(9, 2, 3), "smalti": usages(9, 5, 4)}
    answers: dict[str, dict[str, int]] = {"histogram": {}, "sum": {}}
    monkeypatch.setattr(
        releases, "_job", lambda bench, what, *more: (next(times[what]), answers, {"read": 1.0})
    )
    monkeypatch.setattr(releases, "_peer", lambda *more: Usage(8, 12, 50.0))
    bench = Bench(folder=tmp_path, base=base, adult=None, seed=7, runs=3)
    ours, peer = releases.release_rows(bench, "redrawn", ROWS, ["local"])
    assert ours.cells()["times the plain"] == "2.0"
    assert (ours.wall, ours.plain_wall, ours.tool, ours.phases) == (4, 2, "smalti", {"read": 1.0})
    assert (peer.wall, peer.plain_wall, peer.engine) == (8, 2, "polars")
    kept = [Measured(ours, HERE), Measured(peer, HERE)]
    assert from_json(to_json(kept)) == kept
    assert KINDS["release"] is ReleaseRow


def test_other_answers_end_the_benchmark(
    base: generated.Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(bench: Bench, what: str, *more: object) -> tuple[Usage, dict[str, str], dict[str, float]]:
        return Usage(1, 1, 1.0), {"histogram": what}, {}

    monkeypatch.setattr(releases, "_job", job)
    bench = Bench(folder=tmp_path, base=base, adult=None, seed=7, runs=2)
    with pytest.raises(CommandError, match="exact answers differ"):
        list(releases.release_rows(bench, "transactions", ROWS, ["local"]))


def test_releases_are_a_suite() -> None:
    given = command_line.arguments().parse_args(["--suites", "releases"])
    assert given.suites == ["releases"]
