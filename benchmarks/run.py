"""Times whole runs of the command line on Adult-like rows: wall clock, CPU and peak memory.

    python benchmarks/run.py --rows 30000 300000 --engine local

Each size runs once more after a first run that is reported, too: the first one pays for cold files. The
floor is the same reader and writer copying the same file.
"""

import argparse
import os
import sys
import tempfile
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

HERE = Path(__file__).parent
POLICY = HERE / "adult-like.jsonld"
TARGET = "http://example.com/adult-like"
PARTY = "http://example.com/party/researcher"
PURPOSE = "https://www.mosaicrown.eu/ns/mosaicrown/1/statistical"


def measure(command: list[str]) -> tuple[float, float, float]:
    """Run a command and return its wall-clock seconds, its CPU seconds and its peak memory in MB."""
    start = time.perf_counter()
    output = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawnp(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)]
    )
    os.close(output)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"exit code {code}: {' '.join(command)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def smalti(*arguments: str) -> list[str]:
    """Return the command that runs smalti with this Python."""
    return [sys.executable, "-P", "-m", "smalti", *arguments]


COPY = """
import sys
from contextlib import closing
from pathlib import Path
from smalti.engine.description import bind
from smalti.engine.reading import inspect, text_batches
from smalti.engine.writing import CsvWriter
source = bind("http://example.com/copied", Path(sys.argv[1]))
contents = inspect(source)
with closing(CsvWriter(Path(sys.argv[2]), contents.header)) as writer:
    for batch in text_batches(source, contents):
        writer.write(batch.select(range(1, batch.num_columns)))
"""


def copy(data: Path, out: Path) -> list[str]:
    """Return the command of the floor: the same reader and writer, without the work between them."""
    return [sys.executable, "-P", "-c", COPY, str(data), str(out)]


def report(what: str, command: list[str], floor: float | None = None) -> float:
    """Measure a command, print one line about it, and return its wall-clock seconds."""
    wall, cpu, memory = measure(command)
    ratio = f" {wall / floor:6.1f} times the floor" if floor else ""
    print(f"{what:40} {wall:8.2f} s {cpu:8.2f} s CPU {memory:8.0f} MB{ratio}", flush=True)
    return wall


def main() -> None:
    """Print one line for each measured run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[30_000, 300_000], help="sizes of the table")
    parser.add_argument("--engine", choices=["local", "spark"], default="local")
    options = parser.parse_args()

    spec = spec_from_file_location("adult_like", HERE / "adult_like.py")
    assert spec is not None
    assert spec.loader is not None
    adult_like = module_from_spec(spec)
    spec.loader.exec_module(adult_like)

    report("smalti --version", smalti("--version"))
    request = ("--as", PARTY, "--purpose", PURPOSE, "--engine", options.engine)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in options.rows:
            data = folder / f"{rows}.csv"
            adult_like.write(data, rows, seed=7)
            report(f"copy, {rows:,} rows, first run", copy(data, folder / f"{rows}-copy-first"))
            floor = report(f"copy, {rows:,} rows, second run", copy(data, folder / f"{rows}-copy-second"))
            for attempt in ("first", "second"):
                out = folder / f"{rows}-{attempt}"
                places = ("--out", str(out), "--registry", str(folder / "registry.sqlite"))
                command = smalti("run", str(POLICY), "--data", f"{TARGET}={data}", *request, *places)
                report(f"{options.engine}, {rows:,} rows, {attempt} run", command, floor)


if __name__ == "__main__":
    main()
