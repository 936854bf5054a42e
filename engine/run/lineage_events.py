"""Runs that are told to a catalogue of lineage as they begin and end, as events of OpenLineage.

Events say what `smalti lineage` says, and that a run failed or was broken off; never why. They go to a
file, one on a line, or to an address. A receiver that is down delays a run by a bounded time, and fails
none. A run that is killed has no last event; neither has one that the next start ends in its place.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smalti.engine.binding.run_request import BegunRun, RunEnd
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.run.lineage import begun_event, run_event
from smalti.engine.tables.appending import append_lines
from smalti.engine.tables.sending import is_plain_address, post
from smalti.errors import BackendError, UsageError

KEY: Final = "OPENLINEAGE_API_KEY"
"""Of the environment: what an address gets as a bearer token, as OpenLineage's own clients do it."""
_WHERE: Final = "lineage events (--events)"


class LineageEvents:
    """Tells the runs of one process."""

    def __init__(self, place: str, say: Callable[[str], None]) -> None:
        """Tell them to a place.

        Args:
            place: a path, or an address.
            say: called with one line where an event could not be told; it holds no data value.

        Raises:
            UsageError: events cannot be sent to such an address.
        """
        check_place(place)
        self._place, self._say = place, say

    def begins(self, run: BegunRun) -> None:
        """A run begins."""
        self._tell(lambda: json.dumps(begun_event(run, "START"), ensure_ascii=False))

    def ends(self, run: BegunRun, how: RunEnd, version: TargetVersion | None) -> None:
        """A run has ended, and all that it recorded is recorded."""
        self._tell(
            lambda: json.dumps(
                begun_event(run, how.value) if version is None else run_event(version), ensure_ascii=False
            )
        )

    def _tell(self, text: Callable[[], str]) -> None:
        try:
            self._send(text().encode("utf-8", "backslashreplace"))
        except BackendError as error:
            self._say(f"{_WHERE}: {error.problem} ({error.where}); the run goes on without")
        except OSError as error:
            problem = os.strerror(error.errno) if error.errno else "not all of it was written"
            self._say(f"{_WHERE}: {self._place}: {problem}; the run goes on without")
        except Exception as error:  # an event is no reason to fail; a message may quote something
            self._say(f"{_WHERE}: an event could not be told ({type(error).__name__})")

    def _send(self, event: bytes) -> None:
        if not _is_address(self._place):
            append_lines(Path(self._place), [event + b"\n"])
            return
        key = os.environ.get(KEY)
        post(self._place, event, {"Authorization": f"Bearer {key}"} if key else {})


def check_place(place: str) -> None:
    """Refuse an address that events are not sent to.

    Raises:
        UsageError: it is neither https nor on this machine, or has a user or a query (a secret).
    """
    if _is_address(place) and not is_plain_address(place):
        raise UsageError(
            _WHERE, "events are not sent to such an address",
            "a file, or an https address without user, query and fragment",
            f"put a key for the receiver into the environment variable {KEY}",
        )  # fmt: skip


def _is_address(place: str) -> bool:
    return "://" in place
