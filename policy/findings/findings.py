"""Collects the findings about one document, at its lines and columns."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from copy import copy
from itertools import count
from typing import Final, TypeAlias

from smalti.policy.findings.codes import BY_CODE
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.model.model import Where
from smalti.policy.model.suggest import did_you_mean
from smalti.policy.text.json_text import Place
from smalti.vocab.aliases import DEPRECATED, canonical

MOST: Final = 200
"""The most findings that are kept for one document."""
_LONGEST_WORD: Final = 80
_LONGEST_MESSAGE: Final = 2000


def quoted(word: str) -> str:
    """A word of the document in backticks: one line, printable, at most 80 characters."""
    if len(word) > _LONGEST_WORD:
        word = word[: _LONGEST_WORD - 3] + "..."
    return f"`{printable(word)}`"


def printable(text: str) -> str:
    """One line without control characters, which a terminal would obey, and of bounded length."""
    if len(text) > _LONGEST_MESSAGE:
        text = text[: _LONGEST_MESSAGE - 3] + "..."
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    )


Lists: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


class Findings:
    """The findings about one document; the only way to make a `Diagnostic`."""

    def __init__(self, document: str, text: str) -> None:
        self.document = document
        self.text = text
        self._line_starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
        self._diagnostics: list[Diagnostic] = []
        self._has_errors = False
        self._aliases: set[str] = set()
        self._suggestions = count(1)
        self._whole = self

    def of_a_policy(self) -> "Findings":
        """A collector for the findings about one policy, which also count for the document.

        It starts with the errors of the document so far: they may concern any of its policies.
        """
        part = copy(self)
        part._whole = self
        return part

    def apart(self) -> "Findings":
        """A collector about the same document, whose findings count for nothing else.

        It costs no pass over the text, so that each of very many objects may have one.
        """
        other = copy(self)
        other._diagnostics, other._aliases, other._suggestions = [], set(), count(1)
        other._has_errors, other._whole = False, other
        return other

    @property
    def has_errors(self) -> bool:
        """Whether the policy, or the document as a whole, has an error."""
        return self._has_errors

    @property
    def document_has_errors(self) -> bool:
        return self._whole._has_errors

    def sorted(self) -> tuple[Diagnostic, ...]:
        """The first `MOST` findings, by place, and a note if there are more."""
        diagnostics = sorted(
            self._diagnostics, key=lambda d: (d.where.line, d.where.column, d.where.node, d.code, d.message)
        )
        diagnostics = list(dict.fromkeys(diagnostics))
        if len(diagnostics) <= MOST:
            return tuple(diagnostics)
        kept = sorted(diagnostics, key=lambda d: d.severity is not Severity.ERROR)[:MOST]
        more = f"{len(diagnostics) - MOST} further findings are left out"
        last = Diagnostic("P599", Severity.NOTE, more, Where(self.document, 1, 1))
        return (*sorted(kept, key=lambda d: (d.where.line, d.where.column, d.where.node)), last)

    def where(self, place: Place) -> Where:
        if place.node:
            return Where(self.document, 0, 0, node=place.node)
        line = bisect_right(self._line_starts, place.start)
        return Where(self.document, line, place.start - self._line_starts[line - 1] + 1, place.pointer)

    def error(self, code: str, place: Place, message: str, help_: str = "") -> None:
        self._add(code, Severity.ERROR, place, message, help_)

    def warning(self, code: str, place: Place, message: str, help_: str = "", *, lists: Lists = ()) -> None:
        self._add(code, Severity.WARNING, place, message, help_, lists)

    def note(self, code: str, place: Place, message: str, help_: str = "") -> None:
        self._add(code, Severity.NOTE, place, message, help_)

    def not_implemented(self, place: Place, feature: str, help_: str = "") -> None:
        """Refuse a feature by its name."""
        self.error("P390", place, f"{feature} is not implemented yet", help_)

    def add(self, diagnostic: Diagnostic) -> None:
        """A finding of another collector of the same document."""
        self._diagnostics.append(diagnostic)

    def did_you_mean(self, word: str, words: Iterable[str]) -> str:
        """The nearest word as a `help`; none after `MOST` suggestions for one document."""
        return did_you_mean(word, words) if next(self._suggestions) <= MOST else ""

    def word(self, iri: str, place: Place) -> str:
        """The canonical spelling of a word; the first use of another spelling adds a note."""
        spelling = canonical(iri)
        if spelling != iri and iri not in self._aliases:
            self._aliases.add(iri)
            message = f"{quoted(iri)} is read as {quoted(spelling)}"
            if iri in DEPRECATED:
                message = f"{quoted(iri)} is deprecated in ODRL 2.2, and read as {quoted(spelling)}"
                self._add("P512", Severity.WARNING, place, message, f"write {quoted(spelling)}")
            else:
                self._add("P505", Severity.NOTE, place, message, "")
        return spelling

    def _add(
        self, code: str, severity: Severity, place: Place, message: str, help_: str, lists: Lists = ()
    ) -> None:
        assert code in BY_CODE, code  # noqa: S101 (a fault of ours)
        if severity is Severity.ERROR:
            self._has_errors = self._whole._has_errors = True
        where = self.where(place)
        length = 1 if place.node else self._length(place)
        diagnostic = Diagnostic(code, severity, printable(message), where, length, printable(help_), lists)
        self._diagnostics.append(diagnostic)

    def _length(self, place: Place) -> int:
        """Characters of the place on its first line; at least one."""
        end_of_line = self.text.find("\n", place.start)
        end = min(place.end, end_of_line if end_of_line >= 0 else len(self.text))
        return max(1, end - place.start)
