"""What a worker tells the process of a job: one line that says what to do, then a line for each renewal.

It goes through a pipe, so that no secret of an address is among the arguments of a process, and the process
sees at once that its worker is gone.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.engine.registry.job_entries import Lease

if TYPE_CHECKING:
    from pydantic import TypeAdapter

COMMAND: Final = "job-process"
"""Of the command line; hidden."""
RENEWAL: Final = b"renewed\n"


@dataclass(frozen=True, slots=True)
class Errand:
    """One attempt at a job."""

    registry: str
    """A path, absolute, or an address."""
    lease: Lease
    folder: Path
    request: str
    """As JSON."""
    lasts: timedelta
    """How long the process may go on after the errand, and after each renewal."""
    grace: timedelta
    """How long it may then take to clean up, before it is killed."""
    events: str | None = None
    """Where runs are told: a path, absolute, or an address."""

    def to_line(self) -> bytes:
        """The line that says it."""
        return _errands().dump_json(self) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Errand":
        """Read the line.

        Raises:
            ValueError: it is none.
        """
        return _errands().validate_json(line)


@cache
def _errands() -> "TypeAdapter[Errand]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (imports Rust)

    return TypeAdapter(Errand)
