"""The log of decisions: one JSON line for each, with no data value in it.

A line tells when it was asked, who asked for what (`askedBy`: a gateway that asked about that party) and as
of which time, which rules determined the answer, and by which documents. Values of facts and parameters are
left out, because they may be about people; their names are there, and those of clauses: which were
accepted, on whose behalf, and on which of them the answer depends. Nothing is decided without being written
down: when the log cannot be written, the decision ends with an error.

A plan or a run that the rules permit may be denied afterwards, by what the data shows, a budget or an
audit. A second line says so, and why (`deniedBecause`); it has the judged time of the first. Where a run
reads that the data has more columns than were known, it is decided again, and has another line for that.

Lines are appended in one piece, whichever process writes; they are not synchronised to the disk one by
one, so a machine that loses power may lose the last ones.
"""

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from smalti.engine.tables.appending import append_lines
from smalti.errors import RegistryError
from smalti.policy.decide.decision import Decision, Reason
from smalti.vocab.terms import IRI

ENVIRONMENT: Final = "SMALTI_DECISION_LOG"


@dataclass(frozen=True, slots=True)
class _Gathered:
    """Lines that are written together."""

    path: Path
    lines: list[bytes] = field(default_factory=list)


_GATHERED: Final[ContextVar[_Gathered | None]] = ContextVar("gathered", default=None)


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """The file of logged decisions; created by the first one, readable by its owner alone."""

    path: Path

    @classmethod
    def of(cls, registry: Path | None) -> "DecisionLog | None":
        """The log of a registry: `SMALTI_DECISION_LOG` in the environment, or a file beside the registry's.

        Args:
            registry: its file; None where it has none (a database server), which needs the environment.
        """
        if path := os.environ.get(ENVIRONMENT):
            return cls(Path(os.path.abspath(path)))
        return None if registry is None else cls(registry.with_name(registry.name + ".decisions.jsonl"))

    def append(
        self,
        decision: Decision,
        seconds: float,
        because: Reason | None = None,
        *,
        asked_by: IRI | None = None,
    ) -> None:
        """Log one decision.

        Args:
            decision: the answer.
            seconds: that it took.
            because: why it denies what the rules permit, with no data value; None where the rules decide.
            asked_by: who asked about the party of the request; None: the party itself.

        Raises:
            RegistryError: the log cannot be written; the caller must not return the decision. Within
                `together`, its end raises this, and no decision may be returned before.
        """
        document = entry(decision, seconds, because, asked_by)
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
        line = text.encode("utf-8", "backslashreplace")
        if (gathered := _GATHERED.get()) is not None and gathered.path == self.path:
            gathered.lines.append(line)
        else:
            self._write([line])

    @contextmanager
    def together(self) -> Iterator[None]:
        """Log what this thread decides in the block at its end, in one piece; where it raises, nothing.

        Raises:
            RegistryError: at the end; the log cannot be written, and the caller must return none of them.
        """
        gathered = _Gathered(self.path)
        token = _GATHERED.set(gathered)
        try:
            yield
        finally:
            _GATHERED.reset(token)
        if gathered.lines:
            self._write(gathered.lines)

    def _write(self, lines: Sequence[bytes]) -> None:
        try:
            append_lines(self.path, lines)
        except OSError as error:
            raise RegistryError(
                str(self.path),
                f"the decision cannot be logged ({error.strerror})",
                "a writable log, without which nothing is decided",
                f"correct its permissions, free some space, or name another file in {ENVIRONMENT}",
            ) from None


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def entry(
    decision: Decision, seconds: float, because: Reason | None = None, asked_by: IRI | None = None
) -> dict[str, Any]:
    """What a line says about a decision."""
    request = decision.request
    return {
        "id": str(uuid.uuid4()),
        "time": _text(datetime.now(UTC) - timedelta(seconds=seconds)),
        "askedBy": asked_by,
        "request": {
            "party": request.party,
            "action": request.action,
            "targets": list(request.targets),
            "purpose": request.purpose,
            # The time that was judged is the caller's claim, unless they made none.
            "time": None if request.time is None else _text(request.time),
            "rule": request.rule,
            "parameters": sorted(fact.operand for fact in request.parameters),
            "facts": sorted(fact.operand for fact in request.facts),
            "fulfilled": sorted(request.fulfilled),
            "duties": str(request.duties),
            "understandsLimits": request.understands_limits,
            "accepted": sorted({acceptance.clause for acceptance in request.accepted}),
            "onBehalfOf": request.on_behalf_of,
            "agreed": None if request.agreed is None else _text(request.agreed),
        },
        "effect": str(decision.effect),
        "permitted": decision.is_permitted,
        "deniedBecause": None if because is None else because.text,
        "rules": [
            {"policy": name.policy, "digest": name.digest or None, "rule": name.rule}
            for name in decision.determining
        ],
        "obligations": sorted({duty.uid for grant in decision.grants for duty in grant.obligations}),
        "clauses": sorted({clause.operand for grant in decision.grants for clause in grant.clauses}),
        "milliseconds": round(seconds * 1000, 3),
    }
