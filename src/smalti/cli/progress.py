"""The phases of a run, shown while they last, and how fast each of them was."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from smalti.cli.interrupts import check
from smalti.engine.binding.run_request import Watch


class _Noticing(Watch):
    """Notices an interrupt that a library lost, before the next phase."""

    def phase(self, name: str) -> None:
        check()
        super().phase(name)


class _Shown(_Noticing):
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
def showing_phases() -> Iterator[Watch]:
    """A watch that shows the phases, where standard error is a terminal."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield _Noticing()
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
