"""Times decisions over HTTP beside the library's own: requests each second, and how long the slowest took.

    python benchmarks/serving.py --clients 1 32 --processes 1 2 --seconds 10

The server is one process, or several, as `smalti serve` starts it; clients are processes that keep their
connections, and share the machine with it. Each decision is logged, as ever. The registry holds so many
rules, as `registry_decisions.py` makes them.
"""

import argparse
import http.client
import json
import multiprocessing
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

from registry_decisions import OWNER, fill, groups, request

from smalti.deciding import decide
from smalti.engine.registry.access import Role
from smalti.engine.registry.registry import Registry

PROCESSES = 2
"""Of clients at most; each has a thread for each of its connections."""


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
    most_memory: int = 0
    """Of the server, in bytes; 0: it has none."""

    def line(self) -> str:
        memory = f", server at most {self.most_memory / 2**20:.0f} MB" if self.most_memory else ""
        return (
            f"{self.way:<8} {self.clients:>3} clients {self.rules:>7} rules: {self.each_second:>7.0f}/s, "
            f"median {self.median * 1e3:.2f} ms, p99 {self.p99 * 1e3:.2f} ms, "
            f"CPU {self.cpu * 1e3:.2f} ms each{memory}"
        )


def main() -> None:
    """Print one line for each number of clients, and one for the library."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--processes", type=int, nargs="+", default=[1])
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
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
            with serving(Path(folder), processes) as (server, port):
                # The first decisions read the rules, and load what they need.
                asked(port, key, 8 * processes, arguments.seconds / 2, arguments.rules)
                for clients in arguments.clients:
                    before = cpu_of(server)
                    seconds = asked(port, key, clients, arguments.seconds, arguments.rules)
                    cpu = (cpu_of(server) - before) / len(seconds)
                    way = "HTTP" if processes == 1 else f"HTTP x{processes}"
                    rows.append(row(way, clients, arguments, seconds, cpu, memory_of(server)))
    for each in rows:
        print(json.dumps(asdict(each)) if arguments.json else each.line(), flush=True)


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
        yield server.pid, int(opened[1])
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
    return row("library", 1, arguments, took, (time.process_time() - before) / len(took))


def asked(port: int, key: str, clients: int, seconds: float, rules: int) -> list[float]:
    """The seconds that each request of some clients took."""
    shares = [clients // PROCESSES + (n < clients % PROCESSES) for n in range(PROCESSES)]
    with multiprocessing.Pool(PROCESSES) as pool:
        parts = pool.starmap(_share, [(port, key, share, seconds, rules) for share in shares if share])
    return [took for part in parts for took in part]


def _share(port: int, key: str, clients: int, seconds: float, rules: int) -> list[float]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (in the child)

    with ThreadPoolExecutor(clients) as pool:
        parts = pool.map(lambda _: _client(port, key, seconds, rules), range(clients))
        return [took for part in parts for took in part]


def _client(port: int, key: str, seconds: float, rules: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        target = request(50 * (len(took) % (rules // 50))).targets[0]
        body = json.dumps({"action": "read", "targets": [target]})
        connection.request("POST", "/v1/decisions", body, headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        assert document["permitted"] is True, document
        took.append(time.perf_counter() - start)
    connection.close()
    return took


def row(
    way: str, clients: int, arguments: argparse.Namespace, took: list[float], cpu: float, memory: int = 0
) -> ServingRow:
    """What the seconds of many decisions come to."""
    p99, each_second = statistics.quantiles(took, n=100)[98], len(took) / arguments.seconds
    median = statistics.median(took)
    return ServingRow(way, clients, arguments.rules, each_second, median, p99, cpu, memory)


if __name__ == "__main__":
    main()
