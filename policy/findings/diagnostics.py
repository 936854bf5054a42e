"""A finding about a document, and how it is shown."""

from dataclasses import dataclass
from enum import StrEnum

from smalti.policy.model.model import Where


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what, where, what was expected, the way out."""

    code: str
    """Stable, for example `P301`."""
    severity: Severity
    message: str
    """Lower case, no full stop, the document's own words in backticks."""
    where: Where
    length: int = 1
    """Characters to underline from `where.column`, on that line."""
    help: str = ""
    """The way out, with a suggestion where a similar word exists."""
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What the message lists, by kind, for programs: parts to bind (`bind`); what a request must state
    (`facts`, `clauses`, and `dates` with `agreed`, that of its agreement)."""
