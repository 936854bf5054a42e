"""What ties the process of a job to its worker: a pipe through which each renewal of the lease is heard."""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from smalti.engine.jobs.errands import COMMAND, Errand
from smalti.errors import UsageError


@contextmanager
def leashed(channel: int, errand: Errand) -> Iterator[threading.Event]:
    """Until the end of the block, end this process when its worker is not heard of any more.

    Gives what tells whether that is so.
    """
    is_cut_off = threading.Event()
    over, end = os.pipe()
    thread = threading.Thread(target=_watch, args=(channel, over, errand, is_cut_off), daemon=True)
    thread.start()
    try:
        yield is_cut_off
    finally:
        os.close(end)
        thread.join()
        os.close(over)


def _watch(channel: int, over: int, errand: Errand, is_cut_off: threading.Event) -> None:
    lasts = errand.lasts.total_seconds()
    until = _now() + lasts
    while (left := until - _now()) > 0:
        ready = select.select([channel, over], [], [], left)[0]
        if over in ready:
            return
        if channel in ready and not os.read(channel, 4096):
            break
        until = _now() + lasts if ready else until
    is_cut_off.set()
    os.kill(os.getpid(), signal.SIGTERM)
    if not select.select([over], [], [], errand.grace.total_seconds())[0]:
        os.killpg(0, signal.SIGKILL)


def _now() -> float:
    """Seconds that go on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def channel_of_worker() -> int:
    """What the worker says, out of reach of everything that this process starts."""
    channel = os.dup(0)  # closed in children
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return channel


def read_errand(channel: int) -> Errand:
    """The first line that the worker says.

    Raises:
        UsageError: it is no errand.
    """
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(channel, 1)):
        line += byte
    try:
        return Errand.from_line(line)
    except ValueError:
        raise UsageError(
            COMMAND, "it is no errand of a worker", "a process that `smalti worker` starts"
        ) from None
