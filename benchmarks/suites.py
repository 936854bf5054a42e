"""The suites: what is run, in which order, and which rows come out of it."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import generated
import peers
import policies
import rivals
from measuring import CommandError, Usage, measure
from quality import domains, measure_quality, of_smalti
from results import DecisionRow, KernelRow, LossRow, PeerRow, RegistryRow, RunRow, checked_gcp

HERE = Path(__file__).parent
NUMBERS = frozenset({"age", "education-num"})
"""Which of Adult's quasi-identifiers are numbers."""
CALL_PHASES = ("frequencies", "generalise")
"""The phases of a run that do what a peer's call does: frequency table, coding and kernel."""
KINDS = ("redrawn", "transactions", "floats")
"""What runs are measured on; see `generated`."""
REST = "start and end"
"""What a run takes outside of its phases: the interpreter, imports, Spark's Java machine."""
KERNELS = (("floats", 256), ("floats", 0), ("transactions", 256))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What is common to all suites of one invocation."""

    folder: Path
    """For data and outputs; private, and removed afterwards."""
    base: generated.Base
    adult: Path | None
    seed: int
    runs: int
    """Of each thing that is timed; at least 2: the first one pays for cold files and caches."""
    run_options: tuple[str, ...] = ()
    """Further options of `smalti run`."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What `smalti run --format json` tells the owner."""

    rows_out: int
    classes: int
    k: int
    gcp: float
    phases: dict[str, float]
    """Wall-clock seconds."""


def read_run(text: str) -> RunFigures:
    """The figures in what a run printed.

    Raises:
        CommandError: they are not there; a denied run has none.
    """
    try:
        report = json.loads(text)["ownerReport"]
        return RunFigures(
            report["rowsOut"],
            report["classes"],
            report["k"],
            report["loss"],
            {timing["phase"]: timing["seconds"] for timing in report["timings"]},
        )
    except (ValueError, KeyError, TypeError):
        raise CommandError("`smalti run --format json` printed no owner's report") from None


def data_file(bench: Bench, kind: str, rows: int) -> Path:
    """The generated table; made once for each invocation."""
    path = bench.folder / f"{kind}-{rows}.csv"
    if not path.exists():
        writers = {"transactions": generated.write_transactions, "floats": generated.write_floats}
        if kind == "redrawn":
            generated.write_redrawn(path, rows, bench.seed, bench.base)
        else:
            writers[kind](path, rows, bench.seed)
    return path


def job_of(bench: Bench, kind: str, columns: int) -> tuple[policies.Job, int]:
    """The policy for a kind of data, and its number of quasi-identifiers."""
    if kind == "transactions":
        return policies.reference(), 3
    if kind == "floats":
        return policies.floats(bench.folder), 8
    names = policies.FOUR if columns == 4 else policies.EIGHT
    return policies.adult(bench.folder, names), columns


# --- Runs


def run_row(bench: Bench, kind: str, rows: int, engine: str, columns: int) -> RunRow:
    """Copy and run in turns, and keep the first and the fastest later one of each."""
    data = data_file(bench, kind, rows)
    job, columns = job_of(bench, kind, columns)
    copies, runs = [], []
    for _ in range(bench.runs):
        copies.append(_copied(bench, engine, data))
        runs.append(_run(bench, job, engine, data))
    copied = min(copies[1:], key=lambda usage: usage.wall)
    usage, figures = min(runs[1:], key=lambda run: run[0].wall)
    if figures.rows_out != rows:
        raise CommandError(f"{rows} rows in, {figures.rows_out} out")
    return RunRow(
        data=kind,
        columns=columns,
        rows=rows,
        engine=engine,
        options=" ".join(bench.run_options),
        first_wall=runs[0][0].wall,
        wall=usage.wall,
        cpu=usage.cpu,
        peak=usage.peak,
        phases=figures.phases | {REST: max(0.0, usage.wall - sum(figures.phases.values()))},
        copy_first_wall=copies[0].wall,
        copy_wall=copied.wall,
        copy_cpu=copied.cpu,
        copy_peak=copied.peak,
        classes=figures.classes,
        k=figures.k,
        gcp=checked_gcp(figures.gcp, f"{kind}, {rows} rows"),
    )


def _copied(bench: Bench, engine: str, data: Path) -> Usage:
    folder = bench.folder / "copying"
    folder.mkdir()
    command = [sys.executable, "-P", str(HERE / "copying.py"), engine, str(data), str(folder / "copy")]
    usage = measure(command, output=folder / "out.txt")
    shutil.rmtree(folder)
    return usage


def _run(bench: Bench, job: policies.Job, engine: str, data: Path) -> tuple[Usage, RunFigures]:
    folder = bench.folder / "running"
    folder.mkdir()
    try:
        return _run_in(folder, [*job.arguments(data), "--engine", engine, *bench.run_options])
    finally:
        shutil.rmtree(folder)


def _run_in(folder: Path, arguments: list[str]) -> tuple[Usage, RunFigures]:
    """Run with a registry of its own; the output goes to `published` in the folder."""
    places = ["--out", str(folder / "published"), "--registry", str(folder / "registry.sqlite")]
    printed = folder / "printed.json"
    command = [sys.executable, "-P", "-m", "smalti", "run", *arguments, *places, "--format", "json"]
    usage = measure(command, output=printed)
    return usage, read_run(printed.read_text(encoding="utf-8"))


# --- The kernel


def kernel_row(bench: Bench, kind: str, rows: int, threshold: int) -> KernelRow:
    """The kernel alone, in a process of its own."""
    printed = bench.folder / "kernel.json"
    command = [
        sys.executable, str(HERE / "kernel_alone.py"), kind, "--rows", str(rows),
        "--threshold", str(threshold), "--seed", str(bench.seed),
    ]  # fmt: skip
    usage = measure(command, output=printed)
    figures = json.loads(printed.read_text())
    return KernelRow(
        data=kind,
        rows=rows,
        tuples=figures["tuples"],
        threshold=threshold,
        wall=figures["wall"],
        cpu=figures["cpu"],
        peak=usage.peak,
        classes=figures["classes"],
        gcp=checked_gcp(figures["gcp"], f"kernel, {kind}, {rows} rows"),
    )


# --- Loss


def loss_rows(bench: Bench) -> Iterator[LossRow]:
    """smalti on the Adult data set itself, then what is known of others.

    Raises:
        CommandError: the strict run failed. Another one that fails is left out, and said so.
    """
    if bench.adult is None:
        raise CommandError("the loss is measured on the Adult data set: name its file with --adult PATH")
    for names in (policies.FOUR, policies.EIGHT):
        yield _loss_row(bench, bench.adult, names, "strict")
        for partitioning in ("relaxed", "improved"):
            try:
                yield _loss_row(bench, bench.adult, names, partitioning)
            except CommandError as error:
                print(
                    f"{partitioning}, {len(names)} quasi-identifiers: {error}", file=sys.stderr, flush=True
                )
    yield from rivals.rows()


def _loss_row(bench: Bench, adult: Path, names: tuple[str, ...], partitioning: str) -> LossRow:
    job = policies.adult(bench.folder, names, partitioning=partitioning)
    held, rows = domains(adult, names, NUMBERS), bench.base.table.num_rows
    folder = bench.folder / "running"
    folder.mkdir()
    try:
        _run_in(folder, [*job.arguments(adult), *bench.run_options])
        (published,) = (folder / "published").glob("*.csv")
        judged = measure_quality(published, held, rows, of_smalti)
    finally:
        shutil.rmtree(folder)
    return LossRow(
        tool=f"smalti, {partitioning}",
        columns=len(names),
        gcp=checked_gcp(judged.gcp, f"Adult, {len(names)} quasi-identifiers"),
        gcp_steps=judged.gcp_steps,
        k=judged.k,
        classes=judged.classes,
        source="measured, recounted from the published file",
    )


# --- Peers


def peer_rows(
    bench: Bench, chosen: list[peers.Peer], sizes: list[int], columns: int, limit: float
) -> Iterator[PeerRow]:
    """smalti and each peer, on smaller files first; a peer that failed is not tried on a larger one."""
    left = list(chosen)
    names = policies.FOUR if columns == 4 else policies.EIGHT
    for rows in sorted(sizes):
        data = data_file(bench, "redrawn", rows)
        task = peers.Task(data, rows, domains(data, names, NUMBERS), 10, limit)
        ours = _smalti_as_peer(bench, task)
        yield ours
        for peer, result in peers.run_peers(left, task, bench.folder):
            if isinstance(result, CommandError):
                left = [candidate for candidate in left if candidate is not peer]
            yield _peer_row(task, f"{peer.name} {peer.version}", result, ours.smalti_cpu)


def _smalti_as_peer(bench: Bench, task: peers.Task) -> PeerRow:
    job = policies.adult(bench.folder, tuple(task.held), task.k)
    folder = bench.folder / "running"
    folder.mkdir()
    try:
        printed = folder / "printed.json"
        command = [
            sys.executable, "-P", str(HERE / "phases.py"), str(job.policy), job.target, str(task.data),
            job.party, job.purpose, str(folder / "published"), str(folder / "registry.sqlite"),
        ]  # fmt: skip
        usage = measure(command, output=printed)
        phases = json.loads(printed.read_text())
        (published,) = (folder / "published").glob("*.csv")
        judged = measure_quality(published, task.held, task.rows, of_smalti)
    finally:
        shutil.rmtree(folder)
    checked_gcp(judged.gcp, f"peers, {task.rows} rows")
    wall, cpu = (sum(phases[clock][phase] for phase in CALL_PHASES) for clock in ("wall", "cpu"))
    return _peer_row(task, "smalti", peers.Result(wall, cpu, usage, judged), cpu)


def _peer_row(
    task: peers.Task, tool: str, result: peers.Result | CommandError, smalti_cpu: float
) -> PeerRow:
    row = PeerRow(
        data="redrawn",
        columns=len(task.held),
        rows=task.rows,
        tool=tool,
        outcome="done",
        smalti_cpu=smalti_cpu,
    )
    if isinstance(result, CommandError):
        return replace(row, outcome=str(result).replace("\n", "; "))
    return replace(
        row,
        call_cpu=result.call_cpu,
        call_wall=result.call_wall,
        cpu=result.usage.cpu,
        wall=result.usage.wall,
        peak=result.usage.peak,
        k=result.quality.k,
        classes=result.quality.classes,
        lost=task.rows - result.quality.rows,
        gcp=result.quality.gcp,
    )


# --- Decisions


def decision_rows(bench: Bench, rules: list[int]) -> Iterator[DecisionRow | RegistryRow]:
    """Decisions in memory, and with the registry; each in a process of its own."""
    for script, kind in (("decisions.py", DecisionRow), ("registry_decisions.py", RegistryRow)):
        for count in rules:
            printed = bench.folder / "decisions.json"
            command = [sys.executable, str(HERE / script), "--json", "--rules", str(count)]
            measure(command, output=printed)
            yield kind(**json.loads(printed.read_text()))
