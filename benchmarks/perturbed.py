"""The suite of local perturbation: randomised response of one column, by its CPU for each million rows."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Usage, measure
from results import ResponseRow
from suites import Bench, data_file

HERE = Path(__file__).parent
KIND = "redrawn"


def response_rows(bench: Bench, rows: int, engines: list[str]) -> Iterator[ResponseRow]:
    """Each engine on the same file; the fastest of the later runs."""
    data = data_file(bench, KIND, rows)
    for engine in engines:
        jobs = [_job(bench, engine, data) for _ in range(bench.runs)]
        usage, phases = min(jobs[1:], key=lambda job: job[0].cpu)
        yield ResponseRow(
            data=KIND,
            rows=rows,
            engine=engine,
            wall=usage.wall,
            cpu=usage.cpu,
            peak=usage.peak,
            phases=phases,
        )


def _job(bench: Bench, engine: str, data: Path) -> tuple[Usage, dict[str, float]]:
    printed = bench.folder / "response.json"
    command = [sys.executable, "-P", str(HERE / "response_job.py"), engine, str(data)]
    usage = measure(command, output=printed)
    phases: dict[str, float] = json.loads(printed.read_text(encoding="utf-8"))
    return usage, phases
