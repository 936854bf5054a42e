"""Runs a command and measures it from outside: wall clock, CPU and memory of the whole tree of processes.

Linux only: it reads `/proc`. A command runs in a session of its own, and whatever runs in that session is
counted (Spark's Java machine and Python workers, too).
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

INTERVAL = 0.05
"""Seconds between two looks at the processes."""
PATIENCE = 20.0
"""Seconds that processes may go on after the command itself has ended."""

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class CommandError(Exception):
    """A command ended with a failure, or was ended because it took too long; says which and why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command took."""

    wall: float
    """Seconds from its start to its end."""
    cpu: float
    """Seconds of user and system time, all processes together."""
    peak: float
    """MiB resident at the peak, all processes together; pages that several share count for each."""


@dataclass(frozen=True, slots=True)
class Limit:
    """When a command is ended."""

    cpu: float
    """Seconds of CPU, all processes together."""
    wall: float
    """Seconds, however little of them it computed."""


@dataclass(slots=True)
class _Seen:
    """What was seen of a session so far."""

    cpu: dict[tuple[int, int], float] = field(default_factory=dict)
    """By process (number and start): its own CPU seconds when it was last seen."""
    peak: int = 0
    """Bytes."""

    def look(self, session: int) -> list[int]:
        """Take note of the session's processes now, and return their numbers."""
        alive, resident = [], 0
        for pid, fields in _processes(session):
            alive.append(pid)
            self.cpu[pid, int(fields[19])] = (int(fields[11]) + int(fields[12])) / _TICKS
            resident += int(fields[21]) * _PAGE
            # The kernel's own high-water mark of one process misses nothing between two looks.
            self.peak = max(self.peak, _high_water_mark(pid))
        self.peak = max(self.peak, resident)
        return alive


def measure(
    command: list[str],
    *,
    output: Path | None = None,
    limit: Limit | None = None,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        output: where its standard output goes; nowhere if None.
        limit: when to end it.
        environment: variables added to this process's own.

    Raises:
        CommandError: it failed, with the last lines of its standard error; or the limit was reached.
    """
    errors = Path(os.devnull) if output is None else output.with_suffix(".errors")
    with (output or Path(os.devnull)).open("wb") as out, errors.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env=_inherited() | dict(environment or {}),
        )
        watcher = _Watcher(process.pid, limit)
        watcher.start()
        _, status, own = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        watcher.finish()
    if watcher.ended:
        raise CommandError(watcher.ended)
    if process.returncode:
        last_lines = errors.read_text(errors="replace").strip().splitlines()[-5:] if output else []
        raise CommandError("\n".join([f"exit code {process.returncode}", *last_lines]))
    cpu = max(own.ru_utime + own.ru_stime, sum(watcher.seen.cpu.values()))
    return Usage(wall, cpu, watcher.seen.peak / 2**20)


def _inherited() -> dict[str, str]:
    """This process's environment, with bytecode: an installed program does not compile itself each time."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class _Watcher(Thread):
    """Looks at a session until it is told to finish."""

    def __init__(self, session: int, limit: Limit | None) -> None:
        super().__init__(daemon=True)
        self.seen = _Seen()
        self.ended = ""
        """Why the command was ended; empty if it was not."""
        self._session, self._limit = session, limit
        self._is_over = Event()

    def run(self) -> None:
        start = time.perf_counter()
        while not self._is_over.wait(INTERVAL):
            alive = self.seen.look(self._session)
            if self._limit and (reason := self._reached(self._limit, time.perf_counter() - start)):
                self.ended = reason
                _kill(alive)
                return

    def _reached(self, limit: Limit, wall: float) -> str:
        if sum(self.seen.cpu.values()) > limit.cpu:
            return f"over {limit.cpu:.0f} s of CPU"
        return f"over {limit.wall:.0f} s" if wall > limit.wall else ""

    def finish(self) -> None:
        """Wait until the session is empty; end what does not end by itself."""
        self._is_over.set()
        self.join()
        start = time.perf_counter()
        while alive := self.seen.look(self._session):
            if self.ended or time.perf_counter() - start > PATIENCE:
                _kill(alive)
            time.sleep(INTERVAL)


def _processes(session: int) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each process of a session; field 0 is the state (`man 5 proc_pid_stat`, 3)."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            # The command's name stands in parentheses, and may hold spaces and parentheses itself.
            text = Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2]
        except OSError:
            continue
        fields = text.decode().split()
        if fields and int(fields[3]) == session and fields[0] != "Z":
            yield int(name), fields


def _high_water_mark(pid: int) -> int:
    """Bytes that a process has had resident at most; 0 if it has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue
