"""Measures smalti from outside: time, CPU and memory of runs, the kernel, decisions, audits; and loss.

    python benchmarks/run.py
    python benchmarks/run.py --adult adult.csv --rows 10000000 --engine local spark --suites runs --results
    python benchmarks/run.py --adult adult.csv --suites loss peers --rows 100000 1000000
    python benchmarks/run.py --suites releases --data redrawn --rows 10000000 --engine local spark
    python benchmarks/run.py --suites training audits --training-peers --results

The first line is what `make bench` runs. A line is printed as soon as something is measured; with
--results it is also kept in `results.json`, and shown in `RESULTS.md`. Linux only.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import audits
import generated
import perturbed
import releases
import suites
import trainings
from measuring import CommandError
from peers import PEERS
from results import KEPT, SHOWN, Measured, NothingToGeneraliseError, Row, Setting, keep, to_json

SUITES = ("runs", "kernel", "loss", "decisions", "peers", "releases", "responses", "training", "audits")
DEFAULT_SUITES = ("runs", "kernel", "decisions", "training", "audits")


def arguments() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--suites", nargs="+", choices=SUITES, default=list(DEFAULT_SUITES), help="what to measure")
    add("--rows", type=_positive, nargs="+", default=[100_000, 1_000_000], help="sizes, of runs and peers")
    add("--engine", nargs="+", choices=["local", "spark"], default=["local"], help="of runs")
    add("--data", nargs="+", choices=suites.KINDS, default=["redrawn"], help="of runs")
    add("--columns", type=int, nargs="+", choices=[4, 8], default=[8],
        help="quasi-identifiers of redrawn rows")  # fmt: skip
    add("--run-option", action="append", default=[], metavar="OPTION",
        help="a further option of `smalti run`, as in --run-option=--fragments=7; repeatable")  # fmt: skip
    add("--runs", type=int, default=2, help="how often each thing is run, at least 2")
    add("--kernel-rows", type=_positive, nargs="+", default=[1_000_000], help="sizes, of the kernel alone")
    add("--rules", type=_positive, nargs="+", default=[10_000, 100_000], help="sizes, of decisions")
    add("--records", type=_positive, nargs="+", default=[10_000], help="sizes, of training and audits")
    add("--training-peers", nargs="*", choices=[peer.name for peer in trainings.PEERS], metavar="PEER",
        help="other libraries to train with, all if none is named")  # fmt: skip
    add("--peers", nargs="*", choices=[peer.name for peer in PEERS], metavar="PEER",
        help="other tools to run on the same files, all if none is named; adds that suite")  # fmt: skip
    add("--peer-limit", type=float, default=300.0, metavar="SECONDS", help="CPU that a peer may take")
    add("--adult", type=Path, metavar="PATH", help="the Adult data set; invented rows if not given")
    add("--seed", type=int, default=7, help="of the generated data")
    add("--folder", type=Path, metavar="DIR", help="where a scratch folder for data and outputs is made")
    add("--json", type=Path, metavar="PATH", help="also write what was measured to this file")
    add("--results", action="store_true", help=f"also keep it in {KEPT.name}, shown in {SHOWN.name}")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected 1 or more")
    return number


def rows(arguments: argparse.Namespace, bench: suites.Bench) -> Iterator[Row]:
    """Everything that was asked for, as it is measured."""
    wanted = set(arguments.suites) | ({"peers"} if arguments.peers is not None else set())
    if "runs" in wanted:
        for size in arguments.rows:
            yield from _run_rows(arguments, bench, size)
    if "kernel" in wanted:
        for size in arguments.kernel_rows:
            for kind, threshold in suites.KERNELS:
                yield suites.kernel_row(bench, kind, size, threshold)
    if "loss" in wanted:
        yield from suites.loss_rows(bench)
    if "decisions" in wanted:
        yield from suites.decision_rows(bench, arguments.rules)
    if "releases" in wanted:
        yield from _release_rows(arguments, bench)
    if "responses" in wanted:
        yield from _response_rows(arguments, bench)
    yield from _learning_rows(arguments, bench, wanted)
    if "peers" in wanted:
        chosen = [peer for peer in PEERS if not arguments.peers or peer.name in arguments.peers]
        for columns in arguments.columns:
            yield from suites.peer_rows(bench, chosen, arguments.rows, columns, arguments.peer_limit)


def _response_rows(arguments: argparse.Namespace, bench: suites.Bench) -> Iterator[Row]:
    for size in arguments.rows:
        yield from perturbed.response_rows(bench, size, arguments.engine)


def _learning_rows(arguments: argparse.Namespace, bench: suites.Bench, wanted: set[str]) -> Iterator[Row]:
    named = arguments.training_peers
    peers = [] if named is None else [peer for peer in trainings.PEERS if not named or peer.name in named]
    for size in arguments.records:
        if "training" in wanted:
            yield from trainings.training_rows(bench, size, peers)
        if "audits" in wanted:
            yield from audits.audit_rows(bench, size)


def _release_rows(arguments: argparse.Namespace, bench: suites.Bench) -> Iterator[Row]:
    for size in arguments.rows:
        for kind in arguments.data:
            if kind in releases.QUESTIONS:
                yield from releases.release_rows(bench, kind, size, arguments.engine)


def _run_rows(arguments: argparse.Namespace, bench: suites.Bench, size: int) -> Iterator[Row]:
    for kind in arguments.data:
        for columns in arguments.columns if kind == "redrawn" else [0]:
            for engine in arguments.engine:
                yield suites.run_row(bench, kind, size, engine, columns)
        if "peers" not in arguments.suites and arguments.peers is None:
            for path in bench.folder.glob(f"{kind}-{size}.csv*"):
                path.unlink()


def setting(base: generated.Base) -> Setting:
    """This machine, now."""
    return Setting(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=_commit(),
        machine=f"{_processor()}, {os.cpu_count()} cores, {_memory():.0f} GiB, {platform.system()}",
        software=", ".join(
            [
                f"Python {platform.python_version()}",
                *map(_version, ("smalti", "duckdb", "pyarrow", "pyspark", "jax")),
            ]
        ),
        base=base.name,
    )


def _commit() -> str:
    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip()

    commit = git("rev-parse", "--short=10", "HEAD") or "unknown"
    return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


def main() -> None:
    """Measure, print, and keep."""
    parser = arguments()
    options = parser.parse_args()
    if options.runs < 2:
        parser.error("--runs: expected 2 or more, for the first one pays for cold files")
    try:
        base = generated.read_base(options.adult)
    except (generated.BaseError, OSError) as error:
        parser.error(f"--adult: {error}")
    measured: list[Measured] = []
    here = setting(base)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bench = suites.Bench(
            folder=Path(folder),
            base=base,
            adult=options.adult,
            seed=options.seed,
            runs=options.runs,
            run_options=tuple(options.run_option),
        )
        try:
            for row in rows(options, bench):
                measured.append(Measured(row, here))
                print(row.line(), flush=True)
        except (CommandError, NothingToGeneraliseError) as error:
            sys.exit(f"benchmark ended: {error}")
        finally:
            _keep(options, measured)


def _keep(arguments: argparse.Namespace, measured: list[Measured]) -> None:
    if arguments.json:
        arguments.json.write_text(to_json(measured), encoding="utf-8")
    if arguments.results and measured:
        keep(measured)


if __name__ == "__main__":
    main()
