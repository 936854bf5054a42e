"""`smalti audit compare`, with networks that learn nothing in the place of trained ones; about 4 s of CPU.

The how-to about it trains real ones.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from shell import Ran, smalti

from smalti import comparing
from smalti.cli.performing import perform
from smalti.engine.jobs.requests import Compare
from smalti.engine.registry.job_entries import JobResult
from smalti.json.comparisons import number
from smalti.studies.comparison import models
from smalti.studies.comparison.checkpoint import Checkpoint
from smalti.studies.comparison.estimate import Estimate

SMALL = (
    "--classes", "10", "--records", "200", "--epochs", "1", "--shadow-models", "1", "--repetitions", "2",
    "--noise-multiplier", "4", "--local-epsilon", "1", "--noise-in-training", "0.2",
)  # fmt: skip


class Ignorant:
    def confidences(self, features: np.ndarray) -> np.ndarray:
        return np.full((len(features), 10), 0.1, np.float32)


@pytest.fixture(autouse=True)
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of what was trained."""
    seeds: list[int] = []

    def train(*arguments):
        seeds.append(arguments[-1].seed)
        return [Ignorant()]

    monkeypatch.setattr(models, "train", train)
    return seeds


def compared(folder: Path, *more: str, out: str = "study") -> Ran:
    return smalti("audit", "compare", "--out", out, *SMALL, *more, cwd=folder)


def test_a_page_numbers_and_a_summary(tmp_path: Path, trainings: list[int]) -> None:
    ran = compared(tmp_path, "--seed", "7")
    assert ran.code == 0, ran.err
    assert len(trainings) == 3 * 2 * 2, "three settings, twice, a target and a shadow model each"
    files = {path.name for path in (tmp_path / "study").iterdir()}
    assert files == {"comparison.html", "comparison.json", "targets.jsonl"}
    page = (tmp_path / "study" / "comparison.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "central, z 4" in page
    told = " ".join(ran.out.split())
    assert "Central and local differential privacy, compared by membership inference" in told
    assert "local, epsilon 1 per bit" in told
    assert "7, of the data and of all noise: test only" in told
    # Of one number of classes and one noise multiplier, no statement is decided.
    assert "Of 18 statements of the document, 0 hold at this size, 0 do not" in told
    assert "Statement local-regularises" in page
    assert "Statement local-regularises" not in told


def test_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawings take most of the time.
    monkeypatch.setattr("smalti.reports.comparison.attacks", lambda *_: ())
    ran = compared(tmp_path, "--format", "json")
    assert ran.code == 0, ran.err
    told = ran.json
    assert told == json.loads((tmp_path / "study" / "comparison.json").read_text(encoding="utf-8"))
    assert (told["randomness"], told["seed"], told["records"]) == ("seed, test only", 0, 200)
    original, central, local = told["results"]
    assert original["againstUnseen"]["efficiencyOfPrecision"] is None
    assert original["againstUnseen"]["precision"]["standardDeviation"] >= 0
    assert central["noiseMultiplier"] == 4
    assert 0 < central["epsilon"] < central["epsilonByRenyi"]
    assert (local["epsilonOfBit"], local["epsilon"]) == (1, pytest.approx(600))
    # Models that say nothing are no better than a guess, so there is nothing to mitigate.
    assert local["againstTest"]["efficiencyOfPrecision"]["ofMeans"] is None
    assert [one["noiseInTraining"] for one in told["skews"]] == [0.2]
    findings = told["findings"]
    assert len(findings["statements"]) == 18
    adapted = findings["statements"][0]
    assert (adapted["statement"], adapted["page"], adapted["figure"]) == ("adapted-shadows", 38, None)
    assert adapted["verdict"] == "this size cannot tell"
    conditions = {one["of"]: one for one in adapted["parts"][0]["conditions"]}
    assert conditions["10 classes, z 2"]["interval"] is None, "it was not compared"
    assert conditions["10 classes, z 4"]["measured"] == 0
    assert conditions["10 classes, z 4"]["claimed"] == {"low": 0, "high": "INF", "isOutside": False}
    assert (
        conditions["10 classes, z 4"]["interval"]["low"]
        < 0
        < conditions["10 classes, z 4"]["interval"]["high"]
    )
    assert findings["largestPhi"] == {"measured": None, "interval": {"low": 0.0, "high": "INF"}}


@pytest.mark.slow
def test_a_job_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.reports.comparison.attacks", lambda *_: ())
    request = Compare(
        out=str(tmp_path / "study"), classes=(10,), records=200, epochs=1, shadow_models=1, repetitions=1,
        noise_multipliers=(4.0,), local_epsilons=(1.0,), noises=(0.2,),
    )  # fmt: skip
    report = tmp_path / "study" / "comparison.json"
    assert perform(request, "r.sqlite", tmp_path / "report.json") == JobResult(0, report=report)
    assert len(json.loads(report.read_text())["results"]) == 3


def test_infinity_has_a_name() -> None:
    assert number(float("inf")) == "INF"
    assert number(None) is None
    assert number(1.5) == 1.5
    assert number(-float("inf")) == "-INF"


def test_a_study_that_was_begun_with_other_settings(tmp_path: Path, trainings: list[int]) -> None:
    """One with the same settings goes on (tests/studies/test_checkpoint.py)."""
    study = tmp_path / "study"
    study.mkdir()
    Checkpoint(study / "targets.jsonl").begun(comparing.REDUCED)
    ran = compared(tmp_path)
    assert (ran.code, "begun with other settings" in ran.message) == (2, True), ran.err
    assert [path.name for path in study.iterdir()] == ["targets.jsonl"]
    assert not trainings


def test_another_process_works_in_the_folder(tmp_path: Path, trainings: list[int]) -> None:
    with comparing.held(tmp_path / "study"):
        ran = compared(tmp_path)
    assert (ran.code, "another process works in it" in ran.message) == (2, True)
    assert not trainings
    assert not (tmp_path / "study" / "lock").exists()


def test_an_estimate_writes_nothing(tmp_path: Path, trainings: list[int]) -> None:
    told = smalti("audit", "compare", *SMALL, "--estimate", "--format", "json", cwd=tmp_path).json
    assert (told["models"], told["modelsRemaining"]) == (12, 12)
    assert told["cpuSecondsOfPilot"] > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("seconds", "said"), [(780, "13 minutes"), (115_200, "32.0 hours")])
def test_an_estimate_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, said: str
) -> None:
    monkeypatch.setattr(comparing, "estimated", lambda *_: Estimate(12, 8, seconds, 26.4))
    ran = smalti("audit", "compare", *SMALL, "--estimate", cwd=tmp_path)
    assert ran.out == f"about {said} of CPU for 8 of 12 models, by a pilot that took 26 s\n"


def test_a_study_needs_a_folder(tmp_path: Path, trainings: list[int]) -> None:
    ran = smalti("audit", "compare", *SMALL, cwd=tmp_path)
    assert (ran.code, ran.message.startswith("--out: it is missing")) == (2, True), ran.err
    assert not trainings


def test_a_study_is_never_written_over(tmp_path: Path, trainings: list[int]) -> None:
    for name in ("comparison.html", "comparison.json"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_text("kept")
        ran = compared(tmp_path, out=folder.name)
        assert (ran.code, ran.message.split(";")[0]) == (2, f"{folder.name}/{name}: it exists already")
        assert (folder / name).read_text() == "kept"
    assert not trainings, "nothing is trained for a folder that cannot be written to"


def test_a_folder_that_cannot_be_made(tmp_path: Path, trainings: list[int]) -> None:
    (tmp_path / "file").write_text("")
    ran = compared(tmp_path, out="file/study")
    assert (ran.code, "cannot be written" in ran.message) == (2, True), ran.err
    assert not trainings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--classes", "7"), "divisors of 600"),
        (("--repetitions", "0"), "one of each at least"),
        (("--seed", "-1"), "a seed from 0"),
        (("--noise-multiplier", "nan"), "without an account"),
        (("--local-epsilon", "1"), "is repeated"),
        (("--records", "9"), "200 records at least"),
    ],
)
def test_what_is_asked_for_wrongly(
    tmp_path: Path, trainings: list[int], arguments: tuple[str, ...], message: str
) -> None:
    ran = compared(tmp_path, *arguments)
    assert (ran.code, message in ran.message) == (2, True), ran.err
    assert not trainings
    assert not (tmp_path / "study").exists()


def test_the_papers_size_is_the_documents() -> None:
    paper, reduced = comparing.PAPER, comparing.REDUCED
    assert (paper.classes, paper.epochs, paper.records) == ((10, 20, 50, 100), 200, 10_000)
    assert paper.noise_multipliers == (2, 4, 6, 8, 16)
    assert sorted(paper.local_epsilons) == [0.1, 1, 3, 5, 8]
    assert sorted(paper.noises) == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert reduced.models * 20 < paper.models * 10, "with a hundredth of the steps of each"
    assert (reduced.classes, reduced.settings) == (paper.classes, paper.settings)
