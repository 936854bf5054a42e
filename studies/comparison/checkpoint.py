"""What a comparison keeps of the targets that it has measured, so that one which ended early goes on.

One line for each target, below one with the settings. A target's line is written whole before the next
target begins; what a crash left of a line is cut off. The data are generated, so nothing in the file is
anybody's; whoever may write to it decides what the comparison shows, as with any file of results.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from smalti.errors import BackendError, UsageError
from smalti.studies.comparison.models import Measured
from smalti.studies.comparison.settings import Case, Comparison
from smalti.transforms.auditing.limits import Outcomes

_STUDY: Final = "comparison of central and local differential privacy, targets"
_Share = Annotated[float, Field(ge=0, le=1)]
_Positives = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]
"""Members, and others, that are called members."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One target."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    case: Annotated[int, Field(ge=0)]
    """Its place among `Comparison.cases`."""
    test_accuracy: _Share
    train_accuracy: _Share
    against_test: _Positives
    against_unseen: _Positives
    unadapted: _Positives | None


@cache
def _lines() -> TypeAdapter[_Line]:
    return TypeAdapter(_Line)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that one comparison at a time writes to."""

    path: Path

    def begun(self, comparison: Comparison) -> tuple[Measured, ...]:
        """The targets that are there; the file is made where there is none.

        Raises:
            UsageError: it is of other settings, or no such file.
            BackendError: the disk.
        """
        try:
            if not self.path.exists():
                self._append(_head(comparison))
                return ()
            content = self.path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if len(whole) < len(content):
                os.truncate(self.path, len(whole))
        except OSError as error:
            raise _failed(self.path, error) from None
        head, *lines = whole.decode(errors="replace").splitlines() or [""]
        if head != _head(comparison):
            raise UsageError(
                str(self.path),
                "it was begun with other settings, or by another version",
                "the settings that it was begun with",
                "name another folder, or take the same options",
            )
        return tuple(self._targets(comparison, lines))

    def keep(self, comparison: Comparison, target: Measured) -> None:
        """Write one target down.

        Raises:
            BackendError: the disk.
        """
        line = _Line(
            comparison.cases.index(target.case),
            target.test_accuracy,
            target.train_accuracy,
            _positives(target.against_test),
            _positives(target.against_unseen),
            None if target.unadapted is None else _positives(target.unadapted),
        )
        try:
            self._append(_lines().dump_json(line).decode())
        except OSError as error:
            raise _failed(self.path, error) from None

    def _append(self, line: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _targets(self, comparison: Comparison, lines: list[str]) -> Iterator[Measured]:
        cases, seen = comparison.cases, set()
        for number, text in enumerate(lines, start=2):
            try:
                line = _lines().validate_json(text)
                target = _target(comparison, cases, line)
            except (ValidationError, ValueError, IndexError):
                raise self._unread(number) from None
            if line.case in seen:
                raise self._unread(number)
            seen.add(line.case)
            yield target

    def _unread(self, number: int) -> UsageError:
        return UsageError(
            f"{self.path}, line {number}",
            "it is no target of this comparison, or one that is there already",
            "the file as it was written",
            "remove the line, and the target is measured again",
        )


def _head(comparison: Comparison) -> str:
    """The settings, as the first line has them."""
    return json.dumps({"study": _STUDY, **asdict(comparison)})


def _positives(outcomes: Outcomes) -> tuple[int, int]:
    return outcomes.true_positives, outcomes.false_positives


def _target(comparison: Comparison, cases: tuple[Case, ...], line: _Line) -> Measured:
    def outcomes(positives: tuple[int, int]) -> Outcomes:
        return Outcomes(positives[0], comparison.records, positives[1], comparison.records)

    return Measured(
        cases[line.case],
        line.test_accuracy,
        line.train_accuracy,
        outcomes(line.against_test),
        outcomes(line.against_unseen),
        None if line.unadapted is None else outcomes(line.unadapted),
    )


def _failed(path: Path, error: OSError) -> BackendError:
    return BackendError(str(path), f"the disk failed ({error.strerror})", "a file that you may write to")
