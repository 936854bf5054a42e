"""Being told to stop: by Ctrl-C, or by a machine that ends its processes (SIGTERM)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Interrupts:
    """Whether the process was told to stop."""

    came: bool = False

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.came = True
        raise KeyboardInterrupt


@contextmanager
def noticed() -> Iterator[Interrupts]:
    """Let Ctrl-C and SIGTERM alike end what runs as KeyboardInterrupt, so that it cleans up.

    Libraries turn the exception into errors of their own, when it comes while they work; so whether there
    was one is asked here. A signal that is ignored, as under `nohup`, stays so.
    """
    interrupts = Interrupts()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, interrupts._stop)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
