"""Short work of many requests: one thread does it in the order of arrival, and logs decisions together.

Python runs one thread at a time. Many threads with short work only take turns: each turn costs time, and
who waits for how long is chance. What may take long (batches, uploads, tokens) has a pool of threads.
"""

import asyncio
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Together: TypeAlias = Callable[[], AbstractContextManager[None]]
_MOST: Final = 16
"""Pieces of work that are logged together; the first of them waits for the last one."""


@dataclass(slots=True)
class _Piece:
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    waiting: "asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None

    def do(self) -> None:
        try:
            self.result = self.work()
        except Exception as error:  # it is for whoever waits
            self.error = error

    def tell(self) -> None:
        if self.waiting.done():
            return
        if self.error is None:
            self.waiting.set_result(self.result)
        else:
            self.waiting.set_exception(self.error)


_Pieces: TypeAlias = "SimpleQueue[_Piece | None]"
"""None: there is no more."""


class Line:
    """Work that is done one after the other; for requests of any event loop."""

    def __init__(self, together: Together = nullcontext) -> None:
        """Start with the first work.

        Args:
            together: entered around several pieces of work; what fails at its end fails each of them.
        """
        self._together = together
        self._pieces: _Pieces = SimpleQueue()
        self._lock, self._is_started = Lock(), False

    async def done(self, work: Callable[[], T]) -> T:
        """The result of work, after all earlier work; raises what it raises."""
        if not self._is_started:
            self._start()
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        self._pieces.put(_Piece(work, loop, waiting))
        return await waiting

    def _start(self) -> None:
        with self._lock:
            if not self._is_started:
                # The thread knows nothing of the line, and ends with it.
                arguments = (self._pieces, self._together)
                Thread(target=_work, args=arguments, name="line", daemon=True).start()
                weakref.finalize(self, self._pieces.put, None)
                self._is_started = True


def _work(pieces: _Pieces, together: Together) -> None:
    while _do_next(pieces, together):
        pass  # and keep nothing of what was done


def _do_next(pieces: _Pieces, together: Together) -> bool:
    """Do what waits, once anything does; whether there may be more."""
    taken = [pieces.get()]
    while len(taken) < _MOST and not pieces.empty():
        taken.append(pieces.get())
    batch = [piece for piece in taken if piece is not None]
    try:
        with together():
            for piece in batch:
                piece.do()
    except Exception as error:  # also for those that were done: they may not be told
        for piece in batch:
            piece.error = error
    for loop in {piece.loop for piece in batch}:
        with suppress(RuntimeError):  # it is closed, and nobody waits any more
            loop.call_soon_threadsafe(_tell, [piece for piece in batch if piece.loop is loop])
    return len(batch) == len(taken)


def _tell(batch: list[_Piece]) -> None:
    for piece in batch:
        piece.tell()
