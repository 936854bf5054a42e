"""Shows diagnostics to people (source line, caret, help) and to programs (JSON)."""

import json
from collections.abc import Iterable

from smalti.policy.findings.codes import BY_CODE
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.text.kinds import is_policy_text

_WIDEST = 120
_MOST_ALIKE = 5
"""The most warnings or notes with one code of which each is shown to people."""
_SHOWN = 3
_MOST_LINES = 12
_SECRETS = frozenset({"P430"})
"""Codes of findings whose source line may contain a secret, and is not shown."""


def render_human(diagnostics: Iterable[Diagnostic], text: str, *, in_full: bool = True) -> str:
    """One paragraph for each finding: place and message, the source line with a caret, help.

    Args:
        diagnostics: the findings about one document.
        text: that document's characters.
        in_full: False: of many warnings or notes with one code, the first ones and the lines of the others.
    """
    # The text may be a data file, passed by mistake: only lines of policies are shown.
    lines = text.split("\n") if is_policy_text(text) else []
    findings = list(diagnostics)
    others: dict[str, list[Diagnostic]] = {} if in_full else _others(findings)
    paragraphs = []
    for finding in findings:
        alike = others.get(finding.code, [])
        if finding not in alike:
            paragraphs.append(_paragraph(finding, lines))
        elif finding is alike[0]:
            paragraphs.append(_in_one_line(alike))
    return "\n".join(paragraphs)


def _others(findings: list[Diagnostic]) -> dict[str, list[Diagnostic]]:
    """Of many findings with one code, those after the first ones; each error is shown."""
    by_code: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        if finding.severity is not Severity.ERROR:
            by_code.setdefault(finding.code, []).append(finding)
    return {code: alike[_SHOWN:] for code, alike in by_code.items() if len(alike) > _MOST_ALIKE}


def _in_one_line(alike: list[Diagnostic]) -> str:
    first = alike[0]
    numbers = list(dict.fromkeys(str(finding.where.line) for finding in alike))
    more = " and others" if len(numbers) > _MOST_LINES else ""
    listed = ", ".join(numbers[:_MOST_LINES]) + more
    place = f"{first.where.document}: {first.severity}[{first.code}]"
    return f"{place} {len(alike)} more like these, at lines {listed}; `--verbose` shows them"


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON list with one object for each finding; the keys are stable."""
    return json.dumps([to_json(diagnostic) for diagnostic in diagnostics], indent=2)


def to_json(diagnostic: Diagnostic) -> dict[str, str | int | list[str]]:
    """One finding as JSON values; what its message lists, by kind."""
    lists: dict[str, str | int | list[str]] = {kind: list(names) for kind, names in diagnostic.lists}
    return lists | {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "help": diagnostic.help,
        "document": diagnostic.where.document,
        "line": diagnostic.where.line,
        "column": diagnostic.where.column,
        "length": diagnostic.length,
        "pointer": diagnostic.where.pointer,
        "node": diagnostic.where.node,
    }


def to_explained_json(diagnostic: Diagnostic) -> dict[str, str | int | list[str]]:
    """The same, with what its code stands for."""
    code = BY_CODE[diagnostic.code]
    return to_json(diagnostic) | {"title": code.title, "explanation": code.explanation}


def _paragraph(diagnostic: Diagnostic, lines: list[str]) -> str:
    excerpt = [] if diagnostic.code in _SECRETS else _excerpt(diagnostic, lines)
    shown = [f"{diagnostic.where}: {diagnostic.severity}[{diagnostic.code}] {diagnostic.message}", *excerpt]
    if diagnostic.help:
        shown.append(f"   help: {diagnostic.help}")
    return "\n".join(shown)


def _excerpt(diagnostic: Diagnostic, lines: list[str]) -> list[str]:
    line, column = diagnostic.where.line, diagnostic.where.column
    if not 0 < line <= len(lines) or not lines[line - 1] or lines[line - 1].isspace():
        return []
    whole = lines[line - 1].rstrip("\r")
    skipped = max(0, column - _WIDEST // 2) if len(whole) > _WIDEST else 0
    source = "".join(c if c.isprintable() else " " for c in whole[skipped : skipped + _WIDEST])
    at = column - 1 - skipped
    carets = "^" * max(1, min(diagnostic.length, len(source) - at))
    gutter = f"{line:>5} | "
    return [gutter + source, " " * (len(gutter) - 2) + "| " + " " * at + carets]
