"""Shows diagnostics to people (source line, caret, help) and to programs (JSON)."""

import json
from collections.abc import Iterable

from smalti.policy.findings.diagnostics import Diagnostic

_WIDEST = 120
_SECRETS = frozenset({"P430"})
"""Codes of findings whose line may hold a secret, and is not shown."""


def render_human(diagnostics: Iterable[Diagnostic], text: str) -> str:
    """One paragraph for each finding: place and message, the source line with a caret, help.

    Args:
        diagnostics: what was found in one document.
        text: that document's characters.
    """
    # A data file given by mistake must not be shown: only what is meant as JSON-LD is.
    lines = text.split("\n") if '"@context"' in text else []
    return "\n".join(_paragraph(found, lines) for found in diagnostics)


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON list with one object for each finding; the keys are stable."""
    return json.dumps([to_json(found) for found in diagnostics], indent=2)


def to_json(found: Diagnostic) -> dict[str, str | int]:
    """One finding as JSON values."""
    return {
        "code": found.code,
        "severity": str(found.severity),
        "message": found.message,
        "help": found.help,
        "document": found.where.document,
        "line": found.where.line,
        "column": found.where.column,
        "length": found.length,
        "pointer": found.where.pointer,
        "node": found.where.node,
    }


def _paragraph(found: Diagnostic, lines: list[str]) -> str:
    excerpt = [] if found.code in _SECRETS else _excerpt(found, lines)
    shown = [f"{found.where}: {found.severity}[{found.code}] {found.message}", *excerpt]
    if found.help:
        shown.append(f"   help: {found.help}")
    return "\n".join(shown)


def _excerpt(found: Diagnostic, lines: list[str]) -> list[str]:
    line, column = found.where.line, found.where.column
    if not 0 < line <= len(lines) or not lines[line - 1] or lines[line - 1].isspace():
        return []
    whole = lines[line - 1].rstrip("\r")
    skipped = max(0, column - _WIDEST // 2) if len(whole) > _WIDEST else 0
    source = "".join(c if c.isprintable() else " " for c in whole[skipped : skipped + _WIDEST])
    at = column - 1 - skipped
    carets = "^" * max(1, min(found.length, len(source) - at))
    gutter = f"{line:>5} | "
    return [gutter + source, " " * (len(gutter) - 2) + "| " + " " * at + carets]
