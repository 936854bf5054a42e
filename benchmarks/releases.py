"""The suite of differentially private releases: beside the same queries without privacy, and a peer."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring import CommandError, Limit, Usage, measure
from peers import Peer
from release_job import QUESTIONS, Answers, Question
from results import ReleaseRow
from suites import Bench, data_file

HERE = Path(__file__).parent
PEER = Peer("opendp", "0.16.0", ("polars==1.36.1", "pyarrow>=18"))
"""OpenDP's query layer over Polars: OpenDP draws smalti's noise, too; here it also reads and aggregates."""
PEER_KINDS = ("redrawn",)
"""It sums whole numbers of one row for each person here."""


def release_rows(bench: Bench, kind: str, rows: int, engines: list[str]) -> Iterator[ReleaseRow]:
    """Each engine beside its own plain queries, in turns; then the peer beside DuckDB's."""
    data = data_file(bench, kind, rows)
    plain: Usage | None = None
    for engine in engines:
        ours, theirs, phases = [], [], {}
        for _ in range(bench.runs):
            usage, expected, _ = _job(bench, "plain", engine, kind, data)
            theirs.append(usage)
            usage, figures, phases = _job(bench, "smalti", engine, kind, data)
            ours.append(usage)
            if figures != expected:
                raise CommandError(
                    f"{engine}, {kind}: exact answers differ from those of the plain queries"
                )
        best, floor = _fastest(ours), _fastest(theirs)
        plain = floor if engine == "local" else plain
        yield _row(kind, rows, _ReleaseJob(engine, "smalti", best, phases), floor)
    if kind in PEER_KINDS and plain is not None:
        usage = _fastest([_peer(bench, QUESTIONS[kind], data) for _ in range(bench.runs)])
        yield _row(kind, rows, _ReleaseJob("polars", f"{PEER.name} {PEER.version}", usage, {}), plain)


def _fastest(runs: list[Usage]) -> Usage:
    """Of the later ones: the first pays for cold files."""
    return min(runs[1:], key=lambda usage: usage.wall)


def _job(
    bench: Bench, what: str, engine: str, kind: str, data: Path
) -> tuple[Usage, Answers, dict[str, float]]:
    printed = bench.folder / "release.json"
    command = [sys.executable, "-P", str(HERE / "release_job.py"), what, engine, kind, str(data)]
    usage = measure(command, output=printed)
    report = json.loads(printed.read_text(encoding="utf-8"))
    return usage, report["answers"], report["phases"]


def _peer(bench: Bench, question: Question, data: Path) -> Usage:
    job = bench.folder / "peer.json"
    job.write_text(json.dumps(asdict(question) | {"data": str(data)}), encoding="utf-8")
    command = [str(PEER.python()), "-P", str(HERE / "release_peer.py"), str(job)]
    return measure(command, output=bench.folder / "peer.out", limit=Limit(600, 1200))


@dataclass(frozen=True, slots=True)
class _ReleaseJob:
    """A release, and what it took."""

    engine: str
    tool: str
    usage: Usage
    phases: dict[str, float]
    """Wall-clock seconds."""


def _row(kind: str, rows: int, job: _ReleaseJob, plain: Usage) -> ReleaseRow:
    return ReleaseRow(
        data=kind,
        rows=rows,
        engine=job.engine,
        tool=job.tool,
        wall=job.usage.wall,
        cpu=job.usage.cpu,
        peak=job.usage.peak,
        plain_wall=plain.wall,
        plain_cpu=plain.cpu,
        plain_peak=plain.peak,
        phases=job.phases,
    )
