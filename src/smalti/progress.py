"""The phases of a run, shown while they last."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from smalti.engine.run import Watch


class _Shown(Watch):
    def __init__(self, status: Status) -> None:
        super().__init__()
        self._status = status

    def phase(self, name: str) -> None:
        super().phase(name)
        self._status.update(f"{name} ...")


@contextmanager
def showing_phases() -> Iterator[Watch]:
    """A watch that shows the phase under way, where standard error is a terminal."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield Watch()
        return
    with out.status("") as status:
        yield _Shown(status)
