"""Times decisions over HTTP beside the library's own: requests each second, and how long the slowest took.

    python benchmarks/serving.py --clients 1 32 --processes 1 2 --seconds 10

The server is one process, or several, as `smalti serve` starts it. Clients keep their connections, send the
next request once they have an answer, and share the machine with the server (`clients.py`; what they
take of it is shown). Each decision is logged, as ever. The registry holds so many rules, as
`registry_decisions.py` makes them.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from clients import generators
from registry_decisions import OWNER, fill, groups, request

from smalti.deciding import decide
from smalti.engine.registry.access import Role
from smalti.engine.registry.registry import Registry


@dataclass(frozen=True)
class ServingRow:
    """Decisions of one way to ask."""

    way: str
    clients: int
    rules: int
    each_second: float
    median: float
    """Seconds."""
    p99: float
    cpu: float
    """Of the server, or of the library, for each decision: seconds that other work on the machine does not
    change much."""
    of_clients: float = 0.0
    """Seconds of CPU that the clients took for each decision."""
    most_memory: int = 0
    """Of the server, in bytes; 0: it has none."""

    def line(self) -> str:
        clients = f", clients {self.of_clients * 1e3:.2f} ms" if self.of_clients else ""
        memory = f", server at most {self.most_memory / 2**20:.0f} MB" if self.most_memory else ""
        return (
            f"{self.way:<8} {self.clients:>3} clients {self.rules:>7} rules: {self.each_second:>7.0f}/s, "
            f"median {self.median * 1e3:.2f} ms, p99 {self.p99 * 1e3:.2f} ms, "
            f"CPU {self.cpu * 1e3:.2f} ms each{clients}{memory}"
        )


def main() -> None:
    """Print one line for each number of clients, and one for the library."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--processes", type=int, nargs="+", default=[1])
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--generator", choices=[*generators()], default=next(iter(generators())))
    parser.add_argument("--json", action="store_true", help="one line of JSON for each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "registry.sqlite"
        registry = Registry.open(place)
        registry.add_hierarchy(groups(), "groups", OWNER)
        fill(registry, arguments.rules)
        party = request(0).party
        key, _ = registry.access.add_key(party, [Role.PARTY])
        rows = [library(registry, arguments)]
        registry.close()
        settings = Path(folder) / "settings.toml"
        settings.write_text("[service]\nrate-of-party = 0\n", encoding="utf-8")
        for processes in arguments.processes:
            rows += served(Path(folder), key, processes, arguments)
    for each in rows:
        print(json.dumps(asdict(each)) if arguments.json else each.line(), flush=True)


def served(folder: Path, key: str, processes: int, arguments: argparse.Namespace) -> list[ServingRow]:
    """The decisions of a service of so many processes, for each number of clients."""
    ask, rows = generators()[arguments.generator], []
    targets = [request(50 * each).targets[0] for each in range(arguments.rules // 50)]
    with serving(folder, processes) as (server, port):
        # The first decisions read the rules, and load what they need.
        ask(port, key, 8 * processes, max(2.0, arguments.seconds / 2), targets)
        for clients in arguments.clients:
            before = cpu_of(server)
            load = ask(port, key, clients, arguments.seconds, targets)
            cpu = (cpu_of(server) - before) / load.answered
            way = "HTTP" if processes == 1 else f"HTTP x{processes}"
            rows.append(
                ServingRow(
                    way, clients, arguments.rules, load.answered / load.seconds, load.median, load.p99, cpu,
                    load.cpu / load.answered, memory_of(server),
                )
            )  # fmt: skip
    return rows


@contextmanager
def serving(folder: Path, processes: int) -> Iterator[tuple[int, int]]:
    """The process and the port of a service on the registry of a folder."""
    command = [
        sys.executable, "-m", "smalti", "--settings", str(folder / "settings.toml"), "serve",
        "--registry", str(folder / "registry.sqlite"), "--address", "127.0.0.1:0",
        "--processes", str(processes),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder,
                          env=os.environ | {"PYTHONUNBUFFERED": "1"}) as server:  # fmt: skip
        assert server.stdout is not None
        opened = re.search(r":(\d+)/", server.stdout.readline())
        assert opened is not None
        try:
            yield server.pid, int(opened[1])
        finally:
            server.terminate()


def family_of(process: int) -> list[int]:
    """A process and those that it started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    return [process, *map(int, listed)]


def cpu_of(server: int) -> float:
    """The seconds of CPU that a service took so far."""
    ticks = 0
    for process in family_of(server):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_of(server: int) -> int:
    """The most bytes of memory that its processes had so far, in sum."""
    statuses = [Path(f"/proc/{each}/status").read_text(encoding="utf-8") for each in family_of(server)]
    return sum(int(most) * 1024 for status in statuses for most in re.findall(r"VmHWM:\s+(\d+)", status))


def library(registry: Registry, arguments: argparse.Namespace) -> ServingRow:
    """The same decisions by a call."""
    took: list[float] = []
    end, before = time.perf_counter() + arguments.seconds, time.process_time()
    while (start := time.perf_counter()) < end:
        wanted = request(50 * (len(took) % (arguments.rules // 50)))
        decision = decide(party=wanted.party, action="read", target=wanted.targets[0], registry=registry)
        assert decision.is_permitted
        took.append(time.perf_counter() - start)
    cpu = (time.process_time() - before) / len(took)
    p99, each_second = statistics.quantiles(took, n=100)[98], len(took) / arguments.seconds
    return ServingRow("library", 1, arguments.rules, each_second, statistics.median(took), p99, cpu)


if __name__ == "__main__":
    main()
