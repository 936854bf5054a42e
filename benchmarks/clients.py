"""Clients that ask a service for decisions as fast as it answers: wrk where it is installed, else Python.

The service shares the machine with its clients, so what they take is missing to it. wrk (`apt-get install
wrk`) takes some hundredths of a millisecond for each request; Python's own `http.client` takes half as long
as a decision, and sends a request in two parts, which costs the service more, too.
"""

import http.client
import json
import multiprocessing
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PATH = "/v1/decisions"
PROCESSES = 2
"""Of Python's clients at most; each has a thread for each of its connections."""
_SCRIPT = """
local bodies = {{ {bodies} }}
local requests, next_one, refused, threads = {{}}, 0, 0, {{}}

function setup(thread) table.insert(threads, thread) end

function init()
  wrk.headers["Authorization"] = "Bearer {key}"
  wrk.headers["Content-Type"] = "application/json"
  for place, body in ipairs(bodies) do
    requests[place] = wrk.format("POST", "{path}", nil, body)
  end
  wrong = 0
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end

function response(status, headers, body)
  if status ~= 200 or not body:find('"permitted":true', 1, true) then wrong = wrong + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  for _, thread in ipairs(threads) do failed = failed + thread:get("wrong") end
  local form = '{{"answered": %d, "failed": %d, "seconds": %f, "median": %f, "p99": %f}}'
  io.stderr:write(string.format(form, summary.requests, failed, summary.duration / 1e6,
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6))
end
"""


@dataclass(frozen=True)
class Load:
    """What some clients were answered."""

    answered: int
    seconds: float
    median: float
    """Seconds that a request took."""
    p99: float
    cpu: float
    """Of the clients, in seconds."""


Generator = Callable[[int, str, int, float, Sequence[str]], Load]
"""From the port, the key, the number of clients, the seconds, and the targets that are asked for."""


def generators() -> dict[str, Generator]:
    """Those that can be used here, by name; the first is the lightest."""
    return ({"wrk": by_wrk} if shutil.which("wrk") else {}) | {"python": by_python}


def by_wrk(port: int, key: str, clients: int, seconds: float, targets: Sequence[str]) -> Load:
    """Ask with one thread of wrk, which counts an answer that permits nothing as a failure."""
    bodies = ", ".join(f"[==[{body}]==]" for body in _bodies(targets))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "decisions.lua"
        script.write_text(_SCRIPT.format(bodies=bodies, key=key, path=PATH), encoding="utf-8")
        before = _cpu_of_children()
        run = subprocess.run(
            ["wrk", "-t", "1", "-c", str(clients), "-d", f"{seconds:.0f}s", "--timeout", "60s",
             "-s", script, f"http://127.0.0.1:{port}"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    told = json.loads(run.stderr)
    assert not told["failed"], run.stdout
    cpu = _cpu_of_children() - before
    return Load(told["answered"], told["seconds"], told["median"], told["p99"], cpu)


def by_python(port: int, key: str, clients: int, seconds: float, targets: Sequence[str]) -> Load:
    """Ask with a thread for each client."""
    shares = [clients // PROCESSES + (n < clients % PROCESSES) for n in range(PROCESSES)]
    before = _cpu_of_children()
    with multiprocessing.Pool(PROCESSES) as pool:
        parts = pool.starmap(_share, [(port, key, share, seconds, targets) for share in shares if share])
        pool.close()
        pool.join()
    took = [each for part in parts for each in part]
    cpu = _cpu_of_children() - before
    return Load(len(took), seconds, statistics.median(took), statistics.quantiles(took, n=100)[98], cpu)


def _share(port: int, key: str, clients: int, seconds: float, targets: Sequence[str]) -> list[float]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (in the child)

    with ThreadPoolExecutor(clients) as pool:
        parts = pool.map(lambda _: _client(port, key, seconds, targets), range(clients))
        return [took for part in parts for took in part]


def _client(port: int, key: str, seconds: float, targets: Sequence[str]) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    bodies = _bodies(targets)
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        connection.request("POST", PATH, bodies[len(took) % len(bodies)], headers)
        document = json.loads(connection.getresponse().read())
        assert document["permitted"] is True, document
        took.append(time.perf_counter() - start)
    connection.close()
    return took


def _bodies(targets: Sequence[str]) -> list[str]:
    return [json.dumps({"action": "read", "targets": [target]}) for target in targets]


def _cpu_of_children() -> float:
    """The seconds of CPU that ended child processes took; the service's go on."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
