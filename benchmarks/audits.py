"""The suite of audits: 16 shadow models and three attacks, beside the training of the same models alone."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring import Usage, measure
from results import AuditRow
from suites import Bench
from trainings import data_file

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class AuditJob:
    """A process of `audit_job.py`, and what it printed."""

    usage: Usage
    phases: dict[str, float]
    """CPU seconds."""
    rates: dict[str, float]
    """By attack: the true positive rate."""


def audit_rows(bench: Bench, records: int) -> Iterator[AuditRow]:
    """Audit and train in turns, and keep the later ones with the least CPU."""
    data = data_file(bench, 2 * records)
    models, audits = [], []
    for _ in range(bench.runs):
        models.append(_job(bench, "models", data))
        audits.append(_job(bench, "audit", data))
    floor, cheapest = _cheapest(models), _cheapest(audits)
    yield AuditRow(
        records=records,
        wall=cheapest.usage.wall,
        cpu=cheapest.usage.cpu,
        peak=cheapest.usage.peak,
        models_wall=floor.usage.wall,
        models_cpu=floor.usage.cpu,
        models_peak=floor.usage.peak,
        phases=cheapest.phases,
        found=cheapest.rates,
    )


def _cheapest(jobs: list[AuditJob]) -> AuditJob:
    """Of the later ones: the first pays for cold files."""
    return min(jobs[1:], key=lambda job: job.usage.cpu)


def _job(bench: Bench, what: str, data: Path) -> AuditJob:
    output = bench.folder / "audit.json"
    usage = measure([sys.executable, "-P", str(HERE / "audit_job.py"), what, str(data)], output=output)
    printed = json.loads(output.read_text(encoding="utf-8"))
    rates = {name: figures["true positives"] for name, figures in printed["figures"].items()}
    return AuditJob(usage, printed["phases"], rates)
