"""Being told to stop: by Ctrl-C, or by a machine that ends its processes (SIGTERM).

Imported first of all by a command's process, so it imports little itself.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

MESSAGE = "interrupted; an output that was not registered yet is removed"
_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_Hook = Callable[[Any], object]


class Interrupts:
    """Whether the process was told to stop."""

    __slots__ = ("came", "is_over")

    def __init__(self) -> None:
        self.came = False
        self.is_over = False
        """From now on nothing is interrupted: how the command ends is known."""

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if not self.is_over:
            self.came = True
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise what a library swallowed: a callback and a destructor have nobody to raise it to."""
        if self.came and not self.is_over:
            raise KeyboardInterrupt

    def end(self) -> None:
        """Interrupt nothing any more."""
        while not self.is_over:
            try:
                self.is_over = True
            except KeyboardInterrupt:  # it came just before
                continue


_now: list[Interrupts] = []


def check() -> None:
    """Raise `KeyboardInterrupt` if this process's command was told to stop, and goes on all the same."""
    for interrupts in _now:
        interrupts.check()


def begin() -> Interrupts:
    """Let SIGINT and SIGTERM be interrupts of this process, from its beginning to its end."""
    interrupts = Interrupts()
    _now.append(interrupts)
    _set(interrupts._stop)
    sys.unraisablehook = _without_interrupts(sys.unraisablehook)
    return interrupts


@contextmanager
def noticed() -> Iterator[Interrupts]:
    """Let Ctrl-C and SIGTERM alike end what runs as KeyboardInterrupt, so that it cleans up.

    Libraries turn the exception into errors of their own, or lose it, when it comes while they work; so
    whether there was one is asked here. A signal that is ignored, as under `nohup`, stays so.
    """
    if _now:
        yield _now[-1]
        return
    interrupts, hook = Interrupts(), sys.unraisablehook
    is_main = threading.current_thread() is threading.main_thread()
    handlers = _set(interrupts._stop) if is_main else {}
    sys.unraisablehook = _without_interrupts(hook)
    _now.append(interrupts)
    try:
        yield interrupts
    finally:
        _now.remove(interrupts)
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _without_interrupts(hook: _Hook) -> _Hook:
    """What says that an exception was lost, but for interrupts: they are noticed otherwise."""

    def unraisable(lost: Any, /) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            hook(lost)

    return unraisable


def _set(handler: Any) -> dict[signal.Signals, Any]:
    """Handle the signals, but for those that are ignored; what handled them before."""
    before = {}
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handler)
    return before


def settle() -> None:
    """Let this process end with the exit code that it is given, whatever comes now.

    On its way out Python gives signals back to the system, but for those that are ignored. It also ends
    itself by SIGINT if the last text that `exec` ran was interrupted, even where that was handled, and
    dataclasses are made so; another text takes that back.
    """
    for interrupts in _now:
        interrupts.end()
    _set(signal.SIG_IGN)
    exec("pass")  # noqa: S102 (a text of ours)
