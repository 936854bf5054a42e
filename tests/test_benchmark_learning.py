"""The benchmarks of training and audits: the records are as stated, and each stands beside its floor."""

import json
from collections.abc import Iterator
from pathlib import Path

import audit_job
import audits
import generated
import numpy as np
import pytest
import run as command_line
import training_job
import trainings
from measuring import CommandError, Usage
from peers import Peer
from results import AuditRow, Measured, Setting, TrainingRow, from_json, to_json
from suites import Bench

HERE = Setting(date="2026-11-22", commit="0", machine="m", software="s", base="b")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    base = generated.Base(table=None, name="none")  # type: ignore[arg-type]
    return Bench(folder=tmp_path, base=base, adult=None, seed=7, runs=3)


def test_records_are_words_of_their_class_with_flipped_bits(bench: Bench) -> None:
    path = trainings.data_file(bench, 500)
    written = path.read_bytes()
    with np.load(path) as kept:
        features, labels = kept["features"], kept["labels"]
    assert features.shape == (500, 600)
    assert np.bincount(labels).tolist() == [5] * 100
    # Of two records of a class a bit differs with probability 2 * 0.35 * 0.65, of any others with 1/2.
    # 5 standard deviations of 300,000 bits; of a class, of 60,000.
    order = features[np.argsort(labels, kind="stable")].reshape(100, 5, 600)
    assert abs((order[:, 0] != order[:, 1]).mean() - 0.455) < 5 * 0.00204
    assert abs((order[:-1, 0] != order[1:, 1]).mean() - 0.5) < 5 * 0.00206
    path.unlink()
    assert trainings.data_file(bench, 500).read_bytes() == written
    assert trainings.data_file(bench, 500) == path


def trained(*epochs: float) -> Iterator[trainings.Trained]:
    for epoch in epochs:
        yield trainings.Trained(Usage(2 * epoch, 3 * epoch, 100.0), {"first epoch": 9.0, "epoch": epoch})


def test_an_epoch_stands_beside_the_same_without_privacy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {
        ("smalti", "plain"): trained(1, 3, 2),
        ("smalti", "private"): trained(1, 10, 12),
        ("scikit-learn", "plain"): trained(1, 4, 5),
        ("good", ""): trained(1, 30, 20),
    }

    def peer(bench: Bench, given: Peer, *_: object) -> trainings.Trained:
        if given.name == "broken":
            raise CommandError("no such package")
        return next(made[given.name, ""])

    monkeypatch.setattr(trainings, "_job", lambda bench, tool, what, *_: next(made[tool, what]))
    monkeypatch.setattr(trainings, "_peer", peer)
    found = list(trainings.training_rows(bench, 500, [Peer("broken", "1"), Peer("good", "2")]))
    ours, without, other = found
    assert (ours.tool, ours.epoch, ours.plain_epoch, ours.cpu, ours.plain_cpu) == ("smalti", 10, 2, 30, 6)
    assert ours.cells()["times the plain"] == "5.0"
    assert (without.epoch, without.plain_epoch) == (4, 2)
    assert without.tool.endswith("without privacy")
    assert (other.tool, other.epoch, other.plain_epoch) == ("good 2", 20, 2)
    assert "broken 1 is left out: no such package" in capsys.readouterr().err
    kept = [Measured(row, HERE) for row in found]
    assert from_json(to_json(kept)) == kept
    assert len({one.key for one in kept}) == 3
    assert TrainingRow.kind == "training"


def audit(cpu: float) -> audits.AuditJob:
    return audits.AuditJob(Usage(2 * cpu, cpu, 100.0), {"attack": cpu}, {"loss": 0.5})


def test_an_audit_stands_beside_the_same_models_without_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"models": map(audit, (1, 5, 4)), "audit": map(audit, (1, 8, 9))}
    asked = []

    def job(bench: Bench, what: str, data: Path) -> audits.AuditJob:
        asked.append((what, data.name))
        return next(made[what])

    monkeypatch.setattr(audits, "_job", job)
    (row,) = audits.audit_rows(bench, 200)
    assert set(asked) == {("models", "bits-400.npz"), ("audit", "bits-400.npz")}
    assert (row.cpu, row.models_cpu, row.phases, row.found) == (8, 4, {"attack": 8}, {"loss": 0.5})
    assert row.cells()["in CPU"] == "2.0"
    kept = [Measured(row, HERE)]
    assert from_json(to_json(kept)) == kept
    assert AuditRow.kind == "audit"


def test_what_jobs_print_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """And which jobs are run."""
    commands = []
    printed = {
        "training_job.py": {"start": 1.0, "first epoch": 2.0, "epoch": 0.5},
        "audit_job.py": {"phases": {"attack": 3.0}, "figures": {"loss": {"true positives": 0.25}}},
    }

    def pretended(command: list[str], *, output: Path, environment: object = None) -> Usage:
        commands.append(command[3:])
        output.write_text(json.dumps(printed[Path(command[2]).name]))
        return Usage(1, 2, 3)

    for suite in (trainings, audits):
        monkeypatch.setattr(suite, "measure", pretended)
    assert trainings._job(bench, "smalti", "plain", Path("d")).phases["epoch"] == 0.5
    assert audits._job(bench, "audit", Path("d")).rates == {"loss": 0.25}
    assert commands == [["smalti", "plain", "d"], ["audit", "d"]]


def test_training_and_audits_are_measured_by_default_and_peers_are_not() -> None:
    given = command_line.arguments().parse_args([])
    assert {"training", "audits"} <= set(given.suites)
    assert (given.records, given.training_peers) == ([10_000], None)


def test_scikit_learn_is_not_said_to_be_private() -> None:
    with pytest.raises(ValueError, match="without privacy only"):
        training_job.with_scikit_learn("private", "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["plain", "private"])
def test_epochs_are_timed(bench: Bench, what: str) -> None:
    data = str(trainings.data_file(bench, 300))
    spent = training_job.measured(lambda: training_job.with_smalti(what, data))
    assert tuple(spent) == training_job.PHASES
    assert spent["first epoch"] > spent["epoch"] > 0


@pytest.mark.slow
def test_an_audit_is_timed_and_finds_what_was_planted(bench: Bench) -> None:
    data = str(trainings.data_file(bench, 8000))
    made = audit_job.audited("audit", data)
    assert set(made["figures"]) == {"loss", "lira-online", "rmia"}  # type: ignore[call-overload]
    phases = ["import", "data", "train the target", "attack", "train shadow models"]
    assert list(made["phases"])[:5] == phases  # type: ignore[call-overload]
    assert list(audit_job.audited("models", data)["phases"]) == [*phases[:3], phases[4]]  # type: ignore[call-overload]
