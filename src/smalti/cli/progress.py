"""The phases of a run, shown while they last, and how fast each of them was."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from smalti.cli.interrupts import check
from smalti.engine.binding.run_request import Watch


class CommandWatch(Watch):
    """Notices an interrupt that a library lost, before the next phase."""

    checkpoint: Path | None = None
    """Where a training keeps what it has done; None: nowhere."""

    def phase(self, name: str) -> None:
        check()
        super().phase(name)


_PARTS = 20
"""Of work that is counted: as many phases of a job show how far it is."""
_of_process: ContextVar[CommandWatch | None] = ContextVar("_of_process", default=None)
"""The watch of a job's process."""


class _Shown(CommandWatch):
    """Shows the phase under way with its time, and those that have ended with their rows per second."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._task: TaskID | None = None
        self._rows: int | None = None

    def phase(self, name: str) -> None:
        self.finish()
        super().phase(name)
        self._task = self._progress.add_task(name, total=1, rate="")

    def rows(self, count: int) -> None:
        self._rows = count

    def finish(self) -> None:
        """The phase under way has ended."""
        if self._task is None:
            return
        seconds = self.timings[-1].seconds
        rate = f"{self._rows / seconds:,.0f} rows/s" if self._rows and seconds else ""
        self._progress.update(self._task, completed=1, rate=rate)
        self._task = None


@contextmanager
def watching(watch: CommandWatch) -> Iterator[None]:
    """Until the end of the block, phases are told to this watch, and shown nowhere."""
    token = _of_process.set(watch)
    try:
        yield
    finally:
        _of_process.reset(token)


@contextmanager
def showing_phases() -> Iterator[CommandWatch]:
    """A watch that shows the phases, where standard error is a terminal."""
    if (watch := _of_process.get()) is not None:
        yield watch
        return
    out = Console(stderr=True)
    if not out.is_terminal:
        yield CommandWatch()
        return
    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description:<12}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rate]:>20}"),
    )
    with Progress(*columns, console=out, transient=True) as progress:
        shown = _Shown(progress)
        yield shown
        shown.finish()


@contextmanager
def counting(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """What to call with a number of things that are done, of so many; shown as `showing_phases` shows."""
    if (watch := _of_process.get()) is not None:
        yield _counted(watch, name, total)
        return
    out = Console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(name, total=total)
        yield lambda count: bar.advance(task, count)


def _counted(watch: CommandWatch, name: str, total: int) -> Callable[[int], None]:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        if before * _PARTS // total < done * _PARTS // total:
            watch.phase(f"{name}, {done} of {total}")

    watch.phase(f"{name}, 0 of {total}")
    return count
